"""The second half of a report: what moves each metric, its best and worst members, and why members failed."""

from __future__ import annotations

from html import escape

import numpy as np

from shiftjax.ensembles.report import figures, motion_figures, style
from shiftjax.ensembles.report.content import MOST_NUMBERS, Content, unit_text
from shiftjax.ensembles.report.html import Book, breakable, code, exact, key, number, precise, table
from shiftjax.ensembles.report.regions import Region, RegionGroup, groups, region
from shiftjax.ensembles.store.members import Column
from shiftjax.outcome import Outcome
from shiftjax.run.results.plain_values import digits_to_tell

EACH_END = 5  # members listed at each end of a metric
ROW_DIGITS = 5  # of the numbers of a member
WIDEST = 8  # design numbers in a table of members
MOST_GROUPS = 12
FEWEST = 3  # members of a group, for a region
TOLD_MEMBERS = 8  # of a group, by number


def influences(content: Content, book: Book) -> str:
    """Per metric: indices, swings, main effects; then correlations."""
    if not content.main_metrics or not content.varied:
        return "<p>There is no metric with values, or nothing was varied.</p>"
    parts = []
    if len(content.varied) > MOST_NUMBERS:
        parts.append(f"<p class=note>Figures show the {MOST_NUMBERS} most influential of {len(content.varied)}.</p>")
    if content.dependent:
        pairs = ", ".join(
            f"{code(content.short(a))} and {code(content.short(b))} ({r:.2f})" for a, b, r in content.dependent[:4]
        )
        parts.append(
            f"<p><b>Mind:</b> these numbers were not drawn independently (rank correlation): {pairs}. "
            "Shares of the variance take them for independent, and split what they have in common arbitrarily.</p>"
        )
    for metric in content.main_metrics:
        parts.append(_influence(content, book, metric))
    parts.append("<h3>Rank correlations</h3>")
    parts.append(
        book.add(
            figures.correlations(content),
            "correlations",
            "Rank correlations (Spearman)",
            f"{key(style.ORANGE)}+1: the metric always rises with the number; {key(style.BLUE)}−1: it always falls. "
            "A number near 0 may still matter, if its effect rises and falls.",
        )
    )
    return "".join(parts)


def _influence(content: Content, book: Book, metric: Column) -> str:
    indices = content.influence.get(metric.name)
    how = f"Indices: {escape(indices.method)}." if indices else "Too few members for indices."
    name = metric.name
    first = book.add(
        figures.influence(content, metric),
        f"influence_{name}",
        f"What moves {name}",
        "Left: the share of the variance that each number explains alone, and with all that it takes part in. "
        f"Right: the mean of the metric in the tenth of the members where the number is {key(style.BLUE)}smallest and "
        f"{key(style.ORANGE)}largest; the line is the mean of all. {how}",
    )
    second = book.add(
        figures.main_effects(content, metric),
        f"effects_{name}",
        f"Main effects on {name}",
        "The line is the mean of the metric over classes of one number, all others as they come; the band is two "
        "standard errors of it; points are members (some of many). The axis ends at the 1 % and 99 % quantiles.",
    )
    return f"<h3>{code(name)}</h3>{first}{second}"


def best_and_worst(content: Content, book: Book) -> str:
    """Per metric: the members at both ends with their designs, trajectories, pictures."""
    if not content.main_metrics:
        return "<p>There is no metric with values.</p>"
    lead = (
        "<p>Both ends of every metric are shown, with which of them is the best where the study says what is good "
        "(<code>good</code> of a metric, or what is made small); of others only you can say. Members that failed are "
        "not among them.</p>"
    )
    return lead + "".join(_both_ends(content, book, metric) for metric in content.main_metrics)


def _both_ends(content: Content, book: Book, metric: Column) -> str:
    rows = np.flatnonzero(content.known(metric))
    order = rows[np.argsort(metric.values[rows], kind="stable")]
    shown = [content.varied[k] for k in sorted(content.ranked(metric)[:WIDEST])] if content.varied else []
    head = ("", "member", breakable(content.label(metric)), *(breakable(content.label(c)) for c in shown), "status")
    half = min(EACH_END, len(order))
    low, high = ends_in_words(metric)
    listed = [(f"{key(style.BLUE)}{low}", row) for row in order[:half]]
    listed += [(f"{key(style.ORANGE)}{high}", row) for row in order[::-1][: min(half, len(order) - half)]]
    cells = [
        (
            words,
            str(content.members.numbers[row]),
            *(
                precise(float(c.values[row]), digits_to_tell(c.values, ROW_DIGITS), ROW_DIGITS)
                for c in (metric, *shown)
            ),
            Outcome(int(content.members.status[row])).name,
        )
        for words, row in listed
    ]
    ends = motion_figures.ends(content, metric)
    drawn = _motion(content, book, metric, ends) if ends else "<p class=note>No trajectories were kept.</p>"
    return f"<h3>{code(metric.name)}</h3>" + table(head, cells, (0, len(head) - 1)) + drawn


def ends_in_words(metric: Column) -> tuple[str, str]:
    """What the smallest and the largest values of a metric are called."""
    best_and_worst = {"small": ("best, smallest", "worst, largest"), "large": ("worst, smallest", "best, largest")}
    return best_and_worst.get(metric.good, ("smallest", "largest"))


def _motion(content: Content, book: Book, metric: Column, ends: motion_figures.Ends) -> str:
    stored = content.trajectories.sizes["member"]
    whole = "of all members" if stored == len(content.members.numbers) else f"of the {stored} whose motion is stored"
    if stored != len(content.members.numbers) and ends.whole.all():
        whole = "of all members"
    unit = unit_text(metric.unit)
    named = ends_in_words(metric)
    words = " and ".join(
        f"{key(colour)}{words} {escape(metric.name)}, member {content.members.numbers[row]} "
        f"({number(float(metric.values[row]))}{' ' + unit if unit else ''})"
        for colour, words, row in zip((style.BLUE, style.ORANGE), named, ends.rows, strict=True)
    )
    words = f"{words} {whole}"
    lines = book.add(
        motion_figures.draw_channels(content, metric, ends),
        f"trajectories_{metric.name}",
        f"Trajectories at both ends of {metric.name}",
        f"{words}; grey: the range of the stored members that finished.",
    )
    paths = book.add(
        motion_figures.draw_paths(content, ends),
        f"paths_{metric.name}",
        f"The mechanism at both ends of {metric.name}",
        f"{words}. Thick: the bodies at the start, each from its origin to its frames; thin: the paths of the points.",
    )
    return lines + paths


def failures(content: Content, book: Book) -> str:
    """Groups of members that failed or were warned of, each with its cause, remedy and region of designs."""
    every = groups(content.members)
    if not every:
        return "<p>All members finished without a warning.</p>"
    parts = [
        "<p>Members with the same status and cause are one group, those that failed first. A region is found by "
        "looking for the few conditions on single design numbers that tell members that failed from those that "
        "finished, and members with a warning from those without.</p>"
    ]
    parts += [_group(content, book, k, group) for k, group in enumerate(every[:MOST_GROUPS], start=1)]
    if len(every) > MOST_GROUPS:
        left = every[MOST_GROUPS:]
        parts.append(f"<p>{len(left)} more causes, of {sum(len(g.rows) for g in left)} members, are not told.</p>")
    return "".join(parts)


def _group(content: Content, book: Book, place: int, group: RegionGroup) -> str:
    members = content.members
    failed = group.outcome > 0
    kind = "that finished" if failed else "that ended well"
    rest = np.flatnonzero(members.finished if failed else members.good)
    title = f"{group.outcome.name}: {number(len(group.rows))} {'failed' if failed else 'with a warning'}"
    hint = " (# stands for a number)" if "#" in group.cause else ""
    cause = f"<p>Cause{hint}: {escape(group.cause)}.</p>" if group.cause else ""
    remedy = f"<p>What to do: {escape(group.remedy)}.</p>" if group.remedy else ""
    numbers = ", ".join(str(members.numbers[row]) for row in group.rows[:TOLD_MEMBERS])
    more = f" and {number(len(group.rows) - TOLD_MEMBERS)} more" if len(group.rows) > TOLD_MEMBERS else ""
    parts = [f"<h3>{title}</h3>{cause}{remedy}<p class=note>Members {numbers}{more}.</p>"]
    if content.varied and len(rest):
        limits = region(content.varied, group.rows, rest)
        parts.append(f'<div class="region{"" if failed else " warned"}">{sentence(content, group, limits, rest)}</div>')
        parts.append(_ranges(content, group, rest))
        parts.append(
            book.add(
                figures.failures(content, group, limits, rest),
                f"group_{place}_{group.outcome.name}",
                f"Where the members lie that ended {group.outcome.name}",
                f"{key(style.RED)}the group, {key(style.PALE)}members {kind} (some of many), over the two "
                "numbers that tell most; dashed: the limits of the region.",
            )
        )
    return "".join(parts)


def sentence(content: Content, group: RegionGroup, region: Region, rest: np.ndarray) -> str:
    """The region in words, as HTML."""
    if len(group.rows) < FEWEST:
        return f"{number(len(group.rows))} of them: too few to tell a region."
    if not region.conditions:
        return "These members lie among the others: no condition on a single number tells them apart."
    unit = [unit_text(c.column.unit) for c in region.conditions]
    words = " and ".join(
        f"{code(content.short(c.column.name))} {'&lt;' if c.below else '&gt;'} {exact(c.limit)} {u}".strip()
        for c, u in zip(region.conditions, unit, strict=True)
    )
    count = len(group.rows)
    who = f"All {number(count)}" if region.inside == count else f"{number(region.inside)} of {number(count)}"
    kind = "that finished" if group.outcome > 0 else "that ended well"
    others = f"so do {number(region.others)} of {number(len(rest))} {kind}" if region.others else f"none {kind} has"
    return f"<b>{who}</b> {'have' if count > 1 else 'has'} {words}; {others}."


def _ranges(content: Content, group: RegionGroup, rest: np.ndarray) -> str:
    """Range of each design number inside a group and in the whole study."""
    rows = [
        (
            code(content.short(c.name)),
            *(number(float(v)) for v in (c.values[group.rows].min(), c.values[group.rows].max())),
            *(number(float(v)) for v in (c.values.min(), c.values.max())),
            unit_text(c.unit),
        )
        for c in content.varied[:MOST_NUMBERS]
    ]
    head = ("number", "group from", "to", "study from", "to", "unit")
    return table(head, rows, (0, 5))
