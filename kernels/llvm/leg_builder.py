"""LLVM text of a leg of steps and of its way back, wherever its lanes and its stack are.

A leg is a number of steps without a decision. Its steps run again from their beginning, as `stage_builder` has them,
and leave the arguments of all calls on a stack; then they are reversed, by the instructions that `mirror` derives from
those of the method. Of a Runge-Kutta table these are its adjoint (Hager, Runge-Kutta methods in optimal control, 2000).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

from shiftjax.kernels.adjoint import AdjointLayout
from shiftjax.kernels.lane_program import Layout
from shiftjax.kernels.llvm.ir_builder import WorkspaceLayout
from shiftjax.kernels.llvm.stage_builder import Copies, StageBuilder
from shiftjax.kernels.llvm.sums import Sum, live, sum_of
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.mirror import Mirrored, bar, mirrored, recorded
from shiftjax.kernels.step_program import Method, registers

READ = ("q", "x", "dx", "p", "clock", "fraction", "acc")  # groups of rows of a lane that its leg reads
MOVING = ("q", "x", "dx", "clock", "acc")  # those among them that a step changes
UNREAD = ("error", "events")  # phases of whose results nothing is carried back


def private_slots(adjoint: AdjointLayout, method: Method) -> dict[str, int]:
    """Slots of a leg beside those of the step loop."""
    sizes = {"q": adjoint.layout.nq, "x": adjoint.layout.nx, "dx": adjoint.layout.nx, "p": adjoint.layout.np}
    slots = {f"old_{name}": size for name, size in sizes.items()} | {"old_acc": len(adjoint.accumulators())}
    return slots | {bar(name): sizes[kind] for name, kind in registers(method).items()} | {"steps": 1}


def record_slots(adjoint: AdjointLayout, method: Method) -> int:
    """Numbers of one step on the stack: states and rates before its calls, accumulators of metrics, the clock."""
    _, places = recorded(method.parts(controlled=adjoint.layout.controlled))
    return places * place_slots(adjoint) + len(adjoint.accumulators()) + 1


def place_slots(adjoint: AdjointLayout) -> int:
    """Numbers of one place on the stack: the state with its rates, those of coordinates where something is solved."""
    return adjoint.state + (adjoint.layout.nq if adjoint.layout.nl else 0)


class LegBuilder(StageBuilder):
    """Emits a step ahead and a step back; `rec` is the LLVM value of the place of the present step on the stack."""

    def __init__(
        self, adjoint: AdjointLayout, method: Method, target: Target, copied: Copies, timed: tuple[str, ...]
    ) -> None:
        super().__init__(adjoint.layout, method, target, copied, timed)
        self.adjoint = adjoint
        self.space = WorkspaceLayout(self.layout, method, private_slots(adjoint, method))
        sizes = _regions(adjoint.layout)
        self.space.offset |= {bar(name): adjoint.bar(adjoint.layout.slots(name).start) for name in sizes}
        self.space.offset |= {"end": adjoint.end.start, "stack": adjoint.slot_count}
        self.space.offset["bar_acc"] = adjoint.bar(adjoint.layout.slots("acc").start + adjoint.first)
        self.space.offset["measured"] = self.space.offset["acc"] + adjoint.first
        self.carried = {**{name: sizes[name] for name in ("q", "x", "dx", "p")}, "acc": len(adjoint.accumulators())}
        self.stacked, count = recorded(self.parts)
        self.beside = count * place_slots(adjoint)  # of a step on the stack: its accumulators, then its clock
        self.back_parts = mirrored(self.parts)
        self.rec = ""

    # -- the stack -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def step_at(self, k: str) -> str:
        """Where step k is on the stack."""

    @abstractmethod
    def keep(self, rec: str, number: int | str, region: str, count: int) -> None:
        """Copies slots to numbers of a step on the stack."""

    @abstractmethod
    def recall(self, region: str, rec: str, number: int | str, count: int) -> None:
        """Copies them back."""

    @abstractmethod
    def recalled(self, rec: str, number: int) -> str:
        """A number of a step on the stack."""

    def record(self, place: int) -> None:
        """The state and the rates, to their place on the stack."""
        self.record_at(place * place_slots(self.adjoint))

    def record_at(self, first: int | str) -> None:
        """The same to numbers of the step."""
        self.keep(self.rec, first, "q", self.adjoint.state)
        if self.layout.nl:
            self.keep(self.rec, self.plus(first, self.adjoint.state), "qdot", self.layout.nq)

    def bar_pairs(self) -> list[tuple[int, int]]:
        """(row, slot) of the cotangents that pass from leg to leg, then of the number of steps."""
        pairs = [
            (row, self.space.offset[f"bar_{name}"] + k)
            for name in self.adjoint.columns()
            if name != "steps"
            for k, row in enumerate(self.adjoint.rows(name))
        ]
        return [*pairs, (self.adjoint.rows("steps").start, self.space.offset["steps"])]

    # -- a step ahead --------------------------------------------------------------------------------------------------

    def wanted(self, phase: str) -> bool:
        return phase not in UNREAD and super().wanted(phase)

    def replaces(self, number: int) -> bool:
        """Whether the calls of a part move q and x, or solve for rates in their place."""
        return bool({"project", "solve"} & {*self.parts[number].phases})

    def before_calls(self, number: int) -> None:
        if self.replaces(number):
            self.record(self.stacked[number][0])

    def after_calls(self, number: int) -> None:
        if not self.replaces(number):  # with the rates, which reverse pieces may read
            self.record(self.stacked[number][0])
        after = self.stacked[number][1]
        if after is not None:
            self.record(after)

    def ahead(self, k: str) -> None:
        """A step, and what is recorded of it."""
        self.rec = self.step_at(k)
        self.keep(self.rec, self.beside, "measured", self.carried["acc"])
        self.keep(self.rec, self.beside + self.carried["acc"], "clock", 1)
        if self.parts[0].combines:
            self.record(0)
        self.one_step()
        self.call_list("measure")
        self.store(self.w.op("fadd", self.load("clock"), self.load("fraction")), "clock")

    # -- a step back ---------------------------------------------------------------------------------------------------

    def back(self, k: str) -> None:
        """Cotangents of the state after step k, in place, become those of the state before it."""
        self.rec = self.step_at(k)
        after = self.step_at(self.w.line(f"add i64 {k}, 1"))
        self.recall("q", after, 0, self.adjoint.state)  # clock and t are those of the end here
        clock = self.recalled(self.rec, self.beside + self.carried["acc"])
        self.store(self.w.op("fadd", clock, self.load("fraction")), "clock")
        self.set_time(0.0)
        self.add_seeds(k)
        self.recall("measured", self.rec, self.beside, self.carried["acc"])
        self.call_list("back_measure")
        self.recall("end", after, 0, self.adjoint.state)
        self.store(clock, "clock")
        sums = [[sum_of(one) for one in part.combines] for part in self.back_parts]
        stored = live(sums, {bar(name) for name in ("q", "x", "qdot", "dx", "ft")})
        if self.method.gamma:  # its Jacobian once more
            self.recall("q", self.rec, 0, self.adjoint.state)
            self.set_time(0.0)
            self.call_list("linearize")
        self.parts_back(sums, stored)

    @abstractmethod
    def add_seeds(self, k: str) -> None:
        """Adds the cotangents of channels where an output tick is at the end of step k."""

    def parts_back(self, sums: list[list[Sum]], stored: list[set[str]]) -> None:
        """From the cotangents of the end of a step to those of its beginning.

        Args:
            sums: of each part. stored: for each part the targets that are stored.
        """
        for part, some, names in zip(self.back_parts, sums, stored, strict=True):
            self.part_back(part, some, names)

    def part_back(self, part: Mirrored, some: list[Sum], names: Collection[str]) -> None:
        """One part."""
        if part.phases:
            self.recall_at(part.before * place_slots(self.adjoint))
            if part.after is not None:
                self.recall("end", self.rec, part.after * place_slots(self.adjoint), self.adjoint.state)
            self.set_time(part.at)
        for phase in part.phases:
            self.call_list(f"back_{phase}")
        self.combine_back(some, names)

    def recall_at(self, first: int | str) -> None:
        """The state and the rates from numbers of the step on the stack."""
        self.recall("q", self.rec, first, self.adjoint.state)
        if self.layout.nl:
            self.recall("qdot", self.rec, self.plus(first, self.adjoint.state), self.layout.nq)

    def combine_back(self, some: list[Sum], names: Collection[str]) -> None:
        """The combinations of a part on its way back."""
        self.scale(some)
        for kind in ("q", "x"):
            these = [one for one in some if self.kind(one.target) == kind]
            if these:
                self.each(self.carried[kind], lambda k, t=these: self.emit_sums(t, t, {*names}, {"q": k, "x": k}))

    def kind(self, name: str) -> str:
        return super().kind(name.removeprefix(bar("")))


def _regions(layout: Layout) -> dict[str, int]:
    """Sizes of the regions that have cotangents."""
    return {name: layout.regions()[name] for name in ("q", "x", "dx", "p", "qdot", "ft", "acc", "chan")}
