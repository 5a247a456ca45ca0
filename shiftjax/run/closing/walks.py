"""Walks of closed poses: coordinates and numbers led to where they are wanted, of many members at once; and mechanisms
whose numbers change where they stand.

Problem: a path of closed poses of one substructure along which held coordinates and numbers move to their targets.
The path must stay on its assembly branch: strides of at most 10 degrees and 5 % of the model's size, each predicted by
the secant of the last two poses, which leads straight through poses where branches meet, and halved where the loops do
not close or the pose jumps. A change of sign of the Jacobian of the joints that are not held is noticed.

Numbers of joints, frames or bodies that change at one instant (`Renumbered`): the independent coordinates of the
partition that a member has stay, and their speeds. The dependent ones are led to where the loops close with the new
numbers, then to the speeds that the loops allow. Refused, member by member: loops that do not close; a way that passes
a singular pose, behind which the branch is not sure; a pose at which the loops have another rank, or hold the
independent speeds.

Host code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.dynamics.kinematics import Parameters, quaternion_places
from shiftjax.dynamics.lane import Lane
from shiftjax.field import Role
from shiftjax.run.closing.closer import CLOSED, ROUNDED, STEP_ANGLE, STEP_LENGTH, Rule, closed, least_change
from shiftjax.run.closing.continuation import between, followed
from shiftjax.run.closing.determinants import SignWatch
from shiftjax.run.closing.holding import columns_of, follow_speeds
from shiftjax.run.closing.host_evaluation import (
    Loops,
    StartLane,
    can_close,
    closure,
    leads_joints,
    prescribed_coordinates,
    prescribed_speeds,
    true_gap,
)
from shiftjax.run.programs.setup import Setup, with_values
from shiftjax.topology.partition import RANK, Block, complete_pivoting, rank_tolerance
from shiftjax.topology.plan import Plan

JUMP = 0.6  # rad, or of the model's size: a corrector that moves a joint farther has left the path
FINEST = 1 / 64  # of a whole stride: a path that needs finer ones ends
ARRIVED = 1e-9  # of the way: what is left of it is rounding
BEYOND = "the way to the numbers that it sets passes a singular pose, behind which the branch is not sure"
SINGULAR = "with the numbers that it sets the loops stand on a singular pose"
LOST = "with the numbers that it sets the loops lose a freedom"
STUCK = "with the numbers that it sets the loops cannot move on"

# members (indices), fraction of the way from the file's numbers -> lane
LaneOf = Callable[[np.ndarray, float | np.ndarray], StartLane]


@dataclass
class Path:
    """Where a walk has led.

    Attributes:
        q: (nq, B) the last closed pose; reached: (B,) whether it is the end of the way.
        crossed: (B,) whether the Jacobian of the joints that are not held changed its sign on the way.
    """

    q: np.ndarray
    reached: np.ndarray
    crossed: np.ndarray

    def of(self, at: np.ndarray, members: np.ndarray) -> Path:
        """A path of the members `at` as one of others, all of which are among them."""
        where = np.searchsorted(at, members)
        return Path(self.q[:, where], self.reached[where], self.crossed[where])


@dataclass
class Way:
    """What moves on a walk: numbers by `lane_of`, the coordinates `holding` from `begin` to `target`.

    Attributes:
        begin, target: (nq, B). members: (B,) numbers for `lane_of`. steps: (B,) at least.
        judged: local columns whose Jacobian's sign is watched; none where empty.
        still: local columns that stay where they are, beside those of `holding`.
        rows: closures that hold on the way, without those of drivers, which lead nothing then; None for all.
    """

    index: int
    lane_of: LaneOf
    members: np.ndarray
    holding: Sequence[int]
    begin: np.ndarray
    target: np.ndarray
    steps: np.ndarray
    judged: Sequence[int] = ()
    still: Sequence[int] = ()
    rows: np.ndarray | None = None


def walk(plan: Plan, q: np.ndarray, way: Way) -> Path:
    """Walks from closed poses q (nq, B); see `Way`."""
    walks = _Walks(plan, way, q.copy())
    followed(walks, walks.whole, FINEST * walks.whole)
    return Path(walks.q, walks.done == 1.0, walks.watch.crossed)


class _Walks:
    """`Curves` of closed poses over the fraction of a way.

    Attributes:
        q, done: the last poses (nq, B) and their fractions (B,); `before` and `done_before`: those before them.
        whole: (B,) the longest stride.
    """

    def __init__(self, plan: Plan, way: Way, q: np.ndarray) -> None:
        self.plan, self.way, self.q, self.before = plan, way, q, q.copy()
        self.done, self.done_before = np.zeros(q.shape[1]), np.full(q.shape[1], -1.0)
        self.driven = way.rows is None and leads_joints(plan)
        by_drivers = _driven_steps(plan, way) if self.driven else 1.0
        self.whole = 1.0 / np.maximum(np.maximum(way.steps, _held_steps(plan, way)), by_drivers)
        self.columns = [*columns_of(plan, way.index, way.holding), *way.still]
        judged = list(way.judged)
        loops = Loops(plan, way.lane_of(way.members, 0.0), way.index, way.rows)
        J = loops.at(q)[1] if judged else np.zeros((q.shape[1], 0, 0))
        self.watch = SignWatch(J, judged)

    def advanced(self, members: np.ndarray, stride: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tries strides; see `Curves`."""
        fraction = np.minimum(self.done[members] + stride, 1.0)
        fraction[1.0 - fraction < ARRIVED] = 1.0
        lane = self.way.lane_of(self.way.members[members], fraction)
        guess = self._predicted(members, fraction, lane)
        taken, closing = can_close(lane, guess, self.way.index, self.way.holding), members
        if not taken.all():
            closing, guess, lane = members[taken], guess[:, taken], lane.of(taken)
        loops = Loops(self.plan, lane, self.way.index, self.way.rows)
        step, watched = least_change(self.columns, None), bool(self.watch.columns)
        pose = closed(loops, guess, step, loops.cap, Rule(), jacobians=watched)
        near = (pose.size <= CLOSED) & (_distance(self.plan, pose.q, guess, self.way.index, lane) < JUMP)
        # a jump is seen by finer strides; a singular pose stays
        near &= ~self.watch.turned(closing, pose.J) | (stride[taken] < 2.0 * FINEST * self.whole[closing])
        self.watch.passed(closing, near)
        taken[taken] = near
        arriving = members[taken]
        self.before[:, arriving], self.done_before[arriving] = self.q[:, arriving], self.done[arriving]
        self.q[:, arriving], self.done[arriving] = pose.q[:, near], fraction[taken]
        return taken, np.where(self.done[members] < 1.0, np.minimum(2.0 * stride, self.whole[members]), 0.0)

    @np.errstate(all="ignore")  # ways to 1e308 or to infinity: their poses do not close
    def _predicted(self, members: np.ndarray, fraction: np.ndarray, lane: StartLane) -> np.ndarray:
        """(nq, K) poses at fractions of the way, by the secant, held and driven coordinates where they are led."""
        way, done, before = self.way, self.done[members], self.done_before[members]
        ahead = np.where(before >= 0, (fraction - done) / np.maximum(done - before, 1e-12), 0)
        guess = self.q[:, members] + ahead * (self.q[:, members] - self.before[:, members])
        _normalise(self.plan, guess)
        place(self.plan, guess, way.holding, way.begin[:, members], way.target[:, members], fraction)
        for row, value in prescribed_coordinates(lane).items() if self.driven else ():
            guess[row] = value
        return guess


def place(
    plan: Plan, q: np.ndarray, holding: Sequence[int], begin: np.ndarray, target: np.ndarray, fraction: np.ndarray
) -> None:
    """Puts held coordinates a fraction of the way from `begin` to `target`, exactly at its end, in place."""
    for k in holding:
        coordinate = plan.coordinates[k]
        for row in range(coordinate.q, coordinate.q + coordinate.nq):
            with np.errstate(all="ignore"):  # the way to a place at infinity
                between = begin[row] + fraction * (target[row] - begin[row])
            q[row] = np.where(fraction == 1.0, target[row], between)
    _normalise(plan, q, {plan.coordinates[k].q for k in holding})


def _normalise(plan: Plan, q: np.ndarray, of: set[int] | None = None) -> None:
    """Makes quaternions units again, in place; those that begin at the given places, or all."""
    for first, _ in quaternion_places(plan):
        length = np.linalg.norm(q[first : first + 4], axis=0)
        if (of is None or first in of) and (np.abs(length - 1.0) > 1e-15).any():
            q[first : first + 4] /= np.where(length > 0, length, 1.0)


def _held_steps(plan: Plan, way: Way) -> np.ndarray:
    """Steps that move the held coordinates by at most 10 degrees and 5 % of the model's size."""
    lane = way.lane_of(way.members[:1], 1.0)
    steps = np.ones(way.begin.shape[1])
    for k in way.holding:
        coordinate = plan.coordinates[k]
        for row in range(coordinate.q, coordinate.q + coordinate.nq):
            reach = STEP_ANGLE if coordinate.unit == "rad" else STEP_LENGTH * lane.length
            with np.errstate(all="ignore"):  # as in `place`
                far = np.abs(way.target[row] - way.begin[row]) / reach
            steps = np.maximum(steps, np.ceil(np.nan_to_num(far - 1e-9, posinf=1.0)))
    return np.minimum(steps, 400.0)


def _driven_steps(plan: Plan, way: Way) -> np.ndarray:
    """Steps that move the driven coordinates by no more."""
    steps = np.ones(way.begin.shape[1])
    first, last = (prescribed_coordinates(way.lane_of(way.members, fraction)) for fraction in (0.0, 1.0))
    units = {row: one.unit for one in plan.coordinates for row in range(one.q, one.q + one.nq)}
    for row, target in last.items():
        reach = STEP_ANGLE if units[row] == "rad" else STEP_LENGTH * way.lane_of(way.members[:1], 1.0).length
        with np.errstate(all="ignore"):  # as in `place`
            far = np.abs(target - first[row]) / reach
        steps = np.maximum(steps, np.ceil(np.nan_to_num(far - 1e-9, posinf=1.0)))
    return np.minimum(steps, 400.0)


def number_steps(full: Lane, origin: Lane, members: int) -> np.ndarray:
    """Steps that keep every varied length within 5 % of the model's size, every varied direction within 10 degrees."""
    steps = np.ones(members)
    for where, before, value in zip(full.plan.numbers, origin.params.numbers, full.params.numbers, strict=True):
        if isinstance(value, np.ndarray) and where.role.of_shape:
            reach = STEP_LENGTH * full.length if where.role is Role.LENGTH else STEP_ANGLE
            with np.errstate(all="ignore"):  # lengths of 1e308, and infinite ones
                far = np.abs(value - before) / reach
            steps = np.maximum(steps, np.nan_to_num(far, posinf=1.0))
    return np.minimum(np.ceil(steps), 200)


def _distance(plan: Plan, a: np.ndarray, b: np.ndarray, index: int, lane: Lane) -> np.ndarray:
    """(B,) largest difference of a coordinate of a substructure, dimensionless."""
    far = np.zeros(a.shape[1])
    for k in plan.coordinates_in(index):
        places, unit = plan.coordinates[k].places, lane.units[plan.coordinates[k].v]
        with np.errstate(all="ignore"):  # of poses at infinity, none is near another
            far = np.maximum(far, (np.abs(a[places] - b[places]) / unit).max(0, initial=0.0))
    return np.nan_to_num(far, nan=np.inf)


# -- numbers that change where a mechanism stands ------------------------------------------------------------------


def _lane_with(setup: Setup, p: np.ndarray, t: np.ndarray) -> StartLane:
    """The lane of members with numbers p (np, B) of lanes, at times t (B,) [s]; of their starts it knows nothing."""
    numbers = with_values(setup.known_numbers, setup.varied, p)
    return StartLane(setup.plan, Parameters(numbers, setup.matrices), setup.length, setup.functions, t)


@dataclass
class Renumbered:
    """Members whose numbers change.

    Attributes:
        former, now: (np, B) numbers of lanes before and after. t: (B,) when [s].
    """

    setup: Setup
    former: np.ndarray
    now: np.ndarray
    t: np.ndarray

    def some(self, members: np.ndarray) -> Renumbered:
        """Some of the members."""
        return replace(self, former=self.former[:, members], now=self.now[:, members], t=self.t[members])

    def lane_of(self, members: np.ndarray, fraction: float | np.ndarray) -> StartLane:
        """The lane of some members so far from their former numbers to those of now."""
        former, now = self.former[:, members], self.now[:, members]
        return _lane_with(self.setup, between(former, now, fraction), self.t[members])

    def gap(self, q: np.ndarray) -> np.ndarray:
        """(B,) by which loops are open at coordinates q (nq, B) with the new numbers [m or rad]."""
        lane = _lane_with(self.setup, self.now, self.t)
        gaps = [np.abs(true_gap(lane, q, s)).max(1, initial=0.0) for s in range(self.setup.blocks)]
        return np.max([np.zeros(len(self.t)), *gaps], axis=0)

    def closed(
        self, q: np.ndarray, v: np.ndarray, index: int, block: Block
    ) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
        """Coordinates and speeds with the new numbers of one substructure, all members of one partition.

        Args:
            q: (nq, B), closed with the former numbers; v: (nv, B).

        Returns:
            both, and member -> why there are none.
        """
        plan, everyone = self.setup.plan, np.arange(q.shape[1])
        structure, full, causes = plan.substructures[index], self.lane_of(everyone, 1.0), dict[int, str]()
        place = {speed: k for k, speed in enumerate(structure.columns)}
        still, following = ([place[k] for k in side] for side in (block.independent, block.dependent))
        phi, _ = closure(full, q, index)
        moved = np.flatnonzero(~(np.abs(phi).max(1, initial=0.0) <= ROUNDED))
        q, v = q.copy(), v.copy()
        if len(moved):
            steps = number_steps(self.lane_of(moved, 1.0), self.lane_of(moved, 0.0), len(moved))
            begin = q[:, moved]
            path = walk(plan, begin, Way(index, self.lane_of, moved, (), begin, begin, steps, following, still))
            q[:, moved] = path.q
            names = ", ".join(plan.speed_names()[k] for k in block.independent)
            staying = f", independent coordinates staying ({names})" if names else ""
            open_ = f"the loops do not close with the numbers that it sets{staying}"
            causes = dict.fromkeys(moved[path.crossed].tolist(), BEYOND)
            causes |= dict.fromkeys(moved[~path.reached].tolist(), open_)
        columns = list(structure.columns)
        v[columns], texts = self._speeds(full, q, v[columns], index, still, following)
        return q, v, texts | causes

    def _speeds(
        self, full: StartLane, q: np.ndarray, v: np.ndarray, index: int, still: Sequence[int], following: Sequence[int]
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Speeds (columns, B) that agree with the loops, and member -> why there are none."""
        structure = self.setup.plan.substructures[index]
        unit = np.asarray(full.units)[list(structure.columns)]
        _, J = closure(full, q, index)
        nu, given = prescribed_speeds(full, q, index), np.ascontiguousarray((v / unit[:, None]).T)
        finite = np.asarray(np.isfinite(J).all((1, 2)) & np.isfinite(nu).all(1))
        J, nu = np.where(finite[:, None, None], J, 0.0), np.where(finite[:, None], nu, 0.0)
        off = follow_speeds(J, nu, given, still, following, np.linalg.pinv(J[:, :, following], rcond=RANK))[1]
        rank = complete_pivoting(J, rank_tolerance(structure, self.setup.precision)).rank
        causes = dict.fromkeys(np.flatnonzero(off).tolist(), STUCK)
        causes |= dict.fromkeys(np.flatnonzero(rank < len(following)).tolist(), SINGULAR)
        causes |= dict.fromkeys(np.flatnonzero(rank > len(following)).tolist(), LOST)
        return (given * unit).T, causes
