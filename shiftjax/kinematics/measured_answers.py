"""Metrics of what implicit functions answer, as functions of numbers of designs: what paths, travels and poses share.

`Implicit` solves for answers, expressions of these are the outputs: JAX goes through them, both ways, to the slopes of
the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import Expression
from shiftjax.gradients.doubts import Doubts
from shiftjax.gradients.implicit import Implicit
from shiftjax.lanes.member_values import MemberValues
from shiftjax.measures.aims import NO_AIM, Aim
from shiftjax.mechanism.model import Model
from shiftjax.run.assemble import assembled
from shiftjax.run.options import Options
from shiftjax.run.results.result import Result

Array = Any  # of JAX, traced
Split = tuple[dict[str, Array], dict[str, Array], Array, dict[str, Array]]


class StatedMetric(Protocol):
    """An expression of terms, and which of its values are good."""

    @property
    def text(self) -> str: ...
    @property
    def node(self) -> Expression: ...
    @property
    def unit(self) -> str: ...
    @property
    def aim(self) -> Aim: ...


class MeasuredAnswers:
    """Outputs (B, M) of numbers (B, P), with their slopes; whoever answers says what `_solved` is, and `_measured`."""

    _solved: Implicit

    def _measured(self, y: Array) -> Array:
        """The outputs of the answers (B, ...)."""
        raise NotImplementedError

    def split(self, y: Array) -> Split:
        """Channels, metrics (B,), status (B,) and certificate of outputs (B, M)."""
        raise NotImplementedError

    @property
    def doubts(self) -> Doubts:
        """Of the members of the last derivative."""
        assert self._solved.doubts is not None
        return self._solved.doubts

    def run(self, x: np.ndarray) -> np.ndarray:
        """The outputs (B, M) of numbers (B, P)."""
        with jax.enable_x64(True):
            return np.asarray(self._measured(jnp.asarray(self._solved.run(x))))

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Changes (D, B, M) of the outputs in D directions (D, B, P)."""
        y, changes = self._solved.run(x), self._solved.tangent(x, dx)
        with jax.enable_x64(True):
            along = partial(jax.jvp, self._measured, (jnp.asarray(y),))
            return np.asarray(jax.vmap(lambda dy: along((dy,))[1])(jnp.asarray(changes)))

    def adjoint(self, x: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """Cotangents (D, B, P) of the numbers from D of the outputs (D, B, M); NaN of members that have failed."""
        y = self._solved.run(x)
        with jax.enable_x64(True):
            outputs, back = jax.vjp(self._measured, jnp.asarray(y))
            bars = np.asarray(jax.vmap(lambda bar: back(bar)[0])(jnp.asarray(bars)))
        failed = np.asarray(self.split(outputs)[2]) > 0
        return np.where(failed[:, None], np.nan, self._solved.adjoint(x, bars))


class DesignMetrics(MeasuredAnswers):
    """Of members that have metrics alone, no channels.

    Attributes:
        model: whose numbers the designs have. names: full paths of those that vary. given: all else that is stated.
        metrics: by their names. without_slopes: those that have none -> why.
        static: what the model's own numbers give, for what no number decides.
    """

    recorded = 0  # no channels
    without_slopes: Mapping[str, str] = MappingProxyType({})
    model: Model
    names: tuple[str, ...]
    given: Options
    metrics: Mapping[str, StatedMetric]

    def result(self, vary: Mapping[str, np.ndarray] | None, given: Options) -> Result:
        """The result of designs.

        Args:
            vary: full path -> (B,). given: what else is asked for.
        """
        raise NotImplementedError

    @cached_property
    def static(self) -> Result:
        numbers = self.model.numbers()
        return self.result({name: np.full(1, numbers[name]) for name in self.names} or None, self.given)

    def _began(self, vary: Mapping[str, np.ndarray] | None, given: Options) -> Result:
        """Where designs begin."""
        design = replace(self.given.design, vary=vary)
        return assembled(self.model, replace(given.changed(metrics=None), design=design), massless=True)

    def _vary(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Path of a number -> (B,), of numbers (B, P)."""
        return {name: np.ascontiguousarray(values) for name, values in zip(self.names, x.T, strict=True)}

    @property
    def outputs(self) -> int:
        """Of every member: metrics, then status."""
        return len(self.metrics) + 1

    def split(self, y: Array) -> Split:
        """No channels, metrics (B,), status (B,), and no certificate of outputs (B, M)."""
        return {}, {name: y[:, k] for k, name in enumerate(self.metrics)}, y[:, -1], {}

    def _traced(self, values: Mapping[str, list[Array]], status: Array) -> Array:
        """The outputs (B, M) of what stands for names in the expressions, (B,) each, and the status."""
        metrics = [jnp.asarray(evaluate(one.node, values, name)[0], float) for name, one in self.metrics.items()]
        return jnp.stack([*metrics, jnp.asarray(status, float)], axis=1)

    def _with_metrics(
        self, began: Result, terms: Mapping[str, Sequence[np.ndarray]], status: np.ndarray, messages: Sequence[str],
        settings: Mapping[str, Any],
    ) -> Result:  # fmt: skip
        """A result with the metrics, NaN of members that have failed.

        Args:
            terms: what stands for names in the expressions, (B,) each. settings: beside those that it has.
        """
        members, values, first = MemberValues(), dict[str, list[Any]](), 0
        flat = members.lane_values([np.ascontiguousarray(x) for one in terms.values() for x in one])
        for name, one in terms.items():
            values[name], first = flat[first : first + len(one)], first + len(one)
        with np.errstate(all="ignore"):  # of members that have a status
            nodes = [evaluate(one.node, values, f"metric {name}")[0] for name, one in self.metrics.items()]
            numbers = [np.where(status > 0, np.nan, x) for x in members.numbers(nodes)]
        alone = not began.batched
        return replace(
            began,
            status=status[0] if alone else status,
            messages=tuple(messages),
            metrics={name: x[0] if alone else x for name, x in zip(self.metrics, numbers, strict=True)},
            metric_units={name: one.unit for name, one in self.metrics.items()},
            metric_texts={name: one.text for name, one in self.metrics.items()},
            metric_aims={name: one.aim for name, one in self.metrics.items() if one.aim != NO_AIM},
            settings={**began.settings, **settings},
        )
