"""Layers of planar linkages: links that would pass through each other are drawn beside each other along the axes.

Links that hinges with parallel axes join, or that overlap at some instant, get different layers (a colouring of the
graph of these pairs); pins reach through the layers. Only the drawing is shifted, along the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shiftjax.mechanism.records import FIXED
from shiftjax.numerics.connected import connected
from shiftjax.record import record
from shiftjax.viewer.scene.affine import as_tuple, transformed, z_along
from shiftjax.viewer.scene.attachments import FAR, SAME, BuildContext, distinct, joint_points, other_points
from shiftjax.viewer.scene.shapes import hull

PITCH = 0.95  # distance of two layers in half widths of a bar
PARALLEL = 1e-6  # sine of the angle between two axes that count as parallel


@record
class Flat:
    """A link of a planar linkage, seen along its axes."""

    path: str
    points: np.ndarray  # (n, k, 2) corners of its convex hull in order at every instant [m]
    height: float  # of its points along the axes at the start [m]
    away: np.ndarray  # (3,) the linkage's axis in its body's coordinates


def layers_of(context: BuildContext, motion: np.ndarray) -> dict[str, tuple[float, float, float]]:
    """Body path -> shift (3,) of its link in its own coordinates [m]; bodies without layer are left out.

    Args:
        motion: (n, nodes, 4, 4) of the nodes in the world at some instants, the start first.
    """
    out = {}
    for linkage in _linkages(context):
        flats = _flats(context, linkage, motion)
        number = coloured(len(flats), list(_conflicts(context, flats)))
        middle = 0.5 * (max(number) + min(number))
        for flat, k in zip(flats, number, strict=True):
            out[flat.path] = as_tuple(flat.away * (k - middle) * PITCH * context.style.width)
    return out


def coloured(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """A number from 0 for each of `count` items, different for the items of every pair; most pairs first (Welsh,
    Powell 1967)."""
    near: list[set[int]] = [set() for _ in range(count)]
    for i, k in pairs:
        near[i].add(k)
        near[k].add(i)
    out = [-1] * count
    for i in sorted(range(count), key=lambda i: (-len(near[i]), i)):
        taken = {out[k] for k in near[i]}
        out[i] = next(k for k in range(count) if k not in taken)
    return out


def _linkages(context: BuildContext) -> Iterator[list[str]]:
    """Groups of two bodies or more whose hinges are all parallel, joined by such hinges."""
    planar = [path for path, body in context.bodies.items() if not body.geometry and _axis(context, path) is not None]
    inside = set(planar)
    sets = [{path, *(c.joint for c in context.attachments[path] if c.other in inside)} for path in planar]
    for group in connected(sets):
        if len(group) > 1:
            yield [planar[k] for k in sorted(group)]


def _axis(context: BuildContext, path: str) -> np.ndarray | None:
    """(3,) common direction of a body's hinges, its only joints; None where there is none."""
    attachments = context.attachments[path]
    if not attachments or any(c.drawing != "hinge" for c in attachments):
        return None
    axes = [c.axis for c in attachments]
    return axes[0] if all(np.linalg.norm(np.cross(axes[0], axis)) <= PARALLEL for axis in axes) else None


def _flats(context: BuildContext, linkage: Sequence[str], motion: np.ndarray) -> list[Flat]:
    """The links in the coordinates of the first one, whose axis turns with it."""
    first = np.linalg.inv(motion[:, context.nodes[linkage[0]]])
    axis = _axis(context, linkage[0])
    assert axis is not None
    turn, out = z_along(axis), []
    for path in linkage:
        relative = first @ motion[:, context.nodes[path]]
        placed = np.stack([transformed(X, _points(context, path)) for X in relative]) @ turn
        flat = placed[0, :, :2]
        corners = hull([(float(x), float(y)) for x, y in flat])
        order = [int(np.linalg.norm(flat - corner, axis=1).argmin()) for corner in corners]
        away = relative[0, :3, :3].T @ axis
        out.append(Flat(path, placed[:, order, :2], float(np.median(placed[0, :, 2])), away))
    return out


def _points(context: BuildContext, path: str) -> np.ndarray:
    """(k, 3) what a link reaches: its joints and the frames near them [m]."""
    body, near = context.bodies[path], SAME * context.style.width
    at_joints = joint_points(context.attachments[path], near)
    others = other_points(path, body, context.attachments[path], set(), FAR * context.style.radius)
    return np.array(distinct([*at_joints, *others], near))


def _conflicts(context: BuildContext, flats: Sequence[Flat]) -> Iterator[tuple[int, int]]:
    """Pairs of links that must not share a layer."""
    width = context.style.width
    number = {flat.path: k for k, flat in enumerate(flats)}
    joined = {(k, number[c.other]) for k, flat in enumerate(flats) for c in context.attachments[flat.path]
              if c.other in number}  # fmt: skip
    middle = np.stack([flat.points.mean(1) for flat in flats])
    radius = np.stack(
        [np.linalg.norm(f.points - m[:, None], axis=2).max(1) for f, m in zip(flats, middle, strict=True)]
    )
    for i, one in enumerate(flats):
        far = np.linalg.norm(middle - middle[i], axis=2) - radius - radius[i]
        near = (far < 2 * width).any(1)
        for k in range(i + 1, len(flats)):
            level = abs(one.height - flats[k].height) < 2 * width
            if (i, k) in joined or (near[k] and level and overlap(one.points, flats[k].points, 2 * width)):
                yield i, k


def overlap(one: np.ndarray, other: np.ndarray, margin: float) -> bool:
    """Whether two convex polygons, or segments, are nearer than about `margin` [m] at some instant.

    Theorem of separating axes (Ericson, Real-Time Collision Detection, section 5.2.1), along and across all sides.

    Args:
        one, other: (n, k, 2) corners in order at n instants.
    """
    sides = np.concatenate([np.roll(points, -1, 1) - points for points in (one, other)], axis=1)
    axes = np.concatenate([sides, sides[..., ::-1] * np.array([1.0, -1.0])], axis=1)
    size = np.linalg.norm(axes, axis=2, keepdims=True)
    axes = np.where(size > 0, axes / np.where(size > 0, size, 1.0), np.array([1.0, 0.0]))
    a, b = (np.einsum("nkd,nad->nak", points, axes) for points in (one, other))
    gap = np.maximum(b.min(2) - a.max(2), a.min(2) - b.max(2)).max(1)
    return bool((gap < margin).any())


def shift_along(layers: Mapping[str, tuple[float, float, float]], body: str, axis: np.ndarray) -> float:
    """How far a body's link is shifted along an axis (3,) of the body [m]; 0 for ground and bodies without layer."""
    return 0.0 if body == FIXED or body not in layers else float(np.array(layers[body]) @ axis)
