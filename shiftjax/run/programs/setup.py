"""What all programs of one run share, and the text that identifies the code they become."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.algebra import Scalar, Vec, larger, largest
from shiftjax.constraints import CONSTRAINTS, scales
from shiftjax.dynamics.kinematics import Parameters, coordinate_rates, speed_units
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.tree import tree_terms
from shiftjax.forces import FORCES
from shiftjax.joints import KINDS
from shiftjax.kernels.lane_program import Layout
from shiftjax.kernels.linearly_implicit import with_jacobian
from shiftjax.lanes.building import graph_of
from shiftjax.mechanism.records import Matrix
from shiftjax.record import record
from shiftjax.run.programs.integrators import PATHS, steps_of
from shiftjax.topology.changeable import of_loops, of_mechanism
from shiftjax.topology.islands import Island, islands
from shiftjax.topology.plan import Plan

MONITORS_PER_BLOCK = 3  # largest |B_ij|; squared pivot condition, for its trigger; the same, for the singular window
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
REPORTS = ("gap", "velocity_gap", "kinetic", "potential")
POSE_SCRATCH = 3  # slots of a substructure whose poses drivers lead: its doubt, its gaps
SUMS = 2 + len(REPORTS) + 1  # of an island: its last two monitors, its reports, its power
NO_PHYSICS = {"cli", "docs", "ensembles", "formats", "models", "viewer"}  # folders that do not decide a piece's code


@record
class Setup:
    """What all programs of one run share.

    Attributes:
        numbers: in the order of the plan's; None for those that only say where a run starts.
        varied: places of the numbers that are lane values, in the order of their slots.
        matrices: constant rotations, in the order of the plan's. length: the size of the model [m].
        functions: of time and coordinates, in the order in which the plan counts them.
        controlled: whether a tolerance chooses the steps.
        foreign: the digest of its physics, where anything comes from outside the package.
        laws: name of an event that sets numbers -> places in the order of their slots, and values.
    """

    plan: Plan
    numbers: tuple[float | None, ...]
    varied: tuple[int, ...]
    matrices: tuple[Matrix, ...]
    length: float
    method: str = "rk4"
    precision: str = "f64"
    functions: tuple[Any, ...] = ()
    foreign: str = ""
    controlled: bool = False
    laws: tuple[tuple[str, tuple[tuple[int, float], ...]], ...] = ()

    @property
    def blocks(self) -> int:
        return len(self.plan.substructures)

    @property
    def by_block(self) -> bool:
        return self.blocks > 1

    @property
    def quadratures(self) -> tuple[str, ...]:
        """What is integrated beside the motion: the work of what is not conservative, where there is any."""
        return ("work",) if self.plan.dissipates or self.plan.time_dependent else ()

    @property
    def units(self) -> list[float]:
        """(nv,) factors that make speeds dimensionless."""
        return scales(speed_units(self.plan), self.length)

    @property
    def monitors(self) -> int:
        """Three a substructure, then the loop gap and the loss of mass."""
        return MONITORS_PER_BLOCK * self.blocks + 2

    @property
    def pose_monitors(self) -> slice:
        """Those of singular poses, one a substructure, among all monitors."""
        return slice(2, MONITORS_PER_BLOCK * self.blocks, MONITORS_PER_BLOCK)

    @property
    def known_numbers(self) -> list[float]:
        """The plan's numbers, 0 in place of those that only values say."""
        return [0.0 if number is None else number for number in self.numbers]

    @property
    def changing_loops(self) -> frozenset[str]:
        """Names of the events that set numbers of closed loops."""
        return self._setting(of_loops(self.plan))

    @property
    def changing_mechanism(self) -> frozenset[str]:
        """Names of the events that set other numbers than those of forces and gravity."""
        return self._setting(of_mechanism(self.plan))

    def _setting(self, places: Collection[int]) -> frozenset[str]:
        return frozenset(name for name, law in self.laws if any(self.varied[row] in places for row, _ in law))

    @property
    def switches(self) -> int:
        """Switches of forces, at which steps end where the method chooses their sizes."""
        if not self.controlled:
            return 0
        return sum(len(FORCES[force.kind].switch_units(force, "")) for force in self.plan.forces)

    def layout(self, channels: int = 0, metrics: int = 0, guarded: int = 0) -> Layout:
        """The regions of one lane; x holds speeds, states of forces, quadratures.

        Args:
            channels: how many scalars are recorded. metrics: how many accumulators they have. guarded: how many events
                freeze a lane; they come after the switches of forces.
        """
        plan = self.plan
        plain = Layout(
            nq=plan.nq,
            nx=plan.nv + plan.ns + len(self.quadratures),
            np=len(self.varied),
            nm=self.monitors,
            nr=len(REPORTS),
            na=len(ACCUMULATORS) + metrics,
            nc=channels,
            ns=POSE_SCRATCH * self.blocks if self.method in PATHS else shared_scratch(plan),
            ne=self.switches + guarded,
        )
        return with_jacobian(plain, steps_of(self.method))

    def part(self, island: Island) -> Setup:
        """The setup of an island: equal for equal islands of equal numbers, wherever they stand."""
        place = {old: new for new, old in enumerate(island.numbers)}
        varied = tuple(place[k] for k in self.varied if k in place)
        return replace(
            self,
            plan=island.plan,
            numbers=_moved_to_origin(island.plan, [self.numbers[k] for k in island.numbers], varied),
            varied=varied,
            matrices=tuple(self.matrices[k] for k in island.matrices),
        )

    def lane(self, values: Sequence[Scalar], t: Scalar) -> Lane:
        """The lane functions' common ground for given values of the varied numbers."""
        numbers = with_values(self.numbers, self.varied, values)
        return Lane(self.plan, Parameters(numbers, self.matrices), self.length, self.functions, t)

    def identity(self) -> str:
        """SHA-256 of a canonical text of all that decides code, but for the piece (design section 4, LaneProgram)."""
        constants = [
            float(number).hex()
            for place, number in enumerate(self.numbers)
            if number is not None and place not in self.varied
        ]
        matrices = [[float(x).hex() for x in row] for R in self.matrices for row in R]
        head = (self.plan, self.varied, float(self.length).hex(), self.precision, self.quadratures)
        text = repr((head, constants, matrices, source_hash(), self.foreign))
        return hashlib.sha256(text.encode()).hexdigest()


def with_values(numbers: Iterable[Scalar], places: Iterable[int], values: Iterable[Scalar]) -> list[Scalar]:
    """The numbers of a plan with values at some places."""
    out = list(numbers)
    for place, value in zip(places, values, strict=True):
        out[place] = value
    return out


def certified(setup: Setup, x: Vec, rep: Vec, mon: Vec, acc: Vec) -> Vec:
    """The accumulators of the certificate after a step, running extremes (design rule 4); lane code.

    Args:
        x: speeds, states of forces, quadratures. rep: reports. mon: monitors. acc: the accumulators before.
    """
    nx = setup.plan.nv + setup.plan.ns
    work = x[nx] if setup.quadratures else 0.0
    squared_condition = largest([mon[MONITORS_PER_BLOCK * k + 1] for k in range(setup.blocks)])
    balance = abs(rep[2] + rep[3] - acc[6] - work)
    swing = abs(rep[3] - acc[7])
    fresh = [rep[0], rep[1], squared_condition, balance, rep[2], swing]
    return [larger(old, new) for old, new in zip(acc, fresh, strict=False)] + acc[6:]


def scratch_of(plan: Plan, index: int) -> int:
    """Slots of one substructure: Z dense for any rank, a particular vector, two gaps."""
    n = len(plan.substructures[index].columns)
    return n * n + n + 2


def _moved_to_origin(plan: Plan, numbers: list[float | None], varied: Collection[int]) -> tuple[float | None, ...]:
    """The numbers with all frames on ground moved such that the first one stands at the origin.

    Only differences from that frame enter the equations (`kinematics.ground_point`), so that they stay what they are.
    """
    on_ground = [j.near_frame for j in plan.joints if j.near == 0]
    on_ground += [f.frame for e in (*plan.constraints, *plan.forces) for f in e.frames if f.node == 0]
    first = next((j.near_frame for j in plan.joints if j.near == 0 and not j.kind.free), None)
    frames = {frame.T for frame in on_ground if frame is not None}
    if first is None or None in on_ground or any(set(T) & set(varied) for T in frames):
        return tuple(numbers)
    out = list(numbers)
    for T in frames:
        for k, origin in zip(T, first.T, strict=True):
            out[k] = numbers[k] - numbers[origin]  # type: ignore[operator]  # numbers of frames are constants
    return tuple(out)


@cache
def shared_scratch(plan: Plan) -> int:
    """Slots through which pieces hand numbers to each other: of substructures, or of islands and their sums."""
    parts = islands(plan)
    if len(parts) > 1:
        return sum(shared_scratch(part.plan) + SUMS for part in parts)
    return sum(scratch_of(plan, k) for k in range(len(plan.substructures))) if len(plan.substructures) > 1 else 0


def from_outside(plan: Plan, functions: Sequence[Any]) -> bool:
    """Whether anything that decides code comes from outside the package: a kind, or a function of the user's."""
    of_the_package = (
        *(KINDS.ships(joint.kind) for joint in plan.joints),
        *(FORCES.ships(FORCES[force.kind]) for force in plan.forces),
        *(CONSTRAINTS.ships(CONSTRAINTS[group.kind]) for group in plan.constraints),
    )
    return bool(functions) or not all(of_the_package)


def fingerprinted(setup: Setup) -> Setup:
    """With the digest of its physics as a graph, masses, forces and rows at any state, where any is from outside.

    What comes from outside may read a file, another module, an attribute: only what it does tells it from others.
    """
    plan = setup.plan
    if not from_outside(plan, setup.functions):
        return setup
    bearing = [element for element in plan.forces if element.bears]
    sizes = (plan.nq, plan.nv, plan.ns, len(setup.varied), 7 * len(bearing))

    def physics(values: list[Scalar]) -> Vec:
        rest = iter(values)
        q, v, states, p, borne = ([next(rest) for _ in range(size)] for size in sizes)
        lane = setup.lane(p, next(rest))
        motion = lane.motion(q, v).bearing(dict(zip(bearing, borne[::7], strict=True)))
        tree = tree_terms(motion, lane.gravity(), states)
        out = [*tree.force, *tree.rates, tree.power, tree.kinetic, tree.potential, *coordinate_rates(plan, q, v)]
        for k in range(setup.blocks):
            rows = lane.rows(motion, k)
            out += [*rows.phi, *rows.nu, *rows.gamma, *(float(speed) for line in rows.J for speed in line)]
            out += [entry for line in rows.J for entry in line.values()]
        for k, element in enumerate(bearing):
            wrench, (_, axis) = borne[7 * k + 1 : 7 * (k + 1)], motion.seat(element)
            n, kind = motion.values(element.numbers), FORCES[element.kind]
            given, parts = kind.pressed(n, axis, wrench[:3], wrench[3:])
            out += [given, *(x for weight, vector in parts for x in (weight, *vector))]
        return out

    return replace(setup, foreign=graph_of(physics, sum(sizes) + 1, setup.precision).digest())


@cache
def source_hash() -> str:
    """Hash of the version of NumPy and of the sources that decide what a lane function computes."""
    package = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(np.__version__.encode())
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] not in NO_PHYSICS:
            digest.update(file.read_bytes())
    return digest.hexdigest()
