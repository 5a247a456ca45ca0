"""Steps downhill within what more important rows leave free, of many members at once. Host code.

With S the rows that must not change, P projects on what they leave free; the step of rows J missed by e is the damped
least-squares one of J P (Levenberg-Marquardt): -P J^T (J P J^T + mu^2 I)^-1 e. Rows of S may depend on each other
(Siciliano, Slotine, A general framework for managing multiple tasks in highly redundant robotic systems, 1991;
Baerlocher, Boulic, An inverse kinematics architecture enforcing an arbitrary number of strict priority levels, 2004).
"""

from __future__ import annotations

import numpy as np

FLOOR = 1e-13  # damping at least, of the mean square of rows: those that follow from others make J J^T singular
FLAT = 1e-9  # of the largest curvature: what is less bends no energy
DEPENDENT = 1e-9  # of the largest singular value of S: what is less is a row that follows from the others


def decomposed(S: np.ndarray, size: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular values and vectors of rows (B, r, n), those of dependent rows infinite.

    Args:
        size: the largest singular value of what they are a part of.
    """
    S = np.where(np.isfinite(S).all((1, 2), keepdims=True), S, 0.0)
    U, sizes, Vt = np.linalg.svd(S, full_matrices=False)
    lost = sizes <= DEPENDENT * np.maximum(sizes[:, :1], max(size, 1e-300))
    return U, np.where(lost, np.inf, sizes), Vt


def free_of(S: np.ndarray, size: float = 0.0) -> np.ndarray:
    """(B, n, n) the projectors on what rows (B, r, n) leave free. As of `decomposed`."""
    _, sizes, Vt = decomposed(S, size)
    V = np.where(np.isinf(sizes)[:, :, None], 0.0, Vt)
    return np.eye(S.shape[2]) - V.transpose(0, 2, 1) @ V


def restoring_change(S: np.ndarray, missed: np.ndarray, size: float = 0.0) -> np.ndarray:
    """(B, n) the least change by which rows (B, r, n) are no more missed (B, r), as far as they can be."""
    U, sizes, Vt = decomposed(S, size)
    along = (U.transpose(0, 2, 1) @ missed[:, :, None])[:, :, 0] / sizes
    return -(Vt.transpose(0, 2, 1) @ along[:, :, None])[:, :, 0]


def damped_step(J: np.ndarray, missed: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """(B, n) the damped least-squares change of rows (B, m, n), which are missed by (B, m).

    Args:
        J: projected. damping: (B,) mu^2.
    """
    rows = J.shape[1]
    normal = J @ J.transpose(0, 2, 1)
    mean = np.trace(normal, axis1=1, axis2=2) / max(rows, 1)
    normal[:, range(rows), range(rows)] += np.maximum(damping, FLOOR * mean + 1e-300)[:, None]
    return -(J.transpose(0, 2, 1) @ np.linalg.solve(normal, missed[:, :, None]))[:, :, 0]


def as_least_squares(P: np.ndarray | None, g: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is missed (B, k) and rows (B, k, k) whose least-squares step is Newton's, within columns P (B, n, k)."""
    if P is not None:
        Pt = P.transpose(0, 2, 1)
        g, H = (Pt @ g[:, :, None])[:, :, 0], Pt @ H @ P
    good = np.asarray(np.isfinite(H).all((1, 2)) & np.isfinite(g).all(1))
    w, Q = np.linalg.eigh(np.where(good[:, None, None], H, 0.0))
    size = np.abs(w)
    size = np.maximum(size, np.maximum(FLAT * size.max(1, keepdims=True, initial=0.0), 1e-300))
    root = np.sqrt(size)
    return (Q.transpose(0, 2, 1) @ g[:, :, None])[:, :, 0] / root, root[:, :, None] * Q.transpose(0, 2, 1)
