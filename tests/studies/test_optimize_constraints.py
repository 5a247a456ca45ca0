"""SQP of `[optimize]`, and constraints on numbers of the design."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.optimization.optimize import DescentProgress, asked, method_of, optimize, problem_of
from shiftjax.ensembles.optimization.optimum_page import OptimumContent
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.designs import designs
from shiftjax.errors import ModelError

CRANK, COUPLER, ROCKER = "crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]"
MET = 1e-6  # `constraint_tolerance`, as it is where nothing is said


def four_bar(constraints: list[str], **more: Any) -> Definition:
    """A four-bar whose swing is made small under constraints."""
    words = {"objective": "swing", "constraints": constraints, "iterations": 60, **more.pop("words", {})}
    given: dict[str, Any] = {
        "model": "four_bar", "span": 1.0, "step": 4e-3, "samples": 6, "drive": {"crank_pivot": 2 * np.pi},
        "vary": {CRANK: "0.08:0.16~sobol", COUPLER: "0.40:0.60~sobol", ROCKER: "0.35:0.50~sobol"},
        "metrics": {"swing": "peak_to_peak(rocker_pivot.q)", "reach": "maximum(coupler:tip.position[0])"},
        "optimize": words,
    }  # fmt: skip
    return Definition(**{**given, **more})


def test_the_method_of_choice_meets_constraints_from_every_start() -> None:
    """An active bound of a metric; L-BFGS with an augmented Lagrangian finds the same in more runs."""
    found = optimize(four_bar(["reach >= 0.6"]))
    assert found.definition.optimized is not None and found.definition.optimized.method == "sqp"
    assert found.ending == ["converged"] * 6 and (found.starts["excess"].values <= MET).all()
    reach = found.starts["metrics"].values[:, found.metrics.index("reach")]
    np.testing.assert_allclose(reach, 0.6, atol=2 * MET)
    other = optimize(four_bar(["reach >= 0.6"], words={"method": "lbfgs", "iterations": 150}))
    assert found.objective.min() <= other.objective[other.starts["excess"].values <= MET].min() + 1e-5
    assert found.starts["slopes"].values.sum() < other.starts["slopes"].values.sum()


def test_a_sum_of_links_is_kept_and_needs_no_way_back(tmp_path: Path) -> None:
    """Numbers in braces, one of which follows from another, and an equality."""
    study = four_bar(
        [f"{{{COUPLER}}} + {{{ROCKER}}} <= 0.9", f"{{{CRANK}}} == 0.1", "{coupler.mass} >= 1.3"],
        derive={"coupler.mass": f"3 * {{{COUPLER}}}"}, words={"objective": "-reach"},
    )  # fmt: skip
    definition, wanted = asked(study)
    problem = problem_of(definition, wanted, designs(definition)[0])
    assert problem.of_runs.tolist() == [False] * 3
    x = problem.designs(np.arange(1), np.array([[0.1, 0.5, 0.45]]))[0]
    np.testing.assert_allclose(np.asarray(problem.value(np.zeros(2), x)[1]), [0.05, 0.0, -0.2], atol=1e-15)
    study_file.write(study, tmp_path / "links.toml")
    assert main(["check", str(tmp_path / "links.toml")]) == 0
    found = optimize(study)
    assert found.ending == ["converged"] * 6 and (found.starts["excess"].values <= MET).all()
    links = sum(found.designs[f"four_bar:{path}"] for path in (COUPLER, ROCKER))
    np.testing.assert_allclose(links, 0.9, atol=MET)
    np.testing.assert_allclose(found.designs[f"four_bar:{CRANK}"], 0.1, atol=MET)
    np.testing.assert_allclose(found.objective, found.objective.min(), rtol=1e-6)
    of_page = OptimumContent(found).excess
    assert (of_page <= MET).all() and np.abs(of_page[:, :2]).max() <= MET  # the coupler's mass has room
    np.testing.assert_allclose(of_page[:, 2], 1.3 - 3 * found.designs[f"four_bar:{COUPLER}"], atol=1e-15)


@pytest.mark.parametrize("method", ["sqp", "lbfgs", "adam"])
def test_slopes_of_numbers_of_the_design_are_those_of_differences(method: str) -> None:
    """Of the merit, with a constraint that names a metric and a number; central differences at 1e-6 of the box."""
    study = four_bar(
        [f"swing * {{{COUPLER}}} <= 0.1", f"{{{ROCKER}}} ** 2 == 0.2"], samples=2, words={"method": method}
    )
    definition, wanted = asked(study)
    of_starts = method_of(problem_of(definition, wanted, designs(definition)[0]))
    state = of_starts.begin()
    seen = of_starts.see(state)
    slopes = seen["gradient"] + (seen["rows"].sum(1) if method == "sqp" else 0.0)
    for k in range(3):
        pair = []
        for sign in (1.0, -1.0):
            z = state["z"].copy()
            z[:, k] += sign * 1e-6
            there = of_starts.see({**state, "z": z})
            pair.append(there["objective"] + there["by"].sum(1) if method == "sqp" else there["merit"])
        np.testing.assert_allclose(slopes[:, k], (pair[0] - pair[1]) / 2e-6, rtol=1e-5, atol=1e-6)


class Stop(Exception):
    pass


def test_what_is_resumed_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    study = four_bar(["reach >= 0.6"], samples=3)
    whole = optimize(study, tmp_path / "whole.zarr")

    def stop(progress: DescentProgress) -> None:
        if progress.iteration == 5:
            raise Stop

    with pytest.raises(Stop):
        optimize(study, tmp_path / "cut.zarr", progress=stop)
    again = optimize(study, tmp_path / "cut.zarr", resume=True)
    assert whole.evaluations.load().identical(again.evaluations.load())
    assert whole.history.load().identical(again.history.load()) and whole.starts.identical(again.starts)
    alone = optimize(four_bar(["reach >= 0.6"], samples=1))
    assert (alone.starts["numbers"].values[0] == whole.starts["numbers"].values[0]).all()


def test_constraints_that_cannot_be_met_are_no_optimum() -> None:
    """The nearest design is kept, and the start is not called converged."""
    found = optimize(four_bar([f"{{{COUPLER}}} >= 0.7"], samples=2, words={"iterations": 30}))
    assert "converged" not in found.ending
    np.testing.assert_allclose(found.starts["excess"].values, 0.1, atol=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"constraints": ["{coupler:tip.T[0]} + swong <= 1"]}, "swong"),
        ({"constraints": ["{couplr:tip.T[0]} <= 1"]}, "couplr"),
        ({"objective": "{coupler:tip.T[0]}", "constraints": []}, "names of metrics"),
        ({"method": "sqp", "options": {"memory_size": 5}}, "none with sqp"),
    ],
)
def test_what_is_no_constraint_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        optimize(four_bar(["reach >= 0.6"], words=words))
