"""Numbers that events set: which of a plan's they are, and what they become. Host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.field import Role
from shiftjax.mechanism.events import events_of
from shiftjax.mechanism.model import Model
from shiftjax.topology.plan import Plan, flat

ALLOWED = "a coefficient of a force, or gravity"
Laws = tuple[tuple[str, tuple[tuple[int, float], ...]], ...]  # name of an event -> rows of numbers of lanes, and values


def with_laws(
    plan: Plan, model: Model, varied: Sequence[int], events: Mapping[str, Any] | None
) -> tuple[tuple[int, ...], Laws]:
    """Places of the numbers that lanes have, those that events set behind the varied ones; and what events set.

    Raises:
        ModelError: no event, no such number, or one that is no coefficient of a force.
    """
    values = _values(plan, model, events or {})
    places = tuple(dict.fromkeys((*varied, *(k for law in values.values() for k in law))))
    laws = ((name, tuple((places.index(k), value) for k, value in law.items())) for name, law in values.items())
    return places, tuple(laws)


def _values(plan: Plan, model: Model, events: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """Name of an event -> place of a number of the plan -> value."""
    place, may = {number.path: k for k, number in enumerate(plan.numbers)}, set(_changeable(plan))
    laws: dict[str, dict[int, float]] = {}
    for name, event in events_of(events).items():
        if event.action != "set":
            continue
        numbers, laws[name] = model.replace(event.values).numbers(), {}
        for path in map(model.resolve, event.values):
            if place.get(path) not in may:
                what = plan.numbers[place[path]].role.value if path in place else "a number that no run reads"
                todo = "Let the event stop the run, and begin another one there."
                raise ModelError(f"event {name}: values: {path}", what, ALLOWED, todo)
            laws[name][place[path]] = numbers[path]
    return laws


def _changeable(plan: Plan) -> Iterator[int]:
    """Places of numbers that may change on the way: of forces, but for what they begin with; gravity."""
    of_forces = {place for force in plan.forces for _, places in force.numbers for place in flat(places)}
    of_constraints = plan.read_by_constraints()
    for k, number in enumerate(plan.numbers):
        role = number.role
        of_law = k in of_forces and not (role.of_start or role.of_shape or role.of_mass or role is Role.LOAD)
        if (of_law or role is Role.ACCELERATION) and k not in of_constraints:
            yield k
