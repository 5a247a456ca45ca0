"""Problems with known answers, solved with gradients of runs by JAX, SciPy and optax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import least_squares, minimize

import shiftjax

NOISE = 1e-4  # rad, of the measured angles
SLOPE = 1e-9  # N m^2 m/N: where the search for a balance ends
BALANCED = 1e-8  # relative: SLOPE over the curvature of the effort, 6e-3 N m^2 m^2/N^2, is 2e-7 N/m
SMOOTHED = 2e-3  # relative: steps of 1 ms over a kink, and differences by 1 % of the speed
FEWER = 5.0  # how much less bump steer there has to be
CYLINDER = "excavator:bucket_cylinder"


def measured_angles() -> Any:
    """Two angles (102,) of the excavator's arm for its bucket's mass and cylinder's stiffness, as parts of the model's."""
    excavator = shiftjax.load("excavator")
    numbers = excavator.numbers()
    preload, stiffness, length = (
        numbers[f"{CYLINDER}.{key}"] for key in ("stiffness[0]", "stiffness[1]", "initial_displacement")
    )

    def angles(factors: Any) -> Any:
        run = shiftjax.simulate(
            excavator, 0.5, 2.5e-3, output_step=1e-2, channels=["stick_pivot.q", "bucket_pivot.q"],
            vary={"bucket.mass": [350.0 * factors[0]], f"{CYLINDER}.stiffness[1]": [stiffness * factors[1]]},
            derive={
                f"{CYLINDER}.stiffness[0]": f"{preload} + ({stiffness} - {{{CYLINDER}.stiffness[1]}}) * {length}"
            },
        )  # fmt: skip
        return jnp.concatenate([run.channels["stick_pivot.q"][0], run.channels["bucket_pivot.q"][0]])

    return jax.jit(angles)


def test_mass_and_stiffness_from_noisy_motion() -> None:
    """Gauss-Newton finds both within 3 sigma of the truth, sigma^2 being noise^2 (J^T J)^-1, and the noise itself."""
    angles = measured_angles()
    slopes = jax.jit(jax.jacfwd(angles))
    clean = np.asarray(angles(jnp.ones(2)))
    measured = clean + NOISE * np.random.default_rng(1).standard_normal(clean.shape)
    fit = least_squares(
        lambda x: np.asarray(angles(jnp.asarray(x))) - measured, [0.8, 1.1],
        jac=lambda x: np.asarray(slopes(jnp.asarray(x))), method="lm",
    )  # fmt: skip
    sigma = NOISE * np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    assert fit.success and (sigma < 2e-3).all()
    assert (np.abs(fit.x - 1.0) < 3 * sigma).all()
    assert 2 * fit.cost == pytest.approx(100 * NOISE**2, rel=3 * np.sqrt(2 / 100))  # chi squared of 100 degrees


def arm() -> shiftjax.Model:
    """An arm of 2 kg, 0.4 m out, with a spring of no free length from a post above its pivot to a point 0.2 m out."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, -9.81))
    builder.frame("post", T=(0, 0, 0.3))
    lamp = builder.assembly("lamp")
    lamp.body("arm", mass=2, center_of_mass=(0.4, 0, 0), inertia=(0.001, 0.1, 0.1), frames={"eye": (0.2, 0, 0)})
    lamp.joint("pivot", "Ry", parent="fixed", child="arm", initial_displacement=-0.8)
    lamp.restraint("spring", "spring", frames=[("fixed", "post"), ("arm", "eye")], coefficients=[[100, 0]])
    return builder.build()


def test_a_spring_that_balances_an_arm() -> None:
    """k a b = m g r, at three heights a of the post at once: each member is an arm of its own."""
    model, heights = arm(), np.array([0.2, 0.3, 0.45])

    def effort(k: Any) -> Any:
        run = shiftjax.simulate(
            model, 1.0, 1e-2, drive={"pivot": 1.6}, metrics={"torque": "rms(pivot.drive_load)"},
            vary={"spring.coefficients[0][0]": k, "fixed:post.T[2]": heights},
        )  # fmt: skip
        return (run.metrics["torque"] ** 2).sum()

    wanted = 2 * 9.81 * 0.4 / (heights * 0.2)
    slope = jax.jit(jax.value_and_grad(effort))
    found = minimize(
        lambda k: [np.asarray(part) for part in slope(jnp.asarray(k))], np.full(3, 60.0), jac=True, method="BFGS",
        options={"gtol": SLOPE},
    )  # fmt: skip
    assert np.abs(found.x - wanted).max() <= BALANCED * wanted.max()


def toe_of(hardpoints: Any) -> Any:
    """(21,) change of toe of a double wishbone over bump and droop [rad], for height of rack and tie rod's inner end."""
    inner, height = "double_wishbone:rack:right.T[1]", "fixed:rack.T[2]"
    run = shiftjax.simulate(
        "double_wishbone", 1.0, 5e-3, output_step=5e-2, channels=["knuckle_right.orientation"],
        drive={"rack_guide": 0.0, "lower_right_pivot": shiftjax.Harmonic(amplitude=0.2, frequency=2 * np.pi)},
        vary={height: hardpoints[:1], inner: hardpoints[1:]},
        derive={"tie_right:tip.T[1]": f"sqrt((0.7 - {{{inner}}}) ** 2 + {{{height}}} ** 2)"},
    )  # fmt: skip
    w, x, y, z = run.channels["knuckle_right.orientation"][0].T
    angle = jnp.arctan2(2 * (w * z - x * y), 1 - 2 * (x * x + z * z))
    return angle - angle[0]


def test_bump_steer_of_a_suspension() -> None:
    """Three Gauss-Newton steps, of the file's rack and of one that stands 10 mm too low, end at the same hardpoints."""
    toe, slopes = jax.jit(toe_of), jax.jit(jax.jacfwd(toe_of))
    ends = []
    for height in (0.0, 0.01):
        hardpoints = jnp.array([height, 0.33])
        before = np.ptp(toe(hardpoints))
        for _ in range(3):
            hardpoints -= jnp.linalg.lstsq(slopes(hardpoints), toe(hardpoints))[0]
        assert np.ptp(toe(hardpoints)) < before / FEWER
        ends.append(np.asarray(hardpoints))
    assert np.abs(ends[0] - ends[1]).max() < 1e-5  # m: what a third step still moves


def test_adam_brings_a_coupler_to_a_point() -> None:
    """The objective is a metric, the optimiser one of optax."""

    def miss(design: Any) -> Any:
        run = shiftjax.simulate(
            "four_bar", 0.5, 5e-3, hold=["crank_pivot"],
            vary={"coupler:tip.T[0]": design[:1], "rocker:tip.T[0]": design[1:]},
            metrics={"miss": "minimum(norm(coupler:tip.position - [0.3, 0, -0.3]))"},
        )  # fmt: skip
        return run.metrics["miss"][0]

    step, design, optimiser = jax.jit(jax.value_and_grad(miss)), jnp.array([0.5, 0.4]), optax.adam(0.01)
    state, values = optimiser.init(design), []
    with jax.numpy_dtype_promotion("standard"):  # of optax, which mixes its count with floats
        for _ in range(10):
            value, slope = step(design)
            change, state = optimiser.update(slope, state)
            design = design + change
            values.append(float(value))
    assert values[-1] < values[0] / 3


def slider(friction: list[list[float]], knots: list[float]) -> shiftjax.Model:
    """A mass on a spring that rubs."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, 0))
    a = builder.assembly("a")
    a.body("mass", mass=1, center_of_mass=(0, 0, 0), inertia=(1, 1, 1))
    a.joint("slide", "Tx", parent="fixed", child="mass", initial_displacement=-0.1, initial_velocity=1)
    a.restraint("pull", "spring", joint="slide", coefficients=[[100, 0]])
    a.restraint("rub", "friction", joint="slide", coefficients=friction, knot_points=knots)
    return builder.build()


def test_friction_with_a_slope_through_zero_speed() -> None:
    """Its gradient is that of the motion, which turns back within the span."""
    model = slider([[-2], [40, 0], [2]], [-0.05, 0.05])

    def speed(start: Any) -> Any:
        return shiftjax.simulate(
            model, 0.3, 1e-3, vary={"slide.initial_velocity": start}, channels=["slide.v"]
        ).channels["slide.v"][:, -1]

    found = float(jax.grad(lambda start: speed(start).sum())(jnp.ones(1))[0])
    low, high = speed(np.array([0.99, 1.01]))
    assert speed(np.ones(1))[0] < -0.1 and found == pytest.approx((high - low) / 0.02, rel=SMOOTHED)


def test_the_gradient_of_an_instant() -> None:
    """A mass that slides freely from -0.1 m at v passes 0.1 m at t = 0.2 / v, and dt / dv = -0.2 / v^2."""
    model = slider([[0]], []).replace({"pull.coefficients[0][0]": 0.0})

    def instant(start: Any) -> Any:
        metrics = {"instant": "first_crossing(slide.q, level=0.1)"}
        return shiftjax.simulate(model, 0.5, 1e-3, vary={"slide.initial_velocity": start}, metrics=metrics).metrics

    speeds = jnp.array([0.7, 1.0, 1.3])
    value, slope = jax.jvp(lambda start: instant(start)["instant"], (speeds,), (jnp.ones(3),))
    assert np.allclose(value, 0.2 / speeds, rtol=1e-12) and np.allclose(slope, -0.2 / speeds**2, rtol=1e-10)
    back = jax.grad(lambda start: instant(start)["instant"].sum())(speeds)
    assert np.allclose(back, slope, rtol=1e-12)
