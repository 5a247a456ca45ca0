"""The reduced equations of motion on the loops' null space, Z^T H Z, part by part.

H is singular over the speeds of the cut tree (virtual and massless bodies), so only Z^T H Z is ever solved with. Trees
that no loop connects are separate parts, so that many small mechanisms cost no more than each alone; a large tree
without loops needs no matrix. Lane code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

from shiftjax.algebra import Scalar, Vec, is_zero, known, larger
from shiftjax.dynamics.articulated import ArticulatedTree
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.reduction import Column, ldl_solve
from shiftjax.dynamics.tree import composite_mass_matrix
from shiftjax.numerics.connected import connected
from shiftjax.topology.plan import Plan

# Speeds from which a tree without loops is solved without its mass matrix. Operations of an acceleration with and
# without it, chains of revolute joints: 12: 4 757, 5 020; 14: 6 144, 6 056; 25: 17 248, 11 583; 50: 76 854, 24 164.
ARTICULATED = 14


def sparse_product(H: Sequence[Column], x: Column) -> Column:
    """H x for a sparse x."""
    out: Column = {}
    for speed, value in x.items():
        if is_zero(value):
            continue
        for other, entry in H[speed].items():
            out[other] = out.get(other, 0.0) + entry * value
    return out


def sparse_dot(x: Column, y: Column) -> Scalar:
    out: Scalar = 0.0
    for speed in sorted(x.keys() & y.keys()):
        out += x[speed] * y[speed]
    return out


class DensePart:
    """Z^T H Z of some trees, as a dense matrix.

    Args:
        Z: columns in the order of elimination (deepest speed first, so that a tree has no fill-in).
    """

    def __init__(self, H: Sequence[Column], Z: Sequence[Column]) -> None:
        self.Z = Z
        self.HZ = [sparse_product(H, column) for column in Z]
        n = len(Z)
        self.mass = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                self.mass[i][j] = self.mass[j][i] = sparse_dot(self.Z[i], self.HZ[j])
        self.worst_pivot: Scalar = 1.0

    def solve(self, right: Vec) -> Vec:
        (x,), self.worst_pivot = ldl_solve(self.mass, [right])
        return x

    def along(self, x: Vec) -> Column:
        """Z x."""
        out: Column = {}
        for column, value in zip(self.Z, x, strict=True):
            for speed, entry in column.items():
                out[speed] = out.get(speed, 0.0) + entry * value
        return out


def roots_of(plan: Plan) -> list[int]:
    """For every joint the first joint of its tree."""
    out: list[int] = []
    for joint in plan.joints:
        out.append(out[plan.nodes[joint.near].joint] if joint.near else len(out))
    return out


def independent_parts(plan: Plan, Z: Sequence[Column]) -> list[list[int]]:
    """Indices of the columns of each connected part: columns that move a common tree are connected."""
    roots = roots_of(plan)
    tree = {speed: roots[index] for index, joint in enumerate(plan.joints) for speed in joint.speeds}
    return connected([[tree[speed] for speed in column] for column in Z])


class Reduced:
    """Z^T H Z of one pose, made when it is first asked for.

    Args:
        Z: columns in the order of elimination.
        large: speeds from which a tree without loops is solved without its mass matrix.
    """

    def __init__(self, motion: Motion, Z: Sequence[Column], large: int = ARTICULATED) -> None:
        self.motion, self.Z, self.large = motion, Z, large

    @cached_property
    def _split(self) -> tuple[list[list[int]], list[list[int]]]:
        """Columns of each dense part, joints of each articulated tree."""
        plan, dense, trees = self.motion.plan, [], []
        joints: dict[int, list[int]] = {}
        for index, root in enumerate(roots_of(plan)):
            joints.setdefault(root, []).append(index)
        owner = {speed: tree for tree in joints.values() for k in tree for speed in plan.joints[k].speeds}
        for part in independent_parts(plan, self.Z):
            tree = owner[next(iter(self.Z[part[0]]))]
            free = all(len(self.Z[k]) == 1 for k in part) and len(part) == sum(plan.joints[k].nv for k in tree)
            if free and len(part) >= self.large:
                trees.append(tree)
            else:
                dense.append(part)
        return dense, trees

    @cached_property
    def H(self) -> list[Column]:
        """The mass matrix of the cut tree, without the speeds of `trees`."""
        excluded = {index for tree in self._split[1] for index in tree}
        joints = [index for index in range(len(self.motion.plan.joints)) if index not in excluded]
        return composite_mass_matrix(self.motion, joints)

    @cached_property
    def parts(self) -> list[DensePart]:
        return [DensePart(self.H, [self.Z[k] for k in part]) for part in self._split[0]]

    @cached_property
    def trees(self) -> list[ArticulatedTree]:
        return [ArticulatedTree(self.motion, joints) for joints in self._split[1]]

    @property
    def worst_pivot(self) -> Scalar:
        """The loss of mass: the largest diagonal entry over its pivot; of the last solution."""
        pivots = [part.worst_pivot for part in (*self.parts, *self.trees)]
        lossy = [worst for worst in pivots if not (known(worst) and worst == 1.0)]
        return reduce(larger, lossy) if lossy else 1.0

    def acceleration(self, force: Vec, particular: Column) -> Vec:
        """a = Z a_i + a0 with Z^T H Z a_i = Z^T (force - H a0); force = tau - h."""
        parts = self.parts  # before all else: in this order the compiled code has the fewest instructions
        inertial = sparse_product(self.H, particular)
        net = {speed: f - inertial.get(speed, 0.0) for speed, f in enumerate(force)}
        a: Column = {}
        for part in parts:
            a |= part.along(part.solve([sparse_dot(column, net) for column in part.Z]))
        for tree in self.trees:
            a |= tree.solve(net)
        return [a.get(speed, 0.0) + particular.get(speed, 0.0) for speed in range(len(force))]

    def minimum_norm(self, correction: Column) -> Column:
        """correction - Z (Z^T H Z)^-1 (H Z)^T correction: minimal in the mass metric."""
        if not any(not is_zero(value) for value in correction.values()):
            return {}
        out = dict(correction)
        for part in self.parts:
            x = part.solve([sparse_dot(column, correction) for column in part.HZ])
            for speed, value in part.along(x).items():
                out[speed] = out.get(speed, 0.0) - value
        return out
