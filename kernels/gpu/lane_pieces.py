"""Pieces as functions of one thread: constants in constant memory, slots in registers or shared memory."""

from __future__ import annotations

from functools import partial

from shiftjax.kernels.gpu.places import Places
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.emitter import PieceEmitter
from shiftjax.kernels.llvm.piece_code import piece_graph
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.tiling import Tile
from shiftjax.kernels.llvm.vector_math import Writer

IMMEDIATE = (0.0, 1.0, -1.0, 0.5, 2.0)  # numbers that are part of an instruction
REDUCE = "reduce_one"
# The slow reduction of sines by value: an address would keep its arguments in memory. Capitals are filled in.
REDUCE_TEXT = """
define internal { SCALAR, SCALAR } @REDUCE_ONE(SCALAR %x, SCALAR %shifted, SCALAR %r) noinline cold nounwind {
entry:
  %io = alloca [3 x SCALAR]
  %p1 = getelementptr SCALAR, ptr %io, i64 1
  %p2 = getelementptr SCALAR, ptr %io, i64 2
  store SCALAR %x, ptr %io
  store SCALAR %shifted, ptr %p1
  store SCALAR %r, ptr %p2
  call void @BY_ADDRESS(ptr %io)
  %a = load SCALAR, ptr %p1
  %b = load SCALAR, ptr %p2
  %c = insertvalue { SCALAR, SCALAR } poison, SCALAR %a, 0
  %d = insertvalue { SCALAR, SCALAR } %c, SCALAR %b, 1
  ret { SCALAR, SCALAR } %d
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
        if value in IMMEDIATE:
            return t.splat(value)
        place = self.bank.setdefault(t.number(value), len(self.bank))
        pointer = self.line(f"getelementptr {t.scalar}, ptr addrspace(4) @numbers, i64 {place}")
        return self.line(f"load {t.vector}, ptr addrspace(4) {pointer}, align {t.bytes}, !invariant.load !2")


class LaneEmitter(PieceEmitter):
    """Emits a piece for one thread."""

    def __init__(self, tile: Tile, target: Target, places: Places, bank: dict[str, int]) -> None:
        self.writer = partial(BankWriter, bank=bank)  # type: ignore[assignment]
        super().__init__(tile, target, by_table=False)
        self.places = places

    def read(self, slot: int) -> str:
        """The number in a slot."""
        pointer, how = self.places.pointer(self.w, slot)
        return self.w.line(f"load {how}{self.target.vector}, {pointer}, align {self.align}")

    def write(self, slot: int, value: str) -> None:
        """Stores one there."""
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


def piece_functions(
    piece: Piece, name: str, target: Target, places: Places, bank: dict[str, int], *, inlined: bool
) -> str:
    """The text of functions `void name_k(ptr %ws, ptr)`, one for each run k of a piece.

    A run has its slots in its code: a table of them would keep the workspace in memory.
    """
    graph, how, texts = piece_graph(piece, target), "alwaysinline" if inlined else "noinline", []
    for number, (inputs, outputs) in enumerate(piece.runs()):
        tile = Tile(graph, inputs, outputs)
        text = LaneEmitter(tile, target, places, bank).function(f"{name}_{number}")
        texts.append(text.replace("%tmp) nounwind", f"%tmp) nounwind {how}"))
    return "".join(texts)
