"""The reverse of a lane program: for every phase the pieces that carry cotangents from its results to what it reads.

The workspace of a lane is mirrored: the cotangent of slot k is slot `AdjointLayout.bar(k)`. A reverse piece reads the
slots that its piece reads, and changes cotangents only: those of the results are used up, what follows for the
arguments is added to theirs. A phase of several pieces writes slots that an earlier piece has read, so that its pieces
run again on slots of their own before they are reversed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

from shiftjax.kernels.lane_program import REVERSED, LaneProgram, Layout, Piece, range_of
from shiftjax.kernels.linearly_implicit import Linearized
from shiftjax.kernels.step_program import Method
from shiftjax.lanes.graph import Graph, copy_into
from shiftjax.lanes.reverse import reverse
from shiftjax.record import record

S = TypeVar("S", int, np.ndarray)
ROOM = 64  # multiple to which the number of accumulators and channels is rounded
CARRIED = ("q", "x", "dx", "p")  # regions whose cotangents pass from step to step, with the accumulators of metrics


@record
class AdjointLayout:
    """The mirrored workspace of a layout.

    Attributes:
        copies: slots for the results of pieces that run again. first: of the accumulators, that of a metric.
    """

    layout: Layout
    first: int
    copies: int = 0

    @property
    def stride(self) -> int:
        """Slots of the workspace, with room: reverse pieces are to be the same for other channels and metrics."""
        last = self.layout.na + self.layout.nc
        return self.layout.slot_count - last + -(-last // ROOM) * ROOM

    def bar(self, slot: S) -> S:
        """The slot of the cotangent of a slot, or of an array of them."""
        return self.stride + slot

    @property
    def end(self) -> range:
        """The slots of q, x and dx of the projected end of a step."""
        return range(2 * self.stride, 2 * self.stride + self.state)

    @property
    def state(self) -> int:
        """Numbers of q, x and dx, which are the first regions."""
        return self.layout.nq + 2 * self.layout.nx

    @property
    def slot_count(self) -> int:
        return self.end.stop + self.copies

    def accumulators(self) -> range:
        """The slots of the accumulators of metrics."""
        return self.layout.slots("acc")[self.first :]

    def columns(self) -> dict[str, int]:
        """Sizes of the groups of rows of a table of cotangents in row order: of `CARRIED`, of the accumulators; and the
        steps of a leg."""
        sizes = {name: self.layout.regions()[name] for name in CARRIED}
        return sizes | {"acc": len(self.accumulators()), "steps": 1}

    def rows(self, name: str) -> range:
        """The rows of group `name` in a table of cotangents."""
        return range_of(self.columns(), name)

    @property
    def row_count(self) -> int:
        """Number of rows of a table of cotangents."""
        return sum(self.columns().values())


@record
class AdjointProgram:
    """A lane program and the reverse pieces of its phases, in the order in which they run."""

    program: LaneProgram
    layout: AdjointLayout
    drift: tuple[Piece, ...]  # cotangents of qdot -> of q, x
    accelerate: tuple[Piece, ...]  # of dx -> of q, x, p
    project: tuple[Piece, ...]  # of q, x, dx of the end -> of q, x before it was projected, and of p
    observe: tuple[Piece, ...]  # of chan -> of q, x, dx, p
    measure: tuple[Piece, ...]  # of the accumulators after a step -> before it, and of q, x, dx, p at its end
    linearize: tuple[Piece, ...]  # of ft, linear -> of q, x, p
    solve: tuple[Piece, ...]  # of qdot, dx after it -> of qdot, dx before it, and of linear

    @property
    def method(self) -> Method:
        return self.program.method

    @property
    def metrics(self) -> tuple[Piece, ...]:
        """The pieces of the metrics: of the accumulators all but the certificate's."""
        return measuring(self.program)

    def pieces(self) -> tuple[Piece, ...]:
        """All reverse pieces."""
        return tuple(piece for phase in REVERSED for piece in getattr(self, phase))


def measuring(program: LaneProgram) -> tuple[Piece, ...]:
    """The pieces of the metrics of a program, which come after that of the certificate."""
    return program.accumulate[1:]


def adjoint_of(
    program: LaneProgram,
    precision: str,
    first: int,
    still: int = 0,
    given: Mapping[str, tuple[Piece, ...]] = MappingProxyType({}),
) -> AdjointProgram:
    """The adjoint of a lane program, by reverse mode of each of its pieces.

    Args:
        first: of the accumulators, that of a metric. still: so many of the last x are quadratures of the certificate,
            on which nothing depends that is differentiated.
        given: phase -> its reverse pieces, made otherwise: nothing is planned for it, and it takes no slots.
    """
    layout = AdjointLayout(program.layout, first)
    moving = slice(0, program.layout.nx - still)

    def region(*names: str) -> list[int]:
        cut = {"x": moving, "dx": moving, "ft": moving}
        return [k for name in names for k in program.layout.slots(name)[cut.get(name, slice(None))]]

    wanted = {
        "drift": ((program.drift,), region("qdot")),
        "accelerate": (program.accelerate, region("dx")),
        "project": (program.project, region("q", "x", "dx")),
        "observe": (program.observe, region("chan")),
        "measure": (measuring(program), [*layout.accumulators()]),
    }
    moved = {name: _Phase(pieces, 0) for name, pieces in given.items()}
    if program.method.gamma:
        linearized = Linearized(program, precision)
        wanted["linearize"] = linearized.slopes(), [*region("ft"), *linearized.entries.values()]
        moved["solve"] = _solved(layout, linearized, {*region("dx")})
    constant = {*region("t", "mon", "rep", "shift", "seeds"), *program.layout.slots("acc")[:first]}
    phases = moved | {
        name: _phase(layout, pieces, outputs, constant, precision)
        for name, (pieces, outputs) in wanted.items()
        if name not in moved
    }
    copies = max(phase.copies for phase in phases.values())
    lists = {name: phase.pieces for name, phase in phases.items()}
    return AdjointProgram(program, replace(layout, copies=copies), *(lists.get(name, ()) for name in REVERSED))


def _solved(layout: AdjointLayout, linearized: Linearized, moving: set[int]) -> _Phase:
    """The reverse of `solve`, by the transposed system; the solution is made again on slots of its own."""
    wanted = [one for one, rate in linearized.rate.items() if one in linearized.q or rate in moving]
    u = {one: layout.end.stop + k for k, one in enumerate(wanted)}
    pieces = linearized.reversed(u, {one: layout.bar(linearized.rate[one]) for one in wanted}, layout.bar)
    return _Phase(pieces, len(u))


class _Phase(NamedTuple):
    pieces: tuple[Piece, ...]
    copies: int


def _phase(
    layout: AdjointLayout, pieces: Sequence[Piece], wanted: Iterable[int], constant: set[int], precision: str
) -> _Phase:
    """The pieces of a phase on slots of their own, but for the last, then all of them reversed."""
    place: dict[int, int] = {}  # slot -> where its present value is
    forward: list[Piece] = []
    read: list[Piece] = []  # the pieces with the slots where their arguments are
    fresh = layout.end.stop
    for number, piece in enumerate(pieces):
        runs = [(tuple(place.get(k, k) for k in inputs), outputs) for inputs, outputs in piece.runs()]
        read.append(_on(piece, runs))
        if number == len(pieces) - 1:
            break
        again = []
        for inputs, outputs in runs:
            places = tuple(range(fresh, fresh + len(outputs)))
            fresh += len(places)
            place |= zip(outputs, places, strict=True)
            again.append((inputs, places))
        forward.append(_on(piece, again))
    needed, back = set(wanted), []
    for piece, placed in zip(reversed(pieces), reversed(read), strict=True):
        if needed & {k for _, outputs in piece.runs() for k in outputs}:
            back.append(_reversed(layout, piece, placed, needed, constant, precision))
            needed -= {k for _, outputs in piece.runs() for k in outputs}
            needed |= {k for inputs, _ in piece.runs() for k in inputs} - constant
    return _Phase((*_read(forward, back), *back), fresh - layout.end.stop)


def _read(forward: Sequence[Piece], back: Sequence[Piece]) -> list[Piece]:
    """The pieces of which something is read by a later one."""
    slots = {k for piece in back for inputs, _ in piece.runs() for k in inputs}
    pieces: list[Piece] = []
    for piece in reversed(forward):
        if slots & {k for _, outputs in piece.runs() for k in outputs}:
            slots |= {k for inputs, _ in piece.runs() for k in inputs}
            pieces.append(piece)
    return pieces[::-1]


def _on(piece: Piece, runs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Piece:
    """A piece on other slots."""
    (inputs, outputs), *others = runs
    return replace(piece, inputs=tuple(inputs), outputs=tuple(outputs), repeats=tuple((*i, *o) for i, o in others))


def _reversed(
    layout: AdjointLayout, piece: Piece, placed: Piece, needed: set[int], constant: set[int], precision: str
) -> Piece:
    """The reverse of a piece; its code follows from that of the piece and from which slots are the same."""
    inputs, outputs = piece.inputs, piece.outputs
    written = zip(*(results for _, results in piece.runs()), strict=True)
    seeds = [k for k, slots in enumerate(written) if needed & {*slots}]
    every = zip(*(taken for taken, _ in piece.runs()), strict=True)
    wrt = [k for k, read in enumerate(every) if not {*read} <= constant]  # of constants in some runs nobody asks
    within = [outputs.index(inputs[k]) if inputs[k] in outputs else -1 for k in wrt]  # arguments that are replaced
    added = [k for k, other in zip(wrt, within, strict=True) if other < 0]
    cleared = [k for k in seeds if outputs[k] not in inputs]

    def slots(run: tuple[Sequence[int], Sequence[int]], read: Sequence[int]) -> tuple[list[int], list[int]]:
        taken, results = run
        arguments = [*read, *(layout.bar(results[k]) for k in seeds), *(layout.bar(taken[k]) for k in added)]
        return arguments, [*(layout.bar(taken[k]) for k in wrt), *(layout.bar(results[k]) for k in cleared)]

    def build() -> Graph:
        graph = _with_outputs(piece.graph, seeds)
        return _accumulating(reverse(graph, len(inputs), wrt), len(inputs) + len(seeds), within, len(cleared))

    code = piece.code.derived(("reverse", seeds, wrt, within, cleared), build)
    runs = [slots(run, read) for run, (read, _) in zip(piece.runs(), placed.runs(), strict=True)]
    (first, results), *others = runs
    return Piece(f"reverse {piece.name}", code, tuple(first), tuple(results), tuple((*i, *o) for i, o in others))


def _with_outputs(graph: Graph, outputs: Sequence[int]) -> Graph:
    """The same graph with some of its outputs."""
    part = Graph(signed_zeros=graph.signed_zeros)
    part.nodes, part.outputs = graph.nodes, [graph.outputs[k] for k in outputs]
    return part


def _accumulating(graph: Graph, given: int, within: Sequence[int], cleared: int) -> Graph:
    """Adds what was there before to the cotangents of arguments that are not replaced; those of other results are 0."""
    new = Graph(signed_zeros=graph.signed_zeros)
    copies = copy_into(new, graph)
    outputs = [copies[ref >> 1] ^ (ref & 1) for ref in graph.outputs]
    number = given
    for k, other in enumerate(within):
        if other < 0:
            outputs[k] = new.add(new.node("in", number), outputs[k])
            number += 1
    new.outputs = [*outputs, *[new.const(0.0)] * cleared]
    return new
