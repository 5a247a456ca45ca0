"""The plan of an ordered tree: indices of nodes, coordinates and rows, and of every number of the model.

The numbers are in one vector, in the order of the plan. That order follows from names, never from the file's lists, so
that equal mechanisms have equal plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from shiftjax.constraints import CONSTRAINTS, ConstraintKind
from shiftjax.errors import ModelError
from shiftjax.forces import FORCES, ForceKind
from shiftjax.joints import JointKind
from shiftjax.mechanism.fields import INERTIA, numbers_of, numeric_fields, role_of, value_of
from shiftjax.mechanism.parameters import NamedNumbers
from shiftjax.mechanism.paths import Steps, child, natural_key, text_of
from shiftjax.mechanism.records import FIXED, ORIGIN, Body, Element, Frame, FrameRef, Joint, Placement
from shiftjax.plan_elements import ForceElement, FrameNumbers, Loop, Named, PlacedFrame, Places, RowGroup
from shiftjax.topology.plan import (
    BodyNumbers,
    NumberPlace,
    Plan,
    Substructure,
    TreeCoordinate,
    TreeJoint,
    TreeNode,
    coordinates_of,
)
from shiftjax.topology.spanning_tree import ModelContents, SpanningTree, TreeConstraint


class Numbering:
    """Builds the vectors of numbers and of constant matrices."""

    def __init__(self, model: ModelContents) -> None:
        self.numbers: list[NumberPlace] = []
        self.matrices: list[str] = []
        self.frames: dict[tuple[str, str], FrameNumbers] = {}  # body, plain name -> its numbers
        self.of(model, "model_parameters")

    def add(self, item: Any, path: str) -> None:
        """Enters all numbers of an element."""
        for field, steps, _ in numbers_of(item):
            unit = field.unit if isinstance(item, NamedNumbers) else ""
            self.numbers.append(NumberPlace(path + text_of(steps), role_of(field, steps, item), unit))

    def of(self, item: Any, path: str) -> dict[str, Any]:
        """The indices of all numbers of a record, by field, in the field's shape."""
        places: dict[str, list[tuple[Steps, int]]] = {}
        first = len(self.numbers)
        self.add(item, path)
        for place, (field, steps, _) in enumerate(numbers_of(item), first):
            inside = steps[len(field.name.split(".")) :]
            places.setdefault(field.name, []).append((inside, place))
        given = [field.name for field in numeric_fields(item) if value_of(item, field.name) is not None]
        return {name: _nested(places.get(name, ())) for name in given}

    def body(self, body: Body, path: str) -> BodyNumbers:
        """A body with its frames."""
        places = self.of(body, path)
        self.add_frames(body.frames, path)
        inertia = tuple(places[f"inertia.{entry}"] for entry in INERTIA)
        return BodyNumbers(places["mass"], inertia, places["center_of_mass"], places["gravity_scale"])

    def add_frames(self, frames: Sequence[Frame], body: str = FIXED) -> None:
        """The frames of a body or of ground."""
        for frame in sorted(frames, key=lambda frame: frame.name):
            path = child(body, frame.name)
            places = self.of(frame, path)
            self.frames[body, frame.name] = FrameNumbers(places["T"], places["rotation"], self._matrix(f"{path}.R"))

    def frame(self, ref: FrameRef) -> FrameNumbers | None:
        """The numbers of a frame, None for a body's origin."""
        return None if ref.frame == ORIGIN else self.frames[ref.body, ref.frame]

    def joint(self, joint: Joint, path: str) -> tuple[Mapping[str, Any], int]:
        """The indices of a joint's numbers by field, and of the matrix of its displacement, -1 without one."""
        placed = isinstance(joint.initial_displacement, Placement)
        return self.of(joint, path), self._matrix(f"{path}.initial_displacement.R") if placed else -1

    def _matrix(self, path: str) -> int:
        self.matrices.append(path)
        return len(self.matrices) - 1


def _nested(places: Sequence[tuple[Steps, int]]) -> Places:
    """Indices nested by their steps: (("T", 0), 5), (("T", 1), 6) ... -> ((5, 6, ...), ...)."""
    if len(places) == 1 and not places[0][0]:
        return places[0][1]
    groups = groupby(places, key=lambda place: place[0][0])
    return tuple(_nested([(steps[1:], index) for steps, index in group]) for _, group in groups)


class PlanBuilder:
    """Numbers everything in the order of the plan."""

    def __init__(
        self,
        model: ModelContents,
        tree: SpanningTree,
        constraints: Sequence[TreeConstraint],
        order: Sequence[int],
        clusters: Sequence[Sequence[int]],
    ) -> None:
        self.model, self.tree, self.constraints, self.order, self.clusters = model, tree, constraints, order, clusters
        self.joint_of = {old: new for new, old in enumerate(order)}
        self.node_of = {0: 0, **{tree.branches[old].far: new + 1 for new, old in enumerate(order)}}
        self.place_of = {body: self.node_of[node] for body, node in tree.node_of.items()}
        self.numbering = Numbering(model)
        self.states = 0

    def plan(self, *, external_wrenches: bool) -> Plan:
        nodes = self._nodes()
        joints, polynomials = self._joints()
        coordinates = coordinates_of(joints)
        index = {coordinate.path: k for k, coordinate in enumerate(coordinates)}
        groups = tuple(self._group(constraint, coordinates) for constraint in self.constraints)
        forces = [*polynomials, *self._restraints(index), *self._modules(index)]
        if external_wrenches:
            forces += [self._external_wrench(k, nodes[k].path) for k in range(1, len(nodes)) if not nodes[k].virtual]
        _check_borne(forces, joints, coordinates, groups)
        for path, block in self.model.named_numbers():
            self.numbering.add(block, path)
        frames = [(child(body, name), PlacedFrame(self.place_of[body], numbers))
                  for (body, name), numbers in self.numbering.frames.items()]  # fmt: skip
        return Plan(
            nodes=nodes,
            joints=tuple(joints),
            coordinates=coordinates,
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

    def _nodes(self) -> tuple[TreeNode, ...]:
        bodies = dict(self.model.bodies())
        self.numbering.add_frames(self.model.frames)
        nodes = [TreeNode(FIXED, -1, 0)]
        for new, old in enumerate(self.order):
            branch = self.tree.branches[old]
            path, level = self.tree.bodies[branch.far], self.tree.levels[branch.far]
            numbers = None if branch.chord else self.numbering.body(bodies[path], path)
            nodes.append(TreeNode(path, new, level, branch.chord, numbers))
        return tuple(nodes)

    def _joints(self) -> tuple[list[TreeJoint], list[ForceElement]]:
        """The joints, and the forces of their stiffness and damping polynomials."""
        joints: list[TreeJoint] = []
        forces: list[ForceElement] = []
        nq = nv = coordinates = 0
        for branch in (self.tree.branches[old] for old in self.order):
            kind, (numbers, matrix) = branch.kind, self.numbering.joint(branch.joint, branch.path)
            velocity: Any = numbers.get("initial_velocity", ())
            paths = [kind.path_of(branch.path, k) for k in range(len(kind.primitives))]
            names = ("axis", *(field.name for field in kind.fields))
            joints.append(
                TreeJoint(
                    path=branch.path,
                    type=branch.joint.type,
                    kind=kind,
                    near=self.node_of[branch.near],
                    far=self.node_of[branch.far],
                    near_frame=self.numbering.frame(branch.near_ref),
                    far_frame=self.numbering.frame(branch.far_ref),
                    reverse=branch.reverse,
                    q=nq,
                    v=nv,
                    chord=branch.chord,
                    numbers=tuple((name, numbers[name]) for name in names if name in numbers),
                    displacement=numbers["initial_displacement"],
                    matrix=matrix,
                    velocity=velocity if isinstance(velocity, tuple) else (velocity,),
                )
            )
            for name in ("stiffness", "damping"):
                for k, places in _polynomials(kind, getattr(branch.joint, name), numbers[name]):
                    forces.append(_force(paths[k], name, ((name, places),), coordinates=(coordinates + k,)))
            nq, nv, coordinates = nq + kind.nq, nv + kind.nv, coordinates + len(paths)
        return joints, forces

    def _group(self, constraint: TreeConstraint, coordinates: Sequence[TreeCoordinate]) -> RowGroup:
        where = {(coordinate.joint, k): n for n, (k, coordinate) in enumerate(_counted(coordinates))}
        named = tuple(where[self.joint_of[joint], k] for joint, k in constraint.coordinates)
        loop = constraint.loop and Loop(
            self.node_of[constraint.loop.virtual],
            self.node_of[constraint.loop.real],
            self.node_of[constraint.loop.base],
            tuple(self.joint_of[j] for j in constraint.loop.virtual_branch),
            tuple(self.joint_of[j] for j in constraint.loop.real_branch),
        )
        kind, item = CONSTRAINTS[constraint.kind], constraint.item
        numbers = {} if item is None else self.numbering.of(item, constraint.name)
        if kind.from_start and kind.from_start not in numbers:
            (numbers[kind.from_start],) = coordinates[named[0]].start
        if kind.from_starts:
            numbers["starts"] = tuple(place for k in named for place in coordinates[k].start)
        return RowGroup(
            name=constraint.name,
            kind=constraint.kind,
            coordinates=named,
            frames=self._frames(constraint.frames),
            coupled=tuple(sorted(self.joint_of[j] for j in constraint.coupled)),
            units=tuple(coordinates[k].unit for k in named),
            row_names=kind.row_names,
            time_dependent=kind.time_dependent,
            prescribes=kind.prescribes,
            numbers=tuple(numbers.items()),
            words=() if item is None else _words(kind, item),
            function=constraint.function,
            loop=loop,
        )

    def _frames(self, refs: Sequence[FrameRef]) -> tuple[PlacedFrame, ...]:
        return tuple(PlacedFrame(self.place_of[ref.body], self.numbering.frame(ref)) for ref in refs)

    def _restraints(self, index: Mapping[str, int]) -> list[ForceElement]:
        out = []
        for path, item in sorted(self.model.restraints(), key=lambda pair: natural_key(pair[0])):
            numbers = tuple(self.numbering.of(item, path).items())
            along = (index[item.joint],) if item.joint is not None else ()
            frames, direction = self._frames(item.frames or ()), (item.distance_type or "")[-1:]
            out.append(_force(path, item.type, numbers, coordinates=along, frames=frames, direction=direction))
        return out

    def _modules(self, index: Mapping[str, int]) -> list[ForceElement]:
        out = []
        for path, item in sorted(self.model.force_modules(), key=lambda pair: natural_key(pair[0])):
            kind = FORCES[item.type]
            numbers = tuple(self.numbering.of(item, path).items())
            states = tuple(range(self.states, self.states + len(kind.states)))
            self.states += len(states)
            along, frames = tuple(index[path] for path in item.joints), self._frames(item.frames)
            words = _words(kind, item)
            out.append(_force(path, item.type, numbers, coordinates=along, frames=frames, states=states, words=words))
        return out

    def _external_wrench(self, node: int, path: str) -> ForceElement:
        """The external wrench on one body."""
        numbers = []
        for field in FORCES["external_wrench"].fields:
            first = len(self.numbering.numbers)
            self.numbering.numbers += [NumberPlace(f"{path}.{field.name}[{k}]", field.role) for k in range(3)]  # type: ignore[arg-type]
            numbers.append((field.name, (first, first + 1, first + 2)))
        return _force(path, "external_wrench", tuple(numbers), frames=(PlacedFrame(node, None),))


def _force(
    path: str,
    kind: str,
    numbers: Named,
    *,
    coordinates: tuple[int, ...] = (),
    frames: tuple[PlacedFrame, ...] = (),
    direction: str = "",
    states: tuple[int, ...] = (),
    words: tuple[tuple[str, str], ...] = (),
) -> ForceElement:
    dissipates, bears = FORCES[kind].dissipates, FORCES[kind].bears
    return ForceElement(path, kind, coordinates, frames, direction, numbers, dissipates, states, words, bears)


def _check_borne(
    forces: Sequence[ForceElement],
    joints: Sequence[TreeJoint],
    coordinates: Sequence[TreeCoordinate],
    groups: Sequence[RowGroup],
) -> None:
    """Refuses friction by what a joint bears, where a constraint beside it does not say what it does to its frames."""
    silent = [g for g in groups if g.frames and g.loop is None and not CONSTRAINTS[g.kind].has_wrenches]
    for force in forces:
        index = coordinates[force.coordinates[0]].joint if force.bears else -1
        if acting := [group.name for group in silent if index in group.coupled]:
            raise ModelError(
                f"force module {force.path}",
                f"the joint {joints[index].path} beside the constraint {acting[0]}, whose forces are in no joint",
                "a joint whose reaction is known",
                "Give that constraint's kind `wrenches`, or write friction of a constant level, coulomb_friction.",
            )


def _polynomials(kind: JointKind, given: Any, places: Any) -> list[tuple[int, Places]]:
    """Which coordinates of a joint have coefficients, and the places of those."""
    if kind.sole:
        return [(0, places)] if places else []
    names = [coordinate.name for coordinate in kind.coordinates]
    return list(zip([names.index(name) for name in given if given[name]], places, strict=True))


def _counted(coordinates: Sequence[TreeCoordinate]) -> list[tuple[int, TreeCoordinate]]:
    """Every coordinate with its place among those of its joint."""
    return [pair for _, alike in groupby(coordinates, key=lambda one: one.joint) for pair in enumerate(alike)]


def _words(kind: ForceKind | ConstraintKind, item: Element) -> tuple[tuple[str, str], ...]:
    """The words of an element, by field."""
    return tuple((field.name, item.values[field.name]) for field in kind.words)


def _substructures(
    joints: Sequence[TreeJoint], groups: Sequence[RowGroup], clusters: Sequence[Sequence[int]]
) -> tuple[Substructure, ...]:
    ordered: list[tuple[list[int], tuple[int, ...]]] = []
    for cluster in clusters:
        moving = sorted({j for k in cluster for j in groups[k].coupled if joints[j].nv})
        if moving:  # a loop of welds alone has nothing to solve for
            ordered.append((moving, tuple(sorted(cluster))))
    out: list[Substructure] = []
    row = 0
    for moving, members in sorted(ordered):
        columns = tuple(joints[j].v + k for j in moving for k in range(joints[j].nv))
        out.append(Substructure(members, tuple(moving), columns, row, sum(groups[k].rows for k in members)))
        row += out[-1].rows
    return tuple(out)
