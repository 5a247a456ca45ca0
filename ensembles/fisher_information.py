"""Fisher information of parameters in measured metrics: which of them measurements tell, and how well. Host only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.errors import ModelError, wrong
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record

ROUNDING = 1e-12  # of the largest singular value: below it a direction is told by nothing


@record
class Fisher:
    """What measurements tell of parameters; with leading axes (...), one for each member.

    Attributes:
        information: (..., P, P) S J^T J S, J the slopes in parts of the measurements' deviations, S the scales.
        eigenvalues: (..., P) of it, the smallest first; a direction with a small one is told badly, with 0 by nothing.
        directions: (..., P, P) the eigenvectors, in columns: changes of the parameters in parts of their scales.
        standard_deviations: (..., P) of parameters that are found from the measurements (Cramér-Rao), in their own
            units; infinite where a direction that nothing tells moves them.
        correlations: (..., P, P) between their errors; not a number where a deviation is infinite.
        rank: (...) how many directions are told.
    """

    information: np.ndarray
    eigenvalues: np.ndarray
    directions: np.ndarray
    standard_deviations: np.ndarray
    correlations: np.ndarray
    rank: np.ndarray


def sizes(values: Sequence[np.ndarray]) -> np.ndarray:
    """(P,) mean sizes of parameters from their values in a study, 1 where all are 0: the scales of `fisher`."""
    means = np.array([float(np.nanmean(np.abs(column))) for column in values])
    return np.where(means > 0, means, 1.0)


def _table(name: str, given: object) -> np.ndarray:
    """The array of what was given. Raises ModelError."""
    if (array := real_array(given)) is None:
        raise wrong(f"fisher: {name}", given, "an array of real numbers")
    return array


def fisher(slopes: np.ndarray, sigmas: np.ndarray, scales: np.ndarray | None = None) -> Fisher:
    """Fisher information of parameters in measurements with independent normal errors.

    Args:
        slopes: (..., M, P) derivatives of the measurements. sigmas: (M,) standard deviations of their errors.
        scales: (P,) sizes of the parameters, of which eigenvalues of parameters in different units are told in parts;
            1 where left out.

    Raises:
        ModelError: deviations or scales that are not positive, numbers that do not go together.
    """
    slopes, sigmas = _table("slopes", slopes), _table("sigmas", sigmas)
    if slopes.ndim < 2 or sigmas.shape != slopes.shape[-2:-1]:
        fault = f"slopes of shape {slopes.shape}, deviations of shape {sigmas.shape}"
        raise ModelError("fisher", fault, "(..., M, P) and (M,)", "Give one deviation a metric.")
    sizes = np.ones(slopes.shape[-1]) if scales is None else _table("scales", scales)
    for name, values in (("sigmas", sigmas), ("scales", sizes)):
        if not ((values > 0) & np.isfinite(values)).all():
            raise ModelError(f"fisher: {name}", repr(values.tolist())[:80], "numbers above 0", "Correct them.")
    if sizes.shape != slopes.shape[-1:]:
        raise ModelError("fisher: scales", f"shape {sizes.shape}", f"({slopes.shape[-1]},)", "Give one a parameter.")
    with np.errstate(all="ignore"):  # slopes of members that are far out: what is not finite is lost
        scaled = slopes / sigmas[:, None] * sizes
    lost = np.logical_not(np.asarray(np.isfinite(scaled).all(axis=(-2, -1))))
    # Of the slopes, not of the information, whose small eigenvalues would drown in the rounding of the large ones.
    _, values, rows = np.linalg.svd(np.where(lost[..., None, None], 0.0, scaled))
    count = slopes.shape[-1]
    singular = np.zeros((*values.shape[:-1], count))
    singular[..., : values.shape[-1]] = values
    regular = singular > ROUNDING * singular[..., :1]
    directions = np.swapaxes(rows, -1, -2)
    inverse = np.where(regular, 1.0 / np.where(regular, singular, 1.0), 0.0)
    root = directions * inverse[..., None, :]
    covariance = root @ np.swapaxes(root, -1, -2)
    free = (directions**2 * ~regular[..., None, :]).sum(-1) > ROUNDING
    deviations = np.where(free, np.inf, np.sqrt(np.einsum("...ii->...i", covariance)))
    with np.errstate(all="ignore"):
        correlations = covariance / deviations[..., :, None] / deviations[..., None, :]
    unknown = free[..., :, None] | free[..., None, :]
    nothing = lost[..., None]
    with np.errstate(all="ignore"):  # products of those that are lost, and squares of 1e160
        information, squares = np.swapaxes(scaled, -1, -2) @ scaled, singular[..., ::-1] ** 2
    return Fisher(
        np.where(nothing[..., None], np.nan, information),
        np.where(nothing, np.nan, squares),
        np.where(nothing[..., None], np.nan, directions[..., ::-1]),
        np.where(nothing, np.nan, deviations * sizes),
        np.where(unknown | nothing[..., None], np.nan, correlations),
        np.where(lost, 0, regular.sum(-1)),
    )
