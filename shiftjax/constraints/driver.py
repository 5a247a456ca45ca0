"""Drivers: a coordinate prescribed as a function of time, one row q_j - f(t) = 0.

Those of files have a law with numbers of the model; those of Python alone are functions of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from shiftjax.algebra import Scalar
from shiftjax.constraints.kind import ConstraintKind, Rows
from shiftjax.lanes.outside import UserFunction
from shiftjax.plan_elements import MotionView, RowGroup
from shiftjax.splines import Derivatives
from shiftjax.time_laws import Law


class TimeFunction(Protocol):
    """A function of time on lane scalars with its two derivatives [rad or m, per second, per second squared]."""

    def position(self, t: Scalar) -> Scalar: ...

    def velocity(self, t: Scalar) -> Scalar: ...

    def acceleration(self, t: Scalar) -> Scalar: ...


class FunctionOfTime:
    """A user's f(t) with the derivatives that forward mode takes of it; it is run once. Equal where the function is."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionOfTime) and other.function == self.function

    def __hash__(self) -> int:
        return hash((FunctionOfTime, self.function))

    @cached_property
    def _traced(self) -> UserFunction:
        return UserFunction(lambda x: self.function(x[0]), 1)

    def position(self, t: Scalar) -> Scalar:
        return self._traced.value([t])

    def velocity(self, t: Scalar) -> Scalar:
        return self._traced.slope([t], [1.0])

    def acceleration(self, t: Scalar) -> Scalar:
        return self._traced.bend([t], [1.0])


class DriverKind(ConstraintKind):
    """One driven coordinate."""

    joints, row_names = 1, ("driven",)
    time_dependent, prescribes, linear, listed = True, True, True, "drivers"

    def motion(self, group: RowGroup, motion: MotionView) -> Derivatives:
        """The coordinate [rad or m] and its derivatives; lane code."""
        raise NotImplementedError

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        (coordinate,), (position, velocity, acceleration) = group.coordinates, self.motion(group, motion)
        return Rows(
            phi=[motion.coordinate(coordinate) - position],
            J=[{motion.speed_index(coordinate): 1.0}],
            nu=[velocity],
            gamma=[acceleration],
            unit=[group.units[0]],
        )


class Driver(DriverKind):
    """A driver by a function of the user's."""

    listed = ""

    def motion(self, group: RowGroup, motion: MotionView) -> Derivatives:
        function: TimeFunction = motion.functions[group.function]
        if isinstance(function, FunctionOfTime):
            return function.position(motion.t), function.velocity(motion.t), function.acceleration(motion.t)
        parts = (function.position, function.velocity, function.acceleration)
        position, velocity, acceleration = (UserFunction(lambda x, f=f: f(x[0]), 1).value([motion.t]) for f in parts)
        return position, velocity, acceleration


class DriverByLaw(DriverKind):
    """A driver by a law with numbers of the model."""

    doc = "The joint's coordinate follows a law in time."

    def __init__(self, law: Law) -> None:
        self.law = law
        self.fields, self.words = law.fields("{x}"), law.words
        self.from_start = "offset" if "offset" in {field.name for field in self.fields} else ""

    def motion(self, group: RowGroup, motion: MotionView) -> Derivatives:
        return self.law.at({**motion.values(group.numbers), **dict(group.words)}, motion.t)

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return self.law.faults(n)
