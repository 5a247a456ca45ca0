"""The compiled programs of linkages: values, tangents and cotangents of all poses of one linkage after the other.

A linkage is data: which nodes are fixed, which one the motor turns, and a list of dyads. Its rows are numbers of one
component of one node, poses side by side, so that a vector holds poses of one linkage, and nothing is gathered. Dyads
are the outer loop: the poses of one are independent of each other, and hide the latency of its square root.
"""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.families.dyad import (
    LENGTHS,
    NUMBERS,
    components,
    cotangent_graph,
    tangent_graph,
    value_graph,
)
from shiftjax.families.text import LoopWriter, Place, RowEmitter
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.llvm.target import Target

ORDERS = 3  # derivatives 0, 1, 2
JOB = (  # fields of 8 bytes: pointers and integers
    *("out", "member", "step", "poses", "vectors", "nodes", "counts", "fixed", "x0", "crank", "crank_node"),
    *("dyads", "numbers", "most", "cos", "sin", "turn", "stop"),
    *("chosen", "chosen_member", "chosen_count"),
    *("x0_dot", "crank_dot", "numbers_dot"),
    *("x0_bar", "crank_bar", "numbers_bar", "margin_bar", "margin_bar_member"),
    *(f"bar{k}{part}" for k in range(ORDERS) for part in ("", "_member", "_node", "_row")),
)
MEMORY = """
declare i1 @llvm.vector.reduce.or.vWIDTHi1(<WIDTH x i1>)
!0 = !{i32 1}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def program_text(kind: str, order: int, name: str, target: Target) -> str:
    """The module of one program, `void name(ptr job, ptr workspace, i64 from, i64 to)` over linkages.

    Args:
        kind: "values", "tangents" or "cotangents". order: of the derivatives by the motor's angle.
    """
    writer = {"values": ValueProgram, "tangents": TangentProgram, "cotangents": CotangentProgram}[kind](order, target)
    body = writer.text(name)
    return "\n".join((intrinsics(target), MEMORY.replace("WIDTH", str(target.width)), *writer.pieces, body))


def _rows(name: str, order: int) -> list[Place]:
    return [(name, k // 2, k % 2) for k in range(components(order))]


def _numbers(name: str, count: int) -> list[Place]:
    return [(name, -1, j) for j in range(count)]


class ValueProgram:
    """Positions with their derivatives and the smallest margin, written to the array of results."""

    def __init__(self, order: int, target: Target) -> None:
        self.order, self.target = order, target
        self.c = LoopWriter(target, JOB)
        self.pieces: list[str] = []
        self.inputs = [*_rows("a", order), *_rows("b", order), *_numbers("numbers", len(NUMBERS)), ("margin", 0, 0)]
        self.outputs = [*_rows("p", order), ("margin_out", 0, 0)]

    def text(self, name: str) -> str:
        """The function of all linkages from one to another."""
        c = self.c
        self.shared()
        c.loop("%to", self.linkage, "%from")
        return c.function(f"void @{name}(ptr %job, ptr %workspace, i64 %from, i64 %to) nounwind")

    def shared(self) -> None:
        """What all linkages share."""
        c = self.c
        self.step, self.poses, self.vectors, self.nodes, self.member, self.most, self.turn = (
            c.field(name, "i64") for name in ("step", "poses", "vectors", "nodes", "member", "most", "turn")
        )
        self.chosen, self.chosen_member, self.chosen_count = (
            c.field("chosen"), c.field("chosen_member", "i64"), c.field("chosen_count", "i64")
        )  # fmt: skip
        self.stopping = c.let(f"icmp ne i64 {c.field('stop', 'i64')}, 0")
        self.left = c.let("alloca i1")
        self.rows = c.times(self.step, c.times(self.nodes, 2))  # from a derivative to the next
        self.values = self.piece("values", value_graph(self.order), self.inputs, self.outputs)

    def linkage(self, b: str) -> None:
        """One of them, in the workspace, which stays in the cache; what is wanted of it goes past that to memory."""
        c, ws = self.c, "%workspace"
        out = c.at(c.field("out"), c.times(b, self.member))
        size = c.times(c.times(self.step, 2), self.chosen_count)
        margin = c.at(ws, c.times(self.rows, self.order + 1))
        self.follow(b, ws, margin, "0")

        def stream(i: str) -> None:
            rows, target = self.node(ws, self.chosen_node(b, i)), self.node(out, i)
            for k in range(self.order + 1):
                for j in range(2):
                    line = c.times(self.step, j)
                    self.stream(
                        c.at(target, c.plus(c.times(size, k), line)), c.at(rows, c.plus(c.times(self.rows, k), line))
                    )

        c.loop(self.chosen_count, stream)
        self.stream(c.at(out, c.times(size, self.order + 1)), margin)

    def stream(self, target: str, source: str) -> None:
        """Copies a row without reading its target into the cache first."""
        c, t = self.c, self.target

        def put(pose: str) -> None:
            place = c.at(target, pose)
            c.do(f"store {t.vector} {c.vector(c.at(source, pose))}, ptr {place}, align {8 * t.width}, !nontemporal !0")

        self.vectors_of(put)

    def chosen_node(self, b: str, i: str) -> str:
        """The node whose results are wanted in a place."""
        return self.c.load(self.chosen, self.c.plus(self.c.times(b, self.chosen_member), i), "i64")

    def copy(self, target: str, source: str, count: str) -> None:
        """Copies numbers."""
        c = self.c
        c.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {c.times(count, 8)}, i1 false)")

    def piece(self, name: str, graph, inputs: list[Place], outputs: list[Place]) -> RowEmitter:
        """A function of this module that is the code of a dyad."""
        emitter = RowEmitter(graph, inputs, outputs, self.target)
        self.pieces.append(emitter.function(f"dyad_{name}", "nounwind alwaysinline"))
        return emitter

    def call(self, name: str, piece: RowEmitter, pointers: dict[str, str], shared: tuple[str, ...], pose: str) -> None:
        """The code of a dyad on one vector of poses; `shared` pointers are the same for all vectors."""
        c = self.c
        places = [pointers[key] if key in shared else c.at(pointers[key], pose) for key in piece.pointers]
        arguments = ", ".join([*(f"ptr {place}" for place in places), f"i64 {self.step}", f"i64 {self.rows}"])
        c.do(f"call void @dyad_{name}({arguments})")

    def vectors_of(self, body: Callable[[str], None]) -> None:
        """`body` for the first pose of every vector."""
        c = self.c
        c.loop(self.vectors, lambda j: body(c.times(j, self.target.width)))

    def node(self, ws: str, node: str) -> str:
        """The rows of a node."""
        return self.c.at(ws, self.c.times(node, self.c.times(self.step, 2)))

    def follow(self, b: str, ws: str, margin: str, margin_step: str) -> None:
        """All positions of linkage b; each dyad's margin `margin_step` numbers behind that of the one before."""
        c = self.c
        one = self.target.splat(1.0)
        self.vectors_of(lambda pose: c.put(one, c.at(margin, pose)))
        self.fixed_nodes(b, ws, "x0", self.order)
        self.crank(b, ws, "crank")
        count = c.load(c.field("counts"), c.plus(c.times(b, 2), 1), "i64")
        c.do(f"store i1 false, ptr {self.left}")
        c.loop(count, lambda i: self.step_on(b, i, ws, c.at(margin, c.times(i, margin_step)), margin_step))

    def step_on(self, b: str, i: str, ws: str, margin: str, margin_step: str) -> None:
        """The next dyad, or nothing where the linkage was left."""
        c = self.c
        left = c.let(f"load i1, ptr {self.left}")

        def go_on() -> None:
            self.dyad(b, i, ws, margin, margin_step)
            c.when(self.stopping, lambda: self.leave(c.at(margin, margin_step)))

        c.when(c.let(f"xor i1 {left}, true"), go_on)
        c.when(left, lambda: self.no_place(self.pointers(b, i, ws)["p"]))

    def leave(self, margin: str) -> None:
        """Leaves the linkage where a dyad does not close in some pose."""
        c, t = self.c, self.target

        def look(pose: str) -> None:
            lower = c.let(f"fcmp olt {t.vector} {c.vector(c.at(margin, pose))}, zeroinitializer")
            some = c.let(f"call i1 @llvm.vector.reduce.or.v{t.width}i1(<{t.width} x i1> {lower})")
            before = c.let(f"load i1, ptr {self.left}")
            c.do(f"store i1 {c.let(f'or i1 {some}, {before}')}, ptr {self.left}")

        self.vectors_of(look)

    def no_place(self, rows: str) -> None:
        """A node that is left out."""
        c, nan = self.c, "splat (double 0x7FF8000000000000)"
        for k in range(components(self.order)):
            row = c.at(rows, c.plus(c.times(self.rows, k // 2), c.times(self.step, k % 2)))
            self.vectors_of(lambda pose, row=row: c.put(nan, c.at(row, pose)))

    def fixed_nodes(self, b: str, ws: str, name: str, order: int) -> None:
        """Where they are, at rest."""
        c = self.c
        count = c.load(c.field("counts"), c.times(b, 2), "i64")

        def fill(i: str) -> None:
            node = c.load(c.field("fixed"), c.plus(c.times(b, self.nodes), i), "i64")
            start, rows = c.times(c.plus(c.times(b, self.nodes), node), 2), self.node(ws, node)
            for k in range(components(order)):
                value = c.splat(c.load(c.field(name), c.plus(start, k))) if k < 2 else self.target.splat(0.0)
                row = c.at(rows, c.plus(c.times(self.rows, k // 2), c.times(self.step, k % 2)))
                self.vectors_of(lambda pose, row=row, value=value: c.put(value, c.at(row, pose)))

        c.loop(count, fill)

    def circle(self, b: str, pose: str) -> list[tuple[str, str, str]]:
        """(cos, sin, operation) by component: what the crank's length is multiplied by, and whether that is added."""
        c = self.c
        start = c.plus(c.times(b, self.turn), pose)
        cos, sin = (c.unaligned(c.at(c.field(name), start)) for name in ("cos", "sin"))
        return [(cos, "fadd"), (sin, "fadd"), (sin, "fsub"), (cos, "fadd"), (cos, "fsub"), (sin, "fsub")]  # type: ignore[return-value]

    def crank(self, b: str, ws: str, name: str) -> None:
        """The node that the motor turns: c + r (cos, sin), and its derivatives by the angle."""
        c = self.c
        rows = self.node(ws, c.load(c.field("crank_node"), b, "i64"))
        x, y, r = (c.splat(c.load(c.field(name), c.plus(c.times(b, 3), k))) for k in range(3))

        def fill(pose: str) -> None:
            for k, (part, sign) in enumerate(self.circle(b, pose)[: components(self.order)]):
                start = (x, y)[k] if k < 2 else self.target.splat(0.0)
                value = c.op(sign, start, c.op("fmul", r, part))
                c.put(value, c.at(rows, c.plus(pose, c.plus(c.times(self.rows, k // 2), c.times(self.step, k % 2)))))

        self.vectors_of(fill)

    def pointers(self, b: str, i: str, ws: str) -> dict[str, str]:
        """The rows of a dyad's nodes, and its numbers."""
        c = self.c
        place = c.plus(c.times(b, self.most), i)
        nodes = [c.load(c.field("dyads"), c.plus(c.times(place, 3), k), "i64") for k in range(3)]
        pointers = {name: self.node(ws, node) for name, node in zip("pab", nodes, strict=True)}
        return pointers | {"numbers": c.at(c.field("numbers"), c.times(place, len(NUMBERS)))}

    def dyad(self, b: str, i: str, ws: str, margin: str, margin_step: str) -> None:
        """One of them, in all poses."""
        c = self.c
        pointers = self.pointers(b, i, ws) | {"margin": margin, "margin_out": c.at(margin, margin_step)}
        self.vectors_of(lambda pose: self.call("values", self.values, pointers, ("numbers",), pose))


class TangentProgram(ValueProgram):
    """Values, and behind them as many tangents."""

    def shared(self) -> None:
        super().shared()
        dots = [("a_dot", k, j) for _, k, j in _rows("a", self.order)]
        dots += [("b_dot", k, j) for _, k, j in _rows("b", self.order)]
        dots += [*_numbers("numbers_dot", LENGTHS), ("margin_dot", 0, 0)]
        out = [*_rows("p_dot", self.order), ("margin_dot_out", 0, 0)]
        self.values = self.piece("tangents", tangent_graph(self.order), [*self.inputs, *dots], [*self.outputs, *out])

    def linkage(self, b: str) -> None:
        c = self.c
        half = c.let(f"lshr i64 {self.member}, 1")
        ws = c.at(c.field("out"), c.times(b, self.member))
        self.dots = c.at(ws, half)
        self.dot_margin = c.at(self.dots, c.times(self.rows, self.order + 1))
        zero = self.target.splat(0.0)
        self.vectors_of(lambda pose: c.put(zero, c.at(self.dot_margin, pose)))
        self.fixed_nodes(b, self.dots, "x0_dot", self.order)
        self.crank(b, self.dots, "crank_dot")
        self.follow(b, ws, c.at(ws, c.times(self.rows, self.order + 1)), "0")

    def dyad(self, b: str, i: str, ws: str, margin: str, margin_step: str) -> None:
        c = self.c
        dots = {f"{name}_dot": place for name, place in self.pointers(b, i, self.dots).items() if name != "numbers"}
        place = c.plus(c.times(b, self.most), i)
        dots |= {"numbers_dot": c.at(c.field("numbers_dot"), c.times(place, LENGTHS))}
        dots |= {"margin_dot": self.dot_margin, "margin_dot_out": self.dot_margin}
        pointers = self.pointers(b, i, ws) | {"margin": margin, "margin_out": margin} | dots
        self.vectors_of(lambda pose: self.call("tangents", self.values, pointers, ("numbers", "numbers_dot"), pose))


class CotangentProgram(ValueProgram):
    """Cotangents of fixed nodes, the crank and the dyads' numbers, from those of all results."""

    def shared(self) -> None:
        super().shared()
        order = self.order
        given = [*self.inputs, *_rows("p_bar", order), ("margin_bar", 0, 0)]
        sums: list[Place] = [*_rows("a_bar", order), *_rows("b_bar", order), *(("sums", -2, j) for j in range(LENGTHS))]
        graph = cotangent_graph(order)
        self.back = self.piece("cotangents", graph, [*given, *sums], [*sums, ("margin_bar", 0, 0)])
        self.sums = self.c.let(f"alloca [{LENGTHS} x {self.target.vector}], align 64")

    def linkage(self, b: str) -> None:
        c = self.c
        ws, size = "%workspace", c.times(self.rows, self.order + 1)
        margins = c.at(ws, size)
        bars = c.at(margins, c.times(self.step, c.plus(self.most, 1)))
        margin_bar = c.at(bars, size)
        self.follow(b, ws, margins, self.step)
        self.seeds(b, bars, margin_bar, c.times(c.plus(size, self.step), 8))
        count = c.load(c.field("counts"), c.plus(c.times(b, 2), 1), "i64")
        c.loop(count, lambda k: self.backwards(b, c.let(f"sub i64 {c.let(f'sub i64 {count}, {k}')}, 1"), ws, bars))
        self.ends(b, bars)

    def seeds(self, b: str, bars: str, margin_bar: str, size: str) -> None:
        """The cotangents of the results of one linkage, zero where there are none."""
        c = self.c
        c.do(f"call void @llvm.memset.p0.i64(ptr {bars}, i8 0, i64 {size}, i1 false)")

        def of(k: int) -> Callable[[], None]:
            def rows(i: str) -> None:
                strides = [c.field(f"bar{k}_{part}", "i64") for part in ("member", "node", "row")]
                start = c.plus(c.times(b, strides[0]), c.times(i, strides[1]))
                target = c.at(self.node(bars, self.chosen_node(b, i)), c.times(self.rows, k))
                for j in range(2):
                    source = c.at(c.field(f"bar{k}"), c.plus(start, c.times(strides[2], j)))
                    self.copy(c.at(target, c.times(self.step, j)), source, self.poses)

            return lambda: c.loop(self.chosen_count, rows)

        for k in range(self.order + 1):
            c.when(c.let(f"icmp ne ptr {c.field(f'bar{k}')}, null"), of(k))
        source = c.field("margin_bar")
        row = c.at(source, c.times(b, c.field("margin_bar_member", "i64")))
        c.when(c.let(f"icmp ne ptr {source}, null"), lambda: self.copy(margin_bar, row, self.poses))
        self.margin_bar = margin_bar

    def backwards(self, b: str, i: str, ws: str, bars: str) -> None:
        """One dyad, in all poses."""
        c = self.c
        margin = c.at(c.at(ws, c.times(self.rows, self.order + 1)), c.times(i, self.step))
        pointers = self.pointers(b, i, ws) | {"margin": margin, "margin_bar": self.margin_bar, "sums": self.sums}
        pointers |= {f"{name}_bar": place for name, place in self.pointers(b, i, bars).items() if name != "numbers"}
        for j in range(LENGTHS):
            c.put(self.target.splat(0.0), c.at(self.sums, j, self.target.vector))
        self.vectors_of(lambda pose: self.call("cotangents", self.back, pointers, ("numbers", "sums"), pose))
        place = c.times(c.plus(c.times(b, self.most), i), LENGTHS)
        for j in range(LENGTHS):
            total = c.total(c.vector(c.at(self.sums, j, self.target.vector)))
            c.do(f"store double {total}, ptr {c.at(c.field('numbers_bar'), c.plus(place, j))}")

    def ends(self, b: str, bars: str) -> None:
        """Sums over the poses of fixed nodes and of the crank."""
        c = self.c
        count = c.load(c.field("counts"), c.times(b, 2), "i64")

        def fixed(i: str) -> None:
            node = c.load(c.field("fixed"), c.plus(c.times(b, self.nodes), i), "i64")
            start, rows = c.times(c.plus(c.times(b, self.nodes), node), 2), self.node(bars, node)
            self.summed(2, lambda pose: [c.vector(c.at(rows, c.plus(pose, c.times(self.step, j)))) for j in (0, 1)])
            self.store_sums(2, c.at(c.field("x0_bar"), start))

        c.loop(count, fixed)
        rows = self.node(bars, c.load(c.field("crank_node"), b, "i64"))

        def terms(pose: str) -> list[str]:
            length = self.target.splat(0.0)
            parts = []
            for k, (part, sign) in enumerate(self.circle(b, pose)[: components(self.order)]):
                place = c.plus(pose, c.plus(c.times(self.rows, k // 2), c.times(self.step, k % 2)))
                parts.append(c.vector(c.at(rows, place)))
                length = c.op(sign, length, c.op("fmul", parts[k], part))
            return [parts[0], parts[1], length]

        self.summed(3, terms)
        self.store_sums(3, c.at(c.field("crank_bar"), c.times(b, 3)))

    def summed(self, count: int, terms: Callable[[str], list[str]]) -> None:
        """Adds terms over all poses."""
        c = self.c
        places = [c.at(self.sums, j, self.target.vector) for j in range(count)]
        for place in places:
            c.put(self.target.splat(0.0), place)

        def add(pose: str) -> None:
            for place, term in zip(places, terms(pose), strict=True):
                c.put(c.op("fadd", c.vector(place), term), place)

        self.vectors_of(add)

    def store_sums(self, count: int, target: str) -> None:
        """Stores the sums of all lanes."""
        c = self.c
        for j in range(count):
            total = c.total(c.vector(c.at(self.sums, j, self.target.vector)))
            c.do(f"store double {total}, ptr {c.at(target, j)}")
