"""The section of a report on tolerances: scatter of every metric, share outside its limits, Cpk, worst case."""

from __future__ import annotations

import json
import math

import numpy as np

from shiftjax.ensembles.report.capability import (
    QUANTILES,
    REACH,
    Capability,
    Stack,
    capability,
    scatter,
    stack,
    straight_fit,
)
from shiftjax.ensembles.report.content import MOST_NUMBERS, Content, unit_text
from shiftjax.ensembles.report.html import code, number, precise, table
from shiftjax.ensembles.report.influences import percent
from shiftjax.ensembles.report.slope_figures import StudySlopes, slopes_of
from shiftjax.ensembles.store.members import Column
from shiftjax.ensembles.study.spec import Vary, parse_vary, varied
from shiftjax.errors import ModelError
from shiftjax.record import record
from shiftjax.run.results.plain_values import digits_to_tell

LAWS_OF_SCATTER = ("normal", "lognormal", "triangular")  # that are drawn of what varies by itself
SKEWED = 0.5  # skewness from which a normal law says little of the tails


@record
class Tolerance:
    """Within what a drawn number stays [SI]: the bounds of its law, of one without bounds mean and three deviations."""

    column: Column
    low: float
    high: float
    law: str

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2.0


def drawn_numbers(content: Content) -> tuple[Tolerance, ...]:
    """The numbers of a study that are drawn, in the order in which they vary, of which the store says how."""
    words = dict(json.loads(content.about.get("study") or "{}").get("vary") or {})
    texts = [str(text) for text in content.settings.get("vary") or ()]
    every = []
    for path, law in [*words.items(), *((None, text) for text in texts)]:
        try:
            vary = parse_vary(law) if path is None else varied(path, law, "report")
            column = content.members.column(vary.path.replace("`", ""), "report")
        except (ModelError, KeyError):
            continue  # words of a newer version, or a number that is not among the columns
        if not vary.is_axis and np.ptp(column.values) > 0.0:
            every.append(_tolerance(vary.in_si(), column))
    return tuple(every)


def _tolerance(vary: Vary, column: Column) -> Tolerance:
    low, high = vary.low, vary.high
    if vary.distribution == "normal":
        low, high = vary.low - REACH * vary.high, vary.low + REACH * vary.high
    elif vary.distribution == "lognormal":  # of that mean and standard deviation
        variance = math.log1p((vary.high / vary.low) ** 2)
        middle, reach = math.log(vary.low) - variance / 2.0, REACH * math.sqrt(variance)
        low, high = math.exp(middle - reach), math.exp(middle + reach)
    return Tolerance(column, low, high, vary.distribution)


def is_of_tolerances(content: Content) -> bool:
    """Whether a study is one: a metric has limits, or a number scatters as what is made does."""
    limited = any(metric.aim.limits for metric in content.main_metrics)
    return limited or any(one.law in LAWS_OF_SCATTER for one in drawn_numbers(content))


def tolerances(content: Content) -> str:
    """Scatter, limits, then the worst case beside it."""
    numbers = drawn_numbers(content)
    metrics = [metric for metric in content.main_metrics if int(content.known(metric).sum()) > 1]
    if not metrics:
        return "<p>No metric has two values.</p>"
    return _lead(content, numbers) + _scatters(content, metrics) + _limits(content, metrics) + _stacks(content, numbers)


def _lead(content: Content, numbers: tuple[Tolerance, ...]) -> str:
    failed = int(np.sum(~content.members.finished))
    names = {one.column.name for one in numbers}
    given = [code(content.short(column.name)) for column in content.varied if column.name not in names]
    words = "<p>What the scatter of the numbers does to the metrics, by the members as they were drawn (Monte Carlo)."
    if failed:
        words += f" {number(failed)} members failed: they have no value, and are neither within limits nor beyond."
    if given:
        words += (
            f" {', '.join(given)} {'has' if len(given) == 1 else 'have'} given values: of a grid or a list, a share "
        )
        words += "is one of designs, not of parts that are made."
    return words + "</p>"


def _scatters(content: Content, metrics: list[Column]) -> str:
    rows, skewed = [], []
    for metric in metrics:
        values = metric.values[content.known(metric)]
        of, digits = scatter(values), digits_to_tell(values, 4)
        if abs(of.skewness) > SKEWED:
            skewed.append(f"{code(metric.name)} ({number(of.skewness, 2)})")
        levels = (precise(level, digits) for level in of.quantiles)
        cells = (number(of.count), precise(of.mean, digits), number(of.error, 2), number(of.deviation, 3), *levels)
        rows.append((code(metric.name), *cells, unit_text(metric.unit)))
    levels = tuple(f"{100 * q:.3g} %" for q in QUANTILES)
    head = ("metric", "members", "mean", "its error", "standard deviation", *levels, "unit")
    note = ""
    if skewed:
        note = f"<p class=note>Skewed, so that the normal law is no guide to the tails: {', '.join(skewed)}.</p>"
    return "<h3>Scatter</h3>" + table(head, rows, (0, len(head) - 1)) + note


def _limits(content: Content, metrics: list[Column]) -> str:
    rows = []
    for metric in metrics:
        limits, values = metric.aim.limits, metric.values[content.known(metric)]
        if limits is not None:
            rows.append(_limit_row(metric, limits, capability(values, limits), len(values)))
    if not rows:
        return (
            "<p class=note>No metric has limits: <code>limits = [lowest, highest]</code> of a metric in the study file "
            "gives it the share outside of them and Cpk.</p>"
        )
    head = ("metric", "from", "to", "unit", "below", "above", "share outside", "95 % interval", "of a normal law")
    note = (
        "<p class=note>Share outside with Wilson's interval; beside it that of a normal law of the same mean and "
        "deviation. Cp = (upper − lower) / 6 s, Cpk = min(upper − mean, mean − lower) / 3 s, s the standard deviation "
        "(Montgomery, <i>Introduction to Statistical Quality Control</i>), with Bissell's approximate 95 % interval; "
        "both mean what they say of values that are normal.</p>"
    )
    return "<h3>Limits</h3>" + table((*head, "Cp", "Cpk", "95 % interval"), rows, (0, 3)) + note


def _limit_row(metric: Column, limits: tuple[float, float], of: Capability, count: int) -> tuple[str, ...]:
    ends = tuple(number(limit, 6) if math.isfinite(limit) else "–" for limit in limits)
    share = percent(of.share) if of.below + of.above else f"none of {number(count)}"
    shares = (share, _span(*(percent(x) for x in of.share_range)), percent(of.normal_share))
    ratios = (number(of.cp, 3), number(of.cpk, 3), _span(*(number(x, 3) for x in of.cpk_range)))
    return (code(metric.name), *ends, unit_text(metric.unit), number(of.below), number(of.above), *shares, *ratios)


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _stacks(content: Content, numbers: tuple[Tolerance, ...]) -> str:
    """The worst case of every metric beside Monte Carlo, and what each number adds to it."""
    if not numbers:
        return ""
    slopes, rows, parts, ways = slopes_of(content), [], [], []
    for metric in content.main_metrics:
        straight = _straight(content, slopes, numbers, metric)
        if straight is None:
            ways.append(f"{code(metric.name)}: no slopes, too few members for a straight fit")
            continue
        at, values, way = straight
        known = content.known(metric)
        x = np.stack([one.column.values for one in numbers], 1)
        middles = np.array([(one.low + one.high) / 2.0 for one in numbers])
        half = np.array([one.half for one in numbers])
        covariance = np.atleast_2d(np.cov(x[known].T))
        whole = stack(at[1], values, middles - at[0], half, covariance)
        ways.append(f"{code(metric.name)}: {way}")
        rows.append(_stack_row(content, metric, whole))
        parts += _parts(content, metric, numbers, values, whole)
    if not rows:
        return f"<h3>Worst case</h3><p class=note>{'; '.join(ways)}.</p>"
    head = ("metric", "in the middle", "± at worst", "worst from", "to", "seen from", "to")
    head = (*head, "deviation, straight", "deviation, seen", "unit")
    lead = (
        "<p>If every number were at the worse end of its tolerance at once, and the metric went on as straight as its "
        "slopes: ± Σ |∂y/∂x| t, t half a tolerance, about the middle of all tolerances. A tolerance is from bound to "
        f"bound of a law, of one without bounds ± {REACH:g} standard deviations. Beside it what the members came to, "
        "and both standard deviations, the straight one from the covariance of the numbers. Where they disagree, the "
        "metric is not straight over the tolerances, and its worst case is not, either.</p>"
    )
    contributions = table(
        ("metric", "number", "from", "to", "unit", "slope", "adds at worst", "share of the variance"), parts, (0, 1, 4)
    )
    note = f"<p class=note>Slopes of {'; '.join(ways)}.</p>"
    return f"<h3>Worst case</h3>{lead}{table(head, rows, (0, len(head) - 1))}{note}{contributions}"


def _straight(
    content: Content, slopes: StudySlopes | None, numbers: tuple[Tolerance, ...], metric: Column
) -> tuple[tuple[np.ndarray, float], np.ndarray, str] | None:
    """A design (P,) with the metric there, the slopes (P,) by the drawn numbers, and where they come from."""
    known = content.known(metric)
    x = np.stack([one.column.values for one in numbers], 1)
    if slopes is not None and metric.name in slopes.metrics:
        paths = [column.name for column in slopes.parameters]
        if all(one.column.name in paths for one in numbers):
            every = slopes.values[:, slopes.metrics.index(metric.name)]
            taken = every[:, [paths.index(one.column.name) for one in numbers]]
            usable = np.flatnonzero(known & np.isfinite(taken).all(1))
            if len(usable):
                off = np.stack([(one.column.values - (one.low + one.high) / 2.0) / one.half for one in numbers], 1)
                row = int(usable[np.argmin((off[usable] ** 2).sum(1))])
                way = f"derivatives at member {content.members.numbers[row]}, the nearest to the middle"
                return (x[row], float(metric.values[row])), taken[row], way
    names = [one.column.name for one in numbers]
    others = [column for column in content.varied if column.name not in names]
    both = np.concatenate([x, *(column.values[:, None] for column in others)], 1)[known]
    made = straight_fit(both, metric.values[known])
    if made is None:
        return None
    fitted, share, mean = made
    way = f"a straight fit of the members, which explains {percent(max(share, 0.0))} of the variance"
    return (x[known].mean(0), mean), fitted[: len(numbers)], way


def _stack_row(content: Content, metric: Column, of: Stack) -> tuple[str, ...]:
    values = metric.values[content.known(metric)]
    ends = (of.middle - of.reach, of.middle + of.reach)
    digits = digits_to_tell(np.array([*values, *ends]), 4)
    worst = (number(of.reach, 3), *(precise(x, digits) for x in ends))
    seen = tuple(precise(float(x), digits) for x in (values.min(), values.max()))
    deviations = (number(of.deviation, 3), number(scatter(values).deviation, 3) if len(values) > 1 else "–")
    return (code(metric.name), precise(of.middle, digits), *worst, *seen, *deviations, unit_text(metric.unit))


def _parts(
    content: Content, metric: Column, numbers: tuple[Tolerance, ...], slopes: np.ndarray, of: Stack
) -> list[tuple[str, ...]]:
    """What each number adds, the largest first."""
    adds = np.abs(slopes) * np.array([one.half for one in numbers])
    rows = []
    for k in np.argsort(-adds, kind="stable")[:MOST_NUMBERS]:
        one = numbers[k]
        digits = digits_to_tell(np.array([one.low, one.high]), 4)
        ends = (precise(one.low, digits), precise(one.high, digits), unit_text(one.column.unit))
        cells = (number(float(slopes[k]), 3), number(float(adds[k]), 3), percent(float(of.parts[k])))
        rows.append((code(metric.name), code(content.short(one.column.name)), *ends, *cells))
    return rows
