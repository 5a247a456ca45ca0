"""Pieces as functions of one thread: constants in constant memory, slots in registers or shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from shiftjax.kernels.gpu.kernel_module import REDUCE
from shiftjax.kernels.gpu.places import Places
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.emitter import PieceEmitter, slot_table
from shiftjax.kernels.llvm.piece_code import piece_graph
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.tiling import LEAVES, Tile
from shiftjax.kernels.llvm.vector_math import Writer
from shiftjax.lanes.graph import Graph
from shiftjax.record import record

IMMEDIATE = (0.0, 1.0, -1.0, 0.5, 2.0)  # numbers that are part of an instruction
INLINED = "nounwind alwaysinline"
BANK = 56 * 1024  # B of numbers in constant memory, of which there are 64 kB
LOOPED = 3_000  # operations of all runs of a piece from which they are a loop
LOOP = """
define internal void @NAME_loop(ptr %ws, ptr %tmp) nounwind noinline {
entry:
  br label %run
run:
  %r = phi i64 [ 0, %entry ], [ %next, %run ]
  %row = mul i64 %r, WIDTH
  %table = getelementptr i64, ptr @NAME_slots, i64 %row
  call void @NAME_body(ptr %ws, ptr %tmp, ptr %table)
  %next = add i64 %r, 1
  %more = icmp ult i64 %next, RUNS
  br i1 %more, label %run, label %done
done:
  ret void
}
"""


class BankWriter(Writer):
    """Numbers are operands in constant memory: as immediates they would be one or two instructions each."""

    def __init__(self, target: Target, lines: list[str], prefix: str, bank: dict[str, int]) -> None:
        super().__init__(target, lines, prefix)
        self.bank = bank

    def rebase(self) -> None:
        """Nothing keeps constants in registers."""

    def constant(self, value: float) -> str:
        """A number of the bank."""
        t = self.target
        number = t.number(value)
        if value in IMMEDIATE or (number not in self.bank and len(self.bank) >= BANK // t.bytes):
            return t.splat(value)
        place = self.bank.setdefault(number, len(self.bank))
        pointer = self.line(f"getelementptr {t.scalar}, ptr addrspace(4) @numbers, i64 {place}")
        return self.line(f"load {t.vector}, ptr addrspace(4) {pointer}, align {t.bytes}, !invariant.load !2")


class ImmediateWriter(Writer):
    """Numbers are part of instructions."""

    def rebase(self) -> None:
        """Nothing has an address."""

    def constant(self, value: float) -> str:
        """The number itself."""
        return self.target.splat(value)


class LaneEmitter(PieceEmitter):
    """Emits a piece for one thread."""

    def __init__(
        self, tile: Tile, target: Target, places: Places, bank: dict[str, int] | None, *, by_table: bool = False
    ) -> None:
        self.writer = ImmediateWriter if bank is None else partial(BankWriter, bank=bank)  # type: ignore[assignment]
        super().__init__(tile, target, by_table=by_table)
        self.places = places

    def read(self, slot: int) -> str:
        """The number in a slot."""
        if self.by_table:
            return super().read(slot)
        pointer, how = self.places.pointer(self.w, slot)
        return self.w.line(f"load {how}{self.target.vector}, {pointer}, align {self.align}")

    def write(self, slot: int, value: str) -> None:
        """Stores one there."""
        if self.by_table:
            super().write(slot, value)
            return
        pointer, how = self.places.pointer(self.w, slot)
        self.lines.append(f"  store {how}{self.target.vector} {value}, {pointer}, align {self.align}")

    def reduced(self, x: str, shifted: str, r: str) -> tuple[str, str]:
        """k + MAGIC and r by the slow reduction."""
        t, w = self.target, self.w
        numbers = [w.line(f"extractelement {t.vector} {v}, i64 0") for v in (x, shifted, r)]
        values, pair = ", ".join(f"{t.scalar} {v}" for v in numbers), f"{{ {t.scalar}, {t.scalar} }}"
        both = w.line(f"call {pair} @{REDUCE}({values})")
        parts = [w.line(f"extractvalue {pair} {both}, {k}") for k in (0, 1)]
        one, two = (w.line(f"insertelement {t.vector} poison, {t.scalar} {part}, i64 0") for part in parts)
        return one, two


@record
class ThreadPiece:
    """A piece as functions `void (ptr %ws, ptr)` of one thread.

    Attributes:
        name: how theirs begin. graph: what is emitted. looped: whether one function loops over a table of the slots of
            all runs, which keeps the workspace in memory; else each run has a function of its own.
    """

    piece: Piece
    name: str
    graph: Graph
    looped: bool

    @property
    def functions(self) -> list[str]:
        """Their names."""
        return (
            [f"{self.name}_loop"] if self.looped else [f"{self.name}_{k}" for k in range(1 + len(self.piece.repeats))]
        )

    @property
    def operations(self) -> int:
        """Scalar operations of their code, a sine counted as one."""
        return len(self.functions) * sum(node[0] not in LEAVES for node in self.graph.nodes)

    def text(self, target: Target, places: Places, bank: dict[str, int] | None, *, inlined: bool) -> str:
        """Their text.

        Args:
            bank: number -> its place in constant memory, to which theirs are added; None where there is no such memory.
        """
        runs = [*self.piece.runs()]
        if self.looped:
            table, (inputs, outputs) = slot_table(runs, self.name, target)
            tile = Tile(self.graph, tuple(inputs), tuple(outputs))
            emitter = LaneEmitter(tile, target, places, bank, by_table=True)
            width = len({*runs[0][0], *runs[0][1]})
            loop = LOOP.replace("NAME", self.name).replace("WIDTH", str(width)).replace("RUNS", str(len(runs)))
            return table + emitter.function(f"{self.name}_body", INLINED) + loop
        how = INLINED if inlined else "nounwind noinline"
        return "".join(
            LaneEmitter(Tile(self.graph, inputs, outputs), target, places, bank).function(name, how)
            for name, (inputs, outputs) in zip(self.functions, runs, strict=True)
        )


def thread_piece(piece: Piece, name: str, target: Target, places: Places) -> ThreadPiece:
    """A piece for a GPU; this is where its graph is built."""
    graph = piece_graph(piece, target)
    long = len(piece.repeats) * len(graph.nodes) > LOOPED
    shared = (slot in places.shared for run in piece.runs() for side in run for slot in side)
    return ThreadPiece(piece, name, graph, looped=long and not any(shared))


def thread_pieces(lists: Mapping[str, Sequence[Piece]], target: Target, places: Places) -> dict[str, list[ThreadPiece]]:
    """Lists of pieces for a GPU, by name."""
    return {
        name: [thread_piece(one, f"{name}_{k}", target, places) for k, one in enumerate(some)]
        for name, some in lists.items()
    }
