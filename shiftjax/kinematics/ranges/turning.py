"""By how much a joint of a planar four-bar may turn round: the margin of Grashof's condition. Host code.

Problem: a joint between two bars turns round where the distance d between their other ends is, all the way round, at
most the sum of the two other bars and at least their difference. d^2 is mean + size cos(angle - top) (law of cosines),
so that three angles tell its largest and its smallest value, and

    margin = min(a + b - largest d, smallest d - |a - b|)  [m],

above zero where the joint turns round, below where it ends at dead points, zero at a change point. A length that is off
by less than it does not change which of them it is. It has a slope where no two of its parts are equal, unlike the
ends of a travel, which vanish at change points with the root of the distance. Refused: nothing; of other loops there is
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import tau

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec, cos, larger, select, sin, sqrt, total
from shiftjax.dynamics.lane import Lane
from shiftjax.gradients.implicit import Solutions
from shiftjax.run.closing.equations import Equations
from shiftjax.run.closing.polygons import at_corners, sides
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.travel.triangles import in_one_plane, triangle_of

THIRDS = (0.0, tau / 3.0, 2.0 * tau / 3.0)


@dataclass
class TurningMargin:
    """The margins of all members of a prepared model with a driver that leads the joint; made by `of`.

    Attributes:
        prepared: with `varied` numbers of the caller's first. index: of the substructure. group: the constraint that
            closes it. driven: number of the driven coordinate. equations: none, and the margin as answer.
    """

    prepared: Prepared
    varied: int
    index: int
    group: int
    equations: Equations

    @classmethod
    def of(cls, prepared: Prepared, varied: int, index: int | None, driven: int, q: np.ndarray) -> TurningMargin | None:
        """None of what is no loop of four joints that turn.

        Args:
            q: (nq, B) coordinates, of which those of a member that is closed tell which side changes.
        """
        plan = prepared.plan
        group = None if index is None or plan.coordinates[driven].unit != "rad" else triangle_of(plan, index, driven)
        if index is None or group is None:
            return None
        changing = _changing(prepared, group, driven, q)

        def function(lane: Lane, at: Vec, _: Vec) -> tuple[Vec, Vec]:
            place = plan.coordinates[driven].q
            ways = [_with(at, place, at[place] + angle) for angle in THIRDS]
            every = [_sides(lane, way, group, driven) for way in ways]
            a, b = (side for k, side in enumerate(every[0]) if k != changing)
            return [], [_margin(a, b, [one[changing] for one in every])]

        places = prepared.places[:varied]
        equations = Equations.of(prepared.setup, prepared.own_numbers, places, (), function)
        return cls(prepared, varied, index, group, equations)

    def values(self, q: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(K,) [m] of closed coordinates (nq, K) of some members; NaN of loops that are not planar."""
        flat = in_one_plane(self.prepared.plan, self.prepared.lane_of(members, 1.0), self.index, self.group, q)
        return np.where(flat, self.equations.values(self._inputs(q, members))[1][:, 0], np.nan)

    def solutions(self, q: np.ndarray, members: np.ndarray, columns: Sequence[int], output: int) -> Solutions:
        """How the margins of planar loops follow from numbers; columns, output: as of `Solutions`."""
        return Solutions(self.equations, self._inputs(q, members), columns, members, [output])

    def _inputs(self, q: np.ndarray, members: np.ndarray) -> np.ndarray:
        return self.equations.inputs(q, self.prepared.values[: self.varied][:, members])


def _changing(prepared: Prepared, group: int, driven: int, q: np.ndarray) -> int:
    """Number of the side that changes as the driven joint turns."""
    place, lane = prepared.plan.coordinates[driven].q, prepared.lane_of(np.arange(q.shape[1]), 1.0)
    every = []
    for angle in THIRDS:
        at = q.copy()
        at[place] += angle
        every.append(host.loop_sides(lane, at, group, [driven]))
    return int(np.argmax(np.ptp(np.array(every), axis=0).max(1)))


def _sides(lane: Lane, q: Vec, group: int, driven: int) -> Vec:
    motion = lane.motion(at_corners(lane.plan, q, group, [driven]), None)
    return sides(lane.plan, motion, group, [driven], in_plane=True)[0]


def _with(q: Vec, place: int, value: Scalar) -> Vec:
    return [value if k == place else x for k, x in enumerate(q)]


def _margin(a: Scalar, b: Scalar, changing: Sequence[Scalar]) -> Scalar:
    """Of two sides that stay, and of the third one at thirds of a turn."""
    squares = [d * d for d in changing]
    mean = total(squares) * (1.0 / 3.0)
    along, across = (
        (2.0 / 3.0) * total([d * f(angle) for d, angle in zip(squares, THIRDS, strict=True)]) for f in (cos, sin)
    )
    size = sqrt(along * along + across * across)
    longest, shortest = sqrt(mean + size), sqrt(larger(mean - size, 0.0))
    too_long, too_short = a + b - longest, shortest - abs(a - b)
    return select(too_long < too_short, too_long, too_short)
