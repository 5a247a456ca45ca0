"""LLVM text of what one thread does with one lane: `llvm.stage_builder` for a target of width 1.

The arithmetic is the same, and so are its bits. There are no masks, since a lane that stops leaves its thread; the
workspace is on the thread's stack, which LLVM turns into registers, but for what `places` says; stages that run the
same phases are a loop around one copy of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import ClassVar

from shiftjax.kernels.gpu.places import Places
from shiftjax.kernels.lane_program import WRITES
from shiftjax.kernels.llvm.stage_builder import StageBuilder


class LaneBuilder(StageBuilder, ABC):
    """Emits the function of a lane.

    Attributes:
        arguments: of its kernel, with their types. places: of its numbers. functions: of each list of pieces their
            functions.
    """

    arguments: ClassVar[tuple[tuple[str, str], ...]]
    places: Places
    functions: Mapping[str, Sequence[str]]

    @abstractmethod
    def lane(self) -> None:
        """The body of `void lane(arguments, i64 lane, i64 column)`, of a lane in that column of its tables."""

    # -- what differs from vectors of lanes --------------------------------------------------------------------------

    def field(self, name: str) -> str:
        """An argument."""
        if dict(self.arguments)[name] == "double" and self.t.precision == "f32":
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

    # -- a lane's numbers in the device's memory -----------------------------------------------------------------------

    def workspace(self, slots: int) -> None:
        """Room for so many slots beside the private ones, on the thread's stack."""
        self.emit(f"%memory = alloca [{self.space.private + slots} x {self.v}], align 64")
        self.emit(f"%ws = getelementptr {self.v}, ptr %memory, i64 {self.space.private}")

    def load_rows(self, pairs: Sequence[tuple[int, int]], table: str = "table") -> None:
        """Numbers of a table into slots, (row, slot) each; every row is read once."""
        rows: dict[int, str] = {}
        for row, slot in pairs:
            rows[row] = rows.get(row) or self.w.line(f"load {self.v}, ptr {self.row(row, table)}, align {self.t.bytes}")
            self.store_slot(rows[row], slot)

    def save_rows(self, pairs: Sequence[tuple[int, int]], table: str = "table") -> None:
        """Slots into the table."""
        for row, slot in pairs:
            self.emit(f"store {self.v} {self.load_slot(slot)}, ptr {self.row(row, table)}, align {self.t.bytes}")

    def place_of_lane(self, array: str) -> str:
        """Pointer to the lane's entry of an argument."""
        return self.w.line(f"getelementptr {self.v}, ptr %{array}, i64 %lane")

    def of_lane(self, array: str) -> str:
        """The lane's entry of an argument."""
        return self.w.line(f"load {self.v}, ptr {self.place_of_lane(array)}, align {self.t.bytes}")

    def row(self, row: int, table: str) -> str:
        """Pointer to the lane's number in a row of a table."""
        place = self.w.line(f"add i64 {self.w.line(f'mul i64 %lanes, {row}')}, %column")
        return self.w.line(f"getelementptr {self.v}, ptr %{table}, i64 {place}")

    def in_step(self) -> None:
        """Waits for the other warps of the block, so that all fetch the same code; threads that have ended are not
        waited for."""
        if self.places.tuning.lockstep:
            self.emit("call void @llvm.nvvm.barrier.cta.sync.all(i32 0)")

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
            self.before_calls(numbers[0])
            for phase in phases:
                self.call_list(phase)
                if "mon" in WRITES.get(phase, ()):
                    left -= 1
                    self.collect("max_mon" if left else "mon", first=first)
                    first = False
            self.after_calls(numbers[0])

    def loops(self) -> list[tuple[list[int], tuple[str, ...]]]:
        """Parts that are a loop, or one part, with their phases."""
        loops: list[tuple[list[int], tuple[str, ...]]] = []
        for phases, group in groupby(range(len(self.parts)), key=self.phases_of):
            numbers = [*group]
            whole = "accelerate" in phases and "project" not in phases  # collects monitors once a part, never last
            loops += [(numbers, phases)] if whole else [([number], phases) for number in numbers]
        return loops

    def uses_in_code(self, name: str) -> int:
        """How often the code of a step has a list of pieces."""
        return sum(name in phases for _, phases in self.loops())

    def phases_of(self, number: int) -> tuple[str, ...]:
        """The phases of a part that have anything to do."""
        return tuple(phase for phase in self.parts[number].phases if self.wanted(phase))

    def stages(self, numbers: Sequence[int], phases: Sequence[str], *, first: bool) -> None:
        """Parts as a loop: a switch takes the combinations of each, the phases are there once.

        Args:
            first: whether no monitor has been collected before.
        """

        def body(stage: str) -> None:
            self.one_of(stage, [partial(self.before_stage, number) for number in numbers])
            for phase in phases:
                self.call_list(phase)
            self.collect_stage(stage, first=first)
            self.after_stage(stage, numbers)

        self.looped(len(numbers), body)

    def before_stage(self, number: int) -> None:
        """What a part of a loop of them does before its calls."""
        self.before_phases(number)
        self.before_calls(number)

    def collect_stage(self, stage: str, *, first: bool) -> None:
        """`collect` in a loop."""
        begins = self.w.line(f"icmp eq i32 {stage}, {0 if first else -1}")
        for k in range(self.layout.nm):
            value = self.w.line(f"select i1 {begins}, {self.v} {self.load('mon', k)}, {self.v} {self.largest(k)}")
            self.store(value, "max_mon", k)

    def after_stage(self, stage: str, numbers: Sequence[int]) -> None:
        """What a part of a loop of them does after its calls."""

    # -- code that is there once ---------------------------------------------------------------------------------------

    def looped(self, count: int, body: Callable[[str], None]) -> None:
        """`body` for every i32 below a count, which is not 0."""
        before, head, latch, out = (self.label(name) for name in ("before", "stages", "latch", "out"))
        stage = f"%{head}.s"
        self.emit(f"br label %{before}\n{before}:\n  br label %{head}\n{head}:")
        self.emit(f"{stage} = phi i32 [ 0, %{before} ], [ {stage}.next, %{latch} ]")
        body(stage)
        self.emit(f"br label %{latch}\n{latch}:")
        self.emit(f"{stage}.next = add i32 {stage}, 1\n  {stage}.more = icmp ult i32 {stage}.next, {count}")
        self.emit(f"br i1 {stage}.more, label %{head}, label %{out}, !llvm.loop !3\n{out}:")

    def one_of(self, which: str, bodies: Sequence[Callable[[], None]]) -> None:
        """One of several bodies, by an i32."""
        cases, join = [self.label("case") for _ in bodies], self.label("join")
        table = " ".join(f"i32 {k}, label %{case}" for k, case in enumerate(cases) if k)
        self.emit(f"switch i32 {which}, label %{cases[0]} [ {table} ]")
        for body, case in zip(bodies, cases, strict=True):
            self.emit(f"{case}:")
            body()
            self.emit(f"br label %{join}")
        self.emit(f"{join}:")

    def among(self, which: str, numbers: Sequence[int]) -> str:
        """One of several numbers, an i64, by an i32."""
        chosen = str(numbers[0])
        for k, number in enumerate(numbers[1:], 1):
            chosen = self.w.line(f"select i1 {self.w.line(f'icmp eq i32 {which}, {k}')}, i64 {number}, i64 {chosen}")
        return chosen
