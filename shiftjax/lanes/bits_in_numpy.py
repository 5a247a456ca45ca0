"""Operations on the bits of numbers by NumPy, of which `kernels.elementary` makes functions. Host code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

INTEGERS = {8: np.int64, 4: np.int32}
STORED = {8: 52, 4: 23}  # bits of a significand that are stored
BIAS = {8: 1023, 4: 127}
LOW = {8: 27, 4: 12}  # bits that the first half of a number does without


def _bits(x: np.ndarray) -> np.ndarray:
    return x.view(INTEGERS[x.itemsize])


def power_of_two(k: Any) -> Any:
    """2^k of exponents of normal numbers, (B,) integers as float64 or float32."""
    k = np.asarray(k)
    size = k.itemsize
    return ((k.astype(INTEGERS[size]) + BIAS[size]) << STORED[size]).view(k.dtype)[()]


def exponent(x: Any) -> Any:
    """floor(log2 |x|) of normal numbers (B,), as the bits say it of others."""
    x = np.asarray(x)
    size = x.itemsize
    return (((_bits(x) >> STORED[size]) & (2 * BIAS[size] + 1)) - BIAS[size]).astype(x.dtype)[()]


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number as a sum of two of half as many bits."""
    low = LOW[x.itemsize]
    high = ((_bits(x) + (1 << (low - 1))) & -(1 << low)).view(x.dtype)
    return high, x - high


def fma(a: Any, b: Any, c: Any) -> Any:
    """a b + c of numbers (B,), with the exact product as a sum of two: Dekker, Numerische Mathematik 18 (1971), 224."""
    dtype = np.result_type(a, b, c)
    (a1, a2), (b1, b2) = (_halves(np.asarray(x, dtype)) for x in (a, b))
    product = np.multiply(a, b, dtype=dtype)
    return (product + c) + (((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "power_of_two": power_of_two,
    "exponent": exponent,
    "fma": fma,
    "copysign": np.copysign,
}
