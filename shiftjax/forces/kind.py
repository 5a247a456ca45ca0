"""What a kind of force declares, and where a plan puts one force of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from shiftjax.algebra import Scalar
from shiftjax.field import Field, Role
from shiftjax.forces.load import Load
from shiftjax.lane import MotionView, Named, PlacedFrame
from shiftjax.record import record


@record
class State:
    """A continuous state of a force's own: an integrator of a controller, a bristle, a tyre's relaxation."""

    name: str
    unit: str
    doc: str

    @property
    def start(self) -> Field:
        """The number that says where it begins."""
        return Field(f"initial_{self.name}", f"start of {self.doc}", "number", Role.STATE, self.unit, 0.0)


@record
class ForceElement:
    """One force of a plan, in ints and names."""

    path: str
    kind: str  # a key of FORCES
    joints: tuple[int, ...]  # on whose motions it acts
    frames: tuple[PlacedFrame, ...]  # between which it acts
    direction: str  # "x", "y" or "z" of the first frame, "" for the line between two frames
    numbers: Named
    states: tuple[int, ...] = ()  # its own, in the vector of all forces' states


class ForceKind:
    """A kind of force: declared by class attributes, computed by `apply`.

    Attributes:
        joints, frames: how many of each a file names for it (keys `joint` or `joints`, `frame` or `frames`).
        fields: its numbers. states: its own states, with one more number each for where they start.
        dissipates: whether its power must be integrated for the balance of energy.
        listed: whether files hold it in `force_modules`; others come from other elements.
        drawing: hint for the viewer: "spring", "damper", "friction" or nothing.
    """

    joints: ClassVar[int] = 0
    frames: ClassVar[int] = 0
    fields: ClassVar[tuple[Field, ...]] = ()
    states: ClassVar[tuple[State, ...]] = ()
    dissipates: ClassVar[bool] = False
    listed: ClassVar[bool] = True
    drawing: ClassVar[str] = ""

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """Adds one force to the load; lane code.

        Args:
            states: the values of its own states.

        Returns:
            the rates of its own states.
        """
        raise NotImplementedError

    def numbers(self) -> tuple[Field, ...]:
        """All its numeric fields: of the force, then the starts of its states."""
        return (*self.fields, *(state.start for state in self.states))
