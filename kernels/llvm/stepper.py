"""LLVM text of the step loop: one `advance` and one `evaluate` for each layout, method and precision.

    advance(job, ws, first, last)    blocks first <= k < last of W lanes, each from its row values to `until`
    evaluate(job, ws, first, last)   one phase on the same blocks

The usual case (every lane of the block runs and nothing trips) is straight code; lanes that trip, reach `until`, or
record channels go through cold functions. A lane's rows are written when it stops, so what its place in the vector
computes afterwards reaches nobody; its q, x, dx are put back each step so that it stays harmless.
"""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.kernels.lane_program import Layout, Method
from shiftjax.kernels.llvm.ir_builder import JOB, UNROLL, IrBuilder
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.templates import GIVE_SLOTS, LOAD_ROWS, RUN, SAVE_ROWS, fill

HEAD = "(ptr noalias %job, ptr noalias %ws, i64 %first, i64 %last) nounwind"


Copies = tuple[int | None, ...]  # for each coordinate the speed that is its rate, None where it takes arithmetic


def stepper(layout: Layout, method: Method, timed: bool, copies: Copies, name: str, target: Target) -> str:
    """The module with `NAME_advance` and `NAME_evaluate`.

    Args:
        timed: whether some piece of a stage reads t.
        copies: which rates of coordinates are simply speeds. Their stages are then written with dx alone (Nystrom's
            form, Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.14): a third fewer stores.
    """
    return Stepper(layout, method, timed, target, copies).module(name)


class Stepper(IrBuilder):
    """Writes the two functions and their cold helpers."""

    def __init__(self, layout: Layout, method: Method, timed: bool, target: Target, copies: Copies) -> None:
        super().__init__(layout, method, target.block())
        self.copies = copies
        self.pieces_target = target
        self.timed = timed
        self.steps: dict[tuple[int, float], str] = {}

    def module(self, name: str) -> str:
        """All functions of the module."""
        t, v = self.t, self.v
        pairs = {"loads": self.space.loads(), "saves": self.space.saves()}
        tables = "\n".join(
            f"@{key} = private constant [{2 * len(value)} x i64] [{', '.join(f'i64 {k}' for p in value for k in p)}]"
            for key, value in pairs.items()
        )
        declared = f"""
declare {v} @llvm.fma.{t.suffix}({v}, {v}, {v})
declare {v} @llvm.floor.{t.suffix}({v})
declare i1 @llvm.vector.reduce.and.v{t.width}i1({self.i1})
declare i1 @llvm.vector.reduce.or.v{t.width}i1({self.i1})
!0 = !{{!"branch_weights", i32 1000, i32 1}}
"""
        cold = "(ptr %job, ptr %ws, i64 %lane) nounwind noinline cold"
        return "\n".join(
            (
                tables,
                declared,
                RUN,
                self.function("internal void @load(ptr %job, ptr %ws, i64 %lane) nounwind noinline", self.load_rows),
                self.function(
                    "internal void @save(ptr %job, ptr %ws, i64 %lane, i64 %lanes) nounwind noinline", self.save_rows
                ),
                self.function("internal void @restore(ptr %ws) nounwind noinline", self.restore),
                self.function(f"internal void @begin{cold.replace(' cold', '')}", self.begin),
                self.function(f"internal void @trip{cold}", self.trip),
                self.function(f"internal void @event{cold.replace(' cold', '')}", self.event),
                self.function(f"void @{name}_advance{HEAD}", self.advance),
                self.function("internal void @give(ptr %job, ptr %ws, i64 %lane) nounwind noinline", self.give_slots),
                self.function(f"void @{name}_evaluate{HEAD}", self.evaluate),
            )
        )

    # -- one step ----------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Blocks one after the other, each to its end."""
        self.blocks(self.step_until)

    def blocks(self, body: Callable[[], None]) -> None:
        """`body` for every block, with its first lane in %lane."""
        self.emit("br label %head\nhead:")
        self.emit("%block = phi i64 [ %first, %entry ], [ %block.next, %tail ]")
        self.emit("%more = icmp slt i64 %block, %last")
        self.emit("br i1 %more, label %body, label %exit\nbody:")
        self.emit(f"%lane = mul i64 %block, {self.t.width}")
        self.emit("call void @load(ptr %job, ptr %ws, i64 %lane)")
        body()
        self.emit("br label %tail\ntail:")
        self.emit("%block.next = add i64 %block, 1\n  br label %head\nexit:\n  ret void")

    def step_until(self) -> None:
        """Steps of one block until no lane runs."""
        self.emit("call void @begin(ptr %job, ptr %ws, i64 %lane)")
        self.emit("br label %again\nagain:")
        self.emit(f"br i1 {self.get_flag(2)}, label %step, label %stopped\nstep:")
        self.one_step()
        self.check_monitors()
        self.emit("br label %accept\naccept:")
        self.accept()
        self.emit("br label %again\nstopped:")

    def one_step(self) -> None:
        """Stages, end and projection; monitors collect their largest value on the way."""
        m = self.method
        self.store(self.w.op("fmul", self.load("fraction"), self.splat(self.field("h"))), "hl")
        seen = False
        for stage in range(m.stages):
            if stage:
                self.combine(stage)
                if self.timed:
                    self.set_time(m.c[stage])
            if None in self.copies and (any(row[stage] for row in m.A_hat[stage + 1 :]) or m.b_hat[stage]):
                self.call_list("drift")
            if stage and m.needs[stage]:
                self.call_list("accelerate")
                self.collect(seen)
                seen = True
        self.combine(m.stages)
        self.set_time(1.0)
        self.call_list("project")
        if seen:
            self.each(self.layout.nm, lambda k: self.store(self.largest(k), "mon", k))

    def set_time(self, c: float) -> None:
        """t = t0 + (clock + c fraction) h; the parts of a moved run add up in the clock."""
        w = self.w
        clock = self.load("clock")
        if c != 0.0:
            part = self.load("fraction")
            clock = w.op("fadd", clock, part if c == 1.0 else w.op("fmul", part, self.t.splat(c)))
        after = w.op("fmul", clock, self.splat(self.field("h")))
        self.store(w.op("fadd", self.splat(self.field("t0")), after), "t")

    def collect(self, seen: bool) -> None:
        """most = max(most, mon) over the stages."""

        self.each(self.layout.nm, lambda k: self.store(self.largest(k) if seen else self.load("mon", k), "most", k))

    def largest(self, k: int | str) -> str:
        """The larger of most and mon, NaN where one is or where most was infinite.

        The loads are volatile lest LLVM makes masked stores of this, which are ten times slower.
        """
        most, mon = (self.w.line(f"load volatile {self.v}, ptr {self.at(name, k)}") for name in ("most", "mon"))
        value = self.select(self.compare("ogt", most, mon), most, mon)  # one instruction; mon where either is NaN
        return self.w.fma(most, self.t.splat(0.0), value)

    def weighted(self, start: str, terms: list[tuple[int, float, str]]) -> str:
        """start + sum of h**n a value over the terms (n, a, value), a power of h at a time."""
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
        """Puts the argument of `stage` (or the end, stage == stages) into q and x and keeps what later stages need."""
        m = self.method
        end = stage == m.stages
        row, row_hat = (m.b, m.b_hat) if end else (m.A[stage], m.A_hat[stage])
        self.steps = {}
        for n in (1, 2):
            for a in (1.0, *row, *row_hat):
                self.scaled_step(n, a)  # before any loop, so that every block sees them
        copied = {k: source for k, source in enumerate(self.copies) if source is not None}
        later = any(r[stage - 1] for r in m.A[stage + 1 :]) or (not end and m.b[stage - 1] != 0.0)
        nystrom = copied and any(self.speed_weights(r)[stage - 1] for r in (*m.A_hat[stage + 1 :], m.b_hat))
        keep = later or (not end and bool(nystrom)) or stage == 1  # the old dx is wanted when a step is thrown away
        speed = self.combiner(stage, "x", "dx", row, keep)
        if self.layout.nx <= UNROLL:  # each speed with its coordinate, so that both are read once
            for source in range(self.layout.nx):
                for k in copied:
                    if copied[k] == source:  # before x: the first stage still reads x itself
                        self.nystrom(stage, k, source, row_hat)
                speed(source)
        else:
            for k, source in copied.items():
                self.nystrom(stage, k, source, row_hat)
            self.each(self.layout.nx, speed)
        later = any(r[stage - 1] for r in m.A_hat[stage + 1 :]) or (not end and m.b_hat[stage - 1] != 0.0)
        if not copied:
            self.each(self.layout.nq, self.combiner(stage, "q", "qdot", row_hat, later))
        else:
            for k in range(self.layout.nq):
                if k not in copied:
                    self.combiner(stage, "q", "qdot", row_hat, later)(k)

    def combiner(
        self, stage: int, region: str, fresh: str, row: tuple[float, ...], keep: bool
    ) -> Callable[[int | str], None]:
        """For one slot: base + h sum row[j] k_j; the newest k still stands where the piece left it."""
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
        """The value at the start of the step, which the first stage keeps."""
        start = self.load(region if stage == 1 else f"{region}0", k)
        if stage == 1:
            self.store(start, f"{region}0", k)
        return start

    def speed_weights(self, row: tuple[float, ...]) -> list[float]:
        """Weights of h**2 dx_l in sum_j row[j] x_j."""
        return [sum(a * self.method.A[j][i] for j, a in enumerate(row) if i < j) for i in range(self.method.stages)]

    def nystrom(self, stage: int, k: int, source: int, row: tuple[float, ...]) -> None:
        """q + h x sum_j row[j] + h**2 sum_l (sum_j row[j] A[j][l]) dx_l for a coordinate whose rate is a speed."""
        start = self.base(stage, "q", k)
        terms = []
        if sum(row) != 0.0:
            terms.append((1, sum(row), self.load("x" if stage == 1 else "x0", source)))
        for i, a in enumerate(self.speed_weights(row)):
            if a != 0.0:
                terms.append((2, a, self.load("dx" if i == stage - 1 else f"kx{i}", source)))
        self.store(self.weighted(start, terms), "q", k)

    # -- accept or freeze --------------------------------------------------------------------------------------------

    def finite(self) -> str:
        """Lanes where 0 (sum of q, x, dx) is 0."""
        names = [(name, k) for name in ("q", "x", "dx") for k in range(len(self.layout.slots(name)))]
        parts = [self.t.splat(0.0)] * 3  # three chains of additions, since every step waits for the verdict
        for number, (name, k) in enumerate(names):
            parts[number % 3] = self.w.op("fadd", parts[number % 3], self.load(name, k))
        total = self.w.op("fadd", self.w.op("fadd", parts[0], parts[1]), parts[2])
        return self.compare("oeq", self.w.op("fmul", total, self.t.splat(0.0)), "zeroinitializer")

    def within(self, k: int | str) -> str:
        """Lanes whose monitor k is at most its limit; not so where it is NaN."""
        return self.compare("ole", self.load("mon", k), self.load("limit", k))

    def check_monitors(self) -> None:
        """Goes on to `accept`, by way of `trip` when a running lane is not perfectly well."""
        good = self.finite()
        for k in range(self.layout.nm):
            good = self.logic("and", good, self.within(k))
        idle = self.logic("xor", self.mask())
        every = self.reduce("and", self.logic("or", good, idle))
        armed = self.w.line(f"xor i1 {self.get_flag(1)}, true")
        fine = self.w.line(f"and i1 {every}, {armed}")
        self.emit(f"br i1 {fine}, label %accept, label %unwell, !prof !0\nunwell:")
        self.emit("call void @trip(ptr %job, ptr %ws, i64 %lane)")
        self.emit(f"br i1 {self.get_flag(2)}, label %accept0, label %stopped\naccept0:")

    def accept(self) -> None:
        """Accumulates, moves the clock, and looks whether an output tick or the end is reached."""
        self.emit(f"br i1 {self.get_flag(0)}, label %mixed, label %whole\nmixed:")
        self.emit("call void @restore(ptr %ws)\n  br label %whole\nwhole:")
        self.call_list("accumulate")
        self.each(self.layout.nr, lambda k: self.store(self.load("rep", k), "rep0", k))
        clock = self.w.op("fadd", self.load("clock"), self.load("fraction"))
        self.store(clock, "clock")
        due = self.reduce("or", self.logic("and", self.mask(), self.compare("oge", clock, self.load("stop"))))
        self.emit(f"br i1 {due}, label %happens, label %again\nhappens:")
        self.emit("call void @event(ptr %job, ptr %ws, i64 %lane)")

    def restore(self) -> None:
        """Puts back q, x, dx of the lanes that do not run."""
        running = self.mask()
        for region, kept in (("q", "q0"), ("x", "x0"), ("dx", "kx0")):
            count = len(self.layout.slots(region))
            self.each(
                count,
                lambda k, r=region, o=kept: self.store(self.select(running, self.load(r, k), self.load(o, k)), r, k),
            )
        self.emit("ret void")

    def trip(self) -> None:
        """Finds which lanes trip and on what, freezes and writes them, arms the monitors of the others."""
        running = self.mask()
        code = self.select(self.finite(), self.t.splat(0.0), self.t.splat(self.layout.nm + 1.0))
        for k in reversed(range(self.layout.nm)):
            armed = self.compare("une", self.load("armed", k), "zeroinitializer")
            bad = self.logic("and", armed, self.logic("xor", self.within(k)))
            code = self.select(bad, self.t.splat(k + 1.0), code)
        well = self.compare("oeq", code, "zeroinitializer")
        stays = self.logic("and", running, well)
        tripped = self.logic("and", running, self.logic("xor", well))
        self.store(code, "trip")
        unarmed = "zeroinitializer"
        for k in range(self.layout.nm):
            arm = self.logic("and", stays, self.within(k))
            value = self.select(arm, self.t.splat(1.0), self.load("armed", k))
            self.store(value, "armed", k)
            unarmed = self.logic("or", unarmed, self.compare("oeq", value, "zeroinitializer"))
        self.set_flag(1, self.reduce("or", self.logic("and", stays, unarmed)))
        self.keep_running(stays)
        self.emit("call void @restore(ptr %ws)")
        self.save(tripped)
        self.emit("ret void")

    def keep_running(self, stays: str) -> None:
        """Which lanes go on, as a mask and as flags."""
        self.keep_mask(stays)
        self.set_flag(0, self.w.line(f"xor i1 {self.reduce('and', stays)}, true"))
        self.set_flag(2, self.reduce("or", stays))
        self.set_vectors(self.bits(stays))

    def bits(self, mask: str) -> str:
        """Truths as the bits of an i64."""
        return self.w.line(f"zext i{self.t.width} {self.w.line(f'bitcast {self.i1} {mask} to i{self.t.width}')} to i64")

    def set_vectors(self, bits: str) -> None:
        """How many vectors of the block have work: up to the last lane with a bit."""
        width = self.pieces_target.width
        count = "1"
        for k in range(1, self.pieces_target.team):
            more = self.w.line(f"icmp uge i64 {bits}, {1 << (k * width)}")
            count = self.w.line(f"select i1 {more}, i32 {k + 1}, i32 {count}")
        self.emit(f"store i32 {count}, ptr {self.flag(3)}")

    def save(self, leaves: str) -> None:
        """Writes the rows of the lanes that stop."""
        self.emit(f"call void @save(ptr %job, ptr %ws, i64 %lane, i64 {self.bits(leaves)})")

    def period(self) -> str:
        """Steps between two output ticks, infinity where none are wanted."""
        every = self.field("every")
        number = self.w.line(f"sitofp i64 {every} to {self.t.scalar}")
        wanted = self.w.line(f"icmp sgt i64 {every}, 0")
        infinity = self.t.number(float("inf"))
        return self.splat(self.w.line(f"select i1 {wanted}, {self.t.scalar} {number}, {self.t.scalar} {infinity}"))

    def periods(self, clock: str, period: str) -> str:
        """Whole periods that have passed."""
        ratio = self.w.op("fdiv", clock, period)
        return self.w.line(f"call {self.v} @llvm.floor.{self.t.suffix}({self.v} {ratio})")

    def set_stop(self, clock: str, until: str) -> None:
        """The clock at which something happens next."""
        period = self.period()
        tick = self.w.op("fmul", self.w.op("fadd", self.periods(clock, period), self.t.splat(1.0)), period)
        self.store(self.select(self.compare("olt", tick, until), tick, until), "stop")

    def begin(self) -> None:
        """Which lanes of a fresh block run, and the flags."""
        clock, until = self.load("clock"), self.splat(self.field("until"))
        places = ", ".join(f"i64 {k}" for k in range(self.t.width))
        kind = f"<{self.t.width} x i64>"
        index = self.w.op("add", self.splat("%lane", "i64"), f"<{places}>", kind)
        runs = self.w.line(f"icmp slt {kind} {index}, {self.splat(self.field('lanes'), 'i64')}")
        for truth in (
            self.compare("oeq", self.load("trip"), "zeroinitializer"),
            self.compare("olt", clock, until),
            self.compare("ogt", self.load("fraction"), "zeroinitializer"),
        ):
            runs = self.logic("and", runs, truth)
        unarmed = "zeroinitializer"
        for k in range(self.layout.nm):
            unarmed = self.logic("or", unarmed, self.compare("oeq", self.load("armed", k), "zeroinitializer"))
        self.set_flag(1, self.reduce("or", self.logic("and", runs, unarmed)))
        self.keep_running(runs)
        self.set_stop(clock, until)
        self.emit("ret void")

    def event(self) -> None:
        """Output ticks, then lanes that have reached the end."""
        clock, until, period = self.load("clock"), self.splat(self.field("until")), self.period()
        running = self.mask()
        periods = self.periods(clock, period)
        on_tick = self.compare("oeq", self.w.op("fmul", periods, period), clock)
        tick = self.logic("and", running, on_tick)
        self.emit(f"br i1 {self.reduce('or', tick)}, label %record, label %recorded\nrecord:")
        self.call_list("observe")
        self.record(tick, periods)
        self.emit("br label %recorded\nrecorded:")
        self.set_stop(clock, until)
        leaves = self.logic("and", running, self.compare("oge", clock, until))
        self.emit(f"br i1 {self.reduce('or', leaves)}, label %leave, label %done\nleave:")
        self.save(leaves)
        self.keep_running(self.logic("and", running, self.logic("xor", leaves)))
        self.emit("br label %done\ndone:\n  ret void")

    def record(self, tick: str, periods: str) -> None:
        """Writes the channels of the lanes in `tick` to out[member, periods, :]."""
        w, t, nc = self.w, self.t, self.layout.nc
        out, member, ticks = self.field("out"), self.field("member"), self.field("ticks")
        chan = self.at("chan")
        for i in range(t.width):
            skip = self.label("skip")
            yes, ok, go = (self.label(name) for name in ("yes", "ok", "go"))
            self.emit(
                f"br i1 {w.line(f'extractelement {self.i1} {tick}, i64 {i}')}, label %{yes}, label %{skip}\n{yes}:"
            )
            place = w.line(f"add i64 %lane, {i}")
            row = w.line(f"load i64, ptr {w.line(f'getelementptr i64, ptr {member}, i64 {place}')}")
            known = w.line(f"icmp sge i64 {row}, 0")
            self.emit(f"br i1 {known}, label %{ok}, label %{skip}\n{ok}:")
            number = w.line(f"fptosi {t.scalar} {w.line(f'extractelement {self.v} {periods}, i64 {i}')} to i64")
            inside = w.line(f"icmp slt i64 {number}, {ticks}")
            self.emit(f"br i1 {inside}, label %{go}, label %{skip}\n{go}:")
            line = w.line(f"add i64 {w.line(f'mul i64 {row}, {ticks}')}, {number}")
            target = w.line(f"getelementptr {t.scalar}, ptr {out}, i64 {w.line(f'mul i64 {line}, {nc}')}")

            def copy(c: int | str, i: int = i, target: str = target) -> None:
                first = w.line(f"mul i64 {c}, {t.width}") if isinstance(c, str) else c * t.width
                source = w.line(f"getelementptr {t.scalar}, ptr {chan}, i64 {w.line(f'add i64 {first}, {i}')}")
                value = w.line(f"load {t.scalar}, ptr {source}")
                self.emit(f"store {t.scalar} {value}, ptr {w.line(f'getelementptr {t.scalar}, ptr {target}, i64 {c}')}")

            self.each(nc, copy)
            self.emit(f"br label %{skip}\n{skip}:")

    # -- rows and slots ----------------------------------------------------------------------------------------------

    def load_rows(self) -> None:
        """Rows of W lanes into slots; lanes beyond the last are copies of the last."""
        self.lines.extend(fill(LOAD_ROWS, self.t, pairs=len(self.space.loads())))

    def save_rows(self) -> None:
        """Slots of the lanes whose bit is set into rows."""
        self.lines.extend(fill(SAVE_ROWS, self.t, pairs=len(self.space.saves())))

    def give_slots(self) -> None:
        """`count` slots to `targets`, lane by lane."""
        fields = {f"field_{name}": JOB.index(name) for name in ("lanes", "count", "slots", "targets")}
        self.lines.extend(fill(GIVE_SLOTS, self.t, **fields))

    def evaluate(self) -> None:
        """One phase of every block; `count` slots go to `targets`."""

        def body() -> None:
            self.set_vectors(str((1 << self.t.width) - 1))
            self.set_time(0.0)
            self.call_list("phase")
            self.emit("call void @give(ptr %job, ptr %ws, i64 %lane)")

        self.blocks(body)
