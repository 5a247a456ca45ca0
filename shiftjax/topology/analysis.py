"""Topology analysis: from a model to its Plan.

Problem: bodies and joints in any order, sense and nesting; find a spanning tree, cut every loop, and collect
constraints that share a joint into substructures.
The result must: keep every joint's coordinate (cut-body method: the chord joint moves a massless virtual body that six
closure rows keep on the real one); make the Jacobian block diagonal, one block per substructure; not depend on the
order of the file's lists (ties are broken by name).
Desirable: short loops (breadth-first search from ground).
Refused: cutting joints whose removal disconnects a body from ground.

Build-time code, plain Python. References: Wehage, Wehage, Ravani, Mechanism and Machine Theory 2015 (kinematic
substructures); clusters here by union-find on shared joints, see CONTRIBUTING.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from shiftjax.constraints import CONSTRAINTS, PoseDriver
from shiftjax.errors import ModelError
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import natural_key
from shiftjax.numerics.connected import connected
from shiftjax.topology.plan import Plan
from shiftjax.topology.plan_builder import PlanBuilder
from shiftjax.topology.spanning_tree import SpanningTree, TreeConstraint, spanning_tree


def analyze(
    model: Model,
    *,
    cut: Sequence[str] = (),
    cluster: bool = True,
    driven: Sequence[str] = (),
    functions: Mapping[str, Sequence[str]] | None = None,
    external_wrenches: bool = False,
    opened: Collection[str] = (),
) -> Plan:
    """Analyses the active part of `model`.

    Args:
        cut: paths of joints to make chords.
        cluster: False puts all constraints into one substructure (to show what clustering saves).
        driven: paths of coordinates prescribed by functions of time, the first of the run's functions.
        functions: name -> paths of coordinates that a function constrains; the run's later functions.
        external_wrenches: True adds an external wrench on every body.
        opened: names of constraints of a plan of the model that are left out, loops among them, but of none that
            `driven` prescribes.

    Raises:
        ModelError: if `cut` disconnects a body from ground, or a path names no coordinate.
    """
    of_functions = tuple((name, tuple(paths)) for name, paths in (functions or {}).items())
    asked = tuple(cut), cluster, tuple(driven), of_functions, external_wrenches, frozenset(opened)
    return model.worked_out.of(("plan", asked), lambda: _analysed(model, *asked))


def _analysed(
    model: Model,
    cut: Sequence[str],
    cluster: bool,
    driven: Sequence[str],
    functions: Sequence[tuple[str, Sequence[str]]],
    external_wrenches: bool,
    opened: Collection[str],
) -> Plan:
    """`analyze`, of functions as pairs."""
    tree = spanning_tree(model, [model.resolve(path) for path in cut])
    index = {
        branch.kind.path_of(branch.path, i): (k, i)
        for k, branch in enumerate(tree.branches)
        for i in range(len(branch.kind.primitives))
    }

    constraints = [_closure(tree, k) for k, branch in enumerate(tree.branches) if branch.chord]
    given = [(path, "driver", (path,), "drive") for path in driven]
    given += [(name, "function", tuple(paths), f"constraint {name}") for name, paths in functions]
    for k, (name, kind, paths, where) in enumerate(given):
        named = tuple(index[plain_coordinate(model, path, where)] for path in paths)
        coupled = tuple(sorted({joint for joint, _ in named}))
        constraints.append(TreeConstraint(name, kind, named, coupled=coupled, function=k))
    next_function = len(given)  # texts of files are made functions in this order, too (`measures.ties`)
    of_files = [*model.constraints(), *model.drivers()]
    for path, item in sorted(of_files, key=lambda pair: natural_key(pair[0])):
        named = tuple(index[coordinate] for coordinate in item.joints)
        between = tree.between(ref.body for ref in item.frames) if item.frames else ()
        coupled = tuple(sorted({*(joint for joint, _ in named), *between}))
        function = -1
        if CONSTRAINTS[item.type].by_text:
            function, next_function = next_function, next_function + 1
        constraints.append(TreeConstraint(path, item.type, named, item.frames, coupled, function, item=item))
    constraints = [one for one in constraints if one.name not in opened or 0 <= one.function < len(driven)]
    _refuse_two_drivers(tree, constraints)
    _refuse_two_poses(tree, constraints)
    _refuse_twice(constraints)
    clusters = _clusters(tree, constraints, cluster)
    order = _order(tree, constraints, clusters)
    return PlanBuilder(model, tree, constraints, order, clusters).plan(external_wrenches=external_wrenches)


def _closure(tree: SpanningTree, index: int) -> TreeConstraint:
    branch = tree.branches[index]
    loop = tree.loop(branch)
    return TreeConstraint(branch.path, "loop", (), (branch.far_ref,), loop.joints, loop=loop)


def _refuse_two_drivers(tree: SpanningTree, constraints: Sequence[TreeConstraint]) -> None:
    """Raises where two constraints prescribe one coordinate."""
    driver_of: dict[tuple[int, int], str] = {}
    for constraint in constraints:
        for named in constraint.coordinates if CONSTRAINTS[constraint.kind].prescribes else ():
            if named in driver_of:
                drivers = f"two drivers, {driver_of[named]} and {constraint.name}"
                todo = 'Set "active": false on one of them, or leave one out.'
                branch = tree.branches[named[0]]
                raise ModelError(branch.kind.path_of(branch.path, named[1]), drivers, "one driver a joint", todo)
            driver_of[named] = constraint.name


def _refuse_two_poses(tree: SpanningTree, constraints: Sequence[TreeConstraint]) -> None:
    """Raises where two constraints prescribe the orientation of one body before another one."""
    driver_of: dict[frozenset[str], str] = {}
    for constraint in constraints:
        if not isinstance(CONSTRAINTS[constraint.kind], PoseDriver):
            continue
        bodies = frozenset(ref.body for ref in constraint.frames)
        if bodies in driver_of:
            joints = [one.path for one in tree.branches if {one.joint.parent, one.joint.child} == {*constraint.frames}]
            drivers = f"two drivers, {driver_of[bodies]} and {constraint.name}"
            todo = 'Set "active": false on one of them, or leave one out.'
            allowed = "one driver a joint" if joints else "one driver of a pose between two bodies"
            raise ModelError(joints[0] if joints else constraint.name, drivers, allowed, todo)
        driver_of[bodies] = constraint.name


def _refuse_twice(constraints: Sequence[TreeConstraint]) -> None:
    """Raises where a function names a coordinate twice: its row would hold one of the two slopes."""
    for constraint in constraints:
        if constraint.function >= 0 and len({*constraint.coordinates}) < len(constraint.coordinates):
            fault = "a coordinate that is named twice"
            raise ModelError(f"constraint {constraint.name}", fault, "each coordinate once", "Name it once.")


def _clusters(tree: SpanningTree, constraints: Sequence[TreeConstraint], cluster: bool) -> list[list[int]]:
    """Constraints that share a joint with speeds."""
    joints = [[j for j in constraint.coupled if tree.branches[j].movable] for constraint in constraints]
    return connected(joints if cluster else [[-1]] * len(joints))


def _order(tree: SpanningTree, constraints: Sequence[TreeConstraint], clusters: Sequence[Sequence[int]]) -> list[int]:
    """Branches by level, each substructure contiguous from its first branch on."""
    members = [sorted({j for k in cluster for j in constraints[k].coupled}) for cluster in clusters]
    cluster_of = {j: c for c, joints in enumerate(members) for j in joints if tree.branches[j].movable}
    level = [tree.levels[branch.far] for branch in tree.branches]
    order: list[int] = []
    placed: set[int] = set()

    def place(joint: int) -> None:
        """Appends a joint with its substructure, after its ancestors."""
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
