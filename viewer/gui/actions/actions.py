"""All actions of the window by their names in the table of `keys`, which says what each does and its bindings.

An action is a function of the state, of what it acts on in a file by its subject. There are four kinds by further
arguments: PLAIN (none), AT (the item under the cursor), BY (a movement right and up in parts of the shorter side of the
view; the wheel is one up) and HOLD (what a drag does at its
beginning, on the item under the cursor, on its way and at its end).
"""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.record import record
from shiftjax.viewer.gui.actions import additions, appearance, looking, picking, playing, shape_editing, undoing, window
from shiftjax.viewer.gui.actions.members import beside, grid, trying, typical
from shiftjax.viewer.gui.actions.saving import movie_recording, saving_curves
from shiftjax.viewer.gui.actions.workbench import drawing, editing, naming, posing, pulling, turning
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.typed.command_search import CommandSearch
from shiftjax.viewer.scene.camera import VIEWS


@record
class Held:
    """What a drag does: at its beginning, on the way, at its end."""

    begin: Callable[[WindowState, Hit], None]
    move: Callable[[WindowState, float, float], None]
    end: Callable[[WindowState], None]


PLAIN: dict[str, Callable[[WindowState], None]] = {
    "play": playing.play,
    "step_forward": lambda s: playing.step(s, 1),
    "step_back": lambda s: playing.step(s, -1),
    "faster": lambda s: s.clock.set_speed(2 * s.clock.speed),
    "slower": lambda s: s.clock.set_speed(s.clock.speed / 2),
    "real_speed": lambda s: s.clock.set_speed(1.0),
    "to_start": lambda s: s.go_to(s.span[0]),
    "to_end": lambda s: s.go_to(s.span[1]),
    "loop": window.toggle(lambda s: s.clock, "looping"),
    "restart": playing.restart,
    "next_member": lambda s: playing.next_member(s, 1),
    "previous_member": lambda s: playing.next_member(s, -1),
    "ghosts": window.toggle(lambda s: s.choice, "ghosts_on"),
    "ghost_outlines": window.toggle(lambda s: s.choice, "outlined"),
    "colour_by": playing.next_colour,
    "beside": window.beside_or_one,
    "study": window.study_pane,
    "grid": grid.toggle,
    "exchange": beside.exchange,
    "typical": typical.of_metric,
    "explore": trying.explore,
    "more_like": trying.more_like,
    "beside_camera": beside.own_camera,
    "turn_left": lambda s: looking.orbit(s, -looking.KEY_ORBIT, 0.0),
    "turn_right": lambda s: looking.orbit(s, looking.KEY_ORBIT, 0.0),
    "turn_up": lambda s: looking.orbit(s, 0.0, looking.KEY_ORBIT),
    "turn_down": lambda s: looking.orbit(s, 0.0, -looking.KEY_ORBIT),
    "shift_left": lambda s: looking.pan(s, -looking.KEY_SHIFT, 0.0),
    "shift_right": lambda s: looking.pan(s, looking.KEY_SHIFT, 0.0),
    "shift_up": lambda s: looking.pan(s, 0.0, looking.KEY_SHIFT),
    "shift_down": lambda s: looking.pan(s, 0.0, -looking.KEY_SHIFT),
    "zoom_in": lambda s: looking.zoom(s, 0.0, looking.KEY_ZOOM),
    "zoom_out": lambda s: looking.zoom(s, 0.0, -looking.KEY_ZOOM),
    "roll_left": lambda s: looking.roll(s, -looking.KEY_ORBIT, 0.0),
    "roll_right": lambda s: looking.roll(s, looking.KEY_ORBIT, 0.0),
    "frame_all": looking.frame_all,
    "frame_pick": looking.frame_pick,
    "next_view": lambda s: looking.next_view(s, 1),
    "previous_view": lambda s: looking.next_view(s, -1),
    **{name: (lambda s, name=name: looking.view(s, name)) for name in VIEWS},
    "orthographic": looking.orthographic,
    "follow_pick": looking.follow_pick,
    "keep_camera": looking.keep_camera,
    "kept_camera": looking.to_kept_camera,
    "copy_camera": looking.copy_camera,
    "escape": picking.escape,
    "select": lambda s: picking.select_pick(s, on=True),
    "deselect": lambda s: picking.select_pick(s, on=False),
    "clear_selection": picking.clear_selection,
    "pick_parent": picking.pick_parent,
    "cycle_up": lambda s: picking.cycle(s, 1),
    "cycle_down": lambda s: picking.cycle(s, -1),
    "mode": picking.toggle_mode,
    "hide": appearance.hide,
    "translucent": appearance.translucent,
    "isolate": appearance.isolate,
    "show_all": appearance.show_all,
    "frames": lambda s: appearance.toggle_class(s, "frame"),
    "centres": lambda s: appearance.toggle_class(s, "centre"),
    "joints": lambda s: appearance.toggle_class(s, "joint"),
    "arrows": window.toggle(lambda s: s, "arrows_on"),
    "trace": appearance.trace,
    "traces": appearance.traces,
    "shadows": appearance.shadows,
    "instants": playing.instants,
    "grouping": appearance.next_grouping,
    "routes": lambda s: appearance.toggle_class(s, "route"),
    "glyphs": lambda s: appearance.toggle_class(s, "glyph"),
    "forces": lambda s: appearance.toggle_class(s, "force"),
    "names": lambda s: appearance.toggle_class(s, "name"),
    "screws": posing.show_velocities("screw"),
    "ellipsoids": posing.show_velocities("ellipsoid"),
    "help": window.toggle(lambda s: s.panels, "help_on"),
    "commands": lambda s: s.pane_data(CommandSearch).open(),
    "dump_keys": window.text_of(lambda s: s.table.dump()),
    "dump_display": window.text_of(lambda s: s.display.dump()),
    "info": window.toggle(lambda s: s.panels, "info_on"),
    "swap_map": window.swap_map,
    "fullscreen": window.ask("fullscreen"),
    "panes": lambda s: s.panels.toggle_panes(),
    "record": movie_recording.toggle,
    "next_pane": lambda s: s.panels.next_pane(1, study=s.explorer.shown_on),
    "previous_pane": lambda s: s.panels.next_pane(-1, study=s.explorer.shown_on),
    "screenshot": window.ask("screenshot"),
    "save_curves": saving_curves.save_here,
    "quit": window.ask("quit"),
    "undo": undoing.undo,
    "redo": undoing.redo,
    "lock": posing.lock,
    "target": posing.want("target"),
    "posture": posing.want("posture"),
    "keep": posing.keep,
    "release": posing.release,
    "settle": posing.settle,
    "show_other": posing.show_other,
    "save_model": posing.save,
    "save_trajectory": posing.save_trajectory,
    "pose": editing.pose,
    "console": editing.console,
    "variants": editing.variants,
    "curve": editing.curve,
    "mark": editing.mark,
    "travel": editing.travel,
    "flip": editing.flip,
    "draw": drawing.toggle,
    "pin": drawing.pin,
    "add_joint": editing.add_joint,
    "move_joint": editing.move_joint,
    "rename": naming.begin,
    "invert": editing.of_joint("invert"),
    "merge": editing.of_joint("merge"),
    "make_tree": editing.of_joint("make_tree"),
    "make_closure": editing.of_joint("make_closure"),
    "reattach_parent": editing.reattach("parent"),
    "reattach_child": editing.reattach("child"),
    "split": editing.split,
    "ground": editing.of_body("ground"),
    "root": editing.of_body("root"),
    "remove": shape_editing.remove,
    "add_shape": shape_editing.add,
    "pick_shapes": shape_editing.toggle_picking,
}
AT: dict[str, Callable[[WindowState, Hit], None]] = {
    "pick": picking.pick_at,
    "toggle_selected": picking.toggle_at,
    "centre": picking.centre_at,
    "follow": lambda s, hit: looking.follow(s, hit.path),
    "pick_behind": picking.pick_behind,
}
HOLD: dict[str, Held] = {
    "pull": Held(pulling.begin, pulling.move, pulling.end),
    "turn_body": Held(turning.begin, turning.move, turning.end),  # which takes the gesture of pulling while one poses
    "roll_body": Held(turning.begin, turning.roll, turning.end),
    "draw_bar": Held(drawing.begin, drawing.move, drawing.end),  # which takes the gesture of orbiting while one draws
}
BY: dict[str, Callable[[WindowState, float, float], None]] = {
    "turn_joint": posing.turn,
    "orbit": looking.orbit,
    "pan": looking.pan,
    "pan_level": looking.pan_level,
    "zoom": looking.zoom,
    "roll": looking.roll,
}


def run(state: WindowState, name: str) -> None:
    """Runs an action without argument; one that needs an argument gives a message."""
    action = state.table.actions[name]
    if action.call is not None:
        additions.user_call(state, action.name, action.call)
    elif name in PLAIN:
        PLAIN[name](state)
    else:
        bound = " or ".join(action.bindings(state.map))
        state.say(f"{action.words}: with the mouse in the view, {bound}" if bound else f"{action.words}: not here")
