"""The equations that stand in a model, as functions of a run. Host only, no jax."""

from __future__ import annotations

from shiftjax.constraints import CONSTRAINTS, CoordinateFunction
from shiftjax.joints import KINDS
from shiftjax.measures.equations import listed_equation
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import natural_key, split


def ties_in(model: Model) -> dict[str, CoordinateFunction]:
    """Path -> function of the equations in a model, in the order in which its plan counts them.

    Raises:
        ModelError: a text that is no equation of its joints' coordinates.
    """
    return {
        path: CoordinateFunction(
            item.joints,
            listed_equation(item.values["equation"], len(item.joints), f"{path}.equation"),
            unit_of_coordinate(item.joints[0], model),
        )
        for path, item in sorted(model.constraints(), key=lambda pair: natural_key(pair[0]))
        if CONSTRAINTS[item.type].by_text
    }


def unit_of_coordinate(path: str, model: Model) -> str:
    """Of a coordinate, "rad" or "m": what a tie is off by is measured in that of its first one."""
    joint, field = split(path)
    kind = KINDS[dict(model.joints())[joint].type]
    return kind.coordinates[kind.named(field)[0]].unit
