"""Shapes that a user adds to bodies: parametric ones in the words of a model's file, and meshes from Python. No GL.

A user's shape belongs to the class "shape", a widget: it is drawn, and picked only while widgets can be. The scene is a
record, so a change makes a new one.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TYPE_CHECKING

import numpy as np

from shiftjax.errors import ModelError, one_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import unused
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import Geometry
from shiftjax.viewer.assimp.normals import with_normals
from shiftjax.viewer.geometry import finder, shape_of
from shiftjax.viewer.scene import Colour, Mesh, Part, Scene

if TYPE_CHECKING:
    from shiftjax.viewer.gui.state import State

SIZE = 0.12  # of a new shape, in model sizes
COLOUR: Colour = (0.95, 0.85, 0.15, 1.0)
KINDS: dict[str, dict[str, float | tuple[float, ...]]] = {  # sizes of a new shape, in its own
    "box": {"size": (1.0, 1.0, 1.0)},
    "sphere": {"radius": 0.5},
    "cylinder": {"radius": 0.5, "length": 1.0},
    "cone": {"radius": 0.5, "length": 1.0},
    "arrow": {"radius": 0.06, "length": 1.5},
}


def add(state: State) -> None:
    """Adds a box to the picked body, at the picked point, and picks it; on a user's shape, changes its kind."""
    path = state.pick
    if path in state.shapes:
        kinds = list(KINDS)
        change(state, path, kinds[(kinds.index(state.shapes[path].type) + 1) % len(kinds)])
        return
    node = state.node_of(path) if path else None
    if node is None or path is None:
        state.say("add a shape: pick a body, joint or frame first")
        return
    place = state.pick_point if state.pick_point is not None else _origin(state, path)
    name = _free(state, state.study.nodes[node])
    state.shapes[name] = Geometry("box", (), FrozenJson(_sizes(state, "box") | {"T": tuple(map(float, place))}))
    _renew(state, name, state.study.nodes[node])
    state.pick_path(name)


def change(state: State, path: str, kind: str) -> None:
    """Gives a parametric shape another kind, in new sizes at its old place."""
    one_of(f"kind of {path}", kind, KINDS)
    kept = {key: value for key, value in state.shapes[path].options.items() if key in ("T", "R", "rotation", "colour")}
    edit(state, path, Geometry(kind, (), FrozenJson(_sizes(state, kind) | kept)))


def edit(state: State, path: str, geometry: Geometry) -> None:
    """Gives a parametric shape other numbers; a refusal becomes a message and the shape stays."""
    before = state.shapes[path]
    state.shapes[path] = geometry
    try:
        _renew(state, path, state.study.nodes[_part(state, path).node])
    except ModelError as error:
        state.shapes[path] = before
        state.say(str(error))


def remove(state: State) -> bool:
    """Removes the picked shape of a user; False where the pick is none."""
    path = state.pick
    if path is None or not any(part.kind == "shape" and part.path == path for part in state.scene.parts):
        return False
    _put(state, path, [])
    state.shapes.pop(path, None)
    state.selected = [other for other in state.selected if other != path]
    state.hidden.discard(path)
    state.masked.discard(path)
    state.pick_path(None)
    return True


def toggle_picking(state: State) -> None:
    """Lets widgets be picked, or not."""
    state.display.set("widget", pick=not state.display.picks("widget"))
    state.say(f"shapes and signs can {'' if state.display.picks('widget') else 'not '}be picked")


def carried(old: Scene, new: Scene) -> Scene:
    """The new scene with the shapes that a user has added to the old one."""
    added = tuple(part for part in old.parts if part.kind == "shape")
    return dataclasses.replace(new, parts=(*new.parts, *added)) if added else new


def put_mesh(state: State, body: str, mesh: Mesh, place: np.ndarray, colour: Colour) -> str:
    """Adds a mesh to a body or ground and returns the path of the new shape; see `State.add_shape`."""
    one_of("body", body, state.node)
    where = np.asarray(place, float)
    if where.shape != (4, 4) or not np.isfinite(where).all():
        raise ModelError(f"place of a shape on {body}", f"shape {where.shape}", "(4, 4) finite numbers", "Correct it.")
    path = _free(state, body)
    _put(state, path, [Part(mesh, state.node[body], where, colour, path, "shape")])
    return path


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


def _sizes(state: State, kind: str) -> dict[str, float | tuple[float, ...]]:
    """Sizes [m] of a new shape."""
    unit = SIZE * state.scene.size
    return {key: tuple(unit * x for x in v) if isinstance(v, tuple) else unit * v for key, v in KINDS[kind].items()}


def _origin(state: State, path: str) -> np.ndarray:
    """(3,) where a body, a joint or a frame is, in coordinates of its node."""
    joint = state.mechanism.joints.get(path)
    inside = state.mechanism.frames.get(joint.child.path if joint is not None else path)
    return np.zeros(3) if inside is None else inside[:3, 3]


def _free(state: State, body: str) -> str:
    """A path that nothing has."""
    taken = {path.rpartition(":")[2] for path in (*state.mechanism.frames, *(p.path for p in state.scene.parts))
             if path.rpartition(":")[0] == body}  # fmt: skip
    return child(body, unused("shape", taken))


def _part(state: State, path: str) -> Part:
    return next(part for part in state.scene.parts if part.path == path)


def _renew(state: State, path: str, body: str) -> None:
    """Makes the parts of a parametric shape."""
    pieces = shape_of(state.shapes[path], path, finder(state.study.model, None), None, [])
    node = state.node[body]
    _put(state, path, [Part(m, node, place, colour or COLOUR, path, "shape") for m, place, colour in pieces])


def _put(state: State, path: str, parts: list[Part]) -> None:
    """The scene with these parts for that path."""
    others = tuple(part for part in state.scene.parts if part.path != path)
    state.scene = dataclasses.replace(state.scene, parts=(*others, *parts))
