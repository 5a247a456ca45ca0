"""Whether a planar loop of three corners closes wherever a driven joint stands on its way: in closed form. Host code.

Problem: a driver moves one joint of a loop, the three others turn about parallel axes: a triangle of which one side,
between the corners beside the driven joint, changes. The loop closes as long as no side is longer than both others
together (`run.polygons`); where each is shorter by a margin both assemblies are apart, and the loop stays on its own.
The square of the side is a + b cos(angle - c) where the driven joint turns, by the law of cosines, and a square
polynomial of its coordinate where it slides: three values tell it everywhere.
Refused: nothing; what is not such a loop, or nearer to its ends than the margin, is left to `run.reach`.
"""

from __future__ import annotations

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.dynamics.lane import Lane
from shiftjax.joints.primitives import Rotation, Translation
from shiftjax.plan_elements import Loop
from shiftjax.topology.plan import Plan

CORNERS = 3
MARGIN = 1e-3  # of the sides' sum: nearer to where assemblies meet than this a loop is not judged
FLAT = 1e-12  # rad by which axes may miss the plane, parts of the length by which the loop may be open: roundings
TURN = 2.0 * np.pi


def moves_freely(plan: Plan, lane: Lane, index: int, joint: int, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(B,) True for members of which the loop is known to close all the way; False says nothing.

    Args:
        index: substructure. joint: whose driver leaves the others no freedom. q: (nq, B) closed coordinates.
        target: (B,) to where the joint is moved [rad or m].
    """
    known = np.zeros(q.shape[1], bool)
    block = plan.substructures[index]
    groups = [k for k in block.groups if plan.constraints[k].loop is not None]
    loop = plan.constraints[groups[0]].loop if len(groups) == 1 and len(block.groups) == 2 else None
    if loop is None or not _three_corners(plan, block.joints, loop, joint):
        return known
    flat = _flat(plan, lane, index, loop, q)
    if flat.any():
        low, high = _ranges(plan, lane.of(flat), groups[0], joint, q[:, flat], target[flat])
        known[flat] = (high - (low.sum(0) - low) < -MARGIN * high.sum(0)).all(0)
    return known


def _three_corners(plan: Plan, joints: tuple[int, ...], loop: Loop, driven: int) -> bool:
    """Whether a loop is of a driven joint that turns or slides and of three others that turn."""
    moving = [k for k in loop.joints if plan.joints[k].nv]
    kinds = {k: [type(primitive) for primitive in plan.joints[k].kind.primitives] for k in moving}
    if driven not in kinds or set(joints) - set(moving) or len(moving) != CORNERS + 1:
        return False
    return kinds.pop(driven) in ([Rotation], [Translation]) and all(kind == [Rotation] for kind in kinds.values())


def _flat(plan: Plan, lane: Lane, index: int, loop: Loop, q: np.ndarray) -> np.ndarray:
    """(B,) whether all axes are of one plane: turning ones parallel to its normal, sliding ones in it."""
    members = q.shape[1]
    chain = lane.motion(list(q), None).chain(loop.base)
    turns, slides = [], []
    for k in loop.joints:
        if plan.joints[k].nv:
            (screw,), turning = chain.screws_of(k), plan.joints[k].kind.unit == "rad"
            (turns if turning else slides).append(host.per_member(screw.angular if turning else screw.linear, members))
    flat = np.abs(host.closure(lane, q, index)[0]).max(1) <= FLAT
    for turn in turns[1:]:
        flat &= np.abs(np.cross(turns[0], turn, axis=0)).max(0) <= FLAT
    for slide in slides:
        flat &= np.abs((turns[0] * slide).sum(0)) <= FLAT
    return flat


def _ranges(
    plan: Plan, lane: Lane, group: int, driven: int, q: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(3, B) least and largest length [m] of every side on the way of the driven joint to its target (B,)."""
    place, turns = plan.joints[driven].q, plan.joints[driven].kind.unit == "rad"
    way = target - q[place]
    squares = []
    for k in range(3):
        at = q.copy()
        at[place] += k * TURN / 3.0 if turns else 0.5 * k * way
        squares.append(host.loop_sides(lane, at, group, [driven]) ** 2)
    low, high = (_turning if turns else _sliding)(np.array(squares), way)
    return np.sqrt(np.maximum(low, 0.0)), np.sqrt(np.maximum(high, 0.0))


def _turning(values: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest a + b cos(x - c) for x from 0 to `way` (B,), from its values (3, n, B) at thirds of a turn."""
    angles = TURN / 3.0 * np.arange(3)
    mean = values.mean(0)
    along, across = (2.0 / 3.0 * np.tensordot(f(angles), values, 1) for f in (np.cos, np.sin))
    size, top = np.hypot(along, across), np.arctan2(across, along)
    end = mean + along * np.cos(way) + across * np.sin(way)
    low, high = np.minimum(values[0], end), np.maximum(values[0], end)
    high = np.where(_passed(top, way), mean + size, high)
    return np.where(_passed(top + 0.5 * TURN, way), mean - size, low), high


def _passed(angle: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Whether a direction [rad] is passed from 0 to `way`."""
    return np.where(way >= 0.0, angle % TURN <= way, -angle % TURN <= -way)


def _sliding(values: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest of a square polynomial from its values (3, n, B) at the beginning, the middle and the end."""
    begin, middle, end = values
    curve = 2.0 * (begin - 2.0 * middle + end)
    slope = end - begin - curve
    with np.errstate(all="ignore"):
        top = -0.5 * slope / curve
        turned = np.where((top > 0.0) & (top < 1.0), begin + 0.5 * slope * top, begin)
    return np.minimum(np.minimum(begin, end), turned), np.maximum(np.maximum(begin, end), turned)
