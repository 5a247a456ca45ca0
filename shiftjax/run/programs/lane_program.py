"""Builds the lane program of a plan, a partition, a varied set and a method: pieces of scalar code over numbered slots.

A model with one substructure is one piece a phase. With several, every substructure has its own piece, which writes Z
and its right-hand side into fixed slots, and one common piece reads them: the number of programs is a sum over the
substructures' partitions, not a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from shiftjax.algebra import Scalar, Vec, largest, negative, total
from shiftjax.constraints import Rows
from shiftjax.dynamics.equations import Acceleration, accelerate, gaps, least_change, null_space
from shiftjax.dynamics.kinematics import Motion, coordinate_rates, retract
from shiftjax.dynamics.lane import BlockSolution, Lane
from shiftjax.dynamics.reduced import Reduced
from shiftjax.dynamics.reduction import Column
from shiftjax.kernels.lane_program import LaneProgram, Piece
from shiftjax.kernels.linearly_implicit import linearly_implicit
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.lanes.graph import Graph
from shiftjax.measures.accumulators import Accumulators
from shiftjax.measures.channel import Channel
from shiftjax.measures.observed_state import ObservedState
from shiftjax.run.programs.event_rates import LaneFunction, switches, values_and_rates
from shiftjax.run.programs.integrators import steps_of
from shiftjax.run.programs.setup import (
    ACCUMULATORS,
    MONITORS_PER_BLOCK,
    REPORTS,
    SUMS,
    Setup,
    certified,
    scratch_of,
    shared_scratch,
)
from shiftjax.topology.islands import Island, islands
from shiftjax.topology.partition import Partition, free_speeds


class Programs:
    """The lane programs of one setup, each built once and traced only when a kernel finds nothing compiled.

    Args:
        channels: what the programs observe. metrics: what they accumulate beside the certificate.

    Attributes:
        width: scalars of the channels. layout: of a lane.
    """

    def __init__(self, setup: Setup, channels: Sequence[Channel] = (), metrics: Accumulators | None = None) -> None:
        self.setup, self.channels, self.identity = setup, tuple(channels), setup.identity()
        self.width = sum(channel.size for channel in channels)
        self.metrics = metrics if metrics is not None and metrics.size else None
        measured, guarded = (self.metrics.size, len(self.metrics.guarded)) if self.metrics else (0, 0)
        self.layout = setup.layout(self.width, measured, guarded)
        self._built: dict[Partition, LaneProgram] = {}

    def of(self, partition: Partition) -> LaneProgram:
        """The lane program of one partition."""
        if partition not in self._built:
            self._built[partition] = self.builder(partition).program()
        return self._built[partition]

    def builder(self, partition: Partition) -> Builder:
        """What makes the pieces of one partition."""
        if len(islands(self.setup.plan)) > 1:
            return Islands(self, partition)
        return (_Blocks if self.setup.by_block else _Whole)(self, partition)

    @property
    def pieces(self) -> int:
        """Distinct pieces for accelerations: one a partition, or one a block's partition and a common one."""
        return len({piece.key for program in self._built.values() for piece in program.accelerate})


class Builder:
    """Names the slots and makes pieces of lane functions."""

    def __init__(self, programs: Programs, partition: Partition) -> None:
        self.setup, self.channels, self.identity = programs.setup, programs.channels, programs.identity
        self.partition, self.layout, self.plan = partition, programs.layout, self.setup.plan
        self.metrics = programs.metrics
        self.nv, self.nx = self.plan.nv, self.plan.nv + self.plan.ns  # speeds; with the states of forces

    def slots(self, name: str, count: int | None = None) -> list[int]:
        return list(self.layout.slots(name))[:count]

    @property
    def state_slots(self) -> list[int]:
        """q, v, states of forces, p, t: what the equations read."""
        return [*self.slots("q"), *self.slots("x", self.nx), *self.slots("p"), *self.slots("t")]

    @property
    def state_sizes(self) -> dict[str, int]:
        """How many of each of `state_slots`."""
        return {"q": self.plan.nq, "v": self.nv, "states": self.plan.ns, "p": self.layout.np, "t": 1}

    def split(self, values: Sequence[Scalar]) -> tuple[Vec, Vec, Vec, Lane]:
        """Coordinates, speeds, states of forces, and the lane of the rest."""
        nq, nv, nx, count = self.plan.nq, self.nv, self.nx, len(self.setup.varied)
        q, x, p, t = values[:nq], values[nq : nq + nx], values[nq + nx : nq + nx + count], values[nq + nx + count]
        return list(q), list(x[:nv]), list(x[nv:]), self.setup.lane(p, t)

    def derivatives(self, out: Acceleration) -> Vec:
        """dx: accelerations, rates of the forces' states, quadratures."""
        return [*out.a, *out.rates, *[out.power] * len(self.setup.quadratures)]

    def piece(
        self,
        name: str,
        function: Callable[[list[Scalar]], Vec],
        inputs: Sequence[int],
        outputs: Sequence[int],
        depends: object = "",
        *,
        foreign: bool = False,
    ) -> Piece:
        """A piece whose code follows from the setup, the name and `depends` alone, unless any of it is foreign."""
        graph = partial(graph_of, function, len(inputs), self.setup.precision)
        return self._of_graph(name, graph, inputs, outputs, depends, foreign=foreign)

    def _of_graph(
        self, name: str, graph: Callable[[], Graph], inputs: Sequence[int], outputs: Sequence[int], depends: object,
        *, foreign: bool,
    ) -> Piece:  # fmt: skip
        text = "" if self.setup.foreign or foreign else repr((self.identity, name, depends))
        return Piece(name, Code(graph, text), tuple(inputs), tuple(outputs))

    def program(self) -> LaneProgram:
        layout, nq = self.layout, self.plan.nq
        reads = [*self.slots("q"), *self.slots("x", self.nv)]
        drift = self.piece("drift", lambda s: coordinate_rates(self.plan, s[:nq], s[nq:]), reads, self.slots("qdot"))
        observe: tuple[Piece, ...] = ()
        if layout.nc:
            reads = [*self.state_slots, *self.slots("dx", self.nv)]
            watched = self.plan.bears or any(channel.quantity.of_partition for channel in self.channels)
            foreign = any(channel.foreign for channel in self.channels)
            depends = ([c.path for c in self.channels], self.partition if watched else None)
            observe = (self.piece("observe", self.observe, reads, self.slots("chan"), depends, foreign=foreign),)
        method, ends = steps_of(self.setup.method), (self.accumulate_piece(), *self.metric_pieces())
        pieces = self.accelerate_pieces(), self.project_pieces(), observe, ends, self.event_pieces()
        return linearly_implicit(LaneProgram(layout, method, drift, *pieces), self.setup.precision)

    def event_pieces(self) -> tuple[Piece, ...]:
        """Where forces go from one law to another, where steps are to end there; and the events that freeze a lane."""
        at = self.setup.switches
        pieces = [self._event_piece("switches", self.switches, slice(at))] if at else []
        if self.metrics is not None and self.metrics.guarded:
            depends, foreign = self._measured_by(self.metrics)
            pieces.append(self._event_piece("guarded", self.guarded, slice(at, None), depends, foreign=foreign))
        return tuple(pieces)

    def _event_piece(
        self, name: str, function: LaneFunction, which: slice, depends: object = "", *, foreign: bool = False
    ) -> Piece:
        """Values and rates of some events, of the state and dx."""
        reads = (*self.state_slots, *self.slots("dx", self.nv))
        writes = (*self.slots("event")[which], *self.slots("event_rate")[which])
        graph = partial(values_and_rates, self.setup, self.state_sizes, function)
        return self._of_graph(name, graph, reads, writes, depends, foreign=foreign)

    def switches(self, s: list[Scalar]) -> Vec:
        q, v, _, lane = self.split(s[: len(self.state_slots)])
        return switches(self.plan, lane.motion(q, v))

    def metric_pieces(self) -> tuple[Piece, ...]:
        """The accumulators of the metrics at the end of a step, where there are any."""
        if self.metrics is None:
            return ()
        accumulators = self.slots("acc")[len(ACCUMULATORS) :]
        depends, foreign = self._measured_by(self.metrics)
        rates = self.slots("dx", self.nx if self.metrics.path else self.nv)
        reads = [*self.state_slots, *rates, *accumulators]
        return (self.piece("metrics", self.measure, reads, accumulators, depends, foreign=foreign),)

    def _measured_by(self, metrics: Accumulators) -> tuple[object, bool]:
        """What decides the code of pieces of metrics, and whether any of it comes from outside."""
        of_partition = self.partition if metrics.of_partition or self.plan.bears else None
        return (metrics.decides_code, of_partition), not metrics.of_the_package

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        """dx, and all monitors but the gap."""
        raise NotImplementedError

    def project_pieces(self) -> tuple[Piece, ...]:
        """q and x projected, dx, all monitors, the reports."""
        raise NotImplementedError

    def accumulate_piece(self) -> Piece:
        """The accumulators of the certificate after a step."""
        acc = self.slots("acc", len(ACCUMULATORS))
        reads = [*(k for name in ("x", "rep", "mon") for k in self.slots(name)), *acc]
        return self.piece("accumulate", self.accumulate, reads, acc)

    def accumulate(self, s: list[Scalar]) -> Vec:
        nx, nr, nm = self.layout.nx, self.layout.nr, self.layout.nm
        return certified(self.setup, s[:nx], s[nx : nx + nr], s[nx + nr : nx + nr + nm], s[nx + nr + nm :])

    def observe(self, s: list[Scalar]) -> Vec:
        state = self.state(s)
        return [value for channel in self.channels for value in channel.observe(state)]

    def measure(self, s: list[Scalar]) -> Vec:
        assert self.metrics is not None
        end, rest, still = len(s) - self.metrics.size, self.plan.nq + self.nx, len(self.state_slots)

        def observe(t: Scalar, state: Vec) -> ObservedState:
            return self.state([*state[:rest], *s[rest : still - 1], t, *state[rest : rest + self.nv]])

        return self.metrics.update(s[end:], s[still - 1], [*s[:rest], *s[still:end]], observe)

    def guarded(self, s: list[Scalar]) -> Vec:
        assert self.metrics is not None
        return self.metrics.guarded_values(s[len(self.state_slots) - 1], self.state(s))

    def state(self, s: list[Scalar]) -> ObservedState:
        """What is observed, of the state and dx."""
        q, v, states, lane = self.split(s[: len(s) - self.nv])
        return ObservedState(lane, self.partition, q, v, states, lambda: list(s[len(s) - self.nv :]))


class _Whole(Builder):
    """One piece a phase: at most one substructure."""

    def _solutions(self, lane: Lane, q: Vec, v: Vec) -> tuple[Any, list[BlockSolution]]:
        motion = lane.motion(q, v)
        rows = [lane.rows(motion, k) for k in range(self.setup.blocks)]
        return motion, [lane.solve(block, r, r.gamma) for block, r in zip(self.partition.blocks, rows, strict=True)]

    def _derivatives(
        self, lane: Lane, motion: Motion, states: Vec, solved: list[BlockSolution], reduced: Reduced | None
    ) -> tuple[Vec, Vec, Vec]:
        """dx, energies, and all monitors but the gap."""
        Z = null_space(solved, free_speeds(self.plan))
        particular = {k: value for solution in solved for k, value in solution.particular.items()}
        out = accelerate(lane, motion, states, Z, particular, reduced, self.partition.blocks)
        monitors = [m for s in solved for m in (s.b_norm, s.squared_condition, s.squared_condition)]
        return self.derivatives(out), [out.kinetic, out.potential], [*monitors, out.worst_mass_pivot]

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        def run(s: list[Scalar]) -> Vec:
            q, v, states, lane = self.split(s)
            motion, solved = self._solutions(lane, q, v)
            dx, _, monitors = self._derivatives(lane, motion, states, solved, None)
            return [*dx, *monitors[:-1], 0.0, monitors[-1]]

        outputs = [*self.slots("dx"), *self.slots("mon")]
        return (self.piece("accelerate", run, self.state_slots, outputs, self.partition),)

    def project_pieces(self) -> tuple[Piece, ...]:
        blocks, free = self.partition.blocks, free_speeds(self.plan)

        def solutions(lane: Lane, motion: Motion, residual: Callable[[Rows], Vec]) -> list[BlockSolution]:
            every = [lane.rows(motion, k) for k in range(self.setup.blocks)]
            return [
                lane.solve(block, rows, negative(residual(rows))) for block, rows in zip(blocks, every, strict=True)
            ]

        def run(s: list[Scalar]) -> Vec:
            q, v, states, lane = self.split(s)
            before = lane.motion(q, None)
            change, _ = least_change(before, solutions(lane, before, lambda rows: rows.phi), free)
            q = retract(self.plan, q, change)
            still = lane.motion(q, None)
            change, reduced = least_change(still, solutions(lane, still, lambda rows: rows.velocity_residual(v)), free)
            v = [speed + change.get(k, 0.0) for k, speed in enumerate(v)]
            motion, solved = self._solutions(lane, q, v)
            dx, energies, monitors = self._derivatives(lane, motion, states, solved, reduced)
            gap, residual = gaps([solution.rows for solution in solved], v, lane.length)
            return [*q, *v, *dx, *monitors[:-1], gap, monitors[-1], gap, residual, *energies]

        ends = [slot for name in ("dx", "mon", "rep") for slot in self.slots(name)]
        outputs = [*self.slots("q"), *self.slots("x", self.nv), *ends]
        return (self.piece("project", run, self.state_slots, outputs, self.partition),)


class _Blocks(Builder):
    """A piece a substructure and a common one a phase.

    A substructure's piece depends on its own partition only, the common piece on the numbers of independents only.
    """

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        def common(s: list[Scalar]) -> Vec:
            q, v, states, lane = self.split(s[: len(self.state_slots)])
            Z, particular = self._read(s[len(self.state_slots) :])
            out = accelerate(lane, lane.motion(q, v), states, Z, particular, None, self.partition.blocks)
            return [*self.derivatives(out), 0.0, out.worst_mass_pivot]

        outputs = [*self.slots("dx"), *self.slots("mon")[-2:]]
        last = self.piece("common", common, [*self.state_slots, *self._solution_slots()], outputs, self._decides())
        return (*(self._block_piece(k, False) for k in range(self.setup.blocks)), last)

    def project_pieces(self) -> tuple[Piece, ...]:
        blocks = range(self.setup.blocks)
        return (
            *(self._correcting_piece(k, False) for k in blocks),
            self._corrected_piece(False),
            *(self._correcting_piece(k, True) for k in blocks),
            self._corrected_piece(True),
            *(self._block_piece(k, True) for k in blocks),
            self._ending_piece(),
        )

    def _scratch(self, k: int) -> tuple[list[int], list[int], list[int]]:
        """Slots of Z (column by column), of the particular solution, and of both gaps of substructure k."""
        first = self.layout.slots("scratch").start + sum(scratch_of(self.plan, i) for i in range(k))
        n, f = len(self.plan.substructures[k].columns), len(self.partition.blocks[k].independent)
        gap = first + n * n + n
        return list(range(first, first + n * f)), list(range(first + n * n, gap)), [gap, gap + 1]

    def _solution_slots(self) -> list[int]:
        return [slot for k in range(self.setup.blocks) for part in self._scratch(k)[:2] for slot in part]

    def _decides(self) -> object:  # of common pieces: the numbers of freedoms, unless reactions are in them
        return self.partition if self.plan.bears else tuple(len(block.independent) for block in self.partition.blocks)

    def _read(self, values: Sequence[Scalar]) -> tuple[list[Column], Column]:
        """Z of the whole mechanism, deepest motion first, and the particular solution, from the slots' values."""
        columns: dict[int, Column] = {k: {k: 1.0} for k in free_speeds(self.plan)}
        particular: Column = {}
        at = 0
        for block, part in zip(self.plan.substructures, self.partition.blocks, strict=True):
            n = len(block.columns)
            for k in range(len(part.independent)):
                columns[block.columns[k]] = dict(zip(block.columns, values[at : at + n], strict=True))
                at += n
            particular |= dict(zip(block.columns, values[at : at + n], strict=True))
            at += n
        return [columns[k] for k in sorted(columns, reverse=True)], particular

    def _written(self, k: int, solution: BlockSolution) -> Vec:
        columns = self.plan.substructures[k].columns
        Z = [column.get(speed, 0.0) for column in solution.Z for speed in columns]
        return [*Z, *(solution.particular.get(speed, 0.0) for speed in columns)]

    def _block_piece(self, k: int, ending: bool) -> Piece:
        """Z, the particular acceleration and the monitors of substructure k; at the end of a step its gaps too."""
        block = self.partition.blocks[k]

        def run(s: list[Scalar]) -> Vec:
            q, v, _, lane = self.split(s)
            rows = lane.rows(lane.motion(q, v), k)
            solution = lane.solve(block, rows, rows.gamma)
            monitors = [solution.b_norm, solution.squared_condition, solution.squared_condition]
            gap = gaps([rows], v, lane.length) if ending else []
            return [*self._written(k, solution), *monitors, *gap]

        Z, particular, gap = self._scratch(k)
        monitors = self.slots("mon")[MONITORS_PER_BLOCK * k : MONITORS_PER_BLOCK * (k + 1)]
        outputs = [*Z, *particular, *monitors, *(gap if ending else [])]
        return self.piece(f"block {k} {ending}", run, self.state_slots, outputs, block)

    def _correcting_piece(self, k: int, of_speeds: bool) -> Piece:
        """Z of substructure k, and what closes its coordinates, or its speeds, with the independents held."""
        block = self.partition.blocks[k]

        def run(s: list[Scalar]) -> Vec:
            q, v, _, lane = self.split(s)
            rows = lane.rows(lane.motion(q, None), k)
            residual = rows.velocity_residual(v) if of_speeds else rows.phi
            return self._written(k, lane.solve(block, rows, negative(residual)))

        Z, particular, _ = self._scratch(k)
        name = f"correct {'speeds' if of_speeds else 'coordinates'} {k}"
        return self.piece(name, run, self.state_slots, [*Z, *particular], block)

    def _corrected_piece(self, of_speeds: bool) -> Piece:
        """The least change of coordinates or speeds in the mass metric of the whole mechanism."""

        def run(s: list[Scalar]) -> Vec:
            q, v, _, lane = self.split(s[: len(self.state_slots)])
            Z, correction = self._read(s[len(self.state_slots) :])
            change = Reduced(lane.motion(q, None), Z).minimum_norm(correction)
            return [x + change.get(k, 0.0) for k, x in enumerate(v)] if of_speeds else retract(self.plan, q, change)

        inputs = [*self.state_slots, *self._solution_slots()]
        outputs = self.slots("x", self.nv) if of_speeds else self.slots("q")
        return self.piece("speeds" if of_speeds else "coordinates", run, inputs, outputs, self._decides())

    def _ending_piece(self) -> Piece:
        """Accelerations, energies and the largest gaps at the end of a step."""
        count = len(self.state_slots)

        def run(s: list[Scalar]) -> Vec:
            q, v, states, lane = self.split(s[:count])
            Z, particular = self._read(s[count : len(s) - 2 * self.setup.blocks])
            out = accelerate(lane, lane.motion(q, v), states, Z, particular, None, self.partition.blocks)
            each = s[len(s) - 2 * self.setup.blocks :]
            gap, residual = largest(each[::2]), largest(each[1::2])
            return [*self.derivatives(out), gap, out.worst_mass_pivot, gap, residual, out.kinetic, out.potential]

        both = [slot for k in range(self.setup.blocks) for slot in self._scratch(k)[2]]
        outputs = [*self.slots("dx"), *self.slots("mon")[-2:], *self.slots("rep")]
        return self.piece("ending", run, [*self.state_slots, *self._solution_slots(), *both], outputs, self._decides())


class Islands(Builder):
    """The pieces of every island on the slots of the whole, and one that sums up; equal islands share their code."""

    def __init__(self, programs: Programs, partition: Partition) -> None:
        super().__init__(programs, partition)
        self.parts = islands(self.plan)
        made: dict[tuple[Setup, Partition], Builder] = {}
        self.of_part: list[Builder] = []
        for part in self.parts:
            key = self.setup.part(part), Partition(tuple(partition.blocks[k].among(part.v) for k in part.substructures))
            if key not in made:
                made[key] = Programs(key[0]).builder(key[1])
            self.of_part.append(made[key])
        self.maps, at = [], self.layout.slots("scratch").start
        for part, builder in zip(self.parts, self.of_part, strict=True):
            self.maps.append(self._map(part, builder, at))
            at += shared_scratch(part.plan) + SUMS

    def _map(self, part: Island, builder: Builder, scratch: int) -> dict[int, int]:
        """Slot of the whole for every slot of an island."""
        numbers, varied = set(part.numbers), self.setup.varied
        states = [self.nv + k for k in part.states]
        x = [*part.v, *states]
        sums = list(range(scratch, scratch + SUMS))
        each_block = range(MONITORS_PER_BLOCK)
        monitors = [self.slots("mon")[MONITORS_PER_BLOCK * k + i] for k in part.substructures for i in each_block]
        places = {
            "q": [self.slots("q")[k] for k in part.q],
            "x": [self.slots("x")[k] for k in x],
            "dx": [*(self.slots("dx")[k] for k in x), sums[-1]],
            "p": [slot for slot, number in zip(self.slots("p"), varied, strict=True) if number in numbers],
            "t": self.slots("t"),
            "mon": [*monitors, *sums[:2]],
            "rep": sums[2 : 2 + len(REPORTS)],
            "scratch": list(range(scratch + SUMS, scratch + SUMS + shared_scratch(part.plan))),
        }
        slots_of: dict[int, int] = {}
        for name, slots in places.items():
            slots_of |= zip(builder.slots(name), slots, strict=False)  # the quadrature in x is the whole's
        return slots_of

    def on_islands(self, phase: Callable[[Builder], Iterable[Piece]]) -> list[Piece]:
        """Each distinct island's pieces once, run on the slots of all its equals."""
        equals: dict[int, list[int]] = {}
        for k, builder in enumerate(self.of_part):
            equals.setdefault(id(builder), []).append(k)
        out: list[Piece] = []
        for members in equals.values():
            for piece in phase(self.of_part[members[0]]):
                slots = (*piece.inputs, *piece.outputs)
                first, *others = (tuple(self.maps[k][slot] for slot in slots) for k in members)
                count = len(piece.inputs)
                out.append(replace(piece, inputs=first[:count], outputs=first[count:], repeats=tuple(others)))
        return out

    def _sums(self, name: str) -> list[int]:
        """The slot of a sum of every island: "mon" the last two, "rep" all four, "dx" the power where it has one."""
        places = []
        for builder, slots in zip(self.of_part, self.maps, strict=True):
            count = {"mon": 2, "rep": len(REPORTS), "dx": len(builder.setup.quadratures)}[name]
            places += [slots[k] for k in builder.slots(name)[len(builder.slots(name)) - count :]]
        return places

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        mass, power = self._sums("mon")[1::2], self._sums("dx")

        def run(s: list[Scalar]) -> Vec:
            return [*self._power(s[len(mass) :]), 0.0, largest(s[: len(mass)])]

        outputs = [*self.slots("dx")[self.nx :], *self.slots("mon")[-2:]]
        return (
            *self.on_islands(lambda island: island.accelerate_pieces()),
            self.piece("sum", run, [*mass, *power], outputs),
        )

    def project_pieces(self) -> tuple[Piece, ...]:
        monitors, reports, power = (self._sums(name) for name in ("mon", "rep", "dx"))
        count = len(self.parts)

        def run(s: list[Scalar]) -> Vec:
            sums, rest = s[2 * count : 6 * count], s[6 * count :]
            gap, velocity_gap, kinetic, potential = (sums[k :: len(REPORTS)] for k in range(len(REPORTS)))
            most = [largest(s[0 : 2 * count : 2]), largest(s[1 : 2 * count : 2])]
            return [*self._power(rest), *most, largest(gap), largest(velocity_gap), total(kinetic), total(potential)]

        outputs = [*self.slots("dx")[self.nx :], *self.slots("mon")[-2:], *self.slots("rep")]
        return (
            *self.on_islands(lambda island: island.project_pieces()),
            self.piece("sums", run, [*monitors, *reports, *power], outputs),
        )

    def _power(self, powers: Sequence[Scalar]) -> Vec:
        return [total(powers)] * len(self.setup.quadratures)
