"""Compiled arithmetic on arrays of members has NumPy's bits, however many members there are and wherever they lie."""

import threading

import numpy as np
import pytest

from shiftjax.kernels import object_cache
from shiftjax.kernels.llvm import array_function
from shiftjax.kernels.llvm.array_function import AT_ONCE, ArrayFunction
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.run.closing import host_functions

INPUTS = 5
COUNTS = 8, 13, AT_ONCE - 3, AT_ONCE, 2 * AT_ONCE + 5  # whole vectors or not, one portion or several


def scrambled(seed: int) -> Graph:
    """Sums, products, quotients, choices and functions of each other: truth values are read behind functions, too."""
    rng, graph = np.random.default_rng(seed), Graph(signed_zeros=bool(seed % 2))
    numbers = [graph.node("in", k) for k in range(INPUTS)] + [graph.const(0.75), graph.const(-1.5)]
    truths = [graph.compare("lt", numbers[0], numbers[1])]

    def one() -> int:
        return int(numbers[rng.integers(max(0, len(numbers) - 40), len(numbers))]) ^ int(rng.integers(2))

    kinds = {
        "sum": lambda: graph.add(one(), one()),
        "product": lambda: graph.mul(one(), one()),
        "quotient": lambda: graph.div(one(), graph.add(graph.const(3.0), graph.absolute(one()))),
        "root": lambda: graph.node("sqrt", graph.absolute(one())),
        "sine": lambda: graph.sin(one()),
        "cosine": lambda: graph.cos(one()),
        "arc": lambda: graph.node("atan2", one(), one()),
        "choice": lambda: graph.select(truths[rng.integers(len(truths))], one(), one()),
        "largest": lambda: graph.node("max", one(), one()),
        "whole": lambda: graph.node("floor", one()),
    }
    likely = [0.25, 0.25, 0.1, 0.05, 0.08, 0.08, 0.03, 0.08, 0.05, 0.03]
    for name in rng.choice(list(kinds), 120, p=likely):
        numbers.append(kinds[name]())
        if rng.random() < 0.3:
            comparison = graph.compare("le", one(), one())
            truths.append(graph.node("and", comparison, graph.node("not", truths[rng.integers(len(truths))])))
    graph.outputs = [one() for _ in range(40)] + [numbers[2], numbers[5]]  # an input and a constant among them
    return graph


def values(members: int) -> list[np.ndarray]:
    """Of all members; the same of each; in steps through memory; NaN, infinities and zeros of both signs among them."""
    rng = np.random.default_rng(members)
    out = [rng.uniform(-3.0, 3.0, members), np.full(members, 0.3), rng.uniform(-3.0, 3.0, (members, 2))[:, 1]]
    out += [np.array([1.25]), rng.normal(size=members)]
    out[4][:5] = np.nan, np.inf, -np.inf, 0.0, -0.0
    return out


def bits(arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [np.where(np.isnan(x), np.nan, x).view(np.int64) for x in arrays]  # one NaN is as good as another


@pytest.mark.parametrize("seed", range(4))
def test_compiled_arithmetic_has_the_bits_of_numpy(seed: int) -> None:
    graph = scrambled(seed)
    compiled, interpreted = ArrayFunction(graph), InNumpy(graph)
    for members in COUNTS:
        expected = [np.empty(members) for _ in graph.outputs]
        room = np.full((members, len(graph.outputs)), 7.0)
        out = [room[:, k] if k % 2 else np.full(members, 7.0) for k in range(len(graph.outputs))]
        interpreted.into(values(members), expected)
        compiled.into(values(members), out)
        np.testing.assert_array_equal(bits(out), bits(expected))


def test_threads_do_not_share_what_waits_between_stages() -> None:
    graph = scrambled(1)
    compiled, results = ArrayFunction(graph), dict[int, list[np.ndarray]]()

    def run(members: int) -> None:
        for _ in range(10):
            results[members] = [np.empty(members) for _ in graph.outputs]
            compiled.into(values(members), results[members])

    threads = [threading.Thread(target=run, args=(members,)) for members in COUNTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for members, out in results.items():
        alone = [np.empty(members) for _ in graph.outputs]
        InNumpy(graph).into(values(members), alone)
        np.testing.assert_array_equal(bits(out), bits(alone))


def test_truth_values_are_no_outputs() -> None:
    graph = Graph()
    graph.outputs = [graph.compare("lt", graph.node("in", 0), graph.node("in", 1))]
    with pytest.raises(ValueError, match="truth values"):
        ArrayFunction(graph)


def test_a_function_asked_for_many_members_is_compiled_once_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr(object_cache, "folder", lambda: tmp_path)  # nothing is on the disk
    monkeypatch.setattr(host_functions, "COMPILERS", [ArrayFunction])
    made = []
    monkeypatch.setattr(array_function, "stored_object", _counted(made, array_function.stored_object))
    graph = scrambled(2)
    known = host_functions.KeptFunction(InNumpy(graph), list(range(len(graph.outputs))), graph)
    out = [np.empty(AT_ONCE) for _ in graph.outputs]
    known.into(values(AT_ONCE), out)
    before = bits(out)
    assert not made, "few are not worth 15 ms"
    for _ in range(host_functions.WORTH // AT_ONCE + 2):
        known.into(values(AT_ONCE), out)
        np.testing.assert_array_equal(bits(out), before)
    assert len(made) == 1
    again = host_functions.KeptFunction(InNumpy(graph), list(range(len(graph.outputs))), graph)
    again.into(values(AT_ONCE), out)  # it is on the disk now: at once
    np.testing.assert_array_equal(bits(out), before)
    assert len(made) == 2
    single = [x.astype(np.float32) for x in values(AT_ONCE)]
    expected = [np.empty(AT_ONCE) for _ in graph.outputs]
    again.into(single, out)
    InNumpy(graph).into(single, expected)  # which rounds to single precision
    np.testing.assert_array_equal(bits(out), bits(expected))


def _counted(made: list, function):
    def counted(*given, **options):
        made.append(given[0])
        return function(*given, **options)

    return counted
