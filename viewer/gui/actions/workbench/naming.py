"""Other names for parts of a mechanism on the workbench. No GL, no GUI library.

A new name is a line of the workbench's script.
"""

from __future__ import annotations

from shiftjax.editing.scripts import line_of
from shiftjax.mechanism.named_objects import LIST_OF, named_objects
from shiftjax.mechanism.paths import parts
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.viewer.gui.actions.workbench.posing import hand
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.tree_rows import Row
from shiftjax.viewer.gui.state.typed.new_name import NewName

NOTHING = "Pick what gets another name: a body, a joint, a frame, a force."
RUNS = "End the run first: names are changed where it is posed."
NAMELESS = "Ground, and the origins of bodies, keep their names."


def begin(state: WindowState) -> None:
    """The picked part is to be called otherwise; its name is typed in the properties."""
    pick = state.selection.pick
    if hand(state) is None:
        return
    if pick is None:
        state.say(NOTHING)
    else:
        _begin(state, pick, "", "")


def begin_at(state: WindowState, row: Row) -> None:
    """The part of a row of the tree is; its name is typed there."""
    if state.hand is not None and row.path:
        kind = row.key.partition(":")[0]
        of_list = {several: what for what, several in LIST_OF.items()}
        _begin(state, row.path, of_list.get(kind, row.kind), row.key)


def _begin(state: WindowState, path: str, what: str, place: str) -> None:
    if state.hand is None or not state.hand.posing:
        state.say(RUNS)
        return
    name = parts(path)[-1]
    if path == FIXED or name == ORIGIN:
        state.say(NAMELESS)
        return
    kinds = [kind for kind, full in named_objects(state.mechanism.model) if full == path and what in ("", kind)]
    if kinds:
        state.panels.new_name = NewName(_first(state, path, kinds), path, place, name)
    else:
        state.say(NOTHING)


def _first(state: WindowState, path: str, kinds: list[str]) -> str:
    """Of several parts of one path the one that the properties show."""
    shown = "body" if path in state.node else "joint" if path in state.mechanism.joints else ""
    return shown if shown in kinds else kinds[0]


def finish(state: WindowState) -> None:
    """What was typed is the name; nothing is done where it is as it was."""
    new, state.panels.new_name = state.panels.new_name, None
    if new is None or new.text == parts(new.path)[-1] or not (run := hand(state)):
        return
    several = sum(full == new.path for _, full in named_objects(state.mechanism.model)) > 1
    run.do(line_of("rename", (new.path, new.text), {"what": new.what} if several else {}))
