"""Shapes that a user adds to a scene: parametric ones as in model files, and meshes from arrays. NumPy only.

An added shape is one or more parts of kind "shape". A scene is a record, so a change makes a new one.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import unused
from shiftjax.mechanism.paths import child
from shiftjax.viewer.scene.normals import with_normals
from shiftjax.viewer.scene.scene import Colour, Mesh, Scene, ScenePart

SIZE = 0.12  # of a new shape, in model sizes
COLOUR: Colour = (0.95, 0.85, 0.15, 1.0)
KINDS: dict[str, dict[str, float | tuple[float, ...]]] = {  # sizes of a new shape, in its own
    "box": {"size": (1.0, 1.0, 1.0)},
    "sphere": {"radius": 0.5},
    "cylinder": {"radius": 0.5, "length": 1.0},
    "cone": {"radius": 0.5, "length": 1.0},
    "arrow": {"radius": 0.06, "length": 1.5},
}


def sizes(kind: str, scene: Scene) -> dict[str, float | tuple[float, ...]]:
    """Sizes [m] of a new parametric shape in a scene."""
    unit = SIZE * scene.size
    return {key: tuple(unit * x for x in v) if isinstance(v, tuple) else unit * v for key, v in KINDS[kind].items()}


def free_path(body: str, taken: Iterable[str]) -> str:
    """An unused path on a body."""
    names = {path.rpartition(":")[2] for path in taken if path.rpartition(":")[0] == body}
    return child(body, unused("shape", names))


def keep_added(old: Scene, new: Scene) -> Scene:
    """The new scene with the shapes that were added to the old one."""
    added = tuple(part for part in old.parts if part.kind == "shape")
    return dataclasses.replace(new, parts=(*new.parts, *added)) if added else new


def replaced(scene: Scene, path: str, parts: Iterable[ScenePart]) -> Scene:
    """The scene with these parts for that path, none of them to remove it."""
    others = tuple(part for part in scene.parts if part.path != path)
    return dataclasses.replace(scene, parts=(*others, *parts))


def with_mesh(scene: Scene, node: int, path: str, mesh: Mesh, transform: np.ndarray, colour: Colour) -> Scene:
    """The scene with a mesh on a node; ModelError if the transform is not (4, 4) of finite numbers."""
    where = np.asarray(transform, float)
    if where.shape != (4, 4) or not np.isfinite(where).all():
        body = scene.nodes[node]
        raise ModelError(
            f"transform of a shape on {body}", f"shape {where.shape}", "(4, 4) finite numbers", "Correct it."
        )
    return replaced(scene, path, [ScenePart(mesh, node, where, colour, path, "shape")])


def mesh(vertices: np.ndarray, faces: np.ndarray) -> Mesh:
    """A mesh of triangles, quads, lines or points, with normals that are smooth but for sharp edges.

    Args:
        vertices: (n, 3) [m]; faces: (m, 3), (m, 4), (m, 2) or (m, 1) numbers of vertices; a quad is cut in two.

    Raises:
        ModelError: other shapes, numbers that are not finite, or faces of vertices that are not there.
    """
    points, corners = np.array(vertices, np.float32), np.array(faces)
    good = points.ndim == corners.ndim == 2 and points.shape[1] == 3 and corners.shape[1] in (1, 2, 3, 4)
    if not (good and corners.size and np.isfinite(points).all() and corners.dtype.kind in "iu"):
        raise ModelError("mesh", f"vertices {points.shape}, faces {corners.shape} of {corners.dtype}",
                         "(n, 3) finite numbers and (m, 1 to 4) whole ones", "Correct them.")  # fmt: skip
    if corners.min() < 0 or corners.max() >= len(points):
        raise ModelError("mesh", f"faces of vertices {corners.min()} to {corners.max()}", f"0 to {len(points) - 1}",
                         "Correct the faces.")  # fmt: skip
    if corners.shape[1] == 4:
        corners = np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])
    normals, indices = np.zeros_like(points), corners.astype(np.uint32)
    if corners.shape[1] == 3:
        normals, old, indices = with_normals(points, corners)
        points = points[old]
    key = hashlib.sha256(points.tobytes() + indices.tobytes()).hexdigest()
    return Mesh(f"user {indices.shape[1]} {key}", points, indices, normals)
