"""A four-bar of parameters and points, and the same with its numbers written out."""

from __future__ import annotations

from typing import Any

import shiftjax
from shiftjax import Model
from shiftjax.formats.writer import to_dict

LENGTH, DENSITY = 0.2, 2.5  # of the crank [m, kg/m]
PIVOT = (0.5, 0.0, 0.0)  # of the rocker
PARAMETERS = {
    "L": {"value": LENGTH, "unit": "length", "minimum": 0.1, "maximum": 0.3, "description": "length of the crank"},
    "density": {"value": DENSITY, "unit": "kg/m"},
    "middle": {"value": "L / 2", "unit": "length"},
}
FOLLOWING = ("parameters.middle", "four_bar:crank.mass", "four_bar:crank:tip.T[0]", "four_bar:crank.center_of_mass[0]")


def document() -> dict[str, Any]:
    """The four-bar of the library with a frame of ground at its crank's pivot, too."""
    plain = to_dict(shiftjax.load("four_bar"))
    plain["frames"].append({"name": "crank_pivot"})
    plain["assemblies"][0]["joints"][0]["parent"] = [["fixed"], "crank_pivot"]
    return plain


def with_crank(mass: Any, middle: Any, length: Any, **more: Any) -> dict[str, Any]:
    """The same where the crank has these numbers."""
    plain = {**document(), **more}
    crank = plain["assemblies"][0]["bodies"][0]
    crank["inertia"]["mass"], crank["center_of_mass"][0], crank["frames"][0]["T"][0] = mass, middle, length
    return plain


def written_out(length: float) -> Model:
    """With the numbers that a length of the crank gives."""
    return shiftjax.load(with_crank(DENSITY * length, length / 2, length))


def named() -> Model:
    """With parameters for the crank and a point for the rocker's pivot."""
    points = {"A": {"position": list(PIVOT), "description": "pivot of the rocker"}}
    return shiftjax.load(with_crank("density * L", "middle", "L", parameters=PARAMETERS, points=points))
