"""Gradients across jumps of forces: what the shift of the jump's instant adds, against motions known in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import shiftjax
from shiftjax import GradientWarning
from shiftjax.gradients.jumps import passages
from shiftjax.mechanism.model import Model
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, rod

SPAN, STEP = 0.5, 1e-3
OF_A_STEP = 6.0  # a derivative is off by so many steps [s] of itself, at most: the run is, too
MODES = 1e-11  # forward and reverse mode add up in other orders
OMEGA = 10.0  # rad/s, of 1 kg on 100 N/m


def slider(kind: str, numbers: Sequence[float], ends: str = "joint") -> Model:
    """A mass of 1 kg on a spring of 100 N/m, with a force of two heights on both sides of a knot.

    Args:
        numbers: height below the knot, above it, and the knot.
    """
    below, above, knot = map(float, numbers)
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    a.body("mass", mass=1.0, center_of_mass=(0.0, 0.0, 0.0), inertia=(1.0, 1.0, 1.0), frames={"tip": (0.0, 0.0, 0.0)})
    rest = {"stiffness": [0.0, 0.0], "damping": [0.0, 0.0]}
    a.joint("slide", "Tx", child="mass", initial_displacement=-0.1, initial_velocity=1.0, **rest)
    a.restraint("pull", "spring", joint="slide", coefficients=[[100.0, 0.0]])
    along: dict[str, Any] = {"joint": "slide"}
    if ends == "frames":
        along = {"frames": (("fixed", "origin"), ("mass", "tip")), "distance_type": "Tx"}
    a.restraint("rub", kind, coefficients=[[below], [above]], knot_points=[knot], **along)
    return builder.build()


def exact(kind: str, start: float, speed: float, below: float, above: float, knot: float, span: float = SPAN) -> float:
    """Speed at the end of the span, arc by arc: x'' = -100 x - f, f below or above by x (springs), x' (friction)."""
    x, v, t = start, speed, 0.0
    side = (v if kind == "friction" else x) >= knot
    while True:
        rest = -(above if side else below) / OMEGA**2
        a, b = x - rest, v / OMEGA

        def at(s: float, a: float = a, b: float = b, rest: float = rest) -> tuple[float, float]:
            c, sine = np.cos(OMEGA * s), np.sin(OMEGA * s)
            return rest + a * c + b * sine, OMEGA * (b * c - a * sine)

        def g(s: float, at: Callable[[float], tuple[float, float]] = at) -> float:
            return at(s)[1 if kind == "friction" else 0] - knot

        grid = np.linspace(1e-9, span - t, 4000)
        signs = np.array([g(s) >= 0.0 for s in grid])
        leaves = np.flatnonzero(signs != side)
        if not len(leaves):
            return at(span - t)[1]
        k = max(int(leaves[0]), 1)
        s: Any = brentq(g, grid[k - 1], grid[k], xtol=1e-14)
        (x, v), t, side = at(s), t + s, not side


CASES = {
    "friction": ("friction", (-0.1, 1.0), (-2.0, 2.0, 0.0)),
    "friction at a speed": ("friction", (-0.1, 1.0), (-1.0, 1.5, 0.4)),
    "a step in space": ("spring", (-0.1, 1.5), (0.0, 3.0, 0.12)),
}
PATHS = ("slide.initial_displacement", "slide.initial_velocity", "rub.coefficients[0][0]", "rub.coefficients[1][0]",
         "rub.knot_points[0]")  # fmt: skip


def last_speed(model: Model, x: Any, step: float = STEP, **more: Any) -> Any:
    """The speed at the end for numbers of `PATHS`."""
    vary = {path: number[None] for path, number in zip(PATHS, x, strict=True)}
    run = shiftjax.simulate(model, span=SPAN, step=step, vary=vary, channels=["slide.v"], **more)
    return run.channels["slide.v"][0, -1]


def slopes_of(kind: str, x: np.ndarray, delta: float = 1e-5) -> np.ndarray:
    """Derivatives of the exact motion by differences of order 4."""
    found = []
    for k in range(len(x)):
        moved = (exact(kind, *(x + m * delta * np.eye(len(x))[k])) for m in (-2, -1, 1, 2))
        a, b, c, d = moved
        found.append((a - 8 * b + 8 * c - d) / (12 * delta))
    return np.array(found)


@pytest.mark.parametrize("ends", ["joint", "frames"])
@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_the_motion(case: str, ends: str) -> None:
    """By start, both heights and the knot; forward and reverse mode alike; without the shift they are wrong."""
    kind, start, numbers = CASES[case]
    model, x = slider(kind, numbers, ends), np.array([*start, *numbers])
    wanted = slopes_of(kind, x)
    reverse = jax.grad(lambda z: last_speed(model, z))(jnp.array(x))
    forward = jax.jacfwd(lambda z: last_speed(model, z))(jnp.array(x))
    size = np.abs(wanted).max()
    assert np.abs(reverse - wanted).max() <= OF_A_STEP * STEP * size
    assert np.abs(forward - reverse).max() <= MODES * size


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("jumps_ignored")
def test_without_the_shift_they_are_wrong(case: str) -> None:
    """What the test above sees; and a member that is not followed says so."""
    kind, start, numbers = CASES[case]
    x = np.array([*start, *numbers])
    wanted = slopes_of(kind, x)
    with pytest.warns(GradientWarning, match="a:rub jumps by"):
        found = jax.grad(lambda z: last_speed(slider(kind, numbers), z))(jnp.array(x))
    assert np.abs(found - wanted).max() > 20 * OF_A_STEP * STEP * np.abs(wanted).max()


def test_they_converge_with_the_step() -> None:
    kind, start, numbers = CASES["a step in space"]
    x = np.array([*start, *numbers])
    wanted = slopes_of(kind, x)
    sizes = (1e-2, 1e-3, 1.25e-4)
    errors = [
        np.abs(jax.grad(lambda z, step=step: last_speed(slider(kind, numbers), z, step))(jnp.array(x)) - wanted).max()
        for step in sizes
    ]
    assert errors[2] < errors[1] < errors[0] and errors[2] < errors[0] / 16


def swinging(friction: float) -> Model:
    """A four-bar in gravity whose rocker's pivot has Coulomb friction."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("right", T=(GROUND, 0.0, 0.0))
    a = builder.assembly("a")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        a.body(name, **rod(length))
    a.joint("pivot", "Ry", child="crank", initial_displacement=-1.0, initial_velocity=2.0)
    a.joint("pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=0.5)
    a.joint("hinge", "Ry", parent=("fixed", "right"), child="rocker", initial_displacement=-1.5)
    a.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=-1.0)
    a.restraint("rub", "friction", joint="hinge", coefficients=[[-friction], [friction]], knot_points=[0.0])
    return builder.build()


def test_a_loop_with_friction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mechanism that swings to and fro, by a mass, a speed and the friction: against differences of fine runs."""
    model, step = swinging(0.3), 2e-4
    paths = ("coupler.mass", "pivot.initial_velocity", "rub.coefficients[1][0]")

    def run(x: Any) -> shiftjax.Result:
        vary: dict[str, Any] = dict(zip(paths, x, strict=True))
        return shiftjax.simulate(model, span=1.0, step=step, hold=["pivot"], vary=vary, channels=["pivot.v"])

    x = np.array([model.numbers()[model.resolve(path)] for path in paths])

    def last(z: Any) -> Any:
        one = run(z[:, None])
        return one.channels["pivot.v"][0, -1], one.certificate["jumps"]

    slopes, jumps = jax.grad(last, has_aux=True)(x)
    size = 0.02 * np.abs(x)  # the instants move by fifty steps: the runs' own errors of a step average out
    moved = np.array([x + m * d * e for d, e in zip(size, np.eye(3), strict=True) for m in (-2, -1, 1, 2)])
    y = run(moved.T).channels["pivot.v"][:, -1].reshape(3, 4)
    wanted = (y @ np.array([1, -8, 8, -1])) / 12 / size
    assert np.array_equal(jumps, [4])
    assert np.abs(slopes - wanted).max() < 2e-3 * np.abs(wanted).max()
    monkeypatch.setattr(passages, "MOST", 0)
    with pytest.warns(GradientWarning, match="rub jumps by 0.6 N m .*, and 3 times more"):
        smooth, _ = jax.grad(last, has_aux=True)(x)
    assert np.abs(smooth - wanted).max() > 0.05 * np.abs(wanted).max()


@pytest.mark.parametrize("mode", [jax.grad, jax.jacfwd])
def test_a_body_that_sticks_is_not_followed(mode: Callable[..., Any]) -> None:
    """It stops for good: its force goes to and fro from step to step, and gradients say that they ignore it."""
    model, x = slider("friction", (-20.0, 20.0, 0.0)), jnp.array([-0.1, 1.0, -20.0, 20.0, 0.0])
    with pytest.warns(GradientWarning, match=r"ignores .*a:rub jumps by 40 N at t = 0.1"):
        mode(lambda z: last_speed(model, z))(x)


def test_members_do_not_depend_on_each_other() -> None:
    """The first one meets no jump, the second one two, each of the others at other steps; alone they are the same."""
    kind, _, numbers = CASES["a step in space"]
    model, speeds = slider(kind, numbers), jnp.array([0.1, 1.5, 1.6, 1.7])

    def last(v: Any) -> Any:
        run = shiftjax.simulate(model, span=SPAN, step=STEP, vary={PATHS[1]: v}, channels=["slide.v"])
        return run.channels["slide.v"][:, -1].sum(), run.certificate["jumps"]

    together, jumps = jax.grad(last, has_aux=True)(speeds)
    assert np.array_equal(jumps, [0, 2, 2, 2])
    alone = [jax.grad(last, has_aux=True)(speeds[k : k + 1])[0] for k in range(4)]
    assert np.array_equal(together, np.concatenate(alone))
    batch = jax.vmap(jax.grad(lambda v: last(v[None])[0]))(speeds)
    assert np.array_equal(together, batch)


def test_on_the_reference_backend() -> None:
    kind, start, numbers = CASES["a step in space"]
    model, x = slider(kind, numbers), jnp.array([*start, *numbers])
    cpu, xla = (jax.grad(lambda z, on=on: last_speed(model, z, backend=on))(x) for on in ("cpu", "xla"))
    assert np.abs(cpu - xla).max() <= MODES * np.abs(cpu).max()
