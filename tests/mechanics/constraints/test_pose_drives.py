"""Drivers of poses (D24): where they begin, which forces they need beside others, slopes, and what they refuse."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.constraints.drives import Table
from shiftjax.constraints.pose_drives import PoseHarmonic, PoseTable, PoseUniform
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.inverse.inverse_dynamics import inverse_dynamics
from shiftjax.mechanism.model import Model
from shiftjax.run.simulate import simulate
from tests.inverse.test_inverse_dynamics import rod
from tests.inverse.test_inverse_poses import EXACT, MASS, SWAY, G, model, states, top

LOOPS = 1e-8  # of the largest force, after loops are closed by iteration


def test_a_driver_of_a_file_begins_where_it_says() -> None:
    """Far from where the joint stands by itself, and half a turn away, for each of two members."""
    builder, a = top("float")
    numbers: dict[str, Any] = {"position": (5.0, -3.0, 2.0), "rotation": (0.0, 3.1, 0.2), "velocity": (1.0, 0.0, 0.0)}
    a.driver("carry", "pose_uniform", frames=["fixed", "top"], angular_velocity=(0.0, 0.0, 4.0), **numbers)
    vary = {"carry.position[0]": [5.0, -20.0], "carry.rotation[0]": [0.0, -2.0]}
    run = simulate(builder.build(), 0.1, 1e-2, vary=vary, channels=["six.q", "six.v"], output_step=0.1)
    assert (run.status == 0).all() and np.abs(run.channels["six.q"][:, 0, 0] - [5.0, -20.0]).max() < EXACT
    assert np.abs(run.channels["six.v"] - [1.0, 0.0, 0.0, 0.0, 0.0, 4.0]).max() < EXACT
    assert run.certificate["energy_error"].max() < 1e-6


MOVED = PoseUniform(position=(1.0, 2.0, 3.0), rotation=(0.0, -1.0, 0.0))


def placed(joint: str = "float") -> Model:
    """A body that states where it starts."""
    start: dict[str, Any] = {"T": (5.0, 0.0, 0.0)} if joint == "float" else {}
    return top(joint, initial_displacement={**start, "rotation": (0.0, 1.0, 0.0)})[0].build()


def test_a_stated_start_that_a_driver_of_a_pose_overrides_is_noted() -> None:
    """By how far, also where the orientation differs in its sense alone; nothing is said of a start that is met."""
    run = simulate(placed(), 0.01, 1e-2, drive={"six": MOVED}, strict_start=True)
    note = "a:six starts where its driver a:six_drive does, up to 4 m and 2 rad from its initial_displacement"
    assert run.status == 0 and [text for text in run.notes if note in text]
    for joint in ("spherical", "spherical_vector"):
        still = {"six": PoseUniform(rotation=(0.0, 1.0, 0.0))}
        assert simulate(placed(joint), 0.01, 1e-2, drive=still).notes == ()
        run = simulate(placed(joint), 0.01, 1e-2, drive={"six": PoseUniform(rotation=(0.0, -1.0, 0.0))})
        assert "up to 2 rad from its initial_displacement" in run.notes[0]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"hold": ["six"]}, "hold a:six.x: found a joint that the driver a:six_drive moves"),
        ({"vary": {"six.initial_displacement.T[0]": [5.0, 6.0]}}, "initial_displacement of a:six"),
        ({"assign": {"six.initial_displacement.rotation[2]": 1.0}}, "initial_displacement of a:six"),
        ({"vary": {"six.initial_velocity[5]": [1.0]}}, "initial_velocity of a:six.rotation"),
    ],
)
def test_a_driver_of_a_pose_alone_decides_where_its_joint_starts(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        simulate(placed(), 0.01, 1e-2, drive={"six": MOVED}, **options)


def test_a_driver_of_an_orientation_leaves_the_place_free() -> None:
    """In a file, of a floating body: its place starts where the file or members say, and may be held; not its turn."""
    builder, a = top("float", initial_displacement={"T": (5.0, 0.0, 0.0)})
    a.driver("turn", "orientation_uniform", frames=["fixed", "top"], rotation=(0.0, 0.0, 0.5))
    built = builder.build()
    vary = {"six.initial_displacement.T[1]": [1.0, 2.0]}
    run = simulate(built, 0.01, 1e-2, vary=vary, hold=["six.x"], channels=["six.q"])
    assert np.abs(run.channels["six.q"][:, 0, :3] - [[5.0, 1.0, 0.0], [5.0, 2.0, 0.0]]).max() < EXACT
    assert "driver a:turn does, up to 0.5 rad from" in run.notes[0]
    with pytest.raises(ModelError, match="that the driver a:turn moves"):
        simulate(built, 0.01, 1e-2, vary={"six.initial_displacement.rotation[0]": [1.0]})


@pytest.mark.parametrize("joint", ["float", "spherical_vector"])
def test_a_run_goes_on_where_a_driver_of_a_pose_begins(joint: str) -> None:
    """2.9 rad away, at the time at which it goes on, with a note; with the same driver it goes on where it was."""
    before = simulate(placed(joint), 0.02, 1e-2)
    place: dict[str, Any] = {"position": (9.0, 0.0, 0.0), "velocity": (1.0, 0.0, 0.0)} if joint == "float" else {}
    far = {"six": PoseUniform(rotation=(0.0, -1.9, 0.0), **place)}
    run = simulate(placed(joint), 0.02, 1e-2, start=before, drive=far, channels=["six.q"])
    assert run.status == 0 and "a:six goes on where its driver a:six_drive begins, up to " in run.notes[0]
    assert run.final is not None and "2.9 rad from where the run before" in run.notes[0]
    turn = np.array([np.cos(0.95), 0.0, -np.sin(0.95), 0.0]) if joint == "float" else np.array([0.0, -1.9, 0.0])
    first = run.channels["six.q"][0]
    assert np.abs(first[-len(turn) :] * np.sign(first[-len(turn) :] @ turn) - turn).max() < EXACT
    if joint == "float":
        assert np.abs(first[0] - 9.02) < EXACT
    again = simulate(placed(joint), 0.02, 1e-2, start=run, drive=far)
    assert again.status == 0 and again.notes == ()


def test_loops_follow_a_driver_that_begins_elsewhere() -> None:
    """A base takes its four-bar along; of a rod on a ball, with a telescope from its tip to a point, that follows."""
    before = simulate(carried(), 0.01, 1e-2)
    run = simulate(carried(), 0.01, 1e-2, start=before, drive={"six": PoseUniform(rotation=(0.0, 0.0, 2.9))})
    assert run.status == 0 and " rad from where the run before" in run.notes[0]
    assert before.final is not None and run.final is not None
    assert np.abs(run.final["q"][7:] - before.final["q"][7:]).max() < 0.1
    builder = ModelBuilder().frame("there", T=(2.0, 0.0, 0.0))
    a = builder.assembly("a").body("rod", **rod(0.5)).joint("six", "spherical", child="rod")
    a.body("tube", mass=1.0, inertia=(0.1, 0.1, 0.1)).joint("knee", "spherical", parent=("rod", "tip"), child="tube")
    a.body("inner", mass=1.0, inertia=(0.1, 0.1, 0.1))
    a.joint("slide", "Tx", parent="tube", child="inner", initial_displacement=1.5)
    a.joint("end", "spherical", parent="fixed:there", child="inner")
    built = builder.build()
    before = simulate(built, 0.01, 1e-2)
    turned = {"six": PoseUniform(rotation=(0.0, 2.0, 0.0))}
    run = simulate(built, 0.01, 1e-3, start=before, drive=turned, channels=["six.q", "slide.q"])
    assert run.status == 0 and "up to 2 rad from where the run before" in run.notes[0]
    assert np.abs(np.abs(run.channels["six.q"][0]) - [np.cos(1.0), 0.0, np.sin(1.0), 0.0]).max() < EXACT
    length = np.hypot(2.0 - 0.5 * np.cos(2.0), 0.5 * np.sin(2.0))
    assert abs(abs(run.channels["slide.q"][0]) - length) < EXACT


def carrying(joint: str) -> tuple[ModelBuilder, Any]:
    """A four-bar whose frame is on a joint to ground."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a").body("base", mass=3.0, inertia=(0.1, 0.2, 0.3), frames={"far": (0.5, 0.0, 0.0)})
    a.joint("six", joint, child="base")
    near: Any = "base"
    for k, (length, angle) in enumerate(zip((0.2, 0.5, 0.4), (-1.0, 0.5, 1.6), strict=True)):
        a.body(f"b{k}", **rod(length)).joint(f"j{k}", "Ry", parent=near, child=f"b{k}", initial_displacement=angle)
        near = (f"b{k}", "tip")
    a.joint("j3", "Ry", parent=near, child=("base", "far"))
    return builder, a


def carried(*, joint: str = "float") -> Model:
    """A four-bar whose frame floats."""
    return carrying(joint)[0].build()


def test_the_wrench_at_a_base_does_not_ask_which_joint_moves_the_loop() -> None:
    """Forces within a mechanism are none of its base; a motor of another joint does the same work."""
    t = np.array([0.0, 0.3])
    motion: dict[str, Any] = {"six": SWAY, "j0": (-1.0 + 2.0 * t, 2.0 + 0 * t, 1.0 + 0 * t)}
    one = inverse_dynamics(carried(), motion, t, channels=["j0.v", "j2.v"])
    other = inverse_dynamics(carried(), motion, t, forces=["j2", "six"])
    assert (one.status == 0).all() and (other.status == 0).all()
    assert np.abs(one.forces["six"] - other.forces["six"]).max() < LOOPS * np.abs(one.forces["six"]).max()
    power = one.forces["j0"] * one.channels["j0.v"], other.forces["j2"] * one.channels["j2.v"]
    assert np.abs(power[0] - power[1]).max() < LOOPS * np.abs(power[0]).max()


def test_a_run_takes_no_wrench_where_it_fell_and_another_motion_is_refused() -> None:
    """Along a free tumbling body, with quaternions of the other sign."""
    start: dict[str, Any] = {"initial_velocity": (0.0, 1.0, 3.0, 2.0, -1.0, 4.0)}
    built = top("float", **start)[0].build()
    run = simulate(built, 0.2, 1e-3, output_step=0.1, channels=["six.q", "six.v", "six.a"], accuracy="local")
    q, v, a = (np.array(run.channels[f"six.{x}"]) for x in "qva")
    q[:, 3:] *= -1.0
    for motion in (run, (q, v, a)):
        answer = inverse_dynamics(built, {"six": motion}, along=run)
        assert (answer.status == 0).all() and np.abs(answer.forces["six"]).max() < 1e-9
    with pytest.raises(ModelError, match=r"motion a:six: found q = .* at instant 0.*where `along` has it"):
        inverse_dynamics(built, {"six": MOVED}, along=run)
    v[1, 4] += 0.01
    with pytest.raises(ModelError, match=r"motion a:six: found v = .* at instant 1, at 0.1 s; .*where `along`"):
        inverse_dynamics(built, {"six": (q, v, a)}, along=run)


def test_a_law_along_its_run_takes_the_wrench_of_its_driver() -> None:
    """It is what that run was driven by, at every instant."""
    load, built = "six_drive.multiplier", top("float")[0].build()
    run = simulate(built, 0.1, 1e-2, drive={"six": SWAY}, channels=[load, "six.q", "six.v"], output_step=0.05)
    answer = inverse_dynamics(built, {"six": SWAY}, along=run)
    assert (answer.status == 0).all()
    assert np.abs(answer.forces["six"] - run.channels[load]).max() < LOOPS * np.abs(run.channels[load]).max()


def test_free_balls_and_bodies_are_stated_by_place_and_speed() -> None:
    """Their accelerations follow: those that they take no wrench with; a start by a matrix is replaced."""
    q, v, _, _ = states("float")
    tipped = {"T": (1.0, 2.0, 3.0), "R": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))}
    built = top("float", initial_displacement=tipped)[0].build()
    free = inverse_dynamics(built, {"six": (q, v)}, channels=["six.q", "six.a"])
    assert np.abs(np.abs(free.channels["six.q"]) - np.abs(q)).max() < EXACT and free.forces == {}
    driven = inverse_dynamics(built, {"six": (q, v, free.channels["six.a"])})
    assert np.abs(driven.forces["six"]).max() < EXACT


def test_slopes_of_a_moment() -> None:
    """By mass, by a number of the pose and of the acceleration: what differences say."""
    q, v, a, _ = states("spherical_vector", 1)

    def moment(mass: Any, turn: Any, push: Any) -> Any:
        moved = (jnp.asarray(q).at[0, 1].add(turn), jnp.asarray(v), jnp.asarray(a).at[0, 1].add(push))
        vary = {"top.mass": jnp.array([1.0]) * mass}
        answer = inverse_dynamics(model("spherical_vector"), {"six": moved}, vary=vary, axes="child")
        return (answer.forces["six"][0, 0] * jnp.arange(1.0, 4.0)).sum()

    at = (MASS, 0.0, 0.0)
    slopes = jax.grad(moment, argnums=(0, 1, 2))(*at)
    for k, slope in enumerate(slopes):
        h = 1e-4 * np.eye(3)[k]
        difference = (moment(*(np.array(at) + h)) - moment(*(np.array(at) - h))) / 2e-4
        assert abs(slope) > 0.1 and abs(slope - difference) < 1e-6 * max(1.0, abs(difference))


def test_two_drivers_of_one_pose_are_refused() -> None:
    """By the names of one joint, in runs and in inverse dynamics, and between two bodies of a file."""
    built, two = placed(), {"six": PoseUniform(), "a:six": PoseUniform()}
    match = "a:six: found two drivers, a:six_drive and a:six_drive_2; allowed: one driver a joint"
    with pytest.raises(ModelError, match=match):
        simulate(built, 0.1, drive=two)
    still: Any = (np.hstack([np.zeros((1, 3)), UNIT]), np.zeros((1, 6)))
    for given in (two, {"six": still, "a:six": PoseUniform()}, {"six": still, "a:six": still}):
        with pytest.raises(ModelError, match="motion a:six: found two motions of a:six, also by 'six'"):
            inverse_dynamics(built, given, [0.0])
    with pytest.raises(ModelError, match="motion a:hinge: found two motions of a:hinge"):
        inverse_dynamics(top("float", arm=True)[0].build(), {"hinge": ([0.0], [0.0]), "a:hinge": ([1.0], [0.0])})
    builder, a = top("float")
    a.driver("carry", "pose_uniform", frames=["fixed", "top"])
    a.driver("turn", "orientation_uniform", frames=["top", ("fixed", "there")])
    builder.frame("there", T=(1.0, 0.0, 0.0))
    with pytest.raises(
        ModelError, match="a:turn: found two drivers, a:carry and a:turn; allowed: one driver of a pose"
    ):
        simulate(builder.build(), 0.1)


def test_what_drivers_of_poses_advise_they_take() -> None:
    """Words of tables are those of their kind; a joint of another kind is no misspelt one."""
    table = PoseTable([0.0, 0.5], np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ModelError, match=r'another span, or say "outside": "hold" or "repeat"\.'):
        simulate(placed(), 1.0, drive={"six": table})
    with pytest.raises(ModelError, match=r'"outside": "hold", "linear" or "repeat"\.'):
        simulate(top("float", arm=True)[0].build(), 1.0, drive={"hinge": Table([0.0, 0.5], [0.0, 1.0])})
    with pytest.raises(ModelError, match=r"others take a Table"):
        simulate(top("float", arm=True)[0].build(), 0.1, drive={"hinge": PoseUniform()})
    with pytest.raises(ModelError, match=r"Did you mean 'a:six'"):
        simulate(placed(), 0.1, drive={"six.x": PoseUniform()})
    with pytest.raises(ModelError, match=r"Give one; in --drive and studies as a text, pose_harmonic"):
        simulate(placed(), 0.1, drive={"six": 3.0})


UNIT = np.array([[1.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("motion", "more", "match"),
    [
        ({"six": (UNIT, np.zeros((1, 6)), np.zeros((1, 6)))}, {}, r"motion six, q: found shape \(1, 4\).*six.q"),
        ({"six": (np.ones((1, 7)), np.zeros((1, 6)))}, {}, "a quaternion whose length is off 1 by 1"),
        ({"six": 3.0}, {}, r"motion six: found 3.0; allowed: \(q, v, a\)"),
        ({"hinge": SWAY}, {"times": [0.0]}, r"drive hinge: found a motion of a pose, of 'hinge'; allowed: one of"),
        ({"six": SWAY}, {"times": [0.0], "forces": ["hinge"]}, "forces: found none among balls and floating bodies"),
        ({}, {"times": [0.0], "forces": ["six"]}, "forces: found a:six among balls and floating bodies"),
        ({"six": SWAY}, {"times": [0.0], "axes": "world"}, "axes: found 'world'"),
        ({"six": PoseTable([0.0, 1.0], np.zeros((2, 3)))}, {"times": [0.0]}, "six.positions: found none of a floating"),
        ({"six": PoseTable([0.0], np.zeros((1, 3)), np.zeros((1, 3)))}, {"times": [0.0]}, "fewer than two times"),
    ],
)
def test_what_is_no_motion_of_a_pose_is_refused(motion: Any, more: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        inverse_dynamics(top("float", arm=True)[0].build(), motion, **more)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: PoseTable([0.0, 1.0], np.zeros((2, 4))), "finite quaternions, none of them 0"),
        (lambda: PoseTable([0.0, 1.0], np.zeros((2, 2))), r"rotations\[0\]: found 2 numbers"),
        (lambda: PoseTable([0.0, 1.0], np.zeros((2, 3)), outside="linear"), "outside: found 'linear'"),
        (lambda: PoseUniform(velocity=(1.0, np.nan, 0.0)), r"velocity\[1\]: found nan"),
        (lambda: PoseHarmonic("fast"), "frequency: found 'fast'"),  # type: ignore[arg-type]
    ],
)
def test_records_of_motions_refuse_what_is_none(make: Any, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        make()


def test_places_of_a_ball_and_numbers_of_other_joints_are_refused() -> None:
    with pytest.raises(ModelError, match=r"drive six.position: found places of a ball"):
        simulate(model("spherical"), 0.1, drive={"six": SWAY})
    with pytest.raises(ModelError, match=r"drive six: found 3.0; allowed: a PoseTable"):
        simulate(model("spherical"), 0.1, drive={"six": 3.0})


def test_sines_too_fast_and_knots_between_steps_are_seen() -> None:
    """A swing whose phase turns by 1 rad a step warns; steps that a tolerance chooses end at the knots of a table."""
    fast = PoseHarmonic(100.0, rotation_amplitude=(0.1, 0.0, 0.0))
    run = simulate(carried(joint="spherical"), 0.1, 1e-2, drive={"six": fast})
    assert "six_drive is a sine of 100 rad/s, too fast for steps of 10 ms" in run.messages[0]
    times = np.array([0.0, 0.0301, 0.0617, 0.1])
    table = PoseTable(times, np.array([1.0, 0.2, 0.0]) * times[:, None] ** 2)
    run = simulate(carried(joint="spherical"), 0.1, drive={"six": table}, tolerance=1e-6)
    assert run.schedule is not None
    ends = run.schedule.t0 + run.schedule.step * run.schedule.ends
    assert run.status <= 0 and np.abs(ends[:, None] - times[1:]).min(0).max() < 1e-9
