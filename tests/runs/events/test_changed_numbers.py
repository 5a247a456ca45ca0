"""Events that set numbers of joints, frames and bodies on the way (D12), against new runs and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax import Event, Live, ModelError, Outcome, Result, load, simulate
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

SAME = 1e-12  # of a run from the same state with the same numbers: measured 0 of a screw
CLOSED = 1e-15  # m: loops are closed to rounding, measured 6e-16
ASSEMBLED = 1e-11  # of a run whose start was assembled: poses to rounding, whose differences 0.6 s enlarge
JOINTS = ("crank_pivot", "crank_pin", "rocker_pivot", "rocker_pin")
AT, STEP = 0.4, 1e-3  # s
CRANK = "crank:tip.T[0]"


def screw() -> Model:
    """A nut of 2 kg that comes down a thread of 50 mm a radian."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    part = builder.assembly("a").body("nut", mass=2.0, inertia=(0.01, 0.01, 0.02))
    part.joint("thread", "screw", child="nut", axis=(0.0, 0.0, 1.0), pitch=0.05)
    part.force("brake", "constant_load", joint="thread", load=0.0)
    return builder.build()


SCREW, FOUR_BAR = screw(), load("four_bar")
SPEEDS = {"thread.initial_velocity": np.array([2.0, -1.0])}


def replaced(model: Model, values: dict[str, Any]) -> Model:
    return model.replace(values)


def later(values: dict[str, float], at: float = AT) -> dict[str, Event]:
    return {"change": Event(f"t - {at}", "up", "set", values=values)}


@pytest.mark.parametrize("how", [{"step": STEP}, {"tolerance": 1e-11}], ids=["steps", "tolerance"])
def test_a_screw_whose_pitch_changes_goes_on_as_a_new_one_does(how: dict[str, Any]) -> None:
    """D12: the angle and its speed are kept, the nut jumps; the energy that it gains is noted, and is no error."""
    values = {"thread.pitch": 0.02}
    given: dict[str, Any] = {"channels": ["nut.position"], "accuracy": "local", "keep": "all", **how}
    whole = simulate(SCREW, 1.0, vary=SPEEDS, events=later(values), output_step=0.2, **given)
    before = simulate(SCREW, AT, vary=SPEEDS, **given)
    assert whole.final is not None and before.final is not None
    q, v = before.final["q"][:, 0], before.final["v"][:, 0]
    named = {"thread.initial_displacement": q, "thread.initial_velocity": v}
    new = simulate(replaced(SCREW, values), 1.0 - AT, vary=named, **given)
    assert new.final is not None
    for name in ("q", "v"):
        np.testing.assert_allclose(whole.final[name], new.final[name], rtol=SAME)
    height = 0.5 * 9.81 * (0.05 - 0.02) * 2.0 * 2.0  # of -m g h, twice
    gains = -height * q - 0.5 * 2.0 * (0.05**2 - 0.02**2) * v**2
    (note,) = (note for note in whole.notes if "change" in note)
    assert f"energies changed by {gains.min():+.3g} to {gains.max():+.3g} J" in note and "2 members (0, 1)" in note
    assert (whole.certificate["energy_error"] < 1e-9).all() and (whole.status == 0).all()
    pitch = np.where(whole.time > AT - 1e-9 if "step" in how else whole.time > AT + 1e-9, 0.02, 0.05)
    turned = whole.channels["nut.position"][..., 2] / pitch
    np.testing.assert_allclose(whole.poses["a:nut"][..., 2] / pitch, turned, atol=SAME)
    assert (whole.final["a:thread.pitch"] == 0.02).all()


def linkage(span: float = 0.6, **more: Any) -> Result:
    channels = [f"{joint}.{x}" for joint in JOINTS for x in "qv"] + ["coupler:tip.position", "rocker:tip.position"]
    given: dict[str, Any] = {"channels": channels, "accuracy": "local", "output_step": 0.2, **more}
    return simulate(FOUR_BAR, span, STEP, **given)


def test_a_four_bar_whose_crank_changes_keeps_its_independent_coordinate() -> None:
    """D12: loops are closed to rounding, and all that follows is what a new linkage does from that coordinate."""
    changed, before = linkage(1.0, events=later({CRANK: 0.17}), independent=["crank_pivot"]), linkage()
    assert changed.final is not None and changed.status == 0
    tips = [changed.channels[f"{bar}:tip.position"] for bar in ("coupler", "rocker")]
    np.testing.assert_allclose(tips[0], tips[1], atol=CLOSED)
    assert changed.certificate["gap"] < CLOSED and changed.certificate["energy_error"] < 1e-6
    at = {joint: [run.channels[f"{joint}.{x}"][2] for run in (before, changed) for x in "qv"] for joint in JOINTS}
    free, *others = JOINTS
    assert np.abs(np.subtract(at[free][:2], at[free][2:])).max() < 1e-13
    assert all(abs(at[joint][0] - at[joint][2]) > 1e-3 for joint in others)
    (note,) = (note for note in changed.notes if "change" in note)
    assert "loops that were open by up to 0.02" in note and " J" in note
    stated = {f"{free}.initial_displacement": at[free][0], f"{free}.initial_velocity": at[free][1]}
    new = simulate(FOUR_BAR, 1.0 - AT, STEP, assign={CRANK: 0.17, **stated}, accuracy="local")
    assert new.final is not None
    turns = 2 * np.pi * np.round((changed.final["q"] - new.final["q"]) / (2 * np.pi))
    np.testing.assert_allclose(changed.final["q"] - turns, new.final["q"], atol=ASSEMBLED)
    np.testing.assert_allclose(changed.final["v"], new.final["v"], atol=10 * ASSEMBLED)


def test_members_are_refused_by_themselves_and_do_what_they_do_alone() -> None:
    """D12: with a crank of 0.35 m the loops of the second member do not close: it ends there, as it stands; the others
    go on, to the last bit as alone, as in a repeated run, and in one that goes on from the first."""
    lengths, events = np.array([0.5, 0.3, 0.6]), later({CRANK: 0.35})
    vary, given = {"coupler:tip.T[0]": lengths}, {"independent": ["crank_pivot"], "events": events}
    whole = linkage(vary=vary, **given)
    assert whole.final is not None and whole.status.tolist() == [0, int(Outcome.loop_open), 0]
    message = whole.messages[1]
    assert f"at {AT} s, event change: the loops do not close with the numbers that it sets" in message
    assert "2 members (0, 2)" in next(note for note in whole.notes if "change" in note)
    assert whole.final["four_bar:crank:tip.T[0]"].tolist() == [0.35, 0.2, 0.35]
    for k, length in enumerate(lengths.tolist()):
        alone = linkage(vary={"coupler:tip.T[0]": [length]}, **given)
        assert alone.final is not None and alone.messages[0] == whole.messages[k]
        assert all(np.array_equal(alone.final[name][0], whole.final[name][k]) for name in ("q", "v", "time"))
    again = linkage(vary=vary, events=events, schedule=whole.schedule)
    first = linkage(0.5, vary=vary, output_step=0.1, **given)
    further = simulate(FOUR_BAR, 0.1, STEP, vary=vary, start=first, accuracy="local")
    assert again.final is not None and further.final is not None
    assert np.array_equal(again.final["q"], whole.final["q"]) and again.status.tolist() == whole.status.tolist()
    assert np.array_equal(further.final["q"][[0, 2]], whole.final["q"][[0, 2]])


def test_a_drive_that_a_shorter_coupler_locks_says_so() -> None:
    """D12: the end of the travel is that of the new numbers: 0.68 m from the tip of the crank to the rocker's pivot."""
    events = later({"coupler:tip.T[0]": 0.28}, 0.05)
    locked = linkage(0.8, events=events, drive={"crank_pivot": 3.0}, output_step=0.8)
    assert locked.final is not None and locked.status == Outcome.locked
    angle = np.pi / 3 + 3.0 * locked.final["time"]
    assert abs(np.hypot(0.5 - 0.2 * np.cos(angle), 0.2 * np.sin(angle)) - 0.68) < 1e-3  # a step turns by 3e-3
    assert "crank_pivot driven to where no pose near closes the loops" in locked.messages[0]


def test_masses_are_set_and_those_with_which_nothing_moves_are_refused() -> None:
    """D12: a nut that becomes heavier falls on with m g p / (I + m p^2) for its m; a member that gets no inertia that
    moves ends at once."""
    masses = {"nut.inertia.Izz": np.array([0.02, 0.0])}
    heavier = simulate(SCREW, 1.0, STEP, vary=masses, events=later({"nut.mass": 4.0}), accuracy="local")
    assert heavier.final is not None
    rates = [-9.81 * m * 0.05 / (masses["nut.inertia.Izz"] + m * 0.05**2) for m in (2.0, 4.0)]
    np.testing.assert_allclose(heavier.final["v"][:, 0], AT * rates[0] + (1.0 - AT) * rates[1], rtol=1e-10)
    massless = simulate(SCREW, 1.0, STEP, vary=masses, events=later({"nut.mass": 0.0}), accuracy="local")
    assert massless.status.tolist() == [0, int(Outcome.no_mass)] and "event change" in massless.messages[1]


def test_an_axis_changes_of_which_the_direction_alone_counts() -> None:
    """D12: the nut stands on the new axis at once; a screw with an axis of length 5 went five times its pitch."""
    events = later({"thread.axis[1]": 3.0, "thread.axis[2]": 4.0})
    run = simulate(SCREW, 1.0, STEP, events=events, channels=["nut.position", "thread.q"], output_step=0.2)
    along = run.channels["nut.position"] / (0.05 * run.channels["thread.q"] + (run.time == 0.0))[:, None]
    np.testing.assert_allclose(along[1], [0.0, 0.0, 1.0], atol=SAME)
    np.testing.assert_allclose(along[2:], [[0.0, 0.6, 0.8]] * 4, atol=SAME)


def test_a_joint_of_a_running_simulation_changes() -> None:
    """D12: `Live.change` takes any number that `vary` does; the screw turns on with the new pitch."""
    live = Live(SCREW, ["thread.pitch"], step=STEP, channels=["thread.v", "thread.q"])
    live.advance(AT)
    q = live.channels()["thread.q"]
    live.change({"thread.pitch": 0.02})
    assert abs(live.channels()["thread.q"] - q) < SAME and live.values["a:thread.pitch"] == 0.02
    live.advance(1.0 - AT)
    rates = [-9.81 * 2.0 * p / (0.02 + 2.0 * p**2) for p in (0.05, 0.02)]
    assert abs(live.channels()["thread.v"] - (AT * rates[0] + (1.0 - AT) * rates[1])) < 1e-9


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "twice": (
        {"brake.load": 1.0, "a:brake.load": 2.0},
        "event change: values: a:brake.load.*the same number twice.*each number once",
    ),
    "a_start": ({"thread.initial_velocity": 1.0}, "event change: values.*start speed.*a number of a body, a joint"),
    "impossible": ({"nut.mass": -1.0}, "mass"),
    "no_direction": ({f"thread.axis[{k}]": 0.0 for k in range(3)}, "axis"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_event_sets(name: str) -> None:
    values, match = WRONG[name]
    with pytest.raises(ModelError, match=match):
        simulate(SCREW, 1.0, events=later(values))
