"""Slopes of equilibria, and of the matrices of small motions about them, by numbers of the model. Host code.

Implicit functions: of R(x, p) = [Z^T f; rates of states; Phi] = 0 the tangent is x' with R_x x' = -R_p p'. Loops that
numbers change are followed by the least motion, J m = -Phi_p p'; what that leaves along the motions of loops is met by
the stiffness (Haug, Choi, Komkov, Design Sensitivity Analysis of Structural Systems, section 1.2). The matrices change
along the whole of it, which takes second derivatives of the forces: tangents of tangents of their graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.statics.at_rest import AtRest, Change, Linear, all_finite, along

OPEN = 1e-7  # of a change of loops: what no motion takes back
NEUTRAL = 1e-11  # of the largest singular value of the stiffness: a motion that has less stays where it is


@dataclass
class Matrices:
    """Of small motions, on k independent speeds in SI, states of forces behind.

    Attributes:
        motions: (B, nv, k) of all speeds, dimensionless, where an independent one is 1. M: (B, k, k). first_order:
            (B, k + ns, 2 k + ns) M y'' and the rates of states by y, y' and states.
    """

    motions: np.ndarray
    M: np.ndarray
    first_order: np.ndarray


def tangent(
    rest: AtRest, q: np.ndarray, states: np.ndarray, linear: Linear, numbers: Mapping[int, np.ndarray]
) -> Change:
    """How equilibria go with numbers of the model.

    Args:
        numbers: place in the plan -> (B,) tangents. linear: about the equilibria at q (nq, B), states (ns, B).
    """
    _, parts = rest.motions(q)
    k, unit = linear.K.shape[1], rest.units[:, None]
    shift = rest.shifted(parts, q, numbers)
    force, rates = rest.slopes(q, states, linear.multipliers, {"q": shift.T * unit}, numbers)
    whole = linear.first_order
    system = np.concatenate([whole[:, :, :k], whole[:, :, 2 * k :]], axis=2)
    right = -np.concatenate([along(linear.Z, force), rates], axis=1)
    finite = all_finite(system) & np.isfinite(right).all(1)
    inverse = np.linalg.pinv(np.where(finite[:, None, None], system, 0.0), rcond=NEUTRAL)
    answer = (inverse @ np.where(finite, right.T, np.nan).T[:, :, None])[:, :, 0]
    motion = shift + (linear.Z @ answer[:, :k, None])[:, :, 0]
    settled = answer[:, k:].T
    way = {"q": motion.T * unit, "states": settled}
    multipliers = rest.borne(parts, rest.slopes(q, states, linear.multipliers, way, numbers)[0])
    return Change(numbers, motion, settled, multipliers)


def opened(rest: AtRest, q: np.ndarray, numbers: Mapping[int, np.ndarray]) -> np.ndarray:
    """(B,) whether numbers of the model open loops so that no motion closes them again; as of `tangent`."""
    out = np.zeros(q.shape[1], bool)
    _, parts = rest.motions(q)
    for s, (U, _, _) in enumerate(parts):
        phi = host.closure_slopes(rest.lane, q, s, {rest.plan.nq + place: x for place, x in numbers.items()})[0]
        left = phi - (U @ (U.transpose(0, 2, 1) @ phi[:, :, None]))[:, :, 0]
        out |= np.abs(left).max(1, initial=0.0) > OPEN * np.abs(phi).max(1, initial=0.0)
    return out


def matrices(linear: Linear, units: np.ndarray, speeds: Sequence[int]) -> Matrices:
    """On independent speeds (k,)."""
    chosen = np.linalg.inv(linear.Z[:, list(speeds)])
    k, scale = linear.K.shape[1], units[list(speeds)]
    whole = linear.first_order.copy()
    turn = chosen / scale  # from independent speeds in SI to those of Z
    whole[:, :k] = turn.transpose(0, 2, 1) @ whole[:, :k]
    whole[:, :, :k] = whole[:, :, :k] @ turn
    whole[:, :, k : 2 * k] = whole[:, :, k : 2 * k] @ turn
    return Matrices(linear.Z @ turn, turn.transpose(0, 2, 1) @ linear.M @ turn, whole)


def matrix_slopes(
    rest: AtRest, q: np.ndarray, states: np.ndarray, linear: Linear, change: Change, speeds: Sequence[int]
) -> Matrices:
    """How `matrices` go along a change of equilibria."""
    plan, unit, B = rest.plan, rest.units, q.shape[1]
    here = matrices(linear, unit, speeds)
    T, k, ns = here.motions, linear.K.shape[1], plan.ns
    turning = _turning(rest, q, change, T, speeds)
    H, dH = rest.masses(q), rest.mass_slopes(q, change)
    half = turning.transpose(0, 2, 1) @ H @ T
    M = half + half.transpose(0, 2, 1) + T.transpose(0, 2, 1) @ dH @ T
    out = np.zeros((B, k + ns, 2 * k + ns))
    for j in range(2 * k + ns):
        if j < 2 * k:
            name, column = ("q", j) if j < k else ("v", j - k)
            way = {name: T[:, :, column].T * unit[:, None]}
            turned = {name: turning[:, :, column].T * unit[:, None]}
        else:
            way, turned = {"states": np.eye(ns)[j - 2 * k][:, None] * np.ones(B)}, None
        force, _ = rest.slopes(q, states, linear.multipliers, way)
        bent, bent_rates = rest.slopes(q, states, linear.multipliers, way, change=change)
        if turned is not None:
            more, more_rates = rest.slopes(q, states, linear.multipliers, turned)
            bent, bent_rates = bent + more, bent_rates + more_rates
        out[:, :k, j] = along(turning, force) + along(T, bent)
        out[:, k:, j] = bent_rates
    return Matrices(turning, M, out)


def _turning(rest: AtRest, q: np.ndarray, change: Change, T: np.ndarray, speeds: Sequence[int]) -> np.ndarray:
    """(B, nv, k) how motions T with independent speeds go along a change."""
    out = np.zeros_like(T)
    _, parts = rest.motions(q)
    for s, (block, (U, sizes, Vt)) in enumerate(zip(rest.plan.substructures, parts, strict=True)):
        columns = list(block.columns)
        turned = U.transpose(0, 2, 1) @ rest.closure_slopes(q, s, change) @ T[:, columns]
        out[:, columns] = -(Vt.transpose(0, 2, 1) @ (turned / sizes[:, :, None]))
    # T maps independent speeds, in SI, to all of them, dimensionless
    return out - T @ (out[:, list(speeds)] * rest.units[list(speeds)][:, None])
