"""Several members in a grid of the view, at one time and from one camera. No GL, no GUI library."""

from __future__ import annotations

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.distributions import spread
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.side_by_side import BAR
from shiftjax.viewer.study import design_views

SIZES = (4, 9, 16)  # members, one after the other
SHARE = 1.5  # so many times a size are shown at once, too


def toggle(state: WindowState) -> None:
    """Shows 4 of the chosen members in a grid, then 9, then 16, then one alone again."""
    explorer = state.explorer
    before = len(explorer.cells)
    larger = next((size for size in SIZES if size > before), None)
    if larger is not None and before < len(state.choice.chosen):
        few = len(state.choice.chosen) <= min(SHARE * larger, SIZES[-1])  # all of five, not four of them
        show(state, members_for(state, len(state.choice.chosen) if few else larger))
    else:
        close(state)
        if not before:
            state.say("A grid needs two members: choose more, as `kept`.")


def members_for(state: WindowState, count: int) -> list[int]:
    """So many of the chosen members, see `_few`, by the metric that their labels show, from small to large; those of a
    ranking, and designs of an optimisation, stay in their order."""
    few = _few(state, count)
    metric = metric_of(state)
    if state.study.titles or not (np.diff(state.choice.chosen) > 0).all() or metric not in state.explorer.table.names:
        return few
    numbers = state.explorer.table.column(metric)[few].astype(float)
    return [few[k] for k in np.argsort(numbers, kind="stable")]  # NaN last


def _few(state: WindowState, count: int) -> list[int]:
    """So many of the chosen members: the first of a choice in its order, or those spread over a selection;
    of an optimisation's designs, unless they are ranked, the first, the last and others evenly between."""
    chosen, explorer = state.choice.chosen, state.explorer
    if len(chosen) <= count:
        return [int(member) for member in chosen]
    if state.study.titles and (np.diff(chosen) > 0).all():  # iterations in order
        return [int(chosen[k]) for k in evenly_spaced(len(chosen), count)]
    if state.choice.text:
        return [int(member) for member in chosen[:count]]
    points = np.stack([explorer.table.column(name)[chosen].astype(float) for name in explorer.plotted()], axis=1)
    return [int(member) for member in chosen[spread(points, count)]]


def show(state: WindowState, members: list[int]) -> None:
    """A cell for each of several members, which can be drawn; one alone needs no grid."""
    if len(members) < 2:
        state.say("A grid needs two members: choose more, as `kept`.")
        close(state)
        return
    state.beside = None
    _set(state, tuple(members[: SIZES[-1]]))


def close(state: WindowState) -> None:
    """One member in the view."""
    _set(state, ())


def _set(state: WindowState, cells: tuple[int, ...]) -> None:
    """Changes the members of the grid; a camera that nobody has moved is fitted to what all of them reach."""
    if cells == state.explorer.cells:
        return
    state.explorer.cells, state.explorer.hovered = cells, None
    if state.view.is_fitted:
        state.view.fit(state.motion())


def pick(state: WindowState, member: int, *, alone: bool) -> None:
    """A cell was clicked: its member is shown in the panes, or alone in the view."""
    state.show_member(member)
    if alone:
        close(state)


def halves_of(state: WindowState) -> list[RightHalf]:
    """What is drawn in each cell."""
    cells = state.explorer.cells
    return state.explorer.cached("cells", cells, lambda: [RightHalf(Design(state.scenes, k)) for k in cells])


def boxes(view: Box, count: int) -> list[Box]:
    """The cells of a view, row by row, as large as they may be, a bar between them."""
    across = max(range(1, count + 1), key=lambda n: min(*_size(view, count, n)))
    width, height = _size(view, count, across)
    return [
        Box(view.x + (k % across) * (width + BAR), view.y + (k // across) * (height + BAR), width, height)
        for k in range(count)
    ]


def _size(view: Box, count: int, across: int) -> tuple[float, float]:
    """Width and height of a cell where so many are in a row."""
    width, height = ((size + BAR) / n - BAR for size, n in ((view.width, across), (view.height, -(-count // across))))
    return max(width, 1.0), max(height, 1.0)


def metric_of(state: WindowState) -> str:
    """The column that the labels of cells show: what colours ghosts, else points, else what a scatter plot shows."""
    return state.choice.colour_by or state.explorer.colour or state.explorer.y


def lines(state: WindowState, half: RightHalf) -> list[str]:
    """The label of a cell: its member and the metric that colours; a note once its run is over."""
    metric = metric_of(state)
    table = state.explorer.table
    caption = [half.study.title(half.member)]
    if metric not in ("", "member", *caption[0].split()):  # the title may say it
        unit = table.unit(metric)
        caption.append(
            f"{state.explorer.short(metric)} = {table.text(metric, half.member)}{f' {unit}' if unit else ''}"
        )
    return design_views.with_state(caption, half.design, state.clock.time)
