"""Springs, dampers and friction of the file, along a joint or between two body frames: Q = -f(x).

x is the joint's displacement, or the distance between the frames (or its component along an axis of the first frame),
for a spring; its rate for a damper or friction.
"""

from __future__ import annotations

from shiftjax.algebra import (
    Scalar,
    Vec,
    add,
    cross,
    div,
    dot,
    matvec,
    minus,
    mul,
    neg,
    negative,
    plus,
    scale,
    sqrt,
    sub,
)
from shiftjax.dynamics.kinematics import BodyState, Motion
from shiftjax.forces.load import Load
from shiftjax.forces.polynomials import piecewise, piecewise_integral
from shiftjax.joints.primitives import AXES
from shiftjax.topology.plan import Restraint


def apply(motion: Motion, load: Load, restraint: Restraint) -> None:
    """Adds one restraint to the load."""
    if restraint.joint >= 0:
        joint = motion.plan.joints[restraint.joint]
        rate = motion.v[joint.v] if motion.v is not None else None
        force = _force(motion, load, restraint, motion.q[joint.q], rate)
        load.push(joint.v, neg(force))
        return
    _between_frames(motion, load, restraint)


def _force(motion: Motion, load: Load, restraint: Restraint, x: Scalar, rate: Scalar | None) -> Scalar:
    """f at x or at its rate; books potential and power."""
    params = motion.params
    knots = [params.number(f"{restraint.path}.knot_points[{i}]") for i in range(len(restraint.pieces) - 1)]
    pieces = [
        [params.number(f"{restraint.path}.coefficients[{i}][{k}]") for k in reversed(range(count))]
        for i, count in enumerate(restraint.pieces)
    ]
    if restraint.type == "spring":
        load.potential = add(load.potential, piecewise_integral(knots, pieces, x))
        return piecewise(knots, pieces, x)
    if rate is None:
        return 0.0
    force = piecewise(knots, pieces, rate)
    load.power = sub(load.power, mul(force, rate))
    return force


def _between_frames(motion: Motion, load: Load, restraint: Restraint) -> None:
    world = motion.chain()
    (R, first), (_, second) = (
        world.frame(node, path) for node, path in zip(restraint.nodes, restraint.frames, strict=True)
    )
    span = minus(second, first)
    if restraint.direction:
        direction = matvec(R, AXES[restraint.direction])
        x = dot(direction, span)
    else:
        x = sqrt(dot(span, span))
        direction = scale(div(1.0, x), span)
    rate = None
    points = [_own_point(motion, node, path) for node, path in zip(restraint.nodes, restraint.frames, strict=True)]
    if motion.v is not None:
        here, there = (world.node(node) for node in restraint.nodes)
        speed = minus(_velocity(there, second), _velocity(here, plus(first, span)))
        rate = dot(direction, speed)
    force = scale(_force(motion, load, restraint, x, rate), direction)
    # The reaction on the first body acts at the second frame's point: with an axis fixed in the first body the
    # virtual work of turning it is part of dx.
    load.pull(restraint.nodes[1], cross(points[1], negative(force)), negative(force))
    load.pull(restraint.nodes[0], cross(plus(points[0], span), force), force)


def _own_point(motion: Motion, node: int, path: str) -> Vec:
    """A frame's position from the reference point of the node's own tree."""
    return motion.chain(rooted=True).frame(node, path)[1]


def _velocity(state: BodyState, p: Vec) -> Vec:
    return plus(state.u, cross(state.w, p))
