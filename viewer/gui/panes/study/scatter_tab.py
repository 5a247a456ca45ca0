"""Members as points of two columns, coloured by a third; of very many the density, as an image."""

from __future__ import annotations

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.gui.actions.members import selecting
from shiftjax.viewer.gui.panes.study import brushing, column_choice, front_mark, images, lacking
from shiftjax.viewer.gui.state.colours import of_set
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.brush_boxes import Corner
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import colourbar, ui
from shiftjax.viewer.gui.widgets.bundle import imgui, implot
from shiftjax.viewer.gui.widgets.textures import Textures
from shiftjax.viewer.members.brush import Brush, Range, rounded
from shiftjax.viewer.members.distributions import density
from shiftjax.viewer.scene.ramp import RAMP

DENSE = 20_000  # points in the axes above which their density is drawn
CELL = 3.0  # points of the window a cell of the density
BAR = 110.0  # room for the bar of colours [points]
LEVELS = 24  # colours of single points
STEEL = imgui.ImVec4(0.45, 0.65, 0.9, 0.8)
MARK = imgui.ImVec4(1.0, 0.55, 0.08, 1.0)
COUNT = "members"


def draw(state: WindowState) -> None:
    explorer = state.explorer
    for label, attribute in (("x", "x"), ("y", "y"), ("colour", "colour")):
        if attribute != "x":
            ui.beside(column_choice.axis_width(state.panels.zoom, label))
        column_choice.axis_box(explorer, state.panels.zoom, label, attribute)
    front_mark.switch(state)
    ui.hint(f"{brushing.HINT}; click: open; right drag, wheel: move, zoom")
    front_mark.line(state)
    lacking.draw(explorer, explorer.plotted())
    table, room = explorer.table, imgui.get_content_region_avail()
    bar = state.panels.zoom * BAR if explorer.colour or explorer.counts()[0] > DENSE else 0.0
    size = (max(room.x - bar, 40.0), max(room.y, 40.0))
    fitted = (*table.span(explorer.x), *table.span(explorer.y))
    name, titles = "scatter", (table.title(explorer.x), table.title(explorer.y))
    scale: tuple[str, float, float] | None = None
    with brushing.plot(explorer, name, size, titles, fitted) as drawn:
        if drawn:
            limits = limits_now()
            inside = _inside(state, limits)
            scale = _density(state, limits) if inside > DENSE else _points(state)
            front_mark.draw(explorer)
            _current(state)
            boxes = brushing.in_axes(explorer, explorer.x, explorer.y)
            clicked = brushing.brush(state, name, boxes, lambda low, high: _brush(explorer, limits, low, high))
            member = selecting.nearest(state, clicked, limits) if clicked is not None else None
            if member is not None:
                selecting.open_member(state, member)
    if scale is not None and bar:
        imgui.same_line()
        colourbar.upright("study:colours", *scale, size[1] - 8)


def _brush(explorer: Explorer, limits: tuple[float, float, float, float], low: Corner,
           high: Corner) -> Brush:  # fmt: skip
    """The members in a box."""
    apart = limits[1] - limits[0], limits[3] - limits[2]
    ranges = {
        column: Range(column, rounded(low[k], apart[k]), rounded(high[k], apart[k]))
        for k, column in enumerate((explorer.x, explorer.y))
    }
    return Brush(tuple(ranges.values()))  # one range where both axes are one column


def limits_now() -> tuple[float, float, float, float]:
    """Of x and y of the present plot."""
    limits = implot.get_plot_limits()
    return limits.x.min, limits.x.max, limits.y.min, limits.y.max


def _inside(state: WindowState, limits: tuple[float, float, float, float]) -> int:
    """How many of the points shown are within the axes."""
    explorer = state.explorer

    def count() -> int:
        x, y = explorer.numbers(explorer.x), explorer.numbers(explorer.y)
        if len(x) <= DENSE:
            return len(x)
        return int(((x >= limits[0]) & (x <= limits[1]) & (y >= limits[2]) & (y <= limits[3])).sum())

    return explorer.cached("inside", (explorer.x, explorer.y, limits, explorer.revision), count)


def _density(state: WindowState, limits: tuple[float, float, float, float]) -> tuple[str, float, float]:
    """The density, or the mean of the third column, of all members shown, and over it that of the selected ones.

    Returns:
        What the colours mean: a title, and the numbers at both ends.
    """
    explorer, size = state.explorer, implot.get_plot_size()
    shape = max(int(size.y / CELL), 8), max(int(size.x / CELL), 8)
    key = (explorer.x, explorer.y, explorer.colour, limits, shape, explorer.revision)
    x, y = explorer.numbers(explorer.x), explorer.numbers(explorer.y)
    third = explorer.numbers(explorer.colour) if explorer.colour else None
    counts, means = explorer.cached("density", key, lambda: density(x, y, limits, shape, third))
    title, values = (explorer.table.title(explorer.colour), means) if third is not None else (COUNT, np.log1p(counts))
    filled = values[(counts > 0) & np.isfinite(values)]
    low, high = (float(filled.min()), float(filled.max())) if len(filled) else (0.0, 1.0)
    low = 0.0 if third is None else low
    image = Textures.current.get("density", key, lambda: images.coloured(values, counts, low, high))
    corners = implot.Point(limits[0], limits[2]), implot.Point(limits[1], limits[3])
    implot.plot_image("##density", image, *corners)
    _sets(state)
    if explorer.counts()[1]:
        marked = explorer.mark()
        few = explorer.cached("selected density", key, lambda: density(x[marked], y[marked], limits, shape)[0])
        implot.plot_image("##selected", Textures.current.get("marked", key, lambda: images.shaded(few, images.MARK)),
                          *corners)  # fmt: skip
    return (title, low, high) if third is not None else (f"{COUNT},\nlog(1 + n)", low, high)


def _points(state: WindowState) -> tuple[str, float, float] | None:
    """Every member shown as a point; what the colours mean, if they mean a number."""
    explorer = state.explorer
    x, y, marked = explorer.numbers(explorer.x), explorer.numbers(explorer.y), explorer.mark()
    square = implot.Marker_.square
    size = 2.5 if len(x) > 500 else 3.5
    scale = None
    if explorer.colour:
        low, high = explorer.table.span(explorer.colour)
        scale = (explorer.table.title(explorer.colour), low, high)
        groups = explorer.cached("levels", (explorer.colour, explorer.x, explorer.y, explorer.revision),
                                 lambda: _levels(explorer.numbers(explorer.colour), low, high))  # fmt: skip
        for k, rows in groups:
            implot.plot_scatter(f"##level{k}", x[rows], y[rows], _marker(square, size, _ramp(k)))
    else:
        implot.plot_scatter("##members", x, y, _marker(square, size, STEEL))
    _sets(state)
    if marked.any():
        implot.plot_scatter("##selected", x[marked], y[marked], _marker(square, size + 1, MARK))
    return scale


def _sets(state: WindowState) -> None:
    """The members of each set in its colour, of many an even choice; hollow where a column colours the points."""
    explorer = state.explorer
    for one in reversed(explorer.sets):
        rows = explorer.cached(f"set {one.name}", (one.name, explorer.revision),
                               lambda one=one: np.flatnonzero(one.mask & explorer.shown))  # fmt: skip
        rows = rows[evenly_spaced(len(rows), DENSE)]
        x, y = (explorer.table.column(name)[rows].astype(float) for name in (explorer.x, explorer.y))
        colour, clear = imgui.ImVec4(*of_set(one.colour)), imgui.ImVec4(0.0, 0.0, 0.0, 0.0)
        spec = implot.Spec(marker=int(implot.Marker_.circle), marker_size=2.5, marker_line_color=colour,
                           marker_fill_color=clear if explorer.colour else colour)  # fmt: skip
        implot.plot_scatter(f"##set {one.name}", x, y, spec)


def _levels(values: np.ndarray, low: float, high: float) -> list[tuple[int, np.ndarray]]:
    """Rows of each colour; those without a number are left out."""
    part = (values - low) / (high - low) if high > low else values * 0 + 0.5
    levels = np.minimum(np.nan_to_num(part, nan=-1.0) * LEVELS, LEVELS - 1).astype(int)
    levels[~np.isfinite(part)] = -1
    return [(k, np.flatnonzero(levels == k)) for k in range(LEVELS) if (levels == k).any()]


def _ramp(level: int) -> imgui.ImVec4:
    knots, at = np.linspace(0.0, 1.0, len(RAMP)), (level + 0.5) / LEVELS
    red, green, blue = (float(np.interp(at, knots, RAMP[:, c])) for c in range(3))
    return imgui.ImVec4(red, green, blue, 1.0)


def _marker(kind: implot.Marker_, size: float, colour: imgui.ImVec4) -> implot.Spec:
    return implot.Spec(marker=int(kind), marker_size=size, marker_fill_color=colour, marker_line_color=colour)


def _current(state: WindowState) -> None:
    """A ring at the member that is open."""
    explorer, member = state.explorer, state.choice.member
    x, y = (np.array([float(explorer.table.column(name)[member])]) for name in (explorer.x, explorer.y))
    clear = imgui.ImVec4(0.0, 0.0, 0.0, 0.0)
    spec = implot.Spec(marker=int(implot.Marker_.circle), marker_size=6.0, marker_fill_color=clear,
                       marker_line_color=brushing.CURRENT, line_weight=2.0)  # fmt: skip
    implot.plot_scatter("##open", x, y, spec)
