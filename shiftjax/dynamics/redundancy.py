"""What equilibrium leaves open of the multipliers, and the choice of least norm. Lane code.

J_S = C J_P for the secondary rows of a substructure: any lambda_S is possible, and then lambda_P changes by
-C^T lambda_S. So each secondary row is one unknown x, with a column of multipliers that do no work along any motion of
the tree. Of a loop whose joints do not move at all no substructure speaks; its six rows are unknowns, too.

Chosen is the x for which the sum over all joints of the loops concerned of |force|^2 + |moment / l|^2 is least, each
about the joint's frame on the child, with l the characteristic length by which rows in metres are made dimensionless,
and with it the multipliers of other constraints. The norm is over joints and not over rows at the cuts, so that it does
not depend on the cut. It is that of the multipliers of absolute coordinates (Wojtyra, Fraczek, Comparison of selected
methods of handling redundant constraints in multibody systems simulations, J. Comput. Nonlinear Dyn. 8 (2013)
021007), with each joint's multipliers along orthogonal axes of its frame. It stands for joints that are equally stiff.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property

from shiftjax.algebra import Vec, cross, dot, is_zero, matvec, minus, plus, scale, zeros
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.kinematics import Chain, Motion
from shiftjax.dynamics.reduction import Column, Reduction, ldl_solve
from shiftjax.numerics.connected import connected
from shiftjax.topology.partition import Block, secondary_rows
from shiftjax.topology.plan import TreeJoint

Wrench = tuple[Vec, Vec]  # moment, force
Multipliers = dict[int, Vec]  # by constraint: of its rows, in true units
ROWS = 6  # of a loop: moments, then forces


class Redundancy:
    """The multipliers of one state that do no work, and which joints they load.

    Args:
        blocks: the partition of every substructure. reduction: index of one -> its linear system. length: l [m].
    """

    def __init__(
        self, motion: Motion, blocks: Sequence[Block], reduction: Callable[[int], Reduction], length: float
    ) -> None:
        self.motion, self.plan, self.length = motion, motion.plan, length
        self.blocks, self.reduction = blocks, cache(reduction)

    def by_group(self, index: int, values: Column) -> Multipliers:
        """Multipliers of a substructure, by local row, as those of its constraints; those without any left out."""
        out: Multipliers = {}
        first = 0
        for k in self.plan.substructures[index].groups:
            parts = [values.get(row, 0.0) for row in range(first, first + self.plan.constraints[k].rows)]
            first += len(parts)
            if not all(map(is_zero, parts)):
                out[k] = parts
        return out

    @cached_property
    def unknowns(self) -> list[Multipliers]:
        """Multipliers for a unit of every unknown, those of rotations and of translations times l in N m."""
        out: list[Multipliers] = []
        for index, block in enumerate(self.blocks):
            rest = secondary_rows(self.plan.substructures[index], block)
            if not rest:
                continue
            reduction = self.reduction(index)
            for row, combination in zip(rest, reduction.combinations(rest), strict=True):
                values = {p: -(reduction.row_scale[p] * c) for p, c in zip(block.primary, combination, strict=True)}
                out.append(self.by_group(index, values | {row: reduction.row_scale[row]}))
        still = set(range(len(self.plan.constraints))) - {k for s in self.plan.substructures for k in s.groups}
        sizes = [1.0] * 3 + [1.0 / self.length] * 3
        for k in sorted(k for k in still if self.plan.constraints[k].loop):
            out += [{k: [size if i == row else 0.0 for i, size in enumerate(sizes)]} for row in range(ROWS)]
        return out

    @cached_property
    def clusters(self) -> list[list[int]]:
        """Unknowns that load a common joint or constraint."""
        return connected([[*self._joints(u), *((k,) for k in u)] for u in self.unknowns])

    def _joints(self, unknown: Multipliers) -> list[int]:
        """The joints of its loops, and those that its constraints between frames load."""
        loops = [self.plan.constraints[k].loop for k in unknown]
        frames = [self.plan.constraints[k].coupled for k in unknown if k in self.frame_constraints]
        return sorted({joint for loop in loops if loop for joint in loop.joints}.union(*frames))

    def groups_at(self, cluster: Sequence[int]) -> list[int]:
        """The constraints of a cluster, and other loops of its joints: a weld may be in loops of several parts."""
        unknowns = [self.unknowns[k] for k in cluster]
        joints = {joint for unknown in unknowns for joint in self._joints(unknown)}
        beside = {k for k, loop in enumerate(self.plan.loops) if not joints.isdisjoint(loop.joints)}
        between = {k for k in self.frame_constraints if not joints.isdisjoint(self.plan.constraints[k].coupled)}
        return sorted(beside.union(between, *unknowns))

    def least(self, cluster: Sequence[int], base: Multipliers, tree: Callable[[int], Wrench]) -> Multipliers:
        """Multipliers of all constraints of a cluster, of least norm.

        Args:
            base: some multipliers that are in equilibrium.
            tree: index of a joint -> its wrench with the cuts open, about its frame on the child.
        """
        unknowns = [self.unknowns[k] for k in cluster]
        groups = sorted({k for unknown in unknowns for k in unknown})
        joints = sorted({joint for unknown in unknowns for joint in self._joints(unknown)})
        columns = [self._loads(unknown, groups, joints) for unknown in unknowns]
        given = self._loads(base, groups, joints)
        for k, joint in enumerate(joints):
            moment, force = tree(joint)
            part = slice(ROWS * k, ROWS * (k + 1))
            given[part] = plus(given[part][:3], moment) + plus(given[part][3:], scale(self.length, force))
        normal = [[dot(one, other) for other in columns] for one in columns]
        (x,), _ = ldl_solve(normal, [[-dot(column, given) for column in columns]])
        out: Multipliers = {}
        for k in groups:
            out[k] = base.get(k, [0.0] * self.plan.constraints[k].rows)
            for amount, unknown in zip(x, unknowns, strict=True):
                if k in unknown:
                    out[k] = [old + amount * part for old, part in zip(out[k], unknown[k], strict=True)]
        return out

    def _loads(self, multipliers: Multipliers, groups: Sequence[int], joints: Sequence[int]) -> Vec:
        """What multipliers load: moment and l times force of every joint, then constraints that are no loops [N m]."""
        out: Vec = []
        for joint in joints:
            moment, force = self.through(joint, (zeros(), zeros()), lambda k: multipliers.get(k))
            out += [*moment, *scale(self.length, force)]
        for index, structure in enumerate(self.plan.substructures):
            first = 0
            for k in structure.groups:
                count = self.plan.constraints[k].rows
                if k in groups and self.plan.constraints[k].loop is None:
                    unit = self.reduction(index).row_unit[first : first + count]
                    parts = multipliers.get(k, [0.0] * count)
                    out += [size * part for size, part in zip(unit, parts, strict=True)]
                first += count
        return out

    def on_joints(self, unknown: Multipliers) -> dict[int, Vec]:
        """Joint -> moment and l times force for a unit of an unknown [N m], of the joints of its loops."""
        joints = self._joints(unknown)
        values = self._loads(unknown, (), joints)
        return {joint: values[ROWS * k : ROWS * (k + 1)] for k, joint in enumerate(joints)}

    def through(self, index: int, wrench: Wrench, of_group: Callable[[int], Vec | None]) -> Wrench:
        """A joint's wrench and what the multipliers at the cuts add to it, about the child's frame, in world axes."""
        moment, force = wrench
        for k, loop in enumerate(self.plan.loops):
            if index in loop.joints and (parts := of_group(k)) is not None:
                cut = self._at_cut(k, index, parts)
                carried = plus if index in loop.real_branch else minus
                moment, force = carried(moment, cut[0]), carried(force, cut[1])
        for k in self.frame_constraints:
            if index in self.plan.constraints[k].coupled and (parts := of_group(k)) is not None:
                loads = self._on_frames(k, index, parts)
                moment, force = minus(moment, loads[0]), minus(force, loads[1])
        return moment, force

    @cached_property
    def frame_constraints(self) -> list[int]:
        """The constraints between frames that say how they load them."""
        groups = enumerate(self.plan.constraints)
        return [k for k, one in groups if one.loop is None and one.frames and CONSTRAINTS[one.kind].has_wrenches]

    def _on_frames(self, k: int, index: int, parts: Vec) -> Wrench:
        """What a constraint between frames exerts on all that a joint carries, about its child's frame, world axes."""
        group, chain = self.plan.constraints[k], self.motion.chain()
        moment, force = zeros(), zeros()
        for multiplier, wrenches in zip(parts, CONSTRAINTS[group.kind].wrenches(group, self.motion), strict=True):
            for one in wrenches:
                R, _ = chain.frame(one.relative)
                arm = minus(chain.frame(one.frame)[1], child_point(chain, self.plan.joints[index]))
                push = scale(multiplier, matvec(R, one.force))
                turn = plus(scale(multiplier, matvec(R, one.moment)), cross(arm, push))
                for node, add in ((one.frame.node, plus), (one.relative.node, minus)):
                    if self._carries(index, node):
                        moment, force = add(moment, turn), add(force, push)
        return moment, force

    def _carries(self, index: int, node: int) -> bool:
        """Whether a node hangs on a joint in the tree."""
        while node:
            if node - 1 == index:
                return True
            node = self.plan.joints[node - 1].near
        return False

    def _at_cut(self, k: int, index: int, parts: Vec) -> Wrench:
        """What the closure of loop k exerts on its virtual end, about the child's frame of a joint, in world axes."""
        loop = self.plan.loops[k]
        chain = self.motion.chain(loop.base)
        arm = minus(chain.node(loop.virtual).p, child_point(chain, self.plan.joints[index]))
        moment, force = plus(parts[:3], cross(arm, parts[3:])), parts[3:]
        R = self.motion.rooted.node(loop.base).R
        return matvec(R, moment), matvec(R, force)


def child_point(chain: Chain, joint: TreeJoint) -> Vec:
    """Origin of a joint's frame on the user's child, relative to the chain's point; a virtual body is that frame."""
    if joint.reverse:
        return chain.frame(joint.near_place)[1]
    return chain.node(joint.far).p if joint.chord else chain.frame(joint.far_place)[1]
