"""Actions on shapes that the user adds: add, change, edit, remove, and whether they can be picked. No GL.

An added shape belongs to the class "shape", a widget: it is drawn, and picked only while widgets can be.
"""

from __future__ import annotations

import numpy as np

from shiftjax.editing.scripts import line_of
from shiftjax.errors import ModelError, one_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import Geometry
from shiftjax.viewer.gui.actions import additions
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.added_shapes import COLOUR, KINDS, replaced, sizes
from shiftjax.viewer.scene.model_shapes import finder, shape_of
from shiftjax.viewer.scene.scene import ScenePart


def add(state: WindowState) -> None:
    """Adds a box to the picked body, at the picked point, and picks it; on a user's shape, changes its kind."""
    path = state.selection.pick
    if path in state.shapes:
        kinds = list(KINDS)
        change(state, path, kinds[(kinds.index(state.shapes[path].type) + 1) % len(kinds)])
        return
    node = state.node_of(path) if path else None
    if node is None or path is None:
        state.say("add a shape: pick a body, joint or frame first")
        return
    origin = state.selection.pick_point if state.selection.pick_point is not None else _origin(state, path)
    name = additions.free_path(state, state.study.nodes[node])
    state.shapes[name] = Geometry("box", (), FrozenJson(sizes("box", state.scene) | {"T": tuple(map(float, origin))}))
    _rebuild(state, name, state.study.nodes[node])
    state.pick_path(name)


def change(state: WindowState, path: str, kind: str) -> None:
    """Gives a parametric shape another kind, with default sizes at its old position."""
    one_of(f"kind of {path}", kind, KINDS)
    common = {
        key: value for key, value in state.shapes[path].options.items() if key in ("T", "R", "rotation", "colour")
    }
    edit(state, path, Geometry(kind, (), FrozenJson(sizes(kind, state.scene) | common)))


def edit(state: WindowState, path: str, geometry: Geometry) -> None:
    """Gives a parametric shape other numbers; errors become messages and the shape stays."""
    before = state.shapes[path]
    state.shapes[path] = geometry
    try:
        _rebuild(state, path, state.study.nodes[_part(state, path).node])
    except ModelError as error:
        state.shapes[path] = before
        state.say(str(error))


def remove(state: WindowState) -> None:
    """Removes the picked shape of the user, or a part of a mechanism on the workbench; nothing else can be removed."""
    path = state.selection.pick
    if state.hand is not None and path is not None and path not in state.shapes:
        state.hand.do(line_of("remove", (path,), {}))
        return
    if path is None or not any(part.kind == "shape" and part.path == path for part in state.scene.parts):
        state.say("Only shapes that were added can be removed.")
        return
    state.scene = replaced(state.scene, path, [])
    state.shapes.pop(path, None)
    state.selection.forget(path)


def toggle_picking(state: WindowState) -> None:
    """Toggles whether widgets can be picked."""
    state.display.set("widget", pick=not state.display.picks("widget"))
    state.say(f"shapes and symbols can {'' if state.display.picks('widget') else 'not '}be picked")


def _origin(state: WindowState, path: str) -> np.ndarray:
    """(3,) origin of a body, a joint or a frame, in coordinates of its node."""
    joint = state.mechanism.joints.get(path)
    inside = state.mechanism.frames.get(joint.child.path if joint is not None else path)
    return np.zeros(3) if inside is None else inside[:3, 3]


def _part(state: WindowState, path: str) -> ScenePart:
    return next(part for part in state.scene.parts if part.path == path)


def _rebuild(state: WindowState, path: str, body: str) -> None:
    """Rebuilds the parts of a parametric shape."""
    pieces = shape_of(state.shapes[path], path, finder(state.study.model, None), None, [])
    node = state.node[body]
    parts = [ScenePart(m, node, matrix, colour or COLOUR, path, "shape") for m, matrix, colour in pieces]
    state.scene = replaced(state.scene, path, parts)
