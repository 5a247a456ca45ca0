"""From a model and its varied numbers to assembled starts and partitions, for `simulate` and `compile`. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.algebra import Scalar
from shiftjax.constraints import Harmonic
from shiftjax.constraints.loop_closure import loop_rows
from shiftjax.dynamics.channels import channels
from shiftjax.dynamics.equations import Lane, null_space, solve_block
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.tree import Reduced, composite_mass_matrix
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.run.assembly import LaneOf, Start, assemble
from shiftjax.run.lane_program import Setup
from shiftjax.topology.analysis import analyze
from shiftjax.topology.partition import (
    RANK_TOLERANCE,
    Block,
    blocks_of,
    characteristic_length,
    complete_pivoting,
    free_speeds,
)
from shiftjax.topology.plan import Plan

WELDED = 1e-6  # m or rad by which a loop of welds may miss
NOMINAL_PIVOTS = 0.01  # a start may be this much worse conditioned than the file's before it takes its own partition


@dataclass
class Prepared:
    """A model made ready to run for given members.

    base: the model as the file has it; model: with the numbers that the user assigned.
    values: (count, B) all varied numbers in the order of `vary`; setup.varied is the part of them that programs read.
    """

    base: Model
    model: Model
    plan: Plan
    setup: Setup
    vary: tuple[str, ...]
    values: np.ndarray
    named: tuple[int, ...]
    named_speeds: tuple[int, ...]

    @property
    def members(self) -> int:
        return self.values.shape[1]

    @cached_property
    def file_numbers(self) -> dict[str, float]:
        """The file's own numbers."""
        return self.base.numbers()

    @cached_property
    def assigned(self) -> dict[str, float]:
        """The numbers that the user assigned something else."""
        return {path: value for path, value in self.model.numbers().items() if value != self.file_numbers[path]}

    def file_lane(self) -> Lane:
        return Lane(
            self.plan, Parameters(self.file_numbers, self.setup.matrices), self.setup.length, self.setup.motions, 0.0
        )

    def lane_of(self, members: np.ndarray, fraction: float | np.ndarray) -> Lane:
        """The lane of some members, their numbers a fraction of the way from the file's to their own."""
        numbers: dict[str, Scalar] = dict(self.file_numbers)
        for path, values in [*self.assigned.items(), *zip(self.vary, self.values, strict=True)]:
            base, own = numbers[path], np.broadcast_to(values, self.values.shape[1])[members]
            numbers[path] = np.where(np.equal(fraction, 1.0), own, base + fraction * (own - base))
        return Lane(self.plan, Parameters(numbers, self.setup.matrices), self.setup.length, self.setup.motions, 0.0)

    def parameters(self) -> np.ndarray:
        """(np, B) values of the numbers that the programs read."""
        rows = [self.vary.index(path) for path in self.setup.varied]
        return self.values[rows]

    def start(self) -> Start:
        """Assembled starts of all members."""
        if not self.vary and self.model == self.base:
            return self.file_start
        return self._assembled(self.file_lane(), self.lane_of, self.members)

    @cached_property
    def file_start(self) -> Start:
        """The file's own start, one member."""
        lane = self.file_lane()
        return self._assembled(lane, lambda members, fraction: lane, 1)

    def _assembled(self, file_lane: Lane, lane_of: LaneOf, members: int) -> Start:
        file_order = _joints_of(self.plan, [path for path, _ in self.model.joints()])
        return assemble(self.plan, file_lane, lane_of, members, file_order, self.named, self.named_speeds)


def prepare(
    model: Model,
    vary: Mapping[str, object],
    *,
    hold: Sequence[str] = (),
    assign: Mapping[str, float] | None = None,
    channel_paths: Sequence[str] = (),
    method: str = "rk4",
    precision: str = "f64",
    drive: Mapping[str, Harmonic] | None = None,
    cut: Sequence[str] = (),
    cluster: bool = True,
    refuse: bool = True,
) -> Prepared:
    """Analyses the model and sorts its numbers into constants, program inputs and start values.

    Args:
        vary: number path -> (B,) values. assign: number path -> value for all members.
        refuse: False analyses a model although parts of it cannot be simulated.

    Raises:
        ModelError: bad paths or shapes, things that cannot be simulated.
    """
    if refuse:
        refuse_unsupported(model)
    for where, paths in (("hold", hold), ("channels", channel_paths), ("cut", cut)):
        refuse_text(where, paths)
    drive, base, model = drive or {}, model, model.replace(assign) if assign else model
    named = [base.resolve(path) for path in assign or {}]
    plan = analyze(model, cut=cut, cluster=cluster, driven=tuple(drive))
    numbers, matrices = model.numbers(), model.matrices()
    known = _varied(model, vary, numbers)
    started = _start_numbers(plan, numbers)
    setup = Setup(
        plan=plan,
        numbers={path: value for path, value in numbers.items() if path not in started},
        matrices=matrices,
        varied=tuple(path for path in known if path not in started),
        length=characteristic_length(plan, numbers),
        method=method,
        precision=precision,
        motions=tuple(drive.values()),
        channels=channels(plan, channel_paths, [path.removesuffix(".R") for path in matrices], model.resolve),
    )
    values = np.array(list(known.values()), float).reshape(len(known), -1 if known else 1)
    moved = [*(path for path in known if ".initial_displacement" in path), *named]
    thrown = [*(path for path in known if ".initial_velocity" in path), *named]
    held = [model.resolve(path) for path in hold]
    return Prepared(
        base,
        model,
        plan,
        setup,
        tuple(known),
        values,
        _joints_of(plan, [*(p for p in moved if ".initial_displacement" in p), *held]),
        _joints_of(plan, [p for p in thrown if ".initial_velocity" in p]),
    )


def refuse_text(where: str, paths: Sequence[str]) -> None:
    """Raises where one path stands for a list of paths: its letters would be read as paths."""
    if isinstance(paths, str):
        raise ModelError(where, repr(paths), "a list of paths", f"Write [{paths!r}].")


def refuse_unsupported(model: Model) -> None:
    """Raises where something active cannot be simulated yet."""
    for path, what in model.unsupported():
        raise ModelError(path, what, "what this version simulates", 'Set "active": false on it, or remove it.')


def _varied(model: Model, vary: Mapping[str, object], numbers: Mapping[str, float]) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    for path, values in vary.items():
        full = model.resolve(path)
        if full not in numbers:
            model.replace({path: 0.0})  # raises with the nearest known path
        if full in out:
            raise ModelError(f"vary {path}", "the same number twice", "each number once", "Leave one of them out.")
        try:
            array = np.asarray(values, float)
        except (TypeError, ValueError):
            raise ModelError(f"vary {path}", repr(values)[:80], "numbers, one a member", "Give an array.") from None
        if array.ndim != 1:
            raise ModelError(f"vary {path}", f"shape {array.shape}", "one value a member, shape (B,)", "Flatten it.")
        out[full] = array
    sizes = {path: len(array) for path, array in out.items()}
    if len(set(sizes.values())) > 1:
        raise ModelError("vary", f"lengths {sizes}", "one length for all", "Give every path as many values as members.")
    if out and 0 in sizes.values():
        raise ModelError("vary", "no members", "at least one", "Give at least one value.")
    return out


def _start_numbers(plan: Plan, numbers: Mapping[str, float]) -> set[str]:
    """Paths that only say where a run starts."""
    heads = tuple(
        f"{joint.path}.initial_{word}" for joint in plan.joints for word in ("displacement", "velocity") if joint.nv
    )
    return {path for path in numbers if path.startswith(heads)} if heads else set()


def _joints_of(plan: Plan, paths: Sequence[str], where: str = "hold") -> tuple[int, ...]:
    index = {joint.path: k for k, joint in enumerate(plan.joints)}
    heads = [path.split(".initial_")[0] for path in paths]
    unknown = [head for head in heads if head not in index]
    if unknown:
        raise ModelError(f"{where} {unknown[0]}", "no active joint", "the path of a joint", f"One of {sorted(index)}.")
    return tuple(dict.fromkeys(index[head] for head in heads))


def partitions(
    prepared: Prepared, start: Start, multiplier: float, independent: Sequence[str] = ()
) -> list[list[Block]]:
    """For every substructure the partition of every member: the nominal one where it serves, else its own.

    Raises:
        ModelError: a joint of `independent` that cannot be.
    """
    plan, setup = prepared.plan, prepared.setup
    nominal_lane, nominal = prepared.file_lane(), prepared.file_start
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    tolerance = RANK_TOLERANCE[setup.precision]
    forced = _forced(plan, prepared.model, independent)
    out: list[list[Block]] = []
    for s, block in enumerate(plan.substructures):
        free = [k for k, column in enumerate(block.columns) if column in forced]
        _, J = host.closure(nominal_lane, nominal.q, s)
        found = complete_pivoting(J, tolerance, free)
        if free and found.rank[0] < complete_pivoting(J, tolerance).rank[0]:
            names = [name for name, column in zip(plan.speed_names(), range(plan.nv), strict=True) if column in forced]
            raise ModelError(
                "independent", f"{names}", "coordinates the loops leave free together", "Name fewer, or others."
            )
        chosen = blocks_of(found, block)[0]
        base_b, base_ratio = host.block_monitors(nominal_lane, nominal.q, s, chosen)
        b, ratio = host.block_monitors(lane, start.q, s, chosen)
        serves = (b <= multiplier * max(base_b[0], 1.0)) & (ratio >= NOMINAL_PIVOTS * base_ratio[0])
        mine = [chosen] * prepared.members
        others = np.flatnonzero(~serves & start.closed) if not free else np.zeros(0, int)
        if len(others):
            _, J = host.closure(lane.of(others), start.q[:, others], s)
            for k, own in zip(others, blocks_of(complete_pivoting(J, tolerance), block), strict=True):
                mine[k] = own
        out.append(mine)
    return out


def _forced(plan: Plan, model: Model, independent: Sequence[str]) -> set[int]:
    refuse_text("independent", independent)
    joints = [plan.joints[k] for k in _joints_of(plan, [model.resolve(path) for path in independent], "independent")]
    return {joint.v + k for joint in joints for k in range(joint.nv)}


def _is_mass(path: str) -> bool:
    return path.endswith(".mass") or ".inertia." in path or ".center_of_mass[" in path


def refuse_open_welds(prepared: Prepared) -> None:
    """Raises where a loop of rigid joints alone does not meet: nothing could move to close it."""
    plan, lane = prepared.plan, prepared.file_lane()
    motion = lane.motion(list(host.start_coordinates(lane, 1)), None)
    tied = {k for block in plan.substructures for k in block.loops}
    for loop in (loop for k, loop in enumerate(plan.loops) if k not in tied):
        gap = float(np.abs(host.per_member(loop_rows(motion, loop, 1.0).phi, 1)).max())
        if gap > WELDED:
            raise ModelError(
                loop.name,
                f"welds that stay apart by {gap:.3g} (m or rad)",
                "welds that meet",
                "Correct a frame of theirs.",
            )


def refuse_massless_motion(prepared: Prepared, start: Start) -> None:
    """Raises where some motion of the file's start moves no mass: Z^T H Z would be singular.

    Masses are those the user assigned; where members vary them it is left to the members' own outcome.
    """
    plan, lane = prepared.plan, prepared.file_lane()
    if any(_is_mass(path) for path in prepared.vary):
        return
    masses = {path: value for path, value in prepared.model.numbers().items() if _is_mass(path)}
    lane = replace(lane, params=Parameters({**lane.params.numbers, **masses}, lane.params.matrices))
    motion = lane.motion(list(start.q), None)
    tolerance = RANK_TOLERANCE["f64"]
    solved = []
    for s, block in enumerate(plan.substructures):
        _, J = host.closure(lane, start.q, s)
        rows = lane.rows(motion, s)
        solved.append(solve_block(lane, blocks_of(complete_pivoting(J, tolerance), block)[0], rows, rows.phi))
    reduced = Reduced(composite_mass_matrix(motion), null_space(solved, free_speeds(plan)))
    mass = host.matrices_per_member(reduced.mass, 1)[0]
    if not len(mass) or not np.isfinite(mass).all():
        return
    size = np.sqrt(np.maximum(np.diag(mass), 0.0))
    size = np.where(size > 0, size, 1.0)
    scaled = mass / size[:, None] / size[None, :]
    values, vectors = np.linalg.eigh(scaled)
    if values[0] > 1e-13:
        return
    x = vectors[:, 0] / size
    travel = host.per_member([reduced.along(list(x)).get(k, 0.0) for k in range(plan.nv)], 1)[:, 0]
    carriers = [
        name
        for name, amount in zip(plan.speed_names(), np.abs(travel), strict=True)
        if amount > 1e-6 * np.abs(travel).max()
    ]
    bodies = [plan.nodes[j.far].path for j in plan.joints if any(abs(travel[j.v + k]) > 0 for k in range(j.nv))]
    raise ModelError(
        f"motion of {', '.join(carriers)}",
        "a motion that moves no mass",
        "mechanisms in which every motion moves mass",
        f"Give {', '.join(sorted(set(bodies))[:4])} an inertia about the axes that move, or make a joint rigid.",
    )
