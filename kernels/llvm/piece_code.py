"""LLVM text of pieces, and of what they call."""

from __future__ import annotations

from shiftjax.kernels.elementary.expansion import expanded
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm import emitter as emit
from shiftjax.kernels.llvm import payne_hanek
from shiftjax.kernels.llvm.target import Target
from shiftjax.lanes.graph import Graph

METADATA = '!0 = !{!"branch_weights", i32 1000000, i32 1}\n'


def piece_name(piece: Piece) -> str:
    """The symbol of a piece."""
    return f"piece_{piece.identity()[:32]}"


def piece_graph(piece: Piece, target: Target) -> Graph:
    """What is emitted of a piece: its graph, elementary functions written out."""
    return expanded(piece.graph_for(target.precision), target.precision)


def piece_text(piece: Piece, target: Target) -> str:
    """The module of one piece; this is where its graph is built."""
    graph, runs = piece_graph(piece, target), list(piece.runs())
    body = emit.emit(graph, runs, piece_name(piece), target, together=piece.together)
    return f"{emit.declarations(target)}\n{METADATA}\n{body}"


def support_text(target: Target) -> str:
    """The module of what pieces call."""
    return payne_hanek.support(target)
