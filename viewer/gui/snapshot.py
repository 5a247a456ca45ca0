"""What is drawn now, in the view, its right half or a cell of a grid, from the state. No GL, no GUI library."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.ghosts import ghosts_of
from shiftjax.viewer.gui import groups, overlays, symbols
from shiftjax.viewer.gui.colours import FADED, of_hue
from shiftjax.viewer.gui.state import RightHalf, State
from shiftjax.viewer.scene import Ghosts, Snapshot


def snapshot(state: State, right: RightHalf | None = None, *, alone: bool = False) -> Snapshot:
    """What is drawn now. In the right half the same items are hidden, masked and highlighted as in the left.

    Args:
        alone: without ghosts, as in a cell of a grid.
    """
    marked = frozenset(([state.pick] if state.pick else []) + state.selected)
    colours = groups.colours(state.mechanism, state.grouping)
    colours |= dict.fromkeys(marked, of_hue(state.hue)) if state.hue is not None else {}
    masked = dict.fromkeys([*state.paths_drawn("masked"), *state.masked, *state.faded], FADED)
    return Snapshot(
        state.poses(right),
        hidden=state.hidden_paths(),
        highlighted=marked if state.hue is None else frozenset(),
        colours=colours,
        opacity=masked | dict.fromkeys(marked, 1.0),
        ghosts=None if alone else ghosts(state) if right is None else ghosts_at_right(state, right),
        strokes=overlays.strokes(state) if right is None else overlays.trace(state, right),
        symbols=symbols.strokes(state) if right is None else None,
    )


def ghosts(state: State) -> Ghosts | None:
    """The chosen members except the current one."""
    others = state.chosen[state.chosen != state.member] if state.ghosts_on else state.chosen[:0]
    return ghosts_of(state.scenes, others, state.time, _metric(state))


def ghosts_at_right(state: State, right: RightHalf) -> Ghosts | None:
    """Those of the left half, and its member; of another study none."""
    if not state.ghosts_on or right.study is not state.study:
        return None
    others = np.setdiff1d(np.append(state.chosen, state.member), [right.member])
    return ghosts_of(right.design.scenes, others, state.time, _metric(state))


def _metric(state: State) -> np.ndarray | None:
    """(members,) the metric that colours the ghosts."""
    return np.asarray(state.study.metrics[state.colour_by], float) if state.colour_by else None
