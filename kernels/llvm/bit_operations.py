"""Operations on the bits of numbers as LLVM text, of which `kernels.elementary` makes functions."""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.kernels.llvm.vector_math import MAGIC, Writer

STORED = {"f64": 52, "f32": 23}  # bits of a significand that are stored
BIAS = {"f64": 1023, "f32": 127}
LOW = {"f64": 27, "f32": 12}  # bits that the first half of a number does without


def _bits(w: Writer, x: str) -> str:
    return w.line(f"bitcast {w.target.vector} {x} to {w.target.integers}")


def _number(w: Writer, bits: str) -> str:
    return w.line(f"bitcast {w.target.integers} {bits} to {w.target.vector}")


def _integer(w: Writer, name: str, bits: str, value: int) -> str:
    t = w.target
    return w.op(name, bits, f"splat ({t.integer} {value})", t.integers)


def power_of_two(w: Writer, k: str) -> str:
    """2^k: the last bits of k + BIAS + MAGIC, moved to where the exponent is."""
    precision = w.target.precision
    shifted = w.op("fadd", k, w.constant(MAGIC[precision] + BIAS[precision]))
    return _number(w, _integer(w, "shl", _bits(w, shifted), STORED[precision]))


def exponent(w: Writer, x: str) -> str:
    """The bits of the exponent as the last ones of 2^52 (f32: 2^23), less that and BIAS."""
    precision = w.target.precision
    stored, bias, start = STORED[precision], BIAS[precision], 2.0 ** STORED[precision]
    field = _integer(w, "and", _integer(w, "lshr", _bits(w, x), stored), 2 * bias + 1)
    raised = w.op("or", field, _bits(w, w.constant(start)), w.target.integers)
    return w.op("fsub", _number(w, raised), w.constant(start + bias))


def fma(w: Writer, a: str, b: str, c: str) -> str:
    """a b + c: a fused multiply-add, or with the product as a sum of two (Dekker, Numerische Mathematik 18, 1971)."""
    if w.target.fused:
        return w.fma(a, b, c)
    product = w.op("fmul", a, b)
    (a1, a2), (b1, b2) = _halves(w, a), _halves(w, b)
    total = w.op("fsub", w.op("fmul", a1, b1), product)
    for x, y in ((a1, b2), (a2, b1), (a2, b2)):
        total = w.op("fadd", total, w.op("fmul", x, y))
    return w.op("fadd", w.op("fadd", product, c), total)


def _halves(w: Writer, x: str) -> tuple[str, str]:
    """A number as a sum of two of half as many bits."""
    low = LOW[w.target.precision]
    rounded = _integer(w, "and", _integer(w, "add", _bits(w, x), 1 << (low - 1)), -(1 << low))
    high = _number(w, rounded)
    return high, w.op("fsub", x, high)


def copysign(w: Writer, magnitude: str, sign: str) -> str:
    """The first number with the sign bit of the second."""
    top, t = 1 << (63 if w.target.precision == "f64" else 31), w.target
    plain = _integer(w, "and", _bits(w, magnitude), top - 1)
    return _number(w, w.op("or", plain, _integer(w, "and", _bits(w, sign), -top), t.integers))


OPERATIONS: dict[str, Callable[..., str]] = {
    "power_of_two": power_of_two,
    "exponent": exponent,
    "fma": fma,
    "copysign": copysign,
}
