"""The slopes of a study as its report tells them: how much each metric changes with each number, and what that tells.

A slope is a derivative at one member's design. Its effect is slope times the standard deviation of the number in the
study, so that numbers of different units and ranges can be compared; where a number has one value, a hundredth of it
takes the place of the deviation.
"""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from typing import Any

import numpy as np

from shiftjax.ensembles.fisher_information import Fisher, fisher, sizes
from shiftjax.ensembles.report import style
from shiftjax.ensembles.report.content import MOST_METRICS, MOST_NUMBERS, Content, unit_text
from shiftjax.ensembles.report.figures import matrix, panels
from shiftjax.ensembles.report.html import Book, code, key, number, table
from shiftjax.ensembles.store.members import Column
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record

LOW, HIGH = 0.1, 0.9  # quantiles over the members
ONE_VALUE = 0.01  # of a number that does not differ, in place of its standard deviation
LEAST_PART = 0.1  # of the largest part of a direction: smaller parts are not said in words
MOST_PARTS = 6  # of a direction, in words
EVEN = 1e-6  # parts of a direction that differ by less are equally large: the first one has the sign plus


@record
class StudySlopes:
    """What the store holds of slopes.

    Attributes:
        values: (B, M, P) derivatives, NaN where there is none. metrics: their names. parameters: their columns.
        sigmas: metric -> standard deviation of its measurement, those that are measured.
        direction: in which they were taken.
    """

    values: np.ndarray
    metrics: tuple[str, ...]
    parameters: tuple[Column, ...]
    sigmas: dict[str, float]
    direction: str

    @property
    @np.errstate(all="ignore")  # of numbers of 1e160 the squares overflow
    def spreads(self) -> np.ndarray:
        """(P,) by which a number is changed for its effect."""
        deviations = [float(np.nanstd(column.values)) for column in self.parameters]
        means = [float(np.nanmean(np.abs(column.values))) for column in self.parameters]
        return np.array([s if s > 0 else ONE_VALUE * m for s, m in zip(deviations, means, strict=True)])

    @property
    def effects(self) -> np.ndarray:
        """(B, M, P) changes of the metrics with a number that grows by its spread."""
        with np.errstate(all="ignore"):  # slopes of 0 by an infinite spread
            return self.values * self.spreads


def slopes_of(content: Content) -> StudySlopes | None:
    """The slopes of a store; None where there are none, or not all of them yet."""
    table = content.slopes
    if "slope" not in table or table.attrs.get("shards_done") != table.attrs.get("shards"):
        return None
    columns = {column.name: column for column in content.members.design}
    paths = [str(path) for path in table["parameter"].values]
    return StudySlopes(
        np.asarray(table["slope"].values, float), tuple(str(name) for name in table["metric"].values),
        tuple(columns[path] for path in paths), json.loads(table.attrs.get("sigmas", "{}")),
        str(table.attrs["direction"]),
    )  # fmt: skip


def slopes(content: Content, book: Book) -> str:
    """Per metric the ranked effects of the numbers, then how many members have no slopes, and why."""
    slopes = slopes_of(content)
    if slopes is None:
        return "<p>Not all slopes are there yet: run <code>shiftjax sensitivity</code> on the store again.</p>"
    differs = slopes.direction == "differences"
    way = "differences of moved runs" if differs else f"gradients of its run ({escape(slopes.direction)} mode)"
    lead = (
        f"<p>Derivatives of every metric with every number, taken at each member by {way}. They tell "
        "what a small change does at a design; the shares of the variance "
        "under <i>What moves the metrics</i> tell what the whole range does. A number's <b>effect</b> is the slope "
        "times the standard deviation of the number in this study: the change of the metric if the number grew by "
        "that much and the metric went on as straight.</p>"
    )
    known = [m for m in range(len(slopes.metrics)) if np.isfinite(slopes.values[:, m]).any()]
    drawn = "" if not known else book.add(
        _tornado(content, slopes, known[:MOST_METRICS]),
        "slopes",
        "Effects of the numbers, the largest first",
        f"Bars: median over the members of the change of the metric with a number that grows by one standard deviation "
        f"({key(style.ORANGE)}the metric rises, {key(style.BLUE)}it falls), ranked by the median of its size. "
        f"Thin: from the {100 * LOW:.0f} % to the {100 * HIGH:.0f} % quantile over the members: where it crosses zero, "
        "the number raises the metric of some designs and lowers that of others.",
    )  # fmt: skip
    return lead + drawn + _rows(content, slopes) + _lost(content, slopes)


def _tornado(content: Content, slopes: StudySlopes, known: list[int]) -> Any:
    shown = min(len(slopes.parameters), MOST_NUMBERS)
    made, every = panels(len(known), 2, 0.75 + 0.3 * shown)
    units = {metric.name: unit_text(metric.unit) for metric in content.members.metrics}
    for panel, m in zip(every, known, strict=True):
        order = ranked(slopes.effects[:, m])[:shown]
        for place, k in enumerate(order[::-1]):
            effects = slopes.effects[:, m, k]
            low, middle, high = np.quantile(effects[np.isfinite(effects)], [LOW, 0.5, HIGH])
            panel.barh(place, middle, 0.6, color=style.ORANGE if middle > 0 else style.BLUE, alpha=0.85)
            panel.hlines(place, low, high, color=style.INK, linewidth=1.2)
        panel.axvline(0.0, color=style.INK, linewidth=0.8)
        name, names = slopes.metrics[m], [content.short(slopes.parameters[k].name) for k in order[::-1]]
        unit = f" [{units[name]}]" if units.get(name) else ""
        panel.set(title=name, xlabel=f"change{unit} per standard deviation", yticks=range(len(names)))
        panel.set_yticklabels(names)
        panel.grid(axis="y", visible=False)
        panel.locator_params(axis="x", nbins=6)
    return made


def ranked(effects: np.ndarray) -> list[int]:
    """Places of the numbers of effects (B, P), the largest median size first; those without any are left out."""
    known = [k for k in range(effects.shape[1]) if np.isfinite(effects[:, k]).any()]
    size = {k: float(np.nanmedian(np.abs(effects[:, k]))) for k in known}
    return sorted(known, key=lambda k: -size[k])


def _rows(content: Content, slopes: StudySlopes) -> str:
    rows, units = [], content.slopes["unit"].values
    metrics = {metric.name: metric for metric in content.members.metrics}
    for m, name in enumerate(slopes.metrics):
        sizes = metrics[name].values if name in metrics else np.full(len(slopes.values), np.nan)
        for k in ranked(slopes.effects[:, m])[:MOST_NUMBERS]:
            slope, effect, values = slopes.values[:, m, k], slopes.effects[:, m, k], slopes.parameters[k].values
            with np.errstate(all="ignore"):
                relative = slope * values / sizes
            low, middle, high = np.quantile(slope[np.isfinite(slope)], [LOW, 0.5, HIGH])
            relative = relative[np.isfinite(relative)]
            rows.append((
                code(name), code(content.short(slopes.parameters[k].name)), number(low, 3), number(middle, 3),
                number(high, 3), unit_text(str(units[m, k])) or "1", number(float(np.nanmedian(effect)), 3),
                number(float(np.median(relative)), 3) if len(relative) else "–",
            ))  # fmt: skip
    head = (
        "metric",
        "number",
        f"slope, {100 * LOW:.0f} %",
        "median",
        f"{100 * HIGH:.0f} %",
        "unit",
        "effect",
        "relative",
    )
    note = (
        "<p class=note>Slopes over the members; effect: median, in the unit of the metric; relative: median of "
        "(dm/dp)·(p/m), the percent by which the metric changes with one percent of the number, of no use where "
        "one of them crosses zero.</p>"
    )
    return table(head, rows, (0, 1, 5)) + note


def _lost(content: Content, slopes: StudySlopes) -> str:
    """The members without a slope, counted by the reason."""
    counts = Counter(reason for reasons in reasons_of(content, slopes) for reason in reasons)
    if not counts:
        return f"<p>All {number(len(slopes.values))} members have all their slopes.</p>"
    rows = [(number(count), escape(reason)) for reason, count in counts.most_common()]
    return "<h3>Members without slopes</h3>" + table(("members", "because"), rows, (1,))


def reasons_of(content: Content, slopes: StudySlopes) -> list[set[str]]:
    """Of every member, why slopes of it are no numbers."""
    metrics = {metric.name: metric.values for metric in content.members.metrics}
    every: list[set[str]] = []
    for row, lost in enumerate(~np.isfinite(slopes.values)):
        status = Outcome(int(content.members.status[row]))
        if status > 0:
            every.append({f"the run ended early, {status.name}: {REMEDY[status]}"})
            continue
        if lost.all():
            why = f"with a warning, {status.name}: {REMEDY[status]}" if status < 0 else "but none of them is finite"
            every.append({f"the run reached its end, {why}"})
            continue
        reasons = set()
        for m, k in np.argwhere(lost):
            name, path = slopes.metrics[m], content.short(slopes.parameters[k].name)
            if not np.isfinite(slopes.parameters[k].values[row]):
                reasons.add(f"{path} is switched off in the member's model")
            elif name in metrics and not np.isfinite(metrics[name][row]):
                reasons.add(f"{name} has no value in the run")
            else:
                reasons.add(f"the derivative of {name} with {path} is not finite there")
        every.append(reasons)
    return every


def identifiability(content: Content, book: Book) -> str:
    """What measured metrics tell of the numbers: deviations, correlations, the direction that is told worst."""
    slopes = slopes_of(content)
    if slopes is None or not slopes.sigmas:
        return (
            "<p>Which metrics are measured, and how well, is not stored: "
            "<code>shiftjax sensitivity STORE --sigma METRIC=DEVIATION</code> says it, and this section then tells "
            "how well they tell the numbers.</p>"
        )
    rows = [slopes.metrics.index(name) for name in slopes.sigmas]
    scales = sizes([column.values for column in slopes.parameters])
    information = fisher(slopes.values[:, rows], np.array([*slopes.sigmas.values()]), scales)
    known = np.flatnonzero(np.isfinite(information.eigenvalues).all(axis=1))
    units = {metric.name: unit_text(metric.unit) for metric in content.members.metrics}
    given = ", ".join(f"{code(k)} ± {number(v)} {units.get(k, '')}".strip() for k, v in slopes.sigmas.items())
    lead = (
        f"<p>If one member were measured, how well would the measurements tell its numbers? Measured: {given} "
        "(standard deviations, independent normal errors). From the slopes follows the Fisher information, and from it "
        "the deviation that no unbiased estimate goes below (Cramér, Rao).</p>"
    )
    if not len(known):
        return lead + "<p>No member has all the slopes that this needs.</p>"
    numbers = conditions(information)[known]
    typical = int(known[np.argsort(numbers, kind="stable")[(len(known) - 1) // 2]])
    ranks = _span(information.rank[known])
    combinations = f"Of {len(scales)} numbers, {ranks} independent combinations are told by {len(rows)} measurements"
    if np.isinf(numbers).all():
        cards = f"<p>{combinations}: in every member some change of the numbers moves no measured metric.</p>"
    else:
        cards = f"<p>{combinations}. The condition number of the information, numbers in parts of their mean size, is "
        cards += f"{number(float(np.median(numbers)), 3)} in the median, from {number(numbers.min(), 3)} to "
        cards += f"{number(numbers.max(), 3)}, of {number(len(known))} members.</p>"
    weak = f'<div class="region warned">{weakest(content, slopes, information, typical)}</div>'
    deviations = _deviations(content, slopes, information, known)
    return lead + cards + weak + deviations + _matrix(content, book, slopes, information, typical)


def conditions(information: Fisher) -> np.ndarray:
    """(...) largest over smallest eigenvalue of the information; infinite where a direction is told by nothing."""
    whole = information.rank >= information.eigenvalues.shape[-1]
    with np.errstate(all="ignore"):
        return np.where(whole, information.eigenvalues[..., -1] / information.eigenvalues[..., 0], np.inf)


def weakest(content: Content, slopes: StudySlopes, information: Fisher, row: int) -> str:
    """The direction that a member's measurements tell worst, as HTML."""
    member, eigenvalue = content.members.numbers[row], float(information.eigenvalues[row, 0])
    change = information.directions[row, :, 0]
    first = int(np.argmax(np.abs(change) > (1.0 - EVEN) * np.abs(change).max()))
    change = change * np.sign(change[first])
    order = [
        k for k in np.argsort(-np.abs(change), kind="stable") if abs(change[k]) >= LEAST_PART * np.abs(change).max()
    ]
    parts = [f"{code(content.short(slopes.parameters[k].name))} by {_percent(change[k])}" for k in order[:MOST_PARTS]]
    who = f"<b>Told worst</b> (member {member}, the one with the median condition number): a change of "
    what = f"{' together with '.join(parts)} of their mean size "
    if information.rank[row] < len(change):
        return f"{who}{what}moves no measured metric. These measurements cannot tell such a change at all."
    moved = 0.01 * float(np.sqrt(eigenvalue))
    known = 1.0 / float(np.sqrt(eigenvalue))
    return (
        f"{who}{what}moves the measured metrics by {number(moved, 3)} of their standard deviations in all. "
        f"This combination is found to ± {number(100.0 * known, 3)} %, all that is perpendicular to it better."
    )


def _percent(share: float) -> str:
    return f"{share:+.2f} %".replace("-", "−")


def _span(values: np.ndarray) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def _deviations(content: Content, slopes: StudySlopes, information: Fisher, known: np.ndarray) -> str:
    rows = []
    for k, column in enumerate(slopes.parameters):
        values = information.standard_deviations[known, k]
        low, middle, high = np.quantile(values, [LOW, 0.5, HIGH], method="nearest")
        size = float(np.nanmean(np.abs(column.values)))
        share = f"{number(100.0 * middle / size, 3)} %" if size > 0 and np.isfinite(middle) else "–"
        cells = (number(low, 3), number(middle, 3), number(high, 3), unit_text(column.unit) or "1", share)
        rows.append((code(content.short(column.name)), *cells, number(int(np.isinf(values).sum()))))
    head = (
        "number",
        f"deviation, {100 * LOW:.0f} %",
        "median",
        f"{100 * HIGH:.0f} %",
        "unit",
        "of its mean size",
        "not told in",
    )
    return table(head, rows, (0, 4)) + "<p class=note>Over the members; ∞: the measurements do not tell it.</p>"


def _matrix(content: Content, book: Book, slopes: StudySlopes, information: Fisher, row: int) -> str:
    names = [content.short(column.name) for column in slopes.parameters[:MOST_NUMBERS]]
    r = information.correlations[row][:MOST_NUMBERS, :MOST_NUMBERS].copy()
    np.fill_diagonal(r, np.nan)
    if not np.isfinite(r).any():
        return ""
    made = style.figure(1.5 + 0.36 * len(names), min(style.WIDTH, 2.6 + 0.62 * len(names)))
    matrix(made.subplots(), r, names, names)
    return book.add(
        made,
        "identifiability",
        "Correlations of the errors of the numbers",
        f"Of member {content.members.numbers[row]}. {key(style.ORANGE)}+1 or {key(style.BLUE)}−1: an error of one "
        "number is made up for by one of the other, so that the measurements tell a combination of both only; "
        "empty: one of them is not told at all.",
    )
