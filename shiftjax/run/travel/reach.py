"""How far one coordinate can be moved before its loops can no longer be closed. Host code.

Problem: J_r dq_r = -J_c dc, where c is the coordinate and r are all others, of full rank; follow q_r(c) to a given c,
or to the end of the solution.
Near a fold, where two assemblies meet and end, the squared smallest singular value of J_r falls linearly with the
distance to it (normal form x^2 = c d; Seydel, Practical Bifurcation and Stability Analysis, section 2.5): a secant
tells the distance, half of which is walked next. Where a step of `SMALL` fails, bisection finds the end. A change
point, where the rank drops but the loops close beyond, is stepped over.
Properties: the end does not depend on who else is in the batch, and gaps wider than `SMALL` are not jumped over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shiftjax.dynamics.lane import Lane
from shiftjax.run.closing.closer import Rule, closed
from shiftjax.run.closing.host_evaluation import Loops
from shiftjax.topology.plan import Plan

LARGE = np.deg2rad(10.0)  # of steps of the coordinate, in rad or parts of the model's size
SMALL = 1e-4
FIRST = 1e-3
TINY = 1e-10  # to which the end is found
RANK = 1e-8
REGULAR = 1e-4  # squared smallest singular value from which normal equations serve: they lose half of what it leaves
CLOSED = 1e-11  # residual of a pose on the way, dimensionless
LEAP = 0.6  # another coordinate that moves more in one step may have changed its branch
CORRECTOR = Rule(CLOSED, iterations=8, farthest=LEAP)  # from a tangent of 10 degrees four iterations suffice
SAME = 1e-6  # a pose after a whole turn that is the first one again
STEPS = 3000


@dataclass
class Reach:
    """Members on their way along one coordinate of a substructure.

    Attributes:
        moved: the coordinate that is moved; group: the constraint whose rows are left out, its driver.
        q: (nq, B) closed coordinates, moved in place; target: (B,) [rad or m].
    """

    plan: Plan
    lane: Lane
    index: int
    moved: int
    group: int
    q: np.ndarray
    target: np.ndarray
    done: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        block, moved = self.plan.substructures[self.index], self.plan.coordinates[self.moved]
        first, group = self.plan.first_row(self.group), self.plan.constraints[self.group]
        rows = np.setdiff1d(np.arange(block.rows), np.arange(first, first + group.rows))
        self._loops = Loops(self.plan, self.lane, self.index, rows)
        self._own = block.columns.index(moved.v)
        self._others = np.delete(np.arange(len(block.columns)), self._own)
        self._place, self._turns = moved.q, moved.unit == "rad"
        members = self.q.shape[1]
        self._start, self._turn = self.q.copy(), np.ones(members)
        self.done = self.target == self.q[self._place]
        self._step, self._narrow = np.full(members, FIRST), np.zeros(members, bool)
        self._push, self._size = self._tangent(_finite(self._loops.at(self.q)[1]))

    def walk(self) -> np.ndarray:
        """(B,) the coordinate that is reached [rad or m]; the target where `STEPS` did not suffice to tell."""
        for _ in range(STEPS):
            going = np.flatnonzero(~self.done)
            if len(going) == 0:
                break
            left = self._left(going)
            move = np.sign(left) * np.minimum(np.abs(left), self._step[going])
            tried, good, J = self._moved(going, move)
            self._failed(going[~good], np.abs(move[~good]))
            if good.any():
                self.q[:, going[good]] = tried[:, good]
                self._succeeded(going[good], np.abs(move[good]), np.abs(left[good]), J[good])
        return np.where(self.done, self.q[self._place], self.target)

    def _left(self, going: np.ndarray) -> np.ndarray:
        """What is left to walk, dimensionless; at most to the next whole turn, where a closed curve is noticed."""
        now, start = self.q[self._place, going], self._start[self._place, going]
        left = self.target[going] - now
        if self._turns:
            whole = start + np.sign(left) * 2.0 * np.pi * self._turn[going] - now
            left = np.where(np.abs(whole) < np.abs(left), whole, left)
        return left / self._loops.unit[self._own]

    def _failed(self, members: np.ndarray, move: np.ndarray) -> None:
        self._narrow[members] |= move <= SMALL
        self._step[members] = 0.5 * move
        self.done[members[self._step[members] < TINY]] = True

    def _succeeded(self, members: np.ndarray, move: np.ndarray, left: np.ndarray, J: np.ndarray) -> None:
        """Chooses the next step; ends members at their target, or at their first pose after whole turns."""
        before = self._size[members]
        self._push[members], now = self._tangent(J)
        self._size[members] = now
        with np.errstate(all="ignore"):
            ahead = np.where(before > now, 0.5 * now * move / (before - now), np.inf)
        wide = np.maximum(np.minimum(np.minimum(2.0 * self._step[members], LARGE), ahead), SMALL)
        narrow = self._narrow[members]
        self._step[members] = np.where(narrow, 0.5 * self._step[members], wide)
        self.done[members[narrow & (self._step[members] < TINY)]] = True
        at = members[move >= left]
        arrived = np.abs(self.target[at] - self.q[self._place, at]) <= 1e-12 * np.maximum(1.0, np.abs(self.target[at]))
        self._turn[at[~arrived]] += 1.0
        ended = at[arrived | self._closed_curve(at)]
        self.q[self._place, ended] = self.target[ended]
        self.done[ended] = True

    def _closed_curve(self, members: np.ndarray) -> np.ndarray:
        """Whether members stand where they began, whole turns apart, so that what follows is known."""
        same = np.ones(len(members), bool)
        for k in self.plan.coordinates_in(self.index):
            coordinate = self.plan.coordinates[k]
            places = coordinate.places
            gap = self.q[places, members] - self._start[places, members]
            if coordinate.plain and coordinate.unit == "rad":
                gap -= 2.0 * np.pi * np.round(gap / (2.0 * np.pi))
            same &= np.abs(gap).max(0) <= SAME
        return same

    def _tangent(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, n) change of all coordinates for a unit of this one, and the squared smallest singular value (B,)."""
        rest, push = J[:, :, self._others], np.zeros((len(J), J.shape[2]))
        push[:, self._own] = 1.0
        if not len(self._others):
            return push, np.ones(len(J))
        U, sizes, Vt = np.linalg.svd(rest, full_matrices=False)
        with np.errstate(divide="ignore"):
            inverse = np.where(sizes > RANK * sizes[:, :1], 1.0 / sizes, 0.0)
        turned = inverse[:, :, None] * (U.transpose(0, 2, 1) @ J[:, :, [self._own]])
        push[:, self._others] = -(Vt.transpose(0, 2, 1) @ turned)[:, :, 0]
        return push, sizes[:, -1] ** 2

    def _moved(self, members: np.ndarray, move: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (nq, B) after a move of the own one, whether the loops close there, and the Jacobian there."""
        change = self._push[members] * move[:, None]
        loops, regular = self._loops.of(members), self._size[members] > REGULAR

        def others(phi: np.ndarray, J: np.ndarray, at: np.ndarray) -> np.ndarray:
            corrected = np.zeros((len(at), len(self._others) + 1))
            corrected[:, self._others] = -self._solved(_finite(J)[:, :, self._others], phi, regular[at])
            return corrected

        guess = loops.moved(self.q[:, members], change)
        predicted = np.abs(change[:, self._others]).max(1, initial=0.0)
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
