"""The rarer refusals of the reader, and its defaults."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import files, load
from shiftjax.formats.jsonc import MAX_BYTES, parse
from shiftjax.mechanism.model import FrameRef
from tests.support.models.documents import PAIR, A, edited, new, old

BALL = {"name": "j", "type": "spherical", "parent": [["link1"], "distal"], "child": [["link2"], "origin"]}
ROUND: list[Any] = []
ROUND.append(ROUND)


def hill(**more: Any) -> dict[str, Any]:
    return edited("terrain", [{"name": "hill", **more}])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (edited(f"{A}.joints.0.body_frame_pairs", [*PAIR, PAIR[0]], old), "two frames, the parent's first"),
        (edited(f"{A}.joints.1", {**BALL, "type": "prismatic", "axis": [0, 0, 0]}), "an axis of length between"),
        (edited(f"{A}.joints.1", {**BALL, "initial_displacement": {"T": [1, 0, 0]}}), "R only, for a spherical joint"),
        (edited(f"{A}.joints.1", {**BALL, "initial_velocity": [1, 2]}), "a list of 3 numbers"),
        (edited(f"{A}.joints.0.child", [[], "origin"]), "a name, or a list of names"),
        (edited(f"{A}.joints.0.child", "pendulum::origin"), "a name, or a list of names"),
        (
            edited(f"{A}.restraint", []) | {"assemblies": [{"name": "a", "restraint": [], "restraints": []}]},
            "given twice",
        ),
        (edited("model_parameters.gravity", [0, 0, 10**400]), r"gravity\[2\]: found .*; allowed: a finite number"),
        (edited("model_parameters.gravity", [0, 0, 10**5000]), "found a huge number; allowed: a finite number"),
        (hill(texture_scale=ROUND), "nested deeper than that; allowed: values nested at most 50 deep"),
        (hill(texture_scale=10**20), "whole numbers of at most 17 digits"),
        (hill(texture_scale={1, 2}), "values that JSON knows"),
        (hill(filename="a", elevation_map="b"), "two keys for 'elevation_map'"),
        (hill(scale=[1, 1], x_scale=1), "both 'scale' and 'x_scale', 'y_scale'"),
        (edited(f"{A}.force_modules", ["tire"]), r"an object \(a force module\)"),
        (
            edited(f"{A}.force_modules", [{"type": "tire", "name": "t", "tire_type": "fiala"}]),
            "wheel_body: found nothing",
        ),
        (
            edited(f"{A}.force_modules", [{"type": "pid", "name": "p", "p": 1}]),
            "no 'input'; allowed: an input and an output",
        ),
        (
            edited(f"{A}.force_modules", [{"type": "pid", "input": {"joints": 1}, "output": {}}]),
            "unknown key 'joints'.*'joint'",
        ),
        (edited("model_parameters.include_directories", ["a\0b"]), "a directory that cannot be"),
        (edited(f"{A}.name", "a" * 201), "a name of 1 to 200 printable characters"),
        (edited(f"{A}.name", "a\nb"), "a name of 1 to 200 printable characters"),
        (edited("model_parameters.simulation", {"time_span": "x"}), "simulation.time_span: found 'x'"),
    ],
)
def test_rarer_mistakes_give_one_error(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(document)


def nested(levels: int, name: str) -> dict[str, Any]:
    document = new()
    document["assemblies"] = []
    for _ in range(levels):
        document["assemblies"] = [{"name": name, "assemblies": document["assemblies"]}]
    return document


def test_nesting_has_limits() -> None:
    with pytest.raises(ModelError, match="assemblies nested at most 2000 deep"):
        load(nested(2100, "a"))
    with pytest.raises(ModelError, match="paths of at most 50000 characters"):
        load(nested(500, "a" * 190))
    document = new()
    document["assemblies"][0]["assemblies"] = document["assemblies"]  # holds itself
    with pytest.raises(ModelError, match="nested at most 2000 deep"):
        load(document)


def test_text_has_limits_and_equal_keys_are_a_warning() -> None:
    with pytest.raises(ModelError, match=f"{MAX_BYTES + 1} characters"):
        parse(" " * (MAX_BYTES + 1), "text")
    found, warnings = parse('{"a": 1, "a": 2}', "text")
    assert found == {"a": 2}
    assert "key 'a' is written twice" in warnings[0]


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.json"
    path.write_text("{}")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ModelError, match="found Permission denied; allowed: a file that can be read"):
        files.read_text(path)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ModelError, match="something that is no file"):
        load(tmp_path / "pipe.json")


def test_defaults_of_what_is_left_out() -> None:
    document = new()
    document["model_parameters"] = {}
    document["lights"] = [{"name": "l"}, {"name": "m", "parent": ["link1", "distal"]}]
    model = load(document)
    assert model.version == "2.0"
    assert model.gravity == (0.0, 0.0, 9.81)
    assert any("no gravity given" in warning for warning in model.warnings)
    assert model.lights[0].parent == FrameRef("fixed")
    assert model.lights[1].parent == FrameRef("pendulum:link1", "distal")


def test_settings_keep_comments_and_drop_nulls() -> None:
    document = old()
    document["model_parameters"]["simulation"] |= {"comment": "c", "out_file": None}
    settings = load(document).settings
    assert settings.integrators[0]["comment"] == "c"
    assert settings.loggers == ()


def test_numpy_values_are_numbers() -> None:
    document = edited("frames.0.T", np.array([1, 2, 3]))
    document["assemblies"][0]["bodies"][0]["inertia"]["mass"] = np.float32(0.5)
    document["model_parameters"]["gravity"] = (np.int64(0), 0.0, 1)
    model = load(document)
    assert model.frames[0].T == (1.0, 2.0, 3.0)
    assert model.numbers()["pendulum:link1.mass"] == 0.5
    assert all(type(value) is float and math.isfinite(value) for value in model.numbers().values())
