"""What elementary functions are made of, on lane values: four operations on bits, and a few lines that all share.

Each operation is one to four instructions of integers or bits: `kernels.llvm.bit_operations` writes them,
`lanes.in_numpy` and `graph_in_jax` have them as functions of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from shiftjax.algebra import LaneValue, Scalar, select
from shiftjax.record import record


@record
class Format:
    """A format of floating-point numbers: significant bits, exponents of the largest and the least normal number."""

    bits: int
    most: int
    least: int

    @property
    def magic(self) -> float:
        """Adding it rounds a number to an integer, as long as that is below a quarter of it."""
        return 1.5 * 2.0 ** (self.bits - 1)


FORMATS = {"f64": Format(53, 1023, -1022), "f32": Format(24, 127, -126)}


def _operation(name: str, *values: Scalar) -> LaneValue:
    graph = next(value.graph for value in values if type(value) is LaneValue)
    refs = (value.ref if type(value) is LaneValue else graph.literal(value) for value in values)
    return LaneValue(graph, graph.node(name, *refs))


def power_of_two(k: LaneValue) -> LaneValue:
    """2^k for an integer k that is the exponent of a normal number; of any other k some number, or NaN."""
    return _operation("power_of_two", k)


def exponent(x: LaneValue) -> LaneValue:
    """floor(log2 |x|) of a normal number; one below the least exponent of zero, one above the largest of inf, NaN."""
    return _operation("exponent", x)


def exact_product_plus(a: Scalar, b: Scalar, c: Scalar) -> LaneValue:
    """a b + c of the exact product; rounded once where c takes the leading digits away, nearly so elsewhere."""
    return _operation("fma", a, b, c)


def with_sign(magnitude: Scalar, sign: LaneValue) -> LaneValue:
    """|magnitude| with the sign bit of another number, which zeros have, too."""
    return _operation("copysign", magnitude, sign)


def nearest(x: Scalar, of: Format) -> Scalar:
    """The nearest integer, of two the even one."""
    return (x + of.magic) - of.magic


def polynomial(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """Horner's rule, highest power first."""
    return reduce(lambda total, c: total * x + c, coefficients[1:], coefficients[0])


def clamped(x: Scalar, low: float, high: float) -> Scalar:
    """x between two bounds; NaN stays."""
    x = select(x < low, low, x)
    return select(x > high, high, x)


def either(a: LaneValue, b: LaneValue) -> LaneValue:
    """Whether one of two comparisons holds."""
    return _operation("or", a, b)


def equal(a: Scalar, b: Scalar) -> Scalar:
    """Whether two numbers are equal."""
    return a == b if type(a) is type(b) is float else _operation("eq", a, b)
