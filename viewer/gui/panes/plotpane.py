"""Plots of the picked item: the current member's curves over those it is compared with and the band of all kept ones.

All plots have one time axis; a line at the time cursor can be dragged; the numbers at the cursor stand over each plot.
"""

from __future__ import annotations

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import split
from shiftjax.spacing import evenly_spaced
from shiftjax.viewer.gui.state import band_words, plots, present
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.plots import MemberBand, PlotCurves
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.members.distributions import Band
from shiftjax.viewer.members.ghost_choice import MOST_GHOSTS
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion import curves
from shiftjax.viewer.motion.curves import Curve
from shiftjax.viewer.motion.envelope import envelope
from shiftjax.viewer.scene.palette import CATEGORIES
from shiftjax.viewer.scene.ramp import ramp
from shiftjax.viewer.ticks import ticks

HEIGHT = 150.0
CURSOR = imgui.ImVec4(1.0, 0.75, 0.2, 1.0)
PLOT = int(implot.Flags_.no_mouse_text | implot.Flags_.no_menus | implot.Flags_.no_box_select)
FIT = int(implot.AxisFlags_.auto_fit | implot.AxisFlags_.range_fit)  # to what is between the ends of the time axis
COLOURS = tuple((red, green, blue) for red, green, blue, _ in CATEGORIES[:4])  # of components
STEEL = (0.55, 0.65, 0.8)
FAINT, SHADE = 0.35, 0.22  # opacity of ghosts' curves and of the band
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
    for k, name in enumerate(names):
        try:
            current = plot_curves.get(state.study, state.choice.member, name)
        except ModelError as error:
            imgui.text_wrapped(str(error))
            continue
        band = plot_curves.band(state.study, name, SECONDS)
        state.panels.unfinished |= plot_curves.collecting(state.study, name)
        _title(state, name, current, band)
        if implot.begin_plot(f"##{name}", imgui.ImVec2(-1, state.panels.zoom * HEIGHT), PLOT):
            ends = _axes(state, name)
            before = ends[0].value, ends[1].value
            _band(current, None if band is None else band.band)
            _others(state, name)
            _current(state, current)
            _cursor(state, k, current)
            _remember(state, name)
            implot.end_plot()
            plot_curves.shown(before, (ends[0].value, ends[1].value))


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


def compared(state: WindowState) -> list[tuple[StudyLike, int]]:
    """Members whose curves are behind the current one's: ghosts, cells of a grid, the right half."""
    choice, cells = state.choice, state.explorer.cells
    ghosts = choice.others if choice.ghosts_on else choice.chosen[:0]
    ghosts = ghosts[evenly_spaced(len(ghosts), MOST_GHOSTS)]
    pairs: list[tuple[StudyLike, int]] = [(state.study, int(member)) for member in (*ghosts, *cells)]
    if state.beside is not None:
        pairs.append((state.beside.study, state.beside.member))
    return [pair for pair in dict.fromkeys(pairs) if pair != (state.study, choice.member)]


def _title(state: WindowState, name: str, current: Curve, band: MemberBand | None) -> None:
    """Name, unit, and the numbers at the time cursor."""
    ui.wrapped(f"{name} [{current.unit}]")
    values = now(state, name, current)
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


def _others(state: WindowState, name: str) -> None:
    """Curves of the other members, in the colours of their ghosts; the right half's has a legend."""
    plot_curves, others = state.pane_data(PlotCurves), compared(state)
    lines = plot_curves.lines(others, name)
    metric = state.choice.colour_by
    colours = ramp(np.array([float(line.study.metrics[metric][line.member]) if metric in line.study.metrics else np.nan
                             for line in lines])) if metric else None  # fmt: skip
    few = len(lines) <= len(COLOURS)
    for k, line in enumerate(lines):
        for c in range(line.curve.values.shape[1]):
            colour = STEEL if colours is None else (float(colours[k][0]), float(colours[k][1]), float(colours[k][2]))
            if line.curve.values.shape[1] > 1 and colours is None:
                colour = COLOURS[c % len(COLOURS)]
            elif few and colours is None:
                colour = COLOURS[(k + 1) % len(COLOURS)]
            place = "" if line.study is state.study else f" of {line.study.model.name or line.study.where}"
            label = f"member {line.member}{place}" if few and not c else f"##{k} {c}"
            _line(label, line.curve.time, line.curve.values[:, c], colour, 0.8 if few else FAINT)


def _current(state: WindowState, current: Curve) -> None:
    """The current member's curves, over all others."""
    alone = len(current.labels) == 1
    for k in range(current.values.shape[1]):
        label = f"member {state.choice.member}" if alone else current.labels[k]
        _line(label, current.time, current.values[:, k], COLOURS[k % len(COLOURS)], 1.0, 2.0)


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
