"""Whether equilibria are stable, and the frequencies of small motions about them, of many members. Host code.

M y'' + K y = 0: stable where all eigenvalues of M^-1 K are positive, neutral where some vanish, unstable where one is
negative or, of forces without a potential, complex, which flutters (Ziegler, Principles of Structural Stability).
"""

from __future__ import annotations

import numpy as np

from shiftjax.statics.at_rest import Linear, all_finite
from shiftjax.statics.settling import NEUTRAL

MASSLESS = 1e-13  # of the largest mass of a motion: less is none
ODD = 1e-6  # of their size: stiffnesses that are less asymmetric have a potential


def by_mass(M: np.ndarray) -> np.ndarray:
    """(B, k, k) W with W^T M W = 1; NaN where a motion moves no mass."""
    if not M.shape[1]:
        return M
    finite = all_finite(M)
    m, V = np.linalg.eigh(np.where(finite[:, None, None], M, 0.0))
    massless = m <= MASSLESS * np.abs(m).max(1)[:, None]
    with np.errstate(all="ignore"):
        return V / np.sqrt(np.where(massless | ~finite[:, None], np.nan, m))[:, None, :]


def squares_of(linear: Linear, modal: np.ndarray) -> np.ndarray:
    """(B, k) squared frequencies of symmetric stiffness by its modes (B, k, k), as Rayleigh quotients.

    Eigenvalues of W^T K W are off by a rounding of the largest one; quotients by M and K themselves by one of each,
    times what K loses on its mode, and by the square of what the mode is off: the lowest frequency of a beam of 20
    links, 6e-3 of the highest, comes to 5e-15 in place of 1e-12 (Parlett, The Symmetric Eigenvalue Problem, ch. 4).
    """
    K = 0.5 * (linear.K + linear.K.transpose(0, 2, 1))
    with np.errstate(all="ignore"):
        return np.asarray((modal * (K @ modal)).sum(1) / (modal * (linear.M @ modal)).sum(1))


def odd(linear: Linear) -> np.ndarray:
    """(B,) whether the stiffness is not symmetric: forces have no potential."""
    return np.abs(linear.K - linear.K.transpose(0, 2, 1)).max((1, 2), initial=0.0) > ODD * linear.size


def squared_frequencies(linear: Linear) -> np.ndarray:
    """(B, k) eigenvalues of M^-1 K by their real parts, ascending [rad^2/s^2]; complex where forces have no
    potential, NaN where a motion moves no mass."""
    W = by_mass(linear.M)
    A = W.transpose(0, 2, 1) @ linear.K @ W
    out = np.full(A.shape[:2], np.nan, complex)
    good = all_finite(A)
    other = odd(linear)
    if A.shape[1]:
        plain, rest = good & ~other, good & other
        Q = np.linalg.eigh(0.5 * (A + A.transpose(0, 2, 1))[plain])[1]
        out[plain] = np.sort(squares_of(linear.some(plain), W[plain] @ Q))
        out[rest] = np.sort_complex(np.linalg.eigvals(A[rest]))
    return out


def stability(linear: Linear, squares: np.ndarray) -> np.ndarray:
    """(B,) "stable", "unstable" or "neutral"."""
    K, limit = linear.K, NEUTRAL * linear.size
    if not K.shape[1]:
        return np.full(len(K), "stable", dtype="<U8")
    K = np.where(all_finite(K)[:, None, None], K, 0.0)
    w = np.linalg.eigvalsh(0.5 * (K + K.transpose(0, 2, 1)))
    real, imaginary = np.real(squares), np.imag(squares)
    flutter = odd(linear) & (np.abs(imaginary) > ODD * np.abs(squares).max(1, keepdims=True)).any(1)
    low = np.where(odd(linear), real[:, 0] < -NEUTRAL * np.abs(squares).max(1), w[:, 0] < -limit)
    unstable = low | flutter
    neutral = np.abs(w).min(1) <= limit
    return np.where(unstable, "unstable", np.where(neutral, "neutral", "stable"))
