"""A scalar function of coordinates and time that the user wrote: one row f(q_1, ..., q_n, t) = 0.

Without formulas its derivatives come by forward mode (jvp): J from unit tangents, nu from time, and gamma as the second
derivative along the motion, since d^2/ds^2 f(q + s v, t + s) = (J v)_q v + 2 f_qt v + f_tt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shiftjax.algebra import Scalar, derivative, is_zero, neg
from shiftjax.constraints.kind import ConstraintKind, Rows
from shiftjax.plan_elements import MotionView, RowGroup
from shiftjax.record import record


@record
class CoordinateFunction:
    """A constraint f(q, t) = 0 between joints of one coordinate each.

    Attributes:
        joints: paths of the joints.
        function: of a list of their coordinates [rad or m] and the time [s]; pure, on scalars, by operators and
            `jax.numpy`, so that JAX can differentiate it.
        unit: of its value, "rad" or "m".
    """

    joints: tuple[str, ...]
    function: Callable[[Sequence[Any], Any], Any]
    unit: str = "rad"


class FunctionOfCoordinates(ConstraintKind):
    """One row from a user's function."""

    moves, listed, row_names = True, False, ("function",)

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        given: CoordinateFunction = motion.functions[group.function]
        n = len(group.joints)
        point = [*(motion.coordinate(joint) for joint in group.joints), motion.t]

        def value(x: Sequence[Scalar]) -> Scalar:
            return given.function(x[:n], x[n])

        def along(direction: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
            return derivative(value, point, direction)

        unit = [[1.0 if i == k else 0.0 for i in range(n + 1)] for k in range(n + 1)]
        phi, _ = along(unit[n])
        slopes = [along(direction)[1] for direction in unit]
        J = {motion.first_speed(j): s for j, s in zip(group.joints, slopes, strict=False) if not is_zero(s)}
        rows = Rows(phi=[phi], J=[J], nu=[neg(slopes[n])], gamma=[0.0], unit=[given.unit])
        if motion.v is not None:
            way = [*(motion.speed(joint) for joint in group.joints), 1.0]
            rows.gamma = [neg(derivative(lambda x: derivative(value, x, way)[1], point, way)[1])]
        return rows
