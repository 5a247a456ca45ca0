"""Instants of inverse dynamics (D24): those of runs, and each judged by itself."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from shiftjax.constraints import Harmonic
from shiftjax.errors import ModelError
from shiftjax.inverse.inverse_dynamics import inverse_dynamics
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.inverse.test_inverse_dynamics import FIVE, FOUR, LOOPS, TURN, arm, asked

NONE = 1e-9  # N m, of torques of some N m: what a run in steps of 1 ms records follows from its q and v to rounding
MASSES: dict[str, Any] = {"upper.mass": [1.0, 2.0]}
JOINTS = ("slide", "upper_hinge", "lower_hinge")
# Where crank and coupler are in line, so that the rocker stands still: 0.7, 0.5 and 0.4 m are a triangle.
DEAD = -np.arccos(0.58 / 0.7)


@cache
def fallen() -> Result:
    """Two members of a cart with two rods that fall, at five instants."""
    channels = asked(*JOINTS)
    return simulate(arm("Tx"), 0.2, 1e-3, output_step=0.05, vary=MASSES, channels=channels, accuracy="local")


def along(run: Result, motion: Any = None, **more: Any) -> Any:
    motion = {"upper_hinge": run} if motion is None else motion
    return inverse_dynamics(arm("Tx"), motion, along=run, **{"vary": MASSES, **more})


def test_members_of_a_run_take_no_torque_where_they_fell() -> None:
    answer = along(fallen())
    assert answer.forces["upper_hinge"].shape == (2, 5) and (answer.status == 0).all()
    assert np.abs(answer.forces["upper_hinge"]).max() < NONE


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"vary": {}}, "along: found arm:upper.mass varied in the run alone"),
        ({"vary": {}, "motion": {}}, "along: found a run of 2 members; allowed: one without"),
        ({"vary": {"upper.mass": [1.0, 2.5]}}, "along: found other values of arm:upper.mass"),
        ({"vary": MASSES | {"lower.mass": [1.0, 2.0]}}, "along: found arm:lower.mass varied in `vary` alone"),
        ({"times": [0.0, 0.05, 0.1, 0.15, 0.25]}, "along: found instant 4 at 0.2 s; allowed: 0.25 s"),
        ({"times": [0.0, 0.05]}, "along: found 5 instants from 0 to 0.2 s; allowed: 2 instants"),
        ({"state": {"upper_hinge.initial_velocity": 1.0}}, "along: found upper_hinge.initial_velocity stated beside"),
        ({"motion": {"lower_hinge": (0.0, 0.0)}}, "along: found lower_hinge stated beside it"),
        ({"along": 3.0}, "along: found 3.0"),
    ],
)
def test_what_a_run_contradicts_is_refused(more: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        inverse_dynamics(arm("Tx"), **{"motion": {"upper_hinge": fallen()}, "along": fallen(), "vary": MASSES, **more})


def test_motions_of_other_instants_or_places_are_refused() -> None:
    run = fallen()
    late = replace(run, time=run.time + 0.1)
    with pytest.raises(ModelError, match=r"motion upper_hinge: found instant 0 at 0\.1 s; allowed: 0 s"):
        along(run, {"upper_hinge": late})
    with pytest.raises(ModelError, match=r"motion upper_hinge: found instant 0 at 0\.1 s; allowed: 0 s"):
        inverse_dynamics(arm("Tx"), {"upper_hinge": late}, run.time, vary=MASSES)
    for k, word in enumerate("qv"):
        moved = [np.array(run.channels[f"upper_hinge.{x}"]) for x in "qva"]
        moved[k][1, 3] += 0.01
        match = f"motion arm:upper_hinge: found {word} = .* at instant 3 of member 1, at 0.15 s"
        with pytest.raises(ModelError, match=match):
            along(run, {"upper_hinge": tuple(moved)})


def test_a_law_in_time_is_that_of_the_run() -> None:
    """The run that it drove has it, and its load; another one is refused."""
    law = Harmonic(amplitude=0.3, frequency=5.0)
    channels = [*asked(*JOINTS), "upper_hinge.drive_load"]
    drive: dict[str, Any] = {"drive": {"upper_hinge": law}, "channels": channels, "accuracy": "local"}
    run = simulate(arm("Tx"), 0.2, 1e-3, output_step=0.05, **drive)
    answer = inverse_dynamics(arm("Tx"), {"upper_hinge": law}, along=run)
    assert np.abs(answer.forces["upper_hinge"] - run.channels["upper_hinge.drive_load"]).max() < NONE
    with pytest.raises(ModelError, match=r"upper_hinge: found q = 0\.09896\d* at instant 1, at 0\.05 s"):
        inverse_dynamics(arm("Tx"), {"upper_hinge": replace(law, amplitude=0.4)}, along=run)


def test_instants_before_a_run_failed_are_good() -> None:
    run = fallen()
    channels = {path: np.array(values) for path, values in run.channels.items()}
    for values in channels.values():
        values[0, 3:] = np.nan
    failed = replace(run, channels=channels, status=np.array([int(Outcome.locked), 0]))
    answer = along(failed)
    assert answer.status.tolist() == [[0, 0, 0, *2 * [int(Outcome.locked)]], 5 * [0]]
    assert np.array_equal(np.isnan(answer.forces["upper_hinge"]), answer.status > 0)
    assert np.nanmax(np.abs(answer.forces["upper_hinge"])) < NONE


def test_a_number_that_is_none_spoils_its_instant_alone() -> None:
    turn = TURN.copy()
    turn[2] = np.nan
    rate, growth = 2.0 + 0 * TURN, np.cos(TURN)
    answer = inverse_dynamics(FOUR, {"j0": (turn, rate, growth)})
    whole = inverse_dynamics(FOUR, {"j0": (TURN, rate, growth)})
    assert answer.status.tolist() == [0, 0, int(Outcome.non_finite), 0, 0]
    assert np.array_equal(np.isnan(answer.forces["j0"]), answer.status > 0)
    others = np.arange(5) != 2
    assert np.array_equal(answer.forces["j0"][others], whole.forces["j0"][others])


def test_a_dead_centre_spoils_its_instant_alone() -> None:
    """There no torque on the rocker moves the crank; elsewhere it does the crank's work."""
    motion = {"j0": (np.array([-1.2, DEAD, 0.4]), np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, -1.0]))}
    members: dict[str, Any] = {"vary": {"b1.mass": [0.5, 1.5]}}
    answer = inverse_dynamics(FOUR, motion, forces=["j3"], channels=["j3.v", "j3.a"], **members)
    assert answer.status.tolist() == 2 * [[0, int(Outcome.singular_pose), 0]]
    assert np.array_equal(np.isnan(answer.forces["j3"]), answer.status > 0)
    assert np.array_equal(np.isnan(answer.channels["j3.a"]), answer.status > 0)
    assert [bool(text) for text in answer.messages] == 2 * [False, True, False]
    assert "j3 cannot bring about the acceleration of j0 here" in answer.messages[1]
    crank = inverse_dynamics(FOUR, motion, **members).forces["j0"] * motion["j0"][1]
    off = np.abs(answer.forces["j3"] * answer.channels["j3.v"] - crank)
    assert np.nanmax(off) < LOOPS * np.abs(crank).max()


def test_dead_centres_alone_are_refused() -> None:
    motion = {"j0": (np.array([DEAD]), np.array([2.0]), np.array([3.0]))}
    with pytest.raises(ModelError, match="at any instant, first at instant 0 of member 0"):
        inverse_dynamics(FOUR, motion, forces=["j3"], vary={"b1.mass": [0.5, 1.5]})


def test_names_are_refused_as_those_of_their_argument() -> None:
    with pytest.raises(ModelError, match="forces a:b0"):
        inverse_dynamics(FIVE, {"j0": (TURN, TURN, TURN)}, forces=["b0"])


def test_a_summary_names_some_forces() -> None:
    answer = inverse_dynamics(FOUR, {"j0": (TURN, TURN, TURN)})
    many = replace(answer, forces={f"j{k}": answer.forces["j0"] for k in range(9)})
    assert repr(many).count("force: ") == 7 and "3 more" in repr(many)
