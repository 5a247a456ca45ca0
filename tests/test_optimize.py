"""Optimisation of studies: gradients, bounds, constraints, infeasible designs, resuming, known optima."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles import study_file
from shiftjax.ensembles.definition import Definition
from shiftjax.ensembles.designs import designs
from shiftjax.ensembles.optimization.descent import Descent
from shiftjax.ensembles.optimization.optimize import Progress, asked, optimize
from shiftjax.ensembles.optimization.problem import Problem
from shiftjax.errors import ModelError

CENTRAL = 1e-6  # relative: differences of second order at a step of 1e-5
EXACT = 1e-6  # of a parameter that least squares find from a motion without noise


def arm(**more: Any) -> Definition:
    """A four-bar whose swing depends on its lengths."""
    given: dict[str, Any] = {
        "model": "four_bar",
        "span": 0.2,
        "step": 2e-3,
        "samples": 3,
        "seed": 4,
        "vary": {"coupler:tip.T[0]": "0.45:0.55~sobol", "rocker.mass": "0.5:2~sobol"},
        "drive": {"crank_pivot": 3.0},
        "metrics": {"swing": "rms(rocker_pivot.v)", "end": "final(rocker_pivot.q)"},
        "optimize": {"objective": "swing + 0.1 * end ** 2", "iterations": 4},
    }
    return Definition(**{**given, **more})


def test_the_gradient_is_that_of_differences() -> None:
    definition, wanted = asked(arm(drive={}))
    method = Descent(Problem(definition, wanted, designs(definition)[0]))
    state = method.begin()
    found = method.see(state)["gradient"]
    for k in range(2):
        pair = []
        for sign in (1.0, -1.0):
            z = state["z"].copy()
            z[:, k] += sign * 1e-5
            pair.append(method.see({**state, "z": z})["merit"])
        np.testing.assert_allclose(found[:, k], (pair[0] - pair[1]) / 2e-5, rtol=CENTRAL, atol=1e-8)


def test_a_start_does_not_depend_on_the_others() -> None:
    whole = optimize(arm())
    fewer = optimize(arm(samples=1))
    for name in ("numbers", "objective", "gradient_norm"):
        assert (whole.history[name].values[:, :1] == fewer.history[name].values).all()


class Stop(Exception):
    pass


@pytest.mark.parametrize("method", ["adam", "lbfgs"])
def test_what_is_resumed_is_the_same_to_the_last_bit(tmp_path: Path, method: str) -> None:
    study = arm(optimize={"objective": "swing", "iterations": 9, "method": method})
    whole = optimize(study, tmp_path / "whole.zarr")

    def stop(progress: Progress) -> None:
        if progress.iteration == 7:
            raise Stop

    with pytest.raises(Stop):
        optimize(study, tmp_path / "cut.zarr", progress=stop)
    with pytest.raises(ModelError, match="has not ended"):
        from shiftjax.ensembles.optimization.optimum import Optimum

        Optimum(tmp_path / "cut.zarr")
    again = optimize(study, tmp_path / "cut.zarr", resume=True)
    assert whole.evaluations.load().identical(again.evaluations.load())
    assert whole.history.load().identical(again.history.load()) and whole.starts.identical(again.starts)
