"""Shapes of joints: pins through layers, balls, welds, rods in barrels; coloured by their role in the spanning tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.paths import split
from shiftjax.mechanism.records import Joint
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transform, z_along
from shiftjax.viewer.scene.attachments import BuildContext
from shiftjax.viewer.scene.layers import shift_along
from shiftjax.viewer.scene.palette import faded
from shiftjax.viewer.scene.scene import Colour, Mesh, ScenePart
from shiftjax.viewer.scene.sliding import OVERHANG, SLIDING, Slide, joint_frames
from shiftjax.viewer.scene.spring_meshes import SPRING

ULTRAMARINE: Colour = (0.16, 0.14, 0.70, 1.0)  # joints of the tree
PURPLE: Colour = (0.56, 0.16, 0.66, 1.0)  # joints that close loops
RED: Colour = (0.80, 0.14, 0.12, 1.0)  # locked joints

CUT_LARGER = 1.06  # factor, so that a loop-closing joint is visible around another one on the same pin

# in half widths of a bar
PIN, PIN_LENGTH = 0.6, 1.7
BALL = 0.85
WELD = 1.3
ARM, PLATE, THICK = 0.35, 3.0, 0.3  # of a universal joint's cross; of a planar joint
RAIL, BARREL, BARREL_LENGTH = 0.28, 1.2, 2.6
CYLINDER, PISTON_ROD, COLLAR = 1.3, 0.65, 0.7  # radii of a telescope and length of the collar about its mouth
SPIRAL = 1.9
LEAD, PER_TURN = 0.6, 12  # way of a turn of a thread, in half widths; points of a turn

JointShape = tuple[bool, Mesh, np.ndarray]  # whether on the child, mesh, transform to the joint's frame (4, 4)


def joint_parts(context: BuildContext, slides: Mapping[str, Slide], cut: frozenset[str]) -> Iterator[ScenePart]:
    """The parts of every joint except free ones: on its parent, except for the barrel about a rod, on its child.

    Args:
        slides: of `sliding.slides_of`.
        cut: paths of the joints that close loops.
    """
    sprung = sprung_joints(context)
    for path, joint in context.model.joints():
        drawing, end = KINDS[joint.type].drawing, 0.0
        near, far = joint_frames(context, joint)
        a, b = (context.nodes[ref.body] for ref in (joint.parent, joint.child))
        colour = RED if drawing == "weld" or joint.lock else PURPLE if path in cut else ULTRAMARINE
        colour = faded(colour, virtual=joint.virtual)
        width = context.style.width * (CUT_LARGER if path in cut else 1.0)
        if drawing in SLIDING:
            made = slider_shapes(slides[path], width, drawing)
        else:
            axes = ((joint.parent.body, near[:3, 2]), (joint.child.body, far[:3, 2]))
            shifts = sorted(shift_along(context.style.layers, body, axis) for body, axis in axes)
            made = joint_shapes(drawing, width, (shifts[0], shifts[1]))
            end = shifts[1] + 0.5 * (PIN_LENGTH + 0.3) * width
        for on_child, mesh, local in made:
            node, where = (b, far) if on_child else (a, near)
            yield ScenePart(mesh, node, where @ local, colour, path, "joint")
        if drawing == "hinge" and path in sprung:
            where = near @ transform([0.0, 0.0, end], scale=SPIRAL * width)
            yield ScenePart(shapes.spiral(), a, where, SPRING, sprung[path], "spring")


def sprung_joints(context: BuildContext) -> dict[str, str]:
    """Path of every joint with a stiffness or a spring of its own -> path of what says so."""
    sprung = {path: path for path, joint in context.model.joints() if elastic(joint)}
    springs = [(path, r.joint) for path, r in context.model.restraints() if r.joint is not None and r.type == "spring"]
    springs += [(path, f.joints[0]) for path, f in context.model.force_modules() if f.type == "joint_spring"]
    return {split(joint)[0]: path for path, joint in springs} | sprung


def elastic(joint: Joint) -> bool:
    """Whether a joint has a stiffness that grows with one of its coordinates."""
    each = joint.stiffness.values() if isinstance(joint.stiffness, FrozenJson) else [joint.stiffness]
    return any(any(coefficients[1:]) for coefficients in each)


def joint_shapes(drawing: str, width: float, shifts: tuple[float, float] = (0.0, 0.0)) -> list[JointShape]:
    """Shapes of a joint that does not slide, along z of its frames; none for a free one.

    Args:
        drawing: hint of the joint's kind.
        width: half width of a bar [m].
        shifts: lowest and highest layer of what a pin holds [m].
    """
    if drawing == "hinge":
        length = shifts[1] - shifts[0] + PIN_LENGTH * width
        where = transform([0.0, 0.0, 0.5 * sum(shifts)], scale=[PIN * width, PIN * width, length])
        return [(False, shapes.cylinder(), where)]
    if drawing == "cross":
        arms = [
            transform(R=z_along(axis), scale=[ARM * width, ARM * width, PIN_LENGTH * width])
            for axis in np.eye(3)[[0, 2]]
        ]
        return [(False, shapes.cylinder(), arm) for arm in arms]
    if drawing in ("plate", "ball_plate"):
        plate = (False, shapes.box(), transform(scale=[PLATE * width, THICK * width, PLATE * width]))
        ball = (True, shapes.sphere(), transform(scale=BALL * width))
        return [plate] if drawing == "plate" else [plate, ball]
    if drawing == "ball":
        return [(False, shapes.sphere(), transform(scale=BALL * width))]
    if drawing == "weld":
        return [(False, shapes.box(), transform(scale=WELD * width))]
    return []


def slider_shapes(slide: Slide, width: float, drawing: str) -> list[JointShape]:
    """The collar about the mouth of a telescope; else a rod over all displacements and what runs on it.

    That is a barrel, a pin across it or a ball; the rod of a screw has a thread.
    """
    if slide.telescope:
        ring = shapes.turned((0.5, 1.0, -0.5, 0.5))
        scale = [1.15 * CYLINDER * width, 1.15 * CYLINDER * width, COLLAR * width]
        return [(False, ring, transform([0.0, 0.0, slide.mouth], scale=scale))]
    low, high = slide.low - OVERHANG * width, slide.high + OVERHANG * width
    rail = transform([0.0, 0.0, 0.5 * (low + high)], scale=[RAIL * width, RAIL * width, high - low])
    guide = (False, shapes.cylinder(), rail)
    if drawing == "ball_slider":
        return [guide, (True, shapes.sphere(), transform(scale=BALL * width))]
    if drawing == "slot":
        across = np.linalg.inv(transform(R=z_along(np.eye(3)[0])))  # the pin is along z of frames whose x is the slot
        return [
            guide,
            (True, shapes.cylinder(), across @ transform(scale=[PIN * width, PIN * width, PIN_LENGTH * width])),
        ]
    barrel = transform(scale=np.array([BARREL, BARREL, BARREL_LENGTH]) * width)
    runs = (True, shapes.turned((0.3, 1.0, -0.5, 0.5)), barrel)
    return [guide, (False, _thread(low, high, width), np.eye(4)), runs] if drawing == "screw" else [guide, runs]


def _thread(low: float, high: float, width: float) -> Mesh:
    """A thread about a rod from low to high [m]: its turns are a sign, not the pitch."""
    z = np.linspace(low, high, max(int((high - low) / (LEAD * width) * PER_TURN), 2))
    angle, radius = 2.0 * np.pi * z / (LEAD * width), RAIL * width
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
    return shapes.wire(tuple((float(x), float(y), float(z)) for x, y, z in points), 0.3 * radius)


def telescope_shapes(context: BuildContext, path: str, slides: Mapping[str, Slide]) -> list[tuple[Mesh, np.ndarray]]:
    """Barrel or rod of a body that slides in or about another one; empty for any other body."""
    width = context.style.width
    for attachment in context.attachments[path]:
        slide = slides.get(attachment.joint)
        if slide is None or not slide.telescope:
            continue
        if dict(context.model.joints())[attachment.joint].parent.body == path:
            middle, length, radius = slide.base + 0.5 * slide.barrel, abs(slide.barrel), CYLINDER
            mesh = shapes.turned((0.0, 1.0, -0.5, -0.47), (0.6, 1.0, -0.47, 0.47), (0.0, 1.0, 0.47, 0.5))
        else:
            middle, length, radius, mesh = slide.eye - 0.5 * slide.rod, abs(slide.rod), PISTON_ROD, shapes.cylinder()
        local = transform([0.0, 0.0, middle], scale=[radius * width, radius * width, length])
        return [(mesh, attachment.transform @ local)]
    return []
