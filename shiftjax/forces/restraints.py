"""Springs, dampers and friction of the file, along a joint or between two body frames: Q = -f(x).

x is the joint's displacement, or the distance between the frames (or its component along an axis of the first frame),
for a spring; its rate for a damper or friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftjax.algebra import Scalar, Vec, cross, dot, larger, matvec, minus, negative, plus, scale, sqrt
from shiftjax.forces.kind import Course, ForceKind, Load, Switch
from shiftjax.forces.polynomials import integrals_between, piecewise, piecewise_integral, sides
from shiftjax.plan_elements import ORIGIN, ForceElement, MotionView, NodeState
from shiftjax.rotations import AXES

PLACES = 4  # from knot to knot, up to which the work of a spring is given
COINCIDENT = 1e-30  # m^2: frames at one point have no direction, and what acts along their line does not act


class RestraintForce(ForceKind):
    """A piecewise polynomial, its pieces with the highest power first."""

    listed = False

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        if element.coordinates:
            (coordinate,) = element.coordinates
            rate = motion.speed(coordinate) if motion.v is not None else None
            force = self.force(element, motion, load, motion.coordinate(coordinate), rate)
            load.add_generalized(motion.speed_index(coordinate), -force)
            return ()
        direction, x, rate = _between(element, motion)
        force = self.force(element, motion, load, x, rate)
        first, second = element.frames
        load.add_force_at(second, ORIGIN, negative(scale(force, direction)), reaction=first)
        return ()

    def force(self, element: ForceElement, motion: MotionView, load: Load, x: Scalar, rate: Scalar | None) -> Scalar:
        """f at x or at its rate; adds potential or power to the load."""
        raise NotImplementedError

    def switches(self, element: ForceElement, motion: MotionView) -> Sequence[Switch]:
        knots, pieces = _polynomials(element, motion)
        if not knots:
            return ()
        if element.coordinates:
            (coordinate,) = element.coordinates
            x = motion.speed(coordinate) if self.dissipates else motion.coordinate(coordinate)
        else:
            _, x, rate = _between(element, motion)
            x = (0.0 if rate is None else rate) if self.dissipates else x
        return [Switch(x - knot, *both) for knot, both in zip(knots, sides(knots, pieces), strict=True)]

    def constants(self, element: ForceElement) -> tuple[int, ...]:
        pieces: Any = dict(element.numbers)["coefficients"]
        return tuple(piece[-1] for piece in pieces)

    def switch_units(self, element: ForceElement, unit: str) -> tuple[str, ...]:
        knots: Any = dict(element.numbers)["knot_points"]
        return (f"{unit}/s" if self.dissipates else unit,) * len(knots)


class Spring(RestraintForce):
    """f of the displacement."""

    drawing = "spring"

    def force(self, element: ForceElement, motion: MotionView, load: Load, x: Scalar, rate: Scalar | None) -> Scalar:
        knots, pieces = _polynomials(element, motion)
        load.add_potential(piecewise_integral(knots, pieces, x))
        return piecewise(knots, pieces, x)

    def course_knots(self, element: ForceElement) -> int:
        knots: Any = dict(element.numbers)["knot_points"]
        return len(knots)

    def course(self, element: ForceElement, motion: MotionView) -> Course:
        knots, pieces = _polynomials(element, motion)
        if element.coordinates:
            x = motion.coordinate(element.coordinates[0])
        else:
            _, x, _ = _between(element, motion)
        before, after, _, _ = zip(*sides(knots, pieces), strict=True)
        return Course(x, knots, before, after, integrals_between(knots, pieces, PLACES))


class Damper(RestraintForce):
    """f of the rate."""

    dissipates, drawing = True, "damper"

    def force(self, element: ForceElement, motion: MotionView, load: Load, x: Scalar, rate: Scalar | None) -> Scalar:
        if rate is None:
            return 0.0
        force = piecewise(*_polynomials(element, motion), rate)
        load.dissipate(force * rate)
        return force


class Friction(Damper):
    """A damper whose f may be discontinuous."""

    drawing = "friction"


def _polynomials(element: ForceElement, motion: MotionView) -> tuple[Sequence[Scalar], list[list[Scalar]]]:
    """Knots, and the pieces with the constant first."""
    n: Any = motion.values(element.numbers)
    return n["knot_points"], [list(reversed(piece)) for piece in n["coefficients"]]


def _between(element: ForceElement, motion: MotionView) -> tuple[Vec, Scalar, Scalar | None]:
    """Direction of the force, displacement and its rate."""
    world = motion.chain()
    (R, first), (_, second) = (world.frame(placed) for placed in element.frames)
    span = minus(second, first)
    if element.direction:
        direction = matvec(R, AXES[element.direction])
        x = dot(direction, span)
    else:
        x = sqrt(larger(dot(span, span), COINCIDENT))
        direction = scale(1.0 / x, span)
    if motion.v is None:
        return direction, x, None
    body_1, body_2 = (world.node(placed.node) for placed in element.frames)
    velocity = minus(_velocity(body_2, second), _velocity(body_1, plus(first, span)))
    return direction, x, dot(direction, velocity)


def _velocity(state: NodeState, p: Vec) -> Vec:
    return plus(state.u, cross(state.w, p))
