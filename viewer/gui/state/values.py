"""Joint values, screws and mobility at given poses, by the kinematics of the core on NumPy values. No JAX.

A joint's motion is taken along its file sense, parent to child.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from shiftjax.dynamics.kinematics import Motion
from shiftjax.joints import KINDS, JointKind
from shiftjax.mechanism.records import FIXED
from shiftjax.viewer.motion.mechanism import Mechanism, axis_of, frame_in_world
from shiftjax.viewer.motion.tree_coordinates import bodies_of, coordinates

__all__ = ("KINDS", "Mechanism", "axis_of", "coordinates_at", "frame_in_world", "mobility", "motion_at", "screws")

RANK = 1e-9  # a singular value below this part of the largest is zero: loops are closed to rounding


def coordinates_at(mechanism: Mechanism, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(nq,) joint coordinates at poses of the bodies (path -> (7,)); angles from -pi to pi."""
    body_poses = np.array([poses[path] for path in bodies_of(mechanism.plan)], float).reshape(1, -1, 7)
    return coordinates(mechanism.lane, body_poses)[:, 0]


def attached(mechanism: Mechanism, bodies: Collection[str]) -> set[str]:
    """Paths of the joints of these bodies, and of the springs, dampers and frictions on them or on those joints."""
    joints = {
        p for p, joint in mechanism.joints.items() if {joint.parent.body, joint.child.body} & set(bodies) - {FIXED}
    }
    restraints = {
        path
        for path, restraint in mechanism.model.restraints()
        if restraint.joint in joints or any(ref.body in bodies for ref in restraint.frames or ())
    }
    return joints | restraints


def text(kind: JointKind, q: np.ndarray, digits: int) -> str:
    """The coordinates q (nq,) of a joint, with their units: of a quaternion without one."""
    if kind.placed:
        return " ".join(f"{number:.{digits}f}" for number in q)
    shown = [f"{number:.{digits}f} {coordinate.unit}" for number, coordinate in zip(q, kind.coordinates, strict=True)]
    names = [""] if kind.sole else [f"{coordinate.name} " for coordinate in kind.coordinates]
    return ", ".join(name + number for name, number in zip(names, shown, strict=True))


def motion_at(mechanism: Mechanism, poses: Mapping[str, np.ndarray]) -> Motion:
    """The motion of the core with the joint values at the poses."""
    return mechanism.lane.motion([float(x) for x in coordinates_at(mechanism, poses)], None)


def screws(mechanism: Mechanism, path: str, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(nv, 6) of a joint's speeds: angular, then linear at the world's origin; in the world, file sense."""
    index = mechanism.plan.joint_index(path)
    chain, sign = motion_at(mechanism, poses).chain(), -1.0 if mechanism.plan.joints[index].reverse else 1.0
    rows = [np.array([*screw.angular, *screw.linear_at([-x for x in chain.point])], float)
            for screw in chain.screws_of(index)]  # fmt: skip
    return sign * np.array(rows).reshape(-1, 6)


def mobility(mechanism: Mechanism, poses: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Share of every joint in the motions the loops leave free: their sum is the number of degrees of freedom.

    The diagonal of the orthogonal projector on null(J), J the Jacobian of all constraints, over a joint's speeds.
    """
    plan, motion = mechanism.plan, motion_at(mechanism, poses)
    free = np.ones(plan.nv)
    for s, block in enumerate(plan.substructures):
        rows = mechanism.lane.rows(motion, s)
        J = np.array([[float(entries.get(speed, 0.0)) for speed in block.columns] for entries in rows.J])
        _, size, right = np.linalg.svd(J, full_matrices=False)
        free[list(block.columns)] -= (right[size > RANK * size[0]] ** 2).sum(0)
    free = np.maximum(free, 0.0)  # rounding may take it below
    return {joint.path: float(free[joint.v : joint.v + joint.nv].sum()) for joint in plan.joints}
