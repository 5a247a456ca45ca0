"""What is minimised together where members stand, as the solver takes it: values, and slopes by speeds. Host code.

The solver and what must not change beside a level know no question; who makes a level asks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Answering(Protocol):
    """What answers questions about poses, as `access.answers.Answers`."""

    def in_numpy(self, question: Any, x: np.ndarray) -> np.ndarray:
        """(B, ...) of members whose `Ground.parts` are (n, B)."""
        ...


@dataclass
class Local:
    """A level where members stand.

    Attributes:
        value: (B,) what is to be small. missed: (B, m) by how much rows are missed, of an energy its slopes (B, nv).
        J: (B, m, nv) slopes of these by speeds.
    """

    value: np.ndarray
    missed: np.ndarray
    J: np.ndarray

    def some(self, members: np.ndarray) -> Local:
        """Those of some members."""
        return Local(self.value[members], self.missed[members], self.J[members])

    def put(self, members: np.ndarray, other: Local) -> None:
        """Others in the place of some members."""
        self.value[members], self.missed[members], self.J[members] = other.value, other.missed, other.J


class Level(Protocol):
    """What is minimised together.

    Attributes:
        labels: (m,) what each of its numbers is, with its unit. curved: whether it is an energy: its slopes are missed.
        fixes: whether less important levels must keep its rows; limits of coordinates are kept by themselves.
    """

    curved: bool
    fixes: bool

    @property
    def labels(self) -> Sequence[str]: ...

    def at(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> Local:
        """Of some members (B,), where `Ground.parts` are (n, B)."""
        ...

    def in_si(self, here: Local) -> np.ndarray:
        """(B, m) its numbers in m, rad or J, times their weights."""
        ...
