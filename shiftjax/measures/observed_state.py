"""A state with derived quantities for the channels, each computed once and only when a channel reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.lane import BlockSolution, Lane
from shiftjax.dynamics.reactions import Reactions, with_loads
from shiftjax.dynamics.reduction import Column
from shiftjax.dynamics.tree import tree_terms
from shiftjax.measures import jerks
from shiftjax.topology.partition import Partition


@dataclass
class ObservedState:
    """One state: coordinates, speeds, states of the forces.

    Attributes:
        accelerations: gives (nv,) those of all joints, where a channel reads them.
    """

    lane: Lane
    partition: Partition
    q: Vec
    v: Vec
    states: Vec
    accelerations: Callable[[], Vec]

    @cached_property
    def a(self) -> Vec:
        return self.accelerations()

    @cached_property
    def motion(self) -> Motion:
        return self.lane.motion(self.q, self.v)

    @cached_property
    def loaded(self) -> Motion:
        """The motion, with what presses the joints of forces that depend on it."""
        at_rest = [0.0] * self.lane.plan.nv  # the accelerations are those of all forces
        return with_loads(self.lane, self.partition.blocks, self.motion, self.states, self.a, lambda _: at_rest)

    @cached_property
    def energies(self) -> dict[str, Scalar]:
        tree = tree_terms(self.motion, self.lane.gravity(), self.states)
        return {
            "kinetic": tree.kinetic,
            "potential": tree.potential,
            "total": tree.kinetic + tree.potential,
        }

    @cached_property
    def reactions(self) -> Reactions:
        tree = tree_terms(self.loaded, self.lane.gravity(), self.states, self.a)
        return Reactions(self.lane, self.partition.blocks, self.loaded, tree)

    @cached_property
    def motions_of_loops(self) -> list[tuple[list[Column], dict[int, Column]]]:
        """Of every substructure the speeds for a unit of each independent one, and by driver for a unit of its rate."""
        lane, out = self.lane, list[tuple[list[Column], dict[int, Column]]]()
        for s, block in enumerate(self.partition.blocks):
            rows, by_driver, row = lane.rows(self.motion, s), dict[int, Column](), 0
            for k in lane.plan.substructures[s].groups:
                if lane.plan.constraints[k].prescribes:
                    right: Vec = [0.0] * len(rows.phi)
                    right[row] = 1.0
                    by_driver[k] = lane.solve(block, rows, right).particular if row in block.primary else {}
                row += lane.plan.constraints[k].rows
            out.append((lane.solve(block, rows, rows.phi).Z, by_driver))
        return out

    @cached_property
    def jerks(self) -> dict[int, Scalar]:
        """Third derivatives of the coordinates by speed, where drivers lead them all."""
        return jerks.of_state(self)

    def block(self, index: int) -> BlockSolution:
        rows = self.lane.rows(self.motion, index)
        return self.lane.solve(self.partition.blocks[index], rows, rows.phi)
