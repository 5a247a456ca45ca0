"""Closing the loops at the start, for all members at once, keeping what the user stated.

Problem: coordinates q with Phi(q) = 0, stated joints where they were stated as far as the loops allow, the others near
the file's; then speeds with J v = nu, stated ones kept, the others smallest.
The result must not depend on the partition nor on the batch; the branch must be the file's: `file_pose` closes the
file's own pose, from which `member_poses` walks every member.
Refused: nothing; what cannot be closed or kept, and a branch that is not sure, is reported for each member.

Host code, a substructure at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from shiftjax.kernels.workers import host_threads, in_portions
from shiftjax.run.closing.holding import pacing
from shiftjax.run.closing.host_evaluation import StartLane, per_member, stated_coordinates
from shiftjax.run.closing.walks import LaneOf
from shiftjax.run.start.branches import MOVED, NEAR, distances, gaps, most, signs, units_of
from shiftjax.run.start.file_pose import closed_file
from shiftjax.run.start.geometries import Designs, designs_of
from shiftjax.run.start.member_poses import MemberPoses
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.start_speeds import consistent_speeds, speeds_off
from shiftjax.run.start.stated import Start, Statements
from shiftjax.run.start.tied import Tied
from shiftjax.topology.plan import Plan

BLOCK = 8 << 20  # bytes of Jacobians of the members that are assembled together, at most
PORTIONS, LEAST, MOST = 8, 1024, 8192  # of the members, so that all threads have some; members of one, so that
# NumPy's calls are worth it, and an interrupt need not wait long

Keepers = Sequence[tuple[list[int], list[int]]]  # joints, and local columns of speeds


def start_of(prepared: Prepared, faulty: Collection[int] = (), *, moving: bool = True) -> Start:
    """Assembled starts of all members.

    Args:
        faulty: members whose numbers nothing can have: they stay open, and no division by theirs is tried.
        moving: whether speeds are wanted. Else they may be 0: those of a path follow from its drivers at every pose.
    """
    if not prepared.vary and prepared.model == prepared.base and prepared.instants is None:
        return prepared.file_start
    never = np.array([*faulty], int)
    values = prepared.values.copy()
    values[:, never] = np.array(prepared.own_numbers)[[*prepared.places], None]
    sound = replace(prepared, values=values)
    start = assemble(sound.plan, sound.file_lane(), sound.lane_of, sound.members, sound.statements, moving=moving)
    start.closed[never] = False
    return start


def assemble(
    plan: Plan, file_lane: StartLane, lane_of: LaneOf, members: int, statements: Statements, *, moving: bool = True
) -> Start:  # fmt: skip
    """Assembles all members.

    Args:
        file_lane: the lane of the file's own numbers.
        lane_of: lane of some members, their numbers a fraction of the way from the file's to their own.
        statements: what is stated of their starts. moving: as of `start_of`.
    """
    q_file, tied = closed_file(plan, file_lane, statements.positions)
    everyone, keepers = np.arange(members), _keepers(plan, tied, statements)

    def started(portion: slice) -> Start:
        some = everyone[portion]
        of_some = lambda k, fraction: lane_of(some[k], fraction)  # noqa: E731
        return _started(plan, of_some, len(some), q_file, (tied, keepers), statements, moving)

    portions = PORTIONS if host_threads() > 1 else 1
    size = min(_block(plan), max(-(-members // portions), LEAST), MOST)
    return Start.joined(in_portions(started, members, size))


def _block(plan: Plan) -> int:
    """How many members are assembled together."""
    entries = max((block.rows * len(block.columns) for block in plan.substructures), default=1)
    return max(BLOCK // (8 * entries), 1)


def _started(
    plan: Plan, lane_of: LaneOf, members: int, q_file: np.ndarray, paced: tuple[Sequence[Tied], Keepers],
    statements: Statements, moving: bool,
) -> Start:  # fmt: skip
    """Assembles some members; what follows from numbers that many share is found once for each design."""
    tied = paced[0]
    full = lane_of(np.arange(members), 1.0)
    designs = designs_of(plan, full.params.numbers, members, full.t)
    target = stated_coordinates(full, members)
    q, doubt, branch, holds, *gap = map(
        designs.spread_last, _poses(plan, designs.lanes(lane_of), q_file, target[:, designs.first], tied)
    )
    start = _standing(plan, full, designs, q, gap, paced, statements, moving)
    change, moved, binding = _moved(plan, full, q, target, tied, statements)
    return replace(
        start, change=change, moved=moved, binding=binding, branch=branch, unsure=doubt & start.closed, holds=holds
    )


def standing_at(prepared: Prepared, q: np.ndarray, branch: np.ndarray) -> Start:
    """The starts of members that stand at given poses (nq, B), in place of those to which the file's own leads.

    What is held stands as stated there, or the loops are open; what follows is where the branch that was asked for has
    it, so that a stated place of it binds nothing; that it is elsewhere is noted where it is not near.

    Args:
        branch: (B,) the name of each.
    """
    plan, statements = prepared.plan, replace(prepared.statements, alone=False)
    _, tied = closed_file(plan, prepared.file_lane(), prepared.statements.positions)
    full = prepared.lane_of(np.arange(prepared.members), 1.0)
    apart = Designs.apart(prepared.members)
    start = _standing(plan, full, apart, q, gaps(plan, full, q), (tied, _keepers(plan, tied, statements)), statements)
    free = [k for k in statements.positions if k not in statements.led]
    off = distances(plan, q, stated_coordinates(full, prepared.members), free)
    units = units_of(plan, full, free)
    change, moved = most(np.where(off > NEAR * units, off, 0.0), units, free)
    return replace(start, change=change, moved=moved, branch=branch)


def _standing(
    plan: Plan, full: StartLane, designs: Designs, q: np.ndarray, of_loops: Sequence[np.ndarray],
    of_file: tuple[Sequence[Tied], Keepers], statements: Statements, moving: bool = True,
) -> Start:  # fmt: skip
    """Speeds and states of members at coordinates q (nq, B), all that is stated of their places kept.

    Args:
        of_loops: as of `gaps`. of_file: what is held at the file's pose, of `_keepers`. moving: as of `start_of`.
    """
    members, stated, (tied, keepers) = q.shape[1], statements.speeds, of_file
    gap, worst, closed = of_loops
    paced, columns = [joints for joints, _ in keepers], [speeds for _, speeds in keepers]
    judged = stated
    if not statements.alone or statements.led:
        keeping = {k for joints in paced for k in joints} if tied else {*stated}
        judged = tuple(k for k in stated if k in keeping or k in statements.named_speeds)
    v = np.zeros((plan.nv, members))
    if moving or judged or any(columns):
        v = consistent_speeds(plan, full, q[:, designs.first], designs, columns, [part.J for part in tied], stated)
    off = speeds_off(plan, v, per_member(full.speeds(), members), judged)
    speed_change, speed_moved = most(off, units_of(plan, full, judged), judged)
    holds = np.tile(np.array([len(part.holding) for part in tied], int).reshape(-1, 1), members)
    start = Start.standing(q, v, per_member(full.states(), members), closed, gap)
    return replace(
        start, worst=worst, speed_change=speed_change, speed_moved=speed_moved, holds=holds,
        held_positions=tuple(tuple(part.holding) for part in tied), held_speeds=tuple(map(tuple, columns)),
    )  # fmt: skip


def _keepers(plan: Plan, tied: Sequence[Tied], statements: Statements) -> Keepers:
    """What keeps its stated speed, of `pacing`, in every substructure as it is at the file's pose."""
    return [pacing(plan, part.J[0], part.index, statements.speeds) for part in tied]


def _moved(
    plan: Plan, lane: StartLane, q: np.ndarray, target: np.ndarray, tied: Sequence[Tied], statements: Statements
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(B,) the largest change of a stated displacement, its coordinate, and whether that is worth telling."""
    holding = {k for part in tied for k in part.holding}
    binding = [k for k in statements.positions if k in holding or k in statements.named_positions]
    bound = (distances(plan, q, target, binding) / units_of(plan, lane, binding)).max(0, initial=0.0) > MOVED
    free = [k for k in statements.positions if k not in statements.led]
    counted = free if statements.alone else binding
    off, units = distances(plan, q, target, counted), units_of(plan, lane, counted)
    bound |= (off / units).max(0, initial=0.0) > NEAR
    return *most(off, units, counted), bound


def _poses(
    plan: Plan, lane_of: LaneOf, q_file: np.ndarray, target: np.ndarray, tied: Sequence[Tied]
) -> tuple[np.ndarray, ...]:
    """Of designs with coordinates `target` (nq, D): coordinates, doubts, branches, how many joints are held, `gaps`."""
    count = target.shape[1]
    full, q = lane_of(np.arange(count), 1.0), np.repeat(q_file, count, axis=1)
    _set_free(plan, q, target)
    unsure, branch = np.zeros(count, bool), np.full(count, "", dtype=object)
    holds = np.zeros((len(tied), count), int)
    for part, counts in zip(tied, holds, strict=True):
        q, doubt, counts[:] = MemberPoses(plan, lane_of, part, q_file, target, q).placed()
        unsure |= doubt
        branch = branch + signs(full, q, part.index, part.blocks)
    return q, unsure, branch, holds, *gaps(plan, full, q)


def _set_free(plan: Plan, q: np.ndarray, target: np.ndarray) -> None:
    """Joints outside every substructure start where the numbers say."""
    tied = {j for block in plan.substructures for j in block.joints}
    for k, joint in enumerate(plan.joints):
        if k not in tied:
            q[joint.q : joint.q + joint.nq] = target[joint.q : joint.q + joint.nq]
