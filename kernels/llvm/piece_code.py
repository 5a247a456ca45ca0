"""LLVM text of pieces, and of what they call."""

from __future__ import annotations

from shiftjax.kernels.elementary.expansion import expanded
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm import emitter as emit
from shiftjax.kernels.llvm import payne_hanek
from shiftjax.kernels.llvm.target import Target

METADATA = '!0 = !{!"branch_weights", i32 1000000, i32 1}\n'


def piece_name(piece: Piece) -> str:
    """The symbol of a piece."""
    return f"piece_{piece.identity()[:32]}"


def piece_text(piece: Piece, target: Target) -> str:
    """The module of one piece; this is where its graph is built."""
    graph = expanded(piece.graph_for(target.precision), target.precision)
    body = emit.emit(graph, list(piece.runs()), piece_name(piece), target)
    return f"{emit.declarations(target)}\n{METADATA}\n{body}"


def support_text(target: Target) -> str:
    """The module of what pieces call."""
    return payne_hanek.support(target)
