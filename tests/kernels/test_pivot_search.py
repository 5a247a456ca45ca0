"""The compiled search of tripped lanes against NumPy's, on the processor and as PTX: the same sets, the same bits."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from shiftjax.formats import load
from shiftjax.kernels.gpu.device_search import DeviceSearch
from shiftjax.kernels.gpu.device_table import DeviceTable
from shiftjax.kernels.gpu.moves import Moves
from shiftjax.kernels.lane_program import Layout, Piece
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.pivoting.search import MatrixCode, PivotSets, SearchedLanes, numbered, packed, unpacked
from shiftjax.run.advance.fresh_partitions import search_by_numpy
from shiftjax.run.programs.jacobian import CompiledJacobian, jacobian_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import TIE
from tests.mechanics.test_identities import random_document
from tests.support.gpus import Gpu
from tests.support.models.mechanisms import four_bars, walked

LANES = 40  # two blocks of the widest vectors and some of a third
TOLERANCE = 1e-8
RANDOM = ("random 4", "random 7", "random 11")
ON_DEVICE = ("bricard", "four_bars", "random 4")  # others are the same code, and take seconds to translate


@cache
def prepared(name: str) -> Prepared:
    """A model of the library, four-bars side by side, or a random mechanism."""
    if name.startswith("random"):
        model = load(random_document(int(name.split()[1])))
    else:
        model = four_bars(3) if name == "four_bars" else load(name)
    lengths = [path for path in model.numbers() if path.endswith(".T[0]") and not path.startswith("fixed")][:2]
    factors = np.random.default_rng(3).uniform(0.9, 1.1, LANES)
    return prepare(model, {path: model.numbers()[path] * factors for path in lengths})


def searched(name: str, s: int, precision: str, seed: int) -> tuple[CompiledJacobian, SearchedLanes]:
    """Random closed and open states of a mechanism, one of them no number, with sets that serve some of them."""
    one = prepared(name)
    q, _ = walked(one, LANES, seed, steps=3, reach=0.4)
    random, jacobian = np.random.default_rng(seed), jacobian_of(one.setup, s)
    q += random.uniform(0.0, 0.3, q.shape) * (random.random(LANES) < 0.5)
    q[:, 7] = np.nan
    p = one.parameters()
    layout = Layout(nq=len(q), nx=2, np=len(p), nm=1, nr=0, na=0, nc=0, ns=0)
    table = LaneTable.zeros(layout, LANES, "float64" if precision == "f64" else "float32")
    for row, values in {"q": q, "p": p, "clock": random.integers(0, 100, (1, LANES)).astype(float)}.items():
        table.set(row, values)
    members = random.permutation(LANES)[: LANES - 5]
    nothing = np.zeros((1, jacobian.code.words), np.uint64)
    lanes = SearchedLanes(table, members, np.zeros(len(members), int), nothing, 1e-3, 0.2, TOLERANCE, TIE)
    lost = packed([0], range(jacobian.code.n), jacobian.code)[None]  # one row for all columns
    sets = np.concatenate([np.unique(search_by_numpy(jacobian, lanes).sets, axis=0)[:3], nothing, lost])
    return jacobian, lanes._replace(sets=sets, choice=random.integers(0, len(sets), len(members)))


def same(one: PivotSets, other: PivotSets) -> bool:
    """Equal to the last bit, those that are no numbers in both."""
    return all(np.array_equal(a, b, equal_nan=a.dtype != np.uint64) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("name", ["bricard", "four_bars", "vehicle_chassis", *RANDOM])
def test_the_compiled_search_is_that_of_numpy(name: str, precision: str) -> None:
    """S10: sets, largest |B_ij| and pivot ratios, of what a lane has, too, in every substructure. [F24]"""
    one = prepared(name)
    for s in range(min(3, len(one.plan.substructures))):
        jacobian, lanes = searched(name, s, precision, 11 + s)
        wanted = search_by_numpy(jacobian, lanes)
        assert same(jacobian.search(lanes), wanted)
        assert np.isinf(wanted.old_entries).any() and np.isfinite(wanted.old_entries).any()
        assert np.isnan(wanted.entries).sum() == (lanes.members == 7).sum()
        if name not in ON_DEVICE:
            continue
        moves = Moves(Gpu(), lanes.table.dtype)
        there = DeviceTable(lanes.table.layout, lanes.table.array.copy(), moves)
        ours = DeviceSearch(moves)(jacobian.code, lanes._replace(table=there))
        assert ours is not None and same(ours, wanted)
        assert same(jacobian.search(lanes._replace(table=there)), wanted), "of a table elsewhere its rows are fetched"


def test_a_device_gets_and_gives_little() -> None:
    """Of a lane 8 bytes up, 40 down: a word of sets and four figures."""
    jacobian, lanes = searched("bricard", 0, "f64", 5)

    class Counting(Gpu):
        up = down = 0

        def upload(self, array: np.ndarray, address: int) -> None:
            self.up += array.nbytes
            super().upload(array, address)

        def download(self, address: int, array: np.ndarray) -> None:
            self.down += array.nbytes
            super().download(address, array)

    device, count = Counting(), len(lanes.members)
    table = DeviceTable(lanes.table.layout, lanes.table.array.copy(), Moves(device, lanes.table.dtype))
    table.on_device()
    device.up = 0
    DeviceSearch(table.moves)(jacobian.code, lanes._replace(table=table))
    assert device.up == 8 * count + 8 * len(lanes.sets) and device.down == 40 * count


def test_what_a_thread_has_no_room_for_is_left_to_the_host() -> None:
    jacobian, lanes = searched("bricard", 0, "f64", 5)
    moves = Moves(Gpu(), lanes.table.dtype)
    there = lanes._replace(table=DeviceTable(lanes.table.layout, lanes.table.array.copy(), moves))
    code = jacobian.code
    large = MatrixCode(code.piece, code.places, 60, 60)
    assert DeviceSearch(moves)(large, there) is None
    assert DeviceSearch(moves)(code, lanes) is None, "a table of the host"

    def full(size: int) -> int:
        raise MemoryError

    moves.device.allocate = full  # type: ignore[method-assign]
    assert DeviceSearch(moves)(code, there) is None, "no room for what it gives"


def test_sets_are_bits() -> None:
    """Of more rows and columns than a word has; and which of them are known."""
    code, random = MatrixCode(prepared_piece(), (), 50, 70), np.random.default_rng(0)
    assert code.words == 2
    rows, columns = random.random((9, 50)) < 0.5, random.random((9, 70)) < 0.5
    sets = np.stack(
        [
            packed(np.flatnonzero(a).tolist(), np.flatnonzero(b).tolist(), code)
            for a, b in zip(rows, columns, strict=True)
        ]
    )
    assert np.array_equal(unpacked(sets, code)[0], rows) and np.array_equal(unpacked(sets, code)[1], columns)
    for words in (2, 1):
        which, others = numbered(sets[[4, 8, 0, 8, 4], :words], sets[[0, 4], :words])
        assert which.tolist() == [1, 2, 0, 2, 1] and np.array_equal(others, sets[[8], :words])


def prepared_piece() -> Piece:
    return jacobian_of(prepared("bricard").setup, 0).code.piece
