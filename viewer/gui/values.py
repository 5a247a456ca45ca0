"""Joint values, screws and mobility at given poses, by the kinematics of the core on NumPy values. No JAX.

Frame matrices are (4, 4), frame to world. A joint's motion is taken along its file sense, parent to child.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from shiftjax.dynamics.kinematics import Motion, Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model, complete
from shiftjax.mechanism.records import FIXED, ORIGIN, Frame, FrameRef, Joint
from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.topology.analysis import analyze
from shiftjax.topology.plan import Plan
from shiftjax.viewer.transforms import of_frame

RANK = 1e-9  # a singular value below this part of the largest is zero: loops are closed to rounding


@record
class Mechanism:
    """A model prepared for the computation of joint values."""

    model: Model  # with a float joint for every component that has no joint to ground
    joints: dict[str, Joint]
    frames: dict[str, np.ndarray]  # path of a frame -> (4, 4) in its body
    lane: Lane

    @property
    def plan(self) -> Plan:
        return self.lane.plan

    @property
    def closures(self) -> frozenset[str]:
        """Paths of the joints that close loops."""
        return frozenset(joint.path for joint in self.plan.joints if joint.chord)

    def class_of(self, path: str) -> str:
        """The display class of a joint; a root closure closes a loop on ground and is no weld. A joint of
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
    plan, numbers, matrices = analyze(model), model.numbers(), model.matrices()
    own = Parameters([numbers[n.path] for n in plan.numbers], [matrices[path] for path in plan.matrices])
    return Mechanism(model, dict(model.joints()), frames, Lane(plan, own, 1.0, (), 0.0))


def _frames(body: str, frames: tuple[Frame, ...]) -> dict[str, np.ndarray]:
    names = (ORIGIN, *(frame.name for frame in frames))
    return {FrameRef(body, name).path: of_frame(frames, name) for name in names}


def attached(found: Mechanism, bodies: Collection[str]) -> set[str]:
    """Paths of the joints of these bodies, and of the springs, dampers and frictions on them or on those joints."""
    joints = {p for p, joint in found.joints.items() if {joint.parent.body, joint.child.body} & set(bodies) - {FIXED}}
    restraints = {
        path
        for path, restraint in found.model.restraints()
        if restraint.joint in joints or any(ref.body in bodies for ref in restraint.frames or ())
    }
    return joints | restraints


def frame_in_world(found: Mechanism, ref: FrameRef, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(4, 4) a frame in the world at poses of the bodies (path -> (7,))."""
    inside = found.frames[ref.path]
    return matrices(poses[ref.body]) @ inside if ref.body in poses else inside


def axis_of(joint: Joint) -> np.ndarray:
    """(3,) unit axis in the joint's frames; zeros for a joint of other than one coordinate."""
    kind = KINDS[joint.type]
    return np.array(kind.direction({"axis": joint.axis}) if kind.nv == 1 else np.zeros(3), float)


def value(found: Mechanism, path: str, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(1,) angle in -pi..pi [rad] or displacement [m]; (3,) or (4,) or (7,) for joints of several; () for a weld."""
    joint = found.joints[path]
    parent, child = (frame_in_world(found, ref, poses) for ref in (joint.parent, joint.child))
    return displacement(joint, np.linalg.inv(parent) @ child)


def displacement(joint: Joint, between: np.ndarray) -> np.ndarray:
    """(..., nq) of a joint from the transform (..., 4, 4) of its child frames to its parent frames."""
    R = [[between[..., i, j] for j in range(3)] for i in range(3)]
    p = [between[..., i, 3] for i in range(3)]
    found = KINDS[joint.type].measured(R, p, {"axis": joint.axis, **joint.values})
    return np.stack([np.asarray(x) for x in found], axis=-1) if found else np.zeros((*between.shape[:-2], 0))


def motion_at(found: Mechanism, poses: Mapping[str, np.ndarray]) -> Motion:
    """The motion of the core with the joint values at the poses."""
    values = [value(found, joint.path, poses) for joint in found.plan.joints]
    return found.lane.motion([float(x) for each in values for x in each], None)


def screws(found: Mechanism, path: str, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(nv, 6) of a joint's speeds: angular, then linear at the world's origin; in the world, file sense."""
    index = found.plan.joint_index(path)
    chain, sign = motion_at(found, poses).chain(), -1.0 if found.plan.joints[index].reverse else 1.0
    rows = [np.array([*screw.angular, *screw.linear_at([-x for x in chain.point])], float)
            for screw in chain.screws_of(index)]  # fmt: skip
    return sign * np.array(rows).reshape(-1, 6)


def mobility(found: Mechanism, poses: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Share of every joint in the motions the loops leave free: their sum is the number of degrees of freedom.

    The diagonal of the orthogonal projector on null(J), J the Jacobian of all constraints, over a joint's speeds.
    """
    plan, motion = found.plan, motion_at(found, poses)
    free = np.ones(plan.nv)
    for s, block in enumerate(plan.substructures):
        rows = found.lane.rows(motion, s)
        J = np.array([[float(entries.get(speed, 0.0)) for speed in block.columns] for entries in rows.J])
        _, size, right = np.linalg.svd(J, full_matrices=False)
        free[list(block.columns)] -= (right[size > RANK * size[0]] ** 2).sum(0)
    return {joint.path: float(free[joint.v : joint.v + joint.nv].sum()) for joint in plan.joints}
