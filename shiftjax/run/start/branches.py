"""What tells closed poses apart: signs of the Jacobian's blocks, distances, gaps; and poses spread for a search.

Assembly branches meet where the determinant of such a block vanishes (Gosselin, Angeles, IEEE Transactions on Robotics
and Automation 6, 1990: singularities of the second kind), so that it has one sign on each of them. Host code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shiftjax.dynamics.lane import Lane
from shiftjax.rotations import quaternion_of_vector
from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.host_evaluation import StartLane, closure, residuals_of
from shiftjax.run.start.tied import SignBlock
from shiftjax.topology.block_triangular import block_triangular
from shiftjax.topology.partition import RANK, complete_pivoting
from shiftjax.topology.plan import Plan

NEAR = 0.1  # rad or parts of the model's length: joints that follow are often stated roughly, to say on which side
MOVED = 1e-6  # a stated start that moves more is reported [rad or parts of the model's length, per second]
SEARCHED = 32  # poses from which a closed one is sought


def blocks_of_signs(J: np.ndarray, judged: Sequence[int], pattern: np.ndarray | None = None) -> list[SignBlock]:
    """Rows and columns of the diagonal blocks of the judged columns: of a planar mechanism its Assur groups.

    Args:
        pattern: (m, n) where entries of J are not 0 at other poses, either; those of J where left out.
    """
    if not judged:
        return []
    pivots = complete_pivoting(J[None][:, :, list(judged)], RANK)
    if int(pivots.rank[0]) < len(judged):
        return []
    rows = [int(k) for k in np.sort(pivots.rows[0, : len(judged)])]
    square = J[np.ix_(rows, list(judged))]
    there = np.abs(square) > 1e-9 if pattern is None else pattern[np.ix_(rows, list(judged))]
    blocks = block_triangular(there.tolist())
    return [([rows[i] for i in r], [judged[j] for j in c]) for r, c in blocks]


def signs(
    lane: Lane, q: np.ndarray, index: int, blocks: Sequence[SignBlock], J: np.ndarray | None = None
) -> np.ndarray:
    """(B,) texts of "+", "-" and "0": the signs of the blocks' determinants."""
    out = np.full(q.shape[1], "", dtype=object)
    if not blocks:
        return out
    J = closure(lane, q, index)[1] if J is None else J
    for rows, columns in blocks:
        block = J[:, rows][:, :, columns]
        sign, _ = np.linalg.slogdet(np.where(np.isfinite(block), block, 0.0))
        out = out + np.array(["-", "0", "+"], dtype=object)[np.nan_to_num(sign).astype(int) + 1]
    return out


def gaps(plan: Plan, lane: StartLane, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(B,) the largest gap of all loops [m or rad], the constraint that has it, and whether all are closed."""
    gap, worst = np.zeros(q.shape[1]), np.zeros(q.shape[1], int)
    closed = np.ones(q.shape[1], bool)
    for s, block in enumerate(plan.substructures):
        residuals, sizes = np.abs(residuals_of(lane, q, s))
        for row, group in enumerate(np.repeat(block.groups, [plan.constraints[k].rows for k in block.groups])):
            size = np.where(np.isnan(residuals[row]), np.inf, residuals[row])
            gap, worst = np.where(size > gap, size, gap), np.where(size > gap, group, worst)
        closed &= (np.abs(closure(lane, q, s)[0]).max(1) if block.rounded else sizes.max(0)) <= CLOSED
    return gap, worst, closed


def distances(plan: Plan, q: np.ndarray, target: np.ndarray, coordinates: Sequence[int]) -> np.ndarray:
    """(J, B) by which coordinates miss their targets [rad or m]; of orientations the angle between them."""
    out = np.zeros((len(coordinates), q.shape[1]))
    for line, k in zip(out, coordinates, strict=True):
        rows = plan.coordinates[k].places
        with np.errstate(invalid="ignore"):  # a start stated at infinity misses by what is no number
            if plan.coordinates[k].plain:
                line[:] = np.abs(q[rows] - target[rows])[0]
            else:
                ends = [q[rows], target[rows]]
                if plan.coordinates[k].vector:
                    ends = [np.array(quaternion_of_vector([*end])) for end in ends]
                apart = [np.linalg.norm(ends[0] + sign * ends[1], axis=0) for sign in (-1.0, 1.0)]
                line[:] = 4.0 * np.arcsin(0.5 * np.minimum(*apart))
    return out


def units_of(plan: Plan, lane: Lane, coordinates: Sequence[int]) -> np.ndarray:
    """(J, 1) what makes displacements of coordinates dimensionless: the model's length for metres, 1 for angles."""
    units = [lane.units[plan.coordinates[k].v] for k in coordinates]
    return np.array(units, float).reshape(-1, 1)


def most(off: np.ndarray, units: np.ndarray, coordinates: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(B,) the largest of changes (J, B) and the coordinate that has it; 0 and -1 where none is worth a report."""
    if not len(coordinates):
        return np.zeros(off.shape[1]), np.full(off.shape[1], -1)
    relative = np.nan_to_num(off / units)
    which, notable = relative.argmax(0), relative.max(0) > MOVED
    change = np.take_along_axis(off, which[None], 0)[0]
    return np.where(notable, change, 0.0), np.where(notable, np.asarray(coordinates)[which], -1)


def spread_poses(
    plan: Plan, q: np.ndarray, free: Sequence[int], length: float, count: int = SEARCHED
) -> Iterator[np.ndarray]:
    """Poses with the free coordinates spread evenly: Kronecker's sequence with fractional powers of the plastic number.

    Roberts, The unreasonable effectiveness of quasirandom sequences (2018).
    """
    spread = [plan.coordinates[k] for k in free if plan.coordinates[k].plain]
    rows = [coordinate.q for coordinate in spread]
    units = [length if coordinate.unit == "m" else np.pi for coordinate in spread]
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (len(rows) + 1.0))
    for n in range(1, count + 1 if rows else 1):
        pose = q.copy()
        pose[rows] = [((0.5 + n * root ** -(i + 1.0)) % 1.0 * 2.0 - 1.0) * unit for i, unit in enumerate(units)]
        yield pose


@np.errstate(invalid="ignore")  # angles at infinity are no number of turns away
def unwound(
    plan: Plan, index: int, q: np.ndarray, target: np.ndarray, near: np.ndarray, holding: Sequence[int]
) -> np.ndarray:
    """Angles turned by whole turns: held ones to their target, the others to within half a turn of another pose."""
    out = q.copy()
    for k in plan.coordinates_in(index):
        row = plan.coordinates[k].q
        if plan.coordinates[k].plain and plan.coordinates[k].unit == "rad":
            goal = target[row] if k in holding else near[row]
            out[row] += 2 * np.pi * np.round((goal - out[row]) / (2 * np.pi))
    return out
