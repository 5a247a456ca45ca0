"""The schedule of a run repeats it to the last bit: partitions, steps moved off singular poses, members that end."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.kernels.backends import BACKENDS
from shiftjax.mechanism.model import Model
from shiftjax.models import path
from shiftjax.outcome import Outcome
from shiftjax.run.advance.schedule import STEPS
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

ENERGIES = ("energy.kinetic", "energy.total")
SPEEDS = np.linspace(-6.0, 6.0, 20)
# model, step [s], varied
RUNS: dict[str, tuple[str, float, dict[str, Any]]] = {
    "repartitions": ("bricard", 2e-3, {"joint1.initial_velocity": SPEEDS}),
    "several substructures": (
        "two bricards",
        2e-3,
        {"bricard:joint1.initial_velocity": SPEEDS, "second:joint1.initial_velocity": -0.7 * SPEEDS},
    ),
    "singular steps": ("n_four_bar_2", 1e-3, {"pivot_0.initial_velocity": SPEEDS}),
    "ends early": ("four_bar", 1e-2, {"crank_pivot.initial_velocity": [2.0, np.nan, 400.0]}),
}


def two_bricards() -> Model:
    """Two of them, each a substructure."""
    document = json.loads(path("bricard").read_text())
    document["assemblies"].append(document["assemblies"][0] | {"name": "second"})
    return load(document)


def ran(name: str, **more: Any) -> Result:
    model, step, vary = RUNS[name]
    settings: dict[str, Any] = {
        "span": 2.0,
        "output_step": 10 * step,
        "keep": 3,
        "channels": ["energy.kinetic", "energy.total"],
    }
    return simulate(
        two_bricards() if model == "two bricards" else model,
        **{"step": step, "vary": vary, "backend": "cpu", **settings, **more},
    )


def same(a: Result, b: Result) -> bool:
    """Whether all numbers of two results are the same, to the last bit."""
    pairs = [
        (a.channels, b.channels),
        (a.poses, b.poses),
        (a.certificate, b.certificate),
        (a.final, b.final),
        ({"": a.status}, {"": b.status}),
    ]
    return all(
        x is not None and y is not None and all(np.array_equal(x[k], y[k], equal_nan=True) for k in {*x, *y})
        for x, y in pairs
    )


@pytest.mark.parametrize("name", RUNS)
def test_a_replay_is_the_run_to_the_last_bit(name: str) -> None:
    first = ran(name)
    assert first.schedule is not None
    again = ran(name, schedule=first.schedule)
    assert same(first, again) and again.log == first.log and again.settings == first.settings
    assert again.schedule is not None
    for field in dataclasses.fields(first.schedule):
        a, b = getattr(first.schedule, field.name), getattr(again.schedule, field.name)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b, field.name


def test_the_runs_above_decide_something() -> None:
    """Lest the replays have nothing to repeat: partitions of one and of several substructures, patterns, bad ends."""
    found = {name: ran(name) for name in RUNS}
    schedules = {name: result.schedule for name, result in found.items()}
    decided: dict[str, set[int]] = {
        name: set() if s is None else set(s.substructure.tolist()) for name, s in schedules.items()
    }
    assert decided["repartitions"] == {0} and STEPS in decided["singular steps"]
    assert decided["several substructures"] >= {0, 1}
    assert set(found["ends early"].status.tolist()) >= {Outcome.inaccurate, Outcome.non_finite}


def test_a_run_that_went_on_is_repeated_too() -> None:
    first = simulate("bricard", 0.1, 2e-3, backend="cpu")
    second = simulate("bricard", 5.0, 2e-3, start=first, backend="cpu")
    assert second.schedule is not None and len(second.schedule.member)
    assert same(second, simulate("bricard", 5.0, 2e-3, start=first, schedule=second.schedule, backend="cpu"))


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "gpu"])
def test_a_schedule_serves_neighbouring_designs(backend: str) -> None:
    """Another mass is run with the decisions of the first one: finite, closed, and no search; `test_gpu` has a GPU's.

    A planar loop led by its rocker to where that turns back: two programs of three bodies, which XLA compiles in less
    than half the time of six bodies in space.
    """
    first = simulate("four_bar", 0.5, 2e-3, independent=["rocker_pivot"], backend="cpu")
    assert [line["old"] for line in first.log] == [["four_bar:rocker_pivot"]]
    model = first.model
    masses = [path for path in model.numbers() if path.endswith(".mass")]
    heavier = model.replace({masses[0]: 1.001 * model.numbers()[masses[0]]})
    result = simulate(heavier, 0.5, 2e-3, schedule=first.schedule, backend=backend)
    assert result.status == 0 and result.certificate["gap"] < 1e-12
    assert [line["new"] for line in result.log] == [line["new"] for line in first.log]


def test_a_lane_that_cannot_follow_says_so() -> None:
    first = simulate("four_bar", 0.1, 1e-3, backend="cpu")
    path = "four_bar:crank_pivot.initial_velocity"
    broken = simulate(first.model.replace({path: 1e180}), 0.1, 1e-3, schedule=first.schedule, backend="cpu")
    assert broken.status == Outcome.non_finite


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"span": 0.2}, "schedule: found steps 100; allowed: 200"),
        ({"step": 2e-3}, "schedule: found step 0.001; allowed: 0.002"),
        ({"vary": {"crank.mass": [1.0, 2.0]}}, "schedule: found members 1; allowed: 2"),
        ({"model": "slider_crank_turntable"}, "schedule: found one of another mechanism"),
        ({"independent": ["crank_pivot"]}, "independent: found a schedule, too"),
    ],
)
def test_a_schedule_of_another_run_is_refused(arguments: dict[str, Any], match: str) -> None:
    first = simulate("four_bar", 0.1, 1e-3)
    with pytest.raises(ModelError, match=match):
        simulate(**{"model": "four_bar", "span": 0.1, "step": 1e-3, "schedule": first.schedule, **arguments})
