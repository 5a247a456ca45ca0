"""The compiled derivatives of linkages: tangents beside values, and cotangents from the last dyad to the first."""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.families.dyad import LENGTHS, components, cotangent_graph, tangent_graph
from shiftjax.families.text import Place
from shiftjax.families.value_program import ValueProgram, numbers_of, rows_of


class TangentProgram(ValueProgram):
    """Values, and behind them as many tangents."""

    def shared(self) -> None:
        super().shared()
        dots = [("a_dot", k, j) for _, k, j in rows_of("a", self.order)]
        dots += [("b_dot", k, j) for _, k, j in rows_of("b", self.order)]
        dots += [*numbers_of("numbers_dot", LENGTHS), ("margin_dot", 0, 0)]
        out = [*rows_of("p_dot", self.order), ("margin_dot_out", 0, 0)]
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
        given = [*self.inputs, *rows_of("p_bar", order), ("margin_bar", 0, 0)]
        sums: list[Place] = [
            *rows_of("a_bar", order),
            *rows_of("b_bar", order),
            *(("sums", -2, j) for j in range(LENGTHS)),
        ]
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
