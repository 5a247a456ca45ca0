"""Bounded numbers as functions of free ones or places in a box, and functions of one member for many. Run-time, JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = Any  # of JAX, or NumPy
BLOCK = 64  # members of one call of a compiled function
# Tiny functions, called once an iteration: what counts is how fast XLA compiles them. A step of L-BFGS takes 0.2 s of
# processor time with these and 1.4 s without, each call of it 0.3 ms and 0.2 ms.
OPTIONS = {
    "cpu": {
        "xla_cpu_use_fusion_emitters": False,
        "xla_backend_optimization_level": 0,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
}
INSIDE = 1e-3  # a start at a bound, where nothing changes with the free number, is moved inside by this share


class Space:
    """Numbers x (P,) of free ones z (P,): low + (high - low) / (1 + exp(-z)) between two bounds,
    low + s log(1 + exp(z)) above one, high - s log(1 + exp(z)) below one, s z where there is none.

    Args:
        low, high: (P,), infinite where there is no bound. scale: (P,) s, of the size of the numbers' changes.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, scale: np.ndarray) -> None:
        self.low, self.high, self.scale = low, high, scale
        self._above, self._below = np.isfinite(low), np.isfinite(high)
        self._both = self._above & self._below
        self._low, self._high = np.where(self._above, low, 0.0), np.where(self._below, high, 0.0)

    def numbers(self, z: Array) -> Array:
        """x (..., P) of z (..., P)."""
        soft = self.scale * jax.nn.softplus(z)
        between = self._low + (self._high - self._low) * jax.nn.sigmoid(z)
        one_sided = jnp.where(self._above, self._low + soft, self._high - soft)
        free = jnp.where(self._above | self._below, one_sided, self.scale * z)
        return jnp.clip(jnp.where(self._both, between, free), self.low, self.high)  # rounding may leave the bounds

    def slopes(self, z: Array) -> Array:
        """dx/dz (..., P) of each number."""
        soft = self.scale * jax.nn.sigmoid(z)
        between = (self._high - self._low) * jax.nn.sigmoid(z) * jax.nn.sigmoid(-z)
        free = jnp.where(self._above, soft, jnp.where(self._below, -soft, self.scale))
        return jnp.where(self._both, between, free)

    def free(self, x: np.ndarray) -> np.ndarray:
        """z (..., P) of x (..., P); what is at a bound or beyond is moved inside."""
        with np.errstate(all="ignore"):
            share = np.clip((x - self._low) / (self._high - self._low), INSIDE, 1 - INSIDE)
            away = np.where(self._above, x - self._low, self._high - x) / self.scale
            away = np.maximum(away, INSIDE)
            one_sided = away + np.log(-np.expm1(-away))
            free = np.where(self._above | self._below, one_sided, x / self.scale)
            return np.where(self._both, np.log(share) - np.log1p(-share), free)


class BoxSpace:
    """Numbers x (P,) measured from a bound in parts of the distance of the bounds, u (P,): x = origin + size u, with
    lower <= u <= upper. Methods that project keep to it, and their designs may stand at a bound.

    Args:
        low, high: (P,), infinite where there is no bound. scale: (P,) the size of numbers without two bounds.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, scale: np.ndarray) -> None:
        self.low, self.high = low, high
        above, below = np.isfinite(low), np.isfinite(high)
        both = above & below
        self._origin = np.where(above, low, np.where(below, high, 0.0))
        self._size = np.where(both, np.where(both, high, 1.0) - np.where(both, low, 0.0), scale)
        self.lower = np.where(above, 0.0, -np.inf)
        self.upper = np.where(both, 1.0, np.where(below, 0.0, np.inf))

    def numbers(self, u: Array) -> Array:
        """x (..., P) of u (..., P); at the bounds to the last bit."""
        x = self._origin + self._size * u
        return jnp.where(
            u <= self.lower, self.low, jnp.where(u >= self.upper, self.high, jnp.clip(x, self.low, self.high))
        )

    def slopes(self, u: Array) -> Array:
        """dx/du (..., P)."""
        return jnp.broadcast_to(self._size, jnp.shape(u))

    def free(self, x: np.ndarray) -> np.ndarray:
        """u (..., P) of x (..., P); what is beyond a bound is moved to it."""
        return np.clip((x - self._origin) / self._size, self.lower, self.upper)

    def inside(self, u: Array) -> Array:
        """The nearest place in the box."""
        return jnp.clip(u, self.lower, self.upper)

    def projected(self, u: Array, gradient: Array) -> Array:
        """The way (P,) down that stays in the box, max and min of the bounds and u - gradient: 0 at an optimum only."""
        return self.inside(u - gradient) - u


class MemberwiseFunction:
    """A function of the arrays of one member, compiled once and called member by member, so that no bit of what one
    member gives depends on the others or on how many there are.

    Args:
        function: of arrays of one member, in nested tuples or dicts.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        options = OPTIONS.get(jax.default_backend())
        self._mapped = jax.jit(lambda rows: jax.lax.map(lambda row: function(*row), rows), compiler_options=options)

    def __call__(self, *rows: Any) -> Any:
        """What the function gives, with the axis (N,) of members in front of all its arrays, in NumPy."""
        members = len(jax.tree.leaves(rows)[0])
        blocks = []
        # Optax mixes types and shapes, which strict settings of a caller's JAX refuse.
        with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            for first in range(0, members, BLOCK):
                which = np.minimum(np.arange(first, first + BLOCK), members - 1)
                some = jax.tree.map(lambda values, which=which: np.asarray(values)[which], rows)
                count = min(BLOCK, members - first)
                blocks.append(jax.tree.map(lambda values, count=count: np.asarray(values)[:count], self._mapped(some)))
        return jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)
