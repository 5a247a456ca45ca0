"""Drivers of a frame: one coordinate of its origin in the world is prescribed as a function of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.field import Field
from shiftjax.plan_elements import RowGroup
from shiftjax.time_laws import Law

COMPONENT = Field("component", "of the frame's origin in the world", "choice", required=True, choices=("x", "y", "z"))


class FrameDriver(DerivedConstraint):
    """x, y or z of a frame's origin follows a law in time."""

    frames, row_names, time_dependent, listed = 1, ("driven",), True, "drivers"

    def __init__(self, law: Law) -> None:
        self.law, self.fields, self.words = law, law.fields("m"), (COMPONENT, *law.words)

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        n: dict[str, Any] = {**motion.values(group.numbers), **dict(group.words)}
        (frame,) = group.frames
        return [motion.point(frame)["xyz".index(n["component"])] - self.law.at(n, motion.t)[0]]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return self.law.faults(n)
