"""The process that simulates the designs an optimisation came by, for a viewer, which stays without jax.

`python -m shiftjax.ensembles.optimization.trail_process STORE TARGET START` writes the result to TARGET and says how
far it is, a line of JSON each: a fraction, or the four parts of an error.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shiftjax.ensembles.optimization.trail import COLUMNS, Trail, column, trail
from shiftjax.ensembles.store import store
from shiftjax.ensembles.study.posed import posed
from shiftjax.errors import ModelError
from shiftjax.measures.aims import Aim
from shiftjax.mechanism.model import Model
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import DEFAULT_STEP, WHOLE, simulate

INSTANTS = 100  # at least, of a motion whose study and model say no output step
SHOWN = 0.02  # s between two instants at most, then
MADE_SMALL = ("objective", "excess", "gradient_norm", "halved")  # of the columns
OF = "of the optimisation"  # the text of a column
EVERY = 0.01  # of the run, between two lines


def run(trail: Trail, progress: Callable[[float], None] = lambda done: None) -> Result:
    """The designs, with all their poses; what the optimisation says of each is among their metrics."""
    given: dict[str, Any] = {**trail.group.settings, "keep": "all", "vary": trail.vary, "progress": progress}
    group = trail.group
    result = _simulated(group.model, given) if group.moves else posed(group.kind, group.model, given)
    columns = {column(name, result.metrics): trail.columns[name] for name in COLUMNS}
    return dataclasses.replace(
        result,
        metrics={**columns, **result.metrics},
        metric_units={**dict.fromkeys(columns, "1"), **result.metric_units},
        metric_texts={**dict.fromkeys(columns, OF), **result.metric_texts},
        metric_aims={
            **dict.fromkeys((column(name, result.metrics) for name in MADE_SMALL), Aim("small")),
            **result.metric_aims,
        },
    )


def _simulated(model: Model, given: Mapping[str, Any]) -> Result:
    """The designs of motions in time, with as many instants as are shown."""
    span = given.get("span") or model.settings.span
    more: Mapping[str, float] = {}
    if given.get("output_step") is None and model.settings.output_step is None and span is not None:
        more = _clock(span, given.get("step"), chosen=given.get("tolerance") is not None)
    return simulate(model, **{**given, **more})


def _clock(span: float, step: float | None, *, chosen: bool) -> dict[str, float]:
    """The step [s] that the optimisation had, and a whole multiple of it as time between the instants shown.

    Args:
        chosen: whether a tolerance chooses the steps, none of which is given then.
    """
    steps = span / step if step else np.ceil(span / DEFAULT_STEP - WHOLE)
    step = step or float(span / steps)
    shown = {"output_step": step * max(1, int(min(SHOWN / span, 1 / INSTANTS) * steps))}
    return shown if chosen else {"step": step, **shown}


def main(place: str, target: str, start: str) -> None:
    """Writes the result."""
    printed = -EVERY

    def progress(done: float) -> None:
        nonlocal printed
        if done >= printed + EVERY:
            printed = done
            print(json.dumps(done), flush=True)

    try:
        store.write(run(trail(place, start=start), progress), target)
    except ModelError as error:
        print(json.dumps([error.where, error.found, error.allowed, error.todo]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
