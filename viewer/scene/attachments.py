"""Where joints are attached to the bodies of a model, and the sizes of automatic shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, Body, Frame
from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.rotations import AXES
from shiftjax.viewer.scene.affine import bounding_sphere, of_frame, transformed, z_along

WIDTH = 0.06  # half width of a bar, in parts of the length of a model's longer bars
LONGER = 0.75  # quantile of the lengths of bars
NARROWEST, WIDEST = 0.006, 0.045  # bounds of the half width, in radii of the model
SAME = 0.2  # half widths within which two points of a body count as one
FAR = 4.0  # a frame without joint is part of the body's shape within so many radii of the model
LEVELS = 5  # thicknesses of bars: they differ for bodies joined to each other, against z-fighting


@record
class Attachment:
    """A joint on one of its two bodies."""

    joint: str  # path
    drawing: str  # hint of its kind: "hinge", "slider", "ball", "weld" or "free"
    frame: str  # plain name of the joint's frame on the body
    transform: np.ndarray  # (4, 4) of that frame; its z is along the axis where the joint has one
    other: str  # path of the other body

    @property
    def point(self) -> np.ndarray:
        return self.transform[:3, 3]

    @property
    def axis(self) -> np.ndarray:
        return self.transform[:3, 2]


@record
class Style:
    """Sizes of automatic shapes, from the model at its first poses, and what its motion asks of them."""

    width: float  # half width of a bar [m]
    radius: float  # of a bounding sphere of joints and centres of mass [m]
    layers: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)  # see `layers.layers_of`
    travel: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # see `sliding.travel_of`


def joint_axis(type: str, axis: Sequence[float] | None) -> np.ndarray:
    """(3,) unit axis of a joint in its frames; z for those without."""
    kind = KINDS[type]
    if kind.needs_axis and not (axis is not None and any(axis)):
        return np.array(AXES["z"])
    return np.array(kind.direction({"axis": axis}) or AXES["z"], float)


@record
class BuildContext:
    """What the parts of a scene are built from: a model with its bodies as numbered nodes."""

    model: Model
    bodies: dict[str, Body]  # the active ones
    nodes: dict[str, int]  # "fixed" and every body to its number
    frames: dict[str, tuple[Frame, ...]]
    attachments: dict[str, tuple[Attachment, ...]]
    poses: np.ndarray  # (nodes, 4, 4) at the start
    style: Style

    @classmethod
    def of(cls, model: Model, first_poses: Mapping[str, np.ndarray], style: Style | None = None) -> BuildContext:
        """Nodes are numbered in the order of `first_poses`, which is that of every later pose; ground is the first."""
        bodies = dict(model.bodies())
        nodes = {path: k for k, path in enumerate(dict.fromkeys((FIXED, *first_poses)))}
        frames = {FIXED: model.frames, **{path: body.frames for path, body in bodies.items()}}
        poses = np.stack([np.eye(4), *(matrices(first_poses[path]) for path in nodes if path != FIXED)])
        attachments = attachments_of(model, frames)
        style = style or style_of(bodies, attachments, _acted_points(model, frames), poses)
        return cls(model, bodies, nodes, frames, attachments, poses, style)


def attachments_of(model: Model, frames: Mapping[str, Sequence[Frame]]) -> dict[str, tuple[Attachment, ...]]:
    """Every body's joints, in the order of the file; ground is "fixed"."""
    out: dict[str, list[Attachment]] = {path: [] for path in frames}
    for path, joint in model.joints():
        turn = np.eye(4)
        turn[:3, :3] = z_along(joint_axis(joint.type, joint.axis))
        for here, there in ((joint.parent, joint.child), (joint.child, joint.parent)):
            where = of_frame(frames[here.body], here.frame) @ turn
            out[here.body].append(Attachment(path, KINDS[joint.type].drawing, here.frame, where, there.body))
    return {path: tuple(attachments) for path, attachments in out.items()}


def _acted_points(model: Model, frames: Mapping[str, Sequence[Frame]]) -> dict[str, list[np.ndarray]]:
    """Every body's points at which bushings, contacts and constraints between frames act on it."""
    out: dict[str, list[np.ndarray]] = {path: [] for path in frames}
    for _, item in (*model.force_modules(), *model.constraints()):
        for ref in item.frames if len(item.frames) == 2 else ():
            out[ref.body].append(of_frame(frames[ref.body], ref.frame)[:3, 3])
    return out


def joint_points(attachments: Sequence[Attachment], near: float = 0.0) -> list[np.ndarray]:
    """The different points at which joints hold a body, free ones left out; those nearer than `near` [m] are merged."""
    return distinct([c.point for c in attachments if c.drawing != "free"], near)


def other_points(
    path: str, body: Body, attachments: Sequence[Attachment], lit: set[str], far: float
) -> list[np.ndarray]:
    """The frames that no joint and no light uses, such as a foot or a tool, unless farther away than `far` [m]."""
    used = {attachment.frame for attachment in attachments}
    points = [np.array(f.T, float) for f in body.frames if f.name not in used and child(path, f.name) not in lit]
    start = joint_points(attachments) or [np.zeros(3)]
    return [p for p in points if min(np.linalg.norm(p - q) for q in start) <= far]


def distinct(points: Sequence[np.ndarray], near: float) -> list[np.ndarray]:
    """The points that are farther than `near` [m] from all earlier ones."""
    out: list[np.ndarray] = []
    for p in points:
        if all(np.linalg.norm(p - q) > near for q in out):
            out.append(p)
    return out


def style_of(
    bodies: Mapping[str, Body],
    attachments: Mapping[str, Sequence[Attachment]],
    acted: Mapping[str, Sequence[np.ndarray]],
    poses: np.ndarray,
) -> Style:
    """Sizes from the joints, centres of mass and inertias, and points where forces act, at the first poses.

    The half width of a bar follows the longer ones of the bodies' lengths, within bounds set by the whole model.
    """
    world = [c.point for c in attachments[FIXED] if c.drawing != "free"]
    lengths, roundness = [], [0.0]
    for (path, body), pose in zip(bodies.items(), poses[1:], strict=True):
        points = [*joint_points(attachments[path]), *acted[path]]
        if body.mass > 0:
            points.append(np.array(body.center_of_mass, float))
            roundness.append(float(np.sqrt(max(np.trace(np.array(body.inertia.matrix)), 0.0) / body.mass)))
        if points:
            world += list(transformed(pose, np.array(points)))
            lengths.append(max(float(np.linalg.norm(p - q)) for p in points for q in points))
    radius = bounding_sphere(np.array(world))[1] if world else 0.0
    if radius <= 0.0:
        radius = max(roundness) or 0.5
    lengths = [length for length in lengths if length > 1e-3 * radius]
    longer = float(np.quantile(lengths, LONGER)) if lengths else radius
    return Style(float(np.clip(WIDTH * longer, NARROWEST * radius, WIDEST * radius)), radius)


def levels(order: Sequence[str], attachments: Mapping[str, Sequence[Attachment]]) -> dict[str, int]:
    """A number below `LEVELS` for every body, where possible different from those of the bodies it is joined to."""
    out: dict[str, int] = {}
    for path in order:
        taken = {out[c.other] for c in attachments[path] if c.other in out}
        out[path] = next((k for k in range(LEVELS) if k not in taken), 0)
    return out
