"""Inertias that no body has, in members that can run all the same: whether every motion moves positive mass. Host code.

Problem: files state principal moments that break the inequality of the triangle, or a negative moment about an axis
that never turns. What runs is the reduced mass matrix Z^T H Z: where it is positive definite accelerations exist and
are unique (Udwadia, Phohomsiri, Proceedings of the Royal Society A 462, 2006), whatever moments stand behind it.
The result must be: positive definite at the start and at the end, never a plain status 0. In between the monitor of the
pivots of Z^T H Z ends a member whose mass vanishes.
Refused: members of which a motion moves no positive mass are `unphysical`, with the body that is to blame.
"""

from __future__ import annotations

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.dynamics.equations import null_space
from shiftjax.dynamics.reduced import Reduced
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.start.event_values import with_events
from shiftjax.run.start.physical import impossible_inertias
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Partition, free_speeds

POSITIVE = 1e-13  # smallest eigenvalue of a mass matrix whose diagonal is 1


def odd_inertias(prepared: Prepared) -> dict[int, str]:
    """Member -> which of its bodies have moments that no body has, or are given such by an event."""
    return with_events(prepared, impossible_inertias)


def judge_inertias(prepared: Prepared, lanes: Ensemble, members: np.ndarray) -> None:
    """Warns those of some members that have odd inertias, and ends those of which a motion moves no positive mass."""
    ended = (Outcome.non_finite, Outcome.no_mass)
    odd = np.array([k for k in lanes.odd_inertias if lanes.status[k] <= 0 or lanes.status[k] in ended], int)
    odd = np.intersect1d(odd, members) if len(odd) else odd
    odd = odd[lanes.table.reduce("finite", "q", odd)]
    good = np.zeros(prepared.members, bool)
    for _, partition, alike in lanes.groups(odd) if len(odd) else ():
        good[alike] = _moves_positive_mass(prepared, lanes, partition, alike)
    lost = odd[(~good[odd] & (lanes.status[odd] <= 0)) | np.isin(lanes.status[odd], ended)]
    blame = {int(k): f"{lanes.odd_inertias[int(k)]}; a motion moves no positive mass" for k in lost}
    lanes.end(blame, Outcome.unphysical)
    lanes.warn(odd[good[odd]], Outcome.impossible_inertia)


def _moves_positive_mass(prepared: Prepared, lanes: Ensemble, partition: Partition, members: np.ndarray) -> np.ndarray:
    """(K,) whether Z^T H Z is positive definite where members of one partition stand."""
    plan, lane = prepared.plan, prepared.lane_with(members, lanes.table.rows("p", members).astype(float))
    motion, values = host.motion_of(lane, lanes.table.rows("q", members).astype(float))
    all_rows = [lane.rows(motion, s) for s in range(len(partition.blocks))]
    solved = [lane.solve(block, rows, rows.phi) for block, rows in zip(partition.blocks, all_rows, strict=True)]
    positive = np.ones(len(members), bool)
    for part in Reduced(motion, null_space(solved, free_speeds(plan)), large=plan.nv + 1).parts:
        mass = host.matrices_per_member([values.numbers(row) for row in part.mass], len(members))
        size = np.sqrt(np.maximum(np.diagonal(mass, axis1=1, axis2=2), 0.0))
        sound = np.asarray(np.isfinite(mass).all((1, 2)) & (size > 0.0).all(1))
        size = np.where(sound[:, None], size, 1.0)
        scaled = np.where(sound[:, None, None], mass, 0.0) / size[:, :, None] / size[:, None, :]
        positive &= sound & (np.linalg.eigvalsh(scaled)[:, :1] > POSITIVE).all(1)
    return positive
