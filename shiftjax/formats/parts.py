"""Bodies, frames and what else stands alone: one element of a document to one record."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.formats.geometry import filenames, geometry
from shiftjax.formats.names import Names, unique_names
from shiftjax.formats.node import Node, show
from shiftjax.formats.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import (
    FIXED,
    Body,
    ForceModule,
    Frame,
    FrameRef,
    Geometry,
    Inertia,
    Light,
    Terrain,
)

ENTRIES = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")
LIGHTS = {"point", "spot", "directional"}
MODULES = {"tire", "pid"}
TERRAIN_KEYS: dict[str, str] = {  # naming variants of the public files
    "definition": "elevation_map",
    "filename": "elevation_map",
    "texture": "diffuse_map",
    "texture_filename": "diffuse_map",
}


def frames(node: Node, units: Units) -> tuple[Frame, ...]:
    """A list of frames."""
    nodes = [item.object("a frame") for item in node.items()]
    return tuple(
        Frame(
            name,
            item["T"].vector3((0.0, 0.0, 0.0), units.length),
            item["R"].rotation(),
            item["rotation"].vector3((0.0, 0.0, 0.0), units.angle),
            item["comment"].comment(),
        )
        for name, item in zip(unique_names(nodes, "a frame"), nodes, strict=True)
    )


def body(node: Node, name: str, units: Units) -> Body:
    """A body in either notation of inertia; one without mass is massless."""
    mass, inertia = _mass_and_inertia(node, units)
    if mass < 0:
        node.refuse("a mass of 0 or more", "Correct the mass.", f"mass {mass:g}")
    _check_physical(node, name, inertia)
    return Body(
        name,
        mass,
        node["center_of_mass"].vector3((0.0, 0.0, 0.0), units.length),
        inertia,
        frames(node["frames"], units),
        _geometry(node, units),
        node["collision_geometry"].text() if node.has("collision_geometry") else None,
        node["active"].flag(True),
        node["comment"].comment(),
    )


def _mass_and_inertia(node: Node, units: Units) -> tuple[float, Inertia]:
    new, old = node.has("inertia"), node.has("moment_of_inertia")
    if new and old:
        node.refuse("one of them", "Remove one.", "both 'inertia' and 'moment_of_inertia'")
    key = "inertia" if new else "moment_of_inertia"
    if not new and not old:
        return node["mass"].number(0.0, units.mass), Inertia()
    block = node[key].object("an inertia")
    inside = block["mass"].number(None, units.mass)
    outside = node["mass"].number(None, units.mass)
    if inside is not None and outside is not None and inside != outside:
        node.refuse("one mass", "Remove one.", f"mass {outside:g} beside and {inside:g} inside {key!r}")
    if old and inside is not None:
        block.warn("the mass stands inside 'moment_of_inertia'; it is taken from there")
    mass = inside if inside is not None else outside
    entries = {entry: block[entry].number(0.0, units.inertia) for entry in ENTRIES}
    return 0.0 if mass is None else mass, Inertia(**entries)


def _check_physical(node: Node, name: str, inertia: Inertia) -> None:
    """Warns where no distribution of mass has these principal moments (each at most the sum of the others).

    A thousandth is allowed for the rounding of files that give four digits.
    """
    matrix = np.array(inertia.matrix)
    size = np.abs(matrix).max()
    if size == 0.0:
        return
    a, b, c = np.linalg.eigvalsh(matrix / size)
    if a < -1e-6 or c > (a + b) + 1e-3 * c:
        moments = ", ".join(f"{x * size:.4g}" for x in (a, b, c))
        node.warn(f"the inertia of body {name!r} is not physical: principal moments {moments} kg m^2")


def _geometry(node: Node, units: Units) -> tuple[Geometry, ...]:
    if node.has("definition") and node.has("geometry"):
        node.refuse("one of them", "Remove one.", "both 'definition' and 'geometry'")
    if node.has("definition"):
        return (Geometry("mesh", filenames(node["definition"])),)
    value = node["geometry"]
    nodes = [value] if isinstance(value.value, Mapping) else value.items()
    return tuple(geometry(item, units) for item in nodes)


def light(node: Node, name: str, names: Names, units: Units) -> Light:
    options = {key: node[key].frozen() for key in ("comment", "active") if node.has(key)}
    if node.has("cone"):
        options["cone"] = node["cone"].number(scale=units.angle)
    colours = {key: node[key].vector3() if node.has(key) else None for key in ("Ka", "Kd", "Ks")}
    return Light(
        name, node["type"].choice(LIGHTS, "directional"), _parent(node, names), **colours, options=FrozenJson(options)
    )


def terrain(node: Node, name: str, names: Names, units: Units) -> Terrain:
    options: dict[str, object] = {}
    for key in map(str, node.value):
        if key in ("name", "parent", "x_scale", "y_scale") or not node.has(key):
            continue
        right = TERRAIN_KEYS.get(key, key)
        if right in options:
            node.refuse("one of them", "Remove one.", f"two keys for {right!r}")
        options[right] = node[key].vector(2, units.length) if key == "scale" else node[key].frozen()
    if node.has("x_scale") or node.has("y_scale"):
        if "scale" in options:
            node.refuse("one of them", "Remove one.", "both 'scale' and 'x_scale', 'y_scale'")
        options["scale"] = tuple(node[key].number(1.0, units.length) for key in ("x_scale", "y_scale"))
    return Terrain(name, _parent(node, names), FrozenJson(options))


def _parent(node: Node, names: Names) -> FrameRef:
    """The parent of a light or terrain: a reference, or the plain name of a frame of ground."""
    parent = node["parent"]
    if parent.value is None:
        return FrameRef(FIXED)
    if isinstance(parent.value, str) and ":" not in parent.value:
        return names.frame(Node([FIXED, parent.value], parent.where, parent.warnings), "")
    return names.frame(parent, "")


def module_kind(node: Node) -> str:
    """The type of a force module, checked before its keys."""
    if not isinstance(node.value, Mapping):
        node.refuse("an object (a force module)", "Write { ... }.")
    return node["type"].choice(MODULES)


def force_module(node: Node, name: str) -> ForceModule:
    """A tire or pid, kept as written; its keys are checked."""
    kind = node["type"].text()
    options = {key: node[key].frozen() for key in node.value if key not in ("name", "type", "active") and node.has(key)}
    if kind == "pid":
        for key in ("p", "i", "d"):
            node[key].number(0.0)
        for key in ("input", "output"):
            if node.has(key):
                node[key].object(f"a pid's {key}")
    elif not isinstance(node["wheel_body"].value, (str, list, tuple)):
        node["wheel_body"].refuse("the name of a body", "Name the wheel.", show(node["wheel_body"].value))
    return ForceModule(name, kind, node["active"].flag(True), FrozenJson(options))
