"""Where in one stride of a curve of equilibria watched expressions vanish. Host code.

A value that changes its sign between the ends of a stride has a zero there, which Brent's method brackets to rounding
along the stride (Brent, Algorithms for Minimization without Derivatives, ch. 4); of several, one is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.optimize import brentq

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


def passages(watched: WatchedZeros, stride: Stride, before: np.ndarray, after: np.ndarray) -> list[Passage]:
    """The passages of a stride, in their order, those beyond one that ends the curve left out.

    Args:
        before, after: (E,) values of all expressions at its ends.
    """
    passed: list[Passage] = []
    for which in np.flatnonzero((before * after < 0.0) | ((after == 0.0) & (before != 0.0))):
        direction = "up" if before[which] < 0.0 else "down"
        if watched.counts(int(which), direction):
            passed.append(_passage(watched, stride, int(which), direction, ends_there=bool(after[which] == 0.0)))
    passed.sort(key=lambda one: one.length)
    last = next((k for k, one in enumerate(passed) if watched.stops(one.which)), len(passed))
    return passed[: last + 1]


def _passage(watched: WatchedZeros, stride: Stride, which: int, direction: str, *, ends_there: bool) -> Passage:
    def value(length: float) -> float:
        pose = stride.at(np.array([length]))
        rest = stride.loading.at(stride.rest, pose.factor)
        return float(watched.values(rest, pose.q, pose.states)[which, 0])

    root: Any = stride.length if ends_there else brentq(value, 0.0, stride.length, xtol=WITHIN)
    return Passage(which, direction, float(root), stride.at(np.array([float(root)])))
