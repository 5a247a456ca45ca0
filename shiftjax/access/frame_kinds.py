"""Frames that are asked about: those of the model, and others that are fixed in them, or move as is said.

A kind of frame says how it moves in its base, another frame, by `motion`; whatever is asked of it follows. Its numbers
enter compiled code as inputs, so that other ones compile nothing again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from shiftjax.access.lane_state import LaneState
from shiftjax.access.rigid_motion import RigidMotion, still
from shiftjax.algebra import Mat, Scalar, Vec, cross, identity, zeros
from shiftjax.errors import ModelError, nearest, need, shown
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import IDENTITY
from shiftjax.numerics.real_arrays import real_array
from shiftjax.plan_elements import ORIGIN, WORLD, PlacedFrame
from shiftjax.record import record
from shiftjax.topology.plan import Plan

WORLDS = ("world", "fixed", "fixed:origin")
ORTHONORMAL = 1e-5  # by which a rotation matrix may be off: what files may have, too


class FrameKind:
    """A kind of frame, for users to write their own: its base, its numbers, and its motion in the base.

    Attributes:
        base: the frame in which it moves: a path such as "body:frame", "world", or another kind of frame.
    """

    base: Any = "world"

    def numbers(self) -> Sequence[Any]:
        """Numbers of the motion, each of all members alike or (B,)."""
        return ()

    def motion(self, numbers: Vec, at: LaneState) -> RigidMotion | tuple[Any, ...]:
        """Pose in the base and its two rates as the base sees them; lane code.

        R (3 rows of 3), origin p [m], angular velocity, velocity of the origin, and the rates of these two: a tuple in
        this order, or a `RigidMotion`.

        Args:
            numbers: those of `numbers`, as scalars of a lane. at: the state, with the time `at.t` [s], `at.q`, `at.v`.
        """
        raise NotImplementedError

    def rates(self, numbers: Vec, at: LaneState) -> Vec:
        """The time derivatives of the numbers; needed for time derivatives of Jacobians alone."""
        return zeros(len(numbers))

    def key(self) -> Hashable:
        """What two frames of equal code have in common: all that `motion` depends on but its numbers.

        The frame itself where it is not said, so that each has code of its own.
        """
        return self


@record
class FrameOn(FrameKind):
    """A frame that is fixed in another one: an end effector, a sensor; `replace` gives it another offset.

    Attributes:
        base: path of a body or of a frame, "world", or another kind of frame.
        T: (3,) or (B, 3) its origin in the base [m]. R: (3, 3) or (B, 3, 3) its axes, as columns.
    """

    base: Any = "world"
    T: Any = ORIGIN
    R: Any = IDENTITY

    def numbers(self) -> list[Any]:
        return [*entries("T", self.T, (3,)), *entries("R", _rotation("R", self.R), (3, 3))]

    def motion(self, numbers: Vec, at: LaneState) -> RigidMotion:
        return still(_matrix(numbers[3:]), numbers[:3])

    def key(self) -> Hashable:
        return FrameOn


@record
class MovingFrame(FrameKind):
    """A frame that moves in another one as is said, whatever the mechanism does.

    Attributes:
        base: path of a body or of a frame, "world", or another kind of frame.
        T, R: its origin [m] and axes in the base, as of `FrameOn`.
        velocity, angular_velocity: (3,) or (B, 3) of its origin [m/s] and of its axes [rad/s], as the base sees them.
        acceleration, angular_acceleration: (3,) or (B, 3) the rates of these [m/s^2, rad/s^2]; `spatial` makes a frame
            of a spatial acceleration.
    """

    base: Any = "world"
    T: Any = ORIGIN
    R: Any = IDENTITY
    velocity: Any = ORIGIN
    angular_velocity: Any = ORIGIN
    acceleration: Any = ORIGIN
    angular_acceleration: Any = ORIGIN

    @classmethod
    def spatial(cls, base: Any = "world", T: Any = ORIGIN, R: Any = IDENTITY, twist: Any = 0.0, rate: Any = 0.0) -> Any:
        """The same by its twist and the rate of that along the frame's axes.

        Args:
            twist: (6,) angular velocity [rad/s] and velocity of the origin [m/s], along the axes of the frame itself.
            rate: (6,) time derivatives of these six numbers: the spatial acceleration.
        """
        twist, rate = (np.broadcast_to(np.asarray(x, float), (6,)) for x in (twist, rate))
        axes = np.asarray(_rotation("R", R), float)
        w, u = axes @ twist[:3], axes @ twist[3:]
        return cls(base, T, R, u, w, axes @ rate[3:] + np.cross(w, u), axes @ rate[:3])

    def numbers(self) -> list[Any]:
        vectors = ("velocity", "angular_velocity", "acceleration", "angular_acceleration")
        out = [*entries("T", self.T, (3,)), *entries("R", _rotation("R", self.R), (3, 3))]
        return out + [x for name in vectors for x in entries(name, getattr(self, name), (3,))]

    def motion(self, numbers: Vec, at: LaneState) -> RigidMotion:
        u, w, acc, alpha = (numbers[k : k + 3] for k in (12, 15, 18, 21))
        return RigidMotion(_matrix(numbers[3:12]), numbers[:3], w, u, alpha, acc)

    def rates(self, numbers: Vec, at: LaneState) -> Vec:
        u, w, acc, alpha = (numbers[k : k + 3] for k in (12, 15, 18, 21))
        R = _matrix(numbers[3:12])
        turned = [cross(w, [R[i][j] for i in range(3)]) for j in range(3)]
        return [*u, *(turned[j][i] for i in range(3) for j in range(3)), *acc, *alpha, *zeros(6)]

    def key(self) -> Hashable:
        return MovingFrame


@record
class PointOn(FrameKind):
    """The frame that has its origin at a point of another one, along its axes.

    Attributes:
        base: as of `FrameOn`. point: (3,) or (B, 3) in it [m].
    """

    base: Any = "world"
    point: Any = ORIGIN

    def numbers(self) -> list[Any]:
        return entries("point", self.point, (3,))

    def motion(self, numbers: Vec, at: LaneState) -> RigidMotion:
        return still(identity(), numbers)

    def key(self) -> Hashable:
        return PointOn


def at_point(frame: Any, point: Any) -> Any:
    """A frame with its origin at a point of it."""
    return frame if point is ORIGIN else PointOn(frame, point)


@record
class FrameChain:
    """A frame as lane code takes it: one of the plan, and frames on it, each in the one before.

    Attributes:
        links: kind of frame, the first of its numbers in `LaneState.extra`, and how many it has.
    """

    placed: PlacedFrame
    links: tuple[tuple[FrameKind, int, int], ...] = ()

    def key(self) -> Hashable:
        return self.placed, tuple((kind.key(), first, count) for kind, first, count in self.links)

    def on_placed(self, at: LaneState) -> RigidMotion:
        """Its motion in the frame of the plan that carries it."""
        out = still(identity(), zeros())
        for kind, first, count in self.links:
            motion = kind.motion(at.extra[first : first + count], at)
            out = out.then(RigidMotion(*motion) if isinstance(motion, tuple) else motion)
        return out

    def rates(self, at: LaneState) -> dict[int, Scalar]:
        """Place in `LaneState.extra` -> the rate of that number."""
        out: dict[int, Scalar] = {}
        for kind, first, count in self.links:
            out |= dict(zip(range(first, first + count), kind.rates(at.extra[first : first + count], at), strict=True))
        return out


class FrameChains:
    """Frames of one question as `FrameChain`s, and the numbers that they bring."""

    def __init__(self, model: Model, plan: Plan) -> None:
        self.model, self.plan = model, plan
        self.numbers: list[Any] = []

    def of(self, frame: Any, where: str) -> FrameChain:
        """The placement of a path or a kind of frame.

        Raises:
            ModelError: no frame; a frame that is its own base.
        """
        kinds: list[FrameKind] = []
        while isinstance(frame, FrameKind):
            if any(frame is one for one in kinds):
                raise ModelError(
                    where, "a frame that is its own base", "frames that end at one of the model", "Mend it."
                )
            kinds.append(frame)
            frame = frame.base
        placed, links = placed_frame(self.model, self.plan, frame, where), []
        for kind in reversed(kinds):
            numbers = kind.numbers()
            links.append((kind, len(self.numbers), len(numbers)))
            self.numbers += numbers
        return FrameChain(placed, tuple(links))


def placed_frame(model: Model, plan: Plan, path: Any, where: str) -> PlacedFrame:
    """The frame of a plan that a path names: of a body its origin.

    Raises:
        ModelError: no such frame.
    """
    need(where, path, str, 'the path of a body or a frame, "world", or a kind of frame')
    if path in WORLDS:
        return WORLD
    if (frame := plan.frame_named(path)) is not None:  # a full path; others are looked for among all elements
        return frame
    full = model.resolve(path)
    if (frame := plan.frame_named(full)) is not None:
        return frame
    bodies = [node.path for node in plan.nodes if not node.virtual]
    todo = nearest(full, [*dict(plan.frames), *bodies]) or "Check the path."
    raise ModelError(where, repr(path), "a body, or a frame of one", todo)


def entries(where: str, values: Any, shape: tuple[int, ...]) -> list[Any]:
    """The numbers of an array of a shape, row by row; with an axis of members before it each (B,).

    Raises:
        ModelError: another shape.
    """
    array = real_array(values)
    if (
        array is None
        or not array.size
        or array.shape[array.ndim - len(shape) :] != shape
        or array.ndim > len(shape) + 1
    ):
        raise ModelError(where, shown(values), f"an array of {shape}, or one for each member", "Give such an array.")
    return list(np.moveaxis(array.reshape(*array.shape[: array.ndim - len(shape)], -1), -1, 0))


def _rotation(where: str, R: Any) -> np.ndarray:
    array = real_array(R)
    if array is None or not array.size or array.shape[-2:] != (3, 3):
        raise ModelError(where, shown(R), "a rotation matrix of 3 x 3", "Give one, columns along the frame's axes.")
    off = np.abs(array @ np.swapaxes(array, -1, -2) - np.eye(3)).max(initial=0.0)
    if not off < ORTHONORMAL or (np.linalg.det(array) < 0.0).any():
        fault = f"a matrix that is off a rotation by {off:.3g}"
        raise ModelError(where, fault, f"a rotation to {ORTHONORMAL:g}", "Give orthonormal columns, right-handed.")
    return array


def _matrix(numbers: Vec) -> Mat:
    return [list(numbers[3 * i : 3 * i + 3]) for i in range(3)]
