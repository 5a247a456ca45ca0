"""A `link` of URDF as a body: its inertia along its own axes, its shapes, its colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np

from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.placing import ENTRIES, origin, placed
from shiftjax.formats.robots.xml_tree import XmlElement

OF_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
LARGEST = 1e300  # kg m^2: sums of nine of them are numbers, too
UNCOLOURED = "no colour is stated for the material of {}"
PACKAGE, FILE = "package://", "file://"
Colours = Mapping[str, list[float] | None]


def body(link: XmlElement, name: str, colours: Colours, notes: ReaderNotes) -> dict[str, Any]:
    """The body of a link.

    Args:
        colours: of materials by name: red, green, blue, opacity.

    Raises:
        ModelError: an element or a number that a link cannot have.
    """
    link.silent()
    link.only_once("inertial")
    notes.leave_others(link, ("name",), ("inertial", "visual", "collision"))
    document: dict[str, Any] = {"name": name, **_inertial(link), "frames": []}
    shapes = {tag: [_shape(one, colours, notes, name) for one in link.every(tag)] for tag in ("visual", "collision")}
    if drawn := shapes["visual"] or shapes["collision"]:
        document["geometry"] = drawn
    if shapes["collision"]:
        document["data"] = {"collision": shapes["collision"]}
        notes.keep("collision shapes", name)
    return document


def _inertial(link: XmlElement) -> dict[str, Any]:
    """Mass, centre of mass, and the inertia about it along the axes of the link; nothing where it is left out."""
    inertial = link.child("inertial")
    if inertial is None:
        return {}
    inertial.only((), ("origin", "mass", "inertia"))
    T, R = origin(inertial)
    mass, inertia = inertial.needed("mass"), inertial.needed("inertia")
    mass.only(("value",))
    kilograms = mass.number("value")
    if kilograms < 0.0:
        mass.refuse(f"a mass of {kilograms:g} kg", "0 or more", "Correct the mass.")
    inertia.only(OF_INERTIA)
    xx, xy, xz, yy, yz, zz = (inertia.number(key) for key in OF_INERTIA)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.any(np.eye(3) != R):
        if np.abs(matrix).max() > LARGEST:
            inertia.refuse(
                "moments that are too large when turned by rpy", f"up to {LARGEST:g} kg m^2", "Correct them."
            )
        matrix = R @ matrix @ R.T
        matrix = 0.5 * (matrix + matrix.T)
    entries = {key: float(matrix[place]) for key, place in ENTRIES.items()}
    return {"center_of_mass": list(T), "inertia": {"mass": kilograms, **entries}}


def _shape(element: XmlElement, colours: Colours, notes: ReaderNotes, link: str) -> dict[str, Any]:
    """A `visual` or `collision` as a shape of ours."""
    element.silent()
    element.only_once("origin", "geometry", "material")
    notes.leave_others(element, ("name",), ("origin", "geometry", "material"))
    T, R = origin(element)
    geometry = element.needed("geometry")
    geometry.only((), tuple(SHAPES), once=False)
    if len(geometry.children) != 1:
        geometry.refuse(f"{len(geometry.children)} shapes", f"one of {', '.join(SHAPES)}", "Write one.")
    (solid,) = geometry.children
    shape = {**SHAPES[solid.tag](solid), **placed(T, R)}
    if element.attributes.get("name"):
        shape["comment"] = element.word("name")
    if (material := element.child("material")) is not None:
        rgba = colour(material, notes) or colours.get(material.word("name", ""))
        shape |= {} if rgba is None else {"colour": rgba}
        if rgba is None:
            notes.add(UNCOLOURED, link)
    return shape


def colour(material: XmlElement, notes: ReaderNotes) -> list[float] | None:
    """Red, green, blue and opacity that a `material` states, each from 0 to 1; None where it states none."""
    material.silent()
    notes.leave_others(material, ("name",), ("color",))
    stated = material.child("color")
    if stated is None:
        return None
    stated.only(("rgba",))
    rgba = stated.numbers("rgba", 4)
    if not all(0.0 <= part <= 1.0 for part in rgba):
        stated.refuse(f"rgba={stated.word('rgba')!r}", "4 numbers from 0 to 1", "Correct it.")
    return list(rgba)


def _sizes(solid: XmlElement, *names: str) -> list[float]:
    """Lengths above 0 [m] in attributes of one number each."""
    solid.only(names)
    sizes = [solid.number(name) for name in names]
    if min(sizes) <= 0.0:
        solid.refuse(f"lengths {', '.join(f'{size:g}' for size in sizes)}", "lengths above 0", "Correct them.")
    return sizes


def _box(solid: XmlElement) -> dict[str, Any]:
    solid.only(("size",))
    size = solid.numbers("size", 3)
    if min(size) <= 0.0:
        solid.refuse(f"size={solid.word('size')!r}", "lengths above 0", "Correct them.")
    return {"type": "box", "size": list(size)}


def _round(type: str) -> Callable[[XmlElement], dict[str, Any]]:
    def shape(solid: XmlElement) -> dict[str, Any]:
        radius, length = _sizes(solid, "radius", "length")
        return {"type": type, "radius": radius, "length": length}

    return shape


def _sphere(solid: XmlElement) -> dict[str, Any]:
    return {"type": "sphere", "radius": _sizes(solid, "radius")[0]}


def _mesh(solid: XmlElement) -> dict[str, Any]:
    """A mesh file; what follows `package://` is searched beside the file and in the folders above (`MESH_FOLDERS`)."""
    solid.only(("filename", "scale"))
    name = solid.word("filename").replace("\\", "/")
    for scheme in (PACKAGE, FILE):
        if name.startswith(scheme):
            name = unquote(name.removeprefix(scheme))
    if not name or "://" in name:
        solid.refuse(f"filename={solid.word('filename')[:60]!r}", "a path, package://... or file://...", "Correct it.")
    scale = solid.numbers("scale", 3, (1.0, 1.0, 1.0))
    if 0.0 in scale:
        solid.refuse(f"scale={solid.word('scale')!r}", "factors other than 0", "Correct it.")
    return {"type": "mesh", "filename": [name]} | ({} if scale == (1.0, 1.0, 1.0) else {"scale": list(scale)})


SHAPES: dict[str, Callable[[XmlElement], dict[str, Any]]] = {
    "box": _box,
    "cylinder": _round("cylinder"),
    "sphere": _sphere,
    "capsule": _round("capsule"),
    "mesh": _mesh,
}
