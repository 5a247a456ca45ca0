"""Small motions about steady driven motions: a governor, a whirling pendulum, a rotor with gyroscopic terms. D26."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome

CLOSED_FORM = 1e-9
G = 9.81


def conical(length: float = 0.5, mass: float = 2.0) -> Model:
    """A point mass on a rod that hangs from a shaft which turns about z."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a")
    a.body("shaft", mass=1.0, inertia=(0.1,) * 3)
    a.body("rod", mass=mass, center_of_mass=(0.0, 0.0, -length), inertia=(0.0, 0.0, 0.0))
    a.joint("turn", "Rz", child="shaft").joint("hinge", "Ry", parent="shaft", child="rod", initial_displacement=0.6)
    return builder.build()


def test_a_pendulum_on_a_turning_shaft_stands_out() -> None:
    """cos t = g / (L w^2); about it frequency w sin t: L^2 y'' + (w^2 L^2 sin^2 t) y = 0 (Goldstein). At rest below the
    critical speed it hangs."""
    speeds, length = np.array([5.5, 8.0, 20.0]), 0.5
    found = shiftjax.steady_motion(
        conical(), {"turn": shiftjax.ConstantSpeed(speeds)}, q={"hinge": 1.2}, channels=["turn.drive_load"]
    )
    angle = np.arccos(G / (length * speeds**2))
    assert (found.status == Outcome.ok).all() and (found.stability == "stable").all()
    assert np.abs(np.abs(found.q["a:hinge"]) - angle).max() < CLOSED_FORM
    assert found.frequencies[:, 0] == pytest.approx(speeds * np.sin(angle) / (2.0 * np.pi), rel=CLOSED_FORM)
    assert np.abs(found.channels["turn.drive_load"]).max() < CLOSED_FORM  # nothing brakes it
    assert found.v["a:turn"] == pytest.approx(speeds)
    hanging = shiftjax.steady_motion(conical(), {"turn": shiftjax.ConstantSpeed(8.0)}, q={"hinge": 0.01})
    assert hanging.q["a:hinge"] == pytest.approx(0.0, abs=1e-12) and hanging.stability == "unstable"
    slow = shiftjax.steady_motion(conical(), {"turn": shiftjax.ConstantSpeed(3.0)})
    assert slow.stability == "stable"
    assert slow.frequencies[0] == pytest.approx(np.sqrt(G / length - 9.0) / (2.0 * np.pi), rel=CLOSED_FORM)


def test_a_mass_on_two_springs_in_a_turning_frame() -> None:
    """x'' - 2 w y' + (k / m - w^2) x = 0 and its like: frequencies sqrt(k / m) -+ w, of C by Coriolis' forces."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    a.body("table", mass=1.0, inertia=(0.1,) * 3).body("slide", mass=0.0, inertia=(0.0,) * 3)
    a.body("mass", mass=2.0, inertia=(0.1,) * 3)
    a.joint("turn", "Rz", child="table").joint("x", "Tx", parent="table", child="slide")
    a.joint("y", "Ty", parent="slide", child="mass")
    a.force("kx", "joint_spring", joint="x", k=200.0).force("ky", "joint_spring", joint="y", k=200.0)
    speed = 3.0
    found = shiftjax.steady_motion(builder.build(), {"turn": shiftjax.ConstantSpeed(speed)})
    assert found.frequencies == pytest.approx((10.0 + speed * np.array([-1.0, 1.0])) / (2.0 * np.pi), rel=CLOSED_FORM)
    assert found.C == pytest.approx(np.array([[0.0, -4.0 * speed], [4.0 * speed, 0.0]]), abs=1e-12)
    assert found.K == pytest.approx(np.diag([200.0 - 2.0 * speed**2] * 2), rel=CLOSED_FORM)


def test_a_governor_of_closed_loops_rises() -> None:
    """Two arms and a sleeve: (m L cos t) w^2 = (m + M) g, t the arms' angle from the shaft (Watt, Porter)."""
    length, ball, sleeve = 0.3, 1.0, 4.0
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("governor")
    a.body("shaft", mass=1.0, inertia=(0.1,) * 3).body("sleeve", mass=sleeve, inertia=(0.1,) * 3)
    a.joint("turn", "Rz", child="shaft")
    t = 0.7
    a.joint("lift", "Tz", parent="shaft", child="sleeve", initial_displacement=-2.0 * length * np.cos(t))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for name in ("upper", "lower"):
            a.body(f"{side}_{name}", mass=0.0, inertia=(0.0,) * 3, frames={"tip": (0.0, 0.0, -length)})
        a.body(f"{side}_ball", mass=ball, inertia=(0.0,) * 3)
        a.joint(f"{side}_arm", "Ry", parent="shaft", child=f"{side}_upper", initial_displacement=-sign * t)
        a.joint(f"{side}_fix", "rigid", parent=(f"{side}_upper", "tip"), child=f"{side}_ball")
        a.joint(f"{side}_elbow", "Ry", parent=(f"{side}_upper", "tip"), child=f"{side}_lower",
                initial_displacement=sign * 2.0 * t)  # fmt: skip
        a.joint(f"{side}_end", "Ry", parent=(f"{side}_lower", "tip"), child="sleeve", initial_displacement=-sign * t)
    speeds = np.array([16.0, 20.0])
    found = shiftjax.steady_motion(builder.build(), {"turn": shiftjax.ConstantSpeed(speeds)}, independent=["lift"])
    angle = np.arccos((ball + sleeve) * G / (ball * length * speeds**2))
    assert np.abs(found.q["governor:lift"] + 2.0 * length * np.cos(angle)).max() < CLOSED_FORM
    # 2 m L^2 t'^2 / 2 + M (2 L sin t t')^2 / 2: y'' (m + 2 M sin^2 t) + m w^2 sin^2 t y = 0
    s = np.sin(angle) ** 2
    omega = np.sqrt(ball * speeds**2 * s / (ball + 2.0 * sleeve * s))
    assert found.frequencies[:, 0] == pytest.approx(omega / (2.0 * np.pi), rel=1e-8)


def test_what_is_not_steady_is_refused() -> None:
    with pytest.raises(ModelError, match="nothing is left to swing"):
        shiftjax.steady_motion("four_bar", {"crank_pivot": shiftjax.ConstantSpeed(2.0)})
    builder = ModelBuilder(gravity=(0.0, -G, 0.0))
    a = builder.assembly("a")
    a.body("shaft", mass=1.0, inertia=(0.1,) * 3)
    a.body("rod", mass=1.0, center_of_mass=(0.0, 0.0, -0.4), inertia=(0.0, 0.0, 0.0))
    a.joint("turn", "Rz", child="shaft").joint("hinge", "Ry", parent="shaft", child="rod")
    for speed in (2.0, 0.001, np.array([0.001, 300.0])):  # the instant of comparison is that of each member
        with pytest.raises(ModelError, match="periodic, not steady"):
            shiftjax.steady_motion(builder.build(), {"turn": shiftjax.ConstantSpeed(speed)})
    wrongs: list[dict[str, Any]] = [{"q": [1.2]}, {"channels": "turn.q"}, {"vary": {"rod.mass": "heavy"}}]
    for wrong in wrongs:
        with pytest.raises(ModelError):
            shiftjax.steady_motion(conical(), {"turn": shiftjax.ConstantSpeed(8.0)}, **wrong)


def test_a_member_that_is_periodic_or_no_number_does_not_stop_the_others() -> None:
    drive = {"turn": shiftjax.ConstantSpeed(np.array([8.0, 8.0, np.nan]))}
    sideways = {"model_parameters.gravity[0]": [0.0, 1.0, 0.0]}
    made = shiftjax.steady_motion(conical(), drive, q={"hinge": 1.2}, vary=sideways)
    assert made.status.tolist() == [Outcome.ok, Outcome.no_equilibrium, Outcome.non_finite]
    assert made.stability.tolist() == ["stable", "", ""]
    assert made.messages[0] == "" and "turn_drive.speed is not finite" in made.messages[2]


def test_where_springs_bear_what_turning_asks_nothing_is_held() -> None:
    """x'' + (k / m - w^2) x = 0 at w^2 = k / m."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    a.body("table", mass=1.0, inertia=(0.1,) * 3).body("mass", mass=2.0, inertia=(0.1,) * 3)
    a.joint("turn", "Rz", child="table").joint("x", "Tx", parent="table", child="mass")
    a.force("kx", "joint_spring", joint="x", k=200.0)
    made = shiftjax.steady_motion(builder.build(), {"turn": shiftjax.ConstantSpeed(np.array([9.99, 10.0, 10.01]))})
    assert made.stability.tolist() == ["stable", "neutral", "unstable"]
