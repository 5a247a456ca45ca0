"""What a file says that is not what it seems: units of forces, keys written twice, contacts, the dialect's key."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax import load, simulate
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.run.verdict import verdict

PULL = 7.0  # N
DOCUMENT: dict[str, Any] = {
    "model_parameters": {"version": "2.0", "gravity": [0, 0, 0], "units": {"length": "mm", "mass": "g", "time": "ms"}},
    "assemblies": [
        {
            "name": "a",
            "bodies": [{"name": "car", "inertia": {"mass": 2000, "Ixx": 1, "Iyy": 1, "Izz": 1}}],
            "joints": [
                {"name": "rail", "type": "Tx", "parent": [["fixed"], "origin"], "child": [["car"], "origin"],
                 "stiffness": [-PULL, 0.002]}  # force and force a length
            ],
        }
    ],
}  # fmt: skip


def with_units(**units: str) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    document["model_parameters"]["units"] |= units
    return document


@pytest.mark.parametrize(("force", "newtons"), [("N", 1.0), ("kilonewtons", 1e3), ("lbf", 0.45359237 * 9.80665)])
def test_a_force_unit_scales_forces_and_nothing_else(force: str, newtons: float) -> None:
    """a = F / m: 2 kg pulled by 7 of the unit; g and ms beside it change the mass and the time, not the force."""
    model = load(with_units(force=force))
    numbers = model.numbers()
    assert numbers["a:car.mass"] == 2.0
    assert numbers["a:rail.stiffness[0]"] == pytest.approx(-PULL * newtons, rel=1e-15)
    assert numbers["a:rail.stiffness[1]"] == pytest.approx(2.0 * newtons, rel=1e-15)  # 0.002 a millimetre
    acceleration = simulate(model, 1e-3, channels=["rail.a"]).channels["rail.a"][0]
    assert acceleration == pytest.approx(PULL * newtons / 2.0, rel=1e-12)


def test_without_a_force_unit_forces_follow_and_check_prints_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """g mm/ms^2 = 1 N; with seconds it is 1e-6 N, which the table of `shiftjax check` shows."""
    assert load(DOCUMENT).numbers()["a:rail.stiffness[0]"] == pytest.approx(-PULL, rel=1e-12)
    slow = with_units(time="s")
    (entry, _) = verdict(load(slow))["forces"]
    assert entry == {"path": "a:rail.stiffness[0]", "value": pytest.approx(-PULL * 1e-6), "unit": "N"}
    path = tmp_path / "car.json"
    path.write_text(json.dumps(slow))
    assert main(["check", str(path)]) == 0
    assert "forces, as they act:" in (text := capsys.readouterr().out) and "-7e-06  N" in text


def test_a_unit_that_is_no_force_is_refused() -> None:
    with pytest.raises(ModelError, match=r"units\.force: found 'kilograms'; allowed: .*newtons"):
        load(with_units(force="kilograms"))


def test_every_key_that_is_written_twice_is_named_with_its_line(tmp_path: Path) -> None:
    """Only the first of several objects with such a key was named."""
    path = tmp_path / "twice.json"
    lines = json.dumps(DOCUMENT, indent=1).replace('"mass": 2000,', '"mass": 1000,\n"mass": 2000,')
    path.write_text(lines.replace('"type": "Tx",', '"type": "Ty",\n"type": "Tx",'))
    warnings = load(path).warnings
    assert sum("is written twice in one object; the last counts" in line for line in warnings) == 2
    assert any("key 'mass'" in line and "line" in line for line in warnings)


def test_contacts_that_are_left_out_are_a_note_of_every_run() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["model_parameters"]["solvers"] = [{"type": "rnca", "contact_detection": True}]
    assert any("contacts are not simulated" in note for note in simulate(load(document), 1e-3).notes)
    assert not any("contacts" in note for note in simulate(load(DOCUMENT), 1e-3).notes)


def test_the_key_of_the_dialect_at_the_root_is_explained() -> None:
    """A newcomer copies "version": "0.2" to the top of a file."""
    with pytest.raises(ModelError, match=r"unknown key 'version'.* in model_parameters and tells the dialect"):
        load({"version": "0.2", **DOCUMENT})


def test_a_log_file_may_be_stamped_or_not() -> None:
    """`timestamp_logfile` is a boolean in public files."""
    document = copy.deepcopy(DOCUMENT)
    document["model_parameters"]["loggers"] = [{"type": "csv", "csv_logfile": "a.csv", "timestamp_logfile": True}]
    assert simulate(load(document), 1e-3).status == 0


def test_a_reaction_contains_the_spring_of_its_joint() -> None:
    """Along the free axis of a slide the reaction is the force of its spring: m a of the car."""
    model = load(with_units(force="N"))
    run = simulate(model, 1e-3, channels=["rail.reaction_force", "rail.a"])
    force, acceleration = run.channels["rail.reaction_force"][0], run.channels["rail.a"][0]
    assert np.allclose(force, [2.0 * acceleration, 0.0, 0.0], atol=1e-12)


def test_a_start_that_is_not_stated_is_marked(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    """A loop may move it, so that the number of the file is not where it starts."""
    document = copy.deepcopy(DOCUMENT)
    joint = document["assemblies"][0]["joints"][0]
    for start, words in (({}, "0 m (not stated)"), ({"initial_displacement": 0}, "0 m\n")):
        joint.update(start)
        (tmp_path / "car.json").write_text(json.dumps(document))
        assert main(["info", str(tmp_path / "car.json")]) == 0
        assert words in capsys.readouterr().out
