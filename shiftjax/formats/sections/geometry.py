"""Shapes of a body: one entry of `geometry` to one record and back. They are drawn and change no motion.

Every shape may have its own offset on the body (`T`, `R`, `rotation`, as a frame's) and a `colour`. Boxes, spheres,
ellipsoids, cylinders, cones and capsules are centred on the offset, the last three along its z; an arrow starts there.
A multisphere is the convex hull of its `spheres` [x, y, z, radius].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shiftjax.field import Field, keys_of
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson, thaw
from shiftjax.mechanism.records import Geometry
from shiftjax.mechanism.scene_fields import GEOMETRIES, SHAPED

KEYS = {type: keys_of((*SHAPED, *fields)) for type, fields in GEOMETRIES.items()}
SHARED: dict[str, Callable[[Node, Units], Any]] = {
    "comment": lambda node, units: node.comment(),
    "T": lambda node, units: node.vector3(scale=units.length),
    "R": lambda node, units: node.rotation(),
    "rotation": lambda node, units: node.vector3(scale=units.angle),
    "colour": lambda node, units: _colour(node),
}


def geometry(node: Node, units: Units) -> Geometry:
    """A shape whose type, keys and sizes are checked.

    Raises:
        ModelError: an unknown type, a key of another type, a size that is none.
    """
    if not isinstance(node.value, Mapping):
        node.refuse("an object (a geometry)", "Write { ... }.")
    if not node.has("type") and not node.has("filename"):
        node.refuse(f"a type, one of {', '.join(GEOMETRIES)}, or the filename of a mesh", "Say which shape it is.")
    type = node["type"].choice(GEOMETRIES, "mesh")
    block = node.object(f"a geometry of type {type}", KEYS[type], {})
    options = {key: read(block[key], units) for key, read in SHARED.items() if block.has(key)}
    if type == "mesh":
        if block.has("scale"):
            options["scale"] = _factors(block["scale"])
        return Geometry(type, filenames(block["filename"]), FrozenJson(options))
    fields = sorted(GEOMETRIES[type], key=lambda field: field.key)
    options |= {field.key: _size(block[field.key], field, units.length) for field in fields}
    return Geometry(type, (), FrozenJson(options))


def written(shape: Geometry) -> dict[str, Any]:
    """The entry of a shape; `geometry` of it gives an equal one."""
    names = {"filename": list(shape.filename)} if shape.filename or shape.type == "mesh" else {}
    return {"type": shape.type, **names, **thaw(shape.options)}


def filenames(node: Node) -> tuple[str, ...]:
    """A mesh file and its companions."""
    if isinstance(node.value, str):
        return (node.value,)
    return tuple(item.text() for item in node.items())


def _factors(node: Node) -> tuple[float, ...]:
    """Of a mesh along its axes; one below 0 mirrors it."""
    factors = node.vector3()
    if 0.0 in factors:
        node.refuse("factors other than 0", "Correct it.")
    return factors


def _size(node: Node, field: Field, scale: float) -> Any:
    """Lengths [m]: one above 0, a list of them above 0, or rows of coordinates."""
    if field.shape in ("points", "spheres"):
        rows = _rows(node, 3 if field.shape == "points" else 4, field.fewest, scale)
        if field.shape == "spheres" and min(row[3] for row in rows) <= 0:
            node.refuse("rows [x, y, z, radius] with radii above 0", "Correct the radius.")
        return rows
    count = {"vector": 3, "pair": 2}.get(field.shape)
    size = node.number(scale=scale) if count is None else node.vector(count, scale)
    if np.min(size) <= 0:
        node.refuse("lengths above 0", "Correct it.")
    return size


def _rows(node: Node, width: int, fewest: int, scale: float) -> tuple[tuple[float, ...], ...]:
    rows = tuple(row.vector(width, scale) for row in node.items())
    if len(rows) < fewest:
        node.refuse(f"{fewest} or more lists of {width} numbers", "Add some.", f"{len(rows)} of them")
    return rows


def _colour(node: Node) -> tuple[float, ...]:
    """Red, green, blue and perhaps opacity, as on a screen."""
    colour = node.vector()
    if len(colour) not in (3, 4) or not all(0 <= part <= 1 for part in colour):
        node.refuse("3 or 4 numbers from 0 to 1", "Write [red, green, blue] or [red, green, blue, opacity].")
    return colour
