"""Forces and constraints in a plan, and the protocols by which their code reads numbers and kinematics of a lane.

A *lane* is one member of an ensemble; lane code is written for one lane, on the scalars of `algebra`.
`dynamics.kinematics` implements the protocols, so that a kind of force or constraint imports nothing above its floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shiftjax.algebra import Mat, Scalar, Vec
from shiftjax.record import record

Places = int | tuple["Places", ...]  # index of a number in a lane's vector of numbers, or nested tuples of indices
Named = tuple[tuple[str, Places], ...]  # field -> places


@record
class FrameNumbers:
    """Indices of a frame's numbers: translation [m], rotation vector [rad], and the constant matrix before it."""

    T: tuple[int, int, int]
    rotation: tuple[int, int, int]
    matrix: int  # in the vector of matrices


@record
class PlacedFrame:
    """A frame of a node; None is the body's origin."""

    node: int
    frame: FrameNumbers | None


WORLD = PlacedFrame(0, None)
ORIGIN = (0.0, 0.0, 0.0)


@record
class ForceElement:
    """One force of a plan, in ints and names."""

    path: str
    kind: str  # a key of FORCES
    coordinates: tuple[int, ...]  # of the plan, along which it acts
    frames: tuple[PlacedFrame, ...]  # between which it acts
    direction: str  # "x", "y" or "z" of the first frame, "" for the line between two frames
    numbers: Named
    dissipates: bool  # whether its power must be integrated to balance the energy
    states: tuple[int, ...] = ()  # indices of its internal states in the vector of all forces' states
    words: tuple[tuple[str, str], ...] = ()  # field -> word
    bears: bool = False  # whether it depends on what its joint bears


@record
class Loop:
    """A closed loop: the virtual end of a chord must coincide with the real body."""

    virtual: int  # node
    real: int  # node
    base: int  # deepest common node of both branches
    virtual_branch: tuple[int, ...]  # joints from base to the virtual node
    real_branch: tuple[int, ...]

    @property
    def joints(self) -> tuple[int, ...]:
        return tuple(sorted((*self.virtual_branch, *self.real_branch)))


@record
class RowGroup:
    """The rows of one constraint, in ints and names."""

    name: str  # path of the chord joint, of the driven joint, or of the constraint
    kind: str  # a key of CONSTRAINTS
    coordinates: tuple[int, ...]  # of the plan, that it names
    frames: tuple[PlacedFrame, ...]  # that it names
    coupled: tuple[int, ...]  # all joints whose motion enters its rows, ascending
    units: tuple[str, ...]  # of `coordinates`
    row_names: tuple[str, ...]  # what each row constrains
    time_dependent: bool  # rheonomic: its rows may do work
    prescribes: bool  # whether it prescribes its joints, so that assembly does not move them
    numbers: Named = ()
    words: tuple[tuple[str, str], ...] = ()  # field -> word
    function: int = -1  # in the list of functions of the run
    loop: Loop | None = None

    @property
    def rows(self) -> int:
        return len(self.row_names)


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
    point: Vec  # of its axis
    velocity: Vec  # of the node's point there

    def linear_at(self, c: Vec) -> Vec:
        """Velocity of the body's point at c."""
        ...


class ChainView(Protocol):
    """Kinematics of the tree relative to one base node: axes of the base, positions from a point of the mechanism."""

    def node(self, k: int) -> NodeState: ...

    def frame(self, placed: PlacedFrame) -> tuple[Mat, Vec]:
        """Orientation and position of a frame."""
        ...

    def screws_of(self, joint: int) -> Sequence[Screw]: ...


class MotionView(Protocol):
    """One state of a lane.

    Attributes:
        q: (nq,) coordinates; v: (nv,) speeds, None for poses only; t: time [s].
        functions: the user's functions of time or coordinates.
    """

    q: Sequence[Scalar]
    v: Sequence[Scalar] | None
    t: Scalar
    functions: Sequence[Any]

    def chain(self, base: int = 0) -> ChainView:
        """For rows of a cut loop; all others ask for what a frame does."""
        ...

    def pose(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> tuple[Mat, Vec]:
        """Rotation matrix and origin [m] of a frame, along the axes and from the origin of another one.

        All that follows is what an observer on that other frame sees, who may move.
        """
        ...

    def point(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        """Position [m] of a point that is given in the frame."""
        ...

    def velocity(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        """Velocity [m/s] of a point fixed in the frame; 0 for poses only."""
        ...

    def angular_velocity(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Vec:
        """[rad/s]; 0 for poses only."""
        ...

    def jacobian(
        self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD
    ) -> dict[int, Vec]:
        """Speed index -> velocity of a point fixed in the frame for a unit of that speed; zeros left out."""
        ...

    def angular_jacobian(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> dict[int, Vec]:
        """Speed index -> angular velocity for a unit of that speed; zeros left out."""
        ...

    def bias(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        """Acceleration [m/s^2] of a point fixed in the frame where all q'' = 0."""
        ...

    def angular_bias(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Vec:
        """Angular acceleration [rad/s^2] where all q'' = 0."""
        ...

    def values(self, numbers: Named) -> Mapping[str, Any]:
        """The numbers of an element: field -> scalar, or lists of scalars in the field's shape."""
        ...

    def coordinate(self, index: int) -> Scalar:
        """One of the plan's coordinates [rad or m]."""
        ...

    def speed(self, index: int) -> Scalar:
        """The speed of one of the plan's coordinates [rad/s or m/s]; 0 for poses only."""
        ...

    def speeds(self, index: int) -> Sequence[Scalar]:
        """All speeds of one of the plan's coordinates, three of a ball [rad/s or m/s]; zeros for poses only."""
        ...

    def speed_index(self, index: int) -> int:
        """The index of the first speed of one of the plan's coordinates."""
        ...

    def first_speed(self, joint: int) -> int:
        """The index of the first speed of a joint."""
        ...

    def borne(self, element: ForceElement) -> Scalar:
        """What presses the joint of a force that `bears`; 0 where accelerations are not known."""
        ...
