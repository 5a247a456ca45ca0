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
from shiftjax.bench.workload import Workload, whole_steps, workload
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
Pair = list[tuple[Workload, dict[str, Any]]]  # a model in the precisions in which it runs, with its figures


def card(
    names: Sequence[str], threads: int | None, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Iterator[dict[str, Any]]:
    """A mapping of figures for each model and precision, as soon as it is whole, models whose code is short first.

    Rates and accuracies of all models are measured before the first gradient is compiled; gradients that the time no
    longer allows are left out, with the reason in `gradient_left_out`. A model that cannot run has `model`,
    `precision` and the reason in `refused`. Where anything ends the card, what is measured comes without gradients.

    Args:
        seconds: for all of them. clock: seconds.
    """
    end = clock() + seconds
    pairs: list[Pair] = []
    try:
        for name in names:
            pair: Pair = []
            pairs.append(pair)
            for precision in PRECISIONS:
                try:
                    pair.append(_measured(name, precision, threads))
                except ModelError as error:
                    yield {"model": name, "precision": precision, "refused": f"{error}"}
            if not pair or clock() >= end:
                yield from _lines(pairs.pop(), "no time was left")
        longest = 0.0  # of the gradients so far, a model
        pairs.sort(key=lambda pair: pair[0][1]["operations_compiled"], reverse=True)
        while pairs:
            pair, begun = pairs[-1], clock()
            in_time = begun + longest < end
            if in_time:
                graded(pair)
                longest = max(longest, clock() - begun)
            yield from _lines(pairs.pop(), "" if in_time else "no time was left")
    except (Exception, KeyboardInterrupt):
        for pair in pairs:
            yield from _lines(pair, "the card was ended before")
        raise


def _measured(name: str, precision: str, threads: int | None) -> tuple[Workload, dict[str, Any]]:
    """A model in one precision and its figures without gradients.

    Raises:
        ModelError: it cannot run.
    """
    work = workload(name, precision=precision, threads=threads)
    work = replace(work, span=whole_steps(min(SPAN, work.span), work.step))
    with watched(work.backend) as watch:
        return work, _run(work.on(watch.backend), watch)


def _lines(pair: Pair, left_out: str) -> Iterator[dict[str, Any]]:
    """The lines of a model; why none of them has a gradient, or ""."""
    for work, figures in pair:
        if left_out and "gradient_error" not in figures:
            figures["gradient_left_out"] = left_out
        yield {**work.settings(), **figures}


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


def graded(pair: Pair) -> None:
    """Adds errors of gradients to the figures of one model: those of f64 against differences of runs in f64, those of
    f32 against f64, each as a part of the slope."""
    exact = None
    for work, figures in pair:
        try:
            (slope, took), reference = gradient(work), exact
            if work.precision == PRECISIONS[0]:
                exact, reference = slope, difference(work)
        except ModelError as error:
            figures["gradient_left_out"] = error.found
            continue
        if reference is None:
            figures["gradient_left_out"] = f"no slope in {PRECISIONS[0]} to compare it with"
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
    span = whole_steps(min(GRADIENT_SPAN, work.span), work.step)
    result = simulate(
        work.model, span, work.step, output_step=span, channels=[OUTPUT], vary={work.varied: values},
        precision=work.precision, threads=work.threads, accuracy="local",
    )  # fmt: skip
    return result.channels[OUTPUT][:, -1]
