"""Restraints between frames of bodies: which a model has, and what they look like at one instant. NumPy only.

A coil for a spring, a piston in its cylinder for a damper or friction, from frame to frame; the whole figure is
stretched. Where a law takes one component of the distance only, the force acts at the second frame, along that axis of
the first: the figure starts at the foot of the second frame on the plane across the axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from shiftjax.rotations import AXES
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.attachments import BuildContext
from shiftjax.viewer.scene.scene import Colour, Mesh, Part, Scene, Spring
from shiftjax.viewer.scene.sliding import OVERHANG, Slide, joint_frames
from shiftjax.viewer.scene.transforms import as_tuple, of_frame, transform, transformed, z_along

TURNS, AROUND = 8, 16  # of a coil, points of a turn
LEAD = 0.12  # straight piece at either end of a coil, in parts of its length
WIRE = 0.16  # radius of a coil's wire, in radii of the coil
ROUND = 1.1  # radius of a coil about a rod, in half widths of a bar
COIL, PISTON = 1.6, 1.1  # radii in half widths of a bar; a damper fits into the coil about it
THINNEST, THICKEST = 0.025, 0.1  # bounds of that half width, in lengths at the start
SPRING: Colour = (0.10, 0.42, 0.30, 1.0)
DAMPER: Colour = (0.36, 0.30, 0.26, 1.0)
KINDS = ("spring", "damper", "friction")


def springs_of(context: BuildContext, slides: Mapping[str, Slide]) -> tuple[Spring, ...]:
    """The restraints that act between two frames, and the springs of sliding joints about their rods."""
    found = list(_of_sliders(context, slides))
    for path, restraint in context.model.restraints():
        if restraint.frames is None:
            continue
        a, b = (context.nodes[ref.body] for ref in restraint.frames)
        here, there = (of_frame(context.frames[ref.body], ref.frame) for ref in restraint.frames)
        kind = restraint.distance_type
        axis = as_tuple(here[:3, :3] @ AXES[kind[-1]]) if kind else None
        points, width = (as_tuple(here[:3, 3]), as_tuple(there[:3, 3])), context.style.width
        radius = COIL if restraint.type == "spring" else PISTON
        spring = Spring(path, restraint.type, (a, b), points, axis, (1.0, 0.0, 0.0), radius * width)
        _, along = _span(spring, context.poses)
        if along.any():
            across = context.poses[a][:3, :3].T @ z_along(along)[:, 0]
            length = float(np.linalg.norm(along))
            width = min(max(width, THINNEST * length), THICKEST * length)
            made = shapes.common_length(length / (radius * width))
            spring = replace(spring, across=as_tuple(across), radius=radius * width, slenderness=made)
        found.append(spring)
    return tuple(found)


def _of_sliders(context: BuildContext, slides: Mapping[str, Slide]) -> Iterator[Spring]:
    """A coil from the mouth of a telescope, or from the end of a rod, to the child."""
    for path, joint in context.model.joints():
        if path not in slides or not any(joint.stiffness[1:]):
            continue
        slide, (near, far) = slides[path], joint_frames(context, joint)
        width = context.style.width
        start, end = (slide.mouth, slide.eye) if slide.telescope else (slide.low - OVERHANG * width, 0.0)
        nodes = (context.nodes[joint.parent.body], context.nodes[joint.child.body])
        points = transformed(near, np.array([0.0, 0.0, start])), transformed(far, np.array([0.0, 0.0, end]))
        spring = Spring(path, "spring", nodes, (as_tuple(points[0]), as_tuple(points[1])), None, as_tuple(near[:3, 0]),
                        ROUND * width)  # fmt: skip
        _, along = _span(spring, context.poses)
        made = shapes.common_length(float(np.linalg.norm(along)) / (ROUND * width))
        yield replace(spring, slenderness=made)


def _span(spring: Spring, transforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Its start, and the vector from there to its end [m], in the world."""
    (a, b), (p, q) = spring.nodes, np.array(spring.points)
    start, end = transformed(transforms[a], p), transformed(transforms[b], q)
    if spring.axis is None:
        return start, end - start
    axis = transforms[a][:3, :3] @ spring.axis
    along = axis * (axis @ (end - start))
    return end - along, along


def stretched(spring: Spring, transforms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transform of its `figure`: start (3,) [m], rotation (3, 3), scales (3,) [m].

    Args:
        transforms: (nodes, 4, 4) of the nodes in the world.
    """
    start, along = _span(spring, transforms)
    R = z_along(along, transforms[spring.nodes[0]][:3, :3] @ spring.across) if along.any() else np.eye(3)
    return start, R, np.array([spring.radius, spring.radius, np.linalg.norm(along)])


def drawn_parts(scene: Scene) -> tuple[Part, ...]:
    """All parts of a scene, its springs after the others; `placed` says where each is."""
    return scene.parts + tuple(
        Part(
            figure(spring.kind, spring.slenderness),
            spring.nodes[0],
            np.eye(4),
            colour_of(spring),
            spring.path,
            "spring",
        )
        for spring in scene.springs
    )


def placed(springs: tuple[Spring, ...], transforms: np.ndarray) -> np.ndarray:
    """(springs, 4, 4) figures to the world; `transforms` as of `stretched`."""
    out = [transform(*stretched(spring, transforms)) for spring in springs]
    return np.array(out, float).reshape(-1, 4, 4)


def colour_of(spring: Spring) -> Colour:
    return SPRING if spring.kind == "spring" else DAMPER


def figure(kind: str, slenderness: float) -> Mesh:
    """A solid of radius 1 about z, from z = 0 to 1; its wire is round at this length over its radius."""
    return _coil(slenderness) if kind == "spring" else _dashpot()


@lru_cache
def _coil(slenderness: float) -> Mesh:
    angle = np.linspace(0.0, 2 * math.pi * TURNS, TURNS * AROUND + 1)
    z = np.linspace(LEAD, 1 - LEAD, len(angle))
    out = 1.0 - WIRE
    turns = np.stack([out * np.cos(angle), out * np.sin(angle), slenderness * z], axis=1)
    ends = [[0.0, 0.0, slenderness * k] for k in (0.0, 0.9 * LEAD, 1 - 0.9 * LEAD, 1.0)]
    points = tuple(tuple(map(float, point)) for point in (*ends[:2], *turns, *ends[2:]))
    return shapes.squeezed(shapes.wire(points, WIRE), f"coil {slenderness}", slenderness)  # type: ignore[arg-type]


def _dashpot() -> Mesh:
    """A rod that enters a cylinder, closed on its far side, and the rod beyond."""
    return shapes.turned((0.0, 0.3, 0.0, 0.6), (0.35, 1.0, 0.4, 0.42), (0.8, 1.0, 0.42, 0.86),
                         (0.0, 1.0, 0.86, 0.88), (0.0, 0.3, 0.88, 1.0))  # fmt: skip
