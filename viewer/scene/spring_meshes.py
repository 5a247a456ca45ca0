"""What springs, dampers and frictions between frames look like at one instant: meshes stretched from end to end.

NumPy only. A coil for a spring, a piston in its cylinder for a damper or friction, a bar for a rod. Where a law
takes one component of the distance only, the mesh starts at the foot of the second frame on the plane across the axis
of the first.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transform, transformed, z_along
from shiftjax.viewer.scene.scene import Colour, Mesh, Scene, ScenePart, SceneSpring

TURNS, AROUND = 8, 16  # of a coil, points of a turn
LEAD = 0.12  # straight piece at either end of a coil, in parts of its length
WIRE = 0.16  # radius of a coil's wire, in radii of the coil
SPRING: Colour = (0.10, 0.42, 0.30, 1.0)
DAMPER: Colour = (0.36, 0.30, 0.26, 1.0)
ROD: Colour = (0.45, 0.47, 0.50, 1.0)
KINDS = ("spring", "damper", "friction", "rod")


def span(spring: SceneSpring, transforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Its start, and the vector from there to its end [m], in the world."""
    (a, b), (p, q) = spring.nodes, np.array(spring.points)
    start, end = transformed(transforms[a], p), transformed(transforms[b], q)
    if spring.axis is None:
        return start, end - start
    axis = transforms[a][:3, :3] @ spring.axis
    along = axis * (axis @ (end - start))
    return end - along, along


def stretched(spring: SceneSpring, transforms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transform of its mesh: start (3,) [m], rotation (3, 3), scales (3,) [m].

    Args:
        transforms: (nodes, 4, 4) of the nodes in the world.
    """
    start, along = span(spring, transforms)
    R = z_along(along, transforms[spring.nodes[0]][:3, :3] @ spring.across) if along.any() else np.eye(3)
    return start, R, np.array([spring.radius, spring.radius, np.linalg.norm(along)])


def drawn_parts(scene: Scene) -> tuple[ScenePart, ...]:
    """All parts of a scene, its springs after the others; `placed` says where each is."""
    return scene.parts + tuple(
        ScenePart(
            spring_mesh(spring.kind, spring.slenderness),
            spring.nodes[0],
            np.eye(4),
            colour_of(spring),
            spring.path,
            "spring",
        )
        for spring in scene.springs
    )


def placed(springs: tuple[SceneSpring, ...], transforms: np.ndarray) -> np.ndarray:
    """(springs, 4, 4) meshes to the world; `transforms` as of `stretched`."""
    out = [transform(*stretched(spring, transforms)) for spring in springs]
    return np.array(out, float).reshape(-1, 4, 4)


def colour_of(spring: SceneSpring) -> Colour:
    return {"spring": SPRING, "rod": ROD}.get(spring.kind, DAMPER)


def spring_mesh(kind: str, slenderness: float) -> Mesh:
    """A solid of radius 1 about z, from z = 0 to 1; its wire is round at this length over its radius."""
    if kind == "rod":
        return shapes.turned((0.0, 1.0, 0.0, 1.0))
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
