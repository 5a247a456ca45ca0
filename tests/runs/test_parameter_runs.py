"""Runs, gradients, studies and optimisations of models with parameters and points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax import ModelError
from shiftjax.ensembles.optimization.meaning import bounds
from shiftjax.ensembles.optimization.optimize import asked
from shiftjax.ensembles.sensitivities.derivatives import Runs
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.designs import designs
from shiftjax.run.live import Live
from tests.support.models.named_four_bar import FOLLOWING, PIVOT, named, written_out

MODEL = named()
SWING = {"swing": "final(rocker_pivot.q)"}
SHORT: dict[str, Any] = {"span": 0.1, "step": 1e-3, "metrics": SWING, "accuracy": "local"}
LENGTHS = np.array([0.18, 0.2, 0.22])
CENTRAL = 1e-7  # relative: differences of second order at a step of 1e-5 of a smooth motion of 0.1 s
SUMMED = 1e-12  # relative: the same slopes, added in another order
GAP = 1e-12  # m, rad: of loops that were closed again


def test_a_run_is_that_of_the_numbers_written_out() -> None:
    run, plain = (shiftjax.simulate(m, channels=["rocker_pivot.q"], **SHORT) for m in (MODEL, written_out(0.2)))
    for path, values in plain.channels.items():
        np.testing.assert_array_equal(run.channels[path], values)


def test_members_are_those_of_the_numbers_written_out() -> None:
    run = shiftjax.simulate(MODEL, vary={"L": LENGTHS}, **SHORT)
    assert list(run.design) == ["parameters.L", *FOLLOWING] and run.units["parameters.L"] == "m"
    numbers = [written_out(length).numbers() for length in LENGTHS]
    for path in FOLLOWING[1:]:
        np.testing.assert_array_equal(run.design[path], [one[path] for one in numbers])
    following = {path: run.design[path] for path in FOLLOWING[1:]}
    plain = shiftjax.simulate(written_out(0.2), vary=following, **SHORT)
    np.testing.assert_array_equal(run.metrics["swing"], plain.metrics["swing"])
    again = shiftjax.simulate(MODEL, vary=run.design, **SHORT)
    np.testing.assert_array_equal(again.metrics["swing"], run.metrics["swing"])
    alone = shiftjax.simulate(MODEL, assign={"L": "220 mm"}, **SHORT)
    assert alone.metrics["swing"] == run.metrics["swing"][2] and alone.settings["assign"] == {"L": "220 mm"}


def test_members_beyond_bounds_are_named() -> None:
    run = shiftjax.simulate(MODEL, vary={"L": [0.2, 0.5]}, **SHORT)
    assert run.status.tolist() == [0, 6]
    assert run.messages[1].startswith("parameters.L: found L 0.5; allowed: a L of 0.1 or more and 0.3 or less")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"vary": {"crank.mass": [1.0]}},
            r"vary four_bar:crank\.mass: found a value for what follows from 'density \* L'",
        ),
        ({"vary": {"L": [0.2], "middle": [0.3]}}, r"vary parameters\.middle: found a value for what follows"),
        ({"assign": {"crank.mass": 1.0}}, r"crank\.mass: found a value for what follows"),
        ({"derive": {"crank.mass": "2 * {rocker.mass}"}}, r"derive four_bar:crank\.mass: found a value for what"),
        ({"vary": {"L": [0.2]}, "assign": {"L": 0.2}}, r"parameters\.L: found a value for all members and varied"),
        ({"vary": {"l": [0.2]}}, "called 'l'"),
        ({"hold": ["L"]}, r"hold parameters\.L: found a parameter; allowed: the path of a joint"),
        ({"drive": {"L": 1.0}}, r"parameters: found a parameter; allowed: one of"),
    ],
)
def test_what_follows_is_not_set_beside_it(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shiftjax.simulate(MODEL, **SHORT, **given)


def test_parameters_may_be_derived() -> None:
    """And derived numbers may follow from what follows from parameters."""
    derive = {"L": "{rocker:tip.T[0]} / 2", "rocker.mass": "2 * {crank.mass}"}
    run = shiftjax.simulate(MODEL, vary={"density": [2.5, 3.0]}, derive=derive, **SHORT)
    np.testing.assert_array_equal(run.design["four_bar:rocker.mass"], [1.0, 6 * 0.2])
    assert run.settings["assign"] == {"parameters.L": 0.2}
    same = shiftjax.simulate(MODEL, vary={"density": [2.5, 3.0]}, assign={"rocker.mass": 1.0}, **SHORT)
    assert run.metrics["swing"][0] == same.metrics["swing"][0]


def test_a_slope_is_the_sum_over_what_follows() -> None:
    """d/dL = dm/dL d/dm + ...: the chain rule over all numbers that use L."""
    parts = {path: jnp.array([written_out(0.2).numbers()[path]]) for path in FOLLOWING[1:]}
    rates = {FOLLOWING[1]: 2.5, FOLLOWING[2]: 1.0, FOLLOWING[3]: 0.5}

    def swing(model: shiftjax.Model, vary: dict[str, Any]) -> Any:
        return shiftjax.simulate(model, vary=vary, **SHORT).metrics["swing"][0]

    slope = jax.grad(lambda length: swing(MODEL, {"L": length}))(jnp.array([0.2]))[0]
    summed = jax.grad(lambda numbers: swing(written_out(0.2), numbers))(parts)
    assert slope == pytest.approx(sum(rates[path] * float(summed[path][0]) for path in rates), rel=SUMMED)
    near = shiftjax.simulate(MODEL, vary={"L": [0.2 - 1e-5, 0.2 + 1e-5]}, **SHORT).metrics["swing"]
    assert slope == pytest.approx((near[1] - near[0]) / 2e-5, rel=CENTRAL)


def test_a_moved_point_leaves_the_loop_closed_and_has_slopes() -> None:
    shifts = np.array([-0.02, -1e-5, 1e-5, 0.03])
    run = shiftjax.simulate(MODEL, vary={"A.x": PIVOT[0] + shifts}, channels=["rocker_pivot.q"], **SHORT)
    start = run.channels["rocker_pivot.q"][:, 0]
    np.testing.assert_allclose(start, start[0], rtol=0, atol=GAP)
    slope = jax.grad(lambda x: shiftjax.simulate(MODEL, vary={"A.x": x}, **SHORT).metrics["swing"][0])(
        jnp.array([PIVOT[0]])
    )[0]
    near = run.metrics["swing"]
    assert slope == pytest.approx((near[2] - near[1]) / 2e-5, rel=CENTRAL)
    assert run.status.tolist() == [0] * 4 and len(set(near.tolist())) == 4


def study(**more: Any) -> Definition:
    given: dict[str, Any] = {
        "model": MODEL, "span": 0.1, "step": 1e-3, "accuracy": "local", "samples": 3, "seed": 2, "metrics": SWING,
        "vary": {"L": "180mm:220mm~sobol", "A.x": "0.49:0.51~sobol"}, "set": {"density": 3},
    }  # fmt: skip
    return Definition(**{**given, **more})


def test_studies_vary_parameters_and_points(tmp_path: Path) -> None:
    stored = shiftjax.sweep(study(), tmp_path / "study.zarr")
    table = stored.table
    assert {"parameters.L", "points.A.x", FOLLOWING[1]} <= {*table.columns}
    np.testing.assert_array_equal(table[FOLLOWING[1]], 3 * table["parameters.L"])
    given = {"L": table["parameters.L"].values, "A.x": table["points.A.x"].values}
    run = shiftjax.simulate(MODEL, vary=given, assign={"density": 3}, **SHORT)
    np.testing.assert_array_equal(table["swing"], run.metrics["swing"])
    model, vary, _ = stored.recipe(1)
    assert {*vary} == {"parameters.L", "points.A.x"} and model == MODEL.replace({"density": 3})
    assert stored.again(1).metrics["swing"] == table["swing"][1]
    with pytest.raises(ModelError, match=r"vary.*crank\.mass.*found a value for what follows from 'density \* L'"):
        designs(study(vary={"crank.mass": "1:2~sobol"}))


def test_slopes_of_studies_and_bounds_of_optimisations() -> None:
    definition = study(optimize={"objective": "swing"}, vary={"L": "100mm:400mm~sobol", "density": "2:3~sobol"}, set={})
    (group,) = designs(definition)
    definition, wanted = asked(definition)
    low, high, _ = bounds(definition, wanted, group, ["parameters.L", "parameters.density"])
    assert (low.tolist(), high.tolist()) == ([0.1, 2.0], [0.3, 3.0]), "the file allows 0.1 to 0.3 m"
    runs = Runs(group, ["parameters.L"])
    x = np.array([[0.2, 2.5]])
    near = [runs.outputs(x + np.array([[step, 0.0]]))[0][0, -1] for step in (-1e-5, 1e-5)]
    bars = np.zeros((1, 1, runs.outputs(x)[0].shape[1]))
    bars[..., -1] = 1.0
    for slope in (runs.adjoint(x, bars)[0, 0, 0], runs.tangent(x)[0, 0, -1]):
        assert slope == pytest.approx((near[1] - near[0]) / 2e-5, rel=CENTRAL)


def test_live_runs_and_compiled_steps_take_parameters() -> None:
    live = Live(MODEL, ["L"])
    live.change({"L": 0.22})
    live.restart()
    live.advance(0.1)
    whole = shiftjax.simulate(MODEL, assign={"L": 0.22}, **SHORT)
    assert whole.final is not None and np.array_equal(live.instant().q, whole.final["q"])
    with pytest.raises(ModelError, match=r"parameters\.L.*found L 0\.5; allowed: a L of 0\.1 or more"):
        live.change({"L": 0.5})
    for compiled in (Live, shiftjax.compile):
        with pytest.raises(ModelError, match=r"vary four_bar:crank\.mass: found a value for what follows from"):
            compiled(MODEL, ["crank.mass"])
    with jax.enable_x64(True):
        compiled = shiftjax.compile(MODEL, ["L"])
        params, _ = compiled.start({"L": LENGTHS})
    np.testing.assert_array_equal(params[FOLLOWING[1]], 2.5 * LENGTHS)
