"""The Plan: what topology analysis found, in ints and names only.

Nodes are bodies: node 0 is ground, virtual bodies (the cut ends of chord joints) are nodes too. Joints run from the
node nearer to ground (`near`) to the node they carry (`far`), whichever way the user wrote them (`reverse`). Equal
models give equal plans; a plan is hashable and holds no number of the model.
"""

from __future__ import annotations

from shiftjax.record import record


@record
class Node:
    """A body of the tree; node 0 is ground."""

    path: str  # body path, "fixed" for ground; a virtual body has the path of the real one
    joint: int  # index of the joint that carries it; -1 for ground
    level: int
    virtual: bool = False


@record
class TreeJoint:
    """A joint of the file in the spanning tree of the cut mechanism."""

    path: str
    kind: str
    near: int  # node towards ground
    far: int  # node it carries
    near_frame: str  # path of the frame on the near body, "" for its origin
    far_frame: str
    reverse: bool  # True where the tree runs from the user's child to the user's parent
    q: int  # first coordinate
    v: int  # first speed
    nq: int
    nv: int
    chord: bool  # True where `far` is a virtual body


@record
class Loop:
    """One closed loop: the virtual end of a chord must coincide with the real body."""

    name: str  # path of the chord joint
    virtual: int  # node
    real: int  # node
    base: int  # deepest common node of both branches
    virtual_branch: tuple[int, ...]  # joints from base to the virtual node
    real_branch: tuple[int, ...]

    @property
    def joints(self) -> tuple[int, ...]:
        return tuple(sorted((*self.virtual_branch, *self.real_branch)))


@record
class DriverRow:
    """One coordinate prescribed as a function of time."""

    name: str  # path of the joint
    joint: int
    function: int  # index into the list of motions of the run


@record
class Substructure:
    """Loops and rows that share joints: one diagonal block of the Jacobian."""

    loops: tuple[int, ...]
    drivers: tuple[int, ...]
    joints: tuple[int, ...]  # with speeds, in order
    columns: tuple[int, ...]  # speeds, contiguous
    first_row: int

    @property
    def rows(self) -> int:
        return 6 * len(self.loops) + len(self.drivers)


@record
class Restraint:
    """A spring, damper or friction element of the file."""

    path: str
    type: str
    joint: int  # -1 for one between two frames
    nodes: tuple[int, ...]  # the two bodies
    frames: tuple[str, ...]  # frame paths, "" for an origin
    direction: str  # "", "x", "y" or "z" of the first frame
    pieces: tuple[int, ...]  # number of coefficients of every piece


@record
class Plan:
    """Everything about a mechanism that is not a number."""

    nodes: tuple[Node, ...]
    joints: tuple[TreeJoint, ...]
    loops: tuple[Loop, ...]
    drivers: tuple[DriverRow, ...]
    substructures: tuple[Substructure, ...]
    restraints: tuple[Restraint, ...]
    joint_polynomials: tuple[tuple[int, str, int], ...]  # (joint, "stiffness" or "damping", coefficients)
    nq: int
    nv: int
    external: tuple[int, ...] = ()  # nodes with a wrench from outside

    @property
    def rows(self) -> int:
        return sum(s.rows for s in self.substructures)

    def joint_index(self, path: str) -> int:
        return next(i for i, joint in enumerate(self.joints) if joint.path == path)

    def speed_names(self) -> tuple[str, ...]:
        """Name of every speed: the joint's path, with [k] where it has several."""
        names: list[str] = []
        for joint in self.joints:
            names += [joint.path] if joint.nv == 1 else [f"{joint.path}[{k}]" for k in range(joint.nv)]
        return tuple(names)

    def tree_joint_path(self, node: int) -> tuple[int, ...]:
        """Joints from ground to a node."""
        path: list[int] = []
        while node:
            path.append(self.nodes[node].joint)
            node = self.joints[self.nodes[node].joint].near
        return tuple(reversed(path))


ROW_NAMES = ("rotation x", "rotation y", "rotation z", "translation x", "translation y", "translation z")


def row_names(plan: Plan, index: int) -> tuple[str, ...]:
    """Names of the rows of one substructure: loop by its chord joint, then the component in the axes of its base."""
    block = plan.substructures[index]
    loops = [f"{plan.loops[k].name} {row}" for k in block.loops for row in ROW_NAMES]
    return (*loops, *(f"{plan.drivers[k].name} driven" for k in block.drivers))
