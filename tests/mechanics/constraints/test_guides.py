"""Points on curves and surfaces, and frames whose angles are driven (E5, E10): closed forms, loops, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.overview import acting_rows
from tests.mechanics.constraints.test_between_frames import bars
from tests.support.models.mechanisms import ROCKER

GAP = 1e-11  # m or rad
ENERGY = 1e-8  # of the largest energy, RK4 at 1 ms
BENT = 1e-6  # the same of work along a curve whose third derivative jumps at each point, 5 steps after the other
SPLINE = 2e-4  # m or rad: 24 points of a circle of 1 m, whose spline is off by (2 pi / 24)^4 / 384 and bends otherwise
G = 9.81


def bead(mass: float = 0.5, **start: Any) -> tuple[ModelBuilder, AssemblyBuilder]:
    """A point that moves and does not turn."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a").body("bead", mass=mass, inertia=(1e-4,) * 3)
    a.joint("free", "translational_3d", child="bead", **start)
    return builder, a


def run(model: Model, span: float, channels: list[str], energy: float = ENERGY, **more: Any) -> shiftjax.Result:
    assert load(to_dict(model)) == model
    result = shiftjax.simulate(model, span, 1e-3, channels=channels, output_step=span / 10, **more)
    assert (result.status == 0).all(), result.messages
    assert np.max(result.certificate["gap"]) < GAP and np.max(result.certificate["energy_error"]) < energy
    return result


def test_a_bead_on_a_helix() -> None:
    """Its way along is g (h / l) t^2 / 2 with l = sqrt(R^2 + h^2), of a pitch 2 pi h; the place says how far it is."""
    R, h = 0.3, 0.1
    turns = np.linspace(0.0, 4.0 * np.pi, 33)
    length = math.hypot(R, h)
    builder, a = bead(initial_displacement={"x": R, "y": 0.0, "z": 0.0})
    a.body("place", mass=0.0, inertia=(0.0,) * 3).joint("along", "Tx", child="place", initial_displacement=0.0)
    points = np.stack([R * np.cos(turns), R * np.sin(turns), -h * turns], 1).tolist()
    frames = ["fixed", "bead"]
    a.constraint("wire", "point_on_curve", frames=frames, joint="along", points=points, places=[*(length * turns)])
    found = run(builder.build(), 1.0, ["bead.position", "along.q", "wire.multiplier"], vary={"bead.mass": [0.5, 2.0]})
    way = 0.5 * G * h / length * found.time**2
    assert np.abs(found.channels["along.q"] - way).max() < 6e-4, "a natural spline is off where it begins"
    assert np.abs(found.channels["bead.position"][:, :, 2] + way * h / length).max() < 6e-4
    # what the wire bears, across it, is all but what moves the bead on: m sqrt((g R / l)^2 + (v^2 R / l^2)^2)
    speed = G * h / length * found.time[-1]
    across = math.hypot(G * R / length, speed**2 * R / length**2)
    force = np.linalg.norm(found.channels["wire.multiplier"][:, -1], axis=1)
    assert force == pytest.approx([0.5 * across, 2.0 * across], rel=1e-2)  # as its curvature is


def guided(by: str, points: int = 24) -> Model:
    """A crank and its coupler, whose end goes round the pivot of the rocker: on a wire, or by a rod without mass."""
    builder, bar = bars()
    bar.entry["bodies"] = [body for body in bar.entry["bodies"] if body["name"] != "rocker"]
    bar.entry["joints"] = [joint for joint in bar.entry["joints"] if joint["name"] != "hinge"]
    frames: list[Any] = [("fixed", "rocker"), ("coupler", "tip")]
    if by == "rod":
        bar.constraint("it", "distance", frames=frames, length=ROCKER)
    else:
        angles = 2.0 * np.pi * np.arange(points) / points
        ring = np.stack([np.cos(angles), 0.0 * angles, np.sin(angles)], 1) * ROCKER
        bar.body("place", mass=0.0, inertia=(0.0,) * 3).joint("along", "Tx", child="place", initial_displacement=1.4)
        bar.constraint("it", "point_on_curve", frames=frames, joint="along", points=ring.tolist(), ends="closed")
    return builder.build()


def hung(kind: str) -> Model:
    """A bead on a wire of few points, or on a table of few heights, whose numbers all matter."""
    builder, a = bead(initial_displacement={"x": 0.2, "y": 0.05, "z": -0.01}, initial_velocity={"x": 0.5})
    if kind == "point_on_curve":
        a.body("place", mass=0.0, inertia=(0.0,) * 3).joint("along", "Tx", child="place", initial_displacement=0.1)
        points = [[0.0, 0.0, 0.2], [0.2, 0.05, 0.0], [0.5, 0.0, -0.2], [0.7, -0.1, 0.0]]
        a.constraint("it", kind, frames=["fixed", "bead"], joint="along", points=points, places=[-0.1, 0.1, 0.4, 0.6])
    else:
        heights = [[0.0, -0.02, 0.05], [0.02, -0.01, 0.03]]
        numbers = {"xs": [-0.5, 0.3, 0.8], "ys": [-0.4, 0.5], "heights": heights, "polynomial": [[0.0, 0.3], [-0.2]]}
        a.constraint("it", kind, frames=["fixed", "bead"], size=0.7, **numbers)
    return builder.build()


def test_info_counts_points_and_heights() -> None:
    numbers = {kind: next(acting_rows(hung(kind).acting(), {}))[3] for kind in ("point_on_curve", "point_on_surface")}
    assert numbers["point_on_curve"] == "4 points, places -0.1 0.1 0.4 0.6 m"
    table = "xs -0.5 0.3 0.8 m, ys -0.4 0.5 m, 6 heights, 3 polynomial, size 0.7 m"
    assert numbers["point_on_surface"] == table


def test_a_closed_wire_in_a_closed_loop() -> None:
    """A wire round a pivot does what a rod to it does, for three designs at once."""
    vary = {"coupler.mass": [0.5, 1.0, 2.0]}
    one, other = (run(guided(by), 0.5, ["pivot.q"], vary=vary).channels["pivot.q"] for by in ("wire", "rod"))
    assert np.abs(one - other).max() < SPLINE and np.ptp(one, axis=1).min() > 0.3


def bowl(by: str, radius: float, curvature: float) -> Model:
    """A bead that circles in a bowl z = c (x^2 + y^2)."""
    start = {"x": radius, "y": 0.0, "z": curvature * radius**2}
    builder, a = bead(initial_displacement=start, initial_velocity={"y": radius * math.sqrt(2.0 * curvature * G)})
    if by == "polynomial":  # lengths of 0.5 m: c x^2 = c / 4 (x / 0.5)^2
        numbers: dict[str, Any] = {"polynomial": [[0.0, 0.0, curvature / 4], [0.0], [curvature / 4]], "size": 0.5}
    else:
        x = np.linspace(-1.0, 1.0, 15)
        heights = curvature * (x[:, None] ** 2 + x**2)
        numbers = {"xs": [*x], "ys": [*x], "heights": heights.tolist()}
    a.constraint("it", "point_on_surface", frames=["fixed", "bead"], **numbers)
    return builder.build()


@pytest.mark.parametrize(("by", "within"), [("polynomial", 1e-9), ("table", 1e-4)])
def test_a_bead_circles_in_a_bowl(by: str, within: float) -> None:
    """At sqrt(2 c g) whatever its radius; a table, a natural spline, is off by what its ends are."""
    c, radius = 0.8, 0.3
    found = run(bowl(by, radius, c), 1.0, ["bead.position", "bead.velocity"], vary={"bead.mass": [0.5, 1.0]})
    turn, position = math.sqrt(2.0 * c * G) * found.time, found.channels["bead.position"]
    exact = np.stack([radius * np.cos(turn), radius * np.sin(turn), 0.0 * turn + c * radius**2], 1)
    assert np.abs(position - exact).max() < within


def test_driven_angles_of_a_gimbal() -> None:
    """Roll, pitch and yaw, each by a law of another kind, over several turns: the joints of a gimbal follow them."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a")
    for name in ("outer", "inner", "top"):
        a.body(name, mass=0.2, inertia=(0.01, 0.012, 0.008), center_of_mass=(0.05, 0.02, 0.0))
    a.joint("heading", "Rz", child="outer").joint("tilt", "Ry", parent="outer", child="inner")
    a.joint("bank", "Rx", parent="inner", child="top")
    a.driver("steer", "frame_angle_polynomial", frame="top", angle="yaw", coefficients=[0.0, 9.0, 1.0])
    a.driver("nod", "frame_angle_harmonic", frame="top", angle="pitch", amplitude=0.6, frequency=5.0)
    times = np.linspace(0.0, 1.0, 5)
    a.driver("roll", "frame_angle_table", frame="top", angle="roll", times=[*times], values=[0.0, 1.0, 3.0, 6.0, 9.0])
    found = run(builder.build(), 1.0, ["heading.q", "tilt.q", "bank.q"], vary={"nod.amplitude": [0.0, 0.6]})
    t = found.time
    assert np.abs(found.channels["heading.q"] - 9.0 * t - t**2).max() < GAP
    assert np.abs(found.channels["tilt.q"] - np.outer([0.0, 0.6], np.sin(5.0 * t))).max() < GAP
    assert np.abs(found.channels["bank.q"][:, [0, 5, 10]] - [0.0, 3.0, 9.0]).max() < GAP


START = -1.0 + 0.526088824933593  # rad, of the file: crank and pin
SWING = {"offset": START, "amplitude": 0.05, "frequency": 4.0}


def tilted(law: str, **numbers: Any) -> Model:
    """A four-bar whose coupler's pitch is prescribed."""
    builder, bar = bars()
    bar.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"))
    bar.entry["joints"][0].pop("initial_velocity")
    bar.driver("it", law, frame="coupler", angle="pitch", **numbers)
    return builder.build()


KNOTS, REACHED = np.array([0.0, 0.25, 0.5]), np.array([[0.0, 0.02, 0.03], [0.0, 0.02, -0.01]])
PITCHES: dict[str, tuple[dict[str, Any], str, list[float], Any]] = {  # numbers, one of two designs, the angle of each
    "frame_angle_harmonic": (
        SWING, "amplitude", [0.02, 0.05], lambda t: START + np.outer([0.02, 0.05], np.sin(4.0 * t))
    ),
    "frame_angle_polynomial": (
        {"coefficients": [START, 0.1, -0.2]}, "coefficients[2]", [-0.2, -0.1],
        lambda t: START + 0.1 * t + np.outer([-0.2, -0.1], t**2),
    ),
    "frame_angle_table": (
        {"times": [*KNOTS], "values": [*(START + REACHED[0])]}, "values[2]", [*(START + REACHED[:, 2])],
        lambda t: START + CubicSpline(KNOTS, REACHED, axis=1, bc_type="natural")(t),
    ),
}  # fmt: skip


@pytest.mark.parametrize("law", PITCHES)
def test_a_driven_angle_in_a_closed_loop(law: str) -> None:
    """The pitch of a four-bar's coupler is prescribed: its drive's work is in the balance of energy."""
    numbers, name, values, exact = PITCHES[law]
    channels = ["pivot.q", "pin.q", "it.multiplier"]
    found = run(tilted(law, **numbers), 0.5, channels, BENT, vary={f"it.{name}": values})
    turned = found.channels["pivot.q"] + found.channels["pin.q"]
    assert np.abs(turned - exact(found.time)).max() < GAP
    assert np.abs(found.channels["it.multiplier"]).max() > 1.0 and found.units["it.multiplier"] == "N m"


POINT = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "points": ("point_on_curve", {"points": POINT[:1]}, "1 points"),
    "closed": ("point_on_curve", {"points": POINT, "ends": "closed"}, "2 points"),
    "places": ("point_on_curve", {"points": POINT, "places": [0.0, 1.0, 2.0]}, "3 places of 2 points of an open curve"),
    "falling": ("point_on_curve", {"points": POINT, "places": [1.0, 0.0]}, "increasing numbers"),
    "nothing": ("point_on_surface", {}, "neither heights nor a polynomial"),
    "lines": ("point_on_surface", {"xs": [0.0], "ys": [0.0, 1.0], "heights": [[0.0], [1.0]]}, "two or more"),
    "rows": (
        "point_on_surface",
        {"xs": [0.0, 1.0], "ys": [0.0, 1.0], "heights": [[0.0, 1.0], [1.0]]},
        r"2 rows of heights of 1, 2 numbers for 2 ys and 2 xs",
    ),
    "size": ("point_on_surface", {"polynomial": [[1.0]], "size": 0.0}, "size of above 0"),
    "empty": ("point_on_surface", {"polynomial": [[]]}, "row of the polynomial without"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_guide_can_be_is_refused(case: str) -> None:
    kind, numbers, message = WRONG[case]
    builder, a = bead()
    of = {"joint": "free.x"} if kind == "point_on_curve" else {}
    a.constraint("it", kind, frames=["fixed", "bead"], **of, **numbers)
    with pytest.raises(ModelError, match=message):
        builder.build()


def test_a_joint_that_turns_leads_a_point_along_a_curve() -> None:
    """A shaft drives a bead round a wire, at the places that its angles say; without those it is refused."""
    angles = np.linspace(0.0, 2.0 * np.pi, 33)
    ring = np.stack([0.3 * np.cos(angles), 0.3 * np.sin(angles), 0.1 * np.cos(2 * angles)], 1)[:-1].tolist()
    for places, message in (([*angles], ""), ([], "found no places, and a joint that turns")):
        builder, a = bead(initial_displacement={"x": 0.3, "y": 0.0, "z": 0.1})
        a.body("shaft", mass=1.0, inertia=(0.1,) * 3).joint("turn", "Rz", child="shaft", initial_displacement=0.0)
        a.constraint("wire", "point_on_curve", frames=["fixed", "bead"], joint="turn", points=ring, places=places,
                     ends="closed")  # fmt: skip
        if message:
            with pytest.raises(ModelError, match=message):
                shiftjax.simulate(builder.build(), 0.1)
            continue
        found = run(builder.build(), 2.0, ["bead.position"], BENT, drive={"turn": 5.0})
        turn = 5.0 * found.time
        exact = np.stack([0.3 * np.cos(turn), 0.3 * np.sin(turn), 0.1 * np.cos(2 * turn)], 1)
        assert np.abs(found.channels["bead.position"] - exact).max() < 1e-4  # 16 points a wave of 0.1 m


def test_beyond_its_ends_a_curve_is_straight() -> None:
    """An open wire of a quarter turn goes on along its last tangent: a bead falls as on an incline."""
    builder, a = bead(initial_displacement={"x": 0.2, "y": 0.0, "z": -0.2}, initial_velocity={"x": 0.1, "z": -0.1})
    a.body("place", mass=0.0, inertia=(0.0,) * 3).joint("along", "Tx", child="place", initial_displacement=0.2)
    wire = {"points": [[-0.2, 0.0, 0.2], [0.0, 0.0, 0.0], [0.1, 0.0, -0.1]], "places": [-0.2, 0.0, 0.1]}
    a.constraint("wire", "point_on_curve", frames=["fixed", "bead"], joint="along", **wire)
    found = run(builder.build(), 0.5, ["bead.position"])
    assert found.channels["bead.position"][:, 2] == pytest.approx(-0.2 - 0.1 * found.time - 0.25 * G * found.time**2)
