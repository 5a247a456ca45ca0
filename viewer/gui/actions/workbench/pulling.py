"""Pulling a body of a running simulation with the mouse. No GL, no GUI library."""

from __future__ import annotations

import math

import numpy as np

from shiftjax.poses import to_local, to_world
from shiftjax.viewer.gui.state.colours import OF_STATE, PULL
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import Strokes

NOT_LIVE = "Only a running simulation can be pulled, or a model posed: `shiftjax view MODEL --live`, or `--pose`."
CROSS = 0.02  # half size of the cross at the target, in model sizes


def begin(state: WindowState, hit: Hit) -> None:
    """Starts pulling the body under the cursor at that point."""
    node = state.node_of(hit.path) if hit.path else None
    if state.live is None:
        state.say(NOT_LIVE)
    elif node and hit.point is not None:
        state.pick_path(state.study.nodes[node], hit.point)
        if not state.live.running and not state.live.posing:
            state.say("The simulation is paused: the body follows the mouse once it plays.")
        state.live.grab(state.study.nodes[node], to_local(state.poses()[node], hit.point), np.array(hit.point))


def move(state: WindowState, right: float, up: float) -> None:
    """Moves the target parallel to the picture, in parts of the shorter side of the view."""
    pulled = state.live.pull if state.live is not None else None
    if state.live is None or pulled is None:
        return
    body, point, target = pulled
    camera = state.current_camera()
    x, y, back = camera.axes()
    depth = camera.distance if camera.orthographic else float((camera.eye - target) @ back)
    height = 2 * depth * math.tan(camera.view_angle / 2)
    state.live.grab(body, point, target + height * (right * x + up * y))


def end(state: WindowState) -> None:
    """Ends the pull."""
    if state.live is not None:
        state.live.let_go()


def cross(state: WindowState, place: np.ndarray) -> np.ndarray:
    """(3, 2, 3) a small cross at a place (3,) of the world."""
    arms = CROSS * state.scene.size * np.eye(3)
    return np.stack([place - arms, place + arms], axis=1)


def line(state: WindowState) -> Strokes | None:
    """From the pulled point to the target, which is a small cross; None without a pull. Of a model that is posed
    its colour says whether the body comes there."""
    pull = state.live.pull if state.live is not None else None
    if pull is None or pull[0] not in state.body_poses():
        return None
    body, point, target = pull
    pulled = to_world(state.body_poses()[body], point)
    ends = np.array([[pulled, target], *cross(state, target)])
    wanted = state.hand.hand_goals if state.hand is not None and state.hand.posing else ()
    colour = OF_STATE[wanted[0].state] if wanted else PULL
    return Strokes(ends, np.tile(np.array(colour), (len(ends), 1)))
