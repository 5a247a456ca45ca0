"""Accelerations of a tree without loops in one pass up and one down (articulated-body algorithm).

Featherstone, Rigid Body Dynamics Algorithms, section 7.3, speed by speed in one frame for the whole tree. The pivots
are those of L^T D L of the mass matrix in the same order, so that the loss of mass is watched as in `reduced`. For n
speeds in a row the operations grow with n, those of the mass matrix and its factors with n^3. Lane code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from shiftjax.algebra import Mat, Scalar, Vec, add, div, dot, larger, mul, plus, scale, sub, zeros
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.tree import Inertia, body_inertia


class ArticulatedTree:
    """Whole trees whose speeds are all independent.

    Args:
        joints: of these trees, all of them.

    Attributes:
        worst_pivot: the largest diagonal entry of the mass matrix over its pivot; 1 for a single speed.
    """

    def __init__(self, motion: Motion, joints: Collection[int]) -> None:
        self.plan, self.chain = motion.plan, motion.chain(rooted=True)
        self.joints = sorted(joints)
        self.speeds = [speed for k in self.joints for speed in self._speeds_of(k)]
        self.worst_pivot: Scalar = 1.0
        # speed -> screw, articulated inertia times the screw, inverse of the pivot
        self._factors: dict[int, tuple[Vec, Vec, Scalar]] = {}
        self._factor()

    def _speeds_of(self, joint: int) -> range:
        first = self.plan.joints[joint].v
        return range(first, first + self.plan.joints[joint].nv)

    def _factor(self) -> None:
        articulated: dict[int, Mat] = {}
        composite: dict[int, Inertia] = {}
        bent: set[int] = set()  # nodes whose articulated inertia is not the composite one
        for index in reversed(self.joints):
            joint = self.plan.joints[index]
            own, node = body_inertia(self.chain, joint.far), joint.far
            if own is not None:
                articulated[node] = _sum(articulated.get(node), _matrix(own))
                composite[node] = composite[node].plus(own) if node in composite else own
            inertia = articulated.get(node, [zeros(6) for _ in range(6)])
            for k, screw in reversed(list(enumerate(self.chain.screws_of(index)))):
                axis = [*screw.angular, *screw.linear]
                momentum = [dot(row, axis) for row in inertia]
                inverse = div(1.0, dot(axis, momentum))
                if node in bent:
                    angular, linear = composite[node].times(screw.angular, screw.linear)
                    self.worst_pivot = larger(self.worst_pivot, mul(dot(axis, [*angular, *linear]), inverse))
                inertia = _less(inertia, momentum, inverse)
                bent.add(node)
                self._factors[joint.v + k] = (axis, momentum, inverse)
            if joint.near and node in composite:
                articulated[joint.near] = _sum(articulated.get(joint.near), inertia)
                above = composite.get(joint.near)
                composite[joint.near] = composite[node] if above is None else above.plus(composite[node])
                bent |= {joint.near} if node in bent else set()

    def solve(self, force: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """Accelerations by speed of forces by speed."""
        pull: dict[int, Vec] = {}
        left: dict[int, Scalar] = {}
        for index in reversed(self.joints):
            joint = self.plan.joints[index]
            wrench = pull.get(joint.far, zeros(6))
            for speed in reversed(self._speeds_of(index)):
                axis, momentum, inverse = self._factors[speed]
                left[speed] = mul(sub(force[speed], dot(axis, wrench)), inverse)
                wrench = plus(wrench, scale(left[speed], momentum))
            if joint.near:
                pull[joint.near] = plus(pull[joint.near], wrench) if joint.near in pull else wrench
        out: dict[int, Scalar] = {}
        motion: dict[int, Vec] = {0: zeros(6)}
        for index in self.joints:
            joint = self.plan.joints[index]
            total = motion[joint.near]
            for speed in self._speeds_of(index):
                axis, momentum, inverse = self._factors[speed]
                out[speed] = sub(left[speed], mul(dot(momentum, total), inverse))
                total = plus(total, scale(out[speed], axis))
            motion[joint.far] = total
        return out


def _matrix(inertia: Inertia) -> Mat:
    """(6, 6) symmetric, angular part first."""
    (x, y, z), m = inertia.moment, inertia.mass
    across = [[0.0, sub(0.0, z), y], [z, 0.0, sub(0.0, x)], [sub(0.0, y), x, 0.0]]
    top = [[*inertia.second[i], *across[i]] for i in range(3)]
    return top + [[*(across[j][i] for j in range(3)), *(m if i == j else 0.0 for j in range(3))] for i in range(3)]


def _sum(a: Mat | None, b: Mat) -> Mat:
    return b if a is None else _symmetric(lambda i, j: add(a[i][j], b[i][j]))


def _less(a: Mat, u: Vec, factor: Scalar) -> Mat:
    """a - factor u u^T."""
    scaled = scale(factor, u)
    return _symmetric(lambda i, j: sub(a[i][j], mul(scaled[i], u[j])))


def _symmetric(entry: Callable[[int, int], Scalar]) -> Mat:
    """(6, 6) of the entries of its upper triangle."""
    out = [zeros(6) for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            out[i][j] = out[j][i] = entry(i, j)
    return out
