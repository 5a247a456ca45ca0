"""What a step of a lane program asks of the units for multiplication and addition."""

from __future__ import annotations

from collections.abc import Iterator

from shiftjax.kernels.lane_program import LaneProgram, Piece
from shiftjax.kernels.llvm.tiling import contracted

# A fused pair counts as one operation, a sine with its cosine as 24; comparisons and work on integers as none.
COSTS = {"mul": 1, "add": 1, "div": 10, "sqrt": 10, "sin": 12, "cos": 12}
PHASES = ("drift", "accelerate", "linearize", "solve", "project", "error", "events")  # that methods call


def pieces_of_a_step(program: LaneProgram) -> Iterator[tuple[int, Piece]]:
    """Every piece with how often an accepted step runs it."""
    for phase in (*PHASES, "accumulate"):
        times = 1 if phase == "accumulate" else program.method.calls(phase)
        yield from ((times * (1 + len(piece.repeats)), piece) for piece in program.phase(phase))


def operations_of_a_step(program: LaneProgram) -> int:
    """Multiplications and additions of an accepted step of one lane, as `COSTS` counts them."""
    total = 0
    for times, piece in pieces_of_a_step(program):
        graph = piece.graph
        total += times * (sum(COSTS.get(node[0], 0) for node in graph.nodes) - len(contracted(graph)))
    return total
