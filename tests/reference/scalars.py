"""Lane functions evaluated as they are written, for NumPy arrays, lanes last: what every machine must agree with."""

from __future__ import annotations

import numpy as np

from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.lanes.member_values import MemberValues


def run_phase(program: LaneProgram, phase: str, slots: np.ndarray) -> None:
    """Runs the pieces of one phase on a workspace (slots, B) in place, without the graph that machines are given."""
    for piece in program.phase(phase):
        function = piece.code.build.args[0]  # type: ignore[attr-defined]  # of `graph_of`
        members = MemberValues()
        results = members.numbers(function(members.lane_values(slots[k].copy() for k in piece.inputs)))
        for slot, result in zip(piece.outputs, results, strict=True):
            slots[slot] = result
