"""All items under a pixel, ordered by depth: rays against triangles. NumPy only.

The picking of the renderer finds only the nearest item; this finds those behind it too.
"""

from __future__ import annotations

import numpy as np

from shiftjax.poses import matrices
from shiftjax.viewer.gui.picture import symbols
from shiftjax.viewer.gui.state.derived import visibility
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import Mesh, ScenePart
from shiftjax.viewer.scene.spring_meshes import drawn_parts, placed


def hits_at(state: WindowState, x: float, y: float, size: tuple[int, int]) -> list[Hit]:
    """Visible pickable items under pixel (x, y) of a view of that size, nearest first, each once."""
    right = state.hovered_half
    origin, direction = state.current_camera(right).ray(x, y, size)
    poses, off = matrices(state.poses(right)), visibility.hidden_paths(state)
    nearest: dict[str, float] = {}
    scene = (right or state).scene
    springs = placed(scene.springs, poses)
    for k, part in enumerate(drawn_parts(scene), -len(scene.parts)):
        if part.path in off or f"kind:{part.kind}" in off or not pickable(state, part):
            continue
        where = springs[k] if k >= 0 else poses[part.node] @ part.transform
        distance = ray_distance(part.mesh, where, origin, direction)
        if distance is not None and distance < nearest.get(part.path, np.inf):
            nearest[part.path] = distance
    symbol = symbols.nearest(state, x, y, size) if right is None else None  # drawn over everything, at the left
    if symbol is not None:
        nearest.pop(symbol[0], None)
    first = [Hit(*symbol)] if symbol is not None else []
    return first + [Hit(path, origin + d * direction) for path, d in sorted(nearest.items(), key=lambda item: item[1])]


def pickable(state: WindowState, part: ScenePart) -> bool:
    """Whether a part of the scene can be picked at all."""
    return state.display.pickable(visibility.class_of(state, part))


def ray_distance(mesh: Mesh, transform: np.ndarray, origin: np.ndarray, direction: np.ndarray) -> float | None:
    """Distance [m] along a ray to the nearest triangle of a mesh with a transform (4, 4); None if there is none.

    Solves origin + t direction = a + u (b - a) + v (c - a) for all triangles at once (Moeller, Trumbore 1997).
    """
    if mesh.kind != "triangles" or not len(mesh.indices):
        return None
    inverse = np.linalg.inv(transform)  # the ray in mesh coordinates: its parameter t stays the same
    start, way = inverse[:3, :3] @ origin + inverse[:3, 3], inverse[:3, :3] @ direction
    if _misses_box(mesh, start, way):
        return None
    a, b, c = (mesh.vertices[mesh.indices[:, k]].astype(float) for k in range(3))
    one, two = b - a, c - a
    across = np.cross(way, two)
    volume = (one * across).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_start = start - a
        u = (to_start * across).sum(1) / volume
        other = np.cross(to_start, one)
        v = (other @ way) / volume
        t = (two * other).sum(1) / volume
    hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
    return float(t[hit].min()) if hit.any() else None


def _misses_box(mesh: Mesh, start: np.ndarray, way: np.ndarray) -> bool:
    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
    margin = 1e-6 * float((high - low).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(low - margin - start) / way, (high + margin - start) / way])
    enter, leave = np.nanmin(ends, 0).max(), np.nanmax(ends, 0).min()
    return bool(enter > leave or leave < 0)
