"""A stored study gives back what was simulated, at any time and for any choice of members, at any size."""

import dataclasses
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.outcome import Outcome
from shiftjax.poses import interpolated
from shiftjax.run.results.labelled import FORMAT
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.viewer.study.study import ViewedStudy

ROOT = Path(__file__).resolve().parents[3]
EXACT = 1e-15  # of numbers about 1: a rounding, where a stored quaternion is brought to unit length
ROUNDING = 1e-12  # of sines and arctangents of angles
MASSES = np.array([1.0, math.nan, 0.9, 1.3, 0.7, 1.1])
DEAD = 1  # its mass is no number: it never starts
KEPT = [0, 2, 3, 5]  # of keep=4
MASS = "four_bar:coupler.mass"
MANY = 100_000
SECONDS = 3.0  # of the processor to open MANY members, choose and take poses; 0.4 measured on a busy machine
MEGABYTES = 60.0  # that opening and ranking MANY may take; 13 measured


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(
        load("four_bar"),
        vary={MASS: MASSES},
        span=1.0,
        step=1e-2,
        output_step=0.05,
        keep="all",
        channels=["four_bar:crank_pin.q", "four_bar:coupler:tip.position"],
    )


@pytest.fixture(scope="module")
def path(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store.write(result, tmp_path_factory.mktemp("study") / "few.zarr", keep=4)


@pytest.fixture
def study(path: Path) -> ViewedStudy:
    return ViewedStudy.open(path)


@pytest.fixture
def whole(result: Result) -> ViewedStudy:
    return ViewedStudy.of(result)


def same_attitude(found: np.ndarray, expected: np.ndarray, atol: float) -> None:
    """Equal poses; q and -q are one attitude."""
    sign = np.where((found[..., 3:] * expected[..., 3:]).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    np.testing.assert_allclose(found[..., :3], expected[..., :3], rtol=0, atol=atol)
    np.testing.assert_allclose(sign * found[..., 3:], expected[..., 3:], rtol=0, atol=atol)


def alone(study: ViewedStudy) -> ViewedStudy:
    """A study of what is stored: nothing is simulated again."""
    return ViewedStudy(store.read(study.where), study.where)


# -- what is read back


def test_names_and_figures(study: ViewedStudy, result: Result) -> None:
    assert study.model == result.model and study.model.name == "four_bar"
    assert study.source == result.model.source and Path(study.source).is_file()
    assert study.report == result.report
    assert study.settings["step"] == 1e-2
    assert study.members == len(MASSES)
    assert study.kept.tolist() == KEPT
    assert study.nodes == ("fixed", *result.poses)
    np.testing.assert_array_equal(study.time, result.time)
    np.testing.assert_array_equal(study.status, result.status)
    assert set(study.metrics) == set(result.certificate) and len(study.metrics) == len(result.certificate)
    for name, values in result.certificate.items():
        np.testing.assert_array_equal(study.metrics[name], values)
    assert list(study.design) == [MASS]
    np.testing.assert_array_equal(study.design[MASS], MASSES)
    assert [study.message(k) for k in range(study.members)] == list(result.messages)
    assert study.message(DEAD)
    assert study.channels == {path: result.units[path] for path in result.channels}
    assert [study.unit(name) for name in ("gap", "crank_pin.q", "coupler.mass")] == ["m", "rad", "kg"]


def test_poses_at_the_stored_instants_are_those_of_the_run(study: ViewedStudy, result: Result) -> None:
    for member in KEPT:
        expected = np.stack([pose[member] for pose in result.poses.values()], axis=1)
        for k, t in enumerate(result.time):
            poses = study.poses(member, float(t))
            assert poses.shape == (len(study.nodes), 7)
            np.testing.assert_array_equal(poses[0], [0, 0, 0, 1, 0, 0, 0])
            same_attitude(poses[1:], expected[k], EXACT)
        same_attitude(study.track(member)[:, 1:], expected, 0.0)


def test_many_times_and_many_members_at_once(study: ViewedStudy) -> None:
    times = np.array([-1.0, 0.0, 0.123, 0.5, 0.77, 1.0, 9.0])
    np.testing.assert_array_equal(study.poses(3, times), [study.poses(3, t) for t in times])
    for t in times.tolist():
        np.testing.assert_array_equal(study.poses_of([5, 0, 3], t), [study.poses(k, t) for k in (5, 0, 3)])
    assert study.poses_of([], 0.2).shape == (0, len(study.nodes), 7)


def test_outside_the_span_poses_stand_still(study: ViewedStudy) -> None:
    np.testing.assert_array_equal(study.poses(0, -3.0), study.poses(0, 0.0))
    np.testing.assert_array_equal(study.poses(0, math.inf), study.poses(0, float(study.time[-1])))
    with pytest.raises(ModelError, match=r"time: found nan; allowed: 0 to 1 s"):
        study.poses(0, math.nan)


def test_signs_of_quaternions_are_continuous(result: Result) -> None:
    rng = np.random.default_rng(5)
    flips = {}
    for body, pose in result.poses.items():
        flips[body] = np.array(pose)
        flips[body][..., 3:] *= rng.choice([-1.0, 1.0], (*pose.shape[:2], 1))
    study = ViewedStudy.of(dataclasses.replace(result, poses=flips))
    track = study.track(0)
    assert ((track[1:, :, 3:] * track[:-1, :, 3:]).sum(-1) > 0).all()
    same_attitude(track[:, 1:], np.stack([pose[0] for pose in result.poses.values()], axis=1), 0.0)


def slerp(a: np.ndarray, b: np.ndarray, s: float) -> np.ndarray:
    """(4,) the quaternion between those of two poses."""
    poses = [np.concatenate([np.zeros(3), q]) for q in (a, b)]
    return interpolated(poses[0], poses[1], np.array(s))[3:]


@given(st.integers(0, 10_000), st.floats(0, 1), st.floats(-14, 0.49))
def test_slerp_is_a_turn_at_a_steady_rate(seed: int, s: float, size: float) -> None:
    """q(s) = q0 exp(s x u): the turn from a to b about one axis, for angles from 1e-14 to nearly half a turn."""
    rng = np.random.default_rng(seed)
    a, u = rng.normal(size=4), rng.normal(size=3)
    a, u, x = a / np.linalg.norm(a), u / np.linalg.norm(u), 10.0**size / 2

    def turned(angle: float) -> np.ndarray:
        w, v = math.cos(angle), math.sin(angle) * u
        return np.array([a[0] * w - a[1:] @ v, *(a[0] * v + w * a[1:] + np.cross(a[1:], v))])

    np.testing.assert_allclose(slerp(a, turned(x), s), turned(s * x), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(slerp(a, -turned(x), s), turned(s * x), rtol=0, atol=ROUNDING)


def test_channels(study: ViewedStudy, whole: ViewedStudy, result: Result) -> None:
    for name in result.channels:
        for member in KEPT:
            np.testing.assert_array_equal(study.channel(name, member), result.channels[name][member])
    np.testing.assert_array_equal(study.channel("crank_pin.q", 2), result.channels["four_bar:crank_pin.q"][2])
    assert np.isnan(whole.channel("crank_pin.q", DEAD)).all()


def test_a_member_that_ended_early_stays_where_it_ended(result: Result) -> None:
    ended, last = 3, 8
    poses = {body: np.array(pose) for body, pose in result.poses.items()}
    for pose in poses.values():
        pose[ended, last + 1 :] = np.nan
    status = np.array(result.status)
    status[ended] = Outcome.stuck
    study, full = ViewedStudy.of(dataclasses.replace(result, poses=poses, status=status)), ViewedStudy.of(result)
    assert study.end(ended) == study.time[last] and study.end(0) == study.time[-1]
    np.testing.assert_array_equal(study.track(ended)[: last + 1], full.track(ended)[: last + 1])
    np.testing.assert_array_equal(
        study.track(ended)[last:], np.repeat(full.track(ended)[last : last + 1], 21 - last, 0)
    )
    np.testing.assert_allclose(study.poses(ended, 1.0), full.track(ended)[last], rtol=0, atol=EXACT)
    assert study.drawable([ended]).ids.tolist() == [ended]


def test_what_can_be_drawn(study: ViewedStudy, whole: ViewedStudy) -> None:
    found = study.drawable([5, 4, 0, DEAD])
    assert found.ids.tolist() == [5, 4, 0] and found.missing.tolist() == [DEAD] and found.again.tolist() == [4]
    again = "No trajectory was kept of 1 of them (4): simulated again."
    assert found.reason == f"{again} 1 never started ({DEAD})."
    assert study.drawable(study.kept).reason == ""
    found = alone(study).drawable([5, 4, 0, DEAD])
    assert found.ids.tolist() == [5, 0] and found.missing.tolist() == [4, DEAD] and not len(found.again)
    assert found.reason.startswith("No trajectory was kept of 1 of them (4).") and "--keep" in found.reason
    never = whole.drawable(whole.choose("all"))
    assert never.missing.tolist() == [DEAD] and never.reason == "1 never started (1)."
    with pytest.raises(ModelError, match="member: found 6; allowed: 0 to 5"):
        study.drawable([0, 6])


def test_trajectories_in_memory_are_bounded(path: Path, study: ViewedStudy) -> None:
    assert study.track(0) is study.track(0)
    assert not study.track(0).flags.writeable
    one = study.track(0).nbytes
    small = ViewedStudy.open(path, cache_bytes=2 * one)
    first = small.track(0)
    small.poses_of(KEPT, 0.3)
    assert small.trajectories.latest.size <= 2 * one
    again = small.track(0)
    assert again is not first
    np.testing.assert_array_equal(again, first)


# -- other stores


def single() -> Result:
    return simulate(load("four_bar"), span=0.2, step=1e-2, output_step=0.05, keep="all", channels=["crank_pin.q"])


def test_one_run_as_json(tmp_path: Path) -> None:
    run = single()
    study = ViewedStudy.open(store.write(run, tmp_path / "run.json"))
    assert study.members == 1 and study.kept.tolist() == [0] and not study.design
    same_attitude(study.poses(0, 0.1)[1:], np.stack([pose[2] for pose in run.poses.values()]), EXACT)
    assert study.metrics["gap"].shape == (1,) and study.choose("worst").tolist() == [0]
    bare = ViewedStudy.open(store.write(run, tmp_path / "bare.json", keep="none"))
    assert {*bare.nodes} == {*study.nodes} and not len(bare.kept)
    np.testing.assert_array_equal(bare.channel("crank_pin.q", 0), run.channels["crank_pin.q"])
    assert bare.drawable([0]).again.tolist() == [0] and alone(bare).drawable([0]).missing.tolist() == [0]
    with pytest.raises(ModelError, match=r"bare.json: member 0: found no stored trajectory; .* --keep"):
        alone(bare).poses(0, 0.0)


def test_a_store_without_poses(result: Result, tmp_path: Path) -> None:
    study = alone(ViewedStudy.open(store.write(result, tmp_path / "none.zarr", keep="none")))
    assert not len(study.kept) and not len(study.choose("kept")) and study.choose("worst").tolist() == [DEAD]
    with pytest.raises(ModelError, match=r"nothing, no member was kept.*--keep all"):
        study.track(2)
    with pytest.raises(ModelError, match=r"nothing, no member was kept.*--keep all"):
        study.channel("crank_pin.q", 2)


def test_what_cannot_be_opened(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nothing there"):
        ViewedStudy.open(tmp_path / "no.zarr")
    document = json.loads(store.write(single(), tmp_path / "run.json").read_text())
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps(document | {"format_version": 9}))
    with pytest.raises(ModelError, match=f"format version 9; allowed: up to {FORMAT['format_version']}"):
        ViewedStudy.open(newer)
    (tmp_path / "odd.json").write_text(json.dumps(document | {"model": {"assemblies": 3}}))
    with pytest.raises(ModelError, match="model_parameters"):
        ViewedStudy.open(tmp_path / "odd.json")
    target = store.write(result, tmp_path / "half.zarr")
    shutil.rmtree(target / "members" / "message")
    with pytest.raises(ModelError, match=r"members/message/zarr\.json: found metadata that is missing"):
        ViewedStudy.open(target)


def test_a_spoilt_chunk_is_named(result: Result, tmp_path: Path) -> None:
    target = store.write(result, tmp_path / "spoilt.zarr")
    chunk = next(file for file in (target / "trajectories" / "pose" / "c").rglob("*") if file.is_file())
    chunk.write_bytes(chunk.read_bytes()[:50])
    study = ViewedStudy.open(target)
    damage = (
        r"pose: found numbers that cannot be read.*array trajectories/pose, chunk 0/0/0/0: found a chunk that is not"
    )
    with pytest.raises(ModelError, match=damage):
        study.track(0)


def test_refused_members_and_names(study: ViewedStudy, whole: ViewedStudy) -> None:
    with pytest.raises(ModelError, match=r"member 4: found no stored trajectory; allowed: .*0, 2, 3, 5.*--keep"):
        alone(study).track(4)
    for member in (6, -1):
        with pytest.raises(ModelError, match=f"member: found {member}; allowed: 0 to 5"):
            study.poses(member, 0.0)
        with pytest.raises(ModelError, match=f"member: found {member}; allowed: 0 to 5"):
            study.message(member)
    with pytest.raises(ModelError, match=r"member 1: found no pose at any time.*not a number"):
        whole.poses(DEAD, 0.0)
    with pytest.raises(ModelError, match=r"Did you mean 'four_bar:crank_pin\.q'"):
        study.channel("four_bar:crank_pn.q", 0)
    with pytest.raises(ModelError, match="Did you mean 'gap'"):
        study.unit("gaps")


# -- size

FRESH = """
import json, sys, time
from pathlib import Path
def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
from shiftjax.viewer.study.study import ViewedStudy
began, before = time.process_time(), memory()
study = ViewedStudy.open(sys.argv[1])
worst = study.choose("worst:5").tolist()
kept = study.choose("worst:5 of kept")
poses = study.poses_of(kept, 0.333)
print(json.dumps({
    "s": time.process_time() - began, "mb": memory() - before, "worst": worst, "kept": kept.tolist(),
    "poses": poses.tolist(), "jax": sorted(m for m in sys.modules if m.startswith("jax")),
}))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_many_members_open_fast_and_small(result: Result, tmp_path: Path) -> None:
    """F15: a store opens in seconds with little memory, without jax."""
    rng = np.random.default_rng(11)
    kept = np.sort(rng.choice(MANY, 64, replace=False))
    figures = {name: np.resize(values, MANY) for name, values in result.certificate.items()}
    figures["energy_error"] = rng.lognormal(-20, 2, MANY)
    status = np.where(rng.random(MANY) < 2e-5, int(Outcome.stuck), 0)
    big = dataclasses.replace(
        result,
        channels={},
        certificate=figures,
        status=status,
        messages=tuple("it stuck" if s else "" for s in status.tolist()),
        design={MASS: rng.uniform(0.7, 1.3, MANY)},
        poses={body: np.resize(pose[2:], (64, *pose.shape[1:])) for body, pose in result.poses.items()},
        kept=kept,
    )
    path = store.write(big, tmp_path / "many.zarr")
    out = subprocess.run([sys.executable, "-c", FRESH, path], capture_output=True, text=True, cwd=ROOT, check=False)
    assert out.returncode == 0, out.stderr
    found = json.loads(out.stdout)
    assert found["jax"] == []
    order = sorted(range(MANY), key=lambda k: (status[k] <= 0, -figures["energy_error"][k], k))
    assert 0 < (status > 0).sum() < 5 and found["worst"] == order[:5]
    assert found["kept"] == [k for k in order if k in set(kept.tolist())][:5]
    np.testing.assert_array_equal(found["poses"], ViewedStudy.of(big).poses_of(found["kept"], 0.333))
    assert found["s"] < SECONDS and found["mb"] < MEGABYTES
