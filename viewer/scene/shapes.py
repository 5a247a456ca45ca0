"""Primitive shapes as meshes: outward unit normals, triangles counter-clockwise from outside, one mesh a kind and size.

Unit shapes are scaled by the transform of a part, so that all parts of a kind are instances of one mesh.
Closed shapes are strips between rings with equal numbers of points. Every function here is cached: equal
arguments give the same object.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from shiftjax.viewer.scene.affine import as_tuple, transform, z_along
from shiftjax.viewer.scene.scene import Mesh

AROUND = 32  # points of a circle
ARC = math.radians(15.0)  # largest step along the rounded corner of a plate
CHAMFER = 0.18  # of a plate's edge, in parts of its thickness and radius, whichever is smaller
SIZES_AN_OCTAVE = 4  # bars are made in so many lengths between one and its double, the rest is stretching

Strip = tuple[np.ndarray, np.ndarray]  # positions and normals (rings, points of a ring, 3) of one smooth surface
Point2 = tuple[float, float]


def _from_strips(key: str, strips: Sequence[Strip]) -> Mesh:
    """A mesh of strips, each a stack of closed rings, counter-clockwise about the direction of the stack.

    Triangles with two equal corners, as at poles, are left out.
    """
    vertices, normals, triangles, start = [], [], [], 0
    for positions, directions in strips:
        rings, points, _ = positions.shape
        here = start + np.arange(rings * points).reshape(rings, points)
        low, high = here[:-1], here[1:]
        low_next, high_next = np.roll(low, -1, 1), np.roll(high, -1, 1)
        quads = [np.stack([low, low_next, high_next], -1), np.stack([low, high_next, high], -1)]
        triangles.append(np.concatenate([quad.reshape(-1, 3) for quad in quads]))
        vertices.append(positions.reshape(-1, 3))
        normals.append(directions.reshape(-1, 3))
        start += rings * points
    corners = np.concatenate(vertices)
    indices = np.concatenate(triangles)
    a, b, c = (corners[indices[:, k]] for k in range(3))
    same = [np.all(p == q, axis=1) for p, q in ((a, b), (b, c), (c, a))]
    return _mesh(key, corners, indices[~(same[0] | same[1] | same[2])], np.concatenate(normals))


def _mesh(key: str, vertices: np.ndarray, indices: np.ndarray, normals: np.ndarray) -> Mesh:
    size = np.linalg.norm(normals, axis=1, keepdims=True)
    return Mesh(
        key,
        np.ascontiguousarray(vertices, np.float32),
        np.ascontiguousarray(indices, np.uint32),
        np.ascontiguousarray(normals / np.where(size > 0, size, 1.0), np.float32),
    )


def _revolved(key: str, profile: Sequence[Sequence[tuple[float, float, float, float]]], around: int) -> Mesh:
    """A body of revolution about z: smooth pieces of (radius, height, normal out, normal up), bottom first."""
    angle = np.arange(around) * (2 * math.pi / around)
    circle = np.stack([np.cos(angle), np.sin(angle)], -1)
    strips = []
    for piece in profile:
        r, z, out, up = np.array(piece, float).T[:, :, None]
        shape = (len(piece), around)
        positions = np.stack([r * circle[:, 0], r * circle[:, 1], np.broadcast_to(z, shape)], -1)
        normals = np.stack([out * circle[:, 0], out * circle[:, 1], np.broadcast_to(up, shape)], -1)
        strips.append((positions, normals))
    return _from_strips(key, strips)


def _disc(radius: float, z: float, up: float) -> list[tuple[float, float, float, float]]:
    """The profile of a flat end: outwards at the bottom, inwards on top."""
    rim, middle = (radius, z, 0.0, up), (0.0, z, 0.0, up)
    return [middle, rim] if up < 0 else [rim, middle]


@lru_cache
def box(size: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Mesh:
    """A box centred on the origin; `size` are its sides [m]."""
    vertices, normals = [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            n, u, v = np.zeros((3, 3))
            n[axis], u[(axis + 1) % 3], v[(axis + 2) % 3] = side, side, 1.0  # u x v = n
            vertices += [n - u - v, n + u - v, n + u + v, n - u + v]
            normals += [n] * 4
    indices = (4 * np.arange(6)[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
    return _mesh(f"box {size}", np.array(vertices) * 0.5 * np.array(size), indices, np.array(normals))


@lru_cache
def sphere(radius: float = 1.0, detail: int = AROUND) -> Mesh:
    """A sphere of `detail` meridians about the origin."""
    rows = max(2, detail // 2)
    angle = [math.pi * (k / rows - 0.5) for k in range(rows + 1)]
    # exact zeros at the poles, so that their triangles are recognized as degenerate
    waist = [0.0 if k in (0, rows) else math.cos(a) for k, a in enumerate(angle)]
    arc = [(radius * c, radius * math.sin(a), c, math.sin(a)) for a, c in zip(angle, waist, strict=True)]
    return _revolved(f"sphere {radius} {detail}", [arc], detail)


@lru_cache
def ellipsoid(radii: tuple[float, float, float] = (1.0, 1.0, 1.0), detail: int = AROUND) -> Mesh:
    """An ellipsoid of half axes `radii` [m] about the origin."""
    unit_sphere = sphere(1.0, detail)
    vertices = unit_sphere.vertices * np.array(radii)
    return _mesh(f"ellipsoid {radii} {detail}", vertices, unit_sphere.indices, unit_sphere.normals / np.array(radii))


@lru_cache
def cylinder(radius: float = 1.0, length: float = 1.0, detail: int = AROUND) -> Mesh:
    """A cylinder along z, centred on the origin."""
    h = 0.5 * length
    side = [(radius, -h, 1.0, 0.0), (radius, h, 1.0, 0.0)]
    profile = [_disc(radius, -h, -1.0), side, _disc(radius, h, 1.0)]
    return _revolved(f"cylinder {radius} {length} {detail}", profile, detail)


@lru_cache
def tube(radius: float = 1.0, inner: float = 0.75, length: float = 1.0, detail: int = AROUND) -> Mesh:
    """A ring along z, centred on the origin, between two radii."""
    h = 0.5 * length
    profile = [
        [(inner, -h, 0.0, -1.0), (radius, -h, 0.0, -1.0)],
        [(radius, -h, 1.0, 0.0), (radius, h, 1.0, 0.0)],
        [(radius, h, 0.0, 1.0), (inner, h, 0.0, 1.0)],
        [(inner, h, -1.0, 0.0), (inner, -h, -1.0, 0.0)],
    ]
    return _revolved(f"tube {radius} {inner} {length} {detail}", profile, detail)


@lru_cache
def cone(radius: float = 1.0, length: float = 1.0, detail: int = AROUND) -> Mesh:
    """A cone along z, its base at -length/2, its tip at +length/2."""
    h = 0.5 * length
    side = [(radius, -h, length, radius), (0.0, h, length, radius)]
    return _revolved(f"cone {radius} {length} {detail}", [_disc(radius, -h, -1.0), side], detail)


@lru_cache
def capsule(radius: float = 1.0, length: float = 1.0, detail: int = AROUND) -> Mesh:
    """A cylinder of `length` along z with hemispheres on both ends."""
    h, rows = 0.5 * length, max(2, detail // 4)
    up = [(math.cos(a), math.sin(a)) for a in (0.5 * math.pi * k / rows for k in range(rows))] + [(0.0, 1.0)]
    bottom = [(radius * c, -h - radius * s, c, -s) for c, s in reversed(up)]
    top = [(radius * c, h + radius * s, c, s) for c, s in up]
    return _revolved(f"capsule {radius} {length} {detail}", [bottom + top], detail)


@lru_cache
def arrow(length: float = 1.0, radius: float = 0.03, detail: int = 16) -> Mesh:
    """An arrow from the origin to z = length; `radius` is that of its shaft."""
    head, neck = 2.4 * radius, max(length - 6.0 * radius, 0.5 * length)
    shaft = [(radius, 0.0, 1.0, 0.0), (radius, neck, 1.0, 0.0)]
    collar = [(radius, neck, 0.0, -1.0), (head, neck, 0.0, -1.0)]
    slope = length - neck
    tip = [(head, neck, slope, head), (0.0, length, slope, head)]
    return _revolved(f"arrow {length} {radius} {detail}", [_disc(radius, 0.0, -1.0), shaft, collar, tip], detail)


@lru_cache
def multisphere(spheres: tuple[tuple[float, float, float, float], ...], detail: int = 2 * AROUND) -> Mesh:
    """The convex hull of spheres (x, y, z, radius) [m].

    Its farthest point in a direction u is that of one of the spheres, its normal there is u (the support function of a
    hull: Ericson, Real-Time Collision Detection, section 9.5.4), so the directions of a unit sphere give the surface.
    """
    unit_sphere, table = sphere(1.0, detail), np.array(spheres, float)
    directions = unit_sphere.normals.astype(float)
    chosen = table[np.argmax(directions @ table[:, :3].T + table[:, 3], axis=1)]
    vertices = chosen[:, :3] + chosen[:, 3:] * directions
    return _mesh(_key("multisphere", vertices), vertices, unit_sphere.indices, directions)


@lru_cache
def plane(size: tuple[float, float] = (1.0, 1.0)) -> Mesh:
    """A rectangle about the origin, seen from +z only."""
    x, y = 0.5 * size[0], 0.5 * size[1]
    vertices = np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]], float)
    return _mesh(f"plane {size}", vertices, np.array([[0, 1, 2], [0, 2, 3]]), np.tile([0.0, 0.0, 1.0], (4, 1)))


@lru_cache
def line(points: tuple[tuple[float, float, float], ...]) -> Mesh:
    """Line segments from point to point [m]."""
    ends = np.stack([np.arange(len(points) - 1), np.arange(1, len(points))], -1)
    vertices = np.array(points, float)
    return _mesh(_key("line", vertices), vertices, ends, np.zeros((len(points), 3)))


@lru_cache
def cloud(points: tuple[tuple[float, float, float], ...]) -> Mesh:
    """Single points [m]."""
    vertices = np.array(points, float)
    return _mesh(_key("cloud", vertices), vertices, np.arange(len(points))[:, None], np.zeros((len(points), 3)))


@lru_cache
def wire(points: tuple[tuple[float, float, float], ...], radius: float, around: int = 8) -> Mesh:
    """A round wire along a curve through points [m], without caps.

    Rings stand across the curve and are carried on from one to the next without turning about it.
    """
    path = np.array(points, float)
    ways = np.gradient(path, axis=0)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    angle = np.arange(around) * (2 * math.pi / around)
    across = z_along(ways[0])[:, 0]
    rings = []
    for way in ways:
        across = across - way * (way @ across)
        across /= np.linalg.norm(across)
        rings.append(np.outer(np.cos(angle), across) + np.outer(np.sin(angle), np.cross(way, across)))
    normals = np.array(rings)
    return _from_strips(_key(f"wire {radius} {around}", path), [(path[:, None] + radius * normals, normals)])


@lru_cache
def turned(*profile: tuple[float, float, float, float], detail: int = AROUND) -> Mesh:
    """A body of revolution about z of tubes and rods (inner radius, outer radius, bottom, top), with flat ends."""
    pieces = []
    for inner, outer, low, high in profile:
        pieces += [
            [(inner, low, 0.0, -1.0), (outer, low, 0.0, -1.0)],
            [(outer, low, 1.0, 0.0), (outer, high, 1.0, 0.0)],
            [(outer, high, 0.0, 1.0), (inner, high, 0.0, 1.0)],
        ]
        if inner > 0:
            pieces.append([(inner, high, -1.0, 0.0), (inner, low, -1.0, 0.0)])
    return _revolved(f"turned {profile} {detail}", pieces, detail)


@lru_cache
def shade() -> Mesh:
    """A lamp shade along z: a cone about the origin, closed at z = -1, open at z = 1, seen from both sides."""
    slope = 1.0 / math.sqrt(1.0 + 0.25)
    outside = [(0.5, -1.0, slope, -0.5 * slope), (1.3, 0.9, slope, -0.5 * slope)]
    inside = [(1.2, 0.9, -slope, 0.5 * slope), (0.4, -0.9, -slope, 0.5 * slope)]
    rim = [(1.3, 0.9, 0.0, 1.0), (1.2, 0.9, 0.0, 1.0)]
    return _revolved("shade", [_disc(0.5, -1.0, -1.0), outside, rim, inside, _disc(0.4, -0.9, 1.0)], AROUND)


@lru_cache
def spiral(turns: float = 2.5, wire_radius: float = 0.07) -> Mesh:
    """A flat spiral of wire across z from radius 0.35 to 1: the spring of a hinge."""
    angle = np.linspace(0.0, 2 * math.pi * turns, round(24 * turns) + 1)
    radius = np.linspace(0.35, 1.0 - wire_radius, len(angle))
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(len(angle))], axis=1)
    return wire(tuple(as_tuple(p) for p in points), wire_radius)


def squeezed(mesh: Mesh, key: str, factor: float) -> Mesh:
    """The mesh with its z divided by `factor`, its normals those of that surface."""
    normals = mesh.normals * np.array([1.0, 1.0, factor])
    return _mesh(key, mesh.vertices / np.array([1.0, 1.0, factor]), mesh.indices, normals)


def _key(kind: str, array: np.ndarray) -> str:
    """A short name of many numbers."""
    return f"{kind} {hashlib.sha256(array.tobytes()).hexdigest()}"


@lru_cache
def axes(length: float = 1.0) -> Mesh:
    """Lines from the origin along x, y and z."""
    vertices = np.concatenate([np.zeros((1, 3)), length * np.eye(3)])
    return _mesh(f"axes {length}", vertices, np.array([[0, 1], [0, 2], [0, 3]]), np.zeros((4, 3)))


def hull(points: Sequence[Point2]) -> list[Point2]:
    """Corners of the convex hull, counter-clockwise; two where all points lie on a line.

    Andrew's monotone chain (de Berg and others, Computational Geometry, section 1.1). A corner that stands out by less
    than a millionth of the extent is none.
    """
    ordered = sorted(set(points))
    extent = math.dist(ordered[0], ordered[-1])

    def chain(along: Sequence[Point2]) -> list[Point2]:
        out: list[Point2] = []
        for p in along:
            while len(out) > 1 and _left(out[-2], out[-1], p) <= 1e-6 * extent * math.dist(out[-2], p):
                out.pop()
            out.append(p)
        return out[:-1]

    return ordered if len(ordered) < 3 else chain(ordered) + chain(ordered[::-1])


def _left(a: Point2, b: Point2, c: Point2) -> float:
    """Twice the area of the triangle, above zero where it turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@lru_cache
def plate(points: tuple[Point2, ...], radius: float = 1.0, thickness: float = 1.0) -> Mesh:
    """A flat plate in the plane z = 0 that covers discs of `radius` about all points, with chamfered edges.

    Two points give a bar with round ends.
    """
    corners = hull(points)
    base, out = [], []  # corner and outward direction of every point of the outline
    for before, here, after in zip(corners[-1:] + corners[:-1], corners, corners[1:] + corners[:1], strict=True):
        first = math.atan2(before[0] - here[0], here[1] - before[1])  # normal of the edge that arrives
        last = math.atan2(here[0] - after[0], after[1] - here[1])
        turn = (last - first) % (2 * math.pi) or 2 * math.pi
        steps = max(1, math.ceil(turn / ARC))
        for k in range(steps + 1):
            angle = first + turn * k / steps
            base.append(here)
            out.append((math.cos(angle), math.sin(angle)))
    middle, direction = np.array(base), np.array(out)
    h, c = 0.5 * thickness, CHAMFER * min(thickness, radius)

    def ring(offset: float, z: float) -> np.ndarray:
        return np.column_stack([middle + offset * direction, np.full(len(middle), z)])

    def normal(out: float, up: float) -> np.ndarray:
        return np.column_stack([out * direction, np.full(len(middle), up)])

    inner, outer = radius - c, radius
    centre = np.mean(corners, axis=0)
    flat = [np.tile([*centre, z], (len(middle), 1)) for z in (-h, h)]
    levels = [(inner, -h), (outer, c - h), (outer, h - c), (inner, h)]
    low, below, above, high = (ring(offset, z) for offset, z in levels)
    strips = [
        (np.stack([flat[0], low]), np.stack([normal(0, -1)] * 2)),
        (np.stack([low, below]), np.stack([normal(1, -1)] * 2)),
        (np.stack([below, above]), np.stack([normal(1, 0)] * 2)),
        (np.stack([above, high]), np.stack([normal(1, 1)] * 2)),
        (np.stack([high, flat[1]]), np.stack([normal(0, 1)] * 2)),
    ]
    return _from_strips(f"plate {points} {radius} {thickness}", strips)


def common_length(ratio: float) -> float:
    """The nearest of the lengths that bars are made in."""
    return 2.0 ** (round(SIZES_AN_OCTAVE * math.log2(max(ratio, 1e-3))) / SIZES_AN_OCTAVE)


def link(a: np.ndarray, b: np.ndarray, radius: float, thickness: float,
         normal: np.ndarray) -> tuple[Mesh, np.ndarray]:  # fmt: skip
    """A flat bar with round ends about two different points [m], its faces across `normal`.

    Returns:
        the mesh and its transform; bars of nearly equal proportions share a mesh and are stretched by at most 9 %.
    """
    along = np.asarray(b, float) - np.asarray(a, float)
    half = 0.5 * float(np.linalg.norm(along))
    made = common_length(half / radius)
    turn = z_along(normal, along)
    middle, scale = 0.5 * (np.asarray(a) + b), [half / made, radius, thickness]
    return plate(((-made, 0.0), (made, 0.0))), transform(middle, turn, scale)


def rod(a: np.ndarray, b: np.ndarray, radius: float) -> tuple[Mesh, np.ndarray]:
    """A round bar with hemispherical ends about two different points [m]: its mesh and transform, as `link`."""
    along = np.asarray(b, float) - np.asarray(a, float)
    length = float(np.linalg.norm(along))
    made = common_length(length / radius)
    scale = [radius, radius, length / made]
    return capsule(1.0, made, 20), transform(0.5 * (np.asarray(a) + b), z_along(along), scale)
