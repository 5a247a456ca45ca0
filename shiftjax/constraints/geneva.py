"""Geneva drives: a wheel with slots that a pin on a crank turns by one slot each turn, and that stands in between."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shiftjax.algebra import Scalar, atan2, cos, floor, ratio, select, sin
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.field import Field, Role, number
from shiftjax.plan_elements import RowGroup


class Geneva(DerivedConstraint):
    """The wheel, the first joint, turns by 2 pi / slots against each turn of the crank, the second, and dwells between.

    With the crank at an angle a from the middle of a slot the wheel is at atan2(sin a, 1 / sin(pi / slots) - cos a)
    while |a| < pi / 2 - pi / slots, and stands for the rest of the turn (Norton, Design of Machinery, section 8.8).
    There its acceleration jumps, its speed does not.
    """

    joints, row_names, units, from_starts, joint_units = 2, ("indexed",), ("rad",), True, ("rad", "rad")
    fields = (
        Field("slots", "of the wheel", "number", Role.NUMBER, "1", required=True, least=3.0),
        number("middle", "rad", "of the crank where its pin is deepest in a slot", default=0.0),
    )

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        n = motion.values(group.numbers)
        wheel, crank = (motion.coordinate(k) for k in group.coordinates)
        start, crank_start = n["starts"]
        return [
            wheel - start + indexed(n["slots"], crank - n["middle"]) - indexed(n["slots"], crank_start - n["middle"])
        ]


def indexed(slots: Scalar, angle: Scalar) -> Scalar:
    """How far a wheel has turned against a crank, both from the middle of a slot [rad]; lane code."""
    half = ratio(math.pi, slots)
    turns = floor((angle + math.pi) * (0.5 / math.pi))
    a = angle - 2.0 * math.pi * turns
    inside = atan2(sin(a), ratio(1.0, sin(half)) - cos(a))
    rest = select(a > 0.0, half, -half)
    return 2.0 * half * turns + select(abs(a) < 0.5 * math.pi - half, inside, rest)
