"""Changes of the view taken back and done again: camera, members, brushes, sets, what is drawn, plots, panes.

On the workbench the same keys go through the history of the mechanism, as `posing` says, and changes of the view are
not noted. Time, files that were written and studies that were simulated are in no history of the view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from shiftjax.viewer.gui.actions.members import grid
from shiftjax.viewer.gui.actions.workbench import posing
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import DesignSliders
from shiftjax.viewer.gui.state.study.plots import PlotCurves
from shiftjax.viewer.gui.state.view_history import ViewHistory, ViewPart
from shiftjax.viewer.members.member_sets import MemberSet
from shiftjax.viewer.motion.framing import Extent
from shiftjax.viewer.scene.camera import Camera

BY_HAND = "design by hand"  # in the right half, in place of the study


def look(state: WindowState, seconds: float, *, pressed: bool) -> None:
    """Notes what has changed since the last frame; called in every one."""
    if state.hand is None:
        state.pane_data(ViewHistory).look(PARTS, state, seconds, pressed=pressed)


def undo(state: WindowState) -> None:
    """Takes the last change of the view back; on the workbench the last step."""
    if state.hand is not None:
        posing.undo(state)
        return
    words = state.pane_data(ViewHistory).back(PARTS, state)
    state.say(f"taken back: {words}" if words else "There is nothing to take back.")


def redo(state: WindowState) -> None:
    """Does it again."""
    if state.hand is not None:
        posing.redo(state)
        return
    words = state.pane_data(ViewHistory).again(PARTS, state)
    state.say(f"done again: {words}" if words else "There is nothing to do again.")


def same(one: Any, other: Any) -> bool:
    """Whether two readings are the same: arrays by their numbers, unless they are one array."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray | Extent) or isinstance(other, np.ndarray | Extent):
        return False
    if isinstance(one, MemberSet) and isinstance(other, MemberSet):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return bool(one == other)


def _plain(get: Callable[[WindowState], tuple[tuple[Any, str], ...]]) -> ViewPart:
    """Attributes of objects, which are replaced and not changed."""

    def write(state: WindowState, values: tuple[Any, ...]) -> None:
        for (owner, name), value in zip(get(state), values, strict=True):
            setattr(owner, name, value)

    return ViewPart(lambda state: tuple(getattr(owner, name) for owner, name in get(state)), write, same)


# -- the camera --------------------------------------------------------------------------------------------------------


def _camera(state: WindowState) -> tuple[Any, ...]:
    view = state.view
    return view.camera, view.extent if view.is_fitted else None, view.followed, view.start


def _set_camera(state: WindowState, value: tuple[Any, ...]) -> None:
    camera, extent, state.view.followed, state.view.start = value
    state.view.restore(camera, extent)


def _same_camera(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Of cameras that are fitted to the same the direction alone counts: the window fits them by itself."""
    if one[2] is not other[2]:
        return False
    if one[1] is not None and one[1] is other[1]:
        return _direction(one[0]) == _direction(other[0])
    return one[1] is other[1] and one[0] == other[0]


def _direction(camera: Camera) -> tuple[Any, ...]:
    return camera.azimuth, camera.elevation, camera.up, camera.orthographic


# -- members -----------------------------------------------------------------------------------------------------------


def _right(state: WindowState) -> tuple[Any, ...]:
    right, tried = state.beside, state.pane_data(DesignSliders).tried
    if right is None:
        return None, None
    return BY_HAND if tried is not None and right.study is tried.study else right.design, right.camera


def _set_right(state: WindowState, value: tuple[Any, ...]) -> None:
    design, camera = value
    if design == BY_HAND:
        design = state.pane_data(DesignSliders).tried
    state.beside = None if design is None else RightHalf(design, camera)


def _same_right(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    def of(design: Any) -> tuple[Any, ...]:
        return (design,) if isinstance(design, str) or design is None else (design.scenes, design.member)

    return same(of(one[0]), of(other[0])) and one[1] == other[1]


def _set_sets(state: WindowState, value: tuple[Any, ...]) -> None:
    state.explorer.put_sets(value[0])


def _brushes(state: WindowState) -> tuple[Any, ...]:
    explorer = state.explorer
    return explorer.expression, explorer.clicked, explorer.brushes


def _set_brushes(state: WindowState, value: tuple[Any, ...]) -> None:
    explorer = state.explorer
    expression, explorer.clicked, brushes = value
    explorer.set_brushes(())
    explorer.filter(expression)
    explorer.set_brushes(brushes)
    explorer.note = explorer.ghosts()[1]


def _set_front(state: WindowState, value: tuple[Any, ...]) -> None:
    state.explorer.front.on = value[0]
    state.explorer.type_front(value[1])


def _tab(state: WindowState) -> tuple[Any, ...]:
    return state.explorer.shown_on, state.explorer.tab


def _set_tab(state: WindowState, value: tuple[Any, ...]) -> None:
    state.explorer.shown_on = value[0]
    state.explorer.open_tab(value[1])


def _set_grid(state: WindowState, value: tuple[Any, ...]) -> None:
    if value[0]:
        grid.show(state, list(value[0]))
    else:
        grid.close(state)


# -- what is drawn -----------------------------------------------------------------------------------------------------


def _drawn(state: WindowState) -> tuple[Any, ...]:
    selection = state.selection
    return frozenset(selection.hidden), frozenset(selection.translucent), state.display.settings()


def _set_drawn(state: WindowState, value: tuple[Any, ...]) -> None:
    state.selection.hidden, state.selection.translucent = set(value[0]), set(value[1])
    state.display.restore(value[2])


def _picked(state: WindowState) -> tuple[Any, ...]:
    return state.selection.pick, state.selection.pick_point, tuple(state.selection.selected)


def _set_picked(state: WindowState, value: tuple[Any, ...]) -> None:
    state.selection.pick, state.selection.pick_point, selected = value
    state.selection.selected = list(selected)


def _columns(state: WindowState) -> tuple[Any, ...]:
    explorer = state.explorer
    return (
        tuple(explorer.columns), explorer.sort, explorer.falling, explorer.x, explorer.y, explorer.colour,
        explorer.bars, tuple(explorer.axes),
    )  # fmt: skip


def _set_columns(state: WindowState, value: tuple[Any, ...]) -> None:
    explorer = state.explorer
    columns, explorer.sort, explorer.falling, explorer.x, explorer.y, explorer.colour, explorer.bars, axes = value
    explorer.columns, explorer.axes, explorer.fit = list(columns), list(axes), True


def _plots(state: WindowState) -> tuple[Any, ...]:
    plots = state.pane_data(PlotCurves)
    return plots.width if plots.follows else 0.0, plots.reference, plots.readout


def _set_plots(state: WindowState, value: tuple[Any, ...]) -> None:
    plots = state.pane_data(PlotCurves)
    width, plots.reference, plots.readout = value
    if width != (plots.width if plots.follows else 0.0):
        plots.follow(width)


# In the order in which they are set: the selection is made of those shown, with their sets.
PARTS: dict[str, ViewPart] = {
    "sets": ViewPart(lambda s: (s.explorer.sets,), _set_sets, same),
    "choice": _plain(
        lambda s: ((s.choice, "chosen"), (s.choice, "text"), (s.choice, "ghosts_on"), (s.choice, "outlined"))
    ),
    "colours": _plain(lambda s: ((s.choice, "colour_by"), (s, "grouping"), (s.selection, "hue"))),
    "member": ViewPart(lambda s: (s.choice.member,), lambda s, value: s.show_member(value[0]), same),
    "right half": ViewPart(_right, _set_right, _same_right),
    "grid": ViewPart(lambda s: (s.explorer.cells,), _set_grid, same),
    "camera": ViewPart(_camera, _set_camera, _same_camera),
    "paths": _plain(lambda s: ((s.view, "trace"), (s.view, "trace_frame"), (s.choice, "traces_on"))),
    "what is drawn": ViewPart(_drawn, _set_drawn, same),
    "look": _plain(lambda s: ((s, "look"), (s, "arrows_on"))),
    "pick": ViewPart(_picked, _set_picked, same),
    "columns": ViewPart(_columns, _set_columns, same),
    "selected members": ViewPart(_brushes, _set_brushes, same),
    "front": ViewPart(lambda s: (s.explorer.front.on, s.explorer.front.text), _set_front, same),
    "tab": ViewPart(_tab, _set_tab, same),
    "plots": ViewPart(_plots, _set_plots, same),
    "panes": _plain(lambda s: ((s.panels, "panes_on"), (s.panels, "sides_on"), (s.panels, "sizes"))),
}
