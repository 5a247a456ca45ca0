"""PID controllers: what a joint or a frame does is read, and a force or torque along a joint answers.

Gains are in SI units whatever those of the file, since what is read and what answers may slide or turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, dot, select
from shiftjax.field import Field, Role, number
from shiftjax.forces.actuators import bounded
from shiftjax.forces.kind import ForceKind, Load, State
from shiftjax.plan_elements import ForceElement, MotionView
from shiftjax.rotations import AXES
from shiftjax.splines import evaluated, straight

SLIDES, TURNS = ("Tx", "Ty", "Tz"), ("Rx", "Ry", "Rz")
SPEED_GAINS = (
    number("p", "1", "gain of the error, in SI", default=0.0),
    number("i", "1", "gain of the integral of the error, in SI", default=0.0),
    number("target", "1", "what is to be, in SI, where no table says it", default=0.0),
    Field("times", "of a table of targets, rising", "numbers", Role.NUMBER, "s", (), rising=True),
    Field("targets", "at those times, in SI, joined by straight lines, held outside", "numbers", Role.NUMBER, "1", ()),
    Field("limit", "largest force or torque in SI, reached smoothly; 0 for none", "number", Role.NUMBER, "1", 0.0,
          least=0.0),
)  # fmt: skip
GAINS = (*SPEED_GAINS, number("d", "1", "gain of the rate of the error, in SI", default=0.0))
AXIS = Field("dof", "along or about which axis", "choice", default="Tx", choices=(*SLIDES, *TURNS))
SYSTEM = Field("coordinate_system", "whose axes: the frame's, or the world's", "choice", default="local",
               choices=("local", "global"))  # fmt: skip


class Pid(ForceKind):
    """Q = p e + i (integral of e) + d e' along the last of its joints, e = target - what is read."""

    dissipates, fields = True, GAINS
    states = (State("integral", "1", "the integral of the error, in SI"),)

    def read(self, element: ForceElement, motion: MotionView) -> tuple[Scalar, Scalar]:
        """What is read, and its rate where that is known; lane code."""
        raise NotImplementedError

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        n, joint = motion.values(element.numbers), element.coordinates[-1]
        value, rate = self.read(element, motion)
        target, target_rate = _target(n, motion.t)
        error = target - value
        force = n["p"] * error + n["i"] * states[0] + n.get("d", 0.0) * (target_rate - rate)
        force = bounded(force, n["limit"])
        load.add_generalized(motion.speed_index(joint), force)
        load.supply(force * motion.speed(joint))
        return [error]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return {"not one target for each time": len(n["times"]) != len(n["targets"])}


class JointPositionPid(Pid):
    """Q = p e + i (integral of e) + d e' of the first joint's displacement; it acts along the second, or the same."""

    joints = 2

    def read(self, element: ForceElement, motion: MotionView) -> tuple[Scalar, Scalar]:
        return motion.coordinate(element.coordinates[0]), motion.speed(element.coordinates[0])


class JointSpeedPid(Pid):
    """Q = p e + i (integral of e) of the first joint's speed; it acts along the second, which may be the same.

    It has no gain d, of an acceleration that it changes itself.
    """

    joints, fields = 2, SPEED_GAINS

    def read(self, element: ForceElement, motion: MotionView) -> tuple[Scalar, Scalar]:
        return motion.speed(element.coordinates[0]), 0.0


class FramePositionPid(Pid):
    """Q = p e + i (integral of e) + d e' of x, y or z of a frame's origin in the world; it acts along a joint."""

    joints, frames = 1, 1
    words = (Field("dof", "along which axis of the world", "choice", default="Tx", choices=SLIDES),)

    def read(self, element: ForceElement, motion: MotionView) -> tuple[Scalar, Scalar]:
        axis, (frame,) = SLIDES.index(dict(element.words)["dof"]), element.frames
        return motion.point(frame)[axis], motion.velocity(frame)[axis]


class FrameSpeedPid(Pid):
    """Q = p e + i (integral of e) of a component of a frame's velocity or angular velocity; it acts along a joint."""

    joints, frames, fields, words = 1, 1, SPEED_GAINS, (AXIS, SYSTEM)

    def read(self, element: ForceElement, motion: MotionView) -> tuple[Scalar, Scalar]:
        words, (frame,) = dict(element.words), element.frames
        dof = words["dof"]
        seen = motion.angular_velocity(frame) if dof in TURNS else motion.velocity(frame)
        axis = list(AXES[dof[-1]])
        if words["coordinate_system"] == "local":
            R, _ = motion.pose(frame)
            axis = [dot(row, axis) for row in R]
        return dot(axis, seen), 0.0


def _target(n: Mapping[str, Any], t: Scalar) -> tuple[Scalar, Scalar]:
    """The target and its rate."""
    times, targets = n["times"], n["targets"]
    if not len(times):
        return n["target"], 0.0
    if len(times) == 1:
        return targets[0], 0.0
    value, rate, _ = evaluated(times[1:-1], straight(times, targets), t)
    for outside, end in ((t < times[0], targets[0]), (t >= times[-1], targets[-1])):
        value, rate = select(outside, end, value), select(outside, 0.0, rate)
    return value, rate
