"""The table of lanes: lanes taken and put, rows by name, figures over rows, trips; and that nobody else indexes it."""

import re
from pathlib import Path

import numpy as np
import pytest

from shiftjax.kernels.lane_program import Layout
from shiftjax.kernels.lane_table import COPIED, LaneTable

ROOT = Path(__file__).resolve().parents[2]
LAYOUT = Layout(nq=2, nx=3, np=1, nm=4, nr=1, na=5, nc=0, ns=0)


def numbered(lanes: int = 6) -> LaneTable:
    """Every number another one."""
    count = LAYOUT.row_count * lanes
    return LaneTable(LAYOUT, np.arange(count, dtype=float).reshape(LAYOUT.row_count, lanes))


@pytest.mark.parametrize("members", [np.array([4, 1]), np.array([False, True, False, False, True, True])])
def test_what_is_taken_is_put_back(members: np.ndarray) -> None:
    """Copies of lanes, in the order that was asked for; the others stay."""
    table, before = numbered(), numbered()
    lanes = table.take(members)
    assert lanes.array.flags.c_contiguous and np.array_equal(lanes.rows("acc"), before.rows("acc", members))
    for name in LAYOUT.columns():
        lanes.set(name, -lanes.rows(name))
    assert np.array_equal(table.array, before.array)
    table.put(members, lanes)
    assert np.array_equal(table.rows("mon", members), -before.rows("mon", members))
    others = np.setdiff1d(np.arange(6), np.arange(6)[members])
    assert np.array_equal(table.take(others).array, before.take(others).array)


def test_lanes_of_several_portions_are_taken_and_put() -> None:
    """As NumPy does it at once: in a row, scattered, and filled up to another layout."""
    table, rng = numbered(3 * COPIED + 5), np.random.default_rng(0)
    for members in (np.arange(7, 2 * COPIED + 9), np.sort(rng.permutation(table.lanes)[: COPIED + 3])):
        lanes, before = table.take(members), table.array.copy()
        assert np.array_equal(lanes.array, before[:, members])
        lanes.set("q", -lanes.rows("q"))
        before[:2, members] *= -1.0
        table.put(members, lanes)
        assert np.array_equal(table.array, before)
        table.put(members, lanes, ["q"])
        assert np.array_equal(table.array, before)
    wide = table.fitted(Layout(nq=2, nx=3, np=1, nm=4, nr=1, na=7, nc=0, ns=0))
    assert not wide.rows("acc")[5:].any() and np.array_equal(wide.rows("acc")[:5], table.rows("acc"))
    assert not LaneTable.zeros(LAYOUT, 40_000, "f8").array.any()


def test_a_batch_of_all_lanes_is_no_copy() -> None:
    """The usual case: a kernel works on the table itself; of lanes in another order, or of some, on a copy."""
    table = numbered()
    assert table.batch(np.arange(6)) is table
    for members in (np.arange(5), np.arange(6)[::-1]):
        batch = table.batch(members)
        assert not np.shares_memory(batch.array, table.array)
        assert np.array_equal(batch.state(), table.state(members))


def test_rows_by_name() -> None:
    """Of a group or within it, of all lanes, which is for reading, or of some, which is a copy."""
    table = numbered()
    assert table.rows("x").shape == (3, 6) and table.rows("x", within=1).tolist() == [18, 19, 20, 21, 22, 23]
    assert np.array_equal(table.state(), np.concatenate([table.rows(name) for name in ("q", "x", "dx")]))
    with pytest.raises(ValueError, match="read-only"):
        table.rows("x")[0] = 1.0
    with pytest.raises(KeyError, match="none of q, x, dx"):
        table.rows("speed")
    table.rows("x", np.array([0]))[:] = -1.0
    assert (table.rows("x") >= 0).all()
    table.set("x", np.array([[7.0, 8.0]]), np.array([5, 2]), slice(1, 2))
    table.add("x", 0.5, np.array([2]), 1)
    assert table.rows("x", within=1).tolist() == [18, 19, 8.5, 21, 22, 7]
    table.set_state(np.zeros((8, 2)), np.array([0, 1]))
    assert not table.state(np.array([0, 1])).any() and table.state(np.array([2])).any()


def test_figures_over_rows_and_trips() -> None:
    """Of each lane by itself: whether its numbers are finite, the largest; of no rows nothing is wrong."""
    table = numbered()
    table.set("trip", 0.0)
    table.set("mon", np.array([np.nan, -40.0]), np.array([3, 1]), 2)
    assert table.reduce("finite", "mon", np.array([3, 1, 0])).tolist() == [False, True, True]
    assert table.reduce("finite", "mon", within=slice(0)).all()
    assert table.reduce("largest", "q").tolist() == [6, 7, 8, 9, 10, 11]
    assert table.reduce("largest", "q", within=slice(0)).tolist() == [0] * 6
    table.set("trip", np.array([3.0, 6.0]), np.array([4, 2]))
    trips = table.trips(np.array([5, 4, 3, 2]))
    assert (trips.members.tolist(), trips.codes.tolist(), trips.places.tolist()) == ([4, 2], [3, 6], [1, 3])
    assert table.trips().members.tolist() == [2, 4]


def test_lanes_fit_into_another_layout() -> None:
    """Groups are cut at their end, or filled up with zeros: there and back, all but what was cut is as before."""
    narrow, table = Layout(nq=2, nx=3, np=1, nm=4, nr=1, na=2, nc=3, ns=1), numbered()
    back = table.fitted(narrow).fitted(LAYOUT)
    for name in LAYOUT.columns():
        common = slice(2 if name == "acc" else None)
        assert np.array_equal(back.rows(name, within=common), table.rows(name, within=common))
    assert not back.rows("acc", within=slice(2, None)).any()


def test_nobody_else_indexes_the_array() -> None:
    """Where the numbers live is known to kernels and to the table; what advances lanes, and what goes back, hands its
    array to kernels."""
    indexed, array = re.compile(r"\btable\[|layout\.rows\("), re.compile(r"(?<!np)\.array\b")
    files = ("advance/ensemble", "advance/first_lanes", "advance/controlled_run", "advance/controlled_steps")
    back = ("reverse/backward", "reverse/legs", "reverse/acting_events")
    hands_over = tuple(f"/{name}.py" for name in (*files, *back))
    wrong = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()}"
        for room in ("run", "gradients")
        for path in (ROOT / "shiftjax" / room).rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if indexed.search(line) or (array.search(line) and not path.as_posix().endswith(hands_over))
    ]
    assert not wrong, "\n".join(wrong)
