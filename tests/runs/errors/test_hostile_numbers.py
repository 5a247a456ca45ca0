"""Numbers of members that are far out: an outcome of theirs, and no warning of NumPy for whoever runs the ensemble.

Warnings are errors in this suite.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.outcome import Outcome
from tests.extensions import gear, maxwell, mechanisms  # noqa: F401

FAR = [0.0, 1e-300, 1e40, 1e100, 1e160, 1e308, -1e160, np.inf, -np.inf, np.nan]
DOUBLE = shiftjax.load("double_pendulum")
SPEED = "double_pendulum:shoulder.initial_velocity"
MASS = "double_pendulum:link1.mass"
SHORT: dict[str, Any] = {"span": 0.05, "step": 1e-2}
LONGEST = 60.0  # s of processor time of some hundred members that are far out; they took for ever


def far_out(model: shiftjax.Model, paths: Sequence[str]) -> dict[str, np.ndarray]:
    """The values of an ensemble: its first member is the model's, every other has one number that is far out."""
    numbers = model.numbers()
    vary = {path: np.full(1 + len(paths) * len(FAR), numbers[path]) for path in paths}
    for k, path in enumerate(paths):
        vary[path][1 + k * len(FAR) :][: len(FAR)] = FAR
    return vary


def same(many: shiftjax.Result, member: int, alone: shiftjax.Result) -> bool:
    """Whether a member of many has the bits that it has alone."""
    pairs = [(many.channels[path][member], values[0]) for path, values in alone.channels.items()]
    pairs += [(many.metrics[name][member], values[0]) for name, values in alone.metrics.items()]
    return many.status[member] == alone.status[0] and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


RUNS: dict[str, dict[str, Any]] = {
    "fixed": {"output_step": 1e-2, "keep": "all", "metrics": {"k": "rms(energy.kinetic)"}},
    "f32": {"precision": "f32"},
    "euler, extremes, all repeated": {"method": "euler", "extremes": True, "accuracy": "all"},
    "tolerance": {"step": None, "tolerance": 1e-6},
}


@pytest.mark.parametrize("how", RUNS)
def test_far_out_members_warn_nobody_of_numpy(how: str) -> None:
    """Every third number of a double pendulum, among them speeds at infinity, one member each."""
    paths = [*list(DOUBLE.numbers())[::3], SPEED]
    vary, given = far_out(DOUBLE, paths), {**SHORT, "channels": ["energy.total"], **RUNS[how]}
    begun = time.process_time()
    result = shiftjax.simulate(DOUBLE, vary=vary, **given)
    assert time.process_time() - begun < LONGEST
    good = np.flatnonzero(result.status <= 0)
    assert 0 in good and np.count_nonzero(result.status > 0) > len(paths) and str(result)
    for member in good[:: len(good) // 3]:
        alone = shiftjax.simulate(DOUBLE, vary={path: x[member : member + 1] for path, x in vary.items()}, **given)
        assert same(result, member, alone)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_loops_of_far_out_members_are_closed_or_not_without_a_warning(name: str) -> None:
    """Lengths, directions, starts and speeds of loops."""
    model = shiftjax.load(name)
    vary = far_out(model, list(model.numbers())[::5])
    result = shiftjax.assemble(model, vary=vary, channels=["energy.total"])
    assert same(
        result, 0, shiftjax.assemble(model, vary={p: x[:1] for p, x in vary.items()}, channels=["energy.total"])
    )
    infinite = np.any([~np.isfinite(x) for x in vary.values()], axis=0)
    assert (result.status[infinite] == Outcome.non_finite).all()
    assert {Outcome.ok, Outcome.not_assembled} <= {*result.status.tolist()}


def test_members_whose_steps_never_end_are_too_small() -> None:
    """Gravity of 1e40 m/s^2 asks for steps of 1e-21 s: the member ends, and says how far its last steps have led."""
    gravity = "model_parameters.gravity[2]"
    vary = {gravity: [9.81, 1e40]}
    result = shiftjax.simulate(DOUBLE, 0.05, tolerance=1e-6, vary=vary, channels=["energy.total"])
    assert result.status.tolist() == [Outcome.ok, Outcome.too_small]
    assert "the run would not end" in result.messages[1] and result.certificate["steps"][1] < 2000
    alone = shiftjax.simulate(DOUBLE, 0.05, tolerance=1e-6, vary={gravity: [9.81]}, channels=["energy.total"])
    assert same(result, 0, alone)


def test_a_member_whose_rows_move_no_mass_ends_by_itself() -> None:
    """A gear of 1e40 leaves a partition along which nothing has mass: it was a division by zero while compiling."""
    model = mechanisms.geared()
    ratio = "a:teeth.ratio"
    result = shiftjax.simulate(model, vary={ratio: [2.0, 1e40]}, channels=["energy.total"], **SHORT)
    assert result.status[0] == Outcome.ok and result.status[1] > 0
    assert same(result, 0, shiftjax.simulate(model, vary={ratio: [2.0]}, channels=["energy.total"], **SHORT))


def test_first_steps_of_members_at_infinity_are_chosen_without_a_warning() -> None:
    """A Maxwell element whose stretch is infinite."""
    model = mechanisms.damped()
    stretch = "a:creep.initial_stretch"
    result = shiftjax.simulate(model, 0.05, tolerance=1e-6, vary={stretch: [0.2, 1e308, np.inf]})
    assert result.status[0] == Outcome.ok and (result.status[1:] > 0).all()


@pytest.mark.filterwarnings("ignore::shiftjax.errors.GradientWarning")  # of members that have none
@pytest.mark.parametrize("how", [{"step": 1e-2}, {"tolerance": 1e-6}])
@pytest.mark.parametrize("path", [SPEED, MASS])
def test_slopes_of_far_out_members_leave_those_of_others(how: dict[str, Any], path: str) -> None:
    """Slopes of extremes by a start speed and a mass; members without a value have a slope that no loss sees."""

    def loss(x: jax.Array) -> jax.Array:
        result = shiftjax.simulate(DOUBLE, 0.05, vary={path: x}, metrics={"k": "maximum(energy.kinetic)"}, **how)
        good = jnp.asarray(result.status <= 0) & jnp.isfinite(result.metrics["k"])
        return jnp.where(good, result.metrics["k"], 0.0).sum()

    ordinary = jax.grad(loss)(jnp.array([0.5]))
    slopes = jax.grad(loss)(jnp.array([0.5, 1e100, 1e160, 1e300, jnp.inf, jnp.nan]))
    assert slopes[0] == ordinary[0] != 0.0


def test_derived_numbers_may_become_infinite() -> None:
    vary = {SPEED: np.array([0.7, 0.5, 1e300])}
    mass = f"exp({{{SPEED}}})/({{{SPEED}}}-0.5)"
    result = shiftjax.simulate(DOUBLE, vary=vary, derive={MASS: mass}, **SHORT)
    assert result.status[0] <= 0 and (result.status[1:] > 0).all()


def test_reports_and_slopes_of_studies_with_far_out_members(tmp_path: Path) -> None:
    """Deviations and means of numbers and metrics of 1e160 overflow in figures, and not onto the terminal."""
    speeds = {"distribution": "list", "values": [0.5, 0.0, 1e-300, 1e160, 1e300]}
    masses = {"distribution": "list", "values": [2.0, 1e160, 1e300]}
    metrics = {"top": "maximum(energy.total)", "mean": "rms(energy.kinetic)"}
    given = {"metrics": metrics, **SHORT}
    study = shiftjax.sweep(shiftjax.Definition(DOUBLE, {SPEED: speeds, MASS: masses}, **given), tmp_path / "a.zarr")
    assert study.report(tmp_path / "a.html").stat().st_size > 0
    slopes = shiftjax.sensitivity(shiftjax.Definition(DOUBLE, {SPEED: speeds}, **given), tmp_path / "b.zarr")
    assert slopes.study.report(tmp_path / "b.html").stat().st_size > 0


def test_information_of_far_out_slopes_is_lost() -> None:
    lost = shiftjax.fisher(np.array([[1e160, 1.0], [1e300, 1.0]]), np.array([1e-200, 1.0]))
    assert lost.rank == 0 and np.isnan(lost.information).all()
    square = shiftjax.fisher(np.array([[1e200]]), np.array([1.0]))
    assert square.rank == 1 and np.isinf(square.information).all()


def test_a_page_of_far_out_members_is_written() -> None:
    """Curves of a page are in single precision."""
    given = {"output_step": 1e-2, "channels": ["energy.total"], "keep": "all", **SHORT}
    result = shiftjax.simulate(DOUBLE, vary={MASS: [2.0, 1e160, np.inf]}, **given)
    assert result.status.tolist()[::2] == [Outcome.ok, Outcome.non_finite] and result.view() is not None
