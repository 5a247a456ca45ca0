"""Closing the loops of one substructure near given coordinates, many members at once. Host code.

Problem: coordinates q with Phi(q) = 0 near given ones, some of which stay; or those of them that are nearest to a goal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.dynamics.lane import Lane
from shiftjax.run.closing.closer import CLOSED, STEP_ANGLE, Rule, closed, least_change
from shiftjax.run.closing.host_evaluation import Loops
from shiftjax.topology.plan import Plan

RANK = 1e-8
NEAREST = 60  # iterations towards the nearest pose


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
