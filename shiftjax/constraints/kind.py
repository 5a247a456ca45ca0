"""Interface of a kind of constraint, and its rows: Phi(q, t) = 0 with the terms of their derivatives.

nu = -Phi_t with J v = nu, and gamma = -(J v)_q v - 2 Phi_qt v - Phi_tt with J a = gamma (design, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from shiftjax.algebra import Scalar, Vec, dot
from shiftjax.field import Field
from shiftjax.plan_elements import MotionView, PlacedFrame, RowGroup


@dataclass
class Rows:
    """Rows of constraints, in true units.

    phi, nu, gamma: (m,); J: one dict a row, speed index -> entry, structural zeros left out; unit: (m,) "rad" or "m".
    """

    phi: Vec = field(default_factory=list)
    J: list[dict[int, Scalar]] = field(default_factory=list)
    nu: Vec = field(default_factory=list)
    gamma: Vec = field(default_factory=list)
    unit: list[str] = field(default_factory=list)

    def extend(self, other: Rows) -> None:
        """Appends rows."""
        for name in ("phi", "J", "nu", "gamma", "unit"):
            getattr(self, name).extend(getattr(other, name))

    def velocity_residual(self, v: Sequence[Scalar]) -> Vec:
        """J v - nu of every row, true units."""
        return [
            dot(list(entries.values()), [v[k] for k in entries]) - nu
            for entries, nu in zip(self.J, self.nu, strict=True)
        ]


def scales(units: Sequence[str], length: float) -> list[float]:
    """Factors that make rows or speeds dimensionless: 1 for rad, the model's length for m."""
    return [length if unit == "m" else 1.0 for unit in units]


class FrameWrench(NamedTuple):
    """What a unit of a row's multiplier does to the body of a frame; the opposite acts on the body of another one.

    moment: about the frame's origin, and force: both along the axes of that other frame, `relative`.
    """

    frame: PlacedFrame
    relative: PlacedFrame
    moment: Vec
    force: Vec


ANY = -1  # as many joints as are listed


class ConstraintKind:
    """A kind of constraint: declared by class attributes, computed by `rows`.

    Attributes:
        doc: what it does, for tables: the first paragraph of its docstring where it says nothing else.
        joints, frames: how many of each it refers to (keys `joint` or `joints`, `frame` or `frames` in files); joints
            may be `ANY`.
        fields: its numbers. words: its fields that hold words. row_names: what each of its rows constrains.
        time_dependent: whether it is rheonomic, so that it may do work.
        prescribes: whether it prescribes its joint, so that assembly does not move it.
        from_start: name of a number that is the joint's `initial_displacement` where it is left out, "" for none.
        from_starts: whether its numbers have `starts`, one for each of its joints: their `initial_displacement`.
        joint_units: of the displacement of each joint it takes, "rad" or "m"; any where empty.
        linear: whether each row is a sum of coordinates times numbers, and of what depends on time alone.
        by_text: whether one of its words is a text that is made a function of the run (`measures.equations`).
        has_wrenches: whether `wrenches` says how its rows load its frames, so that joints beside it have reactions.
        listed: the list of an assembly that holds it, "constraints" or "drivers"; "" where it comes from elsewhere.
    """

    doc: str = ""
    joints: ClassVar[int] = 0
    frames: ClassVar[int] = 0
    fields: tuple[Field, ...] = ()
    words: tuple[Field, ...] = ()
    row_names: ClassVar[tuple[str, ...]] = ("",)
    time_dependent: ClassVar[bool] = False
    prescribes: ClassVar[bool] = False
    from_start: str = ""
    from_starts: ClassVar[bool] = False
    joint_units: ClassVar[tuple[str, ...]] = ()
    linear: ClassVar[bool] = False
    by_text: ClassVar[bool] = False
    has_wrenches: ClassVar[bool] = False
    listed: ClassVar[str] = "constraints"

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        """The rows at one state; lane code. nu and gamma may be left out where speeds are None."""
        raise NotImplementedError

    def row_units(self, group: RowGroup) -> tuple[str, ...]:
        """Unit of each of its rows, "rad" or "m"."""
        return (group.units[0] if group.units else "m",) * group.rows

    def wrenches(self, group: RowGroup, motion: MotionView) -> list[list[FrameWrench]]:
        """Of each row, what its multiplier does to frames; lane code. Asked for where it `has_wrenches`."""
        raise NotImplementedError

    def residual(self, group: RowGroup, motion: MotionView, rows: Rows) -> Vec:
        """The residual that assembly drives to zero: Phi, unless another one converges from farther; lane code."""
        return rows.phi

    def numbers(self) -> tuple[Field, ...]:
        """All its numeric fields."""
        return self.fields

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        """What its numbers together must not be: words -> whether they are so, () or (B,).

        Of a number by itself, and of a list that must rise, its `Field` says it.

        Args:
            n: numbers and words by field; a number may be a (B,) array.
        """
        return {}
