"""Lines that make arrows, arcs, circles, helices and ellipses. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.scene.affine import z_along

HEAD = 0.3  # of an arrow's head, in its length or an arc's radius
ARC, ARC_STEPS = np.radians(270.0), 24
ROUND = 48  # straight pieces of a circle, or of a turn of a helix


def arrow(start: np.ndarray, vector: np.ndarray, heads: int = 1) -> np.ndarray:
    """(m, 2, 3) an arrow: its shaft and the four barbs of every head; empty for a zero vector."""
    length = float(np.linalg.norm(vector))
    if not length > 0:
        return np.zeros((0, 2, 3))
    x, y, z = (length * column for column in z_along(vector).T)
    tip = start + z
    ends = [(start, tip)]
    for k in range(heads):
        top = tip - 0.6 * HEAD * k * z
        ends += [(top, top - HEAD * z + side) for side in 0.4 * HEAD * np.array([x, -x, y, -y])]
    return np.array(ends)


def double_arrow(middle: np.ndarray, way: np.ndarray, half: float) -> np.ndarray:
    """(m, 2, 3) an arrow each way from a point."""
    return np.concatenate([arrow(middle, half * way), arrow(middle, -half * way)])


def arc(middle: np.ndarray, axis: np.ndarray, radius: float) -> np.ndarray:
    """(m, 2, 3) three quarters of a circle about an axis, with a head in the positive direction."""
    x, y, _ = z_along(axis).T
    angle = np.linspace(0.0, ARC, ARC_STEPS + 1)
    rim = middle + radius * (np.cos(angle)[:, None] * x + np.sin(angle)[:, None] * y)
    out = (rim[-1] - middle) / radius
    ahead = np.cross(axis, out)
    barbs = [(rim[-1], rim[-1] + HEAD * radius * (side * out - ahead)) for side in (0.6, -0.6)]
    return np.concatenate([chain(rim), np.array(barbs)])


def chain(points: np.ndarray) -> np.ndarray:
    """(m - 1, 2, 3) the segments of a polyline (m, 3)."""
    return np.stack([points[:-1], points[1:]], axis=1)


def ellipse(middle: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(m, 2, 3) an ellipse by two conjugate semi-axes (3,) [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)[:, None]
    return chain(middle + np.cos(angle) * one + np.sin(angle) * other)


def circle(middle: np.ndarray, axis: np.ndarray, radius: float) -> np.ndarray:
    """(m, 2, 3) a circle about an axis."""
    x, y, _ = z_along(axis).T
    return ellipse(middle, radius * x, radius * y)


def helix(middle: np.ndarray, axis: np.ndarray, radius: float, lead: float, turns: float) -> np.ndarray:
    """(m, 2, 3) turns of a helix about an axis, as many to either side of its middle.

    Args:
        lead: way along the axis of one turn [m], negative of a left-handed one.
    """
    x, y, z = z_along(axis).T
    share = np.linspace(-0.5 * turns, 0.5 * turns, max(2, round(ROUND * turns) + 1))[:, None]
    angle = 2.0 * np.pi * share
    return chain(middle + radius * (np.cos(angle) * x + np.sin(angle) * y) + share * lead * z)
