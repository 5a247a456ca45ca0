"""Shapes of bodies that the model's file gives: mesh files and the primitives it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shiftjax.algebra import rotation_of_vector
from shiftjax.elements import Geometry
from shiftjax.errors import ModelError, one_of
from shiftjax.kept import Kept
from shiftjax.model import Model
from shiftjax.viewer import shapes
from shiftjax.viewer.places import place
from shiftjax.viewer.scene import Colour, Mesh

ARROW = 0.05  # radius of the shaft of the arrow that is scaled, in its length
THIN = 0.002  # thickness of a plane, in parts of its longer side: it is seen from both sides


class Piece(Protocol):
    """One mesh of a file, with its colour and place."""

    @property
    def mesh(self) -> Mesh: ...
    @property
    def colour(self) -> Colour | None: ...
    @property
    def place(self) -> np.ndarray: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


LoadMesh = Callable[[Path, tuple[Path, ...]], Iterable[Piece]]  # mesh file and its companions; raises ModelError
Drawn = tuple[Mesh, np.ndarray, Colour | None]  # with the place on the body (4, 4)


def shape_of(
    geometry: Geometry, where: str, find: Callable[[str], Path], load_mesh: LoadMesh | None, warnings: list[str]
) -> list[Drawn]:
    """What a geometry entry shows, on its own offset `T`, `R`, `rotation` of the body, in its own `colour`.

    Args:
        where: path of the body, for messages.
        find: the file of a name in the model; raises ModelError.
        warnings: what a file asks for and does not get is added here.

    Raises:
        ModelError: an unknown type, a size that is none, a file that cannot be read.
    """
    options = geometry.options
    R = np.array(_numbers(where, options, "R", (3, 3), np.eye(3)))
    turn = R @ np.array(rotation_of_vector([float(a) for a in _numbers(where, options, "rotation", (3,), np.zeros(3))]))
    offset = place(_numbers(where, options, "T", (3,), np.zeros(3)), turn)
    colour = _colour(where, options)
    if geometry.type == "mesh":
        if not geometry.filename or load_mesh is None:
            todo = "Name one." if load_mesh else "Install the viewer's packages."
            raise ModelError(where, "a mesh that cannot be loaded", "a mesh file", todo)
        path, *companions = (find(name) for name in geometry.filename)
        pieces = tuple(load_mesh(path, tuple(companions)))
        warnings += [f"{where}: {text}" for piece in pieces for text in piece.warnings]
        return [(piece.mesh, offset @ piece.place, colour or piece.colour) for piece in pieces]
    one_of(f"geometry of {where}", geometry.type, ["mesh", *PRIMITIVES])
    mesh, own = PRIMITIVES[geometry.type](where, options)
    return [(mesh, offset @ own, colour)]


def finder(model: Model, folder: Path | None) -> Callable[[str], Path]:
    """Finds a shape file by the name in the model: beside the model's file, then in its include directories."""
    base = folder if folder is not None else Path(model.source).parent if model.source else Path.cwd()
    places = [base, *(base / directory for directory in model.include_directories)]

    def find(name: str) -> Path:
        try:
            for candidate in (directory / name for directory in places):
                if candidate.is_file():
                    return candidate.resolve()
        except (OSError, ValueError) as error:
            raise ModelError(name[:200], str(error)[:200], "a file that can be read", "Check the name.") from error
        allowed = "a file in " + ", ".join(str(directory) for directory in places[:4])
        raise ModelError(name[:200], "no such file", allowed, "Put it there, or add to 'include_directories'.")

    return find


def _numbers(where: str, options: Kept, key: str, shape: tuple[int, ...], default: Any = None) -> np.ndarray:
    """The finite numbers of an option, as an array of a shape; -1 for any count."""
    value = options.get(key, default)
    try:
        found = np.array(value, float)
        good = found.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, found.shape, strict=True))
    except (TypeError, ValueError):
        found, good = np.zeros(0), False
    if not good or not np.isfinite(found).all():
        size = " x ".join("n" if n == -1 else str(n) for n in shape) or "one number"
        raise ModelError(f"{key!r} of the geometry of {where}", repr(value)[:80], size, "Give finite numbers.")
    return found


def _sizes(where: str, options: Kept, key: str, count: int) -> np.ndarray:
    """(count,) positive lengths [m]."""
    found = _numbers(where, options, key, (count,) if count > 1 else ()).reshape(count)
    if not (found > 0).all():
        raise ModelError(f"{key!r} of the geometry of {where}", repr(options[key])[:80], "lengths above 0", "Correct.")
    return found


def _colour(where: str, options: Kept) -> Colour | None:
    if "colour" not in options:
        return None
    rgba = [float(a) for a in _numbers(where, options, "colour", (-1,))]
    if len(rgba) not in (3, 4) or not all(0 <= a <= 1 for a in rgba):
        allowed = "3 or 4 numbers from 0 to 1"
        raise ModelError(f"'colour' of the geometry of {where}", repr(rgba)[:80], allowed, "Correct it.")
    r, g, b, a = [*rgba, 1.0][:4]
    return r, g, b, a


def _scaled(mesh: Mesh, size: Sequence[float] | np.ndarray | float) -> tuple[Mesh, np.ndarray]:
    return mesh, place(scale=size)


def _round(mesh: Mesh, where: str, options: Kept) -> tuple[Mesh, np.ndarray]:
    radius, length = (_sizes(where, options, key, 1)[0] for key in ("radius", "length"))
    return _scaled(mesh, [radius, radius, length])


def _capsule(where: str, options: Kept) -> tuple[Mesh, np.ndarray]:
    radius, length = (float(_sizes(where, options, key, 1)[0]) for key in ("radius", "length"))
    return shapes.capsule(radius, length), np.eye(4)


def _arrow(where: str, options: Kept) -> tuple[Mesh, np.ndarray]:
    radius, length = (_sizes(where, options, key, 1)[0] for key in ("radius", "length"))
    return _scaled(shapes.arrow(1.0, ARROW), [radius / ARROW, radius / ARROW, length])


def _plane(where: str, options: Kept) -> tuple[Mesh, np.ndarray]:
    x, y = _sizes(where, options, "size", 2)
    return _scaled(shapes.box(), [x, y, THIN * max(x, y)])


def _line(where: str, options: Kept) -> tuple[Mesh, np.ndarray]:
    points = _numbers(where, options, "points", (-1, 3))
    if len(points) < 2:
        raise ModelError(f"'points' of the geometry of {where}", "fewer than two", "two points or more", "Add some.")
    return shapes.line(tuple((float(x), float(y), float(z)) for x, y, z in points)), np.eye(4)


PRIMITIVES: dict[str, Callable[[str, Kept], tuple[Mesh, np.ndarray]]] = {
    "box": lambda where, options: _scaled(shapes.box(), _sizes(where, options, "size", 3)),
    "ellipsoid": lambda where, options: _scaled(shapes.sphere(), _sizes(where, options, "radii", 3)),
    "sphere": lambda where, options: _scaled(shapes.sphere(), float(_sizes(where, options, "radius", 1)[0])),
    "cylinder": lambda where, options: _round(shapes.cylinder(), where, options),
    "cone": lambda where, options: _round(shapes.cone(), where, options),
    "capsule": _capsule,
    "arrow": _arrow,
    "plane": _plane,
    "line": _line,
}
