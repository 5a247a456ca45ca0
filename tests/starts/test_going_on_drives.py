"""Runs that go on with drivers that begin elsewhere, and where drivers of frames that are no joint's begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import shiftjax
from shiftjax import ConstantSpeed, ModelBuilder, Polynomial
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result

EXACT = 1e-10  # rad, m: after loops are closed by iteration
CRANK, ROCKER = "crank_pivot.q", "rocker_pivot.q"
CHANNELS = [CRANK, "crank_pivot.v", ROCKER]


@pytest.fixture(scope="module")
def before() -> Result:
    """Two four-bars that have run for 0.1 s."""
    return shiftjax.simulate("four_bar", 0.1, 1e-2, vary={"coupler.mass": [1.0, 1.2]}, channels=CHANNELS)


def gone_on(before: Result, off: Any, faster: Any) -> Result:
    """With a drive that begins so far from where the crank has come to, and by so much faster."""
    q, v = (before.channels[path][:, -1] for path in CHANNELS[:2])
    drive = {"crank_pivot": Polynomial([q + np.asarray(off), v + np.asarray(faster)], origin=0.1)}
    vary = {"coupler.mass": [1.0, 1.2]}
    return shiftjax.simulate("four_bar", 0.02, 1e-2, start=before, drive=drive, vary=vary, channels=CHANNELS)


def test_loops_follow_a_drive_that_begins_elsewhere(before: Result) -> None:
    """On their branch, over turns, too: they are where a run is that begins there; the member beside is not moved."""
    for off in (0.5, -2.0, 30.0):
        run = gone_on(before, [0.0, off], 0.0)
        note = (
            f"four_bar:crank_pivot goes on where its driver four_bar:crank_pivot_drive begins, up to {abs(off):g} rad"
        )
        assert run.notes == (f"{note} from where the run before has left it in 1 members",)
        assert (run.status == 0).all()
        assert run.channels[ROCKER][0, 0] == pytest.approx(before.channels[ROCKER][0, -1], abs=EXACT)
        place = before.channels[CRANK][1, -1] + off
        wanted = shiftjax.simulate(
            "four_bar", 0.01, 1e-2, drive={"crank_pivot": ConstantSpeed(0.0, place)}, channels=CHANNELS
        )
        assert run.channels[CRANK][1, 0] == pytest.approx(place, abs=EXACT)
        turned = run.channels[ROCKER][1, 0] - wanted.channels[ROCKER][0]
        assert abs(turned - 2 * np.pi * np.round(turned / 2 / np.pi)) < EXACT


def test_speeds_that_jump_are_noted_and_nothing_else(before: Result) -> None:
    """Of the member whose driver asks for it, by how much; where driver and state agree nothing is said."""
    run = gone_on(before, 0.0, [0.0, -1.5])
    note = "four_bar:crank_pivot goes on with the speed of its driver four_bar:crank_pivot_drive, a jump of up to 1.5 "
    assert run.notes == (note + "rad/s from the end of the run before in 1 members",)
    assert gone_on(before, 0.0, 0.0).notes == ()


def test_a_function_and_a_frame_that_begin_elsewhere() -> None:
    """A slide by f(t), and a gimbal whose head is driven by an angle of its frame."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("car", mass=1.0).body("head", mass=1.0, inertia=(0.1, 0.1, 0.1))
    a.joint("rail", "Tx", child="car").joint("tilt", "Ry", parent="car", child="head")
    free = shiftjax.simulate(builder.build(), 0.1, 1e-2)
    run = shiftjax.simulate(builder.build(), 0.1, 1e-2, start=free, drive={"rail": lambda t: 2.0 + 0.0 * t})
    assert run.status == 0 and "a:rail goes on where its driver of drive= begins, up to 2 m from" in run.notes[0]
    a.driver("nod", "frame_angle_polynomial", frame="head", angle="pitch", coefficients=[0.4])
    run = shiftjax.simulate(builder.build(), 0.1, 1e-2, start=free, channels=["tilt.q"])
    note = "a:nod begins elsewhere than the run before has ended: joints go on up to 0.4 rad from where that has left"
    assert run.status == 0 and run.notes == (f"{note} them in 1 members",)
    assert run.channels["tilt.q"][0] == pytest.approx(0.4, abs=EXACT)


def test_a_drive_that_begins_where_loops_cannot_go_does_not_begin() -> None:
    """A rocker beyond its reach: it ended as loop_open, which blamed the step."""
    before = shiftjax.simulate("four_bar", 0.02, 1e-2, channels=[ROCKER])
    far = {"rocker_pivot": ConstantSpeed(0.0, before.channels[ROCKER][-1] + 2.0)}
    run = shiftjax.simulate("four_bar", 0.02, 1e-2, start=before, drive=far)
    assert run.status == Outcome.not_assembled and "stays open by" in run.messages[0]


def floating(start: dict[str, Any], driver: str, frames: list[Any], **law: Any) -> Model:
    """A floating body with an arm, and a driver between frames beside those of its joint."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("there", T=(0.0, 0.0, 2.0), rotation=(0.5, 0.0, 0.0))
    a = builder.assembly("a")
    a.body(
        "top", mass=2.0, inertia=(0.1, 0.2, 0.3), frames={"tip": {"T": (0.3, 0.0, 0.0), "rotation": (0.0, 0.0, 0.4)}}
    )
    a.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"end": (0.4, 0.0, 0.0)})
    a.joint("six", "float", child="top", **start).joint("hinge", "Ry", parent=("top", "tip"), child="arm")
    a.driver("led", driver, frames=frames, **law)
    return builder.build()


STATED = {"initial_displacement": {"T": (0.0, 0.0, 5.0), "rotation": (0.0, 0.0, -2.0)}}
POSE: dict[str, Any] = {"position": (30.0, 2.0, 0.5), "rotation": (0.0, 2.9, 0.3)}


@pytest.mark.parametrize("frames", [["fixed:there", ("top", "tip")], [("top", "tip"), "fixed:there"]])
def test_a_driver_between_other_frames_of_two_bodies_decides_their_joint(frames: list[Any]) -> None:
    """30 m and half a turn from what the joint states, in either order of the frames, for varied frames, too."""
    model = floating(STATED, "pose_uniform", frames, **POSE)
    run = shiftjax.simulate(model, 0.02, 1e-2, vary={"top:tip.T[0]": [0.3, 0.6]}, channels=["six.q"])
    assert (run.status == 0).all(), run.messages
    assert "a:six starts where its driver a:led does, up to" in run.notes[0] and "in 2 members" in run.notes[0]
    R_there, R_tip = Rotation.from_rotvec([0.5, 0.0, 0.0]), Rotation.from_rotvec([0.0, 0.0, 0.4])
    for reach, q in zip((0.3, 0.6), run.channels["six.q"][:, 0], strict=True):
        R_top = Rotation.from_quat(q[3:], scalar_first=True)
        tip = q[:3] + R_top.apply([reach, 0.0, 0.0])
        places = [(np.array([0.0, 0.0, 2.0]), R_there), (tip, R_top * R_tip)]
        (p, R), (p_seen, R_seen) = places if frames[0] == "fixed:there" else places[::-1]
        assert R.inv().apply(p_seen - p) == pytest.approx(POSE["position"], abs=EXACT)
        assert (Rotation.from_rotvec(POSE["rotation"]).inv() * R.inv() * R_seen).magnitude() < 1e-8  # acos of rounding
    with pytest.raises(ModelError, match=r"hold a:six.*a joint that the driver a:led moves"):
        shiftjax.simulate(model, 0.02, hold=["six"])


def test_an_orientation_between_other_frames_leaves_the_place() -> None:
    model = floating(STATED, "orientation_uniform", ["fixed", ("top", "tip")], rotation=(0.0, 0.0, 2.9))
    run = shiftjax.simulate(model, 0.02, 1e-2, channels=["six.q"])
    assert run.status == 0 and "up to 1.78 rad from its initial_displacement" in run.notes[0]
    assert np.abs(run.channels["six.q"][0, :3] - [0.0, 0.0, 5.0]).max() < EXACT
    turn = np.array([np.cos(1.25), 0.0, 0.0, np.sin(1.25)])
    assert np.abs(np.abs(run.channels["six.q"][0, 3:] @ turn) - 1.0) < EXACT


def test_a_driver_that_several_joints_meet_says_what_to_do() -> None:
    """Of the end of the arm: a near one is met; of one far from what is stated the message says how to begin."""
    frames = ["fixed", ("arm", "end")]
    near = shiftjax.simulate(floating({}, "pose_uniform", frames, position=(1.0, 0.5, 0.2)), 0.02, 1e-2)
    assert near.status == 0 and near.certificate["gap"] < EXACT
    far = shiftjax.simulate(floating(STATED, "pose_uniform", frames, position=(30.0, 0.0, 0.0)), 0.02, 1e-2)
    assert far.status == Outcome.not_assembled
    assert "a:led begins farther away than a:six, a:hinge are moved from where they start to meet it" in far.messages[0]
    moved = floating({}, "pose_uniform", frames, position=(1.4, 0.5, 0.2))
    run = shiftjax.simulate(moved, 0.02, 1e-2, start=near)
    assert run.status == 0 and "a:led begins elsewhere than the run before has ended" in run.notes[0]
