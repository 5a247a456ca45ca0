"""Balls and tyres on heights (S29, S42): as on planes, in closed form in bowls; slopes of surfaces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.height_fields import height, nearest
from shiftjax.mechanism.model import Model
from tests.mechanics.forces.test_tyres import TYRE

G, R = 9.81, 0.1
SAME = 1e-9  # m, m/s: two ways of writing one plane, in 2 000 steps
HARD = {"radius": R, "k": 1e8, "damping": 0.5, "slip_speed": 1e-2}
FLAT: dict[str, Any] = {"xs": (), "ys": (), "heights": (), "polynomial": (), "size": None}
GRID = np.linspace(-1.0, 1.0, 9)
HILLS = FLAT | {"xs": [*GRID], "ys": [*GRID], "heights": (0.1 * np.sin(2 * GRID)[:, None] * np.cos(GRID)).tolist()}
POLYNOMIAL = FLAT | {"polynomial": [[0.1, 0.2, -0.3], [0.0, 0.5], [0.2]], "size": 2.0}


@pytest.mark.parametrize("n", [HILLS, POLYNOMIAL, HILLS | POLYNOMIAL | {"xs": [*GRID], "ys": [*GRID]}])
@pytest.mark.parametrize("place", [(0.13, -0.41), (1.4, -1.2)])
def test_slopes_of_surfaces(n: dict[str, Any], place: tuple[float, float]) -> None:
    """First and second derivatives of a height are those of differences, in a table and beyond it."""
    n = n if n["heights"] else n | {"xs": (), "ys": ()}
    x, y = place
    h = 1e-4
    z = lambda i, k: height(n, x + i * h, y + k * h).z  # noqa: E731
    point = height(n, x, y)
    first = [(z(1, 0) - z(-1, 0)) / (2 * h), (z(0, 1) - z(0, -1)) / (2 * h)]
    mixed = (z(1, 1) - z(1, -1) - z(-1, 1) + z(-1, -1)) / (4 * h**2)
    second = [(z(1, 0) - 2 * z(0, 0) + z(-1, 0)) / h**2, mixed, (z(0, 1) - 2 * z(0, 0) + z(0, -1)) / h**2]
    assert [point.x, point.y] == pytest.approx(first, abs=1e-7)
    assert [point.xx, point.xy, point.yy] == pytest.approx(second, abs=1e-6)


def test_a_table_goes_through_its_heights() -> None:
    for i, k in ((0, 0), (3, 5), (8, 8)):
        assert height(HILLS, GRID[k], GRID[i]).z == pytest.approx(HILLS["heights"][i][k], abs=1e-15)


def test_the_nearest_point_of_a_bowl() -> None:
    """Of z = (x^2 + y^2) / 2, whose least radius is 1 m: the normal through its point leads to p."""
    n = FLAT | {"polynomial": [[0.0, 0.0, 0.5], [0.0], [0.5]]}
    for x, y, distance in ((0.3, -0.4, 0.1), (0.9, 0.2, 0.4), (-0.5, 0.1, -0.2)):
        size = math.sqrt(1.0 + x * x + y * y)
        normal = np.array([-x, -y, 1.0]) / size
        p = np.array([x, y, 0.5 * (x * x + y * y)]) + distance * normal
        along, away = nearest(n, [*p], 0.5)
        assert away == pytest.approx(distance, abs=1e-8) and [*along] == pytest.approx([*normal], abs=2e-5)
    up, far = nearest(n, [0.0, 0.0, 7.0], 0.5)  # beyond the middle of the hollow: straight below
    assert far == 7.0 and up == [0.0, 0.0, 1.0]


def rolling(kind: str, slope: float, **numbers: Any) -> Model:
    """A ball let go on an incline: by the turn of a plane's frame, or by heights."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G)).frame("incline", rotation=(0.0, slope, 0.0))
    a = builder.assembly("a").body("ball", mass=2.0, inertia=(0.4 * 2.0 * R**2,) * 3)
    deep = math.sqrt(2.0 * G * math.cos(slope) / HARD["k"])
    start = [(R - deep) * math.sin(slope), 0.0, (R - deep) * math.cos(slope)]
    a.joint("free", "float", child="ball", initial_displacement={"T": start})
    frame = "incline" if kind == "ball_on_plane" else "origin"
    a.force("floor", kind, frames=["ball", ("fixed", frame)], friction_coefficient=0.4, **HARD, **numbers)
    return builder.build()


@pytest.mark.parametrize("heights", [{"polynomial": [[0.0], [-math.tan(0.2)]]},
                                     {"xs": [-1.0, 0.0, 1.0], "ys": [-1.0, 1.0],
                                      "heights": [[math.tan(0.2), 0.0, -math.tan(0.2)]] * 2}])  # fmt: skip
def test_a_plane_of_heights_is_a_plane(heights: dict[str, Any]) -> None:
    """A ball rolls down at 5/7 g sin(slope), the same by a turned plane, a polynomial and a table."""
    channels = ["ball.position", "ball.velocity", "ball.angular_velocity"]
    runs = []
    for model in (rolling("ball_on_plane", 0.2), rolling("ball_on_terrain", 0.2, **heights)):
        assert load(to_dict(model)) == model
        result = shiftjax.simulate(
            model, 0.2, 1e-4, channels=channels, output_step=0.02, vary={"ball.mass": [1.0, 2.0]}
        )
        assert (result.status == 0).all()
        runs.append(result.channels)
    for name in channels:
        assert np.abs(runs[0][name] - runs[1][name]).max() < SAME, name
    velocity = np.linalg.norm(runs[1]["ball.velocity"][1], axis=1)
    assert (velocity[-1] - velocity[5]) / 0.1 == pytest.approx(5 / 7 * G * math.sin(0.2), rel=1e-3)


def test_a_ball_circles_in_a_bowl() -> None:
    """Without friction w^2 r = g tan a, with a the slope where it touches, R - d from its middle, N = m g / cos a."""
    c, touch, mass = 0.8, 0.4, 2.0
    slope = math.atan(2.0 * c * touch)
    deep = math.sqrt(mass * G / math.cos(slope) / HARD["k"])
    r = touch - (R - deep) * math.sin(slope)
    z = c * touch**2 + (R - deep) * math.cos(slope)
    spin = math.sqrt(G * math.tan(slope) / r)
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a").body("ball", mass=mass, inertia=(0.4 * mass * R**2,) * 3)
    a.joint("free", "translational_3d", child="ball", initial_displacement={"x": r, "y": 0.0, "z": z},
            initial_velocity={"y": spin * r})  # fmt: skip
    bowl = {"polynomial": [[0.0, 0.0, c], [0.0], [c]]}
    a.force("floor", "ball_on_terrain", frames=["ball", "fixed"], **HARD, **bowl)
    result = shiftjax.simulate(builder.build(), 1.0, 1e-4, channels=["ball.position"], output_step=0.1)
    assert result.status == 0 and result.certificate["energy_error"] < 1e-8
    turn = spin * result.time
    exact = np.stack([r * np.cos(turn), r * np.sin(turn), 0.0 * turn + z], 1)
    assert np.abs(result.channels["ball.position"] - exact).max() < 1e-6  # Newton's steps end at 1e-7 of the ball


@pytest.mark.parametrize("kind", ["ball_on_terrain", "fiala_tyre"])
def test_high_above_hills_nothing_touches(kind: str) -> None:
    """Far beyond the middles of their hollows: it falls freely, with finite slopes."""
    steep = {key: HILLS[key] for key in ("xs", "ys")} | {"heights": (50.0 * np.array(HILLS["heights"])).tolist()}
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a").body("ball", mass=2.0, inertia=(0.1,) * 3)
    a.joint("free", "float", child="ball", initial_displacement={"T": [0.1, 0.2, 8.0]})
    numbers = HARD if kind == "ball_on_terrain" else TYRE
    a.force("floor", kind, frames=["ball", "fixed"], **numbers, **steep)
    result = shiftjax.simulate(builder.build(), 0.1, 1e-3, channels=["ball.position"], output_step=0.1)
    assert result.channels["ball.position"][-1] == pytest.approx([0.1, 0.2, 8.0 - 0.5 * G * 0.01], abs=1e-12)


def coasting(by: str) -> Model:
    """A wheel that is turned to the left of its way, on a road that rises along and across."""
    along, across = 0.1, 0.2
    up = np.array([-along, -across, 1.0]) / math.sqrt(1.0 + along**2 + across**2)
    x = np.array([1.0, 0.0, along]) / math.hypot(1.0, along)
    axes = np.stack([x, np.cross(up, x), up], 1)
    builder = ModelBuilder(gravity=(0.0, 0.0, -G)).frame("hill", R=axes.tolist())
    a = builder.assembly("a").body("wheel", mass=20.0, inertia=(0.6, 0.9, 0.6))
    place = axes @ [0.0, 0.0, TYRE["radius"] - 20.0 * G * up[2] / TYRE["vertical_stiffness"]]
    start = {"T": place.tolist(), "R": axes.tolist(), "rotation": [0.0, 0.0, 0.05]}
    a.joint(
        "free", "float", child="wheel", initial_displacement=start, initial_velocity=[5.0, 0.0, 0.5, 0.0, 15.0, 0.0]
    )
    heights = {"xs": [-4.0, 0.0, 4.0], "ys": [-4.0, 4.0],
               "heights": [[along * s - 4.0 * across for s in (-4.0, 0.0, 4.0)],
                           [along * s + 4.0 * across for s in (-4.0, 0.0, 4.0)]]}  # fmt: skip
    numbers = {**TYRE, "low_speed": 0.5, **(heights if by == "heights" else {})}
    a.force("tyre", "fiala_tyre", frames=["wheel", ("fixed", "hill" if by == "plane" else "origin")], **numbers)
    return builder.build()


def test_a_tyre_on_a_hill() -> None:
    """On an incline of heights a wheel rolls as on a turned plane."""
    channels = ["wheel.position", "wheel.angular_velocity"]
    one, other = (
        shiftjax.simulate(coasting(by), 0.2, 1e-4, channels=channels, output_step=0.02) for by in ("plane", "heights")
    )
    assert one.status == other.status == 0
    for name in channels:
        assert np.abs(one.channels[name] - other.channels[name]).max() < SAME, name
    assert np.ptp(one.channels["wheel.position"], axis=0).min() > 1e-2


@pytest.mark.parametrize(
    ("kind", "numbers", "message"),
    [
        ("ball_on_terrain", HARD, "neither heights nor a polynomial"),
        ("fiala_tyre", {**TYRE, "size": 1.0}, "a size without a polynomial"),
        ("fiala_tyre", {**TYRE, "xs": [0.0, 1.0]}, "xs or ys without heights"),
        ("ball_on_terrain", {**HARD, "xs": [0.0, 0.0], "ys": [0.0, 1.0], "heights": [[0.0] * 2] * 2}, "increasing"),
    ],
)
def test_what_no_terrain_can_be_is_refused(kind: str, numbers: dict[str, Any], message: str) -> None:
    builder = ModelBuilder()
    a = builder.assembly("a").body("ball", mass=1.0, inertia=(1.0,) * 3).joint("free", "float", child="ball")
    a.force("it", kind, frames=["ball", "fixed"], **numbers)
    with pytest.raises(ModelError, match=message):
        builder.build()
