"""Paths of poses made better, and their slopes: objectives, constraints, measured curves of `kind = "follow"`. F8."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.optimization.trail import simulated
from shiftjax.ensembles.store.store import read
from shiftjax.ensembles.study.definition import Definition

LENGTHS = ("four_bar:coupler:tip.T[0]", "four_bar:crank:tip.T[0]")
VARY = {"coupler:tip.T[0]": "0.45:0.6", "crank:tip.T[0]": "0.15:0.22"}
STROKE = {"crank_pivot": "0.6:1.8:25"}
# One radian at the crank moves the rocker by v: the smallest mechanical advantage of the stroke is 1 / max |v|.
METRICS = {"advantage": "1 / maximum(abs(rocker_pivot.v))", "stroke": "peak_to_peak(rocker_pivot.q)"}


def study(**more: Any) -> Definition:
    words: dict[str, Any] = {"kind": "follow", "drive": STROKE, "vary": VARY, "samples": 4, "metrics": METRICS}
    return Definition("four_bar", **{**words, **more})


@pytest.fixture(scope="module")
def optimum(tmp_path_factory: pytest.TempPathFactory) -> Any:
    wanted = {"objective": "-advantage", "constraints": ["stroke >= 0.35"], "iterations": 60}
    return shiftjax.optimize(study(optimize=wanted), tmp_path_factory.mktemp("optimum") / "lever.zarr")


def test_the_smallest_advantage_over_a_stroke_is_made_large(optimum: Any) -> None:
    """No design of a grid of 25 x 25 has a stroke of 0.35 rad and a larger one; two starts and more agree."""
    best = optimum.best
    assert best.excess < 1e-6
    assert sum(np.abs(optimum.objective - best.objective) < 1e-6) >= 2
    grid = {"coupler:tip.T[0]": "0.45:0.6:25", "crank:tip.T[0]": "0.15:0.22:25"}
    table = sweep(study(vary=grid, samples=None)).table
    allowed = table[table["stroke"] >= 0.35]
    assert 10 < len(allowed) < len(table)
    assert allowed["advantage"].max() - 1e-9 < -best.objective < allowed["advantage"].max() + 0.05
    poses = shiftjax.follow(
        "four_bar",
        {"crank_pivot": np.linspace(0.6, 1.8, 25)},
        metrics=METRICS,
        vary={path: [best.design[path]] for path in LENGTHS},
    )
    assert poses.metrics["advantage"][0] == pytest.approx(best.metrics["advantage"], abs=1e-9)


def test_its_designs_are_looked_at_as_paths(optimum: Any) -> None:
    with simulated(optimum.path) as place:
        tree = read(place)
        poses, rows = (tree[name].to_dataset().load() for name in ("trajectories", "members"))
    assert poses["time"].values == pytest.approx(np.linspace(0.6, 1.8, 25), abs=1e-15)
    assert np.isfinite(poses["pose"]).all()
    assert rows["objective"].min() == pytest.approx(optimum.best.objective, abs=1e-12)


def test_lengths_of_a_measured_curve(tmp_path: Path) -> None:
    """The angles of a rocker at 25 places of its crank give both lengths back to rounding, whatever is begun with."""
    turn, made = np.linspace(0.0, 2.0 * np.pi, 25), (0.52, 0.19)
    vary = {path: [value] for path, value in zip(LENGTHS, made, strict=True)}
    poses = shiftjax.follow("four_bar", {"crank_pivot": turn}, vary=vary, channels=["rocker_pivot.q"])
    rows = np.column_stack([turn, poses.channels["rocker_pivot.q"][0]])[::2]
    file = tmp_path / "curve.csv"
    np.savetxt(file, rows, delimiter=",", header="crank_pivot.q,rocker_pivot.q", comments="", fmt="%.17g")
    wanted = {"residuals": ["rocker_pivot.q"], "data": str(file), "iterations": 40}
    given = {"drive": {"crank_pivot": "0deg:360deg:25"}, "metrics": {}}
    optimum = shiftjax.optimize(study(optimize=wanted, **given))
    assert [optimum.best.design[path] for path in LENGTHS] == pytest.approx(made, abs=1e-9)
    with pytest.raises(shiftjax.ModelError, match="Set drive of the study"):
        shiftjax.optimize(study(optimize=wanted, **{**given, "drive": {"crank_pivot": "0deg:360deg:24"}}))
    file.write_text("turn,rocker_pivot.q\n0,1.57\n")
    with pytest.raises(shiftjax.ModelError, match=r"without 'four_bar:crank_pivot\.q'"):
        shiftjax.optimize(study(optimize=wanted, **given))


def test_slopes_of_a_study_of_paths() -> None:
    """Forward, reverse and by differences, within their errors; of what has no slope by numbers, differences alone."""
    some = sweep(study())  # each direction takes the place of the one before in its store
    exact, reverse = (shiftjax.sensitivity(some, direction=way, force=True).slopes for way in ("forward", "reverse"))
    moved = shiftjax.sensitivity(some, direction="differences", force=True)
    assert exact.shape == (4, 2, 2)
    assert np.abs(exact).min() > 1e-2
    assert reverse == pytest.approx(exact, abs=1e-12)
    assert (np.abs(moved.slopes - exact) <= moved.errors + 1e-6).all()
    assert np.median(moved.errors) < 1e-5
    late = shiftjax.sensitivity(sweep(study(metrics={"late": "maximum(rocker_pivot.q - t)"})))
    assert late.planned.direction == "differences"
    assert "t, in a metric" in late.planned.why
