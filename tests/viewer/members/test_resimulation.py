"""Members without a stored trajectory are simulated again, to the last bit, by a process that the viewer starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from shiftjax.cli import main
from shiftjax.constraints.drives import Harmonic, Table
from shiftjax.ensembles.execution.again import _difference, again
from shiftjax.ensembles.execution.again_messages import FOUND, packed, unpacked
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.recipe import of_result
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.run.results.labelled import origin_numbers, with_origin
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.viewer.study import simulator
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.resimulation import Resimulation, named
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.study_stores import written

ROOT = Path(__file__).resolve().parents[3]
SPAN = {"span": 0.1, "output_step": 0.02, "keep": "all"}
LENGTH = "four_bar:coupler:tip.T[0]"
LENGTHS = np.array([0.5, 9.0, 0.45, 0.6, 0.55])  # the second cannot be assembled
OPEN = 1
PATIENCE = 120.0  # s for a simulator to start on a busy machine


@pytest.fixture(scope="module")
def result() -> Result:
    metrics = {"swing": "peak_to_peak(rocker_pivot.q)", "mean": lambda t, c: np.mean(c["rocker_pivot.q"], axis=1)}
    return simulate("four_bar", vary={LENGTH: LENGTHS}, channels=["rocker_pivot.q", "coupler:tip.position"],
                    metrics=metrics, **SPAN)  # fmt: skip


@pytest.fixture(scope="module")
def path(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store.write(result, tmp_path_factory.mktemp("again") / "none.zarr", keep="none")


@pytest.fixture
def study(path: Path) -> Iterator[ViewedStudy]:
    found = ViewedStudy.open(path)
    yield found
    assert found.lacking.resimulation is not None
    found.lacking.resimulation.close()


def stacked(result: Result) -> np.ndarray:
    """(B, n, bodies, 7)"""
    poses = [pose if result.batched else pose[None] for pose in result.poses.values()]
    return np.stack(poses, axis=2)


def same_again(result: Result, place: Path, members: list[int]) -> None:
    """Poses, channels and all figures of the members, from a store without trajectories, are those of the result."""
    store.write(result, place, keep="none", force=True)
    (found,) = again(place, members)
    assert found.members.tolist() == members and found.differences == ("",) * len(members)
    assert found.messages == tuple(result.messages[k] for k in members)
    np.testing.assert_array_equal(found.trajectories["pose"], stacked(result)[members])
    for name, values in result.channels.items():
        every = values if result.batched else values[None]
        np.testing.assert_array_equal(found.trajectories[name], every[members])


# -- the same to the last bit


def test_members_of_a_sweep_are_the_same_to_the_last_bit(result: Result, tmp_path: Path) -> None:
    same_again(result, tmp_path / "a.zarr", [3, 0])
    same_again(result, tmp_path / "a.zarr", [OPEN])


RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "assigned": {"assign": {"coupler.mass": 2.0, "crank_pivot.initial_displacement": 1.2}},
    "derived": {"vary": {"rocker.mass": [1.0, 2.0]}, "derive": {"coupler.mass": "2 * {rocker.mass}"}},
    "driven": {"drive": {"crank_pivot": Harmonic(amplitude=0.3, frequency=2.0)}},
    "driven members": {"drive": {"crank_pivot": Harmonic(offset=np.array([1.0, 1.1]), frequency=2.0)}},
    "table": {"drive": {"crank_pivot": Table(times=[0, 0.05, 0.3], values=[0.5, np.array([0.6, 0.7]), 1.0])}},
    "euler": {"method": "euler", "move_steps": False, "repartition": False, "hold": ["crank_pivot"]},
    "limits": {"energy_limit": np.inf, "gap_limit": 1e-20, "strict_start": True},
    "single precision": {"precision": "f32"},
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_all_kinds_are_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    run = simulate("four_bar", channels=["rocker_pivot.q"], **{**SPAN, **RUNS[name]})
    same_again(run, tmp_path / "a.zarr", [run.members - 1])


def test_a_model_whose_numbers_were_replaced_walks_to_its_start_as_before(tmp_path: Path) -> None:
    """Its store says where it comes from: the walk decides the branch and the last bits."""
    model = load("four_bar").replace({"crank_pivot.initial_displacement": 2.2, "crank:tip.T[0]": 0.25})
    same_again(simulate(model, **SPAN), tmp_path / "a.zarr", [0])
    back = with_origin(load(store_document(model)), origin_numbers(model))
    assert model.origin is not None and back.origin is not None
    assert back == model and back.origin.numbers() == model.origin.numbers() and back.replaced == model.replaced


def store_document(model: Any) -> dict[str, Any]:
    return json.loads(json.dumps(simulate(model, span=0.001).model_document()))


def test_a_stored_json_of_channels_only(tmp_path: Path) -> None:
    run = simulate("four_bar", channels=["rocker_pivot.q"], **SPAN)
    (found,) = again(store.write(run, tmp_path / "a.json", keep="none"), [0])
    np.testing.assert_array_equal(found.trajectories["pose"], stacked(run))
    assert found.differences == ("",)


def groups(place: Path, keep: str, **more: Any) -> Path:
    words = {"switch": {"four_bar:rocker_pivot": [True, False]}, "vary": {"coupler.mass": "0.5:2:3"}, "span": 0.1}
    words |= {"output_step": 0.02, "channels": ["rocker.position"], "metrics": {"far": "maximum(rocker.position[0])"}}
    sweep(Definition("four_bar", **{**words, "keep": keep, **more}), place)
    return place


def test_a_study_of_several_groups(tmp_path: Path) -> None:
    """Parts are switched: each group has its own model, which the scene shows, too."""
    kept, none = groups(tmp_path / "kept.zarr", "all"), groups(tmp_path / "none.zarr", "none")
    expected = store.read(kept)["trajectories"].to_dataset()
    some = list(again(none, [4, 1]))
    assert [one.members.tolist() for one in some] == [[1], [4]] and all(one.differences == ("",) for one in some)
    for one in some:
        bodies = list(one.trajectories["body"].values)  # in an order of its own model
        np.testing.assert_array_equal(one.trajectories["pose"], expected["pose"].sel(body=bodies).values[one.members])
        mine = expected["rocker.position"].values[one.members]
        np.testing.assert_array_equal(one.trajectories["rocker.position"], mine)
    study, stored = ViewedStudy.open(none), ViewedStudy.open(kept)
    try:
        for member in (1, 4):
            np.testing.assert_array_equal(study.track(member), stored.track(member))
        assert dict(study.model_of(1).joints()).keys() - dict(study.model_of(4).joints()).keys() == {
            "four_bar:rocker_pivot"
        }
    finally:
        assert study.lacking.resimulation is not None
        study.lacking.resimulation.close()


def test_a_study_whose_members_lack_a_body(tmp_path: Path) -> None:
    """What is switched off stands at the origin and is not drawn; before, such a member could not be shown."""
    words = {"vary": {}, "channels": [], "metrics": {}, "switch": {"four_bar:rocker": [True, False]}}
    place = groups(tmp_path / "a.zarr", "all", **words)
    study = ViewedStudy.open(place)
    last = study.members - 1
    assert last in study.drawable([last]).ids and np.isfinite(study.track(last)).all()
    paths = {part.path for part in MemberScenes(study).scene(last).parts if part.kind == "body"}
    assert "four_bar:crank" in paths and "four_bar:rocker" not in paths


def test_an_assembled_study(tmp_path: Path) -> None:
    words = {"vary": {"coupler:tip.T[0]": "0.45:0.6:3"}, "assemble_only": True}
    tree = sweep(Definition("four_bar", keep="all", **words), tmp_path / "kept.zarr").xarray
    sweep(Definition("four_bar", keep="none", **words), tmp_path / "none.zarr")
    (found,) = again(tmp_path / "none.zarr", [2])
    kept = tree["trajectories"].to_dataset()["pose"].values
    np.testing.assert_array_equal(found.trajectories["pose"], kept[[2]])


def test_a_difference_is_told(result: Result, tmp_path: Path) -> None:
    tree = store.read(store.write(result, tmp_path / "a.zarr", keep="none"))
    members = tree["members"].to_dataset().load()
    members["energy_error"].values[3] *= 2
    place = written(tree.assign({"members": xr.DataTree(members)}), tmp_path / "b.zarr")
    (found,) = again(place, [0, 3])
    assert found.differences[0] == "" and "on another machine: energy_error" in found.differences[1]
    assert (_difference(1.0, 1.0), _difference(float("nan"), float("nan")), _difference(2.0, 1.0)) == (0, 0, 0.5)
    assert _difference(float("nan"), 1.0) == np.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"drive": {"crank_pivot": lambda t: 2.0 * t}},
            r"a drive of four_bar:crank_pivot that is a function of Python",
        ),
        ({"start": True}, "a run that goes on from another one"),
    ],
)
def test_what_no_store_holds_is_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    if "start" in given:
        given = {"start": simulate("four_bar", span=0.1)}
    place = store.write(simulate("four_bar", **SPAN, **given), tmp_path / "a.zarr", keep="none")
    with pytest.raises(ModelError, match=f"a.zarr: simulating members again: found {message}"):
        of_result(store.read(place), [0], str(place))


# -- the process, and the study that shows them


def test_a_message_comes_back() -> None:
    about, arrays = {"bodies": ["é"]}, {"pose": np.array([[1.0, np.nan]])}
    kind, words, found = unpacked(packed(FOUND, about, arrays))
    assert (kind, words) == (FOUND, about)
    np.testing.assert_array_equal(found["pose"], arrays["pose"])
    assert unpacked(packed(b"r"))[1:] == (None, {})
    assert [named([7]), named([1, 2]), named(range(9))] == [
        "member 7",
        "2 members (1, 2)",
        "9 members (0, 1, 2, 3, ...)",
    ]


def test_any_choice_shows_something(study: ViewedStudy, result: Result) -> None:
    """Poses, channels and the scene of members of which nothing was kept; those that never started are told."""
    found = study.drawable(study.choose("worst:5"))
    assert found.again.tolist() == found.ids.tolist() and found.missing.tolist() == [OPEN]
    assert "No trajectory was kept of 4 of them" in found.reason and "simulated again" in found.reason
    assert found.reason.endswith("1 never started (1).")
    told: list[float] = []
    study.prepare(found.ids, told.append)
    assert told and study.simulated.tolist() == [0, 2, 3, 4] and not study.awaited(found.ids)
    assert study.drawable(study.choose("all")).again.size == 0
    assert study.nodes == ("fixed", *result.poses)
    poses = study.poses_of([0, 3], 0.04)[:, 1:]
    np.testing.assert_allclose(poses, stacked(result)[[0, 3], 2], rtol=0, atol=1e-15)  # a quaternion's unit length
    np.testing.assert_array_equal(study.channel("rocker_pivot.q", 3), result.channels["rocker_pivot.q"][3])
    assert study.end(3) == result.time[-1] and study.news() == ("", [])
    assert MemberScenes(study).scene(3).parts
    with pytest.raises(ModelError, match="no pose at any time"):
        study.track(OPEN)


def test_it_is_asked_without_waiting(study: ViewedStudy) -> None:
    study.request([2, 3])
    assert study.awaited([3]) and study.news()[0].startswith("simulating 2 members (2, 3) again: ")
    end = time.monotonic() + PATIENCE
    while study.awaited([2, 3]):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert study.simulated.tolist() == [2, 3] and study.news() == ("", [])


def test_of_many_members_few_are_simulated(study: ViewedStudy, path: Path, result: Result, tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("shiftjax.viewer.study.lacking_members.MOST", 2)
    found = study.drawable(study.choose("all"))
    assert found.again.tolist() == [0, 2] and found.missing.tolist() == [1, 3, 4] and "More than 2" in found.reason
    monkeypatch.setattr("shiftjax.viewer.study.lacking_members.MOST", 1)
    some = ViewedStudy.open(store.write(result, tmp_path / "some.zarr", keep=2))
    found = some.drawable(some.choose("all"))
    assert found.ids.tolist() == [0, 4] and found.again.size == 0, "what is stored is shown at once"


def test_a_simulator_that_dies_is_told_once_and_started_again(study: ViewedStudy) -> None:
    study.request([0])
    kill(study)
    with pytest.raises(ModelError, match=r"simulating member 0 again: found a simulator that was ended"):
        while study.awaited([0]):
            time.sleep(0.01)
        study.track(0)
    assert study.drawable([0]).missing.size == 0 or "was ended" in study.drawable([0]).reason
    study.prepare([0])
    assert study.simulated.tolist() == [0]


def kill(study: ViewedStudy) -> None:
    """Ends the process that simulates, as a machine short of memory does."""
    assert study.lacking.resimulation is not None
    end = time.monotonic() + PATIENCE
    while (process := study.lacking.resimulation.simulator.process) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()


def test_another_simulator_is_told(study: ViewedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "MODULE", "shiftjax.none_of_that_name")
    with pytest.raises(ModelError, match=r"ended with code 1: .*none_of_that_name"):
        study.prepare([0])


def test_a_store_that_is_gone(result: Result, tmp_path: Path) -> None:
    place = store.write(result, tmp_path / "a.zarr", keep="none")
    study = ViewedStudy.open(place)
    assert study.drawable([0]).again.tolist() == [0]
    place.rename(tmp_path / "moved.zarr")
    with pytest.raises(ModelError, match="nothing there"):
        study.prepare([0])
    found = study.drawable([0])
    assert not len(found.ids) and "nothing there" in found.reason
    assert study.lacking.resimulation is not None
    study.lacking.resimulation.close()


def test_ctrl_c_ends_the_process(path: Path) -> None:
    asked = Resimulation(str(path))
    pids: list[int] = []

    def interrupt(done: float) -> None:
        if asked.simulator.process is not None:
            pids.append(asked.simulator.process.pid)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked.wait([0], interrupt)
    end = time.monotonic() + PATIENCE
    while asked.outstanding([0]):
        assert time.monotonic() < end
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


# -- the commands


def test_a_picture_of_a_member_that_was_not_kept(path: Path, tmp_path: Path) -> None:
    """The process that draws stays without jax, and says what it waits for."""
    target = tmp_path / "a.png"
    words = [
        "render",
        str(path),
        "--member",
        "worst:1 of not failed",
        "--out",
        str(target),
        "--size",
        "64x48",
        "--fast",
    ]
    code = (
        "import sys, json; from shiftjax.cli import main; "
        f"code = main({words!r}); print(json.dumps([code, sorted(set(sys.modules) & {{'jax', 'jaxlib'}})]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert json.loads(done.stdout) == [0, []] and target.is_file()
    assert "simulating member " in done.stderr and "again ..." in done.stderr


def test_an_export_of_members_that_were_not_kept(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(path), "--glb", str(tmp_path / "a.glb"), "--ghosts", "2,3"]) == 0
    assert "simulating 3 members (0, 2, 3) again ..." in capsys.readouterr().err


def test_a_choice_of_members_that_never_started_is_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", str(path), "--member", "failed", "--out", "none.png"]) == 2
    assert "--member failed: found 1 never started (1)." in capsys.readouterr().err


def test_ctrl_c_ends_a_command_that_waits(path: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "shiftjax", "render", str(path), "--out", str(tmp_path / "a.png")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        try:
            assert "simulating member" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
    assert not (tmp_path / "a.png").exists()


# -- keeping the worst and the best


def test_the_worst_of_a_sweep_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which they are follows from all members; their trajectories are those that --keep all stores."""
    words = ["sweep", "four_bar", "--vary", f"{LENGTH}=0.45:0.6:6", "--span", "0.1", "--output-step", "0.02"]
    words += ["--metric", "swing=peak_to_peak(rocker_pivot.q)", "--channel", "rocker_pivot.q"]
    assert main([*words, "--keep", "all", "--out", str(tmp_path / "all.zarr")]) == 0
    whole = store.read(tmp_path / "all.zarr")
    members, poses = (whole[name].to_dataset() for name in ("members", "trajectories"))
    swing, pivots = members["swing"].values, members["pivot_ratio"].values
    length = members[LENGTH].values
    for keep, order in (
        ("worst:2 by swing", -swing),
        ("best:2 by swing", swing),
        ("worst:1 by pivot_ratio", pivots),
        ("best:3 by {swing} / {coupler:tip.T[0]}", swing / length),
    ):
        place = tmp_path / "some.zarr"
        assert main([*words, "--keep", keep, "--out", str(place), "--force"]) == 0, keep
        some = store.read(place)["trajectories"].to_dataset()
        expected = np.sort(np.argsort(order, kind="stable")[: int(keep[keep.index(":") + 1])])
        assert some["member"].values.tolist() == expected.tolist(), keep
        np.testing.assert_array_equal(some["pose"], poses["pose"].values[expected])
        np.testing.assert_array_equal(some["rocker_pivot.q"], poses["rocker_pivot.q"][expected])
    capsys.readouterr()
    assert main([*words, "--keep", "worst:2 by swnig", "--out", str(tmp_path / "no.zarr")]) == 2
    assert "keep by swnig: found 'swnig'" in capsys.readouterr().err and not (tmp_path / "no.zarr").exists()


def test_the_worst_of_a_study_are_kept_by_what_top_takes(tmp_path: Path) -> None:
    words: dict[str, Any] = {"vary": {"coupler.mass": "0.5:2:7"}, "span": 0.05, "output_step": 0.01}
    words |= {"metrics": {"swing": "peak_to_peak(rocker_pivot.q)"}}

    def kept(name: str, keep: str, shard: int | None = None) -> list[int]:
        study = sweep(Definition("four_bar", keep=keep, **words), tmp_path / name, shard=shard)
        return study.xarray["trajectories"].to_dataset()["member"].values.tolist()

    found = kept("a.zarr", "best:2 by {swing} * {coupler.mass}", shard=3)
    members = store.read(tmp_path / "a.zarr")["members"].to_dataset()
    order = np.argsort(members["swing"].values * members["four_bar:coupler.mass"].values, kind="stable")
    assert found == sorted(order[:2].tolist())
    assert kept("b.zarr", "worst:1 by coupler.mass") == [6]
    with pytest.raises(ModelError, match=r"keep by \{swing\} \* \{coupler.length\}: found 'coupler.length'"):
        kept("c.zarr", "best:2 by {swing} * {coupler.length}")
    assert not (tmp_path / "c.zarr").exists()
    said = Definition("four_bar", keep="worst:3 by pivot_ratio").kept.text()
    assert said == "no members; the 3 worst of pivot_ratio (large is good)"
