"""The LLVM module of one phase of a program for a GPU: what a thread evaluates of a lane where it stands.

The pieces are those of the step loop (`lane_loop`), and so are the bits; all numbers of a thread are its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shiftjax.kernels.gpu.kernel_module import LaneModule, kernel_module
from shiftjax.kernels.gpu.lane_builder import LaneBuilder
from shiftjax.kernels.gpu.lane_pieces import thread_pieces
from shiftjax.kernels.gpu.places import Places, Tuning
from shiftjax.kernels.lane_program import WRITES, LaneProgram, Layout
from shiftjax.kernels.llvm.stepper import copies, timed
from shiftjax.kernels.llvm.target import Target

ENTRY = "evaluate"
ARGUMENTS = (
    ("table", "ptr"), ("lanes", "i64"), ("count", "i64"), ("columns", "ptr"),  # as of `lane_loop`
    ("fresh", "ptr"), ("h", "double"), ("t0", "double"),
)  # fmt: skip


def fresh_rows(layout: Layout, phase: str) -> int:
    """Rows of what a phase gives beside those of the table, as `contract.Kernel.evaluate` returns them."""
    return sum(len(layout.slots(name)) for name in WRITES[phase] if name not in layout.columns())


class PhaseLane(LaneBuilder):
    """Emits `void lane(arguments, i64 lane, i64 column)` of one phase."""

    arguments = ARGUMENTS

    def __init__(
        self, program: LaneProgram, phase: str, target: Target, places: Places, functions: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(program.layout, program.method, target, copies(program, target), timed(program))
        self.places, self.functions = places, functions
        self.phase, self.whole = phase, program.layout  # `layout` has no channels, as that of the step loop

    def lane(self) -> None:
        """Loads a lane, evaluates the phase at its clock, saves what the phase writes."""
        self.workspace(self.layout.slot_count + self.whole.nc)
        self.load_rows(self.space.loads())
        self.set_time(0.0)
        self.call_list(self.phase)
        number = 0
        for name in WRITES[self.phase]:
            rows = self.whole.rows(name) if name in self.whole.columns() else None
            for k, slot in enumerate(self.whole.slots(name)):
                place = self.row(rows[k], "table") if rows is not None else self._fresh(number + k)
                self.emit(f"store {self.v} {self.load_slot(slot)}, ptr {place}, align {self.t.bytes}")
            number += 0 if rows is not None else len(self.whole.slots(name))
        self.emit("ret void")

    def uses_in_code(self, name: str) -> int:
        return 1

    def _fresh(self, number: int) -> str:
        """Pointer to the lane's number in a row of what goes to no row of the table."""
        place = self.w.line(f"add i64 {self.w.line(f'mul i64 %count, {number}')}, %lane")
        return self.w.line(f"getelementptr {self.v}, ptr %fresh, i64 {place}")


def phase_identity(program: LaneProgram, phase: str, target: Target, tuning: Tuning) -> str:
    """What decides the module."""
    pieces = [piece.identity() for piece in program.phase(phase)]
    return f"{phase}|{program.layout!r}|{program.method!r}|{pieces}|{tuning!r}|{target.identity()}"


def phase_module(program: LaneProgram, phase: str, target: Target, tuning: Tuning) -> LaneModule:
    """The module of a phase; its kernel is `ENTRY`, with the parameters `ARGUMENTS`."""
    places = Places({}, tuning)
    pieces = thread_pieces({phase: program.phase(phase)}, target, places)
    return kernel_module(
        ENTRY, pieces, target, places, lambda functions: PhaseLane(program, phase, target, places, functions)
    )
