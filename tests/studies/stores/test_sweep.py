"""Studies that are run: the same wherever their shards run, every row the same as its member alone, what is kept."""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.ensembles.execution import distribute
from shiftjax.ensembles.execution.distribute import executor_of
from shiftjax.ensembles.execution.progress import StudyProgress
from shiftjax.ensembles.execution.sweep import run_shard, sweep
from shiftjax.ensembles.store import study_store
from shiftjax.ensembles.store.ranking import ranked
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError, need_count
from shiftjax.run.results.result import Result
from tests.support.sweeps import FORKS, MEMBERS, MIXED, SIZE, assert_same, study

ROOT = Path(__file__).resolve().parents[3]
SHARDS = MEMBERS // SIZE
FAILED = ("not_assembled", "loop_open")
SCHEDULER = """
import time
from distributed import LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp")
    print(cluster.scheduler_address, flush=True)
    time.sleep(120)
"""


pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture
def serial(whole: Path) -> Study:
    return Study(whole)


# -- executors


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, FORKS) as pool:
        yield pool


def test_shards_in_threads_are_the_same(serial: Study, tmp_path: Path) -> None:
    told: list[StudyProgress] = []
    with ThreadPoolExecutor(3) as pool:
        found = sweep(study(), tmp_path / "study.zarr", executor=pool, threads=1, progress=told.append)
    assert_same(found.path, serial.path)
    assert [progress.done for progress in told] == [SIZE * k for k in range(SHARDS + 1)]
    assert told[-1].failed == serial.table["status"].isin(FAILED).sum() > 0


def test_shards_in_processes_are_the_same_and_a_killed_one_is_named(
    serial: Study, tmp_path: Path, processes: ProcessPoolExecutor
) -> None:
    """Its pool ends with it; what is done stays, and the study goes on without it."""
    found = sweep(study(), tmp_path / "study.zarr", executor=processes, threads=1)
    assert_same(found.path, serial.path)
    with pytest.raises(ModelError, match="workers: found 0"):  # errors of a worker arrive whole
        raise processes.submit(need_count, "workers", 0, 1).exception() or AssertionError
    place = tmp_path / "killed.zarr"

    def kill(progress: StudyProgress) -> None:
        if progress.done == 2 * SIZE:
            os.kill(next(iter(processes._processes)), signal.SIGKILL)

    match = r"killed\.zarr: found processes of which one was killed; .* Resume, with fewer processes"
    with pytest.raises(ModelError, match=match):
        sweep(study(), place, executor=processes, threads=1, progress=kill)
    with pytest.raises(ModelError, match=match):  # it does not come back
        sweep(study(), place, executor=processes, threads=1, resume=True)
    assert 2 <= len(study_store.done(place)) < SHARDS
    assert_same(sweep(study(), place, resume=True).path, serial.path)


@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask's clusters are not installed")
@pytest.mark.filterwarnings("ignore")  # of Dask's own threads and sockets, after a worker is killed
def test_dask_goes_on_when_a_worker_is_killed(
    serial: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The one that was asked for, whatever cores there are; it begins anew, which takes seconds of processor time."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    killed: list[int] = []
    with executor_of("local", workers=1) as pool:
        workers = list(pool._client.run(os.getpid).values())  # pyright: ignore[reportAttributeAccessIssue]
        assert len(workers) == 1 and os.getpid() not in workers

        def kill(progress: StudyProgress) -> None:
            if progress.done >= 2 * SIZE and not killed:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        found = sweep(study(), tmp_path / "study.zarr", executor=pool, threads=1, progress=kill)
    assert killed and found.complete
    assert_same(found.path, serial.path)


def test_addresses_that_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def enter(address: Any, **more: Any) -> None:
        with executor_of(address, **more):
            raise AssertionError("entered")

    for address, match in (("locl", "found 'locl'; allowed: local, or the address"), (3, "found 3"), ("", "found ''")):
        with pytest.raises(ModelError, match=match):
            enter(address)
    with pytest.raises(ModelError, match="workers"):
        enter("local", workers=0)
    with monkeypatch.context() as patch:
        patch.setattr(distribute, "find_spec", lambda name: None)
        with pytest.raises(ModelError, match=r"no Python package 'distributed'.*'\.\[dask\]'"):
            enter("local")
    if find_spec("distributed"):
        monkeypatch.setattr(distribute, "PATIENCE", 0.5)
        for address in ("tcp://127.0.0.1:1", "nothing://127.0.0.1:1"):
            with pytest.raises(ModelError, match=f"dask: found {address}, which does not answer"):
                enter(address)


class Flaky(ThreadPoolExecutor):
    """Loses what it is given so many times, as a cluster whose workers die."""

    def __init__(self, times: int) -> None:
        super().__init__(2)
        self.times, self.lost = times, dict[int, int]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.lost[args[1]] = self.lost.get(args[1], 0) + 1
        return super().submit(_worker_died if self.lost[args[1]] <= self.times else fn, *args, **kwargs)


def _worker_died(*_: Any) -> None:
    raise RuntimeError("the worker died")


def test_lost_shards_run_again_but_not_for_ever(serial: Study, tmp_path: Path) -> None:
    pool: Executor
    with Flaky(2) as pool:
        assert_same(sweep(study(), tmp_path / "study.zarr", executor=pool).path, serial.path)
        assert set(pool.lost.values()) == {3}
    with (
        Flaky(3) as pool,
        pytest.raises(ModelError, match=r"shard \d+ lost 3 times \(RuntimeError\('the worker died'\)"),
    ):
        sweep(study(), tmp_path / "other.zarr", executor=pool)


def test_a_shard_that_is_done_is_not_run_again(serial: Study) -> None:
    before = {path: path.stat().st_mtime_ns for path in serial.path.rglob("*")}
    shard, count = run_shard(str(serial.path), 3)
    rows: Any = serial.table[3 * SIZE : 4 * SIZE]
    assert shard == 3
    assert count.tolist() == [[SIZE, rows["status"].isin(FAILED).sum(), (rows["repartitions"] > 0).sum()]]
    assert {path: path.stat().st_mtime_ns for path in serial.path.rglob("*")} == before


# -- members


Alone = Callable[[int], Result]  # a member of a study, run alone, once for all that is compared with it


def assert_rows(found: Study, members: set[int], alone: Alone) -> None:
    """The row of a member is what it gives alone, bit for bit."""
    table = found.xarray["members"].to_dataset().load()
    for k in members:
        row, one = table.isel(member=k), alone(k)
        assert int(one.status[0]) == int(row["status"]) and one.messages[0] == str(row["message"].values)
        for name, value in {**one.metrics, **one.certificate}.items():
            assert np.asarray(value[0]).tobytes() == row[name].values.astype(value.dtype).tobytes(), (k, name)


def assert_kept(found: Study, expected: list[int], alone_of: Alone) -> None:
    """Trajectories of these members and no others, each as the member gives it alone."""
    kept = found.xarray["trajectories"].to_dataset().load()
    assert kept["member"].values.tolist() == expected
    for k in expected[:2] + expected[-1:]:
        alone, mine = alone_of(k), kept.sel(member=k)
        bodies = [str(body) for body in kept["body"].values]
        for body in bodies:
            pose = mine["pose"].values[:, bodies.index(body)]
            if body in alone.poses:
                assert alone.poses[body][0].tobytes() == pose.tobytes(), (k, body)
            else:
                assert np.isnan(pose).all()
        for channel in set(map(str, kept.data_vars)) - {"pose"}:
            there = channel in alone.channels
            assert (
                (alone.channels[channel][0].tobytes() == mine[channel].values.tobytes())
                if there
                else np.isnan(mine[channel].values).all()
            )


STUDIES: dict[str, dict[str, Any]] = {
    "plain": {"vary": MIXED},
    "derived": {
        "vary": {"coupler.mass": "0.5:2~sobol", "rocker.mass": "1:0.1~normal"},
        "derive": {"crank.mass": "0.5 * {coupler.mass} + {rocker.mass}"},
        "set": {"crank.inertia.Iyy": 0.0017},
    },
    "driven": {
        "vary": {"crank_pivot_drive.amplitude": "0.1:0.4~uniform", "coupler.mass": "0.5:2~sobol"},
        "drive": {"crank_pivot": "harmonic(amplitude=0.3, frequency=2)"},
        "switch": {"crank_pivot_drive": [True, False]},
    },
    "topology": {"vary": MIXED, "switch": {"rocker_pivot": [True, False]}, "metrics": {"late": "final(crank_pivot.q)"}},
    "bodies": {
        "model": "n_four_bar_1",
        "vary": {"model_parameters.gravity[0]": "-1:1~sobol"},
        "channels": ["pivot_0.q", "pivot_1.q"],
        "metrics": {"late": "final(pivot_0.q)"},
    },
    "tables": {
        "vary": {"coupler.mass": [0.5, 1.0, 2.0]},
        "samples": None,
        "table": "designs.csv",
        "drive": {"crank_pivot": "table(file=cam.csv)"},
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = ["crank:tip.T[0],rocker.mass", *(f"{0.15 + k / 40},{1 + k / 7}" for k in range(25))]
    (tmp_path / "designs.csv").write_text("\n".join(rows))
    (tmp_path / "cam.csv").write_text("0, 0\n0.05, 0.1\n0.1, 0\n")
    return tmp_path


@pytest.mark.parametrize("name", STUDIES)
def test_every_row_is_its_member_alone(name: str, folder: Path) -> None:
    """Also members that fail, in groups that shards straddle, and a design that files and formulas make."""
    asked = study(**{"samples": 25, "keep": "every 6", "folder": str(folder), **STUDIES[name]})
    found = sweep(asked, folder / "study.zarr")
    (folder / "designs.csv").write_text("")  # the store says all
    rng = np.random.default_rng(len(name))
    status = found.table["status"].to_numpy()
    assert set(status) <= {"ok", "inaccurate", *FAILED} and np.isin(status, ["ok", "inaccurate"]).any()
    failed = np.flatnonzero(np.isin(status, FAILED))
    assert name not in ("plain", "tables") or len(failed)
    alone, last = functools.cache(found.member), found.members - 1
    assert_rows(found, {0, 24, 25 % found.members, last, int(rng.integers(last)), *failed[:1].tolist()}, alone)
    assert_kept(found, list(range(0, found.members, 6)), alone)


def test_a_switched_study_is_one_table(tmp_path: Path) -> None:
    asked = study(samples=25, keep="none", **STUDIES["driven"])
    found = sweep(asked, tmp_path / "study.zarr")
    table: Any = found.table
    column = "four_bar:crank_pivot_drive.amplitude"
    assert [(g["first"], g["members"], g["switches"]) for g in found.groups] == [
        (0, 25, {"four_bar:crank_pivot_drive": True}),
        (25, 25, {"four_bar:crank_pivot_drive": False}),
    ]
    switch = [name for name, v in found.xarray["members"].data_vars.items() if v.attrs.get("role") == "switch"]
    assert switch == ["four_bar:crank_pivot_drive.active"] and table[switch[0]].tolist() == [1] * 25 + [0] * 25
    assert table[column][:25].notna().all() and table[column][25:].isna().all()
    assert (table["four_bar:coupler.mass"].to_numpy()[:25] == table["four_bar:coupler.mass"].to_numpy()[25:]).all()
    assert (table["swing"].to_numpy()[:25] != table["swing"].to_numpy()[25:]).all()
    assert found.xarray["trajectories"].sizes["member"] == 0


@pytest.mark.parametrize("states", [[True, False], [False, True]])
def test_what_is_switched_off_is_no_number_in_its_group(states: list[bool], tmp_path: Path) -> None:
    """Metrics and channels of it, with their units whichever group comes first; the others are as ever."""
    asked = study(
        samples=25,
        keep="every 6",
        vary={"coupler.mass": "0.5:2~sobol", "crank_pivot_drive.amplitude": "0.1:0.4~uniform"},
        drive={"crank_pivot": "harmonic(amplitude=0.3, frequency=2)"},
        switch={"rocker_pivot": states, "crank_pivot_drive": [True, False]},
        channels=["rocker_pivot.q", "crank_pivot.drive_load", "crank_pivot.q"],
        metrics={"swing": "peak_to_peak(rocker_pivot.q)", "late": "final(crank_pivot.q)",
                 "load": {"kind": "rms", "of": "crank_pivot.drive_load"}},
    )  # fmt: skip
    found = sweep(asked, tmp_path / "study.zarr")
    table: Any = found.table
    rocker, driven = (
        table[f"four_bar:{name}.active"].to_numpy() == 1 for name in ("rocker_pivot", "crank_pivot_drive")
    )
    assert rocker.sum() == driven.sum() == (rocker ^ driven).sum() == 50
    assert (table["swing"].isna() == ~rocker).all() and (table["load"].isna() == ~driven).all()
    assert table["late"].notna().all() and (table["four_bar:crank_pivot_drive.amplitude"].isna() == ~driven).all()
    units = table.attrs["units"]
    assert (units["swing"], units["load"], units["four_bar:crank_pivot_drive.amplitude"]) == ("rad", "N m", "rad")
    said = json.loads(found.xarray.attrs["notes"])
    first = int(np.flatnonzero(~rocker)[0])
    expected = f"metric swing: not a number in 50 of 100 members, from member {first} on, where"
    assert len(said) == 4 and any(note.startswith(expected) for note in said)
    alone = functools.cache(found.member)
    assert_rows(found, {0, 6, 30, 60, 96}, alone)
    assert_kept(found, list(range(0, 100, 6)), alone)


def test_progress_is_told_for_each_group(tmp_path: Path) -> None:
    """Also of a study that goes on: what it counts is what stands in the table."""
    asked = study(samples=40, vary=MIXED, keep="none", channels=[], switch={"rocker_pivot": [True, False]})
    place, told, again = tmp_path / "study.zarr", list[StudyProgress](), list[StudyProgress]()

    def stopping(progress: StudyProgress) -> None:
        told.append(progress)
        if progress.done >= 3 * SIZE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(asked, place, progress=stopping)
    found = sweep(asked, place, resume=True, progress=again.append)
    assert [dict(group.switches) for group in again[0].groups] == [dict(g["switches"]) for g in found.groups]
    assert [group.done for group in told[0].groups] == [0, 0] and told[0].groups[0].left == np.inf
    assert [group.done for group in told[-1].groups] == [40, 8] == [group.done for group in again[0].groups]
    assert told[-1].groups[0].rate > 0.0 and again[0].groups[0].rate == 0.0 and again[0].groups[0].left == 0.0
    assert again[-1].groups[1].rate > 0.0 and again[-1].left == 0.0
    table: Any = found.table
    for group, rows in zip(again[-1].groups, (table[:40], table[40:]), strict=True):
        assert (group.members, group.done) == (40, 40)
        assert group.failed == rows["status"].isin(FAILED).sum()
        assert group.repartitioned == (rows["repartitions"] > 0).sum()
    assert again[-1].groups[0].failed > again[-1].groups[1].failed == 0
    assert again[-1].failed == sum(group.failed for group in again[-1].groups)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"metrics": {"load": "rms(crank_pivot.drive_load)"}}, "crank_pivot.drive_load: found a joint that nothing"),
        ({"metrics": {"swing": "rms(roker_pivot.q)"}}, "rocker_pivot"),
        ({"channels": ["crank_pivot.drive_load"]}, "crank_pivot.drive_load: found a joint that nothing drives"),
    ],
)
def test_what_is_in_no_group_is_refused(more: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=match):
        sweep(study(switch={"rocker_pivot": [True, False]}, **more), tmp_path / "study.zarr")
    assert list(tmp_path.iterdir()) == []


# -- what is kept


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """The members of the study below, which are the same whatever it keeps."""
    asked = study(vary=MIXED, samples=24, keep="none")
    return functools.cache(sweep(asked, tmp_path_factory.mktemp("mixed") / "study.zarr").member)


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("all", list(range(24))),
        ("none", []),
        ("every 7", [0, 7, 14, 21]),
        ([23, 3, 3, 17], [3, 17, 23]),
        (2, [0, 23]),
        ({"worst": {"metric": "swing", "count": 2}, "best": {"metric": "late", "count": 3, "good": "large"}}, None),
        ({"members": [5], "worst": [{"metric": "swing", "count": 1}, {"metric": "energy_error", "count": 2}]}, None),
    ],
)
def test_trajectories_are_those_of_the_members_that_are_kept(
    keep: Any, expected: list[int] | None, mixed: Alone, tmp_path: Path
) -> None:
    found = sweep(study(vary=MIXED, samples=24, keep=keep), tmp_path / "study.zarr")
    if expected is None:
        table: Any = found.table
        finished = table["status"].map({"ok": 0, "inaccurate": -1}).fillna(1).to_numpy()
        order = {name: ranked(table[name].to_numpy(), finished, rising=False).tolist() for name in table if name in (
            "swing", "late", "energy_error")}  # fmt: skip
        chosen = order["swing"][:2] + order["late"][:3] if "best" in keep else [5, order["swing"][0]]
        expected = sorted({*chosen, *(order["energy_error"][:2] if "members" in keep else [])})
    assert_kept(found, expected, mixed)


def test_a_temporary_store_lives_as_long_as_its_study() -> None:
    found = sweep(Definition("pendulum", span=0.01, keep="none"))
    path = found.path
    assert found.members == 1 and path.exists() and found.complete
    del found
    gc.collect()
    assert not path.exists()


@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask's clusters are not installed")
@pytest.mark.filterwarnings("ignore")  # of Dask's own threads and sockets
def test_a_scheduler_that_is_lost_is_one_clear_error(serial: Study, tmp_path: Path) -> None:
    """What was done stays, and the study goes on without it."""
    place = tmp_path / "study.zarr"
    with subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()

        def kill(progress: StudyProgress) -> None:
            if progress.done >= SIZE:
                process.kill()

        with pytest.raises(ModelError, match=r"study\.zarr: found .*scheduler.* Resume"), executor_of(address) as pool:
            sweep(study(), place, executor=pool, threads=1, progress=kill)
    assert study_store.done(place)
    sweep(study(), place, resume=True)
    assert_same(place, serial.path)
