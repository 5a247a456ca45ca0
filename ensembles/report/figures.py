"""The figures of a report that are made of the table of members, each a figure of matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.ensembles.report import style
from shiftjax.ensembles.report.content import Content
from shiftjax.ensembles.report.effects import curve, spearman, swing
from shiftjax.ensembles.report.regions import Region, RegionGroup
from shiftjax.ensembles.store.members import Column
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.outcome import Outcome

ACROSS = 4  # panels in a row
BINS = 40
TICKS = 6  # intervals of an axis below a small panel
MOST_POINTS = 4000  # of a static scatter
MOST_CORRELATED = 16  # names in a table of correlations
ABOVE = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.01), "ncols": 2, "borderaxespad": 0.0}  # of a panel's legend
FAR = 3.0  # times the range of most values: a longer tail is cut off and counted
MARK_FROM = 0.5  # rank correlation from which its number is white on colour


def thin(rows: np.ndarray, most: int) -> np.ndarray:
    """Some of many rows, evenly spread."""
    return rows[evenly_spaced(len(rows), most)]


def panels(count: int, across: int = ACROSS, height: float = 2.15) -> tuple[Any, list[Any]]:
    """A figure of some panels, those left over empty."""
    down = -(-count // across)
    across = max(2, -(-count // down))
    made = style.figure(height * down + 0.2)
    every = list(np.ravel(made.subplots(down, across, squeeze=False)))
    for panel in every[count:]:
        panel.set_axis_off()
    return made, every[:count]


def histograms(content: Content) -> Any:
    """How often each value of each metric occurs; the median is marked."""
    made, every = panels(len(content.main_metrics), 3, 2.3)
    for panel, metric in zip(every, content.main_metrics, strict=True):
        values = metric.values[content.known(metric)]
        edges = bins(values)
        panel.hist(values, edges, color=style.PALE, edgecolor=style.BLUE, linewidth=0.6)
        beyond = int(np.sum((values < edges[0]) | (values > edges[-1])))
        if beyond:
            words = f"{beyond} more beyond this range"
            panel.text(
                0.98, 0.95, words, transform=panel.transAxes, ha="right", va="top", color=style.MUTED, fontsize=8
            )
        middle = float(np.median(values))
        panel.axvline(middle, color=style.ORANGE)
        panel.set(title=metric.name, xlabel=content.label(metric), ylabel="members" if panel is every[0] else "")
        panel.grid(axis="x", visible=False)
        panel.locator_params(axis="x", nbins=TICKS)
    return made


def bins(values: np.ndarray) -> np.ndarray:
    """Edges of the classes of a histogram; a long tail is left out."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return np.array([low - 0.5, low + 0.5])
    first, last = np.quantile(values, [0.01, 0.97])
    if last > first and high - low > FAR * (last - first):
        low, high = max(low, first - 0.05 * (last - first)), min(high, last + 0.05 * (last - first))
    return np.linspace(low, high, int(np.clip(np.sqrt(len(values)), 5, BINS)) + 1)


def influence(content: Content, metric: Column) -> Any:
    """Sobol indices at the left, swings of the conditional mean at the right."""
    indices, order = content.influence.get(metric.name), content.ranked(metric)[::-1]
    names = [content.short(content.varied[k].name) for k in order]
    made = style.figure(1.15 + 0.34 * len(order))
    left, right = made.subplots(1, 2, sharey=True)
    place = np.arange(len(order), dtype=np.float64)
    if indices is not None:
        for values, spans, shift, colour, words in (
            (indices.first, indices.first_range, 0.17, style.BLUE, "alone (first order)"),
            (indices.total, indices.total_range, -0.17, style.TEAL, "with others (total)"),
        ):
            known = np.isfinite(values[order])
            some, at = np.array(order)[known], place[known] + (shift if np.isfinite(indices.total).any() else 0.0)
            if len(some):
                left.barh(at, np.maximum(values[some], 0.0), 0.32, color=colour, label=words)
                low, high = np.clip(spans[some].T, 0.0, None)
                left.hlines(at, low, high, color=style.INK, linewidth=1.1)
        left.legend(**ABOVE)
        left.set_xlim(0.0, max(1.0, left.get_xlim()[1]))
    else:
        left.text(0.5, 0.5, "too few members for indices", transform=left.transAxes, ha="center", color=style.MUTED)
    left.set(xlabel="share of the variance [1], thin: 95 % interval", yticks=place, yticklabels=names)
    _tornado(right, content, metric, [content.varied[k] for k in order])
    for panel in (left, right):
        panel.grid(axis="y", visible=False)
        panel.tick_params(axis="y", length=0)
    return made


def _tornado(panel: Any, content: Content, metric: Column, numbers: list[Column]) -> None:
    rows = content.known(metric)
    y = metric.values[rows]
    for k, column in enumerate(numbers):
        means = swing(column.values[rows], y)
        for end, colour, words in ((means.low, style.BLUE, "small"), (means.high, style.ORANGE, "large")):
            label = f"number {words}" if k == 0 else None
            panel.barh(k, end - means.mean, 0.55, left=means.mean, color=colour, alpha=0.85, label=label)
    panel.axvline(float(y.mean()), color=style.INK, linewidth=1.0)
    panel.legend(**ABOVE)
    panel.set(xlabel=f"mean of {content.label(metric)}")


def main_effects(content: Content, metric: Column) -> Any:
    """Conditional mean of a metric over each design number, with two standard errors, on a few members."""
    rows = np.flatnonzero(content.known(metric))
    shown = thin(rows, 600)
    order = content.ranked(metric)
    made, every = panels(len(order))
    low, high = np.percentile(metric.values[rows], [1.0, 99.0])
    pad = 0.06 * (high - low) or 1.0
    for panel, k in zip(every, order, strict=True):
        column = content.varied[k]
        effect = curve(column.values[rows], metric.values[rows])
        panel.scatter(column.values[shown], metric.values[shown], s=3, color=style.PALE, linewidths=0, rasterized=False)
        panel.fill_between(
            effect.place, effect.mean - 2 * effect.error, effect.mean + 2 * effect.error, color=style.BLUE, alpha=0.22
        )
        panel.plot(effect.place, effect.mean, color=style.BLUE)
        panel.set(xlabel=content.label(column), ylim=(low - pad, high + pad))
        panel.locator_params(axis="x", nbins=TICKS)
        if panel.get_subplotspec().is_first_col():
            panel.set_ylabel(content.label(metric))
    return made


def correlations(content: Content) -> Any:
    """Rank correlations of metrics with design numbers and with each other."""
    across = list(content.varied[:MOST_CORRELATED]) + [m for m in content.main_metrics if len(content.main_metrics) > 1]
    known = content.members.finished
    columns = [*content.main_metrics, *across]
    r = spearman([c.values[known] for c in columns])[: len(content.main_metrics), len(content.main_metrics) :]
    for k, metric in enumerate(content.main_metrics):
        r[k, [j for j, c in enumerate(across) if c is metric]] = np.nan
    made = style.figure(1.5 + 0.36 * len(content.main_metrics), min(style.WIDTH, 2.6 + 0.62 * len(across)))
    panel = made.subplots()
    matrix(panel, r, [m.name for m in content.main_metrics], [content.short(c.name) for c in across])
    if len(content.main_metrics) > 1:
        panel.axvline(len(across) - len(content.main_metrics) - 0.5, color=style.INK, linewidth=1.2)
    return made


def matrix(panel: Any, r: np.ndarray, down: list[str], across: list[str]) -> None:
    """Correlations (n, m) as coloured cells with their numbers; nothing where they are not known."""
    panel.imshow(r, cmap=_diverging(), vmin=-1.0, vmax=1.0, aspect="auto")
    for (i, j), value in np.ndenumerate(r):
        if np.isfinite(value):
            ink = style.PAPER if abs(value) > MARK_FROM else style.INK
            words = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
            panel.text(j, i, words, ha="center", va="center", color=ink, fontsize=8)
    panel.set_yticks(range(len(down)), down)
    panel.set_xticks(range(len(across)), across, rotation=35, ha="right")
    panel.grid(visible=False)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def _diverging() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("report", [style.BLUE, "#f4f6f9", style.ORANGE])


def errors_of(content: Content) -> tuple[list[Column], list[Column]]:
    """Of gap, energy error and angle error those with something to draw, and those that are 0 or unknown everywhere."""
    errors = [c for c in content.members.certificate if c.name in ("gap", "energy_error", "angle_error")]
    drawn = [c for c in errors if (c.values[content.known(c)] > 0.0).any()]
    return drawn, [c for c in errors if c not in drawn]


def accuracy(content: Content) -> Any:
    """Gap, energy error and angle error of every member, best first."""
    drawn, _ = errors_of(content)
    made, every = panels(len(drawn), 3, 2.2)
    for panel, column in zip(every, drawn, strict=True):
        values = np.sort(column.values[content.known(column)])
        least = values[values > 0].min(initial=1.0)
        at = thin(np.arange(len(values)), 400)
        share = 100.0 * (at + 1) / max(1, len(values))
        panel.semilogy(share, np.maximum(values[at], least), color=style.BLUE)
        style.log_ticks(panel.yaxis)
        panel.set(title=column.name, xlabel="share of the members [%]", ylabel=content.label(column), xlim=(0, 100))
    return made


def failures(content: Content, group: RegionGroup, region: Region, rest: np.ndarray) -> Any:
    """Where a group lies, over the two design numbers that tell most."""
    names = list(dict.fromkeys(c.column.name for c in region.conditions))
    columns = [c for name in names for c in content.varied if c.name == name]
    columns += [c for c in content.varied if c.name not in names]
    made = style.figure(2.9, 6.0)
    panel = made.subplots()
    x, y = columns[0], columns[1] if len(columns) > 1 else None
    for rows, colour, words, size in (
        (thin(rest, MOST_POINTS // 2), style.PALE, "others", 7),
        (thin(group.rows, MOST_POINTS // 2), style.RED, group.outcome.name, 11),
    ):
        height = y.values[rows] if y else np.full(len(rows), float(colour == style.RED))
        panel.scatter(x.values[rows], height, s=size, color=colour, linewidths=0, label=words)
    for condition in region.conditions:
        draw = panel.axvline if condition.column is x else panel.axhline if condition.column is y else None
        if draw:
            draw(condition.limit, color=style.INK, linewidth=1.0, linestyle="--")
    panel.set(xlabel=content.label(x), ylabel=content.label(y) if y else "")
    made.legend(*panel.get_legend_handles_labels(), loc="outside right upper")
    return made


def statuses(content: Content) -> Any:
    """How many members ended how, as one bar."""
    counts = content.members.counts()
    made = style.figure(1.0)
    panel = made.subplots()
    reached = 0
    total = len(content.members.numbers)
    for outcome, count in counts.items():
        panel.barh(0, count, 0.6, left=reached, color=status_colour(outcome), label=f"{outcome.name} {count}")
        reached += count
    panel.set(xlim=(0, total), xlabel="members")
    panel.set_yticks([])
    panel.grid(visible=False)
    panel.spines["left"].set_visible(False)
    made.legend(*panel.get_legend_handles_labels(), loc="outside upper left", ncols=len(counts))
    return made


def status_colour(outcome: Outcome) -> str:
    """Good, with a warning, failed."""
    shades = {
        0: style.TEAL,
        -1: "#e3b341",
        -2: "#d8a02c",
        -3: "#c98f1b",
        -4: "#b57e10",
        -5: "#9d6b08",
        -6: "#7fb8b5",
        -7: "#cbb26a",
    }
    reds = (
        *("#b8322c", "#8f2420", "#d4655f", "#6e1815", "#e08d88", "#a0463f", "#c77872", "#571210"),
        *("#e8503a", "#b56a5c", "#9c4a5e", "#7a3b4f"),
    )
    return shades[int(outcome)] if outcome <= 0 else reds[(int(outcome) - 1) % len(reds)]
