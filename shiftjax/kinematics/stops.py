"""Ends of the ways of joints: stops and limits of a model, as poses that know no forces take them."""

from __future__ import annotations

from dataclasses import dataclass

from shiftjax.mechanism.model import Model
from shiftjax.mechanism.posing import limits_in
from shiftjax.topology.plan import Plan, TreeCoordinate


@dataclass(frozen=True)
class WayEnd:
    """One end of the way of a coordinate.

    Attributes:
        coordinate: of the plan. end: -1 of the lower, 1 of the upper one. number: its place among the plan's numbers.
    """

    coordinate: TreeCoordinate
    end: int
    number: int


def ends_of_ways(model: Model, plan: Plan) -> list[WayEnd]:
    """Both ends of every force of the kind `stop`, and those of the limits that joints state; the tighter one counts.

    A stop that is `forces.stops.FAR` away is none.
    """
    out: list[WayEnd] = []
    for element in plan.forces:
        if element.kind == "stop":
            numbers, one = dict(element.numbers), plan.coordinates[element.coordinates[0]]
            for name, end in (("lower", -1), ("upper", 1)):
                place = numbers[name]
                assert isinstance(place, int)
                out.append(WayEnd(one, end, place))
    limits = [*limits_in(model)]
    if limits:
        coordinates = {one.path: one for one in plan.coordinates}
        places = {number.path: k for k, number in enumerate(plan.numbers)}
        for path, number, ends in limits:
            for k, (end, x) in enumerate(zip((-1, 1), ends, strict=True)):
                if x is not None:
                    out.append(WayEnd(coordinates[path], end, places[f"{number}[{k}]"]))
    return out
