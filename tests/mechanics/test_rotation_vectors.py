"""Balls and free joints by rotation vectors (M3): the same motions as by quaternions, across pi, in loops."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.dynamics.kinematics import with_quaternions
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.joints import JointKind
from shiftjax.joints.primitives import Translation
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.rotations import (
    quaternion_of_vector,
    recharted,
    rotation_of_quaternion,
    rotation_of_vector,
    vector_of_quaternion,
    vector_rate,
    vector_speed,
)
from shiftjax.run.advance.interpolation import interpolated
from shiftjax.topology.analysis import analyze
from shiftjax.viewer.motion.joint_tracks import speeds, unwrapped
from shiftjax.viewer.motion.turns import nearest_turn

ALGEBRA = 1e-14  # rad
SAME = 1e-7  # of RK4 in both charts at 1 ms and 17 rad/s: 4e-8 by other truncation errors
SLOPES = 1e-7  # relative, of derivatives of such runs
BALLS = {"quaternion": "spherical", "vector": "spherical_vector"}
SPIN = [9.0, -2.0, 14.0]


# -- formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 9.9e-4, 1.1e-3, 0.0999, 0.1001, 1.0, np.pi - 1e-9, np.pi, 5.0])
def test_formulas(size: float) -> None:
    """On both sides of where series end: quaternions, the inverse of the rate, the rate beside differences."""
    random = np.random.default_rng(2)
    axis = random.normal(size=3)
    r, w = list(size * axis / np.linalg.norm(axis)), list(random.normal(size=3))
    e = quaternion_of_vector(r)
    np.testing.assert_allclose(rotation_of_quaternion(e), rotation_of_vector(r), rtol=0, atol=ALGEBRA)
    back, short = vector_of_quaternion(e), recharted(r)
    assert np.linalg.norm(back) <= np.pi + ALGEBRA and np.linalg.norm(short) <= np.pi + ALGEBRA
    np.testing.assert_allclose(rotation_of_vector(back), rotation_of_vector(r), rtol=0, atol=4 * ALGEBRA)
    np.testing.assert_allclose(rotation_of_vector(short), rotation_of_vector(r), rtol=0, atol=4 * ALGEBRA)
    rate = vector_rate(r, w)
    np.testing.assert_allclose(vector_speed(r, rate), w, rtol=0, atol=20 * ALGEBRA)
    h = 1e-5
    ends = [np.array(rotation_of_vector(list(np.array(r) + s * h * np.array(rate)))) for s in (-1, 1)]
    spin = np.array(rotation_of_vector(r)).T @ (ends[1] - ends[0]) / (2 * h)  # R^T R' = [w x], in the child's axes
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], w, rtol=0, atol=1e-8)  # h^2 and rounding / h


@record
class Slides(Translation):
    """Three ways in one motion, as a plug-in might write it: as many numbers as a rotation vector has."""

    nq: int = 3
    units: tuple[str, ...] = ("m", "m", "m")


def test_three_numbers_are_no_rotation_unless_they_say_so() -> None:
    with pytest.raises(ModelError, match="a joint kind: found a motion of 3 numbers"):
        JointKind((Slides("x"),), "slider")


# -- runs ------------------------------------------------------------------------------------------------------------


@cache
def top(chart: str) -> Model:
    """A spinning body on a ball that is not at its centre, and one that flies."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    for name in ("top", "stone"):
        a.body(name, mass=1.3, center_of_mass=(0.05, 0.02, 0.3), inertia=(0.03, 0.034, 0.02))
    a.joint("ball", BALLS[chart], child="top", initial_velocity=SPIN, initial_displacement={"rotation": [0.4, 0.2, 0]})
    free = {"quaternion": "float", "vector": "float_vector"}[chart]
    a.joint("free", free, child="stone", initial_velocity=[1.0, 0.0, 2.0, *SPIN])
    return builder.build()


CHANNELS = ["ball.v", "free.v", "top.orientation", "stone.position"]


def run(chart: str, **options: Any) -> Any:
    options = {"span": 0.5, "output_step": 0.05, "vary": {"top.mass": [1.3, 1.5]}} | options
    return shiftjax.simulate(top(chart), channels=options.pop("channels", CHANNELS), **options)


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"tolerance": 1e-9, "method": "rosenbrock"}])
def test_a_top_and_a_flying_body(options: dict[str, Any]) -> None:
    """Some turns, so that vectors go on with the other one again and again: beside quaternions."""
    one, other = (run(chart, **options) for chart in BALLS)
    assert (one.status == 0).all() and (other.status == 0).all()
    for name in CHANNELS:
        a, b = np.asarray(one.channels[name]), np.asarray(other.channels[name])
        if name.endswith("orientation"):
            b = b * np.sign((a * b).sum(-1, keepdims=True))
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-6 if "method" in options else SAME, err_msg=name)
    assert other.certificate["energy_error"].max() < 1e-8


def test_vectors_are_coordinates() -> None:
    """Three numbers, at most pi long, of the same orientation; they jump where the others go on."""
    result = run("vector", step=1e-3, channels=["ball.q", "top.orientation"])
    r = np.moveaxis(np.asarray(result.channels["ball.q"]), -1, 0)
    e = np.moveaxis(np.asarray(result.channels["top.orientation"]), -1, 0)
    size = np.sqrt((r * r).sum(0))
    assert r.shape[0] == 3 and size.max() <= np.pi + 1e-3 and np.abs(np.diff(r, axis=-1)).max() > 2.0
    np.testing.assert_allclose(np.abs((np.array(quaternion_of_vector([*r])) * e).sum(0)), 1.0, atol=ALGEBRA * 100)


def slopes(of: Any, at: float) -> tuple[float, float, float]:
    """By reverse mode, by tangents, and by differences of fourth order: `of` is one number of several members' runs."""
    h = 1e-3 * at
    with jax.enable_x64(True):
        x = jnp.asarray([at])
        back = float(jax.grad(lambda x: of(x)[0])(x)[0])
        along = float(jax.jvp(of, (x,), (jnp.ones(1),))[1][0])
    low, down, up, high = (float(y) for y in of(at + h * np.array([-2.0, -1.0, 1.0, 2.0])))
    return back, along, (low - 8 * down + 8 * up - high) / (12 * h)


def test_slopes_across_pi() -> None:
    """Of a run in whose course the vectors change."""

    def last(mass: Any) -> Any:
        return run("vector", step=1e-3, vary={"top.mass": mass}).channels["ball.v"][:, -1, 1]

    back, along, differences = slopes(last, 1.3)
    assert back == pytest.approx(differences, rel=SLOPES) and along == pytest.approx(back, rel=1e-9)


def test_metrics_of_long_steps() -> None:
    """The motion within steps that a tolerance chose, some of which pass pi: beside quaternions."""
    metrics = {"peak": "maximum(ball.v[0])", "mean": "mean(top:origin.velocity[0])"}
    found = [run(chart, tolerance=1e-9, metrics=metrics).metrics for chart in BALLS]
    for name in metrics:
        np.testing.assert_allclose(found[1][name], found[0][name], rtol=0, atol=1e-6)  # of 1e-9, after some turns


def test_moved_steps_pass_pi() -> None:
    """Between two ends, on both sides of pi, the way is that of quaternions; its derivative is the complex one."""
    plan, random = analyze(top("vector")), np.random.default_rng(4)
    nx, twin = plan.nv + plan.ns, with_quaternions(plan)
    a, b = random.normal(size=(2, plan.nq + 2 * nx, 1))
    a[:3, 0], b[:3, 0] = (3.1, 0.1, 0.0), (-3.0, -0.2, 0.1)  # 0.3 rad apart
    a[plan.nq :], b[plan.nq :] = 0.01 * a[plan.nq :], 0.01 * b[plan.nq :]
    s, span = np.array([0.4]), np.array([0.05])
    here = interpolated(plan, a, b, s, span)
    far, near = (quaternion_of_vector([*q[:3, 0]]) for q in (here, a))
    assert 2 * np.arccos(abs(np.dot(far, near))) < 0.3
    assert with_quaternions(twin) is twin and twin.nq == plan.nq + 2
    move = 1e-20 * random.normal(size=a.shape)
    slope = np.imag(interpolated(plan, a + 1j * move, b + 0j, s, span)) / 1e-20
    h = 1e14 * move
    differences = (interpolated(plan, a + h, b, s, span) - interpolated(plan, a - h, b, s, span)) / 2e-6
    np.testing.assert_allclose(slope, differences, rtol=0, atol=1e-8)


def test_tracks_of_the_viewer() -> None:
    """Along instants vectors do not jump, and their rates give the speeds."""
    result = run("vector", step=1e-3, output_step=1e-3, channels=["ball.q", "ball.v", "free.q", "free.v"])
    q, v = (
        np.concatenate([np.asarray(result.channels[f"{name}.{of}"])[0].T for name in ("ball", "free")]) for of in "qv"
    )
    plan = analyze(top("vector"))
    smooth = unwrapped(plan, q)
    rate = np.gradient(smooth, 1e-3, axis=1, edge_order=2)
    inside = slice(2, -2)
    off = np.abs(speeds(plan, smooth[:, inside], rate[:, inside]) - v[:, inside]).max(0)
    assert np.median(off) < 5e-3 and np.abs(np.diff(q)).max() > 2.0  # second differences of turns of 17 rad/s
    assert nearest_turn(plan, q[:, 5], smooth[:, 5]) == pytest.approx(smooth[:, 5])


# -- loops -----------------------------------------------------------------------------------------------------------


@cache
def loop(chart: str) -> Model:
    """A crank, a link between two balls and a rocker across it, whose crank turns round."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("far", T=(0.6, 0.0, 0.0), rotation=(np.pi / 2, 0, 0))
    a = builder.assembly("a")
    for name, length in (("crank", 0.15), ("link", 0.7), ("rocker", 0.4)):
        moments = (0.001, 0.3 * length**2, 0.3 * length**2)  # of a rod: nothing feels the link's spin
        a.body(
            name, mass=1.0, center_of_mass=(length / 2, 0, 0), inertia=moments, frames={"tip": {"T": (length, 0, 0)}}
        )
    a.joint("pivot", "Rz", child="crank", initial_velocity=12.0)
    a.joint(
        "near", BALLS[chart], parent=("crank", "tip"), child="link", initial_displacement={"rotation": [0.1, -0.5, 0]}
    )
    a.joint("hinge", "Rz", parent=("fixed", "far"), child="rocker", initial_displacement=1.5)
    a.joint("away", BALLS[chart], parent=("link", "tip"), child=("rocker", "tip"))
    return builder.build()


def test_a_loop_of_two_balls() -> None:
    """Closed, run beside quaternions, and differentiated through the start by a length."""
    names, vary = ["pivot.q", "hinge.q"], {"pivot.initial_velocity": [12.0, 9.0], "link:tip.T[0]": [0.7, 0.71]}
    runs = [shiftjax.simulate(loop(c), 0.6, 1e-3, channels=names, output_step=0.1, vary=vary) for c in BALLS]
    for name in names:
        a, b = (np.asarray(one.channels[name]) for one in runs)
        np.testing.assert_allclose(a, b, rtol=0, atol=SAME)
    assert max(float(one.certificate["gap"].max()) for one in runs) < 1e-9

    def last(length: Any) -> Any:
        vary = {"pivot.initial_velocity": 12.0 + 0.0 * length, "link:tip.T[0]": length}
        one = shiftjax.simulate(loop("vector"), 0.6, 1e-3, channels=names, output_step=0.1, vary=vary)
        return one.channels["hinge.q"][:, 1]

    back, along, differences = slopes(last, 0.7)
    assert back == pytest.approx(differences, rel=SLOPES) and along == pytest.approx(back, rel=1e-8)
