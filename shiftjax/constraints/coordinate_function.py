"""A user's scalar function of coordinates and time: one row f(q_1, ..., q_n, t) = 0.

Its derivatives are taken by forward mode (jvp): J from unit tangents, nu from time, and gamma as the second derivative
along the motion, since d^2/ds^2 f(q + s v, t + s) = (J v)_q v + 2 f_qt v + f_tt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shiftjax.algebra import Scalar, derivative, is_zero, neg
from shiftjax.constraints.kind import ConstraintKind, Rows
from shiftjax.errors import need_function, one_of, refuse_text
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

    def __post_init__(self) -> None:
        refuse_text("CoordinateFunction: joints", self.joints)
        need_function("CoordinateFunction: function", self.function, "a function of coordinates and time")
        one_of("CoordinateFunction: unit", self.unit, ("rad", "m"))


class FunctionOfCoordinates(ConstraintKind):
    """One row from a user's function."""

    time_dependent, listed, row_names = True, "", ("function",)

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        constraint: CoordinateFunction = motion.functions[group.function]
        n = len(group.joints)
        point = [*(motion.coordinate(joint) for joint in group.joints), motion.t]

        def value(x: Sequence[Scalar]) -> Scalar:
            return constraint.function(x[:n], x[n])

        def jvp(tangent: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
            return derivative(value, point, tangent)

        unit = [[1.0 if i == k else 0.0 for i in range(n + 1)] for k in range(n + 1)]
        phi, _ = jvp(unit[n])
        partials = [jvp(tangent)[1] for tangent in unit]
        J = {motion.first_speed(j): s for j, s in zip(group.joints, partials, strict=False) if not is_zero(s)}
        rows = Rows(phi=[phi], J=[J], nu=[neg(partials[n])], gamma=[0.0], unit=[constraint.unit])
        if motion.v is not None:
            rates = [*(motion.speed(joint) for joint in group.joints), 1.0]
            rows.gamma = [neg(derivative(lambda x: derivative(value, x, rates)[1], point, rates)[1])]
        return rows
