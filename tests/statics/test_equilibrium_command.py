"""`shiftjax equilibrium`: what it prints, and how it ends. M8b."""

import json
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from tests.statics.test_load_path import COLUMN

SWING = float(np.sqrt(9.81) / (2.0 * np.pi))  # Hz, of a pendulum of 1 m


def test_it_prints_the_place_and_the_modes(shell) -> None:
    words = ("equilibrium", "pendulum", "--set", "pivot.initial_displacement=100deg")
    code, out, err = shell(*words, "--channel", "pivot.reaction_force")
    assert code == 0, err
    assert out.startswith("stable, residual")
    assert "pendulum:pivot" in out and f"{SWING:.6g}" in out
    code, out, _ = shell(*words, "--json", "--channel", "pivot.reaction_force")
    document = json.loads(out)
    assert document["q"]["pendulum:pivot"] == pytest.approx(0.0, abs=1e-12)
    assert document["frequencies"] == pytest.approx([SWING], rel=1e-10)
    code, out, _ = shell("equilibrium", "pendulum", "--unstable", "--set", "pivot.initial_displacement=2.8")
    assert code == 0 and out.startswith("unstable")


def test_it_says_what_still_moves(shell, tmp_path: Path) -> None:
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("a").body("block", mass=1.0, inertia=(0.1,) * 3).joint("way", "Tz", child="block")
    file = tmp_path / "falling.json"
    shiftjax.save(builder.build(), file)
    code, out, err = shell("equilibrium", str(file))
    assert (code, out) == (3, "")
    assert "still move a:way" in err


def test_a_load_path_is_a_command_too(shell, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file, picture = tmp_path / "column.json", tmp_path / "column.png"
    shiftjax.save(COLUMN, file)
    words = ("load", str(file), "--load", "load.load=0:-200N", "--poses", "12", "--distance", "0.1")
    code, out, err = shell(*words, "--picture", str(picture), "--over", "pin")
    assert code == 0, err
    assert "the load factor 1 is reached" in out and "branch" in out and "-160" in out and picture.stat().st_size > 1000
    code, out, _ = shell(*words, "--json")
    document = json.loads(out)
    (pose,) = document["critical"]
    assert pose["loads"]["column:load.load"] == pytest.approx(-160.0, rel=1e-10)
    assert [curve["begins"] for curve in document["curves"]] == [-1, 0, 0]
    code, _, err = shell("load", str(file), "--load", "load.load=5")
    assert code == 2 and "FROM:TO" in err


def test_a_mode_is_written_to_be_viewed(shell, tmp_path: Path) -> None:
    store = tmp_path / "swing.json"
    code, _, err = shell("equilibrium", "double_pendulum", "--mode", "2", "--out", str(store))
    assert code == 0, err
    document = json.loads(store.read_text())
    assert document["settings"]["parameter"] == "phase" and len(document["poses"]) == 2
    code, _, err = shell("equilibrium", "double_pendulum", "--mode", "2")
    assert code == 2 and "--out" in err
