"""Which members are chosen by an expression. No GL, no GUI library."""

from __future__ import annotations

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.state.state import WindowState


def choose(state: WindowState, text: str) -> None:
    """Chooses members by an expression and shows the first, when those have come that are simulated again; errors
    become messages."""
    try:
        drawable = state.study.drawable(state.explorer.table.choose(text))
    except ModelError as error:
        state.say(str(error), "choice")
        return
    state.panels.solved("choice")
    if notes := [note for note in (state.study.assumed(text, state.explorer.table.sets), drawable.reason) if note]:
        state.say("; ".join(notes), "choice")
    if not len(drawable.ids):
        state.say(f"{text}: no member that can be drawn", "choice")
        return

    def show(members: np.ndarray) -> None:
        state.choice.chosen, state.choice.text = members, text
        state.show_member(int(members[0]))

    state.awaited.wish("left", state.study, drawable, show)
