"""What clicks and brushes in the study pane do to the window: a member shown, a selection as ghosts. No GUI library."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.state.state import WindowState

NEAR = 0.02  # of the longer side of a plot: a click within it finds a point


def select(state: WindowState, mask: np.ndarray, how: str = "replace") -> None:
    """Selects members (members,) bool; those of them that can be drawn become the ghosts."""
    state.explorer.select(mask, how)
    show_ghosts(state)


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
    """Shows the members of an expression; what is selected among them stays so."""
    explorer = state.explorer
    if explorer.filter(text):
        explorer.select(explorer.selected)


def clear(state: WindowState) -> None:
    """Selects nothing."""
    select(state, np.zeros(state.explorer.table.rows, bool))


def open_member(state: WindowState, member: int) -> None:
    """Shows a member; one without a trajectory becomes a message."""
    state.show_member(member)


def in_box(state: WindowState, x: str, y: str, low: tuple[float, float], high: tuple[float, float]) -> np.ndarray:
    """(members,) bool, those whose two numbers are in a box."""
    across, up = (state.explorer.table.column(name) for name in (x, y))
    with np.errstate(invalid="ignore"):
        return (across >= low[0]) & (across <= high[0]) & (up >= low[1]) & (up <= high[1])


def nearest(state: WindowState, point: tuple[float, float], limits: tuple[float, float, float, float]) -> int | None:
    """The member shown whose point of the scatter plot is nearest to a place in it; none if it is far."""
    explorer = state.explorer
    across = (explorer.numbers(explorer.x) - point[0]) / max(limits[1] - limits[0], 1e-300)
    up = (explorer.numbers(explorer.y) - point[1]) / max(limits[3] - limits[2], 1e-300)
    away = np.nan_to_num(np.hypot(across, up), nan=np.inf)
    best = int(np.argmin(away)) if len(away) else 0
    return int(explorer.members()[best]) if len(away) and away[best] < NEAR else None
