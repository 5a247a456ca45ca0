"""Ends of the ways of joints: stops of a model, as poses that know no forces take them."""

from __future__ import annotations

from dataclasses import dataclass

from shiftjax.topology.plan import Plan, TreeCoordinate


@dataclass(frozen=True)
class StopEnd:
    """One end of the way of a coordinate.

    Attributes:
        coordinate: of the plan. end: -1 of the lower, 1 of the upper one. number: its place among the plan's numbers.
    """

    coordinate: TreeCoordinate
    end: int
    number: int


def stops_of(plan: Plan) -> list[StopEnd]:
    """Both ends of every force of the kind `stop`; one that is `forces.stops.FAR` away is none."""
    out: list[StopEnd] = []
    for element in plan.forces:
        if element.kind == "stop":
            numbers, one = dict(element.numbers), plan.coordinates[element.coordinates[0]]
            for name, end in (("lower", -1), ("upper", 1)):
                place = numbers[name]
                assert isinstance(place, int)
                out.append(StopEnd(one, end, place))
    return out
