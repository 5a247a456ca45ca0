"""The Plan: the result of topology analysis, in ints and names only.

Nodes are bodies: node 0 is ground, virtual bodies (the cut ends of chord joints) are nodes too. Joints run from the
node nearer to ground (`near`) to the node they carry (`far`); `reverse` marks those written from child to parent. The
numbers of the model are in one vector, of which the plan holds the indices. Equal models have equal plans; a plan is
hashable and holds no number of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shiftjax.field import Role
from shiftjax.joints.kind import JointKind
from shiftjax.plan_elements import ForceElement, FrameNumbers, Loop, Named, PlacedFrame, Places, RowGroup
from shiftjax.record import record

GRAVITY = (0, 1, 2)  # its places in the vector of numbers


@record
class BodyNumbers:
    """Indices of a body's numbers."""

    mass: int
    inertia: tuple[int, ...]  # Ixx, Iyy, Izz, Ixy, Iyz, Izx
    center_of_mass: tuple[int, int, int]
    gravity_scale: int


@record
class TreeNode:
    """A body of the tree; node 0 is ground."""

    path: str  # body path, "fixed" for ground; a virtual body has the path of the real one
    joint: int  # index of the joint that carries it; -1 for ground
    level: int
    virtual: bool = False
    numbers: BodyNumbers | None = None  # None for ground and virtual bodies


@record
class TreeJoint:
    """A joint of the file in the spanning tree of the cut mechanism."""

    path: str
    type: str  # a key of KINDS
    kind: JointKind
    near: int  # node towards ground
    far: int  # node it carries
    near_frame: FrameNumbers | None  # on the near body, None for its origin
    far_frame: FrameNumbers | None
    reverse: bool  # True where the tree runs from the user's child to the user's parent
    q: int  # first coordinate
    v: int  # first speed
    chord: bool  # True where `far` is a virtual body
    numbers: Named  # of its kind
    displacement: Any  # initial places: one, one a coordinate, or three of T (if any) and three of a rotation vector
    matrix: int  # constant matrix before that rotation vector, -1 where there is none
    velocity: tuple[int, ...]  # initial, one number per speed

    @property
    def nq(self) -> int:
        return self.kind.nq

    @property
    def nv(self) -> int:
        return self.kind.nv

    @property
    def speeds(self) -> range:
        """Its speeds, in the vector of all."""
        return range(self.v, self.v + self.nv)

    @property
    def near_place(self) -> PlacedFrame:
        return PlacedFrame(self.near, self.near_frame)

    @property
    def far_place(self) -> PlacedFrame:
        return PlacedFrame(self.far, self.far_frame)


@record
class TreeCoordinate:
    """One coordinate of a joint of the tree, as starts, constraints and forces refer to it."""

    path: str  # the joint's, with .NAME where that has several
    joint: int
    q: int  # first coordinate
    nq: int
    v: int  # first speed
    nv: int
    unit: str  # of the displacement of its speeds, "rad" or "m"
    start: tuple[int, ...]  # the numbers that say where it begins
    velocity: tuple[int, ...]  # initial, one number a speed
    quaternion: bool
    vector: bool  # whether it is a rotation vector

    @property
    def plain(self) -> bool:
        """Whether it is one number; a quaternion is four, a rotation vector three."""
        return self.nq == 1

    @property
    def places(self) -> slice:
        """Where it stands in the vector of coordinates."""
        return slice(self.q, self.q + self.nq)

    @property
    def speeds(self) -> range:
        """Its speeds, in the vector of all."""
        return range(self.v, self.v + self.nv)


def coordinates_of(joints: Sequence[TreeJoint]) -> tuple[TreeCoordinate, ...]:
    """The coordinates of all joints, in order."""
    coordinates: list[TreeCoordinate] = []
    for index, joint in enumerate(joints):
        every = tuple(flat(joint.displacement))
        for k, coordinate in enumerate(joint.kind.coordinates):
            coordinates.append(
                TreeCoordinate(
                    path=joint.kind.path_of(joint.path, k) if joint.path else "",
                    joint=index,
                    q=joint.q + coordinate.q,
                    nq=coordinate.nq,
                    v=joint.v + coordinate.v,
                    nv=coordinate.nv,
                    unit=coordinate.unit,
                    start=every if joint.kind.placed else every[k : k + 1],
                    velocity=joint.velocity[coordinate.v : coordinate.v + coordinate.nv],
                    quaternion=coordinate.primitive.quaternion,
                    vector=coordinate.primitive.vector,
                )
            )
    return tuple(coordinates)


@record
class Substructure:
    """Constraints that share joints: one diagonal block of the Jacobian."""

    groups: tuple[int, ...]  # indices of constraints, loops first
    joints: tuple[int, ...]  # with speeds, in order
    columns: tuple[int, ...]  # speeds, contiguous
    first_row: int
    rows: int
    rounded: bool = False  # rows that would be redundant miss by the rounding of the model's numbers


@record
class NumberPlace:
    """One number of the model: its path and role; of a parameter or a coordinate of a point its unit, too."""

    path: str
    role: Role
    unit: str = ""


@record
class Plan:
    """The structure of a mechanism, without its numbers."""

    nodes: tuple[TreeNode, ...]
    joints: tuple[TreeJoint, ...]
    coordinates: tuple[TreeCoordinate, ...]  # of the joints
    constraints: tuple[RowGroup, ...]
    substructures: tuple[Substructure, ...]
    forces: tuple[ForceElement, ...]
    numbers: tuple[NumberPlace, ...]  # the order of the vector of numbers; gravity first
    matrices: tuple[str, ...]  # paths of the constant matrices, the order of their vector
    frames: tuple[tuple[str, PlacedFrame], ...]  # path and node of every frame
    nq: int
    nv: int
    ns: int = 0  # states of forces

    @property
    def rows(self) -> int:
        return sum(s.rows for s in self.substructures)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The closed loops, in the order in which they were found."""
        return tuple(group.loop for group in self.constraints if group.loop is not None)

    @property
    def time_dependent(self) -> bool:
        """Whether some constraint is rheonomic, so that it may do work."""
        return any(group.time_dependent for group in self.constraints)

    @property
    def dissipates(self) -> bool:
        """Whether some force is not conservative, so that its work must be integrated to balance the energy."""
        return any(force.dissipates for force in self.forces)

    @property
    def bears(self) -> bool:
        """Whether some force depends on what its joint bears, and so on the accelerations that it changes."""
        return any(force.bears for force in self.forces)

    def between(self, node: int, other: int) -> tuple[list[int], list[int], int]:
        """The joints that move either node alone, and the deepest node that carries both."""
        branches: tuple[list[int], list[int]] = ([], [])
        ends = [node, other]
        while ends[0] != ends[1]:
            side = 0 if self.nodes[ends[0]].level >= self.nodes[ends[1]].level else 1
            joint = self.nodes[ends[side]].joint
            branches[side].append(joint)
            ends[side] = self.joints[joint].near
        return *branches, ends[0]

    def read_by_constraints(self) -> set[int]:
        """Places of the numbers that constraints read: a driver may begin at its joint's initial displacement."""
        return numbers_read(self.constraints)

    def coordinates_in(self, substructure: int) -> list[int]:
        """The coordinates of the joints of a substructure."""
        joints = set(self.substructures[substructure].joints)
        return [k for k, coordinate in enumerate(self.coordinates) if coordinate.joint in joints]

    def joint_index(self, path: str) -> int:
        return next(i for i, joint in enumerate(self.joints) if joint.path == path)

    def speed_names(self) -> tuple[str, ...]:
        """Name of every speed: its coordinate's path; the joint's and [k] where one of its motions turns any way."""
        names: list[str] = []
        for joint in self.joints:
            if joint.kind.placed:
                names += [f"{joint.path}[{k}]" for k in range(joint.nv)]
            else:
                names += [joint.kind.path_of(joint.path, k) for k in range(joint.nv)]
        return tuple(names)

    def coordinate_units(self) -> dict[str, str]:
        """Path of every coordinate -> its unit."""
        return {one.path: "1" if one.quaternion else one.unit for one in self.coordinates}

    def by_coordinate(self, q: Any) -> dict[str, Any]:
        """Path of every coordinate -> its places among those of all, (..., nq); of one number without that axis."""
        return {one.path: q[..., one.q] if one.plain else q[..., one.places] for one in self.coordinates}

    def frame_named(self, path: str) -> PlacedFrame | None:
        """The frame of a full path, of a body its origin; None where there is none."""
        nodes = {node.path: k for k, node in enumerate(self.nodes) if not node.virtual}
        body, _, name = path.rpartition(":")
        if path in nodes:
            return PlacedFrame(nodes[path], None)
        if body in nodes and name == "origin":
            return PlacedFrame(nodes[body], None)
        return dict(self.frames).get(path)

    def first_row(self, index: int) -> int:
        """First row of a constraint within its substructure."""
        block = next(s for s in self.substructures if index in s.groups)
        before = block.groups[: block.groups.index(index)]
        return sum(self.constraints[k].rows for k in before)


def flat(places: Places) -> Iterator[int]:
    """The places, one after the other."""
    if isinstance(places, int):
        yield places
    else:
        for inner in places:
            yield from flat(inner)


def numbers_read(elements: Iterable[Any]) -> set[int]:
    """Places of the numbers of constraints, forces or joints."""
    return {place for element in elements for _, places in element.numbers for place in flat(places)}


def row_names(plan: Plan, index: int) -> tuple[str, ...]:
    """Names of the rows of one substructure: the constraint, then the row's name."""
    groups = [plan.constraints[k] for k in plan.substructures[index].groups]
    return tuple(f"{g.name} {row}".rstrip() for g in groups for row in g.row_names)
