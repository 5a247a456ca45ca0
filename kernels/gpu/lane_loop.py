"""LLVM text of the step loop of one lane a thread: `step_loop.StepLoop` for a target of width 1, and its module."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from shiftjax.kernels.gpu.kernel_module import LaneModule, kernel_module
from shiftjax.kernels.gpu.lane_builder import LaneBuilder
from shiftjax.kernels.gpu.lane_pieces import thread_pieces
from shiftjax.kernels.gpu.places import Places, Tuning, places_of
from shiftjax.kernels.guards import MONITORS, decide, next_size, passes
from shiftjax.kernels.lane_program import PHASES, LaneProgram
from shiftjax.kernels.llvm.ir_builder import WorkspaceLayout
from shiftjax.kernels.llvm.ir_values import LaneMask
from shiftjax.kernels.llvm.stepper import Attempt, copies, timed
from shiftjax.kernels.llvm.target import Target

ENTRY = "advance"
ARGUMENTS = (  # of the kernel
    ("table", "ptr"), ("lanes", "i64"),  # of the table
    ("count", "i64"), ("columns", "ptr"),  # that run, and numbers (i32) of their columns; null for all in order
    ("until", "ptr"), ("member", "ptr"), ("out", "ptr"),
    ("first", "i64"),  # tick of `out`
    ("ticks", "i64"), ("channels", "i64"), ("every", "i64"), ("origin", "i64"), ("h", "double"), ("t0", "double"),
    ("steps", "i64"),  # that a lane may attempt in this launch
    ("taken", "ptr"),  # (B,) steps of controlled lanes accepted so far
    ("unfinished", "ptr"),  # an i32, 1 where some lane has more to do
)  # fmt: skip


class LaneLoop(LaneBuilder):
    """Emits `void lane(arguments, i64 lane, i64 column)`.

    Args:
        functions: of each phase the names of its pieces' functions.
    """

    arguments = ARGUMENTS

    def __init__(
        self, program: LaneProgram, target: Target, places: Places, functions: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(program.layout, program.method, target, copies(program, target), timed(program))
        self.places, self.functions, self.channels = places, functions, program.layout.nc

    # -- a lane ------------------------------------------------------------------------------------------------------

    def lane(self) -> None:
        """Loads a lane, steps it to its stop, to its trip or as far as this launch goes, saves it."""
        self.workspace(self.layout.slot_count + self.channels)
        self.emit("%left = alloca i64\n  store i64 %steps, ptr %left")
        self.load_rows(self.space.loads())
        self.store(self.of_lane("until"), "until")
        clock, until = self.load("clock"), self.load("until")
        runs = self.logic(
            "and", self.compare("oeq", self.load("trip"), "zeroinitializer"), self.compare("olt", clock, until)
        )
        runs = self.logic("and", runs, self.compare("ogt", self.load("fraction"), "zeroinitializer"))
        if self.controlled:
            self.store_mask("splat (i1 true)")  # the lane is active
            taken = self.of_lane("taken")
            self.store(taken, "taken")
            runs = self.logic("and", runs, self.compare("olt", taken, self.room()))
        self.set_stop(self.periods(clock, self.period()), until)
        self.branch(runs, "again", "left_alone")
        self.emit("again:")
        self.in_step()
        self.one_step()
        self.check()
        self.accept()
        self.one_more()
        self.emit("stopped:")
        self.save_rows(self.space.saves())
        if self.controlled:
            self.emit(f"store {self.v} {self.load('taken')}, ptr {self.place_of_lane('taken')}, align {self.t.bytes}")
        self.emit("br label %left_alone\nleft_alone:\n  ret void")

    def one_more(self) -> None:
        """Goes on with the next step, if this launch has one left."""
        self.emit("next:")
        left = self.w.line(f"sub i64 {self.w.line('load i64, ptr %left')}, 1")
        self.emit(f"store i64 {left}, ptr %left")
        more = self.w.line(f"icmp sgt i64 {left}, 0")
        self.emit(f"br i1 {more}, label %again, label %out_of_steps\nout_of_steps:")
        self.emit("store i32 1, ptr %unfinished\n  br label %stopped")

    # -- accept or stop ----------------------------------------------------------------------------------------------

    def uses_in_code(self, name: str) -> int:
        return 1 if name in ("observe", "accumulate") else super().uses_in_code(name)

    def check(self) -> None:
        """To `accept`; a lane that trips goes back to the state before the step and leaves."""
        step = Attempt(self)
        good = passes(step).text
        for k in range(self.layout.nm):
            good = self.logic("and", good, self.compare("une", self.load("armed", k), "zeroinitializer"))
        self.emit(f"br i1 {self.scalar(good)}, label %accept, label %doubt, !prof !0\ndoubt:")
        decision = decide(step)
        self.store(decision.trip.text, "trip")
        if decision.again is not None:
            self.branch(decision.again.text, "retry", "decided")
            self.emit("retry:")
            self.store(decision.retry.text, "fraction")
            self.back()
            self.emit("br label %next\ndecided:")
        self.branch((decision.trip == step.number(0.0)).text, "arm", "tripped")
        self.emit("arm:")
        for k in range(self.layout.nm):
            value = step.where(MONITORS.holds(step, k), step.number(1.0), step.before("armed", k))
            self.store(value.text, "armed", k)
        self.emit("br label %accept\ntripped:")
        self.back()
        self.emit("br label %stopped")

    def back(self) -> None:
        """The state before the step."""
        for region in ("q", "x", "dx"):
            for k in range(len(self.layout.slots(region))):
                self.store(self.load(f"{region}0", k), region, k)

    def accept(self) -> None:
        """Accumulators, clock, and what is recorded; ends at `next` or `stopped`."""
        self.emit("accept:")
        self.call_list("accumulate")
        for new, count in {"rep": self.layout.nr, "event": self.layout.ne, "event_rate": self.layout.ne}.items():
            for k in range(count):
                self.store(self.load(new, k), f"{new}0", k)
        if self.controlled:
            self.accept_controlled()
            return
        self.store(self.w.op("fadd", self.load("clock"), self.load("fraction")), "clock")
        clock, until = self.load("clock"), self.load("until")
        self.branch(self.compare("oge", clock, self.load("stop")), "due", "next")
        self.emit("due:")
        if self.channels:
            period = self.period()
            periods = self.periods(clock, period)
            ticks = self.w.op("fadd", self.w.op("fmul", periods, period), self.origin())
            self.record(self.scalar(self.compare("oeq", ticks, clock)), periods)
        self.set_stop(self.periods(clock, self.period()), until)
        self.branch(self.compare("oge", clock, until), "stopped", "next")

    def accept_controlled(self) -> None:
        """Every step is recorded; a lane ends where its room is full."""
        cut = LaneMask(self, self.mask("cut"))
        grown = next_size(Attempt(self), cut)
        self.store(grown.text, "fraction")
        self.store(self.load("next"), "clock")
        if self.channels:
            self.record("true", self.load("taken"))
        taken = self.w.op("fadd", self.load("taken"), self.t.splat(1.0))
        self.store(taken, "taken")
        ended = self.compare("oge", self.load("clock"), self.load("until"))
        full = self.compare("oge", taken, self.room())
        self.branch(self.logic("or", ended, full), "stopped", "next")

    def room(self) -> str:
        """How many steps of a controlled lane can be recorded."""
        return self.infinite_for_none(self.field("ticks"))

    def record(self, due: str, periods: str) -> None:
        """Writes the channels of a lane to out[member, periods - first, :]."""
        w, t = self.w, self.t
        row = w.line(f"load i64, ptr {w.line('getelementptr i64, ptr %member, i64 %lane')}")
        number = w.line(f"fptosi {t.scalar} {w.line(f'extractelement {self.v} {periods}, i64 0')} to i64")
        number = w.line(f"sub i64 {number}, %first")
        for wanted in ("icmp sgt i64 %channels, 0", f"icmp sge i64 {row}, 0", f"icmp ult i64 {number}, %ticks"):
            due = w.line(f"and i1 {due}, {w.line(wanted)}")
        self.emit(f"br i1 {due}, label %observe, label %observed\nobserve:")
        self.set_time(0.0)
        self.call_list("observe")
        line = w.line(f"add i64 {w.line(f'mul i64 {row}, %ticks')}, {number}")
        line = w.line(f"mul i64 {line}, %channels")
        for c in range(self.channels):
            place = w.line(f"getelementptr {self.v}, ptr %out, i64 {w.line(f'add i64 {line}, {c}')}")
            self.emit(f"store {self.v} {self.load('chan', c)}, ptr {place}, align {t.bytes}")
        self.emit("br label %observed\nobserved:")


def program_places(program: LaneProgram, target: Target, tuning: Tuning) -> Places:
    """Where the numbers of a program's lanes are: what is recorded and measured moves none of them."""
    bare = dataclasses.replace(program.layout, nc=0, na=0)
    size = WorkspaceLayout(bare, program.method).size
    return places_of(WorkspaceLayout(program.layout, program.method), size, target, tuning)


def program_identity(program: LaneProgram, target: Target, tuning: Tuning) -> str:
    """What decides the module."""
    pieces = [(phase, [piece.identity() for piece in program.phase(phase)]) for phase in PHASES]
    return f"{program.layout!r}|{program.method!r}|{timed(program)}|{pieces}|{tuning!r}|{target.identity()}"


def lane_module(program: LaneProgram, target: Target, tuning: Tuning) -> LaneModule:
    """The module of a program; its kernel is `ENTRY`, with the parameters `ARGUMENTS`."""
    places = program_places(program, target, tuning)
    pieces = thread_pieces({phase: program.phase(phase) for phase in PHASES}, target, places)
    return kernel_module(ENTRY, pieces, target, places, lambda functions: LaneLoop(program, target, places, functions))
