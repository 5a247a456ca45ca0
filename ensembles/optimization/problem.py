"""What is made small, of a study: the runs of its one model, their metrics, an objective and constraints of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.dynamics.expressions import evaluate
from shiftjax.ensembles.definition import Definition
from shiftjax.ensembles.group import Group
from shiftjax.ensembles.optimization.data import Data
from shiftjax.ensembles.optimization.meaning import bounds, expressions, parameters
from shiftjax.ensembles.optimization.space import Space
from shiftjax.ensembles.optimization.words import Wanted
from shiftjax.gradients.derived import derived
from shiftjax.gradients.run import DifferentiableRun

Array = Any  # of JAX, traced


class Runs:
    """The metrics and channels of members of a group, and derivatives along its varied numbers.

    Args:
        parameters: full paths of those varied numbers that derivatives are taken of; the others are columns, too.
        channels: that are recorded.
    """

    def __init__(
        self, group: Group, parameters: Sequence[str], channels: Sequence[str] = (), threads: int | None = None
    ) -> None:
        self.group, self.paths, self.parameters = group, tuple(group.vary()), tuple(parameters)
        self._columns = [self.paths.index(path) for path in self.parameters]
        given = {**group.settings, "channels": list(channels), "keep": "none", "threads": threads}
        if not channels:
            given["output_step"] = given.get("span") or group.model.settings.span
        self._derive, self._assign = given.pop("derive", None), None
        full, followed = self.paths, self.parameters
        if self._derive:
            with jax.enable_x64(True):
                columns, self._assign = derived(group.model, self._named(jnp.ones((1, len(full)))), None, self._derive)
            full = tuple(columns)
            followed = tuple(path for path in full if path in followed or path not in self.paths)
            given["assign"] = self._assign
        self._run = DifferentiableRun(group.model, full, given, traced=followed)
        self._full = full
        channels_of, metrics, _, _ = self._run.split(np.zeros((1, self._run.outputs)))
        self.metrics = tuple(metrics)
        self.sizes = {path: values.shape[1:] for path, values in channels_of.items()}
        self._places = slice(self._run.recorded, self._run.recorded + len(self.metrics))

    @property
    def recorded(self) -> int:
        """Numbers of the channels, which are the first outputs; the metrics follow."""
        return self._run.recorded

    @property
    def units(self) -> Mapping[str, str]:
        """Of the metrics."""
        return self._run.static["metric_units"]

    @property
    def time(self) -> np.ndarray:
        """(n,) instants of the channels [s]."""
        return self._run.static["time"]

    def outputs(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Channels and metrics (B, O), and the status (B,), of designs (B, V)."""
        y = self._run.run(self._expanded(x))
        return y[:, : self._places.stop], y[:, self._places.stop].astype(int)

    def adjoint(self, x: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """Cotangents (K, B, P) of the parameters from those (K, B, O) of the outputs; NaN where a run ended early."""
        rest = np.zeros((*bars.shape[:2], self._run.outputs - bars.shape[2]))
        found = self._run.adjoint(self._expanded(x), np.concatenate([bars, rest], axis=2))
        if self._derive:
            with jax.enable_x64(True):
                _, back = jax.vjp(self._derived, jnp.asarray(x))
                found = np.stack([np.asarray(back(jnp.asarray(bar))[0]) for bar in found])
        return found[:, :, self._columns]

    def tangent(self, x: np.ndarray) -> np.ndarray:
        """Changes (P, B, O) of the outputs with each parameter; NaN where a run ended early."""
        dx = np.zeros((len(self.parameters), *x.shape))
        for k, column in enumerate(self._columns):
            dx[k, :, column] = 1.0
        if self._derive:
            with jax.enable_x64(True):
                dx = np.stack([np.asarray(jax.jvp(self._derived, (jnp.asarray(x),), (jnp.asarray(d),))[1]) for d in dx])
        found = self._run.tangent(self._expanded(x), dx)[:, :, : self._places.stop]
        return np.where(self.outputs(x)[1][:, None] > 0, np.nan, found)

    def _expanded(self, x: np.ndarray) -> np.ndarray:
        """The numbers (B, V') of the run: those of the study and what follows from them."""
        if not self._derive:
            return x
        with jax.enable_x64(True):
            return np.asarray(self._derived(jnp.asarray(x)))

    def _derived(self, x: Array) -> Array:
        columns, _ = derived(self.group.model, self._named(x), None, self._derive or {})
        return jnp.stack([columns[path] for path in self._full], axis=1)

    def _named(self, x: Array) -> dict[str, Array]:
        return {path: x[:, k] for k, path in enumerate(self.paths)}


class Problem:
    """An objective and constraints of metrics, of free numbers z of one member.

    Args:
        given: (N, V) designs of the study, from which the starts are taken. paths: of what is varied.
    """

    def __init__(self, definition: Definition, wanted: Wanted, group: Group, threads: int | None = None) -> None:
        self.wanted, self.group = wanted, group
        self.parameters = parameters(wanted, group)
        self.data = None if wanted.data is None else Data(definition.placed(wanted.data), wanted, group)
        self.runs = Runs(group, self.parameters, self.data.paths if self.data else (), threads)
        self.given = np.stack([*group.vary().values()], axis=1)
        self.space = Space(*bounds(definition, wanted, group, self.parameters))
        self._target = np.zeros(0) if self.data is None else self.data.target(self.runs)
        self._sigmas = np.array([dict(wanted.sigmas).get(text, 1.0) for text in wanted.residuals])
        self._nodes = expressions(wanted, self.runs.metrics)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the metrics."""
        return self.runs.metrics

    @property
    def units(self) -> dict[str, str]:
        """Of parameters and metrics."""
        described = self.group.model.described()
        return {path: described[path].unit for path in self.parameters} | dict(self.runs.units)

    @cached_property
    def equal(self) -> np.ndarray:
        """(C,) which constraints are equalities."""
        return np.array([c.equal for c in self.wanted.constraints], bool)

    def starts(self) -> np.ndarray:
        """(N, P) free numbers of the starts."""
        return self.space.free(self.given[:, self._columns])

    def home(self) -> np.ndarray:
        """(P,) free numbers of the model's own design, inside of the bounds: where a start that cannot run turns to."""
        numbers = self.group.model.numbers()
        return self.space.free(np.array([numbers[path] for path in self.parameters]))

    @cached_property
    def _columns(self) -> list[int]:
        return [self.runs.paths.index(path) for path in self.parameters]

    def designs(self, members: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """(n, V) designs of some members from their parameters (n, P)."""
        x = self.given[members].copy()
        x[:, self._columns] = numbers
        return x

    def place(self, z: Array) -> tuple[Array, Array]:
        """Parameters (P,) of free numbers (P,), and their slopes."""
        return self.space.numbers(z), self.space.slopes(z)

    def residuals(self, outputs: Array) -> Array:
        """(R,) residuals of the outputs (O,) of one member."""
        if self.data is not None:
            off = (outputs[: self.runs.recorded] - self._target) / np.repeat(self._sigmas, len(self.runs.time))
            return off[~np.isnan(self._target)]
        outputs = outputs[self.runs.recorded :]
        named = {name: [outputs[k]] for k, name in enumerate(self.names)}
        found = [jnp.asarray(evaluate(node, named, text)[0], float) for text, node in self._nodes.items()]
        return jnp.stack(found) / self._sigmas

    def value(self, metrics: Array) -> tuple[Array, Array]:
        """The objective, and (C,) by which every constraint is exceeded, from the metrics (M,) of one member."""
        named = {name: [metrics[k]] for k, name in enumerate(self.names)}
        found = {text: evaluate(node, named, text)[0] for text, node in self._nodes.items()}
        objective = jnp.asarray(found.pop("objective"), float)
        return objective, jnp.stack([jnp.zeros(()), *found.values()])[1:]
