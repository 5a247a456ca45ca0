"""What a kind of force declares, and the load to which it adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from shiftjax.algebra import Scalar, Vec, add, cross, negative, plus, sub
from shiftjax.field import Field, Role
from shiftjax.plan_elements import ForceElement, MotionView, PlacedFrame
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


@dataclass
class Load:
    """Sum of forces.

    generalized: speed index -> force or torque [N, N m]; wrenches: node -> (moment about the reference point of the
    node's dynamic chain, force); potential [J] of springs; power [W] of what is not conservative.
    """

    generalized: dict[int, Scalar] = field(default_factory=dict)
    wrenches: dict[int, tuple[Vec, Vec]] = field(default_factory=dict)
    potential: Scalar = 0.0
    power: Scalar = 0.0

    def push(self, speed: int, force: Scalar) -> None:
        """A force or torque along one speed."""
        self.generalized[speed] = add(self.generalized.get(speed, 0.0), force)

    def pull(self, node: int, moment: Vec, force: Vec) -> None:
        """A wrench on one node, its moment about the reference point of the node's dynamic chain."""
        old = self.wrenches.get(node)
        self.wrenches[node] = (moment, force) if old is None else (plus(old[0], moment), plus(old[1], force))

    def pull_apart(self, motion: MotionView, frames: tuple[PlacedFrame, ...], span: Vec, force: Vec) -> None:
        """A force on the second of two frames' bodies, and its reaction on the first, `span` from first to second.

        The reaction acts at the second frame's point: with an axis fixed in the first body the virtual work of turning
        it is part of the displacement's.
        """
        first, second = (motion.chain(rooted=True).frame(placed)[1] for placed in frames)
        self.pull(frames[1].node, cross(second, force), force)
        back = negative(force)
        self.pull(frames[0].node, cross(plus(first, span), back), back)

    def store(self, energy: Scalar) -> None:
        """Potential energy [J]."""
        self.potential = add(self.potential, energy)

    def dissipate(self, power: Scalar) -> None:
        """Power [W] taken out of the mechanism."""
        self.power = sub(self.power, power)

    def supply(self, power: Scalar) -> None:
        """Power [W] brought into the mechanism."""
        self.power = add(self.power, power)


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
