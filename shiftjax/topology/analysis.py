"""Topology analysis: from a model to its Plan.

Problem: bodies and joints in any order, senses and nesting; find a spanning tree, cut every loop, and collect loops
that share a joint into substructures.
The result must: keep every joint's own coordinate (cut-body method: the chord joint moves a massless virtual body, six
rows say it coincides with the real one); make the Jacobian block diagonal, a block a substructure; not depend on the
order of the file's lists (ties are broken by name).
Desirable: short loops (breadth-first search from ground).
Refused: cutting joints whose removal disconnects a body from ground.

Build-time code, plain Python. References: Wehage, Wehage, Ravani, Mechanism and Machine Theory 2015 (kinematic
substructures); clusters here by union-find on shared joints, see CONTRIBUTING.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from shiftjax.errors import ModelError
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Joint, Model
from shiftjax.topology.plan import DriverRow, Loop, Node, Plan, Restraint, Substructure, TreeJoint

GROUND = "fixed"


def natural_key(path: str) -> tuple[tuple[str | int, ...], str]:
    """Sorts by the element's own name, digits by value, then by the whole path: nesting and list order have no say."""
    name = path.rsplit(":", 1)[-1]
    parts = re.split(r"(\d+)", name)
    return tuple(int(p) if p.isdigit() else p for p in parts), path


class _Tree:
    """The growing spanning tree."""

    def __init__(self) -> None:
        self.nodes = [Node(GROUND, -1, 0)]
        self.joints: list[TreeJoint] = []
        self.node_of = {GROUND: 0}
        self.chords: list[tuple[int, str]] = []  # (virtual node, path of the real body)

    def attach(self, path: str, joint: Joint, near_body: str) -> None:
        """Adds `joint` at the node of `near_body`; a far body that is there already becomes a chord."""
        reverse = joint.parent.body != near_body
        near_ref, far_ref = (joint.child, joint.parent) if reverse else (joint.parent, joint.child)
        near, kind = self.node_of[near_body], KINDS[joint.type]
        chord = far_ref.body in self.node_of
        far = len(self.nodes)
        self.nodes.append(Node(far_ref.body, len(self.joints), self.nodes[near].level + 1, chord))
        if chord:
            self.chords.append((far, far_ref.body))
        else:
            self.node_of[far_ref.body] = far
        frames = [_frame_path(near_ref.body, near_ref.frame), _frame_path(far_ref.body, far_ref.frame)]
        self.joints.append(
            TreeJoint(path, joint.type, near, far, frames[0], frames[1], reverse, 0, 0, kind.nq, kind.nv, chord)
        )


def _frame_path(body: str, frame: str) -> str:
    return "" if frame == "origin" else f"{body}:{frame}"


def analyze(model: Model, cut: Sequence[str] = (), cluster: bool = True, driven: Sequence[str] = ()) -> Plan:
    """Analyses the active part of `model`.

    Args:
        cut: paths of joints that shall be chords.
        cluster: False puts all loops into one substructure (to show what clustering saves).
        driven: paths of one-coordinate joints prescribed as functions of time, one row each.

    Raises:
        ModelError: if `cut` leaves a body without a way to ground.
    """
    joints = dict(sorted(model.joints(), key=lambda item: natural_key(item[0])))
    tree = _grow(model, joints, {model.resolve(path) for path in cut})
    loops = tuple(_loop(tree, virtual, tree.node_of[real]) for virtual, real in tree.chords)
    drivers = tuple(_driver(tree, model.resolve(path), k) for k, path in enumerate(driven))
    groups = _clusters(tree, loops, drivers, cluster)
    return _ordered(model, joints, tree, loops, drivers, groups)


def _driver(tree: _Tree, path: str, function: int) -> DriverRow:
    index = next((i for i, joint in enumerate(tree.joints) if joint.path == path and joint.nv == 1), -1)
    if index < 0:
        single = [joint.path for joint in tree.joints if joint.nv == 1]
        raise ModelError(f"drive {path}", "no active joint of one coordinate", f"one of {single}", "Name such a joint.")
    return DriverRow(path, index, function)


def _grow(model: Model, joints: dict[str, Joint], cut: set[str]) -> _Tree:
    """Breadth-first search from ground; the cut joints are added last, as chords."""
    touching: dict[str, list[str]] = {GROUND: [], **{path: [] for path, _ in model.bodies()}}
    for path, joint in joints.items():
        touching[joint.parent.body].append(path)
        touching[joint.child.body].append(path)
    tree, done = _Tree(), set(cut)
    queue = deque((path, GROUND) for path in touching[GROUND])
    while queue:
        path, near_body = queue.popleft()
        if path in done:
            continue
        done.add(path)
        tree.attach(path, joints[path], near_body)
        far = tree.nodes[-1]
        if not far.virtual:
            queue.extend((other, far.path) for other in touching[far.path] if other not in done)
    lost = [path for path in touching if path not in tree.node_of]
    if lost:
        raise ModelError(
            "cut" if cut else lost[0],
            f"no way from {lost[0]} to ground" + (" but through a cut joint" if cut else ""),
            "every body reached from ground",
            "Cut another joint." if cut else "Add a joint.",
        )
    for path in sorted(cut, key=natural_key):
        ends = (joints[path].parent.body, joints[path].child.body)
        tree.attach(path, joints[path], min(ends, key=lambda body: (tree.nodes[tree.node_of[body]].level, body)))
    return tree


def _loop(tree: _Tree, virtual: int, real: int) -> Loop:
    """Climbs from both ends to the common base."""
    branches: tuple[list[int], list[int]] = ([], [])
    ends = [virtual, real]
    while ends[0] != ends[1]:
        side = 0 if tree.nodes[ends[0]].level >= tree.nodes[ends[1]].level else 1
        joint = tree.nodes[ends[side]].joint
        branches[side].append(joint)
        ends[side] = tree.joints[joint].near
    name = tree.joints[tree.nodes[virtual].joint].path
    return Loop(name, virtual, real, ends[0], tuple(reversed(branches[0])), tuple(reversed(branches[1])))


def _clusters(tree: _Tree, loops: Sequence[Loop], drivers: Sequence[DriverRow], cluster: bool) -> list[list[int]]:
    """Union-find of rows (loops first, then drivers) that share a joint with speeds."""
    members = [[j for j in loop.joints if tree.joints[j].nv] for loop in loops] + [[d.joint] for d in drivers]
    root = list(range(len(members)))

    def find(k: int) -> int:
        while root[k] != k:
            root[k] = root[root[k]]
            k = root[k]
        return k

    owner: dict[int, int] = {}
    for k, joints in enumerate(members):
        for joint in joints if cluster else [-1]:
            root[find(k)] = find(owner.setdefault(joint, k))
    groups: dict[int, list[int]] = {}
    for k in range(len(members)):
        groups.setdefault(find(k), []).append(k)
    return list(groups.values())


def _ordered(
    model: Model,
    joints: dict[str, Joint],
    tree: _Tree,
    loops: Sequence[Loop],
    drivers: Sequence[DriverRow],
    groups: list[list[int]],
) -> Plan:
    """Puts joints in level order with every substructure contiguous, and numbers nodes, coordinates and rows."""
    members = [
        sorted({j for k in g for j in (loops[k].joints if k < len(loops) else (drivers[k - len(loops)].joint,))})
        for g in groups
    ]
    group_of = {j: g for g, joints_of in enumerate(members) for j in joints_of if tree.joints[j].nv}
    level = [tree.nodes[joint.far].level for joint in tree.joints]
    order: list[int] = []
    placed: set[int] = set()

    def place(joint: int) -> None:
        """Places a joint after the joints that carry it, with its substructure."""
        block = [joint] if joint not in group_of else [j for j in members[group_of[joint]]]
        for j in sorted(block, key=lambda k: (level[k], k)):
            near = tree.nodes[tree.joints[j].near].joint
            if near >= 0 and near not in placed and near not in block:
                place(near)
            if j not in placed:
                placed.add(j)
                order.append(j)

    for joint in sorted(range(len(tree.joints)), key=lambda k: (level[k], k)):
        if joint not in placed:
            place(joint)
    return _numbered(model, joints, tree, loops, drivers, groups, order)


def _numbered(
    model: Model,
    joints: dict[str, Joint],
    tree: _Tree,
    loops: Sequence[Loop],
    drivers: Sequence[DriverRow],
    groups: list[list[int]],
    order: list[int],
) -> Plan:
    new_joint = {old: new for new, old in enumerate(order)}
    new_node = {0: 0, **{tree.joints[old].far: new + 1 for new, old in enumerate(order)}}
    nodes = [tree.nodes[0]] + [Node("", 0, 0)] * len(order)
    tree_joints: list[TreeJoint] = []
    nq = nv = 0
    for new, old in enumerate(order):
        j, n = tree.joints[old], tree.nodes[tree.joints[old].far]
        nodes[new + 1] = Node(n.path, new, n.level, n.virtual)
        ends = (new_node[j.near], new_node[j.far])
        tree_joints.append(
            TreeJoint(j.path, j.kind, *ends, j.near_frame, j.far_frame, j.reverse, nq, nv, j.nq, j.nv, j.chord)
        )
        nq, nv = nq + j.nq, nv + j.nv
    renamed = [
        Loop(
            loop.name,
            new_node[loop.virtual],
            new_node[loop.real],
            new_node[loop.base],
            tuple(new_joint[j] for j in loop.virtual_branch),
            tuple(new_joint[j] for j in loop.real_branch),
        )
        for loop in loops
    ]
    new_drivers = tuple(DriverRow(d.name, new_joint[d.joint], d.function) for d in drivers)
    substructures = _substructures(tree_joints, renamed, new_drivers, groups)
    node_of = {node.path: k for k, node in enumerate(nodes) if not node.virtual}
    return Plan(
        tuple(nodes),
        tuple(tree_joints),
        tuple(renamed),
        new_drivers,
        substructures,
        _restraints(model, node_of, tree_joints),
        _polynomials(joints, tree_joints),
        nq,
        nv,
    )


def _substructures(
    joints: Sequence[TreeJoint], loops: Sequence[Loop], drivers: Sequence[DriverRow], groups: list[list[int]]
) -> tuple[Substructure, ...]:
    found: list[tuple[list[int], list[int], list[int]]] = []
    for group in groups:
        own_loops = [k for k in group if k < len(loops)]
        own_drivers = [k - len(loops) for k in group if k >= len(loops)]
        touched = {j for k in own_loops for j in loops[k].joints} | {drivers[k].joint for k in own_drivers}
        moving = sorted(j for j in touched if joints[j].nv)
        if moving:  # a loop of welds alone has nothing to solve for
            found.append((own_loops, own_drivers, moving))
    out: list[Substructure] = []
    row = 0
    for own_loops, own_drivers, touched in sorted(found, key=lambda item: item[2]):
        columns = tuple(joints[j].v + k for j in touched for k in range(joints[j].nv))
        out.append(Substructure(tuple(own_loops), tuple(own_drivers), tuple(touched), columns, row))
        row += out[-1].rows
    return tuple(out)


def _restraints(model: Model, node_of: dict[str, int], joints: Sequence[TreeJoint]) -> tuple[Restraint, ...]:
    index = {joint.path: k for k, joint in enumerate(joints)}
    out: list[Restraint] = []
    for path, restraint in sorted(model.restraints(), key=lambda item: natural_key(item[0])):
        pieces = tuple(len(piece) for piece in restraint.coefficients)
        if restraint.joint is not None:
            out.append(Restraint(path, restraint.type, index[restraint.joint], (), (), "", pieces))
            continue
        assert restraint.frames is not None
        nodes = tuple(node_of[ref.body] for ref in restraint.frames)
        frames = tuple(_frame_path(ref.body, ref.frame) for ref in restraint.frames)
        direction = (restraint.distance_type or "")[-1:]
        out.append(Restraint(path, restraint.type, -1, nodes, frames, direction, pieces))
    return tuple(out)


def _polynomials(joints: dict[str, Joint], tree_joints: Sequence[TreeJoint]) -> tuple[tuple[int, str, int], ...]:
    out: list[tuple[int, str, int]] = []
    for k, tree_joint in enumerate(tree_joints):
        joint = joints[tree_joint.path]
        for name in ("stiffness", "damping"):
            if getattr(joint, name):
                out.append((k, name, len(getattr(joint, name))))
    return tuple(out)
