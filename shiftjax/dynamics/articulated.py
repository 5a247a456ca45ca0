"""Accelerations of a tree without loops by the articulated-body algorithm.

Featherstone, Rigid Body Dynamics Algorithms, section 7.3, speed by speed in one frame for the whole tree. The pivots
are those of L^T D L of the mass matrix in the same order, so that the loss of mass is monitored as in `reduced`. For a
chain of n speeds the operations grow with n, those of the mass matrix and its factors with n^3. Lane code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from shiftjax.algebra import Mat, Scalar, Vec, dot, larger, plus, scale, zeros
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.tree import SpatialInertia, body_inertia


class ArticulatedTree:
    """Whole trees whose speeds are all independent.

    Args:
        joints: of these trees, all of them.

    Attributes:
        worst_pivot: the largest diagonal entry of the mass matrix over its pivot; 1 for a single speed.
    """

    def __init__(self, motion: Motion, joints: Collection[int]) -> None:
        self.plan, self.chain = motion.plan, motion.rooted
        self.joints = sorted(joints)
        self.speeds = [speed for k in self.joints for speed in self.plan.joints[k].speeds]
        self.worst_pivot: Scalar = 1.0
        # speed -> screw, articulated inertia times the screw, inverse of the pivot
        self._factors: dict[int, tuple[Vec, Vec, Scalar]] = {}
        self._factor()

    def _factor(self) -> None:
        articulated: dict[int, Mat] = {}
        composite: dict[int, SpatialInertia] = {}
        reduced: set[int] = set()  # nodes whose articulated inertia is not the composite one
        for index in reversed(self.joints):
            joint = self.plan.joints[index]
            body, node = body_inertia(self.chain, joint.far), joint.far
            if body is not None:
                articulated[node] = _sum(articulated.get(node), _matrix(body))
                composite[node] = composite[node].plus(body) if node in composite else body
            inertia = articulated.get(node, [zeros(6) for _ in range(6)])
            for k, screw in reversed(list(enumerate(self.chain.screws_of(index)))):
                axis = [*screw.angular, *screw.linear]
                momentum = [dot(row, axis) for row in inertia]
                inverse = 1.0 / dot(axis, momentum)
                if node in reduced:
                    angular, linear = composite[node].times(screw.angular, screw.linear)
                    self.worst_pivot = larger(self.worst_pivot, dot(axis, [*angular, *linear]) * inverse)
                inertia = _downdated(inertia, momentum, inverse)
                reduced.add(node)
                self._factors[joint.v + k] = (axis, momentum, inverse)
            if joint.near and node in composite:
                articulated[joint.near] = _sum(articulated.get(joint.near), inertia)
                near = composite.get(joint.near)
                composite[joint.near] = composite[node] if near is None else near.plus(composite[node])
                if node in reduced:
                    reduced.add(joint.near)

    def solve(self, force: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """Accelerations by speed, of generalised forces by speed."""
        bias: dict[int, Vec] = {}
        scaled: dict[int, Scalar] = {}
        for index in reversed(self.joints):
            joint = self.plan.joints[index]
            wrench = bias.get(joint.far, zeros(6))
            for speed in reversed(joint.speeds):
                axis, momentum, inverse = self._factors[speed]
                scaled[speed] = (force[speed] - dot(axis, wrench)) * inverse
                wrench = plus(wrench, scale(scaled[speed], momentum))
            if joint.near:
                bias[joint.near] = plus(bias[joint.near], wrench) if joint.near in bias else wrench
        out: dict[int, Scalar] = {}
        motion: dict[int, Vec] = {0: zeros(6)}
        for index in self.joints:
            joint = self.plan.joints[index]
            total = motion[joint.near]
            for speed in joint.speeds:
                axis, momentum, inverse = self._factors[speed]
                out[speed] = scaled[speed] - dot(momentum, total) * inverse
                total = plus(total, scale(out[speed], axis))
            motion[joint.far] = total
        return out


def _matrix(inertia: SpatialInertia) -> Mat:
    """(6, 6) symmetric, angular part first."""
    (x, y, z), m = inertia.moment, inertia.mass
    skew = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    top = [[*inertia.second[i], *skew[i]] for i in range(3)]
    return top + [[*(skew[j][i] for j in range(3)), *(m if i == j else 0.0 for j in range(3))] for i in range(3)]


def _sum(a: Mat | None, b: Mat) -> Mat:
    return b if a is None else _symmetric(lambda i, j: a[i][j] + b[i][j])


def _downdated(a: Mat, u: Vec, factor: Scalar) -> Mat:
    """a - factor u u^T."""
    scaled = scale(factor, u)
    return _symmetric(lambda i, j: a[i][j] - scaled[i] * u[j])


def _symmetric(entry: Callable[[int, int], Scalar]) -> Mat:
    """(6, 6) from the entries of its upper triangle."""
    out = [zeros(6) for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            out[i][j] = out[j][i] = entry(i, j)
    return out
