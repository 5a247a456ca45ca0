"""Centres of mass and momenta (D19), constrained Jacobians (D20) and forces (D26) of configurations against runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.run.closing import host_evaluation as host
from tests.support.models.small_loop import loop_states, small_loop

ALGEBRA = 1e-11  # relative: sums of a few bodies' terms
STEP = 1e-4  # s
DIFFERENCE = 1e-6  # relative: central differences of O(h^2)
BODIES = ("arm", "bead", "rod")
MASSES = np.array([1.3, 0.4, 0.9])
INERTIAS = np.array([(0.03, 0.05, 0.06), (0.004, 0.003, 0.002), (0.02, 0.03, 0.025)])  # kg m^2, about the centres


@pytest.fixture(scope="module")
def moved() -> tuple[Any, Any]:
    """A run of the small loop, and the configuration at its end."""
    asked = ("position", "velocity", "angular_velocity", "orientation")
    paths = [f"{body}:c.{what}" for body in BODIES for what in asked]
    reactions = ["ball.reaction_force", "end.reaction_force"]
    run = shiftjax.simulate(small_loop(), 0.05, channels=[*paths, *reactions, "energy.total"])
    return run, shiftjax.configuration(small_loop(), start=run)


def close(found: Any, expected: Any, tolerance: float = ALGEBRA) -> bool:
    return bool(np.abs(np.asarray(found) - expected).max() < tolerance * max(1.0, np.abs(expected).max()))


def test_centres_of_mass_and_momenta_are_those_of_a_run_d19(moved: tuple[Any, Any]) -> None:
    """Places, velocities and spins of the bodies as the run recorded them, by their masses."""
    run, at = moved

    def last(what: str) -> np.ndarray:
        return np.array([run.channels[f"{body}:c.{what}"][-1] for body in BODIES])

    places, velocities, spins = last("position"), last("velocity"), last("angular_velocity")
    assert at.mass() == pytest.approx(MASSES.sum()) and at.mass("bead") == 0.4
    centre = MASSES @ places / MASSES.sum()
    assert close(at.center_of_mass(), centre) and close(at.center_of_mass("rod"), places[2])
    assert close(at.center_of_mass(["arm", "rod"]), MASSES[[0, 2]] @ places[[0, 2]] / 2.2)
    assert close(at.center_of_mass_velocity(), MASSES @ velocities / MASSES.sum())
    axes = [at.pose(body)[:3, :3] for body in BODIES]
    spin = [R @ (inertia * (R.T @ w)) for R, inertia, w in zip(axes, INERTIAS, spins, strict=True)]
    linear = MASSES[:, None] * velocities
    about_world = np.sum(spin, 0) + np.cross(places, linear).sum(0)
    assert close(at.momentum(about="world"), [*about_world, *linear.sum(0)])
    about_centre = np.sum(spin, 0) + np.cross(places - centre, linear).sum(0)
    assert close(at.momentum(), [*about_centre, *linear.sum(0)])
    assert close(at.momentum("rod", axes="rod"), [*(axes[2].T @ spin[2]), *(axes[2].T @ linear[2])])
    for options in ({}, {"about": "arm:tip"}, {"of": "rod", "axes": "bead"}):
        assert close(at.momentum_matrix(**options) @ at.v, at.momentum(**options))
    assert close(at.total_energy(), run.channels["energy.total"][-1])


def test_newtons_law_of_the_whole_d19(moved: tuple[Any, Any]) -> None:
    """m a of the centre of mass is weight, reactions on the ground and the spring: the rate of its momentum."""
    run, at = moved
    forces = run.channels["ball.reaction_force"][-1] - run.channels["end.reaction_force"][-1]
    arm = at.pose("fixed:anchor")[:3, 3] - at.pose("rod")[:3, 3]
    length = np.linalg.norm(arm)
    spring = (90.0 * length - 20.0) * arm / length
    weight = at.mass() * np.array([0.7, 0.0, -9.81])
    acceleration = at.center_of_mass_acceleration()
    assert close(at.mass() * acceleration, weight + forces + spring, 1e-9)
    assert close(at.rate("momentum", about="world")[3:], at.mass() * acceleration)


def test_centres_of_mass_as_others_see_them_d19() -> None:
    """Velocity and acceleration are differences along the motion, relative to a moving body; J v and J', too."""
    at = loop_states()
    a = at.accelerations()

    def later(h: float) -> Any:
        q = host.retract(at.plan, at.q.T, (h * at.v + h**2 / 2 * a).T)
        return at.changed(q=q.T, v=at.v + h * a)

    after, before = later(STEP), later(-STEP)
    for of, options in ((None, {}), ("arm", {"relative_to": "rod"}), (None, {"relative_to": "bead", "axes": "bead"})):
        velocity, acceleration = (
            at.center_of_mass_velocity(of, **options),
            at.center_of_mass_acceleration(of, **options),
        )
        for rate, name in ((velocity, "center_of_mass"), (acceleration, "center_of_mass_velocity")):
            ends = [getattr(x, name)(of, **options) for x in (after, before)]
            assert close((ends[0] - ends[1]) / (2 * STEP), rate, DIFFERENCE * 10)
        J, slope = (getattr(at, what)("center_of_mass_jacobian", of, **options) for what in ("rate", "rate"))
        J = at.center_of_mass_jacobian(of, **options)
        assert close(np.einsum("bij,bj->bi", J, at.v), velocity)
        both = np.einsum("bij,bj->bi", J, a) + np.einsum("bij,bj->bi", slope, at.v)
        assert close(both, acceleration, 1e-10)


def test_constrained_jacobians_along_a_run_d20() -> None:
    """Velocity of the coupler's tip all along a turn: J of the crank alone times its speed."""
    joints = ("crank_pivot", "rocker_pivot", "crank_pin", "rocker_pin")
    paths = [f"{joint}.{word}" for joint in joints for word in "qv"]
    run = shiftjax.simulate("four_bar", 0.5, output_step=0.05, channels=[*paths, "coupler:tip.velocity"])
    q, v = (np.array([run.channels[f"{joint}.{word}"] for joint in joints]).T for word in "qv")
    at = shiftjax.configuration("four_bar", q=q, v=v, independent=["crank_pivot"])
    assert at.speed_names == tuple(f"four_bar:{joint}" for joint in joints)
    J = at.jacobian("coupler:tip", constrained=True)
    assert J.shape == (11, 6, 1)
    assert close(J[:, 3:, 0] * v[:, :1], run.channels["coupler:tip.velocity"], 1e-9)  # as runs close speeds


@pytest.mark.parametrize("name", ["double_pendulum", "four_bar"])
def test_forces_are_those_of_inverse_dynamics_d26(name: str) -> None:
    """M a + C v + g - tau along the driven coordinates, of a tree and of a closed loop by its crank."""
    model = shiftjax.load(name)
    count, rng = 3, np.random.default_rng(1)
    led = ["crank_pivot"] if name == "four_bar" else [path for path, _ in model.joints()]
    motion = {path: tuple(rng.uniform(0.5, 1.5, (3, count))) for path in led}
    answer = shiftjax.inverse_dynamics(model, motion)
    q, v, a = ({path: motion[path][k] for path in led} for k in range(3))
    at = shiftjax.configuration(model, q, v, a)
    order = [at.independent_names.index(model.resolve(path)) for path in led]
    rates = np.array([a[path] for path in led]).T[:, np.argsort(order)]
    left = np.einsum("bij,bj->bi", at.mass_matrix(constrained=True), rates)
    left = left + at.coriolis_forces(constrained=True) + at.gravity_forces(constrained=True)
    left = left - at.applied_forces(constrained=True)
    for path, place in zip(led, order, strict=True):
        assert close(left[:, place], answer.forces[path], 1e-10)
    assert close(at.accelerations(), np.einsum("bij,bj->bi", at.null_space(), rates) + carried(at), 1e-10)


def carried(at: Any) -> np.ndarray:
    """Accelerations that the speeds alone bring about, loops closed: the rate of Z times the independent speeds."""
    independent = [at.speed_names.index(name) for name in at.independent_names]
    return np.einsum("bij,bj->bi", at.rate("null_space"), at.v[:, independent])
