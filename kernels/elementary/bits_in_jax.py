"""Operations on the bits of numbers by JAX, of which `kernels.elementary` makes functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from shiftjax.lanes.bits_in_numpy import BIAS, INTEGERS, LOW, STORED


def _bits(x: Any) -> Any:
    return lax.bitcast_convert_type(x, INTEGERS[x.dtype.itemsize])


def power_of_two(k: Any) -> Any:
    """2^k of exponents of normal numbers."""
    size = k.dtype.itemsize
    return lax.bitcast_convert_type((k.astype(INTEGERS[size]) + BIAS[size]) << STORED[size], k.dtype)


def exponent(x: Any) -> Any:
    """floor(log2 |x|) of normal numbers, as the bits say it of others."""
    size = x.dtype.itemsize
    return (((_bits(x) >> STORED[size]) & (2 * BIAS[size] + 1)) - BIAS[size]).astype(x.dtype)


def _halves(x: Any) -> tuple[Any, Any]:
    """A number as a sum of two of half as many bits."""
    low = LOW[x.dtype.itemsize]
    high = lax.bitcast_convert_type((_bits(x) + (1 << (low - 1))) & -(1 << low), x.dtype)
    return high, x - high


def fma(a: Any, b: Any, c: Any) -> Any:
    """a b + c, with the exact product as a sum of two: Dekker, Numerische Mathematik 18 (1971), 224."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    product = lax.optimization_barrier(a * b)  # else XLA may fuse it with the difference, to a1 b1 - (a b exactly)
    return (product + c) + (((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "power_of_two": power_of_two,
    "exponent": exponent,
    "fma": fma,
    "copysign": jnp.copysign,
}
