"""Speeds at the start: stated ones kept as far as the loops allow, the others the smallest. Host code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.run.closing.holding import follow_speeds, pacing
from shiftjax.run.closing.host_evaluation import StartLane, closure, per_member, prescribed_speeds
from shiftjax.run.start.geometries import Designs
from shiftjax.topology.partition import RANK, complete_pivoting
from shiftjax.topology.plan import Plan

HALF_EXACT = 1e-8  # what an inverse may be off by that a correction makes exact to rounding


def consistent_speeds(
    plan: Plan,
    lane: StartLane,
    q: np.ndarray,
    designs: Designs,
    staying: Sequence[Sequence[int]],
    file_J: Sequence[np.ndarray],
    order: Sequence[int],
) -> np.ndarray:
    """Stated joints keep their speeds as far as the loops allow, the others take the smallest that agree with J v = nu.

    Args:
        lane: of all members. q: (nq, D) of the designs.
        staying: local columns of every substructure whose speeds stay; file_J: (1, m, n) of every one at the file's
            pose, from which that follows; at a pose of less rank more stay. order: coordinates whose speeds are stated.

    Returns:
        speeds (nv, B).
    """
    out = per_member(lane.speeds(), len(designs.of_member))
    of_designs = lane.of(designs.first)
    stated = {speed for k in order for speed in plan.coordinates[k].speeds}
    for s, block in enumerate(plan.substructures):
        columns, unit = np.asarray(block.columns), np.asarray(lane.units)[list(block.columns)]
        out[[v for v in columns if v not in stated]] = 0.0
        _, J = closure(of_designs, q, s)
        moves = any(plan.constraints[k].time_dependent for k in block.groups)
        nu = prescribed_speeds(of_designs, q, s) if moves else np.zeros(J.shape[:2])
        good = np.asarray(np.isfinite(J).all((1, 2)) & np.isfinite(nu).all(1))
        J, nu = np.where(good[:, None, None], J, 0.0), np.where(good[:, None], nu, 0.0)
        with np.errstate(over="ignore"):  # speeds of 1e308 in lengths a second
            given = np.ascontiguousarray((out[columns] / unit[:, None]).T)
        still, asked = list(staying[s]), given.copy()
        inverse = designs.spread(_inverse(J, still))
        _agreeing(designs.spread(J), designs.spread(nu), inverse, given, still)
        if len(still) < sum(v in stated for v in columns):
            for k in np.flatnonzero(complete_pivoting(J, RANK).rank < complete_pivoting(file_J[s], RANK).rank):
                some, more = designs.of_member == k, pacing(plan, J[k], s, order)[1]
                again = asked[some]
                one, right = np.repeat(J[k : k + 1], len(again), 0), np.repeat(nu[k : k + 1], len(again), 0)
                _agreeing(one, right, _inverse(one, more), again, more)
                given[some] = again
        with np.errstate(over="ignore"):
            out[columns] = (given * unit).T
    return out


def _inverse(J: np.ndarray, still: list[int]) -> np.ndarray:
    """(B, rest, m) of J (B, m, n) at the other columns, in the sense of Moore and Penrose.

    Of good rank by normal equations and a correction that squares their error (Ben-Israel, Cohen, SIAM J. Numer. Anal.
    3 (1966)), a third of the time that singular values take.
    """
    A = J[:, :, _others(J, still)]
    if A.shape[2] == 0 or A.shape[1] < A.shape[2]:
        return np.linalg.pinv(A, rcond=RANK)
    diagonal, At = range(A.shape[2]), A.transpose(0, 2, 1)
    normal = At @ A
    normal[:, diagonal, diagonal] += 1e-14 * np.maximum(normal[:, diagonal, diagonal].max(1), 1.0)[:, None]
    X = np.linalg.solve(normal, At)
    off = np.eye(A.shape[2]) - X @ A
    doubtful = ~(np.abs(off).max((1, 2)) < HALF_EXACT)
    X += off @ X
    if doubtful.any():
        X[doubtful] = np.linalg.pinv(A[doubtful], rcond=RANK)
    return X


def _others(J: np.ndarray, still: list[int]) -> list[int]:
    return [k for k in range(J.shape[2]) if k not in still]


@np.errstate(all="ignore")  # speeds stated as infinite, or of 1e300, give speeds of their members that are no numbers
def _agreeing(J: np.ndarray, nu: np.ndarray, inverse: np.ndarray, given: np.ndarray, still: list[int]) -> None:
    """Sets speeds given (B, n) so that J v = nu, the `still` ones as they are where the loops allow.

    Args:
        J: (B, m, n). nu: (B, m). inverse: that of `_inverse`.
    """
    missing, off = follow_speeds(J, nu, given, still, _others(J, still), inverse)
    off &= ~np.isnan(missing).any(1)
    if off.any():  # nothing agrees with what is kept: the nearest speeds that agree with the loops
        given[off] += (np.linalg.pinv(J[off], rcond=RANK) @ missing[off, :, None])[:, :, 0]


def speeds_off(plan: Plan, v: np.ndarray, wanted: np.ndarray, coordinates: Sequence[int]) -> np.ndarray:
    """(J, B) by which coordinates miss their stated speeds [per second]."""
    out = np.zeros((len(coordinates), v.shape[1]))
    for line, k in zip(out, coordinates, strict=True):
        rows = slice(plan.coordinates[k].v, plan.coordinates[k].v + plan.coordinates[k].nv)
        with np.errstate(invalid="ignore"):  # a speed stated as infinite misses by what is no number
            line[:] = np.abs(v[rows] - wanted[rows]).max(0, initial=0.0)
    return out
