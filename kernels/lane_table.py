"""The numbers of lanes between two calls of a kernel, as an object: rows by name, members as columns.

Nobody outside indexes its array, so that where the numbers live is a matter of this file and of kernels alone. This
one is of the host; `gpu.device_table` has one that stays on a device: columns are taken and put there, a group of rows
comes to the host or goes back for the members that are asked for, and most rounds need no more than `trips` and the
clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np

from shiftjax.kernels.workers import copied, in_portions

Members = np.ndarray | slice  # numbers of lanes, or (B,) of bool
ALL = slice(None)
COPIED = 1 << 11  # members of a portion whose rows are copied: they stay in a core's second cache
STATE = ("q", "x", "dx")  # the first groups of every layout


def places(members: np.ndarray) -> Members:
    """Members in a row as a slice, by which their columns are copied in a quarter of the time."""
    if len(members) and members[-1] - members[0] == len(members) - 1 and (np.diff(members) == 1).all():
        return slice(int(members[0]), int(members[-1]) + 1)
    return members


class RowNames(Protocol):
    """Names groups of rows: `lane_program.Layout` those of lanes, `adjoint.AdjointLayout` those of cotangents."""

    @property
    def row_count(self) -> int:
        """Number of rows."""
        ...

    def columns(self) -> Mapping[str, int]:
        """Sizes of the groups in row order."""
        ...

    def rows(self, name: str) -> range:
        """The rows of a group."""
        ...


class Trips(NamedTuple):
    """Lanes that are frozen, of those that were asked for and in their order.

    Attributes:
        members: (T,). codes: (T,) why, as in `contract`. places: (T,) among those that were asked for.
    """

    members: np.ndarray
    codes: np.ndarray
    places: np.ndarray

    def those(self, mask: np.ndarray) -> Trips:
        """Some of them."""
        return Trips(self.members[mask], self.codes[mask], self.places[mask])


class LaneTable:
    """Numbers of B lanes.

    Attributes:
        layout: names the rows. copied_at_once: numbers of members of which copies are best made at a time.
    """

    copied_at_once = 1 << 16

    def __init__(self, layout: RowNames, array: np.ndarray) -> None:
        self.layout, self._array = layout, np.ascontiguousarray(array)

    @property
    def array(self) -> np.ndarray:
        """(rows, B), C-contiguous; for kernels, which change it in place."""
        return self._array

    def changing(self, names: Iterable[str]) -> np.ndarray:
        """`array`, of which only these groups of rows are changed; names of none are left out."""
        return self._array

    @property
    def resident(self) -> LaneTable | None:
        """The table itself where a kernel has its numbers in a memory of its own, None on the host."""
        return None

    @property
    def shown(self) -> np.ndarray:
        """`array` by its shape alone where the table is `resident`: its numbers may be those of before."""
        return self._array

    def on_host(self) -> LaneTable:
        """The same numbers on the host, for what outlives the run."""
        return self

    @classmethod
    def zeros(cls, layout: RowNames, lanes: int, dtype: np.dtype | str) -> LaneTable:
        """A table of zeros."""
        array = np.empty((layout.row_count, lanes), dtype)

        def fill(lanes: slice) -> None:  # in threads: the system takes longer to give memory than it takes to fill it
            array[:, lanes] = 0.0

        in_portions(fill, lanes)
        return cls(layout, array)

    @property
    def lanes(self) -> int:
        """B."""
        return self._array.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """Of its numbers."""
        return self._array.dtype

    # -- lanes -------------------------------------------------------------------------------------------------------

    def copy(self) -> LaneTable:
        """All lanes once more."""
        return LaneTable(self.layout, copied(self._array))

    def take(self, members: Members) -> LaneTable:
        """Some lanes, copied."""
        which = self._numbers(members)
        out = np.empty((len(self._array), len(which)), self.dtype)

        def take(lanes: slice) -> None:
            some = places(which[lanes])
            scattered = isinstance(some, np.ndarray)
            out[:, lanes] = np.take(self._array, some, axis=1) if scattered else self._array[:, some]

        in_portions(take, len(which), COPIED)
        return LaneTable(self.layout, out)

    def _numbers(self, members: Members) -> np.ndarray:
        """Of some lanes; those of few of many without an array of all."""
        if isinstance(members, np.ndarray) and members.dtype != bool:
            return members
        return np.arange(self.lanes)[members]

    def put(self, members: Members, lanes: LaneTable, names: Iterable[str] | None = None) -> None:
        """Sets some lanes; nothing is to do where they are `batch` of all of them.

        Args:
            names: the groups of rows that have changed; all of them where left out.
        """
        if lanes is self:
            return
        which = self._numbers(members)
        groups = [(self._view(name, ALL), lanes.rows(name)) for name in names or ()]
        rows = [(self._array, lanes.array)] if names is None else groups

        def put(portion: slice) -> None:
            some = places(which[portion])
            for to, numbers in rows:
                if isinstance(some, slice):
                    to[:, some] = numbers[:, portion]
                    continue
                for row, values in zip(to, numbers, strict=True):  # in a third of the time of all rows at once
                    row[some] = values[portion]

        in_portions(put, len(which), COPIED)

    def batch(self, members: np.ndarray) -> LaneTable:
        """Some lanes for a kernel, to be `put` back: this very table where they are all of it in order, else a copy."""
        return self if self._everyone(members) is ALL else self.take(members)

    def fitted(self, layout: RowNames) -> LaneTable:
        """The same lanes in the rows of another layout: each group is cut at its end, or filled up with zeros."""
        other = LaneTable(layout, np.empty((layout.row_count, self.lanes), self.dtype))
        rows = {name: (other._view(name, ALL), self.rows(name)) for name in layout.columns()}

        def fit(lanes: slice) -> None:
            for to, numbers in rows.values():
                common = min(len(to), len(numbers))
                to[:common, lanes], to[common:, lanes] = numbers[:common, lanes], 0.0

        in_portions(fit, self.lanes)
        return other

    # -- rows --------------------------------------------------------------------------------------------------------

    def rows(self, name: str, members: Members = ALL, within: slice | int = ALL) -> np.ndarray:
        """Numbers of a group of rows, (rows, K) or of one row (K,); of all members they are as of now, for reading.

        Args:
            within: which rows of the group.
        """
        view = self._view(name, within)
        if members is not ALL:
            return view[..., members]
        view.flags.writeable = False
        return view

    def row(self, name: str, members: Members = ALL) -> np.ndarray:
        """(K,) the first row of a group."""
        return self.rows(name, members, 0)

    @contextmanager
    def reading_all(self) -> Iterator[None]:
        """Within, several threads may read, each of a portion of members, and most members are read of what one is."""
        yield

    def state(self, members: Members = ALL) -> np.ndarray:
        """(nq + 2 nx, K) coordinates, speeds and rates one above the other, for reading."""
        view = self._array[: self.states]
        if members is not ALL:
            return view[:, members]
        view.flags.writeable = False
        return view

    def set(self, name: str, values: np.ndarray | float, members: Members = ALL, within: slice | int = ALL) -> None:
        """Sets numbers of a group of rows; arguments as of `rows`."""
        with np.errstate(over="ignore"):  # in f32 a number beyond 3e38 is infinite: an outcome of its lane
            self._view(name, within)[..., self._everyone(members)] = values

    def set_state(self, values: np.ndarray, members: Members = ALL) -> None:
        """Sets coordinates, speeds and rates."""
        with np.errstate(over="ignore"):  # as in `set`
            self._array[: self.states, self._everyone(members)] = values

    def add(self, name: str, values: np.ndarray | float, members: Members = ALL, within: slice | int = ALL) -> None:
        """Adds to numbers of a group of rows; every member once."""
        with np.errstate(all="ignore"):  # lanes that are far out add infinities of both signs
            self._view(name, within)[..., self._everyone(members)] += values

    def _everyone(self, members: Members) -> Members:
        """`ALL` for numbers of all lanes in order, by which rows are set in a fifth of the time."""
        if isinstance(members, np.ndarray) and len(members) == self.lanes and members.dtype != bool:
            return ALL if np.array_equal(members, np.arange(self.lanes)) else members
        return members

    def _view(self, name: str, within: slice | int) -> np.ndarray:
        place = self.layout.rows(name)
        return self._array[place.start : place.stop][within]

    @property
    def states(self) -> int:
        """Number of rows of `state`."""
        return sum(len(self.layout.rows(name)) for name in STATE)

    # -- over rows ---------------------------------------------------------------------------------------------------

    def reduce(self, how: str, name: str, members: Members = ALL, within: slice | int = ALL) -> np.ndarray:
        """(K,) a figure of each lane over a group of rows.

        Args:
            how: "finite", whether all numbers are; "largest", of their absolute values, 0 of none.
        """
        rows = self.rows(name, members, within)
        return np.asarray(np.isfinite(rows).all(0)) if how == "finite" else np.abs(rows).max(0, initial=0.0)

    def trips(self, members: np.ndarray | None = None) -> Trips:
        """The frozen ones of some lanes, or of all."""
        members = np.arange(self.lanes) if members is None else members
        codes = self.row("trip", members)
        frozen = np.flatnonzero(codes)
        return Trips(members[frozen], np.rint(codes[frozen]).astype(int), frozen)
