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
from shiftjax.cli import parser as command_line
from shiftjax.cli.commands.view import live_of
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.formats.writer import to_dict
from shiftjax.run.live import Live
from shiftjax.viewer.motion.mechanism import mechanism_from
from shiftjax.viewer.motion.tree_coordinates import bodies_of, coordinates
from shiftjax.viewer.study.study import ViewedStudy

GEAR = "left.q == -2 * right.q"
CRANK, SIDE = 0.1, 0.1 * 2.0**0.5  # m: of a Geneva drive of four slots, its centre distance is crank times sqrt(2)
ENGAGED = "max(min(crank.q, pi / 4), -pi / 4)"
GENEVA = f"wheel.q == atan2({CRANK} * sin({ENGAGED}), {SIDE!r} - {CRANK} * cos({ENGAGED}))"
LOOP = 1e-9  # rad: a tie is closed in every step
DRAWN = 1e-6  # rad: what the viewer may leave open
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


# -- in model files


def geared(text: str = "q[0] == -2 * q[1]", joints: tuple[str, ...] = ("left", "right"), **more: Any) -> shiftjax.Model:
    """Two shafts whose file ties them."""
    document = to_dict(shafts("left", "right"))
    tie = {"name": "gear", "type": "equation", "joints": list(joints), "equation": text, **more}
    document["assemblies"][0]["constraints"] = [tie]
    return shiftjax.load(document)


def test_a_model_file_states_ties(tmp_path: Path) -> None:
    """The same run as with `tie=`, bit for bit; written and read again the same; off where it is not active."""
    model, asked = geared(), {"channels": ["left.q", "right.q"], "output_step": 0.01}
    shiftjax.save(model, tmp_path / "geared.json")
    assert shiftjax.load(tmp_path / "geared.json") == model
    run = shiftjax.simulate(model, 1.0, **asked)  # type: ignore[arg-type]
    same = shiftjax.simulate(shafts("left", "right"), 1.0, tie={"gear": GEAR}, **asked)  # type: ignore[arg-type]
    np.testing.assert_array_equal(run.channels["left.q"], same.channels["left.q"])
    assert run.report["dof"] == 1 and np.ptp(run.channels["left.q"]) > 1.0
    assert shiftjax.simulate(geared(active=False), 0.1).report["dof"] == 2
    a = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    assembly = a.assembly("g")
    for name in ("left", "right"):
        assembly.body(name, mass=1.0, inertia=(0.01, 0.02, 0.02))
        assembly.joint(f"{name}_pin", "Ry", child=name)
    assembly.constraint("gear", "equation", joints=["left_pin", "right_pin"], equation="q[0] + q[1] - 0.1 * t")
    moved = shiftjax.simulate(a.build(), 0.5, channels=["left_pin.q", "right_pin.q"], output_step=0.1)
    assert np.abs(moved.channels["left_pin.q"] + moved.channels["right_pin.q"] - 0.1 * moved.time).max() < LOOP


def test_ties_of_a_file_and_of_a_run_stand_beside_each_other() -> None:
    """With a drive, too; each takes a freedom, whatever the order of names."""
    document = to_dict(shafts("a", "b", "c", "d"))
    document["assemblies"][0]["constraints"] = [
        {"name": f"tie{k}", "type": "equation", "joints": joints, "equation": text}
        for k, joints, text in ((10, ["c", "b"], "q[0] == 3 * q[1]"), (9, ["a", "b"], "q[0] == sin(q[1])"))
    ]
    channels = [f"{name}.q" for name in "abcd"]
    run = shiftjax.simulate(
        shiftjax.load(document), 0.5, drive={"b": lambda t: 0.4 * t}, tie={"last": "d.q == 2 * c.q"},
        channels=channels, output_step=0.1,
    )  # fmt: skip
    a, b, c, d = (run.channels[name] for name in channels)
    assert run.report["dof"] == 0
    for off in (b - 0.4 * run.time, a - np.sin(b), c - 3.0 * b, d - 2.0 * c):
        assert np.abs(off).max() < LOOP


def test_a_tie_of_an_included_file_is_of_its_copy(tmp_path: Path) -> None:
    shiftjax.save(geared(), tmp_path / "geared.json")
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("hall").include("one", "geared.json").include("two", "geared.json")
    (tmp_path / "hall.json").write_text(json.dumps(builder.document), encoding="utf-8")
    hall = shiftjax.load(tmp_path / "hall.json")
    run = shiftjax.simulate(hall, 0.2, channels=["one:g:left.q", "one:g:right.q", "two:g:left.q"])
    assert run.report["dof"] == 2 and shiftjax.load(to_dict(hall)) == hall
    assert np.abs(run.channels["one:g:left.q"] + 2.0 * run.channels["one:g:right.q"]).max() < LOOP
    assert np.abs(run.channels["two:g:left.q"]).max() > 0.01


@pytest.mark.parametrize(
    ("text", "joints", "match"),
    [
        ("left.q == 2 * q[1]", ("left", "right"), r"gear.equation: found 'left.q' in .*q\[0\], q\[1\]"),
        ("t == 2", ("left", "right"), "found 't == 2'; allowed: an equation"),
        ("[q[0], q[1]] == [2, 3]", ("left", "right"), "2 numbers"),
        ("q[0] == q[2]", ("left", "right"), "gear.equation"),
        ("q[0] < q[1]", ("left", "right"), "Write one ==, or none"),
        ("q[0] == ", ("left", "right"), "gear.equation"),
        ("q[0] == q[1]", ("left", "g:left"), "a coordinate that is named twice"),
        ("q[0] == 1", (), "found none of them; allowed: a list of one at least"),
    ],
)
def test_equations_of_files_that_are_none_are_refused(text: str, joints: tuple[str, ...], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        shiftjax.simulate(geared(text, joints), 0.1)


def test_the_window_closes_ties_of_a_file_between_instants() -> None:
    """Where cubics of the coordinates alone would miss by more than a thousandth of a radian."""
    model = geared("q[1] == 0.5 * sin(3 * q[0])")
    study = ViewedStudy.of(shiftjax.simulate(model, 1.0, output_step=0.1, keep="all"))
    mechanism = mechanism_from(study.model)
    nodes = [study.nodes.index(body) for body in bodies_of(mechanism.plan)]
    assert [group.kind for group in mechanism.plan.constraints] == ["equation"]
    q = coordinates(mechanism.lane, study.poses(0, np.linspace(0.0, 1.0, 51))[:, nodes])
    by_path = {one.path: k for k, one in enumerate(mechanism.plan.coordinates)}
    left, right = q[by_path["g:left"]], q[by_path["g:right"]]
    assert np.ptp(left) > 1.0 and np.abs(right - 0.5 * np.sin(3.0 * left)).max() < DRAWN


# -- where ties were not known


def test_a_running_simulation_is_tied(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The steps of `simulate`, bit for bit; `view --live --tie` was refused."""
    model = shafts("left", "right")
    live = Live(model, tie={"gear": GEAR}, channels=["left.q"])
    for seconds in (0.013, 0.287):
        live.advance(seconds)
    whole = shiftjax.simulate(model, 0.3, tie={"gear": GEAR})
    assert live.report["dof"] == 1 and whole.final is not None
    np.testing.assert_array_equal(live.instant().q, whole.final["q"])
    shiftjax.save(model, tmp_path / "gear.json")
    words = ["view", str(tmp_path / "gear.json"), "--live", "--tie", f"gear={GEAR}"]
    assert live_of(command_line(words).parse_args(words), []).report["dof"] == 1


def test_check_counts_the_freedoms_that_ties_of_a_study_leave(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shiftjax.save(shafts("left", "right"), tmp_path / "gear.json")
    study = tmp_path / "gear.toml"
    words = f'model = "gear.json"\nspan = 0.1\n[vary]\n"left_disc.mass" = "1:2:2"\n[tie]\ngear = "{GEAR}"\n'
    study.write_text(words, encoding="utf-8")
    assert main(["check", str(study), "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert group["dof"] == 1
