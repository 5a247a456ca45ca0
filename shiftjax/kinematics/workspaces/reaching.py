"""What a workspace is asked of: closures, the coordinates in which it lies, limits of joints. Host code.

Coordinates of a workspace are places of a frame in the world, `arm:tip.x`, or coordinates of joints. With two of the
latter, the inputs of a mechanism, the same curves are its singular ones over the plane of its inputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec, atan2
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError, refuse_text, shown
from shiftjax.forces.stops import FAR
from shiftjax.kinematics.stops import ends_of_ways
from shiftjax.kinematics.workspaces.one_branch import BranchEnd, begun_on_branch, margins, refuse_open
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.beginning import unsound
from shiftjax.run.closing.equations import Equations, Function, closures
from shiftjax.run.options import Options
from shiftjax.run.start.assembly import start_of
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
ROWS = "rows"  # of what all designs share
FURTHER = 8  # times as many spread poses as are wanted on a branch, at most
ASIDE = 1e-4  # rad or parts of the length, from where assemblies meet, at which is seen on which side they are
CLOSED = 1e-11  # residual of a closed pose, dimensionless
Coordinate = Callable[[Lane, Vec], Scalar]


@dataclass(frozen=True)
class Limit:
    """An end of a joint's way, of a stop of the model.

    Attributes:
        coordinate: its path. place: in q. speed: in v. end: -1 of the lower, 1 of the upper one. value: [rad or m].
        number: its place among the plan's numbers.
    """

    coordinate: str
    place: int
    speed: int
    end: int
    value: float
    number: int


@dataclass
class Reaching:
    """A model and the coordinates in which its workspace lies, of one design.

    Attributes:
        names, units: of the coordinates. made: their lane code. start: (nq,) where the design stands, closed. values:
            (P,) of the numbers that vary, which the equations have as parameters. systems: equations, which all designs
            share. meetings: where the branch ends that is asked for; none where all assemblies count. branch: its name,
            and note: what is to be known of it.
    """

    prepared: Prepared
    names: tuple[str, ...]
    units: tuple[str, ...]
    made: tuple[Coordinate, ...]
    limits: tuple[Limit, ...]
    start: np.ndarray
    values: np.ndarray
    systems: dict[Any, Any] = field(default_factory=dict, repr=False)
    meetings: tuple[BranchEnd, ...] = ()
    branch: str = ""
    note: str = ""

    @classmethod
    def of_all(
        cls, model: Model, asked: str | Sequence[str], options: Options, *, stops: bool, like: Reaching | None = None
    ) -> list[Reaching | None]:
        """Of every design, None of one that cannot be assembled, or not on the branch that is asked for.

        Args:
            options: of designs that are worked out. like: of the model's own numbers, which says what moves and which
                closures follow from others; else the first design does, so that others see who is asked with them.

        Raises:
            ModelError: no such frame or coordinate; fewer than two that move, or more than three; designs none of which
                can be assembled; no such branch.
        """
        vary = options.design.vary
        prepared = prepare(model, vary or {}, options)
        began, note, ends = prepared.file_start, "", dict[int, tuple[BranchEnd, ...]]()
        if prepared.branch:
            began, ends, note = begun_on_branch(prepared)
        elif vary is not None:
            began = start_of(prepared, unsound(prepared, 0.0, 0.0, strict=False), moving=False)
        if not began.closed.any():
            fault = "loops that do not close where it stands"
            raise ModelError(f"model {model.name}", fault, "a model that can be assembled", "Correct its start.")
        first = int(np.flatnonzero(began.closed)[0])
        one = cls._of(
            prepared, asked if like is None else like.names, began.q[:, first], prepared.values[:, first], stops=stops
        )
        if like is not None:
            one.systems[ROWS] = like._rows
        out = list[Reaching | None]()
        branches = np.resize(np.array(prepared.branch or ("",), object), prepared.members)
        for k, closed in enumerate(began.closed):
            values, q = prepared.values[:, k], began.q[:, k]
            limits = _limits(prepared, values) if stops and closed else ()
            branch = {"meetings": ends.get(k, ()), "branch": str(branches[k]), "note": note}
            out.append(replace(one, start=q, values=values, limits=limits, **branch) if closed else None)
        return out

    @classmethod
    def of_model(cls, model: Model, asked: str | Sequence[str], options: Options, *, stops: bool) -> Reaching:
        """Of a model's own numbers, though they may not close its loops where the coordinates are named.

        Raises:
            ModelError: as of `of_all`.
        """
        prepared = prepare(model, {}, options)
        if prepared.branch:
            refuse_open(prepared, prepared.file_start)
        closed, start = prepared.file_start.closed[0], prepared.file_start.q[:, 0]
        if isinstance(asked, str) and not closed:
            fault, allowed = "a frame, and loops that do not close where the model stands", f"two or three of {asked}.x"
            todo = f'Name those that move, as ["{asked}.x", "{asked}.y"], or correct its start.'
            raise ModelError("coordinates", fault, f"{allowed}, {asked}.y, {asked}.z, which need no pose", todo)
        if not closed:  # where it stands it may be singular, as stretched bars are
            free = range(len(prepared.plan.coordinates))
            start = next(iter(spread_poses(prepared.plan, start, free, prepared.setup.length, 2)))
        return cls._of(prepared, asked, start, prepared.values[:, 0], stops=stops)

    @classmethod
    def _of(
        cls, prepared: Prepared, asked: str | Sequence[str], start: np.ndarray, values: np.ndarray, *, stops: bool
    ) -> Reaching:
        plan = prepared.plan
        made: dict[str, tuple[str, Coordinate]] = {}
        if not isinstance(asked, str):
            refuse_text("coordinates", asked)
        for text in [f"{asked}.{axis}" for axis in AXES] if isinstance(asked, str) else asked:
            name, unit, function = _coordinate(prepared.model, plan, text)
            made[name] = unit, function
        ends = _limits(prepared, values) if stops else ()
        names, parts = tuple(made), tuple(made.values())
        whole = cls(prepared, names, tuple(p[0] for p in parts), tuple(p[1] for p in parts), ends, start, values)
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
        values = self.base.values(self.base.inputs(poses, self.numbers(poses)))[1]
        size = max(np.abs(values).max(initial=0.0), self.prepared.setup.length)
        moves = np.ptp(values, axis=0) > MOVES * size
        which = np.flatnonzero(moves)
        names, units = (tuple(group[k] for k in which) for group in (self.names, self.units))
        return replace(self, names=names, units=units, made=tuple(self.made[k] for k in which), systems={})

    def with_angle(self) -> Reaching:
        """Both places of a frame in a plane, and its angle there, about the third axis."""
        frame = self.names[0].rpartition(".")[0]
        place = self.plan.frame_named(self.prepared.model.resolve(frame))
        assert place is not None
        a, b = (AXES.index(name[-1]) for name in self.names)
        sign = 1.0 if (b - a) % 3 == 1 else -1.0

        def angle(lane: Lane, q: Vec) -> Scalar:
            R = lane.motion(q, None).pose(place)[0]
            return atan2(sign * R[b][a], R[a][a])

        names, units = (*self.names, f"{frame}.angle"), (*self.units, "rad")
        return replace(self, names=names, units=units, made=(*self.made, angle), systems={})

    @property
    def plan(self) -> Plan:
        return self.prepared.plan

    @property
    def columns(self) -> list[int]:
        """All speeds."""
        return list(range(self.plan.nv))

    def numbers(self, q: np.ndarray) -> np.ndarray:
        """(P, B) the numbers that vary, for coordinates (nq, B)."""
        return np.repeat(self.values[:, None], q.shape[1], axis=1)

    def _shared(self, what: Hashable, make: Callable[[], Any]) -> Any:
        """What all designs have in common, made once."""
        if what not in self.systems:
            self.systems[what] = make()
        return self.systems[what]

    @property
    def base(self) -> Equations:
        """The closures, and as answers the coordinates."""
        return self._shared("base", lambda: self.system(lambda lane, q: []))

    @property
    def folds(self) -> Equations:
        """Where both coordinates lose rank together with the closures."""
        return self._shared("folds", lambda: self.base.singular((0, 1)))

    def at_limit(self, limit: Limit) -> Equations:
        """The closures with a joint at the end of its way."""
        size = next(1.0 if c.unit == "rad" else self.prepared.setup.length
                    for c in self.plan.coordinates if c.q == limit.place)  # fmt: skip
        row = limit.place, limit.number

        def more(lane: Lane, q: Vec) -> Vec:
            return [(q[row[0]] - lane.params.numbers[row[1]]) * (1.0 / size)]

        return self._shared(("limit", *row), lambda: self.system(more))

    @property
    def placed(self) -> Equations:
        """The closures with the coordinates where they are wanted, as numbers given beside those that vary."""

        def function(lane: Lane, q: Vec, goals: Vec) -> tuple[Vec, Vec]:
            off = zip(self._at(lane, q), goals, self.units, strict=True)
            sized = [(x - goal) * (1.0 if unit == "rad" else 1.0 / lane.length) for x, goal, unit in off]
            return [*self._independent_closures(lane, q), *sized], []

        return self._shared("placed", lambda: self._equations(function, given=len(self.made)))

    def comes_to(self, q: np.ndarray, goals: np.ndarray, iterations: int) -> np.ndarray:
        """(B,) whether from coordinates (nq, B) Newton's method comes to poses at places (B, D) that count."""
        q, _, size = self.placed.solved(q, np.concatenate([self.numbers(q), goals.T]), None, iterations)
        good = (size < CLOSED) & self.closed(q)
        for k in np.flatnonzero(good):
            good[k] = self.within(self.turned(q[:, k], None)).any()
        return good

    def meeting(self, place: BranchEnd) -> Equations:
        """The closures where assemblies meet, with a unit vector of unknowns more."""

        def make() -> Equations:
            return self._equations(
                lambda lane, q, w: ([*self._independent_closures(lane, q), *place.lost(lane, q, w)], self._at(lane, q)),
                others=len(place.rows),
            )

        return self._shared(("meeting", place.key), make)

    @property
    def _blocks(self) -> Equations:
        """No equation, and as answers the entries of the blocks that are singular where the branch ends."""

        def entries(lane: Lane, q: Vec, _: Vec) -> tuple[Vec, Vec]:
            return [], [x for place in self.meetings for line in place.block(lane, q) for x in line]

        return self._shared(("blocks", *(one.key for one in self.meetings)), lambda: self._equations(entries))

    def block(self, place: BranchEnd, q: np.ndarray) -> np.ndarray:
        """(B, m, m) the block that is singular where assemblies meet, at coordinates (nq, B)."""
        first = sum(len(one.rows) ** 2 for one in self.meetings[: self.meetings.index(place)])
        m = len(place.rows)
        values = self._blocks.values(self._blocks.inputs(q, self.numbers(q)))[1]
        return values[:, first : first + m * m].reshape(-1, m, m)

    def null_motion(self, place: BranchEnd, q: np.ndarray) -> np.ndarray:
        """(m,) the motion of a group of joints, while its inputs stand, at a pose (nq,) at which assemblies meet."""
        return np.linalg.svd(self.block(place, q[:, None]))[2][0, -1]

    def margins(self, q: np.ndarray) -> np.ndarray:
        """(K, B) how far poses (nq, B) are from where assemblies meet: smallest singular values, negative off the
        branch."""
        if not self.meetings:
            return np.zeros((0, q.shape[1]))
        return margins(self.meetings, self._blocks.values(self._blocks.inputs(q, self.numbers(q)))[1])

    def margin_slopes(self, k: int, q: np.ndarray) -> np.ndarray:
        """(B, n) how one of the margins changes with the speeds, at coordinates (nq, B)."""
        place, x = self.meetings[k], self._blocks.inputs(q, self.numbers(q))
        m, first = len(place.rows), sum(len(one.rows) ** 2 for one in self.meetings[:k])
        u, _, v = np.linalg.svd(self.block(place, q))
        slopes = self._blocks.slopes(x)[1][:, first : first + m * m].reshape(-1, m, m, len(self.columns))
        sign = np.where(self.margins(q)[k] > 0.0, 1.0, -1.0)
        return sign[:, None] * np.einsum("bi,bijn,bj->bn", u[:, :, -1], slopes, v[:, -1])

    def beside(self, q: np.ndarray, motion: np.ndarray) -> np.ndarray:
        """(K, 2) margins next to a pose (nq,), before and behind it along a motion (n,)."""
        x = self.base.inputs(q[:, None], self.values[:, None])
        poses = [self.base.moved(x, side * ASIDE * motion[None])[: len(q)] for side in (-1.0, 1.0)]
        return self.margins(np.concatenate(poses, axis=1))

    def system(self, more: Callable[[Lane, Vec], Vec]) -> Equations:
        """Closures that do not follow from others, some equations more, and as answers the coordinates."""

        return self._equations(
            lambda lane, q, _: ([*self._independent_closures(lane, q), *more(lane, q)], self._at(lane, q))
        )

    def _independent_closures(self, lane: Lane, q: Vec) -> Vec:
        rows = closures(lane, q, range(len(self.plan.substructures)), drivers=True)
        return [rows[k] for k in self._rows]

    def _at(self, lane: Lane, q: Vec) -> Vec:
        """The coordinates of the workspace."""
        return [one(lane, q) for one in self.made]

    def _equations(self, function: Function, others: int = 0, given: int = 0) -> Equations:
        of = self.prepared
        return Equations.of(of.setup, of.own_numbers, of.places, self.columns, function, others=others, given=given)

    @property
    def whole(self) -> Equations:
        """All closures, also those that follow from others."""
        every = range(len(self.plan.substructures))
        return self._shared(
            "whole", lambda: self._equations(lambda lane, q, _: (closures(lane, q, every, drivers=True), []))
        )

    @property
    def _rows(self) -> list[int]:
        """Closures that do not follow from others where the first design stands."""
        return self._shared(ROWS, self._independent)

    def _independent(self) -> list[int]:
        q = self.start[:, None]
        J = self.whole.slopes(self.whole.inputs(q, self.numbers(q)))[0]
        if not J.size:
            return []
        pivots = complete_pivoting(J, RANK)
        return sorted(pivots.rows[0, : int(pivots.rank[0])].tolist())

    def closed(self, q: np.ndarray) -> np.ndarray:
        """(B,) whether loops are closed at coordinates (nq, B): the rows of equations vanish half a turn off, too."""
        every: list[Scalar] = list(self.prepared.own_numbers)
        for place, value in zip(self.prepared.places, self.values, strict=True):
            every[place] = float(value)
        lane, good = self.prepared.with_numbers(every), np.ones(q.shape[1], bool)
        for s in range(len(self.plan.substructures)):
            good &= np.abs(host.closure(lane, q, s)[0]).max(1, initial=0.0) < CLOSED
        return good

    @property
    def freedoms(self) -> int:
        """Of the mechanism where it stands."""
        return self.plan.nv - len(self._rows)

    def poses(self, count: int) -> np.ndarray:
        """(nq, K) closed poses all over: where the model stands, and others that are closed from `count` spread ones;
        where a branch is asked for those on it, from further ones, too, until they are `count`."""
        free, most = range(len(self.plan.coordinates)), count * (FURTHER if self.meetings else 1)
        spread = spread_poses(self.plan, self.start, free, self.prepared.setup.length, most)
        out, enough = [self._closed_from([self.start])], 1 + count
        while sum(one.shape[1] for one in out) < enough and (some := [*itertools.islice(spread, count)]):
            there = self._closed_from(self._in_their_ways(some))
            out.append(there[:, (self.margins(there) > 0.0).all(0)])
        return np.concatenate(out, axis=1)[:, :enough]

    def _closed_from(self, poses: Sequence[np.ndarray]) -> np.ndarray:
        """(nq, K) poses closed from others, as many as are closed."""
        q = np.stack(poses, axis=1)
        there, _, _ = self.base.solved(q, self.numbers(q))
        return there[:, self.closed(there)]

    def _in_their_ways(self, poses: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Spread poses, their joints between the ends of their ways."""
        out = np.array(poses)
        for place, (low, high) in self._ways.items():
            one = next(one for one in self.plan.coordinates if one.q == place)
            share = out[:, place] / (2.0 * (np.pi if one.unit == "rad" else self.prepared.setup.length)) + 0.5
            out[:, place] = low + share * (high - low)
        return [*out]

    def within(self, q: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """(B,) whether coordinates (nq, B) are within the limits, and on the branch that is asked for."""
        good: np.ndarray = np.asarray((self.margins(q) > 0.0).all(0))
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

    @cached_property
    def spans(self) -> bool:
        """Whether at some pose the coordinates move in as many directions as there are coordinates."""
        poses = self.poses(SPREAD)
        J, P = self.base.slopes(self.base.inputs(poses, self.numbers(poses)))
        P = P / np.maximum(np.abs(P).max((0, 2), keepdims=True), 1e-300)
        motions = np.linalg.svd(J)[2][:, -self.freedoms :] if J.size else np.eye(P.shape[2])[None]
        sizes = np.linalg.svd(P @ motions.transpose(0, 2, 1), compute_uv=False)
        return bool(sizes[:, len(self.names) - 1 :].max(initial=0.0) > FLAT)


def _limits(prepared: Prepared, values: np.ndarray) -> tuple[Limit, ...]:
    """Ends of ways: of stops and limits of a design of numbers (P,) that vary, the tighter one.

    Raises:
        ModelError: ends of a coordinate between which nothing lies.
    """
    ends: dict[tuple[int, int], Limit] = {}
    varied = dict(zip(prepared.places, values, strict=True))
    for one in ends_of_ways(prepared.model, prepared.plan):
        x = float(varied.get(one.number, prepared.own_numbers[one.number]))
        key = one.coordinate.q, one.end
        if abs(x) < FAR and (key not in ends or one.end * (x - ends[key].value) < 0.0):
            ends[key] = Limit(one.coordinate.path, one.coordinate.q, one.coordinate.v, one.end, x, one.number)
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
