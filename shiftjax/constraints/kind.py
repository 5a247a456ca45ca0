"""What a kind of constraint declares, and where a plan puts one group of its rows."""

from __future__ import annotations

from typing import ClassVar

from shiftjax.algebra import Vec
from shiftjax.constraints.rows import Rows
from shiftjax.field import Field
from shiftjax.lane import MotionView, Named, PlacedFrame
from shiftjax.record import record


@record
class Loop:
    """A closed loop: the virtual end of a chord must coincide with the real body."""

    virtual: int  # node
    real: int  # node
    base: int  # deepest common node of both branches
    virtual_branch: tuple[int, ...]  # joints from base to the virtual node
    real_branch: tuple[int, ...]

    @property
    def joints(self) -> tuple[int, ...]:
        return tuple(sorted((*self.virtual_branch, *self.real_branch)))


@record
class RowGroup:
    """The rows of one constraint, in ints and names."""

    name: str  # path of the chord joint, of the driven joint, or of the constraint
    kind: str  # a key of CONSTRAINTS
    joints: tuple[int, ...]  # that it names
    frames: tuple[PlacedFrame, ...]  # that it names
    coupled: tuple[int, ...]  # all joints whose motion enters its rows, rising
    units: tuple[str, ...]  # of the displacements of the first speeds of `joints`
    rows: int
    numbers: Named = ()
    function: int = -1  # in the list of functions of the run
    loop: Loop | None = None


class ConstraintKind:
    """A kind of constraint: declared by class attributes, computed by `rows`.

    Attributes:
        joints, frames: how many of each a file names for it (keys `joint` or `joints`, `frame` or `frames`).
        fields: its numbers.
        moves: whether its rows depend on time, so that they may do work.
        holds: whether it prescribes its joint, so that assembly does not move it.
        listed: whether files hold it in `constraints`; others come from elsewhere.
    """

    joints: ClassVar[int] = 0
    frames: ClassVar[int] = 0
    fields: ClassVar[tuple[Field, ...]] = ()
    moves: ClassVar[bool] = False
    holds: ClassVar[bool] = False
    listed: ClassVar[bool] = True

    def row_names(self, group: RowGroup) -> tuple[str, ...]:
        """What each row says; their number is that of the group's rows."""
        return ("",)

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        """The rows at one state; lane code. nu and gamma may be left out where speeds are None."""
        raise NotImplementedError

    def residual(self, group: RowGroup, motion: MotionView, rows: Rows) -> Vec:
        """What assembly, which may begin far away, brings to zero: Phi, unless something is better; lane code."""
        return rows.phi

    def numbers(self) -> tuple[Field, ...]:
        """All its numeric fields."""
        return self.fields
