"""The damped change of least squares of a few columns as lane code, with the zeros that a mechanism has.

Problem: x of least |J x + phi|^2 + damping |x|^2, the change of Gauss and Newton that the closer makes. J^T J of a
planar loop has ten entries, of which some are known; its factors L D L^T take no pivots, because the damping keeps it
positive definite (Golub, Van Loan, Matrix Computations, section 4.1.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shiftjax.algebra import Scalar, Vec, dot, larger, quotient, total
from shiftjax.run.closing.closer import DAMPING

MOST = 8  # columns: for more of them a library's code is faster than a list of operations


def damped_change(
    residuals: Mapping[int, Scalar], entries: Mapping[tuple[int, int], Scalar], columns: Sequence[int], count: int
) -> Vec:
    """The change of every one of some columns.

    Args:
        residuals: by row. entries: of J by row and column, zeros left out. columns: that may change. count: of all
            columns, over which the damping is a mean.
    """
    of_columns = [{row: value for (row, j), value in entries.items() if j == column} for column in columns]
    normal = [[_product(of_columns[i], of_columns[j]) for j in range(i + 1)] for i in range(len(columns))]
    right = [-_product(column, residuals) for column in of_columns]
    mean = larger(quotient(total([line[-1] for line in normal]), float(count)), 1e-300)
    for line in normal:
        line[-1] = line[-1] + DAMPING * mean
    return _solution(normal, right)


def _product(a: Mapping[int, Scalar], b: Mapping[int, Scalar]) -> Scalar:
    return total([value * b[row] for row, value in a.items() if row in b])


def _solution(A: Sequence[Vec], b: Vec) -> Vec:
    """x of A x = b, A symmetric and positive definite, of which the lower triangle is given."""
    n, L, inverse, y = len(b), list[Vec](), Vec(), Vec()
    for j in range(n):
        line = Vec()  # of L D
        for k in range(j):
            line.append(A[j][k] - dot(line[:k], L[k]))
        L.append([value * inverse[k] for k, value in enumerate(line)])
        inverse.append(quotient(1.0, A[j][j] - dot(line, L[j])))
        y.append(b[j] - dot(L[j], y))
    x = [value * scale for value, scale in zip(y, inverse, strict=True)]
    for j in reversed(range(n)):
        x[j] = x[j] - total([L[i][j] * x[i] for i in range(j + 1, n)])
    return x
