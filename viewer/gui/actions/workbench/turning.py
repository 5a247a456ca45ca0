"""Turning a body of a mechanism that is posed, with the mouse, as on a trackball. No GL, no GUI library."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shiftjax.poses import to_local, to_world
from shiftjax.viewer.gui.actions.workbench.posing import hand
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState

WHOLE = np.pi  # rad, for the shorter side of the view
NEAR = 0.02  # of the model's size: nearer to a body's origin no direction about it is seen


@dataclass
class TurnedBody:
    """The drag that turns a body.

    Attributes:
        body: "" where none is turned. point: (3,) about which [m, in the body]. arm: (3,) that point from the body's
            origin [m, in the world]. right, up: how far the mouse went, in parts of the shorter side of the view.
    """

    body: str = ""
    point: np.ndarray = field(default_factory=lambda: np.zeros(3))
    arm: np.ndarray = field(default_factory=lambda: np.zeros(3))
    right: float = 0.0
    up: float = 0.0


def begin(state: WindowState, hit: Hit) -> None:
    """Starts turning the body under the cursor about that point."""
    node, turned = state.node_of(hit.path) if hit.path else None, state.pane_data(TurnedBody)
    turned.body = ""
    if (run := hand(state)) and run.posing and node and hit.point is not None:
        pose = state.poses()[node]
        state.pick_path(state.study.nodes[node], hit.point)
        turned.body, turned.point = state.study.nodes[node], to_local(pose, hit.point)
        turned.arm, turned.right, turned.up = hit.point - to_world(pose, np.zeros(3)), 0.0, 0.0
        run.turn_body(turned.body, turned.point, np.zeros(3), np.zeros(3))


def move(state: WindowState, right: float, up: float) -> None:
    """Turns what is in front the way of the mouse; what turns about the line of sight alone, the way in which the
    point under the mouse goes about the body's origin."""
    turned, (x, y, back) = _moved(state, right, up), state.current_camera().axes()
    if state.hand is not None and turned.body:
        turn = WHOLE * (turned.right * y - turned.up * x)
        state.hand.turn_body(turned.body, turned.point, turn, _sweep(state, turned) * back)


def roll(state: WindowState, right: float, up: float) -> None:
    """Turns the body about the line of sight."""
    turned, (_, _, back) = _moved(state, right, up), state.current_camera().axes()
    if state.hand is not None and turned.body:
        state.hand.turn_body(turned.body, turned.point, _sweep(state, turned) * back, np.zeros(3))


def end(state: WindowState) -> None:
    """Ends that, as a step."""
    turned = state.pane_data(TurnedBody)
    if state.hand is not None and turned.body:
        turned.body = ""
        state.hand.let_go()


def _moved(state: WindowState, right: float, up: float) -> TurnedBody:
    turned = state.pane_data(TurnedBody)
    turned.right, turned.up = turned.right + right, turned.up + up
    return turned


def _sweep(state: WindowState, turned: TurnedBody) -> float:
    """The angle about the line of sight, towards the eye: that in which the point goes about the body's origin; of a
    point there clockwise where the mouse goes right."""
    x, y, _ = state.current_camera().axes()
    across = np.array([turned.arm @ x, turned.arm @ y])
    length = float(np.hypot(*across))
    if length < NEAR * state.scene.size:
        return -WHOLE * turned.right
    return WHOLE * float(across[0] * turned.up - across[1] * turned.right) / length
