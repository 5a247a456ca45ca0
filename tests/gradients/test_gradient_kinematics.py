"""Slopes of travels, dead points, assemblies, paths and extremes along them, by implicit functions. Row 20, F8."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import GradientWarning
from tests.kinematics.mechanisms import LEGS, four_bar, three_legs

EXACT = 1e-12  # against complex steps of closed forms: rounding of a few solved systems
DIFFERENCED = 1e-9  # against differences of fourth order
SIDES = (2.0, 7.0, 9.0, 6.0)  # crank, coupler, rocker, ground
PATHS = ("a:crank:tip.T[0]", "a:coupler:tip.T[0]", "a:rocker:tip.T[0]", "fixed:right.T[0]")
TINY = 1e-40  # of complex steps
MODEL = four_bar(SIDES[3], *SIDES[:3])


def lengths(x: jax.Array) -> dict[str, jax.Array]:
    return {path: x[k : k + 1] for k, path in enumerate(PATHS)}


def complex_steps(function, x: np.ndarray) -> np.ndarray:
    """(outputs, len(x)) slopes of an analytic function."""
    return np.stack([np.imag(function(x + 1j * TINY * e)) / TINY for e in np.eye(len(x))], axis=-1)


def both_ways(function, x: jax.Array, compiled: bool = True) -> np.ndarray:
    """The Jacobian by forward mode, which that by reverse mode must equal; it takes half of the time compiled."""
    ways = [way(function) for way in (jax.jacfwd, jax.jacrev)]
    forward, backward = (np.asarray((jax.jit(way) if compiled else way)(x)) for way in ways)
    assert forward == pytest.approx(backward, abs=EXACT)
    return forward


def differenced(function, x: np.ndarray, h: float) -> np.ndarray:
    """Differences of fourth order."""
    columns = []
    for e in np.eye(len(x)):
        one, two = (np.asarray(function(x + k * h * e)) - np.asarray(function(x - k * h * e)) for k in (1, 2))
        columns.append((8.0 * one - two) / (12.0 * h))
    return np.stack(columns, axis=-1)


def dead_points(x: np.ndarray) -> np.ndarray:
    """The swing of a rocker, and the crank's angle where it is folded onto the coupler and in line with it."""
    a, b, c, d = x
    rocker = [np.arccos((c * c + d * d - r * r) / (2.0 * c * d)) for r in (b + a, b - a)]
    crank = [np.arccos((r * r + d * d - c * c) / (2.0 * r * d)) for r in (b - a, b + a)]
    return np.array([rocker[0] - rocker[1], np.pi - crank[0], -crank[1]])


def test_ends_of_a_travel_have_slopes() -> None:
    """A rocker's limits, and where the crank stands there: row 2 of kinematics, through folds."""

    def ends(x: jax.Array) -> jax.Array:
        rocker = shiftjax.travel(MODEL, "rocker_pivot", vary=lengths(x))
        crank = [pose["a:crank_pivot"][0] for pose in (rocker.at_low, rocker.at_high)]
        return jnp.stack([(rocker.high - rocker.low)[0], *crank])

    at = jnp.array(SIDES)
    assert np.rad2deg(np.asarray(ends(at))) == pytest.approx([38.942441269, 70.528779366, -70.528779366], abs=1e-9)
    assert np.asarray(ends(at)) == pytest.approx(dead_points(np.array(SIDES)), abs=EXACT)
    assert both_ways(ends, at) == pytest.approx(complex_steps(dead_points, np.array(SIDES)), abs=EXACT)
    compiled = jax.jit(jax.grad(lambda x: ends(x)[0]))(at)
    assert np.asarray(compiled) == pytest.approx(complex_steps(dead_points, np.array(SIDES))[0], abs=EXACT)


def test_a_crank_that_turns_round_has_no_slopes() -> None:
    def high(x: jax.Array) -> jax.Array:
        return shiftjax.travel(MODEL, "crank_pivot", vary=lengths(x)).high[0]

    assert jax.value_and_grad(high)(jnp.array(SIDES))[0] == np.inf
    assert (jax.grad(high)(jnp.array(SIDES)) == 0.0).all()


def test_many_designs_have_slopes_of_their_own() -> None:
    cranks = jnp.array([1.5, 2.0, 2.5])

    def swing(x: jax.Array) -> jax.Array:
        rocker = shiftjax.travel(MODEL, "rocker_pivot", vary={PATHS[0]: x})
        return rocker.high - rocker.low

    slopes = both_ways(swing, cranks)
    exact = [complex_steps(dead_points, np.array([x, *SIDES[1:]]))[0, 0] for x in cranks]
    assert slopes == pytest.approx(np.diag(exact), abs=EXACT)


def rocker_angles(x: np.ndarray) -> np.ndarray:
    """Of both assemblies at a crank's angle, the fifth number."""
    a, b, c, d, angle = x
    px, py = a * np.cos(angle) - d, a * np.sin(angle)
    along = (px * px + py * py + c * c - b * b) / (2.0 * c)
    return np.array([2.0 * np.arctan((py + s * np.sqrt(px * px + py * py - along**2)) / (px + along)) for s in (1, -1)])


def test_assemblies_have_slopes_by_numbers_and_inputs() -> None:
    def rocker(x: jax.Array) -> jax.Array:
        return jnp.sort(shiftjax.branches(MODEL, {"crank_pivot": x[4:]}, vary=lengths(x))["rocker_pivot"])

    at = np.array([*SIDES, 0.7])
    order = np.argsort(rocker_angles(at))
    assert np.asarray(rocker(jnp.array(at))) == pytest.approx(rocker_angles(at)[order], abs=EXACT)
    slopes = both_ways(rocker, jnp.array(at), compiled=False)  # how many assemblies there are must be known
    assert slopes == pytest.approx(complex_steps(rocker_angles, at)[order], abs=EXACT)


def test_six_assemblies_of_a_platform_have_slopes() -> None:
    """Row 7 of kinematics, along one direction of its legs' lengths."""
    way, model = np.array([0.3, -0.5, 0.8]), three_legs()

    def angles(x: jax.Array) -> jax.Array:
        at = {f"slide_{k}": LEGS[k] + way[k] * x for k in range(3)}
        return jnp.reshape(shiftjax.branches(model, at)["base_0"], (len(x), 6))

    h = 1e-4
    two_before, before, after, two_after = np.asarray(angles(h * jnp.array([-2.0, -1.0, 1.0, 2.0])))
    known = (8.0 * (after - before) - (two_after - two_before)) / (12.0 * h)
    _, slopes = jax.jvp(angles, (jnp.zeros(1),), (jnp.ones(1),))
    assert np.asarray(slopes)[0] == pytest.approx(known, abs=DIFFERENCED)


def test_how_many_assemblies_there_are_must_be_known() -> None:
    def rocker(x: jax.Array) -> jax.Array:
        return jnp.asarray(shiftjax.branches(MODEL, {"crank_pivot": 0.7}, vary=lengths(x))["rocker_pivot"])

    with pytest.raises(shiftjax.ModelError, match="how many assemblies"):
        jax.jit(rocker)(jnp.array(SIDES))


def test_paths_and_their_extremes_have_slopes() -> None:
    """Positions, rates and advantage by a coupler's length; the swing, and the largest ratio of speeds inside."""
    way = np.linspace(0.0, 2.0 * np.pi, 73)

    def path(x: jax.Array) -> jax.Array:
        poses = shiftjax.follow(
            "four_bar",
            {"crank_pivot": way},
            channels=[
                "rocker_pivot.q",
                "rocker_pivot.v",
                "coupler:tip.position",
                "rocker_pivot.a",
                "crank_pivot.mobility",
            ],
            metrics={"swing": "peak_to_peak(rocker_pivot.q)", "ratio": "maximum(abs(rocker_pivot.v)) / 2"},
            vary={"coupler:tip.T[0]": x},
        )
        whole = [values[0, ::12].ravel() for values in poses.channels.values()]
        return jnp.concatenate([*whole, poses.metrics["swing"], poses.metrics["ratio"]])

    at = np.array([0.5])
    slopes = both_ways(path, jnp.array(at))
    known = differenced(path, at, 1e-4)
    assert np.abs(known).max() > 1.0
    assert slopes[:-2] == pytest.approx(known[:-2], abs=1e-10)
    assert slopes[-2:] == pytest.approx(known[-2:], abs=1e-8)  # extremes are good to 1e-11 themselves, over 1e-4


def test_the_swing_along_a_path_is_that_of_the_travel() -> None:
    def by_path(x: jax.Array) -> jax.Array:
        way = {"crank_pivot": np.linspace(0.0, 2.0 * np.pi, 73)}
        poses = shiftjax.follow(MODEL, way, metrics={"swing": "peak_to_peak(rocker_pivot.q)"}, vary=lengths(x))
        return poses.metrics["swing"][0]

    slopes = np.asarray(jax.grad(by_path)(jnp.array(SIDES)))
    assert slopes == pytest.approx(complex_steps(dead_points, np.array(SIDES))[0], abs=1e-5)  # places of extremes: 1e-7


def test_slopes_next_to_a_singular_pose_are_doubted() -> None:
    """A rocker of a change point, 1e-13 before it: the pose at its end is next to where branches meet."""

    def swing(x: jax.Array) -> jax.Array:
        angle = shiftjax.branches(MODEL, {"rocker_pivot": x})["crank_pivot"]
        return angle[0]

    end = float(shiftjax.travel(MODEL, "rocker_pivot").high)
    with pytest.warns(GradientWarning, match="next to a pose at which what it follows from is singular"):
        jax.grad(swing)(jnp.array([end - 1e-13]))


def test_a_number_that_opens_a_loop_has_no_slope() -> None:
    """A pin that leaves the plane of a four-bar: no motion closes the loop again, and nothing is made up."""

    def high(x: jax.Array) -> jax.Array:
        return shiftjax.travel(MODEL, "rocker_pivot", vary={"a:coupler:tip.T[2]": x}).high[0]

    with pytest.warns(GradientWarning, match="no gradient"):
        assert np.isnan(jax.grad(high)(jnp.zeros(1))).all()
    with pytest.warns(GradientWarning, match="no gradient"):
        assert np.isnan(jax.jvp(high, (jnp.zeros(1),), (jnp.ones(1),))[1])


PLACED = {
    "mean": "mean(rocker_pivot.q)",
    "rms": "rms(coupler:tip.position[2])",
    "area": "integral(coupler:tip.position[0])",
    "final": "final(rocker_pivot.q) ** 2",
    "value": "value_at(rocker_pivot.v, 0.734)",
    "near": "path_distance(coupler:tip.position, [[0.2, 0, 0.2], [0.5, 0, 0.4]])",
    "late": "tracking_error(coupler:tip.position, [0.5, 1.3], [[0.2, 0, 0.2], [0.5, 0, 0.4]])",
}


@pytest.mark.parametrize("way", [np.linspace(0.0, 2.0, 25), np.linspace(2.0, 0.0, 25)], ids=["rising", "falling"])
def test_metrics_of_places_along_a_path_have_slopes(way: np.ndarray) -> None:
    """Means, values and distances, both ways, against differences; they are what a path without slopes says."""
    metrics = PLACED if way[-1] > 0 else {k: v for k, v in PLACED.items() if k not in ("value", "late")}

    def path(x: Any) -> Any:
        poses = shiftjax.follow("four_bar", {"crank_pivot": way}, metrics=metrics, vary={"coupler:tip.T[0]": x})
        return jnp.stack([jnp.asarray(values)[0] for values in poses.metrics.values()])

    at = np.array([0.5])
    values, _ = jax.jvp(path, (jnp.array(at),), (jnp.ones(1),))
    assert values == pytest.approx(np.asarray(path(at)), abs=1e-9)  # between poses those are on curves of degree five
    known = differenced(path, at, 1e-4)
    assert np.abs(known).min() > 1e-3
    assert both_ways(path, jnp.array(at)) == pytest.approx(known, abs=1e-8)  # curves between poses, over 1e-4


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("maximum(rocker_pivot.q - t)", "t, in a metric that has slopes"),
        (lambda u, channels: u, "a function"),
    ],
)
def test_metrics_that_have_no_slopes_are_refused(metric: Any, message: str) -> None:
    def path(x: jax.Array) -> jax.Array:
        poses = shiftjax.follow(
            MODEL, {"crank_pivot": np.linspace(0.0, 1.0, 5)}, metrics={"m": metric}, vary={PATHS[0]: x}
        )
        return poses.metrics["m"][0]

    with pytest.raises(shiftjax.ModelError, match=message):
        jax.grad(path)(jnp.array([2.0]))


def test_accelerations_of_drivers_count_in_slopes() -> None:
    """Along a law in time a driver accelerates, and so do others by it; also along places with stated accelerations."""
    times = np.linspace(0.0, 1.0, 7)
    law = shiftjax.Harmonic(offset=0.3, rate=0.5, amplitude=0.4, frequency=3.0)

    def ends(x: Any) -> Any:
        given = {"vary": lengths(x), "channels": ["a:rocker_pivot.a"]}
        return shiftjax.follow(MODEL, {"a:crank_pivot": law}, times, **given).channels["a:rocker_pivot.a"][0]

    x = np.array(SIDES)
    slopes = both_ways(ends, jnp.asarray(x))
    assert slopes == pytest.approx(differenced(ends, x, 1e-3), abs=1e-7)  # noise of accelerations over the step
