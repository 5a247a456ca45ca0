"""Members of a study as functions of their numbers: outputs, cotangents and tangents. NumPy arrays in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.ensembles.study.definition import OF_IK
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.posed import TAKEN, of_kind
from shiftjax.gradients.derived import derived
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.gradients.doubts import Doubts
from shiftjax.kinematics.measured_answers import DesignMetrics
from shiftjax.kinematics.paths.path_function import PathFunction
from shiftjax.kinematics.paths.traced_paths import path_function
from shiftjax.kinematics.ranges.travels import TravelFunction
from shiftjax.run.beginning import Begun
from shiftjax.run.options import DesignOptions, Options, options_of

Array = Any  # of JAX, traced


class Runs:
    """The metrics and channels of members of a group, and derivatives along its varied numbers.

    Args:
        parameters: full paths of those varied numbers that derivatives are taken of; the others are columns, too.
        channels: that are recorded.

    Attributes:
        without_slopes: metric that has none -> why. units: of the metrics.
        time: (n,) instants of the channels [s], or the parameter of the path.
    """

    def __init__(
        self, group: MemberGroup, parameters: Sequence[str], channels: Sequence[str] = (), threads: int | None = None
    ) -> None:
        self.group, self.paths, self.parameters = group, tuple(group.vary()), tuple(parameters)
        self._columns = [self.paths.index(path) for path in self.parameters]
        self._derive = group.settings.get("derive") or {}
        self._follows = bool(self._derive or group.model.expressions)  # whether numbers follow from those of the study
        full, followed, assign = self.paths, self.parameters, dict[str, float]()
        if self._follows:
            with jax.enable_x64(True):
                columns, assign = derived(group.model, self._named(jnp.ones((1, len(full)))), None, self._derive)
            full = tuple(columns)
            followed = tuple(path for path in full if path in followed or path not in self.paths)
        given = {**group.settings, "channels": list(channels), "threads": threads, "assign": assign or None}
        given.pop("derive", None)
        self._run: DifferentiableRun | PathFunction | DesignMetrics
        self.without_slopes: Mapping[str, str] = {}
        if group.led:
            path = self._run = path_function(group.model, full, given, DesignOptions(assign=assign), warns=False)
            self.units, self.time = path.static.metric_units, path.static.time
        elif not group.moves:
            stated = options_of(
                **{name: value for name, value in given.items() if name in TAKEN and name not in (*OF_IK, "workspace")}
            )
            stated = stated.changed(assign=assign or None)
            poses = self._run = _of_poses(group, full, stated)
            self.units, self.time = poses.static.metric_units, poses.static.time
            self.without_slopes = poses.without_slopes
        else:
            run = self._run = DifferentiableRun(group.model, full, _of_run(group, given), traced=followed, warns=False)
            self.units, self.time = run.static["metric_units"], run.static["time"]
        self._full = full
        channels_of, metrics, _, _ = self._run.split(np.zeros((1, self._run.outputs)))
        self.metrics = tuple(metrics)
        self.sizes: Mapping[str, tuple[int, ...]] = {path: values.shape[1:] for path, values in channels_of.items()}
        self._places = slice(self._run.recorded, self._run.recorded + len(self.metrics))

    @property
    def recorded(self) -> int:
        """Numbers of the channels, which are the first outputs; the metrics follow."""
        return self._run.recorded

    @property
    def begun(self) -> Begun:
        """A run of the model's own numbers at its start, of members that move in time."""
        assert isinstance(self._run, DifferentiableRun)
        return self._run.begun

    @property
    def doubts(self) -> Doubts:
        """Of the members of the last adjoint or tangent."""
        assert self._run.doubts is not None
        return self._run.doubts

    def outputs(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Channels and metrics (B, O), and the status (B,), of designs (B, V)."""
        y = self._run.run(self._expanded(x))
        return y[:, : self._places.stop], y[:, self._places.stop].astype(int)

    def adjoint(self, x: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """Cotangents (K, B, P) of the parameters from those (K, B, O) of the outputs; NaN where a run ended early."""
        rest = np.zeros((*bars.shape[:2], self._run.outputs - bars.shape[2]))
        cotangents = self._run.adjoint(self._expanded(x), np.concatenate([bars, rest], axis=2))
        if self._follows:
            with jax.enable_x64(True):
                _, back = jax.vjp(self._derived, jnp.asarray(x))
                cotangents = np.stack([np.asarray(back(jnp.asarray(bar))[0]) for bar in cotangents])
        return cotangents[:, :, self._columns]

    def tangent(self, x: np.ndarray) -> np.ndarray:
        """Changes (P, B, O) of the outputs with each parameter; NaN where a run ended early."""
        dx = np.zeros((len(self.parameters), *x.shape))
        for k, column in enumerate(self._columns):
            dx[k, :, column] = 1.0
        if self._follows:
            with jax.enable_x64(True):
                dx = np.stack([np.asarray(jax.jvp(self._derived, (jnp.asarray(x),), (jnp.asarray(d),))[1]) for d in dx])
        changes = self._run.tangent(self._expanded(x), dx)[:, :, : self._places.stop]
        return np.where(self.outputs(x)[1][:, None] > 0, np.nan, changes)

    def _expanded(self, x: np.ndarray) -> np.ndarray:
        """The numbers (B, V') of the run: those of the study and what follows from them."""
        if not self._follows:
            return x
        with jax.enable_x64(True):
            return np.asarray(self._derived(jnp.asarray(x)))

    def _derived(self, x: Array) -> Array:
        columns, _ = derived(self.group.model, self._named(x), None, self._derive)
        return jnp.stack([columns[path] for path in self._full], axis=1)

    def _named(self, x: Array) -> dict[str, Array]:
        return {path: x[:, k] for k, path in enumerate(self.paths)}


def _of_poses(group: MemberGroup, names: Sequence[str], given: Options) -> DesignMetrics:
    """Members that are asked how far their joints go or what they reach, or are put where goals want them: all answer
    alike."""
    if group.kind == "travel":
        return TravelFunction(group.model, names, given, warns=False)
    if group.kind == "workspace":
        return of_kind("workspace", "SpaceFunction")(
            group.model, names, given, group.settings["workspace"], warns=False
        )
    goals, limits, tries = (group.settings.get(name) for name in OF_IK)
    function = of_kind("ik", "PoseStudyFunction")
    return function(group.model, names, given, goals or (), limits, tries or 1, warns=False)


def _of_run(group: MemberGroup, given: Mapping[str, Any]) -> Options:
    """The options of members that move in time; where nothing is recorded, only the ends are."""
    options = options_of(**given).changed(keep="none")
    if not given["channels"]:
        options = options.changed(output_step=options.numerics.span or group.model.settings.span)
    return options
