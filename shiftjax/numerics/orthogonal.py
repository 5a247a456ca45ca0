"""Square systems by orthogonal columns. Lane code: no pivots are chosen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from shiftjax.algebra import Mat, Scalar, Vec, dot, is_zero, minus, scale


class OrthogonalFactors:
    """A = Q R with orthogonal columns Q and a unit upper triangular R, for solves with A and with its transpose.

    As in `reduction.gram_schmidt` (Golub, Van Loan, section 5.2.8), which keeps no factors.
    """

    def __init__(self, A: Mat) -> None:
        r = len(A)
        self.Q = [[A[i][j] for i in range(r)] for j in range(r)]
        self.R: Mat = [[0.0] * r for _ in range(r)]
        self.inverses: Vec = []
        for k, q in enumerate(self.Q):
            self.inverses.append(1.0 / dot(q, q))
            for j in range(k + 1, r):
                s = dot(q, self.Q[j])
                if not is_zero(s):
                    self.R[k][j] = s * self.inverses[k]
                    self.Q[j] = minus(self.Q[j], scale(self.R[k][j], q))

    @staticmethod
    def size(r: int) -> int:
        """How many numbers the factors of r columns are."""
        return r * r + r * (r - 1) // 2 + r

    @property
    def numbers(self) -> Vec:
        """The factors as a list."""
        upper = [x for k, row in enumerate(self.R) for x in row[k + 1 :]]
        return [*(x for q in self.Q for x in q), *upper, *self.inverses]

    @classmethod
    def of_numbers(cls, numbers: Iterable[Scalar], r: int) -> Self:
        """The factors of such a list."""
        made, rest = cls([]), iter(numbers)
        made.Q = [[next(rest) for _ in range(r)] for _ in range(r)]
        made.R = [[0.0] * (k + 1) + [next(rest) for _ in range(r - k - 1)] for k in range(r)]
        made.inverses = [next(rest) for _ in range(r)]
        return made

    def solve(self, b: Vec) -> Vec:
        """x of A x = b."""
        x: Vec = []
        for q, inverse in zip(self.Q, self.inverses, strict=True):
            x.append(dot(q, b) * inverse)
            b = minus(b, scale(x[-1], q))
        for i in reversed(range(len(x))):
            x[i] = x[i] - dot(self.R[i][i + 1 :], x[i + 1 :])
        return x

    def solve_transposed(self, b: Vec) -> Vec:
        """x of A^T x = b."""
        y: Vec = []
        for i, value in enumerate(b):
            y.append(value - dot([self.R[k][i] for k in range(i)], y))
        y = [inverse * value for inverse, value in zip(self.inverses, y, strict=True)]
        return [dot(y, [q[i] for q in self.Q]) for i in range(len(y))]
