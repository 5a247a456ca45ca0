"""Members as lines over several columns; of very many the density of the lines, as an image."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.panes.study import brushing, column_choice, images, lacking
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.brush_boxes import BrushBox, Corner, Scale
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.gui.widgets.textures import Textures
from shiftjax.viewer.members.brush import Brush, Range, rounded
from shiftjax.viewer.members.distributions import BINS, line_density

DENSE = 400  # lines above which their density is drawn
PIXELS = (BINS, 96)  # of the image between two axes
BROAD = 0.08  # half width of a brush on an axis, in parts of the distance of axes
MARGIN = 0.12  # below and above the axes
SHADE, MARK = imgui.ImVec4(0.45, 0.6, 0.8, 0.35), imgui.ImVec4(1.0, 0.55, 0.08, 0.8)
CURRENT, AXIS = imgui.ImVec4(1.0, 1.0, 1.0, 1.0), imgui.ImVec4(0.8, 0.8, 0.85, 0.8)
FLAGS = brushing.PLOT | int(implot.Flags_.no_legend)


def draw(state: WindowState) -> None:
    explorer = state.explorer
    _choose(state)
    ui.hint(f"over an axis {brushing.HINT}")
    lacking.draw(explorer, explorer.axes)
    axes, room = explorer.axes, imgui.get_content_region_avail()
    fitted = (-0.35, len(axes) - 0.65, -MARGIN, 1.0 + MARGIN)
    buttons = implot.get_input_map()
    before, buttons.pan = buttons.pan, imgui.MouseButton_.right
    if implot.begin_plot("##parallel", imgui.ImVec2(room.x, room.y), FLAGS):
        plain = int(implot.AxisFlags_.no_grid_lines | implot.AxisFlags_.no_tick_marks | implot.AxisFlags_.lock)
        implot.setup_axes("", "", plain, plain | int(implot.AxisFlags_.no_tick_labels))
        implot.setup_axes_limits(*fitted, int(imgui.Cond_.always))
        implot.setup_axis_ticks(
            implot.ImAxis_.x1, [float(k) for k in range(len(axes))], [explorer.short(n) for n in axes]
        )
        _lines(state)
        _ends(state)
        corner, size = implot.get_plot_pos(), implot.get_plot_size()
        ui.item_boxes["study:parallel"] = Box(corner.x, corner.y, size.x, size.y)
        brushing.brush(state, "parallel", _boxes(explorer), lambda low, high: _brush(explorer, low, high))
        implot.end_plot()
    buttons.pan = before


def _choose(state: WindowState) -> None:
    """A list of all columns, to make each an axis or not."""
    explorer = state.explorer
    axes = column_choice.changed(explorer, "axes", "axes of the lines", explorer.axes, "show axis")
    if axes is not None:
        explorer.set_axes(axes)


def _height(state: WindowState, name: str) -> np.ndarray:
    """(k,) numbers of the members shown, from 0 at the lower end of an axis to 1 at the upper one."""
    explorer = state.explorer
    low, high = explorer.table.span(name)
    wide = high - low if high > low else 1.0
    return explorer.cached(f"height:{name}", explorer.revision, lambda: (explorer.numbers(name) - low) / wide)


def _lines(state: WindowState) -> None:
    """All members shown, over them the selected ones, and the one that is open."""
    explorer = state.explorer
    shown, selected = explorer.counts()
    marked = explorer.mark()
    heights = [_height(state, name) for name in explorer.axes]
    if shown > DENSE:
        _image(state, "shown", heights, (110, 150, 200), 200)
    elif shown:
        implot.plot_line("##shown", *_polylines(np.stack(heights)), implot.Spec(line_color=SHADE))
    if selected > DENSE:
        _image(state, "selected", [h[marked] for h in heights], images.MARK, 255)
    elif selected:
        implot.plot_line("##selected", *_polylines(np.stack(heights)[:, marked]), implot.Spec(line_color=MARK))
    here = explorer.members() == state.choice.member
    if here.any():
        spec = implot.Spec(line_color=CURRENT, line_weight=2.0)
        implot.plot_line("##open", *_polylines(np.stack(heights)[:, here]), spec)


def _polylines(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x and y of (axes, k) heights as one line with gaps."""
    axes, count = heights.shape
    y = np.full((count, axes + 1), np.nan)
    y[:, :axes] = heights.T
    x = np.tile(np.append(np.arange(axes, dtype=float), np.nan), count)
    return np.ascontiguousarray(x), np.ascontiguousarray(y.ravel())


def _image(state: WindowState, name: str, heights: list[np.ndarray], colour: tuple[int, int, int], most: int) -> None:
    """The density of lines between every two neighbours."""
    for k in range(len(heights) - 1):
        key = (state.explorer.axes[k], state.explorer.axes[k + 1], state.explorer.revision)

        def made(k: int = k) -> np.ndarray:
            return images.shaded(line_density(heights[k], heights[k + 1], PIXELS), colour, most)

        image = Textures.current.get(f"lines {name} {k}", key, made)
        implot.plot_image(f"##{name}{k}", image, implot.Point(k, 0.0), implot.Point(k + 1, 1.0))


def _ends(state: WindowState) -> None:
    """The axes, with the numbers at their ends."""
    explorer = state.explorer
    implot.plot_inf_lines("##axes", np.arange(len(explorer.axes), dtype=float), implot.Spec(line_color=AXIS))
    for k, name in enumerate(explorer.axes):
        low, high = explorer.table.span(name)
        unit = explorer.table.unit(name)
        implot.plot_text(f"{low:.4g}", k, -0.55 * MARGIN)
        implot.plot_text(f"{high:.4g}{f' {unit}' if unit else ''}", k, 1 + 0.5 * MARGIN)


def _scale(explorer: Explorer, name: str) -> Scale:
    """The numbers of a column along its axis."""
    low, high = explorer.table.span(name)
    return Scale(name, low, high - low if high > low else 1.0)


def _boxes(explorer: Explorer) -> list[BrushBox]:
    """The ends of every brush on every axis that it asks for."""
    boxes = []
    for place, brush in enumerate(explorer.brushes):
        for k, name in enumerate(explorer.axes):
            ends, scale = brush.range_of(name), _scale(explorer, name)
            if ends is not None:
                low, high = scale.place(ends.low), scale.place(ends.high)
                boxes.append(BrushBox(place, k - BROAD, k + BROAD, low, high, None, scale))
    return boxes


def _brush(explorer: Explorer, low: Corner, high: Corner) -> Brush:
    """Those that pass all axes in a box within it; without one in it, the nearest counts."""
    axes = [k for k in range(len(explorer.axes)) if low[0] <= k <= high[0]]
    middle = min(max(round((low[0] + high[0]) / 2), 0), len(explorer.axes) - 1)
    ranges = {}
    for k in axes or [middle]:
        scale = _scale(explorer, explorer.axes[k])
        ends = (rounded(scale.number(place), scale.apart) for place in (low[1], high[1]))
        ranges[scale.column] = Range(scale.column, *ends)
    return Brush(tuple(ranges.values()))
