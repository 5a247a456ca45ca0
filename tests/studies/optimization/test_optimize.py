"""Optimisation of studies: gradients, bounds, constraints, infeasible designs, resuming, known optima."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.cli.commands.optimize import show
from shiftjax.ensembles.optimization.iterates import EVERY, Iterates
from shiftjax.ensembles.optimization.methods.descent import Descent
from shiftjax.ensembles.optimization.optimize import DescentProgress, asked, optimize, problem_of
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.designs import designs
from shiftjax.errors import ModelError
from tests.support import sweeps
from tests.support.sweeps import FORKS

CENTRAL = 1e-6  # relative: differences of second order at a step of 1e-5
VALLEY = "100 * (end - swing ** 2) ** 2 + swing ** 2"  # smallest between the bounds of `arm`
EXACT = 1e-6  # of a parameter that least squares find from a motion without noise


def arm(**more: Any) -> Definition:
    """A four-bar whose swing depends on its lengths."""
    given: dict[str, Any] = {
        "model": "four_bar",
        "span": 0.2,
        "step": 2e-3,
        "samples": 3,
        "seed": 4,
        "vary": {"coupler:tip.T[0]": "0.45:0.55~sobol", "rocker.mass": "0.5:2~sobol"},
        "drive": {"crank_pivot": 3.0},
        "metrics": {"swing": "rms(rocker_pivot.v)", "end": "final(rocker_pivot.q)"},
        "optimize": {"objective": "swing + 0.1 * end ** 2", "iterations": 4},
    }
    return Definition(**{**given, **more})


def test_the_gradient_is_that_of_differences() -> None:
    definition, wanted = asked(arm(drive={}))
    method = Descent(problem_of(definition, wanted, designs(definition)[0]))
    state = method.begin()
    found = method.see(state)["gradient"]
    for k in range(2):
        pair = []
        for sign in (1.0, -1.0):
            z = state["z"].copy()
            z[:, k] += sign * 1e-5
            pair.append(method.see({**state, "z": z})["merit"])
        np.testing.assert_allclose(found[:, k], (pair[0] - pair[1]) / 2e-5, rtol=CENTRAL, atol=1e-8)


def test_a_start_does_not_depend_on_the_others() -> None:
    whole = optimize(arm())
    fewer = optimize(arm(samples=1))
    for name in ("numbers", "objective", "gradient_norm"):
        assert (whole.history[name].values[:, :1] == fewer.history[name].values).all()


class Stop(Exception):
    pass


@pytest.mark.parametrize("method", ["adam", "lbfgs"])
def test_what_is_resumed_is_the_same_to_the_last_bit(tmp_path: Path, method: str) -> None:
    study = arm(samples=2, optimize={"objective": VALLEY, "iterations": 9, "method": method, "tolerance": 0.0})
    whole = optimize(study, tmp_path / "whole.zarr")

    def stop(progress: DescentProgress) -> None:
        if progress.iteration == 7:
            raise Stop

    with pytest.raises(Stop):
        optimize(study, tmp_path / "cut.zarr", progress=stop)
    with pytest.raises(ModelError, match="has not ended"):
        Optimum(tmp_path / "cut.zarr")
    words = {"iterations": 9, "method": method, "tolerance": 0.0}
    other = arm(samples=2, seed=5, optimize={**words, "objective": "swing ** 2", "penalty": 3.0})
    with pytest.raises(ModelError, match=r"another study: seed, optimize\.objective, optimize\.penalty differs"):
        optimize(other, tmp_path / "cut.zarr", resume=True)
    again = optimize(study, tmp_path / "cut.zarr", resume=True)
    assert whole.evaluations.load().identical(again.evaluations.load())
    assert whole.history.load().identical(again.history.load()) and whole.starts.identical(again.starts)


@pytest.mark.parametrize("words", [{"objective": "swing"}, {"residuals": ["10 * (end - swing ** 2)", "swing"]}])
def test_more_iterations_go_on_as_if_asked_for_at_once(tmp_path: Path, words: dict[str, Any]) -> None:
    """2 iterations, then 5, are 5 to the last bit, of a store that had ended."""
    few, many = (arm(samples=2, optimize={**words, "tolerance": 0.0, "iterations": count}) for count in (2, 5))
    whole, place = optimize(many, tmp_path / "whole.zarr"), tmp_path / "grown.zarr"
    first = optimize(few, place)
    assert first.history.sizes["iteration"] == 2

    def stop(progress: DescentProgress) -> None:
        assert progress.iterations == 5
        if progress.iteration == 4:
            raise Stop

    with pytest.raises(Stop):
        optimize(many, place, resume=True, progress=stop)
    assert Iterates(place).done == 4 and not Iterates(place).complete
    again = optimize(many, place, resume=True)
    assert asked(again.definition)[1].iterations == 5
    assert whole.evaluations.load().identical(again.evaluations.load())
    assert whole.history.load().identical(again.history.load()) and whole.starts.identical(again.starts)
    assert optimize(many, place, resume=True).starts.identical(whole.starts)
    with pytest.raises(ModelError, match="5, with which the store was begun, or more"):
        optimize(few, place, resume=True)


def test_a_rate_that_falls_to_the_last_iteration_fixes_their_number(tmp_path: Path) -> None:
    words = {"objective": "swing", "final_learning_rate": 1e-3}
    few, many = (arm(samples=1, optimize={**words, "iterations": count}) for count in (2, 4))
    optimize(few, tmp_path / "few.zarr")
    with pytest.raises(ModelError, match="final_learning_rate, which is reached at the last iteration"):
        optimize(many, tmp_path / "few.zarr", resume=True)


def test_what_was_killed_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    """F14, of optimisations."""
    study = arm(samples=1, optimize={"objective": "swing", "iterations": 4 * EVERY})
    whole = optimize(study, tmp_path / "whole.zarr")
    study_file.write(study, tmp_path / "study.toml")
    place = tmp_path / "killed.zarr"
    iterations, sent = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=sweeps.optimizing, args=(tmp_path / "study.toml", place, sent))
    process.start()
    sent.close()
    while iterations.recv() <= EVERY:
        pass
    process.kill()
    process.join(60)
    assert EVERY <= Iterates(place).done < 4 * EVERY and not Iterates(place).complete
    again = optimize(study_file.read(tmp_path / "study.toml"), place, resume=True)
    assert whole.evaluations.load().identical(again.evaluations.load()) and whole.starts.identical(again.starts)


def test_an_empty_store_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the store has appeared and before anything stood in it."""

    def killed(*_: object) -> None:
        raise Stop

    study, place = arm(samples=1, optimize={"objective": "swing", "iterations": 3}), tmp_path / "empty.zarr"
    with monkeypatch.context() as patched, pytest.raises(Stop):
        patched.setattr(Iterates, "append", killed)
        optimize(study, place)
    assert Iterates(place).done == 0
    assert optimize(study, place, resume=True).starts.identical(optimize(study, tmp_path / "whole.zarr").starts)


STIFFNESS = "balancer.coefficients[0][0]"
BALANCED = 2.0 * 9.81 * 0.4 / (0.5 * 0.3)  # m g c / (a b) of a spring without free length, from a over the pivot to b


def balanced_arm(pull: float = 0.0) -> shiftjax.Model:
    """An arm with a spring that can carry its weight at every angle, but for a constant pull [N]."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.frame("post", T=(0.0, 0.0, 0.5))
    a = builder.assembly("a")
    a.body(
        "arm", mass=2.0, center_of_mass=(0.4, 0, 0), inertia=(0.01, 0.02, 0.03), frames={"hook": {"T": (0.3, 0.0, 0.0)}}
    )
    a.joint("pivot", "Ry", child="arm", initial_displacement=-0.5)
    frames = (("fixed", "post"), ("arm", "hook"))
    a.restraint("balancer", "spring", frames=frames, coefficients=((40.0, pull),))
    return builder.build()


@pytest.mark.parametrize(
    "asked",
    [
        {"residuals": ["speed"], "iterations": 12},
        {"residuals": ["speed"], "iterations": 12, "method": "gauss_newton"},
        {"objective": "speed ** 2", "iterations": 25, "method": "lbfgs", "options": {"memory_size": 5}},
        {"objective": "speed ** 2", "iterations": 150, "learning_rate": 0.3, "final_learning_rate": 1e-4},
    ],
)
def test_a_spring_that_balances_an_arm_is_found(asked: dict[str, Any]) -> None:
    """Released at rest, an arm stays only with the stiffness m g c / (a b)."""
    study = Definition(
        model=balanced_arm(), span=0.3, step=5e-3, samples=3, vary={STIFFNESS: "20:90~sobol"},
        metrics={"speed": "final(pivot.v)"}, optimize=asked,
    )  # fmt: skip
    found = optimize(study)
    adam = "learning_rate" in asked
    stiffness = found.best.design[f"a:{STIFFNESS}"] if adam else found.designs[f"a:{STIFFNESS}"]
    assert stiffness == pytest.approx(BALANCED, rel=1e-4 if adam else 1e-8)  # adam's last steps are of that size
    assert np.isfinite(found.history["objective"].values).all()
    assert found.model.numbers()[f"a:{STIFFNESS}"] == found.best.design[f"a:{STIFFNESS}"]


def test_a_mass_is_identified_from_a_motion(tmp_path: Path) -> None:
    """Least squares on recorded angles give back the mass and the stiffness of the model that moved so.

    The constant pull tells them apart: the moments of weight and spring alone are of one form.
    """
    truth = {"a:arm.mass": 2.3, f"a:{STIFFNESS}": 44.0}
    model = balanced_arm(pull=-5.0)
    run = shiftjax.simulate(model.replace(truth), span=0.5, step=5e-3, output_step=0.05, channels=["pivot.q"])
    lines = [f"{t!r}, {q!r}" for t, q in zip(run.time.tolist(), run.channels["pivot.q"].tolist(), strict=True)]
    (tmp_path / "motion.csv").write_text("\n".join(["time, pivot.q", *lines[1:]]))
    study = Definition(
        model=model, span=0.5, step=5e-3, output_step=0.05, samples=4, folder=str(tmp_path),
        vary={"arm.mass": "1:4~sobol", STIFFNESS: "30:60~sobol"},
        optimize={"residuals": ["pivot.q"], "sigmas": {"pivot.q": 0.01}, "data": "motion.csv", "iterations": 25},
    )  # fmt: skip
    found = optimize(study, tmp_path / "found.zarr")
    for path, value in truth.items():
        assert found.best.design[path] == pytest.approx(value, rel=EXACT)
    assert "converged" in found.ending
    (tmp_path / "motion.csv").write_text("\n".join(["time, pivot.q", *lines[2:]]))
    with pytest.raises(ModelError, match="the store of another study"):
        optimize(study, tmp_path / "found.zarr", resume=True)


def test_bounds_are_kept_and_constraints_met() -> None:
    """A stiffness that would balance lies beyond the bound; with a constraint on the speed, at it."""
    study = Definition(
        model=balanced_arm(), span=0.3, step=5e-3, samples=2, vary={STIFFNESS: "20:45~sobol"},
        metrics={"speed": "final(pivot.v)"},
        optimize={"objective": "speed ** 2", "iterations": 30, "learning_rate": 0.3},
    )  # fmt: skip
    found = optimize(study)
    assert (found.history["numbers"].values <= 45.0).all()
    assert found.best.design[f"a:{STIFFNESS}"] == pytest.approx(45.0, rel=1e-3)
    limited = dataclasses.replace(
        study, vary={STIFFNESS: "20:90~sobol"},
        optimize={"objective": "speed ** 2", "constraints": ["speed <= -0.5"], "iterations": 120, "method": "lbfgs",
                  "constraint_tolerance": 1e-5},
    )  # fmt: skip
    at = optimize(limited)
    assert at.starts["metrics"].values == pytest.approx(-0.5, abs=1e-4) and set(at.ending) == {"converged"}


def test_designs_that_do_not_close_turn_back() -> None:
    """A four-bar wants a coupler longer than its loop allows: steps are halved back, and nothing becomes NaN."""
    study = Definition(
        model="four_bar", span=0.05, step=5e-3, samples=2, hold=["crank_pivot"],
        vary={"coupler:tip.T[0]": "0.30:1.5~sobol"}, metrics={"height": "final(coupler:tip.position[0])"},
        optimize={"objective": "-height", "iterations": 10, "learning_rate": 0.5},
    )  # fmt: skip
    found = optimize(study)
    last = found.history.isel(iteration=-1)
    assert found.evaluations["status"].values.max() > 0 and found.starts["halved"].values.sum() > 0
    assert np.isfinite(last["objective"].values).all() and np.isfinite(last["numbers"].values).all()
    assert not any(np.isnan(values.values).any() for values in found.history.data_vars.values())
    assert not any(np.isnan(values.values).any() for values in found.evaluations.data_vars.values())


def test_least_squares_turn_back_from_designs_that_do_not_close() -> None:
    """The coupler's tip is wanted where no coupler brings it."""
    study = Definition(
        model="four_bar", span=0.05, step=5e-3, samples=2, hold=["crank_pivot"],
        vary={"coupler:tip.T[0]": "0.30:1.5~sobol"}, metrics={"height": "final(coupler:tip.position[0])"},
        optimize={"residuals": ["height - 5"], "iterations": 10},
    )  # fmt: skip
    found = optimize(study)
    assert found.evaluations["status"].values.max() > 0 and np.isfinite(found.objective).all()
    assert not any(np.isnan(values.values).any() for values in found.history.data_vars.values())
    assert (np.diff(found.history["objective"].values[-8:], axis=0) <= 0).all()


def test_what_follows_from_parameters_has_its_gradient() -> None:
    study = arm(derive={"crank.mass": "2 * {rocker.mass} ** 2"}, drive={})
    definition, wanted = asked(study)
    method = Descent(problem_of(definition, wanted, designs(definition)[0]))
    state = method.begin()
    found = method.see(state)["gradient"]
    pair = []
    for sign in (1.0, -1.0):
        z = state["z"].copy()
        z[:, 1] += sign * 1e-5
        pair.append(method.see({**state, "z": z})["merit"])
    np.testing.assert_allclose(found[:, 1], (pair[0] - pair[1]) / 2e-5, rtol=CENTRAL, atol=1e-8)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "a study without"),
        ({"iterations": 3}, "neither objective"),
        ({"objective": "swing", "metod": "adam"}, "unknown key"),
        ({"objective": "swong"}, "swong"),
        ({"objective": "rocker_pivot.q"}, "names of metrics"),
        ({"objective": "swing", "method": "levenberg_marquardt"}, "levenberg_marquardt"),
        ({"objective": "swing", "parameters": ["crank.mass"]}, "optimize.parameters"),
        ({"objective": "swing", "bounds": {"crank.mass": [0, 1]}}, "no parameter"),
        ({"objective": "swing", "bounds": {"rocker.mass": [2, 1]}}, "Turn them round"),
        ({"objective": "swing", "constraints": ["swing"]}, "a relation of metrics"),
        ({"objective": "swing", "options": {"b7": 0.9}}, "optimize.options"),
        ({"residuals": ["rocker_pivot.q"], "data": "none.csv"}, "no file"),
    ],
)
def test_what_cannot_be_optimised_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        optimize(arm(optimize=words))


def test_the_command_optimises_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.toml"
    study_file.write(arm(), path)
    out = str(tmp_path / "best.zarr")
    assert main(["check", str(path)]) == 0
    assert "optimised: swing + 0.1 * end ** 2; adam, 4 iterations at most" in capsys.readouterr().out
    words = ["optimize", str(path), "--out", out, "--save", str(tmp_path / "best.json")]
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["starts"] == 3 and said["best"]["objective"] == Optimum(out).best.objective
    assert main([*words, "--resume"]) == 0
    assert "best: start" in capsys.readouterr().out
    assert main(words) == 2
    best = shiftjax.load(tmp_path / "best.json").numbers()
    assert best["four_bar:rocker.mass"] == said["best"]["design"]["four_bar:rocker.mass"]
    frame = Optimum(out).to_pandas()
    assert len(frame) == 3 and frame["objective"].min() == said["best"]["objective"]


@pytest.mark.parametrize("asked", [{"objective": "end ** 2", "method": "lbfgs"}, {"residuals": ["end"]}])
@pytest.mark.usefixtures("jumps_ignored")
def test_forces_that_jump_are_told_of_every_start(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Of points, of the history and of the best design; the gradient of both methods ignores them."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    a.joint("slide", "Tx", child="mass", initial_velocity=1.0)
    a.restraint("pull", "spring", joint="slide", coefficients=[[100.0, 0.0]])
    a.restraint("rub", "friction", joint="slide", coefficients=[[-2.0], [2.0]], knot_points=[0.0])
    found = optimize(
        Definition(
            model=builder.build(), span=0.12, step=1e-3, vary={"slide.initial_velocity": [0.5, 4.0]},
            metrics={"end": "final(slide.q) - 0.02"}, optimize={**asked, "iterations": 2},
        )
    )  # fmt: skip
    assert found.evaluations["jumps"].values[0].tolist() == [1, 0] and found.history["jumps"].values[0, 0] == 1
    assert found.starts["jumps"].dtype == np.int32 and (found.starts["growth"].values < 100).all()
    show(found)
    printed = capsys.readouterr().out
    assert "ignore forces that jump" in printed
    assert ("--resume and more --iterations goes on" in printed) == ("going" in found.ending)
    assert {"jumps", "growth"} <= set(found.to_pandas().columns)
