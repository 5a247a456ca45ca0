"""Normals of triangles that come without any: smooth over curved parts, sharp at edges.

Assimp's own step is not used: where triangles share vertices it gives a vertex the normal of one of them (measured on
PLY, OFF, glTF, 3DS, X3D and 3MF: a tetrahedron came back with four vertices and four wrong normals).
"""

from __future__ import annotations

import math

import numpy as np

CREASE = math.radians(40.0)  # between two triangles: an edge that is steeper stays sharp
MOST = 64  # triangles around a point beyond which they stay flat: the tip of a cone, where no smooth normal exists


def with_normals(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Splits vertices at sharp edges.

    Args:
        vertices: (n, 3) float32; those at one place need not be shared.
        triangles: (m, 3) indices.

    Returns:
        normals (k, 3) float32 of the new vertices, the old vertex (k,) of each of them, triangles (m, 3) uint32.
    """
    normals = _at_corners(vertices.astype(float), triangles).astype(np.float32)
    steps = np.rint(normals * 1e4).astype(np.int64)  # sums in another order round otherwise
    _, first, corner = np.unique(
        _mixed(triangles.reshape(-1).astype(np.int64), *steps.T), return_index=True, return_inverse=True
    )
    return normals[first], triangles.reshape(-1)[first], corner.reshape(-1, 3).astype(np.uint32)


def _at_corners(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(3 m, 3) unit normals: of each corner the mean over the triangles around it that are less than a crease apart,
    weighted by their angles there, so that a quad counts the same however it is cut in two."""
    corners = vertices[triangles]
    edges = np.roll(corners, -1, axis=1) - corners
    flat = unit(np.cross(edges[:, 0], edges[:, 1]))
    back = np.roll(edges, 1, axis=1)
    sine = np.linalg.norm(np.cross(edges, back), axis=2)
    angles = np.arctan2(sine, -(edges * back).sum(axis=2)).reshape(-1)
    normals = np.repeat(flat, 3, axis=0)
    places = _mixed(*(vertices + 0.0).astype(np.float32).view(np.int32).astype(np.int64).T)[triangles.reshape(-1)]
    order = np.argsort(places, kind="stable")
    sorted_places, normals, angles = places[order], normals[order], angles[order]
    total = normals * angles[:, None]
    steepest = math.cos(CREASE)
    for distance in range(1, MOST):
        pairs = np.flatnonzero(sorted_places[distance:] == sorted_places[:-distance])
        if not len(pairs):
            break
        others = pairs + distance
        close = (normals[pairs] * normals[others]).sum(axis=1) > steepest
        pairs, others = pairs[close], others[close]
        total[pairs] += normals[others] * angles[others, None]
        total[others] += normals[pairs] * angles[pairs, None]
    frequent = _frequent(sorted_places)
    total[frequent] = normals[frequent]
    back_again = np.empty_like(order)
    back_again[order] = np.arange(len(order))
    return unit(total)[back_again]


def _frequent(places: np.ndarray) -> np.ndarray:
    """Whether each of the sorted places occurs more than `MOST` times."""
    _, where, counts = np.unique(places, return_inverse=True, return_counts=True)
    return (counts > MOST)[where]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors; those too short to have a direction, as of triangles without an area, point up."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    known = np.isfinite(length) & (length > np.finfo(float).tiny)
    with np.errstate(invalid="ignore"):
        return np.where(known, vectors / np.where(known, length, 1.0), [0.0, 0.0, 1.0])


def _mixed(*columns: np.ndarray) -> np.ndarray:
    """One number for each row of integers: equal for equal rows, and for others with a chance of 1e-7 in a million."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
