"""LLVM text of the step loop: one `advance` and one `evaluate` for each layout, method and precision.

    advance(job, base, first, last)    blocks first <= k < last of W lanes, each from its row values to its `until`
    evaluate(job, base, first, last)   one phase on the same blocks

It implements `step_loop.StepLoop` method by method; events and step size control are emitted only for programs that
have them.

The common case (every lane of the block runs and none trips) is straight-line code; lanes that trip, reach `until`, or
record channels go through cold functions. A lane's rows are written when it stops, so that later results in its vector
element are unused; its q, x, dx are restored each step so that they stay bounded.
"""

from __future__ import annotations

import dataclasses

from shiftjax.kernels.guards import MONITORS, decide, next_size, passes
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.llvm.ir_builder import JOB, UNROLL
from shiftjax.kernels.llvm.ir_values import LaneMask, Lanes, where
from shiftjax.kernels.llvm.stage_builder import StageBuilder
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.templates import COPY_SLOTS, LOAD_ROWS, RUN, SAVE_ROWS, fill
from shiftjax.kernels.step_program import RATES

HEAD = "(ptr noalias %job, ptr noalias %base, i64 %first, i64 %last) nounwind"


def timed(program: LaneProgram) -> tuple[str, ...]:
    """The phases of a stage of which a piece reads the time."""
    slot = program.layout.slots("t").start
    return tuple(phase for phase in RATES if any(slot in piece.inputs for piece in program.phase(phase)))


def stepper_identity(program: LaneProgram) -> str:
    """What decides the step loop."""
    layout = dataclasses.replace(program.layout, nc=0)  # channels are the last region, and counted in the job
    return f"{layout!r}|{program.method!r}|{timed(program)}|{program.drift.identity()}"


def stepper_text(program: LaneProgram, name: str, target: Target) -> str:
    """The module of the step loop."""
    return Stepper(program.layout, program.method, target, copies(program, target), timed(program)).module(name)


def copies(program: LaneProgram, target: Target) -> tuple[int | None, ...]:
    """For each coordinate the speed that is its rate, None where the rate takes arithmetic."""
    drift, layout = program.drift, program.layout
    graph = drift.graph_for(target.precision)
    speeds: list[int | None] = [None] * layout.nq
    for slot, ref in zip(drift.outputs, graph.outputs, strict=True):
        node = graph.nodes[ref >> 1]
        if not ref & 1 and node[0] == "in" and drift.inputs[node[1]] in layout.slots("x"):
            speeds[slot - layout.slots("qdot").start] = drift.inputs[node[1]] - layout.slots("x").start
    return tuple(speeds)


class Attempt:
    """The step of a block as `guards.Step`."""

    def __init__(self, builder: StageBuilder) -> None:
        self.builder, self.layout = builder, builder.layout

    def before(self, name: str, k: int = 0) -> Lanes:
        """A number of the state before the step."""
        return self._load(f"{name}0" if name in ("event", "event_rate") else name, k)

    def after(self, name: str, k: int = 0) -> Lanes:
        """A number of its end."""
        return self._load({"clock": "next", "duration": "hl"}.get(name, name), k)

    def _load(self, name: str, k: int | str) -> Lanes:
        return Lanes(self.builder, self.builder.load(name, k))

    def number(self, value: float) -> Lanes:
        """A constant."""
        return Lanes(self.builder, self.builder.t.splat(value))

    def where(self, mask: LaneMask, yes: Lanes, no: Lanes) -> Lanes:
        """`yes` where the mask holds, else `no`."""
        return where(mask, yes, no)

    def finite(self) -> LaneMask:
        """Lanes where 0 * sum(q, x, dx) is 0."""
        return self._sum() * self.number(0.0) == self.number(0.0)

    def _sum(self) -> Lanes:
        layout, zero = self.layout, self.number(0.0)
        sizes = {"q": layout.nq, "x": layout.nx, "dx": layout.nx}
        if sum(sizes.values()) > 3 * UNROLL:
            self.builder.store(zero.text, "sum")
            for name, count in sizes.items():
                self.builder.each(count, lambda k, n=name: self._add(n, k))
            return self._load("sum", 0)
        parts = [zero] * 3  # three independent sums, since their latency delays every step
        for number, (name, k) in enumerate((name, k) for name, count in sizes.items() for k in range(count)):
            parts[number % 3] = parts[number % 3] + self._load(name, k)
        return parts[0] + parts[1] + parts[2]

    def _add(self, name: str, k: int | str) -> None:
        self.builder.store((self._load("sum", 0) + self._load(name, k)).text, "sum")


class Stepper(StageBuilder):
    """Emits the two functions and their cold helpers."""

    def module(self, name: str) -> str:
        """All functions of the module."""
        t, v = self.t, self.v
        tables = self.pair_tables({"loads": self.space.loads(), "saves": self.space.saves()})
        declared = f"""
declare {v} @llvm.fma.{t.suffix}({v}, {v}, {v})
declare {v} @llvm.floor.{t.suffix}({v})
declare i1 @llvm.vector.reduce.and.v{t.width}i1({self.i1})
declare i1 @llvm.vector.reduce.or.v{t.width}i1({self.i1})
!0 = !{{!"branch_weights", i32 1000, i32 1}}
"""
        # What runs once a block, or where a lane trips, is not optimised: a third of the time of a four-bar's loop.
        once = "nounwind noinline optnone"
        rare = "nounwind noinline cold" if self.controlled else once  # a tolerance rejects steps now and then
        one = "(ptr %job, ptr %ws, i64 %lane)"
        return "\n".join(
            (
                tables,
                declared,
                RUN,
                self.function(f"internal void @load{one} {once}", self.load_rows),
                self.function(f"internal void @save(ptr %job, ptr %ws, i64 %lane, i64 %lanes) {once}", self.save_rows),
                self.function("internal void @restore(ptr %ws) nounwind noinline", self.restore),
                self.function(f"internal void @begin{one} {once}", self.begin),
                self.function(f"internal void @trip{one} {rare}", self.trip),
                self.function(f"internal void @event{one} nounwind noinline", self.event),
                self.function(f"void @{name}_advance{HEAD}", self.advance),
                self.function(f"internal void @copy_slots{one} {once}", self.copy_slots),
                self.function(f"void @{name}_evaluate{HEAD}", self.evaluate),
            )
        )

    # -- one step ----------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """All blocks in order, each to its end."""
        self.blocks(self.step_until)

    def step_until(self) -> None:
        """Steps of one block until no lane runs."""
        self.emit("call void @load(ptr %job, ptr %ws, i64 %lane)")
        self.emit("call void @begin(ptr %job, ptr %ws, i64 %lane)")
        self.emit("br label %again\nagain:")
        self.emit(f"br i1 {self.get_flag(2)}, label %step, label %stopped\nstep:")
        self.one_step()
        self.check()
        self.emit("br label %accept\naccept:")
        self.accept()
        self.emit("br label %again\nstopped:")

    # -- accept or freeze --------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Branches to `accept`, through `trip` when a step of a running lane is not accepted."""
        good = passes(Attempt(self)).text
        idle = self.logic("xor", self.mask())
        every = self.reduce("and", self.logic("or", good, idle))
        armed = self.w.line(f"xor i1 {self.get_flag(1)}, true")
        fine = self.w.line(f"and i1 {every}, {armed}")
        self.emit(f"br i1 {fine}, label %accept, label %tripped, !prof !0\ntripped:")
        self.emit("call void @trip(ptr %job, ptr %ws, i64 %lane)")
        self.emit(f"br i1 {self.get_flag(2)}, label %accept0, label %stopped\naccept0:")

    def accept(self) -> None:
        """Accumulates, advances the clock, and tests for an output tick or the end."""
        self.emit(f"br i1 {self.get_flag(0)}, label %mixed, label %whole\nmixed:")
        self.emit("call void @restore(ptr %ws)\n  br label %whole\nwhole:")
        if self.controlled:
            self.each(self.layout.na, lambda k: self.store(self.load("acc", k), "acc0", k))
        self.call_list("accumulate")
        for new, count in {"rep": self.layout.nr, "event": self.layout.ne, "event_rate": self.layout.ne}.items():
            before = f"{new}0"
            self.each(count, lambda k, n=new, o=before: self.store(self.accepted(self.load(n, k), o, k), o, k))
        if self.controlled:
            self.each(self.layout.na, lambda k: self.store(self.accepted(self.load("acc", k), "acc0", k), "acc", k))
            self.next_size()
        else:
            self.store(self.w.op("fadd", self.load("clock"), self.load("fraction")), "clock")
        stands = self.compare("oge", self.load("clock"), self.load("stop"))
        due = self.mask("accepted") if self.controlled else self.logic("and", self.mask(), stands)
        self.emit(f"br i1 {self.reduce('or', due)}, label %due, label %again\ndue:")
        self.emit("call void @event(ptr %job, ptr %ws, i64 %lane)")

    def accepted(self, new: str, before: str, k: int | str = 0) -> str:
        """The new value where the step is accepted, else the old one; lanes that do not run are not saved."""
        return self.select(self.mask("accepted"), new, self.load(before, k)) if self.controlled else new

    def next_size(self) -> None:
        """Clock and step size after an accepted step."""
        grown = next_size(Attempt(self), LaneMask(self, self.mask("cut")))
        self.store(self.accepted(grown.text, "fraction"), "fraction")
        self.store(self.accepted(self.load("next"), "clock"), "clock")

    def restore(self) -> None:
        """Restores q, x, dx of the lanes that do not run, or whose step is rejected."""
        running = self.mask("accepted" if self.controlled else "active")
        for region, before in (("q", "q0"), ("x", "x0"), ("dx", "dx0")):
            count = len(self.layout.slots(region))
            self.each(
                count,
                lambda k, r=region, o=before: self.store(self.select(running, self.load(r, k), self.load(o, k)), r, k),
            )
        self.emit("ret void")

    def trip(self) -> None:
        """Sets the trip codes, freezes and saves the lanes that trip, arms the monitors of the others."""
        step, running = Attempt(self), LaneMask(self, self.mask())
        decision = decide(step)
        untripped = decision.trip == step.number(0.0)
        stays, good = running & untripped, running & decision.accepted
        self.store(decision.trip.text, "trip")
        if decision.again is not None:
            self.store(where(running & decision.again, decision.retry, step.before("fraction")).text, "fraction")
            self.store_mask(good.text, "accepted")
        self.arm(step, good, stays)
        self.keep_running(stays.text)
        self.emit("call void @restore(ptr %ws)")
        self.save((running & ~untripped).text)
        self.emit("ret void")

    def arm(self, step: Attempt, good: LaneMask, stays: LaneMask) -> None:
        """Arms the monitors that are within their limits in the lanes of `good`; flags whether any stays unarmed."""
        unarmed = "zeroinitializer"
        for k in range(self.layout.nm):
            value = where(good & MONITORS.holds(step, k), step.number(1.0), step.before("armed", k))
            self.store(value.text, "armed", k)
            unarmed = self.logic("or", unarmed, (value == step.number(0.0)).text)
        self.set_flag(1, self.reduce("or", self.logic("and", stays.text, unarmed)))

    def keep_running(self, stays: str) -> None:
        """Stores which lanes continue, as a mask and as flags."""
        self.store_mask(stays)
        self.set_flag(0, self.w.line(f"xor i1 {self.reduce('and', stays)}, true"))
        self.set_flag(2, self.reduce("or", stays))
        self.set_vectors(self.bits(stays))

    def bits(self, mask: str) -> str:
        """A mask as the bits of an i64."""
        return self.w.line(f"zext i{self.t.width} {self.w.line(f'bitcast {self.i1} {mask} to i{self.t.width}')} to i64")

    def set_vectors(self, bits: str) -> None:
        """Stores the number of active vectors of the block: up to the last lane with a bit."""
        width = self.pieces_target.width
        count = "1"
        for k in range(1, self.pieces_target.interleave):
            more = self.w.line(f"icmp uge i64 {bits}, {1 << (k * width)}")
            count = self.w.line(f"select i1 {more}, i32 {k + 1}, i32 {count}")
        self.emit(f"store i32 {count}, ptr {self.flag(3)}")

    def save(self, leaves: str) -> None:
        """Writes the rows of the lanes that stop."""
        self.emit(f"call void @save(ptr %job, ptr %ws, i64 %lane, i64 {self.bits(leaves)})")

    def begin(self) -> None:
        """Which lanes of a new block run, and the flags."""
        self.load_until()
        clock, until = self.load("clock"), self.load("until")
        places = ", ".join(f"i64 {k}" for k in range(self.t.width))
        kind = f"<{self.t.width} x i64>"
        index = self.w.op("add", self.splat("%lane", "i64"), f"<{places}>", kind)
        runs = self.w.line(f"icmp slt {kind} {index}, {self.splat(self.field('lanes'), 'i64')}")
        for mask in (
            self.compare("oeq", self.load("trip"), "zeroinitializer"),
            self.compare("olt", clock, until),
            self.compare("ogt", self.load("fraction"), "zeroinitializer"),
        ):
            runs = self.logic("and", runs, mask)
        unarmed = "zeroinitializer"
        for k in range(self.layout.nm):
            unarmed = self.logic("or", unarmed, self.compare("oeq", self.load("armed", k), "zeroinitializer"))
        self.set_flag(1, self.reduce("or", self.logic("and", runs, unarmed)))
        self.keep_running(runs)
        if self.controlled:
            self.store(self.t.splat(0.0), "taken")
        self.set_stop("" if self.controlled else self.periods(clock, self.period()), until)
        self.emit("ret void")

    def load_until(self) -> None:
        """The clock at which each lane of a new block stops; lanes beyond the last are copies of the last."""
        w, t, array = self.w, self.t, self.field("until")
        last, target = w.line(f"sub i64 {self.field('lanes')}, 1"), self.at("until")

        def copy(i: int | str) -> None:
            lane = w.line(f"add i64 %lane, {i}")
            lane = w.line(f"select i1 {w.line(f'icmp slt i64 {lane}, {last}')}, i64 {lane}, i64 {last}")
            value = w.line(f"load {t.scalar}, ptr {w.line(f'getelementptr {t.scalar}, ptr {array}, i64 {lane}')}")
            self.emit(f"store {t.scalar} {value}, ptr {w.line(f'getelementptr {t.scalar}, ptr {target}, i64 {i}')}")

        self.each(str(t.width), copy)

    def event(self) -> None:
        """Output ticks, then lanes that have reached the end."""
        if self.controlled:
            self.step_taken()
            return
        clock, until, period = self.load("clock"), self.load("until"), self.period()
        running = self.mask()
        periods = self.periods(clock, period)
        on_tick = self.compare("oeq", self.w.op("fadd", self.w.op("fmul", periods, period), self.origin()), clock)
        tick = self.logic("and", running, on_tick)
        self.emit(f"br i1 {self.reduce('or', tick)}, label %record, label %recorded\nrecord:")
        self.call_list("observe")
        self.record(tick, periods)
        self.emit("br label %recorded\nrecorded:")
        self.set_stop(periods, until)
        self.leave(running, self.compare("oge", clock, until))

    def step_taken(self) -> None:
        """Records every accepted step, then lanes that have reached the end or whose room is full."""
        steps, running, accepted = self.load("taken"), self.mask(), self.mask("accepted")
        self.set_time(0.0)  # of the clock, not of the sum of steps
        self.call_list("observe")
        self.record(accepted, steps)
        one = self.select(accepted, self.t.splat(1.0), self.t.splat(0.0))
        steps = self.w.op("fadd", self.load("taken"), one)
        self.store(steps, "taken")
        room = self.infinite_for_none(self.field("ticks"))
        ended = self.compare("oge", self.load("clock"), self.load("until"))
        self.leave(running, self.logic("or", ended, self.compare("oge", steps, room)))

    def leave(self, running: str, stops: str) -> None:
        """Saves the running lanes that stop."""
        leaves = self.logic("and", running, stops)
        self.emit(f"br i1 {self.reduce('or', leaves)}, label %leave, label %done\nleave:")
        self.save(leaves)
        self.keep_running(self.logic("and", running, self.logic("xor", leaves)))
        self.emit("br label %done\ndone:\n  ret void")

    def record(self, tick: str, periods: str) -> None:
        """Writes the channels of the lanes in `tick` to out[member, periods, :]."""
        w, t = self.w, self.t
        out, member, ticks, nc = (self.field(name) for name in ("out", "member", "ticks", "channels"))
        chan, numbers, bits = self.at("chan"), self.at("sum"), self.bits(tick)
        self.store(periods, "sum")

        def channels(i: int | str) -> None:
            skip, yes, ok, go = (self.label(name) for name in ("skip", "yes", "ok", "go"))
            due = w.line(f"trunc i64 {w.line(f'lshr i64 {bits}, {i}')} to i1")
            self.emit(f"br i1 {due}, label %{yes}, label %{skip}\n{yes}:")
            place = w.line(f"add i64 %lane, {i}")
            row = w.line(f"load i64, ptr {w.line(f'getelementptr i64, ptr {member}, i64 {place}')}")
            self.emit(f"br i1 {w.line(f'icmp sge i64 {row}, 0')}, label %{ok}, label %{skip}\n{ok}:")
            number = w.line(f"load {t.scalar}, ptr {w.line(f'getelementptr {t.scalar}, ptr {numbers}, i64 {i}')}")
            number = w.line(f"fptosi {t.scalar} {number} to i64")
            self.emit(f"br i1 {w.line(f'icmp slt i64 {number}, {ticks}')}, label %{go}, label %{skip}\n{go}:")
            line = w.line(f"add i64 {w.line(f'mul i64 {row}, {ticks}')}, {number}")
            target = w.line(f"getelementptr {t.scalar}, ptr {out}, i64 {w.line(f'mul i64 {line}, {nc}')}")

            def copy(c: int | str) -> None:
                first = w.line(f"mul i64 {c}, {t.width}")
                source = w.line(f"getelementptr {t.scalar}, ptr {chan}, i64 {w.line(f'add i64 {first}, {i}')}")
                value = w.line(f"load {t.scalar}, ptr {source}")
                self.emit(f"store {t.scalar} {value}, ptr {w.line(f'getelementptr {t.scalar}, ptr {target}, i64 {c}')}")

            self.each(nc, copy)
            self.emit(f"br label %{skip}\n{skip}:")

        self.emit(f"br i1 {w.line(f'icmp sgt i64 {nc}, 0')}, label %some, label %copied\nsome:")
        self.each(str(t.width), channels)
        self.emit("br label %copied\ncopied:")

    # -- rows and slots ----------------------------------------------------------------------------------------------

    def load_rows(self) -> None:
        """Rows of W lanes into slots; lanes beyond the last are copies of the last."""
        self.lines.extend(fill(LOAD_ROWS, self.t, table=0, name="@loads", pairs=len(self.space.loads())))

    def save_rows(self) -> None:
        """Slots of the lanes whose bit is set into rows."""
        self.lines.extend(fill(SAVE_ROWS, self.t, table=0, name="@saves", pairs=len(self.space.saves())))

    def copy_slots(self) -> None:
        """`count` slots to `targets`, lane by lane."""
        fields = {f"field_{name}": JOB.index(name) for name in ("lanes", "count", "slots", "targets")}
        self.lines.extend(fill(COPY_SLOTS, self.t, **fields))

    def evaluate(self) -> None:
        """One phase of every block; `count` slots go to `targets`."""

        def body() -> None:
            self.emit("call void @load(ptr %job, ptr %ws, i64 %lane)")
            self.set_vectors(str((1 << self.t.width) - 1))
            self.set_time(0.0)
            self.call_list("phase")
            self.emit("call void @copy_slots(ptr %job, ptr %ws, i64 %lane)")

        self.blocks(body)
