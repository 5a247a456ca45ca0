"""Slopes of metrics with parameters for every member of a study, and what measurements tell of parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles import sweep
from shiftjax.ensembles.fisher_information import fisher
from shiftjax.ensembles.sensitivities.slopes import sensitivity
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError

WAYS = 1e-10  # relative: forward and reverse differ by rounding
ORDER_4 = 1e-6  # relative: differences of order 4 at a relative step of 7e-4
CENTRAL = 1e-6  # relative: differences of second order at a relative step of 1e-5


def four_bars(**more: Any) -> Definition:
    given: dict[str, Any] = {
        "model": "four_bar",
        "span": 0.1,
        "step": 2e-3,
        "samples": 3,
        "hold": ["crank_pivot"],
        "vary": {"coupler:tip.T[0]": "0.45:0.55~sobol", "rocker.mass": "0.5:2~sobol"},
        "metrics": {
            "swing": "rms(rocker_pivot.v)",
            "end": "final(rocker_pivot.q)",
            "top": "maximum(coupler:tip.position[0])",
        },
    }  # fmt: skip
    return Definition(**{**given, **more})


def test_both_ways_give_the_slopes_of_differences(tmp_path: Path) -> None:
    """F11: forward mode, reverse mode and differences."""
    out = tmp_path / "study.zarr"
    found = sensitivity(four_bars(), out)
    forward = found.slopes
    assert found.planned.direction == "forward" and forward.shape == (3, 3, 2)
    reverse = sensitivity(out, direction="reverse")
    assert reverse.planned.direction == "reverse"
    np.testing.assert_allclose(reverse.slopes, forward, rtol=WAYS, atol=1e-12)
    study = found.study
    model, vary, settings = study.recipe(1)
    for k, path in enumerate(found.parameters):
        pair = []
        for sign in (1, -1):
            moved = {**vary, path: vary[path] * (1 + sign * 1e-5)}
            pair.append(shiftjax.simulate(model, vary=moved, **settings).metrics)
        for m, name in enumerate(found.metrics):
            slope = float(pair[0][name][0] - pair[1][name][0]) / (2e-5 * float(vary[path][0]))
            assert forward[1, m, k] == pytest.approx(slope, rel=CENTRAL, abs=1e-8)
    units = found.xarray["unit"].values.tolist()
    assert not found.jumps.any() and not (found.growth >= 100).any() and not any(found.messages)
    assert units[1] == ["rad/m", "rad/kg"] and units[2] == ["1", "m/kg"]


def test_what_is_stopped_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    asked = four_bars(samples=5)
    whole = sensitivity(sweep(asked, tmp_path / "whole.zarr", shard=2)).slopes
    study = sweep(asked, tmp_path / "cut.zarr", shard=2)

    def stop(done: int, members: int) -> None:
        if done > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sensitivity(study, progress=stop)
    with pytest.raises(ModelError, match="without all slopes"):
        shiftjax.ensembles.Sensitivity(study)
    done: list[int] = []
    again = sensitivity(study, progress=lambda k, members: done.append(k)).slopes
    assert done[0] == 4 and (again == whole).all()
    assert sweep(asked, tmp_path / "cut.zarr", resume=True, verify=True).complete


def test_members_that_end_early_have_no_slopes() -> None:
    asked = four_bars(vary={"coupler:tip.T[0]": [0.5, 2.0]}, samples=None)
    found = sensitivity(asked).slopes
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()


def test_what_is_switched_off_has_no_slopes() -> None:
    asked = four_bars(
        drive={"crank_pivot": 3.0}, switch={"crank_pivot_drive": [True, False]}, hold=[], samples=None,
        vary={"crank_pivot_drive.speed": [2.0, 3.0], "coupler.mass": [1.0]}, metrics={"end": "final(rocker_pivot.q)"},
    )  # fmt: skip
    found = sensitivity(asked).slopes
    assert np.isfinite(found[:2]).all() and np.isnan(found[2:, :, 0]).all() and np.isfinite(found[2:, :, 1]).all()


def sliding(**more: Any) -> Definition:
    """A mass on a spring that slides against Coulomb friction; the faster members turn back."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    a.joint("slide", "Tx", child="mass", initial_velocity=1.0)
    a.restraint("pull", "spring", joint="slide", coefficients=[[100.0, 0.0]])
    a.restraint("rub", "friction", joint="slide", coefficients=[[-2.0], [2.0]], knot_points=[0.0])
    given = {"span": 0.12, "step": 1e-3, "vary": {"slide.initial_velocity": [0.5, 4.0]}}
    return Definition(model=builder.build(), metrics={"end": "final(slide.q)"}, **{**given, **more})


@pytest.mark.usefixtures("jumps_ignored")
def test_forces_that_jump_and_growth_are_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "study.zarr"
    for direction in ("forward", "reverse"):
        found = sensitivity(sliding() if direction == "forward" else out, out if direction == "forward" else None,
                            direction=direction)  # fmt: skip
        assert found.jumps.tolist() == [1, 0] and not (found.growth >= 100).any()
        assert "a:rub jumps by 4 N at t = " in found.messages[0] and not found.messages[1]
        assert "something is said of 1 of 2 members" in repr(found)
    assert main(["sensitivity", str(out), "--resume"]) == 0
    assert "member 0: the gradient ignores that a:rub jumps by 4 N" in capsys.readouterr().out
    assert main(["sensitivity", str(out), "--direction", "differences", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["direction"] == "differences" and said["slopes"][0]["error"] > 0.0 and not said["messages"]
    assert main(["sensitivity", str(out), "--resume"]) == 0
    printed = capsys.readouterr().out
    assert "slopes taken differences" not in printed and "error" in printed and "by differences" in printed


def test_differences_give_the_slopes_and_how_sure_they_are(tmp_path: Path) -> None:
    """F11: P = 2, M = 3; the third direction, its errors in the store; a study goes on in its own direction."""
    out = tmp_path / "study.zarr"
    forward = sensitivity(four_bars(), out)
    assert np.isnan(forward.errors).all()
    slopes = forward.slopes
    found = sensitivity(out, direction="differences")
    assert found.planned.direction == "differences" and "asked for" in found.planned.why
    np.testing.assert_allclose(found.slopes, slopes, rtol=ORDER_4, atol=1e-9)
    assert (found.errors >= 0.0).all() and found.errors.any()  # the highest point is that of the start: exactly 0
    assert (np.abs(found.slopes - slopes) <= found.errors + 1e-9).all()
    assert sensitivity(out).planned.direction == "differences" and not any(found.messages)
    with pytest.raises(ModelError, match="direction: found 'sideways'"):
        sensitivity(out, direction="sideways")


def test_moved_runs_that_end_early_have_no_slopes() -> None:
    """Of two members one does not close, wherever it is moved; how many runs ended is told."""
    asked = four_bars(vary={"coupler:tip.T[0]": [0.5, 2.0], "rocker.mass": [1.0]}, samples=None)
    found = sensitivity(asked, direction="differences")
    assert np.isfinite(found.slopes[0]).all() and np.isnan(found.slopes[1]).all()
    assert found.messages[0] == "" and "8 of 8 moved runs ended early" in found.messages[1]


def test_fisher_information_of_a_straight_line() -> None:
    """y = a + b t with equal errors: the covariance of a straight fit, by its formula."""
    t, sigma = np.array([0.0, 1.0, 2.0, 4.0]), 0.1
    slopes = np.stack([np.ones(4), t], axis=1)
    found = fisher(slopes, np.full(4, sigma))
    spread = ((t - t.mean()) ** 2).sum()
    deviations = sigma * np.sqrt([1 / 4 + t.mean() ** 2 / spread, 1 / spread])
    np.testing.assert_allclose(found.standard_deviations, deviations, rtol=1e-12)
    np.testing.assert_allclose(found.information, slopes.T @ slopes / sigma**2, rtol=1e-12)
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(found.information), rtol=1e-10)
    assert found.correlations[0, 1] == pytest.approx(-t.mean() / np.sqrt((t**2).mean())) and found.rank == 2


def test_what_no_measurement_tells_is_not_identifiable() -> None:
    """Of two parameters that act through their sum, and one alone: only the latter is found."""
    slopes = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0], [0.0, 0.0, 3.0]])
    found = fisher(np.stack([slopes, slopes * np.nan]), np.ones(3))
    assert np.isinf(found.standard_deviations[0, :2]).all() and np.isfinite(found.standard_deviations[0, 2])
    assert found.rank.tolist() == [2, 0] and found.eigenvalues[0, 0] < 1e-12 and np.isnan(found.eigenvalues[1]).all()
    np.testing.assert_allclose(np.abs(found.directions[0, :, 0]), [0.5**0.5, 0.5**0.5, 0.0], atol=1e-12)
    with pytest.raises(ModelError, match="sigmas"):
        fisher(slopes, np.array([1.0, 0.0, 1.0]))
    with pytest.raises(ModelError, match="one deviation a metric"):
        fisher(slopes, np.ones(2))


def test_the_command_prints_slopes_and_identifiability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "study.toml", str(tmp_path / "study.zarr")
    study_file.write(four_bars(), path)
    words = ["sensitivity", str(path), "--out", out, "--sigma", "swing=0.01", "--sigma", "end=0.001"]
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["direction"] == "forward" and len(said["slopes"]) == 6 and len(said["deviations"]) == 2
    assert main([*words, "--resume"]) == 0
    printed = capsys.readouterr().out
    assert "rad/kg" in printed and "standard deviation" in printed
    assert main(["sensitivity", str(path), "--out", out, "--sigma", "swang=1", "--resume"]) == 2
    assert shiftjax.ensembles.Sensitivity(shiftjax.ensembles.Study(out)).slopes.shape == (3, 3, 2)
    with pytest.raises(ModelError, match="without metrics"):
        sensitivity(four_bars(metrics={}))
