"""The accumulators of terms in the lanes; equal terms and signals are accumulated once.

After the certificate's come the time of the last instant, the signals there, then those of every term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.algebra import Vec
from shiftjax.measures.channel import Channel
from shiftjax.measures.metric import Instant
from shiftjax.measures.terms import Signal, Term


class Accumulators:
    """What the lanes of a run accumulate.

    Args:
        terms: by their texts.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = {term.text(): term for term in terms}

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
        """Whether the code of `update` depends on the lane's partition."""
        return any(channel.quantity.of_partition for channel in self.channels.values())

    @property
    def functions(self) -> list[Callable[..., Vec]]:
        """The lane code that `update` is made of, beside the texts of the terms."""
        return [*(c.quantity.observe for c in self.channels.values()), *(t.kind.update for t in self.terms.values())]

    def update(self, accumulators: Vec, state: Any, t: Any) -> Vec:
        """The accumulators at the end of a step, from its `ObservedState`; lane code."""
        observed = {path: channel.observe(state) for path, channel in self.channels.items()}
        now = {signal.text: signal.value(observed, t) for signal in self.signals}
        before, t_before, of_terms = self._split(accumulators)
        out = [t, *(scalar for signal in self.signals for scalar in now[signal.text])]
        for term, values in zip(self.terms.values(), of_terms, strict=True):
            instants = (Instant(t, now[term.signal.text]), Instant(t_before, before[term.signal.text]))
            out += term.kind.update(values, *instants, term.stated)
        return out

    def begin(self, rows: np.ndarray) -> None:
        """Fills the accumulators (k, B) of lanes at their start, of which time and signals are right."""
        before, t, of_terms = self._split(list(rows))
        for term, values in zip(self.terms.values(), of_terms, strict=True):
            fresh = term.kind.begin(Instant(t, before[term.signal.text]), term.stated)
            for row, value in zip(values, fresh, strict=True):
                row[:] = value

    def values_of_terms(self, rows: np.ndarray, t0: float) -> list[np.ndarray]:
        """The values (B,) of all terms from accumulators (k, B), complex ones too, that began at t0 [s]."""
        last, t, of_terms = self._split(list(rows))
        start = Instant(np.full(rows.shape[1], t0), [])
        return [
            np.asarray(term.kind.value(values, start, Instant(t, last[term.signal.text]), term.stated))
            for term, values in zip(self.terms.values(), of_terms, strict=True)
        ]

    def _split(self, rows: Sequence[Any]) -> tuple[dict[str, list[Any]], Any, list[list[Any]]]:
        """Signals by text, the time, and the accumulators of every term."""
        at, before = 1, dict[str, list[Any]]()
        for signal in self.signals:
            before[signal.text] = list(rows[at : at + signal.size])
            at += signal.size
        of_terms = []
        for size in self.sizes:
            of_terms.append(list(rows[at : at + size]))
            at += size
        return before, rows[0] if len(rows) else 0.0, of_terms
