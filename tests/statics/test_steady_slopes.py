"""Slopes of steady motions by speeds and numbers, in both modes: a pendulum, a governor, what is held by nothing. D26,
M19. Row 20 of kinematics."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import GradientWarning, ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from tests.statics.test_steady_motion import G, conical

CLOSED_FORM = 1e-9
LENGTH = "rod.center_of_mass[2]"


def test_a_pendulum_on_a_shaft_rises_with_its_speed() -> None:
    """cos t = g / (L w^2), frequency w sin t / 2 pi, K = m L^2 w^2 sin^2 t: by speed and length, both ways."""

    def outcome(speed: Any, length: Any) -> Any:
        whirl = shiftjax.steady_motion(
            conical(),
            {"turn": speed},
            q={"hinge": 1.2},
            vary={LENGTH: -length},
            channels=["shaft:origin.angular_velocity"],
        )
        turning = whirl.channels["shaft:origin.angular_velocity"][:, 2]
        return jnp.stack([whirl.q["a:hinge"], whirl.frequencies[:, 0], whirl.K[:, 0, 0], turning, whirl.v["a:turn"]])

    def exact(speed: Any, length: Any) -> Any:
        angle = jnp.arccos(G / (length * speed**2))
        swing = speed * jnp.sin(angle)
        return jnp.stack([angle, swing / (2.0 * np.pi), 2.0 * length**2 * swing**2, speed, speed])

    at = jnp.array([5.5, 8.0, 20.0]), jnp.array([0.5, 0.5, 0.4])
    ways = (jnp.ones(3), jnp.array([0.3, -0.2, 0.1]))
    (values, forward), known = jax.jit(lambda x: jax.jvp(outcome, x, ways))(at), jax.jvp(exact, at, ways)
    assert values == pytest.approx(np.asarray(known[0]), rel=CLOSED_FORM)
    assert forward == pytest.approx(np.asarray(known[1]), rel=CLOSED_FORM)
    weights = jnp.cos(jnp.arange(15.0)).reshape(5, 3)
    back = jax.jit(lambda x: jax.vjp(outcome, *x)[1](weights))(at)
    assert sum((a * b).sum() for a, b in zip(back, ways, strict=True)) == pytest.approx(
        float((weights * forward).sum()), rel=CLOSED_FORM
    )


def governor(length: float = 0.3, ball: float = 1.0, sleeve: float = 4.0, t: float = 0.7) -> Model:
    """An arm with a ball on a turning shaft, whose lower link lifts a sleeve: a closed loop."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("governor")
    a.body("shaft", mass=1.0, inertia=(0.1,) * 3).body("sleeve", mass=sleeve, inertia=(0.1,) * 3)
    for name in ("upper", "lower"):
        a.body(name, mass=0.0, inertia=(0.0,) * 3, frames={"tip": (0.0, 0.0, -length)})
    a.body("ball", mass=ball, inertia=(0.0,) * 3)
    a.joint("turn", "Rz", child="shaft")
    a.joint("lift", "Tz", parent="shaft", child="sleeve", initial_displacement=-2.0 * length * np.cos(t))
    a.joint("arm", "Ry", parent="shaft", child="upper", initial_displacement=-t)
    a.joint("fix", "rigid", parent=("upper", "tip"), child="ball")
    a.joint("elbow", "Ry", parent=("upper", "tip"), child="lower", initial_displacement=2.0 * t)
    a.joint("end", "Ry", parent=("lower", "tip"), child="sleeve", initial_displacement=-t)
    return builder.build()


def test_a_governor_of_closed_loops_has_them_through_its_links() -> None:
    """m L w^2 cos t = (m + 2 M) g, with one ball; both links grow together by a derived number."""
    model, speed = governor(), 26.0
    upper, lower, mass = "governor:upper:tip.T[2]", "lower:tip.T[2]", "ball.mass"

    def outcome(x: Any) -> Any:
        whirl = shiftjax.steady_motion(
            model, {"turn": shiftjax.ConstantSpeed(speed)}, independent=["lift"], q={"lift": -0.35},
            vary={upper: -x[:1], mass: x[1:2], "sleeve.mass": x[2:]}, derive={lower: f"{{{upper}}}"},
            channels=["elbow.reaction_force"],
        )  # fmt: skip
        force = whirl.channels["elbow.reaction_force"][0]
        return jnp.stack([whirl.q["governor:lift"][0], whirl.frequencies[0, 0], force @ force])

    def exact(x: Any) -> Any:
        length, ball, sleeve = x
        share = (ball + 2.0 * sleeve) * G / (ball * speed**2)
        s = 1.0 - (share / length) ** 2  # sin^2 t
        swing = jnp.sqrt(ball * speed**2 * s / (ball + 4.0 * sleeve * s))
        across = jnp.sqrt(s) * length / share * sleeve * G / 2.0  # of the lower link, which carries the sleeve
        return jnp.stack([-2.0 * share, swing / (2.0 * np.pi)]), across

    x = jnp.array([0.3, 1.0, 4.0])
    slopes = jax.jit(jax.jacrev(outcome))(x)
    assert slopes[:2] == pytest.approx(np.asarray(jax.jacrev(lambda x: exact(x)[0])(x)), rel=1e-8, abs=1e-8)
    h = 1e-5
    ends = [np.asarray(outcome(np.asarray(x) + side * h * np.eye(3)[1])) for side in (1.0, -1.0)]
    assert slopes[:, 1] == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-6)


def test_what_nothing_holds_has_no_slope_and_leaves_the_others_alone() -> None:
    """x'' + (k / m - w^2) x = 0 at w^2 = k / m; and a member that moves for ever."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    a.body("table", mass=1.0, inertia=(0.1,) * 3).body("mass", mass=2.0, inertia=(0.1,) * 3)
    a.joint("turn", "Rz", child="table").joint("x", "Tx", parent="table", child="mass")
    a.force("kx", "joint_spring", joint="x", k=200.0)
    model = builder.build()

    def place(speed: Any) -> Any:
        return shiftjax.steady_motion(model, {"turn": speed}).q["a:x"]

    with pytest.warns(GradientWarning, match="held by nothing"):
        _, slope = jax.jvp(place, (jnp.array([9.0, 10.0]),), (jnp.ones(2),))
    assert slope[0] == 0.0 and np.isnan(slope[1])

    def sideways(pull: Any) -> tuple[Any, Any]:
        whirl = shiftjax.steady_motion(
            conical(), {"turn": shiftjax.ConstantSpeed(8.0)}, q={"hinge": 1.2},
            vary={"model_parameters.gravity[0]": pull},
        )  # fmt: skip
        return whirl.q["a:hinge"], whirl.status

    q, status = jax.jit(sideways)(jnp.array([0.0, 1.0]))
    assert status.tolist() == [Outcome.ok, Outcome.no_equilibrium] and np.isfinite(q).tolist() == [True, False]
    with pytest.raises(ModelError, match="where the search begins"):
        jax.grad(lambda q: shiftjax.steady_motion(conical(), {"turn": shiftjax.ConstantSpeed(8.0)}, q={"hinge": q}).K)(
            1.0
        )
