"""Correlations between drawn numbers: a Gaussian copula. Host only.

Problem: numbers u of (0, 1), independent and one a path, become numbers w of (0, 1) that belong together as a matrix R
says, each still uniform, so that every path keeps its own law: w = Φ(L z), z = Φ⁻¹(u), L Lᵀ = R, L lower triangular
(Nelsen, An Introduction to Copulas, 2.3.5).
R is the correlation of the normal numbers L z: Pearson's of normal numbers and of the logarithms of lognormal ones; the
rank correlation of any laws is 6/π asin(R/2), at most 0.018 away from it.
Properties: since L is lower triangular, the first of the correlated paths, in the order in which they vary, keeps its
own draws, and none changes when another one is added after it. A Latin hypercube keeps its even strata in the first
path only. Desired and had: no sample is sorted, so that more samples keep the first ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from shiftjax.errors import ModelError, nearest, need, need_number, shown
from shiftjax.record import record

LEAST = 1e-10  # eigenvalue of a matrix whose factor is one to more digits than a correlation is known
FORM = 'pairs = [["a", "b", 0.5]], or paths = ["a", "b"] and matrix = [[1, 0.5], [0.5, 1]]'


@record
class Correlation:
    """Which paths belong together and how much.

    Attributes:
        paths: (n,) as the user wrote them.
        matrix: (n, n) correlations of the normal numbers.
    """

    paths: tuple[str, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()

    def joined(self, unit: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """path -> (count,) uniform numbers, those of its paths correlated.

        Args:
            unit: path -> (count,) independent numbers between 0 and 1, in the order in which the paths vary.
        """
        order = [path for path in unit if path in self.paths]
        at = [self.paths.index(path) for path in order]
        L = np.linalg.cholesky(np.array(self.matrix).reshape(len(self.paths), -1)[np.ix_(at, at)])
        z = [ndtri(unit[path]) for path in order]
        correlated = dict(unit)
        for k, path in enumerate(order[1:], 1):
            correlated[path] = ndtr(sum(L[k, j] * z[j] for j in range(k + 1)))
        return correlated


def correlation(words: Mapping[str, Any], where: str = "correlation") -> Correlation:
    """The correlations of a table of `pairs`, or of `paths` and `matrix`.

    Raises:
        ModelError: something else, numbers beyond 1, a matrix that is not symmetric or not positive definite.
    """
    known = ("pairs", "paths", "matrix")
    for key in words:
        if key not in known:
            raise ModelError(f"{where}.{key}", "an unknown key", FORM, nearest(str(key), known) or "Leave it out.")
    if not words:
        return Correlation()
    if ("pairs" in words) == ("matrix" in words) or ("paths" in words) != ("matrix" in words):
        raise ModelError(where, ", ".join(words), FORM, "Give one of the two.")
    if "pairs" in words:
        stated = _of_pairs(words["pairs"], f"{where}.pairs")
    else:
        stated = _of_matrix(words["paths"], words["matrix"], where)
    least = float(np.linalg.eigvalsh(np.array(stated.matrix))[0]) if stated.paths else 1.0
    if least < LEAST:
        fault = f"a matrix of {', '.join(stated.paths)} with the eigenvalue {least:.3g}"
        todo = "No numbers are correlated so; make the correlations smaller until all eigenvalues are positive."
        raise ModelError(where, fault, "a positive definite matrix", todo)
    return stated


def _of_pairs(pairs: Any, where: str) -> Correlation:
    need(where, pairs, (list, tuple), FORM)
    correlations: dict[tuple[str, str], float] = {}
    for k, pair in enumerate(pairs):
        here = f"{where}[{k}]"
        if not isinstance(pair, list | tuple) or len(pair) != 3 or not all(isinstance(path, str) for path in pair[:2]):
            raise ModelError(here, shown(pair), '["path", "path", correlation]', f"Write {FORM}.")
        a, b, value = pair
        need_number(here, value, "a number between -1 and 1")
        if a == b or (a, b) in correlations or (b, a) in correlations or not -1.0 < value < 1.0:
            fault = f"{a} with itself" if a == b else repr(list(pair))
            raise ModelError(here, fault, "each pair of two paths once, between -1 and 1", "Correct it.")
        correlations[a, b] = float(value)
    paths = tuple(dict.fromkeys(path for pair in correlations for path in pair))
    R = np.eye(len(paths))
    for (a, b), value in correlations.items():
        i, j = paths.index(a), paths.index(b)
        R[i, j] = R[j, i] = value
    return Correlation(paths, _frozen(R))


def _of_matrix(paths: Sequence[Any], matrix: Any, where: str) -> Correlation:
    texts = isinstance(paths, list | tuple) and all(isinstance(path, str) for path in paths)
    if not texts or not paths or len(set(paths)) < len(paths):
        raise ModelError(f"{where}.paths", shown(paths), "different paths", f"Write {FORM}.")
    try:
        R = np.array(matrix, float)
    except (TypeError, ValueError):
        R = np.zeros(0)
    n = len(paths)
    if R.shape != (n, n) or not np.isfinite(R).all() or (R != R.T).any() or (R.diagonal() != 1.0).any():
        allowed = f"a symmetric matrix of {n} rows of {n} numbers, ones on its diagonal"
        raise ModelError(f"{where}.matrix", shown(matrix), allowed, f"Write {FORM}.")
    return Correlation(tuple(paths), _frozen(R))


def _frozen(R: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in R)
