"""Complete pivoting against singular values, ties, forced coordinates, sets, the size that scales rows and columns."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.kernels.pivoting import elimination
from shiftjax.kernels.pivoting.elimination import FEW
from shiftjax.mechanism.model import Model
from shiftjax.models import names, path
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from shiftjax.topology import partition
from shiftjax.topology.partition import (
    RANK_TOLERANCE,
    Block,
    Elimination,
    MemberBlocks,
    Partition,
    blocks_of,
    characteristic_length,
    complete_pivoting,
    free_speeds,
    independent_speeds,
    pivots_of,
    secondary_combinations,
)
from shiftjax.topology.plan import Substructure
from tests.reference.elimination import eliminated
from tests.reference.oracle import Oracle
from tests.support.models.mechanisms import four_bars, nominal_blocks, pendulum

TOLERANCE = RANK_TOLERANCE["f64"]
NULL = 1e-9  # J Z of random matrices of rank up to 8 whose singular values lie within a factor 100


def random_matrix(seed: int, m: int, n: int, rank: int) -> np.ndarray:
    """Singular values between 0.1 and 10."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((size, size)))[0][:, :rank] for size in (m, n))
    return U * 10.0 ** rng.uniform(-1, 1, rank) @ V.T


shapes = st.tuples(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.integers(1, 8))


@settings(max_examples=200, deadline=None)
@given(shapes)
def test_rank_is_that_of_the_singular_values(shape: tuple[int, int, int, int]) -> None:
    """S10: the number of pivots is the rank; primary rows and dependent columns are regular; Z spans the null space."""
    seed, m, n, rank = shape
    rank = min(rank, m, n)
    J = random_matrix(seed, m, n, rank)
    found = complete_pivoting(J[None], TOLERANCE)
    assert found.rank[0] == rank == np.linalg.matrix_rank(J)
    rows, columns = found.rows[0, :rank], found.columns[0, :rank]
    assert len(set(rows)) == len(set(columns)) == rank
    assert (found.rows[0, rank:] == -1).all() and (found.columns[0, rank:] == -1).all()
    assert found.pivots[0, 0] == np.abs(J).max()
    assert found.dropped[0] <= TOLERANCE * found.pivots[0, 0]
    rest = np.setdiff1d(np.arange(n), columns)
    Z = np.zeros((n, n - rank))
    Z[rest, np.arange(n - rank)] = 1.0
    Z[columns] = -np.linalg.solve(J[np.ix_(rows, columns)], J[np.ix_(rows, rest)])
    assert np.abs(J @ Z).max(initial=0.0) < NULL * max(1.0, np.abs(Z).max(initial=0.0)) * np.abs(J).max()
    C = secondary_combinations(J, rows.tolist())
    others = [i for i in range(m) if i not in set(rows)]
    assert np.abs(C @ J[rows] - J[others]).max(initial=0.0) < NULL * np.abs(J).max()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_members_do_not_know_of_each_other(seed: int) -> None:
    """Design rule 5: a batch of matrices of several ranks, one of them not finite, is eliminated one by one."""
    batch = np.stack([random_matrix(seed + k, 6, 5, 1 + k % 5) for k in range(8)])
    batch[3, 2, 1] = np.nan
    with np.errstate(invalid="ignore"):
        together = complete_pivoting(batch, TOLERANCE)
    for k in (0, 1, 2, 4, 7):
        alone = complete_pivoting(batch[k : k + 1], TOLERANCE)
        for name in ("rows", "columns", "rank", "pivots", "dropped"):
            assert np.array_equal(getattr(together, name)[k], getattr(alone, name)[0]), name


def one_by_one(J: np.ndarray, free: list[int]) -> Elimination:
    """By NumPy, as for so few at a time that nothing is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "_pays", lambda pivots: False)
        parts = [complete_pivoting(J[[k]], TOLERANCE, free) for k in range(len(J))]
    return Elimination(*(np.concatenate(values) for values in zip(*map(dataclasses.astuple, parts), strict=True)))


@settings(max_examples=60, deadline=None)
@given(shapes, st.data())
def test_the_compiled_elimination_is_the_written_one(shape: tuple[int, int, int, int], data: st.DataObject) -> None:
    """S10: the same sets and the same pivots to the last bit as NumPy's, and B as by solving for it."""
    seed, m, n, rank = shape
    free = sorted(data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1)))
    J = np.stack([random_matrix(seed + k, m, n, min(rank, m, n)) for k in range(FEW)])
    J[1] *= np.random.default_rng(seed).random((m, n)) < 0.5
    found, few, expected = complete_pivoting(J, TOLERANCE, free), one_by_one(J, free), eliminated(J, TOLERANCE, free)
    for name, value in zip(("rows", "columns", "rank", "pivots", "dropped"), expected, strict=True):
        assert np.array_equal(getattr(found, name), value), name
        assert np.array_equal(getattr(few, name), value), name
    assert np.array_equal(few.entries, found.entries)
    for k, rank in enumerate(found.rank):
        rows, columns = found.rows[k, :rank], found.columns[k, :rank]
        rest = np.setdiff1d(np.arange(n), columns)
        B = np.linalg.solve(J[k][np.ix_(rows, columns)], J[k][np.ix_(rows, rest)])
        assert np.isclose(found.entries[k], np.abs(B).max(initial=0.0), rtol=1e-6)
        marks = [np.isin(np.arange(size), own)[None] for size, own in ((m, rows), (n, columns))]
        again = pivots_of(J[[k]], *marks)
        assert np.array_equal(again.pivots[0, :rank], found.pivots[k, :rank]) and again.rank[0] == rank
        assert again.ratio(rank)[0] == found.ratio(rank)[k] > 0 or rank == 0
        assert again.ratio(rank + 1)[0] == 0


def test_ties_go_to_the_lowest_index() -> None:
    """Design section 2: within a relative 1e-12, so rounding of another machine changes nothing."""
    J = np.array([[0.5, -1.0, 1.0], [1.0, 0.5, -1.0], [1.0, 1.0, 1.0]])
    found = complete_pivoting(J[None], TOLERANCE)
    assert (found.rows[0, 0], found.columns[0, 0]) == (0, 1)
    rng = np.random.default_rng(3)
    for _ in range(50):
        shaken = complete_pivoting((J * (1 + 1e-14 * rng.uniform(-1, 1, J.shape)))[None], TOLERANCE)
        assert np.array_equal(shaken.rows, found.rows) and np.array_equal(shaken.columns, found.columns)
    beaten = J.copy()
    beaten[2, 2] *= 1 + 1e-11
    assert complete_pivoting(beaten[None], TOLERANCE).rows[0, 0] == 2


def test_a_narrow_rank_gap_is_reported() -> None:
    """Design section 2: the last pivot kept and the first dropped, relative to the largest."""
    for small, rank in ((2e-8, 3), (0.5e-8, 2), (0.0, 2)):
        found = complete_pivoting(np.diag([5.0, 2.0, 5.0 * small])[None], TOLERANCE)
        assert found.rank[0] == rank
        assert found.pivots[0, :rank].tolist() == [5.0, 2.0, 5.0 * small][:rank]
        assert found.dropped[0] == (0.0 if rank == 3 else 5.0 * small)
    assert complete_pivoting(np.zeros((1, 6, 4)), TOLERANCE).rank[0] == 0
    assert complete_pivoting(np.diag([1.0, 1e-5])[None], RANK_TOLERANCE["f32"]).rank[0] == 1


@settings(max_examples=100, deadline=None)
@given(shapes, st.data())
def test_forced_coordinates_stay_independent(shape: tuple[int, int, int, int], data: st.DataObject) -> None:
    """Contract, independent=: the columns are never pivots; the rank falls where they cannot be free together."""
    seed, m, n, rank = shape
    rank = min(rank, m, n)
    J = random_matrix(seed, m, n, rank)
    free = data.draw(st.sets(st.integers(0, n - 1), max_size=n))
    found = complete_pivoting(J[None], TOLERANCE, sorted(free))
    assert not free & set(found.columns[0].tolist())
    left = np.delete(J, sorted(free), axis=1)
    scale = np.abs(left).max(initial=0.0)
    expected = np.linalg.matrix_rank(left, tol=1e-10 * np.abs(J).max()) if left.size and scale > 0 else 0
    assert found.rank[0] == expected


def test_a_partition_is_sets() -> None:
    """Design section 2: sorted, equal for every order of elimination; speeds, not local columns."""
    block = Substructure(groups=(0,), joints=(), columns=(7, 8, 9), first_row=0, rows=2)
    J = np.array([[0.0, 0.0, 3.0], [2.0, 0.0, 0.0]])
    first, second = blocks_of(complete_pivoting(np.stack([J, J * [2, 1, 0.5]]), TOLERANCE), block)
    assert first == second
    assert (first.primary, first.dependent, first.independent) == ((0, 1), (7, 9), (8,))


def test_blocks_of_members_are_a_sequence_of_what_each_has() -> None:
    a, b, c = (Block((k,), (k,), (5,)) for k in range(3))
    some = MemberBlocks((a, b, c), np.array([2, 0, 2, 0]))
    assert [*some] == [c, a, c, a] and len(some) == 4
    assert some.occurring() == [2, 0]
    assert [*some.some(np.array([1, 2]))] == [a, c]
    assert [*some.changed(np.array([0, 3]), MemberBlocks.alike(b, 2))] == [b, a, c, b]
    assert MemberBlocks((a,), np.zeros(0, int)).occurring() == []


@pytest.mark.parametrize("name", [name for name in names() if name != "n_four_bar_40"])
def test_partitions_of_the_library(name: str) -> None:
    """S10: per substructure as many independents as the block's null space has dimensions, by the oracle's SVD."""
    prepared = prepare(load(name), {})
    plan = prepared.plan
    partition = Partition(tuple(nominal_blocks(prepared)))
    oracle = Oracle(path(name))
    expected = oracle.substructures(oracle.closed(oracle.start()[0]))
    found = {frozenset(plan.joints[j].path.rsplit(":", 1)[-1] for j in s.joints): s for s in plan.substructures}
    assert len(found) == len(expected)
    for entry in expected:
        moving = frozenset(joint for joint in entry["joints"] if _speeds(oracle, joint))
        block = partition.blocks[plan.substructures.index(found[moving])]
        assert len(block.primary) == len(block.dependent) == entry["rank"]
        assert len(block.independent) == entry["columns"] - entry["rank"]
    speeds = sorted(
        [*free_speeds(plan), *(k for block in partition.blocks for k in (*block.dependent, *block.independent))]
    )
    assert speeds == list(range(plan.nv))
    dof = plan.nv - sum(entry["rank"] for entry in expected)
    assert len(independent_speeds(plan, partition)) == dof


def _speeds(oracle: Oracle, name: str) -> int:
    joint = next(j for j in oracle.joints if j.name == name)
    return joint.v.stop - joint.v.start


def test_size_of_a_model() -> None:
    """Design section 2: distance of two joint frames of a moving body, else to its centre of mass, else 1 m."""

    def size(model: Model) -> float:
        prepared = prepare(model, {})
        assert prepared.setup.length == characteristic_length(prepared.plan, prepared.file_numbers)
        return prepared.setup.length

    assert size(four_bars(3)) == 0.5  # the coupler; ground pivots, metres apart, do not count
    assert size(pendulum()) == 0.5  # one joint: half a rod to its centre
    assert size(pendulum().replace({"rod.center_of_mass[0]": 0.0})) == 1.0
    far = ModelBuilder().frame("far", T=(100.0, 0.0, 0.0))
    far.assembly("a").body("b", center_of_mass=(0.0, 3.0, 4.0)).joint("j", "Rx", parent=("fixed", "far"), child="b")
    assert size(far.build()) == 5.0
    assert prepare(four_bars(), {"coupler:tip.T[0]": [3.0, 4.0]}).setup.length == 0.5  # members do not change it


def scaled(name: str, factor: float) -> Model:
    """A model with all lengths multiplied; masses kept, inertias and gravity to match."""
    model = load(name)
    change = {}
    for number, value in model.numbers().items():
        slide = number.endswith("guide.initial_displacement")
        if ".T[" in number or "center_of_mass" in number or "gravity[" in number or slide:
            change[number] = value * factor
        elif ".inertia." in number:
            change[number] = value * factor**2
    return model.replace(change)


def test_size_does_not_change_the_partition() -> None:
    """Design section 2: a 3 m slider-crank has the partition and the one repartition-free turn of a 0.3 m one."""
    results = [
        simulate(scaled("slider_crank", f), span=1.0, step=1e-3, channels=["crank_pivot.q"]) for f in (1.0, 10.0)
    ]
    blocks = [nominal_blocks(prepare(scaled("slider_crank", f), {})) for f in (1.0, 10.0)]
    assert blocks[0] == blocks[1]
    assert [r.certificate["repartitions"] for r in results] == [0, 0]
    assert results[0].certificate["pivot_ratio"] == pytest.approx(results[1].certificate["pivot_ratio"], rel=1e-9)
    angles = [r.channels["crank_pivot.q"][-1] for r in results]
    assert angles[0] == pytest.approx(angles[1], abs=1e-9)


def test_place_does_not_change_the_partition() -> None:
    """Design section 2: screws about a point of the mechanism: 8 km away B, rank and pivots differ by rounding only."""
    far = four_bars().replace({"fixed:crank0.T[0]": 8192.0, "fixed:rocker0.T[0]": 8192.5})
    near = four_bars()
    prepared = [prepare(m, {}) for m in (near, far)]
    blocks = [nominal_blocks(p) for p in prepared]
    assert blocks[0] == blocks[1]
    monitors = [
        host.block_monitors(p.file_lane(), p.file_start.q, 0, b[0]) for p, b in zip(prepared, blocks, strict=True)
    ]
    for a, b in zip(*monitors, strict=True):
        assert a[0] == pytest.approx(b[0], rel=1e-12)


@pytest.mark.parametrize("width", [1, 5, 8, 11])
def test_sets_of_members_are_told_apart_in_their_order(width: int) -> None:
    """As bytes one after the other have it, whether they fit into one number or not."""
    random = np.random.default_rng(width)
    lines = random.integers(0, 256, (6, width), np.uint8)[random.integers(0, 6, 40)]
    distinct, which = partition._distinct(lines)
    assert np.array_equal(distinct[which], lines)
    assert [bytes(line) for line in distinct] == sorted({bytes(line) for line in lines})


def test_pivots_do_not_depend_on_how_matrices_lie_in_memory() -> None:
    """Compiled code reads them row by row; a choice of columns leaves them otherwise."""
    J = np.random.default_rng(4).normal(size=(2 * FEW, 6, 5))
    chosen, plain = J[:, :, [0, 2, 3, 4]], np.ascontiguousarray(J[:, :, [0, 2, 3, 4]])
    assert not chosen.flags.c_contiguous
    for one, other in zip(
        dataclasses.astuple(complete_pivoting(chosen, TOLERANCE)),
        dataclasses.astuple(complete_pivoting(plain, TOLERANCE)), strict=True,
    ):  # fmt: skip
        assert np.array_equal(one, other)
