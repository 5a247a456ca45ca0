"""Equalities of MJCF are exact joints and constraints (F23, M61): the mechanism is that of our own file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.support.models.mjcf_text import INERTIAL, model_of, words

ROUNDING = 1e-13  # m, rad or 1, after Newton's method of the loops
CRANK, COUPLER, ROCKER, BASE = 0.2, 0.5, 0.4, 0.5
START = 0.7  # rad of the crank


def closed_angles() -> tuple[float, float]:
    """Of the coupler and the rocker against the base, about -y, by the triangle of the crank's end (law of cosines)."""
    end = CRANK * np.array([math.cos(START), math.sin(START)])
    away = np.array([BASE, 0.0]) - end
    d = float(np.hypot(*away))
    at_end = math.acos((COUPLER**2 + d * d - ROCKER**2) / (2 * COUPLER * d))
    coupler = math.atan2(away[1], away[0]) + at_end
    meeting = end + COUPLER * np.array([math.cos(coupler), math.sin(coupler)])
    return coupler, math.atan2(meeting[1], meeting[0] - BASE)


ANGLES = closed_angles()


def bar(name: str, length: float, place: str, inside: str = "") -> str:
    """A bar along its x axis that turns about -y; its mass is 1 kg for each metre."""
    moment = repr(length**3 / 12)
    return (
        f'<body name="{name}" {place}><joint name="{name}" axis="0 -1 0"/>'
        f'<inertial pos="{length / 2} 0 0" mass="{length}" diaginertia="1e-4 {moment} {moment}"/>'
        f'<site name="{name}_end" pos="{length} 0 0"/>{inside}</body>'
    )


def four_bar(closing: str, more: str = "") -> Model:
    coupler, rocker = ANGLES
    inner = bar("coupler", COUPLER, f'pos="{CRANK} 0 0" axisangle="0 -1 0 {coupler - START!r}"', more)
    world = bar("crank", CRANK, f'axisangle="0 -1 0 {START!r}"', inner)
    world += bar("rocker", ROCKER, f'pos="{BASE} 0 0" axisangle="0 -1 0 {rocker!r}"')
    return model_of('<compiler angle="radian"/>', f"<equality>{closing}</equality>", world=world)


def ours() -> Model:
    """The same four-bar, its loop closed by a revolute joint."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    builder.frame("pivot", T=(BASE, 0, 0))
    parts = builder.assembly("m")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        moment = length**3 / 12
        parts.body(name, mass=length, center_of_mass=(length / 2, 0, 0), inertia=(1e-4, moment, moment, 0, 0, 0),
                   frames={"end": {"T": (length, 0, 0)}})  # fmt: skip
    axis = (0, -1, 0)
    parts.joint("crank", "revolute", parent=("fixed", "origin"), child="crank", axis=axis, initial_displacement=START)
    coupler, rocker = ANGLES
    parts.joint("coupler", "revolute", parent=("crank", "end"), child="coupler", axis=axis,
                initial_displacement=coupler - START)  # fmt: skip
    parts.joint("rocker", "revolute", parent=("fixed", "pivot"), child="rocker", axis=axis, initial_displacement=rocker)
    parts.joint("loop", "revolute", parent=("coupler", "end"), child=("rocker", "end"), axis=axis, cut=True)
    return builder.build()


def moved(model: Model, turn: float, speed: float) -> dict[str, Any]:
    """Poses, and accelerations about -y, where the crank has turned on from the pose that the file draws."""
    begin = dict(model.joints())["m:crank"].initial_displacement
    assert isinstance(begin, float)
    at = shiftjax.configuration(model, q={"crank": begin + turn}, v={"crank": speed})
    names = list(at.speed_names)
    return {
        "poses": np.array([at.pose(name) for name in ("crank", "coupler", "rocker")]),
        "v": [at.v[names.index(f"m:{name}")] for name in ("crank", "coupler", "rocker")],
        "a": [at.accelerations()[names.index(f"m:{name}")] for name in ("crank", "coupler", "rocker")],
        "freedoms": len(at.independent_names),
    }


CLOSINGS = {
    "connect": f'<connect name="loop" body1="coupler" body2="rocker" anchor="{COUPLER} 0 0"/>',
    "the other way": f'<connect name="loop" body1="rocker" body2="coupler" anchor="{ROCKER} 0 0"/>',
    "sites": '<connect name="loop" site1="coupler_end" site2="rocker_end"/>',
    "a weld that turns": f'<weld body1="coupler" body2="rocker" anchor="{ROCKER} 0 0" torquescale="0"/>',
}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return moved(ours(), 0.4, 1.5)


@pytest.mark.parametrize("closing", CLOSINGS)
def test_f23_a_connect_closes_the_four_bar_of_our_file(closing: str, expected: dict[str, Any]) -> None:
    """Equal freedoms, poses, speeds and accelerations a good way from the pose that is drawn, where loops are exact."""
    model = four_bar(CLOSINGS[closing])
    got = moved(model, 0.4, 1.5)
    assert got["freedoms"] == expected["freedoms"] == 1
    assert np.abs(got["poses"] - expected["poses"]).max() < ROUNDING
    assert got["v"] == pytest.approx(expected["v"], abs=ROUNDING * 10)
    assert got["a"] == pytest.approx(expected["a"], abs=ROUNDING * 1000)
    assert "equalities hold exactly" in model.comment
    (loop,) = (item for _, item in model.joints() if item.cut)
    assert loop.type == "spherical"


def test_f23_a_run_of_it_is_that_of_our_file() -> None:
    """Motion from rest for 0.3 s, and the loop's gap at its end."""
    runs = [
        shiftjax.simulate(model, span=0.3, step=1e-3, channels=["crank.q"])
        for model in (ours(), four_bar(CLOSINGS["connect"]))
    ]
    ways = [float(run.channels["crank.q"][-1] - run.channels["crank.q"][0]) for run in runs]
    assert abs(ways[0]) > 0.3 and ways[1] == pytest.approx(ways[0], abs=1e-9)  # the two take other coordinates
    assert runs[1].certificate["gap"] < 1e-10


def test_f23_a_weld_makes_one_body_of_two() -> None:
    """Two halves of a bar, welded where they are drawn, by sites, or where an anchor of the second stands in the first,
    move as the whole: J q'' = -m g l/2 cos q."""
    half = '<inertial pos="0.25 0 0" mass="0.5" diaginertia="1e-4 0.0104166666666666664 0.0104166666666666664"/>'
    joint = '<joint name="turn" axis="0 -1 0"/>'
    world = (
        f'<body name="a">{joint}{half}<site name="end" pos="0.5 0 0"/></body>'
        f'<body name="b" pos="0.5 0 0"><freejoint/>{half}<site name="begin"/></body>'
    )
    for closing in ('<weld body1="a" body2="b"/>', '<weld site1="end" site2="begin"/>',
                    '<weld body1="a" body2="b" relpose="0.6 0.2 0.3 2 0 0 0" anchor="0.1 0.2 0.3"/>'):  # fmt: skip
        model = model_of(f"<equality>{closing}</equality>", world=world)
        at = shiftjax.configuration(model, q={"turn": 0.6})
        assert len(at.independent_names) == 1 and at.pose("b")[:3, 3] == pytest.approx(
            [0.5 * math.cos(0.6), 0, 0.5 * math.sin(0.6)], abs=ROUNDING
        )
        turn = at.accelerations()[list(at.speed_names).index("m:turn")]
        assert turn == pytest.approx(-9.81 * 0.5 * math.cos(0.6) / (1 / 3), rel=1e-9)


def test_f23_bodies_that_are_drawn_apart_are_brought_together() -> None:
    """A relative pose, or sites, that the drawn pose does not have: the loop closes at the start."""
    world = (
        f'<body name="a"><joint name="turn" axis="0 -1 0"/>{INERTIAL}</body>'
        f'<body name="b" pos="3 1 2"><freejoint/>{INERTIAL}</body>'
    )
    quat = words((math.cos(0.2), 0, 0, math.sin(0.2)))
    model = model_of(f'<equality><weld body1="a" body2="b" relpose="0 1 0 {quat}"/></equality>', world=world)
    at = shiftjax.configuration(model)
    turned = at.pose("a")
    relative = np.linalg.inv(turned) @ at.pose("b")
    c, s = math.cos(0.4), math.sin(0.4)
    assert np.abs(relative - [[c, -s, 0, 0], [s, c, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]).max() < 1e-12


def test_f23_joints_are_coupled_by_polynomials() -> None:
    """y - y0 = a0 + a1 (x - x0) + a2 (x - x0)^2 + ... from where both are drawn; one alone is held at y0 + a0."""
    hinges = "".join(
        f'<body name="b{k}"><joint name="j{k}" axis="0 0 1" ref="{ref}"/>{INERTIAL}</body>'
        for k, ref in enumerate((0.0, 0.1, 0.2, 0.3))
    )
    a = (0.05, -0.5, 0.3, 0.2, -0.1)
    model = model_of(
        '<compiler angle="radian"/>',
        "<equality>"
        f'<joint name="curve" joint1="j1" joint2="j0" polycoef="{words(a)}"/>'
        '<joint joint1="j2" joint2="j1" polycoef="0 2"/><joint joint1="j3" polycoef="0.25"/></equality>',
        world=hinges,
    )
    at = shiftjax.configuration(model, q={"j0": 0.4}, v={"j0": 1.0})
    q, v = dict(zip(at.speed_names, at.q, strict=True)), dict(zip(at.speed_names, at.v, strict=True))
    y = 0.1 + sum(c * 0.4**k for k, c in enumerate(a))
    slope = sum(k * c * 0.4 ** (k - 1) for k, c in enumerate(a) if k)
    assert [q[f"m:j{k}"] for k in range(4)] == pytest.approx([0.4, y, 0.2 + 2 * (y - 0.1), 0.55], abs=ROUNDING)
    assert [v[f"m:j{k}"] for k in range(4)] == pytest.approx([1, slope, 2 * slope, 0], abs=ROUNDING)
    assert at.mass_matrix(constrained=True)[0, 0] == pytest.approx(1 + slope**2 * 5, rel=1e-12)


def test_f23_tendons_are_coupled_too() -> None:
    """L1 - L1_0 = a0 + a1 (L2 - L2_0) of two sums of coordinates."""
    hinges = "".join(
        f'<body name="b{k}"><joint name="j{k}" axis="0 0 1" ref="{0.1 * k}"/>{INERTIAL}</body>' for k in range(3)
    )
    model = model_of(
        '<compiler angle="radian"/>',
        '<tendon><fixed name="s"><joint joint="j0" coef="1"/><joint joint="j1" coef="2"/></fixed>'
        '<fixed name="t"><joint joint="j2" coef="3"/></fixed></tendon>',
        '<equality><tendon tendon1="s" tendon2="t" polycoef="0 -1"/></equality>',
        world=hinges,
    )
    at = shiftjax.configuration(model, q={"j0": 0.3, "j1": -0.2})
    q = dict(zip(at.speed_names, at.q, strict=True))
    assert q["m:j0"] + 2 * q["m:j1"] - 0.2 == pytest.approx(-(3 * q["m:j2"] - 0.6), abs=ROUNDING)


def test_f23_equalities_that_do_not_act_are_left_out() -> None:
    still = CLOSINGS["connect"].replace("<connect", '<connect active="false"')
    model = four_bar(still)
    assert not any(item.cut for _, item in model.joints()) and "left out, since it is not active: loop" in model.comment
