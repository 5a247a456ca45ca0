"""The accumulators of terms in the lanes; equal terms and signals are accumulated once.

After the certificate's come the time of the last instant, the state there where steps are curves (`step_path`), the
signals there, those of every term, then those of what is watched beside them and no metric (`passed_knots`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.measures.channel import Channel
from shiftjax.measures.events import ReadEvent
from shiftjax.measures.interval import NODES, Instant, Interval
from shiftjax.measures.metrics import METRICS
from shiftjax.measures.step_path import StepPath
from shiftjax.measures.terms import Signal, Term

SAME = 1e-6  # of the larger one: two values of a signal that are no jump


class Watched(Protocol):
    """What lanes accumulate that is no metric, has no slope, and goes on where a run goes on from another."""

    @property
    def size(self) -> int:
        """Number of accumulators."""
        ...

    def update(self, accumulators: Vec, now: Scalar, seen: Any) -> Vec:
        """They at the end of a step, at a time [s] and an `ObservedState`; lane code."""
        ...

    def begin(self, rows: list[np.ndarray]) -> None:
        """Fills them (B,) where lanes start, after an `update` there."""
        ...


class Accumulators:
    """What the lanes of a run accumulate.

    Args:
        terms: by their texts. path: the motion within a step. watched: beside the terms. guarded: events
            within whose steps the host has something to do.
        long: whether steps are long, so that every term takes them as curves; else only those that are dense do.

    Attributes:
        path: None where no term takes a step as a curve.
    """

    def __init__(
        self,
        terms: Iterable[Term],
        path: StepPath | None = None,
        watched: Sequence[Watched] = (),
        guarded: Sequence[ReadEvent] = (),
        *,
        long: bool = True,
    ) -> None:
        self.terms, self.watched, self.long = {term.text(): term for term in terms}, tuple(watched), long
        self.guarded = tuple(guarded)
        self.path = path if long or any(term.kind.dense for term in self.terms.values()) else None
        self.carried = self.path.size if self.path else 0  # numbers of the state

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
        return self.metrics + sum(one.size for one in self.watched) if self.terms or self.watched else 0

    @property
    def shared(self) -> int:
        """Number of accumulators before those of the terms."""
        return 1 + self.carried + sum(signal.size for signal in self.signals)

    @property
    def of_partition(self) -> bool:
        """Whether the code of `update` depends on the lane's partition."""
        return any(channel.quantity.of_partition for channel in self.channels.values())

    @property
    def of_the_package(self) -> bool:
        """Whether all that `update` is made of, beside the texts of the terms, is the package's."""
        foreign = any(channel.foreign for channel in self.channels.values())
        return not foreign and all(METRICS.ships(term.kind) for term in self.terms.values())

    def update(self, accumulators: Vec, t: Scalar, state: Vec, observe: Callable[[Scalar, Vec], Any]) -> Vec:
        """The accumulators at the end of a step; lane code.

        Args:
            t: time there [s]. state: its numbers, as `path` takes them. observe: a time and such numbers -> what
                channels observe, an `ObservedState`.
        """
        here = observe(t, state)
        now = self._signals(t, here)
        t_before, carried, before, of_terms = self._split(accumulators)
        seen = [(t_before, before), *self._between(t_before, carried, t, state, observe), (t, now)]
        out = [t, *state[: self.carried], *(scalar for signal in self.signals for scalar in now[signal.text])]
        for term, values in zip(self.terms.values(), of_terms, strict=True):
            instants = seen if self.long or term.kind.dense else (seen[0], seen[-1])
            interval = Interval(tuple(Instant(at, signals[term.signal.text]) for at, signals in instants))
            out += term.kind.update(values, interval, term.stated)
        for one, values in self.of_watched(accumulators):
            out += one.update(values, t, here)
        return out

    @property
    def metrics(self) -> int:
        """Number of accumulators before those of what is watched."""
        return self.shared + sum(self.sizes)

    def of_watched(self, rows: Sequence[Any] | np.ndarray) -> Iterator[tuple[Watched, list[Any]]]:
        """What is watched, each with its accumulators."""
        at = self.metrics
        for one in self.watched:
            yield one, list(rows[at : at + one.size])
            at += one.size

    def guarded_values(self, t: Scalar, seen: Any) -> Vec:
        """Values of the guarded events, at a time [s] and an `ObservedState`; lane code."""
        signals = self._signals(t, seen)
        return [signals[one.signal.text][0] for one in self.guarded]

    @property
    def decides_code(self) -> tuple[object, ...]:
        """What decides the code of `update` and `guarded_values`, beside the plan and the partition."""
        guarded = tuple(one.signal.text for one in self.guarded)
        return tuple(self.terms), self.path is not None, self.long, self.watched, guarded

    def _signals(self, t: Scalar, seen: Any) -> dict[str, Vec]:
        """Text -> value of every expression."""
        observed = {path: channel.observe(seen) for path, channel in self.channels.items()}
        return {signal.text: signal.value(observed, t) for signal in self.signals}

    def _between(
        self, t_before: Scalar, before: Vec, t: Scalar, state: Vec, observe: Callable[[Scalar, Vec], Any]
    ) -> Iterator[tuple[Scalar, dict[str, Vec]]]:
        """Time and expressions at the inner nodes of a step that is a curve."""
        if self.path is None:
            return
        span = t - t_before
        for node in NODES[1:-1]:
            share = 0.5 * (1.0 + node)
            at = t_before + share * span
            yield at, self._signals(at, observe(at, self.path.between(before, state, share, span)))

    def begin(self, rows: np.ndarray) -> None:
        """Fills the accumulators (k, B) of lanes at their start, of which time, state and signals are right."""
        t, _, before, of_terms = self._split(list(rows))
        for term, values in zip(self.terms.values(), of_terms, strict=True):
            fresh = term.kind.begin(Instant(t, before[term.signal.text]), term.stated)
            for row, value in zip(values, fresh, strict=True):
                row[:] = value

    def begin_watched(self, rows: np.ndarray) -> None:
        """As `begin`, of what is watched; a run that goes on goes on with it."""
        for one, values in self.of_watched(rows):
            one.begin(values)

    def values_of_terms(self, rows: np.ndarray, t0: float) -> list[np.ndarray]:
        """The values (B,) of all terms from accumulators (k, B), complex ones too, that began at t0 [s]."""
        t, _, last, of_terms = self._split(list(rows))
        start = Instant(np.full(rows.shape[1], t0), [])
        return [
            np.asarray(term.kind.value(values, start, Instant(t, last[term.signal.text]), term.stated))
            for term, values in zip(self.terms.values(), of_terms, strict=True)
        ]

    def unresolved(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Text of a term -> (B,) whether steps are too coarse for a derivative of it; accumulators (k, B)."""
        t, _, last, of_terms = self._split(list(rows))
        return {
            text: np.broadcast_to(term.kind.unresolved(values, Instant(t, last[term.signal.text])), rows.shape[1:])
            for (text, term), values in zip(self.terms.items(), of_terms, strict=True)
            if term.kind.unresolved is not None
        }

    def change_of_integrals(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """(k, B) by how much faster integrals grow with the signals of other accumulators (k, B); 0 of all else."""
        (*_, here, _), (*_, there, _) = self._split(list(rows)), self._split(list(others))
        out, of_terms = np.zeros(rows.shape), self._split(list(range(len(rows))))[3]
        for term, places in zip(self.terms.values(), of_terms, strict=True):
            if (density := term.kind.density) is not None:
                text = term.signal.text
                out[places[0]] = density(there[text]) - density(here[text])
        return out

    def jumping(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """(terms, B) those with signals that differ in two accumulators (k, B), which their slopes ignore."""
        (*_, here, _), (*_, there, _) = self._split(list(rows)), self._split(list(others))
        out = np.zeros((len(self.terms), rows.shape[1]), bool)
        for k, term in enumerate(self.terms.values()):
            if term.kind.density is None and not term.kind.past_jumps:
                for a, b in zip(here[term.signal.text], there[term.signal.text], strict=True):
                    out[k] |= np.abs(a - b) > SAME * np.maximum(np.abs(a), np.abs(b))
        return out

    def crossed(self, k: int, rows: np.ndarray, others: np.ndarray, at: np.ndarray) -> np.ndarray:
        """(B,) whether term k is the instant at which its signal jumps, within a step, across a level.

        The level must be farther from both sides of the jump than the signal moves in the step.

        Args:
            rows, others: (k, B) accumulators at the beginning of the step with the signals on both sides of the jump.
            at: (B,) the share of the step after which the term says that the level is crossed.
        """
        term = list(self.terms.values())[k]
        if term.kind.level is None:
            return np.zeros(at.shape, bool)
        (*_, here, _), (*_, there, _) = self._split(list(rows)), self._split(list(others))
        level, text = term.kind.level(term.stated), term.signal.text
        before, after = (np.asarray(values[text][0]) - level for values in (here, there))
        with np.errstate(all="ignore"):
            end = before * (1.0 - 1.0 / at)  # of the line that crosses there
            clear = np.minimum(np.abs(before), np.abs(after)) > np.abs(end - after)
        return (at > 0.0) & (at <= 1.0 + SAME) & (before * after < 0.0) & clear

    def of_term(self, term: Term, rows: np.ndarray) -> np.ndarray:
        """The accumulators (., B) of a term, among all of them (k, B)."""
        return np.array(self._split(list(rows))[3][list(self.terms).index(term.text())])

    @cached_property
    def places(self) -> list[int]:
        """Of every term, the place of its first accumulator; -1 of one that has none."""
        of_terms = self._split(list(range(self.size)))[3]
        return [rows[0] if rows else -1 for rows in of_terms]

    def _split(self, rows: Sequence[Any]) -> tuple[Any, list[Any], dict[str, list[Any]], list[list[Any]]]:
        """The time, the state that is carried, signals by text, and the accumulators of every term."""
        at, before = 1 + self.carried, dict[str, list[Any]]()
        for signal in self.signals:
            before[signal.text] = list(rows[at : at + signal.size])
            at += signal.size
        of_terms = []
        for size in self.sizes:
            of_terms.append(list(rows[at : at + size]))
            at += size
        return rows[0] if len(rows) else 0.0, list(rows[1 : 1 + self.carried]), before, of_terms
