"""LLVM text of a leg of steps and of its way back, one lane a thread: `llvm.leg_builder` for a target of width 1.

Two kernels, since they share no piece: one runs the steps again and leaves the stack of each lane in the device's
memory, number by number beside those of its neighbours; the other one goes back over it. Either goes over some steps
in a launch: lanes stand in their table, cotangents in theirs, meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from shiftjax.kernels.adjoint import AdjointProgram
from shiftjax.kernels.gpu.kernel_module import LaneModule, kernel_module
from shiftjax.kernels.gpu.lane_builder import LaneBuilder
from shiftjax.kernels.gpu.lane_pieces import thread_pieces
from shiftjax.kernels.gpu.places import Places, Tuning
from shiftjax.kernels.lane_program import REVERSED, Piece
from shiftjax.kernels.llvm.leg_builder import MOVING, READ, LegBuilder, place_slots, record_slots
from shiftjax.kernels.llvm.stepper import copies, timed
from shiftjax.kernels.llvm.sums import Sum
from shiftjax.kernels.llvm.sweeper import sweeper_identity
from shiftjax.kernels.llvm.target import Target

AHEAD, BACK = "leg_ahead", "leg_back"  # kernels
ARGUMENTS = (  # of both
    ("table", "ptr"), ("lanes", "i64"), ("bars", "ptr"), ("member", "ptr"), ("out", "ptr"),
    ("first", "i64"),  # tick of `out`, the cotangents of what was recorded
    ("ticks", "i64"), ("every", "i64"), ("origin", "i64"), ("h", "double"), ("t0", "double"),
    ("stack", "ptr"),  # (steps + 1, numbers of a step, B)
    ("begin", "i64"), ("end", "i64"),  # begin <= step < end in this launch
)  # fmt: skip


class LaneLeg(LegBuilder, LaneBuilder):
    """What both have in common.

    Args:
        functions: of each list of pieces the names of their functions.
    """

    arguments = ARGUMENTS

    def __init__(
        self, adjoint: AdjointProgram, target: Target, tuning: Tuning, functions: Mapping[str, Sequence[str]]
    ) -> None:
        program = adjoint.program
        super().__init__(adjoint.layout, program.method, target, copies(program, target), timed(program))
        self.places, self.functions, self.channels = Places({}, tuning), functions, adjoint.layout.layout.nc

    def begin(self) -> str:
        """Loads a lane, its other numbers 0; returns the step after its last one in this launch."""
        self.workspace(self.adjoint.slot_count)
        size = (self.space.private + self.adjoint.slot_count) * self.t.bytes
        self.emit(f"call void @llvm.memset.p0.i64(ptr align 64 %memory, i8 0, i64 {size}, i1 false)")
        self.load_rows(self._of_groups(self.space.loads(), READ))
        self.load_rows(self.bar_pairs(), "bars")
        self.set_size()
        steps = self.w.line(f"extractelement {self.v} {self.load('steps')}, i64 0")
        steps = self.w.line(f"fptosi {self.t.scalar} {steps} to i64")
        fewer = self.w.line(f"icmp slt i64 {steps}, %end")
        return self.w.line(f"select i1 {fewer}, i64 {steps}, i64 %end")

    def _of_groups(self, pairs: Sequence[tuple[int, int]], names: Sequence[str]) -> list[tuple[int, int]]:
        """Those pairs (row, slot) whose rows are of some groups."""
        rows = {row for name in names for row in self.layout.rows(name)}
        return [pair for pair in pairs if pair[0] in rows]

    def over(self, last: str, body: Callable[[str], None], end: Callable[[], None]) -> None:
        """`body` as often as there are steps %begin <= k < last, by how often it was run before; then `end`, if any."""
        count = self.w.line(f"sub i64 {last}, %begin")
        self.emit(f"br label %before\nbefore:\n  %some = icmp sgt i64 {count}, 0")
        self.emit("br i1 %some, label %steps, label %none\nsteps:")
        self.emit("%done = phi i64 [ 0, %before ], [ %done.next, %latch ]")
        self.in_step()
        body("%done")
        self.emit("br label %latch\nlatch:\n  %done.next = add i64 %done, 1")
        self.emit(f"%more = icmp slt i64 %done.next, {count}")
        self.emit("br i1 %more, label %steps, label %end_of_steps, !llvm.loop !3\nend_of_steps:")
        end()
        self.emit("br label %none\nnone:\n  ret void")

    # -- the stack ---------------------------------------------------------------------------------------------------

    def step_at(self, k: str) -> str:
        number = self.w.line(f"mul i64 {k}, {record_slots(self.adjoint, self.method)}")
        return self._number_at(self.place_of_lane("stack"), number)

    def keep(self, rec: str, number: int | str, region: str, count: int) -> None:
        for slot, place in self._numbers(rec, number, region, count):
            self.emit(f"store {self.v} {self.load_slot(slot)}, ptr {place}, align {self.t.bytes}")

    def recall(self, region: str, rec: str, number: int | str, count: int) -> None:
        for slot, place in self._numbers(rec, number, region, count):
            self.store_slot(self.w.line(f"load {self.v}, ptr {place}, align {self.t.bytes}"), slot)

    def recalled(self, rec: str, number: int) -> str:
        return self.w.line(f"load {self.v}, ptr {self._number_at(rec, number)}, align {self.t.bytes}")

    def _numbers(self, rec: str, number: int | str, region: str, count: int) -> Iterator[tuple[int, str]]:
        """Slots and their places on the stack."""
        place = self._number_at(rec, number) if count else ""
        for k in range(count):
            yield self.space.offset[region] + k, place
            place = self._number_at(place, 1)

    def _number_at(self, rec: str, number: int | str) -> str:
        return self.w.line(f"getelementptr {self.v}, ptr {rec}, i64 {self.w.line(f'mul i64 %lanes, {number}')}")


class LegAhead(LaneLeg):
    """Emits the steps of a lane, and what is recorded of them."""

    def lane(self) -> None:
        """Each step, then the state after the last one."""
        last = self.begin()

        def end() -> None:
            self.rec = self.step_at(last)
            self.record(0)
            self.save_rows(self._of_groups(self.space.saves(), MOVING))

        self.over(last, lambda done: self.ahead(self.w.line(f"add i64 %begin, {done}")), end)

    def uses_in_code(self, name: str) -> int:
        return 1 if name == "measure" else super().uses_in_code(name)

    def after_stage(self, stage: str, numbers: Sequence[int]) -> None:
        self.record_at(self.among(stage, [self.stacked[k][0] * place_slots(self.adjoint) for k in numbers]))

    def collect(self, target: str, *, first: bool) -> None:
        """Nobody asks for monitors."""

    def collect_stage(self, stage: str, *, first: bool) -> None:
        """Nor in a loop."""

    def add_seeds(self, k: str) -> None:
        raise AssertionError("a step ahead has none")


class LegBack(LaneLeg):
    """Emits the way back of a lane."""

    def lane(self) -> None:
        """The last step first."""
        last = self.begin()
        top = self.w.line(f"sub i64 {last}, 1")

        def step(done: str) -> None:
            self.back(self.w.line(f"sub i64 {top}, {done}"))

        self.over(last, step, lambda: self.save_rows(self.bar_pairs()[:-1], "bars"))

    def uses_in_code(self, name: str) -> int:
        if name in ("back_measure", "back_observe", "linearize"):
            return 1
        return sum(name.removeprefix("back_") in self.back_parts[numbers[0]].phases for numbers in self._loops_back())

    def parts_back(self, sums: list[list[Sum]], stored: list[set[str]]) -> None:
        """Parts that run the same phases one after the other are a loop around one copy, as on the way ahead."""
        for numbers in self._loops_back():
            parts = [(self.back_parts[k], sums[k], stored[k]) for k in numbers]
            if len(parts) == 1:
                self.part_back(*parts[0])
                continue

            def body(stage: str, parts: list = parts) -> None:
                self.recall_at(self.among(stage, [part.before * place_slots(self.adjoint) for part, *_ in parts]))
                self.one_of(stage, [partial(self.set_time, part.at) for part, *_ in parts])
                for phase in parts[0][0].phases:
                    self.call_list(f"back_{phase}")
                self.one_of(stage, [partial(self.combine_back, some, names) for _, some, names in parts])

            self.looped(len(parts), body)

    def _loops_back(self) -> list[list[int]]:
        """Parts on the way back that are a loop, or one part."""
        loops: list[list[int]] = []
        for phases, group in groupby(range(len(self.back_parts)), key=lambda k: self.back_parts[k].phases):
            numbers = [*group]
            loops += [numbers] if phases and "project" not in phases else [[number] for number in numbers]
        return loops

    # -- cotangents of channels --------------------------------------------------------------------------------------

    def add_seeds(self, k: str) -> None:
        if not self.channels:
            return
        w, t = self.w, self.t
        yes, no = self.label("seeds"), self.label("seeded")
        clock, period = self.load("clock"), self.period()
        periods = self.periods(clock, period)
        ticks = w.op("fadd", w.op("fmul", periods, period), self.origin())
        due = self.scalar(self.compare("oeq", ticks, clock))
        row = w.line(f"load i64, ptr {w.line('getelementptr i64, ptr %member, i64 %lane')}")
        number = w.line(f"fptosi {t.scalar} {w.line(f'extractelement {self.v} {periods}, i64 0')} to i64")
        number = w.line(f"sub i64 {number}, %first")
        for wanted in (f"icmp sge i64 {row}, 0", f"icmp ult i64 {number}, %ticks"):
            due = w.line(f"and i1 {due}, {w.line(wanted)}")
        self.emit(f"br i1 {due}, label %{yes}, label %{no}\n{yes}:")
        line = w.line(f"add i64 {w.line(f'mul i64 {row}, %ticks')}, {number}")
        line = w.line(f"mul i64 {line}, {self.channels}")
        for c in range(self.channels):
            place = w.line(f"getelementptr {self.v}, ptr %out, i64 {w.line(f'add i64 {line}, {c}')}")
            self.store(w.line(f"load {self.v}, ptr {place}, align {t.bytes}"), "bar_chan", c)
        self.call_list("back_observe")
        self.emit(f"br label %{no}\n{no}:")


def lists_of(adjoint: AdjointProgram, kernel: str) -> dict[str, tuple[Piece, ...]]:
    """The pieces that a kernel runs, by the list they are in."""
    program, method = adjoint.program, adjoint.method
    if kernel == BACK:
        lists = {f"back_{phase}": getattr(adjoint, phase) for phase in REVERSED}
        return lists | ({"linearize": program.linearize} if method.gamma else {})
    phases = ("drift", "accelerate", "project", "linearize", "solve")
    return {phase: program.phase(phase) for phase in phases} | {"measure": adjoint.metrics}


def leg_module(adjoint: AdjointProgram, kernel: str, target: Target, tuning: Tuning) -> LaneModule:
    """The module of `AHEAD` or `BACK`, with the parameters `ARGUMENTS`."""
    made = {AHEAD: LegAhead, BACK: LegBack}[kernel]
    places = Places({}, tuning)
    pieces = thread_pieces(lists_of(adjoint, kernel), target, places)
    return kernel_module(kernel, pieces, target, places, partial(made, adjoint, target, tuning))


def leg_identity(adjoint: AdjointProgram, kernel: str, target: Target, tuning: Tuning) -> str:
    """What decides a module."""
    lists = {name: [piece.identity() for piece in some] for name, some in lists_of(adjoint, kernel).items()}
    return f"{kernel} {sweeper_identity(adjoint)}|{lists}|{tuning!r}|{target.identity()}"
