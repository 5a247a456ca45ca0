"""Small motions about the poses that a search has come to: `Modes`. Host code.

M y'' + C y' + K y = 0 on the motions that loops allow, all three exact derivatives (`at_rest`). Natural frequencies are
those of M and K; what damping makes of them are the eigenvalues of the equations of first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.markup import html_lines
from shiftjax.record import record
from shiftjax.run.results.result import Result
from shiftjax.run.results.summary import modes_summary
from shiftjax.statics.at_rest import Linear, all_finite
from shiftjax.statics.independent import independent_speeds
from shiftjax.statics.search import Search
from shiftjax.statics.settling import NEUTRAL
from shiftjax.statics.stability import by_mass, odd, squares_of

DEPENDENT = 1e-10  # of the largest singular value: coordinates that do not tell all motions apart


@record
class Modes:
    """Small motions of B designs about a pose, or of one without a member axis; k freedoms.

    Attributes:
        frequencies: (B, k) natural, undamped, ascending [Hz]; 0 of motions without stiffness, NaN of those that leave.
        damping_ratios: (B, k) of each of these motions by itself, NaN where the frequency is 0.
        eigenvalues: (B, 2 k + ns) s of the damped motions e^(s t), slowest first [1/s]: exact however C couples the
            modes, and with the ns internal states of forces.
        shapes: speed -> (B, k) of each mode [rad or m]: the largest, metres in parts of the model's length, is 1.
        independent: the k coordinates of M, C, K. M, C, K: (B, k, k) on them, in SI, for angles N m s^2, N m s, N m;
            internal states of forces follow at once.
        stability: (B,) "stable", "unstable" or "neutral"; "" where there is no pose.
        status: (B,) `Outcome`; messages: (B,) texts, "" where all is well.
    """

    frequencies: Any  # of NumPy, or of JAX where it traces numbers
    damping_ratios: Any
    eigenvalues: Any
    shapes: dict[str, np.ndarray]
    independent: tuple[str, ...]
    M: np.ndarray
    C: np.ndarray
    K: np.ndarray
    stability: np.ndarray
    status: np.ndarray
    messages: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(modes_summary(self))

    def _repr_html_(self) -> str:
        return html_lines(modes_summary(self))


def modes_of(search: Search, result: Result, independent: Sequence[str] = ()) -> Modes:
    """The small motions about where a search has come to, whose result this is; the rest as of `modes`."""
    plan, members = search.prepared.plan, search.prepared.members
    pick = (lambda a: a) if result.batched else (lambda a: a[0])
    k, names = search.squared.shape[1], plan.speed_names()
    speeds = independent_speeds(search, independent)
    good = np.atleast_1d(result.status) <= 0
    squares = np.full((members, k), np.nan)
    whole = {name: np.full((members, k, k), np.nan) for name in "MCK"}
    shapes, ratios = np.full((members, plan.nv, k), np.nan), np.full((members, k), np.nan)
    eigenvalues = np.full((members, 2 * k + plan.ns), np.nan, complex)
    for group, linear in search.linear:
        some = np.flatnonzero(good[group])
        if not len(some) or linear.K.shape[1] != k:
            continue
        part = linear.some(some)
        units = np.asarray(search.prepared.file_lane().units)
        at = group[some]
        squares[at], ratios[at], shapes[at] = natural_motions(part, units)
        eigenvalues[at] = _damped(part)
        whole["M"][at], whole["C"][at], whole["K"][at] = _on(part, units, speeds)
    largest = np.abs(squares).max(1, initial=0.0)[:, None]
    with np.errstate(invalid="ignore"):
        frequencies = np.sqrt(np.where(np.abs(squares) <= NEUTRAL * largest, 0.0, squares)) / (2.0 * np.pi)
    return Modes(
        frequencies=pick(frequencies),
        damping_ratios=pick(np.where(frequencies > 0.0, ratios, np.nan)),
        eigenvalues=pick(eigenvalues),
        shapes={name: pick(shapes[:, row]) for row, name in enumerate(names)},
        independent=tuple(names[speed] for speed in speeds),
        M=pick(whole["M"]), C=pick(whole["C"]), K=pick(whole["K"]),
        stability=pick(np.where(good, search.stability, "")),
        status=result.status,
        messages=result.messages,
    )  # fmt: skip


def natural_motions(linear: Linear, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(B, k) squared frequencies, (B, k) damping ratios, and (B, nv, k) shapes in true units."""
    W = by_mass(linear.M)
    A = W.transpose(0, 2, 1) @ linear.K @ W
    finite = all_finite(A)
    squares, Q = np.linalg.eigh(np.where(finite[:, None, None], 0.5 * (A + A.transpose(0, 2, 1)), 0.0))
    modal = W @ Q  # of unit mass
    squares = np.where(odd(linear)[:, None], squares, squares_of(linear, modal))
    order = np.argsort(squares, axis=1)
    modal = np.take_along_axis(modal, order[:, None], 2)
    squares = np.where(finite[:, None], np.take_along_axis(squares, order, 1), np.nan)
    damping = (modal * (linear.C @ modal)).sum(1)
    with np.errstate(all="ignore"):
        ratios = damping / (2.0 * np.sqrt(squares))
    shapes = linear.Z @ modal
    largest = np.take_along_axis(shapes, np.abs(shapes).argmax(1)[:, None], 1)
    return squares, ratios, shapes / largest * units[:, None]


def _damped(linear: Linear) -> np.ndarray:
    """(B, 2 k + ns) eigenvalues of the equations of first order, by their sizes."""
    W, whole = by_mass(linear.M), linear.first_order
    k, (B, _, n) = linear.K.shape[1], whole.shape
    A = np.zeros((B, n, n))
    A[:, :k, k : 2 * k] = np.eye(k)
    A[:, k : 2 * k], A[:, 2 * k :] = W @ (W.transpose(0, 2, 1) @ whole[:, :k]), whole[:, k:]
    out = np.full((B, n), np.nan, complex)
    for member in np.flatnonzero(all_finite(A)):
        values = np.linalg.eigvals(A[member])
        out[member] = values[np.lexsort((values.real, values.imag, np.abs(values).round(9)))]
    return out


def _on(linear: Linear, units: np.ndarray, speeds: Sequence[int]) -> tuple[np.ndarray, ...]:
    """M, C and K (B, k, k) on speeds, in SI; NaN where these do not tell all motions apart."""
    chosen = linear.Z[:, list(speeds)]
    sizes = np.linalg.svd(chosen, compute_uv=False)
    good = sizes.min(1, initial=1.0) > DEPENDENT
    inverse = np.full_like(chosen, np.nan)
    inverse[good] = np.linalg.inv(chosen[good] * units[list(speeds)][:, None])
    return tuple(inverse.transpose(0, 2, 1) @ part @ inverse for part in (linear.M, linear.C, linear.K))
