"""Walks of closed poses: coordinates and numbers led to where they are wanted, of many members at once.

Problem: a path of closed poses of one substructure along which held coordinates and numbers move to their targets.
The path must stay on its assembly branch: strides of at most 10 degrees and 5 % of the model's size, each predicted by
the secant of the last two poses, which leads straight through poses where branches meet, and halved where the loops do
not close or the pose jumps. A change of sign of the Jacobian of the joints that are not held is noticed.

Host code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.dynamics.kinematics import quaternion_places
from shiftjax.dynamics.lane import Lane
from shiftjax.field import Role
from shiftjax.run.closing.closer import CLOSED, STEP_ANGLE, STEP_LENGTH, Rule, closed, least_change
from shiftjax.run.closing.continuation import followed
from shiftjax.run.closing.determinants import SignWatch
from shiftjax.run.closing.holding import columns_of
from shiftjax.run.closing.host_evaluation import Loops, StartLane, can_close, leads_joints, prescribed_coordinates
from shiftjax.topology.plan import Plan

JUMP = 0.6  # rad, or of the model's size: a corrector that moves a joint farther has left the path
FINEST = 1 / 64  # of a whole stride: a path that needs finer ones ends
ARRIVED = 1e-9  # of the way: what is left of it is rounding

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
    """

    index: int
    lane_of: LaneOf
    members: np.ndarray
    holding: Sequence[int]
    begin: np.ndarray
    target: np.ndarray
    steps: np.ndarray
    judged: Sequence[int] = ()


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
        self.whole = 1.0 / np.maximum.reduce([way.steps, _held_steps(plan, way), _driven_steps(plan, way)])
        self.columns = columns_of(plan, way.index, way.holding)
        self.driven = leads_joints(plan)
        judged = list(way.judged)
        J = Loops(plan, way.lane_of(way.members, 0.0), way.index).at(q)[1] if judged else np.zeros((q.shape[1], 0, 0))
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
        loops = Loops(self.plan, lane, self.way.index)
        pose = closed(loops, guess, least_change(self.columns, None), loops.cap, Rule())
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
    if not leads_joints(plan):
        return steps
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
