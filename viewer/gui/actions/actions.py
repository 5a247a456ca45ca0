"""The actions, as functions of the state. No GL, no GUI library.

Four kinds by argument: PLAIN (none), AT (the item under the cursor), BY (a movement right and up in parts of the
shorter side of the view) and the wheel, which is a movement up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from shiftjax.poses import to_world
from shiftjax.viewer.gui.actions import beside, grid, pulling, shape_editing
from shiftjax.viewer.gui.actions import movie_recording as recording
from shiftjax.viewer.gui.state import groups, keys, values
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.motion import framing, sampling
from shiftjax.viewer.scene.camera import VIEWS, Camera
from shiftjax.viewer.scene.spring_figures import drawn_parts

TURN = math.radians(180.0)  # of a drag over the whole shorter side of the view
ZOOM = 3.0  # a drag over the height divides the distance by e^3
WHEEL = 0.05  # of the height, for a step of the wheel
KEY_TURN, KEY_SHIFT, KEY_ZOOM = math.radians(15.0), 0.05, 1.2  # a press of a key
SINGLE = 1 / 60  # s of a single step of a running simulation
CLOSE = 0.25  # of the model's size: radius of the sphere framed about a joint or frame


def run(state: WindowState, name: str) -> None:
    """Runs an action without argument; one that needs an argument gives a message."""
    action = state.table.actions[name]
    if action.call is not None:
        state.user_call(action.name, action.call)
    elif name in PLAIN:
        PLAIN[name](state)
    else:
        bound = " or ".join(action.bindings(state.map))
        state.say(f"{action.words}: with the mouse in the view, {bound}" if bound else f"{action.words}: not here")


# -- time and members --------------------------------------------------------------------------------------------------


def play(state: WindowState) -> None:
    """Plays or pauses; at the end it restarts."""
    state.clock.playing = not state.clock.playing
    if state.clock.playing and state.clock.time >= state.span[1] and state.live is None:
        state.clock.time = state.span[0]


def step(state: WindowState, by: int) -> None:
    """Pauses at the next or previous stored instant; at its end a running simulation computes the next one."""
    state.clock.playing = False
    times = state.study.time
    if by > 0 and state.live is not None and state.clock.time >= times[-1]:
        state.live.advance(math.inf, SINGLE)
        return
    if state.beside is not None:
        times = np.union1d(times, state.beside.study.time)
    if by > 0:
        k = int(np.searchsorted(times, state.clock.time, side="right"))
    else:
        k = int(np.searchsorted(times, state.clock.time, side="left")) - 1
    state.go_to(float(times[min(max(k, 0), len(times) - 1)]))


def restart(state: WindowState) -> None:
    """Restarts a running simulation; of a stored one returns to the first instant."""
    if state.live is not None:
        state.live.restart()
    state.go_to(state.span[0])


def next_member(state: WindowState, by: int) -> None:
    """The next of the chosen members, cyclic."""
    state.show_member(state.choice.neighbour(by))


def next_colour(state: WindowState) -> None:
    """Colours ghosts by the next metric; after the last by none."""
    names = ["", *state.study.metrics]
    state.choice.colour_by = names[(names.index(state.choice.colour_by) + 1) % len(names)]
    state.say(f"ghosts coloured by {state.choice.colour_by}" if state.choice.colour_by else "ghosts in one colour")


# -- camera ------------------------------------------------------------------------------------------------------------


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
    unfollow(state)
    hidden, right, hovered = state.hidden_paths(), state.beside, state.hovered_half
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
    unfollow(state)
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
    unfollow(state)
    node = state.node_of(path) if path else None
    if node:
        state.view.follow(framing.follow(state.scene, state.study.nodes[node]), state.poses())


def follow_named(state: WindowState, name: str) -> None:
    """Follows a body by name, or `framing.ALL`, and frames what is near it; ModelError for an unknown name."""
    followed, poses = framing.follow(state.scene, name), sampling.sampled(state.study, state.choice.member)
    state.view.fit(framing.beside_followed(followed, state.scene, poses))
    camera = state.view.camera
    state.view.follow(followed, poses[0])
    state.view.camera = camera


def unfollow(state: WindowState) -> None:
    """Stops following; the camera stays."""
    state.view.camera = state.current_camera()
    state.view.followed = None


def follow_pick(state: WindowState) -> None:
    follow(state, None if state.view.followed is not None else state.selection.pick)


def keep_camera(state: WindowState) -> None:
    state.view.kept_camera = state.current_camera()
    state.say("camera kept")


def to_kept_camera(state: WindowState) -> None:
    unfollow(state)
    state.view.camera = state.view.kept_camera


def copy_camera(state: WindowState) -> None:
    """Requests the camera as Python on the clipboard."""
    state.panels.requests.append(f"copy:{state.current_camera()!r}")
    state.say("camera copied")


# -- picking and selecting ---------------------------------------------------------------------------------------------


def escape(state: WindowState) -> None:
    """Closes what lies over the view, else leaves manipulation, drops the pick or stops following."""
    if state.panels.close():
        return
    if state.selection.mode == "manipulate":
        state.set_mode("navigate")
    elif state.selection.pick is not None:
        state.pick_path(None)
    else:
        unfollow(state)


def clear_selection(state: WindowState) -> None:
    """Empties the selection, except while manipulating."""
    if state.selection.mode == "navigate":
        state.selection.selected.clear()


def select_pick(state: WindowState, *, on: bool) -> None:
    if state.selection.pick is not None:
        state.selection.select(state.selection.pick, on=on)


def pick_parent(state: WindowState) -> None:
    """Picks the body of a frame, the parent body of a joint, the assembly of a body."""
    if state.selection.pick is None:
        return
    joint = state.mechanism.joints.get(state.selection.pick)
    parent = joint.parent.body if joint is not None else state.selection.pick.rpartition(":")[0]
    if parent:
        state.pick_path(parent)


def cycle(state: WindowState, by: int) -> None:
    """Picks the next or previous item under the last click, and fades those in front of it."""
    if not state.selection.stack:
        return
    paths = [hit.path for hit in state.selection.stack]
    at = paths.index(state.selection.pick) if state.selection.pick in paths else -1 if by > 0 else 0
    k = (at + by) % len(paths)
    state.pick_path(paths[k], state.selection.stack[k].point)
    state.selection.faded = frozenset(path for path in paths[:k] if path is not None)


def pick_at(state: WindowState, hit: Hit) -> None:
    """Picks the item; a ghost becomes the member shown, in the half under the cursor, and the pick stays."""
    if hit.member is None:
        state.pick_path(hit.path, hit.point)
    elif state.hovered_half is not None:
        beside.show(state, state.hovered_half, hit.member)
    else:
        state.show_member(hit.member)


def toggle_at(state: WindowState, hit: Hit) -> None:
    if hit.path is not None:
        state.selection.select(hit.path, on=hit.path not in state.selection.selected)


def centre_at(state: WindowState, hit: Hit) -> None:
    if hit.point is not None:
        unfollow(state)
        state.view.camera = state.view.camera.looking_at(hit.point)


def pick_behind(state: WindowState, hit: Hit) -> None:
    """The next item under this click; at another position, the nearest one."""
    cycle(state, 1)


# -- what is drawn -----------------------------------------------------------------------------------------------------


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
    state.display.set(name, draw="visible" if state.display.drawn(name) == "hidden" else "hidden")


def trace(state: WindowState) -> None:
    """Traces the picked point, or the origin of the picked body; without a pick, none."""
    node = state.node_of(state.selection.pick) if state.selection.pick else None
    point = np.zeros(3) if state.selection.pick_point is None else state.selection.pick_point
    state.view.trace = (node, point) if node else None


def next_grouping(state: WindowState) -> None:
    """Colours by the next grouping; after the last, every body has its own colour."""
    state.grouping = groups.BY[(groups.BY.index(state.grouping) + 1) % len(groups.BY)]
    state.say(f"coloured by {state.grouping}" if state.grouping else "every body in its own colour")


def shadows(state: WindowState) -> None:
    state.look = dataclasses.replace(state.look, shadows=not state.look.shadows)


def instants(state: WindowState) -> None:
    """Shows stored instants only, or poses between them too, in both halves."""
    state.study.at_instants = not state.study.at_instants
    if state.beside is not None:
        state.beside.study.at_instants = state.study.at_instants
    state.say("stored instants only" if state.study.at_instants else "poses between stored instants, loops closed")


def swap_map(state: WindowState) -> None:
    state.map = keys.MAPS[1 - keys.MAPS.index(state.map)]
    state.set_mode("navigate")
    state.say(f"keys: {state.map}")


def _toggle(part: Callable[[WindowState], object], name: str) -> Callable[[WindowState], None]:
    """Toggles an attribute of a part of the state."""

    def toggle(state: WindowState) -> None:
        setattr(part(state), name, not getattr(part(state), name))

    return toggle


def beside_or_one(state: WindowState) -> None:
    """The next chosen member beside this one, or one alone; a grid is closed first."""
    grid.close(state)
    beside.toggle(state)


def study(state: WindowState) -> None:
    """Opens or closes the study pane; a running simulation has no other members to show."""
    if state.live is not None:
        state.say("A running simulation has one member: there is nothing to compare it with.")
        return
    state.explorer.shown_on = not state.explorer.shown_on


def _show(text: Callable[[WindowState], str]) -> Callable[[WindowState], None]:
    """Toggles a window with a text to read and copy."""

    def show(state: WindowState) -> None:
        state.panels.text = "" if state.panels.text == text(state) else text(state)

    return show


def _ask(word: str) -> Callable[[WindowState], None]:
    return lambda state: state.panels.requests.append(word)


def remove(state: WindowState) -> None:
    """Removes the picked shape of the user; anything else cannot be removed."""
    if not shape_editing.remove(state):
        state.say("Only shapes that were added can be removed.")


PLAIN: dict[str, Callable[[WindowState], None]] = {
    "play": play,
    "step_forward": lambda s: step(s, 1),
    "step_back": lambda s: step(s, -1),
    "faster": lambda s: s.clock.set_speed(2 * s.clock.speed),
    "slower": lambda s: s.clock.set_speed(s.clock.speed / 2),
    "real_speed": lambda s: s.clock.set_speed(1.0),
    "to_start": lambda s: s.go_to(s.span[0]),
    "to_end": lambda s: s.go_to(s.span[1]),
    "loop": _toggle(lambda s: s.clock, "looping"),
    "restart": restart,
    "next_member": lambda s: next_member(s, 1),
    "previous_member": lambda s: next_member(s, -1),
    "ghosts": _toggle(lambda s: s.choice, "ghosts_on"),
    "colour_by": next_colour,
    "beside": beside_or_one,
    "study": study,
    "grid": grid.toggle,
    "exchange": beside.exchange,
    "beside_camera": beside.own_camera,
    "turn_left": lambda s: orbit(s, -KEY_TURN / TURN, 0.0),
    "turn_right": lambda s: orbit(s, KEY_TURN / TURN, 0.0),
    "turn_up": lambda s: orbit(s, 0.0, KEY_TURN / TURN),
    "turn_down": lambda s: orbit(s, 0.0, -KEY_TURN / TURN),
    "shift_left": lambda s: pan(s, -KEY_SHIFT, 0.0),
    "shift_right": lambda s: pan(s, KEY_SHIFT, 0.0),
    "shift_up": lambda s: pan(s, 0.0, KEY_SHIFT),
    "shift_down": lambda s: pan(s, 0.0, -KEY_SHIFT),
    "zoom_in": lambda s: zoom(s, 0.0, math.log(KEY_ZOOM) / ZOOM),
    "zoom_out": lambda s: zoom(s, 0.0, -math.log(KEY_ZOOM) / ZOOM),
    "roll_left": lambda s: roll(s, -KEY_TURN / TURN, 0.0),
    "roll_right": lambda s: roll(s, KEY_TURN / TURN, 0.0),
    "frame_all": frame_all,
    "frame_pick": frame_pick,
    "next_view": lambda s: next_view(s, 1),
    "previous_view": lambda s: next_view(s, -1),
    **{name: (lambda s, name=name: view(s, name)) for name in VIEWS},
    "orthographic": orthographic,
    "follow_pick": follow_pick,
    "keep_camera": keep_camera,
    "kept_camera": to_kept_camera,
    "copy_camera": copy_camera,
    "escape": escape,
    "select": lambda s: select_pick(s, on=True),
    "deselect": lambda s: select_pick(s, on=False),
    "clear_selection": clear_selection,
    "pick_parent": pick_parent,
    "cycle_up": lambda s: cycle(s, 1),
    "cycle_down": lambda s: cycle(s, -1),
    "mode": lambda s: s.set_mode("manipulate" if s.selection.mode == "navigate" else "navigate"),
    "hide": hide,
    "translucent": translucent,
    "isolate": isolate,
    "show_all": show_all,
    "frames": lambda s: toggle_class(s, "frame"),
    "centres": lambda s: toggle_class(s, "centre"),
    "joints": lambda s: toggle_class(s, "joint"),
    "arrows": _toggle(lambda s: s, "arrows_on"),
    "trace": trace,
    "shadows": shadows,
    "instants": instants,
    "grouping": next_grouping,
    "routes": lambda s: toggle_class(s, "route"),
    "glyphs": lambda s: toggle_class(s, "glyph"),
    "forces": lambda s: toggle_class(s, "force"),
    "names": lambda s: toggle_class(s, "name"),
    "help": _toggle(lambda s: s.panels, "help_on"),
    "dump_keys": _show(lambda s: s.table.dump()),
    "dump_display": _show(lambda s: s.display.dump()),
    "info": _toggle(lambda s: s.panels, "info_on"),
    "swap_map": swap_map,
    "fullscreen": _ask("fullscreen"),
    "panes": lambda s: s.panels.toggle_panes(),
    "record": recording.toggle,
    "screenshot": _ask("screenshot"),
    "quit": _ask("quit"),
    "remove": remove,
    "add_shape": shape_editing.add,
    "pick_shapes": shape_editing.toggle_picking,
}
AT: dict[str, Callable[[WindowState, Hit], None]] = {
    "pick": pick_at,
    "toggle_selected": toggle_at,
    "centre": centre_at,
    "follow": lambda s, hit: follow(s, hit.path),
    "pick_behind": pick_behind,
}
HOLD: dict[
    str, tuple[Callable[[WindowState, Hit], None], Callable[[WindowState], None]]
] = {  # what a drag begins and ends with
    "pull": (pulling.begin, pulling.end),
}
BY: dict[str, Callable[[WindowState, float, float], None]] = {
    "pull": pulling.move,
    "orbit": orbit,
    "pan": pan,
    "pan_level": pan_level,
    "zoom": zoom,
    "roll": roll,
}
