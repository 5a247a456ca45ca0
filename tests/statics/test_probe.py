"""Probes of unknown length, swept through equilibria: limits met, tipping over, range and sensitivity. M8, M8b."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from tests.statics import probing
from tests.statics.probing import BOUND, FEET, HIT, TIPPING, TOPPLE, prober

LOCATED = 1e-9  # m and rad: M8
CLOSED_FORM = 1e-12
MODEL = prober()
SWEEP: Any = {"probe": (0.1, 2.5)}
TIPS = {"tips": {"of": FEET, "action": "stop"}}


@pytest.fixture(scope="module")
def path() -> shiftjax.LoadPath:
    channels = [FEET, "hip.q", "hip.reaction_force"]
    return shiftjax.load_path(MODEL, SWEEP, poses=80, distance=0.1, events=TIPS, channels=channels, slopes=True)


def test_a_joint_yields_to_a_longer_probe(path: shiftjax.LoadPath) -> None:
    """T(t) = m g L cos t at every pose, and the margin is a - m L cos t / (M + m)."""
    here = np.isfinite(path.factor[0])
    t, length = path.q["prober:hip"][0, here], path.loads["prober:probe"][0, here]
    assert here.sum() > 40 and length[0] == 0.1 and (np.diff(length) > 0.0).all()
    assert np.abs(path.q["prober:probe"][0, here] - length).max() < CLOSED_FORM
    assert np.abs(probing.torque(t) - probing.TIP * probing.G * length * np.cos(t)).max() < 1e-11
    margin = path.channels[FEET][0, here]
    assert np.abs(margin - probing.margin_of(t, length)).max() < CLOSED_FORM and path.units[FEET] == "m"
    assert abs(margin[-1]) < CLOSED_FORM and path.ends == ("the event tips",)


def test_limits_met_and_tipping_over_are_located(path: shiftjax.LoadPath) -> None:
    """The stop is met at T(bound) / (m g cos), and it tips where m L cos t = (M + m) a; the range is between them."""
    meets, tips = path.events
    assert (meets.name, meets.direction) == ("prober:hip.upper", "up")
    assert (tips.name, tips.direction) == ("tips", "down")
    assert meets.q["prober:hip"] == pytest.approx(BOUND, abs=LOCATED)
    assert meets.loads["prober:probe"] == pytest.approx(HIT, abs=LOCATED)
    assert tips.q["prober:hip"] == pytest.approx(TIPPING, abs=LOCATED)
    assert tips.loads["prober:probe"] == pytest.approx(TOPPLE, abs=LOCATED)
    lengths = path.loads["prober:probe"][0]
    assert lengths[meets.pose] <= HIT < lengths[meets.pose + 1]
    assert path.range("tips") == pytest.approx(np.array([[HIT, TOPPLE]]), abs=LOCATED)
    assert path.range("tips", begin=[]) == pytest.approx(np.array([[0.1, TOPPLE]]), abs=LOCATED)
    assert path.range("prober:hip.upper") == pytest.approx(np.array([[0.1, HIT]]), abs=LOCATED)
    assert path.range("prober:hip.lower", begin=["tips"]) == pytest.approx(np.array([[TOPPLE, TOPPLE]]), abs=LOCATED)
    assert "tips of curve 0" in repr(path)


def test_sensitivities_are_exact(path: shiftjax.LoadPath) -> None:
    """dt/dL = m g cos t / (T'(t) + m g L sin t), through the stop, too; the reaction bears a weight that stays."""
    here = np.isfinite(path.factor[0])
    t, length = path.q["prober:hip"][0, here], path.loads["prober:probe"][0, here]
    assert np.abs(path.slopes["hip.q"][0, here] - probing.deflection_slope(t, length)).max() < CLOSED_FORM
    assert np.abs(path.slopes[FEET][0, here] - probing.margin_slope(t, length)).max() < CLOSED_FORM
    assert np.abs(path.slopes["hip.reaction_force"][0, here]).max() < CLOSED_FORM
    assert path.slopes["hip.reaction_force"].shape == (1, 80, 3) and np.isnan(path.slopes[FEET][0, ~here]).all()


def test_designs_are_swept_together() -> None:
    """A heavier tip tips over at a shorter length; loads of members and other numbers that go along."""
    mass = np.array([0.5, 0.8])
    every = shiftjax.load_path(
        MODEL, {"probe": (np.array([0.1, 0.2]), 2.5)}, vary={"tip.mass": mass}, poses=80, distance=0.1, events=TIPS,
        channels=[FEET], slopes=True,
    )  # fmt: skip
    t = BOUND + (np.sqrt(probing.SPRING**2 + 2.0 * probing.STIFF / probing.BLEND * (
        (probing.BODY + mass) * probing.G * probing.FOOT - probing.SPRING * BOUND
    )) - probing.SPRING) * probing.BLEND / probing.STIFF  # fmt: skip
    topples = probing.torque(t) / (mass * probing.G * np.cos(t))
    assert every.range("tips")[:, 1] == pytest.approx(topples, abs=LOCATED)
    alone = shiftjax.load_path(MODEL, SWEEP, poses=80, distance=0.1, events=TIPS, channels=[FEET], slopes=True)
    assert np.array_equal(every.slopes[FEET][0], alone.slopes[FEET][0], equal_nan=True)
    both = shiftjax.load_path(
        MODEL, SWEEP | {"body.mass": (4.0, 2.0)}, poses=80, distance=0.03, channels=[FEET], slopes=True
    )
    length, margin = both.loads["prober:probe"][0], both.channels[FEET][0]
    across = (margin[2:] - margin[:-2]) / (length[2:] - length[:-2])
    smooth = (both.q["prober:hip"][0] < BOUND - 0.1)[1:-1]
    assert np.abs(across - both.slopes[FEET][0, 1:-1])[smooth].max() < 2e-4 * np.abs(across[smooth]).max()


def test_slopes_go_through_loops_and_reactions() -> None:
    """Of a four-bar on springs whose coupler grows: differences of equilibria on either side, of all channels."""
    model = shiftjax.load("four_bar").replace({"model_parameters.gravity[2]": 9.81})
    path = "coupler:tip.T[0]"
    channels = ["rocker_pivot.q", "coupler:tip.position", "rocker_pivot.reaction_force", "energy.potential"]
    swept = shiftjax.load_path(model, {path: (0.48, 0.52)}, poses=5, distance=0.3, channels=channels, slopes=True)
    lengths = swept.loads[f"four_bar:{path}"][0]
    here, h = np.isfinite(lengths), 1e-5
    ends = [
        shiftjax.equilibrium(model, vary={path: lengths[here] + way}, channels=channels).channels for way in (h, -h)
    ]
    for channel in channels:
        slope = (ends[0][channel] - ends[1][channel]) / (2.0 * h)
        assert np.abs(swept.slopes[channel][0, here] - slope).max() < 1e-7 * max(1.0, np.abs(slope).max()), channel
    assert here.sum() > 2 and len(swept.events) == 0


def test_the_margin_has_slopes_in_equilibrium() -> None:
    """The same by JAX: dM/dL of an equilibrium whose length is a number of a frame, and by differences."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -probing.G))
    a = builder.assembly("scale")
    a.body("body", mass=probing.BODY, inertia=(0.1,) * 3,
           frames={"left": (-0.15, 0.0, 0.0), "right": (0.15, 0.0, 0.0), "shoulder": (0.0, 0.0, 0.4)})  # fmt: skip
    a.body("arm", mass=probing.TIP, inertia=(0.01,) * 3, center_of_mass=(0.3, 0.0, 0.0))
    a.joint("stand", "rigid", child="body")
    a.joint("hip", "Ry", parent=("body", "shoulder"), child="arm", stiffness=[0.0, probing.SPRING])
    model = builder.build()

    def margin(length: Any) -> Any:
        stand = shiftjax.equilibrium(model, vary={"arm.center_of_mass[0]": length}, channels=[FEET, "hip.q"])
        return stand.channels[FEET], stand.channels["hip.q"]

    lengths = jnp.array([0.2, 0.4])
    slope = np.diagonal(jax.jit(jax.jacfwd(lambda x: margin(x)[0]))(lengths))
    t = np.asarray(margin(np.asarray(lengths))[1])
    assert np.abs(slope - probing.margin_slope(t, np.asarray(lengths))).max() < CLOSED_FORM
    h = 1e-5
    ends = [margin(np.asarray(lengths) + way)[0] for way in (h, -h)]
    assert np.abs(slope - (ends[0] - ends[1]) / (2.0 * h)).max() < 1e-9


def test_events_of_one_direction_and_marks() -> None:
    """An expression that comes to zero upwards alone is no event downwards; one that marks ends nothing."""
    given = {"of": FEET, "direction": "up"}
    swept = shiftjax.load_path(
        MODEL, {"probe": (0.1, 1.4)}, poses=80, distance=0.1, events={"up": given, "half": "hip.q - 0.25"}
    )
    assert [one.name for one in swept.events] == ["half", "prober:hip.upper"]
    assert swept.events[0].loads["prober:probe"] == pytest.approx(probing.length_of(0.25), abs=LOCATED)
    assert swept.ends == ("the load factor 1 is reached",) and swept.slopes == {}


def test_limits_that_joints_state_are_noted_and_hold_nothing() -> None:
    """k t = m g r cos t: the mass at which the hip comes to its limit, and beyond it the same equation."""
    builder, k, r, limit = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -probing.G)), 6.0, 0.3, 0.25
    a = builder.assembly("scale").body("arm", mass=1.0, inertia=(0.1,) * 3, center_of_mass=(r, 0.0, 0.0))
    a.joint("hip", "Ry", child="arm", stiffness=[0.0, k], limits=(-0.2, limit))
    loaded = shiftjax.load_path(builder.build(), {"arm.mass": (0.1, 2.0)})
    (meets,) = loaded.events
    assert meets.name == "scale:hip.upper"
    assert meets.loads["scale:arm.mass"] == pytest.approx(k * limit / (probing.G * r * np.cos(limit)), abs=LOCATED)
    t, mass = loaded.q["scale:hip"], loaded.loads["scale:arm.mass"]
    assert np.nanmax(t) > limit and np.nanmax(np.abs(k * t - mass * probing.G * r * np.cos(t))) < 1e-11


def test_what_cannot_be_swept_is_said() -> None:
    with pytest.raises(ModelError, match="events of equilibria, which mark or stop"):
        shiftjax.load_path(MODEL, SWEEP, events={"a": {"of": "hip.q", "action": "set", "values": {"tip.mass": 1.0}}})
    with pytest.raises(ModelError, match="a load twice"):
        shiftjax.load_path(MODEL, SWEEP | {"prober:probe": (0.0, 1.0)})
    with pytest.raises(ModelError, match="a rigid joint"):
        shiftjax.load_path(MODEL, {"stand": (0.0, 1.0)})
    with pytest.raises(ModelError, match="a first load that stays"):
        still = {"body.mass": (4.0, 4.0)}
        shiftjax.load_path(MODEL, still | SWEEP, poses=2, channels=["hip.q"], slopes=True)
    with pytest.raises(ModelError, match="Did you mean 'tips'"):
        shiftjax.load_path(MODEL, SWEEP, poses=2, events=TIPS).range("tip")


def test_a_sweep_is_a_command_too(shell, tmp_path: Path) -> None:
    file = tmp_path / "prober.json"
    shiftjax.save(MODEL, file)
    words = ["load", str(file), "--load", "probe=10cm:2.5m", "--event", f"tips={FEET}:stop", "--range", "tips"]
    code, out, err = shell(*words)
    assert code == 0, err
    assert "the event tips" in out and f"prober:probe from {HIT:.9g} to {TOPPLE:.9g}" in out
    code, out, _ = shell(*words, "--json", "--channel", "hip.q", "--slopes")
    document = json.loads(out)
    assert document["range"] == [pytest.approx([HIT, TOPPLE], abs=LOCATED)]
    assert [one["name"] for one in document["events"]] == ["prober:hip.upper", "tips"]
    (curve,) = document["curves"]
    length, t = np.array(curve["loads"]["prober:probe"]), np.array(curve["q"]["prober:hip"])
    assert np.abs(np.array(curve["slopes"]["hip.q"]) - probing.deflection_slope(t, length)).max() < CLOSED_FORM
