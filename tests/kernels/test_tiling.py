"""Cutting a piece into parts changes nothing but where its numbers wait."""

import ctypes

import numpy as np
import pytest
from jax import lax

from shiftjax.kernels.llvm import emitter as emit
from shiftjax.kernels.llvm.objects import Loader, compile_text
from shiftjax.kernels.llvm.piece_code import METADATA, support_text
from shiftjax.kernels.llvm.target import host
from shiftjax.kernels.llvm.tiling import SIZE, WHOLE, split
from shiftjax.lanes.graph import Graph
from tests.support.models.sample_programs import piece

SLOTS = 12
TARGET = host("f64")
INPUTS, OUTPUTS = (0, 1, 2, 3, 4, 5), (4, 5, 6, 7, 8, 9, 10, 11)  # 4 and 5 are read and written


def scramble(seed: int):
    """A random function of six scalars: sums of products, sines of sines, choices, quotients."""

    def function(*arguments):
        rng = np.random.default_rng(seed)
        values = list(arguments)

        def pick():
            return values[rng.integers(max(0, len(values) - 25), len(values))]

        kinds = {
            "product": lambda: pick() * pick() * 0.5,
            "sum": lambda: 0.5 * (pick() * pick() - pick()),
            "sine": lambda: lax.sin(pick()) - lax.cos(pick()) * 0.3,
            "choice": lambda: lax.select(pick() < pick(), pick(), -pick()),
            "quotient": lambda: pick() / (1.0 + pick() * pick()),
            "largest": lambda: lax.max(pick(), pick() + 0.1),
        }
        for name in rng.choice(list(kinds), 160):
            values.append(kinds[name]())
        return [values[k] for k in rng.integers(len(values) // 3, len(values), len(OUTPUTS))]

    return function


def results(graph, size: int, huge: int | None = None) -> np.ndarray:
    """Every slot of a block after the piece, compiled with parts of that size; a lane has huge numbers, if any."""
    body = emit.emit(graph, [(INPUTS, OUTPUTS)], "it", TARGET, size, together=True)
    texts = [support_text(TARGET), f"{emit.declarations(TARGET)}\n{METADATA}\n{body}"]
    loader = Loader(TARGET)
    for text in texts:
        loader.add(compile_text(text, TARGET, optimize=False))
    loader.finish()
    room = np.zeros(SLOTS * TARGET.lanes + 64)
    start = (-room.ctypes.data % 64) // 8
    slots = room[start : start + SLOTS * TARGET.lanes].reshape(SLOTS, TARGET.lanes)
    slots[:6] = np.random.default_rng(0).uniform(-2, 2, (6, TARGET.lanes))
    if huge is not None:
        slots[:6, huge] *= 1e12
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(loader.address("it"))(slots.ctypes.data, TARGET.interleave)
    return slots.copy()


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_any_size_give_the_same_bits(seed):
    graph = piece(f"scramble {seed}", scramble(seed), INPUTS, OUTPUTS).graph
    whole = results(graph, 10**9)
    assert np.isfinite(whole).all() and np.ptp(whole[6:], axis=1).min() > 0, "the function was meant to do something"
    for size in (1, 13, 60):
        parts, temporaries = split(graph, INPUTS, OUTPUTS, size)
        assert len(parts) > 150 / size and temporaries > 0
        np.testing.assert_array_equal(results(graph, size), whole)


@pytest.mark.skipif(TARGET.width * TARGET.bytes < emit.REGISTERS, reason="too few registers: vectors run apart")
@pytest.mark.parametrize("huge", [None, 3, TARGET.width + 1, TARGET.lanes - 1])
def test_vectors_that_run_together_have_the_bits_of_each_alone(monkeypatch, huge):
    """Also where one lane has arguments beyond the quick reduction of sines."""
    graph = piece("scramble 7", scramble(7), INPUTS, OUTPUTS).graph
    out = []
    for most in (0, len(graph.nodes)):
        monkeypatch.setattr(emit, "TOGETHER", most)
        assert emit.runs_together(graph, TARGET) == bool(most)
        out.append(results(graph, 10**9, huge))
    np.testing.assert_array_equal(*out)
    assert np.isfinite(out[0]).all()


def test_only_a_very_long_piece_is_split():
    for count, wanted in ((WHOLE, 1), (WHOLE + 1, WHOLE // SIZE)):
        graph = Graph()
        total, factor = graph.node("in", 0), graph.node("in", 1)
        for _ in range(count):
            total = graph.node("add", graph.node("mul", total, factor), factor)  # contracted: one operation
        graph.outputs = [total]
        assert len(split(graph, (0, 1), (1,))[0]) == wanted


def test_a_short_piece_stays_whole():
    graph = piece("short", lambda x, y: (x * y,), (0, 1), (1,)).graph
    parts, temporaries = split(graph, (0, 1), (1,))
    assert (len(parts), temporaries) == (1, 0)
    assert parts[0].inputs == (0, 1) and parts[0].outputs == (1,)
