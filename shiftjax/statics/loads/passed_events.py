"""Where in one stride of a curve of equilibria watched expressions vanish. Host code.

A value that changes its sign between the ends of a stride has a zero there, which Brent's method brackets to rounding
along the stride (Brent, Algorithms for Minimization without Derivatives, ch. 4). One that comes nearer to zero where a
stride begins and leaves it where it ends has turned round between: if it is past zero where it is nearest, it has two.
Of values that turn round more than once within a stride some zeros may be passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from shiftjax.record import record
from shiftjax.statics.at_rest import AtRest
from shiftjax.statics.loads.critical_poses import Stride
from shiftjax.statics.loads.load_curves import Poses

WITHIN = 1e-15  # of arclength


class WatchedZeros(Protocol):
    """Expressions whose zeros are noted, as `rest_questions.WatchedExpressions`.

    Attributes:
        names: of all E of them.
    """

    @property
    def names(self) -> Sequence[str]: ...

    def values(self, rest: AtRest, q: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(E, K) at coordinates (nq, K) with states of forces (ns, K)."""
        ...

    def slopes(
        self, rest: AtRest, q: np.ndarray, states: np.ndarray, rates: np.ndarray, state_rates: np.ndarray,
        numbers: Mapping[int, np.ndarray],
    ) -> np.ndarray:  # fmt: skip
        """(E, K) how values change along rates of coordinates (nq, K), states (ns, K), numbers place -> (K,)."""
        ...

    def counts(self, which: int, direction: str) -> bool:
        """Whether a passage of one in a direction, "up" or "down", is noted."""
        ...

    def stops(self, which: int) -> bool:
        """Whether a curve ends there."""
        ...


@record
class Passage:
    """A zero of a watched expression.

    Attributes:
        which: expression. direction: "up" or "down". length: from the beginning of the stride. pose: there, of the one
            curve.
    """

    which: int
    direction: str
    length: float
    pose: Poses


def turning(before: np.ndarray, after: np.ndarray, leaving: np.ndarray, coming: np.ndarray) -> np.ndarray:
    """(E, K) whether expressions of one sign at both ends of strides have turned round between, towards zero.

    Args:
        before, after: (E, K) their values. leaving, coming: (E, K) their slopes along the strides, at both ends.
    """
    return (before * after > 0.0) & (before * leaving < 0.0) & (after * coming > 0.0)


def passages(
    watched: WatchedZeros, stride: Stride, before: np.ndarray, after: np.ndarray, turned: np.ndarray
) -> list[Passage]:
    """The passages of a stride, in their order, those beyond one that ends the curve left out.

    Args:
        before, after: (E,) values of all expressions at its ends. turned: (E,) as of `turning`.
    """
    passed: list[Passage] = []
    for which in np.flatnonzero(turned):
        passed += _both(watched, stride, int(which), float(before[which]))
    for which in np.flatnonzero((before * after < 0.0) | ((after == 0.0) & (before != 0.0))):
        direction = "up" if before[which] < 0.0 else "down"
        if watched.counts(int(which), direction):
            passed.append(_passage(watched, stride, int(which), direction, ends_there=bool(after[which] == 0.0)))
    passed.sort(key=lambda one: one.length)
    last = next((k for k, one in enumerate(passed) if watched.stops(one.which)), len(passed))
    return passed[: last + 1]


def _both(watched: WatchedZeros, stride: Stride, which: int, before: float) -> list[Passage]:
    """The two zeros of an expression that turns round in a stride; none where it does so before zero."""
    value = _value(watched, stride, which)
    nearest: Any = minimize_scalar(lambda x: np.sign(before) * value(x), bounds=(0.0, stride.length), method="bounded")
    if np.sign(before) * value(float(nearest.x)) >= 0.0:
        return []
    there, back = ("down", "up") if before > 0.0 else ("up", "down")
    ends = ((there, 0.0, float(nearest.x)), (back, float(nearest.x), stride.length))
    return [_at_zero(stride, which, way, value, low, high) for way, low, high in ends if watched.counts(which, way)]


def _passage(watched: WatchedZeros, stride: Stride, which: int, direction: str, *, ends_there: bool) -> Passage:
    value = _value(watched, stride, which)
    low = stride.length if ends_there else 0.0
    return _at_zero(stride, which, direction, value, low, stride.length)


def _value(watched: WatchedZeros, stride: Stride, which: int) -> Callable[[float], float]:
    def value(length: float) -> float:
        pose = stride.at(np.array([length]))
        rest = stride.loading.at(stride.rest, pose.factor)
        return float(watched.values(rest, pose.q, pose.states)[which, 0])

    return value


def _at_zero(
    stride: Stride, which: int, direction: str, value: Callable[[float], float], low: float, high: float
) -> Passage:
    """That between two lengths of the stride, or at them where they are one."""
    root: Any = high if low == high else brentq(value, low, high, xtol=WITHIN)
    return Passage(which, direction, float(root), stride.at(np.array([float(root)])))
