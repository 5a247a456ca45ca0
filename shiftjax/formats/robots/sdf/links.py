"""A `link` of SDFormat as a body: its inertia along its own axes, its shapes, its colours."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

import numpy as np

from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.placing import ENTRIES, axes_of_plane, placed
from shiftjax.formats.robots.sdf.scopes import FrameScope
from shiftjax.formats.robots.sdf.values import check, flag, floats, inverse, number, pose_of, relative_to, vector, word
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement

OF_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
LARGEST = 1e300  # kg m^2: sums of nine of them are numbers, too
SCHEMES = ("model://", "package://", "file://")
READ = ("pose", "inertial", "gravity", "kinematic", "velocity_decay", "must_be_base_link", "visual", "collision")
HARMLESS = (
    "self_collide",
    "enable_wind",
    "sensor",
    "projector",
    "audio_sink",
    "audio_source",
    "battery",
    "light",
    "particle_emitter",
    "plugin",
)
OF_VISUALS = ("cast_shadows", "laser_retro", "visibility_flags", "meta", "plugin")
OF_COLLISIONS = ("laser_retro", "max_contacts", "surface", "density", "auto_inertia_params")
OF_MATERIALS = (
    "script",
    "shader",
    "render_order",
    "lighting",
    "specular",
    "shininess",
    "emissive",
    "double_sided",
    "pbr",
)
NOT_DRAWN = ("heightmap", "image", "polyline", "empty")

UNSTATED = "no inertial is stated of {}: SDFormat gives them 1 kg and moments of 1 kg m^2"
UNSTATED_MOMENTS = "moments of inertia are not all stated of {}: SDFormat has 1 kg m^2 for those left out"
UNSTATED_MASS = "no mass is stated in the inertial of {}: SDFormat has 1 kg"
UNCOLOURED = "no colour is stated for the material of {}"
UNDRAWN = "shapes that are not drawn: {}"
WEIGHTLESS = "gravity does not act on {}"


def body(link: XmlElement, name: str, notes: ReaderNotes) -> dict[str, Any]:
    """The body of a link; its shapes are those of `shapes`.

    Raises:
        ModelError: an element or a number that a link cannot have.
    """
    check(link, ("name",), READ, notes, harmless=HARMLESS, many=("visual", "collision"))
    if flag(link, "kinematic", default=False):
        link.needed("kinematic").refuse("a kinematic link", "links that forces move", "Remove it; add a driver.")
    decay = link.child("velocity_decay")
    if decay is not None:
        check(decay, (), ("linear", "angular"), notes)
        if number(decay, "linear", 0.0) or number(decay, "angular", 0.0):
            todo = "Remove it; add a damper, as a force `bushing`."
            decay.refuse("a decay of velocities", "none, as bodies of SDFormat move through nothing", todo)
    document: dict[str, Any] = {"name": name, **_inertial(link, name, notes), "frames": []}
    if not flag(link, "gravity", default=True):
        document["gravity_scale"] = 0.0
        notes.add(WEIGHTLESS, name)
    return document


def _inertial(link: XmlElement, name: str, notes: ReaderNotes) -> dict[str, Any]:
    """Mass, centre of mass, and the inertia about it along the axes of the link."""
    inertial = link.child("inertial")
    matrix, mass, X = np.eye(3), 1.0, np.eye(4)
    if inertial is None:
        notes.add(UNSTATED, name)
    else:
        check(
            inertial, ("auto",), ("pose", "mass", "inertia", "fluid_added_mass"), notes, harmless=("frame", "density")
        )
        if inertial.word("auto", "false").lower() not in ("false", "0"):
            todo = "State mass and inertia, as `shiftjax.solid` has them."
            inertial.refuse("an inertia that is left to the collisions", 'numbers, without auto="true"', todo)
        _without_water(inertial)
        X = pose_of(pose := inertial.child("pose"))
        if relative_to(pose):
            assert pose is not None
            pose.refuse("relative_to", "the pose of an inertial in its link", "State it in the axes of the link.")
        mass = number(inertial, "mass", 1.0)
        if inertial.child("mass") is None:
            notes.add(UNSTATED_MASS, name)
        if mass < 0.0:
            inertial.needed("mass").refuse(f"a mass of {mass:g} kg", "0 or more", "Correct the mass.")
        matrix = _moments(inertial, name, notes)
        if np.any(np.eye(3) != X[:3, :3]):
            matrix = X[:3, :3] @ matrix @ X[:3, :3].T
            matrix = 0.5 * (matrix + matrix.T)
    entries = {key: float(matrix[place]) for key, place in ENTRIES.items()}
    return {"center_of_mass": [float(x) for x in X[:3, 3]], "inertia": {"mass": mass, **entries}}


def _moments(inertial: XmlElement, name: str, notes: ReaderNotes) -> np.ndarray:
    """(3, 3) about the centre of mass along the axes of the inertial [kg m^2]."""
    inertia = inertial.child("inertia")
    if inertia is None:
        notes.add(UNSTATED_MOMENTS, name)
        return np.eye(3)
    check(inertia, (), OF_INERTIA, notes)
    defaults = [1.0 if key in ("ixx", "iyy", "izz") else 0.0 for key in OF_INERTIA]
    xx, xy, xz, yy, yz, zz = (number(inertia, key, default) for key, default in zip(OF_INERTIA, defaults, strict=True))
    if any(inertia.child(key) is None for key in ("ixx", "iyy", "izz")):
        notes.add(UNSTATED_MOMENTS, name)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.abs(matrix).max() > LARGEST:
        inertia.refuse("moments that are too large", f"up to {LARGEST:g} kg m^2", "Correct them.")
    return matrix


def _without_water(inertial: XmlElement) -> None:
    water = inertial.child("fluid_added_mass")
    if water is not None and any(floats(inner, 1)[0] for inner in water.children):
        water.refuse("the added mass of a fluid", "bodies in no fluid", "Remove it.")


def shapes(link: XmlElement, scope: FrameScope, name: str, document: dict[str, Any], notes: ReaderNotes) -> None:
    """Adds what is drawn of a link, and its collisions as data."""
    of_link = scope.pose(link.word("name"), link)
    listed: dict[str, list[dict[str, Any]]] = {"visual": [], "collision": []}
    for tag, entries in listed.items():
        for element in link.every(tag):
            harmless = OF_VISUALS if tag == "visual" else OF_COLLISIONS
            read = ("pose", "geometry", "material", "transparency") if tag == "visual" else ("pose", "geometry")
            check(element, ("name",), read, notes, harmless=harmless, drawn=True)
            X = pose_of(pose := element.child("pose"))
            if frame := relative_to(pose):
                X = inverse(of_link) @ scope.pose(frame, element) @ X
            shape = _shape(element, X, scope, name, notes)
            if shape is not None:
                entries.append(shape)
    if drawn := listed["visual"] or listed["collision"]:
        document["geometry"] = drawn
    if listed["collision"]:
        document["data"] = {"collision": listed["collision"]}
        notes.keep("collision shapes", name)


def _shape(
    element: XmlElement, X: np.ndarray, scope: FrameScope, link: str, notes: ReaderNotes
) -> dict[str, Any] | None:
    """A `visual` or `collision` as a shape of ours; None of one that is not drawn."""
    geometry = element.child("geometry")
    if geometry is None:
        notes.add(UNDRAWN, f"{element.tag} of {link}")
        return None
    check(geometry, (), (*SHAPES, *NOT_DRAWN, "mesh"), notes, many=NOT_DRAWN)
    solids = [solid for solid in geometry.children if ":" not in solid.tag]
    solids = solids[:1] if all(solid.tag in NOT_DRAWN for solid in solids) else solids
    if not solids:
        return None
    if len(solids) != 1:
        geometry.refuse(f"{len(solids)} shapes", f"one of {', '.join((*SHAPES, *NOT_DRAWN))}", "Write one.")
    (solid,) = solids
    if solid.tag in NOT_DRAWN:
        if solid.tag != "empty":
            notes.add(UNDRAWN, f"{solid.tag} of {link}")
        return None
    turn = np.eye(3)
    if solid.tag == "plane":
        turn = axes_of_plane(_direction(solid))
    shape = _mesh(solid, scope, notes) if solid.tag == "mesh" else SHAPES[solid.tag](solid, notes)
    if not shape:
        notes.add(UNDRAWN, f"mesh of {link}")
        return None
    shape |= placed(tuple(float(x) for x in X[:3, 3]), X[:3, :3] @ turn)
    if element.attributes.get("name"):
        shape["comment"] = element.word("name")
    material = element.child("material")
    if material is not None and (rgba := _colour(material, link, notes)) is not None:
        shape["colour"] = rgba
    seen_through = number(element, "transparency", 0.0)
    if seen_through:
        if not 0.0 <= seen_through <= 1.0:
            element.needed("transparency").refuse(f"{seen_through:g}", "a number from 0 to 1", "Correct it.")
        red, green, blue, opacity = (*shape.get("colour", (0.7, 0.7, 0.7)), 1.0)[:4]
        shape["colour"] = [red, green, blue, opacity * (1.0 - seen_through)]
    return shape


def _direction(plane: XmlElement) -> tuple[float, ...]:
    normal = vector(plane, "normal", (0.0, 0.0, 1.0))
    if not any(normal):
        plane.refuse("a normal of length 0", "a direction", "Correct it.")
    return normal


def _colour(material: XmlElement, link: str, notes: ReaderNotes) -> list[float] | None:
    """Red, green, blue and opacity: the diffuse colour, else the ambient one; None where neither is stated."""
    check(material, (), ("ambient", "diffuse"), notes, harmless=OF_MATERIALS, drawn=True)
    stated = material.child("diffuse") or material.child("ambient")
    if stated is None:
        notes.add(UNCOLOURED, link)
        return None
    rgba = floats(stated, len(stated.text.split()) if len(stated.text.split()) == 3 else 4)
    if not all(0.0 <= part <= 1.0 for part in rgba):
        stated.refuse(f"{stated.text[:LONGEST]!r}", "3 or 4 numbers from 0 to 1", "Correct it.")
    return list(rgba)


def _sizes(solid: XmlElement, notes: ReaderNotes, default: float, *names: str) -> list[float]:
    check(solid, (), names, notes, drawn=True)
    sizes = [number(solid, name, default) for name in names]
    if min(sizes) <= 0.0:
        solid.refuse(f"lengths {', '.join(f'{size:g}' for size in sizes)}", "lengths above 0", "Correct them.")
    return sizes


def _box(solid: XmlElement, notes: ReaderNotes) -> dict[str, Any]:
    return {"type": "box", "size": _extents(solid, "size", (1.0, 1.0, 1.0), notes)}


def _ellipsoid(solid: XmlElement, notes: ReaderNotes) -> dict[str, Any]:
    return {"type": "ellipsoid", "radii": _extents(solid, "radii", (1.0, 1.0, 1.0), notes)}


def _plane(solid: XmlElement, notes: ReaderNotes) -> dict[str, Any]:
    return {"type": "plane", "size": _extents(solid, "size", (1.0, 1.0), notes, "normal")}


def _extents(solid: XmlElement, key: str, default: tuple[float, ...], notes: ReaderNotes, *others: str) -> list[float]:
    check(solid, (), (key, *others), notes, drawn=True)
    size = vector(solid, key, default)
    if min(size) <= 0.0:
        solid.needed(key).refuse(f"{size}", "lengths above 0", "Correct them.")
    return list(size)


def _sphere(solid: XmlElement, notes: ReaderNotes) -> dict[str, Any]:
    return {"type": "sphere", "radius": _sizes(solid, notes, 1.0, "radius")[0]}


def _round(type: str) -> Callable[[XmlElement, ReaderNotes], dict[str, Any]]:
    def shape(solid: XmlElement, notes: ReaderNotes) -> dict[str, Any]:
        radius, length = _sizes(solid, notes, 1.0, "radius", "length")
        return {"type": type, "radius": radius, "length": length}

    return shape


SHAPES: dict[str, Callable[[XmlElement, ReaderNotes], dict[str, Any]]] = {
    "box": _box,
    "cylinder": _round("cylinder"),
    "sphere": _sphere,
    "capsule": _round("capsule"),
    "cone": _round("cone"),
    "ellipsoid": _ellipsoid,
    "plane": _plane,
}


def _mesh(solid: XmlElement, scope: FrameScope, notes: ReaderNotes) -> dict[str, Any]:
    """A mesh file, none of one elsewhere; what follows `model://` is searched beside the file and in folders above."""
    harmless = ("submesh", "convex_decomposition")
    check(solid, ("optimization",), ("uri", "filename", "scale"), notes, harmless=harmless, drawn=True)
    name = stated = word(solid, "uri" if solid.child("uri") is not None else "filename").replace("\\", "/")
    for scheme in SCHEMES:
        if name.startswith(scheme):
            name = unquote(name.removeprefix(scheme))
    if "://" in name:
        return {}
    if "://" not in stated and not stated.startswith("/"):
        name = posixpath.normpath(posixpath.join(scope.folder, name))
    scale = vector(solid, "scale", (1.0, 1.0, 1.0))
    if 0.0 in scale:
        solid.refuse(f"scale {scale}", "factors other than 0", "Correct it.")
    return {"type": "mesh", "filename": [name]} | ({} if scale == (1.0, 1.0, 1.0) else {"scale": list(scale)})


def mesh_folders(uris: Iterable[str], most: int) -> list[str]:
    """Folders above the file in which its meshes lie, seen from there: those of `model://` stand beside each other.

    Args:
        uris: of meshes. most: how many folders above.
    """
    levels = [most if uri.startswith(SCHEMES) else uri.replace("\\", "/").split("/").count("..") for uri in uris]
    return ["/".join([".."] * k) for k in range(1, min(max(levels, default=0), most) + 1)]
