"""A ray caster over all triangles of a scene: what picking is checked against. NumPy only, slow and plain."""

from __future__ import annotations

import numpy as np

from shiftjax.poses import matrices
from shiftjax.viewer.scene.affine import transformed
from shiftjax.viewer.scene.scene import Scene

DRAWN = frozenset({"body", "ground", "joint"})  # kinds of parts that are shown unless asked otherwise
PARALLEL = 1e-14  # of a triangle's size: a ray along its plane does not hit it


def corners(scene: Scene, poses: np.ndarray, kinds: frozenset[str] = DRAWN) -> tuple[np.ndarray, np.ndarray]:
    """(t, 3, 3) corners in the world of all triangles, and (t,) the part that each belongs to.

    Args:
        poses: (nodes, 7), ground first.
    """
    transforms = matrices(np.asarray(poses, float))
    found, owner = [np.zeros((0, 3, 3))], [np.zeros(0, int)]
    for k, part in enumerate(scene.parts):
        if part.kind in kinds and part.mesh.kind == "triangles":
            vertices = transformed(transforms[part.node] @ part.transform, part.mesh.vertices)
            found.append(vertices[part.mesh.indices])
            owner.append(np.full(len(part.mesh.indices), k))
    return np.concatenate(found), np.concatenate(owner)


def nearest(
    scene: Scene, poses: np.ndarray, origin: np.ndarray, direction: np.ndarray, kinds: frozenset[str] = DRAWN
) -> tuple[int, np.ndarray] | None:
    """Index of the first part that a ray meets, from either side of its triangles, and where (3,) [m]; None for a miss.

    Solves origin + t direction = a + u (b - a) + v (c - a) for every triangle (Moeller, Trumbore 1997).
    """
    triangles, owner = corners(scene, poses, kinds)
    a, ab, ac = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    p = np.cross(direction, ac)
    volume = np.einsum("tk,tk->t", ab, p)
    flat = np.abs(volume) <= PARALLEL * np.linalg.norm(ab, axis=1) * np.linalg.norm(p, axis=1)
    with np.errstate(all="ignore"):
        inverse = 1.0 / np.where(flat, np.nan, volume)
        s = origin - a
        q = np.cross(s, ab)
        u = np.einsum("tk,tk->t", s, p) * inverse
        v = q @ direction * inverse
        t = np.einsum("tk,tk->t", ac, q) * inverse
        hit = np.flatnonzero((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0))
    if len(hit) == 0:
        return None
    first = hit[np.argmin(t[hit])]
    return int(owner[first]), np.asarray(origin, float) + t[first] * np.asarray(direction, float)
