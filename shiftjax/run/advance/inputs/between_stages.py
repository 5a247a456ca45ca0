"""Functions of time between the stages of steps. Host code.

In steps of one size a finer rule shows what the stages miss. In those that a tolerance chose an error estimate compares
what two rules make of the same stages: a pulse between these is in neither. There the rule of the method is compared,
over every step that was taken, with the integral itself, which follows from instants all over the run: what is shorter
than the time between two of them may still be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.schedule import chosen_steps
from shiftjax.run.programs.integrators import METHODS
from shiftjax.run.programs.stages import quadrature

PARTS = 8  # of a step, for a finer rule, at least; even
AT_ONCE = 16384  # steps
ALLOWED = 10.0  # times the tolerance: what a step may miss, as its estimate is no bound

Signal = Callable[[np.ndarray], np.ndarray]  # times (n,) -> (k, n) functions of time


class Seen(NamedTuple):
    """What some steps see of functions of time.

    Attributes:
        members: (n,) of the steps. begins, sizes: (n,) of them [s].
        stages: (k, n, stages) values, the first at the beginning, the last at the end.
        integrals: (k, n) by the method. exact: (k, n).
    """

    members: np.ndarray
    begins: np.ndarray
    sizes: np.ndarray
    stages: np.ndarray
    integrals: np.ndarray
    exact: np.ndarray


class Integral:
    """The integrals of functions from the beginning of a run: Simpson's rule, cubics between.

    Args:
        intervals: of the rule in the run.
    """

    def __init__(self, signal: Signal, lanes: Ensemble, intervals: int) -> None:
        begin, end = lanes.settings.begin, lanes.settings.t0 + lanes.settings.h * lanes.settings.end
        self.begin, self.width = begin, max((end - begin) / intervals, float(np.finfo(float).tiny))
        self.values = f = np.nan_to_num(signal(np.linspace(begin, end, 2 * intervals + 1)))
        parts = self.width / 6.0 * (f[:, :-2:2] + 4.0 * f[:, 1:-1:2] + f[:, 2::2])
        self.at_knots = np.concatenate([np.zeros((len(f), 1)), np.cumsum(parts, axis=1)], axis=1)
        self.slopes = f[:, ::2]
        self.amounts = np.abs(f).mean(1) * (end - begin)

    def until(self, t: np.ndarray) -> np.ndarray:
        """(k, n) up to times (n,)."""
        place = (t - self.begin) / self.width
        k = np.clip(place.astype(int), 0, len(self.slopes[0]) - 2)
        s = place - k
        rise, (a, b) = self.at_knots[:, k + 1] - self.at_knots[:, k], (self.slopes[:, k], self.slopes[:, k + 1])
        bends = s * (1.0 - s) * ((1.0 - s) * (self.width * a - rise) - s * (self.width * b - rise))
        return self.at_knots[:, k] + s * rise + bends


class IntervalExtremes:
    """The smallest and the largest of values (n,) of equal instants between any two times, from those of 2^k of them.

    Bender, Farach-Colton, The LCA problem revisited, LATIN 2000, section 3.

    Args:
        begin: time of the first. spacing: of the instants [s].
    """

    def __init__(self, values: np.ndarray, begin: float, spacing: float) -> None:
        self.begin, self.spacing = begin, spacing
        self._levels = [(values, values)]
        for k in range(int(np.log2(len(values)))):
            (low, high), far = self._levels[-1], 2**k
            self._levels.append((np.minimum(low[:-far], low[far:]), np.maximum(high[:-far], high[far:])))

    def over(self, begins: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) the smallest and the largest between times; infinite, the smallest above, where no instant is there."""
        first = np.ceil((begins - self.begin) / self.spacing).astype(int)
        count = np.floor((begins + sizes - self.begin) / self.spacing).astype(int) - first + 1
        count = np.minimum(count, len(self._levels[0][0]) - first)
        low, high = np.full(len(begins), np.inf), np.full(len(begins), -np.inf)
        level = np.where(count > 0, np.log2(np.maximum(count, 1)).astype(int), -1)
        for k in range(level.max(initial=-1) + 1):
            here = np.flatnonzero(level == k)
            ends = first[here], first[here] + count[here] - 2**k
            low[here] = np.minimum(*(self._levels[k][0][end] for end in ends))
            high[here] = np.maximum(*(self._levels[k][1][end] for end in ends))
        return low, high


def seen_in_steps(signal: Signal, integral: Integral, lanes: Ensemble, which: np.ndarray) -> Iterator[Seen]:
    """What the steps that some members took see, some thousand steps at once.

    Args:
        which: (B,) whether a member counts.
    """
    settings, (nodes, weights) = lanes.settings, quadrature(METHODS[lanes.setup.method])
    taken, ends = chosen_steps(lanes.chosen, len(lanes.status))
    members = np.repeat(np.arange(len(taken)), taken)
    begins = np.concatenate([[0.0], ends[:-1]])
    first = np.cumsum(taken) - taken
    begins[first[taken > 0]] = settings.before
    steps = np.flatnonzero(which[members])
    for k in range(0, len(steps), AT_ONCE):
        some = steps[k : k + AT_ONCE]
        a, b = (settings.t0 + settings.h * clock[some] for clock in (begins, ends))
        f = signal((a[:, None] + (b - a)[:, None] * nodes).ravel())
        f = np.nan_to_num(f).reshape(len(f), len(some), len(nodes))
        sizes = b - a
        yield Seen(members[some], a, sizes, f, sizes * (f @ weights), integral.until(b) - integral.until(a))


def in_equal_steps(signal: Signal, begin: float, h: float, steps: np.ndarray, parts: int) -> Iterator[np.ndarray]:
    """(k, n, parts + 1) functions at the parts of steps of one size, some thousand steps at once.

    Args:
        begin: of step 0. steps: numbers of the steps that are looked at, rising. parts: of a step.
    """
    some = max(1, AT_ONCE * PARTS // parts)
    for k in range(0, len(steps), some):
        t = begin + h * (steps[k : k + some, None] + np.arange(parts + 1) / parts)
        f = signal(t.ravel())
        yield f.reshape(len(f), *t.shape)


def by_stages(f: np.ndarray, h: float) -> np.ndarray:
    """(...) integrals over steps that their stages make, by Simpson's rule, of (..., parts + 1) values."""
    return h / 6.0 * (f[..., 0] + 4.0 * f[..., f.shape[-1] // 2] + f[..., -1])


def by_parts(f: np.ndarray, h: float) -> np.ndarray:
    """(...) integrals over steps by the rule of all parts, of (..., parts + 1) values."""
    rule = np.full(f.shape[-1], 2.0)
    rule[1::2], rule[[0, -1]] = 4.0, 1.0
    return h / (3.0 * (f.shape[-1] - 1)) * (f @ rule)


class ErrorsOnTheWay:
    """By how much sums of errors of steps are off, at worst on the way.

    Attributes:
        worst: (k,) of as many functions.
    """

    def __init__(self, functions: int) -> None:
        self._end, self.worst = np.zeros((2, functions))

    def add(self, errors: np.ndarray) -> None:
        """(k, n) of the next steps."""
        way = self._end[:, None] + np.cumsum(errors, axis=1)
        self.worst, self._end = np.maximum(self.worst, np.abs(way).max(1)), way[:, -1]


def parts_of(steps: int, instants: int) -> int:
    """Parts of a step, a power of two: `PARTS`, or as many as make up to `instants` of a run."""
    parts = PARTS
    while 2 * parts * steps <= instants:
        parts *= 2
    return parts
