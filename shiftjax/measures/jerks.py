"""Third derivatives of coordinates by time, of mechanisms that drivers lead whole; lane code.

Problem: a = J^-1 gamma of every substructure, a function of q, v and t alone; its rate along the motion, q' by v, v'
= a, t' = 1, by forward mode, is the jerk. Where forces decide accelerations their rates would enter, which nobody
states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.kinematics import coordinate_rates
from shiftjax.errors import ModelError
from shiftjax.lanes.building import inner_graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.outside import applied
from shiftjax.topology.partition import free_speeds


def of_coordinates(state: Any, which: Sequence[int]) -> Vec:
    """The jerk of every speed of some coordinates.

    Raises:
        ModelError: freedoms that forces move, or that stand still for want of a driver.
    """
    plan = state.lane.plan
    free = [*free_speeds(plan), *(k for block in state.partition.blocks for k in block.independent)]
    if free:
        fault = f"{plan.speed_names()[free[0]]}, whose acceleration no driver says"
        raise ModelError("channel jerk", fault, "mechanisms all of whose freedoms are driven", "Drive them all.")
    return [state.jerks[speed] for k in which for speed in plan.coordinates[k].speeds]


def of_state(state: Any) -> dict[int, Scalar]:
    """The jerk of every speed of the substructures."""
    plan, partition = state.lane.plan, state.partition
    nq, count = plan.nq, plan.nq + plan.nv + 1
    speeds = [speed for block in plan.substructures for speed in block.columns]

    def accelerations(x: list[Scalar]) -> Vec:
        lane = replace(state.lane, t=x[-1])
        motion, by_speed = lane.motion(x[:nq], x[nq:-1]), dict[int, Scalar]()
        for s, block in enumerate(partition.blocks):
            rows = lane.rows(motion, s)
            by_speed |= lane.solve(block, rows, rows.gamma).particular
        return [by_speed.get(speed, 0.0) for speed in speeds]

    graph = inner_graph_of(accelerations, count)
    rates = forward(graph, count + len(graph.outer), range(count), range(len(speeds)), 1)
    along = [*coordinate_rates(plan, state.q, state.v), *state.a, 1.0]
    values = applied(rates, [*state.q, *state.v, state.lane.t, *graph.outer, *along])
    return dict(zip(speeds, values[len(speeds) :], strict=True))
