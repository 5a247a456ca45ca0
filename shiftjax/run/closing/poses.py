"""Closing the loops of one substructure near given coordinates, many members at once. Host code.

Problem: coordinates q with Phi(q) = 0 near given ones, some of which stay; or those of them that are nearest to a goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.dynamics.kinematics import vector_places
from shiftjax.dynamics.lane import Lane
from shiftjax.rotations import quaternion_of_vector
from shiftjax.run.closing.closer import CLOSED, STEP_ANGLE, Rule, closed, least_change
from shiftjax.run.closing.host_evaluation import Loops
from shiftjax.topology.partition import RANK
from shiftjax.topology.plan import Plan

STANDS = 1e-10  # a pose that would change less is the nearest one
TURNED = 0.1  # a stated orientation that is farther is not the one of this pose
STANDING = Rule(1e-14, iterations=60, rounded=0.0)


def close(
    plan: Plan,
    lane: Lane,
    q: np.ndarray,
    index: int,
    still: Sequence[int],
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Closes one substructure near coordinates q (nq, B) with the least change.

    Args:
        still: local columns that stay. weight: (n,) of their changes: a heavy one moves less.

    Returns:
        coordinates (nq, B) and the residual (B,), dimensionless.
    """
    loops = Loops(plan, lane, index)
    pose = closed(loops, q, least_change(still, weight), loops.cap, Rule())
    return pose.q, pose.size


def nearest(
    plan: Plan, lane: Lane, q: np.ndarray, index: int, still: Sequence[int], goal: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The closed pose nearest to a goal, from a closed one near it: it does not depend on the way that led here.

    Coordinates of one number count. Where the iteration does not converge the pose stays where it was.

    Args:
        still: local columns that stay. q, goal: (nq, B); weight: (n,) of distances, dimensionless.
    """
    loops = Loops(plan, lane, index)
    distances = _Distances(loops, goal, weight, list(still))
    there = closed(distances, q, distances.step, np.full(len(weight), STEP_ANGLE), STANDING)
    pose, size = close(plan, lane, there.q, index, still)
    pose = np.where((there.size < STANDS) & (size <= CLOSED), pose, q)
    return _turned(loops, pose, goal, weight, list(still))


def _turned(loops: Loops, q: np.ndarray, goal: np.ndarray, weight: np.ndarray, still: list[int]) -> np.ndarray:
    """Closed poses near q (nq, B) at which quaternions of full weight stand at the goal; q where there are none."""
    plan, place = loops.plan, {speed: k for k, speed in enumerate(loops.columns)}
    balls = [
        (one.q, columns)
        for one in plan.coordinates
        if (one.quaternion or one.vector) and one.v in place
        for columns in [[place[speed] for speed in one.speeds]]
        if not set(columns) & {*still} and (weight[columns] == 1.0).all()
    ]
    if not balls:
        return q
    turned = _Orientations(loops, goal, balls)
    there = closed(turned, q, least_change(still, None), loops.cap, Rule())
    with np.errstate(invalid="ignore"):  # poses at infinity
        near = (np.abs(there.q - q) < TURNED).all(0)
    return np.where((there.size <= CLOSED) & near, there.q, q)


@dataclass
class _Orientations:
    """`Residuals` of loops, and of quaternions that are to stand at a goal.

    Attributes:
        goal: (nq, B); balls: first coordinate and columns of each.
    """

    loops: Loops
    goal: np.ndarray
    balls: list[tuple[int, list[int]]]

    def of(self, members: np.ndarray) -> _Orientations:
        """Those of some members."""
        return replace(self, loops=self.loops.of(members), goal=self.goal[:, members])

    @np.errstate(all="ignore")  # goals that are far out are not reached
    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (B, m) and Jacobian (B, m, n): 2 vec(goal^-1 q), whose rate is the angular velocity at the goal."""
        phi, J = self.loops.at(q)
        rows, entries = [phi], [J]
        for first, columns in self.balls:
            (w, x, y, z), (a, b, c, d) = self._quaternion(self.goal, first), self._quaternion(q, first)
            sign = np.where(w * a + x * b + y * c + z * d < 0.0, -2.0, 2.0)
            off = np.array(
                [w * b - x * a - y * d + z * c, w * c - y * a - z * b + x * d, w * d - z * a - x * c + y * b]
            )
            rows.append((sign * off).T)
            selector = np.zeros((q.shape[1], 3, J.shape[2]))
            selector[:, range(3), columns] = 1.0
            entries.append(selector)
        return np.concatenate(rows, axis=1), np.concatenate(entries, axis=1)

    def _quaternion(self, q: np.ndarray, first: int) -> Sequence[np.ndarray]:
        """Of the orientation whose first coordinate that is."""
        if any(first == at for at, _ in vector_places(self.loops.plan)):
            return quaternion_of_vector([*q[first : first + 3]])
        return [*q[first : first + 4]]

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Coordinates (nq, B) after a change (B, n)."""
        return self.loops.moved(q, change)


@dataclass
class _Distances:
    """`Residuals` that vanish where a closed pose is nearest to a goal: the change by which coordinates come there.

    Two groups, loops that must close and distances that count by their weight: of all changes that close the loops it
    is the one after which the weighted sum of squared distances is least (Gauss-Newton, an equality-constrained step:
    Nocedal, Wright, section 18.3).

    Attributes:
        goal: (nq, B); weight: (n,); still: columns that do not move.
    """

    loops: Loops
    goal: np.ndarray
    weight: np.ndarray
    still: list[int]

    def of(self, members: np.ndarray) -> _Distances:
        """Those of some members."""
        return replace(self, loops=self.loops.of(members), goal=self.goal[:, members])

    @np.errstate(all="ignore")  # as of `_Orientations`
    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Changes (B, n) to the nearest pose, and the Jacobian (B, m, n) of the loops, at coordinates (nq, B)."""
        phi, J = self.loops.at(q)
        columns, unit = self.loops.columns, self.loops.unit
        place = {one.v: one.q for one in self.loops.plan.coordinates if one.plain}
        pulled = np.array([speed in place and k not in self.still for k, speed in enumerate(columns)])
        rows = [place[speed] for speed, counts in zip(columns, pulled, strict=True) if counts]
        wish = np.zeros((q.shape[1], len(columns)))
        wish[:, pulled] = ((self.goal - q)[rows] / unit[pulled, None]).T * self.weight[pulled]
        A = J / self.weight
        A[:, :, self.still] = 0.0
        closing = np.linalg.pinv(A, rcond=RANK) @ (-phi - (A @ wish[:, :, None])[:, :, 0])[:, :, None]
        change = (wish + closing[:, :, 0]) / self.weight
        change[:, self.still] = 0.0
        return change, J

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Coordinates (nq, B) after a change (B, n)."""
        return self.loops.moved(q, change)

    @staticmethod
    def step(change: np.ndarray, J: np.ndarray, members: np.ndarray) -> np.ndarray:
        """The residual is the change."""
        return change.copy()
