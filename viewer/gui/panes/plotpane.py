"""Plots of the picked item: the current member's curves over those it is compared with and the band of all kept ones.

All plots have one time axis; a line at the time cursor can be dragged; the numbers at the cursor stand over each plot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import split
from shiftjax.viewer.gui.actions.members import typical
from shiftjax.viewer.gui.state.derived import present, shown_curves
from shiftjax.viewer.gui.state.derived.shown_curves import COLOURS, PlottedCurve
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study import band_words, plots
from shiftjax.viewer.gui.state.study.plots import MemberBand, PlotCurves
from shiftjax.viewer.gui.widgets import buttons, ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.members.distributions import Band
from shiftjax.viewer.motion import curves
from shiftjax.viewer.motion.curves import Curve
from shiftjax.viewer.motion.envelope import envelope
from shiftjax.viewer.ticks import ticks

HEIGHT = 150.0
CURSOR = imgui.ImVec4(1.0, 0.75, 0.2, 1.0)
PLOT = int(implot.Flags_.no_mouse_text | implot.Flags_.no_menus | implot.Flags_.no_box_select)
FIT = int(implot.AxisFlags_.auto_fit | implot.AxisFlags_.range_fit)  # to what is between the ends of the time axis
FAINT, STRONG, SHADE = 0.35, 0.8, 0.22  # opacity of ghosts' curves, of few, and of the band
MOST_ROWS = 10  # of the numbers at the cursor, before they scroll
TABLE = int(imgui.TableFlags_.row_bg | imgui.TableFlags_.borders_inner_v | imgui.TableFlags_.scroll_y
            | imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.scroll_x)  # fmt: skip
SQUARE = imgui.ImVec2(12.0, 12.0)
MOVED = "as the mouse moved it"  # the time axes
SECONDS = 0.01  # of each frame for collecting a band


def draw(state: WindowState) -> None:
    """A plot for each curve of the pick; of what was recorded without one."""
    plot_curves = state.pane_data(PlotCurves)
    names = plot_curves.names(state.study, state.selection.pick)
    if not names:
        ui.wrapped("no channel of this was recorded", faint=True)
    else:
        _width(state, plot_curves)
        if state.live is None:
            _reference(state, plot_curves)
        buttons.button(state, "save as CSV", "save_curves")
        ui.beside(ui.checkbox_width("all at the cursor"))
        _, plot_curves.readout = imgui.checkbox("all at the cursor", plot_curves.readout)
        ui.remember_item("readout")
    for k, name in enumerate(names):
        try:
            lines = shown_curves.shown(state, name)
        except ModelError as error:
            imgui.text_wrapped(str(error))
            continue
        _plot(state, k, name, lines)


def _plot(state: WindowState, k: int, name: str, lines: Sequence[PlottedCurve]) -> None:
    """One plot, under the numbers at the cursor."""
    plot_curves, current = state.pane_data(PlotCurves), lines[-1].curve
    differs = shown_curves.reference(state) is not None
    band = None if differs else plot_curves.band(state.study, name, SECONDS)
    state.panels.unfinished |= not differs and plot_curves.collecting(state.study, name)
    _title(state, name, current, band, differs=differs)
    if band is not None and band.typical:
        if imgui.small_button(f"median and edges##{name}"):
            typical.of_curve(state, band.typical, name, current.unit)
        ui.remember_item(f"typical:{name}")
        imgui.set_item_tooltip("the members whose curves are nearest to the middle and to both edges of the band")
    if plot_curves.readout:
        _readout(state, name, lines)
    if implot.begin_plot(f"##{name}", imgui.ImVec2(-1, state.panels.zoom * HEIGHT), PLOT):
        ends = _axes(state, name)
        before = ends[0].value, ends[1].value
        _band(current, None if band is None else band.band)
        _curves(lines)
        _cursor(state, k, current)
        _remember(state, name)
        implot.end_plot()
        plot_curves.shown(before, (ends[0].value, ends[1].value))


def _reference(state: WindowState, plot_curves: PlotCurves) -> None:
    """Whose curves all others are drawn against."""
    imgui.set_next_item_width(-1)
    gone = plot_curves.reference and shown_curves.reference(state) is None
    is_open = imgui.begin_combo("##reference", shown_curves.reference_words("" if gone else plot_curves.reference))
    ui.remember_item("plot reference")
    if not is_open:
        return
    for which in shown_curves.references(state):
        chosen, _ = imgui.selectable(shown_curves.reference_words(which), which == plot_curves.reference)
        ui.remember_item(f"plot reference:{which}")
        if chosen:
            plot_curves.reference = which
    imgui.end_combo()


def _readout(state: WindowState, name: str, lines: Sequence[PlottedCurve]) -> None:
    """A table of all curves at the time cursor."""
    rows, labels = shown_curves.readings(state, lines), lines[-1].curve.labels
    tall = imgui.get_text_line_height_with_spacing() * (min(len(rows), MOST_ROWS) + 1.5)
    if not imgui.begin_table(f"readout of {name}", 1 + len(labels), TABLE, imgui.ImVec2(0.0, tall)):
        return
    imgui.table_setup_scroll_freeze(1, 1)
    for head in (f"t = {state.clock.time:.5g} s", *(label or lines[-1].curve.unit for label in labels)):
        imgui.table_setup_column(head)
    imgui.table_headers_row()
    for k, row in enumerate(rows):
        imgui.table_next_row()
        imgui.table_next_column()
        if row.colour is not None:
            imgui.color_button(f"##{k}", imgui.ImVec4(*row.colour, 1.0), 0, SQUARE)
            imgui.same_line()
        ui.cut_text(row.name)
        ui.remember_item(f"reading:{name}:{row.name}")
        for value in row.values:
            imgui.table_next_column()
            imgui.text_unformatted(value)
    imgui.end_table()
    imgui.dummy(imgui.ImVec2(1.0, 2.0))


def _width(state: WindowState, plot_curves: PlotCurves) -> None:
    """How much of the time the axes show: all, or so many seconds before the cursor."""
    first, last = state.span
    choices = sorted({0.0, plot_curves.width, *plots.widths(last - first, growing=state.study.growing)})
    imgui.set_next_item_width(-1)
    is_open = imgui.begin_combo("##width", MOVED if plot_curves.moved else _width_text(plot_curves.width))
    ui.remember_item("plot width")
    if not is_open:
        return
    for width in choices:
        chosen, _ = imgui.selectable(_width_text(width), width == plot_curves.width and not plot_curves.moved)
        ui.remember_item(f"plot width:{width:g}")
        if chosen:
            plot_curves.follow(width)
    imgui.end_combo()


def _width_text(width: float) -> str:
    return f"the last {width:g} s before the cursor" if width else "all of the time"


def _title(state: WindowState, name: str, current: Curve, band: MemberBand | None, *, differs: bool) -> None:
    """Name, unit, and the numbers at the time cursor."""
    words = shown_curves.reference_words(state.pane_data(PlotCurves).reference)
    ui.wrapped(f"{name} [{current.unit}]{f', {words}' if differs else ''}")
    values = plots.at(current, state.clock.time) if differs else now(state, name, current)
    labels = current.labels if len(current.labels) > 1 else ("",)
    text = "  ".join(f"{label} {value:.5g}".strip() for label, value in zip(labels, values, strict=True))
    if band is not None:
        text += f"   ({band_words.words(state.study, band, current, state.clock.time)})"
    ui.wrapped(text, faint=True)
    ui.remember_item(f"value:{name}")


def now(state: WindowState, name: str, current: Curve) -> np.ndarray:
    """(k,) the numbers at the time cursor: of a joint's coordinates those of the pose in the view, as in the tree."""
    path, what = split(curves.full_name(state.study, name))
    if what == ".q" and path in state.mechanism.joints:
        return present.joint_value(state, path)
    return plots.at(current, state.clock.time)


def _axes(state: WindowState, name: str) -> tuple[implot.BoxedValue, implot.BoxedValue]:
    """One time axis for all plots, whose ends are known after the plot; a vertical one that fits, ticks that differ."""
    plot_curves = state.pane_data(PlotCurves)
    implot.setup_axes("t [s]", "", 0, FIT)
    low, high = plot_curves.ends(state.span, state.clock.time, growing=state.study.growing)
    ends = implot.BoxedValue(low), implot.BoxedValue(high if high > low else low + 1.0)
    implot.setup_axis_links(implot.ImAxis_.x1, *ends)
    marks = ticks(*plot_curves.limits.get(name, (0.0, 1.0)), 5)
    if marks:
        implot.setup_axis_ticks(implot.ImAxis_.y1, [value for value, _ in marks], [text for _, text in marks])
    return ends


def _spec(colour: tuple[float, float, float], opacity: float, weight: float = 1.0) -> implot.Spec:
    ink = imgui.ImVec4(*colour, opacity)
    return implot.Spec(line_color=ink, fill_color=ink, line_weight=weight)


def _band(current: Curve, band: Band | None) -> None:
    """From 5 to 95 % and the median of all kept members."""
    if band is None or len(band.low) != len(current.time):
        return
    for k in range(min(band.low.shape[1], len(COLOURS))):
        low, middle, high = (np.ascontiguousarray(row[:, k]) for row in (band.low, band.middle, band.high))
        implot.plot_shaded(f"##band{k}", current.time, low, high, _spec(COLOURS[k], SHADE))
        implot.plot_line(f"##median{k}", current.time, middle, _spec(COLOURS[k], 0.5))


def _curves(lines: Sequence[PlottedCurve]) -> None:
    """All curves, that of the member shown in the colours of its components, thicker and over the others."""
    for k, one in enumerate(lines):
        alone = len(one.curve.labels) == 1
        for c, label in enumerate(one.curve.labels):
            colour = one.colour if one.colour is not None else COLOURS[c % len(COLOURS)]
            if one.current:
                _line(one.name if alone else label, one.curve.time, one.curve.values[:, c], colour, 1.0, 2.0)
            else:
                name = one.name if one.named and not c else f"##{k} {c}"
                _line(name, one.curve.time, one.curve.values[:, c], colour, STRONG if one.named else FAINT)


def _line(label: str, time: np.ndarray, values: np.ndarray, colour: tuple[float, float, float], opacity: float,
          weight: float = 1.0) -> None:  # fmt: skip
    """A curve; of more instants than the plot has columns, the edges of its envelope and a shade between them."""
    limits = implot.get_plot_limits()
    columns = int(implot.get_plot_size().x)
    reached = envelope(time, values, (limits.x.min, limits.x.max), columns)
    if reached is None:
        x, y = np.ascontiguousarray(time), np.ascontiguousarray(values)
        implot.plot_line(label, x, y, _spec(colour, opacity, weight))
        return
    implot.plot_shaded(label, reached.time, reached.low, reached.high, _spec(colour, SHADE * opacity))
    for edge in (reached.low, reached.high):
        implot.plot_line(label, reached.time, edge, _spec(colour, opacity))


def _cursor(state: WindowState, k: int, current: Curve) -> None:
    """The time cursor, and the numbers under the mouse."""
    moved, time, *_ = implot.drag_line_x(k, state.clock.time, CURSOR, 1.5)
    if moved:
        state.go_to(time)
    if implot.is_plot_hovered():
        here = implot.get_plot_mouse_pos().x
        values = " ".join(f"{value:.5g}" for value in plots.at(current, here))
        imgui.set_tooltip(f"t = {here:.4g} s: {values} {current.unit}")


def _remember(state: WindowState, name: str) -> None:
    """The limits of this plot and its rectangle."""
    plot_curves, limits = state.pane_data(PlotCurves), implot.get_plot_limits()
    plot_curves.limits[name] = (limits.y.min, limits.y.max)
    corner, size = implot.get_plot_pos(), implot.get_plot_size()
    ui.item_boxes[f"plot:{name}"] = Box(corner.x, corner.y, size.x, size.y)
