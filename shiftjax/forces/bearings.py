"""Friction of a bearing, a slide, a sleeve, a ball or a plate, which grows with what its joint bears.

Each kind is a law of friction, dry or of bristles, in a seat, which says what the joint's reaction presses: with N the
sum of the forces on its supports, friction is that of the coefficient times N, at the radius of the supports where the
joint turns. It acts as the reaction is, which it changes: `dynamics.reactions` solves for both together. The supports
are those of Adams' joint friction: one at the joint's frame on the child, or two a `span` apart about it. A pin of a
universal joint, or of three turns about axes, is a bearing: what has no mass between them passes the whole reaction on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from shiftjax.algebra import (
    Scalar,
    Vec,
    cross,
    dot,
    exp,
    is_zero,
    minus,
    norm_squared,
    plus,
    ratio,
    scale,
    select,
    sqrt,
    tanh,
)
from shiftjax.field import Field, Role, number
from shiftjax.forces.kind import ForceKind, Load, Pressed, State
from shiftjax.plan_elements import ForceElement, MotionView

SMALL = 1e-20  # of the slip speed squared: a surface at rest slips in no direction
RADIUS = Field("radius", "of its surface", "number", Role.LENGTH, "m", required=True, above=0.0)
PRELOAD = number("preload", "N", "that presses beside what the joint bears", default=0.0, least=0.0)
SUPPORTS = (
    Field("span", "between two supports, which bear moments across the axis; 0: one, which bears none", "number",
          Role.LENGTH, "m", 0.0, least=0.0),
    PRELOAD,
)  # fmt: skip
TURNING = (
    RADIUS,
    Field("axial_radius", "of the collar that bears along the axis; 0: none", "number", Role.LENGTH, "m", 0.0,
          least=0.0),
    *SUPPORTS,
)  # fmt: skip
SLIDING = (
    *SUPPORTS,
    Field("width", "between two rails, which bear moments about the direction of the slide; 0: one, which bears none",
          "number", Role.LENGTH, "m", 0.0, least=0.0),
)  # fmt: skip
OF_SURFACES = (
    number("friction_coefficient", "1", "of sliding", least=0.0),
    number("slip_speed", "m/s", "of the surface, below which dry friction fades", above=0.0),
    RADIUS,
)
DRY = (
    number("friction_coefficient", "1", "of sliding", least=0.0),
    number("slip_speed", "{x}/s", "below which dry friction fades", above=0.0),
)
BRISTLES = (
    number("static_coefficient", "1", "at which it breaks loose", above=0.0),
    number("kinetic_coefficient", "1", "of sliding", above=0.0),
    number("stribeck_speed", "{x}/s", "at which the coefficient falls", above=0.0),
    number("stiffness", "1/{x}", "of the bristles, for a load of 1", above=0.0),
    number("damping", "s/{x}", "of the bristles, for a load of 1", default=0.0, least=0.0),
)


def _reciprocal(length: Scalar) -> Scalar:
    """1 / length, 0 where the length is 0; lane code."""
    if isinstance(length, float):
        return 1.0 / length if length else 0.0
    there = length > 0.0
    return select(there, ratio(1.0, select(there, length, 1.0)), 0.0)


def _supports(n: Mapping[str, Any], axis: Vec, moment: Vec, force: Vec) -> list[Vec]:
    """The forces on one or two supports: half of that across the axis each, and a couple that bears the moment."""
    across = minus(force, scale(dot(axis, force), axis))
    lever = _reciprocal(n["span"])
    if is_zero(lever):
        return [across]
    half, couple = scale(0.5, across), scale(lever, cross(moment, axis))
    return [plus(half, couple), minus(half, couple)]


class SeatFriction(ForceKind):
    """Friction in a joint that grows with what the joint bears."""

    joints, dissipates, bears, drawing = 1, True, True, "friction"

    def coefficient(
        self, n: Mapping[str, Any], speed: Scalar, states: Sequence[Scalar]
    ) -> tuple[Scalar, Sequence[Scalar]]:
        """Friction against a speed for a load of 1, and the rates of its states; lane code.

        Args:
            n: its numbers.
        """
        raise NotImplementedError

    def resistance(self, element: ForceElement, motion: MotionView, states: Sequence[Scalar]) -> dict[int, Scalar]:
        n, (joint,) = motion.values(element.numbers), element.coordinates
        return {motion.speed_index(joint): -self.coefficient(n, motion.speed(joint), states)[0]}

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        borne, resistance = motion.borne(element), self.resistance(element, motion, states)
        for joint in element.coordinates:
            for index, speed in enumerate(motion.speeds(joint), motion.speed_index(joint)):
                force = borne * resistance[index]
                load.add_generalized(index, force)
                load.supply(force * speed)
        return self.rates(element, motion, states)

    def rates(self, element: ForceElement, motion: MotionView, states: Sequence[Scalar]) -> Sequence[Scalar]:
        """Of its states; lane code."""
        if not states:
            return ()
        n, joint = motion.values(element.numbers), element.coordinates[0]
        return self.coefficient(n, motion.speed(joint), states)[1]


class Dry(SeatFriction):
    """The coefficient times tanh(speed / slip_speed)."""

    def coefficient(
        self, n: Mapping[str, Any], speed: Scalar, states: Sequence[Scalar]
    ) -> tuple[Scalar, Sequence[Scalar]]:
        return n["friction_coefficient"] * tanh(ratio(speed, n["slip_speed"])), ()


class Bristly(SeatFriction):
    """stiffness z + damping z' for a load of 1, z' = q' - |q'| stiffness z / g, as of `lugre_friction`.

    g = kinetic + (static - kinetic) exp(-(q' / stribeck_speed)^2) of the coefficients: they are as stiff as they are
    loaded (Canudas de Wit, Tsiotras, Velenis, Basset, Gissinger, Dynamic friction models for road/tire longitudinal
    interaction, Vehicle System Dynamics 39, 2003, 189). All their power counts as lost, since what they store changes
    with the load.
    """

    states = (State("bend", "{x}", "how far the bristles bend"),)

    def coefficient(
        self, n: Mapping[str, Any], speed: Scalar, states: Sequence[Scalar]
    ) -> tuple[Scalar, Sequence[Scalar]]:
        (z,), part = states, ratio(speed, n["stribeck_speed"])
        excess = n["static_coefficient"] - n["kinetic_coefficient"]
        level = n["kinetic_coefficient"] + excess * exp(-(part * part))
        spring = n["stiffness"] * z
        rate = speed - ratio(abs(speed) * spring, level)
        return spring + n["damping"] * rate, [rate]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        higher = n["kinetic_coefficient"] > n["static_coefficient"]
        return {"a kinetic coefficient above the static one": higher}


class BearingSeat(SeatFriction):
    """A shaft in a bearing: N at its radius, what it bears along the axis at that of its collar."""

    seat: ClassVar[tuple[str, ...]] = ("rad",)

    def pressed(self, n: Mapping[str, Any], axis: Vec, moment: Vec, force: Vec) -> Pressed:
        parts = [(n["radius"], support) for support in _supports(n, axis, moment, force)]
        return Pressed(n["radius"] * n["preload"], [*parts, (n["axial_radius"], [dot(axis, force)])])


class SlideSeat(SeatFriction):
    """A block on a rail, or two."""

    seat: ClassVar[tuple[str, ...]] = ("m",)

    def pressed(self, n: Mapping[str, Any], axis: Vec, moment: Vec, force: Vec) -> Pressed:
        parts = [(1.0, support) for support in _supports(n, axis, moment, force)]
        return Pressed(n["preload"], [*parts, (2.0 * _reciprocal(n["width"]), [dot(axis, moment)])])


class BearingFriction(Dry, BearingSeat):
    """Q = -friction_coefficient tanh(q' / slip_speed) (radius N + axial_radius |F along the axis|), N what presses."""

    fields = (*DRY, *TURNING)


class SlideFriction(Dry, SlideSeat):
    """Q = -friction_coefficient tanh(q' / slip_speed) N, N what presses the slide on its rails."""

    fields = (*DRY, *SLIDING)


class BearingBristles(Bristly, BearingSeat):
    """Bristles between a shaft and its bearing, that stick and slide, at a level by what the bearing bears."""

    fields = (*BRISTLES, *TURNING)


class SlideBristles(Bristly, SlideSeat):
    """Bristles between a slide and its rails, that stick and slide, at a level by what the rails bear."""

    fields = (*BRISTLES, *SLIDING)


class SurfaceFriction(SeatFriction):
    """Dry friction of one surface against the way on which it slips: tanh(s / slip_speed), s how fast it slips."""

    def levers(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        """How fast the surface slips for a unit of the speeds of each of its coordinates; lane code.

        Args:
            n: its numbers.
        """
        raise NotImplementedError

    def resistance(self, element: ForceElement, motion: MotionView, states: Sequence[Scalar]) -> dict[int, Scalar]:
        n = motion.values(element.numbers)
        slips = {
            index: (lever, lever * speed)
            for joint, lever in zip(element.coordinates, self.levers(n), strict=True)
            for index, speed in enumerate(motion.speeds(joint), motion.speed_index(joint))
        }
        square = norm_squared([slip for _, slip in slips.values()])
        size = sqrt(square + SMALL * (n["slip_speed"] * n["slip_speed"]))
        part = ratio(n["friction_coefficient"] * tanh(ratio(size, n["slip_speed"])), size)
        return {index: -(part * lever * slip) for index, (lever, slip) in slips.items()}


class SleeveFriction(SurfaceFriction):
    """Friction of a cylindrical joint, which turns and slides: of size friction_coefficient tanh(s / slip_speed) N
    against the way on which its surface slips, s = sqrt((radius angle')^2 + slide'^2).

    Its joints are the angle and the slide of the joint.
    """

    joints = 2
    seat: ClassVar[tuple[str, ...]] = ("rad", "m")
    fields = (*OF_SURFACES, *SUPPORTS)

    def levers(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        return n["radius"], 1.0

    def pressed(self, n: Mapping[str, Any], axis: Vec, moment: Vec, force: Vec) -> Pressed:
        return Pressed(n["preload"], [(1.0, support) for support in _supports(n, axis, moment, force)])


class PlateFriction(SurfaceFriction):
    """Friction of a planar joint, whose plate slides and turns: of size friction_coefficient tanh(s / slip_speed) N
    against the way on which it slips, s = sqrt((radius angle')^2 + x'^2 + y'^2), N = |F along the normal|.

    Force and torque lie on an ellipsoid, with the speeds as its normal (Howe, Cutkosky, Practical force-motion models
    for sliding manipulation, International Journal of Robotics Research 15, 1996, 557); `radius` is its torque over its
    force, 2/3 of the radius of a disc that bears evenly. A plate between two surfaces or on two edges has a `width`,
    over which it bears moments across the normal, too: 2 |M across| / width of them adds to N. Its joints are the angle
    of the joint, then its x and y.
    """

    joints = 3
    seat: ClassVar[tuple[str, ...]] = ("rad", "m", "m")
    fields = (
        *OF_SURFACES,
        Field("width", "over which it bears moments across the normal; 0: it bears none", "number", Role.LENGTH, "m",
              0.0, least=0.0),
        PRELOAD,
    )  # fmt: skip

    def levers(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        return n["radius"], 1.0, 1.0

    def pressed(self, n: Mapping[str, Any], axis: Vec, moment: Vec, force: Vec) -> Pressed:
        across = cross(axis, moment)
        return Pressed(n["preload"], [(1.0, [dot(axis, force)]), (2.0 * _reciprocal(n["width"]), across)])


class BallFriction(SurfaceFriction):
    """Friction of a ball joint: the torque friction_coefficient tanh(|w| / slip_speed) radius N against the angular
    velocity w of the child on its parent, N = |F| + preload, F what the joint bears.

    As of Adams' spherical joints: the radius is that of the ball where it bears at one place across the axis of w.
    """

    joints = 1
    seat: ClassVar[tuple[str, ...]] = ("rad", "rad", "rad")
    fields = (*DRY, RADIUS, PRELOAD)

    def levers(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        return (1.0,)

    def pressed(self, n: Mapping[str, Any], axis: Vec, moment: Vec, force: Vec) -> Pressed:
        return Pressed(n["radius"] * n["preload"], [(n["radius"], force)])
