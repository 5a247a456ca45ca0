"""A `geom` of MJCF: the shape that is drawn, and the mass that its body has of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from shiftjax.errors import nearest
from shiftjax.formats.robots.mjcf.classes import Classes
from shiftjax.formats.robots.mjcf.compiler import Compiler, choice, flag
from shiftjax.formats.robots.mjcf.document import WORLD
from shiftjax.formats.robots.mjcf.masses import MassPart, part_of, volume
from shiftjax.formats.robots.mjcf.mesh_masses import REMEDY, PlacedMesh, enclosed
from shiftjax.formats.robots.mjcf.orientation import BodyPlace, from_z, place, unit
from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.placing import placed, rotation_of_quaternion
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.mechanism.records import ZERO
from shiftjax.record import record

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}  # type -> numbers of its size
FLAT = ("plane", "hfield")  # of no mass
BY_FILE = ("mesh", "sdf")
TYPES = (*SIZES, *FLAT, *BY_FILE)
DRAWN_FILES = (".obj", ".stl", ".dae", ".ply", ".glb", ".gltf")
OF_ASSETS = ("texture", "hfield", "skin")
HIDDEN = 3  # the first group of geoms that MuJoCo's viewer does not show
WATER = 1000.0  # kg/m^3, where neither mass nor density is stated
READ = (
    "name", "class", "type", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "size", "fromto", "mass",
    "density", "shellinertia", "mesh", "rgba", "material", "group", "contype", "conaffinity",
)  # fmt: skip
OF_CONTACTS = (
    "condim",
    "friction",
    "margin",
    "gap",
    "solmix",
    "solref",
    "solimp",
    "priority",
    "adhesion",
    "surfacevel",
)
ATTRIBUTES = (*READ, *OF_CONTACTS, "user", "hfield", "fitscale", "fluidshape", "fluidcoef", "castshadow")

UNDRAWN = "not drawn, since no picture of it is made here: {}"
FLOOR = "not drawn, since ground is: planes of {}"
CLEAR = "not drawn, since it is transparent: {}"
HIDDEN_GROUPS = f"not drawn: geoms of groups {HIDDEN} and more, which MuJoCo hides, of {{}}"


@record
class StatedGeom:
    """A geom at its place in a body.

    Attributes:
        element: with what its class states. at: in the body. type, size: as MuJoCo has them.
        collides: whether it may touch another geom.
    """

    element: XmlElement
    at: BodyPlace
    type: str
    size: tuple[float, ...]
    group: float
    collides: bool


@record
class Assets:
    """What geoms name: meshes and materials, each complete by its class."""

    meshes: Mapping[str, XmlElement]
    materials: Mapping[str, XmlElement]
    folder: Path | None = None  # of the model


def assets(root: XmlElement, classes: Classes, folder: Path | None, notes: ReaderNotes) -> Assets:
    """The meshes and materials of a file by their names.

    Raises:
        ModelError: a mesh without a name and a file.
    """
    every = [inner for asset in root.every("asset") for inner in asset.children]
    for inner in every:
        if inner.tag not in (*OF_ASSETS, "mesh", "material"):
            inner.refuse(
                f"<{inner.tag[:LONGEST]}> of <asset>", ", ".join(("mesh", "material", *OF_ASSETS)), "Remove it."
            )
        if inner.tag in OF_ASSETS:
            notes.leave_out(inner)
    meshes = [classes.complete(inner) for inner in every if inner.tag == "mesh"]
    materials = [classes.complete(inner) for inner in every if inner.tag == "material"]
    return Assets(_named(meshes), _named(materials), folder)


def _named(elements: Sequence[XmlElement]) -> dict[str, XmlElement]:
    """Meshes or materials by their names; a mesh without one is called as its file is.

    Raises:
        ModelError: two of one name, one without any.
    """
    named: dict[str, XmlElement] = {}
    for element in elements:
        name = element.attributes.get("name") or PurePosixPath(_file(element)).stem or element.word("name")
        if name in named:
            fault = f"a second {element.tag} {name[:LONGEST]!r}; the first is in line {named[name].line}"
            element.refuse(fault, f"a name for one {element.tag}", "Rename one.")
        named[name] = element
    return named


def _file(mesh: XmlElement) -> str:
    return mesh.word("file", "").replace("\\", "/")


def geom(element: XmlElement, frame: BodyPlace, compiler: Compiler) -> StatedGeom:
    """What one geom states.

    Args:
        element: complete by its class. frame: in which it stands, in the body.

    Raises:
        ModelError: a type, a size or a place that it cannot have.
    """
    element.only(ATTRIBUTES, ("plugin",))
    type = element.word(
        "type", "mesh" if "mesh" in element.attributes and "type" not in element.attributes else "sphere"
    )
    if type not in TYPES:
        element.refuse(f"type={type[:LONGEST]!r}", ", ".join(TYPES), "Choose one of them.")
    if (plugin := element.child("plugin")) is not None:
        plugin.refuse("a plugin of a geom", "geoms of MJCF itself", "Remove it.")
    at, size = _sized(element, type, compiler)
    touches = [element.number(name, 1.0) != 0.0 for name in ("contype", "conaffinity")]
    return StatedGeom(element, frame.times(at), type, size, element.number("group", 0.0), any(touches))


def _sized(element: XmlElement, type: str, compiler: Compiler) -> tuple[BodyPlace, tuple[float, ...]]:
    """BodyPlace and size; `fromto` states both of the axis of a long one."""
    count = SIZES.get(type, 0)
    if type not in SIZES or ("mesh" in element.attributes and type in SIZES):
        return place(element, compiler), element.several("size", 3)
    if "fromto" not in element.attributes:
        size = element.several("size", 3)
        if len(size) < count or min(size[:count]) <= 0.0:
            fault = f"size={element.word('size', '')[:LONGEST]!r} of a {type}"
            element.refuse(fault, f"{count} lengths above 0", "Correct it.")
        return place(element, compiler), size[:count]
    if type == "sphere":
        element.refuse("fromto of a sphere", "fromto of capsule, cylinder, ellipsoid, box", "State pos and size.")
    ends = np.array(element.numbers("fromto", 6))
    radii = element.several("size", 3)
    if not radii or radii[0] <= 0.0:
        element.refuse(f"size={element.word('size', '')[:LONGEST]!r}", "a radius above 0 beside fromto", "Add it.")
    way = ends[:3] - ends[3:]
    unit(element, "fromto", tuple(way))
    half = 0.5 * float(np.linalg.norm(way))
    size = (radii[0], half) if count == 2 else (radii[0], radii[0], half)
    return BodyPlace(0.5 * (ends[:3] + ends[3:]), from_z(way)), size


def mass_of(one: StatedGeom, known: Assets, compiler: Compiler) -> MassPart | None:
    """The mass that a geom gives to its body; None where it gives none.

    Raises:
        ModelError: a mass below zero, one of a shell, or of a mesh that cannot be read.
    """
    element = one.element
    low, high = compiler.groups
    if one.type in FLAT or not low <= one.group <= high:
        return None
    mass, density = (element.number(name) if name in element.attributes else None for name in ("mass", "density"))
    for name, number in (("mass", mass), ("density", density)):
        if number is not None and number < 0.0:
            element.refuse(f"{name} {number:g}", "0 or more", "Correct it.")
    if mass == 0.0 or (mass is None and density == 0.0):
        return None
    if flag(element, "shellinertia"):
        element.refuse("shellinertia='true'", "geoms that are solid", REMEDY)
    density = WATER if density is None else density
    if one.type in BY_FILE or "mesh" in element.attributes:
        return _mass_of_mesh(one, density, mass, known, compiler)
    if mass is None:
        mass = density * volume(one.type, one.size)
    return part_of(one.type, one.size, mass, one.at)


def shapes(
    geoms: list[StatedGeom], body: str, known: Assets, compiler: Compiler, notes: ReaderNotes
) -> list[dict[str, Any]]:
    """The shapes of a body that are drawn: those that MuJoCo shows, or all where it shows none."""
    visible = [one for one in geoms if one.group < HIDDEN]
    if visible and len(visible) < len(geoms):
        notes.add(HIDDEN_GROUPS, body)
    out = [_shape(one, body, known, compiler, notes) for one in visible or geoms]
    return [shape for shape in out if shape is not None]


def _shape(one: StatedGeom, body: str, known: Assets, compiler: Compiler, notes: ReaderNotes) -> dict[str, Any] | None:
    element = one.element
    colour = _colour(element, known)
    if colour[3] == 0.0:
        notes.add(CLEAR, f"a {one.type} of {body}")
        return None
    if one.type == "plane" and body == WORLD:
        notes.add(FLOOR, body)
        return None
    shape, at = _mesh(element, one.at, known, compiler) if "mesh" in element.attributes else (_solid(one), one.at)
    if shape is None:
        notes.add(UNDRAWN, f"a {one.type} of {body}")
        return None
    named = {"comment": element.word("name")} if element.attributes.get("name") else {}
    return {**shape, **placed(tuple(map(float, at.p)), at.R), **named, "colour": colour}


def _solid(one: StatedGeom) -> dict[str, Any] | None:
    lengths = [2.0 * x for x in one.size]
    if one.type == "sphere":
        return {"type": "sphere", "radius": one.size[0]}
    if one.type in ("capsule", "cylinder"):
        return {"type": one.type, "radius": one.size[0], "length": lengths[1]}
    if one.type == "ellipsoid":
        return {"type": "ellipsoid", "radii": list(one.size)}
    if one.type == "box":
        return {"type": "box", "size": lengths}
    if one.type == "plane" and len(lengths) > 1 and min(lengths[:2]) > 0.0:
        return {"type": "plane", "size": lengths[:2]}
    return None


def _mesh(
    element: XmlElement, at: BodyPlace, known: Assets, compiler: Compiler
) -> tuple[dict[str, Any] | None, BodyPlace]:
    """A mesh file and the place of its own axes, where it is drawn."""
    mesh = _named_mesh(element, known)
    scale, shift = _shift(mesh)
    turned = bool(np.any(shift.R != np.eye(3)))
    if not _file(mesh).lower().endswith(DRAWN_FILES) or 0.0 in scale or (turned and len(set(scale)) > 1):
        return None, at
    shape = {"type": "mesh", "filename": [_path(mesh, compiler)]}
    return shape | ({} if scale == (1.0, 1.0, 1.0) else {"scale": list(scale)}), at.times(shift)


def _named_mesh(element: XmlElement, known: Assets) -> XmlElement:
    name = element.word("mesh")
    if name not in known.meshes:
        element.refuse(f"mesh={name[:LONGEST]!r}", "a mesh of <asset>", nearest(name, known.meshes) or "Add it.")
    return known.meshes[name]


def _path(mesh: XmlElement, compiler: Compiler) -> str:
    """Of the file of a mesh, from the folder of the model."""
    return f"{compiler.meshdir.rstrip('/')}/{_file(mesh)}" if compiler.meshdir else _file(mesh)


def _shift(mesh: XmlElement) -> tuple[tuple[float, ...], BodyPlace]:
    """Factors and place of a mesh: its points x stand at scale refquat^-1 (x - refpos) in the frame of the geom."""
    scale = mesh.numbers("scale", 3, (1.0, 1.0, 1.0))
    quat = unit(mesh, "refquat", mesh.numbers("refquat", 4)) if "refquat" in mesh.attributes else (1.0, 0.0, 0.0, 0.0)
    back = rotation_of_quaternion(*quat).T
    return scale, BodyPlace(-np.array(scale) * (back @ np.array(mesh.numbers("refpos", 3, ZERO))), back)


def _mass_of_mesh(one: StatedGeom, density: float, mass: float | None, known: Assets, compiler: Compiler) -> MassPart:
    """The mass of what a mesh encloses."""
    element = one.element
    if one.type != "mesh":
        element.refuse(f"a {one.type} that is fitted to a mesh", "geoms with a size", REMEDY)
    mesh = _named_mesh(element, known)
    law = choice(mesh, "inertia", ("legacy", "exact", "convex", "shell"), "legacy")
    if law in ("convex", "shell"):
        mesh.refuse(f"inertia={law!r}, from which a mass should come", "legacy or exact", REMEDY)
    scale, shift = _shift(mesh)
    placed_mesh = PlacedMesh(element, _path(mesh, compiler), known.folder, law, scale, shift, one.at)
    return enclosed(placed_mesh, density, mass)


def _colour(element: XmlElement, known: Assets) -> list[float]:
    """Red, green, blue and opacity: of the geom, else of its material, else grey."""
    stated = element
    name = element.attributes.get("material")
    if "rgba" not in element.attributes and name is not None:
        if name not in known.materials:
            todo = nearest(name, known.materials) or "Add it to <asset>."
            element.refuse(f"material={name[:LONGEST]!r}", "a material of <asset>", todo)
        stated = known.materials[name]
    default = (0.5, 0.5, 0.5, 1.0) if stated is element else (1.0, 1.0, 1.0, 1.0)
    return [min(max(part, 0.0), 1.0) for part in stated.numbers("rgba", 4, default)]
