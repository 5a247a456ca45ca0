"""Adjoints of a stage and of the projected end by KKT systems: against plain reverse mode, complex steps; counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.gradients.reverse.kkt_adjoints import projection_piece, stage_piece
from shiftjax.kernels.adjoint import adjoint_of
from shiftjax.kernels.lane_program import Piece
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.reverse import reverse
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.topology.partition import Partition
from tests.support.graphs import evaluate
from tests.support.models.kkt_cases import (
    CASES,
    Workspace,
    complex_slope,
    counted,
    forward,
    operations,
    two_varied,
    varied,
)
from tests.support.models.mechanisms import nominal_blocks

EQUAL = 1e-11  # relative to the largest derivative: two ways of solving the same systems, in other orders
# operations of the adjoint of a step over those of the step (vehicle_chassis: 1.7, plain 2.9; twenty seconds here)
RATIOS = {"four_bar": 1.96, "bricard": 2.15, "n_four_bar_5": 1.8, "excavator": 2.1}


each = pytest.mark.parametrize("name", CASES)


def plain(runs: Sequence[tuple[Graph, Any, Any, np.ndarray]], bars: np.ndarray) -> None:
    """Plain reverse mode of pieces, in place."""
    for graph, inputs, outputs, x in reversed(runs):
        given = bars[list(outputs)]
        bars[list(outputs)] = 0.0
        back = reverse(graph, len(inputs), range(len(inputs)))
        bars[list(inputs)] += np.array(evaluate(back, [*x, *given]), float)


def carried_back(workspace: Workspace, piece: Piece) -> np.ndarray:
    """(N,) cotangents after a piece; N slots."""
    slots = workspace.slots.copy()
    slots[list(piece.outputs)] = evaluate(piece.graph, list(slots[list(piece.inputs)]))
    return slots[workspace.mirrored.bar(np.arange(workspace.layout.slot_count))]


def compared(workspace: Workspace, pieces: Sequence[Piece], found: np.ndarray, before: np.ndarray) -> None:
    """Found cotangents against those of plain reverse mode, and their sum along a direction against a complex step."""
    N, read = workspace.layout.slot_count, workspace.read
    slots = before[:N].copy()
    bars = before[workspace.mirrored.bar(np.arange(N))]
    given = bars.copy()
    plain(forward(pieces, slots), bars)
    scale = np.abs(bars[read]).max()
    np.testing.assert_allclose(found[read], bars[read], rtol=0, atol=EQUAL * scale)
    assert not found[workspace.places("dx")].any()
    direction = workspace.rng.standard_normal(len(read))
    slope = complex_slope(pieces, before[:N], read, direction)
    kept = np.zeros(N)
    kept[read] = direction
    changed = np.isin(np.arange(N), [slot for piece in pieces for _, outputs in piece.runs() for slot in outputs])
    expected = given @ np.where(changed, slope, kept)
    assert found[read] @ direction == pytest.approx(expected, rel=0, abs=10 * EQUAL * scale * np.abs(direction).sum())


@each
def test_cotangents_through_a_stage(name: str) -> None:
    """The gradient of a weighted sum of dx with respect to q, x, p, added to cotangents that were there before."""
    workspace = Workspace(CASES[name]())
    workspace.seed("q", "x", "p", "dx")
    before = workspace.slots.copy()
    forward(workspace.program.accelerate, workspace.slots)
    found = carried_back(workspace, stage_piece(workspace.programs, workspace.partition))
    compared(workspace, workspace.program.accelerate, found, before)


@each
def test_cotangents_through_the_projected_end(name: str) -> None:
    """The gradient of a weighted sum of the projected q, x and of dx there with respect to the unprojected q, x, p."""
    workspace = Workspace(CASES[name]())
    workspace.seed("q", "x", "p", "dx")
    workspace.open()
    before = workspace.slots.copy()
    end = before[: workspace.layout.slot_count].copy()
    forward(workspace.program.project, end)
    record = [*workspace.places("q"), *workspace.places("x"), *workspace.places("dx")]
    workspace.slots[workspace.mirrored.end] = end[record]
    found = carried_back(workspace, projection_piece(workspace.programs, workspace.partition))
    compared(workspace, workspace.program.project, found, before)


def back(pieces: Sequence[Piece]) -> int:
    """Scalar operations of plain reverse mode of pieces."""
    graphs = [(piece.graph, len(piece.inputs)) for piece in pieces for _ in piece.runs()]
    return sum(operations(reverse(graph, n, range(n))) for graph, n in graphs)


@pytest.mark.parametrize("name", RATIOS)
def test_the_adjoint_of_a_step_has_fewer_operations_than_plain_reverse_mode(name: str) -> None:
    """Three stages and a projection of RK4, two numbers varied; the ratios are those of the pieces of today."""
    programs, partition = two_varied(name)
    program = programs.of(partition)
    step = 3 * counted(program.accelerate) + counted(program.project)
    plain = 3 * back(program.accelerate) + back(program.project)
    found = 3 * counted([stage_piece(programs, partition)]) + counted([projection_piece(programs, partition)])
    print(f"{name}: {found / step:.3f}, plain {plain / step:.3f}")
    assert found / step < RATIOS[name] < 0.8 * plain / step


def test_phases_that_are_given_take_no_slots_for_copies() -> None:
    """Three substructures on a base: five pieces a phase of a plain reversal run again on slots of their own."""
    prepared = varied("three_slider_cranks")
    programs, partition = Programs(prepared.setup), Partition(tuple(nominal_blocks(prepared)))
    assert adjoint_of(programs.of(partition), "f64", len(ACCUMULATORS)).layout.copies > 0
    found = AdjointPrograms(programs).of(partition)
    assert found.layout == AdjointPrograms(programs).layout and found.layout.copies == 0
    wanted = stage_piece(programs, partition), projection_piece(programs, partition)
    assert [p.identity() for p in (*found.accelerate, *found.project)] == [p.identity() for p in wanted]
