"""Boxes drawn in a plot with the left button, which select members; a click is told from a box."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from shiftjax.record import record
from shiftjax.viewer.gui.state.explorer import Drag, Explorer
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.ticks import ticks

CURRENT = imgui.ImVec4(1.0, 1.0, 1.0, 1.0)  # of the member that is open
STILL = 4.0  # points a click may move
EDGE = imgui.ImVec4(1.0, 0.55, 0.08, 1.0)
INSIDE = imgui.ImVec4(1.0, 0.55, 0.08, 0.18)
PLOT = int(implot.Flags_.no_menus | implot.Flags_.no_box_select | implot.Flags_.no_mouse_text)
TICK_POINTS = 90.0, 45.0  # room of a tick along x and along y [points]


@record
class Brushed:
    """A box in the numbers of a plot, or a click where both of its corners are one."""

    low: tuple[float, float]
    high: tuple[float, float]
    click: bool
    how: str  # one of explorer.COMBINATIONS


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
    implot.setup_axes(*titles)
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


def brush(explorer: Explorer, name: str) -> Brushed | None:
    """Draws the box that is being brushed in the present plot, and returns it when the button comes up."""
    mouse = imgui.get_io().mouse_pos
    if implot.is_plot_hovered() and imgui.is_mouse_clicked(imgui.MouseButton_.left):
        explorer.drag = Drag(name, (mouse.x, mouse.y))
    if explorer.drag is None or explorer.drag.plot != name:
        return None
    start, click = explorer.drag.start, math.dist(explorer.drag.start, (mouse.x, mouse.y)) <= STILL
    one, other = imgui.ImVec2(*start), imgui.ImVec2(mouse.x, mouse.y)
    if imgui.is_mouse_down(imgui.MouseButton_.left):
        if not click:
            low, high = (
                imgui.ImVec2(min(one.x, other.x), min(one.y, other.y)),
                imgui.ImVec2(max(one.x, other.x), max(one.y, other.y)),
            )
            implot.push_plot_clip_rect()
            paint = implot.get_plot_draw_list()
            paint.add_rect_filled(low, high, imgui.get_color_u32(INSIDE))
            paint.add_rect(low, high, imgui.get_color_u32(EDGE))
            implot.pop_plot_clip_rect()
        return None
    explorer.drag = None
    a, b = implot.pixels_to_plot(one), implot.pixels_to_plot(other)
    io = imgui.get_io()
    how = "within" if io.key_ctrl else "add" if io.key_shift else "replace"
    return Brushed((min(a.x, b.x), min(a.y, b.y)), (max(a.x, b.x), max(a.y, b.y)), click, how)
