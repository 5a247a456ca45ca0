"""What a code that is measured beside this one must be able to do, and what all of them are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from shiftjax.bench.rivals.hinge_tree import HingeTree
from shiftjax.record import record


@record
class Race:
    """One mechanism of hinges, of whose members one body's mass varies; all start alike and take equal steps, by
    RK4 where a code has it.

    Attributes:
        tree: of the file's masses. varied: the link whose mass varies. masses: (B,) [kg].
        step: [s]. steps: of the motion that is judged. threads: of the processor. precision: "f64" or "f32", where a
            code has both.
    """

    tree: HingeTree
    varied: int
    masses: np.ndarray
    step: float
    steps: int
    threads: int
    precision: str = "f64"

    def some(self, members: int) -> np.ndarray:
        """Masses of so many members, the first and the last of all among them."""
        count = min(members, len(self.masses))
        return self.masses[np.linspace(0, len(self.masses) - 1, count).astype(int)]

    def worlds(self, different: int, count: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Masses of so many members, and which of them each world of a GPU has, in turn.

        Args:
            count: of worlds; one of each mass where it is less.
        """
        masses = self.some(different)
        return masses, np.arange(max(count, len(masses))) % len(masses)


class Bodies(NamedTuple):
    """A motion as that of free bodies: link k has its point x of the start, in the world, at rotation x + shift.

    Attributes:
        rotation: (instants, n, links, 3, 3). shift: (instants, n, links, 3) [m]. omega: (instants, n, links, 3) in axes
            of the world [rad/s]. velocity: (instants, n, links, 3) of centres of mass [m/s].
    """

    rotation: np.ndarray
    shift: np.ndarray
    omega: np.ndarray
    velocity: np.ndarray


Path = tuple[np.ndarray, np.ndarray] | Bodies  # angles of hinges and their speeds, or bodies


class Entrant(Protocol):
    """One code with one setting, ready to run.

    Attributes:
        masses: (n,) those of its members, of which one call steps all. precision: "f64" or "f32".
        device: what it runs on, "cpu" or the name of a GPU.
    """

    masses: np.ndarray
    precision: str
    device: str

    def run(self, steps: int) -> Any:
        """Steps all members from their starts and returns when they are there, or what `jax.block_until_ready` waits
        for."""
        ...

    def path(self, steps: int, every: int) -> Path:
        """The motion at the start and after every so many steps: angles of the tree's hinges, from the start pose
        [rad], and their speeds [rad/s], (instants, n, hinges), or, of a code that moves bodies freely, `Bodies`.

        Of the first members alone where the masses of the others are these again."""
        ...


class Rival(Protocol):
    """A code that steps mechanisms.

    Attributes:
        settings: those that are measured, by name, and what they are in its words.
    """

    settings: Mapping[str, str]

    def enter(self, race: Race, setting: str) -> Entrant:
        """Makes a setting ready.

        Raises:
            ModelError: it cannot run here; the reason is in `found`.
        """
        ...
