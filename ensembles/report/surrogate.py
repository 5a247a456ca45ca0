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
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from shiftjax.record import record

MOST_MEMBERS = 4096  # that a fit takes, evenly spread; more change the third digit
MOST_TERMS = 300
MEMBERS_A_TERM = 3
HIGHEST = 12  # degree
INTERACTION = 3  # numbers in one term
GROUPS, RESAMPLES = 40, 200  # of the bootstrap, which draws groups of members
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
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), MOST_MEMBERS)).round().astype(np.int64))
    x, y = x[rows], y[rows]
    scale = y.std()
    z = (y - y.mean()) / scale
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for degrees in candidates(x):
        terms = matrix(x, degrees)
        found = left_out(terms, z)
        if found is not None and (best is None or found > best[0] + 1e-6):
            best = found, degrees, terms
    if best is None:
        return None
    predicted, degrees, terms = best
    coefficients, resampled = solved(terms, z, np.random.default_rng(seed))
    return Expansion(degrees, coefficients * scale, resampled * scale, predicted)


def candidates(x: np.ndarray) -> Iterator[np.ndarray]:
    """(t, d) degrees of the terms of polynomials of rising degree, as long as the members suffice."""
    levels = np.array([len(np.unique(column)) for column in x.T])
    most, last = min(MOST_TERMS, len(x) // MEMBERS_A_TERM), 0
    for degree in range(1, HIGHEST + 1):
        found = [a for a in _degrees(x.shape[1], degree) if (np.array(a) < levels).all()]
        if len(found) > most:
            return
        if len(found) > last:
            yield np.array(found)
        last = len(found)


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


def left_out(terms: np.ndarray, z: np.ndarray) -> float | None:
    """1 - sum of squares of z (n,) minus its prediction by all other members, over that of z; None if singular."""
    size = len(z)
    try:
        factor = np.linalg.cholesky(terms.T @ terms / size + RIDGE * np.eye(terms.shape[1]))
    except np.linalg.LinAlgError:
        return None
    half = solve_triangular(factor, terms.T, lower=True) / np.sqrt(size)
    leverage = np.minimum((half**2).sum(0), 1.0 - 1e-9)
    rest = (z - half.T @ (half @ z)) / (1.0 - leverage)
    return float(1.0 - (rest**2).sum() / ((z - z.mean()) ** 2).sum())


def solved(terms: np.ndarray, z: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Least squares (t,), and the same of resampled groups of members (r, t)."""
    groups = np.array_split(rng.permutation(len(z)), min(GROUPS, len(z)))
    squares = np.array([terms[g].T @ terms[g] for g in groups])
    sides = np.array([terms[g].T @ z[g] for g in groups])
    ridge = RIDGE * len(z) * np.eye(terms.shape[1])
    coefficients = cho_solve(cho_factor(squares.sum(0) + ridge), sides.sum(0))
    found = []
    for _ in range(RESAMPLES):
        weights = rng.multinomial(len(groups), np.full(len(groups), 1.0 / len(groups))).astype(np.float64)
        try:
            factor = cho_factor(np.tensordot(weights, squares, 1) + ridge)
        except LinAlgError:
            continue
        found.append(cho_solve(factor, weights @ sides))
    return coefficients, np.array(found).reshape(-1, terms.shape[1])


def shares(degrees: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total shares of the variance (..., d) of coefficients (..., t)."""
    parts = np.where(degrees.any(1), coefficients**2, 0.0)
    parts = parts / parts.sum(-1, keepdims=True)
    inside = degrees > 0
    alone = inside & (inside.sum(1) == 1)[:, None]
    return parts @ alone, parts @ inside
