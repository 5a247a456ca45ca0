"""What a run leaves behind for its way back: the state of every lane where a leg of steps begins. Host code.

A leg is a number of plain steps under one partition, or one pattern of steps off a singular pose. Lanes are noted at
their start, at every decision of the driver, on a grid of steps, and at their end; what lies between is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shiftjax.gradients.growth import PARTS
from shiftjax.run.advance.ensemble import Ensemble

PLAIN_STEPS = -1  # in place of a pattern of steps
LONG = 128  # steps of a leg, which those of most mechanisms are not on a processor


@dataclass
class Notes:
    """Some lanes where a leg of each begins, or where it ended.

    Attributes:
        members: (K,). clock: (K,) in steps. columns: (`states_of`, K) with which lanes go on.
        choice: (S, K) index of the partition of every substructure.
        pattern: (K,) of the steps that follow, an index into `PATTERNS`, `PLAIN_STEPS`, or as of
            `run.advance.switches`.
    """

    members: np.ndarray
    clock: np.ndarray
    columns: np.ndarray
    choice: np.ndarray
    pattern: np.ndarray


class ByMember:
    """All notes, those of a member in the order in which they were made; the states stay where they were noted.

    Attributes:
        members, clock, choice, pattern: as of `Notes`, of all.
    """

    def __init__(self, notes: Sequence[Notes]) -> None:
        members = np.concatenate([part.members for part in notes])
        order = np.argsort(members, kind="stable")
        self.members, self.clock = members[order], np.concatenate([part.clock for part in notes])[order]
        self.choice = np.concatenate([part.choice for part in notes], axis=1)[:, order]
        self.pattern = np.concatenate([part.pattern for part in notes])[order]
        self._columns = [part.columns for part in notes]
        self._part = np.repeat(np.arange(len(notes)), [len(part.members) for part in notes])[order]
        self._place = np.concatenate([np.arange(len(part.members)) for part in notes])[order]

    def of(self, which: np.ndarray) -> Notes:
        """Some of them."""
        first = self._columns[0]
        columns, parts = np.empty((len(first), len(which)), first.dtype), self._part[which]
        for k in np.unique(parts):
            places = np.flatnonzero(parts == k)
            columns[:, places] = self._columns[k][:, self._place[which[places]]]
        return Notes(self.members[which], self.clock[which], columns, self.choice[:, which], self.pattern[which])


@dataclass
class Tape:
    """The notes of a run in the order in which they are made; `Ensemble.tape` is asked to make them.

    Attributes:
        every: steps between two notes of a lane, at most.
        limit: bytes that the notes may take; a tape that needs more is `full` and holds nothing.
        used: bytes that they take, or would take.
    """

    every: int
    limit: float = np.inf
    notes: list[Notes] = field(default_factory=list)
    used: float = 0.0

    @property
    def full(self) -> bool:
        return self.used > self.limit

    @property
    def size(self) -> float:
        """Bytes that it holds."""
        return 0.0 if self.full else self.used

    def stops(self, clock: np.ndarray, until: np.ndarray) -> np.ndarray:
        """Clocks at which lanes are noted next on their way."""
        return np.minimum((np.floor(clock / self.every) + 1) * self.every, until)

    def note(self, lanes: Ensemble, members: np.ndarray, pattern: np.ndarray | int = PLAIN_STEPS) -> None:
        """Notes some lanes where they stand."""
        if len(members):
            changing = lanes.table.rows("p", members)[lanes.set_rows]
            columns = np.concatenate([lanes.table.state(members), lanes.measured_of(members), changing])
            clock, choice = lanes.clock_of(members), lanes.choice[:, members]
            self.notes.append(Notes(members, clock, columns, choice, np.full(len(members), pattern)))
            self.used += columns.nbytes
        if self.full:
            self.notes.clear()


def states_of(lanes: Ensemble) -> int:
    """Numbers with which a lane goes on: q, x, dx, the accumulators of metrics, and what events set."""
    return lanes.table.states + len(lanes.measured_of()) + len(lanes.set_rows)


def note_bytes(states: int, itemsize: int, substructures: int) -> int:
    """Bytes of a note of one lane: its state, member, clock, pattern, a partition each substructure; and its place."""
    return states * itemsize + 8 * (3 + substructures)


def spacing(longest: int, noted: float, steps: int, memory: float) -> int:
    """Steps between two notes of a lane: a leg's, or so many that all notes fit.

    Where a kernel takes long legs, no more than a part of the span in which growth is seen, at notes alone.

    Args:
        longest: steps of a leg. noted: bytes of a note of all lanes. steps: of the run. memory: bytes of all notes.
    """
    longest = min(longest, max(LONG, -(-steps // PARTS)))
    fitting = 2 * steps * noted / memory if memory > 0 else np.inf  # the other half is for decisions
    return int(longest * max(1, np.ceil(min(fitting, steps) / longest)))
