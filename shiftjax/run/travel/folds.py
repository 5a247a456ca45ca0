"""How far one coordinate can be moved before its loops can no longer be closed, by following their poses. Host code.

Problem: J_r dq_r = -J_c dc, where c is the coordinate and r are all others, of full rank; follow q_r(c) to a given c,
or to the end of the solution.
Near a fold, where two assemblies meet and end, the squared smallest singular value of J_r falls linearly with the
distance to it (normal form x^2 = c d; Seydel, Practical Bifurcation and Stability Analysis, section 2.5): a secant
tells the distance, half of which is walked next. Where a stride of `SMALL` fails, bisection finds the end. A change
point, where the rank drops but the loops close beyond, is stepped over. What begins at a fold first goes along the
curve of poses, on which a fold is as any other pose, and then on either assembly: the farther end counts.
Properties: the end does not depend on who else is in the batch, and gaps wider than `SMALL` are not jumped over.
"""

from __future__ import annotations

import numpy as np

from shiftjax.dynamics.lane import Lane
from shiftjax.run.closing.closer import Rule, closed, least_change
from shiftjax.run.closing.continuation import followed
from shiftjax.run.closing.host_evaluation import Loops
from shiftjax.topology.partition import RANK
from shiftjax.topology.plan import Plan

LARGE = np.deg2rad(10.0)  # of strides of the coordinate, in rad or parts of the model's size
SMALL = 1e-4
FIRST = 1e-3
TINY = 1e-10  # to which the end is found
REGULAR = 1e-4  # squared smallest singular value from which normal equations serve: they lose half of what it leaves
CLOSED = 1e-11  # residual of a pose on the way, dimensionless
LEAP = 0.6  # another coordinate that moves more in one stride may have changed its branch
CORRECTOR = Rule(CLOSED, iterations=8, farthest=LEAP)  # from a tangent of 10 degrees four iterations suffice
SAME = 1e-6  # a pose after a whole turn that is the first one again
TRIES = 3000
AT_FOLD = 1e-14  # squared smallest singular value: the fold is so near that roundings hide which assembly it is
ARC = 1e-3  # of the first stride from a fold, along the curve: c moves by some 1e-6


def followed_to(plan: Plan, lane: Lane, index: int, driver: int, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(B,) as `reach`; the target where `TRIES` did not suffice to tell."""
    place = plan.coordinates[plan.constraints[driver].coordinates[0]].q
    return followed_poses(plan, lane, index, driver, q, target)[place]


def followed_poses(plan: Plan, lane: Lane, index: int, driver: int, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(nq, B) the last poses on the way that `reach` tells the end of; next to it to the root of `TINY`."""
    pushed = _Pushed(plan, lane, index, driver, q, target)
    way, folded = target - q[pushed.place], pushed.size < AT_FOLD
    out = _followed(pushed)
    for side in (1.0, -1.0) if folded.any() else ():
        members = np.flatnonzero(folded & (way != 0.0))
        begin = _off_fold(pushed.loops.of(members), q[:, members], side)
        leads = (begin - q[:, members])[pushed.place] * way[members] > 0.0
        members, begin = members[leads], begin[:, leads]
        there = _followed(_Pushed(plan, lane.of(members), index, driver, begin, target[members]))
        farther = np.abs(there - q[:, members])[pushed.place] > np.abs(out - q)[pushed.place, members]
        out[:, members[farther]] = there[:, farther]
    return out


def _followed(pushed: _Pushed) -> np.ndarray:
    """(nq, B) the last poses; the target where the tries did not suffice."""
    first = np.where(pushed.target == pushed.q[pushed.place], 0.0, FIRST)
    ended = followed(pushed, first, TINY, TRIES)
    out = pushed.q.copy()
    out[pushed.place] = np.where(ended, out[pushed.place], pushed.target)
    return out


def _off_fold(loops: Loops, q: np.ndarray, side: float) -> np.ndarray:
    """(nq, B) the next poses along the curves of poses on one side; q where there is more than one curve, or none."""
    J = _finite(loops.at(q)[1])
    _, sizes, Vt = np.linalg.svd(J)
    one = sizes[:, J.shape[2] - 2] ** 2 > AT_FOLD
    pose = closed(loops, loops.moved(q, side * ARC * Vt[:, -1]), least_change((), None), loops.cap, CORRECTOR)
    return np.where(one & (pose.size <= CLOSED), pose.q, q)


class _Pushed:
    """`Curves` of closed poses over one coordinate, without the rows of its driver.

    Attributes:
        q: (nq, B) the last poses; push: (B, n) their tangents, for a unit of the coordinate; size: (B,) the squared
            smallest singular values of the others' Jacobian. place: of the coordinate in q.
        turn: (B,) whole turns up to the next pose that may be the first one again. narrow: (B,) whether an end is near.
    """

    def __init__(self, plan: Plan, lane: Lane, index: int, driver: int, q: np.ndarray, target: np.ndarray) -> None:
        block, group = plan.substructures[index], plan.constraints[driver]
        moved, first = plan.coordinates[group.coordinates[0]], plan.first_row(driver)
        rows = np.setdiff1d(np.arange(block.rows), np.arange(first, first + group.rows))
        self.plan, self.index, self.target, self.loops = plan, index, target, Loops(plan, lane, index, rows)
        self.column, self.place, self.turns = block.columns.index(moved.v), moved.q, moved.unit == "rad"
        self.others = np.delete(np.arange(len(block.columns)), self.column)
        self.start, self.q = q, q.copy()
        self.turn, self.narrow = np.ones(q.shape[1]), np.zeros(q.shape[1], bool)
        self.push, self.size = self._tangent(_finite(self.loops.at(q)[1]))

    def advanced(self, members: np.ndarray, stride: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tries strides; see `Curves`."""
        left = self._left(members)
        move = np.sign(left) * np.minimum(np.abs(left), stride)
        q, taken, J = self._moved(members, move)
        self.narrow[members[~taken]] |= stride[~taken] <= SMALL
        arriving, before = members[taken], self.size[members]
        self.q[:, arriving] = q[:, taken]
        self.push[arriving], self.size[arriving] = self._tangent(J[taken])
        self.narrow[members] &= self.size[members] <= before  # where it grows an end is behind
        following = self._following(stride, np.abs(move), before, self.size[members], self.narrow[members])
        following[taken] *= ~self._arrived(arriving, (np.abs(move) >= np.abs(left))[taken])
        return taken, following

    def _left(self, members: np.ndarray) -> np.ndarray:
        """What is left to walk, dimensionless; at most to the next whole turn, where a closed curve is noticed."""
        now, start = self.q[self.place, members], self.start[self.place, members]
        left = self.target[members] - now
        if self.turns:
            whole = start + np.sign(left) * 2.0 * np.pi * self.turn[members] - now
            left = np.where(np.abs(whole) < np.abs(left), whole, left)
        return left / self.loops.unit[self.column]

    def _following(
        self, stride: np.ndarray, move: np.ndarray, before: np.ndarray, size: np.ndarray, narrow: np.ndarray
    ) -> np.ndarray:
        """(K,) the longest next strides: half of what a secant leaves to a fold, where an end is near by bisection."""
        with np.errstate(all="ignore"):
            ahead = np.where(before > size, 0.5 * size * move / (before - size), np.inf)
        wide = np.maximum(np.minimum(np.minimum(2.0 * stride, LARGE), ahead), SMALL)
        return np.where(narrow, 0.5 * stride, wide)

    def _arrived(self, members: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Which members are at their target, or at their first pose after whole turns, so that what follows is known.

        Args:
            whole: (K,) whether the last stride led to where `_left` ends.
        """
        target, now = self.target[members], self.q[self.place, members]
        there = whole & (np.abs(target - now) <= 1e-12 * np.maximum(1.0, np.abs(target)))
        self.turn[members[whole & ~there]] += 1.0
        there |= whole & self._closed_curve(members)
        self.q[self.place, members[there]] = target[there]
        return there

    def _closed_curve(self, members: np.ndarray) -> np.ndarray:
        """Whether members stand where they began, whole turns apart, so that what follows is known."""
        same = np.ones(len(members), bool)
        for k in self.plan.coordinates_in(self.index):
            coordinate = self.plan.coordinates[k]
            places = coordinate.places
            gap = self.q[places, members] - self.start[places, members]
            if coordinate.plain and coordinate.unit == "rad":
                gap -= 2.0 * np.pi * np.round(gap / (2.0 * np.pi))
            same &= np.abs(gap).max(0) <= SAME
        return same

    def _tangent(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, n) change of all coordinates for a unit of this one, and the squared smallest singular value (B,)."""
        rest, push = J[:, :, self.others], np.zeros((len(J), J.shape[2]))
        push[:, self.column] = 1.0
        if not len(self.others):
            return push, np.ones(len(J))
        U, sizes, Vt = np.linalg.svd(rest, full_matrices=False)
        with np.errstate(divide="ignore"):
            inverse = np.where(sizes > RANK * sizes[:, :1], 1.0 / sizes, 0.0)
        turned = inverse[:, :, None] * (U.transpose(0, 2, 1) @ J[:, :, [self.column]])
        push[:, self.others] = -(Vt.transpose(0, 2, 1) @ turned)[:, :, 0]
        return push, sizes[:, -1] ** 2

    def _moved(self, members: np.ndarray, move: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (nq, B) after a move of this one, whether the loops close there, and the Jacobian there."""
        change = self.push[members] * move[:, None]
        loops, regular = self.loops.of(members), self.size[members] > REGULAR

        def others(phi: np.ndarray, J: np.ndarray, at: np.ndarray) -> np.ndarray:
            corrected = np.zeros((len(at), len(self.others) + 1))
            corrected[:, self.others] = -self._solved(_finite(J)[:, :, self.others], phi, regular[at])
            return corrected

        guess = loops.moved(self.q[:, members], change)
        predicted = np.abs(change[:, self.others]).max(1, initial=0.0)
        pose = closed(loops, guess, others, np.full(change.shape[1], LEAP), CORRECTOR, predicted)
        return pose.q, (pose.size <= CLOSED) & (pose.far <= LEAP), _finite(pose.J)

    def _solved(self, J: np.ndarray, phi: np.ndarray, regular: np.ndarray) -> np.ndarray:
        """(B, n) the least x of least |J x - phi|, by normal equations where the last pose was `regular` (B,)."""
        x = np.empty((len(J), J.shape[2]))
        if not regular.all():
            x[~regular] = (np.linalg.pinv(J[~regular], rcond=RANK) @ phi[~regular, :, None])[:, :, 0]
        if regular.any():
            J, phi = J[regular], phi[regular]
            Jt = J.transpose(0, 2, 1)
            normal = Jt @ J
            normal[:, range(J.shape[2]), range(J.shape[2])] += 1e-14  # rounding: a pose that is singular ends by `LEAP`
            x[regular] = np.linalg.solve(normal, Jt @ phi[:, :, None])[:, :, 0]
        return x


def _finite(J: np.ndarray) -> np.ndarray:
    """A Jacobian in which what is no number moves nothing."""
    return np.where(np.isfinite(J), J, 0.0)
