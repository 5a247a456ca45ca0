"""A pin in a straight slot with play: of a slotted link, a Scotch yoke, a Geneva wheel, which pins enter and leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, larger, norm_squared, ratio, select
from shiftjax.field import Field, Role
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.forces.penalty_contact import CONTACT, drag
from shiftjax.plan_elements import ORIGIN, ForceElement, MotionView


class PinInSlot(ForceKind):
    """The first frame's origin between two walls along the x axis of the second, from its origin to `length`.

    A wall is a ridge of potential k b(d) w(x) over the depth d = |y| - play: b = d^3 (1 - d / wall)^3 / 3, so that it
    pushes by k d^2 at first, and the window w rises from 0 to 1 over `mouth` at both ends, which are open. A pin that
    is pushed beyond `wall` has broken through. Damping and friction are those of the contacts (`penalty_contact`).
    """

    doc = "The first frame's origin, a pin, between two walls along the x axis of the second, open at both ends."
    frames, dissipates = 2, True
    fields = (
        Field("length", "of the slot", "number", Role.LENGTH, "m", required=True, above=0.0),
        Field("play", "of the pin to either side", "number", Role.LENGTH, "m", 0.0, least=0.0),
        Field("wall", "thickness of the walls", "number", Role.LENGTH, "m", required=True, above=0.0),
        Field(
            "mouth", "over which the walls set in at both ends", "number", Role.LENGTH, "m", required=True, above=0.0
        ),
        *CONTACT,
    )

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (pin, slot) = motion.values(element.numbers), element.frames
        x, y, _ = motion.pose(pin, relative=slot)[1]
        vx, vy, vz = motion.velocity(pin, relative=slot)
        side = select(y > 0.0, 1.0, -1.0)
        depth = _clamped(abs(y) - n["play"], n["wall"])
        rest = 1.0 - ratio(depth, n["wall"])
        ridge = 1.0 / 3.0 * (depth * depth * depth) * (rest * rest * rest)
        slope = depth * depth * (rest * rest) * (2.0 * rest - 1.0)
        window, change = _window(n, x)
        push, along = n["k"] * slope * window, n["k"] * ridge * change
        rate = side * vy
        approach = select(push > 0.0, rate, -rate)
        pressed = push * larger(1.0 + n["damping"] * approach, 0.0)
        rubbing = drag(n, abs(pressed), [vx, vz])
        force = [-along - rubbing * vx, -side * pressed, -rubbing * vz]
        load.add_force_at(pin, ORIGIN, force, axes=slot, reaction=slot)
        load.add_potential(n["k"] * ridge * window)
        load.dissipate((pressed - push) * rate + rubbing * norm_squared([vx, vz]))
        return ()

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return {"a mouth of more than half of the length": 2.0 * n["mouth"] > n["length"]}


def _clamped(x: Scalar, most: Scalar) -> Scalar:
    """x, but at least 0 and at most this."""
    return most - larger(most - larger(x, 0.0), 0.0)


def _window(n: Mapping[str, Any], x: Scalar) -> tuple[Scalar, Scalar]:
    """1 inside, 0 outside, with a cubic over each mouth, and its slope."""
    window: Scalar = 1.0
    change: Scalar = 0.0
    for inwards, sign in ((x, 1.0), (n["length"] - x, -1.0)):
        part = _clamped(ratio(inwards, n["mouth"]), 1.0)
        step, slope = part * part * (3.0 - 2.0 * part), ratio(6.0 * sign * part * (1.0 - part), n["mouth"])
        window, change = window * step, change * step + window * slope
    return window, change
