"""Derivatives that runs with events have not: which are refused, by the name of the event. Host code."""

from __future__ import annotations

from shiftjax.errors import ModelError
from shiftjax.run.beginning import Begun
from shiftjax.topology.changeable import of_loops


def acting(begun: Begun) -> bool:
    """Whether events stop members or set numbers, which forward mode does not follow."""
    return any(one.event.action != "mark" for one in begun.measured.events.values())


def changed_loops(begun: Begun) -> tuple[tuple[str, str], ...]:
    """Name of an event, and path, of every number that events set of closed loops whose jump has no derivative.

    It has one where the loops do not move with time, and have coordinates of one number alone: of a ball joint a part
    of the speeds may be independent.
    """
    setup, plan = begun.lanes.setup, begun.prepared.plan
    tied = {k for block in plan.substructures for k in block.joints}
    if not plan.time_dependent and all(one.plain for one in plan.coordinates if one.joint in tied):
        return ()
    moved = of_loops(plan)
    places = ((name, setup.varied[row]) for name, law in setup.laws for row, _ in law)
    return tuple((name, plan.numbers[place].path) for name, place in places if place in moved)


def refuse_changed_loops(begun: Begun) -> None:
    """Raises where events set numbers of closed loops that jump without a derivative."""
    for name, path in changed_loops(begun):
        fault = "a number of loops that are driven or have ball joints, of a run that is differentiated"
        allowed = "numbers of forces, bodies and of other loops"
        raise ModelError(f"event {name}: values: {path}", fault, allowed, "Compare runs with other numbers.")


def refuse_acting(begun: Begun) -> None:
    """Raises where events stop members or set numbers, which forward mode does not follow."""
    for one in (event for event in begun.measured.events.values() if event.event.action != "mark"):
        todo = "Take jax.grad, jax.vjp or jax.jacrev in place of jax.jvp and jax.jacfwd, or let it mark."
        fault = f"{one.event.action}, of a run that is differentiated forward"
        raise ModelError(f"event {one.name}: action", fault, "mark, or reverse mode", todo)
