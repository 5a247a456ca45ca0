"""Which coordinates of a substructure can be held together at a closed pose. Host code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.topology.partition import RANK, complete_pivoting
from shiftjax.topology.plan import Plan

PACEABLE = 1e-2  # the same of a single speed of several: the others follow with its rounding, so much enlarged
AGREES = 1e-9  # speeds whose J v - nu is smaller, dimensionless, agree with the loops
HOLDABLE = 1e-6  # a joint whose motion is this small a part of every motion of the loops is not held


def columns_of(plan: Plan, index: int, coordinates: Sequence[int]) -> list[int]:
    """Local columns of the speeds of some coordinates in a substructure."""
    place = {speed: k for k, speed in enumerate(plan.substructures[index].columns)}
    speeds = [speed for k in coordinates for speed in plan.coordinates[k].speeds]
    return [place[speed] for speed in speeds if speed in place]


def null_space(J: np.ndarray) -> np.ndarray:
    """(n, dof) orthonormal null space of one member's dimensionless Jacobian, through its partition."""
    pivots = complete_pivoting(J[None], RANK)
    rank = int(pivots.rank[0])
    rows, dependent = pivots.rows[0, :rank], pivots.columns[0, :rank]
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
    together: list[int] = []
    for k in order:
        columns = columns_of(plan, index, [k])
        if not columns or len(basis) == Z.shape[1]:
            continue
        rows = Z[columns]
        for _ in range(2):  # twice is enough (Parlett, The Symmetric Eigenvalue Problem, section 6.9)
            rows = rows - rows @ basis.T @ basis
        _, size, directions = np.linalg.svd(rows, full_matrices=False)
        if len(size) == len(columns) == plan.coordinates[k].nv and size.min() > HOLDABLE:
            together.append(k)
            basis = np.concatenate([basis, directions])
    return together, Z.shape[1] - len(basis)


def pacing(plan: Plan, J: np.ndarray, index: int, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """What keeps its stated speed: coordinates that can be held together, and all local columns of speeds that stay.

    What freedoms these coordinates leave goes to single speeds of the others that have several, as of a ball joint in a
    loop that leaves it two: its other speeds follow, and are as stated where what is stated agrees with the loops.

    Args:
        J, index, order: as of `holdable`.
    """
    together, _ = holdable(plan, J, index, order)
    columns, Z = columns_of(plan, index, together), null_space(J)
    directions = np.linalg.svd(Z[columns])[2][: len(columns)]
    several = [k for k in order if k not in together and plan.coordinates[k].nv > 1]
    for of_one in (columns_of(plan, index, [k]) for k in several):
        left = Z[of_one] - Z[of_one] @ directions.T @ directions
        for _ in of_one:
            size = np.linalg.norm(left, axis=1)
            best = int(size.argmax())
            if size[best] <= PACEABLE:
                break
            direction = left[best] / size[best]
            columns.append(of_one[best])
            directions = np.concatenate([directions, direction[None]])
            left = left - np.outer(left @ direction, direction)
    return together, columns


@np.errstate(all="ignore")  # speeds stated as infinite, or of 1e300, give speeds of their members that are no numbers
def follow_speeds(
    J: np.ndarray,
    nu: np.ndarray,
    given: np.ndarray,
    still: Sequence[int],
    following: Sequence[int],
    inverse: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Sets those of the speeds given (B, n) that follow from the `still` ones by J v = nu, all dimensionless.

    Args:
        J: (B, m, n). nu: (B, m). inverse: (B, following, m) of J's columns that follow, of Moore and Penrose.

    Returns:
        (B, m) nu - J v, and (B,) whether it is more than rounding, or no number.
    """
    right = nu - (J[:, :, still] @ given[:, still, None])[:, :, 0]
    given[:, following] = (inverse @ right[:, :, None])[:, :, 0]
    missing = nu - (J @ given[:, :, None])[:, :, 0]
    small = np.abs(missing).max(1, initial=0.0) <= AGREES * (1.0 + np.abs(given).max(1, initial=0.0))
    return missing, ~small
