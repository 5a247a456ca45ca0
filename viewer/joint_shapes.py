"""Shapes of joints: pins, balls, welds, rails with their sleeves; coloured by their role in the spanning tree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.viewer import shapes
from shiftjax.viewer.attachments import BuildContext, joint_axis
from shiftjax.viewer.scene import Colour, Mesh, Part
from shiftjax.viewer.transforms import of_frame, transform, z_along

ULTRAMARINE: Colour = (0.16, 0.14, 0.70, 1.0)  # joints of the tree
PURPLE: Colour = (0.56, 0.16, 0.66, 1.0)  # joints that close loops
RED: Colour = (0.80, 0.14, 0.12, 1.0)  # locked joints

CUT_LARGER = 1.06  # factor, so that a loop-closing joint is visible around another one on the same pin

# in half widths of a bar
PIN, PIN_LENGTH = 0.6, 2.2
BALL = 0.85
WELD = 1.3
RAIL, OVERHANG = 0.28, 3.0
SLEEVE, SLEEVE_LENGTH = 1.5, 2.6

JointShape = tuple[bool, Mesh, np.ndarray]  # whether on the child, mesh, transform to the joint's frame (4, 4)


def joint_parts(context: BuildContext, cut: frozenset[str]) -> Iterator[Part]:
    """The parts of every joint except free ones: on its parent, except for a slider's sleeve, which is on its child.

    Args:
        cut: paths of the joints that close loops.
    """
    for path, joint in context.model.joints():
        drawing = KINDS[joint.type].drawing
        turn = transform(R=z_along(joint_axis(joint.type, joint.axis)))
        refs = (joint.parent, joint.child)
        near, far = (of_frame(context.frames[ref.body], ref.frame) @ turn for ref in refs)
        a, b = (context.nodes[ref.body] for ref in refs)
        gap = np.linalg.inv(context.poses[a] @ near) @ context.poses[b] @ far
        colour = RED if drawing == "weld" else PURPLE if path in cut else ULTRAMARINE
        width = context.style.width * (CUT_LARGER if path in cut else 1.0)
        for on_child, mesh, local in joint_shapes(drawing, float(gap[2, 3]), width):
            node, where = (b, far) if on_child else (a, near)
            yield Part(mesh, node, where @ local, colour, path, "joint")


def joint_shapes(drawing: str, displacement: float, width: float) -> list[JointShape]:
    """Shapes of a joint along z of its frames; none for a free one.

    Args:
        drawing: hint of the joint's kind.
        displacement: of the child along z at the start [m], which a rail covers.
        width: half width of a bar [m].
    """
    if drawing == "hinge":
        return [(False, shapes.cylinder(), transform(scale=np.array([PIN, PIN, PIN_LENGTH]) * width))]
    if drawing == "ball":
        return [(False, shapes.sphere(), transform(scale=BALL * width))]
    if drawing == "weld":
        return [(False, shapes.box(), transform(scale=WELD * width))]
    if drawing == "slider":
        low = min(displacement, 0.0) - OVERHANG * width
        high = max(displacement, 0.0) + OVERHANG * width
        rail = transform([0.0, 0.0, 0.5 * (low + high)], scale=[RAIL * width, RAIL * width, high - low])
        sleeve = transform(scale=np.array([SLEEVE, SLEEVE, SLEEVE_LENGTH]) * width)
        return [(False, shapes.cylinder(), rail), (True, shapes.box(), sleeve)]
    return []
