"""What is drawn, and how: hidden and translucent items, display classes, colours, traces. No GL, no GUI library."""

from __future__ import annotations

import dataclasses

import numpy as np

from shiftjax.viewer.gui.state import groups, values
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.spring_meshes import drawn_parts


def hide(state: WindowState) -> None:
    state.selection.hidden |= set(state.selection.marked)


def translucent(state: WindowState) -> None:
    marked, before = set(state.selection.marked), state.selection.translucent
    state.selection.translucent = before - marked if marked <= before else before | marked


def isolate(state: WindowState) -> None:
    """Hides bodies, joints and springs but those marked and what is attached to marked bodies; without any, none."""
    keep = set(state.selection.marked)
    if keep:
        keep |= values.attached(state.mechanism, keep)
        shown = {part.path for part in drawn_parts(state.scene) if part.kind in ("body", "joint", "spring")}
        state.selection.hidden = shown - keep


def show_all(state: WindowState) -> None:
    state.selection.show_all()
    for name in ("link", "joint", "tree joint", "closure joint", "root closure", "ground", "spring", "light", "shape"):
        state.display.inherit(name)


def toggle_class(state: WindowState, name: str) -> None:
    """Shows or hides a display class."""
    state.display.toggle(name)


def trace(state: WindowState) -> None:
    """Traces the picked point, or the origin of the picked body or frame; without a pick, none."""
    pick = state.selection.pick
    node = state.node_of(pick) if pick else None
    point = np.zeros(3) if state.selection.pick_point is None else state.selection.pick_point
    state.view.trace_frame = pick if pick is not None and pick in state.mechanism.frames else ""
    if state.view.trace_frame:
        point = state.mechanism.frames[state.view.trace_frame][:3, 3]
    state.view.trace = (node, point) if node else None


def traces(state: WindowState) -> None:
    """The path of the traced point of many members, or of the current one alone; the picked point where none is."""
    choice = state.choice
    if state.live is not None:
        state.say("A running simulation has one member.")
        return
    if not choice.traces_on and state.view.trace is None:
        trace(state)
    if not choice.traces_on and state.view.trace is None:
        state.say("Pick a point of a body first, or a frame.")
        return
    choice.traces_on = not choice.traces_on


def next_grouping(state: WindowState) -> None:
    """Colours by the next grouping; after the last, every body has its own colour."""
    state.grouping = groups.BY[(groups.BY.index(state.grouping) + 1) % len(groups.BY)]
    state.say(f"coloured by {state.grouping}" if state.grouping else "every body in its own colour")


def shadows(state: WindowState) -> None:
    state.look = dataclasses.replace(state.look, shadows=not state.look.shadows)
