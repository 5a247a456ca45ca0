"""The order in which the nodes of planar linkages are solved, for many at once, each with its own topology.

A node is solved when two neighbours of it are: the dyad that its bars form hangs on them (LINKS, Heyrani Nobari,
Srivastava, Gutfreund, Ahmed 2022, section 3). Rounds over all linkages at once: all nodes that can be solved after
those of the round before. Every bar but the motor's, and those between fixed nodes, which do nothing, must belong to
one dyad. What is left unsolved has one freedom too many, one too few, or is a group of bars that is no dyad.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from shiftjax.record import record

GATHER = np.uint64(0x0102040810204080)


class Solvability(IntEnum):
    """Whether a linkage is made of dyads: 0 yes; others say why not. `REASON` has a sentence for each."""

    solved = 0
    no_motor = 1
    overconstrained = 2
    loose = 3
    no_dyads = 4
    drawn_flat = 5


REASON = {
    Solvability.solved: "",
    Solvability.no_motor: (
        "the motor is a bar between a fixed node and a moving one: correct `motor`, `node_types` or the adjacency"
    ),
    Solvability.overconstrained: "more bars than its nodes have freedoms: leave bars out",
    Solvability.loose: "fewer bars than its nodes have freedoms beside the motor's: add bars",
    Solvability.no_dyads: (
        "a group of bars that is no dyad, such as a triad: it takes iterations, as of `shiftjax.assemble`"
    ),
    Solvability.drawn_flat: (
        "the two bars of a dyad are drawn on one line, so that its branch is open, or the motor's bar has no length: "
        "draw another pose"
    ),
}


@record
class Order:
    """The dyads of B linkages of at most N nodes, in an order in which they can be solved; M at most of one linkage.

    Attributes:
        dyads: (B, M, 3) nodes P, A, B of each; zeros beyond their number.
        counts: (B,) of dyads, 0 where a linkage is not solved.
        status: (B,) of `Solvability`.
    """

    dyads: np.ndarray
    counts: np.ndarray
    status: np.ndarray

    @property
    def live(self) -> np.ndarray:
        """(B, M) places of dyads."""
        return np.arange(self.dyads.shape[1]) < self.counts[:, None]


def solution_order(adjacency: np.ndarray, fixed: np.ndarray, present: np.ndarray, motor: np.ndarray) -> Order:
    """The order of every linkage.

    Args:
        adjacency: (B, N, N) bool, symmetric. fixed: (B, N) bool. present: (B, N) bool, nodes that there are.
        motor: (B, 2) nodes of the motor's bar, the fixed one first.
    """
    every = np.arange(len(adjacency))
    pinned, crank = motor.T
    rows, pins = _words(adjacency), _words(fixed)
    free = present & ~fixed
    free[every, crank] = False
    legal = fixed[every, pinned] & ~fixed[every, crank] & adjacency[every, pinned, crank] & present[every, crank]
    ends, rounds = _rounds(rows, free)
    idle = (_count(rows & pins[:, None]) * fixed).sum(1)  # each twice, as all bars are counted
    surplus = (_count(rows).sum(1) - idle) // 2 - legal - 2 * free.sum(1)
    status = np.zeros(len(adjacency), np.int8)
    status[(free & (_count(ends) != 2)).any(1)] = Solvability.no_dyads
    status[surplus > 0] = Solvability.overconstrained
    status[surplus < 0] = Solvability.loose
    status[~legal] = Solvability.no_motor
    good = status == Solvability.solved
    counts = np.where(good, free.sum(1), 0)
    free &= good[:, None]
    ends[~free] = 0
    return Order(_listed(ends, rounds, free, max(int(counts.max(initial=0)), 1)), counts, status)


def _rounds(rows: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours (B, N, words) that each free node is solved from, and (B, N) the round in which it is."""
    waiting = free.copy()
    ends, rounds = np.zeros_like(rows), np.zeros(free.shape, np.uint32)
    for number in range(1, free.shape[1] + 1):
        common = rows & _words(~waiting)[:, None]
        ready = waiting & (_count(common) >= 2)
        if not ready.any():
            break
        np.copyto(ends, common, where=ready[..., None])
        rounds[ready] = number
        waiting &= ~ready
    return ends, rounds


def _words(bits: np.ndarray) -> np.ndarray:
    """(..., N) bool -> (..., N / 64) integers of 64 bits, node n in bit n, so that neighbours are counted by words.

    Eight truth values side by side are a number whose product has them in its highest byte; `packbits` takes ten times
    as long for rows of eleven.
    """
    nodes = bits.shape[-1]
    padded = np.zeros((*bits.shape[:-1], -(-nodes // 8) * 8), bool)
    padded[..., :nodes] = bits
    eights = (padded.view(np.uint64) * GATHER) >> np.uint64(56)
    words = np.zeros((*bits.shape[:-1], -(-nodes // 64)), np.uint64)
    for k in range(eights.shape[-1]):
        words[..., k // 8] |= eights[..., k] << np.uint64(8 * (k % 8))
    return words


def _count(words: np.ndarray) -> np.ndarray:
    """(..., words) -> (...) how many bits are set."""
    counts = np.bitwise_count(words)
    return counts[..., 0].astype(np.int16) if words.shape[-1] == 1 else counts.sum(-1, dtype=np.int16)


def _listed(ends: np.ndarray, rounds: np.ndarray, free: np.ndarray, most: int) -> np.ndarray:
    """(B, M, 3) the dyads by rounds, of `free` nodes that have two ends each."""
    nodes = free.shape[1]
    keys = np.where(free, rounds << 16 | np.arange(nodes, dtype=np.uint32), 0xFFFFFFFF).astype(np.uint32)
    keys.sort(axis=1)
    live = keys[:, :most] != 0xFFFFFFFF
    sequence = np.where(live, keys[:, :most] & 0xFFFF, 0).astype(np.int64)
    ends = np.take_along_axis(ends, sequence[..., None], 1)
    dyads = np.zeros((*sequence.shape, 3), np.int64)
    dyads[..., 0] = sequence
    for side in (1, 2):
        dyads[..., side] = _taken(ends)
    dyads[~live] = 0
    return dyads


def _taken(words: np.ndarray) -> np.ndarray:
    """(..., words) -> (...) the lowest bit that is set, which is taken away."""
    which = (words != 0).argmax(-1)[..., None]
    word = np.take_along_axis(words, which, -1)
    lowest = word & (~word + np.uint64(1))
    np.put_along_axis(words, which, word ^ lowest, -1)
    return (64 * which + np.bitwise_count(lowest - np.uint64(1)))[..., 0]
