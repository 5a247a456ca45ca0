"""Brushes in a plot: drawn with the left button, moved as a whole or by their ends; a click is told from a box."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.brush_boxes import BrushBox, Corner, Drag, Scale
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.members.brush import Brush, rounded
from shiftjax.viewer.ticks import ticks

CURRENT = imgui.ImVec4(1.0, 1.0, 1.0, 1.0)  # of the member that is open
STILL = 4.0  # points a click may move
GRAB = 5.0  # points from an end of a brush at which the mouse takes it
EDGE = imgui.ImVec4(1.0, 0.55, 0.08, 1.0)
INSIDE, FAINT = imgui.ImVec4(1.0, 0.55, 0.08, 0.18), imgui.ImVec4(1.0, 0.55, 0.08, 0.10)
PLOT = int(implot.Flags_.no_menus | implot.Flags_.no_box_select | implot.Flags_.no_mouse_text)
HINT = "drag: select, Shift adds, Ctrl within; a brush or its edges: move"
LOW = 110.0  # height of a plot without room for the title of its axis across [points]
TICK_POINTS = 90.0, 45.0  # room of a tick along x and along y [points]
ACROSS, UP = ("left", "right"), ("low", "high")


@contextmanager
def plot(explorer: Explorer, name: str, size: tuple[float, float], titles: tuple[str, str],
         fitted: tuple[float, float, float, float], flags: int = PLOT) -> Iterator[bool]:  # fmt: skip
    """A plot whose left button brushes; the right button and the wheel move and zoom. Yields whether it is drawn.

    Args:
        titles: of both axes; fitted: limits of x and y that show all.
    """
    buttons = implot.get_input_map()
    before, buttons.pan, buttons.fit = (buttons.pan, buttons.fit), imgui.MouseButton_.right, imgui.MouseButton_.right
    drawn = implot.begin_plot(f"##{name}", imgui.ImVec2(*size), flags)
    if drawn:
        _axes(explorer, name, titles, fitted, size)
        yield True
        corner, points = implot.get_plot_pos(), implot.get_plot_size()
        ui.item_boxes[f"study:{name}"] = Box(corner.x, corner.y, points.x, points.y)
        limits = implot.get_plot_limits()
        explorer.limits[name] = (limits.x.min, limits.x.max, limits.y.min, limits.y.max)
        implot.end_plot()
    else:
        yield False
    buttons.pan, buttons.fit = before


def _axes(explorer: Explorer, name: str, titles: tuple[str, str], fitted: tuple[float, float, float, float],
          size: tuple[float, float]) -> None:  # fmt: skip
    """Axes with the limits of the last frame and ticks that differ."""
    x0, x1, y0, y1 = fitted if explorer.fit or name not in explorer.limits else explorer.limits[name]
    implot.setup_axes(*titles, int(implot.AxisFlags_.no_label) if size[1] < LOW else 0)
    when = int(imgui.Cond_.always if explorer.fit else imgui.Cond_.once)
    implot.setup_axes_limits(*widened(*fitted[:2]), *widened(*fitted[2:]), when)
    for axis, low, high, room, long in (
        (implot.ImAxis_.x1, x0, x1, TICK_POINTS[0], size[0]), (implot.ImAxis_.y1, y0, y1, TICK_POINTS[1], size[1])
    ):  # fmt: skip
        marks = ticks(low, high, max(int(long / room), 2))
        if marks:
            implot.setup_axis_ticks(axis, [value for value, _ in marks], [text for _, text in marks])


def widened(low: float, high: float, share: float = 0.03) -> tuple[float, float]:
    """Limits a little wider than a range; those about one number are apart."""
    apart = (high - low) * share or max(abs(high), 1.0) * share
    return low - apart, high + apart


def in_axes(explorer: Explorer, across: str, up: str = "") -> list[BrushBox]:
    """The brushes that ask for a column of a plot's axes, as boxes; without ends along the other axis through it."""
    boxes = []
    for place, brush in enumerate(explorer.brushes):
        ends = [brush.range_of(column) if column else None for column in (across, up)]
        if any(ends):
            (left, right), (low, high) = ((one.low, one.high) if one else (-math.inf, math.inf) for one in ends)
            scales = [Scale(one.column) if one else None for one in ends]
            boxes.append(BrushBox(place, left, right, low, high, scales[0], scales[1]))
    return boxes


def brush(state: WindowState, name: str, boxes: Sequence[BrushBox],
          made: Callable[[Corner, Corner], Brush | None]) -> Corner | None:  # fmt: skip
    """Draws the brushes of the present plot, makes new ones and moves those there are; returns where it was clicked.

    Args:
        made: lower and upper corner of a box in the numbers of the plot -> the brush that it means.
    """
    explorer, io = state.explorer, imgui.get_io()
    mouse = io.mouse_pos
    for box in boxes:
        _draw(box, explorer, name)
    hovered = implot.is_plot_hovered()
    grip = None if io.key_ctrl or io.key_shift or explorer.drag or not hovered else _grip(boxes, mouse)
    if grip is not None:
        imgui.set_mouse_cursor(_pointer(grip[1]))
    if hovered and imgui.is_mouse_clicked(imgui.MouseButton_.left):
        box, sides = grip or (None, frozenset[str]())
        before = explorer.brushes[box.brush] if box is not None else None
        explorer.drag = Drag(name, (mouse.x, mouse.y), box, before, sides)
    drag = explorer.drag
    if drag is None or drag.plot != name:
        return None
    still = math.dist(drag.start, (mouse.x, mouse.y)) <= STILL
    one, other = imgui.ImVec2(*drag.start), imgui.ImVec2(mouse.x, mouse.y)
    a, b = implot.pixels_to_plot(one), implot.pixels_to_plot(other)
    down = imgui.is_mouse_down(imgui.MouseButton_.left)
    if drag.before is not None and not still:
        _move(explorer, drag, (b.x - a.x, b.y - a.y))
    elif down and not still:
        _paint(one, other, INSIDE)
    if down:
        return None
    explorer.drag = None
    if still:
        return b.x, b.y
    if drag.before is not None:
        selecting.show_ghosts(state)
        return None
    new = made((min(a.x, b.x), min(a.y, b.y)), (max(a.x, b.x), max(a.y, b.y)))
    if new is not None:
        selecting.brush(state, new, "within" if io.key_ctrl else "add" if io.key_shift else "replace")
    return None


def _grip(boxes: Sequence[BrushBox], mouse: imgui.ImVec2) -> tuple[BrushBox, frozenset[str]] | None:
    """The brush under the mouse and which of its sides it takes, all inside of it; the latest where several lie."""
    for box in reversed(boxes):
        low, high = _corners(box)
        if not (low.x - GRAB <= mouse.x <= high.x + GRAB and low.y - GRAB <= mouse.y <= high.y + GRAB):
            continue
        at = {"left": mouse.x - low.x, "right": mouse.x - high.x, "high": mouse.y - low.y, "low": mouse.y - high.y}
        can = [*(ACROSS if box.across else ()), *(UP if box.up else ())]
        near = [side for side in can if abs(at[side]) <= GRAB and math.isfinite(getattr(box, side))]
        for sides in (ACROSS, UP):  # of a brush that is thinner than the reach of the mouse the nearer side
            if set(sides) <= set(near):
                near.remove(max(sides, key=lambda side: abs(at[side])))
        return box, frozenset(near or can)
    return None


def _pointer(sides: frozenset[str]) -> imgui.MouseCursor_:
    if sides & set(ACROSS) and sides & set(UP):
        return imgui.MouseCursor_.resize_all
    if len(sides) == 2:
        return imgui.MouseCursor_.hand
    return imgui.MouseCursor_.resize_ew if sides & set(ACROSS) else imgui.MouseCursor_.resize_ns


def _move(explorer: Explorer, drag: Drag, by: Corner) -> None:
    """The brush that is dragged with its sides moved; members follow at once, ghosts when the button comes up."""
    box = drag.box
    if box is None or drag.before is None or box.brush >= len(explorer.brushes):
        return
    moved, limits = drag.before, implot.get_plot_limits()
    for scale, sides, shift, shown in ((box.across, ACROSS, by[0], limits.x), (box.up, UP, by[1], limits.y)):
        ends = drag.before.range_of(scale.column) if scale is not None else None
        if scale is None or ends is None:
            continue
        apart = (shown.max - shown.min) * abs(scale.apart)
        low, high = (
            rounded(scale.number(scale.place(end) + shift), apart) if side in drag.sides else end
            for side, end in zip(sides, (ends.low, ends.high), strict=True)
        )
        moved = moved.moved(scale.column, low, high)
    brushes = list(explorer.brushes)
    brushes[box.brush] = moved
    explorer.set_brushes(brushes)


def _corners(box: BrushBox) -> tuple[imgui.ImVec2, imgui.ImVec2]:
    """Upper left and lower right corner of a brush in the window; sides without an end are those of the plot."""
    limits = implot.get_plot_limits()
    x = [min(max(value, limits.x.min), limits.x.max) for value in (box.left, box.right)]
    y = [min(max(value, limits.y.min), limits.y.max) for value in (box.low, box.high)]
    one, other = implot.plot_to_pixels(x[0], y[1]), implot.plot_to_pixels(x[1], y[0])
    return imgui.ImVec2(one.x, one.y), imgui.ImVec2(other.x, other.y)


def _draw(box: BrushBox, explorer: Explorer, name: str) -> None:
    """A brush; fainter inside where it asks for more than this plot shows."""
    low, high = _corners(box)
    shown = {scale.column for scale in (box.across, box.up) if scale is not None}
    whole = explorer.brushes[box.brush]
    _paint(low, high, INSIDE if {one.column for one in whole.ranges} <= shown and not whole.query else FAINT)
    ui.item_boxes[f"brush:{name}:{box.brush}"] = Box(low.x, low.y, high.x - low.x, high.y - low.y)


def _paint(one: imgui.ImVec2, other: imgui.ImVec2, inside: imgui.ImVec4) -> None:
    """A box between two corners."""
    low = imgui.ImVec2(min(one.x, other.x), min(one.y, other.y))
    high = imgui.ImVec2(max(one.x, other.x), max(one.y, other.y))
    implot.push_plot_clip_rect()
    paint = implot.get_plot_draw_list()
    paint.add_rect_filled(low, high, imgui.get_color_u32(inside))
    paint.add_rect(low, high, imgui.get_color_u32(EDGE))
    implot.pop_plot_clip_rect()
