"""Emits a simplified scalar graph as the LLVM text of one function on vectors of lanes.

`void name(ptr workspace, i32 vectors)`: on the first `vectors` vectors of the block, one number of each lane per slot.
Fused multiply-adds are formed here by one rule (a product used exactly once, by a sum, is contracted with it; the first
operand where both qualify), and LLVM has no fast-math flags, so that a piece is bitwise reproducible whatever is
compiled next to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.kernels.llvm import vector_math as mathlib
from shiftjax.kernels.llvm.bit_operations import OPERATIONS as BIT_OPERATIONS
from shiftjax.kernels.llvm.target import Target, optimizes
from shiftjax.kernels.llvm.tiling import Tile, contracted, levels, split
from shiftjax.lanes.graph import Graph

INTRINSICS = {"sqrt", "floor", "ceil"}  # instructions; other functions LLVM would call libm for: `kernels.elementary`
BASES = ("ws", "tmp")
Run = tuple[Sequence[int], Sequence[int]]  # slots of the inputs, of the outputs
# Operations of a piece that all vectors of a block may run together. On Zen 4, with 32 registers of 512 bits, the pose
# of a four-bar (357 operations; 407 with accelerations) takes a tenth less time so, since latencies hide each other; at
# 450 to 500 nothing is gained, and 1500 take 5 % more, which spill. Nor is where a step is of many pieces.
TOGETHER = 420
REGISTERS = 64  # bytes of a vector register where there are so many of them
COMPARISONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}


def declarations(target: Target) -> str:
    """Declarations of all functions that emitted code may call."""
    reduce = f"declare void @{mathlib.reduce_name(target)}(ptr nocapture) nounwind memory(argmem: readwrite) cold"
    both = [target] if target.interleave == 1 else [target, target.block()]
    return "\n".join([*map(intrinsics, both), reduce])


def intrinsics(target: Target) -> str:
    """Declarations of those among them that are LLVM's."""
    v, s = target.vector, target.suffix
    lines = [f"declare {v} @llvm.fma.{s}({v}, {v}, {v})", f"declare {v} @llvm.fabs.{s}({v})"]
    lines += [f"declare {v} @llvm.{name}.{s}({v})" for name in sorted(INTRINSICS)]
    lines.append(f"declare i1 @llvm.vector.reduce.and.v{target.width}i1(<{target.width} x i1>)")
    return "\n".join(lines)


def emit(
    graph: Graph, runs: Sequence[Run], name: str, target: Target, size: int | None = None, *, together: bool = False
) -> str:
    """The text of `void name(ptr %ws, i32 %vectors)` that runs a piece on the slots of its inputs and outputs.

    Args:
        runs: one, or several: then the code finds its slots in a table.
        size: operations of a part, which all vectors run before the next part; see `tiling.split`.
        together: whether code for all vectors at once is wanted, too, if they gain by it.
    """
    table, slots = "", runs[0]
    if len(runs) > 1:
        table, slots = slot_table(runs, name, target)
    parts, temporaries = split(graph, *slots, size)
    texts = [PieceEmitter(part, target, by_table=bool(table)).function(f"{name}_{k}") for k, part in enumerate(parts)]
    lines = [f"  %tmp = alloca [{max(temporaries, 1)} x [{target.lanes} x {target.scalar}]], align 64"]
    for k in range(target.interleave):
        lines += [
            f"  %{base}{k} = getelementptr {target.scalar}, ptr %{base}, i64 {k * target.width}" for base in BASES
        ]
    if table:
        lines.append(f"  br label %run\nrun:\n  %r = phi i64 [ 0, %entry ], [ %r.next, %ran{len(parts) - 1} ]")
        lines.append(f"  %row = mul i64 %r, {len(set(slots[0]) | set(slots[1]))}")
        lines.append(f"  %table = getelementptr i64, ptr @{name}_slots, i64 %row")
    more = ", ptr %table" if table else ""
    for p in range(len(parts)):
        for k in range(target.interleave):
            if k:
                lines.append(f"  %more{p}.{k} = icmp ugt i32 %vectors, {k}")
                lines.append(f"  br i1 %more{p}.{k}, label %vector{p}.{k}, label %ran{p}\nvector{p}.{k}:")
            lines.append(f"  call void @{name}_{p}(ptr %ws{k}, ptr %tmp{k}{more})")
        lines.append(f"  br label %ran{p}\nran{p}:")
    if table:
        lines.append(f"  %r.next = add nuw i64 %r, 1\n  %r.more = icmp ult i64 %r.next, {len(runs)}")
        lines.append("  br i1 %r.more, label %run, label %end\nend:")
    body, head = "\n".join(lines), "(ptr noalias %ws, i32 %vectors) nounwind {\nentry:"
    if not together or table or len(parts) > 1 or not runs_together(graph, target):
        return "\n".join((table, *texts, f"define void @{name}{head}\n{body}\n  ret void\n}}\n"))
    texts.append(reduce_of_block(f"{name}_reduce", target))
    texts.append(BlockEmitter(parts[0], target, f"{name}_reduce").function(f"{name}_together"))
    texts.append(f"define internal void @{name}_apart{head}\n{body}\n  ret void\n}}\n")
    choice = f"""  %whole = icmp uge i32 %vectors, {target.interleave}
  br i1 %whole, label %together, label %apart
together:
  tail call void @{name}_together(ptr %ws, ptr null)
  ret void
apart:
  tail call void @{name}_apart(ptr %ws, i32 %vectors)
  ret void
}}
"""
    return "\n".join((*texts, f"define void @{name}{head}\n{choice}"))


def runs_together(graph: Graph, target: Target) -> bool:
    """Whether a block of which every vector is in use gains by code for all vectors at once."""
    wide = target.interleave == 2 and target.width * target.bytes == REGISTERS
    return wide and optimizes() and len(graph.nodes) <= TOGETHER


def slot_table(runs: Sequence[Run], name: str, target: Target) -> tuple[str, Run]:
    """Places in the workspace of the slots of each run, and the slots as columns of that table."""
    place = {slot: k for k, slot in enumerate(dict.fromkeys((*runs[0][0], *runs[0][1])))}
    columns = [tuple(place[slot] for slot in slots) for slots in runs[0]]
    rows = []
    for run in runs:
        row = dict(zip((*columns[0], *columns[1]), (*run[0], *run[1]), strict=True))
        if [tuple(row[k] for k in part) for part in columns] != [tuple(part) for part in run]:
            raise ValueError(f"{name}: runs of one piece must share slots in the same way")
        rows += [row[k] * target.lanes for k in range(len(place))]
    entries = ", ".join(f"i64 {entry}" for entry in rows)
    return f"@{name}_slots = internal constant [{len(rows)} x i64] [{entries}]\n", (columns[0], columns[1])


def reduce_of_block(name: str, target: Target) -> str:
    """The slow reduction of a block, as one vector, in its vectors."""
    lines = [f"define internal void @{name}(ptr nocapture %io) nounwind noinline cold {{\nentry:"]
    lines.append(f"  %one = alloca [3 x {target.vector}], align 64")
    for k in range(target.interleave):
        for copy in ("in", "out"):
            for i in range(3):
                a, b = f"%{copy}.one{k}.{i}", f"%{copy}.io{k}.{i}"
                lines.append(f"  {a} = getelementptr {target.vector}, ptr %one, i64 {i}")
                lines.append(f"  {b} = getelementptr {target.vector}, ptr %io, i64 {i * target.interleave + k}")
                source, place = (b, a) if copy == "in" else (a, b)
                lines.append(f"  %{copy}{k}.{i} = load {target.vector}, ptr {source}")
                lines.append(f"  store {target.vector} %{copy}{k}.{i}, ptr {place}")
            if copy == "in":
                lines.append(f"  call void @{mathlib.reduce_name(target)}(ptr %one)")
    return "\n".join([*lines, "  ret void\n}\n"])


class PieceEmitter:
    """Emits one part: `void name(ptr %ws, ptr %tmp)` on one vector, with the table of its slots where it has one."""

    writer = mathlib.Writer

    def __init__(self, part: Tile, target: Target, *, by_table: bool) -> None:
        self.graph, self.inputs, self.target, self.by_table = part.graph, part.inputs, target, by_table
        self.align, self.reduce = target.width * target.bytes, mathlib.reduce_name(target)
        self.lines: list[str] = []
        self.w = self.writer(target, self.lines, "t")
        self.names: dict[int, str] = {}
        self.negated: dict[int, str] = {}
        self.pairs: dict[int, tuple[str, str]] = {}  # argument -> (k + MAGIC, r)
        self.results: dict[int, tuple[str, str]] = {}  # argument -> (sin, cos)
        self.blocks = 0
        self.stores: dict[int, list[tuple[int, int]]] = {}
        written = dict(zip(part.outputs, part.graph.outputs, strict=True))
        for slot, ref in written.items():
            self.stores.setdefault(ref >> 1, []).append((slot, ref))
        nodes = part.graph.nodes
        self.early = {k for k, node in enumerate(nodes) if node[0] == "in" and self.inputs[node[1]] in written}
        self.fused = contracted(part.graph)

    def function(self, name: str, attributes: str = "nounwind") -> str:
        self.w.table = f"@{name}_constants"
        inside = {self.graph.nodes[k][place] >> 1 for k, place in self.fused.items()}
        depths = levels(self.graph)
        order: list[list[int]] = [[] for _ in range(max(depths, default=0) + 1)]
        for number, node in enumerate(self.graph.nodes):
            if number not in inside and node[0] not in ("in", "const"):
                order[depths[number]].append(number)
        for number in sorted(self.early):
            self.name(number)
        for number, node in enumerate(self.graph.nodes):
            if number in self.stores and node[0] in ("in", "const"):
                self._store(number)
        for depth, numbers in enumerate(order):
            if depth:
                self._reduce_all([k for k in numbers if self.graph.nodes[k][0] in ("sin", "cos")])
            for number in numbers:
                self.names[number] = self._operation(number)
                if number in self.stores:
                    self._store(number)
        alloca = ""
        if self.blocks:
            size = f"[3 x {self.target.vector}]"
            alloca = f"  %io = alloca {size}, align 64\n"
        body = "\n".join(self.lines)
        head = f"define internal void @{name}({self.parameters()}) {attributes}"
        return f"{self._constants()}{head} {{\nentry:\n{alloca}{body}\n  ret void\n}}\n"

    def parameters(self) -> str:
        """What the function takes."""
        table = ", ptr noalias nocapture readonly %table" if self.by_table else ""
        return f"ptr noalias nocapture %ws, ptr noalias nocapture %tmp{table}"

    def _constants(self) -> str:
        """The table of vector constants; not `constant`, for which LLVM would load scalars and broadcast them."""
        t = self.target
        if not self.w.constants:
            return ""
        values = ", ".join(f"{t.scalar} {number}" for number in self.w.constants for _ in range(t.width))
        kind = f"[{len(self.w.constants) * t.width} x {t.scalar}]"
        return f"{self.w.table} = internal global {kind} [{values}], align 64\n"

    def name(self, number: int) -> str:
        """The LLVM value of a node; inputs are loaded at their first use."""
        known = self.names.get(number)
        if known is not None:
            return known
        node = self.graph.nodes[number]
        if node[0] == "const":
            return self._number(node[1])
        if node[0] == "in":
            text = self.read(self.inputs[node[1]])
        else:
            raise AssertionError(f"{node} used before it is computed")
        self.names[number] = text
        return text

    def ref(self, ref: int) -> str:
        """The LLVM value of a reference with its sign."""
        number = ref >> 1
        if not ref & 1:
            return self.name(number)
        node = self.graph.nodes[number]
        if node[0] == "const":
            return self._number(-node[1])
        known = self.negated.get(number)
        if known is None:
            known = self.negated[number] = self.w.line(f"fneg {self.target.vector} {self.name(number)}")
        return known

    def _number(self, value: float) -> str:
        """A constant, loaded at each use; zero needs no load."""
        return self.target.splat(value) if value == 0.0 else self.w.constant(value)

    def _slot(self, slot: int) -> str:
        if slot >= 0 and self.by_table:
            start = self.w.line(f"load i64, ptr {self.w.line(f'getelementptr i64, ptr %table, i64 {slot}')}")
            return self.w.line(f"getelementptr inbounds {self.target.scalar}, ptr %ws, i64 {start}")
        base, place = ("%ws", slot) if slot >= 0 else ("%tmp", -1 - slot)
        return self.w.line(f"getelementptr inbounds {self.target.scalar}, ptr {base}, i64 {place * self.target.lanes}")

    def _store(self, number: int) -> None:
        for slot, ref in self.stores[number]:
            self.write(slot, self.ref(ref))

    def read(self, slot: int) -> str:
        """The number in a slot or a temporary."""
        return self.w.line(f"load {self.target.vector}, ptr {self._slot(slot)}, align {self.align}")

    def write(self, slot: int, value: str) -> None:
        """Stores one there."""
        self.lines.append(f"  store {self.target.vector} {value}, ptr {self._slot(slot)}, align {self.align}")

    def _operation(self, number: int) -> str:
        node = self.graph.nodes[number]
        op = node[0]
        v, w = self.target.vector, self.w
        if op == "mul":
            return w.line(f"fmul {v} {self.ref(node[1])}, {self.ref(node[2])}")
        if op == "add":
            return self._sum(number, node[1], node[2])
        if op == "div":
            return w.line(f"fdiv {v} {self.ref(node[1])}, {self.ref(node[2])}")
        if op in ("sin", "cos"):
            return self.results[node[1] >> 1][op == "cos"]
        if op == "abs":
            return w.line(f"call {v} @llvm.fabs.{self.target.suffix}({v} {self.ref(node[1])})")
        if op in BIT_OPERATIONS:
            return BIT_OPERATIONS[op](w, *map(self.ref, node[1:]))
        if op in INTRINSICS:
            values = ", ".join(f"{v} {self.ref(ref)}" for ref in node[1:])
            return w.line(f"call {v} @llvm.{op}.{self.target.suffix}({values})")
        return self._choice(node)

    def _sum(self, number: int, a: int, b: int) -> str:
        place = self.fused.get(number)
        if place is None:
            if a & 1 and not b & 1:
                a, b = b, a
            if b & 1:
                return self.w.line(f"fsub {self.target.vector} {self.ref(a)}, {self.name(b >> 1)}")
            return self.w.line(f"fadd {self.target.vector} {self.ref(a)}, {self.name(b >> 1)}")
        product, other = (a, b) if place == 1 else (b, a)
        _, x, y = self.graph.nodes[product >> 1]
        if product & 1:
            x = x ^ 1
        return self.w.fma(self.ref(x), self.ref(y), self.ref(other))

    def _choice(self, node: tuple) -> str:
        op, v, w = node[0], self.target.vector, self.w
        mask = f"<{self.target.width} x i1>"
        if op == "true" or op == "false":
            return f"splat (i1 {op})"
        if op in COMPARISONS:
            if self.graph.is_boolean(node[1]):
                return w.line(
                    f"icmp {op if op in ('eq', 'ne') else 'u' + op} {mask} {self.ref(node[1])}, {self.ref(node[2])}"
                )
            return w.line(f"fcmp {COMPARISONS[op]} {v} {self.ref(node[1])}, {self.ref(node[2])}")
        if op in ("and", "or"):
            return w.line(f"{op} {mask} {self.ref(node[1])}, {self.ref(node[2])}")
        if op == "not":
            return w.line(f"xor {mask} {self.ref(node[1])}, splat (i1 true)")
        if op == "select":
            kind = mask if self.graph.is_boolean(node[2]) else v
            values = f"{kind} {self.ref(node[2])}, {kind} {self.ref(node[3])}"
            return w.line(f"select {mask} {self.ref(node[1])}, {values}")
        if op in ("max", "min"):
            return self._extreme(node)
        if op == "is_finite":
            zero = w.line(f"fsub {v} {self.ref(node[1])}, {self.ref(node[1])}")
            return w.line(f"fcmp ord {v} {zero}, zeroinitializer")
        if op == "sign":
            x = self.ref(node[1])
            up = w.line(f"fcmp ogt {v} {x}, zeroinitializer")
            down = w.line(f"fcmp olt {v} {x}, zeroinitializer")
            low = w.line(f"select {mask} {down}, {v} {self.target.splat(-1.0)}, {v} {x}")
            return w.line(f"select {mask} {up}, {v} {self.target.splat(1.0)}, {v} {low}")
        raise NotImplementedError(f"operation {op!r} has no LLVM equivalent")

    def _extreme(self, node: tuple) -> str:
        """max or min that propagates NaN from either operand; one instruction against a constant."""
        v, w = self.target.vector, self.w
        a, b = node[1], node[2]
        if self.graph.value(b) is not None:
            a, b = b, a
        x, y = self.ref(a), self.ref(b)
        better = w.line(f"fcmp {'ogt' if node[0] == 'max' else 'olt'} {v} {x}, {y}")
        value = w.line(f"select <{self.target.width} x i1> {better}, {v} {x}, {v} {y}")  # y where either is NaN
        if self.graph.value(a) is not None:
            return value
        is_nan = w.line(f"fcmp uno {v} {x}, zeroinitializer")
        return w.line(f"select <{self.target.width} x i1> {is_nan}, {v} {x}, {v} {value}")

    def _reduce_all(self, numbers: list[int]) -> None:
        """Range reduction of all sines of one depth, with one branch to the slow path if any argument is large."""
        t, w = self.target, self.w
        wanted: dict[int, set[str]] = {}
        for number in numbers:
            node = self.graph.nodes[number]
            wanted.setdefault(node[1] >> 1, set()).add(node[0])
        args = {k: self.name(k) for k in wanted}
        total = None
        for x in args.values():
            total = w.fma(x, x, total) if total else w.op("fmul", x, x)
        for k, x in args.items():
            self.pairs[k] = mathlib.reduction(w, x)
        bound = mathlib.limit(t) ** 2
        small = w.line(f"fcmp olt {t.vector} {total}, {t.splat(bound)}")
        every = w.line(f"call i1 @llvm.vector.reduce.and.v{t.width}i1(<{t.width} x i1> {small})")
        self.blocks += 1
        here, slow, join = f"fast{self.blocks}", f"slow{self.blocks}", f"join{self.blocks}"
        self.lines.append(f"  br label %{here}\n{here}:")
        self.lines.append(f"  br i1 {every}, label %{join}, label %{slow}, !prof !0\n{slow}:")
        repaired = {k: self.reduced(x, *self.pairs[k]) for k, x in args.items()}
        self.lines.append(f"  br label %{join}\n{join}:")
        for k, (shifted, r) in self.pairs.items():
            if k in args:
                new = repaired[k]
                self.pairs[k] = (
                    w.line(f"phi {t.vector} [ {shifted}, %{here} ], [ {new[0]}, %{slow} ]"),
                    w.line(f"phi {t.vector} [ {r}, %{here} ], [ {new[1]}, %{slow} ]"),
                )
        for k, (shifted, r) in self.pairs.items():
            if k in args:
                self.results[k] = mathlib.sine_cosine(
                    w, shifted, r, want_sin="sin" in wanted[k], want_cos="cos" in wanted[k]
                )

    def reduced(self, x: str, shifted: str, r: str) -> tuple[str, str]:
        """k + MAGIC and r by the slow reduction."""
        t, w = self.target, self.w
        places = [w.line(f"getelementptr {t.vector}, ptr %io, i64 {k}") for k in range(3)]
        for place, value in zip(places, (x, shifted, r), strict=True):
            self.lines.append(f"  store {t.vector} {value}, ptr {place}")
        self.lines.append(f"  call void @{self.reduce}(ptr %io)")
        return w.line(f"load {t.vector}, ptr {places[1]}"), w.line(f"load {t.vector}, ptr {places[2]}")


class BlockEmitter(PieceEmitter):
    """The same for all vectors of a block at once, as one that LLVM splits."""

    def __init__(self, part: Tile, target: Target, reduce: str) -> None:
        super().__init__(part, target.block(), by_table=False)
        self.reduce = reduce
