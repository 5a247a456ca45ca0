"""Lane functions run on the host: NumPy arrays with one entry a member in place of traced scalars.

Arrays have members last, (n, B); matrices handed to linear algebra have them first, (B, m, n).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.algebra import Mat, Scalar, matmul, transpose
from shiftjax.dynamics import equations
from shiftjax.dynamics.channels import quaternion_of_rotation
from shiftjax.dynamics.equations import Lane, solve_block
from shiftjax.joints import KINDS
from shiftjax.topology.partition import Block
from shiftjax.topology.plan import Plan


def per_member(values: Sequence[Scalar], members: int) -> np.ndarray:
    """(n, B) array of scalars, known numbers repeated."""
    out = np.empty((len(values), members))
    for k, value in enumerate(values):
        out[k] = value
    return out


def matrices_per_member(values: Sequence[Sequence[Scalar]], members: int) -> np.ndarray:
    """(B, m, n) array of rows of scalars."""
    out = np.empty((members, len(values), len(values[0]) if values else 0))
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            out[:, i, j] = value
    return out


def closure(lane: Lane, q: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and Jacobian of one substructure for all members, dimensionless.

    Args:
        q: (nq, B) coordinates.

    Returns:
        phi: (B, m) with rotation vectors for orientations; J: (B, m, n).
    """
    members = q.shape[1]
    rows = lane.rows(lane.motion(list(q), None), index)
    phi = per_member(rows.phi, members)
    for k, (virtual, real) in enumerate(rows.turns):
        phi[6 * k : 6 * k + 3] = rotation_vectors(matmul(virtual, transpose(real)), members)
    unit, columns = lane.units, lane.plan.substructures[index].columns
    phi /= np.asarray(rows.unit)[:, None]
    J = np.zeros((members, len(rows.J), len(columns)))
    for i, entries in enumerate(rows.J):
        for j, speed in enumerate(columns):
            if speed in entries:
                J[:, i, j] = entries[speed] * (unit[speed] / rows.unit[i])
    # C order whatever B: matrix products add up in an order that depends on strides.
    return np.ascontiguousarray(phi.T), J


def rotation_vectors(R: Mat, members: int) -> np.ndarray:
    """(3, B) logarithms [rad] of rotations, good up to and at half a turn (through the quaternion with w >= 0)."""
    w, *vector = per_member(quaternion_of_rotation(R), members)
    size = np.linalg.norm(vector, axis=0)
    small = size < 1e-9  # the angle is 2 size there to all digits
    with np.errstate(all="ignore"):
        return np.where(small, 2.0, 2.0 * np.arctan2(size, w) / size) * vector


def true_gap(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(B, m) residuals in m and rad."""
    phi, _ = closure(lane, q, index)
    rows = lane.plan.substructures[index]
    unit = [1.0, 1.0, 1.0, lane.length, lane.length, lane.length] * len(rows.loops)
    return phi * np.asarray(unit + [1.0] * len(rows.drivers))


def prescribed_speeds(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(B, m) right-hand sides nu of J v = nu, dimensionless."""
    rows = lane.rows(lane.motion(list(q), None), index)
    return np.ascontiguousarray((per_member(rows.nu, q.shape[1]) / np.asarray(rows.unit)[:, None]).T)


def block_monitors(lane: Lane, q: np.ndarray, index: int, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Largest |B_ij| and pivot ratio (smallest over largest length) of a partition for all members, each (B,)."""
    members = q.shape[1]
    rows = lane.rows(lane.motion(list(q), None), index)
    with np.errstate(all="ignore"):
        solution = solve_block(lane, block, rows, rows.phi)
        ratio = 1.0 / np.sqrt(per_member([solution.squared_condition], members)[0])
    return per_member([solution.b_norm], members)[0], ratio


def retract(plan: Plan, q: np.ndarray, change: np.ndarray) -> np.ndarray:
    """q (+) change for (nv, B) changes."""
    return per_member(equations.retract(plan, list(q), dict(enumerate(change))), q.shape[1])


def start_coordinates(lane: Lane, members: int) -> np.ndarray:
    """(nq, B) coordinates as the numbers say, loops open as they may be."""
    out: list[Scalar] = []
    for joint in lane.plan.joints:
        place, kind = f"{joint.path}.initial_displacement", KINDS[joint.kind]
        if not joint.nq:
            continue
        if kind.displacement == "scalar":
            out.append(lane.params.number(place))
            continue
        if kind.displacement == "placement":
            out += lane.params.vector(f"{place}.T")
        out += quaternion_of_rotation(lane.params.rotation(place))
    return per_member(out, members)


def start_speeds(lane: Lane, members: int) -> np.ndarray:
    """(nv, B) speeds as the numbers say."""
    out: list[Scalar] = []
    for joint in lane.plan.joints:
        path = f"{joint.path}.initial_velocity"
        names = [path] if joint.nv == 1 else [f"{path}[{k}]" for k in range(joint.nv)]
        out += [lane.params.number(name) for name in names]
    return per_member(out, members)
