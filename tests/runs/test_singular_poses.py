"""Singular poses passed along the branch that the momentum leads to, against the branches as formulas.

A parallelogram keeps its cranks parallel, and without gravity their speed; a kite is symmetric about a line that turns
by half of its crank's angle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.constraints.drives import ConstantSpeed
from shiftjax.ensembles.stored_study import Study
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.doubts import GradientWarning
from shiftjax.gradients.simulate import simulate as simulate_traced
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.support.models.flat_linkages import BASE, PARALLELOGRAM, landing, linkage, parallel
from tests.support.models.mechanisms import rod

# Through several flat poses in steps of 1 ms, each of which costs some 1e-11 of the speeds; measured: 3e-10.
PASSED = 1e-8
WATCHED = ["crank_pivot.q", "rocker_pivot.q"]


def off(result: Result, expected: np.ndarray) -> np.ndarray:
    """(B,) the most by which both cranks differ from (B, instants) angles."""
    return np.max([np.abs(result.channels[name] - expected).max(1) for name in WATCHED], axis=0)


# -- passing -------------------------------------------------------------------------------------------------------


def test_steps_that_land_on_the_flat_pose_exactly() -> None:
    """Were `stuck` in a quarter of such members: |B| of a step that ends there is noise, and its trigger came first."""
    angles, speeds = landing(40, 3)
    result = simulate(PARALLELOGRAM, 0.5, 1e-3, output_step=0.01, vary=parallel(angles, speeds), channels=WATCHED)
    assert (result.status == Outcome.ok).all(), set(result.messages)
    assert off(result, angles[:, None] + speeds[:, None] * result.time).max() < PASSED
    assert result.certificate["energy_error"].max() < PASSED


def test_instants_on_the_flat_pose_of_steps_that_a_tolerance_chose() -> None:
    """Were off by up to 4000 rad with status 0: the step to such an instant ends in the pose, where nothing threw it
    away. The largest steps pass half a turn."""
    speeds = np.array([-5.541776932524632, 17.290942662527755, -13.831245265304613, -18.562993786766285])
    angles = -np.array([2, 8, 2, 8]) * speeds * 1e-3
    settings: dict[str, Any] = {
        "tolerance": 1e-6, "output_step": 2e-3, "vary": parallel(angles, speeds), "channels": WATCHED,
        "accuracy": "local",
    }  # fmt: skip
    result = simulate(PARALLELOGRAM, 0.5, **settings)
    assert (result.status == Outcome.ok).all()
    assert off(result, angles[:, None] + speeds[:, None] * result.time).max() < 1e3 * 1e-6  # an angle_limit
    again = simulate(PARALLELOGRAM, 0.5, schedule=result.schedule, **settings)
    assert all((again.channels[path] == values).all() for path, values in result.channels.items())


def test_instants_in_long_steps_across_the_pose_are_as_good_as_the_steps() -> None:
    """A step to an instant far beyond the pose had a stage on it: the cubic of speeds over the whole step across was
    taken there, off by 0.012 rad/s, and the quintic of angles by 2e-5 rad, with an error of 1e-5 rad said of the run.
    """
    rng = np.random.default_rng(8)
    speeds, angles = rng.uniform(15.0, 25.0, 40), rng.uniform(-0.3, -0.01, 40)
    settings: dict[str, Any] = {"tolerance": 1e-2, "output_step": 1e-3, "channels": [*WATCHED, "crank_pivot.v"]}
    model = FLAT.replace({"crank_pivot.initial_velocity": 0.0})
    result = simulate(model, 0.1, vary=parallel(angles, speeds), accuracy="local", **settings)
    assert (result.status == Outcome.ok).all(), result.messages
    crank, rocker, v = result.channels.values()
    wanted = np.sqrt(speeds[:, None] ** 2 - 23.544 * (np.sin(crank) - np.sin(angles[:, None])))  # 2 M g l / I
    assert np.abs(v - wanted).max() < 1e-3 and np.abs(crank - rocker).max() < 1e-5


def equal_slider_crank() -> Model:
    """Crank and rod of 1 m: where the crank stands upright the slide may rest and the rod turn with the crank."""
    builder, angle = ModelBuilder(), 0.3
    bar = builder.assembly("bar")
    bar.body("crank", **rod(1.0)).body("rod", **rod(1.0)).body("slider", mass=1.0, inertia=(0.1, 0.1, 0.1))
    bar.joint("crank_pivot", "Rz", child="crank", initial_displacement=angle, initial_velocity=1.0)
    bar.joint("pin", "Rz", parent=("crank", "tip"), child="rod", initial_displacement=-2.0 * angle)
    bar.joint("guide", "Tx", child="slider", initial_displacement=2.0 * np.cos(angle))
    bar.joint("wrist", "Rz", parent=("rod", "tip"), child="slider", initial_displacement=angle)
    return builder.build()


def test_a_tolerance_passes_bifurcations_and_its_schedule_repeats_them() -> None:
    """Ended as `loop_open` in 84 of 100: noise near the pose was taken for errors of the method, and steps were made
    smaller until one landed there."""
    speeds = np.random.default_rng(0).uniform(2.0, 8.0, 12)
    settings: dict[str, Any] = {
        "tolerance": 1e-9, "output_step": 0.01, "vary": {"crank_pivot.initial_velocity": speeds},
        "channels": ["crank_pivot.q", "guide.q"],
    }  # fmt: skip
    result = simulate(equal_slider_crank(), 1.0, accuracy="local", **settings)
    crank, slide = result.channels.values()
    assert (result.status == Outcome.ok).all(), set(result.messages)
    assert np.abs(slide - 2.0 * np.cos(crank)).max() < PASSED
    assert result.certificate["energy_error"].max() < PASSED and result.certificate["gap"].max() < 1e-13
    again = simulate(equal_slider_crank(), 1.0, accuracy="local", schedule=result.schedule, **settings)
    assert all((again.channels[path] == values).all() for path, values in result.channels.items())


# -- stopping ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [{"step": 1e-3}, {"tolerance": 1e-9}], ids=["steps", "tolerance"])
def test_members_stop_before_a_singular_pose_where_they_are_asked_to(steps: dict[str, Any]) -> None:
    """However the steps lie: on the pose exactly, with a stage on it, or beside it; the schedule repeats it."""
    angles, speeds = landing(20, 4)
    angles[-4:] -= 0.3 * speeds[-4:] * 1e-3
    angles[0], speeds[0] = -1.0, 1.0  # which does not come to the pose
    settings: dict[str, Any] = {"vary": parallel(angles, speeds), "accuracy": "local", "singular": "stop", **steps}
    result = simulate(PARALLELOGRAM, 0.5, **settings)
    assert result.status.tolist() == [Outcome.ok] + [Outcome.singular_pose] * 19
    for message, time, done in zip(result.messages, -angles / speeds, result.certificate["steps"], strict=True):
        if not message:
            continue
        assert abs(float(message.split()[1]) - time) < 1e-3, message  # a step
        assert message[message.index(" s: ") :].startswith(
            " s: a singular pose, where the loops of bar:joint lose rank"
        )
        assert "tolerance" in settings or done <= round(time / 1e-3)
    assert result.final is not None and result.settings["singular"] == "stop"
    passed = simulate(PARALLELOGRAM, 0.5, **{**settings, "singular": "pass"})
    assert (passed.status == Outcome.ok).all()
    again = simulate(PARALLELOGRAM, 0.5, schedule=result.schedule, **settings)
    assert (again.status == result.status).all() and again.final is not None
    assert (again.final["q"] == result.final["q"]).all()


def test_regular_mechanisms_do_not_stop() -> None:
    """Where only the coordinates of a partition turn back, and where two loops lose rank at once, without a sign."""
    speeds = np.linspace(3.0, 20.0, 4)
    for name, joint, outcome in (
        ("four_bar", "crank_pivot", Outcome.ok),
        ("n_four_bar_2", "pivot_0", Outcome.singular_pose),
    ):
        vary = {f"{joint}.initial_velocity": speeds}
        result = simulate(name, 0.8, 1e-3, vary=vary, singular="stop", accuracy="local")
        assert (result.status == outcome).all(), result.messages
    with pytest.raises(ModelError, match="singular: found 'halt'"):
        simulate("four_bar", 0.1, singular="halt")


def test_a_study_says_what_its_members_do_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In TOML, in its store, of a member that runs again; the command line asks for the same."""
    study, kept = tmp_path / "flat.toml", tmp_path / "flat.zarr"
    lines = ['model = "n_four_bar_1"', "span = 0.5", "step = 1e-3", 'singular = "stop"', "[vary]"]
    study.write_text("\n".join([*lines, '"pivot_0.initial_velocity" = [-0.1, -4.0]']))
    assert main(["sweep", str(study), "--out", str(kept)]) == 3
    stored = Study(kept)
    assert stored.table["status"].tolist() == ["ok", "singular_pose"]
    assert stored.again(1).status == Outcome.singular_pose
    capsys.readouterr()
    assert main(["run", "n_four_bar_1", "--span", "0.8", "--step", "1e-3", "--singular", "stop"]) == 3
    assert "at 0.70845 s: a singular pose" in capsys.readouterr().err


# -- starts --------------------------------------------------------------------------------------------------------

FLAT = linkage((1.0, BASE, 1.0, BASE), (0.0, 0.0, 0.0), gravity=(0.0, -9.81, 0.0), initial_velocity=1.0)
STATED: tuple[str, ...] = ("crank_pivot.initial_velocity", "rocker_pivot.initial_velocity")


@pytest.mark.parametrize("steps", [{"step": 1e-3}, {"tolerance": 1e-8}], ids=["steps", "tolerance"])
def test_a_start_on_the_flat_pose_goes_along_the_branch_of_its_speeds(steps: dict[str, Any]) -> None:
    """Ended as `loop_open`. As a parallelogram starts that is less flat by nothing: a pendulum of three rods."""
    speeds = np.random.default_rng(2).uniform(1.0, 12.0, 10) * np.array([1.0, -1.0] * 5)
    settings: dict[str, Any] = {"channels": WATCHED, "output_step": 0.01, "accuracy": "local", **steps}
    result = simulate(FLAT, 0.5, vary=dict.fromkeys(STATED, speeds), **settings)
    assert (result.status == Outcome.ok).all(), result.messages
    assert result.certificate["gap"].max() < 1e-12 and result.certificate["energy_error"].max() < 10 * PASSED
    crank, rocker = result.channels.values()
    assert np.abs(crank - rocker).max() < 10 * PASSED
    # I w^2 / 2 + M g l sin(angle): two cranks about their ends, and a coupler at theirs
    inertia, lever = 2.0 / 3.0 + 1.0, 2.0 * 9.81
    rates = np.gradient(crank, 0.01, axis=1)[:, 1:-1]
    drop = speeds[:, None] ** 2 - 2.0 * lever / inertia * np.sin(crank[:, 1:-1])
    assert np.abs(rates**2 / drop - 1.0).max() < 1e-2  # differences over 0.02 s
    again = simulate(FLAT, 0.5, vary=dict.fromkeys(STATED, speeds), schedule=result.schedule, **settings)
    assert all((again.channels[path] == values).all() for path, values in result.channels.items())


def test_starts_that_no_branch_is_said_of_are_named() -> None:
    """The crank's speed is that of both branches; at rest there is none. Where they are to stop they stop at once."""
    speeds = {STATED[0]: [2.0, 0.0]}
    result = simulate(FLAT.replace({"model_parameters.gravity[1]": 0.0}), 0.1, vary=speeds, channels=WATCHED)
    assert result.status.tolist() == [Outcome.branch_unsure, Outcome.near_singular]
    assert "state the speed of one more joint" in result.messages[0]
    crank = result.channels["crank_pivot.q"][:, -1]
    assert np.abs(crank - [0.2, 0.0]).max() < PASSED
    stopped = simulate(FLAT, 0.1, vary=speeds, singular="stop")
    assert (stopped.status == Outcome.singular_pose).all() and stopped.certificate["steps"].max() == 0
    assert stopped.messages[0].startswith("at 0 s: a singular pose")


def test_members_away_from_a_flat_file_have_its_rank_again() -> None:
    """S12: they took the partition of the file's pose, which has one row less than the mechanism."""
    angles, speeds = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    model = FLAT.replace({"model_parameters.gravity[1]": 0.0})
    result = simulate(model, 0.3, vary=parallel(angles, speeds), channels=WATCHED, output_step=0.1)
    assert (result.status == Outcome.ok).all(), result.messages
    assert off(result, angles[:, None] + speeds[:, None] * result.time).max() < PASSED


def test_a_sarrus_linkage_stretched_out_by_vary_starts_along_its_branch() -> None:
    """Its file is bent, and has one freedom; stretched out every leg may bend by itself: two of three stated speeds
    were taken for what follows, and were 0. Between starts a little before and behind, which are regular.
    """
    aside, signs = np.array([0.0, 2e-3, -2e-3]), {"east": -1.0, "west": 1.0, "south": 1.0}
    vary: dict[str, Any] = {}
    for leg, sign in signs.items():
        for joint, part in (("base", 1.0), ("knee", -2.0), ("top", 1.0)):
            vary[f"{leg}_{joint}.initial_displacement"] = sign * part * aside
            vary[f"{leg}_{joint}.initial_velocity"] = sign * part * np.ones(3)
    channels = [f"{leg}_base.q" for leg in signs]
    result = simulate("sarrus", 0.02, 1e-3, vary=vary, channels=channels, output_step=2e-3, accuracy="local")
    assert (result.status == Outcome.ok).all(), result.messages
    east, west, south = (sign * result.channels[path] for path, sign in zip(channels, signs.values(), strict=True))
    assert np.abs(east - west).max() < PASSED and np.abs(east - south).max() < PASSED
    assert np.abs(east[0] - east[1:].mean(0)).max() < 1e-5 and np.abs(east[0]).max() > 0.1  # 4e-6 times bends


@pytest.mark.parametrize("steps", [{"step": 1e-2}, {"tolerance": 1e-6}], ids=["start", "instants"])
def test_derivatives_that_leave_something_out_there_say_so(steps: dict[str, Any]) -> None:
    """Were off by a fifth, and by a fortieth, without a word."""
    model = FLAT if "step" in steps else PARALLELOGRAM

    def rocker(speed: float) -> jax.Array:
        vary = dict.fromkeys(STATED, speed * jnp.ones(1))
        run = simulate_traced(model, 0.5, vary=vary, channels=WATCHED, output_step=0.25, accuracy="local", **steps)
        return jnp.asarray(run.channels["rocker_pivot.q"])[0, -1]

    with pytest.warns(GradientWarning, match="singular pose"):
        jax.grad(rocker)(2.0)


@pytest.mark.parametrize("steps", [{"step": 1e-3}, {"tolerance": 1e-8}], ids=["steps", "tolerance"])
@pytest.mark.parametrize("driven", [False, True])
def test_a_span_that_ends_on_the_pose_says_so(steps: dict[str, Any], driven: bool) -> None:
    """Was said to need smaller steps, and driven with a tolerance to have a force that jumps; a longer one is right."""
    speeds, channels = np.array([2.0, 5.0, -3.0]), [*WATCHED, "rocker_pivot.v"]
    vary = parallel(-0.1 * speeds, speeds)
    how: dict[str, Any] = {"output_step": 0.1, "channels": channels, "vary": vary, **steps}
    if driven:
        how["drive"] = {"crank_pivot": ConstantSpeed(speeds, vary["crank_pivot.initial_displacement"])}
        vary = {path: values for path, values in vary.items() if not path.startswith("crank_pivot")}
        how["vary"] = {**vary, "rocker_pivot.initial_velocity": speeds}
    result = simulate(PARALLELOGRAM, 0.1, **how)
    assert (result.status != Outcome.ok).all()
    begins = "the span ends on a singular pose, where the loops of bar:joint"
    assert all(text.startswith(begins) and "take" not in text for text in result.messages)
    longer = simulate(PARALLELOGRAM, 0.2, **how)
    assert (longer.status == Outcome.ok).all() and not any(longer.messages)
    assert np.abs(longer.channels["rocker_pivot.q"][:, 1]).max() < PASSED
    assert np.abs(longer.channels["rocker_pivot.v"][:, 1] - speeds).max() < 1e-6  # interpolated in steps


# -- lingering -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [{"step": 1e-3}, {"tolerance": 1e-6}], ids=["steps", "tolerance"])
def test_what_settles_on_the_pose_comes_to_its_end_and_says_so(steps: dict[str, Any]) -> None:
    """Heavy dampers lead to the flat pose and hold it there. Every step was tried in eight ways, so that such runs took
    minutes, and some ended as `stuck`.
    """
    model = linkage((1.0, BASE, 1.0, BASE), (-0.5, 0.0, -0.5), gravity=(9.81, 0.0, 0.0), damping=(0.0, 1.0))
    vary = {"crank_pivot.damping[1]": [0.5, 6.0, 8.0]}  # the first swings on, the others come to rest
    result = simulate(model, 10.0, vary=vary, channels=WATCHED, accuracy="local", **steps)
    assert result.status[0] in (Outcome.ok, Outcome.inaccurate)
    assert (result.status[1:] == Outcome.near_singular).all(), result.messages
    assert result.certificate["gap"].max() < 1e-6
    assert all(np.abs(angles[1:, -1]).max() < 1e-3 for angles in result.channels.values())
