"""What motions of the loops alone a coordinate takes part in: its mobility, and its slopes by the drivers; lane code.

Problem: all speeds that the loops of a substructure allow, drivers let go, are the null space of their Jacobian: a
column for each independent coordinate and one for a unit speed of each driver span it. The mobility of a coordinate
is its entry on the diagonal of the projector on that space, dimensionless: 1 where it moves freely, 0 where it cannot
move; all of a substructure add up to its freedoms. Where there is one freedom the roots of two are as the speeds of
their joints: the root of their ratio is the mechanical advantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftjax.algebra import Scalar, Vec, dot, minus, scale, total
from shiftjax.topology.plan import Plan


def of_coordinates(state: Any, which: Sequence[int]) -> Vec:
    """The mobility of every speed of some coordinates."""
    coordinates = state.lane.plan.coordinates
    return [_mobility(state, speed) for k in which for speed in coordinates[k].speeds]


def _mobility(state: Any, speed: int) -> Scalar:
    s = _block(state.lane.plan, speed)
    if s is None:
        return 1.0
    place = state.lane.plan.substructures[s].columns.index(speed)
    return total([q[place] * q[place] * (1.0 / dot(q, q)) for q in _orthogonal(state, s)])


def _orthogonal(state: Any, s: int) -> list[Vec]:
    """Orthogonal dimensionless motions of a substructure, by modified Gram-Schmidt without roots."""
    units, columns = state.lane.units, state.lane.plan.substructures[s].columns
    motions = [*state.motions_of_loops[s][0], *state.motions_of_loops[s][1].values()]
    out: list[Vec] = []
    for motion in motions:
        left = [motion.get(speed, 0.0) * (1.0 / units[speed]) for speed in columns]
        for q in out:
            left = minus(left, scale(dot(q, left) * (1.0 / dot(q, q)), q))
        out.append(left)
    return out


def influence(state: Any, which: Sequence[int]) -> Vec:
    """The slope of every speed of some coordinates by each driver: influence coefficients, rad or m by rad or m.

    Benedict, Tesar, Model formulation of complex mechanisms with multiple inputs, J. Mech. Des. 100 (1978) 747.
    """
    plan, drivers = state.lane.plan, drivers_of(state.lane.plan)
    out: Vec = []
    for speed in (speed for k in which for speed in plan.coordinates[k].speeds):
        s = _block(plan, speed)
        motions = {} if s is None else state.motions_of_loops[s][1]
        out += [motions.get(k, {}).get(speed, 0.0) for k in drivers]
    return out


def drivers_of(plan: Plan) -> list[int]:
    """The constraints that say where one coordinate is, in the order of the plan."""
    return [k for k, group in enumerate(plan.constraints) if group.prescribes]


def influence_unit(plan: Plan, which: Sequence[int]) -> str:
    """Of slopes, where all have the same."""
    inputs = {plan.coordinates[plan.constraints[k].coordinates[0]].unit for k in drivers_of(plan)}
    units = {f"{plan.coordinates[k].unit}/{unit}" for k in which for unit in inputs}
    return units.pop() if len(units) == 1 else "mixed"


def _block(plan: Plan, speed: int) -> int | None:
    return next((s for s, block in enumerate(plan.substructures) if speed in block.columns), None)
