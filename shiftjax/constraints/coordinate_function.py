"""A user's scalar function of coordinates and time: one row f(q_1, ..., q_n, t) = 0; of Python, or a text of a file.

Its derivatives are taken by forward mode: J from unit tangents, nu from time, and gamma as the second derivative
along the motion, since d^2/ds^2 f(q + s v, t + s) = (J v)_q v + 2 f_qt v + f_tt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shiftjax.algebra import is_zero
from shiftjax.constraints.kind import ANY, ConstraintKind, Rows
from shiftjax.errors import need_function, one_of, refuse_text
from shiftjax.field import Field
from shiftjax.lanes.outside import UserFunction
from shiftjax.plan_elements import MotionView, RowGroup
from shiftjax.record import record

EQUATION = Field(
    "equation",
    "what always holds, of the displacements `q[0]`, `q[1]`, ... of its joints and the time `t`, in rad, m and s "
    "whatever the units of the file",
    "text",
    required=True,
)


@record
class CoordinateFunction:
    """A constraint f(q, t) = 0 between joints of one coordinate each.

    Attributes:
        joints: paths of the joints.
        function: of a list of their coordinates [rad or m] and the time [s]; pure, on scalars, by operators and
            functions of `numpy` or `jax.numpy`.
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
        n = len(group.coordinates)
        point = [*(motion.coordinate(coordinate) for coordinate in group.coordinates), motion.t]

        function = UserFunction(lambda x: constraint.function(x[:n], x[n]), n + 1)
        unit = [[1.0 if i == k else 0.0 for i in range(n + 1)] for k in range(n + 1)]
        partials = [function.slope(point, along) for along in unit]
        J = {motion.speed_index(k): s for k, s in zip(group.coordinates, partials, strict=False) if not is_zero(s)}
        nu = [-partials[n]]
        rows = Rows(phi=[function.value(point)], J=[J], nu=nu, gamma=[0.0], unit=[constraint.unit])
        if motion.v is not None:
            rates = [*(motion.speed(coordinate) for coordinate in group.coordinates), 1.0]
            rows.gamma = [-function.bend(point, rates)]
        return rows


class EquationOfCoordinates(FunctionOfCoordinates):
    """One row from an equation that stands in a model file."""

    doc = "An equation of the displacements `q[0]`, `q[1]`, ... and the time `t` that always holds."
    joints, listed, row_names, words, by_text = ANY, "constraints", ("equation",), (EQUATION,), True
