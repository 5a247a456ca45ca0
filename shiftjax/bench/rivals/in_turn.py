"""Ensembles of codes that step one mechanism at a time: one member after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from shiftjax.bench.rivals.hinge_tree import HingeTree, with_mass
from shiftjax.bench.rivals.rival import Bodies, Path, Race

MEMBERS = 4  # a member takes as long whatever their number is


class Single(Protocol):
    """One mechanism in such a code."""

    def restart(self) -> None:
        """Puts it to its start."""
        ...

    def advance(self, steps: int) -> None:
        """Takes so many steps."""
        ...

    def now(self) -> tuple[np.ndarray, np.ndarray] | Bodies:
        """Angles from the start pose [rad] and speeds [rad/s] of the tree's hinges, (hinges,) each, or `Bodies` without
        the axes of instants and members."""
        ...


class InTurn:
    """See `rival.Entrant`.

    Args:
        make: one mechanism of its tree.
    """

    precision, device = "f64", "cpu"

    def __init__(self, race: Race, make: Callable[[HingeTree], Single]) -> None:
        self.masses = race.some(MEMBERS)
        self._singles = [make(with_mass(race.tree, race.varied, float(mass))) for mass in self.masses]

    def run(self, steps: int) -> None:
        """See `rival.Entrant.run`."""
        for single in self._singles:
            single.restart()
            single.advance(steps)

    def path(self, steps: int, every: int) -> Path:
        """See `rival.Entrant.path`."""
        return stacked([self._states(single, steps // every, every) for single in self._singles])

    def _states(self, single: Single, count: int, every: int) -> Sequence[tuple[np.ndarray, np.ndarray] | Bodies]:
        """Those of one member, at its start and after every so many steps."""
        single.restart()
        states: list[tuple[np.ndarray, np.ndarray] | Bodies] = [single.now()]
        for _ in range(count):
            single.advance(every)
            states.append(single.now())
        return states


def stacked(states: Sequence[Sequence[tuple[np.ndarray, np.ndarray] | Bodies]]) -> Path:
    """The motion of members with their states at instants."""
    parts = [
        np.stack([np.stack([np.asarray(state[k]) for state in member]) for member in states], axis=1)
        for k in range(len(states[0][0]))
    ]
    return Bodies(*parts) if isinstance(states[0][0], Bodies) else (parts[0], parts[1])
