"""LLVM text of one step: the stages of a Runge-Kutta method, the estimate of its error, projection and events."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from shiftjax.kernels.lane_program import Layout, Method
from shiftjax.kernels.llvm.ir_builder import UNROLL, IrBuilder
from shiftjax.kernels.llvm.target import Target

Copies = tuple[int | None, ...]  # for each coordinate the speed that is its rate, None where it must be computed


class StageBuilder(IrBuilder):
    """Emits one step of all lanes of a block."""

    def __init__(self, layout: Layout, method: Method, target: Target, copies: Copies, *, timed: bool) -> None:
        super().__init__(dataclasses.replace(layout, nc=0), method, target.block())
        # many short runs would be many lines of code; an error estimate needs the rates themselves
        plain = method.error or len(runs({k: source for k, source in enumerate(copies) if source is not None})) > UNROLL
        self.copies = (None,) * layout.nq if plain else copies
        self.controlled, self.size = layout.controlled, "size" if layout.controlled else "fraction"
        self.pieces_target = target
        self.timed = timed
        self.steps: dict[tuple[int, float], str] = {}

    def one_step(self) -> None:
        """Stages, end and projection, with the largest value of every monitor."""
        m = self.method
        if self.controlled:
            self.cut_size()
        self.store(self.w.op("fmul", self.load(self.size), self.splat(self.field("h"))), "hl")
        seen = False
        for stage in range(m.stages):
            if stage:
                self.combine(stage)
                if self.timed:
                    self.set_time(m.c[stage])
            if None in self.copies and self.drifts(stage):
                self.call_list("drift")
            if stage and m.needs[stage]:
                self.call_list("accelerate")
                self.collect(seen=seen)
                seen = True
            self.stage_done(stage)
        self.combine(m.stages)
        if self.controlled:
            self.estimate()
        self.set_time(1.0)
        self.stage_done(m.stages)
        self.call_list("project")
        if seen:
            self.each(self.layout.nm, lambda k: self.store(self.largest(k), "mon", k))
        for phase, wanted in (("error", self.controlled), ("events", self.layout.ne)):
            if wanted:
                self.call_list(phase)

    def stage_done(self, stage: int) -> None:
        """For what is done with q, x and dx of a stage, and of the end before it is projected."""

    def drifts(self, stage: int) -> bool:
        """Whether qdot of a stage is needed."""
        m = self.method
        return any(row[stage] for row in m.A_hat[stage + 1 :]) or bool(m.b_hat[stage] or (m.error and m.error[stage]))

    def cut_size(self) -> None:
        """The size of the step: the lane's, shortened to end at its stop."""
        fraction, left = self.load("fraction"), self.left()
        self.store(self.select(self.compare("olt", fraction, left), fraction, left), "size")
        self.store_mask(self.mask(), "accepted")

    def left(self) -> str:
        """Steps left to the stop."""
        return self.w.op("fsub", self.load("stop"), self.load("clock"))

    def set_time(self, c: float) -> None:
        """t = t0 + (clock + c size) h."""
        w = self.w
        clock = self.load("clock")
        if c != 0.0:
            part = self.load(self.size)
            clock = w.op("fadd", clock, part if c == 1.0 else w.op("fmul", part, self.t.splat(c)))
        after = w.op("fmul", clock, self.splat(self.field("h")))
        self.store(w.op("fadd", self.splat(self.field("t0")), after), "t")

    def collect(self, *, seen: bool) -> None:
        """max_mon = max(max_mon, mon) over the stages."""
        self.each(self.layout.nm, lambda k: self.store(self.largest(k) if seen else self.load("mon", k), "max_mon", k))

    def largest(self, k: int | str) -> str:
        """The larger of max_mon and mon, NaN where one is or where max_mon was infinite.

        The loads are volatile to keep LLVM from forming masked stores, which are ten times slower.
        """
        most, mon = (self.w.line(f"load volatile {self.v}, ptr {self.at(name, k)}") for name in ("max_mon", "mon"))
        value = self.select(self.compare("ogt", most, mon), most, mon)  # one instruction; mon where either is NaN
        return self.w.fma(most, self.t.splat(0.0), value)

    def weighted(self, start: str, terms: list[tuple[int, float, str]]) -> str:
        """start + sum of h**n a value over the terms (n, a, value), grouped by power of h."""
        for n in sorted({n for n, _, _ in terms}):
            (a, value), *others = [(a, value) for m, a, value in terms if m == n]
            if not others:
                start = self.w.fma(self.scaled_step(n, a), value, start)
                continue
            total = self.w.op("fmul", value, self.t.splat(a))
            for a, value in others:
                total = self.w.fma(value, self.t.splat(a), total)
            start = self.w.fma(self.scaled_step(n, 1.0), total, start)
        return start

    def scaled_step(self, n: int, a: float) -> str:
        """a (h fraction)**n, computed once between two calls."""
        if (n, a) not in self.steps:
            if a != 1.0:
                value = self.w.op("fmul", self.scaled_step(n, 1.0), self.t.splat(a))
            else:
                value = self.load("hl")
                value = self.w.op("fmul", value, value) if n == 2 else value
            self.steps[n, a] = value
        return self.steps[n, a]

    def combine(self, stage: int) -> None:
        """Stores the argument of `stage` (or the end, stage == stages) in q and x, and the rates for later stages."""
        m = self.method
        end = stage == m.stages
        row, row_hat = (m.b, m.b_hat) if end else (m.A[stage], m.A_hat[stage])
        self.steps = {}
        for n in (1, 2):
            for a in (1.0, *row, *row_hat):
                self.scaled_step(n, a)  # before any loop, so that they dominate all blocks
        copied = {k: source for k, source in enumerate(self.copies) if source is not None}
        later = any(r[stage - 1] for r in m.A[stage + 1 :]) or (not end and m.b[stage - 1] != 0.0) or bool(m.error)
        nystrom = copied and any(self.speed_weights(r)[stage - 1] for r in (*m.A_hat[stage + 1 :], m.b_hat))
        keep = later or (not end and bool(nystrom)) or stage == 1  # the old dx is needed when a step is discarded
        speed = self.combiner(stage, "x", "dx", row, keep=keep)
        if self.layout.nx <= UNROLL:  # each speed with its coordinate, so that both are read once
            for source in range(self.layout.nx):
                for k in copied:
                    if copied[k] == source:  # before x, which the first stage reads
                        self.nystrom(stage, k, source, row_hat)
                speed(source)
        else:
            for k, source, count in runs(copied):
                self.each(
                    count, lambda i, k=k, s=source: self.nystrom(stage, self.plus(i, k), self.plus(i, s), row_hat)
                )
            self.each(self.layout.nx, speed)
        later = any(r[stage - 1] for r in m.A_hat[stage + 1 :]) or (not end and m.b_hat[stage - 1] != 0.0)
        later = later or bool(m.error)
        if not copied:
            self.each(self.layout.nq, self.combiner(stage, "q", "qdot", row_hat, keep=later))
        else:
            for k in range(self.layout.nq):
                if k not in copied:
                    self.combiner(stage, "q", "qdot", row_hat, keep=later)(k)

    def combiner(
        self, stage: int, region: str, fresh: str, row: tuple[float, ...], *, keep: bool
    ) -> Callable[[int | str], None]:
        """For one slot: base + h sum row[j] k_j; the newest k is still in the output slot of the piece."""
        newest = stage - 1

        def body(k: int | str) -> None:
            start = self.base(stage, region, k)
            values = {j: self.load(f"k{region}{j}", k) for j in range(newest) if row[j] != 0.0}
            if keep or row[newest] != 0.0:
                values[newest] = self.load(fresh, k)
                if keep:
                    self.store(values[newest], f"k{region}{newest}", k)
            terms = [(1, row[j], value) for j, value in values.items() if row[j] != 0.0]
            self.store(self.weighted(start, terms), region, k)

        return body

    def base(self, stage: int, region: str, k: int | str) -> str:
        """The value at the start of the step, which the first stage saves."""
        start = self.load(region if stage == 1 else f"{region}0", k)
        if stage == 1:
            self.store(start, f"{region}0", k)
        return start

    def speed_weights(self, row: tuple[float, ...]) -> list[float]:
        """Weights of h**2 dx_l in sum_j row[j] x_j."""
        return [sum(a * self.method.A[j][i] for j, a in enumerate(row) if i < j) for i in range(self.method.stages)]

    def nystrom(self, stage: int, k: int | str, source: int | str, row: tuple[float, ...]) -> None:
        """q + h x sum_j row[j] + h**2 sum_l (sum_j row[j] A[j][l]) dx_l for a coordinate whose rate is a speed."""
        start = self.base(stage, "q", k)
        terms = []
        if sum(row) != 0.0:
            terms.append((1, sum(row), self.load("x" if stage == 1 else "x0", source)))
        for i, a in enumerate(self.speed_weights(row)):
            if a != 0.0:
                terms.append((2, a, self.load("dx" if i == stage - 1 else f"kx{i}", source)))
        self.store(self.weighted(start, terms), "q", k)

    def estimate(self) -> None:
        """Error estimates of x and q: h sum error[j] k_j."""
        for count, region, rates in ((self.layout.nx, "ex", "kx"), (self.layout.nq, "eq", "kq")):

            def body(k: int | str, region: str = region, rates: str = rates) -> None:
                terms = [(1, a, self.load(f"{rates}{j}", k)) for j, a in enumerate(self.method.error) if a != 0.0]
                self.store(self.weighted(self.t.splat(0.0), terms), region, k)

            self.each(count, body)


def runs(copied: dict[int, int]) -> list[tuple[int, int, int]]:
    """Contiguous coordinates whose speeds are contiguous: first coordinate, first speed, count."""
    found: list[tuple[int, int, int]] = []
    for k, source in sorted(copied.items()):
        if found and (k - found[-1][0], source - found[-1][1]) == (found[-1][2],) * 2:
            found[-1] = (*found[-1][:2], found[-1][2] + 1)
        else:
            found.append((k, source, 1))
    return found
