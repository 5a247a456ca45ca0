"""Restraints between frames of bodies that a scene shows, and rods of a constant length: which a model has, and how
thick each is drawn. NumPy only.

Where a law takes one component of the distance only, the force acts at the second frame, along that axis of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import FrameRef
from shiftjax.rotations import AXES
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import as_tuple, of_frame, transformed, z_along
from shiftjax.viewer.scene.attachments import BuildContext
from shiftjax.viewer.scene.scene import SceneSpring
from shiftjax.viewer.scene.sliding import OVERHANG, Slide, joint_frames
from shiftjax.viewer.scene.spring_meshes import span

ROUND = 1.1  # radius of a coil about a rod, in half widths of a bar
PISTON = 1.1  # radius in half widths of a bar; a damper fits into the coil about it
RADII = {"spring": 1.6, "rod": 0.5}
THINNEST, THICKEST = 0.025, 0.1  # bounds of that half width, in lengths at the start


def springs_of(context: BuildContext, slides: Mapping[str, Slide]) -> tuple[SceneSpring, ...]:
    """The restraints and rods between two frames, and the springs of sliding joints about their rods."""
    springs = list(_of_sliders(context, slides))
    for path, kind, frames, component in _between_frames(context):
        a, b = (context.nodes[ref.body] for ref in frames)
        here, there = (of_frame(context.frames[ref.body], ref.frame) for ref in frames)
        axis = as_tuple(here[:3, :3] @ AXES[component[-1]]) if component else None
        points, width = (as_tuple(here[:3, 3]), as_tuple(there[:3, 3])), context.style.width
        radius = RADII.get(kind, PISTON)
        spring = SceneSpring(path, kind, (a, b), points, axis, (1.0, 0.0, 0.0), radius * width)
        _, along = span(spring, context.poses)
        if along.any():
            across = context.poses[a][:3, :3].T @ z_along(along)[:, 0]
            length = float(np.linalg.norm(along))
            width = min(max(width, THINNEST * length), THICKEST * length)
            made = shapes.common_length(length / (radius * width))
            spring = replace(spring, across=as_tuple(across), radius=radius * width, slenderness=made)
        springs.append(spring)
    return tuple(springs)


def _between_frames(context: BuildContext) -> Iterator[tuple[str, str, Sequence[FrameRef], str | None]]:
    """Path, kind, frames, and the component of their distance of what stands between two frames."""
    for path, restraint in context.model.restraints():
        if restraint.frames is not None:
            yield path, restraint.type, restraint.frames, restraint.distance_type
    yield from (
        (path, "rod", item.frames, None) for path, item in context.model.constraints() if item.type == "distance"
    )


def _of_sliders(context: BuildContext, slides: Mapping[str, Slide]) -> Iterator[SceneSpring]:
    """A coil from the mouth of a telescope, or from the end of a rod, to the child."""
    for path, joint in context.model.joints():
        if path not in slides or isinstance(joint.stiffness, FrozenJson) or not any(joint.stiffness[1:]):
            continue
        slide, (near, far) = slides[path], joint_frames(context, joint)
        width = context.style.width
        start, end = (slide.mouth, slide.eye) if slide.telescope else (slide.low - OVERHANG * width, 0.0)
        nodes = (context.nodes[joint.parent.body], context.nodes[joint.child.body])
        points = transformed(near, np.array([0.0, 0.0, start])), transformed(far, np.array([0.0, 0.0, end]))
        start_to_end = as_tuple(points[0]), as_tuple(points[1])
        spring = SceneSpring(path, "spring", nodes, start_to_end, None, as_tuple(near[:3, 0]), ROUND * width)
        _, along = span(spring, context.poses)
        made = shapes.common_length(float(np.linalg.norm(along)) / (ROUND * width))
        yield replace(spring, slenderness=made)
