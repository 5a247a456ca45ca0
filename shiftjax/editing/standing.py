"""Where bodies stand as the loops of a model close, and joints that say so. Host code.

Problem: a change of topology must not move anything. A joint states a displacement, or follows from its loop; when the
loop is opened, or a joint is put elsewhere, what followed would be lost. Used: poses of bodies before the change are
what is kept; where the changed model closes elsewhere, its joints state where the poses have them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.editing.elements import with_elements
from shiftjax.errors import ModelError
from shiftjax.formats.values.node import orthonormal
from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.kind import Coordinate
from shiftjax.mechanism.drawn import drawn, frame_in_body
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.mechanism.records import FIXED, Frame, FrameRef, Joint, Placement
from shiftjax.record import record
from shiftjax.run.beginning import start_from
from shiftjax.run.options import options_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.topology_report import topology_report
from shiftjax.topology.plan import Plan

MOVED = 1e-11  # of a rotation matrix, or of the model's length: what loops closed once more may move
ROUNDING = 1e-15  # of a rotation matrix: what is nearer to a turn of axes into axes is one
NOTHING = 64 * float(np.finfo(float).eps)  # of the size of the mechanism: what differences of places leave
TRIED = (0.05, 0.1, 0.2, 0.4, 0.8, 0.8, 1.6, 1.6)  # rad, or parts of the size, by which joints are moved to close loops
MISSED = 1e-10  # the same, of a pose that a joint cannot have
Pose = tuple[np.ndarray, np.ndarray]  # rotation (3, 3) and origin (3,) [m]
Poses = dict[str, Pose]  # of ground and all active bodies
WORLD: Pose = (np.eye(3), np.zeros(3))


@record
class StandingModel:
    """How a model stands at its start.

    Attributes:
        poses: of ground and all active bodies, as the loops close. note: a sentence where they do not.
        freedoms: of the mechanism there, -1 where that is not known. chords: joints at which its loops are cut.
    """

    poses: Poses
    note: str
    freedoms: int
    chords: tuple[str, ...]


def standing(model: Model) -> StandingModel:
    """How a model stands: the one analysis of an edit."""
    try:
        prepared = prepare(model, {}, options_of(), refuse=False)
        start = start_from(prepared, None, {}, massless=True)
        report = topology_report(prepared)
    except ModelError as error:
        return StandingModel(_of(model), f"loops are open, and bodies stand as the file draws them: {error}", -1, ())
    note = "" if start.closed[0] else f"loops stay open by {start.gap[0]:.3g}: bodies stand where that is least"
    chords = tuple(one["joint"] for one in report["tree"] if one["chord"])
    poses = poses_at(prepared.model, prepared.plan, start.q[:, 0])
    return StandingModel(poses, note, int(report["dof"]), chords)


def poses_at(model: Model, plan: Plan, q: np.ndarray) -> Poses:
    """Where bodies stand at coordinates (nq,)."""
    joints = dict(model.joints())
    return _of(_Placed(model, {one.path: _at(joints[one.path], q[one.q : one.q + one.nq]) for one in plan.joints}))


def driven_joints(model: Model) -> set[str]:
    """Joints that drivers lead: they say where these stand."""
    return {split(item.joint)[0] for _, item in model.drivers() if item.joint}


class _Placed:
    """A model whose joints state other displacements, for `drawn`."""

    def __init__(self, model: Model, joints: dict[str, Joint]) -> None:
        self._model, self._joints, self.frames = model, joints, model.frames

    def bodies(self) -> Any:
        return self._model.bodies()

    def joints(self) -> Any:
        return ((path, self._joints.get(path, joint)) for path, joint in self._model.joints())


def _of(model: Any) -> Poses:
    return {path: (np.array(body.R, float), np.array(body.p, float)) for path, body in drawn(model).items()}


def _at(joint: Joint, q: np.ndarray) -> Joint:
    """The joint that states coordinates (nq,)."""
    kind = KINDS[joint.type]
    if not kind.primitives:  # a weld stands where it is placed
        return joint
    if kind.placed:
        return _stating(joint, _placement(joint, *_motion(joint, q)))
    return _stating(joint, _displacement(kind, {one.name: float(q[one.q]) for one in kind.coordinates}))


def _motion(joint: Joint, q: np.ndarray) -> Pose:
    """Its child's frame in its parent's one at coordinates (nq,)."""
    numbers, pose = _numbers(joint), WORLD
    for one in KINDS[joint.type].coordinates:
        R, p = one.primitive.motion(q[one.q : one.q + one.nq].tolist(), numbers)
        pose = after(pose, (np.array(R, float), np.array(p, float)))
    return pose


def _numbers(joint: Joint) -> dict[str, Any]:
    """What the motions of its primitives depend on beside coordinates."""
    return {"axis": joint.axis, **joint.values}


def _displacement(kind: JointKind, values: dict[str, float]) -> Any:
    """Values of coordinates as a joint that is not placed states them."""
    return next(iter(values.values())) if kind.sole else FrozenJson(values)


def _placement(joint: Joint, turn: np.ndarray, shift: np.ndarray) -> Placement:
    shifts = KINDS[joint.type].shifts
    T = tuple(float(x) if k < shifts else 0.0 for k, x in enumerate(shift))
    return Placement((T[0], T[1], T[2]), rows_of(turn))


def _stating(joint: Joint, displacement: Any) -> Joint:
    names = [f"initial_displacement.{name}" for name in displacement] if isinstance(displacement, FrozenJson) else []
    whole = [] if names else ["initial_displacement"]
    speeds = [one for one in joint.stated if one.startswith("initial_velocity")]
    stated = (*whole, *(one for one in speeds if "." not in one), *names, *(one for one in speeds if "." in one))
    return replace(joint, initial_displacement=displacement, stated=stated)


def closed_elsewhere(model: Model, poses: Poses, driven: set[str]) -> dict[str, Joint]:
    """Path -> joints that state a pose at which loops close which do not close from where the model stands; {} if none.

    From poses at which all bodies lie along a line nothing tells to which side they should go: joints are moved by
    random angles and ways, by more and more.
    """
    rng, size = np.random.default_rng(0), size_of(poses)
    for share in TRIED:
        joints: dict[str, Joint] = {}
        for path, joint in stated_at(model, poses, driven, every=True).items():
            kind = KINDS[joint.type]
            if kind.sole:
                unit = 1.0 if kind.units[0] == "rad" else size
                at = float(joint.initial_displacement) + share * unit * rng.normal()  # type: ignore[arg-type]
                joints[path] = _stating(joint, at)
        moved_model = with_joints(model, joints)
        there = standing(moved_model)
        if not there.note:
            return stated_at(moved_model, there.poses, driven, every=True)
    return {}


def with_joints(model: Model, joints: dict[str, Joint]) -> Model:
    """The model with other joints at some paths."""
    return with_elements(model, "joints", joints)


def moved(before: Poses, now: Poses, length: float) -> tuple[str, float]:
    """The body that stands elsewhere most, and by how much: of a rotation matrix, or of the length."""
    far = [("", 0.0)]
    for path, (R, p) in now.items():
        if path in before:
            turned = np.abs(R - before[path][0]).max()
            far.append((path, float(max(turned, np.abs(p - before[path][1]).max() / length))))
    return max(far, key=lambda one: one[1])


def size_of(poses: Poses) -> float:
    """A length of the mechanism [m]."""
    return float(np.ptp([p for _, p in poses.values()], axis=0).max()) or 1.0


# -- frames and joints at poses ----------------------------------------------------------------------------------------


def rows_of(R: np.ndarray) -> Any:
    """A rotation matrix as rows, made orthonormal as files are: products of many are not, by rounding."""
    exact = np.round(R) + 0.0
    return orthonormal(exact if np.abs(R - exact).max() < ROUNDING else R)


def frame_pose(model: Any, ref: FrameRef, poses: Poses) -> Pose:
    """A frame in the world."""
    every = model.frames if ref.body == FIXED else dict(model.bodies())[ref.body].frames
    frame = next((one for one in every if one.name == ref.frame), None)
    return after(poses[ref.body], local(frame))


def local(frame: Frame | Placement | None) -> Pose:
    """A frame in its body; None is the body's origin."""
    if frame is None:
        return WORLD
    R, T = frame_in_body(frame)
    return np.array(R, float), np.array(T, float)


def after(first: Pose, second: Pose) -> Pose:
    """The second pose, which is given in the first one."""
    return first[0] @ second[0], first[1] + first[0] @ second[1]


def within(first: Pose, second: Pose) -> Pose:
    """The second pose as the first one has it, both given in the world."""
    return first[0].T @ second[0], first[0].T @ (second[1] - first[1])


def frame_at(name: str, body: Pose, there: Pose, size: float) -> Frame:
    """A frame of a body that stands somewhere in the world."""
    R, T = within(body, there)
    x, y, z = tidy(T, size).tolist()
    return Frame(name, (x, y, z), rows_of(R))


def tidy(T: np.ndarray, size: float) -> np.ndarray:
    """A place without what is rounding beside the size of the mechanism: lengths of nothing else have no scale."""
    return np.where(np.abs(T) < NOTHING * size, 0.0, T)


def joint_at(joint: Joint, between: Pose, size: float) -> tuple[Joint, float]:
    """The joint that states a pose of its child's frame in its parent's one, and by how much it cannot have it: of a
    rotation matrix or [m].

    Args:
        size: of the mechanism [m].
    """
    kind = KINDS[joint.type]
    R, p = between[0], tidy(between[1], size)
    if not kind.primitives:
        return _stating(joint, _placement(joint, R, p)), 0.0
    q = np.array(kind.measured(R.tolist(), p.tolist(), _numbers(joint)), float)
    turn, shift = _motion(joint, q)
    missed = float(max(np.abs(turn - R).max(), np.abs(shift - p).max()))
    if kind.placed:
        return _stating(joint, _placement(joint, turn, shift)), missed
    values = {one.name: _near(joint, one, float(q[one.q])) for one in kind.coordinates}
    return _stating(joint, _displacement(kind, values)), missed


def stated_at(model: Model, poses: Poses, driven: set[str], *, every: bool = False) -> dict[str, Joint]:
    """Path -> joints that state where poses have them, of those that no driver leads: `every` one that can stand there,
    or those that state otherwise."""
    out, size = dict[str, Joint](), size_of(poses)
    for path, joint in model.joints():
        if path in driven or not {joint.parent.body, joint.child.body} <= poses.keys():
            continue
        between = within(frame_pose(model, joint.parent, poses), frame_pose(model, joint.child, poses))
        at, missed = joint_at(joint, between, size)
        if every or (missed < MISSED * max(1.0, size) and at != joint):
            out[path] = at
    return out


def _near(joint: Joint, coordinate: Coordinate, value: float) -> float:
    """An angle on the turn that the joint stated before; what it stated where only rounding tells them apart."""
    old = joint.initial_displacement
    before = old[coordinate.name] if isinstance(old, FrozenJson) else old
    if not isinstance(before, int | float):
        return value
    if coordinate.unit == "rad":
        value += 2.0 * np.pi * round((before - value) / (2.0 * np.pi))
    return float(before) if abs(value - before) <= 4.0 * np.spacing(max(abs(before), 1.0)) else value
