"""Tangents of a stage and of the projected end by KKT systems: against plain forward mode, complex steps; counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from shiftjax.gradients.forward.tangent_programs import TangentPrograms
from shiftjax.gradients.operations import step_of
from shiftjax.kernels.lane_program import Piece
from shiftjax.lanes.forward import forward as tangents_of
from tests.support.complete import without
from tests.support.graphs import evaluate
from tests.support.models.kkt_cases import CASES, Workspace, complex_slope, counted, forward, two_varied

EQUAL = 1e-11  # relative to the largest tangent: two ways of solving the same systems, in other orders
# what each of four directions adds to a step, over the operations of the step; those of today
RATIOS = {"four_bar": 0.83, "bricard": 0.8, "n_four_bar_5": 0.81, "excavator": 0.9}
# Residual forces are differentiated forwards for few directions, backwards for many: both of four mechanisms.
BOTH = ("four_bar", "floating", "forces with states", "long tree")
EVERY = [(name, directions) for directions in (1, 4) for name in CASES]
few_and_many = pytest.mark.parametrize(
    ("name", "directions"), without(EVERY, [(name, 1) for name in CASES if name not in BOTH])
)


def plain(pieces: Sequence[Piece], slots: np.ndarray, dots: np.ndarray) -> None:
    """Plain forward mode of pieces, in place; dots: (directions, slots)."""
    for piece in pieces:
        graph = piece.graph
        n, m = len(piece.inputs), len(piece.outputs)
        both = tangents_of(graph, n, range(n), range(m), len(dots))
        for inputs, outputs in piece.runs():
            found = np.array(evaluate(both, [*slots[list(inputs)], *dots[:, list(inputs)].ravel()]), float)
            slots[list(outputs)], dots[:, list(outputs)] = found[:m], found[m:].reshape(len(dots), m)


def compared(name: str, phase: str, directions: int) -> None:
    """Values and tangents of what a phase hands on."""
    workspace = Workspace(CASES[name]())
    if phase == "project":
        workspace.open()
    N, read = workspace.layout.slot_count, workspace.read
    before, dots = workspace.slots[:N].copy(), np.zeros((directions, N))
    dots[:, read] = workspace.rng.standard_normal((directions, len(read)))
    programs = TangentPrograms(workspace.programs, directions)
    own, places = programs.of(workspace.partition).phase(phase), programs.places
    pieces = workspace.program.phase(phase)
    slots = np.zeros(places.whole.slot_count)
    slots[[places.values[k] for k in range(N)]] = before
    for k in read:
        slots[list(places.tangents[k])] = dots[:, k]
    forward(own, slots)
    values, expected = before.copy(), dots.copy()
    plain(pieces, values, expected)
    moving = [*workspace.places("dx", workspace.moving)]
    if phase == "project":
        moving += [*workspace.places("q"), *workspace.places("x", workspace.plan.nv)]
    kept = [*moving, *workspace.places("dx"), *workspace.places("mon"), *workspace.places("rep")]
    np.testing.assert_array_equal(slots[[places.values[k] for k in kept]], values[kept])
    found = slots[[places.tangents[k] for k in moving]].T
    scale = np.abs(expected[:, moving]).max()
    np.testing.assert_allclose(found, expected[:, moving], rtol=0, atol=EQUAL * scale)
    slope = complex_slope(pieces, before, read, dots[0, read])[moving]
    np.testing.assert_allclose(found[0], slope, rtol=0, atol=EQUAL * scale)


@few_and_many
def test_tangents_of_a_stage(name: str, directions: int) -> None:
    """Of accelerations and rates of forces' states in random directions of q, x, p; values to the last bit."""
    compared(name, "accelerate", directions)


@few_and_many
def test_tangents_of_the_projected_end(name: str, directions: int) -> None:
    """Of the projected q, v and of dx there in random directions of the unprojected q, x, p; values to the last bit."""
    compared(name, "project", directions)


@pytest.mark.parametrize("name", RATIOS)
def test_a_direction_of_a_step_has_fewer_operations_than_plain_forward_mode(name: str) -> None:
    """Four directions of a step of RK4 with all that belongs to it, two numbers varied."""
    programs, partition = two_varied(name)
    program, four = programs.of(partition), TangentPrograms(programs, 4).of(partition)

    def a_direction(whole: float, values: float) -> float:
        return (whole - values) / 4 / values

    step = a_direction(step_of(four, "f64"), step_of(program, "f64"))
    stage = a_direction(counted(four.accelerate), counted(program.accelerate))
    print(f"{name}: of a step {step:.3f}, of a stage {stage:.3f}")
    assert step < RATIOS[name]


def test_equal_islands_share_a_piece_of_each_phase() -> None:
    """Two four-bars that nothing ties to each other: one piece that runs twice, and the sums, as without tangents."""
    workspace = Workspace(CASES["islands"]())
    program = TangentPrograms(workspace.programs, 2).of(workspace.partition)
    for phase in ("accelerate", "project"):
        assert [len(piece.repeats) for piece in program.phase(phase)] == [1, 0]
