"""A backend of NumPy alone: the step loop on arrays with one entry per lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.lane_program import DTYPES, PHASES, WRITES, LaneProgram
from shiftjax.kernels.step_loop import StepLoop, TickLoop
from tests.support.graphs import evaluate


class NumpyBackend(TickLoop):
    """`contract.Kernel` without a compiler."""

    def __init__(
        self, precision: str = "f64", threads: int | None = None
    ) -> None:
        self.precision, self.dtype = precision, np.dtype(DTYPES[precision])
        self.compiled, self.compile_s = 0, 0.0
        self._ready: dict[int, tuple[LaneProgram, StepLoop]] = {}

    def prepare(self, program: LaneProgram) -> StepLoop:
        if id(program) not in self._ready:
            self._ready[id(program)] = (
                program,
                StepLoop(
                    program,
                    {name: self._phase(program, name) for name in PHASES},
                    np,
                    self.dtype,
                ),
            )
        return self._ready[id(program)][1]

    def _phase(self, program: LaneProgram, name: str) -> Any:
        pieces = [(piece, piece.graph) for piece in program.phase(name)]

        def run(slots: list[Any]) -> None:
            for inputs, outputs, graph in (
                (*run, graph) for piece, graph in pieces for run in piece.runs()
            ):
                values = evaluate(
                    graph, [slots[k] for k in inputs], self.dtype.type
                )
                for slot, value in zip(outputs, values, strict=True):
                    slots[slot] = value

        return run

    def run(
        self,
        program: LaneProgram,
        table: np.ndarray,
        stop: np.ndarray,
        h: float,
        t0: float,
    ) -> None:
        loop, row = (
            self.prepare(program),
            lambda name: table[program.layout.rows(name)[0]],
        )
        first = np.where(
            program.layout.controlled, row("clock"), np.inf
        )  # where a controlled lane takes its step
        while len(
            lanes := np.flatnonzero(
                (row("trip") == 0)
                & (row("clock") < stop)
                & (row("fraction") > 0)
                & (row("clock") <= first)
            )
        ):
            p, state = self._split(program, table[:, lanes])
            with np.errstate(all="ignore"):
                self._put(
                    program,
                    table,
                    loop.step(p, state, h, t0, stop[lanes]),
                    lanes,
                )

    def evaluate(
        self,
        program: LaneProgram,
        phase: str,
        table: np.ndarray,
        t0: float,
        h: float,
    ) -> np.ndarray | None:
        p, state = self._split(program, table)
        with np.errstate(all="ignore"):
            result = self.prepare(program).evaluate(phase, p, state, h, t0)
        if WRITES[phase][0] in program.layout.columns():
            return self._put(program, table, result, np.arange(table.shape[1]))
        (values,) = result.values()
        return np.array(
            [np.broadcast_to(v, table.shape[1:]) for v in values]
        ).reshape(len(values), table.shape[1])

    def _split(
        self, program: LaneProgram, table: np.ndarray
    ) -> tuple[Any, Any]:
        state = {
            name: tuple(table[k] for k in program.layout.rows(name))
            for name in program.layout.columns()
        }
        return state.pop("p"), state

    def _put(
        self,
        program: LaneProgram,
        table: np.ndarray,
        state: Any,
        lanes: np.ndarray,
    ) -> None:
        for name, values in state.items():
            for row, value in zip(
                program.layout.rows(name), values, strict=True
            ):
                table[row, lanes] = value


BACKENDS["numpy"] = NumpyBackend
