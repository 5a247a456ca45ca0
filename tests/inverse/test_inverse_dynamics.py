"""Inverse and hybrid dynamics (D24, E1): closed forms, virtual work, loads of forward dynamics, forces elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shiftjax.constraints import Harmonic
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.inverse.inverse_dynamics import inverse_dynamics
from shiftjax.mechanism.model import Model
from shiftjax.run.assemble import assemble
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.support.models.mechanisms import rod
from tests.support.models.several_coordinates import bar

ALGEBRA = 1e-11  # relative: sums and one linear solution of a few unknowns in f64
LOOPS = 1e-9  # relative: loops are closed to 1e-12, and accelerations differ by it over the pivots squared
CLOSED = 1e-12  # m or rad
TABLE = 3e-4  # rad, of 3 that it moves: a spline through torques 10 ms apart, which have a peak of 40 ms
G, LENGTHS, MASSES = 9.81, (0.6, 0.4), (1.5, 0.8)
TIMES = np.linspace(0.0, 0.5, 6)


def arm(base: str = "rigid") -> Model:
    """Two rods, one on the other, on what may slide along x; both hinges about y."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("arm").body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
    a.joint("slide", base, child="cart")
    for name, on, length, mass in zip(("upper", "lower"), ("cart", ("upper", "tip")), LENGTHS, MASSES, strict=True):
        a.body(name, **rod(length, mass)).joint(f"{name}_hinge", "Ry", parent=on, child=name)
    return builder.build()


def in_closed_form(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(2, n) torques of both hinges of the arm on ground (Lagrange; angles grow downwards)."""
    (l1, _), (m1, m2), (c1, c2) = LENGTHS, MASSES, (LENGTHS[0] / 2, LENGTHS[1] / 2)
    i1, i2 = (m * length**2 / 12 for m, length in zip(MASSES, LENGTHS, strict=True))
    far, turn = m2 * l1 * c2 * np.cos(q[1]), m2 * l1 * c2 * np.sin(q[1])
    both = i2 + m2 * c2**2 + far
    first = (i1 + i2 + m1 * c1**2 + m2 * (l1**2 + c2**2) + 2 * far) * a[0] + both * a[1]
    weight = G * m2 * c2 * np.cos(q[0] + q[1])
    return np.array([
        first - turn * (2 * v[0] * v[1] + v[1] ** 2) - G * (m1 * c1 + m2 * l1) * np.cos(q[0]) - weight,
        both * a[0] + (i2 + m2 * c2**2) * a[1] + turn * v[0] ** 2 - weight,
    ])  # fmt: skip


def moving(seed: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(count, n) places, speeds, accelerations, of one instant nothing to do with the next."""
    return tuple(np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, len(TIMES))))  # type: ignore[return-value]


def test_an_arm_takes_the_torques_of_lagrange() -> None:
    q, v, a = moving(1, 2)
    hinges = ("upper_hinge", "lower_hinge")
    answer = inverse_dynamics(arm(), {name: (q[k], v[k], a[k]) for k, name in enumerate(hinges)})
    expected = in_closed_form(q, v, a)
    assert np.abs(np.array([answer.forces[name] for name in hinges]) - expected).max() < ALGEBRA * abs(expected).max()
    assert (answer.status == 0).all() and answer.units == dict.fromkeys(hinges, "N m")


def test_a_free_hinge_follows_and_the_driven_one_takes_what_is_missing() -> None:
    """Hybrid dynamics: of one hinge the acceleration is known, of the other the torque, which is zero."""
    q, v, a = moving(2, 2)
    motion = {"upper_hinge": (q[0], v[0], a[0]), "lower_hinge": (q[1], v[1])}
    answer = inverse_dynamics(arm(), motion, channels=["lower_hinge.a"])
    a[1] = answer.channels["lower_hinge.a"]
    expected = in_closed_form(q, v, a)
    assert np.abs(expected[1]).max() < ALGEBRA * abs(expected).max()
    assert np.abs(answer.forces["upper_hinge"] - expected[0]).max() < ALGEBRA * abs(expected).max()


def test_a_force_on_the_cart_swings_its_rod_as_it_shall() -> None:
    """The hinge is free of torque: the cart's acceleration turns the rod, which takes its force (Newton, Euler)."""
    q, v, a = (x[0] for x in moving(4, 1))
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    cart = builder.assembly("a").body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1)).joint("slide", "Tx", child="cart")
    cart.body("rod", **rod(1.0)).joint("hinge", "Ry", parent="cart", child="rod")
    motion = {"hinge": (q, v, a), "slide": (0 * q, 0.3 + q)}
    answer = inverse_dynamics(builder.build(), motion, forces=["slide"], channels=["hinge.a", "slide.a"])
    shove = (a / 3 - 0.5 * G * np.cos(q)) / (0.5 * np.sin(q))
    force = 3.0 * shove - 0.5 * (np.sin(q) * a + np.cos(q) * v**2)
    assert np.abs(answer.channels["slide.a"] - shove).max() < LOOPS * np.abs(shove).max()
    assert np.abs(answer.channels["hinge.a"] - a).max() < LOOPS * np.abs(shove).max()
    assert np.abs(answer.forces["slide"] - force).max() < LOOPS * np.abs(force).max()


def test_internal_states_of_forces_are_stated() -> None:
    """A bristle bent by z pulls with stiffness z (LuGre); without a state it is not bent."""
    friction = {"static": 0.3, "kinetic": 0.2, "stribeck_speed": 0.05, "stiffness": 50.0}
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod")
    a.force("bearing", "lugre_friction", joint="pivot", **friction)
    bend = np.array([0.0, 0.002, -0.004])
    motion = {"pivot": (0 * bend, 0 * bend, 2.0 + 0 * bend)}
    answer = inverse_dynamics(builder.build(), motion, state={"bearing.initial_bend": bend})
    assert np.abs(answer.forces["pivot"] - (2.0 / 3 + 50.0 * bend)).max() < ALGEBRA


def test_what_floats_and_slips_is_where_the_run_has_it() -> None:
    """A floating cab with an arm that a bristle holds: along a run of loads, the motion takes just these loads.

    A free body cannot be stated by coordinates of one number; its acceleration comes out as in the run.
    """
    friction = {"static": 0.3, "kinetic": 0.2, "stribeck_speed": 0.05, "stiffness": 10.0}
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a").body("cab", mass=2.0, center_of_mass=(0.1, 0, 0.05), inertia=(0.2, 0.3, 0.25))
    a.joint("six", "float", child="cab", initial_velocity=(0.5, -1.0, 0.7, 0.1, 0.2, 0.3))
    a.body("rod", **rod(0.5)).joint("hinge", "Ry", parent="cab", child="rod", initial_velocity=2.0)
    a.force("bearing", "lugre_friction", joint="hinge", **friction)
    model, joints = builder.build(), ("six", "hinge")
    a.force("push", "harmonic_load", joint="hinge", amplitude=0.8, frequency=6.0)
    channels = [*asked(*joints), "bearing.bend"]
    run = simulate(builder.build(), 0.4, 1e-3, output_step=0.1, channels=channels, accuracy="local")
    answer = inverse_dynamics(model, {"hinge": run}, along=run, channels=["six.a"])
    assert np.abs(answer.forces["hinge"] - 0.8 * np.sin(6.0 * run.time)).max() < LOOPS
    assert np.abs(answer.channels["six.a"] - run.channels["six.a"]).max() < LOOPS * np.abs(run.channels["six.a"]).max()
    lacking = replace(run, channels={path: values for path, values in run.channels.items() if path != "bearing.bend"})
    with pytest.raises(ModelError, match=r"along: found a run without a:bearing.bend"):
        inverse_dynamics(model, {"hinge": run}, along=lacking)


def test_what_slides_freely_keeps_the_momentum_of_the_whole() -> None:
    """A cart on a level rail that nothing pushes: m_cart x'' = - sum of m x'' of the rods (Newton)."""
    q, v, a = moving(3, 3)
    motion: dict[str, Any] = {name: (q[k], v[k], a[k]) for k, name in enumerate(("upper_hinge", "lower_hinge"))}
    answer = inverse_dynamics(arm("Tx"), motion | {"slide": (q[2], v[2])}, channels=["slide.a"])
    (angle, both), (rate, sum_rate), (turn, sum_turn) = ((x[0], x[0] + x[1]) for x in (q, v, a))
    (l1, l2), (m1, m2) = LENGTHS, MASSES
    out = -np.sin(angle) * turn - np.cos(angle) * rate**2
    further = -np.sin(both) * sum_turn - np.cos(both) * sum_rate**2
    pull = (m1 / 2 + m2) * l1 * out + m2 * l2 / 2 * further
    assert np.abs((2.0 + m1 + m2) * answer.channels["slide.a"] + pull).max() < ALGEBRA * np.abs(pull).max()


def loop(*forces: tuple[str, str, dict[str, Any]], links: Sequence[float] = (0.2, 0.5, 0.4), **driver: Any) -> Model:
    """Links in a row, pinned to ground 0.5 m apart: a four-bar, or with four links a five-bar of two freedoms."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G)).frame("far", T=(0.5, 0.0, 0.0))
    a, near = builder.assembly("a"), "fixed"
    angles = {3: (-1.0, 0.5, 1.6), 4: (-1.9, 1.38, 1.04, 1.38)}[len(links)]
    for k, (length, angle) in enumerate(zip(links, angles, strict=True)):
        a.body(f"b{k}", **rod(length)).joint(f"j{k}", "Ry", parent=near, child=f"b{k}", initial_displacement=angle)
        near = (f"b{k}", "tip")
    a.joint(f"j{len(links)}", "Ry", parent=near, child=("fixed", "far"))
    for name, type_, values in forces:
        a.force(name, type_, **values)
    if driver:
        a.driver("motor", "harmonic", joint="j0", **driver)
    return builder.build()


def known(result: Result, *names: str) -> dict[str, tuple[Any, ...]]:
    """Place, speed and acceleration of coordinates of assembled members, an instant each."""
    return {name: tuple(result.channels[f"{name}.{x}"][:, 0] for x in "qva") for name in names}


def asked(*names: str) -> list[str]:
    return [f"{name}.{x}" for name in names for x in "qva"]


FOUR, FIVE = loop(), loop(links=(0.3, 0.4, 0.4, 0.3))
TURN = 0.4 + 2 * np.pi * np.arange(5) / 5
RATES = {"j0.initial_displacement": TURN, "j0.initial_velocity": 3.0 + np.cos(TURN)}


def test_inverse_dynamics_gives_back_what_forward_dynamics_was_given() -> None:
    """Loads drive a four-bar all around; at the joint that is cut what follows takes what does the same work.

    By the principle of virtual power, along the only motion there is.
    """
    pushed = loop(("push", "constant_load", {"joint": "j0", "load": 0.0}))
    loads, names = np.array([1.0, -4.0, 2.0, 5.0, -3.0]), ("j0", "j2")
    forward = assemble(pushed, vary={"push.load": loads} | RATES, channels=asked(*names))
    every = known(forward, *names)
    answer = inverse_dynamics(FOUR, {"j0": every["j0"]}, forces=["j2"])
    power = answer.forces["j2"] * every["j2"][1]
    assert np.abs(power - loads * every["j0"][1]).max() < LOOPS * np.abs(loads).max()
    assert (answer.status == 0).all() and not answer.notes


def test_a_crank_goes_around_with_the_loop_closed() -> None:
    """Kinematics alone: every pose by itself, each on the branch and with the turns of the one before."""
    angle = np.linspace(-1.0, -1.0 + 4 * np.pi, 145)
    still = 0 * angle
    answer = inverse_dynamics(FOUR, {"j0": (angle, still, still)}, channels=[f"j{k}.q" for k in range(4)])
    assert (answer.status == 0).all() and answer.gap.max() < CLOSED
    for k, turns in enumerate((2, -2, 0, 0)):
        q = answer.channels[f"j{k}.q"]
        assert np.abs(np.diff(q)).max() < 0.3
        assert abs(q[-1] - q[0] - 2 * np.pi * turns) < CLOSED


def test_the_time_changes_nothing_where_nothing_asks_for_it() -> None:
    motion = {"j0": (TURN, 2.0 + 0 * TURN, np.cos(TURN))}
    now, late = inverse_dynamics(FOUR, motion), inverse_dynamics(FOUR, motion, 1e3 + np.arange(5))
    assert np.array_equal(now.forces["j0"], late.forces["j0"]) and (late.status == 0).all()


def test_the_missing_torque_brings_about_the_motion() -> None:
    """Of a five-bar one crank is driven, the rest free; its torque, as a table of loads, moves all as before.

    The knee, which turns over on the way, is what is stated of the free ones: the cranks do not tell its two poses.
    """
    drive = {"j0": Harmonic(amplitude=0.3, frequency=5.0, offset=-1.9)}
    times: dict[str, Any] = {"span": 0.4, "step": 1e-3, "output_step": 1e-2, "accuracy": "local"}
    driven = simulate(FIVE, drive=drive, channels=[*asked("j0", "j2"), "j0.drive_load"], **times)
    get = driven.channels
    answer = inverse_dynamics(FIVE, {"j0": driven, "j2": (get["j2.q"], get["j2.v"])}, channels=["j2.a"])
    for values, path in ((answer.forces["j0"], "j0.drive_load"), (answer.channels["j2.a"], "j2.a")):
        assert np.abs(values - get[path]).max() < LOOPS * np.abs(get[path]).max()
    table = {"joint": "j0", "times": driven.time.tolist(), "values": answer.forces["j0"].tolist()}
    pushed = loop(("push", "table_load", table), links=(0.3, 0.4, 0.4, 0.3))
    start = {f"{name}.initial_{what}": get[f"{name}.{x}"][0]
             for name in ("j0", "j2") for what, x in (("displacement", "q"), ("velocity", "v"))}  # fmt: skip
    free = simulate(pushed, assign=start, channels=["j0.q", "j2.q"], **times)
    assert get["j2.q"][0] > 0.5 and get["j2.q"][-1] < -0.5
    assert max(np.abs(free.channels[path] - get[path]).max() for path in ("j0.q", "j2.q")) < TABLE


def test_drivers_of_files_and_laws_in_time_are_as_in_a_run() -> None:
    """A mechanism of no freedom, every instant by itself: what `simulate` has there; members have their own laws."""
    law: dict[str, Any] = {"amplitude": 1.5, "frequency": 4.0, "rate": 9.0}
    forces = [("shake", "harmonic_load", {"joint": "j3", "amplitude": 3.0, "frequency": 7.0, "phase": 0.2})]
    driven = loop(*forces, **law)
    channels = ["j0.drive_load", "j2.reaction_force", "j3.a"]
    run = simulate(driven, 1.0, 1e-3, output_step=0.25, channels=channels, accuracy="local")
    answer = inverse_dynamics(driven, times=run.time, channels=channels)
    members = Harmonic(offset=-1.0, **law | {"amplitude": np.array([0.7, 1.5])})
    stated = inverse_dynamics(loop(*forces), {"j0": members}, run.time, channels=channels[1:])
    for path, values in run.channels.items():
        size = LOOPS * np.abs(values).max()
        other = (stated.forces["j0"] if path == "j0.drive_load" else stated.channels[path])[1]
        assert np.abs(answer.channels[path] - values).max() < size and np.abs(other - values).max() < size
    assert answer.forces == {} and answer.channels["j2.reaction_force"].shape == (5, 3)


def test_more_forces_than_freedoms_share_the_work_and_a_note_says_so() -> None:
    """Two motors of a four-bar do together what one does; how they share it is one choice of many."""
    motion = {"j0": (TURN, 2.0 + 0 * TURN, 1.0 + 0 * TURN)}
    alone = inverse_dynamics(FOUR, motion, channels=["j0.v", "j3.v"])
    both = inverse_dynamics(FOUR, motion, forces=["j0", "j3"])
    power = both.forces["j0"] * alone.channels["j0.v"] + both.forces["j3"] * alone.channels["j3.v"]
    expected = alone.forces["j0"] * alone.channels["j0.v"]
    assert np.abs(power - expected).max() < LOOPS * np.abs(expected).max()
    assert np.abs(both.forces["j3"]).max() > 0.01 * np.abs(both.forces["j0"]).max()
    (note,) = both.notes
    assert "statically indeterminate" in note and "least norm" in note and not alone.notes
    first, *lines = repr(both).splitlines()
    assert first.endswith(f"{len(TURN)} instants, {len(TURN)} ok") and len(lines) == 3, "two forces, one note"
    assert "channel: j0.v" in repr(alone) and "<" in alone._repr_html_()


def test_coordinates_of_joints_of_several_in_a_loop_and_members() -> None:
    """A spatial loop whose rocker turns and slides in one joint: what drives two of its three freedoms does the work.

    Slide and crank, or slide and rocker: the same motion, the same power. Every member is as it is alone.
    """
    model, q = bar(), np.array([-1.0, -0.8, -0.7])
    motion = {"pivot": (q, 2.0 + q, 1.0 - q), "hub.slide": (0.02 * q, 0.3 * q, 0.1 * q)}
    channels = ["power.kinetic", "power.gravity", "pivot.v", "hub.angle.v", "hub.slide.v"]
    one = inverse_dynamics(model, motion, channels=channels, vary={"rocker.mass": [0.5, 2.0]})
    other = inverse_dynamics(model, motion, forces=["hub.angle", "hub.slide"], vary={"rocker.mass": [0.5, 2.0]})
    taken = one.channels["power.kinetic"] - one.channels["power.gravity"]
    for answer in (one, other):
        power = sum(force * one.channels[f"{name}.v"] for name, force in answer.forces.items())
        assert np.abs(power - taken).max() < LOOPS * np.abs(taken).max()
    assert one.forces["pivot"].shape == one.status.shape == (2, 3) and (one.status == 0).all()
    alone = inverse_dynamics(model.replace({"rocker.mass": 2.0}), motion)
    assert np.abs(alone.forces["pivot"] - one.forces["pivot"][1]).max() < ALGEBRA * np.abs(taken).max()


def test_gears_carry_what_the_other_shaft_takes() -> None:
    """Of two shafts, q_left = -2 q_right, the left one takes (I + I / 4) a; the right one -2 times that."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a")
    for name in ("left", "right"):
        a.body(f"{name}_disc", mass=1, inertia=(0.01, 0.02, 0.02)).joint(name, "Ry", child=f"{name}_disc")
    model, turn = builder.build(), np.array([3.0, -5.0])
    motion, tie = {"left": (0 * turn, 1 + 0 * turn, turn)}, {"gear": "left.q == -2 * right.q"}
    answer = inverse_dynamics(model, motion, tie=tie, channels=["gear.multiplier"])
    assert np.abs(answer.forces["left"] - 0.025 * turn).max() < ALGEBRA
    assert np.abs(np.abs(answer.channels["gear.multiplier"]) - np.abs(0.005 * turn)).max() < ALGEBRA
    other = inverse_dynamics(model, motion, tie=tie, forces=["right"])
    assert np.abs(other.forces["right"] + 0.05 * turn).max() < ALGEBRA


def test_forces_that_cannot_bring_about_the_motion_are_refused() -> None:
    motion = {name: (np.array([-1.9]), np.array([1.0]), np.array([2.0])) for name in ("j0", "j4")}
    with pytest.raises(ModelError, match="j0, which do not bring about the accelerations of j0, j4"):
        inverse_dynamics(FIVE, motion, forces=["j0"])


@pytest.mark.parametrize(
    ("motion", "more", "match"),
    [
        ({"j0": TURN}, {}, "a spline that has them"),
        ({"j0": (TURN, TURN[:2], TURN)}, {}, "one value an instant"),
        ({"j0": (TURN, TURN, TURN)}, {"times": [0.0, 1.0]}, "one number of instants"),
        ({"j0": (TURN, TURN, TURN)}, {"vary": {"b0.mass": 1.0}}, "one value a member"),
        ({"j0": (TURN, TURN, TURN)}, {"times": [[0.0]]}, "finite seconds"),
        ({"j9": (TURN, TURN, TURN)}, {}, "called 'j9'"),
        ({"j0": (TURN, TURN, TURN)}, {"forces": "j0"}, "a list of paths"),
        ([TURN], {}, "a mapping"),
    ],
)
def test_what_is_no_motion_is_refused_by_name(motion: Any, more: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        inverse_dynamics(FOUR, motion, **more)


def test_a_result_has_to_have_the_motion() -> None:
    with pytest.raises(ModelError, match=r"channels=\['j0.q', 'j0.v', 'j0.a'\]"):
        inverse_dynamics(FOUR, {"j0": assemble(FOUR, channels=["j0.q"])})
