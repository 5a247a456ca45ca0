"""Rigid motion of one frame in another one, with velocity and acceleration: composition and inverse. Lane code.

The motion of A in B is what an observer fixed to B sees, along the axes of B; all of it follows from differentiating
the pose (R, p) once and twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from shiftjax.algebra import Mat, Vec, cross, identity, matmul, matvec, minus, negative, plus, scale, transpose, zeros


@dataclass
class RigidMotion:
    """Pose of A in B, and its rates as B sees them, along the axes of B."""

    R: Mat
    p: Vec  # [m]
    w: Vec  # angular velocity [rad/s]
    u: Vec  # velocity of the origin of A [m/s]
    alpha: Vec  # angular acceleration [rad/s^2]
    acc: Vec  # acceleration of the origin of A [m/s^2]

    def then(self, inner: RigidMotion) -> RigidMotion:
        """The motion in B of C, whose motion in A is `inner`."""
        w, u, alpha, acc = (matvec(self.R, x) for x in (inner.w, inner.u, inner.alpha, inner.acc))
        arm = matvec(self.R, inner.p)
        coriolis = scale(2.0, cross(self.w, u))
        carried = plus(cross(self.alpha, arm), cross(self.w, cross(self.w, arm)))
        return RigidMotion(
            R=matmul(self.R, inner.R),
            p=plus(self.p, arm),
            w=plus(self.w, w),
            u=plus(plus(self.u, u), cross(self.w, arm)),
            alpha=plus(plus(self.alpha, alpha), cross(self.w, w)),
            acc=plus(plus(self.acc, acc), plus(carried, coriolis)),
        )

    def inverse(self) -> RigidMotion:
        """The motion of B in A."""
        back = transpose(self.R)
        w, alpha = negative(matvec(back, self.w)), negative(matvec(back, self.alpha))
        p, u = negative(matvec(back, self.p)), negative(matvec(back, self.u))
        turned = plus(cross(w, p), u)
        acc = plus(cross(alpha, p), plus(cross(w, turned), cross(w, u)))
        return RigidMotion(back, p, w, turned, alpha, minus(acc, matvec(back, self.acc)))

    def of_point(self, c: Vec) -> RigidMotion:
        """The same of a point that is fixed in A."""
        return self.then(still(identity(), c))


def still(R: Mat, p: Vec) -> RigidMotion:
    """A frame that does not move."""
    return RigidMotion(R, p, zeros(), zeros(), zeros(), zeros())
