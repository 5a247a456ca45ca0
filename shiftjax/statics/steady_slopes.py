"""Steady motions of numbers that JAX traces, with first derivatives in both modes.

The host searches where the independent coordinates stand, as ever: a(q, p) = 0 has the slopes dq = -a_q^-1 a_p dp, as
an implicit function. The matrices of small motions, and what is recorded, are answers of a configuration, whose slopes
are those along both changes with loops closed (`Configuration.along`); nothing is compiled. What follows of them,
frequencies, JAX computes and differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.access.configuration import Configuration
from shiftjax.gradients.doubts import doubts_of, warn
from shiftjax.record import record
from shiftjax.statics.side_by_side import SideBySide

Array = Any  # of JAX, traced
HELD = 1e-11  # of the largest singular value of a_q: a motion that has less has no slope
NONE = "a motion about it is held by nothing, so that its place has no slope"
# Of a configuration, what small motions are made of, as it is asked.
MATRICES: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]] = {
    "M": (("mass_matrix",), {"constrained": True}),
    "by_place": (("derivative", "accelerations"), {"wrt": "q", "closed": True}),
    "by_speed": (("derivative", "accelerations"), {"wrt": "v", "closed": True}),
}


@record
class SteadyState:
    """Where members stand while drivers move them.

    Attributes:
        at: the configuration, of B members. rows: of the speeds of the independent coordinates. status: (B,).
    """

    at: Configuration
    rows: tuple[int, ...]
    status: np.ndarray


@dataclass
class HostSteady(SideBySide[str]):
    """`gradients.transforms.Differentiable` of the varied numbers (B, P) to what `parts` has, side by side (B, M).

    Attributes:
        search: where members with given numbers stand. paths: of the numbers. channels: that are recorded. drawn: the
            state of the model's own numbers.
    """

    search: Callable[[Mapping[str, np.ndarray]], SteadyState]
    paths: tuple[str, ...]
    channels: Sequence[str]
    drawn: SteadyState
    _last: tuple[bytes, SteadyState] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        plain = [one.path for one in self.drawn.at.plan.coordinates if one.plain]
        self.coordinates = tuple(plain)
        self.asked = dict(MATRICES)
        self.asked |= {f"{what} {path}": (("channel", f"{path}.{what}"), {}) for path in plain for what in "qv"}
        self.asked |= {f"channel {path}": (("channel", path), {}) for path in self.channels}
        self.shapes = {name: self._answer(self.drawn.at, name).shape for name in self.asked}
        self.outputs = sum(int(np.prod(shape)) for shape in self.shapes.values()) + 1

    def run(self, x: np.ndarray) -> np.ndarray:
        """(B, M) of (B, P); NaN where there is no steady motion."""
        there = self._at(x)
        rows = [self._answer(there.at, name).reshape(len(x), -1) for name in self.asked]
        out = np.concatenate([*rows, there.status[:, None]], axis=1).astype(float)
        out[there.status > 0, :-1] = np.nan
        return out

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """(B, M) of (B, P) and as many changes."""
        there, moved = self._at(x), (dx != 0.0).any(1)
        slopes, sound = self._slopes(x)
        self._say(moved & ~sound)
        places = np.where(sound[:, None], (slopes @ dx[:, :, None])[:, :, 0], 0.0)
        numbers = {path: dx[:, k] for k, path in enumerate(self.paths)}
        rows = [self._answer(there.at, name, places=places, numbers=numbers).reshape(len(x), -1) for name in self.asked]
        out = np.concatenate([*rows, np.zeros((len(x), 1))], axis=1)
        out[moved & ~sound, :-1] = np.nan
        return np.where(moved[:, None], out, 0.0)

    def _answer(self, at: Configuration, name: str, **along: Any) -> np.ndarray:
        """A part, or its slope along displacements and changes of numbers."""
        (method, *args), options = self.asked[name]
        value = at.along(method, *args, **along, **options) if along else getattr(at, method)(*args, **options)
        return np.asarray(value)[..., list(self.drawn.rows), :] if name.startswith("by_") else np.asarray(value)

    def _slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, n, P) of the independent places, and (B,) whether they have any."""
        there, rows = self._at(x), list(self.drawn.rows)
        stiff, ask = self._answer(there.at, "by_place"), there.at.derivative
        by_number = np.stack(
            [np.asarray(ask("accelerations", wrt=path, closed=True))[:, rows] for path in self.paths], axis=2
        )
        good = (there.status <= 0) & np.isfinite(stiff).all((1, 2)) & np.isfinite(by_number).all((1, 2))
        stiff, by_number = (np.where(good[:, None, None], a, 0.0) for a in (stiff, by_number))
        sizes = np.linalg.svd(stiff, compute_uv=False)
        good &= sizes.min(1, initial=np.inf) > HELD * sizes.max(1, initial=0.0)
        return -np.linalg.solve(np.where(good[:, None, None], stiff, np.eye(len(rows))), by_number), good

    def _say(self, lost: np.ndarray) -> None:
        if lost.any():
            calm, count = np.zeros(len(lost), int), len(lost)
            texts = [NONE if status <= 0 else "" for status in self._last[1].status] if self._last else [""] * count
            warn(doubts_of(lost, texts, calm, calm, [""] * count, np.ones(count), "f64"))

    def _at(self, x: np.ndarray) -> SteadyState:
        """Of these numbers; the last is remembered."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self.search({path: x[:, k].copy() for k, path in enumerate(self.paths)})
        return self._last[1]


def traced_eigenvalues(by_place: Array, by_speed: Array) -> Array:
    """(B, 2 n) of y'' = a_q y + a_v y', slowest first."""
    B, n = by_place.shape[:2]
    upper = jnp.concatenate([jnp.zeros((B, n, n)), jnp.broadcast_to(jnp.eye(n), (B, n, n))], axis=2)
    values = jnp.linalg.eigvals(jnp.concatenate([upper, jnp.concatenate([by_place, by_speed], 2)], 1))
    known = jax.lax.stop_gradient(values)
    order = jnp.lexsort((known.real, known.imag, jnp.abs(known).round(9)), axis=-1)
    return jnp.take_along_axis(values, order, 1)
