"""A model prepared for the viewer: spanning tree, numbers of members, joint coordinates from poses and back. No JAX.

All of it is the kinematics of the core on NumPy values: an array in place of a scalar has one entry a pose, of one
member at several times or of several members. Frame matrices are (4, 4), frame to world. A joint's motion is taken
along its file sense, parent to child.
"""

from __future__ import annotations

import dataclasses
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    add,
    div,
    dot,
    floor,
    identity,
    is_zero,
    matmul,
    matvec,
    minus,
    mul,
    transpose,
    zeros,
)
from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import Motion, Parameters, ground_point
from shiftjax.dynamics.lane import Lane
from shiftjax.joints import KINDS
from shiftjax.joints.primitives import Rotation
from shiftjax.mechanism.model import Model, complete
from shiftjax.mechanism.records import FIXED, ORIGIN, Frame, FrameRef, Joint
from shiftjax.plan_elements import PlacedFrame
from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.rotations import quaternion_of_rotation, rotation_of_quaternion
from shiftjax.run.start.recorded import evaluate
from shiftjax.topology.analysis import analyze
from shiftjax.topology.partition import characteristic_length
from shiftjax.topology.plan import Plan, TreeJoint
from shiftjax.viewer.scene.transforms import of_frame
from shiftjax.viewer.study_like import StudyLike

POSE = 7  # numbers of a pose


@record
class Mechanism:
    """A model prepared for the computation of joint coordinates and poses.

    Attributes:
        model: with a float joint for every component that has no joint to ground.
        joints: path -> record. frames: path -> (4, 4) in its body. lane: plan and numbers.
    """

    model: Model
    joints: dict[str, Joint]
    frames: dict[str, np.ndarray]
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
    values = [numbers[n.path] for n in plan.numbers]
    own = Parameters(values, [matrices[path] for path in plan.matrices])
    return Mechanism(model, dict(model.joints()), frames, Lane(plan, own, characteristic_length(plan, values), (), 0.0))


def _frames(body: str, frames: tuple[Frame, ...]) -> dict[str, np.ndarray]:
    names = (ORIGIN, *(frame.name for frame in frames))
    return {FrameRef(body, name).path: of_frame(frames, name) for name in names}


def lane_of(found: Mechanism, numbers: Mapping[str, np.ndarray], t: np.ndarray | float = 0.0) -> Lane:
    """The lane of several members or times.

    Args:
        numbers: path -> (B,) values of the numbers that differ from those of the model; others are left aside.
        t: (B,) times [s].
    """
    own = found.lane.params
    values = [numbers.get(place.path, value) for place, value in zip(found.plan.numbers, own.numbers, strict=True)]
    return dataclasses.replace(found.lane, params=Parameters(values, own.matrices), t=t)


def frame_in_world(found: Mechanism, ref: FrameRef, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(4, 4) a frame in the world at poses of the bodies (path -> (7,))."""
    inside = found.frames[ref.path]
    return matrices(poses[ref.body]) @ inside if ref.body in poses else inside


def axis_of(joint: Joint) -> np.ndarray:
    """(3,) unit axis in the joint's frames; zeros for a joint of other than one coordinate."""
    kind = KINDS[joint.type]
    return np.array(kind.direction({"axis": joint.axis}) if kind.nv == 1 else np.zeros(3), float)


# -- coordinates of the spanning tree ----------------------------------------------------------------------------------


def bodies_of(plan: Plan) -> list[str]:
    """Paths of the bodies whose poses the coordinates follow from, in the order of the plan."""
    return [node.path for node in plan.nodes[1:] if not node.virtual]


def is_angle(joint: TreeJoint) -> bool:
    """Whether a joint has one coordinate that is the same after a turn."""
    return len(joint.kind.primitives) == 1 and isinstance(joint.kind.primitives[0], Rotation)


def coordinates(lane: Lane, poses: np.ndarray) -> np.ndarray:
    """(nq, B) joint coordinates at poses (B, bodies, 7) of `bodies_of`; angles from -pi to pi.

    They follow from the frames on both sides of each joint, so that they are exact also where loops are open.
    """
    out = np.empty((lane.plan.nq, len(poses)))
    columns = list(poses.reshape(len(poses), -1).T)
    _evaluate(lane, columns, "coordinates", _coordinates, lambda k: out[k])
    return out


def placed(lane: Lane, q: np.ndarray) -> np.ndarray:
    """(B, bodies, 7) poses of `bodies_of` at coordinates (nq, B); loops are as they are in q."""
    out = np.empty((q.shape[1], len(bodies_of(lane.plan)) * POSE))
    _evaluate(lane, list(q), "placed", _placed, lambda k: out[:, k])
    return out.reshape(q.shape[1], -1, POSE)


def residuals(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(B, m) residuals of one substructure at coordinates (nq, B), dimensionless: without the Jacobian of
    `host_evaluation.closure`.
    """

    def function(own: Lane, at: Vec) -> Vec:
        motion = own.motion(at, None)
        rows = own.rows(motion, index)
        found = zip(own.residuals(motion, index, rows), scales(rows.unit, own.length), strict=True)
        return [mul(1.0 / size, value) for value, size in found]

    out = np.empty((q.shape[1], lane.plan.substructures[index].rows))
    _evaluate(lane, list(q), f"residuals {index} {lane.length!r}", function, lambda k: out[:, k])
    return out


def _evaluate(
    lane: Lane,
    values: Sequence[np.ndarray],
    what: str,
    function: Callable[[Lane, Vec], Vec],
    out: Callable[[int], np.ndarray],
) -> None:
    """A lane function of some values (B,) each, recorded once and replayed."""
    count, constant = len(values), lane.params.matrices
    if not count:
        return

    def of_values(found: Vec) -> dict[Any, Scalar]:
        own = dataclasses.replace(lane, params=Parameters(found[count:], constant))
        return dict(enumerate(function(own, found[:count])))

    evaluate([*values, *lane.params.numbers], len(values[0]), what, (lane.plan, constant), of_values, out)


def _coordinates(lane: Lane, values: Vec) -> Vec:
    """(nq,) of the poses of all bodies, one after the other; lane code."""
    plan, params = lane.plan, lane.params
    bodies: dict[str, tuple[Mat, Vec]] = {plan.nodes[0].path: (identity(), zeros())}
    for k, path in enumerate(bodies_of(plan)):
        p, e = values[k * POSE : k * POSE + 3], values[k * POSE + 3 : (k + 1) * POSE]
        bodies[path] = rotation_of_quaternion(e), p
    cut = {group.name: group.frames[0] for group in plan.constraints if group.loop is not None}
    out: Vec = []
    for joint in plan.joints:
        if joint.nq:
            near, far = joint.near_place, cut[joint.path] if joint.chord else joint.far_place
            ends = _frame_at(lane, bodies, near), _frame_at(lane, bodies, far)
            parent, child = ends[::-1] if joint.reverse else ends
            out += _measured(joint, parent, child, {name: params.at(places) for name, places in joint.numbers})
    return out


def _frame_at(lane: Lane, bodies: Mapping[str, tuple[Mat, Vec]], placed: PlacedFrame) -> tuple[Mat, Vec]:
    R, p = bodies[lane.plan.nodes[placed.node].path]
    F_R, F_p = lane.params.frame(placed.frame)
    return matmul(R, F_R), [add(a, b) for a, b in zip(p, matvec(R, F_p), strict=True)]


def _measured(joint: TreeJoint, parent: tuple[Mat, Vec], child: tuple[Mat, Vec], n: Mapping[str, Any]) -> Vec:
    """(nq,) of one joint from its frames in the world. A screw's whole turns follow from how far it has come."""
    back = transpose(parent[0])
    R, p = matmul(back, child[0]), matvec(back, minus(child[1], parent[1]))
    found = joint.kind.measured(R, p, n)
    if is_angle(joint):
        motion = joint.kind.primitives[0].motion
        whole = minus(motion([2 * math.pi], n)[1], motion([0.0], n)[1])
        if not all(is_zero(x) for x in whole):
            over = dot(minus(p, motion(found, n)[1]), whole)
            turns = floor(add(div(over, dot(whole, whole)), 0.5))
            found = [add(found[0], mul(2 * math.pi, turns))]
    return found


def _placed(lane: Lane, q: Vec) -> Vec:
    """Poses of all bodies, one after the other; lane code."""
    plan, chain = lane.plan, lane.motion(q, None).chain()
    point = ground_point(plan, lane.params)
    out: Vec = []
    for k, node in enumerate(plan.nodes):
        if k and not node.virtual:
            state = chain.node(k)
            out += [add(a, b) for a, b in zip(state.p, point, strict=True)]
            out += quaternion_of_rotation(state.R)
    return out


def motion_of(lane: Lane, q: np.ndarray, v: np.ndarray | None = None) -> Motion:
    """The motion of the core at coordinates (nq, B) and speeds (nv, B)."""
    return lane.motion(list(q), None if v is None else list(v))


# -- of a study --------------------------------------------------------------------------------------------------------

_mechanisms: weakref.WeakKeyDictionary[Any, dict[int, tuple[Model, Mechanism]]] = weakref.WeakKeyDictionary()


def mechanism_of(study: StudyLike, member: int | None = None) -> Mechanism:
    """The mechanism of a study, or that of the parts of a member, with the numbers of the file; each made once."""
    model = study.model if member is None else study.base_of(member)
    known = _mechanisms.setdefault(study, {})
    if id(model) not in known:
        known[id(model)] = model, mechanism(model)  # the model is held, so that its id stays its own
    return known[id(model)][1]


def numbers_of(study: StudyLike, found: Mechanism, members: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers that the study varies: path -> (B,) of members (B,), which may come several times."""
    places = {place.path for place in found.plan.numbers}
    return {path: np.asarray(values, float)[members] for path, values in study.design.items() if path in places}
