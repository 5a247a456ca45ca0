"""How many operations a step of a run, of its tangents and of its way back are, counted in their graphs. Host code.

A count is what a vector unit does for a lane; transfers are not counted, nor that a quotient takes longer than a sum.
It follows from the code of the pieces alone, so that it is kept on disk under their keys.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from shiftjax.disk_cache import folder, replace, sources
from shiftjax.gradients.forward.tangent_programs import BATCHES, Phases, TangentPrograms
from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.kernels.adjoint import AdjointProgram, measuring
from shiftjax.kernels.lane_program import PHASES, LaneProgram, Layout, Piece
from shiftjax.kernels.step_program import LINEAR, RATES, Combine, Method
from shiftjax.lanes.reverse import reverse
from shiftjax.record import record
from shiftjax.run.programs.lane_program import Programs
from shiftjax.topology.partition import Partition

FREE = ("in", "const")  # nodes of a graph that are no operations


@record
class Operations:
    """Of a lane: of a step, and of an instant that is recorded.

    Attributes:
        plain, instant: of the run. tangents, tangent_instants: what tangents add, by `BATCHES` of directions. ahead: of
            the step that the way back repeats. back, back_instant: of the way back with one cotangent.
    """

    plain: float
    instant: float
    tangents: tuple[float, ...]
    tangent_instants: tuple[float, ...]
    ahead: float
    back: float
    back_instant: float


def operations_of(programs: Programs, partition: Partition) -> Operations:
    """Those of the lane program of one partition; counted once, then read from the disk."""
    program = programs.of(partition)
    key = [sources(Path(inspect.getfile(code)).parent) for code in (reverse, Piece, Operations)]
    key += [program.method.name, *(f"{piece.key} {len(piece.repeats)}" for piece in program.pieces())]
    path = folder() / "operations" / f"{hashlib.sha256(repr(key).encode()).hexdigest()}.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        for name in ("tangents", "tangent_instants"):
            stored[name] = tuple(stored[name])
        return Operations(**stored)
    except (OSError, ValueError, TypeError, KeyError):
        operations = _counted(programs, partition)
        replace(path, json.dumps(asdict(operations)).encode())
        return operations


def _counted(programs: Programs, partition: Partition) -> Operations:
    precision, program = programs.setup.precision, programs.of(partition)
    phases: Phases = {}
    tangents = [TangentPrograms(programs, k, phases).of(partition) for k in BATCHES]
    adjoint = AdjointPrograms(programs).of(partition)
    plain, instant = step_of(program, precision), count(program.observe, precision)
    certificate = count(program.accumulate, precision) - count(measuring(program), precision)
    return Operations(
        plain,
        instant,
        tuple(step_of(tangent, precision) - plain for tangent in tangents),
        tuple(count(tangent.observe, precision) - instant for tangent in tangents),
        plain - certificate,
        _back(adjoint, precision),
        count(adjoint.observe, precision),
    )


def step_of(program: LaneProgram, precision: str) -> float:
    """Operations of an accepted step of a lane, nothing recorded."""
    method = program.method
    calls = sum(method.calls(name) * count(program.phase(name), precision) for name in PHASES)
    return calls + count(program.accumulate, precision) + _combined(method, program.layout)


def _back(adjoint: AdjointProgram, precision: str) -> float:
    """Of the way back over a step: as `llvm.sweeper` calls the pieces."""
    method = adjoint.method
    calls = sum(method.calls(name) * count(getattr(adjoint, name), precision) for name in (*RATES, "project", *LINEAR))
    return calls + count(adjoint.measure, precision) + _combined(method, adjoint.layout.layout)


def _combined(method: Method, layout: Layout) -> int:
    """Of the combinations of a step: a product and a sum for every rate."""
    combines = [one for one in method.instructions if isinstance(one, Combine)]
    return sum(2 * len(one.rates) * len(layout.slots(method.kind(one.target))) for one in combines)


def count(pieces: Iterable[Piece], precision: str) -> int:
    """Operations of pieces, each as often as it runs."""
    total = 0
    for piece in pieces:
        graph = piece.graph
        total += (1 + len(piece.repeats)) * sum(node[0] not in FREE for node in graph.nodes)
    return total
