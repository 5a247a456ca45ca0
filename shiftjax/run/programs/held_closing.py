"""Closing loops by the dependent coordinates of a partition alone: the independent ones stay where they are. Lane code.

One change of Newton's for coordinates, then speeds that agree with the loops; of a start whose held joints are the
independent ones it is what `run.closing.walks` does on the host.
"""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.algebra import Scalar, Vec, negative
from shiftjax.constraints import Rows
from shiftjax.dynamics.equations import gaps
from shiftjax.dynamics.kinematics import Motion, retract
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.reduction import Column
from shiftjax.kernels.lane_program import Piece
from shiftjax.run.programs.lane_program import Builder, Programs
from shiftjax.topology.partition import Partition


def held_closing(programs: Programs, partition: Partition) -> Piece:
    """In place of what projects: coordinates and speeds with the first two reports, by how much the loops are open."""
    builder = Builder(programs, partition)
    plan = builder.plan

    def changed(lane: Lane, motion: Motion, residual: Callable[[Rows], Vec]) -> Column:
        change: Column = {}
        for k, block in enumerate(partition.blocks):
            rows = lane.rows(motion, k)
            change |= lane.solve(block, rows, negative(residual(rows))).particular
        return change

    def run(s: list[Scalar]) -> Vec:
        q, v, _, lane = builder.split(s)
        q = retract(plan, q, changed(lane, lane.motion(q, None), lambda rows: rows.phi))
        there = lane.motion(q, None)
        change = changed(lane, there, lambda rows: rows.velocity_residual(v))
        v = [speed + change.get(k, 0.0) for k, speed in enumerate(v)]
        every = [lane.rows(there, k) for k in range(len(partition.blocks))]
        return [*q, *v, *gaps(every, v, lane.length)]

    outputs = [*builder.slots("q"), *builder.slots("x", plan.nv), *builder.slots("rep", 2)]
    return builder.piece("held closing", run, builder.state_slots, outputs, partition)
