"""The compiled program of linkages: all poses of one linkage after the other.

A linkage is data: which nodes are fixed, which one the motor turns, and a list of dyads. Its rows are numbers of one
component of one node, poses side by side, so that a vector holds poses of one linkage, and nothing is gathered. Dyads
are the outer loop: the poses of one are independent of each other, and hide the latency of its square root.
"""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.families.dyad import NUMBERS, components, value_graph
from shiftjax.families.text import LoopWriter, Place, RowEmitter
from shiftjax.kernels.llvm.target import Target
from shiftjax.lanes.graph import Graph

ORDERS = 3  # derivatives 0, 1, 2
JOB = (  # fields of 8 bytes: pointers and integers
    *("out", "member", "step", "poses", "vectors", "nodes", "counts", "fixed", "x0", "crank", "crank_node"),
    *("dyads", "numbers", "most", "cos", "sin", "turn", "stop"),
    *("chosen", "chosen_member", "chosen_count"),
    *("x0_dot", "crank_dot", "numbers_dot"),
    *("x0_bar", "crank_bar", "numbers_bar", "margin_bar", "margin_bar_member"),
    *(f"bar{k}{part}" for k in range(ORDERS) for part in ("", "_member", "_node", "_row")),
)


def rows_of(name: str, order: int) -> list[Place]:
    """The components of a node."""
    return [(name, k // 2, k % 2) for k in range(components(order))]


def numbers_of(name: str, count: int) -> list[Place]:
    """Numbers of a dyad, the same in all poses."""
    return [(name, -1, j) for j in range(count)]


class ValueProgram:
    """Positions with their derivatives and the smallest margin, written to the array of results."""

    def __init__(self, order: int, target: Target) -> None:
        self.order, self.target = order, target
        self.c = LoopWriter(target, JOB)
        self.pieces: list[str] = []
        self.inputs = [
            *rows_of("a", order),
            *rows_of("b", order),
            *numbers_of("numbers", len(NUMBERS)),
            ("margin", 0, 0),
        ]
        self.outputs = [*rows_of("p", order), ("margin_out", 0, 0)]

    def text(self, name: str) -> str:
        """The function of all linkages from one to another."""
        c = self.c
        self.shared()
        c.loop("%to", self.linkage, "%from")
        c.do("fence seq_cst")  # what went past the cache is seen by other threads, too
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
                    places = (c.plus(c.times(part, k), c.times(self.step, j)) for part in (size, self.rows))
                    self.stream(*(c.at(part, place) for part, place in zip((target, rows), places, strict=True)))

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

    def piece(self, name: str, graph: Graph, inputs: list[Place], outputs: list[Place]) -> RowEmitter:
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

    def circle(self, b: str, pose: str) -> list[tuple[str, str]]:
        """(cos or sin, operation) by component: what the crank's length is multiplied by, and whether that is added."""
        c = self.c
        start = c.plus(c.times(b, self.turn), pose)
        cos, sin = (c.unaligned(c.at(c.field(name), start)) for name in ("cos", "sin"))
        return [(cos, "fadd"), (sin, "fadd"), (sin, "fsub"), (cos, "fadd"), (cos, "fsub"), (sin, "fsub")]

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
