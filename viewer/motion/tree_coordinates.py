"""Coordinates of the spanning tree from poses of bodies, and back: the kinematics of the core on NumPy values. No JAX.

An array in place of a scalar has one entry a pose, of one member at several times or of several members.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.algebra import Mat, Scalar, Vec, dot, floor, identity, is_zero, matmul, matvec, minus, transpose, zeros
from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import Parameters, ground_point
from shiftjax.dynamics.lane import Lane
from shiftjax.plan_elements import PlacedFrame
from shiftjax.rotations import quaternion_of_rotation, rotation_of_quaternion
from shiftjax.run.closing.host_functions import evaluate
from shiftjax.topology.plan import Plan, TreeCoordinate, TreeJoint

POSE = 7  # numbers of a pose


def bodies_of(plan: Plan) -> list[str]:
    """Paths of the bodies whose poses the coordinates follow from, in the order of the plan."""
    return [node.path for node in plan.nodes[1:] if not node.virtual]


def is_angle(coordinate: TreeCoordinate) -> bool:
    """Whether a coordinate is an angle, the same after a turn."""
    return coordinate.plain and coordinate.unit == "rad"


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

    def function(traced: Lane, at: Vec) -> Vec:
        motion = traced.motion(at, None)
        rows = traced.rows(motion, index)
        errors = zip(traced.residuals(motion, index, rows), scales(rows.unit, traced.length), strict=True)
        return [value / size for value, size in errors]

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

    def of_values(scalars: Vec) -> dict[Any, Scalar]:
        traced = dataclasses.replace(lane, params=Parameters(scalars[count:], constant))
        return dict(enumerate(function(traced, scalars[:count])))

    evaluate([*values, *lane.params.numbers], what, (lane.plan, constant), of_values, out)


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
    return matmul(R, F_R), [a + b for a, b in zip(p, matvec(R, F_p), strict=True)]


def _measured(joint: TreeJoint, parent: tuple[Mat, Vec], child: tuple[Mat, Vec], n: Mapping[str, Any]) -> Vec:
    """(nq,) of one joint from its frames in the world. A screw's whole turns follow from how far it has come."""
    back = transpose(parent[0])
    R, p = matmul(back, child[0]), matvec(back, minus(child[1], parent[1]))
    q = joint.kind.measured(R, p, n)
    if joint.kind.sole and joint.kind.units == ("rad",):
        motion = joint.kind.primitives[0].motion
        whole = minus(motion([2 * math.pi], n)[1], motion([0.0], n)[1])
        if not all(is_zero(x) for x in whole):
            over = dot(minus(p, motion(q, n)[1]), whole)
            turns = floor(over / dot(whole, whole) + 0.5)
            q = [q[0] + 2 * math.pi * turns]
    return q


def _placed(lane: Lane, q: Vec) -> Vec:
    """Poses of all bodies, one after the other; lane code."""
    plan, chain = lane.plan, lane.motion(q, None).chain()
    point = ground_point(plan, lane.params)
    out: Vec = []
    for k, node in enumerate(plan.nodes):
        if k and not node.virtual:
            state = chain.node(k)
            out += [a + b for a, b in zip(state.p, point, strict=True)]
            out += quaternion_of_rotation(state.R)
    return out
