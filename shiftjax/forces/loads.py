"""Loads: given forces and torques along a joint, and wrenches on a body. What they do is work, not potential energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, Vec, dot, matvec
from shiftjax.field import Field, Role, number
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.plan_elements import ORIGIN, WORLD, ForceElement, MotionView, PlacedFrame
from shiftjax.time_laws import INTERPOLATION, OUTSIDE, TIMES, Harmonic, Law, faults_of_table, tabulated

AXES = Field("axes", "in which the wrench is given: those of the world, the body or the frame", "choice",
             default="world", choices=("world", "body", "frame"))  # fmt: skip


class JointLoad(ForceKind):
    """A force or torque along a joint's coordinate, by a law in time: Q = f(t)."""

    joints, dissipates = 1, True

    def __init__(self, law: Law) -> None:
        self.law = law
        self.fields, self.words = law.fields("{f}"), law.words

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        (coordinate,) = element.coordinates
        force, _, _ = self.law.at({**motion.values(element.numbers), **dict(element.words)}, motion.t)
        load.add_generalized(motion.speed_index(coordinate), force)
        load.supply(force * motion.speed(coordinate))
        return ()

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return self.law.faults(n)


class BodyWrench(ForceKind):
    """A force and a moment on the body of one frame; the force acts at the frame's origin."""

    frames, dissipates = 1, True
    words = (AXES,)

    def wrench(self, n: Mapping[str, Any], t: Scalar) -> tuple[Vec, Vec]:
        """Force [N] and moment [N m] in the axes of the wrench; lane code."""
        raise NotImplementedError

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        words, (placed,) = dict(element.words), element.frames
        force, moment = self.wrench({**motion.values(element.numbers), **words}, motion.t)
        axes = {"world": WORLD, "body": PlacedFrame(placed.node, None), "frame": placed}[words["axes"]]
        R, _ = motion.pose(axes)
        force, moment = matvec(R, force), matvec(R, moment)
        load.add_wrench_at(placed, ORIGIN, force, moment)
        if motion.v is not None:
            load.supply(dot(moment, motion.angular_velocity(placed)) + dot(force, motion.velocity(placed)))
        return ()


class ConstantWrench(BodyWrench):
    """The same force and moment at all times."""

    fields = (
        Field("force", "at the frame's origin", "vector", Role.NUMBER, "N", (0.0, 0.0, 0.0)),
        Field("moment", "on the body", "vector", Role.NUMBER, "N m", (0.0, 0.0, 0.0)),
    )

    def wrench(self, n: Mapping[str, Any], t: Scalar) -> tuple[Vec, Vec]:
        return n["force"], n["moment"]


class HarmonicWrench(BodyWrench):
    """Force and moment by offset + amplitude sin(frequency t + phase), with one frequency and phase."""

    law = Harmonic(from_start=False)
    fields = (
        number("frequency", "rad/s", "angular frequency of the sine"),
        number("phase", "rad", "of the sine at time 0", default=0.0),
        *(Field(f"{part}_{name}", doc, "vector", Role.NUMBER, unit, (0.0, 0.0, 0.0))
          for part, unit in (("force", "N"), ("moment", "N m"))
          for name, doc in (("amplitude", "of the sine"), ("offset", "value about which it swings"))),
    )  # fmt: skip

    def wrench(self, n: Mapping[str, Any], t: Scalar) -> tuple[Vec, Vec]:
        return self._part(n, "force", t), self._part(n, "moment", t)

    def _part(self, n: Mapping[str, Any], part: str, t: Scalar) -> Vec:
        shared = {"frequency": n["frequency"], "phase": n["phase"], "rate": 0.0}
        pairs = zip(n[f"{part}_amplitude"], n[f"{part}_offset"], strict=True)
        return [self.law.at({**shared, "amplitude": size, "offset": mean}, t)[0] for size, mean in pairs]


class TableWrench(BodyWrench):
    """Forces and moments at times, each component interpolated by itself."""

    fields = (
        TIMES,
        Field("forces", "at the times; none where left out", "points", Role.NUMBER, "N", ()),
        Field("moments", "at the times; none where left out", "points", Role.NUMBER, "N m", ()),
    )
    words = (AXES, OUTSIDE, INTERPOLATION)

    def wrench(self, n: Mapping[str, Any], t: Scalar) -> tuple[Vec, Vec]:
        force, moment = ([tabulated(n, [row[k] for row in n[name]], t)[0] for k in range(3)] if n[name] else [0.0] * 3
                         for name in ("forces", "moments"))  # fmt: skip
        return force, moment

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        columns = {name: n[name] for name in ("forces", "moments") if n[name]}
        return faults_of_table(n, **columns) | {"neither forces nor moments": not columns}
