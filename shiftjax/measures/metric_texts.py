"""Texts of metrics, expressions of calls of `METRICS` on expressions of channels -> terms, and a tree over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need_mapping, shown
from shiftjax.expressions.dialects import FUNCTIONS, LANES
from shiftjax.expressions.evaluation import constant, evaluate
from shiftjax.expressions.expression import (
    Expression,
    FunctionCall,
    Name,
    Operation,
    Text,
    Vector,
    is_path,
    names,
    replaced,
    written,
)
from shiftjax.expressions.grammar import parse
from shiftjax.lanes.member_values import MemberValues
from shiftjax.measures.aims import NO_AIM, Aim, aim_of, without_aim
from shiftjax.measures.channel import Channel
from shiftjax.measures.events import ReadEvent
from shiftjax.measures.expression_units import MIXED, by_parameter, unit_of
from shiftjax.measures.metric import MetricKind, Option
from shiftjax.measures.metrics import METRICS
from shiftjax.measures.support import SUPPORT_MARGIN
from shiftjax.measures.terms import Signal, Term
from shiftjax.mechanism.events import MOST, Event
from shiftjax.record import record

Options = Mapping[str, Any]  # name -> number, text or tuple of numbers, None where it is none of them
OF_EVENTS = {"time_of": "passing_time", "count": "passings"}  # functions of an event -> what they are of its expression


@record
class Metric:
    """One metric: an expression of its terms, which are named by their texts; and which of its values are good."""

    text: str
    node: Expression
    terms: tuple[Term, ...]
    unit: str
    aim: Aim = NO_AIM


class Reader:
    """Reads one metric.

    Args:
        where: what it is, for errors. channels: those of some paths. span: first and last time of the run [s].
        events: of the run, by name. unit_of_time: of what stands for the time, as the parameter of a path does.
    """

    def __init__(
        self,
        where: str,
        channels: Callable[[Sequence[str]], Sequence[Channel]],
        span: tuple[float, float],
        events: Mapping[str, ReadEvent] | None = None,
        *,
        unit_of_time: str = "s",
    ) -> None:
        self.where, self.channels, self.span, self.events = where, channels, span, events or {}
        self.unit_of_time = unit_of_time

    def read(self, definition: str | Mapping[str, Any]) -> Metric:
        """The metric of a text, or of a mapping of kind, of and options, or of a text as `of`; a mapping may say what
        is good of it, too (`aims.AIM`).

        Raises:
            ModelError: what is no metric, unknown channels, times outside of the run.
        """
        if not isinstance(definition, Mapping):
            return self._of_text(definition)
        words = without_aim(definition)
        if set(words) == {"of"} and isinstance(words["of"], str):
            metric = self._of_text(words["of"])
        else:
            term = self._of_mapping(words)
            text = ", ".join(f"{name}={value!r}" for name, value in words.items())
            metric = Metric(text, Name(term.text()), (term,), by_parameter(term.unit, self.unit_of_time))
        return replace(metric, aim=aim_of(definition, self.where, "" if metric.unit == MIXED else metric.unit))

    def read_event(self, name: str, event: Event) -> ReadEvent:
        """An event with the terms that note its instants.

        Raises:
            ModelError: what is no expression of channels of one number.
        """
        node = parsed(event.of, self.where)
        if isinstance(node, Operation) and node.sign == "==":
            node = Operation("-", node.left, node.right)
        kind = METRICS[OF_EVENTS["time_of"]]
        try:
            signal = self._signal(node, kind)
        except ModelError as error:  # of a channel: the event may stand in a file, far from the run
            where = error.where if error.where.startswith(self.where) else f"{self.where}: {error.where}"
            raise ModelError(where, error.found, error.allowed, error.todo) from None
        if not signal.channels and "t" not in {one.text for one in names(node)}:
            raise LANES.refused(self.where, shown(event.of), "channels or the time t", "Write it like 'crank.q - pi'.")
        ways = ("up", "down") if event.direction == "any" else (event.direction,)
        stated = ({"direction": way, "number": float(event.capacity)} for way in ways)
        terms = (Term(OF_EVENTS["time_of"], signal, self._options(self.where, kind, one)) for one in stated)
        return ReadEvent(name, event, signal, tuple(terms))

    def _of_text(self, definition: str) -> Metric:
        terms: dict[str, Term] = {}
        node = self._over_terms(parsed(definition, self.where), terms)
        if not terms:
            todo = f"Write it like maximum({definition.strip()})."
            raise LANES.refused(self.where, shown(definition), f"a call of {', '.join(METRICS)}", todo)
        size = _size(node, dict.fromkeys(terms, 1), self.where)
        if size != 1:
            raise LANES.refused(self.where, f"{size} numbers", "one number", "Make a metric of each.")
        unit = unit_of(node, {text: term.unit for text, term in terms.items()}) or "1"
        return Metric(definition, node, tuple(terms.values()), by_parameter(unit, self.unit_of_time))

    def _over_terms(self, node: Expression, terms: dict[str, Term]) -> Expression:
        """The expression with the name of a term for every call of a metric; the terms are added to `terms`."""
        if isinstance(node, FunctionCall) and node.function in METRICS:
            term = self._of_call(node)
            terms[term.text()] = term
            return Name(term.text())
        if isinstance(node, FunctionCall) and node.function in OF_EVENTS:
            term = self._of_event(node)
            terms[term.text()] = term
            return Name(term.text())
        if isinstance(node, FunctionCall) and node.function not in FUNCTIONS:
            hint = nearest(node.function, (*METRICS, *OF_EVENTS, *FUNCTIONS))
            raise LANES.refused(self.where, f"{node.function}(...)", ", ".join(METRICS), hint)
        if isinstance(node, Name) and is_path(node):
            todo = f"Write maximum({node.text}) for its largest value, or another of {', '.join(METRICS)} of it."
            raise LANES.refused(self.where, f"{node.text} outside of a metric", "channels inside of metrics", todo)
        return replaced(node, lambda inner: self._over_terms(inner, terms))

    def _of_event(self, call: FunctionCall) -> Term:
        """That of `time_of(event)`, `time_of(event, 2)` or `count(event)`."""
        where, known = f"{self.where}: {call.function}", ["number"] if call.function == "time_of" else []
        name = _literal(call.arguments[0]) if call.arguments else None
        if not isinstance(name, str) or name not in self.events:
            allowed = f"an event of the run: {', '.join(self.events) or 'there is none'}"
            hint = nearest(str(name), self.events) or "Name it in `events`."
            raise ModelError(where, shown(name) if name is not None else "no event", allowed, hint)
        event, kind = self.events[name], OF_EVENTS[call.function]
        stated = {**self._stated(call, known, where, "event"), "direction": event.event.direction}
        return Term(kind, event.signal, self._options(where, METRICS[kind], stated))

    def _of_call(self, call: FunctionCall) -> Term:
        name, kind, where = call.function, METRICS[call.function], f"{self.where}: {call.function}"
        known = [option for option, _ in kind.options]
        stated = self._stated(call, known, where, "expression")
        return self._term(where, name, call.arguments[0], stated)

    def _stated(self, call: FunctionCall, known: Sequence[str], where: str, of: str) -> dict[str, Any]:
        """The options of a call, of those that it may have after what it is of."""
        name = call.function
        if not call.arguments or len(call.arguments) > 1 + len(known):
            allowed = f"{name}({of}{''.join(', ' + option for option in known)})"
            raise LANES.refused(where, f"{len(call.arguments)} arguments", allowed, "Correct it.")
        stated = dict(zip(known, map(_literal, call.arguments[1:]), strict=False))
        for option, value in call.options:
            if option not in known or option in stated:
                hint = nearest(option, known) or "Leave it out."
                raise LANES.refused(where, f"option {option!r}", ", ".join(known) or "no options", hint)
            stated[option] = _literal(value)
        return stated

    def _of_mapping(self, definition: Mapping[str, Any]) -> Term:
        need_mapping(self.where, definition)
        name, of = str(definition.get("kind")), definition.get("of")
        if name not in METRICS:
            hint = nearest(str(name), METRICS) or "Give `kind`."
            raise LANES.refused(f"{self.where}: kind", repr(name), ", ".join(METRICS), hint)
        if not isinstance(of, str):
            allowed = "an expression of channels"
            raise LANES.refused(f"{self.where}: of", repr(of), allowed, "Write of = 'tip.position'.")
        node = parsed(of, self.where)
        stated = {key: _frozen(value) for key, value in definition.items() if key not in ("kind", "of")}
        known = [option for option, _ in METRICS[name].options]
        for key in stated:
            if key not in known:
                hint, allowed = nearest(key, known) or "Leave it out.", ", ".join(known) or "no options"
                raise LANES.refused(f"{self.where}: {key}", "an unknown option", allowed, hint)
        return self._term(self.where, name, node, stated)

    def _term(self, where: str, name: str, node: Expression, stated: Options) -> Term:
        kind = METRICS[name]
        term = Term(name, self._signal(node, kind), self._options(where, kind, stated))
        self._check_points(term)
        return term

    def _signal(self, node: Expression, kind: MetricKind) -> Signal:
        """The expression that a metric is taken of."""
        used = list(dict.fromkeys(name.text for name in names(node) if is_path(name)))
        channels = dict(zip(used, self.channels(used), strict=True))
        text = written(node)
        size = _size(node, {name: channel.size for name, channel in channels.items()} | {"t": 1}, self.where)
        if size != 1 and not kind.vector:
            todo = "Pick with [k], or take its norm(...)."
            raise LANES.refused(self.where, f"{text}, {size} numbers", "one number", todo)
        unit = unit_of(node, {name: channel.unit for name, channel in channels.items()} | {"t": "s"})
        return Signal(text, node, tuple(channels.items()), size, unit or "1")

    def _options(self, where: str, kind: MetricKind, stated: Options) -> tuple[tuple[str, Any], ...]:
        """All options of a kind, those that are not stated by their defaults."""
        options = []
        for name, option in kind.options:
            value = stated.get(name, option.default)
            if value is None:
                raise LANES.refused(where, f"no {name}", f"{name}: {option.meaning}", f"Write {name}=...")
            _check_option(f"{where}: {name}", option, value)
            options.append((name, value))
            times = value if name == "times" else (value,) if name == "time" else ()
            if any(not self.span[0] <= t <= self.span[1] * (1 + 1e-12) for t in times):
                allowed = f"times from {self.span[0]:g} to {self.span[1]:g} {self.unit_of_time}"
                todo = "Run longer, or take another time."
                raise LANES.refused(f"{where}: {name}", f"{value!r}"[:80], allowed, todo)
        return tuple(options)

    def _check_points(self, term: Term) -> None:
        stated = term.stated
        sizes = {len(p) if isinstance(p, tuple) else 1 for p in stated.get("points", ())}
        if sizes - {term.signal.size}:
            fault = f"points of {sorted(sizes)} numbers for an expression of {term.signal.size}"
            todo = "Write the coordinates that are meant, as [tip.position[0], tip.position[1]]."
            raise LANES.refused(f"{self.where}: points", fault, "points of as many numbers", todo)
        if "times" in stated and len(stated["times"]) != len(stated["points"]):
            fault = f"{len(stated['times'])} times for {len(stated['points'])} points"
            raise LANES.refused(f"{self.where}: times", fault, "one time a point", "Correct one of them.")


def parsed(text: str, where: str) -> Expression:
    """An expression of channels; one that is written as a call, `support_margin(left, right)`, is a name in it."""
    return _with_channels(parse(text, where, LANES))


def _with_channels(node: Expression) -> Expression:
    if isinstance(node, FunctionCall) and node.function == SUPPORT_MARGIN:
        return Name(written(node), braces=True)
    return replaced(node, _with_channels)


def _size(node: Expression, sizes: Mapping[str, int], where: str) -> int:
    """How many numbers an expression has; raises where it is none."""
    members = MemberValues()
    return len(evaluate(node, {name: members.lane_values([np.ones(1)] * size) for name, size in sizes.items()}, where))


def _literal(node: Expression) -> Any:
    """A number, a text, with quotes or without, or nested tuples of numbers; None for anything else."""
    match node:
        case Text(text):
            return text
        case Name(text) if text != "pi":
            return text
        case Vector(items):
            return tuple(map(_literal, items))
    return constant(node)


def _frozen(value: Any) -> Any:
    """Lists and arrays as tuples."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, list | tuple):
        return tuple(_frozen(inner) for inner in value)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_option(where: str, option: Option, value: Any) -> None:
    if option.kind == "word":
        if value not in option.words:
            raise ModelError(where, shown(value), ", ".join(option.words), "Choose one of them.")
        return
    if option.kind == "count" and not (isinstance(value, float) and value in range(1, MOST + 1)):
        raise ModelError(where, shown(value), f"a whole number from 1 to {MOST}", "Correct it.")
    flat = [value]
    if option.kind == "point list":
        rows = value if isinstance(value, tuple) and value else (None,)
        flat = [x for row in rows for x in (row if isinstance(row, tuple) else (row,))]
    if not all(isinstance(x, float) and np.isfinite(x) for x in flat):
        allowed = "finite numbers in a list" if option.kind == "point list" else "a finite number"
        raise ModelError(where, shown(value), allowed, "Correct it.")
