"""What is drawn now, in the view, its right half or a cell of a grid, from the state. No GL, no GUI library."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from shiftjax.viewer.gui.picture import goal_ghosts, overlays, symbols
from shiftjax.viewer.gui.state import groups
from shiftjax.viewer.gui.state.colours import FADED, of_hue, of_set
from shiftjax.viewer.gui.state.derived import visibility
from shiftjax.viewer.gui.state.derived.member_paths import MemberPaths, metric_ends
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import DesignSliders, with_tried
from shiftjax.viewer.members.member_sets import first_of
from shiftjax.viewer.scene.scene import OUTLINE, Ghosts, Snapshot, Strokes
from shiftjax.viewer.study.ended import greyed
from shiftjax.viewer.study.ghosts import ghosts_of

LINE = 0.85  # least opacity of outlines


def snapshot(state: WindowState, right: RightHalf | None = None, *, alone: bool = False) -> Snapshot:
    """What is drawn now. In the right half the same items are hidden, translucent and highlighted as in the left.

    What is picked or selected has an outline and is drawn as its class says: translucent, or not at all.

    Args:
        alone: without ghosts, as in a cell of a grid.
    """
    selection, hue = state.selection, state.selection.hue
    marked, hovered = frozenset(selection.marked), selection.hovered
    colours, ending = groups.colours(state.mechanism, state.grouping), state.ended(right)
    if ending is not None and state.clock.time > ending.time:
        colours |= greyed((right or state).scene)
    paths = None if alone or (right is not None and right.study is not state.study) else member_paths(state)
    others = None if alone else ghosts(state) if right is None else ghosts_at_right(state, right)
    others = others if alone or right is not None else goal_ghosts.with_goals(others, state)
    others = _outlined(others) if others is not None and state.choice.outlined else others
    faint = dict.fromkeys(
        [*visibility.paths_drawn(state, "translucent"), *selection.translucent, *selection.faded], FADED
    )
    return Snapshot(
        state.poses(right),
        hidden=visibility.hidden_paths(state),
        highlighted=marked,
        hovered=frozenset({hovered.path} if hovered.path else ()) - marked,
        hovered_ghost=_number(others, hovered.member) if right is state.hovered_half else None,
        outline=OUTLINE if hue is None else of_hue(hue),
        colours=colours,
        opacity=faint,
        ghosts=others,
        strokes=overlays.strokes(state) if right is None else overlays.trace(state, right),
        paths=paths,
        symbols=symbols.strokes(state) if right is None else None,
        ground=state.ground(),
    )


def _outlined(others: Ghosts) -> Ghosts:
    """Ghosts as outlines, which need not be as faint as bodies."""
    colours = others.colours.copy()
    colours[:, 3] = np.maximum(colours[:, 3], LINE)
    return dataclasses.replace(others, colours=colours, outlined=True)


def ghosts(state: WindowState) -> Ghosts | None:
    """The chosen members except the current one, and the design by hand."""
    others = state.choice.others if state.choice.ghosts_on else state.choice.chosen[:0]
    metric, limits = _metric(state), _limits(state)
    of_members = ghosts_of(state.scenes, others, state.clock.time, metric, limits, partial(_of_sets, state))
    return with_tried(of_members, state.pane_data(DesignSliders).tried, state.study.nodes, state.clock.time)


def ghosts_at_right(state: WindowState, right: RightHalf) -> Ghosts | None:
    """Those of the left half, and its member; of another study none."""
    if not state.choice.ghosts_on or right.study is not state.study:
        return None
    others = np.setdiff1d(np.append(state.choice.chosen, state.choice.member), [right.member])
    metric, limits = _metric(state), _limits(state)
    return ghosts_of(right.design.scenes, others, state.clock.time, metric, limits, partial(_of_sets, state))


def member_paths(state: WindowState) -> Strokes | None:
    """The path of the traced point of many members, as far as they are collected."""
    return state.pane_data(MemberPaths).look(state)


def _number(ghosts: Ghosts | None, member: int | None) -> int | None:
    """Which of the ghosts is a member; None where none is."""
    if ghosts is None or ghosts.members is None or member is None:
        return None
    places = np.flatnonzero(ghosts.members == member)
    return int(places[0]) if len(places) else None


def _of_sets(state: WindowState, members: np.ndarray) -> np.ndarray:
    """(k, 3) the colours of the sets that (k,) members are in, NaN where in none."""
    places = first_of(state.explorer.sets, members)
    return np.array([of_set(place)[:3] if place >= 0 else (np.nan,) * 3 for place in places.tolist()]).reshape(-1, 3)


def _limits(state: WindowState) -> tuple[float, float] | None:
    """Both ends of the metric that colours ghosts and paths; None where there are ghosts alone."""
    return metric_ends(state) if len(state.pane_data(MemberPaths).members) else None


def _metric(state: WindowState) -> np.ndarray | None:
    """(members,) the metric that colours the ghosts."""
    return np.asarray(state.study.metrics[state.choice.colour_by], float) if state.choice.colour_by else None
