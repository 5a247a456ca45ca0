"""The page of metrics, made from the table of their kinds, so that it is always the program's own."""

from __future__ import annotations

from shiftjax.expressions.dialects import FUNCTIONS
from shiftjax.measures.metrics import METRICS

INTRODUCTION = """# Metrics

A metric is a figure of a run that is taken while it runs, over **every accepted step**, whatever is recorded: in the
compiled step itself, without a trajectory. A million members cost a million numbers.

```python
import numpy as np
import shiftjax

result = shiftjax.simulate(
    "four_bar",
    span=1.0,
    vary={"coupler.mass": np.linspace(0.5, 2.0, 100)},
    metrics={
        "swing": "peak_to_peak(rocker_pivot.q)",
        "speed": "rms(norm(coupler:tip.velocity))",
        "quarter": "first_crossing(crank_pivot.q, level=90deg, direction='up')",
        "share": "mean(abs(rocker_pivot.v)) / maximum(abs(rocker_pivot.v))",
    },
)
for name, values in result.metrics.items():
    print(
        f"{name}: {values.min():.4g} to {values.max():.4g}",
        result.metric_units[name],
    )
```

On the command line it is `--metric 'swing=peak_to_peak(rocker_pivot.q)'`, in a [study](studies.md) a line of
`[metrics]`. The tables show the extremes of every metric with the members that have them; stores hold them beside the
design.

## Kinds

"""
EXPRESSIONS = f"""## Expressions

An expression is made of channels by path (`tip.position[0]`, [Paths and channels](paths.md)), numbers with or without
a unit (`90deg`), the time `t`, `pi`, `+ - * / **`, lists and the functions
{", ".join(f"`{name}`" for name, function in FUNCTIONS.items() if not function.of_vectors)}, all number by number, and
{" and ".join(f"`{name}`" for name, function in FUNCTIONS.items() if function.of_vectors)} of vectors.
A name with other characters than letters, digits and `_` stands in backticks. Metrics themselves may be added, divided
and so on, as `share` above.

A long option, such as a target curve, is written as a table: `coupler = {{ kind = "path_distance",
of = "[tip.position[0], tip.position[2]]", points = [[0.3, -0.3], [0.5, -0.35]] }}`.

## What the figures are

* Between the ends of two steps an expression counts as straight: integrals follow the trapezoidal rule, crossings and
  `value_at` linear interpolation, all with errors of the order of the step squared. Sums are compensated.
* `passing_time` and `passings`, of which [events](events.md) are made, take the expression in a step as the curve
  through five instants: a passing is as exact as the steps.
* An extreme and its instant are those of the cubic through four instants, where that bends smoothly: off by the
  fourth and the third order of the step. At a kink, a jump, or a peak that few steps see they are those of the ends of
  steps. What happens within one step is not seen.
* A member that ended early has no metrics: they are NaN.
* A run that goes on with `start=` measures its own span.
* Metrics change no bit of a run, and a member's do not depend on the members beside it.
* They have [gradients](gradients.md#metrics-as-objectives).

## Functions of your own

A function of times (n,) and recorded channels (B, n, ...) that gives (B,) is called after the run, on what was
recorded. A kind of metric on lane scalars, which is compiled into the step, is one entry of
`shiftjax.measures.metrics.METRICS`.

```python
def loudness(time, channels):
    return np.abs(np.diff(channels["rocker_pivot.v"], axis=1)).max(axis=1)

masses = {{"coupler.mass": [1.0, 2.0]}}
result = shiftjax.simulate(
    "four_bar",
    span=0.1,
    output_step=0.01,
    vary=masses,
    channels=["rocker_pivot.v"],
    metrics={{"loud": loudness}},
)
print(result.metrics["loud"])
```
"""


def metrics() -> str:
    """The page: every kind with its options, meaning and unit."""
    rows = ["| metric of `x` | what it is | unit |", "| --- | --- | --- |"]
    for name, kind in METRICS.items():
        options = "".join(f", {option}" + _default(about.default) for option, about in kind.options)
        choices = "".join(f"; `{option}`: {about.meaning}" for option, about in kind.options)
        unit = kind.unit("x")
        rows.append(f"| `{name}(x{options})` | {kind.meaning}{choices} | {'that of x' if unit == 'x' else unit} |")
    return INTRODUCTION + "\n".join(rows) + "\n\n" + EXPRESSIONS


def _default(value: float | str | None) -> str:
    return "" if value is None else f"={value!r}"
