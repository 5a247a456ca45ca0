"""Loops whose numbers are rounded: what is left of residuals without the rows that only rounding keeps from vanishing.

Problem: a planar loop has three redundant rows. Where its axes and pivots are written with six or eight digits they are
not exactly parallel and in one plane, so that those rows neither vanish nor depend on the others, but nearly do both.
The loop is closed in the sense of least squares: the residual vanishes along all directions in which joints can move
it, J^T phi = 0 of the numerical rank (Golub, Van Loan, Matrix Computations, section 5.5), and what stays, the misfit,
is small. A misfit that is not small is no rounding: the loop is open.

Host code.
"""

from __future__ import annotations

import numpy as np

from shiftjax.topology.partition import ROUNDED_RANK

# Largest misfit, dimensionless. Loops of numbers of six digits miss by up to 2e-6; a run trips at a gap of 1e-5, and
# is `inaccurate` above `gap_limit`.
MISFIT = 5e-6


def but_for_rounding(phi: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (B, m) and Jacobian (B, m, n) along what J can move, where the misfit is small; else as given."""
    finite = np.asarray(np.isfinite(phi).all(1) & np.isfinite(J).all((1, 2)))
    sound = np.where(finite[:, None, None], J, 0.0)
    U, sizes, _ = np.linalg.svd(sound, full_matrices=False)
    U = U * (sizes > ROUNDED_RANK * sizes[:, :1])[:, None, :]
    Ut = U.transpose(0, 2, 1)
    reached = (U @ (Ut @ np.where(finite[:, None], phi, 0.0)[:, :, None]))[:, :, 0]
    near = finite & (np.abs(phi - reached).max(1, initial=0.0) <= MISFIT)
    return np.where(near[:, None], reached, phi), np.where(near[:, None, None], U @ (Ut @ sound), J)
