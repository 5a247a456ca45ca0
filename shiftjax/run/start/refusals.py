"""Starts that cannot be run: welds that stay apart, motions that move no mass. Host code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.equations import null_space
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.reduced import DensePart, Reduced
from shiftjax.dynamics.reduction import Column
from shiftjax.errors import ModelError
from shiftjax.lanes.member_values import MemberValues
from shiftjax.mechanism.paths import listed
from shiftjax.memory_cache import forget_oldest
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.topology.partition import blocks_of, complete_pivoting, free_speeds, rank_tolerance

WELDED = 1e-6  # m or rad by which a loop of welds may miss
KEPT = 16  # files whose motions are remembered

_Massless = tuple[list[str], list[str]] | None  # coordinates and bodies of a motion that moves no mass
_of_files: dict[tuple[Any, ...], tuple[_Massless, tuple[Any, ...]]] = {}  # and what ids in the key belong to


def refuse_open_welds(prepared: Prepared) -> None:
    """Raises where a loop of rigid joints alone does not meet: nothing could move to close it."""
    plan, lane = prepared.plan, prepared.file_lane()
    motion, values = host.motion_of(lane, host.stated_coordinates(lane, 1))
    solved = {k for block in plan.substructures for k in block.groups}
    for group in (group for k, group in enumerate(plan.constraints) if k not in solved):
        rows = CONSTRAINTS[group.kind].rows(group, motion)
        gap = float(np.abs(host.per_member(values.numbers(rows.phi), 1)).max())
        if gap > WELDED:
            raise ModelError(
                group.name,
                f"welds that stay apart by {gap:.3g} (m or rad)",
                "welds that meet",
                "Correct a frame of theirs.",
            )


def refuse_massless_motion(prepared: Prepared, start: Start) -> None:
    """Raises where some motion of the file's start moves no mass: Z^T H Z would be singular."""
    if (massless := massless_motion(prepared, start)) is not None:
        carriers, bodies = massless
        raise ModelError(
            f"motion of {', '.join(carriers)}",
            "a motion that moves no mass",
            "mechanisms in which every motion moves mass",
            f"Give {listed(bodies)} an inertia about the axes that move, or make a joint rigid.",
        )


def massless_motion(prepared: Prepared, start: Start) -> _Massless:
    """The coordinates and the bodies of a motion of the file's start that moves no mass, where there is one.

    Masses are those the user assigned; where members vary them it is left to the members' own outcome.
    """
    plan, lane = prepared.plan, prepared.file_lane()
    if any(plan.numbers[place].role.of_mass for place in prepared.places):
        return None
    masses = [assigned if number.role.of_mass else file for number, assigned, file in
              zip(plan.numbers, prepared.own_numbers, prepared.file_numbers, strict=True)]  # fmt: skip
    return _of_the_file(prepared, replace(lane, params=Parameters(masses, lane.params.matrices)), start.q)


def massless_members(prepared: Prepared, start: Start, members: Iterable[int]) -> dict[int, str]:
    """Which of some members have a motion that moves no mass at their start, and which motion."""
    out: dict[int, str] = {}
    if not any(prepared.plan.numbers[place].role.of_mass for place in prepared.places):
        return out
    for k in members:
        lane = prepared.lane_of(np.array([k]), 1.0)
        numbers = [float(value[0]) if isinstance(value, np.ndarray) else value for value in lane.params.numbers]
        lane = replace(lane, params=Parameters(numbers, lane.params.matrices))
        massless = _massless_motion(prepared, lane, start.q[:, [k]])
        if massless is not None:
            out[int(k)] = f"the motion of {listed(massless[0])} moves no mass of {listed(massless[1])}"
    return out


def _of_the_file(prepared: Prepared, lane: StartLane, q: np.ndarray) -> _Massless:
    """`_massless_motion` of a file's start, sought once for the same numbers: half of a short run of a delta robot."""
    owners = (prepared.plan, lane.functions, lane.params.matrices)
    key = (*map(id, owners), np.array(lane.params.numbers).tobytes(), q.tobytes(), lane.length, lane.t)
    known = _of_files.get(key)
    if known is None:
        forget_oldest(_of_files, KEPT - 1)
        known = _of_files[key] = _massless_motion(prepared, lane, q), owners
    return known[0]


def _massless_motion(prepared: Prepared, lane: StartLane, q: np.ndarray) -> _Massless:
    """The coordinates and the bodies of a motion of one member that moves no mass, where there is one."""
    plan = prepared.plan
    motion, values = host.motion_of(lane, q)
    solved = []
    for s, block in enumerate(plan.substructures):
        _, J = host.closure(lane, q, s)
        rows = lane.rows(motion, s)
        solved.append(lane.solve(blocks_of(complete_pivoting(J, rank_tolerance(block)), block)[0], rows, rows.phi))
    parts = Reduced(motion, null_space(solved, free_speeds(plan)), large=plan.nv + 1).parts
    column = next((travel for part in parts if (travel := _massless(part, values)) is not None), None)
    if column is None:
        return None
    travel = np.abs(host.per_member(values.numbers(column.get(k, 0.0) for k in range(plan.nv)), 1)[:, 0])
    carriers = [name for name, amount in zip(plan.speed_names(), travel, strict=True) if amount > 1e-6 * travel.max()]
    bodies = {plan.nodes[j.far].path for j in plan.joints if any(travel[j.v + k] > 0 for k in range(j.nv))}
    return carriers, sorted(bodies)


def _massless(part: DensePart, values: MemberValues) -> Column | None:
    """A motion that moves no mass, by speed, where there is one."""
    mass = host.matrices_per_member([values.numbers(row) for row in part.mass], 1)[0]
    if not len(mass) or not np.isfinite(mass).all():
        return None
    size = np.sqrt(np.maximum(np.diag(mass), 0.0))
    size = np.where(size > 0, size, 1.0)
    squares, vectors = np.linalg.eigh(mass / size[:, None] / size[None, :])
    return None if squares[0] > 1e-13 else part.along((vectors[:, 0] / size).tolist())
