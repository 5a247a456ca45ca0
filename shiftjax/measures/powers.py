"""Powers: of every force, driver and constraint, of gravity, and the rate of the kinetic energy.

A force's power is that of its load along the motion, whatever it says of its potential and its losses; of a spring it
is minus the rate of its energy. Together d(kinetic)/dt = gravity + forces + constraints, since joints and closed loops
do no work. Lane code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from shiftjax.algebra import Vec, dot, total, zeros
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.reactions import Reactions
from shiftjax.dynamics.tree import gravity_power, loads, tree_terms


class MovingState(Protocol):
    """What of an `ObservedState` powers follow from."""

    lane: Lane
    v: Vec
    states: Vec
    a: Vec

    @property
    def motion(self) -> Motion: ...

    @property
    def loaded(self) -> Motion: ...

    @property
    def reactions(self) -> Reactions: ...


def of_forces(state: MovingState, which: Sequence[int] | None) -> Vec:
    """Of some forces of the plan together, or of all [W]."""
    motion = state.loaded
    load, _ = loads(motion, state.states, which)
    powers = [force * state.v[speed] for speed, force in load.generalized.items()]
    for node, (moment, force) in load.wrenches.items():
        body = motion.rooted.node(node)
        powers.append(dot(moment, body.w) + dot(force, body.u))
    return [total(powers)]


def of_constraint(state: MovingState, k: int) -> Vec:
    """Of a driver or constraint of the plan [W]: its multipliers times J v, the rates of what it prescribes."""
    group = state.lane.plan.constraints[k]
    rates = [dot(list(J.values()), [state.v[speed] for speed in J])
             for J in CONSTRAINTS[group.kind].rows(group, state.motion).J]  # fmt: skip
    return [dot(state.reactions.of_constraint(k), rates)]


def of_constraints(state: MovingState, _: Any) -> Vec:
    """Of all that change with time [W]; others do no work."""
    groups = state.lane.plan.constraints
    return [total([of_constraint(state, k)[0] for k, group in enumerate(groups) if group.time_dependent])]


def of_drive(state: MovingState, coordinate: int) -> Vec:
    """Of the driver of a coordinate of the plan [W]."""
    groups = state.lane.plan.constraints
    return of_constraint(state, next(k for k, g in enumerate(groups) if g.prescribes and coordinate in g.coordinates))


def of_gravity(state: MovingState, _: Any) -> Vec:
    """[W]"""
    return [gravity_power(state.motion, state.lane.gravity())]


def of_inertia(state: MovingState, _: Any) -> Vec:
    """The rate of the kinetic energy [W]: v (H a + h), of bodies on which neither gravity nor forces act."""
    tree = tree_terms(state.motion, zeros(), state.states, state.a, ())
    return [-dot(tree.force, state.v)]
