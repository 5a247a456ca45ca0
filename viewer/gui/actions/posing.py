"""Posing a mechanism by hand: what was done, locked joints, joints turned by the wheel. No GL, no GUI library."""

from __future__ import annotations

from pathlib import Path

from shiftjax.viewer.gui.state.state import WindowState

NOT_POSED = "No model is posed here: `shiftjax view MODEL --pose`."
NO_JOINT = "Pick a joint first: a double-click on its axis, or its row in the tree."
TURN = 0.5  # rad, or parts of a third of the model's size, for a zoom of the wheel by 1


def undo(state: WindowState) -> None:
    """Takes the last step back."""
    if state.live is None:
        state.say(NOT_POSED)
    else:
        state.live.undo()


def redo(state: WindowState) -> None:
    """Does it again."""
    if state.live is None:
        state.say(NOT_POSED)
    else:
        state.live.redo()


def lock(state: WindowState) -> None:
    """Locks the picked joint, or frees it."""
    path = _joint(state)
    if state.live is not None and path:
        state.live.lock(path)


def save(state: WindowState) -> None:
    """Writes the model as it is posed into the folder where the command was called."""
    if state.live is None:
        state.say(NOT_POSED)
    else:
        state.live.save(Path.cwd())


def turn(state: WindowState, right: float, up: float) -> None:
    """Turns the picked joint by the wheel, or slides it."""
    path = _joint(state)
    if state.live is None or not path:
        return
    if path not in state.live.requested:
        state.say(f"{path} has no coordinate of one number: drag its body")
        return
    slides = state.mechanism.model.coordinate_units().get(path) == "m"
    unit = state.scene.size / 3.0 if slides else 1.0
    state.live.change(path, state.live.requested[path] + TURN * unit * (right + up))
    state.live.let_go()


def _joint(state: WindowState) -> str:
    """The picked joint of a model that is posed, "" with a message where there is none."""
    if state.live is None or not state.live.posing:
        state.say(NOT_POSED)
        return ""
    if state.selection.pick not in state.mechanism.joints:
        state.say(NO_JOINT)
        return ""
    return state.selection.pick or ""
