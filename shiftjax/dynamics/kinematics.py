"""Poses, screws, velocities and bias accelerations of one lane. Run-time code on lane scalars.

A `Chain` follows the tree from one base node. Poses are relative to the base: axes of the base, positions from a point
of the mechanism (ground: the first grounded joint's frame; a body: its origin), so that a mechanism far from the
world's origin loses no precision. Velocities and accelerations are spatial, about that point (Featherstone, Rigid Body
Dynamics Algorithms, chapter 2; angular part first).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    cross,
    dot,
    identity,
    is_zero,
    matmul,
    matvec,
    minus,
    negative,
    norm_squared,
    plus,
    ratio,
    scale,
    select,
    sqrt,
    transpose,
    zeros,
)
from shiftjax.dynamics.frames import Columns, SeenFrame
from shiftjax.errors import ModelError
from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Ball
from shiftjax.plan_elements import ORIGIN, WORLD, ForceElement, FrameNumbers, Named, PlacedFrame, Places
from shiftjax.rotations import (
    conjugate,
    normalized,
    quaternion_of_vector,
    quaternion_product,
    recharted,
    rotation_of_vector,
    vector_of_quaternion,
    vector_rate,
    vector_speed,
)
from shiftjax.topology.plan import Plan, TreeJoint, coordinates_of


class Parameters:
    """The numbers of one design: floats where they are constants of the program, lane values where they vary.

    Args:
        numbers, matrices: in the order of the plan's.
    """

    def __init__(self, numbers: Sequence[Scalar], matrices: Sequence[Sequence[Sequence[float]]]) -> None:
        self.numbers, self.matrices = numbers, matrices
        self._frames: dict[FrameNumbers | None, tuple[Mat, Vec]] = {None: (identity(), zeros())}

    def at(self, places: Places) -> Any:
        """The number at an index, or nested lists of numbers in the shape of the indices."""
        return self.numbers[places] if isinstance(places, int) else [self.at(place) for place in places]

    def frame(self, frame: FrameNumbers | None) -> tuple[Mat, Vec]:
        """Rotation and translation of a frame in its body; None is the origin."""
        if frame is not None and frame not in self._frames:
            self._frames[frame] = (self.rotation(frame.matrix, frame.rotation), self.at(frame.T))
        return self._frames[frame]

    def rotation(self, matrix: int, vector: Places) -> Mat:
        """A constant matrix times the exponential of a rotation vector."""
        return matmul([list(row) for row in self.matrices[matrix]], rotation_of_vector(self.at(vector)))


@dataclass
class BodyState:
    """Pose of a node relative to the base of its chain, spatial velocity and bias acceleration about its point.

    The pose of a virtual body is that of its joint's frame, the cut point.
    """

    R: Mat
    p: Vec  # [m]
    w: Vec  # angular velocity [rad/s]
    u: Vec  # velocity of the body's point at the reference point [m/s]
    alpha: Vec  # bias angular acceleration (all q'' = 0) [rad/s^2]
    acc: Vec  # bias spatial linear acceleration [m/s^2]


@dataclass
class SpeedScrew:
    """Motion of the far node for a unit speed: rotation about an axis through a point, and translation."""

    angular: Vec
    velocity: Vec  # of the body's point at `point`
    point: Vec  # from the reference point

    def __post_init__(self) -> None:
        self.linear = plus(cross(self.point, self.angular), self.velocity)

    def linear_at(self, c: Vec) -> Vec:
        """Velocity of the body's point at c for a unit speed."""
        if all(is_zero(a) for a in self.angular):
            return self.velocity
        return plus(cross(self.angular, minus(c, self.point)), self.velocity)


class Chain:
    """Kinematics of the tree relative to `base`, each node computed once.

    Args:
        q: (nq,) coordinates, v: (nv,) speeds or None for poses only.
        rooted: True puts the reference point of a floating mechanism at its root body (dynamics); False uses one point
            for everything, so that loops between a floating body and ground depend on its position.
    """

    def __init__(
        self,
        plan: Plan,
        params: Parameters,
        q: Sequence[Scalar],
        v: Sequence[Scalar] | None,
        *,
        base: int = 0,
        rooted: bool = False,
    ) -> None:
        self.plan, self.params, self.q, self.v, self.base, self.rooted = plan, params, q, v, base, rooted
        self.point = ground_point(plan, params) if base == 0 else zeros()
        start = BodyState(identity(), negative(self.point), zeros(), zeros(), zeros(), zeros())
        self.nodes: dict[int, BodyState] = {base: start}
        self.screws: dict[int, list[SpeedScrew]] = {}

    def node(self, k: int) -> BodyState:
        missing = [k]
        while missing[-1] not in self.nodes:
            joint = self.plan.nodes[missing[-1]].joint
            if joint < 0:
                self._refuse(k)
            missing.append(self.plan.joints[joint].near)
        for node in reversed(missing[:-1]):
            self._compute(node)
        return self.nodes[k]

    def _refuse(self, k: int) -> None:
        base, body = (self.plan.nodes[node].path for node in (self.base, k))
        todo = "Ask `motion.point(frame, relative=other)` and the like, which follow any two frames."
        raise ModelError(f"motion.chain of {base}", f"the body {body}", "bodies that this one carries", todo)

    def screws_of(self, joint: int) -> list[SpeedScrew]:
        self.node(self.plan.joints[joint].far)
        return self.screws[joint]

    def frame(self, placed: PlacedFrame) -> tuple[Mat, Vec]:
        """Pose of a frame, relative to the base."""
        state = self.node(placed.node)
        F_R, F_p = self.params.frame(placed.frame)
        if placed.node == self.base:  # not rotated: the distance of a frame at the reference point is exactly zero
            return F_R, minus(F_p, self.point)
        return matmul(state.R, F_R), plus(state.p, matvec(state.R, F_p))

    def _compute(self, k: int) -> None:
        index = self.plan.nodes[k].joint
        joint = self.plan.joints[index]
        near, kind = self.node(joint.near), joint.kind
        n = {name: self.params.at(places) for name, places in joint.numbers}
        R, p = self.frame(joint.near_place)
        w, u, alpha, acc = near.w, near.u, near.alpha, near.acc
        # a reversed one rotates about ground's frame, and its body's origin moves with the rotation
        free = self.rooted and joint.near == 0 and kind.free and not joint.reverse
        screws: list[list[SpeedScrew]] = []
        if not kind.primitives:
            R, p = self._welded(R, p, joint, kind)
        for primitive, nq, nv in _walk(kind, joint.reverse):
            rotation, shift = primitive.motion(self.q[joint.q + nq : joint.q + nq + primitive.nq], n)
            before = R
            if joint.reverse:
                R = matmul(R, transpose(rotation))
                p = minus(p, matvec(R, shift))
            else:
                p = plus(p, matvec(R, shift))
                R = matmul(R, rotation)
            if free:
                p = zeros()
            inner, outer = (R, before) if joint.reverse else (before, R)
            new = []
            for angular, velocity in primitive.screws(inner, outer, n):
                if joint.reverse:
                    angular, velocity = negative(angular), negative(velocity)
                new.append(SpeedScrew(angular, velocity, p))
            screws.append(new)
            if self.v is not None:
                dw, du = _combine(new, self.v[joint.v + nv : joint.v + nv + len(primitive.units)])
                alpha = plus(alpha, cross(w, dw))
                acc = plus(acc, plus(cross(u, dw), cross(w, du)))
                w, u = plus(w, dw), plus(u, du)
        if not joint.chord:  # the pose of a virtual body is that of its joint's frame
            F_R, F_p = self.params.frame(joint.far_frame)
            R = matmul(R, transpose(F_R))
            p = minus(p, matvec(R, F_p))
        self.nodes[k] = BodyState(R, p, w, u, alpha, acc)
        self.screws[index] = [s for part in (reversed(screws) if joint.reverse else screws) for s in part]

    def _welded(self, R: Mat, p: Vec, joint: TreeJoint, kind: JointKind) -> tuple[Mat, Vec]:
        """Pose after a fixed joint: its initial displacement."""
        shift, vector = joint.displacement
        rotation, shift = self.params.rotation(joint.matrix, vector), self.params.at(shift)
        if joint.reverse:
            R = matmul(R, transpose(rotation))
            return R, minus(p, matvec(R, shift))
        return matmul(R, rotation), plus(p, matvec(R, shift))


def _walk(kind: JointKind, reverse: bool) -> list[tuple[Any, int, int]]:
    """Primitives in the order of the tree with the offsets of their coordinates and speeds."""
    out, nq, nv = [], 0, 0
    for primitive in kind.primitives:
        out.append((primitive, nq, nv))
        nq, nv = nq + primitive.nq, nv + len(primitive.units)
    return out[::-1] if reverse else out


def _combine(screws: Sequence[SpeedScrew], speeds: Sequence[Scalar]) -> tuple[Vec, Vec]:
    w, u = zeros(), zeros()
    for screw, speed in zip(screws, speeds, strict=True):
        w, u = plus(w, scale(speed, screw.angular)), plus(u, scale(speed, screw.linear))
    return w, u


def ground_point(plan: Plan, params: Parameters) -> Vec:
    """Position of the ground frame of the first joint that is not a float; the world's origin without one."""
    for joint in plan.joints:
        if joint.near == 0 and not joint.kind.free:
            return params.frame(joint.near_frame)[1]
    return zeros()


def coordinate_rates(plan: Plan, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
    """(nq,) time derivatives of the coordinates: the speeds, except for quaternions and rotation vectors."""
    out: Vec = []
    for joint in plan.joints:
        for primitive, nq, nv in _walk(joint.kind, False):
            a, b = joint.q + nq, joint.v + nv
            out += primitive.rate(q[a : a + primitive.nq], v[b : b + len(primitive.units)])
    return out


def quaternion_places(plan: Plan) -> list[tuple[int, int]]:
    """First coordinate and first speed of every quaternion."""
    return [
        (joint.q + nq, joint.v + nv)
        for joint in plan.joints
        for primitive, nq, nv in _walk(joint.kind, False)
        if primitive.quaternion
    ]


def vector_places(plan: Plan) -> list[tuple[int, int]]:
    """First coordinate and first speed of every rotation vector."""
    return [(one.q, one.v) for one in plan.coordinates if one.vector]


@cache
def with_quaternions(plan: Plan) -> Plan:
    """The same mechanism with a quaternion in place of every rotation vector; `plan` itself where there is none."""
    if not vector_places(plan):
        return plan
    joints, nq = list[TreeJoint](), 0
    for joint in plan.joints:
        primitives = tuple(Ball() if one.vector else one for one in joint.kind.primitives)
        joints.append(replace(joint, kind=replace(joint.kind, primitives=primitives), q=nq))
        nq += joints[-1].nq
    return replace(plan, joints=tuple(joints), coordinates=coordinates_of(joints), nq=nq)


def quaternions_of(plan: Plan, q: Sequence[Scalar], near: Sequence[Scalar] = ()) -> Vec:
    """Coordinates of `with_quaternions(plan)`.

    Args:
        near: such coordinates, to which the quaternions of rotation vectors are to be near.
    """
    out: Vec = []
    for one in plan.coordinates:
        part, first = list(q[one.places]), len(out)
        if one.vector:
            part = quaternion_of_vector(part)
            if len(near):
                turned = dot(part, near[first : first + 4]) < 0.0
                part = scale(select(turned, -1.0, 1.0), part)
        out += part
    return out


def vectors_of(plan: Plan, q: Sequence[Scalar]) -> Vec:
    """The inverse of `quaternions_of`."""
    out: Vec = []
    for one, twin in zip(plan.coordinates, with_quaternions(plan).coordinates, strict=True):
        part = list(q[twin.places])
        out += vector_of_quaternion(part) if one.vector else part
    return out


def retract(plan: Plan, q: Vec, change: Mapping[int, Scalar]) -> Vec:
    """q (+) change (speed -> amount): a sum for plain coordinates, a normalised product for quaternions; rotation
    vectors are at most pi long afterwards."""
    out = list(q)
    for one in plan.coordinates:
        part, step = out[one.places], [change.get(speed, 0.0) for speed in one.speeds]
        moved = any(not is_zero(s) for s in step)
        if one.vector:
            out[one.places] = recharted(plus(part, vector_rate(part, step)) if moved else part)
        elif one.quaternion:
            out[one.places] = normalized(quaternion_product(part, [1.0, *scale(0.5, step)]) if moved else part)
        else:
            out[one.places] = [x + s for x, s in zip(part, step, strict=True)]
    return out


def change_between(plan: Plan, before: Vec, after: Vec) -> Vec:
    """(nv,) the change that `retract` has made of coordinates, also of quaternions that were not unit."""
    out: Vec = []
    for one in plan.coordinates:
        first, last = before[one.places], after[one.places]
        if one.quaternion:
            turn = quaternion_product(conjugate(first), last)
            out += scale(2.0 / turn[0], turn[1:])
        elif one.vector:
            out += vector_speed(first, minus(_nearest(last, first), first))
        else:
            out += minus(last, first)
    return out


def _nearest(r: Vec, near: Vec) -> Vec:
    """Of both rotation vectors of a rotation the one that is nearer to another one."""
    x2 = norm_squared(r)
    still = x2 < 1.0  # whose other vector is far
    other = scale(1.0 - ratio(2.0 * math.pi, sqrt(select(still, 1.0, x2))), r)
    nearer = norm_squared(minus(other, near)) < norm_squared(minus(r, near))
    return [select(still, a, select(nearer, b, a)) for a, b in zip(r, other, strict=True)]


def speed_units(plan: Plan) -> list[str]:
    """(nv,) unit of the displacement of every speed, "rad" or "m"."""
    return [unit for joint in plan.joints for unit in joint.kind.units]


class Motion:
    """All chains of one state, each made once.

    Args:
        q: (nq,) coordinates [rad, m, quaternions], v: (nv,) speeds or None for poses only. t: time [s].
        functions: the user's, of time and coordinates.
    """

    def __init__(
        self,
        plan: Plan,
        params: Parameters,
        q: Sequence[Scalar],
        v: Sequence[Scalar] | None,
        t: Scalar = 0.0,
        functions: Sequence[Any] = (),
    ) -> None:
        self.plan, self.params, self.q, self.v, self.t, self.functions = plan, params, q, v, t, functions
        self._chains: dict[int, Chain] = {}
        self._seen: dict[tuple[PlacedFrame, PlacedFrame], SeenFrame] = {}
        self._borne: Mapping[ForceElement, Scalar] = {}

    def bearing(self, borne: Mapping[ForceElement, Scalar]) -> Motion:
        """The same motion, of which it is known what presses the joints of forces."""
        out = copy(self)
        out._borne = borne
        return out

    def borne(self, element: ForceElement) -> Scalar:
        return self._borne.get(element, 0.0)

    def seat(self, element: ForceElement) -> tuple[int, Vec]:
        """The joint of a force that grows with what it bears, and its axis along those of the world."""
        coordinate = self.plan.coordinates[element.coordinates[0]]
        screw = self.rooted.screws_of(coordinate.joint)[coordinate.v - self.plan.joints[coordinate.joint].v]
        return coordinate.joint, screw.angular if coordinate.unit == "rad" else screw.velocity

    def chain(self, base: int = 0) -> Chain:
        """The tree relative to a body, about one point of it."""
        if base not in self._chains:
            self._chains[base] = Chain(self.plan, self.params, self.q, self.v, base=base)
        return self._chains[base]

    @cached_property
    def rooted(self) -> Chain:
        """The tree as inertia and loads are taken: where it floats, about its root body; else that of ground."""
        if any(joint.near == 0 and joint.kind.free for joint in self.plan.joints):
            return Chain(self.plan, self.params, self.q, self.v, rooted=True)
        return self.chain()

    def pose(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> tuple[Mat, Vec]:
        return self._frame(frame, relative).pose()

    def point(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        return self._frame(frame, relative).point(p)

    def velocity(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        return self._frame(frame, relative).velocity(p)

    def angular_velocity(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Vec:
        return self._frame(frame, relative).angular_velocity()

    def jacobian(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Columns:
        return self._frame(frame, relative).jacobian(p)

    def angular_jacobian(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Columns:
        return self._frame(frame, relative).angular_jacobian()

    def bias(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        return self._frame(frame, relative).bias(p)

    def angular_bias(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Vec:
        return self._frame(frame, relative).angular_bias()

    def _frame(self, frame: PlacedFrame, relative: PlacedFrame) -> SeenFrame:
        if (frame, relative) not in self._seen:
            *branches, base = self.plan.between(frame.node, relative.node)
            alone, others = ([(self.first_speed(joint), joint) for joint in branch] for branch in branches)
            self._seen[frame, relative] = SeenFrame(self.chain(base), frame, relative, (alone, others))
        return self._seen[frame, relative]

    def values(self, numbers: Named) -> Mapping[str, Any]:
        """The numbers of an element: field -> scalar, or lists of scalars in the field's shape."""
        return {name: self.params.at(places) for name, places in numbers}

    def coordinate(self, index: int) -> Scalar:
        """One of the plan's coordinates [rad or m]."""
        return self.q[self.plan.coordinates[index].q]

    def speed(self, index: int) -> Scalar:
        """The speed of one of the plan's coordinates [rad/s or m/s]; 0 for poses only."""
        return 0.0 if self.v is None else self.v[self.plan.coordinates[index].v]

    def speeds(self, index: int) -> Sequence[Scalar]:
        """All speeds of one of the plan's coordinates, three of a ball [rad/s or m/s]; zeros for poses only."""
        places = self.plan.coordinates[index].speeds
        return [0.0 if self.v is None else self.v[k] for k in places]

    def speed_index(self, index: int) -> int:
        """The index of the first speed of one of the plan's coordinates."""
        return self.plan.coordinates[index].v

    def first_speed(self, joint: int) -> int:
        """The index of the first speed of a joint."""
        return self.plan.joints[joint].v
