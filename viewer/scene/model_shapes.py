"""Shapes of bodies that the model's file gives: mesh files and the primitives it names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.sections.geometry import geometry, written
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import Frame, Geometry
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import of_offset, transform
from shiftjax.viewer.scene.scene import Colour, Mesh

THIN = 0.002  # thickness of a plane, in parts of its longer side: so that both sides are drawn


class ShapePiece(Protocol):
    """One mesh of a file, with its colour and transform."""

    @property
    def mesh(self) -> Mesh: ...
    @property
    def colour(self) -> Colour | None: ...
    @property
    def transform(self) -> np.ndarray: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


LoadMesh = Callable[[Path, tuple[Path, ...]], Iterable[ShapePiece]]  # mesh file and its companions; raises ModelError
Drawn = tuple[Mesh, np.ndarray, Colour | None]  # with the transform on the body (4, 4)


def shape_of(
    shape: Geometry, where: str, find: Callable[[str], Path], load_mesh: LoadMesh | None, warnings: list[str]
) -> list[Drawn]:
    """What a geometry entry shows, on its own offset `T`, `R`, `rotation` of the body, in its own `colour`.

    Args:
        where: path of the body, for messages.
        find: the file of a name in the model; raises ModelError.
        warnings: features of a file that are not supported are added here.

    Raises:
        ModelError: an unknown type, an invalid size, a file that cannot be read.
    """
    # shapes of a model built in Python have not been checked by a file reader
    shape = geometry(Node(written(shape), f"{where} geometry", warnings), Units())
    options = shape.options
    offset = of_offset(Frame("offset", **{key: options[key] for key in ("T", "R", "rotation") if key in options}))
    colour = _colour(options)
    if shape.type == "mesh":
        if not shape.filename or load_mesh is None:
            todo = "Name one." if load_mesh else "Install the viewer's packages."
            raise ModelError(where, "a mesh that cannot be loaded", "a mesh file", todo)
        path, *companions = (find(name) for name in shape.filename)
        pieces = tuple(load_mesh(path, tuple(companions)))
        warnings += [f"{where}: {text}" for piece in pieces for text in piece.warnings]
        scaled = offset @ transform(scale=options.get("scale", 1.0))
        placed = [(piece.mesh, scaled @ piece.transform, colour or piece.colour) for piece in pieces]
        return placed if np.linalg.det(scaled) > 0.0 else [_mirrored(*piece) for piece in placed]
    mesh, local = PRIMITIVES[shape.type](options)
    return [(mesh, offset @ local, colour)]


def finder(model: Model, folder: Path | None) -> Callable[[str], Path]:
    """Finds a shape file by the name in the model: beside the model's file, then in its include directories.

    A file that somebody sends may name anything, and links may lead anywhere: what lies elsewhere is not opened. Models
    made in Python name what they like.
    """
    trusted = folder is None and not model.source
    base = folder if folder is not None else Path(model.source).parent if model.source else Path.cwd()
    folders = [base, *(base / directory for directory in model.include_directories)]

    def find(name: str) -> Path:
        problem, todo = "no such file", "Put it there, or add to 'include_directories'."
        try:
            for candidate in (directory / name for directory in folders):
                if candidate.is_file():
                    file = candidate.resolve()
                    if trusted or any(file.is_relative_to(directory.resolve()) for directory in folders):
                        return file
                    problem = "a file that lies elsewhere, links followed"
        except (OSError, ValueError, RuntimeError) as error:  # as of a circle of links
            raise ModelError(name[:200], str(error)[:200], "a file that can be read", "Check the name.") from error
        raise ModelError(name[:200], problem, "a file in " + ", ".join(str(place) for place in folders[:4]), todo)

    return find


def _colour(options: FrozenJson) -> Colour | None:
    if "colour" not in options:
        return None
    r, g, b, a = (*options["colour"], 1.0)[:4]
    return r, g, b, a


def _mirrored(mesh: Mesh, at: np.ndarray, colour: Colour | None) -> Drawn:
    """The same drawn with a mesh that is its mirror image, so that no transform mirrors and fronts stay outside."""
    if mesh.kind != "triangles":
        return mesh, at, colour
    mirror = transform(scale=(-1.0, 1.0, 1.0))
    vertices, normals = (
        np.ascontiguousarray(x * np.array([-1.0, 1.0, 1.0], np.float32)) for x in (mesh.vertices, mesh.normals)
    )
    indices = np.ascontiguousarray(mesh.indices[:, ::-1])
    image = dataclasses.replace(mesh, key=f"{mesh.key} mirrored", vertices=vertices, indices=indices, normals=normals)
    return image, at @ mirror, colour


def _round(mesh: Mesh, options: FrozenJson) -> tuple[Mesh, np.ndarray]:
    radius = options["radius"]
    return mesh, transform(scale=[radius, radius, options["length"]])


def _plane(options: FrozenJson) -> tuple[Mesh, np.ndarray]:
    x, y = options["size"]
    return shapes.box(), transform(scale=[x, y, THIN * max(x, y)])


PRIMITIVES: dict[str, Callable[[FrozenJson], tuple[Mesh, np.ndarray]]] = {
    "box": lambda options: (shapes.box(), transform(scale=options["size"])),
    "plane": _plane,
    "sphere": lambda options: (shapes.sphere(), transform(scale=options["radius"])),
    "ellipsoid": lambda options: (shapes.sphere(), transform(scale=options["radii"])),
    "multisphere": lambda options: (shapes.multisphere(options["spheres"]), transform()),
    "cylinder": lambda options: _round(shapes.cylinder(), options),
    "cone": lambda options: _round(shapes.cone(), options),
    "capsule": lambda options: (shapes.capsule(options["radius"], options["length"]), transform()),
    "arrow": lambda options: (shapes.arrow(options["length"], options["radius"]), transform()),
    "line": lambda options: (shapes.line(options["points"]), transform()),
    "point_cloud": lambda options: (shapes.cloud(options["points"]), transform()),
}
