"""Events as a run reads them: with the terms that note their instants. Host only, no jax."""

from __future__ import annotations

from shiftjax.measures.terms import Signal, Term
from shiftjax.mechanism.events import Event
from shiftjax.record import record


@record
class ReadEvent:
    """An event of a run.

    Attributes:
        terms: that note its instants, one a direction; their accumulators are times, the last first, and the count.
    """

    name: str
    event: Event
    signal: Signal
    terms: tuple[Term, ...]
