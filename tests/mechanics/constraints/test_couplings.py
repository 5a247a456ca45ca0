"""Couplings of coordinates (E10, D29): gears, belts, racks, screws, trains, each against its closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder

GAP = 1e-12  # m or rad
EXACT = 1e-9  # relative, of RK4 at 1 ms over half a second of constant accelerations
INERTIA = {"a": 0.3, "b": 0.05, "c": 0.02}  # kg m^2 about z, of three discs on shafts along z
TORQUE = 0.7  # N m on the disc a


def discs(names: str = "ab", slide: str = "") -> tuple[ModelBuilder, AssemblyBuilder]:
    """Discs on parallel shafts at different angles, without gravity; a torque on the first; one may slide instead."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    assembly = builder.assembly("m")
    for k, name in enumerate(names):
        builder.frame(f"at_{name}", T=(0.4 * k, 0.0, 0.0))
        assembly.body(name, mass=2.0, inertia=(INERTIA[name],) * 3)
        kind = "Tx" if name == slide else "Rz"
        assembly.joint(f"{name}_joint", kind, parent=("fixed", f"at_{name}"), child=name, initial_displacement=0.1 * k)
    assembly.force("motor", "constant_load", joint=f"{names[0]}_joint", load=TORQUE)
    return builder, assembly


PAIRS: dict[str, tuple[dict[str, Any], str, float]] = {  # numbers, what slides, way of the first for one of the second
    "gear": ({"ratio": -2.5}, "", -2.5),
    "belt": ({"radius_1": 0.1, "radius_2": 0.25}, "", 2.5),
    "crossed": ({"radius_1": 0.1, "radius_2": 0.25, "run": "crossed"}, "", -2.5),
    "rack": ({"radius": 0.08}, "a", 0.08),
    "screw_coupling": ({"pitch": 0.002}, "a", 0.002),
    "mimic": ({"multiplier": 3.0, "offset": -0.3}, "", 3.0),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_a_pair_moves_as_one_inertia(kind: str) -> None:
    """In closed form: the first goes i times as far, from where it is drawn, under its force, with I_1 + I_2 / i^2.

    The multiplier is the force along the first joint: what turns the second is i times as much.
    """
    numbers, slide, i = PAIRS[kind]
    builder, assembly = discs("ab", slide)
    assembly.constraint("tie", "belt" if kind == "crossed" else kind, joints=["a_joint", "b_joint"], **numbers)
    model = builder.build()
    assert load(to_dict(model)) == model
    channels = ["a_joint.q", "b_joint.q", "b_joint.a", "tie.multiplier"]
    result = shiftjax.simulate(model, 0.5, 1e-3, channels=channels, output_step=0.1)
    assert result.status == 0 and result.certificate["gap"] < GAP
    own = 2.0 if slide else INERTIA["a"]
    acceleration = TORQUE / (own + INERTIA["b"] / i**2)
    way = 0.5 * acceleration * result.time**2
    assert result.channels["a_joint.q"] == pytest.approx(way, rel=EXACT, abs=GAP)
    assert result.channels["b_joint.q"] == pytest.approx(0.1 + way / i, rel=EXACT, abs=GAP)
    assert result.channels["tie.multiplier"] == pytest.approx(own * acceleration - TORQUE, rel=EXACT)
    assert -i * result.channels["tie.multiplier"] == pytest.approx(
        INERTIA["b"] * result.channels["b_joint.a"], rel=EXACT
    )
    assert result.units["tie.multiplier"] == ("N" if slide else "N m")


def test_a_gear_keeps_its_ratio_over_many_turns() -> None:
    """E10: a hundred turns of the pinion."""
    builder, assembly = discs()
    assembly.constraint("tie", "gear", joints=["b_joint", "a_joint"], ratio=-3.0)
    drive = {"a_joint": 2.0 * math.pi * 100 / 3}
    result = shiftjax.simulate(
        builder.build(), 1.0, 1e-3, drive=drive, channels=["a_joint.q", "b_joint.q"], output_step=0.1
    )
    a, b = result.channels["a_joint.q"], result.channels["b_joint.q"]
    assert b[-1] < -2.0 * math.pi * 99 and np.abs((b - 0.1) + 3.0 * a).max() < 1e-10


def test_an_epicyclic_train() -> None:
    """Ring at rest: the carrier turns z_s / (z_s + z_r) as fast as the sun (Willis 1841)."""
    builder, assembly = discs("abc")
    assembly.constraint("train", "planetary", joints=["a_joint", "b_joint", "c_joint"], sun_teeth=24, ring_teeth=72)
    drive = {"a_joint": 12.0, "b_joint": 0.0}
    result = shiftjax.simulate(builder.build(), 1.0, 1e-3, drive=drive, channels=["c_joint.v", "c_joint.q"])
    assert result.channels["c_joint.v"] == pytest.approx(3.0, abs=GAP)
    assert result.channels["c_joint.q"][-1] == pytest.approx(0.2 + 3.0, abs=GAP)


def test_a_differential_turns_its_shafts_by_the_same_torque() -> None:
    """The cage turns by their mean; each shaft has half of the torque, whatever its inertia."""
    builder, assembly = discs("abc")
    assembly.constraint("cage", "differential", joints=["a_joint", "b_joint", "c_joint"])
    channels = ["a_joint.a", "b_joint.a", "c_joint.a", "cage.multiplier"]
    result = shiftjax.simulate(builder.build(), 0.1, 1e-3, channels=channels, output_step=0.1)
    a, b, c, torque = (result.channels[name][-1] for name in channels)
    assert a == pytest.approx(0.5 * (b + c), rel=EXACT)
    assert INERTIA["b"] * b == pytest.approx(INERTIA["c"] * c, rel=EXACT) == pytest.approx(-0.5 * torque, rel=EXACT)


@pytest.mark.parametrize("slots", [3, 4, 6])
def test_a_geneva_drive_indexes_and_dwells(slots: int) -> None:
    """Each turn of the crank by 2 pi / slots, in a share of 1/2 - 1/slots of it; else it stands; peaks of Norton.

    Speeds peak at sin / (1 - sin) of pi / slots times the crank's; what the row bears is the wheel's inertia.
    """
    builder, assembly = discs()
    assembly.constraint("tie", "geneva", joints=["b_joint", "a_joint"], slots=slots, middle=math.pi)
    model = builder.build()
    assert load(to_dict(model)) == model
    speed, steps = 2.0 * math.pi, 240
    channels = ["a_joint.q", "b_joint.q", "b_joint.v", "b_joint.a", "tie.multiplier"]
    result = shiftjax.simulate(model, 3.0, 1.0 / 960, drive={"a_joint": speed}, channels=channels,
                               output_step=1.0 / steps, vary={"b.inertia.Izz": [0.05, 0.1]})  # fmt: skip
    assert (result.status == 0).all() and (result.certificate["gap"] < GAP).all()
    crank, wheel, v, a, torque = (result.channels[name][1] for name in channels)
    ends = wheel[::steps]  # at whole turns the pin is farthest from the wheel
    assert np.diff(ends) == pytest.approx(-2.0 * math.pi / slots, abs=1e-11)
    away = np.abs((crank % (2.0 * math.pi)) - math.pi)  # from the middle of a slot
    stands = away > (0.5 - 1.0 / slots) * math.pi + 1e-9
    assert np.abs(v[stands]).max() < GAP and np.abs(v[~stands & (away < 0.4)]).min() > 0.1
    assert stands[:-1].mean() == pytest.approx(0.5 + 1.0 / slots, abs=2.0 / steps)
    s = math.sin(math.pi / slots)
    assert np.abs(v).max() == pytest.approx(speed * s / (1.0 - s), rel=1e-9)
    assert torque == pytest.approx(0.1 * a, abs=1e-9 * np.abs(a).max()) and np.abs(a).max() > speed**2


def test_what_slides_is_no_gear() -> None:
    builder, assembly = discs("ab", "b")
    assembly.constraint("tie", "gear", joints=["a_joint", "b_joint"], ratio=2.0)
    message = r"joints.*found m:b_joint, which slides; allowed: a joint that turns\. Name .* the first turns, the sec"
    with pytest.raises(ModelError, match=message):
        builder.build()


def test_a_radius_is_a_length_whatever_the_unit_of_angles() -> None:
    """In millimetres and degrees a rack's radius of 100 is 0.1 m, a pitch of 2 is 2 mm a degree."""
    builder, assembly = discs("ab", "b")
    assembly.constraint("tie", "rack", joints=["b_joint", "a_joint"], radius=100.0)
    assembly.constraint("nut", "screw_coupling", joints=["b_joint", "a_joint"], pitch=2.0, active=False)
    document = to_dict(builder.build())
    document["model_parameters"]["units"] = {"angle": "degrees", "length": "millimeters"}
    assert load(document).numbers()["m:tie.radius"] == pytest.approx(0.1, rel=1e-15)
    document["assemblies"][0]["constraints"][1]["active"] = True
    assert load(document).numbers()["m:nut.pitch"] == pytest.approx(0.002 * 180.0 / math.pi, rel=1e-15)


@pytest.mark.parametrize(
    ("kind", "entry", "message"),
    [
        ("belt", {"joints": ["a_joint", "b_joint"], "radius_1": 0.0, "radius_2": 1.0}, "a radius_1 of above 0"),
        ("gear", {"joints": ["a_joint", "a_joint"], "ratio": 2.0}, r"joints\[1\]: found m:a_joint again"),
        ("coincident", {"frames": ["fixed", ("fixed", "origin")]}, "ground, which no constraint moves"),
        ("coincident", {"frames": ["a", "a"]}, "two frames of m:a, which never move apart"),
        ("cam", {"frames": ["a", "b"], "radii": [0.1, 0.2]}, "2 of them; allowed: 3 numbers or more"),
        ("cam", {"frames": ["a", "b"], "radii": [0.1, -0.2, 0.1]}, "a radius of 0 or less"),
    ],
)
def test_what_ties_nothing_is_refused(kind: str, entry: dict[str, Any], message: str) -> None:
    builder, assembly = discs("ab")
    assembly.constraint("tie", kind, **entry)
    with pytest.raises(ModelError, match=message):
        builder.build()
