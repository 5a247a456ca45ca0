"""The metrics of a run: texts as `rms(tip.velocity[0]) / mean(crank.v)` -> accumulators of the lanes -> figures.

A metric is an expression of calls of `METRICS`, each over an expression of channels; equal calls and expressions are
accumulated once. After the certificate's, the accumulators of a lane are: the time of the last instant, the expressions
there, then those of every call. A function of arrays is called with what was recorded instead.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.algebra import Vec
from shiftjax.errors import ModelError, nearest, need_mapping, wrong
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels as channels_of
from shiftjax.measures.expressions import FUNCTIONS, VECTORS, Parsed, evaluate, number, parse, refused, unit_of
from shiftjax.measures.metric import Instant, MetricKind, Option
from shiftjax.measures.metrics import METRICS
from shiftjax.measures.observed_state import ObservedState
from shiftjax.record import record
from shiftjax.run.programs.setup import is_foreign, source_of
from shiftjax.run.results.plain_values import CERTIFICATE, Measured
from shiftjax.topology.plan import Plan

TAKEN = (*CERTIFICATE, "status", "message", "member")  # columns of every table of members
Recorded = Callable[[np.ndarray, Mapping[str, np.ndarray]], Any]
Definition = str | Mapping[str, Any] | Recorded


@record
class Signal:
    """An expression of channels."""

    text: str  # as the user wrote it, which tells it from others
    node: ast.expr
    channels: tuple[tuple[str, Channel], ...]  # name in the expression -> channel
    size: int
    unit: str

    def value(self, observed: Mapping[str, Vec], t: Any) -> Vec:
        """Its scalars, from the channels by path."""
        names = {name: observed[channel.path] for name, channel in self.channels}
        return evaluate(self.node, {**names, "t": [t]}, self.text)


@record
class Term:
    """One call of `METRICS`."""

    name: str
    signal: Signal
    options: tuple[tuple[str, Any], ...]

    @property
    def kind(self) -> MetricKind:
        return METRICS[self.name]

    @property
    def told(self) -> dict[str, Any]:
        return dict(self.options)

    def size(self) -> int:
        """Number of its accumulators."""
        start = Instant(np.ones(1), [np.ones(1)] * self.signal.size)
        return len(self.kind.begin(start, self.told))

    def text(self) -> str:
        """What tells it from others."""
        return repr((self.name, self.signal.text, [(c.path, c.size) for _, c in self.signal.channels], self.options))


@dataclass(frozen=True)
class _Metric:
    """One metric: its outer expression, over terms by name."""

    text: str
    node: ast.expr
    terms: Mapping[str, str]  # name in the expression -> key in `Metrics.terms`
    unit: str


class Metrics:
    """All metrics of a run; those that are functions of arrays are in `functions`.

    Args:
        wanted: name -> text, mapping of kind, of and options, or function of times (n,) and channels by path.
        resolve: completes a short path. span: first and last time [s].
        extremes: channels of which the smallest and the largest value are accumulated, too.

    Raises:
        ModelError: what is no metric, unknown channels, times outside of the run.
    """

    def __init__(
        self,
        wanted: Mapping[str, Definition] | None,
        plan: Plan,
        resolve: Callable[[str], str],
        span: tuple[float, float],
        extremes: Sequence[Channel] = (),
    ) -> None:
        self.terms: dict[str, Term] = {}  # by their texts
        self._extremes: dict[str, list[tuple[str, str]]] = {}  # channel path -> keys of both terms of every number
        self._metrics: dict[str, _Metric] = {}
        self.functions: dict[str, Recorded] = {}
        self._names = tuple(wanted or ())
        for name, definition in (wanted or {}).items():
            check_name(name)
            if isinstance(definition, str | Mapping):
                reader = _Reader(f"metric {name}", self.terms, plan, resolve, span)
                self._metrics[name] = reader.read(definition)
            elif callable(definition):
                self.functions[name] = definition
            else:
                raise wrong(f"metric {name}", definition, "a text, a mapping with `kind` and `of`, or a function")

        for channel in extremes:
            self._extremes[channel.path] = [
                (entered(self.terms, Term("minimum", x, ())), entered(self.terms, Term("maximum", x, ())))
                for x in (_number_of(channel, k) for k in range(channel.size))
            ]

    @cached_property
    def signals(self) -> list[Signal]:
        """The distinct expressions."""
        return list({term.signal.text: term.signal for term in self.terms.values()}.values())

    @cached_property
    def channels(self) -> dict[str, Channel]:
        return {channel.path: channel for signal in self.signals for _, channel in signal.channels}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of accumulators of every term."""
        return tuple(term.size() for term in self.terms.values())

    @property
    def size(self) -> int:
        """Number of accumulators."""
        return 1 + sum(s.size for s in self.signals) + sum(self.sizes) if self.terms else 0

    @property
    def of_partition(self) -> bool:
        return any(channel.quantity.of_partition for channel in self.channels.values())

    def refuse_of_motions(self) -> None:
        """Raises where a metric says nothing of one pose."""
        allowed = ", ".join(f"{name}(...)" for name, kind in METRICS.items() if kind.of_an_instant)
        for name, metric in self._metrics.items():
            for term in (self.terms[key] for key in metric.terms.values()):
                if not term.kind.of_an_instant:
                    found = f"{term.name}, which is taken over a motion"
                    raise ModelError(f"metric {name}", found, f"{allowed}: nothing moves", "Change it or leave it out.")

    def identity(self) -> tuple[object, ...]:
        """What decides the code of `update`."""
        parts = [*(c.quantity.observe for c in self.channels.values()), *(t.kind.update for t in self.terms.values())]
        return tuple(self.terms), tuple(sorted({source_of(p) for p in parts if is_foreign(p)}))

    def update(self, accumulators: Vec, state: ObservedState, t: Any) -> Vec:
        """The accumulators at the end of a step; lane code."""
        observed = {path: channel.observe(state) for path, channel in self.channels.items()}
        now = {signal.text: signal.value(observed, t) for signal in self.signals}
        before, t_before, own = self._split(accumulators)
        out = [t, *(scalar for signal in self.signals for scalar in now[signal.text])]
        for term, acc in zip(self.terms.values(), own, strict=True):
            instants = (Instant(t, now[term.signal.text]), Instant(t_before, before[term.signal.text]))
            out += term.kind.update(acc, *instants, term.told)
        return out

    def begin(self, rows: np.ndarray) -> None:
        """Fills the accumulators (k, B) of lanes at their start, of which time and expressions are right."""
        before, t, own = self._split(list(rows))
        for term, acc in zip(self.terms.values(), own, strict=True):
            fresh = term.kind.begin(Instant(t, before[term.signal.text]), term.told)
            for row, value in zip(acc, fresh, strict=True):
                row[:] = value

    def figures(
        self, rows: np.ndarray, t0: float, ended: np.ndarray, time: np.ndarray, channels: Mapping[str, np.ndarray]
    ) -> Measured:
        """What the metrics come to.

        Args:
            rows: (k, B) accumulators. t0: when they began [s]. ended: (B,) members that ended early, which have none.
            time: (n,) instants. channels: path -> (B, n, ...) what was recorded, for functions of arrays.

        Raises:
            ModelError: a function that does not give one number a member.
        """
        with np.errstate(all="ignore"):  # what is not finite is told per member
            terms = dict(zip(self.terms, self.values_of_terms(rows.astype(float), t0), strict=True))
            own = self.of_terms([*terms.values()])
        found = {name: np.broadcast_to(np.asarray(value, float), rows.shape[1:]) for name, value in own.items()}
        for name, function in self.functions.items():
            found[name] = np.asarray(function(time, channels), float)
            if found[name].shape != rows.shape[1:]:
                allowed = f"one number a member, shape {rows.shape[1:]}"
                raise ModelError(f"metric {name}", f"shape {found[name].shape}", allowed, "Correct the function.")
        found = {name: np.where(ended, np.nan, found[name]) for name in self._names}
        extremes = {
            path: np.array([[terms[k] for k in pair] for pair in each]) for path, each in self._extremes.items()
        }
        extremes = {path: np.where(ended, np.nan, values).transpose(2, 1, 0) for path, values in extremes.items()}
        return Measured(found, extremes, self.units, self.texts)

    def values_of_terms(self, rows: np.ndarray, t0: float) -> list[np.ndarray]:
        """The values (B,) of all terms from accumulators (k, B), complex ones too, that began at t0 [s]."""
        last, t, own = self._split(list(rows))
        start = Instant(np.full(rows.shape[1], t0), [])
        return [
            np.asarray(term.kind.value(acc, start, Instant(t, last[term.signal.text]), term.told))
            for term, acc in zip(self.terms.values(), own, strict=True)
        ]

    def of_terms(self, terms: Sequence[Any]) -> dict[str, Any]:
        """The metrics but functions of arrays, from the values of their terms; lane code."""
        found: dict[str, Any] = {}
        of = dict(zip(self.terms, terms, strict=True))
        for name, metric in self._metrics.items():
            names = {inner: [of[key]] for inner, key in metric.terms.items()}
            (found[name],) = evaluate(metric.node, names, f"metric {name}")
        return found

    @property
    def texts(self) -> dict[str, str]:
        """name -> what it is, as the user wrote it."""
        return {name: metric.text for name, metric in self._metrics.items()} | {
            name: text_of_function(function) for name, function in self.functions.items()
        }

    @property
    def units(self) -> dict[str, str]:
        return {name: metric.unit for name, metric in self._metrics.items()} | dict.fromkeys(self.functions, "1")

    def _split(self, rows: Sequence[Any]) -> tuple[dict[str, list[Any]], Any, list[list[Any]]]:
        """Expressions by text, the time, and the accumulators of every term."""
        at, before = 1, dict[str, list[Any]]()
        for signal in self.signals:
            before[signal.text] = list(rows[at : at + signal.size])
            at += signal.size
        own = []
        for size in self.sizes:
            own.append(list(rows[at : at + size]))
            at += size
        return before, rows[0] if len(rows) else 0.0, own


class _Reader:
    """Reads one metric; the terms that are new are added to `terms`."""

    def __init__(
        self, where: str, terms: dict[str, Term], plan: Plan, resolve: Callable[[str], str], span: tuple[float, float]
    ) -> None:
        self.where, self.terms, self.plan, self.resolve, self.span = where, terms, plan, resolve, span
        self.keys: dict[str, str] = {}

    def read(self, definition: str | Mapping[str, Any]) -> _Metric:
        if isinstance(definition, Mapping):
            key = self._entered(self._of_mapping(definition))
            text = ", ".join(f"{name}={value!r}" for name, value in definition.items())
            return _Metric(text, ast.Name("_t0"), {"_t0": key}, self._unit(key))
        parsed = parse(definition, self.where)
        node = self._outer(parsed, parsed.node)
        if not self.keys:
            todo = f"Write it like maximum({definition.strip()})."
            raise refused(self.where, repr(definition)[:80], f"a call of {', '.join(METRICS)}", todo)
        units = {name: self._unit(key) for name, key in self.keys.items()}
        size = _size(node, {name: 1 for name in self.keys}, self.where)
        if size != 1:
            raise refused(self.where, f"{size} numbers", "one number", "Make a metric of each.")
        return _Metric(definition, node, self.keys, unit_of(node, units) or "1")

    def _unit(self, key: str) -> str:
        term = self.terms[key]
        return term.kind.unit(term.signal.unit)

    def _outer(self, parsed: Parsed, node: ast.expr) -> ast.expr:
        """The expression with every call of a metric replaced by a name."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in METRICS:
            name = f"_t{len(self.keys)}"
            self.keys[name] = self._entered(self._of_call(parsed, node.func.id, node))
            return ast.Name(name)
        if isinstance(node, ast.Name) and node.id.startswith("_"):
            todo = f"Take one of {', '.join(METRICS)} of it."
            raise refused(self.where, f"{parsed.written(node)} outside of a metric", "channels inside of metrics", todo)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id not in (*FUNCTIONS, *VECTORS)
        ):
            known = (*METRICS, *FUNCTIONS)
            raise refused(self.where, f"{node.func.id}(...)", ", ".join(METRICS), nearest(node.func.id, known))
        for key, inner in ast.iter_fields(node):
            if isinstance(inner, ast.expr):
                setattr(node, key, self._outer(parsed, inner))
            elif isinstance(inner, list):
                setattr(node, key, [self._outer(parsed, x) if isinstance(x, ast.expr) else x for x in inner])
        return node

    def _of_call(self, parsed: Parsed, name: str, node: ast.Call) -> Term:
        kind, where = METRICS[name], f"{self.where}: {name}"
        known = [option for option, _ in kind.options]
        if not node.args or len(node.args) > 1 + len(known):
            allowed = f"{name}(expression{''.join(', ' + option for option in known)})"
            raise refused(where, f"{len(node.args)} arguments", allowed, "Correct it.")
        told = dict(zip(known, (_literal(a) for a in node.args[1:]), strict=False))
        for keyword in node.keywords:
            if keyword.arg not in known or keyword.arg in told:
                hint = nearest(str(keyword.arg), known) or "Leave it out."
                raise refused(where, f"option {keyword.arg!r}", ", ".join(known) or "no options", hint)
            told[keyword.arg] = _literal(keyword.value)
        return Term(name, self._signal(parsed, node.args[0], kind), self._options(where, kind, told))

    def _of_mapping(self, definition: Mapping[str, Any]) -> Term:
        need_mapping(self.where, definition)
        name, of = str(definition.get("kind")), definition.get("of")
        if name not in METRICS:
            hint = nearest(str(name), METRICS) or "Give `kind`."
            raise refused(f"{self.where}: kind", repr(name), ", ".join(METRICS), hint)
        if not isinstance(of, str):
            raise refused(f"{self.where}: of", repr(of), "an expression of channels", "Write of = 'tip.position'.")
        parsed, kind = parse(of, self.where), METRICS[name]
        told = {key: _frozen(value) for key, value in definition.items() if key not in ("kind", "of")}
        known = [option for option, _ in kind.options]
        for key in told:
            if key not in known:
                hint = nearest(key, known) or "Leave it out."
                raise refused(f"{self.where}: {key}", "an unknown option", ", ".join(known) or "no options", hint)
        return Term(name, self._signal(parsed, parsed.node, kind), self._options(self.where, kind, told))

    def _signal(self, parsed: Parsed, node: ast.expr, kind: MetricKind) -> Signal:
        """The expression that a metric is taken of."""
        used = sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in _names(parsed)})
        found = channels_of(self.plan, [parsed.paths[int(name[1:])] for name in used], self.resolve)
        sizes = {name: channel.size for name, channel in zip(used, found, strict=True)}
        text = parsed.written(node)
        size = _size(node, {**sizes, "t": 1}, self.where)
        if size != 1 and not kind.vector:
            raise refused(self.where, f"{text}, {size} numbers", "one number", "Pick with [k], or take its norm(...).")
        units = {name: channel.unit for name, channel in zip(used, found, strict=True)} | {"t": "s"}
        return Signal(text, node, tuple(zip(used, found, strict=True)), size, unit_of(node, units) or "1")

    def _options(self, where: str, kind: MetricKind, told: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        found = []
        for name, option in kind.options:
            value = told.get(name, option.default)
            if value is None:
                raise refused(where, f"no {name}", f"{name}: {option.meaning}", f"Write {name}=...")
            _check_option(f"{where}: {name}", option, value)
            found.append((name, value))
            times = value if name == "times" else (value,) if name == "time" else ()
            if any(not self.span[0] <= t <= self.span[1] * (1 + 1e-12) for t in times):
                allowed = f"times from {self.span[0]:g} to {self.span[1]:g} s"
                raise refused(f"{where}: {name}", f"{value!r}"[:80], allowed, "Run longer, or take another time.")
        return tuple(found)

    def _entered(self, term: Term) -> str:
        self._check_points(term)
        return entered(self.terms, term)

    def _check_points(self, term: Term) -> None:
        told = term.told
        sizes = {len(p) if isinstance(p, tuple) else 1 for p in told.get("points", ())}
        if sizes - {term.signal.size}:
            found = f"points of {sorted(sizes)} numbers for an expression of {term.signal.size}"
            todo = "Write the coordinates that are meant, as [tip.position[0], tip.position[1]]."
            raise refused(f"{self.where}: points", found, "points of as many numbers", todo)
        if "times" in told and len(told["times"]) != len(told["points"]):
            found = f"{len(told['times'])} times for {len(told['points'])} points"
            raise refused(f"{self.where}: times", found, "one time a point", "Correct one of them.")


def entered(terms: dict[str, Term], term: Term) -> str:
    """The key of a term among others, to which it is added where it is new."""
    key = term.text()
    terms.setdefault(key, term)
    return key


def check_name(name: str) -> None:
    """Raises where a metric cannot have a name."""
    if not name.strip() or name in TAKEN:
        raise ModelError("metrics", f"the name {name!r}", "a name of its own", "Choose another one.")


def text_of_function(function: Recorded) -> str:
    """What a metric is that is a function of recorded channels."""
    return f"{getattr(function, '__name__', 'function')} of recorded channels"


def _number_of(channel: Channel, k: int) -> Signal:
    """One number of a channel."""
    node = ast.Subscript(ast.Name("_0"), ast.Constant(k))
    return Signal(f"{channel.path}[{k}]", node, (("_0", channel),), 1, channel.unit)


def _names(parsed: Parsed) -> set[str]:
    return {f"_{k}" for k in range(len(parsed.paths))}


def _size(node: ast.expr, sizes: Mapping[str, int], where: str) -> int:
    """How many numbers an expression has; raises where it is none."""
    with np.errstate(all="ignore"):  # it need not be defined for numbers that no run has
        return len(evaluate(node, {name: [np.ones(1)] * size for name, size in sizes.items()}, where))


def _literal(node: ast.expr) -> Any:
    """A number, a text, with quotes or without, or nested tuples of numbers; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id != "pi":
        return node.id
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_literal(inner) for inner in node.elts)
    return number(node)


def _frozen(value: Any) -> Any:
    """Lists and arrays as tuples."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, list | tuple):
        return tuple(_frozen(inner) for inner in value)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_option(where: str, option: Option, value: Any) -> None:
    if option.kind == "word":
        if value not in option.words:
            raise ModelError(where, repr(value)[:80], ", ".join(option.words), "Choose one of them.")
        return
    flat = [value]
    if option.kind == "point list":
        rows = value if isinstance(value, tuple) and value else (None,)
        flat = [x for row in rows for x in (row if isinstance(row, tuple) else (row,))]
    if not all(isinstance(x, float) and np.isfinite(x) for x in flat):
        allowed = "finite numbers in a list" if option.kind == "point list" else "a finite number"
        raise ModelError(where, repr(value)[:80], allowed, "Correct it.")
