"""What a kind of constraint declares, and the rows that it gives: Phi(q, t) = 0 and what their derivatives need.

nu = -Phi_t with J v = nu, and gamma = -(J v)_q v - 2 Phi_qt v - Phi_tt with J a = gamma (design, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from shiftjax.algebra import Scalar, Vec, dot, sub
from shiftjax.field import Field
from shiftjax.plan_elements import MotionView, RowGroup


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
        """More rows below these."""
        for name in ("phi", "J", "nu", "gamma", "unit"):
            getattr(self, name).extend(getattr(other, name))

    def velocity_residual(self, v: Sequence[Scalar]) -> Vec:
        """J v - nu of every row, true units."""
        return [
            sub(dot(list(entries.values()), [v[k] for k in entries]), nu)
            for entries, nu in zip(self.J, self.nu, strict=True)
        ]


def scales(units: Sequence[str], length: float) -> list[float]:
    """What makes rows or speeds dimensionless: 1 for rad, the model's length for m."""
    return [length if unit == "m" else 1.0 for unit in units]


class ConstraintKind:
    """A kind of constraint: declared by class attributes, computed by `rows`.

    Attributes:
        joints, frames: how many of each a file names for it (keys `joint` or `joints`, `frame` or `frames`).
        fields: its numbers. row_names: what each of its rows says.
        moves: whether its rows depend on time, so that they may do work.
        holds: whether it prescribes its joint, so that assembly does not move it.
        listed: whether files hold it in `constraints`; others come from elsewhere.
    """

    joints: ClassVar[int] = 0
    frames: ClassVar[int] = 0
    fields: ClassVar[tuple[Field, ...]] = ()
    row_names: ClassVar[tuple[str, ...]] = ("",)
    moves: ClassVar[bool] = False
    holds: ClassVar[bool] = False
    listed: ClassVar[bool] = True

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        """The rows at one state; lane code. nu and gamma may be left out where speeds are None."""
        raise NotImplementedError

    def residual(self, group: RowGroup, motion: MotionView, rows: Rows) -> Vec:
        """What assembly, which may begin far away, brings to zero: Phi, unless something is better; lane code."""
        return rows.phi

    def numbers(self) -> tuple[Field, ...]:
        """All its numeric fields."""
        return self.fields
