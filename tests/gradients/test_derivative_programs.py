"""Programs of derivatives are built once for all runs of the same code, and anew where the code is another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.lanes.code import Code
from shiftjax.lanes.graph import Graph
from shiftjax.run.options import options_of

MASSES, LENGTHS = "four_bar:coupler.mass", "four_bar:coupler:tip.T[0]"
CLOCK = {"span": 0.1, "step": 2e-3, "output_step": 0.1}
Slopes = Callable[[DifferentiableRun, np.ndarray], np.ndarray]


def designs(change: float = 0.0) -> np.ndarray:
    """(2, 2) masses and lengths."""
    numbers = shiftjax.load("four_bar").numbers()
    return np.array([[1.0, numbers[LENGTHS]], [1.2, 1.001 * numbers[LENGTHS]]]) * (1.0 + change)


def runs(**more: Any) -> DifferentiableRun:
    """Of a four-bar with two channels and two metrics."""
    options = {"channels": ["rocker_pivot.q"], "metrics": {"swing": "peak_to_peak(rocker_pivot.q)"}, **CLOCK, **more}
    return DifferentiableRun(shiftjax.load("four_bar"), (MASSES, LENGTHS), options_of(**options), warns=False)


def forward(run: DifferentiableRun, x: np.ndarray) -> np.ndarray:
    return run.tangent(x, np.ones((1, *x.shape)))


def reverse(run: DifferentiableRun, x: np.ndarray) -> np.ndarray:
    return run.adjoint(x, np.ones((1, len(x), run.outputs)))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """All graphs of pieces of programs, plain ones too, that are built from here on."""
    graphs = list[Graph]()
    begin = Code.__init__

    def noted(self: Code, build: Callable[[], Graph], text: str = "") -> None:
        def note() -> Graph:
            graphs.append(build())
            return graphs[-1]

        begin(self, note, text)

    monkeypatch.setattr(Code, "__init__", noted)
    return graphs


@pytest.fixture(autouse=True)
def _doubles() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("slopes", [forward, reverse])
def test_a_second_derivative_builds_no_graph(slopes: Slopes, built: list[Graph]) -> None:
    """Of a model with a function from outside, whose graphs no disk has; the bits are those of another object."""
    drive: dict[str, Any] = {"drive": {"crank_pivot": lambda t: 3.0 * t}}
    run, x = runs(**drive), designs(0.01)
    run.run(designs())
    built.clear()
    first = slopes(run, designs())
    assert built
    run.run(x)
    built.clear()
    elsewhere, again = slopes(run, x), slopes(run, designs())
    assert not built
    assert first.tobytes() == again.tobytes() != elsewhere.tobytes()
    assert elsewhere.tobytes() == slopes(runs(**drive), x).tobytes()


@pytest.mark.parametrize("slopes", [forward, reverse])
def test_derivatives_that_are_on_disk_build_no_graph(slopes: Slopes, built: list[Graph]) -> None:
    """Another object has programs of its own, and finds all that is compiled by texts alone."""
    slopes(runs(), designs())
    run = runs()
    built.clear()
    slopes(run, designs(0.02))
    assert not built


@pytest.mark.parametrize("slopes", [forward, reverse])
def test_a_function_that_changes_changes_the_programs(slopes: Slopes) -> None:
    """A drive that reads something else in a later run: its slopes are those of a run that began with it."""
    speed = [3.0]
    drive: dict[str, Any] = {"drive": {"crank_pivot": lambda t: speed[0] * t}}
    run = runs(**drive)
    before = slopes(run, designs())
    programs = run._derivatives
    same = slopes(run, designs(0.01))
    assert run._derivatives is programs
    speed[0] = 4.0
    after = slopes(run, designs(0.02))
    assert run._derivatives is not programs
    assert after.tobytes() == slopes(runs(**drive), designs(0.02)).tobytes()
    assert np.abs(after - same).max() > 1e-3 * np.abs(before).max()
