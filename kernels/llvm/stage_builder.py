"""LLVM text of one step: the instructions of a method, one loop over slots for the combinations before each call."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from shiftjax.kernels.guards import sized
from shiftjax.kernels.lane_program import WRITES, Layout
from shiftjax.kernels.llvm.ir_builder import UNROLL, IrBuilder
from shiftjax.kernels.llvm.ir_values import Lanes, where
from shiftjax.kernels.llvm.sums import Sum, by_speeds, live, needed, sum_of
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.step_program import KINDS, Method

Copies = tuple[int | None, ...]  # for each coordinate the speed that is its rate, None where it must be computed


class StageBuilder(IrBuilder):
    """Emits one step of all lanes of a block.

    Args:
        timed: the phases among drift and accelerate that read the time.
    """

    def __init__(self, layout: Layout, method: Method, target: Target, copies: Copies, timed: tuple[str, ...]) -> None:
        super().__init__(dataclasses.replace(layout, nc=0), method, target.block())
        self.parts = method.parts(controlled=layout.controlled)
        of_speeds = None if method.controls or method.gamma else by_speeds(method)  # which need the rates themselves
        # many short runs would be many lines of code
        short = len(runs({k: source for k, source in enumerate(copies) if source is not None})) > UNROLL
        self.copies = (None,) * layout.nq if of_speeds is None or short else copies
        copied, computed = any(k is not None for k in self.copies), None in self.copies
        self.sums = {
            "x": self.of_kind("x"),
            "q": self.of_kind("q") if computed else [[] for _ in self.parts],
            "speeds": of_speeds if of_speeds is not None and copied else [[] for _ in self.parts],
        }
        self.live = live([[*x, *q, *s] for x, q, s in zip(*self.sums.values(), strict=True)], KINDS)
        self.controlled, self.size = layout.controlled, "size" if layout.controlled else "fraction"
        self.pieces_target = target
        self.timed = timed
        self.steps: dict[tuple[int, float], str] = {}

    def of_kind(self, kind: str) -> list[list[Sum]]:
        """The combinations of each part that are as wide as q, or as x."""
        return [[sum_of(one) for one in part.combines if self.kind(one.target) == kind] for part in self.parts]

    def kind(self, name: str) -> str:
        """Whether a region is as wide as q or as x."""
        return self.method.kind(name)

    def one_step(self) -> None:
        """All parts, with the largest value of every monitor."""
        self.set_size()
        left = sum("mon" in WRITES.get(phase, ()) for part in self.parts for phase in part.phases)
        first = True
        for number, part in enumerate(self.parts):
            self.before_phases(number)
            self.before_calls(number)
            for phase in part.phases:
                if self.wanted(phase):
                    self.call_list(phase)
                if "mon" in WRITES.get(phase, ()):
                    left -= 1
                    self.collect("max_mon" if left else "mon", first=first)
                    first = False
            self.after_calls(number)

    def set_size(self) -> None:
        """The size of the step, which its parts take."""
        if self.controlled:
            self.cut_size()
        self.store(self.w.op("fmul", self.load(self.size), self.splat(self.field("h"))), "hl")
        if self.method.gamma:
            self.store(self.w.op("fmul", self.load("hl"), self.t.splat(self.method.gamma)), "shift")

    def before_phases(self, number: int) -> None:
        """What a part combines, and the time of its phases."""
        part = self.parts[number]
        self.combine(number)
        if any(phase in ("project", "linearize", *self.timed) for phase in part.phases):
            self.set_time(part.at)

    def wanted(self, phase: str) -> bool:
        """Whether a phase has anything to do: no drift where every rate is a speed."""
        return {"drift": None in self.copies, "events": self.layout.ne > 0}.get(phase, True)

    def before_calls(self, number: int) -> None:
        """For what is done with q, x and dx before the calls of a part."""

    def after_calls(self, number: int) -> None:
        """The same after them."""

    def cut_size(self) -> None:
        """Size and end of the step: the lane's, shortened to end at its stop."""
        clock, fraction, stop = (Lanes(self, self.load(name)) for name in ("clock", "fraction", "stop"))
        size = sized(clock, fraction, stop, where)
        self.store(size.end.text, "next")
        self.store(size.size.text, "size")
        self.store_mask(size.cut.text, "cut")
        self.store_mask(self.mask(), "accepted")

    def set_time(self, c: float) -> None:
        """t = t0 + (clock + c size) h."""
        w = self.w
        clock = self.load("clock")
        if c != 0.0:
            part = self.load(self.size)
            clock = w.op("fadd", clock, part if c == 1.0 else w.op("fmul", part, self.t.splat(c)))
        after = w.op("fmul", clock, self.splat(self.field("h")))
        self.store(w.op("fadd", self.splat(self.field("t0")), after), "t")

    def period(self) -> str:
        """Steps between two output ticks, infinity without recording."""
        return self.infinite_for_none(self.field("every"))

    def infinite_for_none(self, count: str) -> str:
        """A count as a number, infinity where it is 0."""
        number = self.w.line(f"sitofp i64 {count} to {self.t.scalar}")
        wanted = self.w.line(f"icmp sgt i64 {count}, 0")
        infinity = self.t.number(float("inf"))
        return self.splat(self.w.line(f"select i1 {wanted}, {self.t.scalar} {number}, {self.t.scalar} {infinity}"))

    def origin(self) -> str:
        """The clock of the first output tick."""
        return self.splat(self.w.line(f"sitofp i64 {self.field('origin')} to {self.t.scalar}"))

    def periods(self, clock: str, period: str) -> str:
        """Whole periods that have passed since the first output tick."""
        ratio = self.w.op("fdiv", self.w.op("fsub", clock, self.origin()), period)
        return self.w.line(f"call {self.v} @llvm.floor.{self.t.suffix}({self.v} {ratio})")

    def set_stop(self, periods: str, until: str) -> None:
        """The clock of the next output tick or the end; controlled lanes know no ticks.

        Args:
            periods: whole ones that have passed.
        """
        if self.controlled:
            self.store(until, "stop")
            return
        tick = self.w.op("fmul", self.w.op("fadd", periods, self.t.splat(1.0)), self.period())
        tick = self.w.op("fadd", tick, self.origin())
        self.store(self.select(self.compare("olt", tick, until), tick, until), "stop")

    def collect(self, target: str, *, first: bool) -> None:
        """max_mon = max(max_mon, mon) over the calls; the last one leaves it in mon."""
        if not (first and target == "mon"):
            self.each(
                self.layout.nm, lambda k: self.store(self.load("mon", k) if first else self.largest(k), target, k)
            )

    def largest(self, k: int | str) -> str:
        """The larger of max_mon and mon, NaN where one is or where max_mon was infinite.

        The loads are volatile to keep LLVM from forming masked stores, which are ten times slower.
        """
        most, mon = (self.w.line(f"load volatile {self.v}, ptr {self.at(name, k)}") for name in ("max_mon", "mon"))
        value = self.select(self.compare("ogt", most, mon), most, mon)  # one instruction; mon where either is NaN
        return self.w.fma(most, self.t.splat(0.0), value)

    # -- combinations ------------------------------------------------------------------------------------------------

    def combine(self, number: int) -> None:
        """The combinations of a part: speeds, with the coordinates whose rates they are, then other coordinates."""
        x, q, speeds = (self.sums[name][number] for name in ("x", "q", "speeds"))
        self.scale(x, q, speeds)
        stored = self.live[number]
        copied = {k: source for k, source in enumerate(self.copies) if source is not None}
        if self.layout.nx <= UNROLL:  # each speed with its coordinate, so that both are read once
            for source in range(self.layout.nx):
                for k in copied:
                    if copied[k] == source:  # before x, which they read
                        self.emit_sums([*x, *speeds], speeds, stored, {"x": source, "q": k})
                self.emit_sums(x, x, stored, {"x": source})
        else:
            for first, source, count in runs(copied) if speeds else ():
                self.each(
                    count,
                    lambda i, k=first, s=source: self.emit_sums(
                        [*x, *speeds], speeds, stored, {"x": self.plus(i, s), "q": self.plus(i, k)}
                    ),
                )
            if x:
                self.each(self.layout.nx, lambda k: self.emit_sums(x, x, stored, {"x": k}))
        if not copied and q:
            self.each(self.layout.nq, lambda k: self.emit_sums(q, q, stored, {"q": k}))
        else:
            for k in range(self.layout.nq):
                if k not in copied:
                    self.emit_sums(q, q, stored, {"q": k})

    def scale(self, *sums: Sequence[Sum]) -> None:
        """Computes what step sizes are multiplied with before any loop, so that it dominates all blocks."""
        self.steps = {}
        for n, a in sorted(
            {(n, a) for some in sums for one in some for n, factor, _ in one.terms if n for a in (1.0, factor)}
        ):
            self.scaled_step(n, a)

    def emit_sums(
        self, given: Sequence[Sum], wanted: Sequence[Sum], stored: set[str], place: dict[str, int | str]
    ) -> None:
        """Sums in one slot of the speeds, of the coordinates, or of both, each region read and written once.

        Args:
            given: in order; those that `wanted` takes nothing from are left out. place: the slot, by kind.
        """
        values: dict[str, str] = {}

        def value(name: str) -> str:
            if name not in values:
                values[name] = self.load(name, place[self.kind(name)])
            return values[name]

        for one in needed(given, wanted):
            values[one.target] = self.weighted([(n, a, value(name)) for n, a, name in one.terms])
        for name in dict.fromkeys(one.target for one in wanted):
            if name in stored:
                self.store(values[name], name, place[self.kind(name)])

    def weighted(self, terms: Sequence[tuple[int, float, str]]) -> str:
        """Sum of h**n a value over the terms (n, a, value), grouped by power of h."""
        total = ""
        for a, value in ((a, value) for n, a, value in terms if n == 0):
            total = self.plus_product(total, value, a)
        for n in sorted({n for n, _, _ in terms if n}):
            part, some = "", [(a, value) for m, a, value in terms if m == n]
            if len(some) == 1:
                (a, part), factor = some[0], self.scaled_step(n, some[0][0])
            else:
                factor = self.scaled_step(n, 1.0)
                for a, value in some:
                    part = (
                        self.w.fma(value, self.t.splat(a), part) if part else self.w.op("fmul", value, self.t.splat(a))
                    )
            total = self.w.fma(factor, part, total) if total else self.w.op("fmul", factor, part)
        return total or self.t.splat(0.0)

    def plus_product(self, total: str, value: str, a: float) -> str:
        """total + a value; an empty total is none."""
        if a == 1.0:
            return self.w.op("fadd", total, value) if total else value
        factor = self.t.splat(a)
        return self.w.fma(value, factor, total) if total else self.w.op("fmul", value, factor)

    def scaled_step(self, n: int, a: float) -> str:
        """a (h fraction)**n, computed once for a part."""
        if (n, a) not in self.steps:
            if a != 1.0:
                value = self.w.op("fmul", self.scaled_step(n, 1.0), self.t.splat(a))
            else:
                value = self.load("hl")
                value = self.w.op("fmul", value, value) if n == 2 else value
            self.steps[n, a] = value
        return self.steps[n, a]


def runs(copied: dict[int, int]) -> list[tuple[int, int, int]]:
    """Contiguous coordinates whose speeds are contiguous: first coordinate, first speed, count."""
    spans: list[tuple[int, int, int]] = []
    for k, source in sorted(copied.items()):
        if spans and (k - spans[-1][0], source - spans[-1][1]) == (spans[-1][2],) * 2:
            spans[-1] = (*spans[-1][:2], spans[-1][2] + 1)
        else:
            spans.append((k, source, 1))
    return spans
