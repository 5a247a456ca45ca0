"""The search for other coordinates of lanes that have tripped: what it is asked, and what it says of each lane.

Complete pivoting of a lane's Jacobian says which rows and columns a new partition has; with the sets that the lane has
it says what these are worth there. Both run as compiled code where the lanes are, and are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.record import record

WORD = 64  # bits


@record
class MatrixCode:
    """The matrix of a lane as lane code, in f64 whatever the run.

    Attributes:
        piece: coordinates, varied numbers and the time (slots 0 ...) -> entries (the slots after them).
        places: of each entry in the matrix, row by row; all others are zero. m, n: rows and columns.
    """

    piece: Piece
    places: tuple[int, ...]
    m: int
    n: int

    @property
    def words(self) -> int:
        """Words that hold a bit for each row and each column."""
        return max(1, -(-(self.m + self.n) // WORD))


class SearchedLanes(NamedTuple):
    """The lanes of a search.

    Attributes:
        table: of all. members: (n,) which of them. choice: (n,) which of `sets` each has.
        sets: (K, words) as `packed`, those of the partitions that are known. h, t0: seconds of a step, at clock 0.
        tolerance: a pivot at or below tolerance times the first one is none. tie: pivots so near are alike (relative).
    """

    table: LaneTable
    members: np.ndarray
    choice: np.ndarray
    sets: np.ndarray
    h: float
    t0: float
    tolerance: float
    tie: float


class PivotSets(NamedTuple):
    """What complete pivoting says of n lanes.

    Attributes:
        sets: (n, words) rows and columns of the new pivots. entries, ratio: (n,) the largest |B_ij| and the smallest
            pivot over the largest. old_entries, old_ratio: (n,) the same of the sets that a lane has: infinite and 0
            where they have less rank than sets; of a matrix that is not finite all sizes are not numbers.
    """

    sets: np.ndarray
    entries: np.ndarray
    ratio: np.ndarray
    old_entries: np.ndarray
    old_ratio: np.ndarray


@runtime_checkable
class SearchesThere(Protocol):
    """A kernel that searches where its tables are."""

    def searched(self, code: MatrixCode, lanes: SearchedLanes) -> PivotSets | None:
        """What pivoting says of lanes; None where their table is not in the kernel's memory, or it has no room."""
        ...


class Jacobian(Protocol):
    """The matrices of many lanes; `run.programs.jacobian` compiles it of a substructure."""

    rows: np.ndarray  # (m,) local rows that it consists of
    code: MatrixCode  # of these rows

    def __call__(self, q: np.ndarray, p: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(B, m, n) for coordinates (nq, B), varied numbers (np, B) and times (B,) [s]."""
        ...

    def search(self, lanes: SearchedLanes) -> PivotSets:
        """What complete pivoting says of lanes, by compiled code on the processor."""
        ...


def packed(rows: Sequence[int], columns: Sequence[int], code: MatrixCode) -> np.ndarray:
    """(words,) sets as bits: those of rows from the first on, behind them those of columns."""
    marks = np.zeros(code.words * WORD, bool)
    marks[list(rows)] = True
    marks[[code.m + column for column in columns]] = True
    return np.packbits(marks, bitorder="little").view("<u8").astype(np.uint64)


def unpacked(sets: np.ndarray, code: MatrixCode) -> tuple[np.ndarray, np.ndarray]:
    """(K, m) rows and (K, n) columns of sets (K, words), as truths."""
    bytes_ = np.ascontiguousarray(sets.astype("<u8")).view(np.uint8)
    marks = np.unpackbits(bytes_.reshape(len(sets), 8 * code.words), axis=1, bitorder="little").astype(bool)
    return marks[:, : code.m], marks[:, code.m : code.m + code.n]


def numbered(sets: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which sets (n, words) are among known ones (K, words): (n,) numbers of them, from K on for others; and those
    others (L, words), in the order of their first words."""
    which = np.full(len(sets), -1)
    for k, one in enumerate(known):
        which[sets[:, 0] == one[0] if len(one) == 1 else (sets == one).all(1)] = k
    rest = np.flatnonzero(which < 0)
    if not len(rest):
        return which, sets[:0]
    others, which_other = np.unique(sets[rest], axis=0, return_inverse=True)
    which[rest] = len(known) + np.ravel(which_other)
    return which, others
