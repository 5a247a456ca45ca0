"""A motion between the ends of a moved run of steps, where its output instants lie. Host code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.algebra import Scalar
from shiftjax.dynamics.kinematics import (
    coordinate_rates,
    quaternion_places,
    quaternions_of,
    vectors_of,
    with_quaternions,
)
from shiftjax.topology.plan import Plan


def interpolated(plan: Plan, a: np.ndarray, b: np.ndarray, s: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Quintic through q, v, a at both ends (Hairer, Norsett, Wanner, Solving ODEs I, section II.6).

    Quaternions run through their own derivatives q' and are normalised; rotation vectors run as quaternions. An
    analytic function of both ends, which may be complex: so its derivatives are taken.

    Args:
        a, b: (nq + 2 nx, B) both ends: q, x and dx one above the other. s: (B,) fractions of the way.
        span: (B,) time between both [s].

    Returns:
        q, x and dx between.
    """
    twin = with_quaternions(plan)
    if twin is not plan:
        q = quaternions_of(plan, [*a[: plan.nq]])
        ends = [np.array([*q, *a[plan.nq :]]), np.array([*quaternions_of(plan, [*b[: plan.nq]], q), *b[plan.nq :]])]
        out = interpolated(twin, ends[0], ends[1], s, span)
        return np.array([*vectors_of(plan, [*out[: twin.nq]]), *out[twin.nq :]])
    nx = (len(b) - plan.nq) // 2
    q, x, dx = slice(plan.nq), slice(plan.nq, plan.nq + nx), slice(plan.nq + nx, None)
    out = b.copy()
    value, slope, curve = _quintic(s)
    ends = [(end[q], *_rates(plan, end[q], end[x], end[dx])) for end in (a, b)]
    out[q] = sum(value[i] * ends[i][0] + span * slope[i] * ends[i][1] + span**2 * curve[i] * ends[i][2] for i in (0, 1))
    # Speeds: the cubic through v and a at both ends; accelerations: its slope.
    c = _cubic(s)
    out[x] = c[0] * a[x] + c[1] * b[x] + span * (c[2] * a[dx] + c[3] * b[dx])
    bend = 6 * s * (s - 1) / span
    out[dx] = bend * (a[x] - b[x]) + (3 * s - 1) * (s - 1) * a[dx] + s * (3 * s - 2) * b[dx]
    for first, _ in quaternion_places(plan):
        part = out[q][first : first + 4]
        part /= np.sqrt((part * part).sum(0))
    return out


def _rates(plan: Plan, q: np.ndarray, x: np.ndarray, dx: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second time derivatives of the coordinates."""
    first = _rows(coordinate_rates(plan, list(q), list(x)), q)
    turning = _rows(coordinate_rates(plan, list(first), list(x)), q)
    second = _rows(coordinate_rates(plan, list(q), list(dx)), q)
    for at, _ in quaternion_places(plan):
        second[at : at + 4] += turning[at : at + 4]
    return first, second


def _rows(values: Sequence[Scalar], like: np.ndarray) -> np.ndarray:
    """Values of the members as rows of an array, known numbers repeated."""
    out = np.empty((len(values), like.shape[1]), np.result_type(like, float))
    for k, value in enumerate(values):
        out[k] = value
    return out


def _quintic(s: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Weights of values, slopes and curvatures at both ends, at the fraction s."""
    value1 = s**3 * (10 - 15 * s + 6 * s**2)
    slope0, slope1 = s * (1 - s) ** 3 * (1 + 3 * s), -(s**3) * (1 - s) * (4 - 3 * s)
    curve0, curve1 = 0.5 * s**2 * (1 - s) ** 3, 0.5 * s**3 * (1 - s) ** 2
    return [1 - value1, value1], [slope0, slope1], [curve0, curve1]


def _cubic(s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return (1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s), s * (1 - s) ** 2, s**2 * (s - 1)
