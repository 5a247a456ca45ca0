"""Islands: parts of a mechanism that nothing but ground ties to each other, each as a plan of its own.

Trees belong together where a constraint or a force couples them. Names are left out and everything is counted anew, so
that equal parts, such as the pendulums of a row, have equal plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from shiftjax.numerics.connected import connected
from shiftjax.plan_elements import ForceElement, FrameNumbers, Loop, Named, PlacedFrame, RowGroup
from shiftjax.record import record
from shiftjax.topology.plan import (
    GRAVITY,
    BodyNumbers,
    NumberPlace,
    Plan,
    Substructure,
    TreeJoint,
    TreeNode,
    coordinates_of,
)


@record
class Island:
    """A part, and where what it counts stands in the whole."""

    plan: Plan
    q: tuple[int, ...]
    v: tuple[int, ...]
    states: tuple[int, ...]
    numbers: tuple[int, ...]
    matrices: tuple[int, ...]
    substructures: tuple[int, ...]


@cache
def islands(plan: Plan) -> tuple[Island, ...]:
    """All parts, in the order of their first joints."""
    return tuple(_Part(plan, joints).island() for joints in _groups(plan))


def _groups(plan: Plan) -> list[list[int]]:
    """Joints that belong together."""
    count = len(plan.joints)
    sets = [{k, plan.nodes[joint.near].joint if joint.near else k} for k, joint in enumerate(plan.joints)]
    for element in (*plan.constraints, *plan.forces):
        coupled = (
            element.coupled
            if isinstance(element, RowGroup)
            else [plan.coordinates[k].joint for k in element.coordinates]
        )
        sets.append({*coupled, *(plan.nodes[frame.node].joint for frame in element.frames if frame.node)})
    groups = ([k for k in group if k < count] for group in connected(sets))
    return [group for group in groups if group]


class _Part:
    """Counts some joints of a plan, and all that belongs to them, anew."""

    def __init__(self, whole: Plan, joints: Sequence[int]) -> None:
        self.whole, self.old = whole, [whole.joints[k] for k in joints]
        self.joint = {old: new for new, old in enumerate(joints)}
        inside = (k for k, coordinate in enumerate(whole.coordinates) if coordinate.joint in self.joint)
        self.coordinate = {old: new for new, old in enumerate(sorted(inside, key=self._order))}
        self.node = {0: 0} | {joint.far: new + 1 for new, joint in enumerate(self.old)}
        self.speed: dict[int, int] = {}
        self.numbers: dict[int, int] = {k: k for k in GRAVITY}  # place in the whole -> place in the part
        self.matrices: dict[int, int] = {}
        self.states: dict[int, int] = {}

    def _order(self, coordinate: int) -> tuple[int, int]:
        return self.joint[self.whole.coordinates[coordinate].joint], coordinate

    def island(self) -> Island:
        whole = self.whole
        joints = tuple(self._joints())
        groups = [k for k, group in enumerate(whole.constraints) if self.joint.keys() & set(group.coupled)]
        blocks = [k for k, block in enumerate(whole.substructures) if set(groups) & set(block.groups)]
        constraints = tuple(self._group(whole.constraints[k]) for k in groups)
        forces = tuple(self._force(force) for force in whole.forces if self._owns(force))
        nodes = tuple(self._node(whole.nodes[joint.far], k) for k, joint in enumerate(self.old))
        plan = Plan(
            nodes=(TreeNode("", -1, 0), *nodes),
            joints=joints,
            coordinates=coordinates_of(joints),
            constraints=constraints,
            substructures=tuple(self._blocks(blocks, {old: new for new, old in enumerate(groups)})),
            forces=forces,
            numbers=tuple(NumberPlace("", whole.numbers[k].role) for k in self.numbers),
            matrices=("",) * len(self.matrices),
            frames=(),
            nq=sum(joint.nq for joint in joints),
            nv=len(self.speed),
            ns=len(self.states),
        )
        q = tuple(k for joint in self.old for k in range(joint.q, joint.q + joint.nq))
        return Island(
            plan, q, tuple(self.speed), tuple(self.states), tuple(self.numbers), tuple(self.matrices), tuple(blocks)
        )

    def _owns(self, force: ForceElement) -> bool:
        nodes = {frame.node for frame in force.frames} - {0}
        return bool(self.coordinate.keys() & set(force.coordinates) or self.node.keys() & nodes)

    def _joints(self) -> Iterator[TreeJoint]:
        q = 0
        for joint in self.old:
            first = len(self.speed)
            self.speed |= {speed: first + k for k, speed in enumerate(joint.speeds)}
            yield replace(
                joint,
                path="",
                near=self.node[joint.near],
                far=self.node[joint.far],
                near_frame=self._frame(joint.near_frame),
                far_frame=self._frame(joint.far_frame),
                q=q,
                v=first,
                numbers=self._named(joint.numbers),
                displacement=self._places(joint.displacement),
                matrix=self._matrix(joint.matrix),
                velocity=self._places(joint.velocity),
            )
            q += joint.nq

    def _node(self, node: TreeNode, joint: int) -> TreeNode:
        numbers = node.numbers
        if numbers is not None:
            parts = (numbers.mass, numbers.inertia, numbers.center_of_mass, numbers.gravity_scale)
            numbers = BodyNumbers(*map(self._places, parts))
        return TreeNode("", joint, node.level, node.virtual, numbers)

    def _group(self, group: RowGroup) -> RowGroup:
        return replace(
            group,
            name="",
            coordinates=self._coordinates(group.coordinates),
            frames=self._placed(group.frames),
            coupled=self._joints_of(group.coupled),
            numbers=self._named(group.numbers),
            loop=group.loop and self._loop(group.loop),
        )

    def _loop(self, loop: Loop) -> Loop:
        branches = (self._joints_of(branch) for branch in (loop.virtual_branch, loop.real_branch))
        return Loop(self.node[loop.virtual], self.node[loop.real], self.node[loop.base], *branches)

    def _force(self, force: ForceElement) -> ForceElement:
        for state in force.states:
            self.states[state] = len(self.states)
        return replace(
            force,
            path="",
            coordinates=self._coordinates(force.coordinates),
            frames=self._placed(force.frames),
            numbers=self._named(force.numbers),
            states=tuple(self.states[state] for state in force.states),
        )

    def _blocks(self, blocks: Sequence[int], group: dict[int, int]) -> Iterator[Substructure]:
        row = 0
        for block in (self.whole.substructures[k] for k in blocks):
            groups = tuple(group[k] for k in block.groups)
            yield Substructure(groups, self._joints_of(block.joints), self.speeds(block.columns), row, block.rows)
            row += block.rows

    def speeds(self, old: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.speed[k] for k in old)

    def _joints_of(self, old: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.joint[k] for k in old)

    def _coordinates(self, old: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.coordinate[k] for k in old)

    def _placed(self, frames: Sequence[PlacedFrame]) -> tuple[PlacedFrame, ...]:
        return tuple(PlacedFrame(self.node[frame.node], self._frame(frame.frame)) for frame in frames)

    def _frame(self, frame: FrameNumbers | None) -> FrameNumbers | None:
        if frame is None:
            return None
        return FrameNumbers(self._places(frame.T), self._places(frame.rotation), self._matrix(frame.matrix))

    def _matrix(self, old: int) -> int:
        return old if old < 0 else self.matrices.setdefault(old, len(self.matrices))

    def _named(self, numbers: Named) -> Named:
        return tuple((name, self._places(places)) for name, places in numbers)

    def _places(self, places: Any) -> Any:
        """The places in the part of numbers of the whole, in the same shape."""
        if isinstance(places, int):
            return self.numbers.setdefault(places, len(self.numbers))
        return tuple(self._places(place) for place in places)
