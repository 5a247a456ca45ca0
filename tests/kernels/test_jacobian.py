"""Compiled Jacobians of substructures against lane functions on NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

import shiftjax.run.closing.host_evaluation as host
from shiftjax.formats import load
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.host_function import HostFunction
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.run.programs.jacobian import CompiledJacobian
from shiftjax.run.start.prepare import prepare

ROUNDING = 1e-13  # of entries of size one: products fused on one side


@pytest.mark.parametrize("name", ["n_four_bar_5", "bricard", "delta", "vehicle_chassis"])
def test_the_compiled_jacobian_is_that_of_the_lane_functions(name: str) -> None:
    """M25, E9: for any number of members, with varied numbers; rows that are left out are zero."""
    model = load(name)
    lengths = [path for path in model.numbers() if path.endswith(".T[0]") and not path.startswith("fixed")][:2]
    random = np.random.default_rng(0)
    for members in (1, 5, 40):
        values = {path: model.numbers()[path] + random.uniform(0, 0.1, members) for path in lengths}
        prepared = prepare(model, values)
        q = prepared.file_start.q.repeat(members, 1) + random.uniform(-0.3, 0.3, (prepared.plan.nq, members))
        lane = prepared.lane_of(np.arange(members), 1.0)
        for s, block in enumerate(prepared.plan.substructures[:3]):
            jacobian = CompiledJacobian(prepared.setup, s)
            _, expected = host.closure(lane, q, s)
            found = np.zeros((members, block.rows, len(block.columns)))
            found[:, jacobian.rows] = jacobian(q, prepared.parameters(), np.zeros(members))
            assert np.abs(found - expected).max() < ROUNDING * max(1.0, np.abs(expected).max())
            assert 0 < len(jacobian.rows) <= block.rows


def test_a_host_function_wants_its_slots_in_order() -> None:
    def piece(inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Piece:
        return Piece("sum", Code(lambda: graph_of(lambda x: [x[0] + 2.0 * x[1]], 2)), inputs, outputs)

    function = HostFunction(piece((0, 1), (2,)))
    values = np.random.default_rng(0).random((2, 37))
    np.testing.assert_allclose(function(values), (values[0] + 2 * values[1])[:, None], rtol=1e-15)
    with pytest.raises(ValueError, match="inputs first"):
        HostFunction(piece((1, 0), (2,)))
