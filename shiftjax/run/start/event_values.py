"""Numbers that events set: which of a plan's they are, and what they become. Host code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.events import events_of
from shiftjax.mechanism.model import Model
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.changeable import changeable
from shiftjax.topology.plan import Plan

ALLOWED = "a coefficient of a force, a number of a body, a joint or a frame, or gravity"
Law = tuple[tuple[int, float], ...]  # rows of numbers of lanes, and values
Judge = Callable[[Model, Sequence[str], np.ndarray], dict[int, str]]  # as `physical.impossible`
Laws = tuple[tuple[str, Law], ...]  # name of an event -> what it sets


def with_laws(
    plan: Plan, model: Model, varied: Sequence[int], events: Mapping[str, Any] | None
) -> tuple[tuple[int, ...], Laws]:
    """Places of the numbers that lanes have, those that events set behind the varied ones; and what events set.

    Raises:
        ModelError: no event, no such number, one that is there twice, or one that says where a run starts or how it is
            driven.
    """
    values = _values(plan, model, events or {})
    places = tuple(dict.fromkeys((*varied, *(k for law in values.values() for k in law))))
    laws = ((name, tuple((places.index(k), value) for k, value in law.items())) for name, law in values.items())
    return places, tuple(laws)


def _values(plan: Plan, model: Model, events: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """Name of an event -> place of a number of the plan -> value."""
    place, may = {number.path: k for k, number in enumerate(plan.numbers)}, set(changeable(plan))
    laws: dict[str, dict[int, float]] = {}
    for name, event in events_of(events).items():
        if event.action != "set":
            continue
        numbers, laws[name] = model.replace(event.values).numbers(), {}
        for stated in event.values:
            path = model.resolve(stated)
            where = f"event {name}: values: {stated}"
            if place.get(path) not in may:
                what = plan.numbers[place[path]].role.value if path in place else "a number that no run reads"
                todo = "Let the event stop the run, and begin another one there."
                raise ModelError(where, what, ALLOWED, todo)
            if place[path] in laws[name]:
                fault = f"the same number twice, {path}"
                raise ModelError(where, fault, "each number once", "Leave one of them out.")
            laws[name][place[path]] = numbers[path]
    return laws


# -- members whose events set what no mechanism can have -----------------------------------------------------------


def with_events(prepared: Prepared, judge: Judge) -> dict[int, str]:
    """Member -> what a judge says of its numbers, or of those that it has once an event has set some of them."""
    values, setup = prepared.values, prepared.setup
    faulty = judge(prepared.model, prepared.vary, values)
    for name, law in setup.laws:
        numbers = dict(zip(prepared.vary, values, strict=True))
        for row, value in law:
            numbers[prepared.plan.numbers[setup.varied[row]].path] = np.full(prepared.members, value)
        causes = judge(prepared.model, (*numbers,), np.array([*numbers.values()]))
        faulty = {**{k: f"event {name}: {cause}" for k, cause in causes.items()}, **faulty}
    return faulty
