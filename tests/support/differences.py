"""A run differentiated by finite differences: what the adjoint is compared with, behind the same JAX function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.run.options import Options
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import run_with

STATIC = ("time", "units", "model", "report", "settings", "metric_units", "metric_texts")
STEPS = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}  # central differences of order 4
WIDTH = 1e-3  # of a step, relative to the number or to 1


class Differences:
    """Runs of a model as a function of varied numbers, with derivatives of order 4.

    The shapes of its outputs are those of one nominal member. `calls` notes what was called, with how many members.
    """

    def __init__(self, model: Model, vary: tuple[str, ...], options: Options) -> None:
        self.model, self.vary, self.options = model, vary, options
        self.calls: list[tuple[str, int]] = []
        numbers = model.numbers()
        nominal = self._result(np.array([[numbers.get(path, 0.0) for path in vary]]))
        self.static: Mapping[str, Any] = {name: getattr(nominal, name) for name in STATIC}
        self._groups = (nominal.channels, nominal.metrics, {"status": nominal.status}, nominal.certificate)
        self.carries = sum(values[0].size for group in self._groups[:2] for values in group.values())
        self.outputs = sum(values[0].size for group in self._groups for values in group.values())

    def split(self, y: Any) -> tuple[dict[str, Any], dict[str, Any], Any, dict[str, Any]]:
        at, found = 0, []
        for group in self._groups:
            found.append({})
            for name, like in group.items():
                size = like[0].size
                found[-1][name] = y[:, at : at + size].reshape(-1, *like.shape[1:])
                at += size
        channels, metrics, status, certificate = found
        return channels, metrics, status["status"], certificate

    def run(self, x: np.ndarray) -> np.ndarray:
        self.calls.append(("run", len(x)))
        return self._outputs(x)

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        self.calls.append(("tangent", len(x)))
        return self._along(x, dx)

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        self.calls.append(("adjoint", len(x)))
        columns = [self._along(x, np.tile(one, (len(x), 1))) for one in np.eye(x.shape[1])]
        return np.stack([(column * y_bar).sum(1) for column in columns], 1)

    def _along(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        h = WIDTH * np.maximum(np.abs(x).max(1, keepdims=True), 1.0)
        found = sum(weight * self._outputs(x + k * h * dx) for k, weight in STEPS.items()) / h
        found[:, self.carries :] = 0.0
        return found

    def _result(self, x: np.ndarray) -> Result:
        return run_with(self.model, self.options.changed(vary=dict(zip(self.vary, x.T, strict=True))))

    def _outputs(self, x: np.ndarray) -> np.ndarray:
        result = self._result(x)
        groups = (result.channels, result.metrics, {"status": result.status}, result.certificate)
        return np.concatenate([values.reshape(len(x), -1) for group in groups for values in group.values()], 1)
