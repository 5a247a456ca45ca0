"""Forces that act along a stored run, from poses and the model's numbers, and recorded reactions. NumPy only.

Gravity acts at centres of mass. All other forces are those of the core at the joint coordinates of the stored poses.
Dampers and friction need rates, which are derivatives of polynomials through stored instants; an angle is unwrapped
along the run, so a joint must turn by less than half a turn between two of them.
Reactions are the channels `JOINT.reaction_force`, on the child at the joint's frame, along the world's axes. Forces of
a joint are drawn on its child; those of a restraint between two frames on both bodies.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np

from shiftjax.algebra import Scalar
from shiftjax.forces import FORCES, ForceElement, Load
from shiftjax.mechanism.records import FrameRef
from shiftjax.plan_elements import PlacedFrame
from shiftjax.poses import to_world
from shiftjax.record import record
from shiftjax.run.closing.host_evaluation import motion_of, per_member
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion import curves
from shiftjax.viewer.motion.joint_tracks import along
from shiftjax.viewer.motion.mechanism import Mechanism
from shiftjax.viewer.motion.tree_coordinates import bodies_of
from shiftjax.viewer.scene.scene import Colour

RECENT = 64  # latest instants of a running simulation from which forces are computed
LONGEST = 0.35  # of the arrow of the run's largest force, in model sizes
REACTION = ".reaction_force"
COLOURS: dict[str, Colour] = {
    "gravity": (0.35, 0.35, 0.40, 1.0),
    "spring": (0.05, 0.55, 0.25, 1.0),
    "damper": (0.10, 0.45, 0.85, 1.0),
    "friction": (0.60, 0.40, 0.10, 1.0),
    "load": (0.75, 0.45, 0.00, 1.0),
    "reaction": (0.85, 0.10, 0.10, 1.0),
}
NAMES = {"stiffness": "spring", "damping": "damper"}  # of what is written in joints


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


def run_of(study: StudyLike, mechanism: Mechanism, member: int) -> Run:
    """The forces of a member at all stored instants; after an early end its last pose is repeated."""
    track = Track(study, mechanism, member)
    items = [*_gravity(track), *_elements(track), *_reactions(track)]
    return Run(member, track.time, tuple(item for item in items if item.vectors.any()))


def forces_of(state: WindowState) -> Run:
    """The forces of the current member along its run, cached; of a running simulation, around the present time."""
    if state.live is not None:
        near = functools.partial(state.study.near, state.clock.time, RECENT)
        return state.cached("forces", lambda: run_of(near(), state.mechanism, state.choice.member))
    return state.cached_for_member("forces", lambda: run_of(state.study, state.mechanism, state.choice.member))


def arrows(state: WindowState) -> Iterator[tuple[Force, np.ndarray, np.ndarray]]:
    """Every force at the current time with the start and the vector [m] of its arrow."""
    run, poses = forces_of(state), state.poses()
    scale = {torque: LONGEST * state.scene.size / (run.largest(torque=torque) or 1.0) for torque in (False, True)}
    for item in run.items:
        vector = np.array([np.interp(state.clock.time, run.time, column) for column in item.vectors.T])
        if np.isfinite(vector).all():
            yield item, to_world(poses[item.node], item.point), scale[item.torque] * vector


def legend(state: WindowState) -> list[tuple[Colour | None, str]]:
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
    """A member at all stored instants, as the core sees it: one lane with an entry an instant.

    Attributes:
        q: (nq, n) coordinates, unwrapped; v: (nv, n) speeds, derivatives of polynomials through stored instants.
    """

    def __init__(self, study: StudyLike, mechanism: Mechanism, member: int) -> None:
        self.study, self.mechanism, self.member = study, mechanism, member
        track = study.track(member)
        self.time = study.time[: len(track)]  # a running simulation may add instants meanwhile
        self.node = {path: k for k, path in enumerate(study.nodes)}
        body_nodes = [self.node[body] for body in bodies_of(mechanism.plan)]
        last = int(np.searchsorted(self.time, study.end(member), side="right")) - 1
        self.q, self.v = along(mechanism.lane, self.time, track[: len(self.time), body_nodes], last)
        self.motion, self._values = motion_of(dataclasses.replace(mechanism.lane, t=self.time), self.q, self.v)

    def on(self, ref: FrameRef, path: str, kind: str, vectors: np.ndarray, *, torque: bool = False) -> Force:
        """A force that acts at the origin of a frame."""
        return Force(path, kind, self.node[ref.body], self.mechanism.frames[ref.path][:3, 3], vectors, torque)

    def at(self, placed: PlacedFrame, path: str, kind: str, vectors: np.ndarray, *, torque: bool = False) -> Force:
        """As `on`, for a frame of the plan."""
        plan, (_, inside) = self.mechanism.plan, self.mechanism.lane.params.frame(placed.frame)
        node = self.node[plan.nodes[placed.node].path]
        return Force(path, kind, node, np.array(inside, float), vectors, torque)

    def rows(self, values: Sequence[Scalar]) -> np.ndarray:
        """(n, k) of scalars of the motion."""
        return per_member(self._values.numbers(values), len(self.time)).T

    def along(self, index: int) -> np.ndarray:
        """(n, 3) the axis in the world of a coordinate, in its file sense."""
        coordinate = self.mechanism.plan.coordinates[index]
        joint = self.mechanism.plan.joints[coordinate.joint]
        screw = self.motion.chain().screws_of(coordinate.joint)[coordinate.v - joint.v]
        way = self.rows(screw.angular if coordinate.unit == "rad" else screw.velocity)
        return -way if joint.reverse else way


def _gravity(track: Track) -> Iterator[Force]:
    for path, body in track.mechanism.model.bodies():
        if body.mass > 0:
            weight = np.tile(
                body.mass * body.gravity_scale * np.array(track.mechanism.model.gravity), (len(track.time), 1)
            )
            yield Force(path, "gravity", track.node[path], np.array(body.center_of_mass), weight)


def _elements(track: Track) -> Iterator[Force]:
    """What every force of the plan does, as it says itself; those with states of their own, and friction that follows
    from what joints bear, are left out, since no run stores these.
    """
    for element in track.mechanism.plan.forces:
        if not element.states and not element.bears:
            load = Load(track.motion, track.motion.rooted)
            FORCES[element.kind].apply(element, track.motion, load, [])
            kind = NAMES.get(element.kind) or FORCES[element.kind].drawing or "load"
            yield from _along_joints(track, element, load, kind)
            yield from _on_bodies(track, element, load, kind)


def _along_joints(track: Track, element: ForceElement, load: Load, kind: str) -> Iterator[Force]:
    """Forces and torques along coordinates of joints, on their children."""
    for index in element.coordinates:
        coordinate = track.mechanism.plan.coordinates[index]
        if coordinate.v in load.generalized:
            vectors = track.rows([load.generalized[coordinate.v]]) * track.along(index)
            child = track.mechanism.joints[track.mechanism.plan.joints[coordinate.joint].path].child
            yield track.on(child, element.path, kind, vectors, torque=coordinate.unit == "rad")


def _on_bodies(track: Track, element: ForceElement, load: Load, kind: str) -> Iterator[Force]:
    """Wrenches on the bodies of frames. With an axis of the first of two frames, both act at the second one."""
    chain = track.motion.rooted
    for placed in element.frames:
        if placed.node not in load.wrenches:
            continue
        moment, force = (track.rows(part) for part in load.wrenches[placed.node])
        at = element.frames[-1] if element.direction else placed
        yield track.at(at, element.path, kind, force)
        if len(element.frames) == 1:
            rest = moment - np.cross(track.rows(chain.frame(placed)[1]), force)
            yield track.at(placed, element.path, kind, rest, torque=True)


def _reactions(track: Track) -> Iterator[Force]:
    for channel in track.study.channels:
        path = curves.owner_of(track.study, channel)
        if channel.endswith(REACTION) and path in track.mechanism.joints:
            vectors = np.asarray(track.study.channel(channel, track.member), float)[: len(track.time)]
            yield track.on(track.mechanism.joints[path].child, path, "reaction", vectors)
