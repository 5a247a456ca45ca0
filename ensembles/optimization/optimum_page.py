"""The report of an optimisation: how every start went, what the best design is, and where the others came to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.ensembles.optimization import descent_figures
from shiftjax.ensembles.optimization.meaning import design_numbers, expressions
from shiftjax.ensembles.optimization.optima import Cluster, at_bound, clusters, widths
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.report import style
from shiftjax.ensembles.report.content import unit_text
from shiftjax.ensembles.report.html import Book, code, key, number, table
from shiftjax.ensembles.report.page import shell
from shiftjax.ensembles.report.writing import check_target, save, save_page
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.optimization_words import LEAST_SQUARES, DescentEnding, Wanted
from shiftjax.expressions.evaluation import evaluate
from shiftjax.mechanism.model import Model
from shiftjax.outcome import REMEDY, Outcome

MOST_STARTS, MOST_OPTIMA, LISTED = 40, 20, 12  # in the table of starts, of optima; numbers of starts in a cell
ACTIVE = 10.0  # tolerances of room, below which an inequality limits the design
ENDINGS = {
    "going": "their iterations were used up",
    "converged": "the gradient fell below the tolerance",
    "stalled": "nothing better was found along the way, however near",
    "infeasible": "no design that runs was found",
}

RANKS = ("the second", "third", "fourth", "fifth")  # of optima, in the shades of the figures


class OptimumContent:
    """Everything the page of an optimisation that has ended is made of."""

    def __init__(self, optimum: Optimum) -> None:
        self.optimum = optimum
        wanted = optimum.definition.optimized
        assert wanted is not None, "a store of an optimisation has its table"
        self.wanted: Wanted = wanted
        prefixes = {path.split(":")[0] + ":" if ":" in path else "" for path in optimum.parameters}
        self.prefix = prefixes.pop() if len(prefixes) == 1 else ""
        self.numbers, self.first = (optimum.starts[name].values for name in ("numbers", "first_numbers"))
        bounds = json.loads(optimum.about.get("bounds", "{}"))
        pairs = [bounds.get(path, (-np.inf, np.inf)) for path in optimum.parameters]
        self.low, self.high = np.array(pairs, float).reshape(-1, 2).T
        self.width = widths(self.low, self.high, np.concatenate([self.numbers, self.first]))
        self.best = int(optimum.order[0])

    def short(self, path: str) -> str:
        return path.removeprefix(self.prefix)

    def unit(self, name: str) -> str:
        return unit_text(self.optimum.units.get(name, "1"))

    @property
    def ran(self) -> np.ndarray:
        """(N,) starts that have a design."""
        return np.isfinite(self.optimum.objective)

    @property
    def allowed(self) -> np.ndarray:
        """(N,) starts whose best design meets the constraints."""
        return self.ran & (self.optimum.starts["excess"].values <= self.wanted.constraint_tolerance)

    @cached_property
    def optima(self) -> tuple[Cluster, ...]:
        """Starts that have a design, by equal designs."""
        order = self.optimum.order[self.ran[self.optimum.order]]
        return clusters(self.numbers, order, self.width)

    @cached_property
    def excess(self) -> np.ndarray:
        """(N, C) by which every constraint is exceeded at the best design of every start; below 0 it has room."""
        if not self.wanted.constraints:
            return np.zeros((len(self.numbers), 0))
        optimum, columns = self.optimum, []
        (group,) = designs(optimum.definition)
        nodes, numbers = expressions(self.wanted, optimum.metrics, group)
        of_metrics = optimum.starts["metrics"].values.T if optimum.metrics else ()
        named = {name: [values] for name, values in zip(optimum.metrics, of_metrics, strict=True)}
        named |= design_numbers(group, {**group.vary(), **optimum.designs}, numbers)
        for constraint in self.wanted.constraints:
            values = np.asarray(evaluate(nodes[constraint.text], named, constraint.text)[0], float)
            columns.append(np.broadcast_to(values, len(self.numbers)))
        return np.stack(columns, axis=1)


def write_optimum(
    optimum: Optimum, path: str | Path, png: str | Path | None = None, *, title: str | None = None, force: bool = False
) -> Path:
    """Writes the report of an optimisation and returns its path; see `write`.

    Raises:
        ModelError: a missing package, a place that cannot be written.
    """
    target, folder = check_target(path, png, force=force)
    with style.styled():
        text, book = optimum_page(optimum, title or f"Optimisation: {optimum.path.stem}")
        if folder is not None:
            save(book.pictures, folder, force=force)
    return save_page(text, target, force=force)


def optimum_page(optimum: Optimum, title: str) -> tuple[str, Book]:
    """The HTML of the report of an optimisation, and its figures."""
    content, book = OptimumContent(optimum), Book()
    bodies = {
        "Summary": summary(content),
        "What was asked": asked(content),
        "Convergence": convergence(content, book),
        "Best design": best(content),
        **({"Constraints": constraints(content, book)} if content.wanted.constraints else {}),
        "Optima": optima(content, book),
        "Starts": starts(content),
    }
    counts = f"{number(len(content.numbers))} starts · {number(len(optimum.parameters))} parameters"
    return shell(
        title, f"{counts} · {content.wanted.method}", bodies, str(optimum.about.get("shiftjax_version", ""))
    ), book


def summary(content: OptimumContent) -> str:
    """How the starts ended, and what the best of them came to."""
    optimum, endings = content.optimum, Counter(content.optimum.ending)
    cards = [(number(len(optimum.ending)), "starts", False)]
    cards += [
        (number(endings[e.name]), e.name, e is DescentEnding.infeasible) for e in DescentEnding if endings[e.name]
    ]
    cards.append((number(len(content.optima)), "different designs", False))
    boxes = "".join(f'<div class="card{" bad" * bad}"><b>{n}</b><span>{words}</span></div>' for n, words, bad in cards)
    lines = "".join(f"<li>{line}</li>" for line in _findings(content, endings))
    return f'<div class="cards">{boxes}</div><ul class="findings">{lines}</ul>'


def _findings(content: OptimumContent, endings: Counter[str]) -> list[str]:
    if not content.ran.any():
        return ["No start found a design that runs: <i>Starts</i> tells why."]
    optimum, curve = content.optimum, content.optimum.history["objective"].values[:, content.best]
    known = curve[np.isfinite(curve)]
    value, same = float(optimum.objective[content.best]), len(content.optima[0].starts)
    way = f"from {number(known[0])}, the first that ran, to <b>{number(value)}</b>"
    lines = [f"The best design is that of start {content.best}: its objective went {way}."]
    if same > 1:
        lines.append(f"{number(same)} of {number(len(optimum.ending))} starts came to this design.")
    elif len(optimum.ending) > 1:
        lines.append("No other start came to this design: more starts, or more iterations, may find a better one.")
    if content.wanted.constraints and not content.allowed[content.best]:
        lines.append(f"No start meets all constraints; the best exceeds one by {number(optimum.best.excess)}.")
    elif content.wanted.constraints:
        lines.append(f"{number(int(content.allowed.sum()))} starts meet all constraints.")
    bound = at_bound(content.numbers[content.best], content.low, content.high, content.width)
    if bound.any():
        names = ", ".join(code(content.short(path)) for path, at in zip(optimum.parameters, bound, strict=True) if at)
        lines.append(f"At a bound: {names}. A wider one may allow a better design.")
    ended = "; ".join(f"{number(n)} {e}: {ENDINGS[e]}" for e, n in endings.most_common())
    return [*lines, f"How the starts ended: {ended}."]


def asked(content: OptimumContent) -> str:
    """Objective, method and model."""
    wanted, definition = content.wanted, content.optimum.definition
    facts = [("assemblies of the model", escape(", ".join(_assemblies(definition.model))))]
    if wanted.objective:
        facts.append(("made small", code(wanted.objective)))
    else:
        facts.append(("made small", "half the sum of the squares of " + ", ".join(map(code, wanted.residuals))))
    facts += [("measured in", escape(wanted.data))] if wanted.data else []
    facts += [(f"metric {code(name)}", code(str(words))) for name, words in definition.metrics.items()]
    facts += [("constraint", code(constraint.text)) for constraint in wanted.constraints]
    facts += [("method", wanted.method), ("iterations at most", number(wanted.iterations))]
    if wanted.method not in LEAST_SQUARES:
        last = wanted.final_learning_rate
        rate = number(wanted.learning_rate) + (f", falling to {number(last)}" if last is not None else "")
        facts.append(("learning rate", rate))
    facts.append(("converged below a gradient of", number(wanted.tolerance)))
    facts += [(name, f"{value:g} s") for name, value in (("span", definition.span), ("step", definition.step)) if value]
    facts += [("tolerance of a step", f"{definition.tolerance:g}")] if definition.tolerance else []
    return table(("setting", "value"), facts, (0, 1))


def _assemblies(model: str | Model | Mapping[str, Any]) -> list[str]:
    """Their names, of a model that stands in a store."""
    return [str(part["name"]) for part in model["assemblies"]] if isinstance(model, Mapping) else []


def convergence(content: OptimumContent, book: Book) -> str:
    """Objective, gradient and excess of every start over the iterations."""
    if not content.ran.any():
        return "<p>No start found a design that runs.</p>"
    history = content.optimum.history
    curves = {"objective": history["objective"].values, "norm of the gradient": history["gradient_norm"].values}
    if content.wanted.constraints:
        curves["excess of the constraints"] = np.maximum(history["excess"].values, 0.0)
    note = " Where constraints are exceeded at first, the objective has to rise." if content.wanted.constraints else ""
    halved = int(content.optimum.starts["halved"].values.sum())
    steps = f" {number(halved)} steps led to a point that was not good, and were halved back." if halved else ""
    return book.add(
        descent_figures.convergence(curves, content.best),
        "convergence",
        "How the starts went",
        f"Each thin line is a start, at its last good design; {key(style.ORANGE)}start {content.best}, the best. A "
        f"level line is a start that has ended, or finds nothing better.{note}{steps} The gradient is that of the free "
        "numbers behind the bounded ones.",
    )


def best(content: OptimumContent) -> str:
    """Design and metrics of the best start, before and after."""
    if not content.ran.any():
        return "<p>No start found a design that runs.</p>"
    optimum, k = content.optimum, content.best
    bound = at_bound(content.numbers[k], content.low, content.high, content.width)
    rows = []
    for p, path in enumerate(optimum.parameters):
        where = {-1: "at its smallest", 1: "at its largest", 0: ""}[int(bound[p])]
        values = (content.first[k, p], content.low[p], content.high[p], content.numbers[k, p])
        cells = [number(float(value), 6) for value in values]
        rows.append((code(content.short(path)), *cells, content.unit(path), f"<b>{where}</b>" if where else ""))
    head = ("number", "start", "smallest", "largest", "found", "unit", "bound")
    lead = f"<p>Start {k}, as it began and as it ended. All paths begin with {code(content.prefix)}.</p>"
    design = lead + table(head, rows, (0, 5, 6))
    metrics = [
        (code(name), number(optimum.best.before[name], 6), number(value, 6), content.unit(name))
        for name, value in optimum.best.metrics.items()
    ]
    moved = "<p>A model file with this design: <code>shiftjax optimize STUDY --resume --save MODEL.json</code>.</p>"
    return design + (table(("metric", "before", "after", "unit"), metrics, (0, 3)) if metrics else "") + moved


def constraints(content: OptimumContent, book: Book) -> str:
    """Every constraint at the best design, how many starts meet it, and the way of the best start."""
    tolerance, rows = content.wanted.constraint_tolerance, []
    for c, constraint in enumerate(content.wanted.constraints):
        by = content.excess[:, c]
        over = np.abs(by) if constraint.equal else by
        state = "no design that runs"
        if content.ran[content.best]:
            state = _state(float(by[content.best]), float(over[content.best]), tolerance, equal=constraint.equal)
        met = number(int((content.ran & (over <= tolerance)).sum()))
        rows.append((code(constraint.text), number(float(by[content.best]), 3), state, met))
    head = ("constraint", "left − right at the best", "there", "met by starts")
    if not content.ran.any():
        return table(head, rows, (0, 2))
    texts = [constraint.text for constraint in content.wanted.constraints]
    count = int(content.optimum.starts["iterations"].values[content.best])
    by = content.optimum.evaluations["by"].values[:count, content.best]
    by = np.where((content.optimum.evaluations["status"].values[:count, content.best] > 0)[:, None], np.nan, by)
    note = f"<p class=note>A constraint is met up to {number(tolerance)}; as an upper limit: left ≤ right.</p>"
    drawn = book.add(
        descent_figures.constraints(texts, by, content.best),
        "constraints",
        "The constraints on the way of the best start",
        f"Left side minus right side at every point that ran, gaps where one did not: {key(style.RED)}above 0 an upper "
        "limit is exceeded, below it has room; an equality is to come to 0.",
    )
    return table(head, rows, (0, 2)) + note + drawn


def _state(by: float, over: float, tolerance: float, *, equal: bool) -> str:
    if over > tolerance:
        return f"<b>exceeded by {number(over, 3)}</b>"
    if equal or over > -ACTIVE * tolerance:
        return "met, active: it limits the design"
    return f"met, with room of {number(-by, 3)}"


def optima(content: OptimumContent, book: Book) -> str:
    """The different designs that starts came to."""
    optimum, groups = content.optimum, content.optima
    if not groups:
        return "<p>No start found a design that runs.</p>"
    lead = (
        "<p>Starts whose designs differ by less than 1 % of the distance of the bounds in every number count as one "
        "optimum, named by its best start; where a number has not both bounds, 1 % of the range that the starts "
        "cover.</p>"
    )
    rows = []
    for place, group in enumerate(groups[:MOST_OPTIMA], start=1):
        k, values = group.starts[0], optimum.objective[list(group.starts)]
        listed = ", ".join(map(str, group.starts[:LISTED])) + (", …" if len(group.starts) > LISTED else "")
        met = "yes" if content.allowed[k] else f"exceeded by {number(float(optimum.starts['excess'].values[k]), 2)}"
        design = (number(float(v), 5) for v in content.numbers[k])
        cells = (str(place), number(len(group.starts)), listed, number(values.min(), 5), number(values.max(), 5))
        rows.append((*cells, *((met,) if content.wanted.constraints else ()), *design))
    labels = (
        f"{content.short(path)}{f' [{content.unit(path)}]' * bool(content.unit(path))}" for path in optimum.parameters
    )
    head = ("optimum", "starts", "which", "best objective", "worst")
    head = (*head, *(("constraints met",) if content.wanted.constraints else ()), *map(escape, labels))
    more = f"<p class=note>{len(groups) - MOST_OPTIMA} more.</p>" if len(groups) > MOST_OPTIMA else ""
    both = np.isfinite(content.low) & np.isfinite(content.high)
    began, ended = (((x - content.low) / content.width)[:, both] for x in (content.first, content.numbers))
    drawn = "" if not both.any() else book.add(
        descent_figures.places(
            [content.short(path) for path, two in zip(optimum.parameters, both, strict=True) if two],
            began, ended, [group.starts for group in groups],
        ),
        "optima",
        "Where the starts began, and came to",
        f"Circles: where they began; dots: their best designs, {key(style.ORANGE)}the best optimum, "
        + ", ".join(f"{key(shade)}{rank}" for shade, rank in zip(descent_figures.SHADES[1:], RANKS, strict=True))
        + f", {key(style.PALE)}all others. "
        "Dots far apart in a number mean that the objective hardly asks for it, or that there are several optima.",
    )  # fmt: skip
    return lead + table(head, rows, (2,)) + more + drawn


def starts(content: OptimumContent) -> str:
    """The starts that found nothing, and all others with what they met on their way, the best first."""
    optimum = content.optimum
    status = optimum.evaluations["status"].values
    asked_for = optimum.starts["iterations"].values
    rows, causes = [], Counter[Outcome]()
    for k in (*optimum.order[~content.ran[optimum.order]], *optimum.order[content.ran[optimum.order]]):
        outcomes = Counter(Outcome(int(code)) for code in status[: asked_for[k], k] if code > 0)
        causes.update(outcomes)
        met = ", ".join(f"{outcome.name} {number(n)}" for outcome, n in outcomes.most_common()) or "all ran"
        ending = optimum.ending[k] if content.ran[k] else f"<b>{optimum.ending[k]}</b>"
        excess = number(float(optimum.starts["excess"].values[k]), 2)
        cells = (str(k), number(float(optimum.objective[k]), 5), *((excess,) if content.wanted.constraints else ()))
        rows.append((*cells, ending, number(int(asked_for[k])), number(int(optimum.starts["halved"].values[k])), met))
    head = (
        "start",
        "objective",
        *(("excess",) if content.wanted.constraints else ()),
        "ending",
        "points",
        "halved back",
    )
    lead = "<p>Those that found no design that runs first, then the best. Points that did not run, by their status:</p>"
    shown = table((*head, "points that did not run"), rows[:MOST_STARTS], (len(head) - 3, len(head)))
    more = f"<p class=note>{len(rows) - MOST_STARTS} more.</p>" if len(rows) > MOST_STARTS else ""
    told_of = "".join(f"<li><b>{outcome.name}</b>: {escape(REMEDY[outcome])}.</li>" for outcome in sorted(causes))
    return lead + shown + more + (f"<ul class=findings>{told_of}</ul>" if told_of else "")
