"""What clicks and brushes in the study pane do to the window: a member shown, a selection as ghosts. No GUI library."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.brush import Brush
from shiftjax.viewer.members.query import FRONT

NEAR = 0.02  # of the longer side of a plot: a click within it finds a point


def select(state: WindowState, mask: np.ndarray, how: str = "replace") -> None:
    """Selects members (members,) bool; those of them that can be drawn become the ghosts."""
    state.explorer.select(mask, how)
    show_ghosts(state)


def brush(state: WindowState, new: Brush, how: str = "replace") -> None:
    """Selects what a brush means; those of it that can be drawn become the ghosts."""
    state.explorer.brush(new, how)
    show_ghosts(state)


def type_brushes(state: WindowState, text: str) -> None:
    """Selects what an expression means; one that cannot be read changes nothing."""
    if state.explorer.type_brushes(text):
        show_ghosts(state)


def front(state: WindowState) -> None:
    """Selects the front; where all members are shown as a query, which stays so when others are."""
    explorer = state.explorer
    if explorer.expression:
        select(state, explorer.front_mask())
    else:
        type_brushes(state, f"{FRONT}({explorer.objectives()})")


def show_ghosts(state: WindowState) -> None:
    """The selection as ghosts, at most 64 of it; without one the ghosts stay as they are."""
    explorer = state.explorer
    few, explorer.note = explorer.ghosts()
    if not len(few):
        return
    drawable = state.study.drawable(few)
    if len(drawable.ids):
        state.choice.chosen, state.choice.ghosts_on, state.choice.text = drawable.ids, True, ""


def simulate(state: WindowState) -> None:
    """Draws some of the selection, spread over it, as ghosts: those without trajectories are simulated again first."""
    explorer = state.explorer
    drawable = state.study.drawable(explorer.few_of(np.flatnonzero(explorer.selected)))
    if drawable.reason:
        state.say(drawable.reason)
    if not len(drawable.ids):
        return

    def come(members: np.ndarray) -> None:
        state.choice.chosen, state.choice.ghosts_on, state.choice.text = members, True, ""
        explorer.note = explorer.ghosts()[1]

    state.awaited.wish("left", state.study, drawable, come)


def show(state: WindowState, text: str) -> None:
    """Shows the members of an expression; what was selected among them stays so, or is so again."""
    state.explorer.filter(text)


def clear(state: WindowState) -> None:
    """Selects nothing."""
    select(state, np.zeros(state.explorer.table.rows, bool))


def open_member(state: WindowState, member: int) -> None:
    """Shows a member; one without a trajectory becomes a message."""
    state.show_member(member)


def nearest(state: WindowState, point: tuple[float, float], limits: tuple[float, float, float, float]) -> int | None:
    """The member shown whose point of the scatter plot is nearest to a place in it; none if it is far."""
    explorer = state.explorer
    across = (explorer.numbers(explorer.x) - point[0]) / max(limits[1] - limits[0], 1e-300)
    up = (explorer.numbers(explorer.y) - point[1]) / max(limits[3] - limits[2], 1e-300)
    away = np.nan_to_num(np.hypot(across, up), nan=np.inf)
    best = int(np.argmin(away)) if len(away) else 0
    return int(explorer.members()[best]) if len(away) and away[best] < NEAR else None
