"""LLVM text of loops over arrays: what runs the code of a dyad over dyads, poses and linkages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiftjax.kernels.llvm.emitter import PieceEmitter
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.tiling import Tile
from shiftjax.lanes.graph import Graph

Place = tuple[str, int, int]  # pointer, row and column there: see `RowEmitter`


class RowEmitter(PieceEmitter):
    """Emits a graph as a function of pointers.

    A place (name, k, c) is a vector of the row c of derivative k of what the pointer is at, `%step` numbers between
    rows and `%order` between derivatives; (name, -1, j) is number j there, the same in every lane; (name, -2, j) is
    vector j there.
    """

    def __init__(self, graph: Graph, inputs: Sequence[Place], outputs: Sequence[Place], target: Target) -> None:
        self.places = list(dict.fromkeys((*inputs, *outputs)))
        self.pointers = list(dict.fromkeys(name for name, _, _ in self.places))
        slots = [tuple(self.places.index(place) for place in part) for part in (inputs, outputs)]
        super().__init__(Tile(graph, slots[0], slots[1]), target, by_table=False)

    def parameters(self) -> str:
        """The pointers, and the two distances. The smallest margin may be written where it is read."""
        alias = {name: "" if name.startswith("margin") else " noalias" for name in self.pointers}
        return ", ".join(
            [*(f"ptr{alias[name]} nocapture %{name}" for name in self.pointers), "i64 %step", "i64 %order"]
        )

    def pointer(self, slot: int) -> str:
        """Where a place is."""
        name, k, c = self.places[slot]
        t = self.target
        if k == -1:
            return self.w.line(f"getelementptr inbounds {t.scalar}, ptr %{name}, i64 {c}")
        if k == -2:
            return self.w.line(f"getelementptr inbounds {t.vector}, ptr %{name}, i64 {c}")
        offset = self.w.line(f"mul i64 %order, {k}")
        offset = self.w.line(f"add i64 {offset}, {self.w.line(f'mul i64 %step, {c}')}")
        return self.w.line(f"getelementptr inbounds {t.scalar}, ptr %{name}, i64 {offset}")

    def read(self, slot: int) -> str:
        """The number at a place."""
        t, pointer = self.target, self.pointer(slot)
        if self.places[slot][1] != -1:
            return self.w.line(f"load {t.vector}, ptr {pointer}, align {self.align}")
        number = self.w.line(f"load {t.scalar}, ptr {pointer}")
        one = self.w.line(f"insertelement {t.vector} poison, {t.scalar} {number}, i64 0")
        return self.w.line(f"shufflevector {t.vector} {one}, {t.vector} poison, <{t.width} x i32> zeroinitializer")

    def write(self, slot: int, value: str) -> None:
        """Stores one there."""
        pointer = self.pointer(slot)
        self.lines.append(f"  store {self.target.vector} {value}, ptr {pointer}, align {self.align}")


class LoopWriter:
    """Lines of one function; values are names of LLVM, indices integers of 64 bits."""

    def __init__(self, target: Target, fields: Sequence[str]) -> None:
        self.target, self.fields = target, tuple(fields)
        self.lines: list[str] = []
        self.count = 0

    def let(self, text: str) -> str:
        """Appends `%new = text` and returns the new name."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def do(self, text: str) -> None:
        """Appends a line without a result."""
        self.lines.append(f"  {text}")

    def field(self, name: str, kind: str = "ptr") -> str:
        """A field of the job, of 8 bytes."""
        pointer = self.let(f"getelementptr i64, ptr %job, i64 {self.fields.index(name)}")
        return self.let(f"load {kind}, ptr {pointer}")

    def times(self, a: str, b: str | int) -> str:
        """a b."""
        return self.let(f"mul i64 {a}, {b}")

    def plus(self, a: str, b: str | int) -> str:
        """a + b."""
        return self.let(f"add i64 {a}, {b}")

    def at(self, pointer: str, index: str | int, kind: str = "double") -> str:
        """The place of an entry of an array."""
        return self.let(f"getelementptr {kind}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, index: str | int = 0, kind: str = "double") -> str:
        """An entry of an array."""
        return self.let(f"load {kind}, ptr {self.at(pointer, index, kind)}")

    def vector(self, pointer: str) -> str:
        """A vector."""
        return self.let(f"load {self.target.vector}, ptr {pointer}, align {8 * self.target.width}")

    def unaligned(self, pointer: str) -> str:
        """A vector of an array that may begin anywhere."""
        return self.let(f"load {self.target.vector}, ptr {pointer}, align 8")

    def put(self, value: str, pointer: str) -> None:
        """Stores a vector."""
        self.do(f"store {self.target.vector} {value}, ptr {pointer}, align {8 * self.target.width}")

    def splat(self, number: str) -> str:
        """A number in every lane."""
        v, width = self.target.vector, self.target.width
        one = self.let(f"insertelement {v} poison, double {number}, i64 0")
        return self.let(f"shufflevector {v} {one}, {v} poison, <{width} x i32> zeroinitializer")

    def op(self, name: str, a: str, b: str) -> str:
        """An operation on vectors."""
        return self.let(f"{name} {self.target.vector} {a}, {b}")

    def loop(self, count: str, body: Callable[[str], None], first: str | int = 0) -> None:
        """`body` for every index from the first on below the count; none where there is none."""
        self.count += 1
        name = f"loop{self.count}"
        index = f"%{name}.i"
        self.lines.append(f"  br label %{name}.before\n{name}.before:\n  br label %{name}")
        self.lines.append(f"{name}:\n  {index} = phi i64 [ {first}, %{name}.before ], [ {index}.next, %{name}.latch ]")
        self.do(f"{index}.more = icmp slt i64 {index}, {count}")
        self.lines.append(f"  br i1 {index}.more, label %{name}.body, label %{name}.after\n{name}.body:")
        body(index)
        self.lines.append(f"  br label %{name}.latch\n{name}.latch:\n  {index}.next = add nuw i64 {index}, 1")
        self.lines.append(f"  br label %{name}\n{name}.after:")

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """`body` where an i1 holds."""
        self.count += 1
        name = f"when{self.count}"
        self.lines.append(f"  br i1 {condition}, label %{name}.yes, label %{name}.no\n{name}.yes:")
        body()
        self.lines.append(f"  br label %{name}.no\n{name}.no:")

    def total(self, vector: str) -> str:
        """The sum of the lanes, pair by pair."""
        v = self.target.vector
        width = self.target.width
        while width > 1:  # halves are added, so that the order of summation is that of the text
            width //= 2
            order = ", ".join(f"i32 {(k + width) % self.target.width}" for k in range(self.target.width))
            turned = self.let(f"shufflevector {v} {vector}, {v} poison, <{self.target.width} x i32> <{order}>")
            vector = self.op("fadd", vector, turned)
        return self.let(f"extractelement {v} {vector}, i64 0")

    def function(self, head: str) -> str:
        """The text of the function."""
        return f"define {head} {{\nentry:\n" + "\n".join(self.lines) + "\n  ret void\n}\n"
