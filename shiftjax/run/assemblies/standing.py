"""A substructure some of whose coordinates stand: its rows, the blocks that give signs, assemblies led elsewhere.

Host code.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from shiftjax.run.closing.holding import columns_of
from shiftjax.run.closing.host_evaluation import StartLane, closure
from shiftjax.run.closing.walks import LaneOf, Way, number_steps, walk
from shiftjax.run.start.branches import blocks_of_signs, signs
from shiftjax.run.start.tied import SignBlock
from shiftjax.topology.plan import Plan

DRAWN = 4  # poses at which entries of a Jacobian are looked at: one that is 0 at all of them is so everywhere


def closing_rows(plan: Plan, index: int, fixed: Collection[int]) -> np.ndarray:
    """Rows of the constraints other than the drivers of what stands."""
    groups = [plan.constraints[k] for k in plan.substructures[index].groups]
    closing = [not (group.coordinates and {*group.coordinates} <= {*fixed}) for group in groups]
    return np.flatnonzero(np.repeat(closing, [group.rows for group in groups]))


def sign_blocks(plan: Plan, lane: StartLane, index: int, fixed: Collection[int]) -> list[SignBlock]:
    """Blocks of the Jacobian of what does not stand, of one member, the same ones at all poses.

    At single poses entries vanish, as of a link that is parallel to an axis, and rows change places in a choice by
    pivots: poses that are drawn, open as they are, say which entries there are.
    """
    here, random = plan.coordinates_in(index), np.random.default_rng(0)
    q = np.zeros((plan.nq, DRAWN))
    for k in here:
        one = plan.coordinates[k]
        size = lane.length if one.unit == "m" and one.plain else 1.0
        drawn = size * random.uniform(-1.0, 1.0, (one.nq, DRAWN)) * (2.0 if one.plain else 1.0)
        q[one.places] = drawn / np.linalg.norm(drawn, axis=0) if one.quaternion else drawn
    J = closure(lane, q, index)[1]
    judged = columns_of(plan, index, [k for k in here if k not in fixed])
    return blocks_of_signs(J[0], judged, (np.abs(J) > 1e-9).any(0))


def features(plan: Plan, coordinates: Sequence[int], q: np.ndarray, length: float) -> np.ndarray:
    """(features, A) what is alike for values (nq, A) of one pose: cosines and sines, shifts, sizes of quaternions."""
    lines = []
    for k in coordinates:
        one = plan.coordinates[k]
        if one.plain and one.unit == "rad":
            lines += [np.cos(q[one.q]), np.sin(q[one.q])]
        elif one.plain:
            lines.append(q[one.q] / length)
        else:
            lines += [np.abs(row) for row in q[one.places]]
    return np.array(lines)


def led(
    plan: Plan, lane_of: LaneOf, index: int, fixed: Sequence[int], blocks: Sequence[SignBlock],
    begin: np.ndarray, target: np.ndarray, members: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Assemblies of the file's design led to those of members while its numbers become theirs.

    Inputs go the shorter way round. An assembly gets there where it meets no singular pose on the way.

    Args:
        lane_of: of members, from the file's numbers (0) to theirs (1). fixed: the inputs, in `begin` (nq, P) where the
            file has them, in `target` (nq, P) where members have them.

    Returns:
        coordinates (nq, P), and which of them got there (P,).
    """
    moving = [k for k in plan.coordinates_in(index) if k not in fixed]
    goal = begin.copy()
    for k in fixed:
        one = plan.coordinates[k]
        off = target[one.places] - begin[one.places]
        if one.plain and one.unit == "rad":
            off = np.remainder(off + np.pi, 2.0 * np.pi) - np.pi
        goal[one.places] += off
    steps = number_steps(lane_of(members, 1.0), lane_of(members, 0.0), len(members))
    judged, rows = columns_of(plan, index, moving), closing_rows(plan, index, fixed)
    path = walk(plan, begin, Way(index, lane_of, members, fixed, begin, goal, steps, judged, rows=rows))
    q = path.q.copy()
    for k in fixed:
        q[plan.coordinates[k].places] = target[plan.coordinates[k].places]
    before, after = (signs(lane_of(members, share), pose, index, blocks) for share, pose in ((0.0, begin), (1.0, q)))
    return q, path.reached & ~path.crossed & (before == after)
