"""Loops that close but for the digits of their file: planar ones in any plane, pivots beside it, spatial ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax import Model, load, simulate
from shiftjax.formats.builder import ModelBuilder
from shiftjax.outcome import Outcome
from shiftjax.run.verdict import verdict
from tests.support.models.exported import exported
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, rod

MODELS = Path(__file__).parents[2] / "models"
SPAN = 0.3
# Numbers are off by half a unit of the last digit, and the motion of these mechanisms in SPAN by at most so many units.
SENSITIVE = 100.0


def document(name: str) -> dict[str, Any]:
    return json.loads((MODELS / f"{name}.json").read_text())


def four_bar(aside: float = 0.0, tilt: float = 0.0) -> Model:
    """The planar four-bar with its right pivot beside the plane [m], its axis tilted out of it [rad]."""
    turned = ((1.0, 0.0, 0.0), (0.0, np.cos(tilt), -np.sin(tilt)), (0.0, np.sin(tilt), np.cos(tilt)))
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("right", T=(GROUND, aside, 0.0), R=turned)
    a = builder.assembly("a")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        a.body(name, **rod(length))
    a.joint("pivot", "Ry", child="crank", initial_displacement=-1.0, initial_velocity=3.0)
    a.joint("pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=0.5)
    a.joint("hinge", "Ry", parent=("fixed", "right"), child="rocker", initial_displacement=-1.5)
    a.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=-1.0)
    return builder.build()


@pytest.mark.parametrize(("name", "digits"), [("four_bar", 6), ("four_bar", 7), ("klann", 8), ("sarrus", 8)])
def test_a_file_of_few_digits_moves_as_the_exact_one(name: str, digits: int) -> None:
    """Rows that are redundant in exact numbers constrain nothing in rounded ones: the motion is the exact one."""
    exact = simulate(name, SPAN, step=1e-3)
    model = load(exported(document(name), digits))
    result = simulate(
        model, SPAN, step=1e-3, gap_limit=1e-5
    )  # small mechanisms of six digits miss by 2e-6 of their size
    assert result.status == 0, result.messages
    assert result.final is not None and exact.final is not None
    assert np.abs(result.final["q"] - exact.final["q"]).max() < SENSITIVE * 10.0**-digits
    (note,) = [note for note in result.notes if "redundant but for the digits" in note]
    assert 0.0 < float(note.rpartition("miss by ")[2].split()[0]) < SENSITIVE * 10.0**-digits
    assert any("redundant but for the digits" in note for note in verdict(model)["notes"])


def test_a_pivot_beside_the_plane_by_less_than_the_limit() -> None:
    """A gap below a millionth of the size is no open loop: the misfit is said, and the motion is that in the plane."""
    flat, aside = (simulate(four_bar(y), 0.5, step=1e-3) for y in (0.0, 1e-9))
    assert flat.status == aside.status == 0
    assert flat.final is not None and aside.final is not None
    assert np.abs(flat.final["q"] - aside.final["q"]).max() < 1e-12  # of second order in 1e-9
    assert not any("digits" in note for note in flat.notes)
    assert 1e-10 < aside.certificate["gap"] <= 1e-9


def test_what_is_more_than_rounding_stays_open() -> None:
    """A pivot 0.1 mm beside the plane is another mechanism: its loops do not close, and no axis may be tilted there."""
    assert simulate(four_bar(1e-4), 0.01).status == 1
    tilted = verdict(four_bar(tilt=1e-3))
    assert not tilted["assembled"] or tilted["dof"] == 0


def test_digits_are_the_remedy_where_they_are_the_cause() -> None:
    """No smaller step closes what a file of six digits leaves open, and one of four digits may be meant to close."""
    result = simulate(load(exported(document("four_bar"), 6)), 0.1, step=1e-3, gap_limit=1e-7)
    assert result.status == Outcome.inaccurate and "write more digits, or take a larger gap_limit" in result.messages[0]
    assert "take steps" not in result.messages[0]
    assert "if its numbers are rounded, write more digits" in simulate(four_bar(1e-4), 0.01).messages[0]
    assert "digits" not in simulate(four_bar(0.1), 0.01).messages[0]


def test_members_and_gradients_of_a_file_of_eight_digits() -> None:
    """Starts of members, driven motion and slopes are those of the exact file within its digits."""
    model = load(exported(document("four_bar"), 8))
    starts = np.linspace(0.2, 2.9, 5)
    vary = {"crank_pivot.initial_displacement": starts}
    ends = [
        simulate(one, 0.1, step=1e-3, vary=vary, channels=["rocker_pivot.q"]).channels["rocker_pivot.q"][:, -1]
        for one in ("four_bar", model)
    ]
    assert np.abs(ends[1] - ends[0]).max() < 1e-6

    def slope(one: Model | str) -> float:
        def end(start: jax.Array) -> jax.Array:
            vary = {"crank_pivot.initial_displacement": start[None]}
            run = simulate(one, 0.1, step=1e-3, vary=vary, channels=["rocker_pivot.q"])
            return run.channels["rocker_pivot.q"][0, -1]

        return float(jax.grad(end)(jnp.asarray(1.0)))

    assert abs(slope(model) - slope("four_bar")) < 1e-6


def test_a_drive_of_a_file_of_eight_digits() -> None:
    """A crank that is led round leads the rocker as in the exact file."""
    model = load(exported(document("four_bar"), 8))
    runs = [simulate(one, 0.4, step=1e-3, drive={"crank_pivot": 20.0}) for one in ("four_bar", model)]
    assert [run.status for run in runs] == [0, 0]
    assert np.abs(np.subtract(*[run.final["q"] for run in runs if run.final is not None])).max() < 1e-6
