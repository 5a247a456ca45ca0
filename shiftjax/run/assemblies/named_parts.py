"""Names of assemblies that neighbouring designs share. Host code.

Problem: a name for each assembly of a substructure, the same one for a design and its neighbours. Signs of the groups'
determinants change at singular poses alone; where they tell all assemblies apart, as of dyads, they are the names. Else
a number follows: the place that the assembly has among those of its signs in the file's own design at the file's own
pose, by the first free coordinate, from where it is led to the design. Assemblies to which none of the file leads,
since two met on the way or came into being, have the numbers after those. So a name depends on file, design and inputs
alone, and not on other members.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shiftjax.run.assemblies.parts import SAME, PartAssemblies, numbered, part_of
from shiftjax.run.assemblies.standing import closing_rows, features, within_half_a_turn
from shiftjax.run.closing.holding import columns_of
from shiftjax.run.closing.host_evaluation import StartLane, closure
from shiftjax.run.closing.walks import LaneOf, Way, number_steps, walk
from shiftjax.run.start.branches import blocks_of_signs, signs
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.tied import SignBlock
from shiftjax.topology.plan import Plan
from shiftjax.watching import share

DRAWN = 4  # poses at which entries of a Jacobian are looked at: one that is 0 at all of them is so everywhere
TOGETHER = 10_000  # assemblies that are led at once, for the sake of memory


@dataclass
class NamedPart:
    """One substructure with the coordinates `fixed` standing.

    Attributes:
        file: the lane of the file's own numbers; file_pose: (nq, 1), None where the file closes nowhere.
        lane_of: of members, from the file's numbers (0) to theirs (1). of_its_numbers: whether these are the same.
    """

    plan: Plan
    index: int
    fixed: Collection[int]
    file: StartLane
    file_pose: np.ndarray | None
    lane_of: LaneOf
    of_its_numbers: bool = False
    inputs: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = [k for k in self.plan.coordinates_in(self.index) if k in self.fixed]

    @property
    def free(self) -> list[int]:
        """Its coordinates that do not stand."""
        return [k for k in self.plan.coordinates_in(self.index) if k not in self.fixed]

    @cached_property
    def blocks(self) -> list[SignBlock]:
        return sign_blocks(self.plan, self.file, self.index, self.fixed)

    @cached_property
    def of_file(self) -> PartAssemblies | None:
        """The assemblies of the file's own design, with their names."""
        if self.file_pose is None:
            return None
        return part_of(self.plan, self.file, self.index, self.file_pose, self.fixed, self.blocks)

    def at(self, q: np.ndarray, members: np.ndarray) -> PartAssemblies | None:
        """The assemblies of members whose inputs stand as in q (nq, P); their `member` counts within those."""
        if self._stands_as_file(q):
            return self.of_file
        with share(0, 2):
            part = part_of(self.plan, self.lane_of(members, 1.0), self.index, q, self.fixed, self.blocks)
        with share(1, 2):  # of the file's design
            if part is None or part.by_signs or self.of_file is None or not len(part.member):
                return part
        return replace(part, names=self._names(part, self.of_file, q, members))

    def _stands_as_file(self, q: np.ndarray) -> bool:
        """Whether one member is asked for, whose inputs (nq, 1) and numbers are those of the file's pose."""
        if not self.of_its_numbers or self.file_pose is None or q.shape[1] != 1:
            return False
        rows = [row for k in self.inputs for row in range(len(q))[self.plan.coordinates[k].places]]
        return np.array_equal(q[rows], self.file_pose[rows])

    def _names(self, part: PartAssemblies, known: PartAssemblies, q: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(A,) those of the file's assemblies that are led to each, then further numbers."""
        count, assemblies = len(known.names), len(part.names)
        if not count:
            return part.names
        owner = np.repeat(np.arange(len(members)), count)
        lanes = np.arange(len(owner))
        ways = [
            self.from_file(some % count, q[:, owner[some]], members[owner[some]])
            for some in np.array_split(lanes, -(-len(lanes) // TOGETHER))
        ]
        arrived, which = (np.concatenate(x, axis=-1) for x in zip(*ways, strict=True))
        names = np.full(assemblies, "", dtype=object)
        every = q[:, part.member].copy()
        every[part.rows] = part.q
        length = self.file.length
        here, there = features(self.plan, self.free, every, length), features(self.plan, self.free, arrived, length)
        begins = np.searchsorted(part.member, np.arange(len(members) + 1))
        for lane in np.flatnonzero(which):
            rows = np.arange(*begins[owner[lane] : owner[lane] + 2])
            off = np.abs(here[:, rows] - there[:, [lane]]).max(0, initial=0.0)
            near = rows[off < SAME]
            if len(near) == 1 and names[near[0]] == "":
                names[near[0]] = known.names[lane % count]
        new = np.flatnonzero(names == "")
        offsets = {text: int((known.signs == text).sum()) for text in {*part.signs}}
        names[new] = numbered(part.signs[new], part.member[new], offsets)
        return names

    def from_file(self, which: np.ndarray, q: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Assemblies of the file, `which` (P,), led to members (P,) whose inputs stand as in q (nq, P).

        Returns:
            coordinates (nq, P), and whether each got there (P,).
        """
        known, pose = self.of_file, self.file_pose
        assert known is not None and pose is not None
        begin = np.repeat(pose, len(which), axis=1)
        begin[known.rows] = known.q[:, which]
        return led(self.plan, self.lane_of, self.index, self.inputs, self.blocks, begin, q, members)


def named_parts(prepared: Prepared, fixed: Collection[int]) -> list[NamedPart]:
    """All substructures of a prepared model whose coordinates `fixed` stand."""
    plan, file, file_pose = prepared.plan, prepared.file_lane(), prepared.undriven_pose()
    every = range(len(plan.substructures))
    same = not prepared.vary and prepared.own_numbers == prepared.file_numbers and prepared.instants is None
    return [NamedPart(plan, index, fixed, file, file_pose, prepared.lane_of, same) for index in every]


def sign_blocks(plan: Plan, lane: StartLane, index: int, fixed: Collection[int]) -> list[SignBlock]:
    """Blocks of the Jacobian of what does not stand, of one member, the same ones at all poses.

    At single poses entries vanish, as of a link that is parallel to an axis, and rows change places in a choice by
    pivots: poses that are drawn, open as they are, say which entries there are.
    """
    here, random = plan.coordinates_in(index), np.random.default_rng(0)
    q = np.zeros((plan.nq, DRAWN))
    for k in here:
        one = plan.coordinates[k]
        size = lane.length if one.unit == "m" and one.plain else 1.0
        drawn = size * random.uniform(-1.0, 1.0, (one.nq, DRAWN)) * (2.0 if one.plain else 1.0)
        q[one.places] = drawn / np.linalg.norm(drawn, axis=0) if one.quaternion else drawn
    J = closure(lane, q, index)[1]
    judged = columns_of(plan, index, [k for k in here if k not in fixed])
    return blocks_of_signs(J[0], judged, np.abs(J).max(0) > 1e-9)


def led(
    plan: Plan, lane_of: LaneOf, index: int, fixed: Sequence[int], blocks: Sequence[SignBlock],
    begin: np.ndarray, target: np.ndarray, members: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Assemblies of the file's design led to those of members while its numbers become theirs.

    Inputs go the shorter way round. An assembly gets there where it meets no singular pose on the way.

    Args:
        lane_of: of members, from the file's numbers (0) to theirs (1). fixed: the inputs, in `begin` (nq, P) where the
            file has them, in `target` (nq, P) where members have them.

    Returns:
        coordinates (nq, P), and which of them got there (P,).
    """
    moving = [k for k in plan.coordinates_in(index) if k not in fixed]
    goal = begin.copy()
    for k in fixed:
        one = plan.coordinates[k]
        off = target[one.places] - begin[one.places]
        if one.plain and one.unit == "rad":
            off = within_half_a_turn(off)
        goal[one.places] += off
    steps = number_steps(lane_of(members, 1.0), lane_of(members, 0.0), len(members))
    judged, rows = columns_of(plan, index, moving), closing_rows(plan, index, fixed)
    path = walk(plan, begin, Way(index, lane_of, members, fixed, begin, goal, steps, judged, rows=rows))
    q = path.q.copy()
    for k in fixed:
        q[plan.coordinates[k].places] = target[plan.coordinates[k].places]
    before, after = (signs(lane_of(members, share), pose, index, blocks) for share, pose in ((0.0, begin), (1.0, q)))
    return q, path.reached & ~path.crossed & (before == after)
