"""Sliding pairs as rod in barrel: lengths that fit the displacements reached. NumPy only.

Two bodies that are each held at one further point on the axis, as a cylinder and its rod, make a telescope: the parent
is the barrel, the child the rod. Any other pair is a rod on the parent through a barrel on the child.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.records import FIXED, Joint
from shiftjax.record import record
from shiftjax.viewer.scene.affine import of_frame, transform, transformed, z_along
from shiftjax.viewer.scene.attachments import SAME, BuildContext, distinct, joint_axis

RODS = ("slider", "cylinder", "screw")  # drawings of kinds that slide along an axis, of which the last turn about it
SLIDING = (*RODS, "slot", "ball_slider")  # and of those whose child is led at a point, and turns across the axis, too
OVERHANG = 3.0  # of a rod beyond the displacements reached, in half widths of a bar
ON_AXIS = 0.5  # half widths within which a point lies on the axis
BARREL, ROD = 0.8, 0.95  # of a telescope in parts of its shortest length
BROADEST = 3.0  # half side across, of the box of a body's inertia, in half widths of a bar
LONGEST = 1.5  # radii of the model: displacements of a wider range are not covered by a rod
OVERLAP = 0.1  # of its shortest length that the rod stays in the barrel, where both are long enough for that


@record
class Slide:
    """A sliding joint; lengths are along the axis, z of the joint's frames, from the parent's frame unless said [m]."""

    low: float  # displacements that the child reaches
    high: float
    telescope: bool = False
    base: float = 0.0  # where the parent is held
    eye: float = 0.0  # where the child is held, from the child's frame
    barrel: float = 0.0  # lengths, below zero where the eye is on the negative side of the base
    rod: float = 0.0

    @property
    def mouth(self) -> float:
        """Where the barrel of a telescope ends."""
        return self.base + self.barrel


def joint_frames(context: BuildContext, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """(4, 4) twice: the frames of the parent and of the child on their bodies, z along the axis."""
    turn = transform(R=z_along(joint_axis(joint.type, joint.axis)))
    near, far = (of_frame(context.frames[ref.body], ref.frame) @ turn for ref in (joint.parent, joint.child))
    return near, far


def travel_of(context: BuildContext, motion: np.ndarray) -> dict[str, tuple[float, float]]:
    """Joint path -> lowest and highest displacement [m] of every sliding joint.

    Args:
        motion: (n, nodes, 4, 4) of the nodes in the world at some instants.
    """
    out = {}
    for path, joint in context.model.joints():
        if KINDS[joint.type].drawing not in SLIDING:
            continue
        near, far = joint_frames(context, joint)
        a, b = (context.nodes[ref.body] for ref in (joint.parent, joint.child))
        gap = (np.linalg.inv(motion[:, a] @ near) @ motion[:, b] @ far)[:, 2, 3]
        out[path] = (float(gap.min()), float(gap.max()))
    return out


def slides_of(context: BuildContext, travel: Mapping[str, tuple[float, float]]) -> dict[str, Slide]:
    """Joint path -> how a sliding joint is drawn; the displacement at the start is always within its range."""
    starts = travel_of(context, context.poses[None])
    out = {}
    for path, joint in context.model.joints():
        if path not in starts:
            continue
        low, high = travel.get(path, starts[path])
        if high - low > LONGEST * context.style.radius:
            low, high = starts[path]  # a vehicle that drives away
        slide = Slide(min(low, starts[path][0]), max(high, starts[path][1]))
        drawing = KINDS[joint.type].drawing
        if drawing in ("cylinder", "screw"):  # its rod stands on the parent, where that is held
            slide = Slide(min(slide.low, 0.0), max(slide.high, 0.0))
        out[path] = (_telescope(context, path, joint, slide) if drawing in RODS else None) or slide
    return out


def _telescope(context: BuildContext, path: str, joint: Joint, slide: Slide) -> Slide | None:
    """The slide with the lengths of barrel and rod, where both bodies are held on its axis once more."""
    base, eye = (
        _held_at(context, path, ref.body, frame)
        for ref, frame in zip((joint.parent, joint.child), joint_frames(context, joint), strict=True)
    )
    if base is None or eye is None:
        return None
    lengths = slide.low + eye - base, slide.high + eye - base
    if lengths[0] * lengths[1] <= 0:
        return None  # it would turn inside out
    way = float(np.sign(lengths[0]))
    short, long = sorted(abs(length) for length in lengths)
    if short < OVERHANG * context.style.width:
        return None
    barrel = BARREL * short
    rod = min(max(long - barrel + OVERLAP * short, 0.5 * short), ROD * short)
    return Slide(slide.low, slide.high, True, base, eye, way * barrel, way * rod)


def _held_at(context: BuildContext, path: str, body: str, frame: np.ndarray) -> float | None:
    """Where the other joints hold a body, along z of a frame of it [m]; None if not at one point of that axis."""
    width = context.style.width
    if body == FIXED or context.bodies[body].geometry or _broad(context, body):
        return None
    others = [c for c in context.attachments[body] if c.joint != path]
    if not others or any(c.drawing not in ("hinge", "ball") for c in others):
        return None
    points = distinct([c.point for c in others], SAME * width)
    local = transformed(np.linalg.inv(frame), np.array(points))
    if len(points) > 1 or np.linalg.norm(local[0, :2]) > ON_AXIS * width:
        return None
    return float(local[0, 2])


def _broad(context: BuildContext, path: str) -> bool:
    """Whether a body is broader than a cylinder of the drawing, by its inertia."""
    body = context.bodies[path]
    if body.mass <= 0:
        return False
    moments = np.linalg.eigvalsh(np.array(body.inertia.matrix))
    square = np.sort(np.maximum(0.5 * moments.sum() - moments, 0.0)) / body.mass  # mean squares of the coordinates
    return bool(np.sqrt(3.0 * square[1]) > BROADEST * context.style.width)
