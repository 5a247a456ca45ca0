"""Closing the loops at the start, for all members at once, keeping what the user said.

Problem: coordinates q with Phi(q) = 0 near the file's, held joints at the user's values as far as the loops allow, the
others moved least; then speeds with J v = nu, held joints at theirs, the others smallest.
The result must not depend on the partition nor on the batch; the branch must be the file's: every member is walked from
the file's assembled pose in steps of at most 10 degrees and 5 % of the model's size.
Refused: nothing; a member that cannot be closed is reported with its worst loop.

Host code. Damped Gauss-Newton on all rows (Nocedal, Wright, Numerical Optimization, section 10.3), a substructure at a
time; a converged member stops moving.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.dynamics.lane import Lane
from shiftjax.field import Role
from shiftjax.run.host_evaluation import StartLane, closure, per_member, prescribed_speeds, retract, true_gap
from shiftjax.run.start import Start
from shiftjax.topology.partition import complete_pivoting
from shiftjax.topology.plan import Plan

STEP_ANGLE = np.deg2rad(10.0)
STEP_LENGTH = 0.05  # of the model's size
CLOSED = 1e-9  # residual of an assembled member, dimensionless
POLISHED = 1e-15  # below this nothing is gained
ITERATIONS = 80
PATIENCE = 10  # iterations without a residual 1 % smaller than the best so far: it cannot be closed from here
DAMPING = 1e-11  # of the mean diagonal of J^T J: turns the rank-deficient system into the one of least change
RANK = 1e-8
HOLDABLE = 1e-6  # a joint whose motion is this small a part of every motion of the loops is not held

# members (indices), fraction of the way from the file's numbers -> lane
LaneOf = Callable[[np.ndarray, float | np.ndarray], StartLane]


def assemble(
    plan: Plan,
    file_lane: StartLane,
    lane_of: LaneOf,
    members: int,
    file_order: Sequence[int],
    named: Sequence[int],
    named_speeds: Sequence[int],
) -> Start:
    """Assembles all members.

    Args:
        file_lane: the lane of the file's own numbers.
        lane_of: lane of some members, their numbers a fraction of the way from the file's to their own.
        file_order: all joints as the file lists them: which of two contradicting speeds stays.
        named: joints named by vary, set or hold, in that order; named_speeds: joints whose initial speed was named.
    """
    wanted = per_member(file_lane.speeds(), 1)[:, 0]
    moving = [k for k in file_order if np.any(wanted[plan.joints[k].v : plan.joints[k].v + plan.joints[k].nv])]
    driven = [joint for group in plan.constraints if group.prescribes for joint in group.joints]
    order = list(dict.fromkeys([*named, *driven, *moving]))
    q_file = per_member(file_lane.coordinates(), 1)
    held = [_holdable(plan, file_lane, q_file, s, order) for s in range(len(plan.substructures))]
    for s, columns in enumerate(held):
        q_file, _ = _closed_or_released(plan, file_lane, q_file, s, columns)
    full = lane_of(np.arange(members), 1.0)
    target = per_member(full.coordinates(), members)
    q = np.repeat(q_file, members, axis=1)
    _set_free(plan, q, target)
    q = _walk(plan, lane_of, q, q_file, target, held)
    v = per_member(full.speeds(), members)
    speed_order = list(dict.fromkeys([*named_speeds, *moving, *named]))
    v, conflict = _consistent_speeds(plan, full, q, v, q_file, file_lane, speed_order)
    gap, worst = np.zeros(members), np.zeros(members, int)
    for s, block in enumerate(plan.substructures):
        residual = np.abs(true_gap(full, q, s))
        size = np.nan_to_num(residual.max(1), nan=np.inf)
        group_of_row = np.repeat(block.groups, [plan.constraints[k].rows for k in block.groups])
        worst = np.where(size > gap, group_of_row[residual.argmax(1)], worst)
        gap = np.maximum(gap, size)
    states = per_member(full.states(), members)
    return Start(q, v, states, gap <= CLOSED * max(1.0, full.length), gap, worst, conflict)


def _holdable(plan: Plan, lane: Lane, q: np.ndarray, index: int, order: Sequence[int]) -> list[int]:
    """Local columns that can be held together: their rows of the null space Z are independent."""
    _, J = closure(lane, q, index)
    columns = plan.substructures[index].columns
    Z = null_space(J[0])
    basis = np.zeros((0, Z.shape[1]))
    held: list[int] = []
    for k in order:
        joint = plan.joints[k]
        own = [columns.index(joint.v + i) for i in range(joint.nv) if joint.v + i in columns]
        rows = Z[own]
        for _ in range(2):  # twice is enough (Parlett, The Symmetric Eigenvalue Problem, section 6.9)
            rows = rows - rows @ basis.T @ basis
        _, size, directions = np.linalg.svd(rows, full_matrices=False)
        if len(own) and len(size) == len(own) and size.min(initial=np.inf) > HOLDABLE:
            held += own
            basis = np.concatenate([basis, directions])
        if len(held) == Z.shape[1]:
            break
    return held


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


def _closed_or_released(
    plan: Plan, lane: Lane, q: np.ndarray, index: int, held: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Closes with the held columns fixed; a member that does not close lets them go, the last named first.

    Returns:
        coordinates (nq, B) and which members are closed (B,).
    """
    fixed, size = close(plan, lane, q, index, held)
    closed = size <= CLOSED
    for count in reversed(range(len(held))):
        bad = np.flatnonzero(~closed)
        if len(bad) == 0:
            break
        begin = np.where(np.isfinite(fixed[:, bad]), fixed[:, bad], q[:, bad])
        free, size = close(plan, lane.of(bad), begin, index, held[:count])
        closed[bad] = size <= CLOSED
        fixed[:, bad] = np.where(closed[bad] | (count == 0), free, fixed[:, bad])
    return fixed, closed


def close(plan: Plan, lane: Lane, q: np.ndarray, index: int, held: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Damped Gauss-Newton on all rows of one substructure; only members on their way are computed.

    Returns:
        coordinates (nq, B) and the residual (B,), dimensionless.
    """
    columns = np.asarray(plan.substructures[index].columns)
    unit = np.asarray(lane.units)[columns]
    q = q.copy()
    size = np.full(q.shape[1], np.inf)
    running = np.arange(q.shape[1])
    best, since = size.copy(), np.zeros(q.shape[1], int)
    for _ in range(ITERATIONS):
        phi, J = closure(lane, q[:, running], index)
        now = np.abs(phi).max(1)
        finite = np.isfinite(now)
        # A member stops where rounding is reached: no longer halved although nearly closed.
        going = finite & (now > POLISHED) & ~((now < 1e-11) & (now > 0.5 * size[running]))
        better = now < 0.99 * best[running]
        since[running] = np.where(better, 0, since[running] + 1)
        best[running] = np.where(better, now, best[running])
        going &= since[running] < PATIENCE
        size[running] = np.where(finite, now, np.inf)
        if not going.any():
            break
        running, lane = running[going], lane.of(going)
        change = _least_change(phi[going], J[going], held)
        longest = np.maximum(np.abs(change) / np.where(unit == 1.0, STEP_ANGLE, STEP_LENGTH), 1.0).max(1)
        change /= longest[:, None]
        step = np.zeros((plan.nv, len(running)))
        step[columns] = (change * unit).T
        q[:, running] = retract(plan, q[:, running], step)
    return q, size


def _least_change(phi: np.ndarray, J: np.ndarray, held: Sequence[int]) -> np.ndarray:
    """(B, n) Gauss-Newton step of least change, held columns still."""
    J = J.copy()
    J[:, :, list(held)] = 0.0
    Jt = J.transpose(0, 2, 1)
    normal = Jt @ J
    n = normal.shape[1]
    mean = np.maximum(np.trace(normal, axis1=1, axis2=2) / n, 1e-300)
    normal[:, np.arange(n), np.arange(n)] += DAMPING * mean[:, None]
    right = -(Jt @ phi[:, :, None])
    bad = ~(np.isfinite(normal).all((1, 2)) & np.isfinite(right).all((1, 2)))
    normal[bad], right[bad] = np.eye(n), 0.0
    return np.linalg.solve(normal, right)[:, :, 0]


def _set_free(plan: Plan, q: np.ndarray, target: np.ndarray) -> None:
    """Joints outside every substructure start where the numbers say."""
    tied = {j for block in plan.substructures for j in block.joints}
    for k, joint in enumerate(plan.joints):
        if k not in tied:
            q[joint.q : joint.q + joint.nq] = target[joint.q : joint.q + joint.nq]


def _walk(
    plan: Plan, lane_of: LaneOf, q: np.ndarray, q_file: np.ndarray, target: np.ndarray, held: Sequence[Sequence[int]]
) -> np.ndarray:
    """Moves held joints and numbers from the file's to the member's, closing the loops at every step."""
    members = q.shape[1]
    everyone = np.arange(members)
    full, origin = lane_of(everyone, 1.0), lane_of(everyone, 0.0)
    steps = np.maximum(1, _number_steps(full, origin, members))
    for s, block in enumerate(plan.substructures):
        held_q = _plain_coordinates(plan, block.columns, held[s])
        reach = np.asarray([STEP_LENGTH * full.length if full.units[v] != 1.0 else STEP_ANGLE for _, v in held_q])
        if held_q:
            rows = [k for k, _ in held_q]
            far = np.abs(target[rows] - q_file[rows]) / reach[:, None]
            steps = np.maximum(steps, np.ceil(np.nan_to_num(far.max(0), posinf=1.0)).astype(int))
    lost = np.zeros(members, bool)
    for k in range(1, int(steps.max(initial=1)) + 1):
        active = np.flatnonzero((steps >= k) & ~lost)
        fraction = k / steps[active]
        lane = lane_of(active, fraction)
        part = q[:, active]
        driven = lane.prescribed()
        for row, value in driven.items():
            part[row] = value
        for s, block in enumerate(plan.substructures):
            for row, _ in _plain_coordinates(plan, block.columns, held[s]):
                if row not in driven:
                    part[row] = q_file[row] + fraction * (target[row, active] - q_file[row])
            part, closed = _closed_or_released(plan, lane, part, s, held[s])
            lost[active] |= ~closed
        q[:, active] = part
    # A member that cannot be walked all the way takes the rest in one stride: its gap is that of its own numbers.
    for s in range(len(plan.substructures) if lost.any() else 0):
        q[:, lost] = close(plan, full.of(lost), q[:, lost], s, ())[0]
    return q


def follow(plan: Plan, lane_of: LaneOf, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Closed coordinates when numbers change under a mechanism that stands somewhere: the least move of all joints.

    Args:
        lane_of: as of `assemble`, from the old numbers (0) to the new ones (1). q: (nq, B) closed at the old ones.

    Returns:
        coordinates (nq, B), and the gap (B,) that is left [m or rad].
    """
    everyone = np.arange(q.shape[1])
    q = _walk(plan, lane_of, q.copy(), q, q, [()] * len(plan.substructures))
    full = lane_of(everyone, 1.0)
    gaps = [np.abs(true_gap(full, q, s)).max(1) for s in range(len(plan.substructures))]
    return q, np.max(gaps, axis=0, initial=0.0) if gaps else np.zeros(len(everyone))


def _number_steps(full: Lane, origin: Lane, members: int) -> np.ndarray:
    """Steps that keep every varied length within 5 % of the model's size, every varied direction within 10 degrees."""
    steps = np.ones(members)
    for place, before, value in zip(full.plan.numbers, origin.params.numbers, full.params.numbers, strict=True):
        if isinstance(value, np.ndarray) and place.role.of_shape:
            reach = STEP_LENGTH * full.length if place.role is Role.LENGTH else STEP_ANGLE
            steps = np.maximum(steps, np.nan_to_num(np.abs(value - before) / reach, posinf=1.0))
    return np.minimum(np.ceil(steps), 200).astype(int)


def _plain_coordinates(plan: Plan, columns: Sequence[int], held: Sequence[int]) -> list[tuple[int, int]]:
    """(coordinate, speed) of the held columns of one-coordinate joints; quaternions are held where they are."""
    speeds = {columns[k] for k in held}
    return [(joint.q, joint.v) for joint in plan.joints if joint.nv == 1 and joint.v in speeds]


def _consistent_speeds(
    plan: Plan,
    lane: Lane,
    q: np.ndarray,
    v: np.ndarray,
    q_file: np.ndarray,
    file_lane: Lane,
    order: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Held joints keep their speeds, the others take the smallest that agree with J v = nu."""
    wanted, out = v, v.copy()
    for s, block in enumerate(plan.substructures):
        columns, unit = np.asarray(block.columns), np.asarray(lane.units)[list(block.columns)]
        _, J = closure(lane, q, s)
        held = _holdable(plan, file_lane, q_file, s, order)
        rest = [k for k in range(len(columns)) if k not in held]
        given = np.ascontiguousarray((v[columns] / unit[:, None]).T)
        moves = any(plan.constraints[k].time_dependent for k in block.groups)
        right = (prescribed_speeds(lane, q, s) if moves else 0.0) - (J[:, :, held] @ given[:, held, None])[:, :, 0]
        good = np.asarray(np.isfinite(J).all((1, 2)) & np.isfinite(right).all(1))
        J, right = np.where(good[:, None, None], J, 0.0), np.where(good[:, None], right, 0.0)
        given[:, rest] = (np.linalg.pinv(J[:, :, rest], rcond=RANK) @ right[:, :, None])[:, :, 0]
        out[columns] = (given * unit).T
    conflict = np.where(wanted != 0.0, np.abs(out - wanted), 0.0)
    return out, conflict.max(0, initial=0.0)
