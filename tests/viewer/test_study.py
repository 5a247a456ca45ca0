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
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.outcome import Outcome
from shiftjax.poses import interpolated
from shiftjax.run.results.labelled import FORMAT
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.viewer.members.choice import Choices, resolved
from shiftjax.viewer.study.study import ViewedStudy

ROOT = Path(__file__).resolve().parents[2]
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


# -- choices

ERRORS = np.array([3e-9, 0.0, np.nan, 1e-12, 5e-9, 5e-9, 2e-9])
COLUMNS = {
    "energy_error": ERRORS,
    "pivot_ratio": np.array([0.5, np.nan, 0.1, 0.4, 0.9, 0.3, 0.2]),
    "steps": np.arange(7) * 10,
    "status": np.array([0, 1, 0, 0, -1, 2, 0]),
    "four_bar:coupler.mass": np.linspace(0.7, 1.3, 7),
    "four_bar:coupler:tip.T[2]": np.arange(7.0),
    "car:left:hub.q": np.zeros(7),
    "car:right:hub.q": np.ones(7),
    "a:`odd name=1`.mass": -np.arange(7.0),
}
CHOICES = Choices(7, np.array([0, 3, 5]), COLUMNS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6", [6]),
        (" 5, 1 ,5,3", [5, 1, 3]),
        ("2:5", [2, 3, 4]),
        ("5:,1", [5, 6, 1]),
        (":", range(7)),
        ("::3", [0, 3, 6]),
        ("all", range(7)),
        ("kept", [0, 3, 5]),
        ("failed", [1, 5]),
        ("worst", [5]),
        ("worst:9", [5, 1, 2, 4, 0, 6, 3]),  # failed, no number, then falling
        ("best:9", [3, 6, 0, 4, 2, 1, 5]),
        ("best:2", [3, 6]),
        ("worst:4:pivot_ratio", [1, 5, 2, 6]),
        ("best:2:pivot_ratio", [4, 0]),
        ("best:2:coupler.mass", [0, 2]),
        ("worst:9:coupler.mass", [6, 4, 3, 2, 0, 5, 1]),  # the largest; those that ended early say nothing of it
        ("best:9:coupler.mass", [0, 2, 3, 4, 6, 1, 5]),
        ("worst:2 of kept", [5, 0]),
        ("worst:2:steps of not failed", [6, 4]),
        ("best:3 of 4,2:4", [3, 4, 2]),
        ("worst:2 of steps > 900", []),
        ("energy_error<1e-9", [1, 3]),
        ("energy_error < 1e-9 and not failed", [3]),
        ("failed or kept", [0, 1, 3, 5]),
        ("not(status>0)and kept", [0, 3]),
        ("not failed and kept or steps == 60", [0, 3, 6]),
        ("status == stuck", []),
        ("status==non_finite or status == near_singular", [4, 5]),
        ("10 <= steps < 3e1", [1, 2]),
        ("1 < 2 and steps>=+50.", [5, 6]),
        ("1 > 2", []),
        ("energy_error != energy_error", [2]),
        ("four_bar:coupler.mass >= 1.1", [4, 5, 6]),
        ("`four_bar:coupler.mass`>=1.1", [4, 5, 6]),
        ("coupler:tip.T[2] == 4", [4]),
        ("`odd name=1`.mass < -4.5", [5, 6]),
        ("a:`odd name=1`.mass<=-6", [6]),
        ("steps < 1e999", range(7)),
    ],
)
def test_choices(text: str, expected: list[int]) -> None:
    found = CHOICES.choose(text)
    assert found.dtype == np.int64 and found.tolist() == list(expected)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"found nothing; allowed: 17 \| 3,7,9"),
        ("9" * 200_000, "200000 characters"),
        ("7", "member: found 7; allowed: 0 to 6"),
        ("9" * 30, "Separate numbers by commas"),
        ("3,8:9", "member: found 8; allowed: 0 to 6"),
        ("3,,4", "found ''"),
        ("3 4", "found '3 4'"),
        ("5:2", "'5:2'; allowed: a range with members in it"),
        ("0:4:0", "a range with members in it"),
        ("-1", "A query compares"),
        ("wurst:5", "Did you mean 'worst:5'"),
        ("worst:0", "a number from 1"),
        ("worst:5:enrgy_error", "Did you mean 'energy_error'"),
        ("worst:2 of best:3", "a ranking of a ranking"),
        ("enrgy_error<1", "found 'enrgy_error'.*Did you mean 'energy_error'"),
        ("hub.q > 0", "'hub.q', which could be several; allowed: car:left:hub.q, car:right:hub.q"),
        ("steps", "A query compares"),
        ("steps and gap", "found 'and'; allowed: a comparison"),
        ("steps = 3", "found '='.*Equal is =="),
        ("steps < ", "found its end; allowed: a name or a number"),
        ("steps < 3 7", "found '7'; allowed: `and`, `or` or the end"),
        ("(steps < 3", "a closing bracket"),
        ("steps < 3)", "found '\\)'"),
        ("steps & 3", "found '&'; allowed: a comparison"),
        ("`steps < 3", "found '`'"),
        ("(" * 51 + "steps<1" + ")" * 51, "at most 50 nested brackets"),
        ("not " * 60_000, "characters"),
        ("not " * 51 + "kept", "at most 50 nested brackets and nots"),
        ("__import__('os').system('false') == 0", 'found "__import__"'),
    ],
)
def test_refused_choices(text: str, match: str) -> None:
    with pytest.raises(ModelError, match=match.replace('"__import__"', "'__import__'")):
        CHOICES.choose(text)


def test_names_without_columns() -> None:
    with pytest.raises(ModelError, match="nothing, there is none"):
        resolved("q", [], "channel")


PLAIN = ("and", "or", "not", "all", "kept", "failed", "worst", "best", "of", "stuck")
WORDS = st.sampled_from(
    [*"()<>=!:,`.-+ 0123456789\n٣é", "<=", ">=", "==", "!=", "1e-9", "inf", "nan", "worst:5", *COLUMNS, *PLAIN]
)


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60), st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=14).map("".join)
    )
)
@example("not" + "(" * 3000)
@example("worst of " * 3000 + "kept")
@example("٣,٤")
@example("worst:1:" + "a " * 3000 + " of kept")
def test_any_text_gives_members_or_one_kind_of_error(text: str) -> None:
    try:
        found = CHOICES.choose(text)
    except ModelError as error:
        assert len(str(error)) < 1000
    else:
        assert found.ndim == 1 and found.dtype == np.int64
        assert len(set(found.tolist())) == len(found) and set(found.tolist()) <= set(range(7))


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
