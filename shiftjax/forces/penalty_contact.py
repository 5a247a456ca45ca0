"""Penalty contact of a rounded body with a plane, a surface or a ball: bodies sink into each other a little, by design.

The normal force is that of Hunt and Crossley (Coefficient of restitution interpreted as damping in vibroimpact, J.
Appl. Mech. 42, 1975, 440): N = k d^2 (1 + damping d') at depth d, never below 0, and it jumps at no end of a contact.
Friction is friction_coefficient N against the sliding speed, which fades below `slip_speed`: what should stick creeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shiftjax.algebra import Scalar, Vec, dot, larger, matvec, minus, norm_squared, ratio, scale, sqrt, transpose
from shiftjax.field import Field, Role, number
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.height_fields import SURFACE, faults, nearest
from shiftjax.plan_elements import ForceElement, MotionView, PlacedFrame

NEAR = 1e-30  # m^2: centres at one point have no direction
ROUND = 2.0  # radii from a surface within which its nearest point is sought
CONTACT = (
    Field("k", "stiffness, of the square of the depth", "number", Role.NUMBER, "N/m^2", required=True, least=0.0),
    number("damping", "s/m", "by speed of approach: 3 (1 - e) / (2 v) for a restitution e near 1", default=0.0,
           least=0.0),
    Field("friction_coefficient", "of sliding", "number", Role.NUMBER, "1", 0.0, least=0.0),
    Field("slip_speed", "below which friction fades", "number", Role.NUMBER, "m/s", 1e-3, above=0.0),
)  # fmt: skip


class Touch(NamedTuple):
    """Where a body touches another one, as that other one sees it.

    Attributes:
        depth: how far it sinks in [m], below 0 where they are apart. normal: from the other one to it. point: of the
            body, given in its frame [m].
    """

    depth: Scalar
    normal: Vec
    point: Vec


def drag(n: Mapping[str, Any], normal: Scalar, sliding: Vec) -> Scalar:
    """Friction for a unit of the sliding speed [N s/m], of a contact with the numbers of `CONTACT`; lane code.

    Args:
        normal: what presses [N]. sliding: the velocity along the surface [m/s].
    """
    speed = sqrt(norm_squared(sliding) + n["slip_speed"] * n["slip_speed"])
    return ratio(n["friction_coefficient"] * normal, speed)


class PenaltyContact(ForceKind):
    """Contacts of the first frame's body with that of the second frame."""

    frames, dissipates = 2, True

    def touches(self, n: Mapping[str, Any], element: ForceElement, motion: MotionView) -> Sequence[Touch]:
        """All of them; lane code.

        Args:
            n: its numbers.
        """
        raise NotImplementedError

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (body, ground) = motion.values(element.numbers), element.frames
        for touch in self.touches(n, element, motion):
            self._push(n, touch, motion, load, body, ground)
        return ()

    def _push(
        self, n: Mapping[str, Any], touch: Touch, motion: MotionView, load: Load, body: PlacedFrame, ground: PlacedFrame
    ) -> None:
        velocity = motion.velocity(body, touch.point, relative=ground)
        depth, rate = larger(touch.depth, 0.0), -dot(touch.normal, velocity)
        spring = n["k"] * (depth * depth)
        normal = spring * larger(1.0 + n["damping"] * rate, 0.0)
        sliding = minus(velocity, scale(dot(touch.normal, velocity), touch.normal))
        rubbing = drag(n, normal, sliding)
        force = minus(scale(normal, touch.normal), scale(rubbing, sliding))
        load.add_force_at(body, touch.point, force, axes=ground, reaction=ground)
        load.add_potential(1.0 / 3.0 * (spring * depth))
        load.dissipate((normal - spring) * rate + rubbing * norm_squared(sliding))


class BallOnPlane(PenaltyContact):
    """A ball about the first frame's origin on the x-y plane of the second, solid below it; radius 0: a point."""

    fields = (Field("radius", "of the ball", "number", Role.LENGTH, "m", 0.0, least=0.0), *CONTACT)

    def touches(self, n: Mapping[str, Any], element: ForceElement, motion: MotionView) -> Sequence[Touch]:
        body, ground = element.frames
        R, p = motion.pose(body, relative=ground)
        return [Touch(n["radius"] - p[2], [0.0, 0.0, 1.0], scale(-n["radius"], R[2]))]


class BallOnTerrain(PenaltyContact):
    """A ball about the first frame's origin on heights z = f(x, y) of the second, solid below them; radius 0: a point.

    It touches where the surface is nearest: hollows must be wider than the ball.
    """

    fields = (*BallOnPlane.fields, *SURFACE)

    def touches(self, n: Mapping[str, Any], element: ForceElement, motion: MotionView) -> Sequence[Touch]:
        body, ground = element.frames
        R, p = motion.pose(body, relative=ground)
        normal, distance = nearest(n, p, ROUND * n["radius"])
        return [Touch(n["radius"] - distance, normal, scale(-n["radius"], matvec(transpose(R), normal)))]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return faults(n)


class CapsuleOnPlane(PenaltyContact):
    """A capsule along the first frame's x axis on the x-y plane of the second: a contact at each of its ends."""

    fields = (
        Field("radius", "of the capsule", "number", Role.LENGTH, "m", required=True, least=0.0),
        Field("length", "between the middles of its ends", "number", Role.LENGTH, "m", required=True, least=0.0),
        *CONTACT,
    )

    def touches(self, n: Mapping[str, Any], element: ForceElement, motion: MotionView) -> Sequence[Touch]:
        body, ground = element.frames
        R, p = motion.pose(body, relative=ground)
        out = []
        for side in (-0.5, 0.5):
            end, down = side * n["length"], scale(-n["radius"], R[2])
            height = p[2] + R[2][0] * end
            out.append(Touch(n["radius"] - height, [0.0, 0.0, 1.0], [end + down[0], down[1], down[2]]))
        return out


class EllipsoidOnPlane(PenaltyContact):
    """An ellipsoid along the first frame's axes on the x-y plane of the second."""

    fields = (Field("radii", "along x, y, z", "vector", Role.LENGTH, "m", required=True), *CONTACT)

    def touches(self, n: Mapping[str, Any], element: ForceElement, motion: MotionView) -> Sequence[Touch]:
        body, ground = element.frames
        R, p = motion.pose(body, relative=ground)
        across = [radius * z for radius, z in zip(n["radii"], R[2], strict=True)]
        support = sqrt(norm_squared(across))  # from the middle to the tangent plane
        lowest = [-ratio(radius * x, support) for radius, x in zip(n["radii"], across, strict=True)]
        return [Touch(support - p[2], [0.0, 0.0, 1.0], lowest)]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return {"a radius of 0 or less": sum(radius <= 0 for radius in n["radii"])}


class BallOnBall(PenaltyContact):
    """Balls about the origins of both frames."""

    fields = (
        Field("radius_1", "of the first ball", "number", Role.LENGTH, "m", required=True, least=0.0),
        Field("radius_2", "of the second ball", "number", Role.LENGTH, "m", required=True, least=0.0),
        *CONTACT,
    )

    def touches(self, n: Mapping[str, Any], element: ForceElement, motion: MotionView) -> Sequence[Touch]:
        body, other = element.frames
        R, p = motion.pose(body, relative=other)
        distance = sqrt(larger(norm_squared(p), NEAR))
        normal = scale(ratio(1.0, distance), p)
        point = scale(-n["radius_1"], matvec(transpose(R), normal))
        return [Touch(n["radius_1"] + n["radius_2"] - distance, normal, point)]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return {"two radii of 0, of points that never touch": n["radius_1"] + n["radius_2"] <= 0.0}
