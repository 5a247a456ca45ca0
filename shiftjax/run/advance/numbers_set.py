"""What events have set of members on their way, and which numbers they had at an instant. Host code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shiftjax.record import record


@record
class NumbersSet:
    """What an event has set of some members, at one instant of each.

    Attributes:
        name: of the event.
        members: (n,). clock: (n,) in steps. law: rows of numbers of lanes, and values.
        mechanism: whether some of these are others than those of forces and gravity.
        gap: (n,) by which loops were open with them [m or rad]. energy: (n,) what kinetic and potential gained [J].
    """

    name: str
    members: np.ndarray
    clock: np.ndarray
    law: tuple[tuple[int, float], ...]
    mechanism: bool
    gap: np.ndarray
    energy: np.ndarray


def in_force(
    sets: Sequence[NumbersSet], members: np.ndarray, clock: np.ndarray, *, at_once: bool
) -> Iterator[tuple[int, float, np.ndarray]]:
    """Row among the numbers of lanes, value, and where (K,) it is in force, of all that was set; a later one counts.

    Args:
        members: (K,). clock: (K,) instants at which they are looked at, in steps. at_once: whether what is set at such
            an instant is in force there.
    """
    for one in sets:
        since = np.full(max(members.max(initial=0), one.members.max(initial=0)) + 1, np.inf)
        since[one.members] = one.clock
        there = clock >= since[members] if at_once else clock > since[members]
        if there.any():
            yield from ((row, value, there) for row, value in one.law)
