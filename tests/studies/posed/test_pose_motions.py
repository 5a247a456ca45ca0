"""Motions of balls and floating bodies in words: of the command line, of studies, of files of poses, from stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.constraints.pose_drives import PoseHarmonic, PoseTable, PoseUniform, numbers_of_pose
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.store import store
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.motion_words import motion, parse_drive
from shiftjax.errors import ModelError
from shiftjax.formats.files import save
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.run.simulate import simulate
from tests.inverse.test_inverse_poses import ROD, top
from tests.mechanics.constraints.test_pose_drives import placed

TURNS = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
PLACES = [[0.0, 0.0, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.0]]
QUATERNIONS = [[1.0, 0.0, 0.0, 0.0], [0.8, 0.0, 0.0, 0.6], [2.0, 0.0, 0.0, 0.0]]
TABLE = PoseTable([0.0, 0.1, 0.2], TURNS, PLACES, "repeat")
ROUNDING = 1e-12  # rad, of numbers that vary and are no constants of the program
ROUND = f"times=[0, .1, .2], rotations={TURNS}, positions={PLACES}, outside=repeat"


def same(one: Any, other: Any) -> bool:
    return repr(numbers_of_pose(one, "")) == repr(numbers_of_pose(other, ""))


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("pose_uniform(velocity=[0,0,2], angular_velocity=[60rpm, 0,0],origin=1)",
         PoseUniform(velocity=[0.0, 0.0, 2.0], angular_velocity=[2 * np.pi, 0.0, 0.0], origin=1.0)),
        ("pose_harmonic(frequency=5, rotation=[ 0 , 30deg, 0 ], position_amplitude=[10mm, 0, 0])",
         PoseHarmonic(5.0, rotation=[0.0, np.pi / 6, 0.0], position_amplitude=[0.01, 0.0, 0.0])),
        (f"pose_table({ROUND})", TABLE),
        (f"pose_table(times=[0,.1,.2],rotations={QUATERNIONS})", PoseTable([0.0, 0.1, 0.2], QUATERNIONS)),
    ],
)  # fmt: skip
def test_words_are_the_records_of_python(text: str, record: Any) -> None:
    """On the command line as a text, in a study as a table, too."""
    joint, parsed = parse_drive(f"six={text}")
    assert joint == "six" and type(parsed) is type(record) and same(parsed, record)
    words = Definition("four_bar", drive={"six": record}).drive["six"]
    assert same(motion(thaw(words), "drive.six"), record)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pose_tabel(times=[0])", "'pose_tabel'.*Did you mean 'pose_table'"),
        ("pose_table(times=[0, 1])", "pose_table without rotations"),
        ("pose_table(times=[0, 1], rotations=[0, 1])", r"rotations\[0\]: found '0'; allowed: a list"),
        ("pose_table(times=[0, 1], rotations=[[0, 1], [0, 0]])", r"rotations\[0\]: found 2 numbers"),
        ("pose_uniform(position=3)", "position: found '3'; allowed: a list"),
        ("pose_uniform(position=[1, 2])", "position: found 2 numbers; allowed: three"),
        ("pose_harmonic(frequency=5, amplitude=[1, 2, 3])", "'amplitude' in pose_harmonic"),
        ("pose_table(file=nowhere.csv)", "nowhere.csv"),
        ("pose_table(times=[[0, 1]], rotations=[[0,0,0]])", r"times: found '\[0, 1\]'; allowed: a finite number"),
    ],
)
def test_words_that_say_no_motion_of_a_pose_are_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_drive(f"six={text}")


def test_a_file_of_poses(tmp_path: Path) -> None:
    """Time, then a place or none, then a rotation vector or a quaternion; the number of columns tells."""
    for places in ([], PLACES):
        for turns in (TURNS, QUATERNIONS):
            columns = [[0.0, 0.1, 0.2], *zip(*places, strict=True), *zip(*turns, strict=True)]
            lines = ["# t ...", *(", ".join(map(repr, row)) for row in zip(*columns, strict=True))]
            (tmp_path / "poses.csv").write_text("\n".join(lines))
            read = motion("pose_table(file=poses.csv)", "here", tmp_path)
            assert read == PoseTable([0.0, 0.1, 0.2], [list(row) for row in turns], places or None)
    for text, what in (("0 1 2", "line 1: found 3 numbers"), ("0 0 0 0\n\n1 0 0 0 0", "line 3: found 5 numbers")):
        (tmp_path / "poses.csv").write_text(text)
        with pytest.raises(ModelError, match=f"{what}.*Write 4 or 5 or 7 or 8 columns"):
            motion("pose_table(file=poses.csv)", "here", tmp_path)


def test_the_command_line_studies_and_their_stores_drive_poses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same motion as of Python, to the last bit; its numbers vary, and a member is run again from its store."""
    monkeypatch.chdir(tmp_path)
    save(top("float", arm=True)[0].build(), "top.json")
    how: dict[str, Any] = {"span": 0.3, "output_step": 0.1, "channels": ["six.q", "hinge.q"]}
    run, x = simulate("top.json", drive={"six": TABLE}, **how), np.array([0.1, -0.1])
    words = ["--span", "0.3", "--output-step", "0.1", "--channel", "six.q", "--channel", "hinge.q", "--json"]
    assert main(["run", "top.json", "--drive", f"six=pose_table({ROUND})", *words, "--out", "one.zarr"]) == 0
    assert json.loads(capsys.readouterr().out)["channels"]["hinge.q"] == run.channels["hinge.q"].tolist()
    rotations = [[0.0, 0.0, x], TURNS[1], [0.0, 0.0, x]]
    varied = simulate("top.json", 0.1, drive={"six": PoseTable([0.0, 0.1, 0.2], rotations, PLACES)})
    store.write(varied, "three.zarr")
    for name in ("one.zarr", "three.zarr"):
        assert [repeated.differences for repeated in again(name, [0])] == [("",)]
    lines = [[t, *p, *r] for t, p, r in zip([0.0, 0.1, 0.2], PLACES, TURNS, strict=True)]
    Path("poses.csv").write_text("\n".join(", ".join(map(repr, line)) for line in lines))
    Path("study.toml").write_text(
        'model = "top.json"\nspan = 0.3\noutput_step = 0.1\nchannels = ["hinge.q"]\n'
        '[drive]\nsix = "pose_table(file=poses.csv, outside=repeat)"\n'
        f'[vary]\n"six_drive.rotations[1][2]" = [0.5, 0.7]\n"arm.mass" = [{ROD}]\n[switch]\nsix_drive = [true, false]\n'
    )
    driven, free = designs(study_file.read("study.toml"))
    assert len([*driven.model.drivers()]) == 1 and not [*free.model.drivers()]
    assert main(["sweep", "study.toml", "--out", "two.zarr"]) == 0
    tree = store.read("two.zarr")
    assert np.asarray(tree["members"]["status"]).tolist() == [0, 0, 0, 0]
    first, second = (Study("two.zarr").again(k).channels["hinge.q"][0] for k in (0, 1))
    assert np.abs(first - run.channels["hinge.q"]).max() < ROUNDING and np.abs(first - second).max() > 1e-3


def test_a_ball_is_driven_by_words() -> None:
    _, swing = parse_drive("six=pose_uniform(angular_velocity=[0, 0, 2])")
    run = simulate(placed("spherical"), 0.1, drive={"six": swing}, channels=["six.v"])
    assert np.abs(run.channels["six.v"][-1] - [0.0, 0.0, 2.0]).max() < 1e-12
