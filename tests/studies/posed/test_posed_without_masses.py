"""Studies of travels and of poses ask for no masses: numbers and slopes as of bodies that have some. M27, F8."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.cli.commands.check import outline
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.study.definition import Definition
from tests.support.models.massless_bodies import massless

SAME = 1e-12  # rad or m: rounding of loops that are closed once more
LENGTHS = {"coupler:tip.T[0]": [0.48, 0.52]}
TRAVEL: dict[str, Any] = {"kind": "travel", "metrics": {"swing": "range(rocker_pivot)"}}
IK: dict[str, Any] = {
    "kind": "ik",
    "goals": {"stand": {"coordinate": "rocker_pivot", "value": 1.6}},
    "metrics": {"crank": "crank_pivot.q", "height": "coupler:tip.position[2]"},
}


@pytest.mark.parametrize("words", [TRAVEL, IK], ids=["travel", "ik"])
def test_numbers_and_slopes_are_those_of_bodies_with_masses(words: dict[str, Any], tmp_path: Any) -> None:
    asked: dict[str, Any] = {**words, "vary": LENGTHS, "channels": ["coupler:tip.position"], "keep": "all"}
    bare, heavy = (
        sweep(Definition(model, **asked), tmp_path / name)
        for name, model in (("bare.zarr", massless()), ("heavy.zarr", shiftjax.load("four_bar")))
    )
    assert list(bare.table["status"]) == ["ok"] * 2
    for name in words["metrics"]:
        assert bare.table[name].to_numpy() == pytest.approx(heavy.table[name].to_numpy(), abs=SAME)
    path = "coupler:tip.position"
    assert bare.member(1).channels[path] == pytest.approx(heavy.member(1).channels[path], abs=SAME)
    slopes = [shiftjax.sensitivity(study, force=True).slopes for study in (bare, heavy)]
    assert np.isfinite(slopes[0]).all() and slopes[0] == pytest.approx(slopes[1], abs=1e-9)
    (repeated,) = again(bare.path, [0, 1])
    assert repeated.differences == ("", "")


def test_rates_of_what_has_no_mass_are_refused() -> None:
    for path in ("rocker_pivot.v", "rocker_pivot.a"):
        with pytest.raises(shiftjax.ModelError, match="channels: found speeds, accelerations or forces of a mechanism"):
            sweep(Definition(massless(), **TRAVEL, vary=LENGTHS, channels=[path]))
    goal = {"lowest": {"potential": True}}
    with pytest.raises(shiftjax.ModelError, match="a motion that moves no mass"):  # which is of masses
        sweep(Definition(massless(), kind="ik", goals=goal, metrics={"crank": "crank_pivot.q"}))


@pytest.mark.parametrize("words", [TRAVEL, IK], ids=["travel", "ik"])
def test_check_says_that_they_run(words: dict[str, Any]) -> None:
    """It said that no member could; of a run it says so, and of goals that masses decide."""
    assert not outline(Definition(massless(), **words, vary=LENGTHS))["groups"][0]["refused"]
    (fault,) = outline(Definition(massless(), vary=LENGTHS, span=1.0))["groups"][0]["refused"]
    assert "a motion that moves no mass" in fault
    with pytest.raises(shiftjax.ModelError, match="a motion that moves no mass"):
        outline(Definition(massless(), kind="ik", goals={"lowest": {"potential": True}}, vary=LENGTHS))
