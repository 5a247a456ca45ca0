"""Joint coordinates along stored instants, and their speeds as derivatives of polynomials through five instants.

An angle is unwrapped, so a joint must turn by less than half a turn between two instants; of a quaternion the sign is
chosen for continuity. Instants at one time (an impact) end a piece: no polynomial leads over them.
NumPy only. Barycentric weights of derivatives: Berrut, Trefethen, Barycentric Lagrange Interpolation, section 9.3.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.dynamics.kinematics import quaternion_places, vector_places
from shiftjax.dynamics.lane import Lane
from shiftjax.rotations import conjugate, quaternion_product, vector_speed
from shiftjax.topology.plan import Plan
from shiftjax.viewer.motion.tree_coordinates import coordinates, is_angle

POINTS = 5  # of a polynomial: its derivative has an error of the fourth order


def pieces(time: np.ndarray, last: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last instant (n,) of the piece of time that each instant is in; none goes beyond `last`."""
    breaks = np.flatnonzero(np.diff(time) <= 0) + 1
    first = np.concatenate([[0], breaks])
    end = np.concatenate([breaks - 1, [len(time) - 1]])
    k = np.searchsorted(first, np.arange(len(time)), side="right") - 1
    return first[k], np.minimum(end[k], last)


def stencil(at: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(...,) first instant of the polynomial through `at`: centred as far as the piece from first to last allows."""
    return np.maximum(first, np.minimum(at - POINTS // 2, last - POINTS + 1))


def weights(time: np.ndarray, at: np.ndarray, used: np.ndarray) -> np.ndarray:
    """(B, w) factors of values that make the derivative of the polynomial through them.

    Args:
        time: (B, w) [s]; at: (B,) index of the instant of the derivative; used: (B, w) which values there are.
    """
    rows, width = np.arange(len(time)), time.shape[1]
    both = used[:, :, None] & used[:, None, :] & ~np.eye(width, dtype=bool)
    apart = np.where(both, time[:, :, None] - time[:, None, :], 1.0)
    barycentric = np.where(used, 1.0 / apart.prod(axis=2), 0.0)
    other = used & (np.arange(width) != at[:, None])
    away = np.where(other, time[rows, at][:, None] - time, 1.0)
    out = np.where(other, barycentric / (barycentric[rows, at][:, None] * away), 0.0)
    out[rows, at] = -out.sum(axis=1)
    return out


def rates(time: np.ndarray, values: np.ndarray, last: int | None = None) -> np.ndarray:
    """(k, n) time derivatives of values (k, n); zero after the instant `last`, where a member ended."""
    n = len(time)
    last = n - 1 if last is None else last
    first, end = pieces(time, last)
    at = np.arange(n)
    begin = stencil(at, first, end)
    index = begin[:, None] + np.arange(min(POINTS, n))
    used = (index <= end[:, None]) & (at[:, None] <= last)
    index = np.minimum(index, n - 1)
    used[at > last, 0] = True
    factors = weights(time[index], np.where(at <= last, at - begin, 0), used)
    return np.einsum("nw,knw->kn", factors, values[:, index])


def unwrapped(plan: Plan, q: np.ndarray) -> np.ndarray:
    """The same coordinates (nq, ..., n) along instants, without jumps by whole turns or of quaternions' signs."""
    out = q.copy()
    angles = [coordinate.q for coordinate in plan.coordinates if is_angle(coordinate)]
    steps = np.diff(out[angles], axis=-1)
    out[angles, ..., 1:] -= 2 * math.pi * np.cumsum(np.round(steps / (2 * math.pi)), axis=-1)
    for first, _ in quaternion_places(plan):
        e = out[first : first + 4]
        turned = (e[..., 1:] * e[..., :-1]).sum(0) < 0
        e[..., 1:] *= np.cumprod(np.where(turned, -1.0, 1.0), axis=-1)
    for first, _ in vector_places(plan):
        for k in range(1, out.shape[-1]):
            out[first : first + 3, ..., k] = nearest_vector(*(out[first : first + 3, ..., n] for n in (k, k - 1)))
    return out


def nearest_vector(r: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Of all rotation vectors (3, ...) of a rotation the one that is nearest to a known one."""
    size = np.sqrt((r * r).sum(0))
    along = r / np.where(size > 0, size, 1.0)
    return r + 2 * math.pi * np.round(((known * along).sum(0) - size) / (2 * math.pi)) * along


def speeds(plan: Plan, q: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """(nv, B) speeds of the joints from their coordinates (nq, B) and the rates of these."""
    out = np.empty((plan.nv, q.shape[1]))
    for one in plan.coordinates:
        here, change, speeds = list(q[one.places]), list(rate[one.places]), [*one.speeds]
        if one.quaternion:  # v = 2 q* q', of q' = 1/2 q (0, v)
            out[speeds] = 2.0 * np.array(quaternion_product(conjugate(here), change)[1:])
        else:
            out[speeds] = vector_speed(here, change) if one.vector else change
    return out


def along(lane: Lane, time: np.ndarray, poses: np.ndarray, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (nq, n) and speeds (nv, n) of one member along its run.

    Angles begin in the turn of the number `initial_displacement`.

    Args:
        lane: with the member's numbers. poses: (n, bodies, 7) of `bodies_of`; last: instant at which it ended.
    """
    q = begun(lane, unwrapped(lane.plan, coordinates(lane, poses)))
    return q, speeds(lane.plan, q, rates(time, q, last))


def begun(lane: Lane, q: np.ndarray) -> np.ndarray:
    """The same coordinates (nq, n) along a run with angles that begin in the turn of `initial_displacement`."""
    out = q.copy()
    for coordinate in lane.plan.coordinates:
        if is_angle(coordinate) and len(coordinate.start) == 1:
            stated = float(np.ravel(lane.params.at(coordinate.start[0]))[0])
            out[coordinate.q] += 2 * math.pi * round((stated - q[coordinate.q, 0]) / (2 * math.pi))
    return out
