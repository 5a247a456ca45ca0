"""A wheel on a road, flat or of heights: where it touches, how it slips, and what its tyre's model makes of that.

Signs are those of ISO 8855: n is the road's normal towards the wheel, x where the wheel's plane heads on the road, and
y = n x x across it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from shiftjax.algebra import Scalar, Vec, cross, dot, larger, matvec, minus, plus, ratio, scale, sqrt, transpose
from shiftjax.field import Field, Role, number
from shiftjax.forces.kind import ForceKind, Load, State
from shiftjax.height_fields import SURFACE, faults, is_flat, nearest
from shiftjax.plan_elements import ForceElement, MotionView, PlacedFrame

UP = Field("up", "which way from the road's x-y plane the wheel is", "choice", default="+z", choices=("+z", "-z"))
SIZES = (
    Field("radius", "of the wheel without load", "number", Role.LENGTH, "m", required=True, above=0.0),
    Field("vertical_stiffness", "of the tyre", "number", Role.NUMBER, "N/m", required=True, above=0.0),
    number("vertical_damping", "N s/m", "of the tyre", default=0.0, least=0.0),
    Field("low_speed", "below which slips fade, at a stand", "number", Role.NUMBER, "m/s", 0.1, above=0.0),
)
RELAXATION = (
    Field("relaxation_x", "way in which a slip along builds up", "number", Role.LENGTH, "m", required=True, above=0.0),
    Field("relaxation_y", "way in which a slip across builds up", "number", Role.LENGTH, "m", required=True, above=0.0),
)
TINY = 1e-12  # m^2/s^2, or of a squared cosine: keeps quotients finite at a stand, and of a wheel that lies on its side
NEAR = 1.5  # radii from a road within which its nearest point is sought
BLEND = 1e-3  # m of depth over which the damping sets in, so that no force jumps


class Contact(NamedTuple):
    """The patch of a wheel, in axes of the road's frame.

    Attributes:
        normal: of the road. along, across: unit vectors of the wheel's heading, and to its left.
        place: of the patch from the wheel's middle [m]. load: Fz [N], 0 in the air.
        forward: speed of the wheel's middle along its heading [m/s]. velocity: of the patch's material [m/s].
        turning: angular velocity of the wheel [rad/s].
        camber: sine of the angle between the wheel's plane and the normal.
    """

    normal: Vec
    along: Vec
    across: Vec
    place: Vec
    load: Scalar
    forward: Scalar
    velocity: Vec
    turning: Vec
    camber: Scalar

    @property
    def slip(self) -> tuple[Scalar, Scalar]:
        """Speeds of the patch's material along and across [m/s]."""
        return dot(self.velocity, self.along), dot(self.velocity, self.across)


class TyreLoad(NamedTuple):
    """What a tyre's model gives: forces along and across [N]; torques about the normal, against rolling, and about the
    heading [N m]."""

    along: Scalar
    across: Scalar
    aligning: Scalar = 0.0
    rolling: Scalar = 0.0
    overturning: Scalar = 0.0


class Tyre(ForceKind):
    """A tyre of the first frame's body, whose y axis is the axle, on the x-y plane of the second frame, or on heights
    over it: then on the plane that touches them at the point next to the wheel's middle."""

    frames, dissipates, words, order = 2, True, (UP,), "the wheel, then the road"
    transient: ClassVar[bool] = False

    def tyre_load(self, n: Mapping[str, Any], contact: Contact, kappa: Scalar, tangent: Scalar) -> TyreLoad:
        """Forces of a slip along, kappa, and across, the tangent of the slip angle, both against the slip; lane code.

        Args:
            n: its numbers.
        """
        raise NotImplementedError

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (wheel, road) = motion.values(element.numbers), element.frames
        contact = self.contact(n, dict(element.words)["up"], motion, wheel, road)
        pace = sqrt(contact.forward * contact.forward + n["low_speed"] * n["low_speed"])
        if self.transient:
            kappa, tangent = ratio(states[0], n["relaxation_x"]), ratio(states[1], n["relaxation_y"])
        else:
            kappa, tangent = (-ratio(speed, pace) for speed in contact.slip)
        given = self.tyre_load(n, contact, kappa, tangent)
        flat = plus(scale(given.along, contact.along), scale(given.across, contact.across))
        force = plus(scale(contact.load, contact.normal), flat)
        torque = minus(scale(given.aligning, contact.normal), scale(given.rolling, contact.across))
        torque = plus(torque, scale(given.overturning, contact.along))
        R, _ = motion.pose(wheel, relative=road)
        place = matvec(transpose(R), contact.place)
        load.add_wrench_at(wheel, place, force, torque, axes=road, reaction=road)
        load.supply(dot(force, contact.velocity) + dot(torque, contact.turning))
        if not self.transient:
            return ()
        forward = sqrt(contact.forward * contact.forward + TINY)
        return [-speed - forward * slip for speed, slip in zip(contact.slip, (kappa, tangent), strict=True)]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return faults(n, flat=True)

    def contact(
        self, n: Mapping[str, Any], up: str, motion: MotionView, wheel: PlacedFrame, road: PlacedFrame
    ) -> Contact:
        """Where and how the wheel touches; lane code."""
        R, p = motion.pose(wheel, relative=road)
        side = 1.0 if up == "+z" else -1.0
        normal, height = [0.0, 0.0, side], side * p[2]
        if not is_flat(n):
            upwards, distance = nearest(n, p, NEAR * n["radius"])
            normal, height = scale(side, upwards), side * distance
        axle = [row[1] for row in R]
        camber = dot(axle, normal)
        upright = sqrt(larger(1.0 - camber * camber, TINY))
        along = scale(ratio(1.0, upright), cross(axle, normal))
        across = cross(normal, along)
        down = scale(ratio(-1.0, upright), minus(normal, scale(camber, axle)))  # in the wheel's plane
        reach = ratio(height, upright)  # from the middle to the road
        v, w = motion.velocity(wheel, relative=road), motion.angular_velocity(wheel, relative=road)
        place = scale(reach, down)
        depth, rate = larger(n["radius"] - reach, 0.0), -ratio(dot(v, normal), upright)
        stiff = n["vertical_stiffness"] * depth
        part = 1.0 - larger(1.0 - depth * (1.0 / BLEND), 0.0)
        pressed = larger(stiff + n["vertical_damping"] * rate * part, 0.0)
        return Contact(normal, along, across, place, pressed, dot(v, along), plus(v, cross(w, place)), w, camber)


SLIPS = (State("along", "m", "how far the tyre bends along"), State("across", "m", "how far the tyre bends across"))
__all__ = ["RELAXATION", "SIZES", "SLIPS", "SURFACE", "Contact", "Tyre", "TyreLoad"]
