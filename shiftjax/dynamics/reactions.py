"""Joint reactions: Lagrange multipliers of the loops, and the wrench of every joint of the cut tree.

With the cuts open, the tree has the true accelerations a only if wrenches act at the cuts: J^T lambda = H a + h - tau.
The primary rows can carry all of them, J_Pd^T lambda = (H a + h - tau)_d. Of a statically indeterminate mechanism (a
planar loop modelled in space, parallel hinges) that is one of many solutions; `redundancy` takes the one of least norm,
which depends neither on the partition nor on the joint that is cut. The wrench of a tree joint is that of recursive
Newton-Euler minus the wrenches at the cuts (Featherstone, Rigid Body Dynamics Algorithms, section 5.3 and chapter 8).

Friction that grows with what its joint bears closes a circle: reactions follow from the accelerations, and these from
the friction. `with_loads` makes of it the equations of `borne_loads`: what presses in force i, which then is so much
times its resistance, follows from accelerations and wrenches that are affine in all such loads, by one solution without
friction and one for a unit of each.
Lane code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from shiftjax.algebra import (
    Scalar,
    Vec,
    cross,
    is_zero,
    minus,
    negative,
    plus,
    zeros,
)
from shiftjax.dynamics.borne_loads import BorneLoad, solved
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.redundancy import Multipliers, Redundancy, Wrench, child_point
from shiftjax.dynamics.tree import Tree, tree_terms
from shiftjax.forces import FORCES
from shiftjax.plan_elements import ForceElement
from shiftjax.topology.partition import Block


class Reactions:
    """The wrenches of one state; each substructure's multipliers are solved for once, and only when needed.

    Args:
        blocks: the partition of every substructure. tree: with the true accelerations. redundancy: at this pose.
    """

    def __init__(
        self, lane: Lane, blocks: Sequence[Block], motion: Motion, tree: Tree, redundancy: Redundancy | None = None
    ) -> None:
        self.lane, self.blocks, self.motion, self.tree = lane, blocks, motion, tree
        self.redundancy = redundancy or redundancy_at(lane, blocks, motion)
        self._primary: dict[int, Multipliers] = {}
        self._least: dict[int, Multipliers] = {}

    def on_child(self, index: int) -> Wrench:
        """Moment and force that the parent exerts on the child through a joint [N m, N], in world axes, about the
        origin of the joint's frame on the child.

        They contain the constraint forces and, along the joint's motions, its stiffness and damping, the springs,
        dampers and friction that act on it, and the drive of a prescribed coordinate. Springs between two frames are
        not part of any joint.
        """
        moment, force = self.redundancy.through(index, self._open(index), self._of_group)
        return (negative(moment), negative(force)) if self.lane.plan.joints[index].reverse else (moment, force)

    def along_driven(self, index: int) -> Scalar:
        """Force or torque along a coordinate of the plan that its driver exerts [N, N m]; times the speed its power.

        The multiplier of the driver's row, whose Jacobian is 1.
        """
        groups = self.lane.plan.constraints
        k = next(k for k, group in enumerate(groups) if group.prescribes and index in group.coordinates)
        parts = self._of_group(k)
        return 0.0 if parts is None else parts[groups[k].coordinates.index(index)]

    def of_constraint(self, k: int) -> Vec:
        """Multipliers of the rows of a constraint of the plan [N, N m]: J^T of them is what acts on the mechanism."""
        return self._of_group(k) or zeros(self.lane.plan.constraints[k].rows)

    def _open(self, index: int) -> Wrench:
        """The wrench of a joint with the cuts open, about its frame on the child."""
        moment, force = self.tree.wrenches[index]
        return minus(moment, cross(child_point(self.motion.rooted, self.lane.plan.joints[index]), force)), force

    def _of_group(self, k: int) -> Vec | None:
        """Multipliers of the rows of a constraint, None where nothing acts."""
        cluster = self._cluster.get(k)
        if cluster is None:
            return self._determinate(k)
        if cluster not in self._least:
            unknowns = self.redundancy.clusters[cluster]
            concerned = self.redundancy.groups_at(unknowns)
            base = {g: parts for g in concerned if (parts := self._determinate(g)) is not None}
            self._least[cluster] = self.redundancy.least(unknowns, base, self._open)
        return self._least[cluster][k]

    @cached_property
    def _cluster(self) -> dict[int, int]:
        """Constraint -> cluster of unknowns that holds it."""
        redundancy = self.redundancy
        return {k: c for c, cluster in enumerate(redundancy.clusters) for u in cluster for k in redundancy.unknowns[u]}

    def _determinate(self, k: int) -> Vec | None:
        """Multipliers of a constraint where the primary rows carry all; None where no substructure holds it."""
        plan = self.lane.plan
        block = next((s for s, one in enumerate(plan.substructures) if k in one.groups), None)
        if block is None:
            return None
        if block not in self._primary:
            values = self.redundancy.reduction(block).multipliers(negative(self.tree.force))
            self._primary[block] = self.redundancy.by_group(block, values)
        return self._primary[block].get(k)


def with_loads(
    lane: Lane,
    blocks: Sequence[Block],
    motion: Motion,
    states: Sequence[Scalar],
    a: Vec,
    response: Callable[[Vec], Vec],
) -> Motion:
    """The motion, with what presses in all forces that grow with what their joints bear.

    Args:
        a: (nv,) accelerations without these forces; with them where they are known.
        response: generalised forces (nv,) -> by how much they change a.
    """
    elements = [element for element in lane.plan.forces if element.bears]
    if not elements:
        return motion
    free = Reactions(lane, blocks, motion, tree_terms(motion, lane.gravity(), states, a))
    still = lane.motion(list(motion.q), None)
    unit: list[Reactions] = []  # for a unit of each load: no gravity, no speeds, no other forces
    for element in elements:
        resistance = FORCES[element.kind].resistance(element, motion, [states[k] for k in element.states])
        force = [resistance.get(speed, 0.0) for speed in range(lane.plan.nv)]
        tree = tree_terms(still, zeros(), states, response(force), ())
        tree = replace(tree, force=plus(tree.force, force))
        unit.append(Reactions(lane, blocks, still, tree, free.redundancy))
    loads = solved([_borne(element, motion, free, unit) for element in elements])
    return motion.bearing(dict(zip(elements, loads, strict=True)))


def _borne(element: ForceElement, motion: Motion, free: Reactions, unit: Sequence[Reactions]) -> BorneLoad:
    """What presses in one force, as a function of all loads.

    Args:
        free: the reactions without loads. unit: those for a unit of each.
    """
    n, kind, (joint, axis) = motion.values(element.numbers), FORCES[element.kind], motion.seat(element)
    first, *changes = (kind.pressed(n, axis, *each.on_child(joint)) for each in (free, *unit))
    parts = list[tuple[Scalar, Vec, list[Vec]]]()
    for k, (weight, vector) in enumerate(first.parts):
        by_load = [change.parts[k][1] for change in changes]
        if not is_zero(weight) and not all(is_zero(x) for one in (vector, *by_load) for x in one):
            parts.append((weight, vector, by_load))
    return BorneLoad(first.given, parts)


def redundancy_at(lane: Lane, blocks: Sequence[Block], motion: Motion) -> Redundancy:
    """What equilibrium leaves open at one pose."""
    return Redundancy(motion, blocks, lambda s: lane.reduction(blocks[s], lane.rows(motion, s)), lane.length)
