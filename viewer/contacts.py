"""Where the joints of a model touch its bodies, and the size in which automatic shapes are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, Body, Frame
from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.rotations import AXES
from shiftjax.viewer.places import ball, facing, moved, of_frame

WIDTH = 0.06  # half width of a bar, in parts of the length of a model's longer bars
LONGER = 0.75  # quantile of the lengths that counts as one of the longer
NARROWEST, WIDEST = 0.006, 0.045  # the same in parts of the model's radius
SAME = 0.2  # half widths within which two points of a body count as one
FAR = 4.0  # a frame that no joint uses counts for the body's shape within so many radii of the model
LEVELS = 5  # thicknesses of bars: bodies joined to each other differ, else their faces would flicker


@record
class Contact:
    """A joint as one of its two bodies sees it."""

    joint: str  # path
    drawing: str  # hint of its kind: "hinge", "slider", "ball", "weld" or "free"
    frame: str  # plain name of the joint's frame on the body
    place: np.ndarray  # (4, 4) of that frame; its z is along the axis where the joint has one
    other: str  # path of the other body

    @property
    def point(self) -> np.ndarray:
        return self.place[:3, 3]

    @property
    def axis(self) -> np.ndarray:
        return self.place[:3, 2]


@record
class Style:
    """The model's sizes at its first pose."""

    width: float  # half width of a bar [m]
    radius: float  # of a ball about joints and centres of mass [m]


def joint_axis(type: str, axis: Sequence[float] | None) -> np.ndarray:
    """(3,) unit axis of a joint in its frames; z for those without."""
    kind = KINDS[type]
    if kind.needs_axis and not (axis is not None and any(axis)):
        return np.array(AXES["z"])
    return np.array(kind.direction({"axis": axis}) or AXES["z"], float)


@record
class Survey:
    """A model by its nodes: what every part of a scene is made from."""

    model: Model
    bodies: dict[str, Body]  # the active ones
    nodes: dict[str, int]  # "fixed" and every body to its number
    frames: dict[str, tuple[Frame, ...]]
    contacts: dict[str, tuple[Contact, ...]]
    poses: np.ndarray  # (nodes, 4, 4) at the start
    style: Style

    @classmethod
    def of(cls, model: Model, first_poses: Mapping[str, np.ndarray], style: Style | None = None) -> Survey:
        """Nodes are numbered in the order of `first_poses`, which is that of every later pose; ground is the first."""
        bodies = dict(model.bodies())
        nodes = {path: k for k, path in enumerate(dict.fromkeys((FIXED, *first_poses)))}
        frames = {FIXED: model.frames, **{path: body.frames for path, body in bodies.items()}}
        poses = np.stack([np.eye(4), *(matrices(first_poses[path]) for path in nodes if path != FIXED)])
        contacts = contacts_of(model, frames)
        return cls(model, bodies, nodes, frames, contacts, poses, style or style_of(bodies, contacts, poses))


def contacts_of(model: Model, frames: Mapping[str, Sequence[Frame]]) -> dict[str, tuple[Contact, ...]]:
    """Every body's joints, in the order of the file; ground is "fixed"."""
    out: dict[str, list[Contact]] = {path: [] for path in frames}
    for path, joint in model.joints():
        turn = np.eye(4)
        turn[:3, :3] = facing(joint_axis(joint.type, joint.axis))
        for here, there in ((joint.parent, joint.child), (joint.child, joint.parent)):
            where = of_frame(frames[here.body], here.frame) @ turn
            out[here.body].append(Contact(path, KINDS[joint.type].drawing, here.frame, where, there.body))
    return {path: tuple(found) for path, found in out.items()}


def joint_points(contacts: Sequence[Contact], near: float = 0.0) -> list[np.ndarray]:
    """The different points at which joints hold a body, free ones left out; those nearer than `near` [m] are one."""
    return distinct([c.point for c in contacts if c.drawing != "free"], near)


def other_points(path: str, body: Body, contacts: Sequence[Contact], lit: set[str], far: float) -> list[np.ndarray]:
    """The frames that no joint and no light uses, such as a foot or a tool, unless farther away than `far` [m]."""
    used = {contact.frame for contact in contacts}
    points = [np.array(f.T, float) for f in body.frames if f.name not in used and child(path, f.name) not in lit]
    start = joint_points(contacts) or [np.zeros(3)]
    return [p for p in points if min(np.linalg.norm(p - q) for q in start) <= far]


def distinct(points: Sequence[np.ndarray], near: float) -> list[np.ndarray]:
    """The points without those within `near` [m] of an earlier one."""
    out: list[np.ndarray] = []
    for p in points:
        if all(np.linalg.norm(p - q) > near for q in out):
            out.append(p)
    return out


def style_of(bodies: Mapping[str, Body], contacts: Mapping[str, Sequence[Contact]], poses: np.ndarray) -> Style:
    """Sizes from the joints, centres of mass and inertias at the first poses.

    The half width of a bar follows the longer ones of the bodies' lengths, within bounds set by the whole model.
    """
    world = [c.point for c in contacts[FIXED] if c.drawing != "free"]
    lengths, roundness = [], [0.0]
    for (path, body), pose in zip(bodies.items(), poses[1:], strict=True):
        points = joint_points(contacts[path])
        if body.mass > 0:
            points.append(np.array(body.center_of_mass, float))
            roundness.append(float(np.sqrt(max(np.trace(np.array(body.inertia.matrix)), 0.0) / body.mass)))
        if points:
            world += list(moved(pose, np.array(points)))
            lengths.append(max(float(np.linalg.norm(p - q)) for p in points for q in points))
    radius = ball(np.array(world))[1] if world else 0.0
    if radius <= 0.0:
        radius = max(roundness) or 0.5
    lengths = [length for length in lengths if length > 1e-3 * radius]
    longer = float(np.quantile(lengths, LONGER)) if lengths else radius
    return Style(float(np.clip(WIDTH * longer, NARROWEST * radius, WIDEST * radius)), radius)


def levels(order: Sequence[str], contacts: Mapping[str, Sequence[Contact]]) -> dict[str, int]:
    """A number below `LEVELS` for every body, where possible another one than those of the bodies it is joined to."""
    out: dict[str, int] = {}
    for path in order:
        taken = {out[c.other] for c in contacts[path] if c.other in out}
        out[path] = next((k for k in range(LEVELS) if k not in taken), 0)
    return out
