"""Joint reactions: Lagrange multipliers of the loops, and the wrench of every joint of the cut tree.

With the cuts open, the tree has the true accelerations a only if wrenches act at the cuts: J^T lambda = H a + h - tau.
The primary rows carry all of them, J_Pd^T lambda = (H a + h - tau)_d, and lambda is 0 on the secondary rows. Of a
statically indeterminate mechanism (a planar loop modelled in space, parallel hinges) that is one of many solutions, and
it may change with the partition and with the joint that is cut; determinate reactions do not. The wrench of a tree
joint is that of recursive Newton-Euler minus the wrenches at the cuts (Featherstone, Rigid Body Dynamics Algorithms,
section 5.3 and chapter 8). Lane code.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.algebra import Scalar, Vec, cross, matvec, minus, negative, plus, zeros
from shiftjax.dynamics.kinematics import Chain, Motion
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.tree import tree_terms
from shiftjax.topology.partition import Block
from shiftjax.topology.plan import TreeJoint

Wrench = tuple[Vec, Vec]  # moment, force


class Reactions:
    """The wrenches of one state; each loop's multipliers are solved for once, and only when needed.

    Args:
        blocks: the partition of every substructure; states: (ns,) of the forces; a: (nv,) accelerations.
    """

    def __init__(self, lane: Lane, blocks: Sequence[Block], motion: Motion, states: Sequence[Scalar], a: Vec) -> None:
        self.lane, self.blocks, self.motion = lane, blocks, motion
        self.tree = tree_terms(motion, lane.gravity(), states, a)
        self._multipliers: dict[int, dict[int, Scalar]] = {}

    def on_child(self, index: int) -> Wrench:
        """Moment and force that the parent exerts on the child through a joint [N m, N], in world axes, about the
        origin of the joint's frame on the child.

        They contain the constraint forces and, along the joint's motions, its stiffness and damping, the springs,
        dampers and friction that act on it, and the drive of a prescribed coordinate. Springs between two frames are
        not part of any joint.
        """
        plan = self.lane.plan
        joint = plan.joints[index]
        rooted = self.motion.rooted
        moment, force = self.tree.wrenches[index]
        moment = minus(moment, cross(_child_point(rooted, joint), force))
        for k, loop in enumerate(plan.loops):
            if index in loop.joints:
                cut = self._at_cut(k, index)
                carried = plus if index in loop.real_branch else minus
                moment, force = carried(moment, cut[0]), carried(force, cut[1])
        return (negative(moment), negative(force)) if joint.reverse else (moment, force)

    def along_driven(self, index: int) -> Scalar:
        """Force or torque along a coordinate of the plan that its driver exerts [N, N m]; times the speed its power.

        The multiplier of the driver's row, whose Jacobian is 1.
        """
        groups = self.lane.plan.constraints
        k = next(k for k, group in enumerate(groups) if group.prescribes and index in group.coordinates)
        parts = self._of_group(k)
        return 0.0 if parts is None else parts[groups[k].coordinates.index(index)]

    def _of_group(self, k: int) -> Vec | None:
        """Multipliers of the rows of a constraint, None where no substructure holds it."""
        plan = self.lane.plan
        block = next((s for s, one in enumerate(plan.substructures) if k in one.groups), None)
        if block is None:
            return None
        if block not in self._multipliers:
            self._multipliers[block] = self._solved(block)
        first = plan.first_row(k)
        rows = range(first, first + plan.constraints[k].rows)
        return [self._multipliers[block].get(row, 0.0) for row in rows]

    def _at_cut(self, k: int, index: int) -> Wrench:
        """What the closure of loop k exerts on its virtual end, about the child's frame of a joint, in world axes."""
        plan = self.lane.plan
        loop = plan.loops[k]
        parts = self._of_group(k)
        if parts is None:  # a loop of welds alone: any distribution of the load is valid, as for secondary rows
            return zeros(), zeros()
        chain = self.motion.chain(loop.base)
        arm = minus(chain.node(loop.virtual).p, _child_point(chain, plan.joints[index]))
        moment, force = plus(parts[:3], cross(arm, parts[3:])), parts[3:]
        R = self.motion.rooted.node(loop.base).R
        return matvec(R, moment), matvec(R, force)

    def _solved(self, index: int) -> dict[int, Scalar]:
        """Multipliers of the primary rows of one substructure."""
        block, rows = self.blocks[index], self.lane.rows(self.motion, index)
        return self.lane.reduction(block, rows).multipliers(negative(self.tree.force))


def _child_point(chain: Chain, joint: TreeJoint) -> Vec:
    """Origin of a joint's frame on the user's child, relative to the chain's point; a virtual body is that frame."""
    if joint.reverse:
        return chain.frame(joint.near_place)[1]
    return chain.node(joint.far).p if joint.chord else chain.frame(joint.far_place)[1]
