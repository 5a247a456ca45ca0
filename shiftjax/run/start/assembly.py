"""Closing the loops at the start, for all members at once, keeping what the user stated.

Problem: coordinates q with Phi(q) = 0, stated joints where they were stated as far as the loops allow, the others near
the file's; then speeds with J v = nu, stated ones kept, the others smallest.
The result must not depend on the partition nor on the batch; the branch must be the file's: every member is walked from
the file's assembled pose, by other ways where the straight one meets a singular or infeasible pose.
Refused: nothing; what cannot be closed or kept, and a branch that is not sure, is reported for each member.

Host code, a substructure at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.holding import columns_of, holdable
from shiftjax.run.closing.host_evaluation import StartLane, can_close, closure, per_member, stated_coordinates
from shiftjax.run.closing.poses import close, nearest
from shiftjax.run.closing.walks import LaneOf, Path, Way, number_steps, place, walk
from shiftjax.run.start.branches import (
    TOLD,
    Block,
    blocks_of_signs,
    distances,
    gaps,
    most,
    signs,
    spread_poses,
    units_of,
    unwound,
)
from shiftjax.run.start.geometries import designs_of
from shiftjax.run.start.start_speeds import consistent_speeds, speeds_off
from shiftjax.run.start.stated import Start, Statements
from shiftjax.topology.plan import Plan

NEAR = 0.1  # rad or parts of the model's length: joints that follow are often stated roughly, to say on which side
UNSTATED = 1e-2  # weight of a joint that says nothing, when joints are moved least
DYAD = 3  # a block of so many joints has two assemblies, told apart by the sign of its Jacobian
SOUGHT = 8  # poses from which a member is closed that no way leads to
SAME = 1e-6  # poses this near are one [rad or m]
BLOCK = 8 << 20  # bytes of Jacobians of the members that are assembled together


@dataclass
class _Tied:
    """What is known of one substructure at the file's start.

    Attributes:
        held: joints that keep what was stated, the most binding first; free: freedoms that they leave.
        judged: local columns of all other joints, where `held` leaves no freedom. weight: (n,) of least moves.
        J: (1, m, n) at the file's pose; blocks: rows and columns of J whose signs tell assemblies apart.
        stated: joints whose displacement is; vague: whether the file's pose is too far from it to give a branch.
    """

    index: int
    held: list[int]
    free: int
    judged: list[int]
    weight: np.ndarray
    J: np.ndarray
    blocks: list[Block]
    stated: list[int]
    vague: bool

    @property
    def told_apart(self) -> bool:
        """Whether the signs of the blocks tell all assemblies apart: where each block is a dyad."""
        return bool(self.blocks) and all(len(columns) <= DYAD for _, columns in self.blocks)


def assemble(plan: Plan, file_lane: StartLane, lane_of: LaneOf, members: int, said: Statements) -> Start:
    """Assembles all members.

    Args:
        file_lane: the lane of the file's own numbers.
        lane_of: lane of some members, their numbers a fraction of the way from the file's to their own.
        said: what is stated of their starts.
    """
    q_file = stated_coordinates(file_lane, 1)
    tied = [_of_the_file(plan, file_lane, q_file, s, said.positions) for s in range(len(plan.substructures))]

    def started(own: np.ndarray) -> Start:
        return _started(plan, lambda some, fraction: lane_of(own[some], fraction), len(own), q_file, tied, said)

    return Start.joined([started(own) for own in np.array_split(np.arange(members), -(-members // _block(plan)))])


def _block(plan: Plan) -> int:
    """How many members are assembled together."""
    entries = max((block.rows * len(block.columns) for block in plan.substructures), default=1)
    return max(BLOCK // (8 * entries), 1)


def _started(
    plan: Plan, lane_of: LaneOf, members: int, q_file: np.ndarray, tied: Sequence[_Tied], said: Statements
) -> Start:
    """Assembles some members; what follows from numbers that many share is found once for each design."""
    full = lane_of(np.arange(members), 1.0)
    designs = designs_of(plan, full.params.numbers, members)
    target = stated_coordinates(full, members)
    q, doubt, branch, kept_joints, gap, worst, closed = map(
        designs.spread_last, _poses(plan, designs.lanes(lane_of), q_file, target[:, designs.first], tied)
    )
    told = [holdable(plan, part.J[0], part.index, said.speeds)[0] for part in tied]
    columns = [columns_of(plan, part.index, joints) for part, joints in zip(tied, told, strict=True)]
    kept = [k for joints in told for k in joints] if tied else list(said.speeds)
    v = consistent_speeds(plan, full, q[:, designs.first], designs, columns, said.speeds)
    held = [k for part in tied for k in part.held]
    binding = [k for k in said.positions if k in held or k in said.named_positions]
    bound = (distances(plan, q, target, binding) / units_of(plan, full, binding)).max(0, initial=0.0) > TOLD
    counted = [k for k in said.positions if k not in said.led] if said.alone else binding
    off, units = distances(plan, q, target, counted), units_of(plan, full, counted)
    bound |= (off / units).max(0, initial=0.0) > NEAR
    change, moved = most(off, units, counted)
    alone = said.alone and not said.led
    counted = said.speeds if alone else [k for k in said.speeds if k in kept or k in said.named_speeds]
    off = speeds_off(plan, v, per_member(full.speeds(), members), counted)
    speed_change, speed_moved = most(off, units_of(plan, full, counted), counted)
    return Start(
        q, v, per_member(full.states(), members), closed, gap, worst, change, moved, speed_change, speed_moved,
        bound, branch, doubt & closed, kept_joints, tuple(tuple(part.held) for part in tied), tuple(map(tuple, told)),
    )  # fmt: skip


def _poses(
    plan: Plan, lane_of: LaneOf, q_file: np.ndarray, target: np.ndarray, tied: Sequence[_Tied]
) -> tuple[np.ndarray, ...]:
    """Of designs with coordinates `target` (nq, D): coordinates, doubts, branches, how many joints are kept, `gaps`."""
    count = target.shape[1]
    full, q = lane_of(np.arange(count), 1.0), np.repeat(q_file, count, axis=1)
    _set_free(plan, q, target)
    unsure, branch = np.zeros(count, bool), np.full(count, "", dtype=object)
    kept = np.zeros((len(tied), count), int)
    for part, keeps in zip(tied, kept, strict=True):
        q, doubt, keeps[:] = _Members(plan, lane_of, part, q_file, target, q).placed()
        unsure |= doubt
        branch = branch + signs(full, q, part.index, part.blocks)
    return q, unsure, branch, kept, *gaps(plan, full, q)


# -- the file's own pose -------------------------------------------------------------------------------------------


def _of_the_file(plan: Plan, lane: StartLane, q: np.ndarray, index: int, order: Sequence[int]) -> _Tied:
    """Closes the file's pose, in place in q (nq, 1), and says what is held there."""
    stated = columns_of(plan, index, order)
    weight = np.full(len(plan.substructures[index].columns), UNSTATED)
    weight[stated] = 1.0
    target = q.copy()
    found, held, free = _kept(plan, lane, q, target, index, order, weight)
    own = [k for k in order if columns_of(plan, index, [k])]
    off = (distances(plan, found, target, own) / units_of(plan, lane, own)).max(initial=0.0)
    wanted = held is not None and off <= (TOLD if free else NEAR)
    if not wanted:
        found, held, free = _searched(plan, lane, target, index, order, weight, (found, held, free))
    off = distances(plan, found, target, own) / units_of(plan, lane, own)
    binding = [own.index(k) for k in held or () if k in own]
    led = any(plan.constraints[k].prescribes for k in plan.substructures[index].groups)  # the others follow a driver
    vague = not led and (held is None or off[binding].max(initial=0.0) > TOLD or off.max(initial=0.0) > NEAR)
    if held is None:
        held, free = [], 0
    elif free and any(k < 1.0 for k in weight):
        found = nearest(plan, lane, found, index, columns_of(plan, index, held), target, weight)
    q[:] = found
    _, J = closure(lane, q, index)
    judged = [] if free or not held else [k for k in range(len(weight)) if k not in columns_of(plan, index, held)]
    return _Tied(index, held, free, judged, weight, J, blocks_of_signs(J[0], judged), own, vague)


def _kept(
    plan: Plan, lane: StartLane, q: np.ndarray, target: np.ndarray, index: int, order: Sequence[int], weight: np.ndarray
) -> tuple[np.ndarray, list[int] | None, int]:
    """From one open pose to a closed one near it, then to the stated displacements: (pose, what is held, freedoms).

    What can be held is judged at the closed pose; None where the loops do not close.
    """
    phi, J = closure(lane, q, index)
    near = q
    if np.abs(phi).max() > CLOSED:
        near, size = close(plan, lane, q, index, (), weight)
        if not size[0] <= CLOSED:
            near, size = close(plan, lane, q, index, ())
        if not size[0] <= CLOSED:
            return near, None, 0
        _, J = closure(lane, near, index)
    held, free = holdable(plan, J[0], index, order)
    way = _way(plan, index, held, lambda members, fraction: lane, near, target, np.ones(1))
    path = walk(plan, near, way)
    return path.q, held, free


def _way(
    plan: Plan, index: int, held: Sequence[int], lane_of: LaneOf, begin: np.ndarray, target: np.ndarray,
    steps: np.ndarray, judged: Sequence[int] = (), members: np.ndarray | None = None,
) -> Way:  # fmt: skip
    everyone = np.arange(begin.shape[1]) if members is None else members
    return Way(index, lane_of, everyone, held, begin.copy(), target, steps, judged)


def _searched(
    plan: Plan,
    lane: StartLane,
    target: np.ndarray,
    index: int,
    order: Sequence[int],
    weight: np.ndarray,
    best: tuple[np.ndarray, list[int] | None, int],
) -> tuple[np.ndarray, list[int] | None, int]:
    """The best of many poses: the one that keeps most of what is stated, then the nearest one."""

    own, inside = [k for k in order if columns_of(plan, index, [k])], plan.coordinates_in(index)

    def merit(found: tuple[np.ndarray, list[int] | None, int]) -> tuple[float, ...]:
        if found[1] is None:
            return (np.inf,)
        missed = (distances(plan, found[0], target, own) / units_of(plan, lane, own))[:, 0]
        every = distances(plan, found[0], target, inside)
        heavy = [weight[columns_of(plan, index, [k])].max(initial=0.0) for k in inside]
        return (0.0, *np.where(missed <= TOLD, 0.0, missed), float(np.asarray(heavy) @ every[:, 0]))

    free = [k for k in inside if k not in order]
    for guess in spread_poses(plan, target[:, 0], free, lane.length):
        found = _kept(plan, lane, guess[:, None], target, index, order, weight)
        if merit(found) < merit(best):
            best = found
    for count in range(len(best[1] or ()) - 1, -1, -1):  # from the file's own pose, the least binding let go
        pose, size = close(plan, lane, target, index, columns_of(plan, index, (best[1] or [])[:count]), weight)
        if size[0] <= CLOSED and merit((pose, *best[1:])) < merit(best):
            return pose, *best[1:]
    return best


def _set_free(plan: Plan, q: np.ndarray, target: np.ndarray) -> None:
    """Joints outside every substructure start where the numbers say."""
    tied = {j for block in plan.substructures for j in block.joints}
    for k, joint in enumerate(plan.joints):
        if k not in tied:
            q[joint.q : joint.q + joint.nq] = target[joint.q : joint.q + joint.nq]


# -- the members' poses --------------------------------------------------------------------------------------------


@dataclass
class _Members:
    """The poses of all members in one substructure: walked from the file's by the first way that serves each."""

    plan: Plan
    lane_of: LaneOf
    part: _Tied
    q_file: np.ndarray
    target: np.ndarray
    q: np.ndarray

    def placed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (nq, B), of which members the branch is not sure (B,), how many held joints each keeps (B,)."""
        part, count = self.part, self.q.shape[1]
        everyone = np.arange(count)
        possible = can_close(self.lane_of(everyone, 1.0), self.target, part.index, part.held)
        hopeless, left = ~possible, np.flatnonzero(possible)
        straight = self._walked(left)
        clean, reached, found = np.zeros(count, bool), np.zeros(count, bool), self.q.copy()
        clean[left], reached[left], found[:, left] = self._clean(left, straight), straight.reached, straight.q
        tries = [(left, straight)]
        for other in (self._numbers_first, self._joints_first, self._the_other_way_round):
            # the way with joints that follow is where the hopeless ones let go of what they cannot keep
            left = np.flatnonzero(~clean if len(tries) == 1 else ~clean & ~hopeless)
            if not len(left) or (not part.judged and reached.all()):
                break
            path = other(left)
            better = self._clean(left, path)
            found[:, left[better]] = path.q[:, better]
            clean[left[better]] = reached[left[better]] = True
            tries.append((left, path))
        doubt = np.zeros(count, bool)
        left = np.flatnonzero(~clean & ~hopeless)
        if part.judged and len(left):
            found[:, left], reached[left], doubt[left] = self._settled(left, tries)
        if part.vague and not part.told_apart:
            doubt |= self._by_statement(np.flatnonzero(possible), found, reached)
        lost, kept = np.flatnonzero(~reached), np.full(count, len(part.held))
        if len(lost):
            found[:, lost], kept[lost] = self._released(lost, tries[1][1].of(tries[1][0], lost))
        if part.free and (part.weight < 1.0).any():
            columns = columns_of(self.plan, part.index, part.held)
            full = self.lane_of(everyone, 1.0)
            found = nearest(self.plan, full, found, part.index, columns, self.target, part.weight)
        return found, doubt, kept

    def _clean(self, members: np.ndarray, path: Path) -> np.ndarray:
        """(K,) whether a walk has reached its end on the file's branch, as far as signs say."""
        good, part = path.reached & ~path.crossed, self.part
        if part.told_apart:
            own = signs(self.lane_of(members[:1], 0.0), self.q_file, part.index, part.blocks, part.J)[0]
            good &= signs(self.lane_of(members, 1.0), path.q, part.index, part.blocks) == own
        return good

    def _walked(self, members: np.ndarray) -> Path:
        """Numbers and joints together."""
        q, target = self.q[:, members], self.target[:, members]
        begin = np.repeat(self.q_file, len(members), axis=1)
        steps = number_steps(self.lane_of(members, 1.0), self.lane_of(members, 0.0), len(members))
        part = self.part
        return walk(
            self.plan,
            q,
            _way(self.plan, part.index, part.held, self.lane_of, begin, target, steps, part.judged, members),
        )

    def _numbers_first(self, members: np.ndarray) -> Path:
        """Numbers with all joints free, then the joints."""
        q, part = self._of_file(members), self.part
        steps = number_steps(self.lane_of(members, 1.0), self.lane_of(members, 0.0), len(members))
        way = _way(self.plan, part.index, [], self.lane_of, q, q, steps, part.judged, members)
        first = walk(self.plan, q, way)
        return self._then_joints(members, first, self.target[:, members])

    def _then_joints(self, members: np.ndarray, first: Path, target: np.ndarray) -> Path:
        """The held joints to a target at the members' own numbers, after another walk."""
        at_end: LaneOf = lambda some, fraction: self.lane_of(some, 1.0)  # noqa: E731
        part, ones = self.part, np.ones(len(members))
        way = _way(self.plan, part.index, part.held, at_end, first.q, target, ones, part.judged, members)
        path = walk(self.plan, first.q, way)
        return Path(
            np.where(first.reached, path.q, first.q), first.reached & path.reached, first.crossed | path.crossed
        )

    def _joints_first(self, members: np.ndarray) -> Path:
        """The joints at the file's numbers, then the numbers."""
        at_begin: LaneOf = lambda some, fraction: self.lane_of(some, 0.0)  # noqa: E731
        q, part, target = self._of_file(members), self.part, self.target[:, members]
        ones = np.ones(len(members))
        first = walk(
            self.plan, q, _way(self.plan, part.index, part.held, at_begin, q, target, ones, part.judged, members)
        )
        steps = number_steps(self.lane_of(members, 1.0), self.lane_of(members, 0.0), len(members))
        held_there = _way(self.plan, part.index, part.held, self.lane_of, target, target, steps, part.judged, members)
        path = walk(self.plan, first.q, held_there)
        return Path(path.q, first.reached & path.reached, first.crossed | path.crossed)

    def _the_other_way_round(self, members: np.ndarray) -> Path:
        """As `_numbers_first`, the first held angle turned to its target in the other sense."""
        part, plan, q = self.part, self.plan, self._of_file(members)
        angles = [k for k in part.held if plan.coordinates[k].plain and plan.coordinates[k].unit == "rad"]
        turning = angles[0] if angles else None
        if turning is None:
            return Path(q, np.zeros(len(members), bool), np.zeros(len(members), bool))
        row, wanted = plan.coordinates[turning].q, self.target[:, members].copy()
        there = self.target[row, members] - self.q_file[row]
        wanted[row] -= (
            2 * np.pi * np.where(there > 0, np.floor(there / (2 * np.pi)) + 1, np.ceil(there / (2 * np.pi)) - 1)
        )
        steps = number_steps(self.lane_of(members, 1.0), self.lane_of(members, 0.0), len(members))
        way = _way(plan, part.index, [], self.lane_of, q, q, steps, part.judged, members)
        path = self._then_joints(members, walk(plan, q, way), wanted)
        return replace(path, q=unwound(plan, part.index, path.q, self.target[:, members], self.q_file, part.held))

    def _of_file(self, members: np.ndarray) -> np.ndarray:
        """(nq, K) the file's pose, and of the other substructures whatever the members have."""
        q = self.q[:, members].copy()
        for k in self.plan.substructures[self.part.index].joints:
            joint = self.plan.joints[k]
            q[joint.q : joint.q + joint.nq] = self.q_file[joint.q : joint.q + joint.nq]
        return q

    def _sought(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poses that no way leads to, closed from many guesses: (coordinates, whether found, whether not sure)."""
        part, plan, full = self.part, self.plan, self.lane_of(members, 1.0)
        columns, free = columns_of(plan, part.index, part.held), [
            k for k in plan.coordinates_in(part.index) if k not in part.held
        ]  # fmt: skip
        out = self._of_file(members)
        found, sure = np.zeros(len(members), bool), np.zeros(len(members), bool)
        own = signs(full, self.q_file, part.index, part.blocks, part.J)[0]
        for guess in spread_poses(plan, self.q_file[:, 0], free, full.length, SOUGHT):
            left = np.flatnonzero(~sure)
            if not len(left):
                break
            begin = np.repeat(guess[:, None], len(left), axis=1)
            goal = self.target[:, members[left]]
            place(plan, begin, part.held, goal, goal, np.ones(len(left)))
            lane = full.of(left)
            q, size = close(plan, lane, begin, part.index, columns)
            q = unwound(plan, part.index, q, goal, self.q_file, part.held)
            right = (size <= CLOSED) & (signs(lane, q, part.index, part.blocks) == own)
            take = right | ((size <= CLOSED) & ~found[left])
            out[:, left[take]] = q[:, take]
            found[left[take]] = True
            sure[left[right]] = True
        return out, found, found & ~(sure & self.part.told_apart)

    def _by_statement(self, members: np.ndarray, found: np.ndarray, reached: np.ndarray) -> np.ndarray:
        """Closed from what is stated, where no walk from the file's pose tells the branch: the nearer pose is taken.

        Changes found (nq, B) and reached (B,) in place. Returns (B,) whether the branch is not sure.
        """
        part, plan, full = self.part, self.plan, self.lane_of(members, 1.0)
        columns, goal, origin = columns_of(plan, part.index, part.held), self.target[:, members], self._of_file(members)
        place(plan, origin, part.stated, goal, goal, np.ones(len(members)))
        least, size = close(plan, full, origin, part.index, (), part.weight)
        place(plan, least, part.held, goal, goal, np.ones(len(members)))
        for begin in (origin, least):
            q, size = close(plan, full, begin, part.index, columns)
            q = unwound(plan, part.index, q, goal, self.q_file, part.held)
            off, before = (distances(plan, pose, goal, part.stated).sum(0) for pose in (q, found[:, members]))
            take = (size <= CLOSED) & (~reached[members] | (off < before))
            found[:, members[take]], reached[members[take]] = q[:, take], True
        missed = distances(plan, found, self.target, part.stated) / units_of(plan, full, part.stated)
        return ~reached | (missed.max(0, initial=0.0) > NEAR)

    def _settled(self, members: np.ndarray, tries: Sequence[tuple[np.ndarray, Path]]) -> tuple[np.ndarray, ...]:
        """Members that no way leads to on the file's branch without a singular pose between.

        Of poses that were reached: the one on the file's side; one that two ways with the joints held agree on, which
        leads straight through a pose where branches meet; one that is found by search; any.

        Args:
            tries: members and paths: straight, numbers first, joints first, the other way round.

        Returns:
            coordinates, whether there are any, whether the branch is not sure.
        """
        part, plan, lane = self.part, self.plan, self.lane_of(members, 1.0)
        own = signs(lane, self.q_file, part.index, part.blocks, part.J)[0]
        vary = number_steps(lane, self.lane_of(members, 0.0), len(members)) > 1.0
        rows = [r for k in plan.substructures[part.index].joints
                for r in range(plan.joints[k].q, plan.joints[k].q + plan.joints[k].nq)]  # fmt: skip
        paths = [path.of(at, members) for at, path in tries]
        out, sure = paths[0].q.copy(), np.zeros(len(members), bool)
        found = np.zeros(len(members), bool)
        for path in paths:
            right = path.reached & (signs(lane, path.q, part.index, part.blocks) == own) & self.part.told_apart
            take = (path.reached & ~found) | (right & ~sure)
            out[:, take] = path.q[:, take]
            found |= path.reached
            sure |= right
        for other, which in ((paths[2], vary), (paths[3], ~vary)):
            apart = np.abs(np.sin(0.5 * (other.q - paths[0].q)[rows])).max(0)
            agree = which & ~sure & paths[0].reached & other.reached & (apart < SAME)
            out[:, agree] = paths[0].q[:, agree]
            sure |= agree
        left = np.flatnonzero(~sure)
        if len(left):
            q, there, doubt = self._sought(members[left])
            take = there & (~doubt | ~found[left])
            out[:, left[take]] = q[:, take]
            found[left[take]] = True
            sure[left[take]] = ~doubt[take]
            apart = [np.where(path.reached, np.abs(np.sin(0.5 * (path.q - out)[rows])).max(0), 0.0) for path in paths]
            sure[left] |= ((np.max(apart, axis=0) < SAME) & paths[0].reached)[left]  # all ways and the search agree
        return out, found, found & ~sure

    def _released(self, members: np.ndarray, open_: Path) -> tuple[np.ndarray, np.ndarray]:
        """Members that cannot have all that is stated: as much of it as the loops allow, the least binding let go.

        Args:
            open_: how they walked with numbers first.

        Returns:
            coordinates, and how many of the held joints stand where they were stated.
        """
        part, plan, target = self.part, self.plan, self.target[:, members]
        full = self.lane_of(members, 1.0)
        columns = columns_of(plan, part.index, part.held)
        begin, size = close(plan, full, open_.q, part.index, columns)
        out, closed = begin, size <= CLOSED
        if not closed.all():
            bad = np.flatnonzero(~closed)
            begin[:, bad], size = close(plan, full.of(bad), self._walked(members[bad]).q, part.index, ())
            closed[bad] = size <= CLOSED
            out = begin.copy()
        left, keeps = closed.copy(), np.zeros(len(members), int)
        at_end: LaneOf = lambda some, fraction: self.lane_of(some, 1.0)  # noqa: E731
        for count in range(len(part.held), 0, -1):
            here = np.flatnonzero(left)
            if not len(here):
                break
            way = _way(
                plan, part.index, part.held[:count], at_end, begin[:, here], target[:, here], np.ones(len(here)), (),
                members[here],
            )  # fmt: skip
            path = walk(plan, begin[:, here], way)
            kept = path.reached if count > 1 else np.ones(len(here), bool)
            out[:, here[kept]], keeps[here[path.reached]] = path.q[:, kept], count
            left[here[kept]] = False
        return out, keeps
