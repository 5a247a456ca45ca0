"""A run that is told to end: it ends soon, keeps what is done, leaves nothing about, and the next one is right."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
import shiftjax.run.advance.driver as driver
from shiftjax.cli import main
from shiftjax.cli.ending import stoppable
from shiftjax.cli.progress import Progress
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.folders import WrittenFolder
from shiftjax.ensembles.store.replacing import refuse_unwritable
from shiftjax.kernels import workers
from shiftjax.kernels.llvm import cpu
from shiftjax.kernels.llvm.slices import FIRST, GROWTH, SLICE, Pace
from shiftjax.kernels.workers import Stop, in_thread, run_all
from shiftjax.outcome import Outcome
from shiftjax.run.results.interrupted import Interrupted
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.shield import shielded

MODEL, PATH, CHANNEL = "n_four_bar_1", "model_parameters.gravity[0]", "pivot_1.q"
LONG = 1e5  # s of a run that no test waits for
SOON = 20.0  # s on a machine with twenty times as many busy threads as cores; idle it takes 0.03 s
AGAIN = 5.0  # s until a signal is sent again
MEMBERS = 600


def sweep(members: int = MEMBERS, span: float = 0.2, **more: Any) -> Result:
    vary, given = {PATH: np.linspace(-1.0, 1.0, members)}, {"output_step": 0.05, **more}
    return simulate(MODEL, span, 1e-3, vary=vary, channels=[CHANNEL], **given)


@contextmanager
def signals(number: int, after: float, times: int = 1) -> Iterator[list[float]]:
    """Sends signals to this process from another thread; yields the times at which they were sent.

    Where nothing has come of them after a while, again: Python ignores an exception, Ctrl-C too, in a finaliser.
    """
    sent: list[float] = []
    over = threading.Event()

    def send() -> None:
        time.sleep(after)
        while not sent or not over.wait(AGAIN):
            for _ in range(times):
                sent.append(time.perf_counter())
                os.kill(os.getpid(), number)
                time.sleep(1e-4)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()


def interrupt_at(part: float, number: int = signal.SIGINT) -> Callable[..., None]:
    """A progress that interrupts when so much is done."""
    return lambda *given: os.kill(os.getpid(), number) if given[-1] >= part else None


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred members or so at a time."""
    monkeypatch.setattr(cpu, "BATCH_PER_THREAD", 4)
    monkeypatch.setattr(driver, "BATCH", 0.0)


@pytest.fixture(scope="module")
def whole() -> Result:
    return sweep()


@pytest.mark.parametrize(("members", "after"), [(1, 0.4), (MEMBERS, 0.5), (MEMBERS, 0.7)])
def test_ctrl_c_ends_a_long_run_soon_and_the_next_is_right(whole: Result, members: int, after: float) -> None:
    """One lane in the main thread, or many in others."""
    with pytest.raises(KeyboardInterrupt), signals(signal.SIGINT, after) as sent:
        sweep(members, LONG, threads=2, output_step=LONG)
    assert time.perf_counter() - sent[0] < SOON
    assert sweep().channels[CHANNEL].tobytes() == whole.channels[CHANNEL].tobytes()


@pytest.mark.usefixtures("small_batches")
def test_members_that_are_done_stay(whole: Result) -> None:
    """Bit for bit those of a whole run; the others say so, and nothing is recorded after where they stand."""
    with pytest.raises(Interrupted) as caught:
        sweep(threads=1, progress=interrupt_at(0.6))
    result = caught.value.result
    cut = result.status == Outcome.interrupted
    assert 0.3 * MEMBERS < cut.sum() < 0.5 * MEMBERS and not cut[: MEMBERS // 2].any()
    assert result.channels[CHANNEL][~cut].tobytes() == whole.channels[CHANNEL][~cut].tobytes()
    steps, seen = result.certificate["steps"][cut], np.isfinite(result.channels[CHANNEL][cut]).sum(1)
    assert (steps < 200).all() and (seen == steps // 50 + 1).all()
    assert result.messages[-1].startswith("at 0 s: the run was stopped from outside")
    assert result.failed.tolist() == np.flatnonzero(cut).tolist()


@pytest.mark.usefixtures("small_batches")
def test_of_members_whose_steps_are_chosen_nothing_is_lost() -> None:
    """Those that are done are those of a whole run; of the others every step that was taken, and what it recorded."""
    given: dict[str, Any] = {"vary": {PATH: np.linspace(-1.0, 1.0, 24)}, "channels": [CHANNEL], "output_step": 0.01}
    whole = simulate(MODEL, 2.0, tolerance=1e-9, **given)
    with pytest.raises(Interrupted) as caught:
        simulate(MODEL, 2.0, tolerance=1e-9, threads=1, progress=interrupt_at(0.4), **given)
    result = caught.value.result
    cut, seen = result.status == Outcome.interrupted, result.channels[CHANNEL]
    assert 0 < cut.sum() < 24 and (whole.status == 0).all()
    assert seen[~cut].tobytes() == whole.channels[CHANNEL][~cut].tobytes()
    there = np.isfinite(seen)
    assert (seen[there] == whole.channels[CHANNEL][there]).all() and (there[cut].sum(1) < seen.shape[1]).all()
    assert there[cut].sum(1).max() > 1, "some were on their way"
    assert result.schedule is not None and whole.schedule is not None
    for k in np.flatnonzero(cut):
        taken = [np.split(s.ends, np.cumsum(s.taken)[:-1])[k] for s in (result.schedule, whole.schedule)]
        assert (taken[0] == taken[1][: len(taken[0])]).all()
        assert there[k].sum() == 1 + np.floor((taken[0].max(initial=0.0) + 1e-9) / 10), "all up to where it stands"


@pytest.mark.parametrize("backend", ["xla", "cpu"])
def test_one_run_and_one_that_repeats_another(backend: str) -> None:
    run = simulate("pendulum", 0.1, 1e-3, channels=["energy.kinetic"], backend=backend)
    more: dict[str, Any] = {"channels": ["energy.kinetic"], "backend": backend}
    with pytest.raises(Interrupted) as caught:
        simulate("pendulum", 1.0, 1e-3, output_step=0.1, progress=interrupt_at(0.1), **more)
    seen = caught.value.result.channels["energy.kinetic"]
    assert caught.value.result.status == Outcome.interrupted and np.isnan(seen[-1])
    assert seen[1] == run.channels["energy.kinetic"][-1]
    with pytest.raises(Interrupted):
        simulate("pendulum", 0.1, 1e-3, schedule=run.schedule, progress=interrupt_at(0.0), **more)


def test_a_shield_puts_signals_off() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt), shielded():
        with shielded():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            reached.append("inner")
        reached.append("outer")
    assert reached == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with ThreadPoolExecutor(1) as pool:  # no other thread than the main one may change what signals do
        assert pool.submit(
            lambda: [signal.getsignal(signal.SIGINT) for _ in [0] if not shielded().__enter__()]
        ).result()


def test_work_inside_of_two_shields_is_done_to_its_end() -> None:
    """What is raised at the end of the outer one finds it whole."""
    called: list[str] = []
    with pytest.raises(KeyboardInterrupt), shielded(lambda: called.append("outer")):
        with shielded(lambda: called.append("inner")):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert called == ["outer", "outer"]
    with pytest.raises(KeyboardInterrupt), shielded():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
    assert len(called) == 2


def test_an_interrupt_among_samples_leaves_their_errors_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their trial steps, which threads take, are done when the interrupt comes through."""
    sample, run_all, samples = driver.sample, workers.run_all, list[int]()

    def interrupted(pool: Any, count: int, work: Callable[[Stop], None], **options: Any) -> None:
        def after_a_signal(stop: Stop) -> None:
            time.sleep(0.05)  # the main thread waits for this one, and has had the signal by now
            work(stop)

        monkeypatch.setattr(workers, "run_all", run_all)
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
        run_all(pool, count, after_a_signal, **options)

    def sampled(lanes: Any, members: np.ndarray) -> None:
        samples.append(len(members))
        if len(samples) == 2:
            monkeypatch.setattr(workers, "run_all", interrupted)
        sample(lanes, members)

    monkeypatch.setattr(driver, "sample", sampled)
    vary = {"crank_pivot.initial_velocity": np.linspace(1.0, 5.0, 100)}
    with pytest.raises(Interrupted) as caught:
        simulate("four_bar", 2.0, 1e-3, vary=vary, threads=2)
    assert len(samples) == 2
    assert np.nanmax(caught.value.result.certificate["angle_error"]) < 1e-4  # rad; 0.5 of steps that were left undone


def left_soon(inside: list[int]) -> Callable[[Stop], None]:
    """Work that ends a moment after it is told to; while it goes on, it is in the list."""

    def work(stop: Stop) -> None:
        inside.append(1)
        while not stop.is_set():
            time.sleep(0.001)
        time.sleep(0.1)
        inside.pop()

    return work


def test_threads_have_left_when_an_exception_goes_on() -> None:
    inside: list[int] = []

    with (
        ThreadPoolExecutor(3) as pool,
        pytest.raises(KeyboardInterrupt),
        signals(signal.SIGINT, 0.1, 2),
    ):
        run_all(pool, 3, left_soon(inside))
    assert not inside


def test_a_second_signal_does_not_keep_threads_from_being_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """However soon it comes: here while they are being stopped after the first."""
    inside: list[int] = []
    original, sent = Stop.set, list[int]()

    def late(stop: Stop) -> None:
        if threading.current_thread() is threading.main_thread() and not sent:
            sent.append(1)
            os.kill(os.getpid(), signal.SIGINT)
        original(stop)

    monkeypatch.setattr(Stop, "set", late)
    with ThreadPoolExecutor(3) as pool, pytest.raises(KeyboardInterrupt), signals(signal.SIGINT, 0.1):
        run_all(pool, 3, left_soon(inside))
    assert sent and not inside


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_not_lost_where_python_ignores_exceptions(number: int) -> None:
    """In a callback of the garbage collector, as JAX has one, in a finaliser, and where a weak reference ends."""
    sent: list[int] = []

    def callback(*_: Any) -> None:
        if not sent:
            sent.append(1)
            os.kill(os.getpid(), number)

    class Finalised:
        def __del__(self) -> None:
            callback()

    class Referred:
        def __init__(self) -> None:
            weakref.finalize(self, lambda: (sent.append(1), os.kill(os.getpid(), number)))

    for how in (gc.collect, Finalised, Referred):
        sent.clear()
        gc.callbacks.append(callback)
        try:
            with pytest.raises(KeyboardInterrupt), stoppable():
                how()
                gc.callbacks.remove(callback)
                assert sent, "it has come, and raised nothing"
                time.sleep(SOON)
        finally:
            gc.callbacks[:] = [other for other in gc.callbacks if other is not callback]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize("ended", [False, True], ids=["within", "at the end"])
def test_a_script_is_interrupted_where_python_ignores_exceptions(ended: bool) -> None:
    """Ctrl-C in a callback of the garbage collector while `simulate` runs, without the command line around it."""

    def send(*_: Any) -> None:
        if not sent:
            sent.append(signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    def collect(done: float) -> None:
        if (done == 1.0) == ended and not sent:
            gc.callbacks.append(send)
            gc.collect()
            gc.callbacks.remove(send)
            assert sent, "it has come, and raised nothing"
            if not ended:
                time.sleep(SOON)

    sent: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        shiftjax.simulate("four_bar", span=100.0, progress=collect)
    assert sent and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_no_signal_cuts_an_import_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX crashes then."""
    monkeypatch.syspath_prepend(tmp_path)
    lines = ["import os, signal, time", "os.kill(os.getpid(), signal.SIGINT)", "time.sleep(0.05)", "whole = True"]
    (tmp_path / "cut_short.py").write_text("\n".join(lines))
    with pytest.raises(KeyboardInterrupt), stoppable():
        assert importlib.import_module("cut_short").whole
        time.sleep(SOON)
    assert sys.modules.pop("cut_short").whole


def test_a_long_call_does_not_keep_the_main_thread() -> None:
    assert in_thread(lambda: 7) == 7
    done = threading.Event()
    with pytest.raises(KeyboardInterrupt), signals(signal.SIGINT, 0.1):
        in_thread(lambda: done.wait(SOON))
    assert not done.is_set()
    done.set()


def test_a_slice_takes_as_long_as_the_last_ones_suggest() -> None:
    pace = Pace()
    pace.took(FIRST, FIRST * 1e-6)
    assert pace.steps == GROWTH * FIRST
    for _ in range(9):
        pace.took(pace.steps, pace.steps * 1e-6)
    assert pace.steps == pytest.approx(SLICE / 1e-6, rel=1e-3)
    pace.took(1, 1e-6)  # ended early: no news
    assert pace.steps == pytest.approx(SLICE / 1e-6, rel=1e-3)
    pace.took(1, 1.0)
    assert pace.steps == 1


# -- the command line

WORDS = ("sweep", MODEL, "--vary", f"{PATH}=-1:1:{MEMBERS}", "--span", "0.2", "--channel", CHANNEL, "--threads", "1")


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_sweep_writes_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, code: int
) -> None:
    monkeypatch.setattr(Progress, "update", interrupt_at(0.6, number))
    before = signal.getsignal(signal.SIGTERM)
    assert main([*WORDS, "--out", str(tmp_path / "study.zarr"), "--keep", "all"]) == code
    assert signal.getsignal(signal.SIGTERM) is before
    out, err = capsys.readouterr()
    assert f"{MEMBERS} members: " in out and f"of {MEMBERS} are done" in err and "Traceback" not in err
    status = store.read(tmp_path / "study.zarr")["members"].to_dataset()["status"].values
    assert 0.5 * MEMBERS < (status == 0).sum() < MEMBERS and ((status == 0) | (status == Outcome.interrupted)).all()
    assert [path.name for path in tmp_path.iterdir()] == ["study.zarr"]


def test_nothing_is_written_where_nothing_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Progress, "update", interrupt_at(0.0))
    assert main([*WORDS[:5], "99", "--out", str(tmp_path / "study.zarr")]) == 130
    assert f"0 of {MEMBERS} are done" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], times: int
) -> None:
    """While threads of zarr write chunk after chunk, which they must not go on doing in a folder that was removed."""
    written = WrittenFolder.set
    count = iter(range(10**6))

    async def interrupting(folder: WrittenFolder, key: str, value: Any) -> None:
        if 20 <= next(count) < 20 + times:
            os.kill(os.getpid(), signal.SIGINT)
        await written(folder, key, value)

    monkeypatch.setattr(WrittenFolder, "set", interrupting)
    assert main([*WORDS, "--out", str(tmp_path / "study.zarr"), "--keep", "all", "--output-step", "1e-3"]) == 130
    out, err = capsys.readouterr()
    assert f"{MEMBERS} members: " in out and "nothing is written" in err and "internal" not in err
    time.sleep(0.2)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_look_at_a_folder_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Path.mkdir

    def interrupting(path: Path) -> None:
        made(path)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Path, "mkdir", interrupting)
    with pytest.raises(KeyboardInterrupt):
        refuse_unwritable(tmp_path / "study.zarr")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_process_ends_with_the_code_of_the_signal(tmp_path: Path, number: int, code: int) -> None:
    out = tmp_path / "study.zarr"
    words = [sys.executable, "-m", "shiftjax", *WORDS[:5], str(LONG), "--output-step", "1000", "--out", str(out)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes) as child:
        try:
            time.sleep(3.0)
            child.send_signal(number)
            _, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode in (code, -number), err  # the second where the machine had not loaded the command yet
    assert child.returncode < 0 or ("interrupted" in err and "Traceback" not in err and "Exception" not in err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("members", [1, MEMBERS])
def test_a_system_that_starts_no_threads_runs_all_the_same(
    members: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under `ulimit -v`: no thread has room for its stack. What has to be compiled is compiled in this one, too."""
    monkeypatch.setattr(cpu, "BATCH_PER_THREAD", 4)
    expected = sweep(members, threads=1).channels[CHANNEL]
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path))
    before = threading.stack_size(1 << 46)  # more than there is
    try:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            threading.Thread(target=int).start()
        run = sweep(members, threads=3)
    finally:
        threading.stack_size(before)
    assert np.array_equal(run.channels[CHANNEL], expected)
