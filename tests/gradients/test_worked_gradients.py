"""Problems with known answers, solved with gradients of runs by JAX, SciPy and optax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

import shiftjax
import shiftjax.models as models
from shiftjax.ensembles import Definition, optimize
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.designs import designs
from tests.support.complete import complete_only

NOISE = 1e-4  # rad, of the measured angles
SLOPE = 1e-9  # N m^2 m/N: where the search for a balance ends
BALANCED = 1e-8  # relative: SLOPE over the curvature of the effort, 6e-3 N m^2 m^2/N^2, is 2e-7 N/m
SMOOTHED = 2e-3  # relative: steps of 1 ms over a kink, and differences by 1 % of the speed
CLOSED = 1e-9  # m
RANDOM = 1e-6  # relative: differences of order 4 by thousandths
SWITCHED = 1e-5  # relative: the same by hundredths; runs that switch at other steps differ by rounding
FEWER = 5.0  # how much less bump steer there has to be
CUBIC = 1e-4  # of the way, 10 times what the error of a mean by trapezoids of 5 ms moves
MEAN = 1e-3  # relative: the same, of the mean square
STATIONARY = 1e-5  # rad: differences by thousandths
# rad: what `shiftjax optimize delta_minimum_torque.toml` finds, three points of each motor
LEAST_TORQUE = np.array([
    -0.501815470, -0.263801043, -0.214118245,
    -0.334339898, -0.252536067, -0.373985409,
    -0.233418682, -0.260756686, -0.480449554,
])  # fmt: skip
CYLINDER = "excavator:bucket_cylinder"


def measured_angles() -> Any:
    """Angles (102,) of the excavator's arm, for its bucket's mass and cylinder's stiffness in parts of the file's."""
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


@complete_only  # docs/gradients.md has it in every run, without the check of the noise
def test_mass_and_stiffness_from_noisy_motion() -> None:
    """Gauss-Newton finds both within 3 sigma of the truth, sigma^2 being noise^2 (J^T J)^-1, and the noise itself."""
    angles = measured_angles()
    slopes = jax.jit(jax.jacfwd(angles))
    clean = np.asarray(angles(jnp.ones(2)))
    measured = clean + NOISE * np.random.default_rng(1).standard_normal(clean.shape)
    found = jnp.array([0.8, 1.1])
    for _ in range(5):
        J, residuals = np.asarray(slopes(found)), np.asarray(angles(found)) - measured
        found = found - jnp.linalg.lstsq(J, residuals)[0]
    sigma = NOISE * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    assert (sigma < 2e-3).all() and (np.abs(np.asarray(found) - 1.0) < 3 * sigma).all()
    assert (residuals**2).sum() == pytest.approx(100 * NOISE**2, rel=3 * np.sqrt(2 / 100))  # chi squared, 100 degrees


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
    """(21,) change of toe over bump and droop [rad], for the rack's height and the inner end of the tie rod."""
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


@complete_only  # docs/gradients.md has the first of both in every run
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
    """D10: the objective is a metric, the optimiser one of optax."""

    def miss(design: Any) -> Any:
        run = shiftjax.simulate(
            "four_bar", 0.5, 5e-3, hold=["crank_pivot"],
            vary={"coupler:tip.T[0]": design[:1], "rocker:tip.T[0]": design[1:]},
            metrics={"miss": "path_distance(coupler:tip.position, points=[[0.3, 0, -0.3]])"},
        )  # fmt: skip
        return run.metrics["miss"][0]

    step, optimiser = jax.jit(jax.value_and_grad(miss)), optax.adam(0.01)
    design: Any = jnp.array([0.5, 0.4])
    state, values = optimiser.init(design), []
    with jax.numpy_dtype_promotion("standard"):  # of optax, which mixes its count with floats
        for _ in range(10):
            value, slope = step(design)
            change, state = optimiser.update(slope, state)
            design = optax.apply_updates(design, change)
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


def by_differences(f: Any, at: np.ndarray, h: float) -> Any:
    """The derivative of every member's f by its own number: order 4, of plain runs."""
    return sum(w * f(at + k * h) for k, w in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))) / h


def test_twenty_random_four_bars() -> None:
    """F1, F2: a batch of exact loops in reverse mode, by numbers of every kind, named by path."""
    rng = np.random.default_rng(2)
    model = shiftjax.load("four_bar")
    numbers = model.numbers()
    paths = (
        "four_bar:coupler.mass", "four_bar:coupler:tip.T[0]", "four_bar:rocker.center_of_mass[0]",
        "fixed:rocker_pivot.T[0]", "model_parameters.gravity[2]", "four_bar:crank_pivot.initial_velocity",
    )  # fmt: skip
    design = {path: numbers[path] * rng.uniform(0.95, 1.05, 20) for path in paths}

    def last(design: Any) -> Any:
        run = shiftjax.simulate(
            model, 0.5, 2e-3, vary=design, hold=["crank_pivot"], channels=["rocker_pivot.q", "coupler:tip.position"]
        )
        return run.channels["rocker_pivot.q"][:, -1] + run.channels["coupler:tip.position"][:, -1, 0], run.certificate

    found, certificate = jax.grad(lambda design: (last(design)[0].sum(), last(design)[1]), has_aux=True)(
        {path: jnp.asarray(values) for path, values in design.items()}
    )
    assert np.asarray(certificate["gap"]).max() <= CLOSED
    for path, values in design.items():
        alone = lambda x, path=path: np.asarray(last({**design, path: x})[0])  # noqa: E731
        wanted = by_differences(alone, values, 1e-3 * abs(numbers[path]))
        assert np.abs(found[path] - wanted).max() <= RANDOM * np.abs(wanted).max(), path


def test_a_loss_through_repartitions() -> None:
    """F4: the state is continuous where other coordinates are taken, so plain runs, which search themselves, agree."""
    speeds, given = np.array([5.8, 6.0]), {"span": 1.5, "step": 1e-3, "metrics": {"loss": "mean(joint3.v**2)"}}

    def loss(speeds: Any) -> Any:
        return shiftjax.simulate("bricard", vary={"joint1.initial_velocity": speeds}, **given)

    assert (loss(speeds).certificate["repartitions"] >= 3).all()
    found = jax.grad(lambda speeds: loss(speeds).metrics["loss"].sum())(jnp.asarray(speeds))
    wanted = by_differences(lambda speeds: loss(speeds).metrics["loss"], speeds, 1e-2)
    assert np.abs(found - wanted).max() <= SWITCHED * np.abs(wanted).max()


def test_least_torque_of_an_arm_is_the_cubic() -> None:
    """Of all motions from rest to rest the cubic has the least mean square of its acceleration, 12 (way / time^2)^2."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, 0))
    robot = builder.assembly("robot")
    robot.body("arm", mass=2, center_of_mass=(0.4, 0, 0), inertia=(0.001, 0.1, 0.1))
    robot.joint("pivot", "Ry", parent="fixed", child="arm", initial_displacement=0.0)
    time, way, shares = 0.5, 1.2, np.array([0.25, 0.5, 0.75])
    study = Definition(
        model=builder.build(), span=time, step=5e-3, samples=4, seed=3,
        drive={"pivot": shiftjax.Table(time * np.linspace(0, 1, 5), way * np.linspace(0, 1, 5), 0.0, 0.0)},
        vary={f"pivot_drive.values[{k + 1}]": f"{low * way}:{(low + 0.4) * way}~sobol"
              for k, low in enumerate((0.0, 0.3, 0.55))},
        metrics={"torque": "rms(pivot.drive_load)"},
        optimize={"objective": "torque ** 2", "method": "lbfgs", "iterations": 40, "tolerance": 1e-7},
    )  # fmt: skip
    found = optimize(study)
    cubic = way * shares**2 * (3 - 2 * shares)
    assert np.abs(np.array([*found.best.design.values()]) - cubic).max() < CUBIC * way
    least = 12 * ((2 * 0.4**2 + 0.1) * way / time**2) ** 2
    assert found.to_pandas()["objective"].to_numpy() == pytest.approx(least, rel=MEAN)


@complete_only
def test_least_torque_of_a_delta_robot() -> None:
    """What the library's study finds is stationary by differences, and better than its neighbours and the cubic."""
    (group,) = designs(study_file.read(models.study("delta_minimum_torque")))
    cubic = [float(group.model.numbers()[path]) for path in group.vary()]
    around = 1e-3 * np.eye(9)
    neighbours = 0.02 * np.random.default_rng(0).standard_normal((32, 9))
    points = np.vstack([LEAST_TORQUE, LEAST_TORQUE + around, LEAST_TORQUE - around, LEAST_TORQUE + neighbours, cubic])
    run = shiftjax.simulate(
        group.model, vary=dict(zip(group.vary(), points.T, strict=True)), **{**group.settings, "output_step": None}
    )
    effort = np.sum([np.asarray(run.metrics[f"torque_{k}"]) ** 2 for k in (1, 2, 3)], axis=0)
    least, more, less, others = effort[0], effort[1:10], effort[10:19], effort[19:]
    off = 1e-3 * (more - less) / (2 * (more + less - 2 * least))  # rad: from the parabolas' lowest points
    assert np.abs(off).max() < STATIONARY and (others > least).all()
    assert least == pytest.approx(20.1439, abs=1e-4) and others[-1] > 3 * least
