"""Linear algebra on slots, as operations that run many times: systems by orthogonal columns, sums of products.

A = Q R with orthogonal columns Q and a unit upper triangular R (modified Gram-Schmidt; Golub, Van Loan, Matrix
Computations, section 5.2.8), which needs no pivots. An operation is one small lane function and the slots of its runs,
one after the other. Few runs become straight code, in which what is known to be zero falls out; many are one piece with
repeats, so that the code of a system of n numbers grows with n and not with n^3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from shiftjax.algebra import Scalar, Vec, dot, minus, scale, total

STRAIGHT = 1500  # slots that the runs of straight code name; with more it compiles longer than its loops take to run

Lane = Callable[[list[Scalar]], Vec]
Run = tuple[tuple[int, ...], tuple[int, ...]]  # slots of inputs and outputs


class SlotOperation(NamedTuple):
    """A lane function and its runs, one after the other; those of one group share slots in the same way."""

    name: str
    function: Lane
    runs: tuple[Run, ...]

    @property
    def size(self) -> int:
        """Slots that all runs name."""
        return sum(len(inputs) + len(outputs) for inputs, outputs in self.runs)


def operations(name: str, function: Callable[[int], Lane], runs: Iterable[tuple[int, Run]]) -> Iterator[SlotOperation]:
    """Operations of runs, in groups that one code serves.

    Args:
        function: the code for a size. runs: size and slots; those of two groups must not depend on each other.
    """
    groups: dict[tuple[int, tuple[int, ...]], list[Run]] = {}
    for size, (inputs, outputs) in runs:
        slots, first = (*inputs, *outputs), dict[int, int]()
        pattern = tuple(first.setdefault(slot, k) for k, slot in enumerate(slots))
        groups.setdefault((size, pattern), []).append((inputs, outputs))
    for (size, _), some in groups.items():
        yield SlotOperation(f"{name} {size}", function(size), tuple(some))


class OrthogonalSystem(NamedTuple):
    """Slots of n equations: those of Q column by column, of R without its diagonal row by row, of 1 / (q q), of y.

    Attributes:
        zeros: slots of zeros, n at least.
    """

    Q: tuple[tuple[int, ...], ...]
    R: tuple[tuple[int, ...], ...]
    inverses: tuple[int, ...]
    y: tuple[int, ...]
    zeros: Sequence[int]

    @classmethod
    def of(cls, n: int, take: Callable[[int], tuple[int, ...]], zeros: Sequence[int]) -> OrthogonalSystem:
        """Fresh slots, of which `take` gives so many."""
        Q, R = tuple(take(n) for _ in range(n)), tuple(take(n - 1 - k) for k in range(n))
        return cls(Q, R, take(n), take(n), zeros)

    @staticmethod
    def size(n: int) -> int:
        """How many slots n equations take."""
        return n * n + n * (n - 1) // 2 + 2 * n

    def right_of(self, i: int) -> tuple[list[int], list[int]]:
        """Columns i + 1, i + 2, ... of row i of R, around to i - 1, and their slots, zeros where R has none."""
        n = len(self.Q)
        columns = [(i + 1 + k) % n for k in range(n - 1)]
        return columns, [self.R[i][j - i - 1] if j > i else self.zeros[k] for k, j in enumerate(columns)]

    def above(self, i: int) -> tuple[list[int], list[int]]:
        """Rows i + 1, ..., around to i - 1, and the slots of column i of R, zeros where it has none."""
        n = len(self.Q)
        rows = [(i + 1 + k) % n for k in range(n - 1)]
        return rows, [self.R[j][i - j - 1] if j < i else self.zeros[k] for k, j in enumerate(rows)]


Given = tuple[OrthogonalSystem, Sequence[int]]  # a system and the slots of a right side, which becomes the solution


def factor(systems: Sequence[OrthogonalSystem]) -> Iterator[SlotOperation]:
    """Q, which holds the columns of A, and R and the inverses of all systems."""
    yield from operations(
        "project",
        _project,
        (
            (len(a.Q), ((*a.Q[k], *a.Q[j]), (a.R[k][j - k - 1], *a.Q[j])))
            for a in systems
            for k in range(len(a.Q))
            for j in range(k + 1, len(a.Q))
        ),
    )
    runs = ((len(q), (q, (inverse,))) for a in systems for q, inverse in zip(a.Q, a.inverses, strict=True))
    yield from operations("inverse", lambda _: lambda q: [1.0 / dot(q, q)], runs)


def _project(n: int) -> Lane:
    def run(s: list[Scalar]) -> Vec:
        q, other = s[:n], s[n:]
        r = dot(q, other) * (1.0 / dot(q, q))
        return [r, *minus(other, scale(r, q))]

    return run


def solve(given: Sequence[Given]) -> Iterator[SlotOperation]:
    """x of A x = b, in the slots of b; several may share a system, but not its y."""
    yield from operations(
        "coefficient",
        _coefficient,
        ((len(b), ((a.inverses[k], *a.Q[k], *b), (a.y[k], *b))) for a, b in given for k in range(len(b))),
    )

    def back(a: OrthogonalSystem, b: Sequence[int], i: int) -> Run:
        columns, entries = a.right_of(i)
        return (a.y[i], *entries, *(b[j] for j in columns)), (b[i],)

    runs = ((len(b), back(a, b, i)) for a, b in given for i in reversed(range(len(b))))
    yield from operations("substitute", _substitute, runs)


def _coefficient(n: int) -> Lane:
    def run(s: list[Scalar]) -> Vec:
        q, b = s[1 : n + 1], s[n + 1 :]
        y = dot(q, b) * s[0]
        return [y, *minus(b, scale(y, q))]

    return run


def _substitute(n: int) -> Lane:
    return lambda s: [s[0] - dot(s[1:n], s[n:])]


def solve_transposed(given: Sequence[Given]) -> Iterator[SlotOperation]:
    """x of A^T x = b, in the slots of b."""

    def forth(a: OrthogonalSystem, b: Sequence[int], i: int) -> Run:
        rows, entries = a.above(i)
        return (b[i], *entries, *(b[j] for j in rows)), (b[i],)

    runs = ((len(b), forth(a, b, i)) for a, b in given for i in range(len(b)))
    yield from operations("substitute", _substitute, runs)
    rows = ((len(b), ((*(q[i] for q in a.Q), *a.inverses, *b), (a.y[i],))) for a, b in given for i in range(len(b)))
    yield from operations("combine", _combine, rows)
    yield from copy((y, x) for a, b in given for y, x in zip(a.y, b, strict=True))


def _combine(n: int) -> Lane:
    return lambda s: [dot(s[:n], [d * y for d, y in zip(s[n : 2 * n], s[2 * n :], strict=True)])]


def copy(pairs: Iterable[tuple[int, int]]) -> Iterator[SlotOperation]:
    """Numbers of slots into others."""
    yield from operations("copy", lambda _: lambda s: s, ((1, ((source,), (target,))) for source, target in pairs))


def product(factors: Iterable[tuple[int, int, int]]) -> Iterator[SlotOperation]:
    """The third slot of each becomes the product of the first two."""
    runs = ((2, ((a, b), (target,))) for a, b, target in factors)
    yield from operations("product", lambda _: lambda s: [s[0] * s[1]], runs)


def add(sums: Iterable[tuple[int, int, Sequence[tuple[int, int]]]]) -> Iterator[SlotOperation]:
    """y += g sum a b: of each the slots of y, of g, and of all a and b."""
    runs = (
        (len(terms), ((g, y, *(a for a, _ in terms), *(b for _, b in terms)), (y,))) for y, g, terms in sums if terms
    )
    yield from operations("add", _add, runs)


def _add(n: int) -> Lane:
    return lambda s: [s[1] + s[0] * total(a * b for a, b in zip(s[2 : 2 + n], s[2 + n :], strict=True))]


def add_each(products: Iterable[tuple[int, int, Sequence[tuple[int, int]]]]) -> Iterator[SlotOperation]:
    """y += g a b for each of several y: the slots of g and b, and of each y and its a."""
    runs = (
        (len(some), ((g, b, *(a for _, a in some), *(y for y, _ in some)), tuple(y for y, _ in some)))
        for g, b, some in products
        if some
    )
    yield from operations("add each", _add_each, runs)


def _add_each(n: int) -> Lane:
    def run(s: list[Scalar]) -> Vec:
        factor = s[0] * s[1]
        return [y + factor * a for a, y in zip(s[2 : 2 + n], s[2 + n :], strict=True)]

    return run


def column(
    columns: Iterable[tuple[int, Sequence[int], Sequence[tuple[int, Sequence[int]]], Sequence[int]]],
) -> Iterator[SlotOperation]:
    """Columns of 1 - g (E + sum m F), the entry of the diagonal first.

    Of each the slots of g, of the column of E, of every m with its column of F, and of the result.
    """
    runs = (
        (len(entries), ((g, *entries, *(slot for m, more in moved for slot in (m, *more))), tuple(targets)))
        for g, entries, moved, targets in columns
    )
    yield from operations("column", _column, runs)


def _column(n: int) -> Lane:
    def run(s: list[Scalar]) -> Vec:
        g, entries, rest = s[0], s[1 : n + 1], s[n + 1 :]
        for k in range(0, len(rest), n + 1):
            entries = [e + rest[k] * f for e, f in zip(entries, rest[k + 1 : k + n + 1], strict=True)]
        return [(0.0 if i else 1.0) - g * e for i, e in enumerate(entries)]

    return run
