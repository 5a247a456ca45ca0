"""The table of actions: description and bindings in both maps of keys and mouse gestures. No GL, no GUI.

A binding is written `Ctrl+Alt+Shift+Key` with modifiers in this order: a letter, a digit, a named key, or a mouse
gesture (`Left drag`, `Ctrl+Left click`, `Wheel`). A punctuation mark has no modifiers: it is the typed character of any
keyboard layout. In a map no binding has two actions; this is checked at construction.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from typing import Any

from shiftjax.errors import ModelError, one_of
from shiftjax.record import record

MAPS = ("playback", "workbench")
MODIFIERS = ("Ctrl", "Alt", "Shift")
NAMED = ("Space", "Escape", "Tab", "Enter", "Backspace", "Delete", "Insert", "Home", "End", "PageUp", "PageDown",
         "Left", "Right", "Up", "Down")  # fmt: skip
CHARACTERS = "+-=.,;:[]<>*/%?!"
BUTTONS = ("Left", "Right", "Middle")
GESTURES = (*(f"{button} {how}" for button in BUTTONS for how in ("click", "double-click", "drag")), "Wheel")
KEYS = frozenset((*string.ascii_uppercase, *string.digits, *(f"F{k}" for k in range(1, 13)), *NAMED))
USER = "Added by the user"
OF_PANES = (
    "Space",
    "Tab",
    "Enter",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "Left",
    "Right",
    "Up",
    "Down",
)  # move in panes


@record
class Action:
    """A row of the table."""

    name: str
    words: str  # what it does
    playback: tuple[str, ...]
    workbench: tuple[str, ...]
    group: str
    only: str = ""  # the one map that has it
    call: Callable[[Any], None] | None = None  # of an action added by the user; takes the state

    def bindings(self, map: str) -> tuple[str, ...]:
        return self.playback if map == "playback" else self.workbench


def binding(key: str, *, ctrl: bool = False, alt: bool = False, shift: bool = False) -> str:
    """The text of a key or gesture held with modifiers."""
    modifiers = [name for name, down in zip(MODIFIERS, (ctrl, alt, shift), strict=True) if down]
    return "+".join([*modifiers, key])


def canonical(text: str) -> str:
    """The binding as the table writes it (`shift+ctrl+n` -> `Ctrl+Shift+N`); ModelError if it is invalid."""
    if len(text) == 1 and text in CHARACTERS:
        return text
    *prefixes, key = (word.strip() for word in text.split("+"))
    modifiers = {word.capitalize() for word in prefixes}
    names = {name.lower(): name for name in (*KEYS, *GESTURES)}
    if key.lower() not in names or not modifiers <= set(MODIFIERS):
        raise ModelError(
            "key binding",
            repr(text),
            f"a letter, digit, F1 to F12, one of {', '.join(NAMED)}, a mouse gesture such as 'Left drag', after any of "
            f"{', '.join(MODIFIERS)}; or one of {CHARACTERS} alone",
            "Write it so, for example 'Ctrl+Shift+N'.",
        )
    return "+".join([*(name for name in MODIFIERS if name in modifiers), names[key.lower()]])


class KeyTable:
    """Actions by name and by binding."""

    def __init__(self, actions: Iterable[Action]) -> None:
        self.actions: dict[str, Action] = {}
        self._bound: dict[tuple[str, str], Action] = {}
        for action in actions:
            self._put(action)

    def find(self, map: str, text: str) -> Action | None:
        """The action of a binding in a map."""
        return self._bound.get((map, text))

    def add(self, text: str, words: str, call: Callable[[Any], None]) -> Action:
        """Gives a binding that is free in both maps to a user's function of the state."""
        gesture = canonical(text)
        action = Action(f"user: {gesture}", words, (gesture,), (gesture,), USER, call=call)
        self._put(action)
        return action

    def help(self, map: str) -> list[tuple[str, list[tuple[str, str]]]]:
        """Groups of (bindings, what they do), in the table's order."""
        one_of("map of keys", map, MAPS)
        groups: dict[str, list[tuple[str, str]]] = {}
        for action in self.actions.values():
            if action.bindings(map):
                groups.setdefault(action.group, []).append((" or ".join(action.bindings(map)), action.words))
        return list(groups.items())

    def dump(self) -> str:
        """Every action with its bindings in both maps, as text."""
        rows = [("action", *MAPS, "what it does")]
        rows += [(a.name, ", ".join(a.playback) or "-", ", ".join(a.workbench) or "-", a.words)
                 for a in self.actions.values()]  # fmt: skip
        wide = [max(len(row[k]) for row in rows) for k in range(3)]
        return "\n".join("  ".join([*(row[k].ljust(wide[k]) for k in range(3)), row[3]]) for row in rows)

    def _put(self, action: Action) -> None:
        if action.name in self.actions:
            raise ModelError(f"action {action.name}", "a second one", "one of each name", "Choose another binding.")
        pairs = [(map, text) for map in MAPS for text in action.bindings(map)]
        for map, text in pairs:
            if canonical(text) != text:
                raise ModelError(f"action {action.name}", repr(text), repr(canonical(text)), "Write it so.")
            taken = self._bound.get((map, text))
            if taken is not None or pairs.count((map, text)) > 1:
                words = (taken or action).words
                raise ModelError(f"key binding {text}", f"taken in the {map} map: {words}", "a free binding",
                                 "Choose another; Ctrl+H lists them.")  # fmt: skip
        self.actions[action.name] = action
        self._bound.update({pair: action for pair in pairs})


def _rows(group: str, *rows: tuple[str, str, str, str]) -> list[Action]:
    """Rows of name, words and the bindings of both maps, separated by " | "; "" is none."""
    parts = [(name, words, *(tuple(text.split(" | ")) if text else () for text in maps)) for name, words, *maps in rows]
    return [
        Action(name, words, playback, workbench, group, "" if playback and workbench else MAPS[not playback])
        for name, words, playback, workbench in parts
    ]


ACTIONS = (
    *_rows(
        "Time",
        ("play", "play or pause", "Space", "P"),
        ("step_forward", "one stored instant on", "Right | .", "."),
        ("step_back", "one stored instant back", "Left | ,", ","),
        ("faster", "twice as fast", "+ | =", "+ | ="),
        ("slower", "half as fast", "-", "-"),
        ("real_speed", "real-time speed", "Backspace", "Backspace"),
        ("to_start", "to the first instant", "Home", "Home"),
        ("to_end", "to the last instant", "End", "End"),
        ("instants", "stored instants only, or poses between them too", "U", "Alt+U"),
        ("loop", "begin again at the end, or stop there", "L", "Alt+L"),
        ("restart", "begin a running simulation again", "Ctrl+R", "Ctrl+R"),
    ),
    *_rows(
        "Members",
        ("next_member", "next of the chosen members", "N", "Alt+N"),
        ("previous_member", "previous of the chosen members", "Shift+N", "Alt+Shift+N"),
        ("ghosts", "the other chosen members as ghosts, on or off", "G", "Alt+G"),
        ("ghost_outlines", "ghosts as outlines, or as bodies", "Alt+Shift+G", "Alt+Shift+G"),
        ("colour_by", "colour ghosts by the next metric", "M", "Alt+C"),
        ("beside", "the next chosen member beside this one, or one alone", "B", "B"),
        ("study", "table and plots of all members, or not", "F3", "F3"),
        ("grid", "4 of the chosen members in a grid, then 9, 16, and one alone", "F6", "F6"),
        ("exchange", "left and right member change places", "Shift+B", "Shift+B"),
        ("typical", "the median member by a metric, with those at 5 and 95 % as ghosts", "F9", "F9"),
        ("explore", "sliders of all varied numbers, at this member", "F8", "F8"),
        ("more_like", "a new study like the selected members, or those shown", "Ctrl+F8", "Ctrl+F8"),
        ("beside_camera", "separate cameras for both halves, or one for both", "Ctrl+B", "Ctrl+B"),
    ),
    *_rows(
        "Mouse in the view",
        ("orbit", "turn the scene", "Left drag", "Left drag"),
        ("pan", "shift the scene", "Right drag", "Right drag | Ctrl+Left drag"),
        ("pan_level", "shift the scene sideways and in depth", "Shift+Right drag", "Shift+Right drag"),
        ("zoom", "nearer or farther", "Wheel | Middle drag", "Wheel | Middle drag | Shift+Left drag"),
        ("roll", "turn about the line of sight", "Alt+Left drag | Alt+Right drag | Alt+Middle drag",
         "Alt+Left drag | Alt+Right drag | Alt+Middle drag"),
        ("pull", "pull the body under the cursor of a running simulation, turn it of a model that is posed",
         "Ctrl+Left drag", "Ctrl+Shift+Left drag"),
        ("roll_body", "turn the body under the cursor about the line of sight, of a model that is posed",
         "Ctrl+Alt+Left drag", "Ctrl+Alt+Left drag"),
        ("turn_joint", "turn or slide the picked joint, where a model is posed", "Ctrl+Wheel", "Ctrl+Wheel"),
        ("pick", "pick what is under the cursor; nothing there: drop the pick", "Left double-click", "Left click"),
        ("toggle_selected", "select or deselect what is under the cursor", "Ctrl+Left click",
         "Ctrl+Left click"),
        ("centre", "look at the point under the cursor", "Right double-click", "Right double-click"),
        ("follow", "follow the body under the cursor", "Ctrl+Right double-click", "Ctrl+Right double-click"),
        ("pick_behind", "pick the next item behind", "Middle click", "Right click | Middle click"),
    ),
    *_rows(
        "Looking",
        ("turn_left", "turn the scene to the left", "Shift+Left", "Left"),
        ("turn_right", "turn the scene to the right", "Shift+Right", "Right"),
        ("turn_up", "turn the scene up", "Shift+Up", "Up"),
        ("turn_down", "turn the scene down", "Shift+Down", "Down"),
        ("shift_left", "shift the scene to the left", "Ctrl+Left", "Ctrl+Left"),
        ("shift_right", "shift the scene to the right", "Ctrl+Right", "Ctrl+Right"),
        ("shift_up", "shift the scene up", "Ctrl+Up", "Ctrl+Up"),
        ("shift_down", "shift the scene down", "Ctrl+Down", "Ctrl+Down"),
        ("zoom_in", "nearer", "Up", "Shift+Up | Shift+Right"),
        ("zoom_out", "farther", "Down", "Shift+Down | Shift+Left"),
        ("roll_left", "turn left about the line of sight", "Alt+Left | Alt+Up", "Alt+Left | Alt+Up"),
        ("roll_right", "turn right about the line of sight", "Alt+Right | Alt+Down", "Alt+Right | Alt+Down"),
        ("frame_all", "the whole model", "A", "A"),
        ("frame_pick", "what is picked", "F", "F"),
        ("next_view", "next standard view", "]", "]"),
        ("previous_view", "previous standard view", "[", "["),
        ("front", "from the front", "1", "1"),
        ("back", "from the back", "2", "2"),
        ("left", "from the left", "3", "3"),
        ("right", "from the right", "4", "4"),
        ("top", "from above", "5", "5"),
        ("bottom", "from below", "6", "6"),
        ("iso", "from a corner", "7", "7"),
        ("orthographic", "parallel or perspective", "O", "O"),
        ("follow_pick", "follow the picked body, or stop following", "Ctrl+F", "Ctrl+F"),
        ("keep_camera", "keep this camera", "Ctrl+K", "Ctrl+K"),
        ("kept_camera", "back to the kept camera", "K", "K"),
        ("copy_camera", "copy the camera as Python", "Ctrl+Alt+C", "Ctrl+Alt+C"),
    ),
    *_rows(
        "Picking and selecting",
        ("escape",
         "close a menu, list or window, end a search, leave a pane or manipulation, drop the pick, stop following",
         "Escape", "Escape"),
        ("select", "add the pick to the selection", "S", "S"),
        ("deselect", "take the pick out of the selection", "Shift+S", "Shift+S"),
        ("clear_selection", "empty the selection", "Ctrl+Escape", "Ctrl+Escape"),
        ("pick_parent", "pick what holds the pick", "PageUp", "Alt+PageUp"),
        ("cycle_up", "pick the next item under the cursor, fade those in front", "Ctrl+PageUp", "PageUp"),
        ("cycle_down", "pick the previous item under the cursor", "PageDown", "PageDown"),
        ("mode", "navigate or manipulate", "Ctrl+Space", "Space"),
    ),
    *_rows(
        "What is drawn",
        ("hide", "hide the pick and the selection", "H", "V"),
        ("translucent", "see through the pick and the selection, or not", "Shift+M", "Shift+V"),
        ("isolate", "hide everything else", "I", "I"),
        ("show_all", "show everything", "Shift+H", "Alt+V"),
        ("frames", "frames, on or off", "E", "Alt+E"),
        ("centres", "centres of mass, on or off", "C", "Shift+C"),
        ("joints", "joint axes, on or off", "J", "Alt+J"),
        ("arrows", "directions of joints, on or off", "D", "N"),
        ("trace", "trace the picked point, or none", "T", "Alt+T"),
        ("traces", "the traced point of selected or chosen members, or of this one", "Ctrl+Shift+T", "Ctrl+Shift+T"),
        ("shadows", "shadows, on or off", "Shift+L", "Ctrl+L"),
        ("grouping", "colour bodies and joints by loop, substructure, assembly, or not", "X", "X"),
        ("routes", "what each joint ties to what, on or off", "Y", "Y"),
        ("glyphs", "motions that joints have left, on or off", "Z", "Z"),
        ("forces", "arrows of forces and torques, on or off", "W", "W"),
        ("names", "names of bodies and joints, on or off", "Q", "Q"),
        ("screws", "screw or instant centre of the picked body where a model is posed, on or off", "Ctrl+I", "Ctrl+I"),
        ("ellipsoids", "velocities and forces of its point for inputs of unit size, on or off", "Ctrl+Shift+I",
         "Ctrl+Shift+I"),
    ),
    *_rows(
        "Window",
        ("help", "this list", "F1", "F1 | H | ?"),
        ("commands", "all actions by name: type some letters, Enter runs one", "Ctrl+Shift+P", "Ctrl+Shift+P"),
        ("dump_keys", "every binding of both maps, to copy", "Ctrl+H", "Ctrl+H"),
        ("info", "rates and sizes", "Shift+F2", "Shift+F2"),
        ("swap_map", "the other map of keys", "F4", "F4"),
        ("fullscreen", "fill the screen, or not", "F5", "F5"),
        ("panes", "hide or show the panes", "Tab", "Tab"),
        ("next_pane", "the keyboard moves in the menu and the panes, one after the other", "F7", "F7"),
        ("previous_pane", "the keyboard moves in the pane before", "Shift+F7", "Shift+F7"),
        ("screenshot", "write a picture of the view", "F12", "F12"),
        ("save_curves", "write what the plots show as numbers (CSV)", "Ctrl+Shift+S", "Ctrl+Shift+S"),
        ("record", "record the view to a movie, or end it", "R", "Alt+R"),
        ("undo", "take back the last change of the view; on the workbench, of the mechanism", "Ctrl+Z", "Ctrl+Z"),
        ("redo", "do it again", "Ctrl+Shift+Z", "Ctrl+Shift+Z"),
        ("dump_display", "settings of the display classes", "Ctrl+D", "Ctrl+D"),
        ("quit", "close the window", "Ctrl+Q", "Ctrl+Q"),
    ),
    *_rows(
        "Workbench: a mechanism by hand",
        ("lock", "lock the picked joint or body, or free it", "Ctrl+L", "L"),
        ("target", "a target of the picked joint where it stands, or none", "Alt+M", "Alt+M"),
        ("posture", "a posture of the picked joint where it stands, or none", "Ctrl+Shift+M", "Shift+M"),
        ("keep", "keep the goal of the last drag or turn; of another pick, where it stands", "Ctrl+G", "Ctrl+G"),
        ("release", "release the goals that are kept of the pick, or all of them", "Ctrl+Shift+G", "Ctrl+Shift+G"),
        ("settle", "go to the goals that are kept, as near as may be", "Ctrl+Alt+G", "Ctrl+Alt+G"),
        ("show_other", "the next way in which its loops close as a ghost, or not", "Ctrl+Alt+F", "Ctrl+Alt+F"),
        ("save_model", "write the model as it is posed, and what was done", "Ctrl+S", "Ctrl+S"),
        ("save_trajectory", "write the poses that it went through by hand (CSV)", "Ctrl+Alt+S", "Ctrl+Alt+S"),
        ("console", "the console: what was done, and a line to type", "Ctrl+J", "Ctrl+J"),
        ("travel", "how far the picked joint goes: its dead points", "Ctrl+E", "Ctrl+E"),
        ("curve", "the curve of the picked point through the motion, or none", "Ctrl+T", "Ctrl+T"),
        ("mark", "a mark under the cursor, from which the distance of the curve is told", "Ctrl+M", "Ctrl+M"),
        ("flip", "the next way in which its loops close", "Shift+F", "Shift+F"),
        ("pose", "end the run, and pose and change again", "Ctrl+P", "Ctrl+P"),
        ("variants", "a thousand variants of it, what was changed by a tenth", "Ctrl+Shift+V", "Ctrl+Shift+V"),
        ("draw", "draw bars with the mouse, or stop", "Shift+D", "D"),
        ("pin", "pin the frame under the cursor to ground, by a joint; while drawing, a click", "Shift+P", "Shift+P"),
        ("add_joint", "a joint between the picked and the selected body, where it was picked", "Shift+J", "Shift+J"),
        ("move_joint", "the picked joint at the mark, on the same two bodies", "Ctrl+Alt+J", "Ctrl+Alt+J"),
        ("rename", "another name for the pick; in the tree, a double-click on its row", "F2", "F2"),
        ("invert", "the picked joint with parent and child exchanged", "%", "%"),
        ("split", "the picked body as two, welded", "*", "*"),
        ("merge", "the two bodies of the picked joint as one", "/", "/"),
        ("reattach_parent", "the parent's end of the picked joint on the selected body", "<", "<"),
        ("reattach_child", "the child's end of the picked joint on the selected body", ">", ">"),
        ("make_tree", "no loop is cut at the picked joint", "Shift+T", "T"),
        ("make_closure", "a loop is cut at the picked joint", "Shift+C", "C"),
        ("ground", "the picked body as ground", "Shift+G", "G"),
        ("root", "of a mechanism that floats, the free joint at the picked body", "Shift+R", "R"),
    ),
    *_rows(
        "Editing",
        ("remove", "remove the pick: a part of a mechanism on the workbench, or a shape that was added", "Delete",
         "Delete"),
        ("add_shape", "add a shape to the pick; again for another kind", "", "Shift+W"),
        ("pick_shapes", "pick shapes that were added and symbols, or not", "", "Alt+W"),
    ),
)  # fmt: skip


def table() -> KeyTable:
    """A fresh table, to which a window's user may add keys."""
    return KeyTable(ACTIONS)


table()
