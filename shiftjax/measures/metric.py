"""Records of metrics: what is accumulated of a run, step by step, and what it comes to. `metrics` has the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shiftjax.algebra import Vec
from shiftjax.measures.interval import Instant, Interval
from shiftjax.record import record

Options = Mapping[str, Any]  # name -> a number, a text, or a tuple of tuples of numbers


@record
class Option:
    """What a metric may be told beside its expression.

    Attributes:
        meaning: a few words with the unit, for documentation and messages.
        default: a number or a text; None where it must be given.
        kind: "number", "count" (1, 2, ...), "point list" (numbers, or lists of numbers), or "word".
        words: which, of a word.
    """

    meaning: str
    default: float | str | None = None
    kind: str = "number"
    words: tuple[str, ...] = ()


@record
class MetricKind:
    """How a metric is computed: from all accepted steps, without a trajectory.

    `begin` and `value` are differentiated by complex steps: made of analytic functions of NumPy, and of comparisons.

    Attributes:
        begin: start and options -> the accumulators there, each (B,); NumPy.
        update: accumulators, an `Interval` from the end of a step to that of the next, options -> accumulators; lane
            code.
        value: accumulators, start, end, options -> (B,); NumPy.
        unit: unit of the expression -> unit of the metric.
        options: that follow the expression, in their order.
        vector: whether the expression may have several numbers.
        of_an_instant: whether it says something of one pose, too, with no motion.
        meaning: a sentence for documentation and messages.
        density: of a kind whose first accumulator is an integral over time: what is integrated, of the value.
        past_jumps: whether a jump of the expression adds nothing to its slope, as of values at given times.
        level: options -> the level whose crossing is its first accumulator and its value [s], of kinds that are one.
        unresolved: accumulators, end -> (B,) whether steps are too coarse for a derivative of it; None: they never are.
        dense: whether it takes short steps as curves, too, so that an instant in them is as exact as they are.
    """

    begin: Callable[[Instant, Options], list[np.ndarray]]
    update: Callable[[Vec, Interval, Options], Vec]
    value: Callable[[list[np.ndarray], Instant, Instant, Options], np.ndarray]
    meaning: str
    unit: Callable[[str], str] = lambda unit: unit
    options: tuple[tuple[str, Option], ...] = ()
    vector: bool = False
    of_an_instant: bool = False
    density: Callable[[Vec], Any] | None = None
    past_jumps: bool = False
    level: Callable[[Options], float] | None = None
    unresolved: Callable[[list[np.ndarray], Instant], np.ndarray] | None = None
    dense: bool = False
