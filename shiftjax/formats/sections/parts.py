"""Bodies, frames and what else stands alone: one element of a document to one record."""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.formats.sections.geometry import filenames, geometry
from shiftjax.formats.values.entry import Entry, opened
from shiftjax.formats.values.names import Names, unique_names
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.fields import INERTIA, TERRAIN, numbers_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.physical import faults
from shiftjax.mechanism.records import FIXED, Body, Frame, FrameRef, Geometry, Inertia, Light, Terrain

TERRAIN_KEYS = {key: field for field in TERRAIN for key in field.every_key}


def frames(node: Node, units: Units) -> tuple[Frame, ...]:
    """A list of frames."""
    nodes = [opened(item, "a frame") for item in node.items()]
    entries = [Entry(item, "a frame", units) for item in nodes]
    return tuple(
        Frame(name, entry("T"), entry("R"), entry("rotation"), entry("comment"))
        for name, entry in zip(unique_names(nodes, "a frame"), entries, strict=True)
    )


def body(node: Node, name: str, units: Units) -> Body:
    """A body in either notation of inertia; one without mass is massless."""
    mass, inertia = _mass_and_inertia(node, units)
    entry = Entry(node, "a body", units)
    record = Body(
        name,
        mass,
        entry("center_of_mass"),
        inertia,
        frames(node["frames"], units),
        _geometry(node, units),
        entry("collision_geometry"),
        entry("active"),
        entry("comment"),
        entry("gravity_scale"),
        entry("lock"),
        entry("virtual"),
        entry("data"),
    )
    _check_physical(node, record)
    return record


def _mass_and_inertia(node: Node, units: Units) -> tuple[float, Inertia]:
    new, old = node.has("inertia"), node.has("moment_of_inertia")
    if new and old:
        node.refuse("one of them", "Remove one.", "both 'inertia' and 'moment_of_inertia'")
    key = "inertia" if new else "moment_of_inertia"
    if not new and not old:
        return node["mass"].number(0.0, units.factor("kg")), Inertia()
    block = opened(node[key], "an inertia")
    inside = block["mass"].number(None, units.factor("kg"))
    outside = node["mass"].number(None, units.factor("kg"))
    if inside is not None and outside is not None and inside != outside:
        node.refuse("one mass", "Remove one.", f"mass {outside:g} beside and {inside:g} inside {key!r}")
    if old and inside is not None:
        block.warn("the mass stands inside 'moment_of_inertia'; it is taken from there")
    mass = inside if inside is not None else outside
    entries = {entry: block[entry].number(0.0, units.factor("kg m^2")) for entry in INERTIA}
    return 0.0 if mass is None else mass, Inertia(**entries)


def _check_physical(node: Node, record: Body) -> None:
    """Refuses masses that no body has; warns of moments, which some public files state and which may never act."""
    for fault in faults(record, numbers_of(record)):
        if fault.bad[0] and fault.certain:
            node.refuse(fault.allowed, fault.todo, fault.found(0))
        if fault.bad[0]:
            node.warn(f"no body has the inertia of {record.name!r}: found {fault.found(0)}; allowed: {fault.allowed}")


def _geometry(node: Node, units: Units) -> tuple[Geometry, ...]:
    if node.has("definition") and node.has("geometry"):
        node.refuse("one of them", "Remove one.", "both 'definition' and 'geometry'")
    if node.has("definition"):
        return (Geometry("mesh", filenames(node["definition"])),)
    value = node["geometry"]
    nodes = [value] if isinstance(value.value, Mapping) else value.items()
    return tuple(geometry(item, units) for item in nodes)


def light(node: Node, name: str, names: Names, units: Units) -> Light:
    entry = Entry(node, "a light", units)
    options = {key: node[key].frozen() for key in ("comment", "active") if node.has(key)}
    if node.has("cone"):
        options["cone"] = entry("cone")
    colours = {key: entry(key) for key in ("Ka", "Kd", "Ks")}
    return Light(name, entry("type"), _parent(node, names), **colours, options=FrozenJson(options))


def terrain(node: Node, name: str, names: Names, units: Units) -> Terrain:
    entry = Entry(node, "a terrain", units)
    options: dict[str, object] = {}
    for key in map(str, node.value):
        field = TERRAIN_KEYS[key]
        if key in ("name", "parent") or not field.written or not node.has(key):
            continue
        if field.key in options:
            node.refuse("one of them", "Remove one.", f"two keys for {field.key!r}")
        options[field.key] = node[key].vector(2, units.factor(field.unit)) if key == "scale" else node[key].frozen()
    if node.has("x_scale") or node.has("y_scale"):
        if "scale" in options:
            node.refuse("one of them", "Remove one.", "both 'scale' and 'x_scale', 'y_scale'")
        each = (entry(key) for key in ("x_scale", "y_scale"))
        options["scale"] = tuple(1.0 if extent is None else extent for extent in each)
    return Terrain(name, _parent(node, names), FrozenJson(options))


def _parent(node: Node, names: Names) -> FrameRef:
    """The parent of a light or terrain: a reference, or the plain name of a frame of ground."""
    parent = node["parent"]
    if parent.value is None:
        return FrameRef(FIXED)
    if isinstance(parent.value, str) and ":" not in parent.value:
        return names.frame(Node([FIXED, parent.value], parent.where, parent.warnings), "")
    return names.frame(parent, "")
