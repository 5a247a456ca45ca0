"""The LLVM module of one phase of a program for a GPU: what a thread evaluates of a lane where it stands.

The pieces are those of the step loop (`lane_module`), and so are the bits; all numbers of a thread are its own.
"""

from __future__ import annotations

from shiftjax.kernels.gpu.kernel_text import METADATA, kernel_text, number_bank, support
from shiftjax.kernels.gpu.lane_loop import LaneLoop
from shiftjax.kernels.gpu.lane_pieces import thread_piece
from shiftjax.kernels.gpu.places import Places, Tuning
from shiftjax.kernels.lane_program import PHASES, WRITES, LaneProgram, Layout
from shiftjax.kernels.llvm.emitter import intrinsics
from shiftjax.kernels.llvm.target import Target

ARGUMENTS = (
    ("table", "ptr"), ("lanes", "i64"), ("count", "i64"), ("columns", "ptr"),  # as of `lane_loop`
    ("fresh", "ptr"), ("h", "double"), ("t0", "double"),
)  # fmt: skip


def fresh_rows(layout: Layout, phase: str) -> int:
    """Rows of what a phase gives beside those of the table, as `contract.Kernel.evaluate` returns them."""
    return sum(len(layout.slots(name)) for name in WRITES[phase] if name not in layout.columns())


class PhaseLane(LaneLoop):
    """Emits `void lane(arguments, i64 lane, i64 column)` of one phase."""

    def __init__(self, program: LaneProgram, phase: str, target: Target, functions: list[str]) -> None:
        every = {name: functions if name == phase else [] for name in PHASES}
        super().__init__(program, target, Places({}, Tuning()), every)
        self.phase, self.whole = phase, program.layout  # `layout` has no channels, as that of the step loop

    def lane(self) -> None:
        """Loads a lane, evaluates the phase at its clock, saves what the phase writes."""
        self.emit(f"%memory = alloca [{self.space.size + self.channels} x {self.v}], align 64")
        self.emit(f"%ws = getelementptr {self.v}, ptr %memory, i64 {self.space.private}")
        for row, slot in self.space.loads():
            self.store_slot(self.w.line(f"load {self.v}, ptr {self.row(row)}, align {self.t.bytes}"), slot)
        self.set_time(0.0)
        self.call_list(self.phase)
        number = 0
        for name in WRITES[self.phase]:
            rows = self.whole.rows(name) if name in self.whole.columns() else None
            for k, slot in enumerate(self.whole.slots(name)):
                place = self.row(rows[k]) if rows is not None else self._fresh(number + k)
                self.emit(f"store {self.v} {self.load_slot(slot)}, ptr {place}, align {self.t.bytes}")
            number += 0 if rows is not None else len(self.whole.slots(name))
        self.emit("ret void")

    def _fresh(self, number: int) -> str:
        """Pointer to the lane's number in a row of what goes to no row of the table."""
        place = self.w.line(f"add i64 {self.w.line(f'mul i64 %count, {number}')}, %lane")
        return self.w.line(f"getelementptr {self.v}, ptr %fresh, i64 {place}")


def phase_identity(program: LaneProgram, phase: str, target: Target) -> str:
    """What decides the module."""
    pieces = [piece.identity() for piece in program.phase(phase)]
    return f"{phase}|{program.layout!r}|{program.method!r}|{pieces}|{target.identity()}"


def phase_module(program: LaneProgram, phase: str, target: Target) -> str:
    """The module of a phase; its kernel has the parameters `ARGUMENTS`."""
    tuning, nowhere, bank = Tuning(), Places({}, Tuning()), dict[str, int]()
    pieces = [thread_piece(one, f"{phase}_{k}", target, nowhere) for k, one in enumerate(program.phase(phase))]
    inlined = sum(one.operations for one in pieces) <= tuning.inlined
    texts = [one.text(target, nowhere, bank, inlined=inlined) for one in pieces]
    loop = PhaseLane(program, phase, target, [name for one in pieces for name in one.functions])
    head = ", ".join(f"{kind} %{name}" for name, kind in ARGUMENTS)
    lane = loop.function(f"internal void @lane({head}, i64 %lane, i64 %column) nounwind alwaysinline", loop.lane)
    kernel = kernel_text(target, tuning, ARGUMENTS)
    return "\n".join((intrinsics(target), *texts, lane, kernel, support(target), number_bank(target, bank))) + METADATA
