"""Methods of `[optimize]` in the box of their bounds: optima at bounds, endings, constraints that are never active."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy.optimize import lsq_linear

import shiftjax
from shiftjax.ensembles.optimization.methods.complementarity import complementary
from shiftjax.ensembles.optimization.optimize import optimize
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.study.definition import Definition
from tests.studies.optimization.test_optimize import STIFFNESS, arm, balanced_arm
from tests.support.complete import COMPLETE, part

EQUAL = 1e-9  # relative: of sums of squares at one optimum, reached from different starts


def test_the_least_squares_of_a_box_are_those_of_an_active_set_method() -> None:
    """Random ones of up to 8 numbers, columns of sizes 0.01 to 100, about half of whose numbers end at bounds."""
    random = np.random.default_rng(0)
    at_bounds, problems, sizes = 0, part(200, 60), [*range(1, 9)] if COMPLETE else [1, 3, 8]  # one is compiled a size
    with jax.enable_x64(True):
        solve = jax.jit(complementary)
        for _ in range(problems):
            count = int(random.choice(sizes))
            jacobian = random.standard_normal((count + 2, count)) * 10 ** random.uniform(-2, 2, count)
            right = random.standard_normal(count + 2)
            low, high = -random.uniform(0, 1, count), random.uniform(0, 1, count)
            w, side = map(np.asarray, solve(jacobian.T @ jacobian, jacobian.T @ right, low, high))
            known = lsq_linear(jacobian, -right, (low, high), method="bvls", tol=1e-14).x
            costs = [float(np.sum((jacobian @ x + right) ** 2)) for x in (w, known)]
            assert costs[0] <= costs[1] * (1 + 1e-12)
            assert (w[side < 0] == low[side < 0]).all() and (w[side > 0] == high[side > 0]).all()
            at_bounds += int((side != 0).sum())
    assert at_bounds > problems


def test_programs_of_constraints_at_prices_are_solved() -> None:
    """Random ones as SQP has them: 6 or 9 numbers between bounds, 3 constraints at prices of 1 to 10 000. Forces
    within bounds are 0, at bounds lead outwards, by 1e-9 of their terms."""
    random = np.random.default_rng(0)
    with jax.enable_x64(True):
        solve = jax.jit(complementary)
        for program in range(part(200, 60)):
            count = (6, 9)[program % 2]
            half = random.standard_normal((count, count)) * 10 ** random.uniform(-2, 0.5, count)
            curvature, rows = half @ half.T, random.uniform(-1, 1, (3, count))
            by = random.choice([0.0, 1e-3, 0.1, 1.0], 3) * random.standard_normal(3)
            ridge = 1e-12 * ((rows**2).sum(1) * count / np.trace(curvature) + 1.0)
            matrix = np.block([[curvature, rows.T], [-rows, np.diag(ridge)]])
            vector = np.append(random.uniform(-1, 1, count), -by)
            place, radius = random.uniform(0, 1, count), 10 ** random.uniform(-3, 0)
            low = np.append(np.maximum(-place, -radius), np.zeros(3))
            high = np.append(np.minimum(1 - place, radius), np.full(3, 10 ** random.uniform(0, 4)))
            w = np.asarray(solve(matrix, vector, low, high)[0])
            force = (matrix @ w + vector) / (abs(matrix) @ abs(w) + abs(vector))
            wrong = np.where(w <= low, -force, np.where(w >= high, force, abs(force)))
            assert wrong.max() < 1e-9, program


def identified(folder: Path, stiffness: str) -> Definition:
    """Mass, stiffness and damping of an arm sought from its motion, which has those of 2.3 kg and 44 N/m."""
    model = balanced_arm(pull=-5.0)
    clock: dict[str, Any] = {"span": 1.0, "step": 5e-3, "output_step": 0.05}
    truth = {"a:arm.mass": 2.3, f"a:{STIFFNESS}": 44.0}
    run = shiftjax.simulate(model.replace(truth), **clock, channels=["pivot.q"])
    lines = [f"{t!r}, {q!r}" for t, q in zip(run.time.tolist(), run.channels["pivot.q"].tolist(), strict=True)]
    (folder / "motion.csv").write_text("\n".join(["time, pivot.q", *lines]))
    words = {"residuals": ["pivot.q"], "sigmas": {"pivot.q": 1e-3}, "data": "motion.csv", "iterations": 60}
    vary = {"arm.mass": "1.5:6~sobol", STIFFNESS: stiffness}
    return Definition(model=model, **clock, samples=8, vary=vary, folder=str(folder), optimize=words)


def test_every_start_of_an_identification_comes_to_the_truth(tmp_path: Path) -> None:
    found = optimize(identified(tmp_path, "20:90~sobol"))
    assert found.ending == ["converged"] * 8
    np.testing.assert_allclose(found.designs["a:arm.mass"], 2.3, rtol=1e-6)


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Optimum:
    """An identification whose stiffness lies beyond its bound of 40 N/m."""
    return optimize(identified(tmp_path_factory.mktemp("bounded"), "10:40~sobol"))


def test_every_start_ends_at_a_bound_where_the_optimum_is(bounded: Optimum) -> None:
    """To the last bit at the bound, with the same sum; the mass is free there."""
    found = bounded
    assert found.ending == ["converged"] * 8 and (found.designs[f"a:{STIFFNESS}"] == 40.0).all()
    np.testing.assert_allclose(found.objective, found.objective.min(), rtol=EQUAL)
    assert found.objective.min() > 1.0  # the motion is that of a stiffness beyond


@pytest.mark.parametrize(
    "words",
    [
        {"objective": "swing", "method": "lbfgs"},
        {"objective": "swing", "method": "adam", "learning_rate": 0.4},
        {"objective": "swing", "method": "rmsprop", "learning_rate": 0.4},
        {"residuals": ["swing"]},
    ],
)
def test_an_optimum_at_a_bound_converges(words: dict[str, object]) -> None:
    """The swing is smallest with the shortest coupler; a number of no influence stays where it was."""
    study = arm(samples=2, optimize={**words, "iterations": 40})
    found = optimize(study)
    assert found.ending == ["converged"] * 2 and (found.designs["four_bar:coupler:tip.T[0]"] == 0.45).all()
    assert (found.designs["four_bar:rocker.mass"] == found.starts["first_numbers"].values[:, 1]).all()


def test_a_start_at_a_bound_is_run_there() -> None:
    """Not moved inside, and free to leave."""
    path = "coupler:tip.T[0]"
    words = {"objective": "-swing", "method": "lbfgs", "iterations": 20, "bounds": {path: [0.45, 0.55]}}
    study = arm(samples=None, vary={path: [0.45, 0.5]}, optimize=words)
    found = optimize(study)
    assert found.starts["first_numbers"].values[:, 0].tolist() == [0.45, 0.5]
    assert (found.designs["four_bar:coupler:tip.T[0]"] == 0.55).all() and found.ending == ["converged"] * 2


def test_a_constraint_that_is_never_active_changes_nothing() -> None:
    """To the last bit, over corrections of its multiplier."""
    study = arm(optimize={"objective": "100 * (end - swing ** 2) ** 2 + swing ** 2", "method": "lbfgs",
                          "iterations": 8, "tolerance": 1e-14, "correction_every": 2})  # fmt: skip
    limited = dataclasses.replace(study, optimize={**(study.optimize or {}), "constraints": ["swing <= 100"]})
    free, bound = optimize(study), optimize(limited)
    for name in ("numbers", "objective", "gradient_norm", "ended"):
        assert (free.history[name].values == bound.history[name].values).all(), name
    assert free.starts["iterations"].values.min() > 2  # a correction at least


def test_rejected_points_take_no_slopes(bounded: Optimum) -> None:
    """Runs and slopes are counted; of Levenberg-Marquardt the difference is what was taken back."""
    starts = bounded.starts
    assert (starts["runs"].values - starts["slopes"].values == starts["halved"].values).all()
    assert starts["halved"].values.sum() > 0
