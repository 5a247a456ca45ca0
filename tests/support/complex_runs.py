"""Runs on complex numbers, by NumPy: an oracle of derivatives of whole runs that keep their first partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.kernels.lane_program import PHASES, LaneProgram
from shiftjax.kernels.step_loop import Slots, StepLoop
from shiftjax.measures.channel import Channel
from shiftjax.measures.run_metrics import Metrics
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Partition
from tests.support.graphs import evaluate

STEP = 1e-30  # of complex numbers: its square is below the rounding of one


def run_tangents(
    prepared: Prepared,
    partition: Partition,
    observed: Sequence[Channel],
    measured: Metrics,
    start: Sequence[np.ndarray],
    direction: Sequence[np.ndarray],
    step: float,
    steps: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Tangents (B, n, c) of channels at the end of every step, and (B, m) of metrics, in one direction.

    Args:
        start, direction: q (nq, B), v (nv, B), states (ns, B) and parameters (np, B), and their tangents.
    """
    q, v, states, p = (x + 1j * STEP * dx for x, dx in zip(start, direction, strict=True))
    program = Programs(prepared.setup, observed, measured).of(partition)
    loop = StepLoop(program, phases_of(program), np, np.dtype(complex))
    members, layout = q.shape[1], program.layout
    zero = np.zeros(members, complex)
    state = {name: (zero,) * size for name, size in layout.columns().items()}
    state |= {"q": tuple(q), "x": (*v, *states, *state["x"][len(v) + len(states) :])}
    state |= loop.evaluate("project", tuple(p), state, step, 0.0)
    rows = np.array(loop.evaluate("accumulate", tuple(p), state, step, 0.0)["acc"])
    measured.begin(rows[len(ACCUMULATORS) :])
    state["acc"] = tuple(rows)
    seen = [loop.evaluate("observe", tuple(p), state, step, 0.0)["chan"]]
    for k in range(steps):
        slots, _ = loop.attempt(tuple(p), state, 1.0, step, 0.0)
        loop.phases["accumulate"](slots)
        state |= {name: loop.get(slots, name) for name in ("q", "x", "dx", "acc", "rep")}
        state["clock"] = (zero + k + 1,)
        seen.append(loop.evaluate("observe", tuple(p), state, step, 0.0)["chan"])
    found = measured.of_terms(measured.values_of_terms(np.array(state["acc"])[len(ACCUMULATORS) :], 0.0))
    metrics = np.stack([found[name] for name in measured.units], -1) if found else np.zeros((members, 0))
    channels = np.array([[np.broadcast_to(value, members) for value in values] for values in seen])
    return np.imag(channels).transpose(2, 0, 1) / STEP, np.imag(metrics) / STEP


def phases_of(program: LaneProgram) -> dict[str, Callable[[Slots], None]]:
    """The phases of a program on slots of NumPy numbers, complex ones too."""

    def phase(name: str) -> Callable[[Slots], None]:
        pieces = [(piece.graph, list(piece.runs())) for piece in program.phase(name)]

        def run(slots: Slots) -> None:
            for graph, runs in pieces:
                for inputs, outputs in runs:
                    with np.errstate(all="ignore"):  # of what is not chosen
                        values = evaluate(graph, [slots[k] for k in inputs])
                    for slot, value in zip(outputs, values, strict=True):
                        slots[slot] = value

        return run

    return {name: phase(name) for name in PHASES}
