"""Which way derivatives of runs are taken, its cost and its memory foretold: forward, reverse or by differences.

Cost is in plain runs, by operations (`gradients.operations`). Memory is that of the arrays that exist at once at the
largest, by their shapes; what compiled code keeps for itself on each thread, a few MB, is not in it. Host code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from math import ceil, log2
from types import MappingProxyType

import numpy as np

from shiftjax.errors import ModelError, one_of
from shiftjax.gradients.differences import PLACES
from shiftjax.gradients.event_refusals import acting, changed_loops
from shiftjax.gradients.forward.tangent_programs import BATCHES, TangentLayout
from shiftjax.gradients.operations import Operations, operations_of
from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.gradients.reverse.tape import note_bytes, spacing, states_of
from shiftjax.kernels.backends import make_backward, make_kernel
from shiftjax.record import record
from shiftjax.run.advance.samples import next_samples
from shiftjax.run.beginning import Begun
from shiftjax.run.memory import free_memory, size
from shiftjax.run.options import Options
from shiftjax.run.programs.integrators import METHODS
from shiftjax.run.programs.lane_program import Programs
from shiftjax.topology.partition import Partition

DIRECTIONS = ("forward", "reverse", "differences")
NUMBER = 8  # bytes
# Numbers of a member that a finished run keeps beside its table: certificate, counts, samples, status, message, what
# it was made ready with; measured with tracemalloc, 120 for a four-bar.
KEPT = 120
BACK = 64  # more of them on the way back: what it counts of each member; measured, too
TOGETHER = BATCHES[-1]  # directions
TABLES = 3.0  # tables of tangents at once: the lanes, the part that a phase runs on, its result
LEGS = 3.5  # tables of values at once on the way back: a leg's, the one before it was projected, a piece of each
# Numbers that the derivative of the start holds for each entry of the loops' Jacobians, and those while it works.
SOLVED, SOLVING = 2.5, 4.0


@record
class Cost:
    """What a direction takes.

    Attributes:
        runs: plain runs of the same members. memory: bytes at the largest. seconds: where a plain run was measured.
    """

    runs: float
    memory: float
    seconds: float | None = None

    def __str__(self) -> str:
        timed = "" if self.seconds is None else f", about {self.seconds:.2g} s"
        room = size(self.memory) if self.memory >= 1e6 else f"{self.memory / 1e3:.3g} kB"
        return f"{self.runs:.3g} plain runs and {room}{timed}"


@record
class Planned:
    """Which way slopes are taken, and why.

    Attributes:
        costs: direction -> what it would take, of those that there are.
    """

    direction: str
    why: str
    costs: Mapping[str, Cost] = field(default_factory=lambda: MappingProxyType({}), compare=False, hash=False)


class Planner:
    """What derivatives of M outcomes with P numbers take, for runs of one model.

    Args:
        begun: a run of the model at its start, with the metrics and channels of those that are planned.
    """

    def __init__(self, begun: Begun) -> None:
        self.begun, lanes = begun, begun.lanes
        programs = lanes.recordings[0].programs
        assert isinstance(programs, Programs)
        self.programs, self.settings, self.layout = programs, lanes.settings, lanes.layout
        self.backward = make_backward(lanes.kernel)
        self._item, self._states = lanes.table.dtype.itemsize, states_of(lanes)

    @cached_property
    def operations(self) -> Operations:
        """Of the partition with which the first member begins."""
        lanes = self.begun.lanes
        partition = Partition(tuple(lanes.known[s][choice] for s, choice in enumerate(lanes.choice[:, 0])))
        return operations_of(self.programs, partition)

    def cost(
        self, direction: str, outcomes: int, parameters: int, members: int, room: float, plain_s: float | None = None
    ) -> Cost:
        """What one direction takes.

        Args:
            outcomes: M, each with a cotangent. parameters: P. members: B that run at once. room: bytes of tapes.
            plain_s: seconds of a plain run of the members.
        """
        if direction == "differences":
            runs = float(PLACES * parameters)
            memory = members * (PLACES * self._plain + NUMBER * 3 * outcomes * parameters)
        elif direction == "forward":
            runs, memory = self._forward(outcomes, parameters, members, room)
        else:
            runs, memory = self._reverse(outcomes, parameters, members, room)
        return Cost(runs, memory, None if plain_s is None else runs * plain_s)

    def planned(
        self,
        outcomes: int,
        parameters: int,
        members: int,
        *,
        direction: str | None = None,
        memory: float | None = None,
        room: float | None = None,
        plain_s: float | None = None,
    ) -> Planned:
        """The cheapest direction that fits, or the one that is asked for.

        Args:
            outcomes, parameters, members, plain_s: as of `cost`. memory: bytes that are there; what is free where left
                out. room: bytes of tapes; a quarter of `memory` where left out.

        Raises:
            ModelError: no such direction, or one that the backend does not have.
        """
        if direction is not None:
            one_of("direction", direction, DIRECTIONS)
        there = free_memory() if memory is None else memory
        room = there / 4 if room is None else room
        ways = DIRECTIONS if self.backward is not None else ("differences",)
        why = "the backend has none"
        if loops := changed_loops(self.begun):
            (name, path), ways = loops[0], ("differences",)
            why = f"event {name} sets {path}, of loops that are driven or have ball joints"
        elif acting(self.begun) and "forward" in ways:
            ways = tuple(way for way in ways if way != "forward")
            why = "an event stops members, or sets numbers, and what that adds is known of reverse mode alone"
        if direction is not None and direction not in ways:
            raise _none(direction, why)
        costs = {way: self.cost(way, outcomes, parameters, members, room, plain_s) for way in ways}
        fitting = {way: cost for way, cost in costs.items() if cost.memory <= there}
        chosen = min(fitting, key=lambda way: costs[way].runs) if fitting else min(ways, key=lambda w: costs[w].memory)
        prices = "; ".join(f"{way} {cost}" for way, cost in costs.items())
        chosen, reason = (direction, "asked for") if direction else (chosen, _reason(fitting, costs, chosen, there))
        return Planned(chosen, f"{prices}: {reason}", costs)

    # -- forward and reverse -------------------------------------------------------------------------------------------

    @property
    def _instants(self) -> float:
        """Instants that are recorded, a step."""
        return 1.0 / self.settings.every

    @property
    def _run(self) -> float:
        """Operations of a plain run, a step."""
        return self.operations.plain + self._instants * self.operations.instant

    def _forward(self, outcomes: int, parameters: int, members: int, room: float) -> tuple[float, float]:
        operations, plan = self.operations, self.begun.prepared.plan
        counts = zip(BATCHES, operations.tangents, operations.tangent_instants, strict=True)
        added = {k: (step + self._instants * instant) / self._run for k, step, instant in counts}
        sizes = [_padded(min(TOGETHER, parameters - first)) for first in range(0, parameters, TOGETHER)]
        runs = 1.0 + sum(1.0 + added[k] for k in sizes)
        most, ticks = max(sizes), self.settings.steps // self.settings.every + 1
        table = TangentLayout(self.layout, plan.nv + plan.ns, most).whole.row_count
        begins = plan.nq + plan.nv + plan.ns + 2 * len(self.begun.prepared.vary) + 1
        size = (
            max(TABLES * table * self._item, self._entries * SOLVING)
            + ticks * self.programs.width * (1 + most) * self._item
        )
        size += NUMBER * begins * (parameters + most)
        size += NUMBER * parameters * (self._outputs(outcomes) + len(self.begun.prepared.vary))
        return runs, members * (self._plain + self._start + size) + self._tape(members, room)[0]

    def _reverse(self, outcomes: int, parameters: int, members: int, room: float) -> tuple[float, float]:
        operations, (tape, again) = self.operations, self._tape(members, room)
        each = (
            operations.ahead * (1.0 + again) + operations.back + self._instants * operations.back_instant
        ) / self._run
        bars = AdjointPrograms(self.programs).layout.row_count
        size = max(self._item * LEGS * self.layout.row_count, self._entries * SOLVING) + 2 * self._item * bars
        ticks = self.settings.steps // self.settings.every + 1
        size += ticks * self.programs.width * (self._item + NUMBER)
        size += NUMBER * (BACK + outcomes * (self._outputs(outcomes) * 2 + 2 * parameters))
        return 1.0 + outcomes * each, members * (self._plain + self._start + size) + tape

    def _outputs(self, outcomes: int) -> int:
        """Numbers of `DifferentiableRun.outputs`, about."""
        ticks = self.settings.steps // self.settings.every + 1
        return ticks * self.programs.width + len(self.begun.measured.units) + 12

    @property
    def _plain(self) -> float:
        """Bytes of a member of a finished run, its tape apart."""
        ticks = self.settings.steps // self.settings.every + 1
        return self.layout.row_count * self._item + NUMBER * KEPT + 2 * NUMBER * ticks * self.programs.width

    @property
    def _start(self) -> float:
        """Bytes of a member for the derivative of its start."""
        return SOLVED * self._entries

    @property
    def _entries(self) -> int:
        """Bytes of the loops' Jacobians of a member."""
        return NUMBER * sum(block.rows * len(block.columns) for block in self.begun.prepared.plan.substructures)

    def _tape(self, members: int, room: float) -> tuple[float, float]:
        """Bytes of a tape, and how often steps are repeated beside once since the notes are further apart than legs."""
        assert self.backward is not None
        steps, layout = self.settings.steps, AdjointPrograms(self.programs).layout
        longest = self.backward.longest_of(layout, METHODS[self.begun.lanes.setup.method])
        every = spacing(longest, self._states * self._item * members, steps, room)
        notes = 2 + len(
            {*range(every, steps, every), *_samples(steps), steps}
        )  # at the start, and at the end once more
        legs = min(every, steps) / longest
        again = 0.5 * ceil(log2(legs)) if legs > 1.0 else 0.0  # a leg is halved: its first half runs once more
        return members * notes * note_bytes(self._states, self._item, len(self.begun.lanes.known)), again


def without_derivative(options: Options) -> str:
    """Why runs with some options have no derivative but by differences, "" where they have."""
    for name, metric in (options.recording.metrics or {}).items():
        if callable(metric):
            return f"metric {name} is a function of arrays"
    backend, precision, threads = options.machine.backend, options.numerics.precision, options.machine.threads
    if backend is not None and make_backward(make_kernel(backend, precision, threads)) is None:
        return f"the backend {backend!r} has none"
    return ""


def by_differences(parameters: int, why: str, direction: str | None = None) -> Planned:
    """The plan for what has no derivative.

    Args:
        why: of `without_derivative`.

    Raises:
        ModelError: no such direction, or another one than differences.
    """
    if direction is not None:
        one_of("direction", direction, DIRECTIONS)
        if direction != "differences":
            raise _none(direction, why)
    return Planned("differences", f"no derivative, {why}: differences, {PLACES * parameters} plain runs")


def _none(direction: str, why: str) -> ModelError:
    return ModelError("direction", f"{direction!r}, of what has no derivative: {why}", '"differences"', "Leave it out.")


def _samples(steps: int) -> Iterator[int]:
    """The steps at which the driver looks at its lanes, which are noted there."""
    at = int(next_samples(np.zeros(1))[0])
    while at < steps:
        yield at
        at = int(next_samples(np.array([float(at)]))[0])


def _padded(directions: int) -> int:
    """Directions of a batch, as `forward.Directions.batches` fills them up."""
    return next(size for size in BATCHES if size >= directions)


def _reason(fitting: Mapping[str, Cost], costs: Mapping[str, Cost], chosen: str, there: float) -> str:
    if not fitting:
        return f"none fits into {size(there)}, {chosen} takes least"
    cheaper = [way for way in costs if way not in fitting and costs[way].runs < costs[chosen].runs]
    left_out = f", of what fits into {size(there)}: not {', '.join(cheaper)}" if cheaper else ""
    return f"{chosen} takes the fewest{left_out}"
