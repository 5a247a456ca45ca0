"""From where the scene is seen: turning, shifting, standard views, framing, following. No GL, no GUI library.

Movements are right and up, in parts of the shorter side of the view.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from shiftjax.poses import to_world
from shiftjax.viewer.gui.state.derived import visibility
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.motion import framing, reach
from shiftjax.viewer.scene.camera import VIEWS, Camera

TURN = math.radians(180.0)  # of a movement over the whole shorter side of the view
ZOOM = 3.0  # a movement over the height divides the distance by e^3
KEY_ORBIT = math.radians(15.0) / TURN  # a press of a key, as a movement
KEY_SHIFT, KEY_ZOOM = 0.05, math.log(1.2) / ZOOM
WHEEL = 0.05  # a step of the wheel, as a movement
CLOSE = 0.25  # of the model's size: radius of the sphere framed about a joint or frame


def orbit(state: WindowState, right: float, up: float) -> None:
    state.view.camera = state.view.camera.orbit(TURN * right, TURN * up)


def pan(state: WindowState, right: float, up: float) -> None:
    state.view.camera = state.view.camera.pan(right, up)


def pan_level(state: WindowState, right: float, up: float) -> None:
    state.view.camera = state.view.camera.pan_level(right, up)


def zoom(state: WindowState, right: float, up: float) -> None:
    state.view.camera = state.view.camera.zoom(math.exp(ZOOM * up))


def roll(state: WindowState, right: float, up: float) -> None:
    state.view.camera = state.view.camera.roll(TURN * right)


def view(state: WindowState, name: str) -> None:
    """A standard view with the world upright; following goes on."""
    state.view.standard = name
    state.view.turn(dataclasses.replace(state.view.camera, up=state.scene.up).seen_from(name))


def next_view(state: WindowState, by: int) -> None:
    names = list(VIEWS)
    view(state, names[(names.index(state.view.standard) + by) % len(names)])


def frame_all(state: WindowState) -> None:
    """Frames what is drawn now, without rotating the camera."""
    state.view.unfollow(state.poses())
    hidden, right, hovered = visibility.hidden_paths(state), state.beside, state.hovered_half
    shown = [hovered] if right is None or right.camera is not None else [None, right]
    state.view.fit(
        framing.joined(framing.extent_at((half or state).scene, state.poses(half), hidden) for half in shown)
    )


def frame_pick(state: WindowState) -> None:
    """Frames the pick, or the whole model."""
    node = state.node_of(state.selection.pick) if state.selection.pick else None
    if node is None:
        frame_all(state)
        return
    state.view.unfollow(state.poses())
    right = state.hovered_half
    pose = right.pose_of(state.selection.pick, state.clock.time) if right is not None and state.selection.pick else None
    pose = state.poses()[node] if pose is None else pose
    point = pose[:3] if state.selection.pick_point is None else to_world(pose, state.selection.pick_point)
    _frame(state, point, CLOSE * (state.hovered_half or state).scene.size)


def _frame(state: WindowState, point: np.ndarray, size: float) -> None:
    like = Camera.of(point, size, state.view.camera.up)
    state.view.camera = dataclasses.replace(state.view.camera, target=like.target, distance=like.distance)


def orthographic(state: WindowState) -> None:
    state.view.camera = dataclasses.replace(state.view.camera, orthographic=not state.view.camera.orthographic)


def follow(state: WindowState, path: str | None) -> None:
    """Follows the body that carries an item; None stops."""
    state.view.unfollow(state.poses())
    node = state.node_of(path) if path else None
    if node:
        state.view.follow(framing.follow(state.scene, state.study.nodes[node]), state.poses())


def follow_named(state: WindowState, name: str) -> None:
    """Follows a body by name, or `framing.ALL`, and frames what is near it; ModelError for an unknown name."""
    followed, poses = framing.follow(state.scene, name), reach.sampled(state.study, state.choice.member)
    state.view.fit(framing.beside_followed(followed, state.scene, poses))
    camera = state.view.camera
    state.view.follow(followed, poses[0])
    state.view.camera = camera


def follow_pick(state: WindowState) -> None:
    follow(state, None if state.view.followed is not None else state.selection.pick)


def keep_camera(state: WindowState) -> None:
    state.view.kept_camera = state.current_camera()
    state.say("camera kept")


def to_kept_camera(state: WindowState) -> None:
    state.view.unfollow(state.poses())
    state.view.camera = state.view.kept_camera


def copy_camera(state: WindowState) -> None:
    """Requests the camera as Python on the clipboard."""
    state.panels.requests.append(f"copy:{state.current_camera()!r}")
    state.say("camera copied")
