"""LLVM text of the step loop's basic operations: slots, lane masks, loops over slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shiftjax.kernels.lane_program import PHASES, REVERSED, Layout
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.vector_math import Writer
from shiftjax.kernels.step_program import Method, registers

BACKWARD = ("measure", *(f"back_{phase}" for phase in REVERSED))
JOB = (  # fields of 8 bytes: pointers, integers, doubles
    *("table", "lanes", "until", "member", "out", "ticks", "channels", "every", "origin", "h", "t0"),
    *(f"list_{phase}" for phase in (*PHASES, "phase")),
    *("count", "slots", "targets"),
    *("bars", "ends", *(f"list_{name}" for name in BACKWARD)),  # of backward sweeps
)
DOUBLES, INTEGERS = ("h", "t0"), ("lanes", "ticks", "channels", "every", "origin", "count")
BEFORE = ("rep", "event", "event_rate")  # groups of which the values before the step are private slots, too
SAVED = ("q", "x", "dx", "clock", "armed", "acc", "mon", "trip")  # groups that a step changes beside those
UNROLL = 48  # largest trip count of a loop over slots that is unrolled


class WorkspaceLayout:
    """Offsets in the workspace: the slots of the layout, and at negative offsets the private slots of the step loop.

    Args:
        own: further private slots, by name.

    Attributes:
        sizes: slots of every region, private ones last. private: number of private slots; size: of the whole workspace.
    """

    def __init__(self, layout: Layout, method: Method, more: Mapping[str, int] | None = None) -> None:
        self.layout = layout
        self.offset = {name: layout.slots(name).start for name in layout.regions()}
        private = {"clock": 1, "fraction": 1, "limit": layout.nm, "armed": layout.nm, "trip": 1, "rep0": layout.nr}
        private |= {"max_mon": layout.nm, "hl": 1, "stop": 1, "until": 1, "active": 1}
        private |= {name: len(layout.slots(kind)) for name, kind in registers(method).items()}
        private |= {"event0": layout.ne, "event_rate0": layout.ne, "watched": layout.ne, "sum": 1, "flags": 1}
        if layout.controlled:
            del private["clock"]  # a slot of the layout, which may be observed
            private |= {"size": 1, "next": 1, "cut": 1, "accepted": 1, "taken": 1, "acc0": layout.na}
        private |= more or {}
        self.sizes = {**layout.regions(), **private}
        self.private = sum(private.values())
        self.size = self.private + layout.slot_count
        first = -self.private
        for name, size in private.items():
            self.offset[name] = first
            first += size

    def loads(self) -> list[tuple[int, int]]:
        """(row, slot) of the numbers read from the table."""
        names = [(name, name) for name in self.layout.columns()] + [(name, f"{name}0") for name in BEFORE]
        return self._pairs(names)

    def saves(self) -> list[tuple[int, int]]:
        """(row, slot) of the numbers written back when a lane stops."""
        same = [*SAVED, *["fraction"] * self.layout.controlled]
        return self._pairs([(name, name) for name in same] + [(name, f"{name}0") for name in BEFORE])

    def _pairs(self, names: list[tuple[str, str]]) -> list[tuple[int, int]]:
        return [(row, self.offset[slot] + k) for group, slot in names for k, row in enumerate(self.layout.rows(group))]


class IrBuilder:
    """Emits functions; `lines` holds those of the current one."""

    def __init__(self, layout: Layout, method: Method, target: Target) -> None:
        self.layout, self.method, self.t = layout, method, target
        self.space = WorkspaceLayout(layout, method)
        self.v, self.i1 = target.vector, f"<{target.width} x i1>"
        self.lines: list[str] = []
        self.w = Writer(target, self.lines, "a")
        self.labels = 0

    def emit(self, text: str) -> None:
        """Appends a line without a result."""
        self.lines.append(text if text.endswith(":") else f"  {text}")

    def label(self, stem: str) -> str:
        """A fresh block name."""
        self.labels += 1
        return f"{stem}{self.labels}"

    def at(self, region: str, index: int | str = 0) -> str:
        """Pointer to a slot."""
        first = self.space.offset[region]
        if isinstance(index, str):
            index = self.w.line(f"add i64 {index}, {first}")
        else:
            index = first + index
        return self.w.line(f"getelementptr inbounds {self.v}, ptr %ws, i64 {index}")

    def load(self, region: str, index: int | str = 0) -> str:
        """The vector in a slot."""
        return self.w.line(f"load {self.v}, ptr {self.at(region, index)}")

    def store(self, value: str, region: str, index: int | str = 0) -> None:
        """Stores a vector in a slot."""
        self.emit(f"store {self.v} {value}, ptr {self.at(region, index)}")

    def plus(self, index: int | str, offset: int) -> int | str:
        """index + offset."""
        if isinstance(index, int) or offset == 0:
            return index + offset if isinstance(index, int) else index
        return self.w.line(f"add i64 {index}, {offset}")

    def each(self, count: int | str, body: Callable[[int | str], None]) -> None:
        """`body` for every index below a count (an LLVM value must not be 0): unrolled when short, else a loop."""
        if isinstance(count, int) and count <= UNROLL:
            for k in range(count):
                body(k)
            return
        before, loop, latch, after = (self.label(name) for name in ("before", "loop", "latch", "after"))
        index = f"%{loop}.i"
        self.emit(f"br label %{before}\n{before}:\n  br label %{loop}\n{loop}:")
        self.emit(f"{index} = phi i64 [ 0, %{before} ], [ {index}.next, %{latch} ]")
        body(index)
        self.emit(f"br label %{latch}\n{latch}:")
        self.emit(f"{index}.next = add nuw i64 {index}, 1")
        self.emit(f"{index}.more = icmp ult i64 {index}.next, {count}")
        self.emit(f"br i1 {index}.more, label %{loop}, label %{after}\n{after}:")

    def field(self, name: str) -> str:
        """A field of the job: a double, a pointer or an integer."""
        kind = "double" if name in DOUBLES else "i64" if name in INTEGERS else "ptr"
        pointer = self.w.line(f"getelementptr i64, ptr %job, i64 {JOB.index(name)}")
        value = self.w.line(f"load {kind}, ptr {pointer}")
        if kind == "double" and self.t.precision == "f32":
            value = self.w.line(f"fptrunc double {value} to float")
        return value

    def splat(self, scalar: str, kind: str | None = None) -> str:
        """A scalar value in every lane."""
        kind = kind or self.t.scalar
        vector = f"<{self.t.width} x {kind}>"
        one = self.w.line(f"insertelement {vector} poison, {kind} {scalar}, i64 0")
        return self.w.line(f"shufflevector {vector} {one}, {vector} poison, <{self.t.width} x i32> zeroinitializer")

    def mask(self, region: str = "active") -> str:
        """The lane mask stored in a slot as 0 or all ones."""
        bits = self.w.line(f"load {self.t.integers}, ptr {self.at(region)}")
        return self.w.line(f"icmp slt {self.t.integers} {bits}, zeroinitializer")

    def store_mask(self, mask: str, region: str = "active") -> None:
        """Stores a lane mask in a slot."""
        bits = self.w.line(f"sext {self.i1} {mask} to {self.t.integers}")
        self.emit(f"store {self.t.integers} {bits}, ptr {self.at(region)}")

    def logic(self, op: str, a: str, b: str = "splat (i1 true)") -> str:
        """and, or, xor of masks; xor with one argument is not."""
        return self.w.op(op, a, b, self.i1)

    def compare(self, how: str, a: str, b: str) -> str:
        """fcmp of vectors."""
        return self.w.line(f"fcmp {how} {self.v} {a}, {b}")

    def select(self, mask: str, a: str, b: str) -> str:
        """a where mask, else b."""
        return self.w.line(f"select {self.i1} {mask}, {self.v} {a}, {self.v} {b}")

    def reduce(self, op: str, mask: str) -> str:
        """Whether all (and) or any (or) lanes are true."""
        return self.w.line(f"call i1 @llvm.vector.reduce.{op}.v{self.t.width}i1({self.i1} {mask})")

    def call_list(self, name: str) -> None:
        """Calls every function of a null-terminated list."""
        start = self.field(f"list_{name}")
        vectors = self.w.line(f"load i32, ptr {self.flag(3)}")
        self.emit(f"call void @run(ptr {start}, ptr %ws, i32 {vectors})")

    def flag(self, which: int) -> str:
        """Pointer to a scalar flag: 0 some lane idle, 1 some monitor not armed, 2 lanes running, 3 vectors in use."""
        return self.w.line(f"getelementptr i32, ptr {self.at('flags')}, i64 {which}")

    def set_flag(self, which: int, value: str) -> None:
        """Stores an i1 as a flag."""
        wide = self.w.line(f"zext i1 {value} to i32")
        self.emit(f"store i32 {wide}, ptr {self.flag(which)}")

    def get_flag(self, which: int) -> str:
        """Loads a flag as an i1."""
        raw = self.w.line(f"load i32, ptr {self.flag(which)}")
        return self.w.line(f"icmp ne i32 {raw}, 0")

    def blocks(self, body: Callable[[], None]) -> None:
        """`body` for every block, with its first lane in %lane."""
        self.emit(f"%ws = getelementptr {self.v}, ptr %base, i64 {self.space.private}")
        self.emit("br label %head\nhead:")
        self.emit("%block = phi i64 [ %first, %entry ], [ %block.next, %tail ]")
        self.emit("%more = icmp slt i64 %block, %last")
        self.emit("br i1 %more, label %body, label %exit\nbody:")
        self.emit(f"%lane = mul i64 %block, {self.t.width}")
        body()
        self.emit("br label %tail\ntail:")
        self.emit("%block.next = add i64 %block, 1\n  br label %head\nexit:\n  ret void")

    def pair_tables(self, pairs: dict[str, list[tuple[int, int]]]) -> str:
        """Constants of (row, slot) entries, by name."""
        return "\n".join(
            f"@{key} = private constant [{2 * len(value)} x i64] [{', '.join(f'i64 {k}' for p in value for k in p)}]"
            for key, value in pairs.items()
        )

    def function(self, head: str, body: Callable[[], None]) -> str:
        """The text of one function."""
        self.lines.clear()
        self.w.count = 0
        body()
        return f"define {head} {{\nentry:\n" + "\n".join(self.lines) + "\n}\n"
