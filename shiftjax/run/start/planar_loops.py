"""Loops that are planar but for one joint, whose axis is most likely a mistake. Host code.

In a planar loop all axes of rotation are parallel to one direction n and all slides perpendicular to it. A single joint
that is otherwise cannot move, or keeps the loop from closing. It is judged with its own coordinate at zero, where it
does not tilt what stands on it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.mechanism.paths import listed
from shiftjax.plan_elements import Loop
from shiftjax.run.closing.holding import null_space
from shiftjax.run.start.prepared import Prepared

PARALLEL = 1e-4  # rad: axes of files with five digits
OTHERS = 3  # as many joints of a loop at least agree on a plane
STILL = 1e-6  # of the largest speed of a motion: less is none


def odd_axes(prepared: Prepared) -> Iterator[str]:
    """The odd joint of every loop that is planar but for it, unless the loop moves about it all the same."""
    for s, block in enumerate(prepared.plan.substructures):
        still: np.ndarray | None = None
        for loop in (prepared.plan.constraints[k].loop for k in block.groups):
            oddity = None if loop is None else _odd_joint(prepared, loop)
            if loop is None or oddity is None:
                continue
            if still is None:
                still = _still(prepared, s)
            joint, angle, others = oddity
            speed = prepared.plan.joints[joint].v
            if speed in block.columns and still[block.columns.index(speed)]:
                kind = prepared.plan.joints[joint].kind
                turns = "turns about" if kind.units == ("rad",) else "slides along"
                off = f"{prepared.plan.joints[joint].path} {turns} an axis {np.rad2deg(angle):.3g} deg off"
                yield f"{off} what the plane of its loop asks for; {listed(others)} agree on one plane"


def _still(prepared: Prepared, index: int) -> np.ndarray:
    """(n,) speeds of a substructure that are zero in every motion; all of them where its loops are open."""
    start = prepared.file_start
    if not start.closed[0]:
        return np.ones(len(prepared.plan.substructures[index].columns), bool)
    _, J = host.closure(prepared.file_lane(), start.q, index)
    Z = null_space(J[0])
    return np.abs(Z).max(1, initial=0.0) <= STILL


def _odd_joint(prepared: Prepared, loop: Loop) -> tuple[int, float, list[str]] | None:
    """The joint, the angle [rad] of its axis to where it belongs, and the paths of the others."""
    plan = prepared.plan
    moving = [k for k in loop.joints if plan.joints[k].nv]
    if len(moving) <= OTHERS or any(plan.joints[k].nv != 1 for k in moving):
        return None
    for odd in moving:
        axes = _axes(prepared, moving, odd)
        turning = [axes[k] for k in moving if k != odd and plan.joints[k].kind.units == ("rad",)]
        if not turning:
            continue
        normal = turning[0]
        off = {k: _off(plan.joints[k].kind.units[0], axes[k], normal) for k in moving}
        if off[odd] > PARALLEL and all(off[k] <= PARALLEL for k in moving if k != odd):
            return odd, off[odd], [plan.joints[k].path for k in moving if k != odd]
    return None


def _off(unit: str, axis: np.ndarray, normal: np.ndarray) -> float:
    """Angle of an axis of rotation to the normal of the plane, of a slide to the plane [rad]."""
    sine, cosine = float(np.linalg.norm(np.cross(axis, normal))), abs(float(axis @ normal))
    return float(np.arctan2(sine, cosine) if unit == "rad" else np.arctan2(cosine, sine))


def _axes(prepared: Prepared, joints: list[int], odd: int) -> dict[int, np.ndarray]:
    """Unit directions of one-coordinate joints at the start, with one of them at zero."""
    plan = prepared.plan
    q = prepared.file_start.q.copy()
    q[plan.joints[odd].q] = 0.0
    motion, values = host.motion_of(prepared.file_lane(), q)
    directions = {}
    for k in joints:
        (screw,) = motion.chain().screws_of(k)
        vector = screw.angular if plan.joints[k].kind.units == ("rad",) else screw.linear
        direction = host.per_member(values.numbers(vector), 1)[:, 0]
        directions[k] = direction / max(float(np.linalg.norm(direction)), 1e-300)
    return directions
