"""Mobility of joints and influence coefficients, in assemblies, runs and paths. S18, S19, S20, S21, F8."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.run.closing.host_evaluation import closure
from shiftjax.run.start.prepare import prepare

ALGEBRA = 1e-12  # the same number by another way, of size 1


def mobilities(model: shiftjax.Model) -> dict[str, np.ndarray]:
    paths = [f"{path}.mobility" for path, joint in model.joints() if joint.type != "rigid"]
    return {path: np.ravel(x) for path, x in shiftjax.assemble(model, channels=paths).channels.items()}


def test_sarrus_has_published_mobilities() -> None:
    """Three legs: 1/18 at the outer joints and 2/9 at the knees, as a screenshot of the source tool has it."""
    for path, (value,) in mobilities(shiftjax.load("sarrus")).items():
        assert value == pytest.approx(2 / 9 if "knee" in path else 1 / 18, abs=ALGEBRA)


def test_mobilities_add_up_to_the_freedoms_and_are_those_of_a_projector() -> None:
    """Of the delta robot 9, of which 6 are its rods' spins; against the null space of NumPy's singular values."""
    idle = shiftjax.info(shiftjax.load("delta"))["idle"]  # which of them, and the joints that carry them
    assert sorted(one["body"] for one in idle) == sorted(
        f"delta:rod_{s}_{k}" for s in ("left", "right") for k in (1, 2, 3)
    )
    assert all(any(joint.startswith("delta:elbow") for joint in one["joints"]) for one in idle)
    for name, freedoms in (("delta", 9.0), ("bicycle_brake", 1.0), ("three_slider_cranks", 3.0)):
        model = shiftjax.load(name)
        values, prepared = mobilities(model), prepare(model, {})
        assert sum(part.sum() for part in values.values()) == pytest.approx(freedoms, abs=1e-11)
        for s, block in enumerate(prepared.plan.substructures):
            (J,) = closure(prepared.file_lane(), prepared.file_start.q, s)[1]
            _, sizes, right = np.linalg.svd(J)
            rank = int((sizes > 1e-8 * sizes[0]).sum())
            diagonal = (right[rank:] ** 2).sum(0)
            names = [prepared.plan.speed_names()[k] for k in block.columns]
            for joint in {one.partition("[")[0] for one in names}:
                mine = [d for one, d in zip(names, diagonal, strict=True) if one.partition("[")[0] == joint]
                assert values[f"{joint}.mobility"] == pytest.approx(mine, abs=1e-11)


def test_the_advantage_of_a_four_bar_is_the_root_of_two_mobilities() -> None:
    u = np.linspace(1.0, 6.0, 41)
    joints = ("crank_pivot", "rocker_pivot")
    channels = [f"{joint}.{what}" for joint in joints for what in ("mobility", "influence", "v")]
    path = shiftjax.follow("four_bar", {"crank_pivot": u}, channels=channels)
    crank, rocker = (path.channels[f"{joint}.mobility"] for joint in joints)
    assert np.abs(np.sqrt(rocker / crank) - np.abs(path.channels["rocker_pivot.v"])).max() < ALGEBRA
    assert np.abs(path.channels["rocker_pivot.influence"] - path.channels["rocker_pivot.v"]).max() < ALGEBRA
    assert np.abs(path.channels["crank_pivot.influence"] - 1.0).max() < ALGEBRA
    assert path.units["rocker_pivot.influence"] == "rad/rad"
    free = shiftjax.simulate("four_bar", 0.2, 1e-3, output_step=0.02, channels=channels[:1] + channels[3:4])
    at = np.array(free.channels["rocker_pivot.mobility"])
    assert at.shape == (11,) and (at < 1.0).all()


def test_influence_of_several_drivers_is_a_matrix() -> None:
    """Rates of any motion of the drivers are its product with theirs: a delta robot's elbow."""
    places = [f"shoulder_{k}" for k in (1, 2, 3)]
    model = shiftjax.load("delta")
    prepared = prepare(model, {})
    start = {one.path: float(prepared.file_start.q[one.q, 0]) for one in prepared.plan.coordinates}
    rates = np.array([0.3, -0.2, 0.5])
    drive = {path: (np.array([start[f"delta:{path}"]]), np.array([rate]), np.zeros(1))
             for path, rate in zip(places, rates, strict=True)}  # fmt: skip
    path = shiftjax.follow(model, drive, [0.0], channels=["elbow_left_2.v", "elbow_left_2.influence"])
    matrix = path.channels["elbow_left_2.influence"].reshape(3, 3)
    assert np.abs(matrix @ rates - path.channels["elbow_left_2.v"][0]).max() < ALGEBRA


def test_mobility_is_an_objective_with_slopes() -> None:
    """F8: a metric of mobility, differentiated by the coupler's length, against differences."""
    metrics = {"least": "mean(rocker_pivot.mobility)"}

    def least(length: jax.Array) -> jax.Array:
        run = shiftjax.simulate(
            "four_bar", 0.2, 2e-3, metrics=metrics, vary={"coupler:tip.T[0]": length}, accuracy="local"
        )
        return run.metrics["least"].sum()

    with jax.enable_x64(True):
        slope = float(jax.grad(least)(jnp.array([0.5]))[0])
    h = 1e-5
    high, low = (
        shiftjax.simulate(
            "four_bar", 0.2, 2e-3, metrics=metrics, vary={"coupler:tip.T[0]": [0.5 + k * h]}, accuracy="local"
        )
        for k in (1, -1)
    )
    assert slope == pytest.approx((high.metrics["least"][0] - low.metrics["least"][0]) / (2 * h), rel=1e-6)
