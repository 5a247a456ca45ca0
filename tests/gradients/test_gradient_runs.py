"""Gradients of whole runs through the public `simulate`: every kind of run, budgets, bits, members that fail, metrics.

Reverse mode against forward mode, and against differences of replayed runs where steps are chosen on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.extensions import maxwell, mechanisms  # noqa: F401
from tests.support.models.mechanisms import four_bars, rod

MODES = 1e-11  # of the largest derivative of a number: the same sums in another order
OTHER_RUN = 1e-10  # the same of a run that is rounded otherwise
METRICS_MODES = 1e-10  # the same through quotients of small differences
REPLAYED = 1e-7  # of the largest derivative: differences of order 6 of runs along the same schedule
SINGLE = 2e-3  # f32 against f64, after 50 steps
ORDER_6 = tuple(zip((-3, -2, -1, 1, 2, 3), np.array([-1, 9, -45, 45, -9, 1]) / 60, strict=True))
COUPLER, SPEED, ANGLE = "four_bar:coupler.mass", "four_bar:crank_pivot.initial_velocity", "rocker_pivot.q"
LENGTH = "four_bar:coupler:tip.T[0]"
LONG = shiftjax.load("four_bar").numbers()[LENGTH]
MASSES = np.array([0.7, 1.0, 1.3, 0.9, 1.1])
Vary = Mapping[str, Any]


def weighed(result: shiftjax.Result) -> Any:
    """(B,) a smooth sum of all that was recorded."""
    y = jnp.concatenate([values.reshape(values.shape[0], -1) for values in result.channels.values()], 1)
    return y @ jnp.cos(1e-3 * jnp.arange(y.shape[1], dtype=y.dtype))


def gradient(model: Model | str, vary: Vary, **run: Any) -> dict[str, np.ndarray]:
    """Of `weighed`, in reverse mode: path -> (B,)."""
    given = {path: jnp.asarray(values, float) for path, values in vary.items()}
    found = jax.grad(lambda x: weighed(shiftjax.simulate(model, vary=x, **run)).sum())(given)
    return {path: np.asarray(values) for path, values in found.items()}


def tangents(model: Model | str, vary: Vary, **run: Any) -> dict[str, np.ndarray]:
    """The same in forward mode."""
    given = {path: jnp.asarray(values, float) for path, values in vary.items()}
    along = lambda path: {other: jnp.full_like(x, float(other == path)) for other, x in given.items()}  # noqa: E731
    total = lambda x: weighed(shiftjax.simulate(model, vary=x, **run))  # noqa: E731
    return {path: np.asarray(jax.jvp(total, (given,), (along(path),))[1]) for path in given}


def differences(
    model: Model | str, vary: Vary, h: float, only: Sequence[str] | None = None, **run: Any
) -> dict[str, np.ndarray]:
    """The same by differences of runs along the schedule of the run; for every number, or some, with the same step."""
    schedule = shiftjax.simulate(model, vary=vary, **run).schedule
    out = {}
    for path in vary if only is None else only:
        moved = lambda k, path=path: {p: np.asarray(x) + (k * h if p == path else 0.0) for p, x in vary.items()}  # noqa: E731
        ends = [w * weighed(shiftjax.simulate(model, vary=moved(k), schedule=schedule, **run)) for k, w in ORDER_6]
        out[path] = np.asarray(sum(ends)) / h
    return out


def agree(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray], tolerance: float) -> None:
    for path, slopes in wanted.items():
        assert np.isfinite(slopes).all() and np.abs(slopes).max() > 0, path
        assert np.abs(found[path] - slopes).max() <= tolerance * np.abs(slopes).max(), path


# -- kinds of runs -----------------------------------------------------------------------------------------------------


def test_through_repartitions() -> None:
    """Three of each member, which change the coordinates in which is integrated."""
    vary = {"rod2.mass": [1.0, 1.2], "rod4.mass": [1.0, 0.9], "joint1.initial_velocity": [6.0, 6.0]}
    run: dict[str, Any] = {"span": 1.5, "step": 1e-3, "output_step": 0.1, "channels": ["joint1.q", "joint3.v"]}
    assert (shiftjax.simulate("bricard", vary=vary, **run).certificate["repartitions"] >= 3).all()
    found = gradient("bricard", vary, **run)
    agree(found, tangents("bricard", vary, **run), MODES)
    agree(found, differences("bricard", vary, 1e-2, **run), REPLAYED)


def test_through_moved_steps_all_instants_of_which_are_recorded() -> None:
    """Three steps off flat poses of the first member: the instants inside are interpolated."""
    speed = 6.078740157480315  # rad/s, at which steps end next to flat poses
    vary = {"crank_0.mass": [1.2, 1.0], "pivot_0.initial_velocity": [speed, speed]}
    run: dict[str, Any] = {"span": 2.4, "step": 2e-3, "output_step": 2e-3, "channels": ["pivot_0.q", "pivot_2.q"]}
    schedule = shiftjax.simulate("n_four_bar_2", vary=vary, **run).schedule
    assert schedule is not None and (schedule.substructure == -1).sum() >= 3
    found = gradient("n_four_bar_2", vary, **run)
    agree(found, tangents("n_four_bar_2", vary, **run), MODES)
    agree(found, differences("n_four_bar_2", vary, 1e-2, **run), REPLAYED)


def flying() -> Model:
    """A body that floats and a rod on a ball: quaternions, no loop."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    a.body("hull", mass=2.0, inertia=(0.3, 0.4, 0.5), center_of_mass=(0.1, 0.2, 0.3))
    a.joint("free", "float", child="hull", initial_displacement={"T": (0.1, 0.2, 0.3), "rotation": (0.3, 0.2, 0.1)})
    a.body("rod", **rod(0.5)).joint("ball", "spherical", parent="hull", child="rod", initial_velocity=(1.0, 2.0, -1.0))
    return builder.build()


RUN: dict[str, Any] = {"span": 0.1, "step": 2e-3, "output_step": 0.02}
FOUR_BAR: Vary = {COUPLER: [0.8, 1.1], LENGTH: [LONG, 1.01 * LONG], SPEED: [1.0, -1.0]}
KINDS: dict[str, tuple[Callable[[], Model | str], Vary, dict[str, Any]]] = {
    "a loop": (lambda: "four_bar", FOUR_BAR, {"channels": [ANGLE, "coupler.position"], "hold": ["crank_pivot"]}),
    "semi-implicit Euler": (
        lambda: "four_bar", FOUR_BAR, {"channels": [ANGLE], "hold": ["crank_pivot"], "method": "euler"},
    ),
    "substructures on a base": (
        lambda: "three_slider_cranks",
        {"first_rod.mass": [0.5, 0.7], "second_crank_pivot.initial_velocity": [2.0, 3.0]},
        {"channels": ["first_guide.q", "second_guide.q"]},
    ),
    "equal islands": (
        lambda: four_bars(3), {"bar2:rocker.mass": [1.0, 1.2], "bar0:pivot.initial_velocity": [1.0, 2.0]},
        {"channels": [f"bar{k}:hinge.q" for k in range(3)]},
    ),
    "a tree": (lambda: "double_pendulum", {"link2.mass": [1.0, 1.2]}, {"channels": ["elbow.q"]}),
    "quaternions": (
        flying, {"rod.mass": [1.0, 1.2], "free.initial_displacement.rotation[0]": [0.3, 0.4]},
        {"channels": ["free.q", "rod.position"]},
    ),
    "states of forces": (
        mechanisms.damped, {"creep.k": [3.0, 4.0], "creep.initial_stretch": [0.2, 0.1], "coupler.mass": [1.0, 1.1]},
        {"channels": ["hinge.q", "creep.stretch"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_both_modes_agree(kind: str) -> None:
    make, vary, more = KINDS[kind]
    model, run = make(), {**RUN, **more}
    found = gradient(model, vary, **run)
    agree(found, tangents(model, vary, **run), MODES)
    agree(found, differences(model, vary, 1e-3, [*vary][-1:], **run), REPLAYED)


def test_single_precision() -> None:
    run: dict[str, Any] = {**RUN, "channels": [ANGLE], "hold": ["crank_pivot"]}
    agree(gradient("four_bar", FOUR_BAR, **run, precision="f32"), gradient("four_bar", FOUR_BAR, **run), SINGLE)
    agree(tangents("four_bar", FOUR_BAR, **run, precision="f32"), gradient("four_bar", FOUR_BAR, **run), SINGLE)


def test_the_backend_xla_has_the_same_gradient() -> None:
    """By `jax.vjp` of the step loop, which shares no code with the compiled sweeps; two legs, ticks and a metric."""
    run = {"span": 0.08, "output_step": 0.004, "channels": [ANGLE], "hold": ["crank_pivot"]}

    def total(masses: Any, backend: str) -> Any:
        metrics = {"most": "maximum(crank_pivot.v)"}
        found = shiftjax.simulate("four_bar", vary={COUPLER: masses}, metrics=metrics, backend=backend, **run)
        return found.channels[ANGLE].sum() + found.metrics["most"].sum()

    wanted, found = (np.asarray(jax.grad(total)(jnp.asarray(MASSES), backend)) for backend in ("cpu", "xla"))
    assert np.abs(found - wanted).max() <= OTHER_RUN * np.abs(wanted).max()


def test_the_backend_xla_has_the_same_tangents() -> None:
    run = {"span": 0.02, "channels": ["pivot.q"], "step": 1e-3}
    given = {"pivot.initial_displacement": np.array([0.3, 0.5])}
    wanted, found = (tangents("pendulum", given, backend=backend, **run) for backend in ("cpu", "xla"))
    for path, values in wanted.items():
        assert np.abs(found[path] - values).max() <= MODES * np.abs(values).max()
