"""LLVM text of the step loop of one lane a thread: `step_loop.StepLoop` for a target of width 1.

The arithmetic is that of `llvm.stage_builder`, and so are its bits. There are no masks, since a lane that stops leaves
its thread; the workspace is on the thread's stack, which LLVM turns into registers, but for what `places` says; stages
that run the same phases are a loop around one copy of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from shiftjax.kernels.gpu.places import Places
from shiftjax.kernels.guards import MONITORS, decide, next_size, passes
from shiftjax.kernels.lane_program import WRITES, LaneProgram
from shiftjax.kernels.llvm.ir_values import LaneMask
from shiftjax.kernels.llvm.stage_builder import StageBuilder
from shiftjax.kernels.llvm.stepper import Attempt, copies, timed
from shiftjax.kernels.llvm.target import Target

ARGUMENTS = (  # of the kernel
    ("table", "ptr"), ("lanes", "i64"), ("until", "ptr"), ("member", "ptr"), ("out", "ptr"),
    ("first", "i64"),  # tick of `out`
    ("ticks", "i64"), ("channels", "i64"), ("every", "i64"), ("origin", "i64"), ("h", "double"), ("t0", "double"),
    ("steps", "i64"),  # that a lane may attempt in this launch
    ("taken", "ptr"),  # (B,) steps of controlled lanes accepted so far
    ("unfinished", "ptr"),  # an i32, 1 where some lane has more to do
)  # fmt: skip
KINDS = dict(ARGUMENTS)


class LaneLoop(StageBuilder):
    """Emits `void lane(arguments, i64 lane)`.

    Args:
        functions: of each phase the names of its pieces' functions.
    """

    def __init__(
        self, program: LaneProgram, target: Target, places: Places, functions: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(program.layout, program.method, target, copies(program, target), timed(program))
        self.places, self.functions, self.channels = places, functions, program.layout.nc

    # -- what differs from vectors of lanes --------------------------------------------------------------------------

    def field(self, name: str) -> str:
        """An argument."""
        if KINDS[name] == "double" and self.t.precision == "f32":
            return self.w.line(f"fptrunc double %{name} to float")
        return f"%{name}"

    def load(self, region: str, index: int | str = 0) -> str:
        """The number in a slot."""
        return self.load_slot(self._slot(region, index))

    def store(self, value: str, region: str, index: int | str = 0) -> None:
        """Stores one there."""
        self.store_slot(value, self._slot(region, index))

    def _slot(self, region: str, index: int | str) -> int:
        assert isinstance(index, int), "loops over slots are unrolled"
        return self.space.offset[region] + index

    def load_slot(self, slot: int) -> str:
        """The number in a slot by its place in the workspace."""
        pointer, how = self.places.pointer(self.w, slot)
        return self.w.line(f"load {how}{self.v}, {pointer}, align {self.t.bytes}")

    def store_slot(self, value: str, slot: int) -> None:
        """Stores one there."""
        pointer, how = self.places.pointer(self.w, slot)
        self.emit(f"store {how}{self.v} {value}, {pointer}, align {self.t.bytes}")

    def each(self, count: int | str, body: Callable[[int | str], None]) -> None:
        """Always unrolled: a loop over slots would keep the workspace in memory."""
        assert isinstance(count, int)
        for k in range(count):
            body(k)

    def call_list(self, name: str) -> None:
        """Runs a phase."""
        for function in self.functions[name]:
            self.emit(f"call void @{function}(ptr %ws, ptr poison)")

    def largest(self, k: int | str) -> str:
        """The larger of max_mon and mon, NaN where one is or where max_mon was infinite."""
        most, mon = self.load("max_mon", k), self.load("mon", k)
        value = self.select(self.compare("ogt", most, mon), most, mon)
        return self.w.fma(most, self.t.splat(0.0), value)

    def scalar(self, mask: str) -> str:
        """The i1 of a mask."""
        return self.w.line(f"extractelement {self.i1} {mask}, i64 0")

    def branch(self, mask: str, yes: str, no: str) -> None:
        """Goes to a block by a mask."""
        self.emit(f"br i1 {self.scalar(mask)}, label %{yes}, label %{no}")

    # -- a lane ------------------------------------------------------------------------------------------------------

    def lane(self) -> None:
        """Loads a lane, steps it to its stop, to its trip or as far as this launch goes, saves it."""
        self.emit(f"%memory = alloca [{self.space.size + self.channels} x {self.v}], align 64")
        self.emit("%left = alloca i64")
        self.emit(f"%ws = getelementptr {self.v}, ptr %memory, i64 {self.space.private}")
        self.emit("store i64 %steps, ptr %left")
        rows: dict[int, str] = {}
        for row, slot in self.space.loads():
            rows[row] = rows.get(row) or self.w.line(f"load {self.v}, ptr {self.row(row)}, align {self.t.bytes}")
            self.store_slot(rows[row], slot)
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
        if self.places.tuning.lockstep:  # threads that have ended are not waited for
            self.emit("call void @llvm.nvvm.barrier.cta.sync.all(i32 0)")
        self.one_step()
        self.check()
        self.accept()
        self.one_more()
        self.emit("stopped:")
        for row, slot in self.space.saves():
            self.emit(f"store {self.v} {self.load_slot(slot)}, ptr {self.row(row)}, align {self.t.bytes}")
        if self.controlled:
            self.emit(f"store {self.v} {self.load('taken')}, ptr {self.place_of_lane('taken')}, align {self.t.bytes}")
        self.emit("br label %left_alone\nleft_alone:\n  ret void")

    def place_of_lane(self, array: str) -> str:
        """Pointer to the lane's entry of an argument."""
        return self.w.line(f"getelementptr {self.v}, ptr %{array}, i64 %lane")

    def of_lane(self, array: str) -> str:
        """The lane's entry of an argument."""
        return self.w.line(f"load {self.v}, ptr {self.place_of_lane(array)}, align {self.t.bytes}")

    def row(self, row: int) -> str:
        """Pointer to the lane's number in a row of the table."""
        place = self.w.line(f"add i64 {self.w.line(f'mul i64 %lanes, {row}')}, %lane")
        return self.w.line(f"getelementptr {self.v}, ptr %table, i64 {place}")

    def one_more(self) -> None:
        """Goes on with the next step, if this launch has one left."""
        self.emit("next:")
        left = self.w.line(f"sub i64 {self.w.line('load i64, ptr %left')}, 1")
        self.emit(f"store i64 {left}, ptr %left")
        more = self.w.line(f"icmp sgt i64 {left}, 0")
        self.emit(f"br i1 {more}, label %again, label %out_of_steps\nout_of_steps:")
        self.emit("store i32 1, ptr %unfinished\n  br label %stopped")

    # -- a step ------------------------------------------------------------------------------------------------------

    def one_step(self) -> None:
        """As in `StageBuilder`; parts that run the same phases one after the other are a loop around one copy."""
        self.set_size()
        left = sum("mon" in WRITES.get(phase, ()) for part in self.parts for phase in part.phases)
        first = True
        for numbers, phases in self.loops():
            if len(numbers) > 1:
                left -= len(numbers)
                self.stages(numbers, phases, first=first)
                first = False
                continue
            self.before_phases(numbers[0])
            for phase in phases:
                self.call_list(phase)
                if "mon" in WRITES.get(phase, ()):
                    left -= 1
                    self.collect("max_mon" if left else "mon", first=first)
                    first = False

    def loops(self) -> list[tuple[list[int], tuple[str, ...]]]:
        """Parts that are a loop, or one part, with their phases."""
        loops: list[tuple[list[int], tuple[str, ...]]] = []
        for phases, group in groupby(range(len(self.parts)), key=self.phases_of):
            numbers = [*group]
            whole = "accelerate" in phases and "project" not in phases  # collects monitors once a part, never last
            loops += [(numbers, phases)] if whole else [([number], phases) for number in numbers]
        return loops

    def uses_in_code(self, phase: str) -> int:
        """How often the code of a step has a phase."""
        if phase in ("observe", "accumulate"):
            return 1
        return sum(phase in phases for _, phases in self.loops())

    def phases_of(self, number: int) -> tuple[str, ...]:
        """The phases of a part that have anything to do."""
        return tuple(phase for phase in self.parts[number].phases if self.wanted(phase))

    def stages(self, numbers: Sequence[int], phases: Sequence[str], *, first: bool) -> None:
        """Parts as a loop: a switch takes the combinations of each, the phases are there once.

        Args:
            first: whether no monitor has been collected before.
        """
        before, head, join = (self.label(name) for name in ("before", "stages", "join"))
        cases = [self.label("case") for _ in numbers]
        stage = f"%{head}.s"
        self.emit(f"br label %{before}\n{before}:\n  br label %{head}\n{head}:")
        self.emit(f"{stage} = phi i32 [ 0, %{before} ], [ {stage}.next, %{join}.end ]")
        table = " ".join(f"i32 {k}, label %{case}" for k, case in enumerate(cases) if k)
        self.emit(f"switch i32 {stage}, label %{cases[0]} [ {table} ]")
        for number, case in zip(numbers, cases, strict=True):
            self.emit(f"{case}:")
            self.before_phases(number)
            self.emit(f"br label %{join}")
        self.emit(f"{join}:")
        for phase in phases:
            self.call_list(phase)
        begins = self.w.line(f"icmp eq i32 {stage}, {0 if first else -1}")
        for k in range(self.layout.nm):
            value = self.w.line(f"select i1 {begins}, {self.v} {self.load('mon', k)}, {self.v} {self.largest(k)}")
            self.store(value, "max_mon", k)
        self.emit(f"br label %{join}.end\n{join}.end:")
        self.emit(f"{stage}.next = add i32 {stage}, 1\n  {stage}.more = icmp ult i32 {stage}.next, {len(numbers)}")
        self.emit(f"br i1 {stage}.more, label %{head}, label %{join}.out, !llvm.loop !3\n{join}.out:")

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
