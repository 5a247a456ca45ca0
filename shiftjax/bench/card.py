"""The report card: every library model in f64 and in f32, how fast, how exact, and how good its gradients are."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.bench.rates import accuracy, ratio
from shiftjax.bench.timing import timed
from shiftjax.bench.watched_kernel import Watch, watched
from shiftjax.bench.workload import Workload, workload
from shiftjax.errors import ModelError
from shiftjax.gradients.simulate import simulate

MEMBERS = 128
ROUNDS, ROUNDS_CPU_S = 3, 1.0  # timed runs of a model: three, or fewer where they take so much processor time
SPAN = 0.5  # s
GRADIENT_SPAN = 0.1  # s: short enough that no small change has grown much
SIDES, STENCIL = np.array([2.0, 1.0, -1.0, -2.0]), np.array([-1.0, 8.0, -8.0, 1.0]) / 12.0  # fourth order
CHANGE = 1e-3  # of the number, a side of the differences: what is left is of the size of 1e-12
OUTPUT = "energy.kinetic"  # whose final value is differentiated: all models have it
PRECISIONS = ("f64", "f32")


def card(
    names: Sequence[str], threads: int | None, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Iterator[dict[str, Any]]:
    """A mapping of figures for each model and precision, models whose code is short first.

    Rates and accuracies of all models are measured before the first gradient is compiled; gradients that the time no
    longer allows are left out, with the reason in `gradient_left_out`.

    Args:
        seconds: for all of them. clock: seconds.
    """
    end = clock() + seconds
    rows = []
    for name in names:
        for precision in PRECISIONS:
            work = workload(name, precision=precision, threads=threads)
            work = replace(work, span=min(SPAN, work.span))
            with watched(work.backend) as watch:
                rows.append((work, _run(work.on(watch.backend), watch)))
    longest = 0.0  # of the gradients so far, a model
    for k in sorted(range(0, len(rows), len(PRECISIONS)), key=lambda k: rows[k][1]["operations_compiled"]):
        pair, begun = rows[k : k + len(PRECISIONS)], clock()
        if begun + longest < end:
            graded(pair)
            longest = max(longest, clock() - begun)
        else:
            for _, figures in pair:
                figures["gradient_left_out"] = "no time was left"
        yield from ({**work.settings(), **figures} for work, figures in pair)


def _run(work: Workload, watch: Watch) -> dict[str, Any]:
    """Rate of the step loop and accuracy of runs."""
    rates = []
    result = work.run(MEMBERS)
    watch.check(work.name, result.messages[0])
    begun = time.process_time()
    while not rates or (len(rates) < ROUNDS and time.process_time() < begun + ROUNDS_CPU_S):
        watch.forget()
        result = work.run(MEMBERS)
        rates.append(ratio(float(np.sum(result.certificate["steps"])), watch.stepping.cpu_s))
    program = watch.program
    return {
        "members": MEMBERS,
        "stepping_per_cpu_s": statistics.median(rates),
        "operations_compiled": sum(len(piece.graph.nodes) for piece in program.pieces()),
        **accuracy(result),
    }


def graded(pair: Sequence[tuple[Workload, dict[str, Any]]]) -> None:
    """Adds errors of gradients to the figures of one model: those of f64 against differences of runs in f64, those of
    f32 against f64, each as a part of the slope."""
    exact = None
    for work, figures in pair:
        try:
            (slope, took), reference = gradient(work), exact
            if reference is None:
                exact, reference = slope, difference(work)
        except ModelError as error:
            figures["gradient_left_out"] = error.found
            continue
        error = abs(slope - reference) / abs(reference) if reference else float("nan")
        figures |= {"gradient_first_s": took}
        if np.isfinite(error):
            figures["gradient_error"] = error
        else:
            figures["gradient_left_out"] = "the slope is zero, or not finite"


def gradient(work: Workload) -> tuple[float, float]:
    """Slope of the final kinetic energy by the number that varies, in reverse mode [J a unit]; processor time of the
    first call [s]."""
    with jax.enable_x64(True):
        number = jnp.array([work.value])
        slope, took = timed(lambda: jax.grad(lambda x: _final(work, x)[0])(number))
        return float(slope[0]), took.cpu_s


def difference(work: Workload) -> float:
    """The same by differences of runs, of fourth order."""
    with jax.enable_x64(True):
        ends = _final(work, work.value * (1.0 + CHANGE * SIDES))
    return float(STENCIL @ np.asarray(ends)) / (CHANGE * work.value)


def _final(work: Workload, values: Any) -> Any:
    """(B,) final kinetic energies [J]."""
    span = min(GRADIENT_SPAN, work.span)
    result = simulate(
        work.model, span, work.step, output_step=span, channels=[OUTPUT], vary={work.varied: values},
        precision=work.precision, threads=work.threads, accuracy="local",
    )  # fmt: skip
    return result.channels[OUTPUT][:, -1]
