"""Names of bodies and joints, drawn as text over the view; of names that would overlap the most important."""

from __future__ import annotations

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.paths import parts
from shiftjax.poses import to_world
from shiftjax.viewer.gui.state.colours import FADED
from shiftjax.viewer.gui.state.derived import visibility
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.values import frame_in_world
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

SHIFT = 6.0  # points to the right of the point
OUTLINE = (1.0, 1.0, 1.0)  # around the text, for contrast
BODY, JOINT = (0.05, 0.05, 0.05), (0.10, 0.10, 0.55)


def label_points(state: WindowState) -> list[tuple[str, str, np.ndarray]]:
    """Path, plain name and point (3,) in the world [m] of every body and joint that is not hidden."""
    poses, off = state.body_poses(), visibility.hidden_items(state)
    hidden_bodies = state.display.drawn("link") == "hidden"
    points = []
    for path, body in () if hidden_bodies else state.mechanism.model.bodies():
        points.append((path, to_world(poses[path], np.array(body.center_of_mass))))
    for path, joint in state.mechanism.joints.items():
        if KINDS[joint.type].drawing == "free":
            continue
        points.append((path, frame_in_world(state.mechanism, joint.child, poses)[:3, 3]))
    return [(path, parts(path)[-1], point) for path, point in points if path not in off]


def by_priority(state: WindowState, eye: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
    """The labels, most important first: picked and selected items, bodies, joints; the nearest of each first."""
    marked, joints = state.selection.marked, state.mechanism.joints

    def rank(label: tuple[str, str, np.ndarray]) -> tuple[bool, bool, float]:
        path, _, point = label
        return path not in marked, path in joints, float(np.linalg.norm(point - eye))

    return sorted(label_points(state), key=rank)


def draw(state: WindowState, view: Box) -> None:
    """Draws the names behind all panes and windows."""
    drawn = state.display.drawn("name")
    if drawn == "hidden":
        return
    camera, size = state.current_camera(), (max(round(view.width), 1), max(round(view.height), 1))
    eye, back = camera.eye, camera.axes()[2]
    opacity = FADED * 2 if drawn == "translucent" else 1.0
    paper = imgui.get_background_draw_list()
    taken: list[Box] = []
    for path, name, point in by_priority(state, eye):
        if (eye - point) @ back <= 0 and not camera.orthographic:
            continue  # behind the eye
        x, y = camera.pixel(point, size)
        if not (0 <= x < size[0] and 0 <= y < size[1]):
            continue
        corner, wide = (view.x + x + SHIFT, view.y + y), imgui.calc_text_size(name)
        box = Box(*corner, wide.x, wide.y)
        if any(box.overlaps(other) for other in taken):
            continue
        taken.append(box)
        colour = JOINT if path in state.mechanism.joints else BODY
        for shift, tint in (((1, 1), OUTLINE), ((-1, -1), OUTLINE), ((0, 0), colour)):
            at = imgui.ImVec2(corner[0] + shift[0], corner[1] + shift[1])
            paper.add_text(at, imgui.get_color_u32(imgui.ImVec4(*tint, opacity)), name)
        ui.item_boxes[f"name:{path}"] = box
