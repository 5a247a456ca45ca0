"""Names of bodies and joints, written over the view at their places."""

from __future__ import annotations

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.paths import parts
from shiftjax.poses import to_world
from shiftjax.viewer.gui import ui
from shiftjax.viewer.gui.bundle import imgui
from shiftjax.viewer.gui.colours import FADED
from shiftjax.viewer.gui.layout import Box
from shiftjax.viewer.gui.state import State
from shiftjax.viewer.gui.values import placed

SHIFT = 6.0  # points to the right of the place
SHADE = (1.0, 1.0, 1.0)  # behind the letters, so that they are read before dark things
BODY, JOINT = (0.05, 0.05, 0.05), (0.10, 0.10, 0.55)


def places(state: State) -> list[tuple[str, str, np.ndarray]]:
    """Path, plain name and place (3,) in the world [m] of every body and joint that is not hidden."""
    poses, off = state.body_poses(), state.hidden_things()
    hidden_bodies = state.display.drawn("link") == "hidden"
    found = []
    for path, body in () if hidden_bodies else state.mechanism.model.bodies():
        found.append((path, to_world(poses[path], np.array(body.center_of_mass))))
    for path, joint in state.mechanism.joints.items():
        if KINDS[joint.type].drawing == "free":
            continue
        found.append((path, placed(state.mechanism, joint.child, poses)[:3, 3]))
    return [(path, parts(path)[-1], place) for path, place in found if path not in off]


def draw(state: State, view: Box) -> None:
    """Writes the names behind all panes and windows."""
    drawn = state.display.drawn("name")
    if drawn == "hidden":
        return
    camera, size = state.seen(), (max(round(view.width), 1), max(round(view.height), 1))
    eye, back = camera.eye, camera.axes()[2]
    opacity = FADED * 2 if drawn == "masked" else 1.0
    paper = imgui.get_background_draw_list()
    for path, name, place in places(state):
        if (eye - place) @ back <= 0 and not camera.orthographic:
            continue  # behind the eye
        x, y = camera.pixel(place, size)
        if not (0 <= x < size[0] and 0 <= y < size[1]):
            continue
        corner, wide = (view.x + x + SHIFT, view.y + y), imgui.calc_text_size(name)
        colour = JOINT if path in state.mechanism.joints else BODY
        for shift, tint in (((1, 1), SHADE), ((-1, -1), SHADE), ((0, 0), colour)):
            at = imgui.ImVec2(corner[0] + shift[0], corner[1] + shift[1])
            paper.add_text(at, imgui.get_color_u32(imgui.ImVec4(*tint, opacity)), name)
        ui.marks[f"name:{path}"] = Box(*corner, wide.x, wide.y)
