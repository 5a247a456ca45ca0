"""The whole report as one HTML page without a network: text, tables, figures, and two charts that can be touched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

import numpy as np

from shiftjax.ensembles.report import reasons, sections, slope_figures
from shiftjax.ensembles.report.content import Content
from shiftjax.ensembles.report.figures import thin
from shiftjax.ensembles.report.html import Book, number
from shiftjax.ensembles.report.tolerances import is_of_tolerances, tolerances
from shiftjax.ensembles.store.members import Column
from shiftjax.run.results.plain_values import digits_to_tell
from shiftjax.run.results.summary import how_run

FOLDER = Path(__file__).resolve().parent
MOST_MEMBERS = 20_000  # in the charts that can be touched
DIGITS = 6  # of their numbers
AXES = 12  # of parallel coordinates
MOSTLY = 0.9  # of the members must have a value, for a column to be an axis
SHELL = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><style>{css}</style></head>
<body><header><div><h1>{title}</h1><p>{subtitle}</p></div></header>
<nav><div>{links}</div></nav><main>{body}</main>
<footer>Made from the store of a study by shiftjax {version}; nothing was run again.
The same store gives the same page.</footer>
{script}</body></html>
"""
CHARTS = """<div class="controls"><label>across<select id="x"></select></label><label>up<select id="y"></select></label>
<label>colour<select id="c"></select></label></div><div class="frame"><div id="scatter" class="chart"></div></div>"""
PARALLEL = """<div class="controls"><label>colour<select id="pc"></select></label><button id="reset">choose all</button>
<output id="count"></output></div><div class="frame"><div id="parallel" class="chart"></div></div>"""


def page(content: Content, title: str) -> tuple[str, Book]:
    """The HTML of a report, and its figures."""
    book = Book()
    bodies = {
        "Summary": sections.summary(content, book),
        "Study": sections.study(content, book),
        "Accuracy": sections.accuracy(content, book),
        "Metrics": sections.metrics(content, book),
        "Explore": explore(content, book),
        "What moves the metrics": reasons.influences(content, book),
        **({"Tolerances": tolerances(content)} if is_of_tolerances(content) else {}),
        **_slopes(content, book),
        "Best and worst": reasons.best_and_worst(content, book),
        "Failures and warnings": reasons.failures(content, book),
    }
    script_of = script(content) if columns(content) else ""
    text = shell(title, subtitle(content), bodies, str(content.about.get("shiftjax_version", "")), script_of)
    return text, book


def shell(title: str, subtitle: str, bodies: Mapping[str, str], version: str, script: str = "") -> str:
    """A whole page of sections: heading -> HTML."""
    names = {heading: heading.lower().replace(" ", "-") for heading in bodies}
    return SHELL.format(
        title=escape(title),
        subtitle=escape(subtitle),
        css=(FOLDER / "report.css").read_text(encoding="utf-8"),
        links="".join(f'<a href="#{names[heading]}">{heading}</a>' for heading in bodies),
        body="".join(f'<section id="{names[h]}"><h2>{h}</h2>{inside}</section>' for h, inside in bodies.items()),
        version=escape(version),
        script=script,
    )


def _slopes(content: Content, book: Book) -> dict[str, str]:
    """The sections of a study whose slopes were taken."""
    if "slope" not in content.slopes:
        return {}
    return {
        "Slopes": slope_figures.slopes(content, book),
        "Identifiability": slope_figures.identifiability(content, book),
    }


def subtitle(content: Content) -> str:
    """One line under the title."""
    used, members = content.settings, content.members
    words = [f"{number(len(members.numbers))} members", f"{len(content.varied)} varied numbers"]
    if "parameter" in used:
        words.append(how_run(used)[0])
    elif used.get("span") and used.get("tolerance"):
        words.append(f"{used['span']:g} s with a tolerance of {used['tolerance']:g}")
    elif used.get("span") and used.get("step"):
        words.append(f"{used['span']:g} s at {used['step'] * 1e3:g} ms")
    return " · ".join(words)


def columns(content: Content) -> list[Column]:
    """What the charts can show: design, metrics, accuracy; without two columns there is nothing to show."""
    accuracy = [c for c in content.members.certificate if c.name in ("gap", "energy_error", "angle_error")]
    every = [*content.varied, *content.main_metrics, *(c for c in accuracy if content.known(c).any())]
    return every if len(every) > 1 else []


def axes(content: Content) -> list[Column]:
    """Of parallel coordinates: the most influential numbers, then metrics; each known of most members."""
    metrics = content.main_metrics[:4]
    places = sorted(content.ranked(metrics[0])) if metrics else range(len(content.varied))
    numbers = [content.varied[k] for k in places][: AXES - len(metrics)]
    finished = max(1, int(content.members.finished.sum()))
    return [c for c in (*numbers, *metrics) if content.known(c).sum() >= MOSTLY * finished]


def explore(content: Content, book: Book) -> str:
    """The two charts."""
    if not columns(content):
        return "<p>There is nothing to compare.</p>"
    rows, known = shown(content)
    some = f"{number(known)} members are shown"
    if len(rows) < known:
        some = f"{number(len(rows))} of {number(known)} members are shown, evenly chosen by their numbers"
    scatter = book.framed(
        CHARTS,
        "Any column over any other",
        f"Each point is a member that finished; {some}. Point at one to see its numbers; drag to zoom, double-click to "
        "zoom out.",
    )
    parallel = book.framed(
        PARALLEL,
        "Parallel coordinates",
        "Each line is a member. Drag along an axis to choose a range, on several axes at will; what is chosen stays "
        "bright here and in the chart above. Click on an axis to let go; drag its name to move it.",
    )
    return scatter + parallel


def shown(content: Content) -> tuple[np.ndarray, int]:
    """Places of the members in the charts, and how many could be shown."""
    known = np.logical_and.reduce([content.members.finished, *(np.isfinite(c.values) for c in axes(content))])
    rows = np.flatnonzero(known)
    return (thin(rows, MOST_MEMBERS) if len(rows) else rows), len(rows)


def script(content: Content) -> str:
    """Plotly, the numbers of the members, and what draws them."""
    from plotly.offline import get_plotlyjs

    every, rows = columns(content), shown(content)[0]
    metric = content.main_metrics[0] if content.main_metrics else every[-1]
    order = [content.varied[k] for k in content.ranked(metric)] if content.main_metrics else list(content.varied)
    x, y, c = (order[0] if order else every[0]), metric, (order[1] if len(order) > 1 else every[-1])
    names = [column.name for column in every]
    data = {
        "numbers": content.members.numbers[rows].tolist(),
        "columns": [_column(content, column, rows) for column in every],
        "axes": [names.index(column.name) for column in axes(content)],
        "first": {
            "x": names.index(x.name),
            "y": names.index(y.name),
            "c": names.index(c.name),
            "pc": names.index(y.name),
        },
    }
    # `<!--<script>` in a name, too, would keep the element open: a JSON text in a page has no `<` at all.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    code = (FOLDER / "report.js").read_text(encoding="utf-8")
    plotly = get_plotlyjs().replace("</script", "<\\/script")
    return (
        f"<script>{plotly}</script>\n"
        f'<script type="application/json" id="members">{text}</script>\n<script>{code}</script>\n'
    )


def _column(content: Content, column: Column, rows: np.ndarray) -> dict[str, object]:
    values = column.values[rows]
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    digits = digits_to_tell(finite, DIGITS)
    pad = 0.0 if high > low else abs(low) or 1.0
    return {
        "label": content.label(column),
        "short": content.short(column.name),
        "values": [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values.tolist()],
        "range": [low - pad, high + pad],
    }
