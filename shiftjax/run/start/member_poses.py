"""The poses of all members in one substructure: walked from the file's by the first way that serves each. Host code.

Numbers and held joints move together; where that meets a singular or infeasible pose, one after the other, or the other
way round. Members that no way leads to are closed from many guesses, or from what is stated; members that cannot have
all that is stated let go of the least binding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.holding import columns_of
from shiftjax.run.closing.host_evaluation import StartLane, can_close
from shiftjax.run.closing.poses import close, nearest
from shiftjax.run.closing.walks import LaneOf, Path, Way, number_steps, place, walk
from shiftjax.run.start.branches import NEAR, distances, signs, spread_poses, units_of, unwound
from shiftjax.run.start.tied import Tied
from shiftjax.topology.plan import Plan

SOUGHT = 8  # poses from which a member is closed that no way leads to
SAME = 1e-6  # poses this near are one [rad or m]


@dataclass
class MemberPoses:
    """Members on their way from the file's pose.

    Attributes:
        q_file: (nq, 1); target: (nq, B) what is stated; q: (nq, B) where the other substructures stand.
    """

    plan: Plan
    lane_of: LaneOf
    part: Tied
    q_file: np.ndarray
    target: np.ndarray
    q: np.ndarray

    def placed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (nq, B), of which members the branch is not sure (B,), how many held joints each keeps (B,)."""
        part, count = self.part, self.q.shape[1]
        everyone = np.arange(count)
        possible = can_close(self.lane_of(everyone, 1.0), self.target, part.index, part.holding)
        hopeless, left = ~possible, np.flatnonzero(possible)
        straight = self._walked(left)
        clean, reached, pose = np.zeros(count, bool), np.zeros(count, bool), self.q.copy()
        clean[left], reached[left], pose[:, left] = self._clean(left, straight), straight.reached, straight.q
        tries = [(left, straight)]
        for other in (self._numbers_first, self._joints_first, self._the_other_way_round):
            # the way with joints that follow is where the hopeless ones let go of what they cannot keep
            left = np.flatnonzero(~clean if len(tries) == 1 else ~clean & ~hopeless)
            if not len(left) or (not part.judged and reached.all()):
                break
            path = other(left)
            better = self._clean(left, path)
            pose[:, left[better]] = path.q[:, better]
            clean[left[better]] = reached[left[better]] = True
            tries.append((left, path))
        doubt = np.zeros(count, bool)
        left = np.flatnonzero(~clean & ~hopeless)
        if part.judged and len(left):
            pose[:, left], reached[left], doubt[left] = self._settled(left, tries)
        if part.vague and not part.distinct:
            doubt |= self._by_statement(np.flatnonzero(possible), pose, reached)
        lost, holds = np.flatnonzero(~reached), np.full(count, len(part.holding))
        if len(lost):
            pose[:, lost], holds[lost] = self._released(lost, tries[1][1].of(tries[1][0], lost))
        if part.free and (part.weight < 1.0).any():
            columns = columns_of(self.plan, part.index, part.holding)
            full = self.lane_of(everyone, 1.0)
            pose = nearest(self.plan, full, pose, part.index, columns, self.target, part.weight)
        return pose, doubt, holds

    def _clean(self, members: np.ndarray, path: Path) -> np.ndarray:
        """(K,) whether a walk has reached its end on the file's branch, as far as signs say."""
        good, part = path.reached & ~path.crossed, self.part
        if part.distinct:
            branch = signs(self.lane_of(members[:1], 0.0), self.q_file, part.index, part.blocks, part.J)[0]
            good &= signs(self.lane_of(members, 1.0), path.q, part.index, part.blocks) == branch
        return good

    def _walk(
        self, members: np.ndarray, q: np.ndarray, holding: Sequence[int], begin: np.ndarray, target: np.ndarray,
        lane_of: LaneOf, steps: np.ndarray | None = None,
    ) -> Path:  # fmt: skip
        """Walks some members from poses q (nq, K), the held joints from `begin` to `target`."""
        steps = np.ones(len(members)) if steps is None else steps
        return walk(
            self.plan, q, Way(self.part.index, lane_of, members, holding, begin, target, steps, self.part.judged)
        )

    def _steps(self, members: np.ndarray) -> np.ndarray:
        """(K,) steps that the numbers ask for on their way from the file's."""
        return number_steps(self.lane_of(members, 1.0), self.lane_of(members, 0.0), len(members))

    def _walked(self, members: np.ndarray) -> Path:
        """Numbers and joints together."""
        begin = np.repeat(self.q_file, len(members), axis=1)
        q, target, steps = self.q[:, members], self.target[:, members], self._steps(members)
        return self._walk(members, q, self.part.holding, begin, target, self.lane_of, steps)

    def _numbers_first(self, members: np.ndarray) -> Path:
        """Numbers with all joints free, then the joints."""
        q = self._of_file(members)
        first = self._walk(members, q, [], q, q, self.lane_of, self._steps(members))
        return self._then_joints(members, first, self.target[:, members])

    def _then_joints(self, members: np.ndarray, first: Path, target: np.ndarray) -> Path:
        """The held joints to a target at the members' numbers, after another walk."""
        path = self._walk(members, first.q, self.part.holding, first.q, target, self._at_end)
        q = np.where(first.reached, path.q, first.q)
        return Path(q, first.reached & path.reached, first.crossed | path.crossed)

    def _joints_first(self, members: np.ndarray) -> Path:
        """The joints at the file's numbers, then the numbers."""
        q, holding, target = self._of_file(members), self.part.holding, self.target[:, members]
        first = self._walk(members, q, holding, q, target, lambda some, fraction: self.lane_of(some, 0.0))
        path = self._walk(members, first.q, holding, target, target, self.lane_of, self._steps(members))
        return Path(path.q, first.reached & path.reached, first.crossed | path.crossed)

    def _the_other_way_round(self, members: np.ndarray) -> Path:
        """As `_numbers_first`, the first held angle turned to its target in the other sense."""
        part, plan, q = self.part, self.plan, self._of_file(members)
        angles = [k for k in part.holding if plan.coordinates[k].plain and plan.coordinates[k].unit == "rad"]
        if not angles:
            return Path(q, np.zeros(len(members), bool), np.zeros(len(members), bool))
        row, wanted = plan.coordinates[angles[0]].q, self.target[:, members].copy()
        with np.errstate(invalid="ignore"):  # of a target at infinity
            turns = (self.target[row, members] - self.q_file[row]) / (2 * np.pi)
            wanted[row] -= 2 * np.pi * np.where(turns > 0, np.floor(turns) + 1, np.ceil(turns) - 1)
        path = self._then_joints(members, self._walk(members, q, [], q, q, self.lane_of, self._steps(members)), wanted)
        return replace(path, q=unwound(plan, part.index, path.q, self.target[:, members], self.q_file, part.holding))

    def _at_end(self, members: np.ndarray, fraction: float | np.ndarray) -> StartLane:
        """The lane of the members' numbers all the way."""
        return self.lane_of(members, 1.0)

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
        columns, free = columns_of(plan, part.index, part.holding), [
            k for k in plan.coordinates_in(part.index) if k not in part.holding
        ]  # fmt: skip
        out = self._of_file(members)
        closes, sure = np.zeros(len(members), bool), np.zeros(len(members), bool)
        branch = signs(full, self.q_file, part.index, part.blocks, part.J)[0]
        for guess in spread_poses(plan, self.q_file[:, 0], free, full.length, SOUGHT):
            left = np.flatnonzero(~sure)
            if not len(left):
                break
            begin = np.repeat(guess[:, None], len(left), axis=1)
            goal = self.target[:, members[left]]
            place(plan, begin, part.holding, goal, goal, np.ones(len(left)))
            lane = full.of(left)
            q, size = close(plan, lane, begin, part.index, columns)
            q = unwound(plan, part.index, q, goal, self.q_file, part.holding)
            right = (size <= CLOSED) & (signs(lane, q, part.index, part.blocks) == branch)
            take = right | ((size <= CLOSED) & ~closes[left])
            out[:, left[take]] = q[:, take]
            closes[left[take]] = True
            sure[left[right]] = True
        return out, closes, closes & ~(sure & self.part.distinct)

    def _by_statement(self, members: np.ndarray, poses: np.ndarray, reached: np.ndarray) -> np.ndarray:
        """Closed from what is stated, where no walk from the file's pose tells the branch: the nearer pose is taken.

        Changes poses (nq, B) and reached (B,) in place. Returns (B,) whether the branch is not sure.
        """
        part, plan, full = self.part, self.plan, self.lane_of(members, 1.0)
        columns, goal, origin = (
            columns_of(plan, part.index, part.holding),
            self.target[:, members],
            self._of_file(members),
        )
        place(plan, origin, part.stated, goal, goal, np.ones(len(members)))
        least, size = close(plan, full, origin, part.index, (), part.weight)
        place(plan, least, part.holding, goal, goal, np.ones(len(members)))
        for begin in (origin, least):
            q, size = close(plan, full, begin, part.index, columns)
            q = unwound(plan, part.index, q, goal, self.q_file, part.holding)
            off, before = (distances(plan, pose, goal, part.stated).sum(0) for pose in (q, poses[:, members]))
            take = (size <= CLOSED) & (~reached[members] | (off < before))
            poses[:, members[take]], reached[members[take]] = q[:, take], True
        missed = distances(plan, poses, self.target, part.stated) / units_of(plan, full, part.stated)
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
        branch = signs(lane, self.q_file, part.index, part.blocks, part.J)[0]
        vary = number_steps(lane, self.lane_of(members, 0.0), len(members)) > 1.0
        rows = [r for k in plan.substructures[part.index].joints
                for r in range(plan.joints[k].q, plan.joints[k].q + plan.joints[k].nq)]  # fmt: skip
        paths = [path.of(at, members) for at, path in tries]
        out, sure = paths[0].q.copy(), np.zeros(len(members), bool)
        reached = np.zeros(len(members), bool)
        for path in paths:
            right = path.reached & (signs(lane, path.q, part.index, part.blocks) == branch) & self.part.distinct
            take = (path.reached & ~reached) | (right & ~sure)
            out[:, take] = path.q[:, take]
            reached |= path.reached
            sure |= right
        for other, which in ((paths[2], vary), (paths[3], ~vary)):
            apart = _apart(other.q[rows], paths[0].q[rows])
            agree = which & ~sure & paths[0].reached & other.reached & (apart < SAME)
            out[:, agree] = paths[0].q[:, agree]
            sure |= agree
        left = np.flatnonzero(~sure)
        if len(left):
            q, there, doubt = self._sought(members[left])
            take = there & (~doubt | ~reached[left])
            out[:, left[take]] = q[:, take]
            reached[left[take]] = True
            sure[left[take]] = ~doubt[take]
            apart = [np.where(path.reached, _apart(path.q[rows], out[rows]), 0.0) for path in paths]
            sure[left] |= ((np.max(apart, axis=0) < SAME) & paths[0].reached)[left]  # all ways and the search agree
        return out, reached, reached & ~sure

    def _released(self, members: np.ndarray, open_: Path) -> tuple[np.ndarray, np.ndarray]:
        """Members that cannot have all that is stated: as much of it as the loops allow, the least binding let go.

        Args:
            open_: how they walked with numbers first.

        Returns:
            coordinates, and how many of the held joints stand where they were stated.
        """
        part, plan, target = self.part, self.plan, self.target[:, members]
        full = self.lane_of(members, 1.0)
        columns = columns_of(plan, part.index, part.holding)
        begin, size = close(plan, full, open_.q, part.index, columns)
        out, closed = begin, size <= CLOSED
        if not closed.all():
            bad = np.flatnonzero(~closed)
            begin[:, bad], size = close(plan, full.of(bad), self._walked(members[bad]).q, part.index, ())
            closed[bad] = size <= CLOSED
            out = begin.copy()
        left, holds = closed.copy(), np.zeros(len(members), int)
        for count in range(len(part.holding), 0, -1):
            here = np.flatnonzero(left)
            if not len(here):
                break
            q, holding, some = begin[:, here], part.holding[:count], members[here]
            path = walk(plan, q, Way(part.index, self._at_end, some, holding, q, target[:, here], np.ones(len(here))))
            serves = path.reached if count > 1 else np.ones(len(here), bool)
            out[:, here[serves]], holds[here[path.reached]] = path.q[:, serves], count
            left[here[serves]] = False
        return out, holds


@np.errstate(invalid="ignore")  # of poses at infinity, none agrees with another
def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(B,) by which poses (n, B) differ, whole turns left out: 1 is half a turn."""
    return np.abs(np.sin(0.5 * (a - b))).max(0)
