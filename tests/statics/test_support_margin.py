"""The margin of static stability over a support polygon: a channel, an event, a metric. M8b."""

from itertools import permutations
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.rotations import rotation_of_vector
from tests.statics.probing import BODY, FEET, FOOT, TIP, prober

ROUNDING = 1e-13  # m, of feet within some metres
RUN = 1e-10  # m and s: of a driven motion, which steps do not blur
DIFFERENCES = 1e-9  # h^2 at h = 1e-5, and rounding over h
PATHS = {"foot": "base:foot_{}.T[{}]", "centre": "base.center_of_mass[{}]", "g": "model_parameters.gravity[{}]"}


def stand(feet: int) -> Model:
    """A body on some feet, and an arm above it."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("robot")
    frames = {f"foot_{k}": (float(np.cos(2.0 * k)), float(np.sin(2.0 * k)), 0.1 * k) for k in range(feet)}
    a.body("base", mass=3.0, inertia=(0.1,) * 3, frames=frames)
    a.body("arm", mass=1.0, inertia=(0.1,) * 3, center_of_mass=(0.4, 0.0, 0.0))
    a.joint("turn", "Rz", child="base").joint("hip", "Ry", parent="base", child="arm")
    return builder.build()


def path_of(order: Any) -> str:
    return f"support_margin({', '.join(f'base:foot_{k}' for k in order)})"


def varied(feet: np.ndarray, centre: np.ndarray, gravity: np.ndarray) -> dict[str, np.ndarray]:
    """Number path -> (B,) of feet (B, n, 3), the centre of the base (B, 3) and gravity (B, 3)."""
    vary = {PATHS["foot"].format(k, i): feet[:, k, i] for k in range(feet.shape[1]) for i in range(3)}
    for name, values in (("centre", centre), ("g", gravity)):
        vary |= {PATHS[name].format(i): values[:, i] for i in range(3)}
    return vary


def drawn(feet: int, members: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(members, feet, 3)), 1.3 * rng.normal(size=(members, 3)), rng.normal(size=(members, 3))


def across(points: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """(n, 2) of points (n, 3) on a plane across gravity."""
    return points @ np.linalg.svd(gravity[None])[2][1:].T


def by_hull(points: np.ndarray, centre: np.ndarray) -> tuple[float, bool]:
    """The signed distance from a centre (2,) to the convex hull of points (n, 2), and whether a corner is nearest."""
    hull = ConvexHull(points)
    inside = -(hull.equations[:, :2] @ centre + hull.equations[:, 2])
    if inside.min() > 0.0:
        return float(inside.min()), False
    sides = points[hull.simplices]
    ways = sides[:, 1] - sides[:, 0]
    share = np.clip(((centre - sides[:, 0]) * ways).sum(1) / (ways * ways).sum(1), 0.0, 1.0)
    distances = np.linalg.norm(sides[:, 0] + share[:, None] * ways - centre, axis=1)
    return -float(distances.min()), bool(share[distances.argmin()] in (0.0, 1.0))


def whole_centre(centre: np.ndarray) -> np.ndarray:
    """Of base and arm, the arm at rest where it is drawn."""
    return (3.0 * centre + np.array([0.4, 0.0, 0.0])) / 4.0


@pytest.mark.parametrize("feet", [3, 4, 6])
def test_it_is_the_distance_to_the_convex_hull(feet: int) -> None:
    """Of random feet, centres and directions of gravity, inside, outside beside an edge, and beyond a corner."""
    members = 200
    points, centre, gravity = drawn(feet, members, feet)
    path = path_of(range(feet))
    margins = shiftjax.assemble(stand(feet), vary=varied(points, centre, gravity), channels=[path]).channels[path][:, 0]
    oracle = [by_hull(across(points[k], gravity[k]), across(whole_centre(centre[k])[None], gravity[k])[0])
              for k in range(members)]  # fmt: skip
    assert np.abs(margins - [one[0] for one in oracle]).max() < ROUNDING
    kinds = [0.0 < distance for distance, _ in oracle], [corner for _, corner in oracle]
    assert all(10 < np.sum(kind) < members - 10 for kind in kinds)


def test_single_precision_has_it_to_its_rounding() -> None:
    """The same lane code in f32: to some 1e-6 of metres."""
    points, centre, gravity = drawn(4, 20, 5)
    path, vary = path_of(range(4)), varied(points, centre, gravity)
    exact, coarse = (
        shiftjax.assemble(stand(4), vary=vary, channels=[path], precision=precision).channels[path]
        for precision in ("f64", "f32")
    )
    assert np.abs(exact - coarse).max() < 5e-6


def test_neither_order_nor_a_turn_about_gravity_matters() -> None:
    """Another order of feet, inner ones among them, and the same turned about gravity, and lifted along it."""
    points, centre, gravity = drawn(4, 20, 11)
    paths = [path_of(order) for order in permutations(range(4))]
    model = stand(4)
    given = model.replace({"arm.center_of_mass[0]": 0.0})
    channels = shiftjax.assemble(given, vary=varied(points, centre, gravity), channels=paths).channels
    first = channels[paths[0]]
    assert max(np.abs(channels[path] - first).max() for path in paths) < ROUNDING
    axes = gravity / np.linalg.norm(gravity, axis=1, keepdims=True)
    turns = np.array([rotation_of_vector(0.3 * (k + 1) * axis) for k, axis in enumerate(axes)], float)
    turned = np.einsum("bij,bkj->bki", turns, points) + 2.0 * axes[:, None] * np.arange(4)[:, None]
    moved = varied(turned, np.einsum("bij,bj->bi", turns, centre), gravity)
    again = shiftjax.assemble(given, vary=moved, channels=paths[:1]).channels[paths[0]]
    assert np.abs(again - first).max() < 10.0 * ROUNDING


def test_feet_on_one_line_hold_along_it() -> None:
    """Of two feet, and of several of a planar mechanism, it is the way to the nearer end: that across is not looked
    at."""
    x = np.array([[0.4, -1.0, 0.2], [1.0, 0.9, -2.0]])
    points = np.stack([x, np.zeros_like(x), 0.3 * x], axis=-1)
    centre = np.array([[0.1, 0.0, 1.0], [0.3, 0.2, 1.0]])
    gravity = np.array([[0.0, 0.0, -9.81]] * 2)
    paths = [path_of(range(3)), path_of([2, 0, 1]), path_of([0, 1])]
    channels = shiftjax.assemble(stand(3), vary=varied(points, centre, gravity), channels=paths).channels
    c = np.array([whole_centre(one)[0] for one in centre])
    for path, feet in zip(paths, (x, x, x[:, :2]), strict=True):
        expected = np.minimum(feet.max(1) - c, c - feet.min(1))
        assert np.abs(channels[path][:, 0] - expected).max() < ROUNDING
    assert (channels[paths[2]][:, 0] < 0.0).tolist() == [False, True]


def test_it_is_a_metric_an_event_and_a_channel_of_poses() -> None:
    """An arm that a driver swings: margin a - m L cos t / (M + m), its smallest value and where it comes to a bound."""
    model, t = prober(), np.linspace(-1.5, 1.5, 31)
    expected = FOOT - TIP * 2.0 * np.cos(t) / (BODY + TIP)
    drive = {"hip": shiftjax.Polynomial([-1.5, 1.0]), "probe": shiftjax.Polynomial([2.0])}
    run = shiftjax.simulate(
        model, 3.0, 1e-3, output_step=0.1, drive=drive, channels=[FEET],
        metrics={"least": f"minimum({FEET})", "twice": f"final(2 * {FEET})", "tipped": "time_of(tips)"},
        events={"tips": {"of": FEET, "direction": "down"}},
    )  # fmt: skip
    assert np.abs(run.channels[FEET] - expected).max() < RUN and run.units[FEET] == "m"
    assert run.metrics["least"] == pytest.approx(expected[15], abs=RUN) and run.metric_units["least"] == "m"
    assert run.metrics["twice"] == pytest.approx(2.0 * expected[-1], abs=RUN)
    tips = 1.5 - np.arccos(FOOT * (BODY + TIP) / (2.0 * TIP))
    assert run.metrics["tipped"] == pytest.approx(tips, abs=RUN)
    least = {"least": f"minimum({FEET})"}
    path = shiftjax.follow(model, {"hip": t, "probe": np.full(31, 2.0)}, channels=[FEET], metrics=least)
    assert np.abs(path.channels[FEET] - expected).max() < ROUNDING
    assert path.metrics["least"] == pytest.approx(expected[15], abs=RUN)


def test_metrics_of_it_have_slopes() -> None:
    """dM/dm of a - m L / (M + m) at the arm's lowest margin, by JAX and by differences."""
    model = prober()
    drive = {"hip": shiftjax.Polynomial([0.0]), "probe": shiftjax.Polynomial([0.5])}

    def margin(mass: Any) -> Any:
        run = shiftjax.simulate(
            model, 0.01, 1e-3, drive=drive, vary={"tip.mass": mass}, metrics={"m": f"minimum({FEET})"}
        )
        return run.metrics["m"]

    slope = jax.grad(lambda mass: margin(mass)[0])(jnp.array([TIP]))[0]
    assert slope == pytest.approx(-0.5 * BODY / (BODY + TIP) ** 2, rel=1e-12)
    h = 1e-5
    ends = margin(np.array([TIP + h, TIP - h]))
    assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * h), abs=DIFFERENCES)


def test_what_it_stands_on_is_left_out() -> None:
    """A step with mass beside the robot counts, unless the robot, or its body, is named."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    frames = {"left": (-0.1, 0.0, 0.0), "right": (0.1, 0.0, 0.0)}
    robot = builder.assembly("robot").body("body", mass=2.0, inertia=(0.1,) * 3, frames=frames)
    robot.joint("stand", "rigid", child="body")
    robot.body("arm", mass=1.0, inertia=(0.1,) * 3, center_of_mass=(0.15, 0.0, 0.0))
    robot.joint("hip", "Ry", parent="body", child="arm")
    step = builder.assembly("stairs").body("step", mass=10.0, inertia=(0.1,) * 3, center_of_mass=(1.0, 0.0, 0.0))
    step.joint("ground", "rigid", child="step")
    feet = "support_margin(body:left, body:right{})"
    paths = [feet.format(of) for of in ("", ", of=robot", ", of=robot:body", ", of = step")]
    stood = shiftjax.assemble(builder.build(), channels=paths, metrics={"m": f"final({paths[1]})"})
    expected = [0.1 - (10.0 + 0.15) / 13.0, 0.1 - 0.05, 0.1, 0.1 - 1.0]
    assert [stood.channels[path][0] for path in paths] == pytest.approx(expected, abs=ROUNDING)
    assert stood.metrics["m"] == pytest.approx(0.05, abs=ROUNDING)


def test_studies_record_and_measure_it(shell, tmp_path: Path) -> None:
    """Of arms that stand still, a - m L cos t / (M + m)."""
    shiftjax.save(prober(), tmp_path / "prober.json")
    study = tmp_path / "study.toml"
    study.write_text(
        f"""model = "prober.json"
span = 0.01
step = 1e-3
channels = ["{FEET}"]
[drive]
hip = "polynomial(coefficients=[0.2])"
probe = "polynomial(coefficients=[0.6])"
[vary]
"tip.mass" = [0.3, 0.8]
[metrics]
margin = "minimum({FEET})"
[keep]
members = "all"
"""
    )
    code, _, err = shell("sweep", str(study), "--out", str(tmp_path / "out.zarr"))
    assert code == 0, err
    stored = shiftjax.Study(tmp_path / "out.zarr")
    mass = np.array([0.3, 0.8])
    expected = FOOT - mass * 0.6 * np.cos(0.2) / (BODY + mass)
    assert np.asarray(stored.table["margin"]) == pytest.approx(expected, abs=RUN)
    assert stored.member(1).channels[FEET][..., -1].ravel() == pytest.approx(expected[1:], abs=RUN)


def test_what_has_no_margin_is_said() -> None:
    model = stand(3)
    for path, words in (
        ("support_margin(base:foot_1)", "2 to 16 different frames"),
        ("support_margin()", "0 frames"),
        ("support_margin(base:foot_1, base:foot_1)", "a frame named twice"),
        ("support_margin(base:foot_1, base:fot_2)", "Did you mean 'base:foot_2'"),
        ("support_margin(base:foot_1, turn)", "a frame of an active body"),
        ("support_margin(base:foot_1, base:foot_2, of=robo)", "Did you mean 'robot'"),
    ):
        with pytest.raises(ModelError, match=words):
            shiftjax.assemble(model, channels=[path])
        if path != "support_margin()":
            with pytest.raises(ModelError, match=words):
                shiftjax.assemble(model, metrics={"m": f"final({path})"})
    path = path_of(range(3))
    with pytest.raises(ModelError, match="a model without gravity"):
        shiftjax.assemble(model.replace({"model_parameters.gravity[2]": 0.0}), channels=[path])
    with pytest.raises(ModelError, match="bodies without mass"):
        shiftjax.assemble(model.replace({"base.mass": 0.0, "arm.mass": 0.0}), channels=[path])
    with pytest.raises(ModelError, match="feet at one place"):
        shiftjax.assemble(prober().replace({"body:left.T[0]": FOOT, "body:left.T[2]": 0.1}), channels=[FEET])
    nowhere = shiftjax.assemble(model, vary={"model_parameters.gravity[2]": [-9.81, 0.0]}, channels=[path])
    assert np.isfinite(nowhere.channels[path][:, 0]).tolist() == [True, False]
