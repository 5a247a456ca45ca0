"""How often each value of a column occurs, among all members shown and among the selected ones."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.panes.study import brushing, column_choice, lacking
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.brush_boxes import Corner
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.members.brush import Brush, Range, rounded
from shiftjax.viewer.members.distributions import histogram

BINS = 60
SHADE, MARK = imgui.ImVec4(0.45, 0.6, 0.8, 0.8), imgui.ImVec4(1.0, 0.55, 0.08, 0.95)


def draw(state: WindowState) -> None:
    explorer = state.explorer
    column_choice.axis_box(explorer, state.panels.zoom, "of", "bars")
    ui.hint(brushing.HINT)
    lacking.draw(explorer, [explorer.bars])
    column, room = explorer.bars, imgui.get_content_region_avail()
    low, high = explorer.table.span(column)
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    all_of = explorer.cached("bars", (column, explorer.revision),
                             lambda: histogram(explorer.numbers(column), low, high, BINS))  # fmt: skip
    marked = explorer.cached("marked bars", (column, explorer.revision),
                          lambda: histogram(explorer.numbers(column)[explorer.mark()], low, high, BINS))  # fmt: skip
    fitted = (low, high, 0.0, float(max(all_of.max(), 1)))
    titles = (explorer.table.title(column), "members")
    with brushing.plot(explorer, "histogram", (room.x, room.y), titles, fitted) as drawn:
        if drawn:
            middles, wide = low + (np.arange(BINS) + 0.5) * (high - low) / BINS, (high - low) / BINS
            for name, counts, colour in (("##shown", all_of, SHADE), ("##selected", marked, MARK)):
                spec = implot.Spec(fill_color=colour, line_color=colour)
                implot.plot_bars(name, middles, counts.astype(float), 0.92 * wide, spec)
            here = np.array([float(explorer.table.column(column)[state.choice.member])])
            implot.plot_inf_lines("##open", here, implot.Spec(line_color=brushing.CURRENT))
            limits = implot.get_plot_limits()
            apart = limits.x.max - limits.x.min

            def made(left: Corner, right: Corner) -> Brush:
                return Brush((Range(column, rounded(left[0], apart), rounded(right[0], apart)),))

            brushing.brush(state, "histogram", brushing.in_axes(explorer, column), made)
