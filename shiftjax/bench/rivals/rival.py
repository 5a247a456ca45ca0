"""What a code that is measured beside this one must be able to do, and what all of them are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from shiftjax.bench.rivals.hinge_tree import HingeTree
from shiftjax.record import record


@record
class Race:
    """One mechanism of hinges, of whose members one body's mass varies; all start alike and take equal steps of RK4.

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

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """Angles of the tree's hinges, from the start pose [rad], and their speeds [rad/s], (instants, n, hinges): at
        the start and after every so many steps."""
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
