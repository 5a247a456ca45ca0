"""The plan of a spanning tree: joints in level order with every substructure contiguous; nodes, coordinates, rows and
numbers counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shiftjax.constraints import CONSTRAINTS, Loop, RowGroup
from shiftjax.forces import FORCES, ForceElement
from shiftjax.lane import PlacedFrame
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, FrameRef
from shiftjax.topology.numbering import Numbering
from shiftjax.topology.plan import Node, NumberPlace, Plan, Substructure, TreeJoint
from shiftjax.topology.spanning_tree import Tie, Tree, natural_key


def plan_of(model: Model, tree: Tree, ties: Sequence[Tie], clusters: Sequence[Sequence[int]], pulled: bool) -> Plan:
    """The plan.

    Args:
        clusters: constraints that share joints, by their numbers.
        pulled: whether every body gets a wrench from outside.
    """
    order = _order(tree, ties, clusters)
    return _Planner(model, tree, ties, order, clusters).plan(pulled)


def _order(tree: Tree, ties: Sequence[Tie], clusters: Sequence[Sequence[int]]) -> list[int]:
    """Branches by level, each substructure together when its first member is met."""
    members = [sorted({j for k in cluster for j in ties[k].coupled}) for cluster in clusters]
    cluster_of = {j: c for c, joints in enumerate(members) for j in joints if tree.branches[j].moves}
    level = [tree.levels[branch.far] for branch in tree.branches]
    order: list[int] = []
    placed: set[int] = set()

    def place(joint: int) -> None:
        """Places a joint after the joints that carry it, with its substructure."""
        block = members[cluster_of[joint]] if joint in cluster_of else [joint]
        for j in sorted(block, key=lambda k: (level[k], k)):
            near = tree.branches[j].near - 1
            if near >= 0 and near not in placed and near not in block:
                place(near)
            if j not in placed:
                placed.add(j)
                order.append(j)

    for joint in sorted(range(len(tree.branches)), key=lambda k: (level[k], k)):
        if joint not in placed:
            place(joint)
    return order


class _Planner:
    """Counts everything anew in the order of the plan."""

    def __init__(
        self, model: Model, tree: Tree, ties: Sequence[Tie], order: Sequence[int], clusters: Sequence[Sequence[int]]
    ) -> None:
        self.model, self.tree, self.ties, self.order, self.clusters = model, tree, ties, order, clusters
        self.joint_of = {old: new for new, old in enumerate(order)}
        self.node_of = {0: 0, **{tree.branches[old].far: new + 1 for new, old in enumerate(order)}}
        self.place_of = {body: self.node_of[node] for body, node in tree.node_of.items()}
        self.numbering = Numbering(model)
        self.states = 0

    def plan(self, pulled: bool) -> Plan:
        nodes = self._nodes()
        joints, polynomials = self._joints()
        groups = tuple(self._group(tie, joints) for tie in self.ties)
        forces = [*polynomials, *self._restraints(joints), *self._modules(joints)]
        forces += [self._pull(k, nodes[k].path) for k in range(1, len(nodes)) if pulled and not nodes[k].virtual]
        frames = [(child(body, name), PlacedFrame(self.place_of[body], numbers))
                  for (body, name), numbers in self.numbering.frames.items()]  # fmt: skip
        return Plan(
            nodes=nodes,
            joints=tuple(joints),
            constraints=groups,
            substructures=_substructures(joints, groups, self.clusters),
            forces=tuple(forces),
            numbers=tuple(self.numbering.numbers),
            matrices=tuple(self.numbering.matrices),
            frames=tuple(frames),
            nq=sum(joint.nq for joint in joints),
            nv=sum(joint.nv for joint in joints),
            ns=self.states,
        )

    def _nodes(self) -> tuple[Node, ...]:
        bodies = dict(self.model.bodies())
        self.numbering.add_frames(self.model.frames)
        nodes = [Node(FIXED, -1, 0)]
        for new, old in enumerate(self.order):
            branch = self.tree.branches[old]
            path, level = self.tree.bodies[branch.far], self.tree.levels[branch.far]
            numbers = None if branch.chord else self.numbering.body(bodies[path], path)
            nodes.append(Node(path, new, level, branch.chord, numbers))
        return tuple(nodes)

    def _joints(self) -> tuple[list[TreeJoint], list[ForceElement]]:
        """The joints, and the forces of their own polynomials."""
        joints: list[TreeJoint] = []
        forces: list[ForceElement] = []
        nq = nv = 0
        for new, old in enumerate(self.order):
            branch = self.tree.branches[old]
            kind, (own, turn) = branch.kind, self.numbering.joint(branch.joint, branch.path)
            velocity: Any = own.get("initial_velocity", ())
            of_kind = tuple((name, own[name]) for name in ("axis", *(f.name for f in kind.fields)) if name in own)
            joints.append(
                TreeJoint(
                    path=branch.path,
                    kind=branch.joint.type,
                    near=self.node_of[branch.near],
                    far=self.node_of[branch.far],
                    near_frame=self.numbering.frame(branch.near_ref),
                    far_frame=self.numbering.frame(branch.far_ref),
                    reverse=branch.reverse,
                    q=nq,
                    v=nv,
                    nq=kind.nq,
                    nv=kind.nv,
                    chord=branch.chord,
                    numbers=of_kind,
                    displacement=own["initial_displacement"],
                    turn=turn,
                    velocity=velocity if isinstance(velocity, tuple) else (velocity,),
                )
            )
            for name in ("stiffness", "damping"):
                if own[name]:
                    forces.append(ForceElement(branch.path, name, (new,), (), "", ((name, own[name]),)))
            nq, nv = nq + kind.nq, nv + kind.nv
        return joints, forces

    def _group(self, tie: Tie, joints: Sequence[TreeJoint]) -> RowGroup:
        named = tuple(self.joint_of[j] for j in tie.joints)
        loop = tie.loop and Loop(
            self.node_of[tie.loop.virtual],
            self.node_of[tie.loop.real],
            self.node_of[tie.loop.base],
            tuple(self.joint_of[j] for j in tie.loop.virtual_branch),
            tuple(self.joint_of[j] for j in tie.loop.real_branch),
        )
        group = RowGroup(
            name=tie.name,
            kind=tie.kind,
            joints=named,
            frames=self._frames(tie.frames),
            coupled=tuple(sorted(self.joint_of[j] for j in tie.coupled)),
            units=tuple(self.tree.branches[j].kind.unit for j in tie.joints),
            rows=0,
            numbers=tuple(self.numbering.of(tie.item, tie.name).items()) if tie.item is not None else (),
            function=tie.function,
            loop=loop,
        )
        return replace(group, rows=len(CONSTRAINTS[tie.kind].row_names(group)))

    def _frames(self, refs: Sequence[FrameRef]) -> tuple[PlacedFrame, ...]:
        return tuple(PlacedFrame(self.place_of[ref.body], self.numbering.frame(ref)) for ref in refs)

    def _restraints(self, joints: Sequence[TreeJoint]) -> list[ForceElement]:
        index, out = {joint.path: k for k, joint in enumerate(joints)}, []
        for path, item in sorted(self.model.restraints(), key=lambda pair: natural_key(pair[0])):
            numbers = tuple(self.numbering.of(item, path).items())
            along = (index[item.joint],) if item.joint is not None else ()
            direction = (item.distance_type or "")[-1:]
            out.append(ForceElement(path, item.type, along, self._frames(item.frames or ()), direction, numbers))
        return out

    def _modules(self, joints: Sequence[TreeJoint]) -> list[ForceElement]:
        index, out = {joint.path: k for k, joint in enumerate(joints)}, []
        for path, item in sorted(self.model.force_modules(), key=lambda pair: natural_key(pair[0])):
            kind = FORCES.get(item.type)
            if kind is None:
                continue  # a tire or controller: kept, refused by name where it would have to act
            numbers = tuple(self.numbering.of(item, path).items())
            states = tuple(range(self.states, self.states + len(kind.states)))
            self.states += len(states)
            along = tuple(index[joint] for joint in item.joints)
            out.append(ForceElement(path, item.type, along, self._frames(item.frames), "", numbers, states))
        return out

    def _pull(self, node: int, path: str) -> ForceElement:
        """The wrench from outside on one body."""
        numbers = []
        for field in FORCES["external_wrench"].fields:
            first = len(self.numbering.numbers)
            self.numbering.numbers += [NumberPlace(f"{path}.{field.name}[{k}]", field.role) for k in range(3)]  # type: ignore[arg-type]
            numbers.append((field.name, (first, first + 1, first + 2)))
        return ForceElement(path, "external_wrench", (), (PlacedFrame(node, None),), "", tuple(numbers))


def _substructures(
    joints: Sequence[TreeJoint], groups: Sequence[RowGroup], clusters: Sequence[Sequence[int]]
) -> tuple[Substructure, ...]:
    found: list[tuple[list[int], tuple[int, ...]]] = []
    for cluster in clusters:
        moving = sorted({j for k in cluster for j in groups[k].coupled if joints[j].nv})
        if moving:  # a loop of welds alone has nothing to solve for
            found.append((moving, tuple(sorted(cluster))))
    out: list[Substructure] = []
    row = 0
    for moving, own in sorted(found):
        columns = tuple(joints[j].v + k for j in moving for k in range(joints[j].nv))
        out.append(Substructure(own, tuple(moving), columns, row, sum(groups[k].rows for k in own)))
        row += out[-1].rows
    return tuple(out)
