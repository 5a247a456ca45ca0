"""Work on portions of members: all of it, once each, in several threads, whatever comes between."""

import os
import signal
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import shiftjax.kernels.workers as workers
from shiftjax.kernels.forks import Threads
from shiftjax.kernels.lane_table import COPIED
from shiftjax.kernels.workers import copied, in_portions, share_out
from shiftjax.run.simulate import simulate
from shiftjax.shield import shielded

THREADS = 3


@pytest.fixture(autouse=True)
def several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine of one core, too."""
    monkeypatch.setattr(workers, "cores", lambda: THREADS)
    monkeypatch.setattr(workers, "POOL", Threads(THREADS))


def test_every_member_is_in_one_portion_and_results_are_in_order() -> None:
    values = np.arange(103)
    portions = in_portions(lambda some: values[some], len(values), 10)
    assert [len(portion) for portion in portions] == [10] * 10 + [3]
    assert np.array_equal(np.concatenate(portions), values)
    assert in_portions(lambda some: some, 0) == []


def test_portions_run_at_once_and_one_alone_here() -> None:
    """Three that wait for each other come to their end; one is not handed over to another thread."""
    meeting = threading.Barrier(THREADS, timeout=20.0)
    in_portions(lambda some: meeting.wait(), THREADS, 1)
    assert in_portions(lambda some: threading.current_thread(), 5, 10) == [threading.current_thread()]
    assert set(in_portions(lambda some: threading.current_thread(), 9, 1, threads=1)) == {threading.current_thread()}


def test_the_number_of_threads_that_a_run_states_holds_for_all_work_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of its copies, too, which know nothing of it; it ends with the run."""
    workers_of: list[int] = []
    run_all = workers.run_all
    monkeypatch.setattr(
        workers,
        "run_all",
        lambda pool, count, *rest, **more: [workers_of.append(count), run_all(pool, count, *rest, **more)],
    )
    vary = {"crank_pivot.initial_velocity": np.linspace(2.0, 8.0, 2 * COPIED + 1)}
    simulate("four_bar", 1e-3, 1e-3, vary=vary, threads=1)
    assert not workers_of
    simulate("four_bar", 1e-3, 1e-3, vary=vary, threads=2)
    assert set(workers_of) == {2}
    in_portions(lambda some: None, THREADS, 1)
    assert workers_of[-1] == THREADS


def test_portions_of_a_portion_run_in_its_thread() -> None:
    """None waits for a thread that waits for it: there are more parts in parts than threads in the pool."""

    def outer(some: slice) -> bool:
        inner = in_portions(lambda _: threading.current_thread(), 4, 1)
        with ThreadPoolExecutor(1) as pool:
            share_out(lambda: pool, 1, deque([1, 2]), lambda part, _: inner.append(threading.current_thread()))
        return set(inner) == {threading.current_thread()}

    assert all(in_portions(outer, 3 * THREADS, 1))
    meeting = threading.Barrier(THREADS, timeout=20.0)
    in_portions(lambda some: meeting.wait(), THREADS, 1)  # and those after them in several again


def test_what_numpy_shall_not_warn_of_it_does_not_in_threads() -> None:
    zeros = np.zeros(30)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_portions(lambda some: zeros[some] / zeros[some], len(zeros), 1)
    with pytest.raises(RuntimeWarning, match="invalid value"), np.errstate(invalid="warn"):
        in_portions(lambda some: zeros[some] / zeros[some], len(zeros), 1)


@pytest.mark.parametrize("under_a_shield", [False, True])
def test_a_signal_leaves_no_portion_out_that_is_used(under_a_shield: bool) -> None:
    """Under a shield all are done before it is raised; else it is raised, and nobody gets what there is."""
    done: list[int] = []

    def work(some: slice) -> None:
        if some.start == 2:
            os.kill(os.getpid(), signal.SIGINT)
        done.append(some.start)

    with pytest.raises(KeyboardInterrupt):
        if under_a_shield:
            with shielded():
                in_portions(work, 500, 1)
                assert sorted(done) == [*range(500)]
        else:
            in_portions(work, 500, 1)
            pytest.fail("it was raised")
    assert len(set(done)) == len(done)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_are_equal_and_apart(dtype: type) -> None:
    values = np.random.default_rng(0).normal(size=(3, 40_001)).astype(np.float32)
    other = copied(values[::2], dtype)
    assert other.dtype == dtype and other.flags.c_contiguous and np.array_equal(other, values[::2])
    assert not np.shares_memory(other, values)
