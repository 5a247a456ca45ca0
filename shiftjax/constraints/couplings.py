"""Couplings of coordinates: gear, belt, rack, screw, planetary train and differential, one linear row each.

What they couple is the way from where the file puts each joint (its `initial_displacement`): gears mesh as they are
drawn, for any number of turns, and no offset has to be computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from shiftjax.algebra import Scalar, ratio, total
from shiftjax.constraints.kind import ConstraintKind, Rows
from shiftjax.field import Field, Role, number
from shiftjax.plan_elements import MotionView, RowGroup

OFFSET = number("offset", "{x}", "of the first joint, ahead of where the drawn pose has it", default=0.0)


class Coupling(ConstraintKind):
    """sum c_k (q_k - start_k) = offset."""

    row_names, from_starts, linear = ("coupled",), True, True

    def coefficients(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        """c_k of each joint; lane code.

        Args:
            n: its numbers and words.
        """
        raise NotImplementedError

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        n = {**motion.values(group.numbers), **dict(group.words)}
        c = self.coefficients(n)
        starts = n["starts"] if self.from_starts else [0.0] * len(group.coordinates)
        ways = [motion.coordinate(k) - start for k, start in zip(group.coordinates, starts, strict=True)]
        phi = total([factor * way for factor, way in zip(c, ways, strict=True)]) - n.get("offset", 0.0)
        J = {motion.speed_index(k): factor for k, factor in zip(group.coordinates, c, strict=True)}
        return Rows(phi=[phi], J=[J], nu=[0.0], gamma=[0.0], unit=[group.units[0]])


class Pair(Coupling):
    """The first joint goes `factor` times as far as the second.

    Attributes:
        factor: the field that says how far.
    """

    joints = 2
    factor: ClassVar[str]

    def coefficients(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        return 1.0, -n[self.factor]


class Gear(Pair):
    """The first joint turns `ratio` times as far as the second; below zero the other way, as two outer gears do."""

    joint_units, factor = ("rad", "rad"), "ratio"
    fields = (number("ratio", "1", "turns of the first joint for one of the second; -z_2/z_1 of teeth outside"), OFFSET)


class Belt(Coupling):
    """A belt or chain that never slips: r_1 q_1 = r_2 q_2, of a crossed one -r_2 q_2."""

    joints, joint_units = 2, ("rad", "rad")
    fields = (
        number("radius_1", "m", "of the first joint's pulley", role=Role.LENGTH, above=0.0),
        number("radius_2", "m", "of the second joint's pulley", role=Role.LENGTH, above=0.0),
    )
    words = (Field("run", "how the belt runs", "choice", default="open", choices=("open", "crossed")),)

    def coefficients(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        c = ratio(n["radius_2"], n["radius_1"])
        return 1.0, c if n["run"] == "crossed" else -c


class Rack(Pair):
    """A pinion on a rack: the slide, the first joint, goes `radius` times as far as the pinion, the second, turns."""

    joint_units, factor = ("m", "rad"), "radius"
    fields = (
        number("radius", "m", "of the pinion's pitch circle; below zero the other way", role=Role.LENGTH),
        OFFSET,
    )


class ScrewCoupling(Pair):
    """A nut on a spindle: the slide, the first joint, goes `pitch` for each radian of the spindle, the second."""

    joint_units, factor = ("m", "rad"), "pitch"
    fields = (number("pitch", "m/rad", "way of the nut for a radian of the spindle", role=Role.LENGTH), OFFSET)


class Planetary(Coupling):
    """Sun, ring and carrier of an epicyclic train (Willis): z_s (q_s - q_c) + z_r (q_r - q_c) = 0."""

    joints, joint_units = 3, ("rad", "rad", "rad")
    fields = (
        Field("sun_teeth", "of the first joint's gear", "number", Role.NUMBER, "1", required=True, above=0.0),
        Field("ring_teeth", "inside, of the second joint's gear", "number", Role.NUMBER, "1", required=True, above=0.0),
    )

    def coefficients(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        c = ratio(n["ring_teeth"], n["sun_teeth"])
        return 1.0, c, -(1.0 + c)


class Differential(Coupling):
    """The cage, the first joint, turns by the mean of both shafts, the second and the third."""

    joints, joint_units = 3, ("rad", "rad", "rad")

    def coefficients(self, n: Mapping[str, Any]) -> Sequence[Scalar]:
        return 1.0, -0.5, -0.5


class Mimic(Pair):
    """The first joint follows the second: q_1 = multiplier q_2 + offset, from zero and not from the drawn pose."""

    from_starts, factor = False, "multiplier"
    fields = (number("multiplier", "1", "of the second joint's displacement, in SI", default=1.0),
              number("offset", "{x}", "of the first joint where the second stands at zero", default=0.0))  # fmt: skip
