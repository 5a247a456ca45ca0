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

UNSOLVED = 1 << 20  # the round of nodes that none solves


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
        "the two bars of a dyad are drawn on one line, or on top of each other, so that its branch is open: "
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


def solution_order(adjacency: np.ndarray, fixed: np.ndarray, present: np.ndarray, motor: np.ndarray) -> Order:
    """The order of every linkage.

    Args:
        adjacency: (B, N, N) bool, symmetric. fixed: (B, N) bool. present: (B, N) bool, nodes that there are.
        motor: (B, 2) nodes of the motor's bar, the fixed one first.
    """
    every = np.arange(len(adjacency))
    pinned, crank = motor.T
    status = np.zeros(len(adjacency), np.int8)
    legal = fixed[every, pinned] & ~fixed[every, crank] & adjacency[every, pinned, crank] & present[every, crank]
    rounds = _rounds(adjacency, fixed, present, crank)
    earlier = adjacency & (rounds[:, None, :] < rounds[:, :, None])
    earlier[every, crank] = False
    degree = earlier.sum(2, dtype=np.int16)
    free = present & ~fixed
    free[every, crank] = False
    idle = fixed[:, :, None] & fixed[:, None, :]
    bars = (adjacency & ~idle).sum((1, 2), dtype=np.int64) // 2 - legal
    surplus = bars - 2 * free.sum(1)
    solved = (~free | (degree == 2)).all(1)
    status[~solved] = Solvability.no_dyads
    status[surplus > 0] = Solvability.overconstrained
    status[surplus < 0] = Solvability.loose
    status[~legal] = Solvability.no_motor
    good = status == Solvability.solved
    counts = np.where(good, free.sum(1), 0)
    return Order(_listed(earlier, rounds, free & good[:, None], counts), counts, status)


def _rounds(adjacency: np.ndarray, fixed: np.ndarray, present: np.ndarray, crank: np.ndarray) -> np.ndarray:
    """(B, N) the round that solves each node: 0 for those known at the start."""
    known = fixed.copy()
    known[np.arange(len(known)), crank] = True
    rounds = np.where(known, 0, UNSOLVED)
    rows = _words(adjacency)
    for number in range(1, known.shape[1] + 1):
        ready = (np.bitwise_count(rows & _words(known)[:, None]).sum(2, dtype=np.int64) >= 2) & present & ~known
        if not ready.any():
            break
        rounds[ready] = number
        known |= ready
    return rounds


def _words(bits: np.ndarray) -> np.ndarray:
    """(..., N) bool -> (..., N / 64) integers of 64 bits, so that common neighbours are counted by words."""
    packed = np.packbits(bits, axis=-1)
    padded = np.zeros((*packed.shape[:-1], -(-packed.shape[-1] // 8) * 8), np.uint8)
    padded[..., : packed.shape[-1]] = packed
    return padded.view(np.uint64)


def _listed(earlier: np.ndarray, rounds: np.ndarray, free: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(B, M, 3) the dyads of linkages whose `free` nodes have two earlier neighbours each, by rounds."""
    dyads = np.zeros((len(earlier), max(int(counts.max(initial=0)), 1), 3), np.int64)
    member, node, end = np.nonzero(earlier & free[:, :, None])
    member, node, ends = member[::2], node[::2], end.reshape(-1, 2)
    sequence = np.lexsort((rounds[member, node], member))
    member, first = member[sequence], np.cumsum(counts) - counts
    place = np.arange(len(member)) - first[member]
    dyads[member, place, 0], dyads[member, place, 1:] = node[sequence], ends[sequence]
    return dyads
