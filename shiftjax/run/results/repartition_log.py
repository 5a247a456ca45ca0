"""The log of repartitions in memory: arrays, of which entries are made where they are read. Host only, no jax."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

Entry = Mapping[str, Any]


class RepartitionLog(Sequence[Entry]):
    """The entries of `Result.log`, by time and then by member: mappings of time, member, substructure, old, new.

    An ensemble of a million members has tens of millions, which as mappings would take longer than their steps.

    Attributes:
        time, member, substructure: (L,). old, new: (L,) which of `sets` was independent before and after.
        sets: names of coordinates. jacobians: (L,) blocks, where they were asked for.
    """

    def __init__(
        self,
        time: np.ndarray,
        member: np.ndarray,
        substructure: np.ndarray,
        old: np.ndarray,
        new: np.ndarray,
        sets: Sequence[tuple[str, ...]],
        jacobians: Sequence[np.ndarray] | None = None,
    ) -> None:
        later, after = time[1:] > time[:-1], member[1:] >= member[:-1]
        in_order = bool((later | (after & (time[1:] == time[:-1]))).all())
        order = np.arange(len(time)) if in_order else np.lexsort((member, time))
        self.time, self.member, self.substructure = time[order], member[order], substructure[order]
        self.old, self.new, self.sets = old[order], new[order], sets
        self.jacobians = None if jacobians is None else [jacobians[k] for k in order.tolist()]

    def __len__(self) -> int:
        return len(self.time)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...

    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        entry = {
            "time": float(self.time[index]),
            "member": int(self.member[index]),
            "substructure": int(self.substructure[index]),
            "old": [*self.sets[self.old[index]]],
            "new": [*self.sets[self.new[index]]],
        }
        return entry if self.jacobians is None else entry | {"jacobian": self.jacobians[index].tolist()}

    def __iter__(self) -> Iterator[Entry]:
        return (self[k] for k in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self[:])
