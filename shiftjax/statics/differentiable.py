"""Equilibria and small motions about them as functions that JAX differentiates in both modes.

The host searches the equilibria, as ever, and gives coordinates, states of forces, and the matrices of small motions on
independent coordinates; their slopes are those of implicit functions (`slopes`), so that nothing is taped. What follows
of them, frequencies and shapes, JAX computes and differentiates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.access.configuration import configuration
from shiftjax.gradients.derived import derived
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.transforms import differentiable
from shiftjax.measures.channels import channels
from shiftjax.mechanism.model import Model
from shiftjax.run.derive import full_path
from shiftjax.run.options import Options
from shiftjax.statics.at_rest import AtRest, Linear
from shiftjax.statics.independent import independent_speeds
from shiftjax.statics.search import Search
from shiftjax.statics.side_by_side import SideBySide
from shiftjax.statics.slopes import matrices, matrix_slopes, tangent

Array = Any  # of JAX, traced
BEFORE = ("q", "states", "potential")  # parts that stand before the status


@dataclass
class HostRest(SideBySide[str]):
    """`gradients.transforms.Differentiable` of the varied numbers (B, P) to what `parts` has, side by side (B, M).

    Attributes:
        model, given: what was asked. paths: of the numbers. unstable: as of `Search`. named: independent
            coordinates. file: the search at the model's own numbers.
    """

    model: Model
    given: Options
    paths: tuple[str, ...]
    unstable: bool
    named: Sequence[str]
    _last: tuple[bytes, Search] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.file = Search(unstable=self.unstable)
        self.file_result = self.file.result(self.model, self.given)
        plan, k = self.file.prepared.plan, self.file.squared.shape[1]
        self.speeds = independent_speeds(self.file, self.named)
        n = 2 * k + plan.ns
        self.shapes = {"q": (plan.nq,), "states": (plan.ns,), "potential": (), "status": (), "motions": (plan.nv, k),
                       "M": (k, k), "first_order": (k + plan.ns, n)}  # fmt: skip
        self.outputs = sum(int(np.prod(shape)) for shape in self.shapes.values())

    def run(self, x: np.ndarray) -> np.ndarray:
        """(B, M) of (B, P); NaN where there is no equilibrium."""
        search = self._search(x)
        out = np.full((len(x), self.outputs), np.nan)
        for members, _, linear in self._groups(search):
            parts = matrices(linear, np.asarray(search.prepared.file_lane().units), self.speeds)
            q, states = search.q[:, members].T, search.states[:, members].T
            calm = np.zeros(len(members))
            out[members] = _rows(q, states, linear.potential, calm, parts.motions, parts.M, parts.first_order)
        out[:, sum(int(np.prod(self.shapes[name])) for name in BEFORE)] = self._status
        return out

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """(B, M) of (B, P) and as many changes."""
        search = self._search(x)
        out = np.full((len(x), self.outputs), np.nan)
        places = dict(zip(search.prepared.vary, search.prepared.places, strict=True))
        for members, rest, linear in self._groups(search):
            numbers = {places[path]: dx[members, k].copy() for k, path in enumerate(self.paths) if dx[members, k].any()}
            q, states = search.q[:, members], search.states[:, members]
            if not numbers:
                out[members] = 0.0
                continue
            change = tangent(rest, q, states, linear, numbers)
            parts = matrix_slopes(rest, q, states, linear, change, self.speeds)
            rates = rest.coordinate_rates(q, change.motion.T * rest.units[:, None])
            potential = rest.potential_slopes(q, states, change)
            calm = np.zeros(len(members))
            out[members] = _rows(rates.T, change.states.T, potential, calm, parts.motions, parts.M, parts.first_order)
        return out

    def _search(self, x: np.ndarray) -> Search:
        """The search of these numbers; the last one is remembered."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            search = Search(unstable=self.unstable)
            vary = {path: x[:, k].copy() for k, path in enumerate(self.paths)}
            self._status = search.result(self.model, self.given.changed(vary=vary)).status
            self._last = key, search
        return self._last[1]

    def _groups(self, search: Search) -> list[tuple[np.ndarray, AtRest, Linear]]:
        """Members that stand in equilibrium, with as many freedoms as the file's model has."""
        out, good = [], search.still & (np.atleast_1d(self._status) <= 0)
        for group, linear in search.linear:
            rows = np.flatnonzero(good[group])
            if len(rows) and linear.K.shape[1] == len(self.speeds):
                members = group[rows]
                out.append((members, search.rest(members), linear.some(rows)))
        return out


def _rows(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def any_traced(given: Options) -> bool:
    """Whether JAX traces a varied number."""
    return any(is_traced(values) for values in (given.design.vary or {}).values())


@dataclass
class TracedRest:
    """Equilibria of numbers that JAX traces.

    Attributes:
        host: the function. design: full path -> (B,). y: part -> (B, ...), as of `HostRest`.
    """

    host: HostRest
    design: Mapping[str, Array]
    y: Mapping[str, Array]

    @classmethod
    def of(cls, model: Model, given: Options, *, unstable: bool, named: Sequence[str] = ()) -> TracedRest:
        """Of a model whose `vary` has traced numbers."""
        known, assign = model.numbers(), given.design.assign
        design = {full_path(model, path, known): jnp.atleast_1d(jnp.asarray(values, float))
                  for path, values in (given.design.vary or {}).items()}  # fmt: skip
        with jax.ensure_compile_time_eval():
            if given.design.derive or model.expressions:
                design, assign = derived(model, design, assign, given.design.derive or {})
            plain = given.changed(vary=None, derive=None, assign=assign, channels=(), keep="none")
            host = HostRest(model, plain, tuple(design), unstable, named)
        y = differentiable(host)(jnp.stack([*design.values()], axis=1))
        return cls(host, design, host.parts(y))

    @property
    def status(self) -> Array:
        """(B,) `Outcome` of every member."""
        return jax.lax.stop_gradient(self.y["status"]).astype(int)

    def recorded(self, model: Model, given: Options) -> tuple[dict[str, Array], dict[str, str]]:
        """Channels (B, ...) at the equilibria, without speeds, and their units."""
        paths = given.recording.channels
        if not paths:
            return {}, {}
        with jax.ensure_compile_time_eval():
            known = model.replace(dict(self.host.given.design.assign or {})).numbers()
            at = configuration(
                model, vary={path: known[path] for path in self.design}, assign=self.host.given.design.assign,
                drive=given.motion.drive, tie=given.motion.tie,
            )  # fmt: skip
            units = {one.path: one.unit for one in channels(at.plan, paths, model.resolve)}

        def of_one(path: str) -> Array:
            asked = at.function("channel", path)
            return jax.vmap(lambda q, states, numbers: asked(q, None, numbers, states=states))(
                self.y["q"], self.y["states"], dict(self.design)
            )

        return {path: of_one(path) for path in paths}, units

    @property
    def condensed(self) -> tuple[Array, Array, Array]:
        """M, C, K (B, k, k), where states of forces follow at once."""
        k, whole = len(self.host.speeds), self.y["first_order"]
        following = whole[:, :k, : 2 * k]
        if whole.shape[1] > k:
            inner = jnp.linalg.pinv(whole[:, k:, 2 * k :])
            following = following - whole[:, :k, 2 * k :] @ inner @ whole[:, k:, : 2 * k]
        return self.y["M"], -following[:, :, k:], -following[:, :, :k]

    def natural(self) -> tuple[Array, Array]:
        """Squared frequencies (B, k), and independent speeds of the modes, of unit mass, as columns (B, k, k)."""
        M, _, K = self.condensed
        half = jnp.linalg.inv(jnp.linalg.cholesky(M))
        A = half @ K @ jnp.swapaxes(half, 1, 2)
        squares, Q = jnp.linalg.eigh(0.5 * (A + jnp.swapaxes(A, 1, 2)))
        return squares, jnp.swapaxes(half, 1, 2) @ Q
