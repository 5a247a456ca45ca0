"""Actuators of a joint: a servo with position and speed loop, motors with a torque-speed curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, ratio, select, tanh
from shiftjax.field import Field, Role, number
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.plan_elements import ForceElement, MotionView
from shiftjax.splines import evaluated, straight

NO_LIMIT = 0.0


def bounded(force: Scalar, limit: Scalar) -> Scalar:
    """limit tanh(force / limit), the force itself where the limit is 0, in one member or in all; lane code."""
    if isinstance(limit, float) and limit == NO_LIMIT:
        return force
    free = limit <= NO_LIMIT
    return select(free, force, limit * tanh(ratio(force, select(free, 1.0, limit))))


class Actuator(ForceKind):
    """Q of displacement and speed, whose power counts as work done on the mechanism."""

    joints, dissipates = 1, True

    def force(self, n: Mapping[str, Any], q: Scalar, v: Scalar, t: Scalar) -> Scalar:
        """Q; lane code.

        Args:
            n: its numbers.
        """
        raise NotImplementedError

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, (joint,) = {**motion.values(element.numbers), **dict(element.words)}, element.coordinates
        v = motion.speed(joint)
        force = self.force(n, motion.coordinate(joint), v, motion.t)
        load.add_generalized(motion.speed_index(joint), force)
        load.supply(force * v)
        return ()


class Servo(Actuator):
    """Q = p (target + rate t - q) + d (rate - q'), which a limit bounds smoothly: limit tanh(Q / limit)."""

    fields = (
        number("p", "{f}/{x}", "gain of the displacement"),
        number("d", "{f} s/{x}", "gain of the speed", default=0.0),
        number("target", "{x}", "displacement at time 0"),
        number("rate", "{x}/s", "speed of the target", default=0.0),
        Field("limit", "largest force or torque; 0 for none", "number", Role.NUMBER, "{f}", 0.0, least=0.0),
    )

    def force(self, n: Mapping[str, Any], q: Scalar, v: Scalar, t: Scalar) -> Scalar:
        return bounded(n["p"] * (n["target"] + n["rate"] * t - q) + n["d"] * (n["rate"] - v), n["limit"])


class DcMotor(Actuator):
    """Q = stall (signal - q' / no_load): a direct-current motor at a constant voltage."""

    fields = (
        number("stall", "{f}", "force or torque at rest, at the full voltage", least=0.0),
        number("no_load", "{x}/s", "speed without load, at the full voltage", above=0.0),
        number("signal", "1", "part of the full voltage; below 0 the other way", default=1.0),
    )

    def force(self, n: Mapping[str, Any], q: Scalar, v: Scalar, t: Scalar) -> Scalar:
        return n["stall"] * (n["signal"] - ratio(v, n["no_load"]))


class TorqueCurve(Actuator):
    """Q of the speed, by straight lines between the points of a curve, along its first and last line beyond."""

    fields = (
        Field("speeds", "of the curve's points, rising", "numbers", Role.NUMBER, "{x}/s",
              required=True, fewest=2, rising=True),
        Field("loads", "force or torque at each speed", "numbers", Role.NUMBER, "{f}", required=True, fewest=2),
    )  # fmt: skip

    def force(self, n: Mapping[str, Any], q: Scalar, v: Scalar, t: Scalar) -> Scalar:
        speeds, loads = n["speeds"], n["loads"]
        return evaluated(speeds[1:-1], straight(speeds, loads), v)[0]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return {"not one load for each speed": len(n["speeds"]) != len(n["loads"])}
