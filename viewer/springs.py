"""Restraints between frames of bodies: which a model has, and what they look like at one instant. NumPy only.

They are drawn as lines from frame to frame: a coil for a spring, a piston in its cylinder for a damper or friction; the
whole figure is stretched. Where a law takes one component of the distance only, the force acts at the second frame,
along that axis of the first: the figure starts at the foot of the second frame on the plane across the axis.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from shiftjax.poses import matrices
from shiftjax.rotations import AXES
from shiftjax.viewer.attachments import BuildContext
from shiftjax.viewer.scene import Colour, Mesh, Snapshot, Spring, Strokes
from shiftjax.viewer.transforms import as_tuple, of_frame, transform, transformed, z_along

TURNS, AROUND = 8, 16  # of a coil, lines of a turn
LEAD = 0.12  # straight piece at either end of a coil, in parts of its length
COIL, PISTON = 1.6, 1.1  # radii in half widths of a bar; a damper fits into the coil about it
THINNEST, THICKEST = 0.025, 0.1  # bounds of that half width, in lengths at the start
SPRING: Colour = (0.10, 0.42, 0.30, 1.0)
DAMPER: Colour = (0.36, 0.30, 0.26, 1.0)
HIGHLIGHTED: Colour = (0.95, 0.45, 0.10, 1.0)


def springs_of(context: BuildContext) -> tuple[Spring, ...]:
    """The restraints that act between two frames."""
    found = []
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
            spring = replace(spring, across=as_tuple(across), radius=radius * width)
        found.append(spring)
    return tuple(found)


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
    """Transform of its figure of `FIGURES`: start (3,) [m], rotation (3, 3), scales (3,) [m].

    Args:
        places: (nodes, 4, 4) of the nodes in the world.
    """
    start, along = _span(spring, transforms)
    R = z_along(along, transforms[spring.nodes[0]][:3, :3] @ spring.across) if along.any() else np.eye(3)
    return start, R, np.array([spring.radius, spring.radius, np.linalg.norm(along)])


def strokes_of(springs: tuple[Spring, ...], snapshot: Snapshot) -> Strokes | None:
    """The lines of all springs that are not hidden; None where there are none."""
    transforms = matrices(snapshot.poses)
    ends, colours = [], []
    for spring in springs:
        if spring.path in snapshot.hidden or "kind:spring" in snapshot.hidden:
            continue
        figure = FIGURES[spring.kind]
        lines = transformed(transform(*stretched(spring, transforms)), figure.vertices)[figure.indices]
        own = HIGHLIGHTED if spring.path in snapshot.highlighted else colour_of(spring)
        ends.append(lines)
        colours.append(np.tile(snapshot.colours.get(spring.path, own), (len(lines), 1)))
    return Strokes(np.concatenate(ends), np.concatenate(colours)) if ends else None


def colour_of(spring: Spring) -> Colour:
    return SPRING if spring.kind == "spring" else DAMPER


def _figure(kind: str, *polylines: np.ndarray) -> Mesh:
    """Lines of radius 1 about z, from z = 0 to 1."""
    ends = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in polylines]).reshape(-1, 3)
    indices = np.arange(len(ends), dtype=np.uint32).reshape(-1, 2)
    return Mesh(kind, ends.astype(np.float32), indices, np.zeros((len(ends), 3), np.float32))


def _coil() -> Mesh:
    angle = np.linspace(0.0, 2 * math.pi * TURNS, TURNS * AROUND + 1)
    z = np.linspace(LEAD, 1 - LEAD, len(angle))
    turns = np.stack([np.cos(angle), np.sin(angle), z], axis=1)
    return _figure("coil", np.array([[0, 0, 0], [0, 0, LEAD], *turns, [0, 0, 1 - LEAD], [0, 0, 1]]))


def _dashpot() -> Mesh:
    """A rod with its piston in a cylinder open towards it, drawn in two planes to be visible from all sides."""
    lines = [[[0, 0, 0], [0, 0, 0.5]], [[0, 0, 0.75], [0, 0, 1]]]
    for x, y in ((1, 0), (0, 1)):
        lines.append([[-0.8 * x, -0.8 * y, 0.5], [0.8 * x, 0.8 * y, 0.5]])
        lines.append([[-x, -y, 0.3], [-x, -y, 0.75], [x, y, 0.75], [x, y, 0.3]])
    return _figure("dashpot", *(np.array(line, float) for line in lines))


FIGURES: dict[str, Mesh] = {"spring": _coil(), "damper": _dashpot(), "friction": _dashpot()}
