"""The lane programs of poses that drivers lead: every step closes the loops at the next pose; nothing is integrated.

Problem: all coordinates of a substructure follow from its rows, loops and drivers, J of full column rank. A step
predicts the next pose by the speeds half a step ahead, v + h a / 2, which is exact to h^2, and closes it a group at a
time (`pose_groups`): what drivers and planar dyads say in closed form, all else by Newton's method; v and a follow from
J v = nu and J a = gamma. No mass enters. Where only positions are wanted, a is left out; where no dyad is there v is
that of the last change, good enough to predict by: one elimination less.
A step must not lead to another assembly. Newton's second change is at most a quarter of the first: by the theorem of
Newton and Kantorovich they converge then, to the one solution near the prediction (Deuflhard, Newton Methods for
Nonlinear Problems, sections 2.1 and 5.1). The first is at most a quarter of what was predicted: next to the end of a
travel, where q = -sqrt(x) and both assemblies meet at x = 0, that holds for steps of up to 0.91 x, whose prediction is
still six times nearer to its branch than to the other one. Of a dyad both are known, at +-r, r the root that tells them
apart: it takes the one on whose side the prediction lies, which must be five times nearer to it than to the other, and
never ends where they meet. No coordinate moves by more than half a radian. And drivers move along a straight line
within a step, so that speeds at its end point where they did at its beginning, within 60 degrees: behind the end of a
travel they turn round.
The gap is that of the coordinates that are recorded, put into all rows again. Two things of it are calculated in fewer
operations than as they are written, and to the same roundings. Sines and cosines of a coordinate that was corrected are
those of its prediction, turned by the correction: of a believed step an eighth of a radian at most, for which
`dynamics.small_angles` is as good as a sine of the sum; what is longer is not believed, whatever its gap. And a planar
loop comes round by the sum of its turns: the angle of the product of its rotations, with no sine of any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from shiftjax.algebra import Scalar, Vec, dot, larger, largest, unit
from shiftjax.dynamics.equations import gaps
from shiftjax.dynamics.kinematics import quaternion_places
from shiftjax.dynamics.reduction import Column
from shiftjax.kernels.lane_program import Piece
from shiftjax.run.programs.integrators import PATHS
from shiftjax.run.programs.lane_program import Builder, Programs
from shiftjax.run.programs.pose_groups import GroupedPose, pose_groups
from shiftjax.run.programs.setup import ACCUMULATORS, MONITORS_PER_BLOCK, POSE_SCRATCH
from shiftjax.topology.partition import Partition

THETA = 0.25  # the largest part of a move that the first change is, and of that the second
FARTHEST = 0.5  # rad or parts of the model's length that a coordinate moves in a step
STILL = {"f64": 1e-7, "f32": 2e-5}  # the same of changes that say nothing, near the rounding of some radians
NEARER = 0.5  # part of a dyad's root by which it may be mispredicted
LEAST = {"f64": 1e-9, "f32": 3e-5}  # the same of sizes, that of a pose at which both meet: some roots of a rounding
MEASURED = ACCUMULATORS[:3]  # gap, velocity gap, condition: what a pose has of the certificate
COSINE = 0.5  # of the angle between speeds at both ends of a step
NONE = 1e-60  # of products of speeds at rest, squared


class PosePrograms(Programs):
    """Those of `ClosedPoses`."""

    def builder(self, partition: Partition) -> Builder:
        return ClosedPoses(self, partition)


class ClosedPoses(Builder):
    """A piece a substructure, and one that sums up.

    What a step begins with is predicted: the pose in q, its change in the place of speeds; in that of accelerations are
    the speeds before. The monitor of masses, which nothing here has, is how far the step is from being believed: up to
    0 it is.
    """

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        return ()

    def project_pieces(self) -> tuple[Piece, ...]:
        return (*map(self._closing_piece, range(self.setup.blocks)), self._ending_piece())

    def accumulate_piece(self) -> Piece:
        """The largest gaps and pivot condition; there is no energy."""
        blocks, acc = self.setup.blocks, self.slots("acc", len(MEASURED))
        conditions = [self.slots("mon")[MONITORS_PER_BLOCK * k + 1] for k in range(blocks)]

        def run(s: list[Scalar]) -> Vec:
            fresh = [*s[:2], largest(s[2 : 2 + blocks])]
            return [larger(old, new) for old, new in zip(s[2 + blocks :], fresh, strict=True)]

        return self.piece("accumulate poses", run, [*self.slots("rep", 2), *conditions, *acc], acc)

    def _closing_piece(self, k: int) -> Piece:
        """The pose of substructure k, its speeds and accelerations, its monitors."""
        block, plan, units = self.partition.blocks[k], self.plan, self.setup.units
        columns, order = plan.substructures[k].columns, PATHS.index(self.setup.method)
        balls = [first for first, _ in quaternion_places(plan)]
        places = [i for one in plan.coordinates_in(k) for i in range(plan.nq)[plan.coordinates[one].places]]

        def run(s: list[Scalar]) -> Vec:
            q, v, _, lane = self.split(s[: len(self.state_slots)])
            ahead, before = ([values[i] / units[i] for i in columns] for values in (v, s[len(self.state_slots) :]))
            move = largest([abs(x) for x in ahead])
            for first in balls:  # the prediction leaves their lengths off 1 by h^2, which is no change of pose
                q[first : first + 4] = unit(q[first : first + 4])
            pose = GroupedPose(q)
            groups = pose_groups(self.setup, k, block, lane.rows(lane.motion(q, None), k))
            for group in groups:
                group.close(lane, pose)
            q = pose.q
            closed = lane.rows(lane.motion(q, None), k)
            for group in groups:
                group.measured(lane, q, closed)
            rows = closed if order or pose.last is None else pose.last
            solved = lane.solve(block, rows, rows.nu, at_once=True)
            v = _replaced(v, columns, solved.particular)
            gap, residual = gaps([closed], v, lane.length)
            a: Column = {}
            if order > 1:
                rows = lane.rows(lane.motion(q, v), k)
                solved = lane.solve(block, rows, rows.gamma, at_once=True)
                a = solved.particular
            after = [v[i] / units[i] for i in columns]
            doubt = largest([*self._doubts(move, pose), move - FARTHEST, _turned(before, after)])
            monitors = [0.0, solved.squared_condition, solved.squared_condition]
            rates = [*(v[i] for i in columns), *(a.get(i, 0.0) for i in columns)]
            return [*(q[i] for i in places), *rates, *monitors, doubt, gap, residual if order else 0.0]

        first = MONITORS_PER_BLOCK * k
        outputs = [
            *(self.slots("q")[i] for i in places),
            *(self.slots(name)[i] for name in ("x", "dx") for i in columns),
            *self.slots("mon")[first : first + MONITORS_PER_BLOCK],
            *self._scratch(k),
        ]
        inputs = [*self.state_slots, *self.slots("dx", self.nv)]
        piece = self.piece(f"pose {k}", run, inputs, outputs, (block, order))
        return replace(piece, together=self.setup.blocks == 1)

    def _doubts(self, move: Scalar, pose: GroupedPose) -> list[Scalar]:
        """By how much changes shrink too little, and dyads are nearer to the assembly that is not predicted."""
        still, least = STILL[self.setup.precision], LEAST[self.setup.precision]
        shrinking = [
            later - (THETA * earlier + still) for sizes in pose.sizes for earlier, later in pairwise([move, *sizes])
        ]
        return [*shrinking, *(abs(x.before - x.after) + least * x.size - NEARER * abs(x.after) for x in pose.roots)]

    def _ending_piece(self) -> Piece:
        """The largest gaps and doubt; what no pose has, energies and rates of forces, is 0."""
        others = [*self.slots("x")[self.nv :], *self.slots("dx")[self.nv :]]
        blocks = range(self.setup.blocks)

        def run(s: list[Scalar]) -> Vec:
            doubt, gap, residual = (largest(s[i::POSE_SCRATCH]) for i in range(POSE_SCRATCH))
            return [*[0.0] * len(others), gap, doubt, gap, residual, 0.0, 0.0]

        inputs = [slot for k in blocks for slot in self._scratch(k)]
        outputs = [*others, *self.slots("mon")[-2:], *self.slots("rep")]
        return self.piece("pose", run, inputs, outputs)

    def _scratch(self, k: int) -> list[int]:
        return self.slots("scratch")[POSE_SCRATCH * k : POSE_SCRATCH * (k + 1)]


def _turned(before: Vec, after: Vec) -> Scalar:
    """By how much two speeds point apart, above 0 for a cosine below `COSINE`; of one that is at rest it is 0."""
    product = dot(before, after)
    return COSINE**2 * (dot(before, before) * dot(after, after)) - product * abs(product) - NONE


def _replaced(values: Vec, places: Sequence[int], by: Column) -> Vec:
    """Values of which some are others; 0 where nothing is said of them."""
    out = list(values)
    for k in places:
        out[k] = by.get(k, 0.0)
    return out
