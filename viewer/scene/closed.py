"""Which meshes bound solids, so that nobody outside sees the backs of their triangles. NumPy only."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from shiftjax.memory_cache import forget_oldest
from shiftjax.viewer.scene.scene import Mesh

MOST = 50_000  # triangles of a mesh that is looked at, which takes 0.1 s; larger ones count as open
SAME = 1e-6  # of the mesh's size: corners that are so near to each other are one
KEPT = 1024  # meshes

_Looked = tuple[list[ref[Any]], bool]  # what tells whether arrays live on, and whether they bound solids
_known: dict[tuple[int, int], _Looked] = {}  # by ids of arrays


def bounds_solids(mesh: Mesh) -> bool:
    """Whether a mesh is the surface of solids, none hollow: each edge has a triangle on either side, all triangles turn
    the same way, and every connected piece of them encloses a positive volume, seen from outside counter-clockwise.

    False also where that is not known: of lines, of points, of what has levels of detail, of very large meshes. Each
    mesh is looked at once, though every renderer has buffers of its own.
    """
    if mesh.kind != "triangles" or mesh.detail is not None or not 0 < len(mesh.indices) <= MOST:
        return False
    arrays = mesh.vertices, mesh.indices
    key = id(mesh.vertices), id(mesh.indices)
    known = _known.get(key)
    if known is None or any(one() is not array for one, array in zip(known[0], arrays, strict=True)):
        forget_oldest(_known, KEPT - 1)
        known = _known[key] = [ref(array) for array in arrays], _is_solid(mesh)
    return known[1]


def _is_solid(mesh: Mesh) -> bool:
    points, triangles = _welded(mesh)
    if not len(triangles):
        return False
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    there, back = (np.sort(edges[:, k] * len(points) + edges[:, 1 - k]) for k in range(2))
    if (np.diff(there) == 0).any() or not np.array_equal(there, back):
        return False
    a, b, c = (points[triangles[:, k]] - points.mean(axis=0) for k in range(3))
    volumes = np.bincount(_pieces(len(points), triangles)[triangles[:, 0]], np.einsum("ki,ki->k", a, np.cross(b, c)))
    return bool((volumes[volumes != 0.0] > 0.0).all() and volumes.any())


def _welded(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) [m], each once, and triangles (m, 3) of three different ones."""
    corners = np.asarray(mesh.vertices, float)
    size = float(np.ptp(corners, axis=0).max())
    if not 0.0 < size < np.inf:
        return corners, np.zeros((0, 3), int)
    _, first, number = np.unique(np.round(corners / (SAME * size)), axis=0, return_index=True, return_inverse=True)
    triangles = number.reshape(-1)[mesh.indices].astype(int)
    a, b, c = triangles.T
    return corners[first], triangles[(a != b) & (b != c) & (c != a)]


def _pieces(points: int, triangles: np.ndarray) -> np.ndarray:
    """(points,) a number for each connected piece, the least of its points."""
    label = np.arange(points)
    while True:
        least = label.copy()
        np.minimum.at(least, triangles.ravel(), np.repeat(label[triangles].min(axis=1), 3))
        least = least[least]
        if np.array_equal(least, label):
            return label
        label = least
