"""Drawing with the mouse what a mechanism is made of: bars, joints where they meet, pins to ground. No GL, no GUI
library.

Every action is a line of the workbench's script.
"""

from __future__ import annotations

import numpy as np

from shiftjax.editing.scripts import line_of
from shiftjax.mechanism.records import FIXED, ORIGIN, FrameRef
from shiftjax.viewer.gui.actions.workbench import new_parts
from shiftjax.viewer.gui.actions.workbench.posing import hand
from shiftjax.viewer.gui.actions.workbench.pulling import cross
from shiftjax.viewer.gui.state.colours import PULL
from shiftjax.viewer.gui.state.drawn_bar import BarEnd, DrawnBar
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import Strokes

PER_METRE = 1.0  # kg/m, of a bar, whose mass and inertia follow its length
SLENDER = 40.0  # lengths of a bar over its radius, by which it has an inertia about its axis, too
SHORTEST = 1e-6  # m
ALONG = 1e-9  # of an axis of a frame that is that of a bar
OBLIQUE = 0.1  # of the length of a unit vector across a bar: less is along it
DRAWING = "Drag from one end to the other; a click on an end pins it to ground. Escape ends it."
TIP = "tip"


def toggle(state: WindowState) -> None:
    """Draws bars with the mouse, or stops."""
    if run := hand(state):
        if state.selection.mode == "draw":
            state.set_mode("manipulate")
        elif run.posing:
            state.set_mode("draw")
            state.say(DRAWING)
        else:
            state.say("End the run first.")


def begin(state: WindowState, hit: Hit) -> None:
    """A bar begins under the cursor."""
    state.drawn = new_parts.begin(state)


def move(state: WindowState, right: float, up: float) -> None:
    """Its other end is under the cursor."""
    if state.drawn is not None:
        new_parts.move(state, state.drawn)
        state.panels.message = f"{state.drawn.length:.6g} m{_on(state.drawn.end)}"


def end(state: WindowState) -> None:
    """Puts the bar in, with joints where its ends are on other bodies."""
    bar, state.drawn = state.drawn, None
    if bar is None or not (run := hand(state)):
        return
    if bar.length < SHORTEST:
        state.say("A bar has two ends: drag from one to the other.")
    else:
        run.do("; ".join(_lines(state, bar)))


def pin(state: WindowState) -> None:
    """Pins the frame under the cursor to ground, by a joint that turns about the normal of the plane of drawing."""
    ref = new_parts.nearest_frame(state, ground=False)
    if ref is None:
        state.say("Click on the end of a bar, or on a frame (E shows them), to pin it to ground.")
    elif run := hand(state):
        axis = (new_parts.placed(state, ref)[:3, :3].T @ new_parts.normal_of(state)).round(12)
        name = new_parts.free_name(state, "pivot", ref.body.rpartition(":")[0])
        run.do(
            line_of("add_joint", (name, "revolute", FIXED, (ref.body, ref.frame)), {"axis": new_parts.axis_words(axis)})
        )


def line(state: WindowState) -> Strokes | None:
    """The bar that is being drawn."""
    if state.drawn is None:
        return None
    ends = np.array([[state.drawn.start.point, state.drawn.end.point]])
    return Strokes(ends, np.array([PULL]))


def mark(state: WindowState) -> Strokes | None:
    """The place that was marked, as a cross."""
    if state.mark is None:
        return None
    return Strokes(cross(state, state.mark), np.tile(np.array(PULL), (3, 1)))


def _lines(state: WindowState, bar: DrawnBar) -> list[str]:
    """The calls that put a bar in: its length, the body, whose mass and inertia follow from that, and a joint for each
    end that is on a frame."""
    assembly, length = new_parts.first_assembly(state), bar.length
    name = new_parts.free_name(state, "bar", assembly)
    along = (bar.end.point - bar.start.point) / length
    across = _across(along, bar.normal)
    R = np.stack([along, across, np.cross(along, across)], axis=1) + 0.0
    L = new_parts.free_parameter(state, f"{name}_length")
    words = {
        "at": (R.tolist(), bar.start.point.tolist()),
        "mass": f"{PER_METRE} * {L}",
        "center_of_mass": [f"{L} / 2", 0.0, 0.0],
        "inertia": {
            "Ixx": f"{PER_METRE} * {L}**3 / {2.0 * SLENDER**2}",
            **dict.fromkeys(("Iyy", "Izz"), f"{PER_METRE} * {L}**3 / 12"),
        },
        "frames": {TIP: [L, 0.0, 0.0]},
    }
    lines = [line_of("add", ("parameter", L), {"value": length, "unit": "length"})]
    lines.append(line_of("add_body", (name, assembly), words))
    joints: list[str] = []
    for which, frame in ((bar.start, ORIGIN), (bar.end, TIP)):
        if which.frame is not None:
            joint = new_parts.free_name(state, "joint", assembly, joints)
            joints.append(joint)
            lines.append(_joint_line(state, joint, which, which.frame, (f"{assembly}:{name}", frame), across))
    return lines


def _joint_line(
    state: WindowState, name: str, end: BarEnd, on: FrameRef, of_bar: tuple[str, str], across: np.ndarray
) -> str:
    """A joint of a bar's end and a frame: between frames, where both have the bar's axis `across` it."""
    if abs(new_parts.placed(state, on)[:3, 1] @ across - 1.0) < ALONG:
        return line_of("add_joint", (name, "revolute", (on.body, on.frame), of_bar), {"axis": "y"})
    axis = new_parts.axis_words(across)
    return line_of("add_joint", (name, "revolute", on.body, of_bar[0]), {"at": end.point.tolist(), "axis": axis})


def _across(along: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(3,) perpendicular to a bar, nearest to the normal of the plane; where the bar goes along that, another one."""
    for axis in (normal, *np.roll(np.eye(3), 1, axis=0)):
        across = axis - (axis @ along) * along
        if np.linalg.norm(across) > OBLIQUE:
            return across / np.linalg.norm(across)
    raise AssertionError("no axis is along all three")


def _on(end: BarEnd) -> str:
    return f", on {end.frame.path}" if end.frame is not None else ""
