"""Springs with features so thin that steps of a fixed size go past them. Host code.

Problem: a body that is before a barrier at the end of one step and behind it at the end of the next has kept its
energy, and no stage has seen the barrier. The lanes note of each such force what was passed at which speed
(`measures.passed_knots`), and where the worst was. Here it is compared with the mass that moves along the displacement
there, 1 / (J Z (Z^T H Z)^-1 Z^T J^T) with J the derivative of the displacement (Khatib, A unified approach
for motion and force control of robot manipulators, 1987, eq. 34): the least energy of any motion at that speed,
whatever else moves beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar
from shiftjax.dynamics.equations import null_space
from shiftjax.dynamics.kinematics import retract
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.reduced import Reduced
from shiftjax.dynamics.reduction import Column
from shiftjax.forces import FORCES
from shiftjax.lanes.member_values import MemberValues
from shiftjax.measures.passed_knots import PassedKnots
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Partition, free_speeds

MISSED = 0.1  # of the limit of angles: by how much what is not seen may put coordinates off
# Of the energy of the motion: the least barrier that may turn it, where its mass at other poses is not known.
HIGH = 0.1
# The same of a barrier where its mass at the very pose is known, and that of all others is below `HIGH`.
CLEAR = 0.5
SHIFT = 1e-6  # rad or parts of the model's length, to both sides, for the derivative of a displacement
RESOLVED = 0.5  # of the shortest way between two knots that are passed, for a step that would do


def passed_springs(prepared: Prepared, lanes: Ensemble) -> Iterator[tuple[str, int, str]]:
    """Path of a force, member and what is said of barriers that its steps have gone past."""
    metrics = lanes.recordings[0].programs.metrics
    every = metrics.of_watched(lanes.measured_of().astype(float)) if metrics is not None else ()
    for one, rows in every:
        if not isinstance(one, PassedKnots):
            continue
        _, _, _, late, turned, second, heaviest, time, nearest, *q = rows
        members = np.flatnonzero((lanes.status <= 0) & ~(heaviest <= 0.0))
        if not len(members):
            continue
        moving = np.full(len(heaviest), np.nan)
        for _, partition, alike in lanes.groups(members):
            lane = replace(prepared.lane_of(alike, 1.0), t=time[alike])
            moving[alike] = moving_mass(lane, one, partition, np.stack([row[alike] for row in q]))
        with np.errstate(all="ignore"):
            part, others, off = turned / moving, second / moving, late / moving
        highest = np.where((turned == heaviest) & (others <= HIGH), CLEAR, HIGH)
        limit = MISSED * lanes.settings.angle_limit
        for k in members[~((part[members] <= highest[members]) & (off[members] <= limit))].tolist():
            step = RESOLVED * nearest[k] * lanes.settings.h
            yield (
                one.path,
                k,
                f"has knots that steps go past, as before {time[k]:.6g} s: what lies between them has {part[k]:.2g} "
                f"of the energy of the motion (limit {highest[k]:g}) and puts coordinates off by {off[k]:.2g} rad or "
                f"parts of the size (limit {limit:g}): take steps of about {1e3 * step:.2g} ms, or a tolerance, whose "
                "steps end at knots",
            )


def moving_mass(lane: Lane, one: PassedKnots, partition: Partition, q: np.ndarray) -> np.ndarray:
    """(K,) mass that moves along the displacement of a force at coordinates (nq, K) [kg or kg m^2].

    Infinite where no motion changes the displacement, not a number where it cannot be told.
    """
    plan, members, values = lane.plan, q.shape[1], MemberValues()
    valued, at = lane.in_graph(values), values.lane_values(q)
    motion, element = valued.motion(at, None), plan.forces[one.force]
    all_rows = [valued.rows(motion, s) for s in range(len(partition.blocks))]
    solved = [valued.solve(block, rows, rows.phi) for block, rows in zip(partition.blocks, all_rows, strict=True)]

    def slope(column: Column) -> Scalar:
        shift = SHIFT * valued.units[next(iter(column))]
        ends = (retract(plan, at, {speed: s * z for speed, z in column.items()}) for s in (-shift, shift))
        low, high = (FORCES[element.kind].course(element, valued.motion(end, None)).x for end in ends)
        return 0.5 / shift * (high - low)

    inverse = np.zeros(members)
    for part in Reduced(motion, null_space(solved, free_speeds(plan)), large=plan.nv + 1).parts:
        J = host.per_member(values.numbers([slope(column) for column in part.Z]), members).T
        mass = host.matrices_per_member([values.numbers(row) for row in part.mass], members)
        sound = np.asarray(np.isfinite(mass).all((1, 2)) & np.isfinite(J).all(1))
        mass = np.where(sound[:, None, None], mass, np.eye(len(part.Z)))
        mobile = np.einsum("ki,kij,kj->k", J, np.linalg.pinv(mass, hermitian=True), J)
        inverse += np.where(sound, mobile, np.nan)
    with np.errstate(all="ignore"):
        return 1.0 / inverse
