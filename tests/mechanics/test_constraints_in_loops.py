"""Couplings and constraints between frames on four-bars and cranks (E10): each beside the mechanism that it amounts to."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import shiftjax
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.extensions.mechanisms import four_bar
from tests.support.mechanisms import CRANK, rod

SAME = 1e-9  # rad: two ways of writing one mechanism, of RK4 at 1 ms over 0.3 s
RELATIVE = 1e-9  # of forces in the same runs
INTEGRATED = 1e-9  # against DOP853 at 1e-12
SPUN = 0.004  # kg m^2 of a disc, whatever it turns for
DISCS = np.array([1.0, 2.0, 0.5])  # designs
I_B, I_C = 0.004, 0.001
SUN, RING = 24.0, 72.0
TRAIN = SUN**2 / ((SUN + RING) ** 2 / I_C + RING**2 / I_B)  # of the sun, with ring and carrier free (Willis 1841)
# kind -> numbers, joints, whether the shaft slides, what the crank feels of it [kg m^2], what the shaft turns for a turn
COUPLED: dict[str, tuple[dict[str, Any], tuple[str, ...], float, float]] = {
    "gear": ({"ratio": -2.5}, ("pivot", "b"), SPUN / 2.5**2, -1 / 2.5),
    "belt": ({"radius_1": 0.1, "radius_2": 0.25}, ("pivot", "b"), SPUN / 2.5**2, 1 / 2.5),
    "mimic": ({"multiplier": 3.0, "offset": -1.0}, ("pivot", "b"), SPUN / 9.0, 1 / 3.0),
    "equation": ({"equation": "q[0] == -1 + 0.5 * q[1]"}, ("pivot", "b"), 4.0 * SPUN, 2.0),
    "rack": ({"radius": 0.08}, ("b", "pivot"), 2.0 * 0.08**2, 0.08),
    "screw_coupling": ({"pitch": 0.05}, ("b", "pivot"), 2.0 * 0.05**2, 0.05),
    "planetary": ({"sun_teeth": SUN, "ring_teeth": RING}, ("pivot", "b", "c"), TRAIN, 0.0),
    "differential": ({}, ("pivot", "b", "c"), 4.0 * I_B * I_C / (I_B + I_C), 0.0),
}


def coupled(kind: str) -> Model:
    """A four-bar whose crank turns discs beside it, or pushes a slide."""
    numbers, joints, _, _ = COUPLED[kind]
    builder, bar = four_bar()
    of = {"b": I_B, "c": I_C}
    for k, name in enumerate(of):
        if name in joints:
            builder.frame(name, T=(0.0, 1.0 + k, 0.0))
            bar.body(f"disc_{name}", mass=2.0, inertia=(of[name],) * 3)
            slides = kind in ("rack", "screw_coupling")
            bar.joint(name, "Tx" if slides else "Ry", parent=("fixed", name), child=f"disc_{name}",
                      initial_displacement=0.0)  # fmt: skip
    if len(joints) == 3:  # without it their speeds at the start would be open
        bar.entry["joints"][-1]["initial_velocity"] = 0.0
        bar.entry["joints"][0]["initial_velocity"] = 0.0
        bar.entry["joints"][-2]["initial_velocity"] = 0.0
    bar.constraint("tie", kind, joints=[*joints], **numbers)
    return builder.build()


@cache
def heavier(speed: float) -> tuple[Model, float]:
    builder, bar = four_bar()
    bar.entry["joints"][0]["initial_velocity"] = speed
    model = builder.build()
    return model, model.numbers()["a:crank.inertia.Iyy"]


@pytest.mark.parametrize("kind", COUPLED)
def test_a_four_bar_feels_what_its_crank_turns(kind: str) -> None:
    """As more inertia of the crank, i^2 I, of three designs; the row bears what turns the disc."""
    _, joints, felt, turns = COUPLED[kind]
    path = "mass" if kind in ("rack", "screw_coupling") else "inertia.Iyy"
    vary = {f"disc_{name}.{path}": DISCS * {"b": I_B, "c": I_C}[name] for name in joints if name != "pivot"}
    if path == "mass":
        vary = {"disc_b.mass": 2.0 * DISCS}
    channels = ["pivot.q", "b.q", "b.a", "tie.multiplier"]
    result = shiftjax.simulate(coupled(kind), 0.3, 1e-3, vary=vary, channels=channels, output_step=0.05)
    assert (result.status == 0).all() and result.certificate["energy_error"].max() < 1e-8
    model, own = heavier(0.0 if len(joints) == 3 else 2.0)
    other = shiftjax.simulate(model, 0.3, 1e-3, vary={"crank.inertia.Iyy": own + felt * DISCS}, output_step=0.05,
                              channels=["pivot.q"]).channels["pivot.q"]  # fmt: skip
    assert np.abs(result.channels["pivot.q"] - other).max() < SAME and np.ptp(other[:, -1]) > 1e-4
    inertia = (2.0 if path == "mass" else I_B) * DISCS[:, None]
    bears = inertia * result.channels["b.a"]
    if turns:
        assert np.abs(result.channels["b.q"] - turns * (other + 1.0)).max() < SAME * 10
        factor = {"rack": 1.0, "screw_coupling": 1.0}.get(kind, -1.0 / turns)
    else:
        factor = {"planetary": RING / SUN, "differential": -0.5}[kind]
    scale = np.abs(bears).max()
    assert np.abs(factor * result.channels["tie.multiplier"] - bears).max() < RELATIVE * scale and scale > 1e-3


@pytest.mark.parametrize("kind", ["differential", "equation"])
def test_slopes_of_what_has_no_numbers(kind: str) -> None:
    """By the inertia of what is turned, against differences."""
    model = coupled(kind)

    def last(values: Any) -> Any:
        run = shiftjax.simulate(model, 0.1, 1e-3, vary={"disc_b.inertia.Iyy": values}, channels=["hinge.q"])
        return run.channels["hinge.q"][:, -1]

    slope = float(jax.grad(lambda values: last(values).sum())(jnp.asarray([I_B]))[0])
    ends = np.asarray(last(I_B * (1.0 + 1e-2 * np.array([-2.0, -1.0, 1.0, 2.0]))))
    assert slope == pytest.approx(ends @ [1.0, -8.0, 8.0, -1.0] / (12.0 * 1e-2 * I_B), rel=1e-6) and slope != 0.0


def test_a_geneva_wheel_on_a_driven_four_bar() -> None:
    """Its angle in closed form (Norton, Design of Machinery, 8.8), and the drive gives what the wheel takes up."""
    builder, bar = four_bar()
    builder.frame("b", T=(0.0, 1.0, 0.0))
    bar.body("wheel", mass=1.0, inertia=(I_B,) * 3).joint("b", "Ry", parent=("fixed", "b"), child="wheel")
    bar.constraint("tie", "geneva", joints=["b", "pivot"], slots=4.0, middle=-0.6)
    channels = ["pivot.q", "b.q", "b.a", "pivot.drive_load", "tie.multiplier"]
    result = shiftjax.simulate(builder.build(), 0.3, 1e-3, vary={"wheel.inertia.Iyy": [0.0, I_B]}, channels=channels,
                               drive={"pivot": 2.0}, output_step=0.01)  # fmt: skip
    angle = -1.0 + 2.0 * result.time + 0.6
    half = math.pi / 4
    placed = np.arctan2(np.sin(angle), 1.0 / math.sin(half) - np.cos(angle))
    turned = result.channels["b.q"][1]
    assert np.abs(turned - turned[0] + placed - placed[0]).max() < 1e-11
    s = math.sin(half)  # a'' = k (1 - k^2) w^2 sin / (1 + k^2 - 2 k cos)^2 of the arc, k = sin(pi / slots)
    change = s * (s * s - 1.0) * np.sin(angle) / (1.0 + s * s - 2.0 * s * np.cos(angle)) ** 2 * 4.0
    slope = s * (np.cos(angle) - s) / (1.0 + s * s - 2.0 * s * np.cos(angle))
    assert np.abs(result.channels["b.a"][1] + change).max() < 1e-9
    loads = result.channels["pivot.drive_load"]
    assert np.abs(loads[1] - loads[0] - I_B * change * slope).max() < 1e-9 and np.abs(change).max() > 1.0
    assert np.abs(result.channels["tie.multiplier"][1] - I_B * result.channels["b.a"][1]).max() < 1e-11


ARM = np.array([0.06, 0.0, 0.04])  # m, of the table's centre of mass from the crank's tip
TABLE = 2.0  # kg


@pytest.mark.parametrize("kind", ["same_orientation", "parallel_axes", "point_on_plane", "point_on_surface"])
def test_a_table_that_a_crank_leads_without_turning_is_a_weight_at_its_tip(kind: str) -> None:
    """(I + m r^2) q'' = (m_c r / 2 + m r) g cos q, of three weights; what keeps its orientation bears its moment."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("flat", rotation=(math.pi / 2, 0.0, 0.0))
    a = builder.assembly("a").body("crank", **rod(CRANK))
    upright = {"flat": {"rotation": (math.pi / 2, 0.0, 0.0)}}  # its z axis is across the crank's plane
    a.body("table", mass=TABLE, inertia=(0.01, 0.012, 0.014), center_of_mass=tuple(ARM), frames=upright)
    a.joint("pivot", "Ry", child="crank", initial_displacement=0.3, initial_velocity=1.0)
    tip = [CRANK * math.cos(0.3), 0.0, -CRANK * math.sin(0.3)]
    if kind == "same_orientation":
        a.joint(
            "pin",
            "spherical",
            parent=("crank", "tip"),
            child="table",
            initial_displacement={"rotation": [0.0, -0.3, 0.0]},
        )
        a.constraint("it", kind, frames=["fixed", "table"])
    else:
        a.joint("free", "float", child="table", initial_displacement={"T": tip})
        a.constraint("point", "coincident", frames=[("crank", "tip"), "table"])
        a.constraint("it", "same_orientation", frames=["fixed", "table"])
    if kind == "parallel_axes":  # of two axes, beside a point that lies on a line through the first
        a.entry["constraints"].pop()
        a.constraint("it", kind, frames=[("fixed", "flat"), ("table", "flat")])
        a.constraint("level", "perpendicular_axes", frames=["fixed", ("table", "across")])
        a.entry["bodies"][1]["frames"].append({"name": "across", "rotation": [0.0, math.pi / 2, 0.0]})
    elif kind in ("point_on_plane", "point_on_surface"):  # in place of the pin's row across the plane
        a.entry["constraints"].pop(0)
        more = {"polynomial": [[0.0]]} if kind == "point_on_surface" else {}
        a.constraint("plane", kind, frames=[("fixed", "flat"), "table"], **more)
        a.constraint("rod", "distance", frames=["fixed", "table"], length=CRANK)
    masses = TABLE * DISCS
    result = shiftjax.simulate(builder.build(), 0.3, 1e-3, vary={"table.mass": masses}, output_step=0.05,
                               channels=["pivot.q", "table.position", "table.velocity", "it.multiplier"])  # fmt: skip
    assert (result.status == 0).all(), result.messages
    print(kind, result.channels["it.multiplier"][0, :2])
    for k, m in enumerate(masses):
        inertia = CRANK**2 / 3.0 + m * CRANK**2
        weight = (0.5 + m) * CRANK * 9.81
        way = solve_ivp(lambda t, x, i=inertia, w=weight: [x[1], w / i * np.cos(x[0])], (0.0, 0.3), [0.3, 1.0], "DOP853",
                        t_eval=result.time, rtol=1e-12, atol=1e-13).y  # fmt: skip
        place = CRANK * np.stack([np.cos(way[0]), 0.0 * way[0], -np.sin(way[0])], 1)
        assert np.abs(result.channels["table.position"][k] - place).max() < INTEGRATED
