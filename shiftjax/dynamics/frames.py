"""Motion of a frame of the mechanism as another frame sees it: pose, velocity, Jacobian, bias acceleration. Lane code.

Both are followed from the deepest body that carries them, so that what moves them together enters no number, and no
author of a force or constraint meets the points about which velocities and moments are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiftjax.algebra import Mat, Scalar, Vec, cross, is_zero, matmul, matvec, minus, plus, scale, transpose
from shiftjax.plan_elements import ChainView, NodeState, PlacedFrame

Columns = dict[int, Vec]  # speed -> three entries
Joints = Sequence[tuple[int, int]]


class SeenFrame:
    """A frame seen from another one: along the axes and from the origin of the other, which may move.

    Args:
        chain: of the deepest body that carries both.
        branches: first speed and index of the joints that move the frame alone, and of those that move the other alone.
    """

    def __init__(
        self, chain: ChainView, frame: PlacedFrame, other: PlacedFrame, branches: tuple[Joints, Joints]
    ) -> None:
        self.chain, self.frame, self.other, self.branches = chain, frame, other, branches
        self.R, self.origin = self.chain.frame(frame)
        axes, self.other_origin = self.chain.frame(other)
        self.into_other = transpose(axes)

    @property
    def body(self) -> NodeState:
        return self.chain.node(self.frame.node)

    @property
    def other_body(self) -> NodeState:
        return self.chain.node(self.other.node)

    def pose(self) -> tuple[Mat, Vec]:
        """Rotation matrix and origin [m]."""
        return matmul(self.into_other, self.R), self.point((0.0, 0.0, 0.0))

    def point(self, p: Sequence[Scalar]) -> Vec:
        """Position [m] of a point given in the frame."""
        return matvec(self.into_other, minus(self._place(p), self.other_origin))

    def velocity(self, p: Sequence[Scalar]) -> Vec:
        """Velocity [m/s] of a point fixed in the frame."""
        return matvec(self.into_other, self._velocity(self._place(p)))

    def angular_velocity(self) -> Vec:
        """[rad/s]"""
        return matvec(self.into_other, minus(self.body.w, self.other_body.w))

    def bias(self, p: Sequence[Scalar]) -> Vec:
        """Acceleration [m/s^2] of a point fixed in the frame where all q'' = 0, Coriolis acceleration included."""
        c = self._place(p)
        coriolis = scale(2.0, cross(self.other_body.w, self._velocity(c)))
        carried = minus(_acceleration_at(self.body, c), _acceleration_at(self.other_body, c))
        return matvec(self.into_other, minus(carried, coriolis))

    def angular_bias(self) -> Vec:
        """Angular acceleration [rad/s^2] where all q'' = 0."""
        a, b = self.body, self.other_body
        return matvec(self.into_other, minus(minus(a.alpha, b.alpha), cross(b.w, a.w)))

    def jacobian(self, p: Sequence[Scalar]) -> Columns:
        """Velocity of a point fixed in the frame for a unit of each speed [m/rad or 1]; columns of zeros left out."""
        c = self._place(p)
        return self._columns(lambda screw: screw.linear_at(c))

    def angular_jacobian(self) -> Columns:
        """Angular velocity for a unit of each speed [1 or rad/m]; columns of zeros left out."""
        return self._columns(lambda screw: screw.angular)

    def _place(self, p: Sequence[Scalar]) -> Vec:
        """A point of the frame, from the point of the chain and along the axes of its base."""
        return plus(self.origin, matvec(self.R, p))

    def _velocity(self, c: Vec) -> Vec:
        """Of the frame's point at c, less that of the other body's point there; axes of the base."""
        return minus(_velocity_at(self.body, c), _velocity_at(self.other_body, c))

    def _columns(self, of: Callable[..., Vec]) -> Columns:
        columns: Columns = {}
        for branch, sign in zip(self.branches, (plus, minus), strict=True):
            for first, joint in branch:
                for k, screw in enumerate(self.chain.screws_of(joint)):
                    column = matvec(self.into_other, sign((0.0, 0.0, 0.0), of(screw)))
                    if not all(map(is_zero, column)):
                        columns[first + k] = column
        return columns


def _velocity_at(body: NodeState, c: Vec) -> Vec:
    return plus(body.u, cross(body.w, c))


def _acceleration_at(body: NodeState, c: Vec) -> Vec:
    """Bias acceleration of the body's point at c, from the spatial one (Featherstone, section 2.10)."""
    return plus(plus(body.acc, cross(body.alpha, c)), cross(body.w, _velocity_at(body, c)))
