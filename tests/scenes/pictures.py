"""Meshes, parts, lights and scenes of the picture tests, made here lest they depend on other parts of the viewer."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.scene.scene import Mesh, Scene, SceneLight, ScenePart, Snapshot, Texture

IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
SUN = SceneLight(
    "sun", "directional", 0, (0, 0, 10), (0.0, 0.6, -0.8), (0.1, 0.12, 0.14), (0.7, 0.65, 0.6), (0.4, 0.4, 0.4)
)
BULB = SceneLight("bulb", "point", 0, (1.5, -2.0, 2.5), (0, 0, -1), (0.05, 0.05, 0.1), (0.6, 0.7, 0.8), (0.5, 0.5, 0.5))
SPOT = SceneLight("spot", "spot", 0, (0.5, -1.5, 3.0), (-0.158113883, 0.474341649, -0.866025404), (0.1, 0.1, 0.1),
            (0.8, 0.7, 0.6), (0.5, 0.5, 0.5), 0.35)  # fmt: skip


def ball(radius: float = 0.6, rings: int = 48) -> Mesh:
    """A sphere with true normals."""
    polar, around = np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings + 1)
    p, a = (grid.ravel() for grid in np.meshgrid(polar, around, indexing="ij"))
    normals = np.stack([np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), np.cos(p)], axis=1)
    n = 2 * rings + 1
    i, k = (grid.ravel() for grid in np.meshgrid(np.arange(rings), np.arange(2 * rings), indexing="ij"))
    low, left = i * n + k, (i + 1) * n + k
    indices = np.concatenate([np.stack([low, left, left + 1], 1), np.stack([low, left + 1, low + 1], 1)])
    return Mesh(
        f"ball {radius} {rings}",
        (radius * normals).astype(np.float32),
        indices.astype(np.uint32),
        np.array(normals, np.float32),
    )


def plate(half: float = 1.5, texture: Texture | None = None, key: str = "plate") -> Mesh:
    """A square in the plane z = 0, seen from above; the texture's lower left at (-half, -half)."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
    vertices = np.concatenate([half * corners, np.zeros((4, 1))], axis=1)
    normals = np.tile([0.0, 0.0, 1.0], (4, 1))
    indices = np.array([[0, 1, 2], [0, 2, 3]], np.uint32)
    return Mesh(
        key,
        np.array(vertices, np.float32),
        indices,
        np.array(normals, np.float32),
        ((corners + 1) / 2).astype(np.float32),
        texture,
    )


def block(sides: tuple[float, float, float] = (0.8, 0.6, 0.7)) -> Mesh:
    """A box about its origin, its faces flat."""
    vertices, normals, indices = [], [], []
    for axis in range(3):
        for sign in (1.0, -1.0):
            n, u = np.zeros(3), np.zeros(3)
            n[axis], u[(axis + 1) % 3] = sign, 1.0
            v = np.cross(n, u)
            first = len(vertices)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                vertices.append((n + a * u + b * v) * np.array(sides) / 2)
                normals.append(n)
            indices += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Mesh(
        f"block {sides}", np.array(vertices, np.float32), np.array(indices, np.uint32), np.array(normals, np.float32)
    )


def axis_lines(length: float = 1.0) -> Mesh:
    """A line along x from the origin."""
    vertices = np.array([[0, 0, 0], [length, 0, 0]], np.float32)
    return Mesh(f"line {length}", vertices, np.array([[0, 1]], np.uint32), np.zeros((2, 3), np.float32))


def part(mesh: Mesh, node: int, path: str, colour: tuple[float, ...] = (0.7, 0.3, 0.2, 1.0), *,
         at: tuple[float, float, float] = (0, 0, 0), scale: tuple[float, float, float] = (1, 1, 1), kind: str = "body",
         shadow: bool = True) -> ScenePart:  # fmt: skip
    transform = np.diag([*scale, 1.0])
    transform[:3, 3] = at
    red, green, blue, opacity = colour
    return ScenePart(mesh, node, transform, (red, green, blue, opacity), path, kind, shadow)


def scene(parts: list[ScenePart], lights: tuple[SceneLight, ...] = (SUN,), nodes: int = 2, size: float = 1.5) -> Scene:
    names = ("fixed", *(f"body {k}" for k in range(1, nodes)))
    return Scene(names, tuple(parts), lights, (0.0, 0.0, 1.0), size, (0.0, 0.0, 0.0))


def snapshot(*poses: tuple[float, ...], **choices: object) -> Snapshot:
    """Ground at rest and the bodies at these poses; a pose of three numbers is not turned."""
    rows = [IDENTITY] + [(*pose, 1.0, 0.0, 0.0, 0.0) if len(pose) == 3 else pose for pose in poses]
    return Snapshot(np.array(rows, float), **choices)  # type: ignore[arg-type]
