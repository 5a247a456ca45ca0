"""Solving with the primary block J_Pd of a substructure: block triangular form, then QR of each block.

Problem: X with J_Pd X = R for several right-hand sides. Elimination in a fixed order meets zero pivots at regular poses
(a link parallel to an axis); QR has none, and a partition does not prescribe an order. The diagonal blocks of the block
triangular form are the Assur groups of the mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shiftjax.algebra import Mat, Scalar, Vec, dot, is_zero, larger, largest, minus, scale
from shiftjax.constraints.kind import Rows, scales
from shiftjax.topology.block_triangular import block_triangular

Column = dict[int, Scalar]  # speed -> entry


def gram_schmidt(A: Mat, rhs: Sequence[Vec]) -> tuple[list[Vec], Vec, Vec]:
    """Solves A x = b for every b by modified Gram-Schmidt without roots (Golub, Van Loan, section 5.2.8).

    Returns:
        the solutions, the squares of the pivot lengths q.q, and their inverses.
    """
    r = len(A)
    columns = [[A[i][j] for i in range(r)] for j in range(r)]
    values = [list(b) for b in rhs]
    upper = [[0.0] * r for _ in range(r)]
    heads: list[Vec] = [[0.0] * r for _ in rhs]
    squares: Vec = []
    inverses: Vec = []
    for k in range(r):
        q = columns[k]
        squares.append(dot(q, q))
        inverses.append(1.0 / squares[k])
        for target, keep, first in ((columns, upper[k], k + 1), (values, None, 0)):
            for j in range(first, len(target)):
                s = dot(q, target[j])
                if is_zero(s):
                    continue
                f = s * inverses[k]
                target[j] = minus(target[j], scale(f, q))
                if keep is None:
                    heads[j][k] = f
                else:
                    keep[j] = f
    solutions: list[Vec] = []
    for g in heads:
        x: Vec = [0.0] * r
        for i in reversed(range(r)):
            x[i] = g[i]
            for j in range(i + 1, r):
                x[i] -= upper[i][j] * x[j]
        solutions.append(x)
    return solutions, squares, inverses


def of_two(A: Mat, rhs: Sequence[Vec]) -> tuple[list[Vec], Vec, Vec]:
    """As `gram_schmidt`, of two columns by Cramer's rule: both divisions at once, neither waits for the other.

    Forward stable for two unknowns (Higham, Accuracy and Stability of Numerical Algorithms, section 1.10.1).
    """
    (a, b), (c, d) = A
    square, volume = a * a + c * c, a * d - b * c
    inverse, of_volume = 1.0 / square, 1.0 / volume
    solutions = [[of_volume * (x * d - b * y), of_volume * (a * y - x * c)] for x, y in rhs]
    return solutions, [square, volume * volume * inverse], [inverse, square * (of_volume * of_volume)]


def solve_blockwise(A: Mat, sides: Sequence[Vec], *, at_once: bool = False) -> tuple[list[Vec], Vec, Vec]:
    """Solves the square A x = b for every b, one diagonal block of its block triangular form after the other.

    Args:
        at_once: whether blocks of two are solved by `of_two`, sooner and with other roundings.

    Returns:
        the solutions, the squares of all pivot lengths, and their inverses.
    """
    pattern = [[not is_zero(entry) for entry in row] for row in A]
    X: list[Vec] = [[0.0] * len(A) for _ in sides]
    squares: Vec = []
    inverses: Vec = []
    seen: list[int] = []
    for rows, columns in block_triangular(pattern):
        right = []
        for x, b in zip(X, sides, strict=True):
            right.append([b[i] - dot([A[i][j] for j in seen], [x[j] for j in seen]) for i in rows])
        solve = of_two if at_once and len(rows) == 2 else gram_schmidt
        solved, square, inverse = solve([[A[i][j] for j in columns] for i in rows], right)
        for x, part in zip(X, solved, strict=True):
            for j, value in zip(columns, part, strict=True):
                x[j] = value
        seen += columns
        squares += square
        inverses += inverse
    return X, squares, inverses


@dataclass
class Reduction:
    """The linear system with J_Pd of one substructure: dimensionless inside, true units outside.

    primary: local rows; dependent, independent: speed indices (global); unit: speed index -> factor that makes it
    dimensionless; length: the same for rows in metres [m].
    """

    rows: Rows
    primary: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]
    unit: Sequence[float]
    length: float

    def __post_init__(self) -> None:
        self.row_unit = scales(self.rows.unit, self.length)
        self.row_scale = [1.0 / unit for unit in self.row_unit]  # makes a row dimensionless

    def _entry(self, row: int, speed: int) -> Scalar:
        entry = self.rows.J[row].get(speed, 0.0)
        return self.unit[speed] / self.row_unit[row] * entry

    def matrix(self) -> Mat:
        """J_Pd, dimensionless."""
        return [[self._entry(row, speed) for speed in self.dependent] for row in self.primary]

    def solve(self, sides: Sequence[Vec], *, at_once: bool = False) -> tuple[list[Vec], Scalar]:
        """X of J_Pd X = b for right-hand sides over the primary rows (true units).

        Args:
            at_once: as of `solve_blockwise`.

        Returns:
            for every side the dimensionless values of the dependent columns, and the monitor (largest over smallest
            pivot length)^2.
        """
        A = self.matrix()
        scaled = [[self.row_scale[row] * b[k] for k, row in enumerate(self.primary)] for b in sides]
        X, squares, inverses = solve_blockwise(A, scaled, at_once=at_once)
        return X, largest(squares) * largest(inverses)

    def multipliers(self, right: Sequence[Scalar]) -> dict[int, Scalar]:
        """Lambda of J_Pd^T lambda = right_d by primary row, in true units; right: (nv,) generalised forces."""
        A = [[self._entry(row, speed) for row in self.primary] for speed in self.dependent]
        (solved,), _, _ = solve_blockwise(A, [[self.unit[speed] * right[speed] for speed in self.dependent]])
        return {row: self.row_scale[row] * x for row, x in zip(self.primary, solved, strict=True)}

    def combinations(self, rows: Sequence[int]) -> list[Vec]:
        """C of J_S = C J_P for rows that the primary ones imply, dimensionless: over the primary rows, each."""
        A = [[self._entry(row, speed) for row in self.primary] for speed in self.dependent]
        return solve_blockwise(A, [[self._entry(row, speed) for speed in self.dependent] for row in rows])[0]

    def columns_of_B(self) -> list[Vec]:
        """Right-hand sides -J_Pi, one for every independent speed (true units of a scaled speed)."""
        return [
            [-(self.unit[speed] * self.rows.J[row].get(speed, 0.0)) for row in self.primary]
            for speed in self.independent
        ]

    def in_true_units(self, x: Vec) -> Column:
        """Dependent values in true units, by speed."""
        return {speed: self.unit[speed] * value for speed, value in zip(self.dependent, x, strict=True)}

    def null_columns(self, B: Sequence[Vec]) -> list[Column]:
        """Z: for every independent speed the motion of all speeds of the substructure for a unit of it."""
        out: list[Column] = []
        for speed, column in zip(self.independent, B, strict=True):
            entries = {d: self.unit[d] / self.unit[speed] * b for d, b in zip(self.dependent, column, strict=True)}
            out.append({speed: 1.0, **{d: value for d, value in entries.items() if not is_zero(value)}})
        return out


def largest_entry(B: Sequence[Vec]) -> Scalar:
    """The largest |B_ij| (the max norm)."""
    return largest([abs(b) for column in B for b in column if not is_zero(b)])


def ldl_solve(A: Mat, rhs: Sequence[Vec]) -> tuple[list[Vec], Scalar]:
    """Solves the symmetric positive definite A x = b by LDL^T, without operations on structural zeros.

    Returns:
        solutions, and the largest diagonal entry over its pivot: the loss of mass along some motion.
    """
    n = len(A)
    lower: Mat = [[0.0] * n for _ in range(n)]
    pivots: Vec = []
    inverses: Vec = []
    worst: Scalar = 1.0
    for j in range(n):
        weighted = [lower[j][k] * pivots[k] for k in range(j)]
        pivots.append(A[j][j] - dot(lower[j][:j], weighted))
        if is_zero(pivots[j]):  # a motion that moves no mass whatever the numbers: of members whose loops lose rows
            inverses.append(math.inf)
            worst = math.inf
            continue
        inverses.append(1.0 / pivots[j])
        if any(not is_zero(w) for w in weighted):
            worst = larger(worst, A[j][j] * inverses[j])
        for i in range(j + 1, n):
            lower[i][j] = (A[i][j] - dot(lower[i][:j], weighted)) * inverses[j]
    out: list[Vec] = []
    for b in rhs:
        y: Vec = []
        for i in range(n):
            y.append(b[i] - dot(lower[i][:i], y))
        x: Vec = [value * inverse for value, inverse in zip(y, inverses, strict=True)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                x[i] -= lower[k][i] * x[k]
        out.append(x)
    return out, worst
