"""What of a substructure that drivers lead is solved together, in which order, and how.

Problem: poses of all coordinates from rows and drivers. The block triangular form of the Jacobian is the list of the
mechanism's Assur groups, each of which hangs on those before it (Assur 1914; Baranov 1952): a group is a program, and
drivers, couplings of coordinates and planar dyads have theirs in closed form; all others are closed by Newton's method.
Rows of one loop stay together. Lane code, but for what is decided while it is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from shiftjax.algebra import Scalar, Vec, cross, is_zero, largest, negative, quotient
from shiftjax.constraints import CONSTRAINTS, Rows
from shiftjax.dynamics.kinematics import Motion, retract
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.planar_dyads import DyadRoot, closed_dyad, turned_by
from shiftjax.dynamics.planar_loops import PlanarDyad, planar_dyad
from shiftjax.dynamics.small_angles import SmallTurn, note_turned
from shiftjax.numerics.connected import connected
from shiftjax.run.programs.setup import Setup
from shiftjax.topology.block_triangular import block_triangular, strong_components
from shiftjax.topology.partition import Block

CHANGES = 2  # of Newton's, where no closed form is known
MEMBERS = 4  # at random, at which it is looked whether a loop stays in a plane
SPREAD = 0.3  # by which their varied numbers differ from the file's


@dataclass
class GroupedPose:
    """A pose, and how it was come to.

    Attributes:
        q: coordinates. sizes: of each group that was corrected the largest changes of each correction, dimensionless;
            of a closed form one. roots: of dyads. last: the rows of the last change, where nothing but Newton's method
            has moved loops.
    """

    q: Vec
    sizes: list[list[Scalar]] = field(default_factory=list)
    roots: list[DyadRoot] = field(default_factory=list)
    last: Rows | None = None


class PoseGroup:
    """Rows and columns of a substructure that are solved together.

    Args:
        k: of the substructure. block: the part of its partition.
    """

    def __init__(self, setup: Setup, k: int, block: Block) -> None:
        self.setup, self.k, self.block = setup, k, block

    def close(self, lane: Lane, pose: GroupedPose) -> None:
        """Changes the coordinates of the group so that its rows vanish."""
        raise NotImplementedError

    def measured(self, lane: Lane, q: Vec, closed: Rows) -> None:
        """Puts what says the same in fewer operations in place of rows at the closed pose q, of which the gap is."""

    def corrected(
        self, pose: GroupedPose, change: dict[int, Scalar], turned: Mapping[int, Sequence[SmallTurn]] | None = None
    ) -> Scalar:
        """Changes coordinates; returns the largest change.

        Their sines and cosines are turned by the changes, of which those of a believed step are small.
        """
        before, plan = pose.q, self.setup.plan
        pose.q = retract(plan, before, change)
        for one in plan.coordinates:
            if one.plain and one.unit == "rad" and one.v in change:
                turns = (turned or {}).get(one.v) or [SmallTurn.by(change[one.v])]
                note_turned(before[one.q], turns, pose.q[one.q])
        return largest([abs(quotient(x, self.setup.units[speed])) for speed, x in change.items()])


class ByNewton(PoseGroup):
    """A group of any kind."""

    def close(self, lane: Lane, pose: GroupedPose) -> None:
        sizes, by_newton = list[Scalar](), pose.last is not None or not pose.sizes
        for _ in range(CHANGES):
            rows = lane.rows(lane.motion(pose.q, None), self.k)
            pose.last = rows if by_newton else None
            sizes.append(self.corrected(pose, lane.solve(self.block, rows, negative(rows.phi)).particular))
        pose.sizes.append(sizes)


class OfLinearRow(PoseGroup):
    """A coordinate that a driver or a coupling says."""

    def close(self, lane: Lane, pose: GroupedPose) -> None:
        (row,), (speed,) = self.block.primary, self.block.dependent
        place = next(one.q for one in self.setup.plan.coordinates if one.v == speed)
        pose.q = list(pose.q)
        pose.q[place] = 0.0
        rows = lane.rows(lane.motion(pose.q, None), self.k)
        pose.q[place] = quotient(-rows.phi[row], rows.J[row][speed])


class OfDyad(PoseGroup):
    """A planar dyad."""

    def __init__(self, setup: Setup, k: int, block: Block, dyad: PlanarDyad) -> None:
        super().__init__(setup, k, block)
        self.dyad, self.turns = dyad, 0.0

    def close(self, lane: Lane, pose: GroupedPose) -> None:
        closing, pose.last = closed_dyad(self.dyad, lane, pose.q), None
        self.turns = closing.turns
        pose.sizes.append([self.corrected(pose, closing.change, closing.turned)])
        if closing.root is not None:
            pose.roots.append(closing.root)

    def measured(self, lane: Lane, q: Vec, closed: Rows) -> None:
        """Puts the angle by which the loop does not come round at coordinates q in place of its row about the normal.

        It is read off the coordinates that are recorded. Of the pin between the two links no sine is taken then, which
        is in no other row.
        """
        plan, first = self.setup.plan, 0
        for number in plan.substructures[self.k].groups:
            if plan.constraints[number] is self.dyad.group:
                normal = cross(list(self.dyad.axes[0]), list(self.dyad.axes[1]))
                if normal.count(0.0) == 2:  # an axis of the base, about which one row says all
                    row = first + next(k for k, x in enumerate(normal) if x != 0.0)
                    closed.phi[row] = turned_by(self.dyad, lane, q, self.turns)
            first += plan.constraints[number].rows


def pose_groups(setup: Setup, k: int, block: Block, rows: Rows) -> list[PoseGroup]:
    """The groups of a substructure in the order in which they can be solved.

    Args:
        rows: of the substructure on lane values, whose zeros are the pattern.
    """
    plan = setup.plan
    owners = list(chain.from_iterable([g] * plan.constraints[g].rows for g in plan.substructures[k].groups))
    pattern = [[not is_zero(rows.J[row].get(speed, 0.0)) for speed in block.dependent] for row in block.primary]
    groups: list[PoseGroup] = []
    for lines, columns in _solved_together(pattern, [owners[row] for row in block.primary]):
        part = Block(tuple(block.primary[i] for i in lines), tuple(block.dependent[i] for i in columns), ())
        groups.append(_group(setup, k, part, {owners[row] for row in part.primary}))
    return groups


def _group(setup: Setup, k: int, part: Block, owners: set[int]) -> PoseGroup:
    """A group by what is known of its rows."""
    if len(owners) > 1:
        return ByNewton(setup, k, part)
    group = setup.plan.constraints[owners.pop()]
    if CONSTRAINTS[group.kind].linear and len(part.primary) == 1:
        return OfLinearRow(setup, k, part)
    if group.loop is not None and len(part.primary) == 3:
        dyad = planar_dyad(at_random(setup), group, part.dependent)
        if dyad is not None:
            return OfDyad(setup, k, part, dyad)
    return ByNewton(setup, k, part)


def _solved_together(pattern: Sequence[Sequence[bool]], owners: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Rows and columns of the blocks of a pattern, those of one owner together."""
    blocks = block_triangular(pattern)
    joined = connected([{owners[row] for row in rows} for rows, _ in blocks])
    joint = [[sorted(chain.from_iterable(blocks[b][side] for b in some)) for side in (0, 1)] for some in joined]
    home = {column: place for place, (_, columns) in enumerate(joint) for column in columns}
    needs = [
        sorted({home[j] for row in rows for j, entry in enumerate(pattern[row]) if entry} - {place})
        for place, (rows, _) in enumerate(joint)
    ]
    out: list[tuple[list[int], list[int]]] = []
    for some in strong_components(needs):
        rows, columns = (sorted(chain.from_iterable(joint[place][side] for place in some)) for side in (0, 1))
        out.append((rows, columns))
    return out


def at_random(setup: Setup) -> Motion:
    """Members whose coordinates and varied numbers are any; the same ones every time."""
    rng, plan = np.random.default_rng(0), setup.plan
    known = setup.known_numbers
    values = [known[place] + rng.uniform(-SPREAD, SPREAD, MEMBERS) for place in setup.varied]
    q = list(rng.uniform(-1.0, 1.0, (plan.nq, MEMBERS)))
    return setup.lane(values, 0.0).motion(q, None)
