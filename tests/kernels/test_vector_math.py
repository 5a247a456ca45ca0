"""Vector sine and cosine against exact integer arithmetic."""

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from jax import lax

from shiftjax.kernels.llvm.objects import Loader, compile_text
from shiftjax.kernels.llvm.piece_code import piece_name, piece_text, support_text
from shiftjax.kernels.llvm.target import Target, host
from tests.support.models.sample_programs import DTYPE, piece

ULPS = 1.6  # asked for: 2
BITS = 1400  # of the oracle's fixed point: 1024 of the largest argument, 300 for what is left
DIGITS = {"f64": (53, -1074), "f32": (24, -149)}  # of a number, and the exponent of the smallest


def pi_scaled(bits: int) -> int:
    """pi 2^bits by the Gauss-Legendre iteration, independent of the library's Machin formula."""
    bits += 64
    a, b, t, p = 1 << bits, isqrt_scaled((1 << bits) // 2, bits), (1 << bits) // 4, 1
    for _ in range(12):
        new = (a + b) // 2
        b = isqrt_scaled(a * b >> bits, bits)
        t -= p * ((a - new) ** 2 >> bits)
        a, p = new, 2 * p
    return ((a + b) ** 2 // (4 * t)) >> 64


def isqrt_scaled(x: int, bits: int) -> int:
    """sqrt(x / 2^bits) 2^bits."""
    root = 1 << ((x.bit_length() + bits) // 2 + 1)
    while True:
        new = (root + (x << bits) // root) // 2
        if new >= root:
            return root
        root = new


PI = pi_scaled(BITS)


def exact(x: float) -> tuple[int, int]:
    """sin x and cos x times 2^BITS, by Taylor series after exact reduction."""
    value = Fraction(float(x))
    scaled = (value.numerator << BITS) // value.denominator
    quadrant = (2 * scaled + PI // 2) // PI
    r = (2 * scaled - quadrant * PI) // 2
    square = r * r >> BITS

    def series(term: int, n: int) -> int:
        total = term
        while abs(term) > 1:
            term = -(term * square >> BITS) // ((n + 1) * (n + 2))
            total, n = total + term, n + 2
        return total

    sin, cos = series(r, 1), series(1 << BITS, 0)
    return ((sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin))[quadrant % 4]


def ulps(found: float, wanted: int, precision: str) -> float:
    """|found - wanted| in units of the last place of `wanted`."""
    digits, least = DIGITS[precision]
    exponent = max(abs(wanted).bit_length() - BITS - digits, least)
    return float(abs(Fraction(float(found)) - Fraction(wanted, 1 << BITS)) / Fraction(2) ** exponent)


def targets() -> dict[str, Target]:
    """This host, half and twice its width, and the plainest processor of its kind."""
    found = {}
    for precision in ("f64", "f32"):
        here = host(precision)
        found[f"host-{precision}"] = here
        found[f"interleave-{precision}"] = Target(
            precision, here.width, here.fused, here.features, here.cpu, here.triple, 3
        )
        found[f"wide-{precision}"] = Target(precision, 2 * here.width, here.fused, here.features, here.cpu, here.triple)
        if here.triple.startswith("x86_64"):
            width = 2 if precision == "f64" else 4
            found[f"sse2-{precision}"] = Target(precision, width, False, "", "x86-64", here.triple)
    return found


TARGETS = targets()


class Machine:
    """sin and cos compiled for a target, called on any number of arguments."""

    def __init__(self, target: Target) -> None:
        self.target, self.dtype = target, DTYPE[target.precision]
        pair = piece("sin and cos", lambda x: (lax.sin(x), lax.cos(x)), (0,), (1, 2), target.precision)
        self.loader = Loader(target)
        for text in (support_text(target), piece_text(pair, target)):
            self.loader.add(compile_text(text, target, optimize=False))
        self.loader.finish()
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(self.loader.address(piece_name(pair)))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        width, lanes = self.target.width, self.target.lanes
        padded = np.resize(x.astype(self.dtype), -(-len(x) // width) * width)
        room = np.zeros(3 * lanes + 64, self.dtype)
        start = (-room.ctypes.data % 64) // room.itemsize
        slots = room[start : start + 3 * lanes].reshape(3, lanes)[:, :width]
        results = []
        for first in range(0, len(padded), width):
            slots[0] = padded[first : first + width]
            self.call(slots.ctypes.data, 1)
            results.append(slots[1:].copy())
        return np.hstack(results)[:, : len(x)]


@pytest.fixture(scope="module", params=TARGETS)
def machine(request) -> Machine:
    return Machine(TARGETS[request.param])


def arguments(kind: str, dtype: type) -> np.ndarray:
    """Arguments of one kind, exactly representable."""
    rng = np.random.default_rng(3)
    count, huge = 250, 300 if dtype is np.float64 else 38
    multiples = np.r_[np.arange(1, 60), rng.integers(60, 63000, 80)] * (np.pi / 2)
    return {
        "turn": rng.uniform(-2 * np.pi, 2 * np.pi, count),
        "small": 10 ** rng.uniform(-300 if dtype is np.float64 else -35, 0, count),
        "1e5": rng.uniform(-1e5, 1e5, count),
        "near multiples of pi/2": np.r_[multiples, -multiples],
        "above and below them": np.r_[
            np.nextafter(multiples.astype(dtype), dtype(0)), np.nextafter(multiples.astype(dtype), dtype(1e9))
        ],
        "either side of the limit": 2.0 ** rng.integers(16, 33, count) * rng.uniform(1, 2, count),
        "huge": 10 ** rng.uniform(5, huge, count) * rng.choice([-1, 1], count),
    }[kind].astype(dtype)


@pytest.mark.parametrize(
    "kind",
    ["turn", "small", "1e5", "near multiples of pi/2", "above and below them", "either side of the limit", "huge"],
)
def test_within_two_ulps(machine, kind):
    x = arguments(kind, machine.dtype)
    found = machine(x)
    for place, name in enumerate(("sin", "cos")):
        errors = [ulps(y, exact(v)[place], machine.target.precision) for v, y in zip(x, found[place], strict=True)]
        worst = int(np.argmax(errors))
        assert errors[worst] < ULPS, f"{name}({x[worst]!r}) is {errors[worst]:.2f} ulp off"


def test_the_hardest_double(machine):
    """6381956970095103 2^797 is nearer to a multiple of pi/2 than any other double (Muller, Elementary Functions)."""
    if machine.dtype is np.float64:
        x = np.array([6381956970095103.0 * 2.0**797])
        for place, y in enumerate(machine(x)[:, 0]):
            assert ulps(y, exact(x[0])[place], "f64") < ULPS


def test_special_values(machine):
    sin, cos = machine(np.array([0.0, -0.0, np.inf, -np.inf, np.nan]))
    assert list(sin[:2]) == [0.0, 0.0] and list(cos[:2]) == [1.0, 1.0]
    assert np.isnan(sin[2:]).all() and np.isnan(cos[2:]).all()


def test_odd_and_even(machine):
    """sin(-x) = -sin x and cos(-x) = cos x to the last bit."""
    x = np.r_[arguments("turn", machine.dtype), arguments("huge", machine.dtype)]
    plus, minus = machine(x), machine(-x)
    assert np.array_equal(minus, [-plus[0], plus[1]])


def test_neighbours_change_no_bit(machine):
    """A huge, infinite or undefined argument in the same vector leaves the others alone."""
    x = arguments("1e5", machine.dtype)
    clean = machine(x)
    for bad in (1e30, np.inf, np.nan):
        dirty = x.copy()
        dirty[:: machine.target.width] = bad
        kept = np.arange(len(x)) % machine.target.width != 0
        assert machine(dirty)[:, kept].tobytes() == clean[:, kept].tobytes()
