"""Changes of a mechanism on the workbench, of the pick and the selection. No GL, no GUI library.

Every action is a line of the workbench's script, that anybody could type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from shiftjax.editing.scripts import line_of
from shiftjax.mechanism.records import FIXED
from shiftjax.poses import to_world
from shiftjax.viewer.gui.actions.workbench import new_parts
from shiftjax.viewer.gui.actions.workbench.posing import hand, picked_joint
from shiftjax.viewer.gui.state.panels import OPEN
from shiftjax.viewer.gui.state.state import WindowState

NO_BODY = "Pick a body first: a double-click on it, or its row in the tree."
TWO_BODIES = "Pick one body and select another one (S): the joint is put where the pick was made."
BEGINS = ".initial_displacement"  # which sliders and drags say
GRAVITY = "model_parameters.gravity["  # in paths of its components
PLACE = ".T["  # in the path of a place, which is changed most and stands first
JOINT_AND_BODY = "Pick a joint, and select the body (S) that this end goes to."


def of_joint(step: str) -> Callable[[WindowState], None]:
    """An action: a step that takes the picked joint."""

    def act(state: WindowState) -> None:
        if (run := hand(state)) and (path := picked_joint(state)):
            run.do(line_of(step, (path,), {}))

    return act


def of_body(step: str) -> Callable[[WindowState], None]:
    """An action: a step that takes the picked body."""

    def act(state: WindowState) -> None:
        if (run := hand(state)) and (path := picked_body(state)):
            run.do(line_of(step, (path,), {}))

    return act


def split(state: WindowState) -> None:
    """Splits the picked body in two, welded: the other one has no frames yet."""
    if (run := hand(state)) and (path := picked_body(state)):
        outer, _, name = path.rpartition(":")
        run.do(line_of("split", (path, new_parts.free_name(state, f"{name}_part", outer)), {}))


def change_type(state: WindowState, kind: str) -> None:
    """The picked joint as another kind."""
    if (run := hand(state)) and (path := picked_joint(state)):
        run.do(line_of("change_type", (path, kind), {}))


def set_number(state: WindowState, path: str, value: float) -> None:
    """A number of the model on its way to another value; letting go of it is a step."""
    if run := hand(state):
        run.set_number(path, value)


def add_joint(state: WindowState) -> None:
    """A revolute joint between the picked body and the selected one, at the point of the pick."""
    run = hand(state)
    other = next((path for path in state.selection.selected if path in state.node), None)
    if run is None or not (path := picked_body(state)):
        return
    if other is None or other == path or state.selection.pick_point is None:
        state.say(TWO_BODIES)
        return
    place = to_world(state.body_poses()[path], state.selection.pick_point)
    name = new_parts.free_name(state, "joint", next(one for one in (other, path) if one != FIXED).rpartition(":")[0])
    words = {"at": place.round(6).tolist(), "axis": new_parts.axis_words(new_parts.normal_of(state))}
    run.do(line_of("add_joint", (name, "revolute", path, other), words))


def reattach(end: str) -> Callable[[WindowState], None]:
    """An action: the picked joint with one end, "parent" or "child", on the selected body."""

    def act(state: WindowState) -> None:
        run, path = hand(state), state.selection.pick
        other = next((one for one in state.selection.selected if one in state.node), None)
        if run is None:
            return
        if path not in state.mechanism.joints or other is None:
            state.say(JOINT_AND_BODY)
            return
        run.do(line_of("reattach", (path,), {end: other}))

    return act


def move_joint(state: WindowState) -> None:
    """The picked joint at the mark, on the same two bodies."""
    if (run := hand(state)) and (path := picked_joint(state)):
        if state.mark is None:
            state.say("Mark a place first (Ctrl+M): the joint goes there.")
        else:
            run.do(line_of("move_joint", (path,), {"at": state.mark.tolist()}))


def pose(state: WindowState) -> None:
    """Ends the run, and goes on posing and changing."""
    if run := hand(state):
        run.pose()
        state.clock.playing = False
        state.selection.mode = "manipulate"


def variants(state: WindowState) -> None:
    """A thousand variants of the mechanism as it is, in a window of their own."""
    if run := hand(state):
        run.make_variants(Path.cwd(), lambda path: state.panels.requests.append(f"{OPEN}:{path}"))


def flip(state: WindowState) -> None:
    """The next way in which the loops close."""
    if run := hand(state):
        run.do("flip()")


def curve(state: WindowState) -> None:
    """The curve of the picked point through the motion of the mechanism, or none."""
    run = hand(state)
    if run is None:
        return
    if run.curve is not None:
        run.hide_curve()
    elif path := picked_body(state):
        point = state.selection.pick_point
        inside = state.mechanism.frames.get(state.selection.pick or "")
        if inside is not None:
            point = inside[:3, 3]
        run.show_curve(path, np.zeros(3) if point is None else point)


def mark(state: WindowState) -> None:
    """A mark at the cursor, from which the distance of the shown curve is told; there again, none."""
    place = new_parts.under_cursor(state)
    state.mark = None if state.mark is not None and np.allclose(state.mark, place) else place
    if state.mark is not None:
        state.say(f"a mark at {', '.join(f'{x:.6g}' for x in place)} m")


def travel(state: WindowState) -> None:
    """How far the picked joint goes, and how others stand at its dead points."""
    if (run := hand(state)) and (path := picked_joint(state)):
        run.tell_travel(path)


def console(state: WindowState) -> None:
    """The console, or not."""
    if hand(state):
        state.panels.console_on = not state.panels.console_on


def numbers_of_pick(state: WindowState) -> Mapping[str, tuple[float, str]]:
    """Path -> value and unit of the numbers of the pick, places first, of a mechanism that is changed by hand; of
    ground, and where nothing is picked, those of gravity."""
    pick = state.selection.pick
    if state.hand is None or not state.hand.posing:
        return {}
    of = (*([f"{pick}.", f"{pick}:"] if pick is not None else []), *([GRAVITY] if pick in (None, FIXED) else []))

    def made() -> dict[str, tuple[float, str]]:
        model = state.mechanism.model
        units, numbers = model.number_units(), model.numbers()
        paths = [path for path in numbers if path.startswith(of) and BEGINS not in path]
        return {
            path: (numbers[path], units[path])
            for path in sorted(paths, key=lambda path: (not path.startswith(GRAVITY), PLACE not in path))
        }

    return state.cached_for_member(f"numbers of {pick}", made)


def picked_body(state: WindowState) -> str:
    """The picked body, or that of the picked frame, "" with a message where there is none."""
    pick = state.selection.pick
    node = state.node_of(pick) if pick is not None and pick not in state.mechanism.joints else None
    if not node:
        state.say(NO_BODY)
        return ""
    return state.study.nodes[node]
