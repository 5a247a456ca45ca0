"""Ties of coordinates as texts: gears, cams and Geneva drives in runs, gradients, studies and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError

GEAR = "left.q == -2 * right.q"
CRANK, SIDE = 0.1, 0.1 * 2.0**0.5  # m: of a Geneva drive of four slots, its centre distance is crank times sqrt(2)
ENGAGED = "max(min(crank.q, pi / 4), -pi / 4)"
GENEVA = f"wheel.q == atan2({CRANK} * sin({ENGAGED}), {SIDE!r} - {CRANK} * cos({ENGAGED}))"
LOOP = 1e-9  # rad: a tie is closed in every step
SAME = 1e-6  # relative: central differences of a run at steps of 1e-5


def shafts(*names: str, offset: float = 0.1) -> shiftjax.Model:
    """Bodies on parallel shafts, their centres of mass beside them."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("g")
    for k, name in enumerate(names):
        builder.frame(name, T=(0.0, 0.3 * k, 0.0))
        a.body(f"{name}_disc", mass=1.0, center_of_mass=(offset, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
        a.joint(name, "Ry", parent=("fixed", name), child=f"{name}_disc", initial_displacement=0.0)
    return builder.build()


def test_a_text_is_the_function_that_it_says() -> None:
    """Bit for bit, with one freedom; a tie with the time is one, too, and may be written as what is zero."""
    model, options = shafts("left", "right"), {"channels": ["left.q", "right.q"], "output_step": 0.01}
    function = shiftjax.CoordinateFunction(("left", "right"), lambda q, t: q[0] - -2.0 * q[1])
    text, same = (shiftjax.simulate(model, 1.0, tie={"gear": tie}, **options) for tie in (GEAR, function))  # type: ignore[arg-type]
    np.testing.assert_array_equal(text.channels["left.q"], same.channels["left.q"])
    assert np.abs(text.channels["left.q"] + 2.0 * text.channels["right.q"]).max() < LOOP
    assert text.report["dof"] == 1 and text.settings["tie"] == {"gear": {"of": GEAR}}
    assert np.ptp(text.channels["left.q"]) > 1.0 and text.status == 0
    moved = shiftjax.simulate(model, 0.5, tie={"cam": "left.q - 0.3 * sin(right.q) - 0.2 * t"}, **options)  # type: ignore[arg-type]
    q, p = moved.channels["left.q"], moved.channels["right.q"]
    assert np.abs(q - 0.3 * np.sin(p) - 0.2 * moved.time).max() < LOOP


def test_a_geneva_drive_indexes_and_dwells() -> None:
    """Its wheel turns by a quarter while the crank does, and rests else (Norton, Design of Machinery, chapter 2)."""
    model = shafts("crank", "wheel", offset=0.0).replace(
        {"crank.initial_displacement": -1.5, "wheel.initial_displacement": -0.7853981633974483}
    )
    result = shiftjax.simulate(model, 1.5, drive={"crank": 2.0}, tie={"geneva": GENEVA}, output_step=0.05,
                               channels=["crank.q", "wheel.q", "wheel.v"])  # fmt: skip
    angle = result.channels["crank.q"]
    inside = np.clip(angle, -np.pi / 4, np.pi / 4)
    wheel = np.arctan2(CRANK * np.sin(inside), SIDE - CRANK * np.cos(inside))
    assert np.abs(result.channels["wheel.q"] - wheel).max() < LOOP
    ratio = CRANK / SIDE
    speed = 2.0 * (ratio * np.cos(angle) - ratio**2) / (1.0 - 2.0 * ratio * np.cos(angle) + ratio**2)
    speed[np.abs(angle) > np.pi / 4] = 0.0
    assert np.abs(result.channels["wheel.v"] - speed).max() < LOOP
    assert result.channels["wheel.q"][-1] - result.channels["wheel.q"][0] == pytest.approx(np.pi / 2, abs=LOOP)


def test_gradients_go_through_a_tie() -> None:
    model = shafts("left", "right")

    def swing(mass: Any) -> Any:
        result = shiftjax.simulate(
            model, 0.5, 1e-3, vary={"left_disc.mass": mass}, tie={"gear": GEAR}, metrics={"end": "final(left.q)"}
        )
        return result.metrics["end"][0]

    slope = float(jax.grad(lambda mass: swing(mass[None]))(jax.numpy.asarray(1.3)))
    near = [float(swing(np.array([1.3 + h]))) for h in (-1e-5, 1e-5)]
    assert slope == pytest.approx((near[1] - near[0]) / 2e-5, rel=SAME) and abs(slope) > 0.01


def test_studies_commands_and_stores_know_ties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A study sweeps with it and repeats its members; a stored run of a command is simulated again with it."""
    shiftjax.save(shafts("left", "right"), tmp_path / "gear.json")
    study = Definition(
        str(tmp_path / "gear.json"), vary={"left_disc.mass": [1.0, 2.0]}, tie={"gear": GEAR}, span=0.2,
        metrics={"off": "maximum(abs(left.q + 2 * right.q))", "end": "final(left.q)"}, keep="none",
    )  # fmt: skip
    done = sweep(study, tmp_path / "gear.zarr")
    assert done.table["off"].to_numpy().max() < LOOP and np.abs(done.table["end"].to_numpy()).min() > 0.01
    assert done.member(1).metrics["end"][0] == done.table["end"][1]
    store, words = str(tmp_path / "run.zarr"), [str(tmp_path / "gear.json"), "--span", "0.2", "--tie", f"gear={GEAR}"]
    assert main(["sweep", *words, "--vary", "left_disc.mass=1:2:2", "--keep", "none", "--out", store]) == 0
    (repeated,) = again(store, [0, 1])
    assert repeated.differences == ("", "") and np.isfinite(repeated.trajectories["pose"].values).all()
    capsys.readouterr()
    assert main(["run", *words, "--metric", "end=final(left.q)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["end"] == done.table["end"][0]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("left == -2 * right", "tie gear: found 'left' in .*JOINT.q"),
        ("left.q < right.q", "tie gear: found 'left.q < right.q'; allowed: an equation"),
        ("2 * t", "found '2 \\* t'"),
        ("left.q == [right.q, t]", "2 numbers"),
        ("left.q == nothing.q", "nothing: found no active body or .* joint"),
        ("left.q == g:left.q", "each coordinate under one name"),
        ("left.q == ", "tie gear"),
    ],
)
def test_texts_that_tie_nothing_are_refused(text: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        shiftjax.simulate(shafts("left", "right"), 0.1, tie={"gear": text})


def test_a_study_refuses_such_a_text_by_its_key() -> None:
    with pytest.raises(ModelError, match=r"tie.gear: found 'left' in"):
        Definition("four_bar", tie={"gear": "left == 2"}, span=1.0)
