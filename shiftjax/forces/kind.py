"""Interface of a kind of force, and the accumulated load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from shiftjax.algebra import Scalar, Vec, cross, matvec, minus, negative, plus, zeros
from shiftjax.field import Field, Role
from shiftjax.plan_elements import ORIGIN, WORLD, ChainView, ForceElement, MotionView, PlacedFrame
from shiftjax.record import record


@record
class State:
    """An internal continuous state of a force: a controller's integrator, a bristle deflection, a tyre's relaxation.

    Attributes:
        unit: in SI; "{x}" is that of the displacement of its joint, as in the units of fields.
    """

    name: str
    unit: str
    doc: str

    @property
    def start(self) -> Field:
        """Its initial value."""
        return Field(f"initial_{self.name}", f"start of {self.doc}", "number", Role.STATE, self.unit, 0.0)


@dataclass
class Load:
    """Sum of forces.

    about: the chain about whose points moments are taken; generalized: speed index -> force or torque [N, N m];
    wrenches: node -> (moment, force); potential [J] of springs; power [W] of non-conservative forces.
    """

    motion: MotionView
    about: ChainView
    generalized: dict[int, Scalar] = field(default_factory=dict)
    wrenches: dict[int, tuple[Vec, Vec]] = field(default_factory=dict)
    potential: Scalar = 0.0
    power: Scalar = 0.0

    def add_generalized(self, speed: int, force: Scalar) -> None:
        """A force or torque along one speed."""
        self.generalized[speed] = self.generalized.get(speed, 0.0) + force

    def add_force_at(
        self,
        frame: PlacedFrame,
        point: Sequence[Scalar],
        force: Vec,
        *,
        axes: PlacedFrame = WORLD,
        reaction: PlacedFrame = WORLD,
    ) -> None:
        """A force [N] on the body of a frame, and its reaction on another.

        Args:
            point: where it acts [m], given in the frame.
            axes: the frame along whose axes the force is given.
            reaction: a frame on whose body the reaction acts, at the same place.
        """
        self.add_wrench_at(frame, point, force, zeros(), axes=axes, reaction=reaction)

    def add_torque(
        self, frame: PlacedFrame, torque: Vec, *, axes: PlacedFrame = WORLD, reaction: PlacedFrame = WORLD
    ) -> None:
        """A torque [N m] on the body of a frame, and its reaction on another; arguments as of `add_force_at`."""
        self.add_wrench_at(frame, ORIGIN, zeros(), torque, axes=axes, reaction=reaction)

    def add_wrench_at(
        self,
        frame: PlacedFrame,
        point: Sequence[Scalar],
        force: Vec,
        torque: Vec,
        *,
        axes: PlacedFrame = WORLD,
        reaction: PlacedFrame = WORLD,
    ) -> None:
        """A force and a torque together; arguments as of `add_force_at`."""
        R, _ = self.motion.pose(axes)
        force, torque = matvec(R, force), matvec(R, torque)
        turned, origin = self.about.frame(frame)
        self._add_wrench(frame.node, plus(torque, cross(plus(origin, matvec(turned, point)), force)), force)
        if reaction.node:
            # each tree that floats has a point of its own: the way from one body to the other is that seen from ground
            ground = self.motion.chain()
            (turned, origin), (_, other) = ground.frame(frame), ground.frame(reaction)
            span = minus(plus(origin, matvec(turned, point)), other)
            place, force = plus(self.about.frame(reaction)[1], span), negative(force)
            self._add_wrench(reaction.node, minus(cross(place, force), torque), force)

    def _add_wrench(self, node: int, moment: Vec, force: Vec) -> None:
        old = self.wrenches.get(node)
        self.wrenches[node] = (moment, force) if old is None else (plus(old[0], moment), plus(old[1], force))

    def add_potential(self, energy: Scalar) -> None:
        """Potential energy [J]."""
        self.potential += energy

    def dissipate(self, power: Scalar) -> None:
        """Power [W] removed from the mechanism."""
        self.power -= power

    def supply(self, power: Scalar) -> None:
        """Power [W] added to the mechanism."""
        self.power += power


class Switch(NamedTuple):
    """Where a force goes from one law to another.

    Attributes:
        beyond: below 0 where the one law holds, from 0 on the other: the argument less a knot, in its unit.
        before, after: the force of the one and of the other law at the knot itself [N or N m]: alike, or a jump.
        slope_before, slope_after: how they change there with the argument [N or N m per its unit]: alike, or a kink.
    """

    beyond: Scalar
    before: Scalar
    after: Scalar
    slope_before: Scalar = 0.0
    slope_after: Scalar = 0.0


class Course(NamedTuple):
    """A force over a displacement, from knot to knot: what a step that goes past several knots does not see.

    Attributes:
        x: the displacement [m or rad]. knots: (n,) where pieces meet, rising, in its unit.
        before, after: (n,) the force against it on the left and on the right of every knot [N or N m].
        work: (n - 1,) of some places from each knot to the next, equally far apart, the last one the next knot: the
            integral of the force up to there [J].
    """

    x: Scalar
    knots: Sequence[Scalar]
    before: Sequence[Scalar]
    after: Sequence[Scalar]
    work: Sequence[Sequence[Scalar]]


class Pressed(NamedTuple):
    """What presses the surfaces of a joint, for a reaction.

    Attributes:
        given: of it, whatever the joint bears. parts: each a weight and a vector that is linear in the reaction, of
            whose lengths with these weights the rest is the sum.
    """

    given: Scalar
    parts: Sequence[tuple[Scalar, Vec]]


class ForceKind:
    """A kind of force: declared by class attributes, computed by `apply`.

    Attributes:
        doc: what it does, for tables: the first paragraph of its docstring where it says nothing else.
        joints, frames: how many of each it refers to (keys `joint` or `joints`, `frame` or `frames` in files).
        fields: its numbers. words: its fields that hold words.
        states: its internal states, each with one more number, the initial value.
        dissipates: whether its power must be integrated for the balance of energy.
        bears: whether it grows with what its joint bears: then `pressed` and `resistance` say how, and `seat` in which
            joints it is.
        seat: the units of the speeds of its joints, of one joint that does nothing else: a turn, a slide, or a turn,
            then the slide along its axis or both slides across it; three turns are a ball. A turn may have others at
            its point. () for any joint.
        listed: whether it is an entry of `force_modules`; others come from other elements.
        order: of frames of which the first cannot be ground, such as "the wheel, then the road"; "" where it can.
        drawing: hint for the viewer: "spring", "damper", "friction" or "".
    """

    doc: ClassVar[str] = ""
    joints: ClassVar[int] = 0
    frames: ClassVar[int] = 0
    fields: tuple[Field, ...] = ()
    words: tuple[Field, ...] = ()
    states: ClassVar[tuple[State, ...]] = ()
    dissipates: ClassVar[bool] = False
    bears: ClassVar[bool] = False
    seat: ClassVar[tuple[str, ...]] = ()
    listed: ClassVar[bool] = True
    order: ClassVar[str] = ""
    drawing: ClassVar[str] = ""

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """Adds one force to the load; lane code.

        Args:
            states: the values of its internal states.

        Returns:
            their rates.
        """
        raise NotImplementedError

    def pressed(self, n: Mapping[str, Any], axis: Vec, moment: Vec, force: Vec) -> Pressed:
        """What of the reaction of its joint presses; lane code.

        Args:
            n: its numbers. axis: about or along which its first coordinate moves. moment, force: (3,) on the child at
                the joint's frame [N m, N], in the axes of `axis`.
        """
        raise NotImplementedError

    def resistance(self, element: ForceElement, motion: MotionView, states: Sequence[Scalar]) -> dict[int, Scalar]:
        """Speed -> its force or torque along it for a unit of what presses, which `motion.borne` tells; lane code."""
        raise NotImplementedError

    def switches(self, element: ForceElement, motion: MotionView) -> Sequence[Switch]:
        """Where it chooses between laws, of any state; lane code. Gradients tell by it whether a run met a jump: a kind
        whose `apply` selects, and whose force is not continuous, says so here and in `switch_units`."""
        return ()

    def constants(self, element: ForceElement) -> tuple[int, ...]:
        """Places in the plan's numbers of parts of the force along the argument of its switches, of which on each side
        one is added as it is: by them gradients follow its jumps, which else are only counted."""
        return ()

    def switch_units(self, element: ForceElement, unit: str) -> tuple[str, ...]:
        """The unit of `beyond` of each of its switches.

        Args:
            unit: of the displacement along which it acts.
        """
        return ()

    def course_knots(self, element: ForceElement) -> int:
        """How many knots its `course` has; 0 where it has none."""
        return 0

    def course(self, element: ForceElement, motion: MotionView) -> Course:
        """What it is over its displacement, at any pose; lane code. Asked for where `course_knots` are two or more: a
        step of fixed size that goes past more than one of them is judged by it."""
        raise NotImplementedError

    def numbers(self) -> tuple[Field, ...]:
        """All its numeric fields: of the force, then the initial values of its states."""
        return (*self.fields, *(state.start for state in self.states))

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        """What its numbers together must not be: words -> whether they are so, () or (B,).

        Of a number by itself, and of a list that must rise, its `Field` says it.

        Args:
            n: numbers and words by field; a number may be a (B,) array.
        """
        return {}
