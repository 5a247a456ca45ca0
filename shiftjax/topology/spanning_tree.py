"""The spanning tree of a mechanism from ground, its chords, and its constraints, before numbering."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shiftjax.errors import ModelError
from shiftjax.joints import KINDS, JointKind
from shiftjax.mechanism.parameters import NamedNumbers
from shiftjax.mechanism.paths import listed, natural_key
from shiftjax.mechanism.records import FIXED, Body, Element, Frame, FrameRef, Joint, Restraint
from shiftjax.mechanism.sublinkages import Sublinkage, stages_of, welds_of
from shiftjax.plan_elements import Loop


class ModelContents(Protocol):
    """The part of a model that the analysis reads: active elements by path."""

    @property
    def frames(self) -> tuple[Frame, ...]: ...

    @property
    def sublinkages(self) -> tuple[Sublinkage, ...]: ...

    def named_numbers(self) -> Iterable[tuple[str, NamedNumbers]]: ...

    def bodies(self) -> Iterable[tuple[str, Body]]: ...

    def joints(self) -> Iterable[tuple[str, Joint]]: ...

    def restraints(self) -> Iterable[tuple[str, Restraint]]: ...

    def force_modules(self) -> Iterable[tuple[str, Element]]: ...

    def constraints(self) -> Iterable[tuple[str, Element]]: ...

    def drivers(self) -> Iterable[tuple[str, Element]]: ...


@dataclass
class Branch:
    """A joint of the tree, from the node towards ground (`near`) to the node it carries (`far`)."""

    path: str
    joint: Joint
    near: int
    far: int
    reverse: bool  # the tree runs from the user's child to the user's parent
    chord: bool  # it carries a virtual body

    @property
    def near_ref(self) -> FrameRef:
        return self.joint.child if self.reverse else self.joint.parent

    @property
    def far_ref(self) -> FrameRef:
        return self.joint.parent if self.reverse else self.joint.child

    @property
    def kind(self) -> JointKind:
        return KINDS[self.joint.type]

    @property
    def movable(self) -> bool:
        return self.kind.nv > 0


@dataclass
class TreeConstraint:
    """A constraint, joints as indices of branches."""

    name: str
    kind: str
    coordinates: tuple[tuple[int, int], ...] = ()  # that it names: branch, and which of its coordinates
    frames: tuple[FrameRef, ...] = ()
    coupled: tuple[int, ...] = ()  # all joints whose motion enters its rows
    function: int = -1
    loop: Loop | None = None
    item: Any = None  # the record of the model that holds its numbers


@dataclass
class SpanningTree:
    """The spanning tree; node 0 is ground, branch k carries node k + 1."""

    bodies: list[str] = field(default_factory=lambda: [FIXED])  # of every node
    levels: list[int] = field(default_factory=lambda: [0])
    branches: list[Branch] = field(default_factory=list)
    node_of: dict[str, int] = field(default_factory=lambda: {FIXED: 0})

    def attach(self, path: str, joint: Joint, near_body: str) -> Branch:
        """Adds `joint` at the node of `near_body`; a chord where the far body is already in the tree."""
        reverse = joint.parent.body != near_body
        far_body = (joint.parent if reverse else joint.child).body
        near, far = self.node_of[near_body], len(self.bodies)
        branch = Branch(path, joint, near, far, reverse, far_body in self.node_of)
        self.bodies.append(far_body)
        self.levels.append(self.levels[near] + 1)
        self.branches.append(branch)
        self.node_of.setdefault(far_body, far)
        return branch

    def path_to(self, node: int) -> list[int]:
        """Branches from ground to a node."""
        joints: list[int] = []
        while node:
            joints.append(node - 1)
            node = self.branches[node - 1].near
        return joints[::-1]

    def between(self, bodies: Iterable[str]) -> tuple[int, ...]:
        """Branches that move some of the bodies but not all together; for one body, all up to ground."""
        paths = [self.path_to(self.node_of[body]) for body in bodies]
        shared = set(paths[0]).intersection(*paths[1:]) if len(paths) > 1 else set()
        return tuple(sorted({k for path in paths for k in path} - shared))

    def loop(self, branch: Branch) -> Loop:
        """The loop that a chord closes, found from both ends up to their deepest common node."""
        branches: tuple[list[int], list[int]] = ([], [])
        real = self.node_of[self.bodies[branch.far]]
        ends = [branch.far, real]
        while ends[0] != ends[1]:
            side = 0 if self.levels[ends[0]] >= self.levels[ends[1]] else 1
            branches[side].append(ends[side] - 1)
            ends[side] = self.branches[ends[side] - 1].near
        return Loop(branch.far, real, ends[0], tuple(reversed(branches[0])), tuple(reversed(branches[1])))


def spanning_tree(model: ModelContents, cut: Sequence[str] = ()) -> SpanningTree:
    """Breadth-first search from ground; the cut joints (full paths) are added last, as chords. Where none are given,
    those that the model wants to be cut, but for such as alone lead to a body.

    Joints of sublinkages that are posed later lead to what earlier ones do not reach: then no body of a part that
    drives stands on a joint that is driven.

    Raises:
        ModelError: if `cut` disconnects a body from ground.
    """
    joints = dict(sorted(model.joints(), key=lambda item: natural_key(item[0])))
    for path in cut:
        if path not in joints:
            todo = "`shiftjax info MODEL` lists the joints."
            raise ModelError("cut", repr(path), f"paths of joints: {listed(joints)}", todo)
    chords = set(cut) or {path for path, joint in joints.items() if joint.cut}
    incident: dict[str, list[str]] = {FIXED: [], **{path: [] for path, _ in model.bodies()}}
    for path, joint in joints.items():
        incident[joint.parent.body].append(path)
        incident[joint.child.body].append(path)
    tree, done = SpanningTree(), set(chords)
    stages = stages_of(model.sublinkages, joints, welds_of(joints))
    order = {path: k for k, stage in enumerate(stages) for path in stage.joints}
    queue, later, now = deque((path, FIXED) for path in incident[FIXED]), list[tuple[str, str]](), 0
    while queue:
        path, near_body = queue.popleft()
        if path not in done and order[path] > now:
            later.append((path, near_body))
        elif path not in done:
            done.add(path)
            branch = tree.attach(path, joints[path], near_body)
            if not branch.chord:
                body = tree.bodies[branch.far]
                queue.extend((other, body) for other in incident[body] if other not in done)
        if not queue and later:
            now = min(order[path] for path, _ in later)
            queue.extend(later)
            later.clear()
        if not queue and not cut and (lead := _leading(chords, joints, tree)):
            chords.remove(lead[0])
            done.remove(lead[0])
            queue.append(lead)
    disconnected = [path for path in incident if path not in tree.node_of]
    if disconnected:
        raise ModelError(
            "cut" if cut else disconnected[0],
            f"no path from {disconnected[0]} to ground" + (" but through a cut joint" if cut else ""),
            "every body connected to ground",
            "Cut another joint." if cut else "Add a joint.",
        )
    for path in sorted(chords, key=natural_key):
        ends = (joints[path].parent.body, joints[path].child.body)
        tree.attach(path, joints[path], min(ends, key=lambda body: (tree.levels[tree.node_of[body]], body)))
    return tree


def _leading(chords: Iterable[str], joints: Mapping[str, Joint], tree: SpanningTree) -> tuple[str, str] | None:
    """The first of some joints that leads to a body which nothing else leads to, and the body it comes from."""
    for path in sorted(chords, key=natural_key):
        ends = (joints[path].parent.body, joints[path].child.body)
        for near, far in (ends, ends[::-1]):
            if near in tree.node_of and far not in tree.node_of:
                return path, near
    return None
