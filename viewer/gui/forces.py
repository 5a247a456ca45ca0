"""Forces that act along a stored run, from poses and the model's numbers, and recorded reactions. NumPy only.

Gravity acts at centres of mass. Springs follow from poses. Dampers and friction need rates, which are differences of
stored instants; an angle is unwrapped along the run, so a joint must turn by less than half a turn between two of them.
Reactions are the channels `JOINT.reaction_force`, on the child at the joint's frame, along the world's axes. Forces of
a joint are drawn on its child; those of a restraint between two frames on both bodies.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from shiftjax.forces.polynomials import ascending, piecewise
from shiftjax.joints import KINDS
from shiftjax.mechanism.records import FrameRef, Joint, Restraint
from shiftjax.poses import matrices, to_world
from shiftjax.record import record
from shiftjax.viewer.gui import plots
from shiftjax.viewer.gui.state import State
from shiftjax.viewer.joint_tracks import along
from shiftjax.viewer.mechanism import Mechanism, axis_of, bodies_of
from shiftjax.viewer.scene import Colour
from shiftjax.viewer.study_like import StudyLike

RECENT = 64  # latest instants of a running simulation from which forces are computed
LONGEST = 0.35  # of the arrow of the run's largest force, in model sizes
REACTION = ".reaction_force"
COLOURS: dict[str, Colour] = {
    "gravity": (0.35, 0.35, 0.40, 1.0),
    "spring": (0.05, 0.55, 0.25, 1.0),
    "damper": (0.10, 0.45, 0.85, 1.0),
    "friction": (0.60, 0.40, 0.10, 1.0),
    "reaction": (0.85, 0.10, 0.10, 1.0),
}


@record
class Force:
    """The force or torque of one element on one body along a run."""

    path: str  # of the body, restraint or joint that it comes from
    kind: str  # a key of COLOURS
    node: int
    point: np.ndarray  # (3,) where it acts, in the node's coordinates [m]
    vectors: np.ndarray  # (n, 3) at the stored instants, in the world [N, or N m of a torque]
    torque: bool = False


@record
class Run:
    """All forces of one member along its run."""

    member: int
    time: np.ndarray  # (n,) instants [s]
    items: tuple[Force, ...]

    def largest(self, *, torque: bool) -> float:
        """The largest force [N] or torque [N m] of the run."""
        sizes = [np.linalg.norm(item.vectors, axis=1) for item in self.items if item.torque == torque]
        return max((float(size[np.isfinite(size)].max(initial=0.0)) for size in sizes), default=0.0)


def run_of(study: StudyLike, found: Mechanism, member: int) -> Run:
    """The forces of a member at all stored instants; after an early end its last pose is repeated."""
    track = Track(study, found, member)
    items = [*_gravity(track), *_of_joints(track), *_of_restraints(track), *_reactions(track)]
    return Run(member, track.time, tuple(item for item in items if item.vectors.any()))


def forces_of(state: State) -> Run:
    """The forces of the current member along its run, cached; of a running simulation, around the present time."""
    if state.live is not None:
        near = functools.partial(state.live.history.near, state.clock.time, RECENT)
        return state.cached("forces", lambda: run_of(near(), state.mechanism, state.choice.member))
    return state.cached_for_member("forces", lambda: run_of(state.study, state.mechanism, state.choice.member))


def arrows(state: State) -> Iterator[tuple[Force, np.ndarray, np.ndarray]]:
    """Every force at the current time with the start and the vector [m] of its arrow."""
    run, poses = forces_of(state), state.poses()
    scale = {torque: LONGEST * state.scene.size / (run.largest(torque=torque) or 1.0) for torque in (False, True)}
    for item in run.items:
        vector = np.array([np.interp(state.clock.time, run.time, column) for column in item.vectors.T])
        if np.isfinite(vector).all():
            yield item, to_world(poses[item.node], item.point), scale[item.torque] * vector


def legend(state: State) -> list[tuple[Colour | None, str]]:
    """Colours and scale of the arrows."""
    run = forces_of(state)
    lines: list[tuple[Colour | None, str]] = [
        (COLOURS[kind], kind) for kind in COLOURS if any(item.kind == kind for item in run.items)
    ]
    for torque, unit in ((False, "N"), (True, "N m, two heads")):
        if run.largest(torque=torque):
            lines.append((None, f"longest arrow of the run, {LONGEST * state.scene.size:.3g} m: "
                                f"{run.largest(torque=torque):.4g} {unit}"))  # fmt: skip
    if any(item.kind in ("damper", "friction") for item in run.items):
        lines.append((None, "rates of dampers are differences of stored instants"))
    if not any(item.kind == "reaction" for item in run.items):
        lines.append((None, f"reactions: record the channels JOINT{REACTION}"))
    return lines


class Track:
    """A member's frames at all stored instants."""

    def __init__(self, study: StudyLike, found: Mechanism, member: int) -> None:
        self.study, self.found, self.member = study, found, member
        self.time = study.time
        self.node = {path: k for k, path in enumerate(study.nodes)}
        self.poses = matrices(study.track(member))  # (n, nodes, 4, 4)

    def frame(self, ref: FrameRef) -> np.ndarray:
        """(n, 4, 4) of a frame in the world."""
        return self.poses[:, self.node[ref.body]] @ self.found.frames[ref.path]

    def rate(self, x: np.ndarray) -> np.ndarray:
        """(n,) of a quantity (n,)."""
        return np.gradient(x, self.time) if len(x) > 1 else np.zeros_like(x)

    def on(self, ref: FrameRef, path: str, kind: str, vectors: np.ndarray, *, torque: bool = False) -> Force:
        """A force that acts at the origin of a frame."""
        return Force(path, kind, self.node[ref.body], self.found.frames[ref.path][:3, 3], vectors, torque)

    @functools.cached_property
    def _coordinates(self) -> np.ndarray:
        """(nq, n) of all joints."""
        own = [self.node[body] for body in bodies_of(self.found.plan)]
        track = self.study.track(self.member)[: len(self.time), own]
        return along(self.found.lane, self.time, track, len(self.time) - 1)[0]

    def coordinate(self, joint: Joint, path: str) -> np.ndarray:
        """(n,) displacement of a joint of one coordinate, unwrapped from the initial value in the file."""
        plan = self.found.plan
        return self._coordinates[plan.joints[plan.joint_index(path)].q]

    def along(self, joint: Joint) -> np.ndarray:
        """(n, 3) a joint's axis in the world."""
        return self.frame(joint.parent)[:, :3, :3] @ axis_of(joint)


def _gravity(track: Track) -> Iterator[Force]:
    for path, body in track.found.model.bodies():
        if body.mass > 0:
            weight = np.tile(body.mass * np.array(track.found.model.gravity), (len(track.time), 1))
            yield Force(path, "gravity", track.node[path], np.array(body.center_of_mass), weight)


def _of_joints(track: Track) -> Iterator[Force]:
    """Stiffness and damping written in joints."""
    for path, joint in track.found.joints.items():
        if KINDS[joint.type].nq != 1:
            continue
        for kind, polynomial in (("spring", joint.stiffness), ("damper", joint.damping)):
            if any(polynomial):
                q = track.coordinate(joint, path)
                size = -np.asarray(ascending(polynomial, q if kind == "spring" else track.rate(q)))
                yield _on_child(track, path, joint, kind, size)


def _on_child(track: Track, path: str, joint: Joint, kind: str, size: np.ndarray) -> Force:
    torque = KINDS[joint.type].unit == "rad"
    return track.on(joint.child, path, kind, np.reshape(size, (-1, 1)) * track.along(joint), torque=torque)


def _of_restraints(track: Track) -> Iterator[Force]:
    for path, item in track.found.model.restraints():
        if item.joint is not None:
            joint = track.found.joints[item.joint]
            yield _on_child(track, path, joint, item.type, -_size(track, item, track.coordinate(joint, item.joint)))
        elif item.frames is not None:
            yield from _between(track, path, item, *item.frames)


def _between(track: Track, path: str, item: Restraint, one: FrameRef, other: FrameRef) -> Iterator[Force]:
    """Both sides of a restraint between two frames; with an axis of the first, both act at the second frame."""
    first, second = track.frame(one), track.frame(other)
    span = second[:, :3, 3] - first[:, :3, 3]
    if item.distance_type is None:
        x = np.linalg.norm(span, axis=1)
        way = span / np.where(x > 0, x, 1.0)[:, None]
    else:
        way = first[:, :3, "xyz".index(item.distance_type[-1])]
        x = (way * span).sum(1)
    force = _size(track, item, x)[:, None] * way
    yield track.on(other, path, item.type, -force)
    yield track.on(one if item.distance_type is None else other, path, item.type, force)


def _size(track: Track, item: Restraint, x: np.ndarray) -> np.ndarray:
    """(n,) f of the restraint at x, or at its rate."""
    pieces = [tuple(reversed(piece)) for piece in item.coefficients]
    at = x if item.type == "spring" else track.rate(x)
    return np.broadcast_to(np.asarray(piecewise(item.knot_points, pieces, at), float), at.shape)


def _reactions(track: Track) -> Iterator[Force]:
    for channel in track.study.channels:
        path = plots.owner_of(track.study, channel)
        if channel.endswith(REACTION) and path in track.found.joints:
            vectors = np.asarray(track.study.channel(channel, track.member), float)
            yield track.on(track.found.joints[path].child, path, "reaction", vectors)
