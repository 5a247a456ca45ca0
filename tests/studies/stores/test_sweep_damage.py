"""A sweep survives (F14): kill -9, signals, a full disk, damage, another process at the store."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from zarr.storage import _local

from shiftjax.ensembles.execution import study_plan
from shiftjax.ensembles.execution.progress import StudyProgress
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store import folders, store, study_store
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study.definition import document
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from tests.support.sweeps import FORKS, MEMBERS, MIXED, SIZE, assert_same, files, small, study, sweeping

SOON = 10.0  # s from a signal to the end, on a machine with many busy threads; idle it takes 0.1 s
SHARDS = MEMBERS // SIZE


pytestmark = pytest.mark.usefixtures("small_shards")


class Stop(Exception):
    """Something that a progress raises."""


def until(done: int) -> Any:
    """A progress that ends the sweep when so many members are done."""

    def told(progress: StudyProgress) -> None:
        if progress.done >= done:
            raise Stop

    return told


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of which some shards are done, some not; no test changes it."""
    place = tmp_path_factory.mktemp("begun") / "half.zarr"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        small(patch.setattr)
        sweep(study(), place, progress=until(MEMBERS // 4))
    return place


@pytest.fixture
def half(begun: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(begun, tmp_path / "half.zarr")


def lock_of(place: Path) -> Path:
    return place.with_name(f".{place.name}.lock")


class Child:
    """A process that sweeps.

    Attributes:
        done: how many members it said were done, each time.
    """

    def __init__(self, place: Path, threads: int) -> None:
        self.errors = place.with_name("errors.txt")
        self._told, told = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=sweeping, args=(place, threads, self.errors, told))
        self.process.start()
        told.close()
        self.done: list[int] = []

    def wait(self) -> None:
        """Until it says once more how many are done, or ends."""
        try:
            self.done.append(self._told.recv())
        except EOFError:
            self.process.join(60)

    def ended(self) -> str:
        """What it wrote as an error, once it has ended."""
        while self.process.is_alive():
            self.wait()
        while self._told.poll():
            try:
                self.done.append(self._told.recv())
            except EOFError:
                break
        return self.errors.read_text(encoding="utf-8")

    def send_signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)


@contextmanager
def child(place: Path, threads: int = 2) -> Iterator[Child]:
    """A process that sweeps, one shard after the other or two at once, and has done a shard."""
    process = Child(place, threads)
    try:
        while len(set(process.done)) < 2:
            process.wait()
            assert process.done or process.process.is_alive(), process.ended()
        yield process
    finally:
        process.process.kill()
        process.process.join(60)
        process.errors.unlink(missing_ok=True)


# -- processes that end


def test_killed_at_five_moments_it_goes_on_and_ends_the_same(whole: Path, tmp_path: Path) -> None:
    place, rng, before = tmp_path / "study.zarr", random.Random(5), 0
    for _ in range(5):
        with child(place) as process:
            time.sleep(rng.uniform(0.0, 0.15))
            process.send_signal(signal.SIGKILL)
        ready = len(study_store.done(place))
        assert before <= ready < SHARDS
        before = ready
    assert before > 0 and not Study(place).complete and lock_of(place).exists()
    tree = store.read(place)["members"].to_dataset()
    undone = tree["status"].values == Outcome.interrupted
    assert undone.sum() in (MEMBERS - SIZE * before, MEMBERS - SIZE * (before + 1))  # one may wait for its mark
    assert np.isnan(tree["swing"].values[undone]).all() and np.isnan(tree["energy_error"].values[undone]).all()
    assert sweep(study(), place, resume=True).complete
    assert_same(place, whole)
    assert {path.name for path in tmp_path.iterdir()} == {place.name}


@pytest.mark.parametrize(
    ("number", "after", "threads"), [(signal.SIGINT, 0.05, 1), (signal.SIGINT, 0.05, 2), (signal.SIGTERM, 0.2, 2)]
)
def test_told_to_end_it_ends_soon_and_keeps_what_is_done(
    whole: Path, tmp_path: Path, number: int, after: float, threads: int
) -> None:
    place = tmp_path / "study.zarr"
    with child(place, threads) as process:
        time.sleep(after)
        sent = time.perf_counter()
        process.send_signal(number)
        errors = process.ended()
        assert time.perf_counter() - sent < SOON
    assert "KeyboardInterrupt" in errors or "Terminated" in errors or "Interrupted" in errors
    assert not lock_of(place).exists() and not list(place.rglob(f"*{study_store.PARTIAL}"))
    ready = study_store.done(place)
    assert max(process.done) // SIZE <= len(ready) < SHARDS
    assert np.sum(store.read(place)["members/status"].values != Outcome.interrupted) == SIZE * len(ready)
    sweep(study(), place, resume=True)
    assert_same(place, whole)


def test_an_unfinished_store_says_so_of_its_members(half: Path) -> None:
    found = Study(half)
    ready = study_store.done(half)
    assert 0 < len(ready) < SHARDS and not found.complete and f"{len(ready)} shards done" in repr(found)
    done = np.isin(np.arange(MEMBERS) // SIZE, list(ready))
    table: Any = found.table
    assert ((table["status"] == "interrupted") == ~done).all()
    assert table["swing"][~done].isna().all() and table["four_bar:coupler.mass"][~done].isna().all()
    assert set(found.top("swing", MEMBERS).index) <= set(np.flatnonzero(done))
    assert found.member(0).metrics["swing"][0] == table["swing"][0]
    with pytest.raises(ModelError, match=f"member {MEMBERS - 1}: found one that has not run"):
        found.member(MEMBERS - 1)
    kept = store.read(half)["trajectories"].to_dataset()
    late = kept.sel(member=[k for k in kept["member"].values if not done[k]])
    assert late.sizes["member"] > 1 and np.isnan(late["pose"].values).all()


# -- disks


@contextmanager
def full_after(patch: pytest.MonkeyPatch, writes: int, number: int = errno.ENOSPC) -> Iterator[list[int]]:
    """A disk that takes so many files, and of the next one half."""
    count = [0]

    class File:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, view: Any) -> int:
            count[0] += 1
            if count[0] > writes:
                self.file.write(bytes(view)[: len(bytes(view)) // 2])
                raise OSError(number, os.strerror(number))
            return self.file.write(view)

    def limited(atomic: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def opened(*given: Any, **options: Any) -> Iterator[Any]:
            with atomic(*given, **options) as file:
                yield File(file)

        return opened

    with patch.context() as mine:
        for module, name in ((_local, "_atomic_write"), (folders, "whole_file")):
            mine.setattr(module, name, limited(getattr(module, name)))
        yield count


def test_a_full_disk_is_one_clear_error_and_nothing_is_lost(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the store is begun, while the first shards are written, at each attempt to go on."""
    place, seen = tmp_path / "study.zarr", set[tuple[bool, bool]]()
    for writes in (0, 35, 75, 30, 30):  # a store takes 73 to begin, then some 17 a shard
        match = r"study\.zarr: found that it cannot be written \(No space left.*MB are free.*Make room.*resume"
        with full_after(monkeypatch, writes) as count, pytest.raises(ModelError, match=match):
            sweep(study(), place, resume=True)
        assert count[0] > writes and not lock_of(place).exists()
        assert [path for path in tmp_path.rglob("*") if "partial" in path.name or "begun" in path.name] == []
        ready = len(study_store.done(place)) if place.exists() else 0
        seen.add((place.exists(), ready > 0))
        if place.exists():
            assert np.sum(store.read(place)["members/status"].values != Outcome.interrupted) >= SIZE * ready
        else:
            assert list(tmp_path.iterdir()) == []  # of a store that could not be begun nothing is left
    assert seen == {(False, False), (True, False), (True, True)}
    sweep(study(), place, resume=True)
    assert_same(place, whole)


def test_a_store_that_cannot_be_written_is_refused(whole: Path, half: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(half)
    for number in (errno.EROFS, errno.EACCES):
        with full_after(monkeypatch, 0, number), pytest.raises(ModelError, match=os.strerror(number)):
            sweep(study(), half, resume=True)
        assert files(half) == before

    def locked_out(*_: Any) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:  # its folder, too
        patch.setattr(os, "open", locked_out)
        with pytest.raises(ModelError, match="cannot be written"):
            sweep(study(), half, resume=True)
        assert sweep(study(), whole, resume=True).complete  # what is complete needs no writing
    sweep(study(), half, resume=True)
    assert_same(half, whole)


def chunk_of(place: Path, name: str, shard: int) -> Path:
    return place / "members" / name / "c" / str(shard)


def test_a_damaged_chunk_of_a_shard_that_is_done_is_named(half: Path) -> None:
    assert {0, 1} <= study_store.done(half)
    for name in ("swing", "status", "steps", "message"):
        chunk = chunk_of(half, name, 1)
        good = chunk.read_bytes()
        for bad in (None, good[:3], good[:-5] + bytes([good[-5] ^ 4]) + good[-4:]):
            chunk.unlink() if bad is None else chunk.write_bytes(bad)
            with pytest.raises(ModelError, match=f"array members/{name}, chunk 1: found a chunk that is"):
                _ = store.read(half)["members"].to_dataset()[name].values
        chunk.write_bytes(good)
    assert np.all(Study(half).table["status"].to_numpy()[:SIZE] != "interrupted")


def broken(chunk: Path, how: str) -> None:
    """Lost, as long as a machine that loses power leaves it, or with one bit turned."""
    good = chunk.read_bytes()
    {"lost": chunk.unlink, "empty": lambda: chunk.write_bytes(b""), "turned": lambda: chunk.write_bytes(
        good[:-5] + bytes([good[-5] ^ 4]) + good[-4:])}[how]()  # fmt: skip


@pytest.mark.parametrize("how", ["lost", "turned"])
def test_verify_runs_again_what_is_damaged(whole: Path, half: Path, tmp_path: Path, how: str) -> None:
    """Rows, numbers of members, trajectories, a mark; of a study that is complete and of one that goes on."""
    place = shutil.copytree(whole, tmp_path / "study.zarr")
    for there in (place, half):
        broken(chunk_of(there, "swing", 0), how)
        broken(chunk_of(there, "member", 1), how)
    broken(next(path for path in (place / "trajectories" / "pose" / "c" / "2").rglob("*") if path.is_file()), how)
    broken(place / "shards" / "done" / "c" / "7", "lost" if how == "lost" else "empty")
    match = r"array members/\w+, chunk [01]: .*Run `shiftjax sweep STUDY --resume --verify`"
    with pytest.raises(ModelError, match=match):
        _ = Study(place).table
    broken(chunk_of(half, "status", 0), how)
    with pytest.raises(ModelError, match=match):  # it is counted, of what is done
        sweep(study(), half, resume=True)
    ran: list[int] = []
    for there, count in ((place, 4), (half, 2)):
        before = len(study_store.done(there)) - (2 if there == half else 3)
        ran.clear()
        sweep(study(), there, resume=True, verify=True, progress=lambda told: ran.append(told.done))
        assert ran[0] == SIZE * before and ran[-1] == MEMBERS, count
        assert_same(there, whole)
    assert sweep(study(), place, resume=True, verify=True).complete
    assert_same(place, whole)
    coordinate = place / "trajectories" / "time" / "c" / "0"
    broken(coordinate, how)
    ran.clear()
    sweep(study(), place, resume=True, verify=True, progress=lambda told: ran.append(told.done))
    assert ran[0] == MEMBERS  # no member runs again for what a study begins with
    assert_same(place, whole)


def test_verify_finds_damage_in_the_trajectories_of_the_best(tmp_path: Path) -> None:
    asked = study(vary=MIXED, samples=32, keep={"best": {"metric": "swing", "count": 3}})
    place, other = (sweep(asked, tmp_path / f"{name}.zarr").path for name in ("study", "other"))
    broken(next(path for path in (place / "trajectories" / "pose" / "c" / "1").rglob("*") if path.is_file()), "turned")
    assert sweep(asked, place, resume=True).complete
    with pytest.raises(AssertionError):
        assert_same(place, other)
    told: list[StudyProgress] = []
    sweep(asked, place, resume=True, verify=True, progress=told.append)
    assert [progress.done for progress in told] == [32]  # no member ran again for its row
    assert_same(place, other)
    with pytest.raises(ModelError, match="sweep: verify: found without resume"):
        sweep(asked, tmp_path / "new.zarr", verify=True)


def test_the_disk_has_a_shard_before_its_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the whole store before it gets its name, and before it is complete."""
    synced, fsync, marked, rename = set[str](), os.fsync, [], Path.rename

    def noting(file: int) -> None:
        fsync(file)
        synced.add(os.readlink(f"/proc/self/fd/{file}"))

    def assert_synced(store: Path) -> None:
        marks = store / "shards" / "done" / "c"
        there = [path for path in store.rglob("*") if path != marks and marks not in path.parents]
        assert [path for path in there if str(path) not in synced] == []

    def named(draft: Path, target: Path) -> Path:
        if draft.name.endswith(".begun"):
            assert_synced(draft)
            synced.update(name.replace(str(draft), str(target)) for name in list(synced))
        return rename(draft, target)

    class Marking(study_store.WrittenFolder):
        def put(self, key: str, data: bytes) -> None:
            if key.startswith("shards/done/c"):
                assert_synced(self.root)
                marked.append(key)
            super().put(key, data)

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(Path, "rename", named)
    monkeypatch.setattr("shiftjax.ensembles.store.folders.WrittenFolder", Marking)
    place = sweep(study(keep="every 40"), tmp_path / "study.zarr").path
    assert len(marked) == SHARDS and str(place.parent) in synced and Study(place).complete


def test_a_damaged_chunk_of_a_shard_that_is_not_done_is_written_again(whole: Path, half: Path) -> None:
    last = SHARDS - 1
    assert last not in study_store.done(half)
    for name in ("swing", "status", "message"):
        chunk_of(half, name, last).write_bytes(b"no chunk at all")
    pose = half / "trajectories" / "pose" / "c" / "4"
    for chunk in (whole / "trajectories" / "pose" / "c" / "4").rglob("*"):
        if chunk.is_file():
            place = pose / chunk.relative_to(whole / "trajectories" / "pose" / "c" / "4")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"nor this")
    sweep(study(), half, resume=True)
    assert_same(half, whole)


# -- others at the store


def test_one_process_at_a_time(whole: Path, tmp_path: Path) -> None:
    place = tmp_path / "study.zarr"
    with child(place) as process:
        ways: tuple[dict[str, Any], ...] = ({"resume": True}, {"force": True}, {})
        for more in ways:
            with pytest.raises(
                ModelError, match=rf"study\.zarr: found a study that process {process.process.pid}@.*one at a time"
            ):
                sweep(study(), place, **more)
        assert lock_of(place).exists() and process.process.is_alive()
    sweep(study(), place, resume=True)
    assert_same(place, whole)


def test_one_thread_at_a_time(tmp_path: Path) -> None:
    place = tmp_path / "study.zarr"

    def again(progress: StudyProgress) -> None:
        with pytest.raises(ModelError, match=f"process {os.getpid()}@"):
            sweep(study(), place, resume=True)
        raise Stop

    with pytest.raises(Stop):
        sweep(study(), place, progress=again)
    assert not lock_of(place).exists()


def test_locks_of_the_dead_are_taken_over(half: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        dead = process.pid
    for owner in (f"{dead}@{socket.gethostname()}", f"{os.getppid()}@{socket.gethostname()}", ""):
        lock_of(half).write_text(owner)  # the second: its number is another process's now
        with study_store.locked(half):
            assert lock_of(half).read_text() == f"{os.getpid()}@{socket.gethostname()}"
        assert not lock_of(half).exists()
    lock_of(half).write_text("1@another-machine")
    match = r"process 1@another-machine runs; allowed: one at a time\..*remove .*half\.zarr\.lock"
    with pytest.raises(ModelError, match=match), study_store.locked(half):
        pass
    assert lock_of(half).read_text() == "1@another-machine"


def test_a_lock_that_its_owner_removes_meanwhile_is_made_anew(half: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, raced = fcntl.lockf, []

    def late(file: int, how: int) -> None:
        if not raced:
            raced.append(lock_of(half).unlink())
        real(file, how)

    monkeypatch.setattr(fcntl, "lockf", late)
    with study_store.locked(half):
        assert raced and lock_of(half).exists()


# -- other studies


def test_another_study_is_refused_and_the_same_is_nothing_to_do(whole: Path, half: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    for other in (study(seed=1), study(span=0.06), study(keep="none"), study(metrics={})):
        for place in (whole, half):
            with pytest.raises(ModelError, match="found the store of another study; allowed: that of this one"):
                sweep(other, place, resume=True)
    told: list[StudyProgress] = []
    assert sweep(study(), whole, resume=True, progress=told.append).complete and told == []
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before
    with pytest.raises(ModelError, match="something of that name"):
        sweep(study(), whole)


def test_force_replaces_it_by_another(whole: Path, tmp_path: Path) -> None:
    """In one process, which remembers the study that was there."""
    place = tmp_path / "study.zarr"
    sweep(study(samples=2, span=0.03), place)
    sweep(study(), place, force=True)
    assert_same(place, whole)
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(ModelError, match="something else of that name"):
        sweep(study(), tmp_path / "mine.zarr", force=True)


def test_files_that_change_meanwhile_are_noticed(tmp_path: Path) -> None:
    """A table of designs, or of a drive."""
    designs, cam = tmp_path / "designs.csv", tmp_path / "cam.csv"
    rows = ["coupler.mass", *(str(0.5 + k / 50) for k in range(32))]
    designs.write_text("\n".join(rows))
    cam.write_text("0, 0\n0.05, 0.1\n0.1, 0\n")
    given: dict[str, Any] = {"vary": {}, "samples": None, "table": str(designs), "folder": str(tmp_path)}
    mine = study(**given, drive={"crank_pivot": "table(file=cam.csv)"}, keep="none")
    with pytest.raises(Stop):
        sweep(mine, tmp_path / "study.zarr", progress=until(16))
    for file in (designs, cam):
        text = file.read_text()
        file.write_text(text.replace("0.5", "0.6") if file == designs else text.replace("0.1,", "0.2,"))
        study_plan._plan.cache_clear()  # as in another process
        with pytest.raises(ModelError, match="designs that are not those it was begun with"):
            sweep(mine, tmp_path / "study.zarr", resume=True)
        file.write_text(text)
    shutil.copytree(tmp_path / "study.zarr", tmp_path / "elsewhere.zarr")
    found = sweep(mine, tmp_path / "study.zarr", resume=True)
    assert found.complete and document(found.definition)["table"] == str(designs)
