"""Where the numbers of a lane are while its thread steps it: in registers, or in the shared memory of its block."""

from __future__ import annotations

from shiftjax.kernels.llvm.ir_builder import WorkspaceLayout
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.vector_math import Writer
from shiftjax.record import record

SHARED = 100 * 1024  # B of shared memory of a block at most: two blocks to a multiprocessor of sm_80 and later
# Regions that a step reads or writes once or twice
RARE = (
    *("limit", "armed", "acc", "rep", "rep0", "until", "stop", "trip", "mon", "max_mon", "event", "event0"),
    *("event_rate", "event_rate0", "watched", "p"),
)


@record
class Tuning:
    """What the code of a program leaves open; `benchmarks/bench_gpu.py tunings` measured the choices on an H200.

    Attributes:
        block: threads. One or two warps a scheduler are enough, the chains of operations are long and wide.
        sharing: slots of a lane's workspace, channels and accumulators apart, from which numbers that are rarely used
            live in shared memory. In f64 a loop of five four-bars gains 8 %, an excavator 10 % (in f32 41 %); a
            four-bar loses 15 % and a Bricard in f32 7 %, whose numbers fit into registers. To put there what lives
            across stages, too, spills less and is slower by 4 to 32 % for want of lanes.
        lockstep: whether the warps of a block wait for each other at every step, so that they fetch the same
            instructions: 5 % on a Bricard, 9 % on five four-bars, -1 % on one, whose loop fits into the cache.
        registers: most of a thread; the assembler's choice where left out. Fewer than it takes cost up to two thirds.
        inlined: operations in the code of a step up to which pieces are copied into it. An excavator of 13 539 gains
            20 % by it; a chassis of 57 000 is assembled in 13 s of processor time instead of minutes.
    """

    block: int = 128
    sharing: int = 200
    lockstep: bool = True
    registers: int | None = None
    inlined: int = 20_000


@record
class Places:
    """Slots of the workspace that are in shared memory; the others are the thread's own, in registers where they fit.

    Attributes:
        shared: slot -> its number among them.
    """

    shared: dict[int, int]
    tuning: Tuning

    def bytes(self, target: Target) -> int:
        """Shared memory of a block."""
        return len(self.shared) * self.tuning.block * target.bytes

    def pointer(self, w: Writer, slot: int) -> tuple[str, str]:
        """A typed pointer to a slot, and "volatile " where LLVM must leave the number there."""
        vector = w.target.vector
        if slot in self.shared:
            thread = w.line("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
            place = w.line(f"add i32 {thread}, {self.shared[slot] * self.tuning.block}")
            pointer = w.line(f"getelementptr {vector}, ptr addrspace(3) @shared_slots, i32 {place}")
            return f"ptr addrspace(3) {pointer}", "volatile "
        return f"ptr {w.line(f'getelementptr inbounds {vector}, ptr %ws, i64 {slot}')}", ""


def places_of(space: WorkspaceLayout, size: int, target: Target, tuning: Tuning) -> Places:
    """Where the numbers of a workspace are.

    Args:
        size: of the workspace, as `Tuning.sharing` counts it.
    """
    room = SHARED // (tuning.block * target.bytes) if size >= tuning.sharing else 0
    slots = [space.offset[name] + k for name in RARE for k in range(space.sizes.get(name, 0))]
    return Places({slot: number for number, slot in enumerate(slots[:room])}, tuning)
