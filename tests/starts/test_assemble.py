"""Assembly without motion: which of many designs can be closed, where they stand, and that nothing else differs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax.run.start.prepare as prepare_module
from shiftjax import Outcome, assemble, load, simulate
from shiftjax.ensembles import sweep
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.model import Model
from shiftjax.run import memory
from shiftjax.run.results.result import CERTIFICATE
from shiftjax.topology.analysis import analyze
from shiftjax.viewer.study.study import ViewedStudy as Shown
from tests.starts.test_start_cost import LENGTHS, NEAR, beyond_reach, random_four_bars
from tests.starts.test_starts import hinge
from tests.support.complete import part
from tests.support.models.mechanisms import four_bars
from tests.support.models.start_mechanisms import wrapped

POSE = 1e-9  # rad: near a flat pose rounding is magnified by its square root
KEPT = 1e-12  # rad: the last projection moves a held joint by rounding at most
ROUNDING = 1e-9  # of numbers about 1, speeds near flat poses: other coordinates are projected there
EXACT = 1e-12  # m: of leg lengths about 1, some roundings
CRANK = "crank_pivot.initial_displacement"
CLOCK: dict[str, Any] = {"span": 2e-3, "step": 1e-3}
GRID = {"crank:tip.T[0]": "0.2:1.6~sobol", "coupler:tip.T[0]": "0.2:1.6~sobol", CRANK: "-180deg:180deg"}


def other_branch() -> Model:
    """The library's four-bar closed the other way: the second file that states the other branch."""
    model = load("four_bar")
    own = tuple(model.numbers()[model.resolve(path)] for path in (*LENGTHS, CRANK))
    there = float(hinge(own[4], 1, own[:4]))
    return load(to_dict(model.replace({"rocker_pivot.initial_displacement": there})))


@pytest.mark.parametrize("side", [-1, 1])
def test_random_four_bars_are_masked_as_the_closed_form_says(side: int) -> None:
    """F7: Grashof and not, at a stated crank angle: the mask is the closed form's, the branch the one of the file."""
    vary = random_four_bars(part(2000, 600), seed=8)
    model = load("four_bar") if side < 0 else other_branch()
    result = assemble(model, vary=vary, channels=["crank_pivot.q", "rocker_pivot.q"], strict_start=True)
    beyond = beyond_reach(vary)
    sure = np.abs(beyond) > NEAR
    assert sure.mean() > 0.99
    assert np.array_equal((result.status == Outcome.ok)[sure], beyond[sure] < 0)
    assert (result.status[beyond > NEAR] == Outcome.not_assembled).all()
    lengths = np.sort([vary[path] for path in LENGTHS], axis=0)
    grashof = lengths[0] + lengths[3] < lengths[1] + lengths[2]
    good = result.status == Outcome.ok
    assert all(0.1 < mask.mean() < 0.9 for mask in (grashof, grashof[good], grashof[~good]))
    expected = hinge(vary[CRANK], side, tuple(vary[path] for path in LENGTHS))
    assert np.abs(wrapped(result.channels["rocker_pivot.q"][:, 0] - expected))[good].max() < POSE
    assert np.abs(result.channels["crank_pivot.q"][:, 0] - vary[CRANK])[good].max() < KEPT
    assert result.branch is not None and len(set(result.branch[good])) == 1


def test_what_cannot_be_closed_has_its_margin() -> None:
    """F7, E15: the gap of what never closes, the change of what closes elsewhere, each in the message, too."""
    vary = random_four_bars(400, seed=8)
    result = assemble("four_bar", vary=vary)
    lengths = np.sort([vary[path] for path in LENGTHS], axis=0)
    short = lengths[3] - lengths[:3].sum(0)  # by which the three others do not reach around the longest
    never = result.status == Outcome.not_assembled
    assert never.any() and np.array_equal(never, short > 0)
    assert (result.certificate["gap"][never] > 0.1 * short[never]).all()
    assert all("stays open by" in result.messages[k] for k in np.flatnonzero(never))
    moved = result.status == Outcome.start_changed
    assert moved.any() and (result.certificate["start_change"][moved] > 0).all()
    assert all("crank_pivot starts at" in result.messages[k] for k in np.flatnonzero(moved))
    assert (result.certificate["start_change"][result.status == 0] == 0).all()


@pytest.mark.parametrize("strict", [False, True])
def test_it_is_what_a_run_begins_with(strict: bool) -> None:
    """Branches, poses and channels are those of the first instant of `simulate`, to the rounding of a projection."""
    channels = ["rocker_pivot.q", "rocker_pivot.v", "coupler:tip.position"]
    given: dict[str, Any] = {"vary": random_four_bars(60), "channels": channels, "keep": 7, "strict_start": strict}
    still = assemble("four_bar", metrics={"x": "final(coupler:tip.position[0])"}, **given)
    run = simulate("four_bar", **CLOCK, **given)
    assert still.time.tolist() == [0.0] and still.settings["span"] == 0.0
    for path in channels:
        np.testing.assert_allclose(still.channels[path][:, 0], run.channels[path][:, 0], rtol=ROUNDING, atol=ROUNDING)
    for body, poses in run.poses.items():
        np.testing.assert_allclose(still.poses[body], poses[:, :1], rtol=0, atol=ROUNDING)
    unable = [result.status == Outcome.not_assembled for result in (still, run)]
    assert still.branch is not None and run.branch is not None
    assert np.array_equal(*unable) and np.array_equal(still.branch, run.branch)
    good = still.status <= 0
    assert np.array_equal(still.metrics["x"][good], still.channels["coupler:tip.position"][good, 0, 0])
    assert np.isnan(still.metrics["x"][~good]).all()
    assert [*still.certificate] == [*CERTIFICATE] and "assembled only" in repr(still)


def test_a_run_goes_on_from_it() -> None:
    vary = {CRANK: np.linspace(-3.0, 3.0, 5)}
    on = simulate("four_bar", **CLOCK, vary=vary, start=assemble("four_bar", vary=vary))
    own = simulate("four_bar", **CLOCK, vary=vary)
    assert on.final is not None and own.final is not None
    assert np.abs(on.final["q"] - own.final["q"]).max() < EXACT


def test_one_design_has_no_member_axis() -> None:
    found = assemble("four_bar", channels=["crank_pivot.q"], keep="all")
    assert found.status == 0 and found.channels["crank_pivot.q"].shape == (1,) and not found.batched
    assert found.poses["four_bar:coupler"].shape == (1, 7)
    assert found.document()["status"] == "ok"


def test_metrics_of_a_motion_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"metric swing: found peak_to_peak, .* allowed: final\(\.\.\.\)"):
        assemble("four_bar", metrics={"x": "final(crank_pivot.q)", "swing": "2 * peak_to_peak(rocker_pivot.q)"})
    found = assemble("four_bar", channels=["crank_pivot.q"], metrics={"own": lambda t, c: c["crank_pivot.q"][:, 0]})
    assert found.metrics["own"] == found.channels["crank_pivot.q"][0]


def test_too_much_memory_is_refused_before_any_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by `simulate`: who reserves room on disk when told does so for runs that begin only."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   200 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    told: list[memory.Need] = []
    for run in (assemble, partial(simulate, **CLOCK)):
        with pytest.raises(ModelError, match=r"takes about .* free"):
            run("four_bar", vary={CRANK: np.zeros(2000)}, channels=["energy.total"], announce=told.append)
    assert told == []


# -- workspaces ----------------------------------------------------------------------------------------------------


def stewart_lengths(model: Model, position: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """(B, 6) distances of heads from feet, for positions (B, 3) of the platform turned by (B,) about z."""
    numbers = model.numbers()
    feet, heads = (
        np.array([[numbers[f"{name}_{k}.T[{c}]"] for c in range(3)] for k in range(1, 7)])
        for name in ("fixed:foot", "stewart:platform:head")
    )
    c, s, o = np.cos(turn), np.sin(turn), np.zeros(len(turn))
    R = np.array([[c, -s, o], [s, c, o], [o, o, o + 1.0]]).transpose(2, 0, 1)
    return np.linalg.norm(position[:, None] + heads @ R.transpose(0, 2, 1) - feet, axis=2)


def test_legs_of_stewart_lead_to_the_poses_they_were_computed_from() -> None:
    """F7: a grid of places and turns; legs in closed form, stated, assembled: the platform stands there."""
    model = load("stewart")
    offsets = np.linspace(-0.15, 0.15, 4)
    grid = np.array(np.meshgrid(offsets, offsets, offsets, [-0.2, 0.3], indexing="ij")).reshape(4, -1)
    place = grid[:3].T + np.array([0.0, 0.0, -0.8])
    legs = stewart_lengths(model, place, grid[3])
    result = assemble(
        model,
        vary={f"leg_{k + 1}.initial_displacement": legs[:, k] for k in range(6)},
        channels=[f"leg_{k + 1}.q" for k in range(6)],
        keep="all",
    )
    assert (result.status == 0).all() and result.branch is not None and len(set(result.branch)) == 1
    poses = result.poses["stewart:platform"][:, 0]
    assert np.abs(poses[:, :3] - place).max() < EXACT
    assert np.abs(2 * np.arctan2(poses[:, 6], poses[:, 3]) - grid[3]).max() < EXACT
    found = np.array([result.channels[f"leg_{k + 1}.q"][:, 0] for k in range(6)]).T
    assert np.abs(found - stewart_lengths(model, poses[:, :3], grid[3])).max() < EXACT


def delta_spheres(angles: np.ndarray, rod: float) -> tuple[np.ndarray, np.ndarray]:
    """Places (B, 3) of delta's platform below its arms at angles (3, B): where three spheres about the elbows, moved in
    by the platform's radius, meet; and the square of their half distance there, below 0 where they do not."""
    about, out = np.arange(3)[:, None] * 2 * np.pi / 3, 0.2 + 0.3 * np.cos(angles) - 0.06
    a, b, c = np.array([out * np.cos(about), out * np.sin(about), -0.3 * np.sin(angles)]).transpose(1, 0, 2)
    d = np.linalg.norm(b - a, axis=0)
    ex = (b - a) / d
    i = (ex * (c - a)).sum(0)
    ey = c - a - i * ex
    ey /= np.linalg.norm(ey, axis=0)
    j = (ey * (c - a)).sum(0)
    x, y = d / 2, (i**2 + j**2 - i * d) / (2 * j)
    square = rod**2 - x**2 - y**2
    up = np.sqrt(np.maximum(square, 0.0))
    return (a + x * ex + y * ey + up * np.cross(ex, ey, axis=0)).T + np.array([0.0, 0.0, -1.2]), square


def test_delta_stands_where_three_spheres_meet() -> None:
    """F7: a grid of motor angles, all of which delta can reach; its platform on the side of the file."""
    axis = np.linspace(-1.2, 1.2, part(4, 3))
    angles = np.array(np.meshgrid(axis, axis, axis)).reshape(3, -1)
    place, square = delta_spheres(angles, 0.75)
    assert (square > 0).all()
    vary = {f"shoulder_{k + 1}.initial_displacement": angles[k] for k in range(3)}
    result = assemble("delta", vary=vary, channels=["platform.position"])
    assert (result.status == 0).all()
    assert np.abs(result.channels["platform.position"][:, 0] - place).max() < POSE


# -- studies -------------------------------------------------------------------------------------------------------


def study(**more: Any) -> Definition:
    settings: dict[str, Any] = {"samples": 64, "seed": 1, "channels": ["rocker_pivot.q"], "assemble_only": True}
    settings |= {"vary": GRID, "metrics": {"x": "final(coupler:tip.position[0])"}, "keep": 5}
    return Definition("four_bar", **(settings | more))


def test_a_study_may_only_assemble(tmp_path: Path) -> None:
    """F7, S50: one call gives table, trajectories of one instant, and every member again; the viewer opens it."""
    found = sweep(study(span=2.0, step=1e-2, energy_limit=1e-9), tmp_path / "still.zarr")
    table = found.table
    assert set(table["status"]) == {"ok", "start_changed", "not_assembled"} and not table["steps"].to_numpy().any()
    for k in (0, 5, 63):
        own = found.member(k)
        assert own.time.tolist() == [0.0]
        assert np.array_equal(own.metrics["x"], [table["x"][k]], equal_nan=True)
        assert all(np.array_equal(own.certificate[name], [table[name][k]], equal_nan=True) for name in CERTIFICATE)
    shown = Shown.open(tmp_path / "still.zarr")
    assert shown.time.tolist() == [0.0] and len(shown.kept) == 5
    assert np.isfinite(shown.poses(0, 0.0)).all()
    with pytest.raises(ModelError, match="metric swing: found rms"):
        sweep(study(metrics={"swing": "rms(rocker_pivot.q)"}), tmp_path / "moving.zarr")


def test_a_study_file_says_so(tmp_path: Path) -> None:
    file = study_file.write(study(), tmp_path / "still.toml") or tmp_path / "still.toml"
    assert "assemble_only = true" in Path(file).read_text()
    assert study_file.read(tmp_path / "still.toml") == study()
    with pytest.raises(ModelError, match="assemble_only: found 1"):
        study(assemble_only=1)


def test_shards_of_a_study_that_assembles_are_small_enough_to_wait_for(tmp_path: Path) -> None:
    """A start of four-bars of any lengths takes as long as thousands of steps; an interrupt loses one shard."""
    found = sweep(study(samples=2), tmp_path / "two.zarr")
    assert 256 <= found.xarray.attrs["shard_size"] <= 1 << 15


@pytest.mark.parametrize("still", [False, True])
def test_every_stored_study_has_the_certificate(still: bool, tmp_path: Path) -> None:
    """F10: all accuracy figures are columns of every stored study, with units and their role, and have numbers."""
    found = sweep(study(assemble_only=still, samples=4, span=0.01), tmp_path / "a.zarr")
    members = found.xarray["members"].to_dataset()
    for name, unit in CERTIFICATE.items():
        assert members[name].attrs["units"] == unit and members[name].attrs["role"] == "certificate"
    good = members["status"].values <= 0
    assert good.any() and all(np.isfinite(members[name].values[good]).all() for name in CERTIFICATE)


def test_faults_stay_in_their_member() -> None:
    """F9: 4 096 members, one with NaN, one that cannot be closed: the others as in a clean batch, bit for bit."""
    vary = {"crank:tip.T[0]": np.linspace(0.15, 0.22, 4096), "coupler.mass": np.linspace(0.5, 2.0, 4096)}
    channels = ["rocker_pivot.q", "coupler:tip.position"]
    clean = assemble("four_bar", vary=vary, channels=channels)
    spoilt = {path: values.copy() for path, values in vary.items()}
    spoilt["coupler.mass"][1234], spoilt["crank:tip.T[0]"][3210] = np.nan, 3.0
    found = assemble("four_bar", vary=spoilt, channels=channels)
    others = np.setdiff1d(np.arange(4096), [1234, 3210])
    assert (clean.status == 0).all() and (found.status[others] == 0).all()
    assert found.status[1234] == Outcome.non_finite and found.status[3210] == Outcome.not_assembled
    for path in channels:
        assert np.array_equal(found.channels[path][others], clean.channels[path][others])
    for name in CERTIFICATE:
        assert np.array_equal(found.certificate[name][others], clean.certificate[name][others])
    assert clean.final is not None and found.final is not None
    assert np.array_equal(found.final["q"][others], clean.final["q"][others])


def test_a_study_analyses_each_topology_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """S16, S45, F13: as many analyses for 40 members as for one; an assembly on and off, once more; one table."""
    calls: list[Model] = []
    monkeypatch.setattr(
        prepare_module, "analyze", lambda model, **options: calls.append(model) or analyze(model, **options)
    )
    assemble(four_bars(2), vary={"bar0:crank:tip.T[0]": np.linspace(0.15, 0.22, 40)})
    assert len(calls) == 1
    given: dict[str, Any] = {"vary": {"bar0:crank:tip.T[0]": "0.15:0.22"}, "assemble_only": True, "keep": "none"}
    counts = {}
    for samples, switch in ((1, {}), (40, {}), (40, {"bar1": [True, False]})):
        calls.clear()
        out = tmp_path / f"{samples}-{len(switch)}.zarr"
        found = sweep(Definition(four_bars(2), samples=samples, switch=switch, **given), out)
        counts[samples, bool(switch)] = len(calls)
        assert len(found.table) == samples * (2 if switch else 1)
    assert counts[1, False] == counts[40, False]
    assert counts[40, True] == 2 * counts[40, False]
    assert sorted(set(found.table["bar1.active"])) == [0, 1] and set(found.table["status"]) == {"ok"}
