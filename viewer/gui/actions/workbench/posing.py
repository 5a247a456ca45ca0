"""Posing a mechanism by hand: what was done, locked joints, joints turned by the wheel. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shiftjax.mechanism.records import FIXED
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.motion.live_run import ByHandRun

NOT_POSED = "No model is posed here: `shiftjax view MODEL --pose`."
NO_JOINT = "Pick a joint first: a double-click on its axis, or its row in the tree."
NO_JOINT_OR_BODY = "Pick a joint or a body first."
NOTHING_TO_KEEP = "Drag a body or turn a joint first, or pick one: its goal is kept."
TURN = 0.5  # rad, or parts of a third of the model's size, for a zoom of the wheel by 1


def hand(state: WindowState) -> ByHandRun | None:
    """The mechanism that is on the workbench; None, with a message, where there is none."""
    if state.hand is None:
        state.say(NOT_POSED)
    return state.hand


def undo(state: WindowState) -> None:
    """Takes the last step back."""
    if run := hand(state):
        run.undo()


def redo(state: WindowState) -> None:
    """Does it again."""
    if run := hand(state):
        run.redo()


def lock(state: WindowState) -> None:
    """Locks the picked joint or body, or frees it."""
    if run := hand(state):
        pick = state.selection.pick
        if pick in state.mechanism.joints or (pick in state.node and pick != FIXED):
            run.lock(pick or "")
        else:
            state.say(NO_JOINT_OR_BODY)


def want(key: str) -> Callable[[WindowState], None]:
    """An action: the picked joint has a "target" or a "posture" where it stands, or none any more."""

    def act(state: WindowState) -> None:
        if (run := hand(state)) and (path := picked_joint(state)):
            run.want(key, path)

    return act


def keep(state: WindowState) -> None:
    """Keeps the goal of the last drag or turn; of another pick, where it stands."""
    if run := hand(state):
        pick = state.selection.pick
        parts = (state.mechanism.joints, state.mechanism.frames, state.node)
        of = pick if pick is not None and pick != FIXED and any(pick in known for known in parts) else ""
        if not of and not run.hand_goals:
            state.say(NOTHING_TO_KEEP)
        else:
            run.keep(of)


def release(state: WindowState) -> None:
    """Releases the goals that are kept of the pick, or all where nothing is picked."""
    if run := hand(state):
        run.release(state.selection.pick or "")


def settle(state: WindowState) -> None:
    """Goes to the goals that are kept."""
    if run := hand(state):
        run.do("settle()")


def show_other(state: WindowState) -> None:
    """Shows the assembly that `flip` leads to, or no more."""
    if run := hand(state):
        run.show_other()


def save(state: WindowState) -> None:
    """Writes the model as it is posed into the folder where the command was called."""
    if run := hand(state):
        run.save(Path.cwd())


def show_velocities(kind: str) -> Callable[[WindowState], None]:
    """An action: "screw" or "ellipsoid" of the picked body is drawn, or no more."""

    def act(state: WindowState) -> None:
        if hand(state):
            state.display.toggle(kind)
            if state.display.drawn(kind) != "hidden" and state.selection.pick is None:
                state.say(f"Pick a joint or a body: its {kind} is drawn.")

    return act


def save_trajectory(state: WindowState) -> None:
    """Writes the poses that it went through by hand as a table into the folder where the command was called."""
    if run := hand(state):
        run.save_trajectory(Path.cwd())


def turn(state: WindowState, right: float, up: float) -> None:
    """Turns the picked joint by the wheel, or slides it."""
    if not (run := hand(state)) or not (path := picked_joint(state)):
        return
    if path not in run.requested:
        state.say(f"{path} has no coordinate of one number: drag its body")
        return
    slides = state.mechanism.model.coordinate_units().get(path) == "m"
    unit = state.scene.size / 3.0 if slides else 1.0
    run.change(path, run.requested[path] + TURN * unit * (right + up))
    run.let_go()


def picked_joint(state: WindowState) -> str:
    """The picked joint, "" with a message where there is none."""
    if state.selection.pick not in state.mechanism.joints:
        state.say(NO_JOINT)
        return ""
    return state.selection.pick or ""
