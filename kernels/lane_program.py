"""A lane program: pieces of scalar code over numbered slots, independent of backends and of mechanics.

A lane is one member of an ensemble. Its numbers are in *slots* of a workspace while a backend steps it and in *rows* of
a table (rows, B), members last, between two calls; a slot or a row is one scalar of one lane.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shiftjax.kernels.step_program import Method
from shiftjax.lanes.code import Code
from shiftjax.lanes.graph import Graph
from shiftjax.record import record

PHASES = ("drift", "accelerate", "project", "error", "events", "accumulate", "observe", "linearize", "solve")
# What each phase writes: groups of rows of the table; regions without rows are returned by `evaluate`.
WRITES = {
    "drift": ("qdot",),
    "accelerate": ("dx", "mon"),
    "project": ("q", "x", "dx", "mon", "rep"),
    "observe": ("chan",),
    "accumulate": ("acc",),
    "events": ("event", "event_rate"),
}
# Lists of pieces that have reverse pieces.
REVERSED = ("drift", "accelerate", "project", "observe", "measure", "linearize", "solve")
DTYPES = {"f64": "float64", "f32": "float32"}


@record
class Layout:
    """Sizes of the regions of one lane."""

    nq: int  # coordinates q
    nx: int  # speeds, states of forces and quadratures x, and their derivatives dx
    np: int  # parameters
    nm: int  # monitors
    nr: int  # residuals and other values of the accepted step
    na: int  # accumulators
    nc: int  # channels
    ns: int  # scratch shared by the pieces
    ne: int = 0  # events
    controlled: bool = False  # whether an error estimate controls the step size
    nl: int = 0  # slots for the Jacobian of a linearly implicit method and its factors
    nk: int = 0  # known tangents from which it is made: a 1 and zeros

    def regions(self) -> dict[str, int]:
        """Sizes of the regions of the workspace in slot order; accumulators and channels last, so that no other slot
        depends on what is measured."""
        return {
            "q": self.nq,
            "x": self.nx,
            "dx": self.nx,
            "p": self.np,
            "t": 1,
            "clock": int(self.controlled),  # for what is observed of controlled steps
            "mon": self.nm,
            "rep": self.nr,
            "qdot": self.nq,
            "scratch": self.ns,
            "event": self.ne,
            "event_rate": self.ne,
            "eq": self.nq * self.controlled,  # error estimates of q and x
            "ex": self.nx * self.controlled,
            "control": 2 * self.controlled,  # error norm, factor of the step size
            "shift": int(self.nl > 0),  # gamma h [s]
            "seeds": self.nk,
            "ft": self.nx * (self.nl > 0),
            "linear": self.nl,
            "acc": self.na,
            "chan": self.nc,
        }

    def columns(self) -> dict[str, int]:
        """Sizes of the groups of rows of the table in row order."""
        return {
            "q": self.nq,
            "x": self.nx,
            "dx": self.nx,
            "p": self.np,
            "clock": 1,
            "fraction": 1,
            "limit": self.nm,
            "armed": self.nm,
            "acc": self.na,
            "rep": self.nr,
            "mon": self.nm,
            "trip": 1,
            "event": self.ne,
            "event_rate": self.ne,
            "watched": self.ne,
        }

    def slots(self, name: str) -> range:
        """The slots of region `name` in the workspace."""
        return range_of(self.regions(), name)

    def rows(self, name: str) -> range:
        """The rows of group `name` in the table."""
        return range_of(self.columns(), name)

    @property
    def slot_count(self) -> int:
        """Number of slots of the workspace."""
        return sum(self.regions().values())

    @property
    def row_count(self) -> int:
        """Number of rows of the table."""
        return sum(self.columns().values())


def range_of(sizes: Mapping[str, int], name: str) -> range:
    """Where a part lies among parts of some sizes that follow each other."""
    first = 0
    for key, size in sizes.items():
        if key == name:
            return range(first, first + size)
        first += size
    raise KeyError(f"{name!r} is none of {', '.join(sizes)}")


@record
class Piece:
    """Straight-line scalar code: reads the slots `inputs`, writes the slots `outputs`.

    Two pieces of equal code and equal slots are compiled once.
    Code that runs several times on other slots, for the equal parts of a mechanism, is one piece with `repeats`, one
    after the other.
    """

    name: str  # for messages only
    code: Code  # of a graph with one input per slot read, one output per slot written
    inputs: tuple[int, ...]  # slots
    outputs: tuple[int, ...]  # slots
    repeats: tuple[tuple[int, ...], ...] = ()  # slots of the inputs and outputs of each further run
    together: bool = False  # whether it is most of a step, so that code for a whole block of lanes is worth compiling

    @property
    def key(self) -> str:
        """The digest of the graph."""
        return self.code.digest

    @property
    def graph(self) -> Graph:
        """The operations."""
        return self.code.graph

    @property
    def read(self) -> set[int]:
        """The slots that the code reads, of one run: of `inputs` some may be of no use."""
        return {self.inputs[node[1]] for node in self.graph.nodes if node[0] == "in"}

    def graph_for(self, precision: str) -> Graph:
        """The operations for a kernel of "f64" or "f32".

        Raises:
            TypeError: constants that were rounded to float32, in an f64 kernel.
        """
        if self.graph.single and precision == "f64":
            raise TypeError("an f64 kernel was given code traced in float32: build its graph with precision f64")
        return self.graph

    def identity(self) -> str:
        """Hash that determines the compiled code: of the key and the slots."""
        text = f"{self.key}|{self.inputs}|{self.outputs}" + (f"|{self.repeats}" if self.repeats else "")
        text += "|together" * self.together
        return hashlib.sha256(text.encode()).hexdigest()

    def runs(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Slots of inputs and outputs of every run."""
        count = len(self.inputs)
        for slots in ((*self.inputs, *self.outputs), *self.repeats):
            yield slots[:count], slots[count:]

    @property
    def chained(self) -> bool:
        """Whether a run reads or writes what another one writes, so that their order counts."""
        written: dict[int, int] = {}  # slot -> the only run that writes it
        runs = list(self.runs()) if self.repeats else []
        for k, (_, outputs) in enumerate(runs):
            if any(written.setdefault(slot, k) != k for slot in outputs):
                return True
        return any(written.get(slot, k) != k for k, (inputs, _) in enumerate(runs) for slot in inputs)


def on_slots(piece: Piece, place: Mapping[int, int]) -> Piece:
    """A piece on other slots."""
    (inputs, outputs), *others = (tuple(tuple(place[slot] for slot in side) for side in run) for run in piece.runs())
    return replace(piece, inputs=inputs, outputs=outputs, repeats=tuple((*a, *b) for a, b in others))


@record
class LaneProgram:
    """One step of one lane as pieces; backends add the time loop, the stage loop and step acceptance."""

    layout: Layout
    method: Method
    drift: Piece  # q, x -> qdot
    accelerate: tuple[Piece, ...]  # q, x, p, t -> dx, mon
    project: tuple[Piece, ...]  # q, x, p, t -> q, x (in place), dx, mon, rep
    observe: tuple[Piece, ...]  # q, x, dx, p, t, mon -> chan; of controlled steps clock, acc and rep, too
    accumulate: tuple[Piece, ...]  # q, x, dx, rep, mon, acc, p, t -> acc
    events: tuple[Piece, ...] = ()  # q, x, dx, p, t -> event, event_rate
    error: tuple[Piece, ...] = ()  # q, x (of the end, projected), eq, ex, p -> control
    linearize: tuple[Piece, ...] = ()  # q, x, p, t, shift -> ft, linear
    solve: tuple[Piece, ...] = ()  # qdot, dx, shift, linear -> qdot, dx

    def phase(self, name: str) -> tuple[Piece, ...]:
        """The pieces of one phase in execution order."""
        return (self.drift,) if name == "drift" else getattr(self, name)

    def pieces(self) -> tuple[Piece, ...]:
        """All pieces, drift first."""
        return tuple(piece for name in PHASES for piece in self.phase(name))
