"""What is accumulated of a run: terms, each one of `METRICS` taken of a signal, an expression of channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.algebra import Vec
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import Expression, Name, NumberLiteral, Pick
from shiftjax.measures.channel import Channel
from shiftjax.measures.interval import Instant
from shiftjax.measures.metric import MetricKind
from shiftjax.measures.metrics import METRICS
from shiftjax.record import record


@record
class Signal:
    """An expression of channels.

    Attributes:
        text: which tells it from others.
        channels: name in the expression -> channel.
    """

    text: str
    node: Expression
    channels: tuple[tuple[str, Channel], ...]
    size: int
    unit: str

    def value(self, observed: Mapping[str, Vec], t: Any) -> Vec:
        """Its scalars, from the channels by path."""
        values = {name: observed[channel.path] for name, channel in self.channels}
        return evaluate(self.node, {**values, "t": [t]}, self.text)

    @classmethod
    def of_number(cls, channel: Channel, k: int) -> Signal:
        """The k-th number of a channel."""
        node = Pick(Name(channel.path), NumberLiteral(float(k)))
        return cls(f"{channel.path}[{k}]", node, ((channel.path, channel),), 1, channel.unit)


@record
class Term:
    """One call of `METRICS`; `options` are all that its kind has."""

    name: str
    signal: Signal
    options: tuple[tuple[str, Any], ...]

    @property
    def kind(self) -> MetricKind:
        return METRICS[self.name]

    @property
    def stated(self) -> dict[str, Any]:
        """The options by name."""
        return dict(self.options)

    @property
    def unit(self) -> str:
        return self.kind.unit(self.signal.unit)

    def size(self) -> int:
        """Number of its accumulators."""
        start = Instant(np.ones(1), [np.ones(1)] * self.signal.size)
        return len(self.kind.begin(start, self.stated))

    def text(self) -> str:
        """What tells it from others."""
        return repr((self.name, self.signal.text, [(c.path, c.size) for _, c in self.signal.channels], self.options))
