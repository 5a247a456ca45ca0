"""Builds the lane program of a plan, a partition, a varied set and a method: pieces of scalar code over numbered slots.

A model with one substructure is one piece a phase. With several, every substructure has its own piece, which writes Z
and its right-hand side into fixed slots, and one common piece reads them: the number of programs is a sum over the
substructures' partitions, not a product.
"""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from shiftjax.algebra import Scalar, Vec, absolute, add, larger, largest, negative, sub
from shiftjax.constraints import Harmonic, Rows
from shiftjax.dynamics.channels import Channel, ObservedState
from shiftjax.dynamics.equations import (
    MONITORS_PER_BLOCK,
    BlockSolution,
    Lane,
    accelerate,
    gaps,
    least_change,
    null_space,
    retract,
    solve_block,
    velocity_residual,
)
from shiftjax.dynamics.kinematics import Motion, Parameters, coordinate_rates
from shiftjax.dynamics.tree import Column, Reduced, composite_mass_matrix
from shiftjax.forces import dissipates
from shiftjax.kernels.lane_program import DTYPES, METHODS, LaneProgram, Layout, Piece
from shiftjax.topology.partition import Partition, free_speeds
from shiftjax.topology.plan import Plan

ACCUMULATORS = (
    "gap",
    "velocity_gap",
    "squared_condition",
    "energy_error",
    "kinetic",
    "potential",
    "start_energy",
    "start_potential",
)
_nameless: dict[int, tuple[object, str]] = {}  # id -> the object, kept alive so that the id stays its own

REPORTS = ("gap", "velocity_gap", "kinetic", "potential")
NO_PHYSICS = {"cli", "ensembles", "formats", "kernels", "models", "viewer"}  # folders that do not decide a piece's code


@dataclass(frozen=True)
class Setup:
    """What all programs of one run share.

    numbers: path -> float, the constants; varied: paths that are lane values, in the order of their slots; matrices:
    path -> constant R; length [m]; motions: prescribed functions of time, in the order of the plan's drivers.
    """

    plan: Plan
    numbers: Mapping[str, float]
    matrices: Mapping[str, Sequence[Sequence[float]]]
    varied: tuple[str, ...]
    length: float
    method: str = "rk4"
    precision: str = "f64"
    motions: tuple[Harmonic, ...] = ()
    channels: tuple[Channel, ...] = ()
    programs: dict[Partition, LaneProgram] = field(default_factory=dict, compare=False)

    @property
    def blocks(self) -> int:
        return len(self.plan.substructures)

    @property
    def by_block(self) -> bool:
        return self.blocks > 1

    @property
    def works(self) -> int:
        """Number of quadratures: the work of what is not conservative, where there is any."""
        kinds = tuple(r.type for r in self.plan.restraints)
        return int(dissipates(self.plan.joint_polynomials, kinds) or bool(self.plan.drivers or self.plan.external))

    @property
    def monitors(self) -> int:
        """Three a substructure, then the loop gap and the loss of mass."""
        return MONITORS_PER_BLOCK * self.blocks + 2

    def layout(self) -> Layout:
        plan = self.plan
        scratch = sum(_scratch_of(plan, k) for k in range(self.blocks)) if self.by_block else 0
        width = sum(channel.size for channel in self.channels)
        return Layout(
            nq=plan.nq,
            nx=plan.nv + self.works,
            np=len(self.varied),
            nm=self.monitors,
            nr=len(REPORTS),
            na=len(ACCUMULATORS),
            nc=width,
            ns=scratch,
        )

    def lane(self, values: Sequence[Scalar], t: Scalar) -> Lane:
        """The lane functions' common ground for given values of the varied numbers."""
        numbers = {**self.numbers, **dict(zip(self.varied, values, strict=True))}
        return Lane(self.plan, Parameters(numbers, self.matrices), self.length, self.motions, t)


def _scratch_of(plan: Plan, index: int) -> int:
    """Slots of one substructure: Z dense for any rank, a particular vector, two gaps."""
    n = len(plan.substructures[index].columns)
    return n * n + n + 2


def build(setup: Setup, partition: Partition) -> LaneProgram:
    """The lane program of one partition; traced only when a kernel finds nothing compiled."""
    if partition not in setup.programs:
        maker = _Blocks(setup, partition) if setup.by_block else _Whole(setup, partition)
        setup.programs[partition] = maker.program()
    return setup.programs[partition]


def count_pieces(setup: Setup) -> int:
    """Distinct compiled pieces for accelerations: one a partition, or one a block's partition and a common one."""
    return len({piece.key for program in setup.programs.values() for piece in program.accelerate})


class _Builder:
    """Names the slots and makes pieces of lane functions."""

    def __init__(self, setup: Setup, partition: Partition) -> None:
        self.setup, self.partition, self.layout, self.plan = setup, partition, setup.layout(), setup.plan
        self.nv = setup.plan.nv

    def slots(self, name: str, count: int | None = None) -> list[int]:
        return list(self.layout.slots(name))[:count]

    @property
    def state_slots(self) -> list[int]:
        """q, v, p, t: what the equations read."""
        return [*self.slots("q"), *self.slots("x", self.nv), *self.slots("p"), *self.slots("t")]

    def split(self, values: Sequence[Scalar]) -> tuple[Vec, Vec, Lane]:
        nq, nv, count = self.plan.nq, self.nv, len(self.setup.varied)
        q, v, p, t = values[:nq], values[nq : nq + nv], values[nq + nv : nq + nv + count], values[nq + nv + count]
        return list(q), list(v), self.setup.lane(p, t)

    def piece(
        self,
        name: str,
        function: Callable[[list[Scalar]], Vec],
        inputs: Sequence[int],
        outputs: Sequence[int],
        depends: object = "",
    ) -> Piece:
        """A piece whose code follows from the setup, the name and `depends` alone."""
        dtype = DTYPES[self.setup.precision]
        return Piece(
            name, _key(self.setup, name, depends), tracer(function, len(inputs), dtype), tuple(inputs), tuple(outputs)
        )

    def program(self) -> LaneProgram:
        layout = self.layout
        drift = self.piece(
            "drift",
            lambda s: coordinate_rates(self.plan, s[: self.plan.nq], s[self.plan.nq :]),
            [*self.slots("q"), *self.slots("x", self.nv)],
            self.slots("qdot"),
        )
        accumulate = self.piece(
            "accumulate",
            self.accumulate,
            [k for name in ("x", "rep", "mon", "acc") for k in self.slots(name)],
            self.slots("acc"),
        )
        observe: tuple[Piece, ...] = ()
        if layout.nc:
            reads = [*self.state_slots, *self.slots("dx", self.nv)]
            watched = any(channel.of_partition for channel in self.setup.channels)
            depends = (self.setup.channels, self.partition if watched else None)
            observe = (self.piece("observe", self.observe, reads, self.slots("chan"), depends),)
        return LaneProgram(
            layout,
            METHODS[self.setup.method],
            drift,
            self.accelerate_pieces(),
            self.project_pieces(),
            observe,
            (accumulate,),
        )

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        raise NotImplementedError

    def project_pieces(self) -> tuple[Piece, ...]:
        raise NotImplementedError

    def accumulate(self, s: list[Scalar]) -> Vec:
        """Running extremes of the certificate (design rule 4)."""
        nx, nr, nm = self.layout.nx, self.layout.nr, self.layout.nm
        x, rep, mon, acc = s[:nx], s[nx : nx + nr], s[nx + nr : nx + nr + nm], s[nx + nr + nm :]
        work = x[self.nv] if self.setup.works else 0.0
        squared_condition = largest([mon[MONITORS_PER_BLOCK * k + 1] for k in range(self.setup.blocks)])
        balance = absolute(sub(sub(add(rep[2], rep[3]), acc[6]), work))
        swing = absolute(sub(rep[3], acc[7]))
        fresh = [rep[0], rep[1], squared_condition, balance, rep[2], swing]
        return [larger(old, new) for old, new in zip(acc, fresh, strict=False)] + acc[6:]

    def observe(self, s: list[Scalar]) -> Vec:
        nv = self.nv
        q, v, lane = self.split(s[: len(s) - nv])
        state = ObservedState(lane, self.partition, q, v, list(s[len(s) - nv :]))
        return [value for channel in self.setup.channels for value in channel.observe(state)]


class _Whole(_Builder):
    """One piece a phase: at most one substructure."""

    def _solutions(self, lane: Lane, q: Vec, v: Vec) -> tuple[Any, list[BlockSolution]]:
        motion = lane.motion(q, v)
        rows = [lane.rows(motion, k) for k in range(self.setup.blocks)]
        return motion, [
            solve_block(lane, block, r, r.gamma) for block, r in zip(self.partition.blocks, rows, strict=True)
        ]

    def _derivatives(
        self, lane: Lane, motion: Any, solved: list[BlockSolution], reduced: Reduced | None
    ) -> tuple[Vec, Vec, Vec]:
        """dx, energies, and all monitors but the gap."""
        Z = null_space(solved, free_speeds(self.plan))
        particular = {k: value for solution in solved for k, value in solution.particular.items()}
        out = accelerate(lane, motion, Z, particular, reduced)
        monitors = [m for s in solved for m in (s.b_norm, s.squared_condition, s.squared_condition)]
        return (
            [*out.a, *[out.power] * self.setup.works],
            [out.kinetic, out.potential],
            [*monitors, out.worst_mass_pivot],
        )

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        def run(s: list[Scalar]) -> Vec:
            q, v, lane = self.split(s)
            motion, solved = self._solutions(lane, q, v)
            dx, _, monitors = self._derivatives(lane, motion, solved, None)
            return [*dx, *monitors[:-1], 0.0, monitors[-1]]

        outputs = [*self.slots("dx"), *self.slots("mon")]
        return (self.piece("accelerate", run, self.state_slots, outputs, self.partition),)

    def project_pieces(self) -> tuple[Piece, ...]:
        blocks, free = self.partition.blocks, free_speeds(self.plan)

        def solutions(lane: Lane, motion: Motion, residual: Callable[[Rows], Vec]) -> list[BlockSolution]:
            every = [lane.rows(motion, k) for k in range(self.setup.blocks)]
            return [
                solve_block(lane, block, rows, negative(residual(rows)))
                for block, rows in zip(blocks, every, strict=True)
            ]

        def run(s: list[Scalar]) -> Vec:
            q, v, lane = self.split(s)
            before = lane.motion(q, None)
            change, _ = least_change(before, solutions(lane, before, lambda rows: rows.phi), free)
            q = retract(self.plan, q, change)
            still = lane.motion(q, None)
            change, reduced = least_change(still, solutions(lane, still, lambda rows: velocity_residual(rows, v)), free)
            v = [add(speed, change.get(k, 0.0)) for k, speed in enumerate(v)]
            motion, solved = self._solutions(lane, q, v)
            dx, energies, monitors = self._derivatives(lane, motion, solved, reduced)
            gap, residual = gaps([solution.rows for solution in solved], v)
            return [*q, *v, *dx, *monitors[:-1], gap, monitors[-1], gap, residual, *energies]

        outputs = [
            *self.slots("q"),
            *self.slots("x", self.nv),
            *self.slots("dx"),
            *self.slots("mon"),
            *self.slots("rep"),
        ]
        return (self.piece("project", run, self.state_slots, outputs, self.partition),)


class _Blocks(_Builder):
    """A piece a substructure and a common one a phase.

    A substructure's piece depends on its own partition only, the common piece on the numbers of independents only.
    """

    def accelerate_pieces(self) -> tuple[Piece, ...]:
        def common(s: list[Scalar]) -> Vec:
            q, v, lane = self.split(s[: len(self.state_slots)])
            Z, particular = self._read(s[len(self.state_slots) :])
            out = accelerate(lane, lane.motion(q, v), Z, particular, None)
            return [*out.a, *[out.power] * self.setup.works, 0.0, out.worst_mass_pivot]

        outputs = [*self.slots("dx"), *self.slots("mon")[-2:]]
        last = self.piece("common", common, [*self.state_slots, *self._solution_slots()], outputs, self._freedoms())
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
        first = self.layout.slots("scratch").start + sum(_scratch_of(self.plan, i) for i in range(k))
        n, f = len(self.plan.substructures[k].columns), len(self.partition.blocks[k].independent)
        gap = first + n * n + n
        return list(range(first, first + n * f)), list(range(first + n * n, gap)), [gap, gap + 1]

    def _solution_slots(self) -> list[int]:
        return [slot for k in range(self.setup.blocks) for part in self._scratch(k)[:2] for slot in part]

    def _freedoms(self) -> tuple[int, ...]:
        return tuple(len(block.independent) for block in self.partition.blocks)

    def _read(self, values: Sequence[Scalar]) -> tuple[list[Column], Column]:
        """Z of the whole mechanism, deepest motion first, and the particular solution, from the slots' values."""
        columns: dict[int, Column] = {k: {k: 1.0} for k in free_speeds(self.plan)}
        particular: Column = {}
        at = 0
        for block, freedom in zip(self.plan.substructures, self._freedoms(), strict=True):
            n = len(block.columns)
            for k in range(freedom):
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
            q, v, lane = self.split(s)
            rows = lane.rows(lane.motion(q, v), k)
            solution = solve_block(lane, block, rows, rows.gamma)
            found = [
                *self._written(k, solution),
                solution.b_norm,
                solution.squared_condition,
                solution.squared_condition,
            ]
            return [*found, *gaps([rows], v)] if ending else found

        Z, particular, gap = self._scratch(k)
        monitors = self.slots("mon")[MONITORS_PER_BLOCK * k : MONITORS_PER_BLOCK * (k + 1)]
        outputs = [*Z, *particular, *monitors, *(gap if ending else [])]
        return self.piece(f"block {k} {ending}", run, self.state_slots, outputs, block)

    def _correcting_piece(self, k: int, of_speeds: bool) -> Piece:
        """Z of substructure k, and what closes its coordinates, or its speeds, with the independents held."""
        block = self.partition.blocks[k]

        def run(s: list[Scalar]) -> Vec:
            q, v, lane = self.split(s)
            rows = lane.rows(lane.motion(q, None), k)
            residual = velocity_residual(rows, v) if of_speeds else rows.phi
            return self._written(k, solve_block(lane, block, rows, negative(residual)))

        Z, particular, _ = self._scratch(k)
        name = f"correct {'speeds' if of_speeds else 'coordinates'} {k}"
        return self.piece(name, run, self.state_slots, [*Z, *particular], block)

    def _corrected_piece(self, of_speeds: bool) -> Piece:
        """The least change of coordinates or speeds in the mass metric of the whole mechanism."""

        def run(s: list[Scalar]) -> Vec:
            q, v, lane = self.split(s[: len(self.state_slots)])
            Z, correction = self._read(s[len(self.state_slots) :])
            change = Reduced(composite_mass_matrix(lane.motion(q, None)), Z).nearest(correction)
            return [add(x, change.get(k, 0.0)) for k, x in enumerate(v)] if of_speeds else retract(self.plan, q, change)

        inputs = [*self.state_slots, *self._solution_slots()]
        outputs = self.slots("x", self.nv) if of_speeds else self.slots("q")
        return self.piece("speeds" if of_speeds else "coordinates", run, inputs, outputs, self._freedoms())

    def _ending_piece(self) -> Piece:
        """Accelerations, energies and the largest gaps at the end of a step."""
        count = len(self.state_slots)

        def run(s: list[Scalar]) -> Vec:
            q, v, lane = self.split(s[:count])
            Z, particular = self._read(s[count : len(s) - 2 * self.setup.blocks])
            out = accelerate(lane, lane.motion(q, v), Z, particular, None)
            each = s[len(s) - 2 * self.setup.blocks :]
            gap, residual = largest(each[::2]), largest(each[1::2])
            dx = [*out.a, *[out.power] * self.setup.works]
            return [*dx, gap, out.worst_mass_pivot, gap, residual, out.kinetic, out.potential]

        both = [slot for k in range(self.setup.blocks) for slot in self._scratch(k)[2]]
        outputs = [*self.slots("dx"), *self.slots("mon")[-2:], *self.slots("rep")]
        return self.piece("ending", run, [*self.state_slots, *self._solution_slots(), *both], outputs, self._freedoms())


def tracer(function: Callable[[list[Scalar]], Vec], count: int, dtype: str) -> Callable[[], Any]:
    """Defers tracing `function` of `count` scalars to a closed jaxpr."""

    def trace() -> Any:
        with jax.enable_x64(dtype == "float64"):
            arguments = [jax.ShapeDtypeStruct((), np.dtype(dtype))] * count
            return jax.make_jaxpr(
                lambda *s: [np.asarray(x, dtype) if type(x) is float else x for x in function(list(s))]
            )(*arguments)

    return trace


def _key(setup: Setup, name: str, depends: object) -> str:
    """SHA-256 of a canonical text of all that decides the code of a piece (design section 4, LaneProgram)."""
    constants = sorted((path, float(value).hex()) for path, value in setup.numbers.items() if path not in setup.varied)
    motions = [_motion_text(motion) for motion in setup.motions]
    head = (name, setup.plan, setup.varied, float(setup.length).hex(), setup.precision, motions, setup.works)
    matrices = sorted((path, [[float(x).hex() for x in row] for row in R]) for path, R in setup.matrices.items())
    text = repr((head, constants, matrices, depends, source_hash()))
    return hashlib.sha256(text.encode()).hexdigest()


def _motion_text(motion: object) -> tuple[str, str]:
    """What tells a prescribed motion from others; one without a text of its own is new in every process."""
    named = type(motion).__repr__ is not object.__repr__
    _, token = _nameless.setdefault(id(motion), (motion, uuid.uuid4().hex))
    try:
        return repr(motion) if named else token, inspect.getsource(type(motion))
    except (OSError, TypeError):  # typed at a prompt
        return token, ""


@cache
def source_hash() -> str:
    """Hash of the versions and of the sources that decide what a traced program computes."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256(f"{version('jax')} {np.__version__}".encode())
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] not in NO_PHYSICS:
            digest.update(file.read_bytes())
    return digest.hexdigest()
