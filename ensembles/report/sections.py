"""The first half of a report: what was run, how exact it is, what came out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape

import numpy as np

from shiftjax.ensembles.report import figures, style
from shiftjax.ensembles.report.content import Content, unit_text
from shiftjax.ensembles.report.html import DIGITS, Book, code, key, number, precise, table
from shiftjax.ensembles.report.influences import percent
from shiftjax.ensembles.store.members import Column
from shiftjax.ensembles.study.spec import Vary, parse_vary
from shiftjax.errors import ModelError
from shiftjax.outcome import REMEDY
from shiftjax.run.results.event_history import EventHistory
from shiftjax.run.results.plain_values import digits_to_tell, worst
from shiftjax.run.results.summary import how_run

LAWS = {"lhs": "Latin hypercube", "sobol": "Sobol sequence", "loguniform": "log-uniform", "uniform": "uniform"}
MEANING = {
    "gap": "largest distance by which a loop was open",
    "velocity_gap": "the same of speeds",
    "energy_error": "energy that came from nowhere or was lost, over the largest energy that moved",
    "angle_error": "estimated error of the joint coordinates at the end",
    "repartitions": "changes of the independent coordinates on the way",
    "pivot_ratio": "distance from a singular pose, 1 at best; 0 is singular",
    "steps": "steps taken",
    "rejected": "steps taken again in another way",
    "start_change": "by how much the stated start had to move to close the loops",
}


def summary(content: Content, book: Book) -> str:
    """The whole study in a few numbers and sentences."""
    members = content.members
    total, failed = len(members.numbers), int(np.sum(~members.finished))
    warned = int(np.sum(members.finished & ~members.good))
    cards = [
        (number(total), "members", False),
        (number(len(content.varied)), "varied numbers", False),
        (number(len(members.metrics)), "metrics", False),
        (number(total - failed), "finished", False),
        (number(warned), "finished with a warning", False),
        (number(failed), "failed", failed > 0),
    ]
    boxes = "".join(
        f'<div class="card{" bad" * bad}"><b>{value}</b><span>{words}</span></div>' for value, words, bad in cards
    )
    lines = "".join(f"<li>{line}</li>" for line in _findings(content))
    bar = book.add(
        figures.statuses(content),
        "statuses",
        "How the members ended",
        "Each member has one status; " + "; ".join(_status_words(content)) + ".",
    )
    return f'<div class="cards">{boxes}</div><ul class="findings">{lines}</ul>{bar}'


def _status_words(content: Content) -> list[str]:
    return [f"<b>{outcome.name}</b>: {escape(REMEDY[outcome] or 'good')}" for outcome in content.members.counts()]


def _findings(content: Content) -> list[str]:
    """One sentence a metric, one about accuracy."""
    lines = []
    for metric in content.main_metrics:
        values, unit = metric.values[content.known(metric)], unit_text(metric.unit)
        digits = digits_to_tell(values, DIGITS)
        three = (values.min(), values.max(), np.median(values))
        low, high, middle = (precise(float(value), digits) for value in three)
        line = f"{code(metric.name)} lies from {low} {unit}".rstrip() + f" to {high} {unit}".rstrip()
        line += f", in the median at {middle}"
        line += f" {unit}" * bool(unit)
        moved = _most_moved(content, metric)
        lines.append(f"{line}{'; ' + moved if moved else ''}.")
    lines += _happenings(content.events)
    gap = next((c for c in content.members.certificate if c.name == "gap"), None)
    if gap is not None and content.known(gap).any():
        figure, _ = worst("gap", gap.values, content.members.status)
        lines.append(f"No loop of a member that finished was ever open by more than {number(figure, 2)} m.")
    if not content.members.metrics:
        lines.append("No metrics were asked for: only designs, statuses and accuracy can be told of.")
    return lines


def _happenings(history: EventHistory | None) -> Iterator[str]:
    """One sentence an event: to how many members it happened, when first, and how many it stopped."""
    for k, name in enumerate(history.names if history is not None else ()):
        assert history is not None
        times = np.where(history.event == k, history.time, np.inf)
        first = times.min(1, initial=np.inf)
        there, stopped = first[np.isfinite(first)], int((history.stopped == k).sum())
        line = f"The event {code(name)} happened to {number(len(there))} of {number(len(first))} members"
        if len(there):
            line += f", first between {precise(float(there.min()), DIGITS)} and {precise(float(there.max()), DIGITS)} s"
        yield f"{line}{f'; it stopped {number(stopped)}' if stopped else ''}."


def _most_moved(content: Content, metric: Column) -> str:
    indices = content.influence.get(metric.name)
    if indices is None:
        return ""
    weights = np.where(np.isfinite(indices.total), indices.total, indices.first)
    first = int(np.nanargmax(weights))
    kind = "total" if np.isfinite(indices.total[first]) else "first-order"
    share = percent(float(np.clip(weights[first], 0.0, 1.0)))
    return f"{code(content.short(content.varied[first].name))} moves it most ({kind} share of the variance {share})"


def study(content: Content, book: Book) -> str:
    """Model, varied numbers, settings, versions."""
    drawn = _drawn(content)
    rows = [
        (
            code(content.short(c.name)),
            *(precise(float(end(c.values)), digits_to_tell(c.values, DIGITS)) for end in (np.nanmin, np.nanmax)),
            unit_text(c.unit),
            drawn.get(c.name, "follows from others" if c.name in content.followers else "given values"),
        )
        for c in content.members.design
    ]
    varied = table(("varied", "smallest", "largest", "unit", "drawn"), rows, (0, 3, 4)) if rows else ""
    facts = [(name, escape(str(value))) for name, value in _facts(content)]
    notes = "".join(f"<p class=note>{escape(str(note))}</p>" for note in _notes(content))
    lead = f"<p>Paths are those of the model; all begin with {code(content.prefix)}.</p>" if content.prefix else ""
    return lead + varied + "<h3>How it was run</h3>" + table(("setting", "value"), facts, (0, 1)) + notes


def _drawn(content: Content) -> dict[str, str]:
    """Column -> how it was drawn, as HTML, as far as the store says it."""
    stated = json.loads(content.about.get("study") or "{}")
    vary = dict(stated.get("vary") or {})
    for text in content.settings.get("vary") or ():
        path, _, words = str(text).rpartition("=")
        vary[path] = words
    laws: dict[str, str] = {}
    for path, words in vary.items():
        _note(laws, content, path, _words(path, words))
    for path in stated.get("switch") or {}:
        for column in (path, f"{path}.active"):  # its name in older stores, and now
            _note(laws, content, column, "on and off")
    for path, formula in (stated.get("derive") or {}).items():
        _note(laws, content, path, f"= {code(str(formula))}")
    return laws


def _note(laws: dict[str, str], content: Content, path: str, words: str) -> None:
    """Notes what is said of a column; nothing of a number that is none."""
    try:
        laws[content.members.column(path.replace("`", ""), "report").name] = words
    except ModelError:
        return


def _words(path: str, words: object) -> str:
    """A distribution in words; one that is not known here, as it was written."""
    if isinstance(words, list):
        return f"{number(len(words))} given values"
    if isinstance(words, dict):
        return escape(", ".join(f"{key} {value}" for key, value in words.items()))
    try:
        return _sentence(parse_vary(f"{path}={words}"))
    except (ModelError, KeyError):
        return escape(str(words))


def _sentence(vary: Vary) -> str:
    unit = f" {vary.unit}" if vary.unit else ""
    if vary.distribution == "normal":
        return f"normal, mean {number(vary.low)}, standard deviation {number(vary.high)}{unit}"
    if vary.distribution == "grid":
        return f"grid of {vary.points} points"
    return f"{LAWS[vary.distribution]}, {number(vary.low)} to {number(vary.high)}{unit}"


def _facts(content: Content) -> list[tuple[str, object]]:
    used, about = content.settings, content.about
    facts: list[tuple[str, object]] = [("model", content.name)]
    steps = ("step", " s") if used.get("tolerance") is None else ("tolerance", "")  # which chooses them
    if "parameter" in used:  # a path of poses, which has none of these
        facts += [("path", how_run(used)[0]), *(used["drive"].items())]
    if {"travels", "goals", "workspace"} & used.keys():
        facts.append(("asked", how_run(used)[0]))
    moves = not {"parameter", "travels", "goals", "workspace"} & used.keys()
    for name, unit in (("span", " s"), steps, ("output_step", " s")) if moves else ():
        if used.get(name) is not None:
            facts.append((name.replace("_", " "), f"{used[name]:g}{unit}"))
    facts += [
        (name, used[name]) for name in ("method", "precision", "backend", "samples", "seed") if _stated(used, name)
    ]
    if used.get("assign"):
        facts.append(("set", ", ".join(f"{content.short(k)} = {v:g}" for k, v in used["assign"].items())))
    facts.append(("shiftjax", about.get("shiftjax_version", "not stored")))
    if "wall_s" in about:
        facts.append(("time it took", f"{float(about['wall_s']):.3g} s"))
    return facts


def _stated(used: dict[str, object], name: str) -> bool:
    return used.get(name) not in (None, "", [], {})


def _notes(content: Content) -> list[str]:
    return list(json.loads(content.about.get("notes", "[]")))


def accuracy(content: Content, book: Book) -> str:
    """The certificate: median and worst of every figure, with the member."""
    rows = []
    for column in content.members.certificate:
        known = content.known(column)
        if not known.any():
            continue
        figure, row = worst(column.name, column.values, content.members.status)
        median = number(float(np.median(column.values[known])), 2)
        member = str(content.members.numbers[row])
        meaning = MEANING.get(column.name, "")
        rows.append((code(column.name), median, number(figure, 2), member, unit_text(column.unit) or "1", meaning))
    head = ("figure", "median", "worst", "member", "unit", "what it is")
    lead = "<p>Every run measures its own accuracy. Members that failed are left out here.</p>"
    known, empty = figures.errors_of(content)
    caption = "A point (x, y) says: x percent of the members that finished are at least as exact as y. "
    caption += "Zeros are drawn at the smallest positive figure."
    title = "Accuracy of the members"
    drawn = book.add(figures.accuracy(content), "accuracy", title, caption) if known else ""
    zero = [column.name for column in empty if content.known(column).any()]
    left_out = f"<p>Not drawn, since 0 for every member: {', '.join(map(code, zero))}.</p>" if zero else ""
    return lead + table(head, rows, (0, 4, 5)) + drawn + left_out


def metrics(content: Content, book: Book) -> str:
    """Smallest, median and largest of every metric, and how its values are spread."""
    if not content.members.metrics:
        return "<p>This store holds no metrics.</p>"
    rows = []
    for metric in content.members.metrics:
        known = np.flatnonzero(content.known(metric))
        if not len(known):
            rows.append((code(metric.name), code(metric.about), *["–"] * 5, unit_text(metric.unit), "0"))
            continue
        values = metric.values[known]
        low, high = known[values.argmin()], known[values.argmax()]
        digits = digits_to_tell(values, DIGITS)
        cells = (
            precise(float(values.min()), digits),
            str(content.members.numbers[low]),
            precise(float(np.median(values)), digits),
            precise(float(values.max()), digits),
            str(content.members.numbers[high]),
        )
        rows.append((code(metric.name), code(metric.about), *cells, unit_text(metric.unit), number(len(known))))
    head = ("metric", "computed as", "smallest", "member", "median", "largest", "member")
    head = (*head, "unit", "known of")
    drawn = "" if not content.main_metrics else book.add(
        figures.histograms(content),
        "distributions",
        "Distributions of the metrics",
        f"How many members have which value; {key(style.ORANGE)}median.",
    )  # fmt: skip
    return table(head, rows, (0, 1, 7)) + drawn
