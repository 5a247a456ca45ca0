"""Closing the loops of one substructure, and walking closed poses from one design to another, many members at once.

Problem: coordinates q with Phi(q) = 0 near given ones, some columns held; and a path of closed poses along which held
joints and numbers move to where they are wanted.
The path must stay on its assembly branch: steps of at most 10 degrees and 5 % of the model's size, each predicted by
the secant of the last two poses, which leads straight through poses where branches meet, and halved where the loops do
not close or the pose jumps. A change of sign of the Jacobian of the joints that are not held is noticed.

Host code. Poses are closed by `closer`; predictor and corrector: Allgower, Georg, Numerical Continuation Methods,
chapter 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.dynamics.kinematics import quaternion_places
from shiftjax.dynamics.lane import Lane
from shiftjax.field import Role
from shiftjax.run.closing.closer import STEP_ANGLE, STEP_LENGTH, Rule, closed, least_change
from shiftjax.run.closing.host_evaluation import Loops, StartLane, can_close
from shiftjax.topology.partition import complete_pivoting
from shiftjax.topology.plan import Plan

CLOSED = 1e-9  # residual of an assembled member, dimensionless
RANK = 1e-8
HOLDABLE = 1e-6  # a joint whose motion is this small a part of every motion of the loops is not held
JUMP = 0.6  # rad, or of the model's size: a corrector that moves a joint farther has left the path
FINEST = 1 / 64  # of a step: a path that needs finer ones ends
SINGULAR = np.log(100.0)  # a Jacobian whose volume has shrunk this much says nothing about its sign
NEAREST = 60  # iterations towards the nearest pose

# members (indices), fraction of the way from the file's numbers -> lane
LaneOf = Callable[[np.ndarray, float | np.ndarray], StartLane]


def null_space(J: np.ndarray) -> np.ndarray:
    """(n, dof) orthonormal null space of one member's dimensionless Jacobian, through its partition."""
    found = complete_pivoting(J[None], RANK)
    rank = int(found.rank[0])
    rows, dependent = found.rows[0, :rank], found.columns[0, :rank]
    independent = np.setdiff1d(np.arange(J.shape[1]), dependent)
    Z = np.zeros((J.shape[1], len(independent)))
    Z[independent, np.arange(len(independent))] = 1.0
    if rank:
        Z[dependent] = -np.linalg.solve(J[np.ix_(rows, dependent)], J[np.ix_(rows, independent)])
    return np.linalg.qr(Z)[0]


def holdable(plan: Plan, J: np.ndarray, index: int, order: Sequence[int]) -> tuple[list[int], int]:
    """Coordinates of `order` that can be held together: their rows of the null space Z are independent.

    Args:
        J: (m, n) of one closed pose of substructure `index`. order: coordinates, the most binding first.

    Returns:
        the coordinates, and how many freedoms they leave.
    """
    Z = null_space(J)
    basis = np.zeros((0, Z.shape[1]))
    held: list[int] = []
    for k in order:
        own = columns_of(plan, index, [k])
        if not own or len(basis) == Z.shape[1]:
            continue
        rows = Z[own]
        for _ in range(2):  # twice is enough (Parlett, The Symmetric Eigenvalue Problem, section 6.9)
            rows = rows - rows @ basis.T @ basis
        _, size, directions = np.linalg.svd(rows, full_matrices=False)
        if len(size) == len(own) == plan.coordinates[k].nv and size.min() > HOLDABLE:
            held.append(k)
            basis = np.concatenate([basis, directions])
    return held, Z.shape[1] - len(basis)


def columns_of(plan: Plan, index: int, coordinates: Sequence[int]) -> list[int]:
    """Local columns of the speeds of some coordinates in a substructure."""
    place = {speed: k for k, speed in enumerate(plan.substructures[index].columns)}
    speeds = [speed for k in coordinates for speed in plan.coordinates[k].speeds]
    return [place[speed] for speed in speeds if speed in place]


def close(
    plan: Plan,
    lane: Lane,
    q: np.ndarray,
    index: int,
    held: Sequence[int],
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Closes one substructure near coordinates q (nq, B) with the least change.

    Args:
        held: local columns that stay. weight: (n,) of their changes: a heavy one moves less.

    Returns:
        coordinates (nq, B) and the residual (B,), dimensionless.
    """
    loops = Loops(plan, lane, index)
    pose = closed(loops, q, least_change(held, weight), loops.cap, Rule())
    return pose.q, pose.size


def nearest(
    plan: Plan, lane: Lane, q: np.ndarray, index: int, held: Sequence[int], goal: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The closed pose nearest to a goal, from a closed one near it: it does not depend on the way that led here.

    Coordinates of one number count. Where the iteration does not converge the pose stays where it was.

    Args:
        q, goal: (nq, B); weight: (n,) of distances, dimensionless.
    """
    loops = Loops(plan, lane, index)
    columns, unit = loops.columns, loops.unit
    place = {one.v: one.q for one in plan.coordinates if one.plain}
    pulled = np.array([speed in place and k not in held for k, speed in enumerate(columns)])
    rows = [place[speed] for speed, wanted in zip(columns, pulled, strict=True) if wanted]
    found, last = q.copy(), np.full(q.shape[1], np.inf)
    for _ in range(NEAREST):
        phi, J = loops.at(found)
        wish = np.zeros((q.shape[1], len(columns)))
        wish[:, pulled] = ((goal - found)[rows] / unit[pulled, None]).T * weight[pulled]
        A = J / weight
        A[:, :, list(held)] = 0.0
        own = np.linalg.pinv(A, rcond=RANK) @ (-phi - (A @ wish[:, :, None])[:, :, 0])[:, :, None]
        change = (wish + own[:, :, 0]) / weight
        change[:, list(held)] = 0.0
        last = np.abs(change).max(1)
        change /= np.maximum(np.abs(change).max(1) / STEP_ANGLE, 1.0)[:, None]
        found = loops.moved(found, change)
        if not (last > 1e-14).any():
            break
    found, size = close(plan, lane, found, index, held)
    good = (last < 1e-10) & (size <= CLOSED)
    return np.where(good, found, q)


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
    """What moves on a walk: numbers by `lane_of`, the coordinates `held` from `begin` to `target`.

    Attributes:
        begin, target: (nq, B). members: (B,) numbers for `lane_of`. steps: (B,) at least.
        judged: local columns whose Jacobian's sign is watched; none where empty.
    """

    index: int
    lane_of: LaneOf
    members: np.ndarray
    held: Sequence[int]
    begin: np.ndarray
    target: np.ndarray
    steps: np.ndarray
    judged: Sequence[int] = ()


def walk(plan: Plan, q: np.ndarray, way: Way) -> Path:
    """Walks from closed poses q (nq, B); see `Way`."""
    count, columns = q.shape[1], columns_of(plan, way.index, way.held)
    q, before = q.copy(), q.copy()
    done, done_before = np.zeros(count), np.full(count, -1.0)
    whole = 1.0 / np.maximum(way.steps, _held_steps(plan, way))
    step = whole.copy()
    driven = any(group.prescribes for group in plan.constraints)
    going = np.ones(count, bool)
    sign = _Sign(plan, way, q)
    while going.any():
        at = np.flatnonzero(going)
        fraction = np.minimum(done[at] + step[at], 1.0)
        fraction[1.0 - fraction < 1e-9] = 1.0
        lane = way.lane_of(way.members[at], fraction)
        ahead = np.where(done_before[at] >= 0, (fraction - done[at]) / np.maximum(done[at] - done_before[at], 1e-12), 0)
        guess = q[:, at] + ahead * (q[:, at] - before[:, at])
        _normalise(plan, guess)
        place(plan, guess, way.held, way.begin[:, at], way.target[:, at], fraction)
        for row, value in lane.prescribed().items() if driven else ():
            guess[row] = value
        able = can_close(lane, guess, way.index, way.held)
        if not able.all():
            step[at[~able]] *= 0.5
            at, fraction, guess, lane = at[able], fraction[able], guess[:, able], lane.of(able)
        loops = Loops(plan, lane, way.index)
        pose = closed(loops, guess, least_change(columns, None), loops.cap, Rule())
        off = _distance(plan, pose.q, guess, way.index, lane)
        good = (pose.size <= CLOSED) & (off < JUMP)
        turned = sign.turned(at, pose.J)
        good &= ~turned | (step[at] < 2.0 * FINEST * whole[at])  # a jump is seen by finer steps; a singular pose stays
        sign.passed(at, good)
        mine = at[good]
        before[:, mine], done_before[mine] = q[:, mine], done[mine]
        q[:, mine], done[mine] = pose.q[:, good], fraction[good]
        step[mine] = np.minimum(2.0 * step[mine], whole[mine])
        step[at[~good]] *= 0.5
        going[mine] = done[mine] < 1.0
        going[step < FINEST * whole] = False
    return Path(q, done == 1.0, sign.crossed)


def place(
    plan: Plan, q: np.ndarray, held: Sequence[int], begin: np.ndarray, target: np.ndarray, fraction: np.ndarray
) -> None:
    """Puts held coordinates a fraction of the way from `begin` to `target`, exactly at its end, in place."""
    for k in held:
        coordinate = plan.coordinates[k]
        for row in range(coordinate.q, coordinate.q + coordinate.nq):
            between = begin[row] + fraction * (target[row] - begin[row])
            q[row] = np.where(fraction == 1.0, target[row], between)
    _normalise(plan, q, {plan.coordinates[k].q for k in held})


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
    for k in way.held:
        coordinate = plan.coordinates[k]
        for row in range(coordinate.q, coordinate.q + coordinate.nq):
            reach = STEP_ANGLE if coordinate.unit == "rad" else STEP_LENGTH * lane.length
            far = np.abs(way.target[row] - way.begin[row]) / reach
            steps = np.maximum(steps, np.ceil(np.nan_to_num(far - 1e-9, posinf=1.0)))
    return np.minimum(steps, 400.0)


def number_steps(full: Lane, origin: Lane, members: int) -> np.ndarray:
    """Steps that keep every varied length within 5 % of the model's size, every varied direction within 10 degrees."""
    steps = np.ones(members)
    for where, before, value in zip(full.plan.numbers, origin.params.numbers, full.params.numbers, strict=True):
        if isinstance(value, np.ndarray) and where.role.of_shape:
            reach = STEP_LENGTH * full.length if where.role is Role.LENGTH else STEP_ANGLE
            steps = np.maximum(steps, np.nan_to_num(np.abs(value - before) / reach, posinf=1.0))
    return np.minimum(np.ceil(steps), 200)


def _distance(plan: Plan, a: np.ndarray, b: np.ndarray, index: int, lane: Lane) -> np.ndarray:
    """(B,) largest difference of a coordinate of a substructure, dimensionless."""
    far = np.zeros(a.shape[1])
    for k in plan.coordinates_in(index):
        own, unit = plan.coordinates[k].places, lane.units[plan.coordinates[k].v]
        far = np.maximum(far, (np.abs(a[own] - b[own]) / unit).max(0, initial=0.0))
    return np.nan_to_num(far, nan=np.inf)


class _Sign:
    """Watches det(J_k^T J_k+1) of the judged columns along a walk: it turns negative where a singular pose is passed.

    For square Jacobians this is the sign of the product of both determinants; for more rows than columns it is the
    inner product of both column spaces (Cauchy and Binet). Poses too near a singular one are passed over.
    """

    def __init__(self, plan: Plan, way: Way, q: np.ndarray) -> None:
        self.way, self.crossed = way, np.zeros(q.shape[1], bool)
        self.last: np.ndarray | None = None
        if way.judged:
            J = Loops(plan, way.lane_of(way.members, 0.0), way.index).at(q)[1][:, :, list(way.judged)]
            self.last, self.volume = J, _volume(J)
            self.largest = self.volume.copy()

    def turned(self, at: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Looks at the next poses of some members: whether a singular pose lies between the last one and each.

        Args:
            J: (K, m, n) at the next poses.
        """
        if self.last is None:
            return np.zeros(len(at), bool)
        self.next = J[:, :, list(self.way.judged)]
        self.next_volume = _volume(self.next)
        self.opposite = same_side(self.last[at], self.next) < 0
        least = np.maximum(self.largest[at], self.next_volume) - SINGULAR
        return (self.next_volume > least) & (self.volume[at] > least) & self.opposite

    def passed(self, at: np.ndarray, which: np.ndarray) -> None:
        """Takes some of these poses as the last ones."""
        if self.last is None:
            return
        mine, J, volume = at[which], self.next[which], self.next_volume[which]
        self.largest[mine] = np.maximum(self.largest[mine], volume)
        least = self.largest[mine] - SINGULAR
        clear = (volume > least) & (self.volume[mine] > least)
        self.crossed[mine] |= clear & self.opposite[which]
        fresh = (volume > least) | (self.volume[mine] <= least)
        self.last[mine[fresh]], self.volume[mine[fresh]] = J[fresh], volume[fresh]


def same_side(J: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(B,) sign of det(J^T J') of Jacobians (B, m, n)."""
    product = J.transpose(0, 2, 1) @ other
    return np.linalg.slogdet(np.where(np.isfinite(product), product, 0.0))[0]


def _volume(J: np.ndarray) -> np.ndarray:
    """(B,) logarithm of the volume that the columns span."""
    gram = J.transpose(0, 2, 1) @ J
    with np.errstate(all="ignore"):
        return 0.5 * np.linalg.slogdet(np.where(np.isfinite(gram), gram, 0.0))[1]
