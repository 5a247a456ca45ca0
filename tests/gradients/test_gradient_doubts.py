"""What gradients say of themselves: forces that jumped, members without gradient, small changes that grow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax import GradientWarning
from shiftjax.constraints import Harmonic, Polynomial
from shiftjax.errors import ModelError
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.gradients.doubts import LOST
from shiftjax.mechanism.model import Model
from shiftjax.run.options import options_of

FRICTION = 2.0  # N
WITHIN = 2e-3  # s, of an instant: a step of 1 ms to either side
CALM, CHAOTIC = 100.0, 1e3


def slider(pieces: Sequence[Sequence[float]], knots: Sequence[float], kind: str = "friction") -> Model:
    """A mass of 1 kg on a spring of 100 N/m that slides against a force."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    a.body("mass", mass=1.0, center_of_mass=(0.0, 0.0, 0.0), inertia=(1.0, 1.0, 1.0))
    rest = {"stiffness": [0.0, 0.0], "damping": [0.0, 0.0]}  # forces of their own, both with the joint's path
    a.joint("slide", "Tx", child="mass", initial_displacement=-0.1, initial_velocity=1.0, **rest)
    a.restraint("pull", "spring", joint="slide", coefficients=[[100.0, 0.0]])
    a.restraint("the rub", kind, joint="slide", coefficients=pieces, knot_points=knots)
    return builder.build()


def coulomb() -> Model:
    return slider([[-FRICTION], [FRICTION]], [0.0])


SPEEDS = jnp.array([1.0, 2.0, 0.0])
KEY = "slide.initial_velocity"


def last_speed(model: Model, speeds: Any, **more: Any) -> tuple[Any, Any]:
    """The sum over members of the last speed, and how often forces jumped."""
    given = {"span": 0.3, "step": 1e-3, "channels": ["slide.v"], **more}
    run = shiftjax.simulate(model, vary={KEY: speeds}, **given)
    return run.channels["slide.v"][:, -1].sum(), run.certificate["jumps"]


def turning_back() -> np.ndarray:
    """When the mass comes to rest: x'' = -100 x - 2, from x = -0.1 m with each speed."""
    offset, speeds = -0.1 + FRICTION / 100.0, np.asarray(SPEEDS[:2])
    return (np.pi / 2 - np.arctan2(10.0 * offset, speeds)) / 10.0


# -- forces that jump --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("jumps_ignored")
@pytest.mark.parametrize("transformation", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_mass_that_turns_back_against_friction(transformation: Callable[[Any], Any]) -> None:
    """One warning a call, with the force, the height and the instant; the third member does not turn back."""
    t = turning_back()[0]
    with pytest.warns(GradientWarning, match=r"2 of 3 members, first member 0: .* jumps by 4 N at t = ") as said:
        _, jumps = transformation(jax.grad(lambda v: last_speed(coulomb(), v), has_aux=True))(SPEEDS)
    assert len(said) == 1 and np.array_equal(jumps, [1, 1, 0]) and jumps.dtype == int
    told = float(str(said[0].message).split("t = ")[1].split(" s")[0])
    assert abs(told - t) < WITHIN


@pytest.mark.usefixtures("jumps_ignored")
def test_forward_mode_says_the_same() -> None:
    with pytest.warns(GradientWarning, match=r"2 of 3 members, first member 0: .* a:the rub jumps by 4 N"):
        jax.jvp(lambda v: last_speed(coulomb(), v)[0], (SPEEDS,), (jnp.ones(3),))


def test_a_run_alone_does_not_warn() -> None:
    """Only who differentiates is told; the figure is there without."""
    assert np.array_equal(jax.jit(lambda v: last_speed(coulomb(), v)[1])(SPEEDS), [1, 1, 0])


@pytest.mark.usefixtures("jumps_ignored")
def test_a_step_of_a_force_in_space() -> None:
    """A force of 3 N from x = 0.15 m on, once there and once back; the other member does not get there."""
    model = slider([[0.0], [3.0]], [0.15], "spring")
    with pytest.warns(GradientWarning, match=r"1 of 2 .* jumps by 3 N at .*, and 1 times more"):
        _, jumps = jax.grad(lambda v: last_speed(model, v), has_aux=True)(jnp.array([1.5, 0.0]))
    assert np.array_equal(jumps, [2, 0])


@pytest.mark.usefixtures("jumps_ignored")
def test_a_jump_of_some_members() -> None:
    """The number of one side varies: the second member's force is continuous."""

    def last(heights: Any) -> tuple[Any, Any]:
        vary = {"the rub.coefficients[1][0]": heights}
        run = shiftjax.simulate(coulomb(), span=0.3, step=1e-3, vary=vary, channels=["slide.v"])
        return run.channels["slide.v"][:, -1].sum(), run.certificate["jumps"]

    with pytest.warns(GradientWarning, match="1 of 2 members, first member 0"):
        _, jumps = jax.grad(last, has_aux=True)(jnp.array([2.0, -2.0]))
    assert np.array_equal(jumps, [1, 0])


@pytest.mark.parametrize(
    "model",
    [
        slider([[-2.0], [40.0, 0.0], [2.0]], [-0.05, 0.05]),  # a slope between
        slider([[0.0], [500.0, -25.0]], [0.05], "spring"),  # a stop
        slider([[7.0, 0.0]], [], "damper"),
    ],
    ids=["slope", "stop", "smooth"],
)
def test_kinks_and_smooth_forces_say_nothing(model: Model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, jumps = jax.grad(lambda v: last_speed(model, v), has_aux=True)(jnp.array([1.0, 2.0, 3.0]))
    assert not np.asarray(jumps).any()
    run = DifferentiableRun(model, [model.resolve(KEY)], options_of(span=0.01, step=1e-3, channels=["slide.v"]))
    assert run.static["report"]["jumps"] == []
    assert all(
        text.startswith(("sign_changes(", "mean(tanh(")) for text in (run.options.recording.metrics or {}).values()
    )


@pytest.mark.usefixtures("jumps_ignored")
def test_the_report_names_what_may_jump_and_metrics_stay_the_users() -> None:
    seen: list[shiftjax.Result] = []

    def turns(v: Any) -> Any:
        metrics = {"turns": "sign_changes(slide.v)"}
        seen.append(shiftjax.simulate(coulomb(), span=0.3, step=1e-3, vary={KEY: v}, metrics=metrics))
        return seen[-1].metrics["turns"].sum()

    with pytest.warns(GradientWarning):
        assert not np.asarray(jax.grad(turns)(SPEEDS)).any()  # a count has no slope
    assert seen[0].report["jumps"] == [{"force": "a:the rub", "knot": 0}]
    assert [*seen[0].metrics] == ["turns"] and [*seen[0].metric_texts] == ["turns"]


def test_the_end_of_a_table_whose_time_is_differentiated() -> None:
    """A drive that stops and holds: its acceleration jumps where the table ends."""
    table = shiftjax.Table(times=[0.0, 0.1, 0.2], values=[0.0, 0.3, 0.4], outside="hold")
    times = "crank_pivot_drive.times[2]"

    def load(t: Any) -> Any:
        run = shiftjax.simulate(
            "four_bar", span=0.3, step=5e-3, drive={"crank_pivot": table}, vary={times: t},
            metrics={"load": "rms(crank_pivot.drive_load)"},
        )  # fmt: skip
        return run.metrics["load"].sum()

    with pytest.warns(GradientWarning, match=r"1 of 2 members, first member 0: .*jumps at its table's end, t = 0\.2 s"):
        jax.grad(load)(jnp.array([0.2, 0.4]))


def test_the_channel_of_knots() -> None:
    """Below 0 before a knot: the speed itself for a knot at 0; in the file's path, and with a name of two words."""
    run = shiftjax.simulate(coulomb(), span=0.3, step=1e-3, output_step=1e-2, channels=["a:the rub.knots", "slide.v"])
    np.testing.assert_array_equal(run.channels["a:the rub.knots"][:, 0], run.channels["slide.v"])
    assert run.units["a:the rub.knots"] == "m/s"
    with pytest.raises(ModelError, match=r"channel pull\.knots: found 'pull'; allowed: a force with knots"):
        shiftjax.simulate(coulomb(), span=0.1, channels=["pull.knots"])


# -- members without gradient ------------------------------------------------------------------------------------------


def test_members_without_gradient_are_told() -> None:
    def last(masses: Any) -> Any:
        run = shiftjax.simulate("four_bar", span=0.02, vary={"coupler.mass": masses}, channels=["rocker_pivot.q"])
        return run.channels["rocker_pivot.q"][:, -1].sum()

    with pytest.warns(GradientWarning, match=r"1 of 2 members, first member 1: has no.*coupler\.mass") as said:
        slopes = jax.grad(last)(jnp.array([1.0, -1.0]))
    assert len(said) == 1 and np.array_equal(np.isnan(slopes), [False, True])


# -- growth of small changes -------------------------------------------------------------------------------------------


def grown(model: Model | str, paths: Sequence[str], x: Sequence[float], channel: str, **more: Any) -> list[float]:
    """Growth in forward mode, along all numbers, and in reverse mode, of the last value of a channel."""
    model = shiftjax.load(model) if isinstance(model, str) else model
    given = options_of(span=10.0, step=2e-3, output_step=0.5, channels=[channel]).changed(**more)
    run = DifferentiableRun(model, [model.resolve(path) for path in paths], given, warns=False)
    values, bars = np.array([x]), np.zeros((1, 1, run.outputs))
    bars[0, 0, run.recorded - 1] = 1.0
    found = []
    for derivative in (
        lambda: run.tangent(values, np.eye(len(x))[:, None, :]),
        lambda: run.adjoint(values, bars),
    ):
        derivative()
        assert run.doubts is not None
        found.append(float(run.doubts.growth[0]))
    return found


def test_a_chaotic_run_grows_and_a_driven_loop_does_not() -> None:
    """Ten seconds of a double pendulum let go upright, by its start and by a mass; of a four-bar, the same."""
    angles, mass = ["shoulder.initial_displacement", "elbow.initial_displacement"], "link2.mass"
    assert min(grown("double_pendulum", angles, [3.0, 1.5], "elbow.q")) > CHAOTIC
    at = shiftjax.load("double_pendulum").numbers()["double_pendulum:link2.mass"]
    assert min(grown("double_pendulum", [angles[0], mass], [3.0, at], "elbow.q")) > CHAOTIC
    assert max(grown("four_bar", ["coupler.mass"], [1.0], "rocker_pivot.q")) < CALM


def test_growth_has_no_units() -> None:
    """Of a mass on a spring that pushes: x'' = (k - ...) x grows as exp(10 t), whatever it weighs or is varied by."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    a.joint("slide", "Tx", child="mass", initial_displacement=0.0, stiffness=[0.0, -100.0])
    span, tau = 1.0, 1.0 / 16
    forward, reverse = grown(
        builder.build(), ["slide.initial_velocity"], [0.0], "slide.q", span=span, step=span / 1600, output_step=span
    )
    size = lambda t: np.hypot(np.sinh(10 * t) / 10, tau * np.cosh(10 * t))  # noqa: E731
    assert forward == pytest.approx(size(span) / size(tau) / 16, rel=1e-6)
    assert CALM < reverse < 1e4


def test_lost_digits_are_told() -> None:
    """exp(30) is 1e13: of sixteen digits three are left."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    a.joint("slide", "Tx", child="mass", initial_displacement=0.0, stiffness=[0.0, -100.0])
    model = builder.build()

    def last(v: Any, span: float) -> Any:
        run = shiftjax.simulate(model, span=span, step=1e-3, vary={KEY: v}, channels=["slide.q"])
        return run.channels["slide.q"][:, -1].sum()

    with pytest.warns(GradientWarning, match=r"member 0: a small change grows by \d\.\de\+1\d, so that rounding is"):
        jax.jvp(lambda v: last(v, 3.2), (jnp.zeros(1),), (jnp.ones(1),))
    jax.jvp(lambda v: last(v, 1.6), (jnp.zeros(1),), (jnp.ones(1),))  # exp(15) leaves nine digits, and nothing is said
    assert np.exp(15) * 2.2e-16 < LOST["f64"] < np.exp(29) / 16 * 2.2e-16


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_what_is_refused_whatever_the_numbers_is_refused_while_jit_traces() -> None:
    """By our own error, not by one that JAX wraps; a run alone is none to refuse."""

    def energy(lengths: Any) -> Any:
        given: dict[str, Any] = {"span": 0.02, "channels": ["energy.kinetic"]}
        return shiftjax.simulate("bricard", vary={"rod1:tip.T[0]": lengths}, **given).channels["energy.kinetic"].sum()

    with pytest.raises(ModelError, match=r"bricard:rod1:tip\.T\[0\]: found a derivative by a number for whose"):
        jax.jit(jax.grad(energy))(jnp.ones(1))
    assert np.isfinite(jax.jit(energy)(jnp.ones(1)))


simulate: Any = shiftjax.simulate
several: Any = Polynomial
DRIVES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "harmonic": (lambda x: Harmonic(amplitude=x), r"Harmonic\.amplitude: .*JAX traces.*JOINT_drive\.amplitude"),
    "list": (lambda x: Polynomial([x, 1.0]), r"Polynomial\.coefficients\[0\]: .*JOINT_drive\.coefficients"),
    "array": (lambda x: several(jnp.stack([x, x])), r"Polynomial\.coefficients: .*JAX traces.*vary="),
    "function": (lambda x: lambda t: x * jnp.sin(t), r"drive crank_pivot: .*JAX traces; .*refers to known"),
}


@pytest.mark.parametrize("name", DRIVES)
def test_drives_of_traced_numbers(name: str) -> None:
    made, match = DRIVES[name]
    with pytest.raises(ModelError, match=match):
        jax.grad(lambda x: simulate("four_bar", span=0.01, drive={"crank_pivot": made(x)}).status.sum())(1.0)


def test_a_model_with_traced_numbers() -> None:
    with pytest.raises(ModelError, match=r"coupler\.mass: .*JAX traces.*vary=\{'four_bar:coupler"):
        jax.grad(lambda x: shiftjax.load("four_bar").replace({"coupler.mass": x}))(1.0)
