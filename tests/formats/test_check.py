"""`shiftjax check`: what a run would say, what may not be meant, and the start pose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.formats.files import save
from shiftjax.mechanism.model import Model
from shiftjax.models import names
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from shiftjax.run.verdict import verdict
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, rod

MASSLESS: dict[str, Any] = {"mass": 0.0, "inertia": (0, 0, 0)}


def bar(
    *,
    ground: float = GROUND,
    types: tuple[str, ...] = ("Ry",) * 4,
    angles: tuple[float, ...] = (-1.0, 0.5, -1.5, -1.0),
    speed: float = 1.0,
    tilt: float = 0.0,
    own: dict[str, Any] | None = None,
    stone: bool = False,
) -> Model:
    """A four-bar with one thing or another about it; `tilt` turns the axis of the rocker's pivot."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("crank").frame("rocker", T=(ground, 0, 0))
    a = builder.assembly("bar")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        a.body(name, **{**rod(length), **(own or {})})
    ends = (
        (("fixed", "crank"), "crank"),
        (("crank", "tip"), "coupler"),
        (("fixed", "rocker"), "rocker"),
        (("coupler", "tip"), ("rocker", "tip")),
    )
    for name, type_, (parent, child), angle in zip(("pivot", "pin", "hinge", "knee"), types, ends, angles, strict=True):
        a.joint(name, type_, parent=parent, child=child, initial_displacement=angle)
    a.entry["joints"][0]["initial_velocity"] = speed
    if tilt:
        a.entry["joints"][2] |= {"type": "revolute", "axis": [np.sin(tilt), np.cos(tilt), 0.0]}
    if stone:
        a.body("stone", mass=1.0, inertia=(0.1, 0.1, 0.1))
    return builder.build()


@pytest.mark.parametrize("name", [name for name in names() if name != "n_four_bar_40"])  # 41 cranks say nothing new
def test_nothing_is_wrong_with_the_library(name: str) -> None:
    found = verdict(load(name))
    assert found["valid"] and found["refused"] == found["errors"] == found["warnings"] == []
    assert {entry["displacement"] for entry in found["start"] if "start" in entry} <= {"stated", "found"}


WRONG: dict[str, tuple[Callable[[], Model], str, int, str]] = {  # the model, where it is said, exit code, what is said
    "infeasible": (lambda: bar(ground=3.0), "errors", 3, r"loop closed by bar:pin stays open by 1\.9 m and .* rad"),
    "axis of a joint": (
        lambda: bar(types=("Ry", "Rx", "Ry", "Ry")), "warnings", 0,
        "bar:pin turns about an axis 90 deg off what the plane of its loop asks for; bar:hinge, bar:pivot, bar:knee",
    ),
    "axis of an open loop": (
        lambda: bar(types=("Ry", "Ry", "Rx", "Ry")), "warnings", 3, "bar:hinge turns about an axis 90 deg off",
    ),
    "slight tilt": (
        lambda: bar(tilt=0.02), "warnings", 3, "bar:hinge turns about an axis 1.15 deg off",
    ),
    "rigid": (
        lambda: bar(types=("Ry", "Rx", "Ry", "Ry")), "warnings", 0, "bar:pin cannot move: 4 coordinates, rank 4",
    ),
    "degrees": (
        lambda: bar(angles=(-57.0, 28.0, -86.0, -57.0)), "warnings", 0,
        r"bar:pivot.initial_displacement = -57 rad is 9.07 turns; if degrees are meant, write -0.994838",
    ),
    "floating": (
        lambda: bar(stone=True), "warnings", 0, "nothing joins bar:stone to ground: it floats .* bar:stone_float",
    ),
    "massless": (lambda: bar(own=MASSLESS), "refused", 2, "motion of .*bar:pivot.* moves no mass"),
    "inertia": (
        lambda: bar(own={"inertia": (1, 1, 3)}), "warnings", 0, "no body has the inertia of 'crank': found principal",
    ),
    "negative": (
        lambda: bar(own={"inertia": (1, -9, 1)}), "errors", 3, "bar:crank.inertia.Iyy: found Iyy = -9 .*moves no mass",
    ),
    "moved": (
        bar, "warnings", 0, r"do not allow the start that is stated; they move bar:pin from 0.5 to 0.526089 rad, ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_check_names_what_is_wrong(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 10: `check` assembles and says what `run` would say, with the same exit code."""
    model, where, code, said = WRONG[case]
    save(model(), tmp_path / "bar.json")
    assert main(["check", str(tmp_path / "bar.json")]) == code
    text = capsys.readouterr().out
    assert main(["check", str(tmp_path / "bar.json"), "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] == (code == 0)
    hits = [line for line in found[where] if re.search(said, line)]
    assert len(hits) == 1 and hits[0] in text
    assert ("cannot run" in text) == (code != 0)
    ran = main(["run", str(tmp_path / "bar.json"), "--span", "0.01"])
    capsys.readouterr()
    assert ran == code


def test_the_start_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Every joint with its start, its unit, and whether the file or the loops say so."""
    assert main(["check", "four_bar"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (crank,) = (line.split() for line in lines if line.startswith("four_bar:crank_pivot"))
    assert crank == ["four_bar:crank_pivot", "1.0472", "1.0472", "rad", "stated", "6", "6", "rad/s", "stated"]
    (coupler,) = (line.split() for line in lines if line.startswith("four_bar:crank_pin"))
    assert coupler[4:] == ["stated", "-7.13444", "rad/s", "found"]
    result = simulate("four_bar", span=0.01, channels=["crank_pin.q", "crank_pin.v"])
    entry = next(e for e in verdict(load("four_bar"))["start"] if e["joint"] == "four_bar:crank_pin")
    assert abs(entry["start"] - result.channels["crank_pin.q"][0]) < 1e-12
    assert abs(entry["start_speed"] - result.channels["crank_pin.v"][0]) < 1e-12


def test_freedoms_that_nothing_names() -> None:
    """A five-bar of two freedoms of which the file names one: the note says which joints could name the other."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("left").frame("right", T=(0.4, 0, 0))
    a = builder.assembly("five")
    for name in ("one", "two", "three", "four"):
        a.body(name, **rod(0.3))
    a.joint("a", "Ry", parent=("fixed", "left"), child="one", initial_displacement=-2.0)
    a.joint("b", "Ry", parent=("one", "tip"), child="two")
    a.joint("c", "Ry", parent=("two", "tip"), child=("three", "tip"))
    a.joint("d", "Ry", parent=("four", "tip"), child="three")
    a.joint("e", "Ry", parent=("fixed", "right"), child="four")
    found = verdict(builder.build())
    assert found["dof"] == 2
    (note,) = found["notes"]
    assert note.startswith("1 degree of freedom of five:") and "five:e" in note and "five:a" not in note


def test_a_planar_loop_that_is_tilted_as_a_whole_is_right() -> None:
    """Directions are compared with each other, not with the axes of ground; spatial loops are left alone."""
    assert not [text for text in verdict(bar())["warnings"] if "axis" in text]
    for name in ("bennett", "bricard", "sarrus", "slider_crank_turntable"):
        assert verdict(load(name))["warnings"] == []


def test_check_and_run_agree_on_an_impossible_body() -> None:
    model = bar(own={"inertia": (1, 1, 3)})
    assert simulate(model, span=0.01).status == Outcome.impossible_inertia
    assert verdict(model)["valid"]
    model = bar(own={"inertia": (1, -9, 1)})  # the crank's motion would move negative mass
    assert simulate(model, span=0.01).status == Outcome.unphysical
    assert not verdict(model)["valid"] and verdict(model)["errors"]
