"""What can be asked of frames, points and centres of mass at one state: lane code, nested lists of scalars.

Motion of A relative to B is what an observer fixed to B sees, who may move; vectors are along the axes of C, those of B
where none are named. Twists and accelerations have the angular part first.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.access.frame_kinds import FrameChain
from shiftjax.access.lane_state import LaneState
from shiftjax.access.rigid_motion import RigidMotion
from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    cross,
    dot,
    is_zero,
    matmul,
    matvec,
    minus,
    plus,
    quotient,
    ratio,
    scale,
    sqrt,
    total,
    transpose,
    zeros,
)
from shiftjax.errors import ModelError
from shiftjax.plan_elements import WORLD, PlacedFrame
from shiftjax.rotations import quaternion_of_rotation
from shiftjax.topology.plan import Plan

POSE, VELOCITY, ACCELERATION = range(3)  # how many derivatives of a pose are asked for
WORLD_PLACE = FrameChain(WORLD)
Columns = list[Vec]  # one entry a speed
Axes = FrameChain | None


def relative_motion(at: LaneState, frame: FrameChain, relative: FrameChain, order: int) -> RigidMotion:
    """The motion of a frame as another one sees it; rates above `order` are zero or meaningless."""
    between = _between(at, frame.placed, relative.placed, order)
    out = between.then(frame.on_placed(at)) if frame.links else between
    return relative.on_placed(at).inverse().then(out) if relative.links else out


def _between(at: LaneState, frame: PlacedFrame, relative: PlacedFrame, order: int) -> RigidMotion:
    motion = at.rest if order == POSE else at.motion
    R, p = motion.pose(frame, relative=relative)
    w, u, alpha, acc = zeros(), zeros(), zeros(), zeros()
    if order >= VELOCITY:
        w, u = motion.angular_velocity(frame, relative=relative), motion.velocity(frame, relative=relative)
    if order >= ACCELERATION:
        alpha, acc = motion.angular_bias(frame, relative=relative), motion.bias(frame, relative=relative)
        for k, column in motion.angular_jacobian(frame, relative=relative).items():
            alpha = plus(alpha, scale(at.a[k], column))
        for k, column in motion.jacobian(frame, relative=relative).items():
            acc = plus(acc, scale(at.a[k], column))
    return RigidMotion(R, p, w, u, alpha, acc)


def _turn(at: LaneState, relative: FrameChain, axes: Axes) -> Mat | None:
    """The axes of `relative` along those of `axes`; None where they are the same."""
    if axes is None or axes == relative:
        return None
    return relative_motion(at, relative, axes, POSE).R


def _turned(R: Mat | None, *vectors: Vec) -> Vec:
    return [x for vector in vectors for x in (vector if R is None else matvec(R, vector))]


def pose(at: LaneState, frame: FrameChain, relative: FrameChain, axes: Axes) -> Mat:
    """(4, 4) [R p; 0 1]: axes of a frame, and place of its origin [m]."""
    seen = relative_motion(at, frame, relative, POSE)
    R, turn = seen.R, _turn(at, relative, axes)
    p = _turned(turn, seen.p)
    R = R if turn is None else matmul(turn, R)
    return [*([*row, x] for row, x in zip(R, p, strict=True)), [0.0, 0.0, 0.0, 1.0]]


def orientation(at: LaneState, frame: FrameChain, relative: FrameChain) -> Vec:
    """(4,) unit quaternion, w first."""
    return quaternion_of_rotation(relative_motion(at, frame, relative, POSE).R)


def twist(at: LaneState, frame: FrameChain, relative: FrameChain, axes: Axes) -> Vec:
    """(6,) angular velocity [rad/s], velocity of the origin [m/s]."""
    seen = relative_motion(at, frame, relative, VELOCITY)
    return _turned(_turn(at, relative, axes), seen.w, seen.u)


def screw(at: LaneState, frame: FrameChain, relative: FrameChain, axes: Axes) -> Vec:
    """(8,) direction of the axis, its point nearest to the origin [m], pitch [m/rad], rate [rad/s]."""
    seen = relative_motion(at, frame, relative, VELOCITY)
    squared = dot(seen.w, seen.w)
    rate = sqrt(squared)
    at_origin = minus(seen.u, cross(seen.w, seen.p))  # velocity of what moves with the frame, at the other's origin
    point = scale(quotient(1.0, squared), cross(seen.w, at_origin))
    turned = _turned(_turn(at, relative, axes), scale(quotient(1.0, rate), seen.w), point)
    return [*turned, quotient(dot(seen.w, at_origin), squared), rate]


def acceleration(at: LaneState, frame: FrameChain, relative: FrameChain, axes: Axes, *, spatial: bool) -> Vec:
    """(6,) angular acceleration [rad/s^2], acceleration of the origin [m/s^2].

    Args:
        spatial: the linear part is the rate of the velocity field at the origin, acceleration - w x velocity, instead.
    """
    seen = relative_motion(at, frame, relative, ACCELERATION)
    linear = minus(seen.acc, cross(seen.w, seen.u)) if spatial else seen.acc
    return _turned(_turn(at, relative, axes), seen.alpha, linear)


def jacobian(
    at: LaneState,
    frame: FrameChain,
    relative: FrameChain,
    axes: Axes,
    speeds: Sequence[int] | None = None,
    *,
    constrained: bool,
) -> Mat:
    """(6, n) angular velocity, and velocity of the origin, for a unit of each speed.

    Args:
        constrained: n independent speeds, loops closed, in place of all speeds of the joints. speeds: those of the
            latter that are wanted; all where left out.
    """
    columns = _jacobian_at(at, frame.placed, frame.on_placed(at).p, relative, axes)
    return matrix_of(at, columns, speeds, constrained=constrained)


def _jacobian_at(at: LaneState, frame: PlacedFrame, point: Vec, relative: FrameChain, axes: Axes) -> Columns:
    """Twists of a frame of the plan and of a point of it, for a unit of each speed."""
    angular = at.rest.angular_jacobian(frame, relative=relative.placed)
    linear = at.rest.jacobian(frame, point, relative=relative.placed)
    turn = _turn(at, relative, axes)
    back = transpose(relative.on_placed(at).R) if relative.links else None
    columns: Columns = []
    for k in range(at.plan.nv):
        w, u = angular.get(k, zeros()), linear.get(k, zeros())
        if back is not None:  # another frame on the same body sees the same motion, along its axes
            w, u = matvec(back, w), matvec(back, u)
        columns.append(_turned(turn, w, u))
    return columns


def matrix_of(at: LaneState, columns: Columns, speeds: Sequence[int] | None = None, *, constrained: bool) -> Mat:
    """Rows of the columns of all speeds: of some of them, or with loops closed of the independent ones."""
    rows = len(columns[0]) if columns else 0
    if constrained:
        columns = [_combined(columns, column) for column in at.Z]
    elif speeds is not None:
        columns = [columns[k] for k in speeds]
    return [[column[i] for column in columns] for i in range(rows)]


def _combined(columns: Columns, weights: dict[int, Scalar]) -> Vec:
    out = zeros(len(columns[0])) if columns else []
    for speed, weight in weights.items():
        if not is_zero(weight):
            out = plus(out, scale(weight, columns[speed]))
    return out


def moving_speeds(plan: Plan, frame: FrameChain, relative: FrameChain) -> list[int]:
    """The speeds that move a frame as another one sees it: the columns of a compact Jacobian."""
    *branches, _ = plan.between(frame.placed.node, relative.placed.node)
    return sorted(k for branch in branches for joint in branch for k in plan.joints[joint].speeds)


def centres(at: LaneState, nodes: Sequence[int]) -> list[tuple[Scalar, PlacedFrame, Vec]]:
    """Mass, frame of the origin, and centre of mass in it, of some bodies; massless ones left out."""
    out: list[tuple[Scalar, PlacedFrame, Vec]] = []
    for node in nodes:
        numbers = at.plan.nodes[node].numbers
        if numbers is not None and not is_zero(mass := at.lane.params.at(numbers.mass)):
            out.append((mass, PlacedFrame(node, None), at.lane.params.at(numbers.center_of_mass)))
    return out


def mass(at: LaneState, nodes: Sequence[int]) -> Scalar:
    """[kg]"""
    return total([m for m, _, _ in centres(at, nodes)])


def _mean(at: LaneState, nodes: Sequence[int], vectors: Sequence[Vec]) -> Vec:
    """The mean of vectors of bodies by their masses."""
    if not vectors:
        raise ModelError("center_of_mass", "bodies without mass", "at least one that has some", "Name others.")
    out, whole = zeros(len(vectors[0])), mass(at, nodes)
    for (m, _, _), vector in zip(centres(at, nodes), vectors, strict=True):
        out = plus(out, scale(m, vector))
    return scale(ratio(1.0, whole), out)


def center_of_mass(at: LaneState, nodes: Sequence[int], relative: FrameChain, axes: Axes, order: int) -> Vec:
    """(3,) place, velocity or acceleration of the centre of mass of some bodies [m, m/s, m/s^2]."""
    vectors: list[Vec] = []
    for _, frame, centre in centres(at, nodes):
        seen = relative_motion(at, FrameChain(frame), relative, order).of_point(centre)
        vectors.append((seen.p, seen.u, seen.acc)[order])
    return _turned(_turn(at, relative, axes), _mean(at, nodes, vectors))


def center_of_mass_jacobian(
    at: LaneState, nodes: Sequence[int], relative: FrameChain, axes: Axes, *, constrained: bool
) -> Mat:
    """(3, n) velocity of the centre of mass of some bodies for a unit of each speed."""
    parts = [
        [x for column in _jacobian_at(at, frame, centre, relative, axes) for x in column[3:]]
        for _, frame, centre in centres(at, nodes)
    ]
    flat = _mean(at, nodes, parts)
    return matrix_of(at, [flat[3 * k : 3 * k + 3] for k in range(at.plan.nv)], constrained=constrained)


def inertia_of(at: LaneState, node: int) -> Mat | None:
    """(3, 3) of a body about its centre, along its axes; None where it has none."""
    numbers = at.plan.nodes[node].numbers
    if numbers is None:
        return None
    xx, yy, zz, xy, yz, zx = at.lane.params.at(numbers.inertia)
    return [[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]


def momentum_matrix(
    at: LaneState,
    nodes: Sequence[int],
    about: FrameChain | None,
    axes: Axes,
    *,
    constrained: bool,
) -> Mat:
    """(6, n) angular and linear momentum of some bodies for a unit of each speed, as the world sees them.

    Args:
        about: the frame about whose origin the angular momentum is; None for their centre of mass.
    """
    if about is None:
        origin = center_of_mass(at, nodes, WORLD_PLACE, None, POSE)
    else:
        origin = relative_motion(at, about, WORLD_PLACE, POSE).p
    columns = [zeros(6) for _ in range(at.plan.nv)]
    for node in nodes:
        numbers, inertia = at.plan.nodes[node].numbers, inertia_of(at, node)
        if numbers is None or inertia is None:
            continue
        m, centre = at.lane.params.at(numbers.mass), at.lane.params.at(numbers.center_of_mass)
        frame = PlacedFrame(node, None)
        R, _ = at.rest.pose(frame)
        arm = minus(at.rest.point(frame, centre), origin)
        angular, linear = at.rest.angular_jacobian(frame), at.rest.jacobian(frame, centre)
        for k in sorted(angular.keys() | linear.keys()):
            w, u = angular.get(k, zeros()), scale(m, linear.get(k, zeros()))
            spin = matvec(R, matvec(inertia, matvec(transpose(R), w)))
            columns[k] = plus(columns[k], [*plus(spin, cross(arm, u)), *u])
    turn = _turn(at, WORLD_PLACE, axes)
    return matrix_of(at, [_turned(turn, one[:3], one[3:]) for one in columns], constrained=constrained)


def momentum(at: LaneState, nodes: Sequence[int], about: FrameChain | None, axes: Axes) -> Vec:
    """(6,) angular momentum [kg m^2/s] and linear momentum [kg m/s] of some bodies, as the world sees them."""
    return matvec(momentum_matrix(at, nodes, about, axes, constrained=False), at.v)
