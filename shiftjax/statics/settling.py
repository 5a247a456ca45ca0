"""From poses downhill to where forces vanish along all motions that loops allow, of many members at once. Host code.

Problem: Z^T f = 0 on the closure manifold, near a given pose, where the potential has a minimum or, if asked, of any
kind. Newton's step with the stiffness made positive goes downhill whatever the curvature (Nocedal, Wright, Numerical
Optimization, section 3.4); it is taken where the forces do work on it, by the trapezoidal rule, which needs no
potential and so serves forces that have none, and shortened where they do not. A pose at which forces vanish, but which
is not stable, is left along the motion of the most negative stiffness. Loops are closed after each step; a member that
stands is computed no more, so that its pose does not depend on the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.run.closing.closer import STEP_ANGLE, STEP_LENGTH
from shiftjax.statics.at_rest import AtRest, Linear, all_finite, along

ITERATIONS = 300
STILL = 1e-15  # a shorter step changes nothing, dimensionless
SHORT = 1e-9  # a step below which one that is not halved is rounding
WORK = 1e-4  # of the first-order work of a step, that it must do
ROUNDING = 1e-13  # of the size of forces: what is less along a motion without stiffness is none
NEUTRAL = 1e-9  # of the size of forces: a smaller stiffness is none
PUSHED = 0.05  # of the largest step, by which an unstable pose is left
STUCK = 1e-9  # of the largest step: where shorter ones are not downhill the forces jump


@dataclass
class Settled:
    """Where members stand.

    Attributes:
        q: (nq, B); states: (ns, B) of forces. still: (B,) whether forces vanish. residual: (B,) the largest one that is
            left [N m]. moving: (B,) the speed that moved most in the last step. drifting: (B,) the state of a force
            whose rate does not vanish where forces do, -1 for none.
    """

    q: np.ndarray
    states: np.ndarray
    still: np.ndarray
    residual: np.ndarray
    moving: np.ndarray
    drifting: np.ndarray


def settle(rest: AtRest, q: np.ndarray, states: np.ndarray, *, any_kind: bool) -> Settled:
    """Moves members to where they are in equilibrium.

    Args:
        q: (nq, B) closed coordinates; states: (ns, B) of forces. any_kind: whether equilibria that are not stable do.
    """
    B = q.shape[1]
    out = Settled(q.copy(), states.copy(), np.zeros(B, bool), np.full(B, np.inf), np.zeros(B, int), np.full(B, -1))
    radius, last = np.ones(B), np.full(B, np.inf)
    cap = np.where(rest.units == 1.0, STEP_ANGLE, STEP_LENGTH)
    running = np.arange(B)
    for _ in range(ITERATIONS):
        here = rest.of(running)
        out.states[:, running] = here.settled(out.q[:, running], out.states[:, running])
        linear = here.linear(out.q[:, running], out.states[:, running])
        y, least, softest = _newton(linear, any_kind=any_kind)
        residual = np.abs(linear.force).max(1, initial=0.0)
        size = np.abs(linear.Z @ y[:, :, None]).max((1, 2), initial=0.0)
        finite = np.isfinite(size) & np.isfinite(residual)
        slow = size > 0.5 * last[running]
        there = finite & ((size <= STILL) | (slow & ((size < SHORT) | (residual < 10.0 * ROUNDING * linear.size))))
        leaving = there & (least < -NEUTRAL * linear.size) & (not any_kind)
        y = np.where(leaving[:, None], softest, y)
        out.residual[running] = np.where(finite, residual, np.inf)
        drifts = np.abs(linear.rates).max(1, initial=0.0) > SHORT
        out.still[running] = there & ~leaving & ~drifts
        if linear.rates.shape[1]:
            out.drifting[running] = np.where(there & drifts, np.abs(linear.rates).argmax(1), -1)
        going = finite & ~(there & ~leaving) & (radius[running] > STUCK)
        if not going.any():
            break
        running, leaving, size = running[going], leaving[going], size[going]
        linear, y = linear.some(going), y[going]
        change = (linear.Z @ y[:, :, None])[:, :, 0]
        most = (np.abs(change) / cap).max(1, initial=0.0)
        length = np.minimum(1.0, radius[running] / np.maximum(most, 1e-300))
        length = np.where(leaving, PUSHED * radius[running] / np.maximum(most, 1e-300), length)
        change *= length[:, None]
        out.moving[running] = np.argmax(np.abs(change), axis=1)
        q_next, good = _trial(rest.of(running), out, running, linear, change, any_kind=any_kind)
        out.q[:, running[good]] = q_next[:, good]
        last[running] = np.where(good & ~leaving, size, np.inf)
        shorter = 0.25 * np.minimum(radius[running], most * length)
        radius[running] = np.where(good, np.minimum(1.0, 2.0 * radius[running]), shorter)
    return out


def _trial(
    rest: AtRest, at: Settled, members: np.ndarray, linear: Linear, change: np.ndarray, *, any_kind: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (nq, B) after a change (B, nv), and (B,) whether they may be taken."""
    q, closed = rest.closed(rest.moved(at.q[:, members], change))
    states = rest.settled(q, at.states[:, members])
    Z, force = rest.balance(q, states)
    before = (linear.force * along(linear.Z, change)).sum(1)
    after = (force * along(Z, change)).sum(1)
    good = 0.5 * (before + after) >= WORK * np.abs(before)
    if any_kind:
        good = np.linalg.norm(force, axis=1) <= (1.0 - WORK) * np.linalg.norm(linear.force, axis=1)
    return q, closed & np.isfinite(force).all(1) & (good | (np.abs(change).max(1, initial=0.0) < SHORT))


def _newton(linear: Linear, *, any_kind: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Newton's step (B, k), made one downhill; (B,) the least stiffness, and (B, k) the motion that has it."""
    K, force = linear.K, linear.force
    if not K.shape[1]:
        return force, np.zeros(len(K)), force
    finite = all_finite(K) & np.isfinite(force).all(1)
    K = np.where(finite[:, None, None], K, 0.0)
    w, Q = np.linalg.eigh(0.5 * (K + K.transpose(0, 2, 1)))
    parts, floor = along(Q, force), NEUTRAL * linear.size[:, None]
    parts = np.where((np.abs(w) <= floor) & (np.abs(parts) <= ROUNDING * linear.size[:, None]), 0.0, parts)
    stiff = np.maximum(np.maximum(np.abs(w), floor), 1e-300)
    with np.errstate(over="ignore"):
        y = (Q @ (parts / np.where(any_kind & (w < 0.0), -stiff, stiff))[:, :, None])[:, :, 0]
    skew = np.abs(K - K.transpose(0, 2, 1)).max((1, 2)) > ROUNDING * linear.size
    exact = skew & np.asarray((np.abs(w) > floor).all(1) & (any_kind | (w > 0.0).all(1)))  # without a potential
    for k in np.flatnonzero(exact):
        y[k] = np.linalg.lstsq(K[k], force[k], rcond=None)[0]
    softest = Q[:, :, 0]
    first = np.take_along_axis(softest, np.abs(softest).argmax(1)[:, None], 1)
    return np.where(finite[:, None], y, np.nan), w[:, 0], softest * np.where(first < 0.0, -1.0, 1.0)
