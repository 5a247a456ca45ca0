"""What a workspace is asked of: closures, the coordinates in which it lies, limits of joints. Host code.

Coordinates of a workspace are places of a frame in the world, `arm:tip.x`, or coordinates of joints. With two of the
latter, the inputs of a mechanism, the same curves are its singular ones over the plane of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec
from shiftjax.constraints import CoordinateFunction
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError, refuse_text, shown
from shiftjax.forces.stops import FAR
from shiftjax.kinematics.stops import ends_of_ways
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.closing.equations import Equations, Function, closures
from shiftjax.run.options import options_of
from shiftjax.run.start.branches import spread_poses
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import RANK, complete_pivoting
from shiftjax.topology.plan import Plan

AXES = "xyz"
MOVES = 1e-9  # of the model's length: a coordinate that moves less at all poses does not move
FLAT = 1e-7  # of the largest speed: coordinates that move so little across a curve or a surface stay on it
TOUCHES = 1e-12  # of a turn: an angle at the end of its way is within
SPREAD = 16  # poses at which is seen what moves
CLOSED = 1e-11  # residual of a closed pose, dimensionless
Coordinate = Callable[[Lane, Vec], Scalar]


@dataclass(frozen=True)
class Limit:
    """An end of a joint's way, of a stop of the model.

    Attributes:
        coordinate: its path. place: in q. speed: in v. end: -1 of the lower, 1 of the upper one. value: [rad or m].
    """

    coordinate: str
    place: int
    speed: int
    end: int
    value: float


@dataclass
class Reaching:
    """A model and the coordinates in which its workspace lies.

    Attributes:
        names, units: of the coordinates. made: their lane code.
    """

    prepared: Prepared
    names: tuple[str, ...]
    units: tuple[str, ...]
    made: tuple[Coordinate, ...]
    limits: tuple[Limit, ...]

    @classmethod
    def of(
        cls,
        model: Model,
        asked: str | Sequence[str],
        assign: Mapping[str, float | str] | None,
        tie: Mapping[str, CoordinateFunction | str] | None,
        *,
        stops: bool,
    ) -> Reaching:
        """Raises ModelError: no such frame or coordinate; fewer than two that move, or more than three."""
        options = options_of(assign=assign, tie=tie)
        prepared = prepare(model, {}, options)
        if not prepared.file_start.closed[0]:
            fault = "loops that do not close where it stands"
            raise ModelError(f"model {model.name}", fault, "a model that can be assembled", "Correct its start.")
        plan = prepared.plan
        made: dict[str, tuple[str, Coordinate]] = {}
        if not isinstance(asked, str):
            refuse_text("coordinates", asked)
        for text in [f"{asked}.{axis}" for axis in AXES] if isinstance(asked, str) else asked:
            name, unit, function = _coordinate(prepared.model, plan, text)
            made[name] = unit, function
        ends = _limits(prepared) if stops else ()
        names, parts = tuple(made), tuple(made.values())
        whole = cls(prepared, names, tuple(p[0] for p in parts), tuple(p[1] for p in parts), ends)
        if isinstance(asked, str):
            whole = whole._moving()
        if len(whole.names) not in (2, 3):
            fault = f"{len(whole.names)} coordinates, {listed(list(whole.names)) or 'none'}"
            raise ModelError(
                "coordinates", fault, "two or three that move", "Name them, as ('arm:tip.x', 'arm:tip.y')."
            )
        return whole

    def _moving(self) -> Reaching:
        """The same without coordinates of a frame that never move."""
        poses = self.poses(SPREAD)
        values = self.base.values(self.base.inputs(poses, self.none(poses)))[1]
        size = max(np.abs(values).max(initial=0.0), self.prepared.setup.length)
        moves = np.ptp(values, axis=0) > MOVES * size
        which = np.flatnonzero(moves)
        names, units = (tuple(group[k] for k in which) for group in (self.names, self.units))
        return Reaching(self.prepared, names, units, tuple(self.made[k] for k in which), self.limits)

    @property
    def plan(self) -> Plan:
        return self.prepared.plan

    @property
    def columns(self) -> list[int]:
        """All speeds."""
        return list(range(self.plan.nv))

    @staticmethod
    def none(q: np.ndarray) -> np.ndarray:
        """(0, B): no number of the model differs."""
        return np.zeros((0, q.shape[1]))

    @cached_property
    def base(self) -> Equations:
        """The closures, and as answers the coordinates."""
        return self.system(lambda lane, q: [])

    def system(self, more: Callable[[Lane, Vec], Vec]) -> Equations:
        """Closures that do not follow from others, some equations more, and as answers the coordinates."""

        def function(lane: Lane, q: Vec, _: Vec) -> tuple[Vec, Vec]:
            rows = closures(lane, q, range(len(self.plan.substructures)), drivers=True)
            return [*(rows[k] for k in self._rows), *more(lane, q)], [one(lane, q) for one in self.made]

        return self._equations(function)

    def _equations(self, function: Function) -> Equations:
        return Equations.of(self.prepared.setup, self.prepared.own_numbers, (), self.columns, function)

    @cached_property
    def whole(self) -> Equations:
        """All closures, also those that follow from others."""
        every = range(len(self.plan.substructures))
        return self._equations(lambda lane, q, _: (closures(lane, q, every, drivers=True), []))

    @cached_property
    def _rows(self) -> list[int]:
        """Closures that do not follow from others where the model stands."""
        q = self.prepared.file_start.q
        J = self.whole.slopes(self.whole.inputs(q, self.none(q)))[0]
        if not J.size:
            return []
        pivots = complete_pivoting(J, RANK)
        return sorted(pivots.rows[0, : int(pivots.rank[0])].tolist())

    def closed(self, q: np.ndarray) -> np.ndarray:
        """(B,) whether loops are closed at coordinates (nq, B): the rows of equations vanish half a turn off, too."""
        lane, good = self.prepared.with_numbers(self.prepared.own_numbers), np.ones(q.shape[1], bool)
        for s in range(len(self.plan.substructures)):
            good &= np.abs(host.closure(lane, q, s)[0]).max(1, initial=0.0) < CLOSED
        return good

    @property
    def freedoms(self) -> int:
        """Of the mechanism where it stands."""
        return self.plan.nv - len(self._rows)

    def poses(self, count: int) -> np.ndarray:
        """(nq, K) closed poses all over: where the model stands, and others that are closed from spread ones."""
        start = self.prepared.file_start.q
        free = range(len(self.plan.coordinates))
        spread = spread_poses(self.plan, start[:, 0], free, self.prepared.setup.length, count)
        q = np.stack([start[:, 0], *spread], axis=1)
        for place, (low, high) in self._ways.items():
            one = next(one for one in self.plan.coordinates if one.q == place)
            share = q[place, 1:] / (2.0 * (np.pi if one.unit == "rad" else self.prepared.setup.length)) + 0.5
            q[place, 1:] = low + share * (high - low)
        there, _, _ = self.base.solved(q, self.none(q))
        return there[:, self.closed(there)]

    def within(self, q: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """(B,) whether coordinates (nq, B) are within the limits."""
        good = np.ones(q.shape[1], bool)
        for one in self.limits:
            good &= one.end * (q[one.place] - one.value) <= slack
        return good

    @cached_property
    def _ways(self) -> dict[int, tuple[float, float]]:
        """Row of q -> its lower and its upper end, where it has both."""
        ends: dict[int, dict[int, float]] = {}
        for one in self.limits:
            ends.setdefault(one.place, {})[one.end] = one.value
        return {place: (both[-1], both[1]) for place, both in ends.items() if len(both) == 2}

    def turned(self, q: np.ndarray, at_limit: int | None) -> np.ndarray:
        """(nq, K) coordinates (nq,) with their angles turned by whole turns into their ways, in all combinations.

        Args:
            at_limit: row of q that is not turned: that of the limit on which the coordinates lie.
        """
        turning = {one.q for one in self.plan.coordinates if one.plain and one.unit == "rad"}
        ways = {place: ends for place, ends in self._ways.items() if place in turning and place != at_limit}
        every: list[np.ndarray] = []
        for place, (low, high) in ways.items():
            least = np.ceil((low - q[place]) / (2.0 * np.pi) - TOUCHES)
            most = np.floor((high - q[place]) / (2.0 * np.pi) + TOUCHES)
            every.append(q[place] + 2.0 * np.pi * np.arange(least, most + 1.0))
        combined = np.stack(np.meshgrid(*every, indexing="ij")).reshape(len(ways), -1) if ways else np.zeros((0, 1))
        out = np.repeat(q[:, None], combined.shape[1], axis=1)
        out[list(ways)] = combined
        return out

    def spans(self) -> bool:
        """Whether at some pose the coordinates move in as many directions as there are coordinates."""
        poses = self.poses(SPREAD)
        J, P = self.base.slopes(self.base.inputs(poses, self.none(poses)))
        P = P / np.maximum(np.abs(P).max((0, 2), keepdims=True), 1e-300)
        motions = np.linalg.svd(J)[2][:, -self.freedoms :] if J.size else np.eye(P.shape[2])[None]
        sizes = np.linalg.svd(P @ motions.transpose(0, 2, 1), compute_uv=False)
        return bool(sizes[:, len(self.names) - 1 :].max(initial=0.0) > FLAT)


def _limits(prepared: Prepared) -> tuple[Limit, ...]:
    """Ends of ways: of stops and limits of the model, the tighter one.

    Raises:
        ModelError: ends of a coordinate between which nothing lies.
    """
    ends: dict[tuple[int, int], Limit] = {}
    for one in ends_of_ways(prepared.model, prepared.plan):
        x, key = float(prepared.own_numbers[one.number]), (one.coordinate.q, one.end)
        if abs(x) < FAR and (key not in ends or one.end * (x - ends[key].value) < 0.0):
            ends[key] = Limit(one.coordinate.path, one.coordinate.q, one.coordinate.v, one.end, x)
    for (place, end), low in ends.items():
        if end < 0 and (high := ends.get((place, 1))) is not None and low.value > high.value:
            fault, todo = f"{low.value:g} and {high.value:g}", "Correct its limits, or its stop."
            raise ModelError(low.coordinate, f"ends of its way {fault}", "a lower end up to the upper one", todo)
    return tuple(ends.values())


def _coordinate(model: Model, plan: Plan, text: str) -> tuple[str, str, Coordinate]:
    """Name, unit and lane code of a coordinate: of a joint, or FRAME.x, .y, .z of a frame."""
    if not isinstance(text, str):
        raise ModelError("coordinates", shown(text), "texts, as 'arm:tip.x' or 'crank_pivot'", "Name coordinates.")
    path, _, axis = text.rpartition(".")
    if axis in AXES and len(axis) == 1 and path and (frame := plan.frame_named(model.resolve(path))) is not None:
        k = AXES.index(axis)
        return text, "m", lambda lane, q: lane.motion(q, None).point(frame)[k]
    full = plain_coordinate(model, text, "coordinates")
    one = next(one for one in plan.coordinates if one.path == full)
    return full, one.unit, lambda lane, q: q[one.q]
