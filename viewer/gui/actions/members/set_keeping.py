"""Sets of members in the study pane: kept under a name, selected, removed. No GL, no GUI library."""

from __future__ import annotations

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.brush import Brush
from shiftjax.viewer.members.member_sets import free_name, with_set


def keep(state: WindowState, name: str = "") -> bool:
    """Keeps the selected members under a name, the first free letter without one; where nobody is selected, the chosen
    ones. False with a message where that cannot be.
    """
    explorer = state.explorer
    mask, text = explorer.selected, explorer.selection_in_words()
    if not mask.any() and len(state.choice.others):
        mask, text = np.zeros(explorer.table.rows, bool), state.choice.text
        mask[state.choice.chosen] = True
    name = name.strip() or free_name(explorer.sets, explorer.table)
    try:
        explorer.put_sets(with_set(explorer.sets, name, mask, text, explorer.table))
    except ModelError as error:
        state.say(str(error), "set")
        return False
    state.panels.solved("set")
    return True


def take(state: WindowState, name: str, how: str = "replace") -> None:
    """Selects the members of a set: these alone, these too, or those of the selection in it."""
    selecting.brush(state, Brush((), name), how)


def remove(state: WindowState, name: str) -> None:
    """Removes a set; a message says what used it."""
    lost = state.explorer.put_sets([one for one in state.explorer.sets if one.name != name])
    if lost:
        state.say(f"set {name} is gone: {lost}")
