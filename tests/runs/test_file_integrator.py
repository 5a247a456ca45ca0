"""Runs by the integrator block of the model's file, and the note of those that are not."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax import ModelError
from shiftjax.cli import main
from shiftjax.ensembles.stored_study import Study
from shiftjax.formats.files import load, save
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import RunSettings

RUN: dict[str, Any] = {"span": 0.3, "output_step": 0.1, "channels": ["shoulder.q"]}
VARIABLE = {"type": "ode113", "relative_error": 0, "absolute_error": 1e-6}

REPLACED = (
    "the file asks for ode113, a multistep method of variable order that is not here: this is run with dopri5, and the "
    "smaller of the file's errors above 0, 1e-06, as tolerance of each step"
)


def of(**block: Any) -> Model:
    """A double pendulum whose file has this integrator block."""
    settings = RunSettings(integrators=(FrozenJson(block),) if block else ())
    return dataclasses.replace(load("double_pendulum"), settings=settings)


def test_the_errors_of_the_file_are_the_tolerance() -> None:
    """To the last bit, the smaller error above zero counting; a method of fixed steps is taken by its name."""
    by_tolerance = shiftjax.simulate(of(), tolerance=1e-6, **RUN)
    for block in (VARIABLE, {"relative_error": 1e-4, "absolute_error": 1e-6}, {**VARIABLE, "type": "dopri5"}):
        by_file = shiftjax.simulate(of(**block), method="file", **RUN)
        assert np.array_equal(by_file.channels["shoulder.q"], by_tolerance.channels["shoulder.q"])
        assert (by_file.settings["method"], by_file.settings["tolerance"]) == ("dopri5", 1e-6)
        replaced = [note for note in by_file.notes if "asks for" in note]
        assert replaced == ([REPLACED] if block is VARIABLE else []), "a method that is here is what was asked for"
    assert shiftjax.simulate(of(**{**VARIABLE, "type": "euler"}), method="file", **RUN).settings["method"] == "euler"


def test_a_run_says_that_the_file_asks_for_something_else() -> None:
    """Where the run names no method, step or tolerance; not where the file asks for what is done."""

    def asked(model: Model, **more: Any) -> list[str]:
        return [note for note in shiftjax.simulate(model, **RUN, **more).notes if "asks for" in note]

    assert asked(of(**VARIABLE)) == [
        "the file asks for ode113 with errors of 1e-06; this is run with rk4 and steps of one size. method='file' "
        "(--method file) takes what the file asks for"
    ]
    assert asked(of(type="ode113")) == ["the file asks for ode113; this is run with rk4 and steps of one size"]
    assert not asked(of(**VARIABLE), step=1e-3) and not asked(of(**VARIABLE), method="rk4")
    assert not asked(of(type="rk4", absolute_error=1e-6)) and not asked(of())


@pytest.mark.parametrize(
    ("block", "more", "message"),
    [
        (VARIABLE, {"step": 1e-3}, "step: found 0.001 beside method='file'"),
        (VARIABLE, {"tolerance": 1e-3}, "tolerance: found 0.001 beside method='file'"),
        (VARIABLE, {"precision": "f32", "channels": []}, None),
        ({**VARIABLE, "absolute_error": 1e-9}, {"precision": "f32"}, "tolerance: found 1e-09; .* 1e-06 in f32"),
        ({"type": "ode113", "relative_error": 0}, {}, "and the file asks for 'ode113' without an error; .*above 0"),
        ({}, {}, "'file', and the file has no integrator"),
    ],
)
def test_what_cannot_be_run_by_the_file(block: dict[str, Any], more: dict[str, Any], message: str | None) -> None:
    given = {**RUN, "method": "file", **more}
    if message is None:
        assert shiftjax.simulate(of(**block), **given).settings["tolerance"] == 1e-6
        return
    with pytest.raises(ModelError, match=message):
        shiftjax.simulate(of(**block), **given)


def test_the_command_line_and_studies_by_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same tolerance, which is what the store says and repeats."""
    file, study = tmp_path / "arm.json", tmp_path / "arm.toml"
    save(of(**VARIABLE, time_span=0.3, time_step=0.1), file)
    asked = ["run", str(file), "--channel", "shoulder.q", "--json"]
    assert main([*asked, "--method", "file"]) == 0
    by_file = json.loads(capsys.readouterr().out)
    assert main([*asked, "--tolerance", "1e-6"]) == 0
    assert by_file["channels"] == json.loads(capsys.readouterr().out)["channels"]
    assert main(asked) == 0
    assert "note: the file asks for ode113 with errors of 1e-06" in capsys.readouterr().err
    words = 'model = "arm.json"\n[vary]\n"link1.mass" = [1.0, 2.0]\n'
    study.write_text(words)
    assert main(["sweep", str(study), "--out", str(tmp_path / "fixed.zarr")]) == 0
    assert "note: the file asks for ode113 with errors of 1e-06" in capsys.readouterr().err
    study.write_text(f'method = "file"\n{words}')
    assert main(["sweep", str(study), "--out", str(tmp_path / "arm.zarr")]) == 0
    assert f"note: {REPLACED}\n" in capsys.readouterr().err
    again = Study(tmp_path / "arm.zarr").again(1)
    assert (again.settings["method"], again.settings["tolerance"]) == ("dopri5", 1e-6)


def test_derivatives_of_runs_by_the_file() -> None:
    """Those of the tolerance."""

    def end(speed: jax.Array, **how: Any) -> jax.Array:
        vary = {"shoulder.initial_velocity": speed[None]}
        return shiftjax.simulate(of(**VARIABLE), **RUN, vary=vary, **how).channels["shoulder.q"][0, -1]

    by_file, by_tolerance = (jax.grad(end)(1.0, **how) for how in ({"method": "file"}, {"tolerance": 1e-6}))
    assert by_file == by_tolerance != 0.0
