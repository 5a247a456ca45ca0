"""Poses, screws, velocities and bias accelerations of one lane. Run-time code on lane scalars.

A `Chain` follows the tree from one base node. Poses are relative to the base: axes of the base, positions from a point
of the mechanism (ground: the first grounded joint's frame; a body: its origin), so that a mechanism far from the
world's origin loses nothing. Velocities and accelerations are spatial, about that point (Featherstone, Rigid Body
Dynamics Algorithms, chapter 2; angular part first).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    cross,
    identity,
    matmul,
    matvec,
    minus,
    negative,
    plus,
    rotation_of_vector,
    scale,
    transpose,
    unit,
    zeros,
)
from shiftjax.joints import KINDS
from shiftjax.joints.primitives import AXES
from shiftjax.topology.plan import Plan


class Parameters:
    """The numbers of one design: floats where they are constants of the program, lane values where they vary."""

    def __init__(self, numbers: Mapping[str, Scalar], matrices: Mapping[str, Sequence[Sequence[float]]]) -> None:
        self.numbers, self.matrices = numbers, matrices
        self._frames: dict[str, tuple[Mat, Vec]] = {}

    def number(self, path: str) -> Scalar:
        return self.numbers[path]

    def vector(self, path: str) -> Vec:
        return [self.numbers[f"{path}[{k}]"] for k in range(3)]

    def frame(self, path: str) -> tuple[Mat, Vec]:
        """Rotation and translation of a frame in its body; "" is the origin."""
        if path not in self._frames:
            self._frames[path] = (identity(), zeros()) if not path else (self.rotation(path), self.vector(f"{path}.T"))
        return self._frames[path]

    def rotation(self, path: str) -> Mat:
        """R of a frame or placement times the exponential of its rotation vector."""
        R = [list(row) for row in self.matrices[f"{path}.R"]]
        return matmul(R, rotation_of_vector(self.vector(f"{path}.rotation")))


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
    """Motion of the far node for a unit speed: angular part, and linear part about the reference point."""

    angular: Vec
    linear: Vec
    point: Vec | None  # a point on the axis; None for a translation

    def linear_at(self, c: Vec) -> Vec:
        """Velocity of the body's point at c for a unit speed."""
        return self.linear if self.point is None else cross(self.angular, minus(c, self.point))


class Chain:
    """The tree as seen from `base`, node by node, each computed once.

    Args:
        q: (nq,) coordinates, v: (nv,) speeds or None where only poses are asked for.
        rooted: True puts the reference point of a floating mechanism at its root body (dynamics); False keeps one
            point for everything, so that loops between a floating body and ground see its position.
    """

    def __init__(
        self,
        plan: Plan,
        params: Parameters,
        q: Sequence[Scalar],
        v: Sequence[Scalar] | None,
        base: int = 0,
        rooted: bool = False,
    ) -> None:
        self.plan, self.params, self.q, self.v, self.base, self.rooted = plan, params, q, v, base, rooted
        point = ground_point(plan, params) if base == 0 else zeros()
        self.nodes: dict[int, BodyState] = {
            base: BodyState(identity(), negative(point), zeros(), zeros(), zeros(), zeros())
        }
        self.screws: dict[int, list[SpeedScrew]] = {}

    def node(self, k: int) -> BodyState:
        missing = [k]
        while missing[-1] not in self.nodes:
            missing.append(self.plan.joints[self.plan.nodes[missing[-1]].joint].near)
        for node in reversed(missing[:-1]):
            self._reach(node)
        return self.nodes[k]

    def screws_of(self, joint: int) -> list[SpeedScrew]:
        self.node(self.plan.joints[joint].far)
        return self.screws[joint]

    def frame(self, k: int, path: str) -> tuple[Mat, Vec]:
        """Pose of a frame of node k, relative to the base."""
        state = self.node(k)
        F_R, F_p = self.params.frame(path)
        return matmul(state.R, F_R), plus(state.p, matvec(state.R, F_p))

    def _reach(self, k: int) -> None:
        index = self.plan.nodes[k].joint
        joint = self.plan.joints[index]
        near, kind = self.node(joint.near), KINDS[joint.kind]
        R, p = self.frame(joint.near, joint.near_frame)
        w, u, alpha, acc = near.w, near.u, near.alpha, near.acc
        # written from body to ground it turns about ground's frame, and its body's origin moves with the turn
        free = self.rooted and joint.near == 0 and kind.nv == 6 and not joint.reverse
        screws: list[list[SpeedScrew]] = []
        if not kind.primitives:
            R, p = self._welded(R, p, joint.path, kind.displacement, joint.reverse)
        for primitive, nq, nv in _walk(kind.primitives, joint.reverse):
            axis = AXES.get(primitive.axis) or (
                unit(self.params.vector(f"{joint.path}.axis")) if primitive.axis else zeros()
            )
            turn, shift = primitive.motion(self.q[joint.q + nq : joint.q + nq + primitive.nq], axis)
            before = R
            if joint.reverse:
                R = matmul(R, transpose(turn))
                p = minus(p, matvec(R, shift))
            else:
                p = plus(p, matvec(R, shift))
                R = matmul(R, turn)
            if free:
                p = zeros()
            inner, outer = (R, before) if joint.reverse else (before, R)
            own = []
            for part, direction in primitive.screws(inner, outer, axis):
                line = negative(direction) if joint.reverse else direction
                turning = part == "angular"
                own.append(SpeedScrew(line, cross(p, line), p) if turning else SpeedScrew(zeros(), line, None))
            screws.append(own)
            if self.v is not None:
                dw, du = _combine(own, self.v[joint.v + nv : joint.v + nv + primitive.nv])
                alpha = plus(alpha, cross(w, dw))
                acc = plus(acc, plus(cross(u, dw), cross(w, du)))
                w, u = plus(w, dw), plus(u, du)
        if not joint.chord:  # a virtual body is known by its joint's frame alone
            F_R, F_p = self.params.frame(joint.far_frame)
            R = matmul(R, transpose(F_R))
            p = minus(p, matvec(R, F_p))
        self.nodes[k] = BodyState(R, p, w, u, alpha, acc)
        self.screws[index] = [s for own in (reversed(screws) if joint.reverse else screws) for s in own]

    def _welded(self, R: Mat, p: Vec, path: str, displacement: str, reverse: bool) -> tuple[Mat, Vec]:
        """A joint without motion sits at its initial displacement."""
        place = f"{path}.initial_displacement"
        turn = self.params.rotation(place)
        shift = self.params.vector(f"{place}.T") if displacement == "placement" else zeros()
        if reverse:
            R = matmul(R, transpose(turn))
            return R, minus(p, matvec(R, shift))
        return matmul(R, turn), plus(p, matvec(R, shift))


def _walk(primitives: Sequence, reverse: bool) -> list[tuple]:
    """Primitives in the order of the tree with the offsets of their coordinates and speeds."""
    out, nq, nv = [], 0, 0
    for primitive in primitives:
        out.append((primitive, nq, nv))
        nq, nv = nq + primitive.nq, nv + primitive.nv
    return out[::-1] if reverse else out


def _combine(screws: Sequence[SpeedScrew], speeds: Sequence[Scalar]) -> tuple[Vec, Vec]:
    w, u = zeros(), zeros()
    for screw, speed in zip(screws, speeds, strict=True):
        w, u = plus(w, scale(speed, screw.angular)), plus(u, scale(speed, screw.linear))
    return w, u


def ground_point(plan: Plan, params: Parameters) -> Vec:
    """The frame on ground of the first joint that ties the mechanism to it; the world's origin where none does."""
    for joint in plan.joints:
        if joint.near == 0 and KINDS[joint.kind].nv < 6:
            return params.frame(joint.near_frame)[1]
    return zeros()


def coordinate_rates(plan: Plan, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
    """(nq,) time derivatives of the coordinates: the speeds, but for quaternions."""
    out: Vec = []
    for joint in plan.joints:
        for primitive, nq, nv in _walk(KINDS[joint.kind].primitives, False):
            a, b = joint.q + nq, joint.v + nv
            out += primitive.rate(q[a : a + primitive.nq], v[b : b + primitive.nv])
    return out


class Motion:
    """All chains of one state, each made once.

    Args:
        q: (nq,) coordinates [rad, m, quaternions], v: (nv,) speeds or None for poses only.
    """

    def __init__(self, plan: Plan, params: Parameters, q: Sequence[Scalar], v: Sequence[Scalar] | None) -> None:
        self.plan, self.params, self.q, self.v = plan, params, q, v
        self._chains: dict[tuple[int, bool], Chain] = {}
        self._floats = any(joint.near == 0 and KINDS[joint.kind].nv == 6 for joint in plan.joints)

    def chain(self, base: int = 0, rooted: bool = False) -> Chain:
        key = (base, rooted and self._floats)
        if key not in self._chains:
            self._chains[key] = Chain(self.plan, self.params, self.q, self.v, base, key[1])
        return self._chains[key]
