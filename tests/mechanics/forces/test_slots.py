"""A pin in a slot (D28): walls with play, mouths, a Scotch yoke, a Geneva drive that indexes and dwells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

SLOT: dict[str, Any] = {"length": 0.05, "wall": 0.01, "mouth": 0.005, "k": 1e8}


def yoke(by: str) -> Model:
    """A crank whose pin moves a slide by a slot across its way: a Scotch yoke, of a constraint or of walls."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    slot = {"T": (0.0, -0.05, 0.0), "rotation": (0.0, 0.0, math.pi / 2)}
    line = {"rotation": (-math.pi / 2, 0.0, 0.0)}
    a = builder.assembly("a").body("crank", mass=1.0, inertia=(1e-3,) * 3, frames={"pin": (0.03, 0.0, 0.0)})
    a.body("slide", mass=0.4, inertia=(1e-3,) * 3, frames={"slot": slot, "line": line})
    a.joint("shaft", "Rz", child="crank", initial_displacement=0.0)
    a.joint("way", "Tx", child="slide", initial_displacement=0.03, initial_velocity=0.0)
    if by == "walls":
        numbers = SLOT | {"length": 0.1, "k": 1e9, "damping": 20.0}
        a.force("it", "pin_in_slot", frames=[("crank", "pin"), ("slide", "slot")], play=1e-5, **numbers)
    else:
        a.constraint("it", "point_on_line", frames=[("slide", "line"), ("crank", "pin")])
    return builder.build()


def test_a_scotch_yoke_runs_as_with_a_constraint() -> None:
    """Within its play and how deep its walls are pushed in: sqrt(m a / k) = 1.1e-4 m."""
    model = yoke("walls")
    assert load(to_dict(model)) == model
    runs = [
        shiftjax.simulate(each, 1.0, 1e-4, drive={"shaft": 5.0}, channels=["way.q"], output_step=0.05, vary=vary)
        for each, vary in ((model, {"it.play": [1e-5, 1e-3]}), (yoke("line"), {}))
    ]
    assert (runs[0].status == 0).all() and (runs[0].certificate["energy_error"] < 1e-4).all()
    exact = 0.03 * np.cos(5.0 * runs[1].time)
    assert np.abs(runs[1].channels["way.q"] - exact).max() < 1e-11
    away = np.abs(runs[0].channels["way.q"] - exact).max(1)
    assert away[0] < 1e-5 + 1.5e-4 and 5e-4 < away[1] < 1e-3 + 3e-4, "the play is felt"


def thrown(y: float, vy: float, x: float = 0.025, **numbers: Any) -> shiftjax.Result:
    """A pin of 1 kg against a wall, or over a mouth, without dampers."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("pin", mass=1.0, inertia=(1e-3,) * 3)
    a.joint("free", "planar", child="pin", initial_displacement={"x": x, "y": y}, initial_velocity={"x": 0.1, "y": vy})
    a.force("it", "pin_in_slot", frames=["pin", "fixed"], **SLOT | numbers)
    return shiftjax.simulate(builder.build(), 0.1, 2e-5, channels=["pin.position", "pin.velocity"], output_step=0.01)


def test_walls_throw_a_pin_back_or_break() -> None:
    """They store k wall^3 / 192 at the most: a slower pin comes back as fast, a faster one goes through as fast."""
    limit = math.sqrt(2.0 * SLOT["k"] * SLOT["wall"] ** 3 / 192.0)
    for speed, comes_back in ((0.9 * limit, True), (1.1 * limit, False)):
        result = thrown(0.05, speed, play=0.05)  # the other wall is far away
        assert result.status == 0 and result.certificate["energy_error"] < 1e-6
        assert result.channels["pin.velocity"][8, 1] == pytest.approx(-speed if comes_back else speed, rel=1e-5)


def test_a_pin_beside_the_slot_or_before_its_mouth_is_free() -> None:
    for y, x in ((0.02, 0.025), (0.003, 0.06), (0.003, -0.02), (0.0, 0.025)):
        result = thrown(y, 0.0, x)
        assert np.abs(result.channels["pin.velocity"] - [0.1, 0.0, 0.0]).max() < 1e-15


CENTRES = 0.1  # m
CRANK = RIM = CENTRES * math.sin(math.pi / 4)
PLACE = 5e-4  # rad: 2e-5 m of play at 0.07 m, and what a wheel has gone on with friction
INNER = 0.02  # m: where a slot begins; the pin comes to 0.029 m


def geneva() -> Model:
    """Four slots of a wheel, one pin; what holds the wheel while it stands is friction."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0)).frame("there", T=(CENTRES, 0.0, 0.0))
    slots = {
        f"slot{k}": {"T": (INNER * math.cos(turn), INNER * math.sin(turn), 0.0), "rotation": (0.0, 0.0, turn)}
        for k, turn in enumerate(0.5 * math.pi * np.arange(4))
    }
    a = builder.assembly("a").body("wheel", mass=0.2, inertia=(1e-4,) * 3, frames=slots)
    a.body("crank", mass=0.1, inertia=(1e-4,) * 3, frames={"pin": (-CRANK, 0.0, 0.0)})
    a.joint("index", "Rz", child="wheel", initial_displacement=0.0)
    a.joint("shaft", "Rz", parent=("fixed", "there"), child="crank", initial_displacement=-math.pi)
    numbers = {"length": RIM - INNER, "wall": 0.01, "mouth": 0.004, "play": 2e-5, "k": 1e9, "damping": 5.0}
    for k in range(4):
        a.force(f"pin{k}", "pin_in_slot", frames=[("crank", "pin"), ("wheel", f"slot{k}")], **numbers)
    a.force("rub", "coulomb_friction", joint="index", level=0.01, slip_speed=0.05)
    return builder.build()


def test_a_geneva_drive_by_contact() -> None:
    """Four turns: a quarter of the wheel each, as in closed form while the pin is in; in between it stands.

    A wheel that stands 0.01 rad beside where the pin comes is caught by the walls, and in its place from then on.
    """
    speed, start = 2.0 * math.pi, math.pi / 4
    vary = {"index.initial_displacement": [start, start + 0.01]}
    result = shiftjax.simulate(geneva(), 4.0, 1e-4, drive={"shaft": speed}, vary=vary, output_step=0.01,
                               channels=["index.q", "index.v", "shaft.q"], accuracy="local")  # fmt: skip
    assert result.status[0] == 0 and result.certificate["energy_error"].max() < 1e-4
    wheel, v, crank = (result.channels[name] for name in ("index.q", "index.v", "shaft.q"))
    ends = wheel[:, ::100]  # the pin is farthest from the wheel
    assert np.diff(ends[0]) == pytest.approx(-0.5 * math.pi, abs=PLACE)
    assert ends[1, 1:] == pytest.approx(ends[0, 1:], abs=PLACE)
    angle = np.mod(crank + math.pi, 2.0 * math.pi) - math.pi  # from the middle of a slot
    away = np.abs(angle) > math.pi / 4 + 0.1
    assert np.abs(v[0, away[0]]).max() < 1e-9, "it stands, while the crank goes at 6.3 rad/s"
    inside = np.abs(angle[0]) < math.pi / 4 - 0.1
    exact = -np.arctan2(np.sin(angle[0]), math.sqrt(2.0) - np.cos(angle[0]))
    off = np.mod(wheel[0] - exact + 0.25 * math.pi, 0.5 * math.pi) - 0.25 * math.pi
    assert np.abs(off[inside]).max() < 2.5e-3, "(play + sqrt(0.7 N / k)) / 0.029 m"


@pytest.mark.parametrize(
    ("numbers", "message"),
    [({"mouth": 0.03}, "a mouth of more than half of the length"), ({"wall": 0.0}, "a wall of above 0")],
)
def test_what_no_slot_can_be_is_refused(numbers: dict[str, float], message: str) -> None:
    builder = ModelBuilder()
    a = builder.assembly("a").body("pin", mass=1.0, inertia=(1.0,) * 3).joint("free", "planar", child="pin")
    a.force("it", "pin_in_slot", frames=["pin", "fixed"], **SLOT | numbers)
    with pytest.raises(ModelError, match=message):
        builder.build()
