"""Where joints stand at given poses: axes, values and mobility, from geometry alone. NumPy, no JAX.

Frame matrices are (4, 4), frame to world. A joint's motion is taken along its file sense, parent to child.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.joints.primitives import AXES, Ball, Translation
from shiftjax.mechanism.model import Model, complete
from shiftjax.mechanism.records import FIXED, ORIGIN, Frame, FrameRef, Joint
from shiftjax.record import record
from shiftjax.topology.analysis import analyze
from shiftjax.topology.plan import Plan
from shiftjax.viewer.places import of_frame, of_pose, quaternion

RANK = 1e-9  # a singular value below this part of the largest is zero: loops are closed to rounding


@record
class Mechanism:
    """What the values of a model are computed from."""

    model: Model  # with a float joint for every component that has no joint to ground
    joints: dict[str, Joint]
    frames: dict[str, np.ndarray]  # path of a frame -> (4, 4) in its body
    plan: Plan

    @property
    def closures(self) -> frozenset[str]:
        """Paths of the joints that close loops."""
        return frozenset(joint.path for joint in self.plan.joints if joint.chord)

    def class_of(self, path: str) -> str:
        """The class of things a joint belongs to; a root closure closes a loop on ground and is no weld. A joint of
        another mechanism, shown beside this one, is of the class of all joints.
        """
        if path not in self.joints:
            return "joint"
        joint = self.joints[path]
        if path not in self.closures:
            return "tree joint"
        root = FIXED in (joint.parent.body, joint.child.body) and KINDS[joint.type].nv > 0
        return "root closure" if root else "closure joint"


def mechanism(model: Model) -> Mechanism:
    """The joints, frames and spanning tree of the active parts of a model."""
    model = complete(model)
    frames = _frames(FIXED, model.frames)
    for path, body in model.bodies():
        frames |= _frames(path, body.frames)
    return Mechanism(model, dict(model.joints()), frames, analyze(model))


def _frames(body: str, frames: tuple[Frame, ...]) -> dict[str, np.ndarray]:
    names = (ORIGIN, *(frame.name for frame in frames))
    return {FrameRef(body, name).path: of_frame(frames, name) for name in names}


def placed(found: Mechanism, ref: FrameRef, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(4, 4) a frame in the world at poses of the bodies (path -> (7,))."""
    inside = found.frames[ref.path]
    return of_pose(poses[ref.body]) @ inside if ref.body in poses else inside


def axis_of(joint: Joint) -> np.ndarray:
    """(3,) unit axis in the joint's frames; zeros for a joint without one."""
    primitives = KINDS[joint.type].primitives
    if len(primitives) != 1 or isinstance(primitives[0], Ball):
        return np.zeros(3)
    name = primitives[0].axis
    axis = np.array(joint.axis if name == "axis" else AXES[name], float)
    return axis / np.linalg.norm(axis)


def value(found: Mechanism, path: str, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(1,) angle in -pi..pi [rad] or displacement [m]; (3,) or (4,) or (7,) for joints of several; () for a weld."""
    joint = found.joints[path]
    parent, child = (placed(found, ref, poses) for ref in (joint.parent, joint.child))
    between = np.linalg.inv(parent) @ child
    kind = KINDS[joint.type]
    if kind.displacement == "scalar":
        return np.atleast_1d(displacement(joint, between))
    if not kind.nq:
        return np.zeros(0)
    turn = quaternion(between[:3, :3])
    return turn if kind.displacement == "rotation" else np.concatenate([between[:3, 3], turn])


def displacement(joint: Joint, between: np.ndarray) -> np.ndarray:
    """(...) of a joint of one coordinate whose child frames stand in its parent frames as (..., 4, 4) says."""
    axis = axis_of(joint)
    if isinstance(KINDS[joint.type].primitives[0], Translation):
        return between[..., :3, 3] @ axis
    R = between[..., :3, :3]
    double = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], -1)
    return np.arctan2(0.5 * double @ axis, 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1))


def screws(found: Mechanism, path: str, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(nv, 6) of a joint's speeds: angular, then linear at the world's origin; in the world, file sense."""
    joint = found.joints[path]
    parent, child = (placed(found, ref, poses) for ref in (joint.parent, joint.child))
    rows = []
    for primitive in KINDS[joint.type].primitives:
        if isinstance(primitive, Ball):
            rows += [np.concatenate([w, np.cross(child[:3, 3], w)]) for w in child[:3, :3].T]
            continue
        axis = parent[:3, :3] @ (axis_of(joint) if primitive.axis == "axis" else np.array(AXES[primitive.axis]))
        moves = isinstance(primitive, Translation)
        rows.append(np.concatenate([np.zeros(3), axis] if moves else [axis, np.cross(parent[:3, 3], axis)]))
    return np.array(rows).reshape(-1, 6)


def mobility(found: Mechanism, poses: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Share of every joint in the motions the loops leave free: their sum is the number of degrees of freedom.

    The diagonal of the orthogonal projector on null(J), J the loops' Jacobian, summed over a joint's speeds.
    """
    plan = found.plan
    J = np.zeros((6 * len(plan.loops), plan.nv))
    for k, loop in enumerate(plan.loops):
        for sign, branch in ((1.0, loop.virtual_branch), (-1.0, loop.real_branch)):
            for index in branch:
                joint = plan.joints[index]
                S = screws(found, joint.path, poses) * (-sign if joint.reverse else sign)
                J[6 * k : 6 * k + 6, joint.v : joint.v + joint.nv] = S.T
    free = np.ones(plan.nv)
    if len(J):
        _, size, right = np.linalg.svd(J, full_matrices=False)
        free -= (right[size > RANK * size[0]] ** 2).sum(0)
    return {joint.path: float(free[joint.v : joint.v + joint.nv].sum()) for joint in plan.joints}
