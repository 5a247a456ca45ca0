"""Starts that cannot be run: welds that stay apart, motions that move no mass. Host code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.equations import null_space
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.reduced import Part, Reduced
from shiftjax.dynamics.reduction import Column
from shiftjax.errors import ModelError
from shiftjax.run.prepared import Prepared
from shiftjax.run.start import Start
from shiftjax.topology.partition import RANK_TOLERANCE, blocks_of, complete_pivoting, free_speeds

WELDED = 1e-6  # m or rad by which a loop of welds may miss


def refuse_open_welds(prepared: Prepared) -> None:
    """Raises where a loop of rigid joints alone does not meet: nothing could move to close it."""
    plan, lane = prepared.plan, prepared.file_lane()
    motion = lane.motion(list(host.per_member(lane.coordinates(), 1)), None)
    solved = {k for block in plan.substructures for k in block.groups}
    for group in (group for k, group in enumerate(plan.constraints) if k not in solved):
        rows = CONSTRAINTS[group.kind].rows(group, motion)
        gap = float(np.abs(host.per_member(rows.phi, 1)).max())
        if gap > WELDED:
            raise ModelError(
                group.name,
                f"welds that stay apart by {gap:.3g} (m or rad)",
                "welds that meet",
                "Correct a frame of theirs.",
            )


def refuse_massless_motion(prepared: Prepared, start: Start) -> None:
    """Raises where some motion of the file's start moves no mass: Z^T H Z would be singular.

    Masses are those the user assigned; where members vary them it is left to the members' own outcome.
    """
    plan, lane = prepared.plan, prepared.file_lane()
    if any(plan.numbers[place].role.of_mass for place in prepared.places):
        return
    masses = [own if number.role.of_mass else file for number, own, file in
              zip(plan.numbers, prepared.own_numbers, prepared.file_numbers, strict=True)]  # fmt: skip
    lane = replace(lane, params=Parameters(masses, lane.params.matrices))
    motion = lane.motion(list(start.q), None)
    tolerance = RANK_TOLERANCE["f64"]
    solved = []
    for s, block in enumerate(plan.substructures):
        _, J = host.closure(lane, start.q, s)
        rows = lane.rows(motion, s)
        solved.append(lane.solve(blocks_of(complete_pivoting(J, tolerance), block)[0], rows, rows.phi))
    parts = Reduced(motion, null_space(solved, free_speeds(plan)), large=plan.nv + 1).parts
    found = next((travel for part in parts if (travel := _massless(part)) is not None), None)
    if found is None:
        return
    travel = host.per_member([found.get(k, 0.0) for k in range(plan.nv)], 1)[:, 0]
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


def _massless(part: Part) -> Column | None:
    """A motion that moves no mass, by speed, where there is one."""
    mass = host.matrices_per_member(part.mass, 1)[0]
    if not len(mass) or not np.isfinite(mass).all():
        return None
    size = np.sqrt(np.maximum(np.diag(mass), 0.0))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(mass / size[:, None] / size[None, :])
    return None if values[0] > 1e-13 else part.along(list(vectors[:, 0] / size))
