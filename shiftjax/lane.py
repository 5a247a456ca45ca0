"""What joints, forces and constraints may ask of a lane: where their numbers are, and how the mechanism moves now.

A *lane* is one member of an ensemble; lane code is written for one lane, on the scalars of `algebra`. The protocols
here are what `dynamics.kinematics` offers, so that a kind of force or constraint imports nothing above its own floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shiftjax.algebra import Mat, Scalar, Vec
from shiftjax.record import record

Places = int | tuple["Places", ...]  # where a number, or each of several, stands in a lane's vector of numbers
Named = tuple[tuple[str, Places], ...]  # field -> places


@record
class FrameNumbers:
    """Where the numbers of a frame are: translation [m], rotation vector [rad], and the constant matrix before it."""

    T: tuple[int, int, int]
    rotation: tuple[int, int, int]
    matrix: int  # in the vector of matrices


@record
class PlacedFrame:
    """A frame of a node; None is the body's origin."""

    node: int
    frame: FrameNumbers | None


class NodeState(Protocol):
    """Pose of a node relative to the base of its chain, spatial velocity and bias acceleration about its point."""

    R: Mat
    p: Vec  # [m]
    w: Vec  # angular velocity [rad/s]
    u: Vec  # velocity of the body's point at the reference point [m/s]
    alpha: Vec  # bias angular acceleration (all q'' = 0) [rad/s^2]
    acc: Vec  # bias spatial linear acceleration [m/s^2]


class Screw(Protocol):
    """Motion of a joint's far node for a unit of one of its speeds."""

    angular: Vec
    linear: Vec  # about the chain's reference point

    def linear_at(self, c: Vec) -> Vec:
        """Velocity of the body's point at c."""
        ...


class ChainView(Protocol):
    """The tree as seen from one base node: axes of the base, positions from a point of the mechanism."""

    def node(self, k: int) -> NodeState: ...

    def frame(self, placed: PlacedFrame) -> tuple[Mat, Vec]:
        """Orientation and position of a frame."""
        ...

    def screws_of(self, joint: int) -> Sequence[Screw]: ...


class MotionView(Protocol):
    """One state of a lane.

    Attributes:
        q: (nq,) coordinates; v: (nv,) speeds, None where only poses are asked for; t: time [s].
        functions: what the user gave as functions of time or coordinates.
    """

    q: Sequence[Scalar]
    v: Sequence[Scalar] | None
    t: Scalar
    functions: Sequence[Any]

    def chain(self, base: int = 0, rooted: bool = False) -> ChainView:
        """`rooted`: about the root body of a floating mechanism, as inertia and forces are taken."""
        ...

    def values(self, numbers: Named) -> Mapping[str, Any]:
        """The numbers of an element: field -> scalar, or lists of scalars in the field's shape."""
        ...

    def coordinate(self, joint: int) -> Scalar:
        """The first coordinate of a joint [rad or m]."""
        ...

    def speed(self, joint: int) -> Scalar:
        """The first speed of a joint [rad/s or m/s]; 0 where only poses are asked for."""
        ...

    def first_speed(self, joint: int) -> int:
        """The index of the first speed of a joint."""
        ...
