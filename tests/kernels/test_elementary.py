"""Elementary functions written out: within 2 ulp, without a library, the same for every width of vectors."""

import ctypes
import functools
import struct
from typing import Any

import jax
import mpmath
import numpy as np
import pytest

from shiftjax.algebra import LaneValue
from shiftjax.kernels import graph_in_jax
from shiftjax.kernels.elementary.expansion import FUNCTIONS, expanded
from shiftjax.kernels.elementary.lane_bits import exact_product_plus, exponent, power_of_two, with_sign
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.objects import Loader, compile_text
from shiftjax.kernels.llvm.piece_code import piece_name, piece_text, support_text
from shiftjax.kernels.llvm.target import Target, host
from shiftjax.kernels.llvm.vector_math import reduce_name
from shiftjax.lanes import bits_in_numpy
from shiftjax.lanes.code import Code
from shiftjax.lanes.graph import Graph, without_dead_code
from tests.support.graphs import OPERATIONS, evaluate
from tests.support.models.sample_programs import DTYPE

ULPS = 2.0  # asked for; measured at a million arguments each: 1.7
UNARY = [name for name in FUNCTIONS if name not in ("pow", "atan2")]
POWERS = (-0.2, 1.5, -3.0, 4.0, 0.0)  # known exponents, for which less is written
NAMES = [*UNARY, "atan2", "pow", *(f"pow {n}" for n in POWERS), "atan2 1.0"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -2.5, np.inf, -np.inf, np.nan]


def all_functions(precision: str) -> Graph:
    """Every function of two inputs x, y, or of x; in the order of `NAMES`."""
    graph = Graph(signed_zeros=True, single=precision == "f32")
    x, y = (graph.node("in", k) for k in range(2))
    graph.outputs = [graph.node(name, x) for name in UNARY] + [graph.node("atan2", y, x), graph.node("pow", x, y)]
    graph.outputs += [graph.node("pow", x, graph.literal(number)) for number in POWERS]
    graph.outputs += [graph.node("atan2", x, graph.literal(1.0))]
    return graph


class Machine:
    """All functions compiled for a target, called on any number of arguments."""

    def __init__(self, target: Target) -> None:
        self.target, self.dtype, outputs = target, DTYPE[target.precision], len(NAMES)
        code = Code(lambda: all_functions(target.precision))
        piece = Piece("functions", code, (0, 1), tuple(range(2, 2 + outputs)))
        texts = (support_text(target), piece_text(piece, target))
        self.codes = [compile_text(text, target, optimize=False) for text in texts]
        self.loader = Loader(target)
        for code in self.codes:
            self.loader.add(code)
        self.loader.finish()
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(self.loader.address(piece_name(piece)))

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        lanes, count = self.target.lanes, len(NAMES) + 2
        padded = [np.resize(v.astype(self.dtype), -(-len(v) // lanes) * lanes) for v in (x, y)]
        room = np.zeros(count * lanes + 64, self.dtype)
        start = (-room.ctypes.data % 64) // room.itemsize
        slots, results = room[start : start + count * lanes].reshape(count, lanes), []
        for first in range(0, len(padded[0]), lanes):
            slots[0], slots[1] = (v[first : first + lanes] for v in padded)
            self.call(slots.ctypes.data, self.target.interleave)
            results.append(slots[2:].copy())
        return np.hstack(results)[:, : len(x)]


def targets() -> dict[str, Target]:
    """This host, and the plainest processor of its kind, which has no fused multiply-adds."""
    chosen = {}
    for precision in ("f64", "f32"):
        here = chosen[f"host-{precision}"] = host(precision)
        if here.triple.startswith("x86_64"):
            width = 2 if precision == "f64" else 4
            chosen[f"sse2-{precision}"] = Target(precision, width, False, "", "x86-64", here.triple)
    return chosen


TARGETS = targets()


@functools.cache
def machine(name: str) -> Machine:
    return Machine(TARGETS[name])


@pytest.fixture(params=TARGETS)
def compiled(request) -> Machine:
    return machine(request.param)


@functools.cache
def arguments(precision: str) -> tuple[np.ndarray, np.ndarray]:
    """Finite x and y of every magnitude, and where functions have their corners."""
    rng, dtype = np.random.default_rng(5), DTYPE[precision]
    of, n = np.finfo(dtype), 150
    sign = rng.choice([-1.0, 1.0], (6, n))
    least, most = np.log10(float(of.smallest_subnormal)), np.log10(float(of.max))
    magnitudes = sign[0] * 10.0 ** rng.uniform(least, most, n)
    ends = {"f64": (-745.2, 709.8, 710.5), "f32": (-104.0, 88.8, 89.5)}[precision]
    corners = [0.4375, 0.5, 0.625, 0.6875, 2.0**-0.5, 1.0, 1.5**0.5, 2.0**0.5, 3.0**0.5, 1 + 2**0.5, 9.0, 20.0]
    around = [np.nextafter(dtype(c), dtype(to)) for c in corners for to in (0, 99)] + corners
    x = np.r_[
        magnitudes,
        rng.uniform(-1.0, 1.0, 2 * n),
        1.0 + sign[1] * 10.0 ** rng.uniform(np.log10(of.eps), -0.3, n),
        rng.uniform(-30.0, 30.0, n),
        rng.uniform(ends[0], ends[1], n),
        rng.integers(-200, 200, n) * (np.log(2.0) / 2),
        [end + d for end in ends for d in (-0.4, 0.0, 0.4)],
        around,
        np.negative(around),
        [of.max, of.tiny, of.smallest_subnormal, 3 * of.smallest_subnormal, -of.max, -of.tiny],
    ].astype(dtype)
    with np.errstate(all="ignore"):
        whole = ends[1] * rng.uniform(-1.06, 1.0, len(x)) / np.log(np.abs(x.astype(float)))  # x^y of every magnitude
    y = np.where(rng.random(len(x)) < 0.7, whole, np.rint(rng.uniform(-9, 9, len(x))))
    with np.errstate(over="ignore"):
        near = x * 10.0 ** rng.uniform(-2.0, 2.0, len(x))  # angles of every size
        y = np.where(rng.random(len(x)) < 0.3, near, y).astype(dtype)
    finite = np.isfinite(y) & (y != 0.0)
    return x[finite], y[finite]


@functools.cache
def exact(precision: str) -> tuple[np.ndarray, np.ndarray]:
    """For every function the nearest number, and what is left of the exact value in ulps; NaN where none is real."""
    x, y = arguments(precision)
    nearest, rest = np.empty((len(NAMES), len(x)), DTYPE[precision]), np.zeros((len(NAMES), len(x)))
    with mpmath.workprec(120), np.errstate(over="ignore"):
        for k, name in enumerate(NAMES):
            for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
                value = real_value(name, mpmath.mpf(a), mpmath.mpf(b), precision)
                nearest[k, i] = np.nan if value is None else value
                if np.isfinite(nearest[k, i]) and value:
                    unit = mpmath.mpf(2) ** ulp_exponent(value, precision)
                    rest[k, i] = (value - mpmath.mpf(float(nearest[k, i]))) / unit
    return nearest, rest


def real_value(name: str, x: Any, y: Any, precision: str) -> Any:
    """The exact value; None where there is none."""
    if name.startswith("pow"):
        y = mpmath.mpf(float(DTYPE[precision](name.split()[1]))) if " " in name else y
        if x < 0 and y != mpmath.floor(y):
            return None
        return x**y
    if (name == "log" and x < 0) or (name in ("asin", "acos") and abs(x) > 1):
        return None
    if name == "atan2 1.0":
        return mpmath.atan(x)
    return mpmath.atan2(y, x) if name == "atan2" else getattr(mpmath, name)(x)


def ulp_exponent(value: Any, precision: str) -> int:
    """The exponent of a unit in the last place of a number."""
    of = np.finfo(DTYPE[precision])
    return max(int(mpmath.frexp(value)[1]) - 1, int(of.minexp)) - int(of.nmant)


@pytest.mark.parametrize("name", NAMES)
def test_within_two_ulps(compiled, name):
    """Over the whole range, into the numbers of few digits and to infinity."""
    precision = compiled.target.precision
    x, y = arguments(precision)
    number = NAMES.index(name)
    results = compiled(x, y)[number]
    nearest, rest = (values[number] for values in exact(precision))
    undefined = np.isnan(nearest)
    assert np.array_equal(np.isnan(results), undefined)
    with np.errstate(invalid="ignore"):
        _, exponents = np.frexp(nearest)
        of = np.finfo(compiled.dtype)
        units = np.ldexp(1.0, np.maximum(exponents - 1, of.minexp) - of.nmant)
        errors = np.abs((results.astype(float) - nearest.astype(float)) / units - rest)
    infinite = np.isinf(nearest)
    errors = np.where(infinite, np.where(results == nearest, 0.0, np.inf), errors)
    worst = int(np.argmax(np.where(undefined, 0.0, errors)))
    assert errors[worst] < ULPS, f"{name}({x[worst]!r}, {y[worst]!r}) is {errors[worst]:.2f} ulp off"


def test_special_values(compiled):
    """Zeros of both signs, infinities, NaN and whole exponents give what C99 says, as NumPy has it."""
    x, y = (v.ravel() for v in np.meshgrid(SPECIAL, SPECIAL))
    results, numpy_names = (
        compiled(x, y),
        {"atan2 1.0": "arctan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"},
    )
    with np.errstate(all="ignore"):
        for name, ours in zip(NAMES, results, strict=True):
            if name.startswith("pow"):
                wanted = np.power(x, DTYPE[compiled.target.precision](name.split()[1]) if " " in name else y)
            else:
                function = getattr(np, numpy_names.get(name, name))
                wanted = function(y, x) if name == "atan2" else function(x)
            np.testing.assert_allclose(ours, wanted, rtol=4 * np.finfo(compiled.dtype).eps, err_msg=name)
            zeros = wanted == 0.0
            assert np.array_equal(np.signbit(ours[zeros]), np.signbit(wanted[zeros])), name


def undefined_symbols(code: bytes) -> set[str]:
    """What an object of the Executable and Linkable Format wants from others."""
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count, _ = struct.unpack_from("<HHH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    names = set()
    for section in sections:
        if section[1] == 2:  # a table of symbols; its strings are in the section that it links to
            strings = sections[section[6]][4]
            for place in range(section[4], section[4] + section[5], section[9]):
                name, _, _, where = struct.unpack_from("<IBBH", code, place)
                if where == 0 and name:
                    names.add(code[strings + name : code.index(b"\0", strings + name)].decode())
    return names


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_compiled_code_calls_no_library(precision):
    here = machine(f"host-{precision}")
    if here.codes[0][:4] != b"\x7fELF":
        pytest.skip("symbols are read of ELF objects")
    graph = Graph(signed_zeros=True)
    x = graph.node("in", 0)
    graph.outputs = [graph.sin(graph.node(name, x)) for name in ("floor", "ceil", "sqrt", *UNARY)]
    piece = Piece("calls", Code(lambda: graph), (0,), tuple(range(1, 1 + len(graph.outputs))))
    code = compile_text(piece_text(piece, here.target), here.target, optimize=False)
    assert undefined_symbols(code) == {reduce_name(here.target)}  # of sines, which we write
    assert not undefined_symbols(here.codes[0]) and not undefined_symbols(here.codes[1])


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_no_bit_depends_on_the_width_of_vectors(precision):
    here = machine(f"host-{precision}")
    x, y = arguments(precision)
    wanted, t = here(x, y), here.target
    for width, interleave in ((t.width // 2, 1), (2 * t.width, 1), (t.width, 3)):
        other = Machine(Target(precision, width, t.fused, t.features, t.cpu, t.triple, interleave))
        assert other(x, y).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_compiled_code_numpy_and_jax_agree_to_the_last_bit(precision):
    """Where multiply-adds are not fused; JAX a few of them, on numbers that it does not take for zero."""
    if f"sse2-{precision}" not in TARGETS:
        pytest.skip("there is no such processor of this kind")
    x, y = (v[::2] for v in arguments(precision))
    graph, dtype = expanded(all_functions(precision), precision), DTYPE[precision]
    ours = machine(f"sse2-{precision}")(x, y)
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        for name, function in bits_in_numpy.OPERATIONS.items():
            patch.setitem(OPERATIONS, name, function)
        np.testing.assert_array_equal(evaluate(graph, (x, y), dtype), ours)
    normal = (np.abs(ours) > np.sqrt(np.finfo(dtype).tiny)).all(axis=0) & (np.abs(x) > 1e-3) & (np.abs(y) > 1e-3)
    assert normal.sum() > 50
    some = [NAMES.index(name) for name in ("exp", "atan2", "pow 1.5")]  # which take every operation on bits
    graph.outputs = [graph.outputs[k] for k in some]
    graph = without_dead_code(graph)
    with jax.enable_x64(True):
        by_jax = graph_in_jax.evaluate(graph, (jax.numpy.asarray(x[normal]), jax.numpy.asarray(y[normal])), dtype)
    np.testing.assert_array_equal(np.stack(by_jax), ours[some][:, normal])


@pytest.mark.parametrize("name", ["power_of_two", "exponent", "fma", "copysign"])
def test_bit_operations(name):
    """Against `ldexp`, `frexp` and exact fractions."""
    rng = np.random.default_rng(7)
    for dtype in DTYPE.values():
        a, b = (rng.uniform(-3.0, 3.0, (2, 40)) * 10.0 ** rng.integers(-9, 9, (2, 40))).astype(dtype)
        given = {"power_of_two": (np.arange(-126, 128, dtype=dtype),), "exponent": (a,)}.get(name, (a, b))
        if name == "fma":  # of which the sum is exact: that is what it is for
            given = (a, b, -a * b)
        wanted = OPERATIONS[name](*given)
        np.testing.assert_array_equal(bits_in_numpy.OPERATIONS[name](*given), wanted)
        assert bits_in_numpy.OPERATIONS[name](*given).dtype == dtype
    assert bits_in_numpy.exponent(np.array([0.0, np.inf])).tolist() == [-1023.0, 1024.0]
    graph = Graph()
    x = LaneValue(graph, graph.node("in", 0))
    made = (power_of_two(x), exponent(x), exact_product_plus(x, x, x), with_sign(x, x))
    assert [graph.nodes[value.ref >> 1][0] for value in made] == ["power_of_two", "exponent", "fma", "copysign"]


def test_a_graph_without_functions_is_left_as_it_is():
    graph = Graph()
    graph.outputs = [graph.sin(graph.node("in", 0))]
    assert expanded(graph, "f64") is graph
