"""Friction that grows with what its joint bears (D28): closed forms, absolute coordinates as oracle, cuts, slopes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import shiftjax
from shiftjax.constraints import CONSTRAINTS
from shiftjax.constraints.between_frames import BetweenFrames
from shiftjax.errors import ModelError
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.run.info import info, text

G = 9.81  # m/s^2
RK4 = 1e-8  # relative, of smooth motions at 1 ms
FADED = 1e-4  # relative: tanh at forty slip speeds and more is 1; the first steps of bristles bend them
ORACLE = 1e-10  # relative: accelerations by two formulations
CUTS = 1e-7  # of 13 rad/s after 0.1 s: other coordinates are integrated
ITERATIONS = 200  # of a fixed point that contracts by 0.8 at most
CRANK, ROD, MU = 0.2, 0.6, 0.3
DRY = {"friction_coefficient": MU, "slip_speed": 0.05}
SLIDING = {"static_coefficient": 0.4, "kinetic_coefficient": 0.3, "stribeck_speed": 0.1, "stiffness": 1e3}


def made(**gravity: Any) -> tuple[ModelBuilder, AssemblyBuilder]:
    builder = ModelBuilder(**(gravity or {"gravity": (0.0, 0.0, -G)}))
    return builder, builder.assembly("a")


def run(model: Model, span: float, *channels: str, **more: Any) -> shiftjax.Result:
    result = shiftjax.simulate(model, span, 1e-3, channels=channels, output_step=span / 10, **more)
    assert (np.atleast_1d(result.status) == 0).all(), result.messages
    return result


# -- closed forms ------------------------------------------------------------------------------------------------------


def test_a_pendulum_in_a_journal_bearing() -> None:
    """J th'' = -m g l sin th - mu r tanh(th' / v_s) N, N = m |(l th'' + g sin th, l th'^2 + g cos th)|."""
    m, arm, J, r = 2.0, 0.5, 0.6, 0.05
    builder, a = made()
    a.body("rod", mass=m, inertia=(J - m * arm * arm,) * 3, center_of_mass=(0.0, 0.0, -arm))
    a.joint("pivot", "Ry", child="rod", initial_displacement=1.2)
    a.force("rub", "bearing_friction", joint="pivot", friction_coefficient=MU, slip_speed=0.3, radius=r)

    def rate(_: float, state: np.ndarray) -> list[float]:
        angle, speed = state
        acceleration = 0.0
        for _ in range(ITERATIONS):
            N = m * math.hypot(arm * acceleration + G * math.sin(angle), arm * speed * speed + G * math.cos(angle))
            acceleration = -(m * G * arm * math.sin(angle) + MU * r * math.tanh(speed / 0.3) * N) / J
        return [speed, acceleration]

    result = run(builder.build(), 2.0, "pivot.q", "pivot.v", "rub.friction", "rub.power", "pivot.reaction_force")
    exact = solve_ivp(rate, (0.0, 2.0), [1.2, 0.0], "DOP853", result.time, rtol=1e-11, atol=1e-11).y
    seen = result.channels
    assert np.abs(seen["pivot.q"] - exact[0]).max() < RK4 and abs(exact[0, -1]) < 1.0
    size = MU * r * np.abs(np.tanh(seen["pivot.v"] / 0.3)) * np.linalg.norm(seen["pivot.reaction_force"], axis=1)
    assert np.abs(seen["rub.friction"]) == pytest.approx(size, rel=1e-9)
    assert seen["rub.power"] == pytest.approx(seen["rub.friction"] * seen["pivot.v"], rel=1e-12, abs=1e-12)
    assert result.certificate["energy_error"] < RK4, "its work balances the energy"


def test_a_block_on_an_incline_sticks_or_slides() -> None:
    """Bristles hold it bent by tan(slope) / stiffness while that is below their coefficient, and else it slides."""
    slope, stiffness = 0.5, 200.0
    fall = np.array([math.sin(slope), -math.cos(slope)]) * G
    builder, a = made(gravity=(fall[0], 0.0, fall[1]))
    a.body("block", mass=3.0, inertia=(0.01,) * 3).joint("incline", "Tx", child="block")
    limits = {"static_coefficient": 0.9, "kinetic_coefficient": 0.9, "stribeck_speed": 0.1}
    a.force("rub", "slide_bristles", joint="incline", stiffness=stiffness, damping=9.0, **limits)
    levels = math.tan(slope) * np.array([1.5, 1.2, 0.9, 0.5])
    vary = {f"rub.{level}_coefficient": levels for level in ("static", "kinetic")}
    seen = run(builder.build(), 0.5, "incline.q", "incline.v", "rub.bend", vary=vary).channels
    bent = math.tan(slope) / stiffness
    assert seen["rub.bend"][:2, -1] == pytest.approx(bent, rel=FADED)
    assert np.abs(seen["incline.v"][:2, -1]).max() < 1e-4
    gained = (seen["incline.v"][2:, -1] - seen["incline.v"][2:, 5]) / 0.25
    assert gained == pytest.approx(fall[0] + levels[2:] * fall[1], rel=1e-3)  # of bristles that still yield: 5e-4


def test_a_bearing_with_bristles_holds_a_pendulum_up_to_its_friction() -> None:
    """At sin(angle) = coefficient radius / arm it slips; below it swings on its bristles until these rest."""
    radius, arm, mu = 0.05, 0.1, 0.4
    builder, a = made()
    a.body("bob", mass=2.0, inertia=(0.01,) * 3, center_of_mass=(0.0, 0.0, -arm))
    a.joint("pivot", "Ry", child="bob")
    limits = {"static_coefficient": mu, "kinetic_coefficient": mu, "stribeck_speed": 0.1}
    a.force("rub", "bearing_bristles", joint="pivot", radius=radius, stiffness=200.0, damping=9.0, **limits)
    begun = np.arcsin(mu * radius / arm * np.array([0.5, 0.8, 1.25]))
    seen = run(
        builder.build(), 1.0, "pivot.q", "pivot.v", "rub.bend", vary={"pivot.initial_displacement": begun}
    ).channels
    assert np.abs(seen["pivot.v"][:2, -1]).max() < 1e-3
    held = np.sin(np.abs(seen["pivot.q"][:2, -1])) * arm / radius / 200.0
    assert np.abs(seen["rub.bend"][:2, -1]) == pytest.approx(held, rel=1e-2)
    assert abs(seen["pivot.q"][2, -1] - begun[2]) > 0.01, "the last one slips"


SPINNING: dict[str, tuple[dict[str, float], tuple[float, float, float], float]] = {  # numbers, gravity, lever of m g
    "weight across": ({}, (0.0, -G, 0.0), 0.02),
    "weight along, on the collar": ({"axial_radius": 0.05}, (0.0, 0.0, -G), 0.05),
    "overhung between supports": ({"span": 0.8}, (0.0, -G, 0.0), 0.02),
    "overhung beyond supports": ({"span": 0.2}, (0.0, -G, 0.0), 0.02 * 2.0 * 0.3 / 0.2),
    "pressed": ({"preload": 2.0 * G}, (0.0, -G, 0.0), 0.02 * 2.0),
}


@pytest.mark.parametrize("case", SPINNING)
def test_a_rotor_that_runs_down(case: str) -> None:
    """J w' = -mu (lever) m g: a disc of 2 kg, 0.3 m from the middle of its bearing."""
    numbers, gravity, lever = SPINNING[case]
    builder, a = made(gravity=gravity)
    a.body("disc", mass=2.0, inertia=(0.01, 0.01, 0.02), center_of_mass=(0.0, 0.0, 0.3))
    a.joint("shaft", "Rz", child="disc", initial_velocity=30.0)
    a.force("rub", "bearing_friction", joint="shaft", radius=0.02, **DRY, **numbers)
    seen = run(builder.build(), 0.5, "shaft.v").channels["shaft.v"]
    assert seen[-1] == pytest.approx(30.0 - MU * lever * 2.0 * G * 0.5 / 0.02, rel=1e-12)


def test_a_slide_bears_moments_on_its_rails() -> None:
    """m v' = -mu (m g + 2 M / width), of a block whose weight hangs beside two rails."""
    builder, a = made()
    a.body("block", mass=2.0, inertia=(0.01,) * 3, center_of_mass=(0.0, 0.1, 0.0))
    a.joint("way", "Tx", child="block", initial_velocity=20.0)
    a.force("rub", "slide_friction", joint="way", **DRY, width=0.4)
    seen = run(builder.build(), 0.5, "way.v").channels["way.v"]
    assert seen[-1] == pytest.approx(20.0 - MU * G * (1.0 + 2.0 * 0.1 / 0.4) * 0.5, rel=1e-12)


def slide(kind: str) -> Model:
    """A block that is held askew between rails, whose weight hangs beside them and takes it along."""
    builder, a = made(gravity=(4.0, -1.0, -G))
    a.body("block", mass=2.0, inertia=(0.01, 0.02, 0.03), center_of_mass=(0.02, 0.1, -0.05))
    a.joint("way", "Tx", child="block", initial_velocity=0.3)
    numbers = {**SLIDING, "damping": 0.5} if kind == "slide_bristles" else DRY
    a.force("it", kind, joint="way", **numbers, span=0.3, width=0.3, preload=2.0)
    return builder.build()


def sleeve(**numbers: float) -> Model:
    """A ring of 2 kg about a level shaft of 0.1 m radius, which it turns about and slides along."""
    builder, a = made()
    a.body("ring", mass=2.0, inertia=(2.0 * 0.1**2, 0.01, 0.01))
    start = {"initial_displacement": [0.0, 0.0], "initial_velocity": [30.0, 4.0]}
    a.joint("shaft", "cylindrical", child="ring", axis="x", **start)
    a.force("it", "sleeve_friction", joints=["shaft.angle", "shaft.slide"], radius=0.1, **DRY, **numbers)
    return builder.build()


def test_a_sleeve_slips_along_its_way() -> None:
    """Of a ring the slip s = |(r w, v)| keeps its direction: s' = -mu g."""
    seen = run(sleeve(), 1.0, "shaft.v", "it.friction").channels
    left = (5.0 - MU * G * 1.0) / 5.0
    assert seen["shaft.v"][-1] == pytest.approx(np.array([30.0, 4.0]) * left, rel=RK4)
    assert seen["it.friction"][0] == pytest.approx(-MU * 2.0 * G * np.array([0.1 * 0.6, 0.8]), rel=1e-12)


# -- closed loops ------------------------------------------------------------------------------------------------------


RUBBING = ("main", "wrist", "guide")


def slider_crank(a: AssemblyBuilder, of: str, rubbing: Sequence[str], *, guide: str = "Tx") -> None:
    """A planar one with friction in some of its joints; the block is held in a guide of 0.2 m.

    Args:
        guide: its type; what a round or flat one leaves to the block is held by the rest of the loop alone.
    """
    a.body(f"crank{of}", mass=1.0, inertia=(0.01,) * 3, center_of_mass=(0.1, 0.0, 0.0), frames={"tip": (CRANK, 0, 0)})
    a.body(f"rod{of}", mass=0.8, inertia=(0.02,) * 3, center_of_mass=(0.3, 0.0, 0.0), frames={"tip": (ROD, 0, 0)})
    a.body(f"block{of}", mass=2.0, inertia=(0.01,) * 3)
    angle, lean = -0.6, math.asin(CRANK * math.sin(-0.6) / ROD)
    way = CRANK * math.cos(angle) + ROD * math.cos(lean)
    a.joint(f"main{of}", "Ry", child=f"crank{of}", initial_displacement=angle, initial_velocity=8.0)
    a.joint(f"pin{of}", "Ry", parent=(f"crank{of}", "tip"), child=f"rod{of}", initial_displacement=-lean - angle)
    a.joint(f"wrist{of}", "Ry", parent=(f"rod{of}", "tip"), child=f"block{of}", initial_displacement=lean)
    starts: dict[str, Any] = {"cylindrical": {"axis": "x", "initial_displacement": [0.0, way]},
                              "planar": {"initial_displacement": [way, 0.0, 0.0]}}  # fmt: skip
    a.joint(f"guide{of}", guide, child=f"block{of}", **starts.get(guide, {"initial_displacement": way}))
    seats = {"main": {"radius": 0.03}, "wrist": {"radius": 0.02}, "guide": {"span": 0.2}}
    for joint in rubbing:
        kind = "slide_friction" if joint == "guide" else "bearing_friction"
        a.force(f"on_{joint}{of}", kind, joint=f"{joint}{of}", **DRY, **seats[joint])


def cranks(rubbing: Sequence[str] = RUBBING, *, beside: bool = False) -> Model:
    """One, or another one without friction beside it."""
    builder, a = made()
    slider_crank(a, "", rubbing)
    if beside:
        slider_crank(a, "_2", ())  # and what ties them together, but does nothing
        a.restraint("tie", "spring", frames=[("block", "origin"), ("block_2", "origin")], coefficients=[[0.0, 0.0]])
    return builder.build()


def absolute(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations of main, pin, wrist, guide, and friction in main, wrist, guide, in absolute coordinates.

    Coordinates x, z, angle about y of all three centres; joint forces are the multipliers of eight rows; the friction
    that they make is put back until nothing changes.
    """
    angles, speeds = np.cumsum(q[:3]), np.cumsum(v[:3])
    masses, inertias = (1.0, 0.8, 2.0), (0.01, 0.02, 0.01)
    J, gamma = np.zeros((8, 9)), np.zeros(8)

    def point(row: int, body: int, arm: float, sign: float) -> None:
        """Rows of the point at an arm from a centre along a body."""
        way = np.array([math.cos(angles[body]), -math.sin(angles[body])])
        J[row : row + 2, 3 * body : 3 * body + 2] += sign * np.eye(2)
        J[row : row + 2, 3 * body + 2] += sign * arm * np.array([way[1], -way[0]])
        gamma[row : row + 2] += sign * arm * speeds[body] ** 2 * way

    point(0, 0, -0.1, 1.0)
    for row, (body, arm), (other, there) in ((2, (1, -0.3), (0, 0.1)), (4, (2, 0.0), (1, 0.3))):
        point(row, body, arm, 1.0)
        point(row, other, there, -1.0)
    J[6, 7] = J[7, 8] = 1.0
    M = np.diag([x for m, inertia in zip(masses, inertias, strict=True) for x in (m, m, inertia)])
    system = np.block([[M, -J.T], [J, np.zeros((8, 8))]])
    part = np.tanh(np.array([v[0], v[2], v[3]]) / DRY["slip_speed"])
    friction = np.zeros(3)
    for _ in range(ITERATIONS):
        f = np.array([x for m in masses for x in (0.0, -m * G, 0.0)])
        f[2] += friction[0]
        f[[8, 5]] += friction[1], -friction[1]
        f[6] += friction[2]
        solution = np.linalg.solve(system, [*f, *gamma])
        a, rows = solution[:9], solution[9:]
        N = 0.03 * np.hypot(*rows[:2]), 0.02 * np.hypot(*rows[4:6])
        supports = np.abs(rows[6] / 2 + rows[7] / 0.2) + np.abs(rows[6] / 2 - rows[7] / 0.2)
        friction = -MU * part * [*N, supports]
    return np.array([a[2], a[5] - a[2], a[8] - a[5], a[6]]), friction


JOINTS = ("main", "pin", "wrist", "guide")
SEEN = [f"{joint}.{what}" for what in "qva" for joint in JOINTS]
RUBS = ("on_main.friction", "on_wrist.friction", "on_guide.friction")


@pytest.fixture(scope="module")
def cut_in_turn() -> dict[str, shiftjax.Result]:
    """The slider-crank, cut at each of its joints."""
    return {joint: run(cranks(), 0.1, *SEEN, *RUBS, cut=[joint]) for joint in JOINTS}


def test_accelerations_are_those_of_absolute_coordinates(cut_in_turn: dict[str, shiftjax.Result]) -> None:
    """Of each way to cut the loop; friction in the joint that is cut too."""
    for joint, result in cut_in_turn.items():
        q, v, a = (np.stack([result.channels[f"{one}.{what}"] for one in JOINTS], 1) for what in "qva")
        frictions = np.stack([result.channels[name] for name in RUBS], 1)
        for k in (0, 4, 10):
            exact = absolute(q[k], v[k])
            assert np.abs(a[k] - exact[0]).max() < ORACLE * np.abs(exact[0]).max(), joint
            assert np.abs(frictions[k] - exact[1]).max() < ORACLE * np.abs(exact[1]).max(), joint
            assert (np.abs(exact[1]) > 1e-3).all(), "all of them rub"


def test_the_motion_is_that_of_any_cut(cut_in_turn: dict[str, shiftjax.Result]) -> None:
    first, *others = cut_in_turn.values()
    for other in others:
        for name in SEEN[:8]:
            assert np.abs(other.channels[name] - first.channels[name]).max() < CUTS, name
        assert other.certificate["energy_error"] < 1e-6


LEVELS = {"static_coefficient": 0.4, "kinetic_coefficient": 0.3, "stribeck_speed": 0.1}
IN_LOOP: dict[str, tuple[str, dict[str, Any]]] = {  # kind -> its joint, its numbers
    "bearing_bristles": ("main", {"radius": 0.03, "stiffness": 50.0, "damping": 0.5}),
    "slide_bristles": ("guide", {"span": 0.2, "stiffness": 200.0, "damping": 2.0}),
    "sleeve_friction": ("guide", {"span": 0.2, "radius": 0.05, **DRY}),
    "plate_friction": ("guide", {"width": 0.2, "radius": 0.05, **DRY}),
}
SURFACES = {  # kind -> the type of its guide, the coordinates of the guide, which of its speeds slides
    "sleeve_friction": ("cylindrical", ["guide.angle", "guide.slide"], 1),
    "plate_friction": ("planar", ["guide.angle", "guide.x", "guide.y"], 0),
}


@pytest.mark.parametrize("kind", IN_LOOP)
def test_friction_in_a_loop_is_its_coefficient_times_what_the_joint_bears(kind: str) -> None:
    """In the slider-crank, by formulas from the recorded reaction, speed and bend of the bristles; work in balance."""
    joint, numbers = IN_LOOP[kind]
    builder, a = made()
    surface, bristles = SURFACES.get(kind), "stiffness" in numbers
    slider_crank(a, "", (), guide=surface[0] if surface else "Tx")
    where: dict[str, Any] = {"joints": surface[1]} if surface else {"joint": joint}
    a.force("it", kind, **where, **numbers, **(LEVELS if bristles else {}))
    bend = ["it.bend"] if bristles else []
    reaction = [f"{joint}.reaction_{what}" for what in ("force", "moment")]
    result = run(builder.build(), 0.1, f"{joint}.v", "it.friction", *reaction, *bend)
    seen, axis = result.channels, np.array([0.0, 1.0, 0.0] if joint == "main" else [1.0, 0.0, 0.0])
    force, moment = (seen[name] for name in reaction)
    across = force - np.outer(force @ axis, axis)
    N = np.linalg.norm(across, axis=1)
    if "span" in numbers:
        couple = np.cross(moment, axis) / numbers["span"]
        N = np.linalg.norm(across / 2 + couple, axis=1) + np.linalg.norm(across / 2 - couple, axis=1)
    if "width" in numbers:
        couples = np.linalg.norm(moment - moment * [0.0, 0.0, 1.0], axis=1)
        N = np.abs(force[:, 2]) + 2.0 * couples / numbers["width"]
    v = seen[f"{joint}.v"][:, surface[2]] if surface else seen[f"{joint}.v"]
    coefficient = MU * np.tanh(v / DRY["slip_speed"])
    if bristles:
        level = 0.3 + 0.1 * np.exp(-((v / 0.1) ** 2))
        spring = numbers["stiffness"] * seen["it.bend"]
        coefficient = spring + numbers["damping"] * (v - np.abs(v) * spring / level)
    friction = seen["it.friction"][:, 1] if surface else seen["it.friction"]
    wanted = -coefficient * N * (numbers["radius"] if joint == "main" else 1.0)
    assert np.abs(friction - wanted).max() < 1e-9 * np.abs(wanted).max() and np.abs(wanted[1:]).min() > 1e-3
    assert result.certificate["energy_error"] < 1e-5, "bristles bend in a few steps"


def test_slopes_by_a_coefficient() -> None:
    """Both modes against differences of order 4; of two loops, which are pieces of several blocks, the same."""

    def end(values: Any, *, beside: bool = False) -> Any:
        vary = {"on_guide.friction_coefficient": values}
        return run(cranks(["guide"], beside=beside), 0.1, "guide.q", vary=vary).channels["guide.q"][:, -1]

    h = 1e-3 * MU
    exact = end(MU + h * np.array([-2.0, -1.0, 1.0, 2.0])) @ np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * h)
    at = jnp.array([MU])
    slopes = [jax.grad(lambda x: end(x).sum())(at), jax.jvp(end, (at,), (jnp.ones(1),))[1]]
    slopes.append(jax.grad(lambda x: end(x, beside=True).sum())(at))
    assert np.ravel(slopes) == pytest.approx(exact, rel=1e-8) and abs(exact) > 1e-4


# -- what has no solution, and what is not known -----------------------------------------------------------------------


def top_heavy(gain: float) -> Model:
    """A block whose weight is 0.5 m under its guide: braking presses it by so much of itself."""
    builder, a = made()
    a.body("block", mass=1.0, inertia=(0.01,) * 3, center_of_mass=(0.0, 0.0, -0.5))
    a.joint("way", "Tx", child="block", initial_velocity=1.0)
    a.force("it", "slide_friction", joint="way", friction_coefficient=0.4, slip_speed=0.01, span=0.4 / gain)
    return builder.build()


def test_friction_that_presses_more_than_it_holds() -> None:
    """Up to a gain of 1 the block brakes by mu g; beyond, no force satisfies Coulomb's law (Painleve)."""
    seen = run(top_heavy(1.0 - 1e-3), 0.1, "way.a").channels["way.a"]
    assert seen == pytest.approx(-0.4 * G, rel=1e-12)
    result = shiftjax.simulate(top_heavy(1.0 + 1e-3), 0.1, 1e-3)
    assert result.status == 2 and "the friction a:it has no solution there" in result.messages[0]


def test_a_light_joint_that_jams_is_not_hidden_by_a_heavy_one() -> None:
    """Newton's iterates of the light one go round, by less than the load of the heavy one is rounded to."""
    builder, a = made(gravity=(5.54, 0.0, -8.1))
    a.body("big", mass=100.0, inertia=(1e3,) * 3).joint("rail", "Tx", child="big")
    a.force("heavy", "slide_friction", joint="rail", friction_coefficient=0.1, slip_speed=1e-3)
    a.body("light", mass=2.0, center_of_mass=(0.08, 0.02, 0.2), inertia=(1.0, 1.0, 1.0))
    a.joint("way", "Tx", child="light", initial_velocity=1.0)
    jammed: dict[str, float] = {"friction_coefficient": 1.0, "span": 0.3, "width": 0.2, "preload": 5.0}
    a.force("it", "slide_friction", joint="way", slip_speed=1e-3, **jammed)
    a.restraint("tie", "spring", frames=["big", "light"], distance_type="Ty", coefficients=[[1e-3, 0.0]])
    result = shiftjax.simulate(builder.build(), 0.01, 1e-3, vary={"big.mass": [1e2, 2e4]})
    assert (result.status == shiftjax.Outcome.non_finite).all() and "Painleve" in result.messages[1]


def test_reactions_that_are_indeterminate_are_said_to_be() -> None:
    """A planar loop leaves open what presses its guide sideways, not what presses pins without a span."""
    result = run(cranks(), 0.01, "guide.q")
    assert sum(note.startswith("friction of a:on_guide depends on reactions") for note in result.notes) == 1
    report = info(cranks())["indeterminate"]
    assert [part["friction"] for part in report] == [["a:on_guide"]]
    assert "a:pin, and friction of a:on_guide, because of" in text(cranks())
    assert [part["friction"] for part in info(cranks(()))["indeterminate"]] == [[]]


def test_joints_without_such_surfaces_are_refused() -> None:
    builder, a = made()
    a.body("ring", mass=1.0, inertia=(0.1,) * 3)
    a.joint("j", "cylindrical", child="ring", axis="x", initial_displacement=[0.0, 0.0])
    for joints in (["j.slide", "j.angle"], ["j.angle", "j.angle"]):
        with pytest.raises(ModelError, match=r"the angle, then the slide of one cylindrical joint"):
            a.force("it", "sleeve_friction", joints=joints, radius=0.1, **DRY)
            builder.build()
        a.entry["force_modules"].clear()
    for joint, kind, allowed in (
        ("j.angle", "bearing_friction", "a joint that turns about one axis"),
        ("j.slide", "slide_bristles", "a joint that slides along one axis"),
        ("j", "ball_friction", "a ball joint"),
    ):
        numbers = SLIDING if kind == "slide_bristles" else {"radius": 0.1, **DRY}
        with pytest.raises(ModelError, match=f"{joint} of a joint of type cylindrical; allowed: {allowed}"):
            a.force("it", kind, joint=joint, **numbers)
            builder.build()
        a.entry["force_modules"].clear()


def test_a_plate_names_its_angle_first_and_a_ball_has_no_bearing() -> None:
    builder, a = made()
    a.body("slab", mass=1.0, inertia=(0.1,) * 3).body("bob", mass=1.0, inertia=(0.1,) * 3)
    a.joint("table", "planar", child="slab").joint("hook", "spherical", parent="slab", child="bob")
    for entry, allowed in (
        ({"type": "plate_friction", "joints": ["table.x", "table.y", "table.angle"]}, "the angle, then x and y of one"),
        ({"type": "bearing_friction", "joint": "hook"}, "joints of one displacement"),
        ({"type": "bearing_friction", "joint": "table.angle"}, "a joint that turns about one axis"),
    ):
        with pytest.raises(ModelError, match=allowed):
            a.force("it", radius=0.1, **DRY, **entry)
            builder.build()
        a.entry["force_modules"].clear()


def test_a_kinetic_level_above_the_static_one_is_refused() -> None:
    builder, a = made()
    a.body("block", mass=1.0, inertia=(0.1,) * 3).joint("j", "Tx", child="block")
    with pytest.raises(ModelError, match="a kinetic coefficient above the static one"):
        a.force("it", "slide_bristles", joint="j", **{**SLIDING, "kinetic_coefficient": 0.5})
        builder.build()


class Silent(BetweenFrames):
    """A distance that does not say what it does to its frames."""

    has_wrenches = False


def test_a_joint_whose_reaction_is_not_known_bears_no_friction(monkeypatch: pytest.MonkeyPatch) -> None:
    rod = CONSTRAINTS["distance"]
    assert isinstance(rod, BetweenFrames)
    monkeypatch.setitem(CONSTRAINTS, "silent", Silent(rod.doc, rod.function, {"length": "m"}, *rod.fields))
    builder, a = made()
    a.body("bob", mass=1.0, inertia=(0.1,) * 3, frames={"end": (0.0, 0.0, -0.5)})
    a.joint("pivot", "Ry", child="bob").constraint("it", "silent", frames=["fixed", ("bob", "end")], length=0.5)
    a.force("rub", "bearing_friction", joint="pivot", radius=0.02, **DRY)
    with pytest.raises(
        ModelError, match=r"a:rub: found the joint a:pivot beside the constraint a:it, whose forces are"
    ):
        shiftjax.simulate(builder.build(), 0.1)
