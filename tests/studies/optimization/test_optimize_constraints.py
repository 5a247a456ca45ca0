"""SQP of `[optimize]`, and constraints on numbers of the design."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.optimization.optimize import DescentProgress, asked, method_of, optimize, problem_of
from shiftjax.ensembles.optimization.optimum_page import OptimumContent
from shiftjax.ensembles.optimization.problem import Problem
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.optimization_words import DescentEnding
from shiftjax.errors import ModelError
from shiftjax.gradients.doubts import Doubts

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
    found = optimize(four_bar(["reach >= 0.6"], samples=2))
    assert found.definition.optimized is not None and found.definition.optimized.method == "sqp"
    assert found.ending == ["converged"] * 2 and (found.starts["excess"].values <= MET).all()
    reach = found.starts["metrics"].values[:, found.metrics.index("reach")]
    np.testing.assert_allclose(reach, 0.6, atol=2 * MET)
    other = optimize(four_bar(["reach >= 0.6"], samples=2, words={"method": "lbfgs", "iterations": 150}))
    assert found.objective.min() <= other.objective[other.starts["excess"].values <= MET].min() + 1e-5
    assert found.starts["slopes"].values.sum() < other.starts["slopes"].values.sum()


def test_a_sum_of_links_is_kept_and_needs_no_way_back(tmp_path: Path) -> None:
    """Numbers in braces, one of which follows from another, and an equality."""
    study = four_bar(
        [f"{{{COUPLER}}} + {{{ROCKER}}} <= 0.9", f"{{{CRANK}}} == 0.1", "{coupler.mass} >= 1.3"],
        derive={"coupler.mass": f"3 * {{{COUPLER}}}"}, words={"objective": "-reach"}, samples=3,
    )  # fmt: skip
    definition, wanted = asked(study)
    problem = problem_of(definition, wanted, designs(definition)[0])
    assert problem.of_runs.tolist() == [False] * 3
    x = problem.designs(np.arange(1), np.array([[0.1, 0.5, 0.45]]))[0]
    np.testing.assert_allclose(np.asarray(problem.value(np.zeros(2), x)[1]), [0.05, 0.0, -0.2], atol=1e-15)
    study_file.write(study, tmp_path / "links.toml")
    assert main(["check", str(tmp_path / "links.toml")]) == 0
    found = optimize(study)
    assert found.ending == ["converged"] * 3 and (found.starts["excess"].values <= MET).all()
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


class RosenSuzuki:
    """Runs whose metrics are those of Rosen and Suzuki's problem (Hock, Schittkowski, 1981, problem 43): least is -44
    at (0, 1, 2, -1), where two of three curved constraints are active."""

    recorded, metrics, units = 0, ("f", "a", "b", "c"), MappingProxyType(dict[str, str]())
    sizes: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    time = np.zeros(0)

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = self.parameters = paths
        self._f, self._slopes = (jax.jit(jax.vmap(some)) for some in (self._of, jax.jacobian(self._of)))
        self.members = 0

    @staticmethod
    def _of(x: Any) -> Any:
        one, two, three, four = x
        first, second, third, fourth = x**2
        f = first + second + 2 * third + fourth - 5 * one - 5 * two - 21 * three + 7 * four
        a = first + second + third + fourth + one - two + three - four - 8
        b = first + 2 * second + third + 2 * fourth - one - four - 10
        return jnp.stack([f, a, b, 2 * first + second + third + 2 * one - two - four - 5])

    def outputs(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            return np.asarray(self._f(x)), np.zeros(len(x), int)

    def adjoint(self, x: np.ndarray, bars: np.ndarray) -> np.ndarray:
        self.members = len(x)
        with jax.enable_x64(True):
            return np.einsum("knm,nmp->knp", bars, np.asarray(self._slopes(x)))

    def tangent(self, x: np.ndarray) -> np.ndarray:
        return np.moveaxis(self.adjoint(x, np.broadcast_to(np.eye(4)[:, None], (4, len(x), 4))), 2, 0).swapaxes(1, 2)

    @property
    def doubts(self) -> Doubts:
        none = np.zeros(self.members)
        never = none.astype(bool)
        return Doubts(never, none.astype(int), none, ("",) * self.members, never)


def test_prices_come_down_to_multipliers() -> None:
    """A price of 10 000, far above the multipliers 1 and 2, rejects almost every step along curved constraints: as long
    as it stayed there, six of these eight starts did not reach the optimum, with 962 runs and 436 slopes."""
    paths = ("crank:tip.T[0]", "crank:tip.T[1]", COUPLER, ROCKER)
    limits = [f"{name} <= 0" for name in "abc"]
    words = {"objective": "f", "tolerance": 1e-10, "penalty": 1e4, "iterations": 60}
    definition, wanted = asked(four_bar(limits, samples=8, vary=dict.fromkeys(paths, "-5:5~sobol"), words=words))
    group = designs(definition)[0]
    method = method_of(Problem(definition, wanted, group, RosenSuzuki(tuple(group.vary()))))
    state = method.begin()
    while (state["ended"] == 0).any() and state["asked"].max() < wanted.iterations:
        state = method.advance(state, method.see(state))
    assert (state["ended"] == DescentEnding.converged).all()
    np.testing.assert_allclose(state["best_objective"], -44.0, rtol=1e-6)
    np.testing.assert_allclose(method.place(state["base"]), np.tile([0.0, 1.0, 2.0, -1.0], (8, 1)), atol=MET)
    assert state["runs"].sum() <= 1.5 * state["slopes"].sum()


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
