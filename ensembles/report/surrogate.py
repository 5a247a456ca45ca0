"""A polynomial of the design numbers in place of the simulation (polynomial chaos), and what its variance is made of.

y = sum_a c_a prod_i P_i,a_i(x_i), where P_i,0 = 1, P_i,1, ... are orthonormal over the values that x_i takes in the
study: any distribution, any grid. The variance is then the sum of c_a^2, and the part of a term belongs to the numbers
in it (Sudret, Global sensitivity analysis using polynomial chaos expansions, 2008).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import solve_triangular

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record

MOST_MEMBERS = 4096  # that a fit takes, evenly spread; more change the third digit
MOST_TERMS = 300
MEMBERS_A_TERM = 3
HIGHEST = 12  # degree
INTERACTION = 3  # numbers in one term
RESAMPLES = 200
BETTER = 1e-6  # share of the variance by which a higher degree must predict better
MOST_LEVERAGE = 1.0 - 1e-9
RIDGE = 1e-10  # of the mean square, so that a term that two grids cannot tell apart does no harm


@record
class Expansion:
    """A fitted polynomial.

    Attributes:
        degrees: (t, d) degree of every term in every number.
        coefficients: (t,) of the terms.
        resampled: (r, t) the same of the resampled members.
        predicted: share of the variance that the polynomial predicts at members left out of the fit, 1 at best.
    """

    degrees: np.ndarray
    coefficients: np.ndarray
    resampled: np.ndarray
    predicted: float


def fit(x: np.ndarray, y: np.ndarray, seed: int = 0) -> Expansion | None:
    """The polynomial that predicts best of those that the members can tell apart, None of too few members.

    Args:
        x: (n, d) design numbers, none constant. y: (n,) the metric, not constant.
    """
    rows = evenly_spaced(len(y), MOST_MEMBERS)
    x, y = x[rows], y[rows]
    scale = y.std()
    z = (y - y.mean()) / scale
    best: tuple[_Fit, np.ndarray] | None = None
    for degrees in candidates(x):
        fitted = fitted_to(matrix(x, degrees), z)
        if fitted is not None and (best is None or fitted.predicted > best[0].predicted + BETTER):
            best = fitted, degrees
    if best is None:
        return None
    fitted, degrees = best
    coefficients, *resampled = solved(fitted, z, np.random.default_rng(seed)) * scale
    return Expansion(degrees, coefficients, np.array(resampled), fitted.predicted)


def candidates(x: np.ndarray) -> Iterator[np.ndarray]:
    """(t, d) degrees of the terms of polynomials of rising degree, as long as the members suffice."""
    levels = np.array([len(np.unique(column)) for column in x.T])
    most, last = min(MOST_TERMS, len(x) // MEMBERS_A_TERM), 0
    for degree in range(1, HIGHEST + 1):
        degrees = [a for a in _degrees(x.shape[1], degree) if (np.array(a) < levels).all()]
        if len(degrees) > most:
            return
        if len(degrees) > last:
            yield np.array(degrees)
        last = len(degrees)


def _degrees(numbers: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Degrees of all terms up to a total degree with at most `INTERACTION` numbers in one."""
    yield (0,) * numbers
    for count in range(1, min(INTERACTION, numbers, degree) + 1):
        powers = [p for p in itertools.product(range(1, degree + 1), repeat=count) if sum(p) <= degree]
        for places in itertools.combinations(range(numbers), count):
            for power in powers:
                term = [0] * numbers
                for place, p in zip(places, power, strict=True):
                    term[place] = p
                yield tuple(term)


def matrix(x: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """(n, t) the terms at every member."""
    terms = np.ones((len(x), len(degrees)))
    for k, column in enumerate(x.T):
        low, high = column.min(), column.max()
        basis, _ = np.linalg.qr(legendre.legvander(2.0 * (column - low) / (high - low) - 1.0, degrees[:, k].max()))
        basis = basis * np.sqrt(len(x)) * np.sign(basis[0, 0])
        terms *= basis[:, degrees[:, k]]
    return terms


@record
class _Fit:
    """Least squares of z (n,) by terms (n, t), factorised.

    Attributes:
        factor: (t, t) lower one of their Gram matrix. half: (t, n) the terms behind it.
        off: (n,) what members are off by when left out.
        predicted: 1 - sum of squares of that over that of z.
    """

    factor: np.ndarray
    half: np.ndarray
    off: np.ndarray
    predicted: float


def fitted_to(terms: np.ndarray, z: np.ndarray) -> _Fit | None:
    """Of terms (n, t); None where they are singular."""
    size = len(z)
    try:
        factor = np.linalg.cholesky(terms.T @ terms / size + RIDGE * np.eye(terms.shape[1]))
    except np.linalg.LinAlgError:
        return None
    half = solve_triangular(factor, terms.T, lower=True) / np.sqrt(size)
    leverage = np.minimum((half**2).sum(0), MOST_LEVERAGE)
    off = (z - half.T @ (half @ z)) / (1.0 - leverage)
    return _Fit(factor, half, off, float(1.0 - (off**2).sum() / ((z - z.mean()) ** 2).sum()))


def solved(fitted: _Fit, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coefficients (1 + r, t), below them those of resampled members.

    These are taken in one step from the solution of all: c + G^-1 sum_k (w_k - 1) e_k x_k, with e_k what member k is
    off by when it is left out of the fit, and w_k how often it was drawn. That needs one factorization instead of one
    for each resampling, and its intervals are rather too wide than too narrow.
    """
    size = len(z)
    drawn = rng.multinomial(size, np.full(size, 1.0 / size), size=RESAMPLES) - 1.0
    sides = np.concatenate([(fitted.half @ z)[None], (drawn * fitted.off) @ fitted.half.T])
    coefficients = solve_triangular(fitted.factor, sides.T / np.sqrt(size), lower=True, trans=1).T
    coefficients[1:] += coefficients[0]
    return coefficients


def shares(degrees: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total shares of the variance (..., d) of coefficients (..., t)."""
    parts = np.where(degrees.any(1), coefficients**2, 0.0)
    parts = parts / parts.sum(-1, keepdims=True)
    inside = degrees > 0
    alone = inside & (inside.sum(1) == 1)[:, None]
    return parts @ alone, parts @ inside
