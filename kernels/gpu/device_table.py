"""A table of lanes that stays on a device: the host asks for rows, or for columns of some members, when it needs them.

Of every row it is known whether the host's numbers are those of now, the device's, or both. What a kernel changes is
fetched when it is asked for: of most members the whole row, of few a packed part of it. What the host sets for few
members, or to one number for all, is set on both sides; other rows go up when a kernel needs them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from shiftjax.kernels.gpu.moves import Moves, TablePart, freed
from shiftjax.kernels.lane_table import ALL, STATE, LaneTable, Members, RowNames

# Lanes of a copy whose numbers are copied on the host, too, where they are on both sides: a row of few is there sooner
# than it is fetched, one of more is mostly not asked for.
FEW = 1 << 11


class DeviceTable(LaneTable):
    """See `LaneTable`; its numbers are on a device from the first step on.

    Args:
        array: (rows, B) as of `LaneTable`; the host's numbers.
    """

    copied_at_once = 1 << 27  # numbers: copies are made on the device, where launches should have many lanes

    def __init__(self, layout: RowNames, array: np.ndarray, moves: Moves) -> None:
        super().__init__(layout, array)
        self.moves, self._address = moves, 0
        self._whole_rows, self._fetching = False, threading.Lock()
        self._here, self._there = np.ones(len(self._array), bool), np.zeros(len(self._array), bool)

    # -- for kernels -------------------------------------------------------------------------------------------------

    @property
    def resident(self) -> DeviceTable:
        """The table itself."""
        return self

    @property
    def array(self) -> np.ndarray:
        """(rows, B) on the host, where all of it may then change."""
        return self.changing(self.layout.columns())

    def changing(self, names: Iterable[str]) -> np.ndarray:
        """`array`, of which only these groups of rows are changed."""
        self._fetch(self._rows(None))
        self._there[self._rows(names)] = False
        return self._array

    def on_device(self) -> int:
        """The address of the table, with all numbers as of now.

        Raises:
            MemoryError: the device has no room for it.
        """
        self._send(self._rows(None))
        return self._place(0)

    def stepped(self, names: Iterable[str]) -> None:
        """Takes note that a kernel is changing these groups of rows on the device."""
        self._here[self._rows(names)] = False

    def on_host(self) -> LaneTable:
        """The same numbers on the host."""
        self._fetch(self._rows(None))
        return LaneTable(self.layout, self._array.copy())

    # -- lanes -------------------------------------------------------------------------------------------------------

    def batch(self, members: np.ndarray) -> LaneTable:
        """Some lanes for a kernel, which steps them where they stand."""
        return self if self._everyone(members) is ALL else DeviceColumns(self, members)

    def copy(self) -> LaneTable:
        """All lanes once more, on the device, too."""
        return self._copied(None)

    def take(self, members: Members) -> LaneTable:
        """Some lanes, copied on the device."""
        return self._copied(self._listed(members))

    def _copied(self, which: np.ndarray | None) -> LaneTable:
        count = self.lanes if which is None else len(which)
        other = DeviceTable(self.layout, np.empty((len(self._array), count), self.dtype), self.moves)
        if (self._there.any() or count >= FEW) and not other._has_room():
            self._fetch(self._rows(None))
            return LaneTable(self.layout, self._array[:, slice(None) if which is None else which]).copy()
        if count >= FEW and self._has_room():
            self._send(self._rows(None))  # a kernel will want them there; a device copies in no time
        for _, run in _runs(self._rows(None), self._here, self._there):
            here, there = self._here[run.start], self._there[run.start]
            other._here[run] = copied = here and (not there or count < FEW)
            if copied:
                numbers = self._array[run]
                other._array[run] = numbers if which is None else np.take(numbers, which, axis=1)
            if there:
                members = 0 if which is None else self.moves.listed(which)
                source = TablePart(self._place(run.start), self.lanes, members=members)
                self.moves.move(TablePart(other._place(run.start), count), source, run.stop - run.start, count)
        other._there[:] = self._there
        return other

    def put(self, members: Members, lanes: LaneTable, names: Iterable[str] | None = None) -> None:
        """Sets some lanes, on the device from there; arguments as of `LaneTable`."""
        if isinstance(lanes, DeviceColumns):
            if lanes.copied is None:
                return  # they stand here
            lanes = lanes.copied
        which, rows = self._listed(members), self._rows(names)
        count, some = (self.lanes, ALL) if which is None else (len(which), which)
        if lanes is self or not count:
            return
        if not isinstance(lanes, DeviceTable) or (lanes._there.any() and not self._has_room()):
            for places, run in _runs(rows):
                self._write(rows[places], lanes.array[run], some)
            return
        for places, run in _runs(rows, self._here, self._there, lanes._here, lanes._there):
            here, there, also = self._here[run.start], self._there[run.start], lanes._here[run.start]
            if not lanes._there[run.start] or (here and also and not there):
                self._write(rows[places], lanes._array[run], some)
                continue
            if not there and which is not None:
                self._send(rows[places])
            self._here[run] = False
            to = TablePart(self._place(run.start), self.lanes, members=0 if which is None else self.moves.listed(which))
            source = TablePart(lanes._place(run.start), lanes.lanes)
            self.moves.move(to, source, run.stop - run.start, count)
            self._there[run] = True
            if here and also and count < FEW:
                self._array[run][:, some] = lanes._array[run]
                self._here[run] = True

    # -- rows --------------------------------------------------------------------------------------------------------

    def rows(self, name: str, members: Members = ALL, within: slice | int = ALL) -> np.ndarray:
        """See `LaneTable`; what the host has not is fetched."""
        rows = np.array(self.layout.rows(name), int)[within]
        if members is ALL:
            self._fetch(np.atleast_1d(rows))
            return super().rows(name, members, within)
        numbers = self._read(np.atleast_1d(rows), members)
        return numbers[0] if np.ndim(rows) == 0 else numbers

    @contextmanager
    def reading_all(self) -> Iterator[None]:
        """See `LaneTable`: whole rows are fetched, each once."""
        self._whole_rows = True
        try:
            yield
        finally:
            self._whole_rows = False

    def state(self, members: Members = ALL) -> np.ndarray:
        """See `LaneTable`."""
        rows = self._rows(STATE)
        if members is ALL:
            self._fetch(rows)
            return super().state(members)
        return self._read(rows, members)

    def set(self, name: str, values: np.ndarray | float, members: Members = ALL, within: slice | int = ALL) -> None:
        """See `LaneTable`."""
        self._write(np.atleast_1d(np.array(self.layout.rows(name), int)[within]), values, members)

    def set_state(self, values: np.ndarray, members: Members = ALL) -> None:
        """See `LaneTable`."""
        self._write(self._rows(STATE), values, members)

    def add(self, name: str, values: np.ndarray | float, members: Members = ALL, within: slice | int = ALL) -> None:
        """See `LaneTable`."""
        numbers = self.rows(name, np.arange(self.lanes)[members], within)
        with np.errstate(all="ignore"):  # as there
            numbers += values
        self.set(name, numbers, members, within)

    # -- between host and device -------------------------------------------------------------------------------------

    def _rows(self, names: Iterable[str] | None) -> np.ndarray:
        """The rows of some groups, or all; names of none are left out."""
        if names is None:
            return np.arange(len(self._array))
        known = self.layout.columns()
        return np.array([row for name in names if name in known for row in self.layout.rows(name)], int)

    def _listed(self, members: Members) -> np.ndarray | None:
        """(n,) numbers of some lanes; None for all in order."""
        if members is ALL:
            return None
        which = np.arange(self.lanes)[members]
        return None if self._everyone(which) is ALL else which

    def _place(self, row: int) -> int:
        """The address of a row, of a table that is there from then on."""
        if not self._address:
            device = self.moves.device
            self._address = device.allocate(self._array.nbytes)
            weakref.finalize(self, freed, device, self._address).atexit = False
        return self._address + row * self.lanes * self.dtype.itemsize

    def _has_room(self) -> bool:
        """Whether the device has the table, or room for it, which it then takes."""
        try:
            self._place(0)
        except MemoryError:
            return False
        return True

    def _fetch(self, rows: np.ndarray) -> None:
        """Brings rows to the host that are not there; from several threads."""
        if self._here[rows].all():
            return
        with self._fetching:
            for _, run in _runs(rows[~self._here[rows]]):
                self.moves.device.download(self._place(run.start), self._array[run])
                self._here[run] = True

    def _send(self, rows: np.ndarray) -> None:
        """Brings rows to the device that are not there."""
        for _, run in _runs(rows[~self._there[rows]]):
            self.moves.device.upload(self._array[run], self._place(run.start))
            self._there[run] = True

    def _read(self, rows: np.ndarray, members: Members) -> np.ndarray:
        """(rows, K) numbers of some members, copied; of few of them those alone are fetched."""
        some = members if isinstance(members, slice) else np.arange(self.lanes)[members]
        some = self._everyone(some)
        count = len(range(self.lanes)[some]) if isinstance(some, slice) else len(some)
        if self._whole_rows or 2 * count >= self.lanes:
            self._fetch(rows)
        out = np.empty((len(rows), count), self.dtype)
        for places, run in _runs(rows, self._here):
            if self._here[run.start]:
                out[places] = self._array[run][:, some]
            elif count:
                packed, which = self.moves.packed(out[places].size), np.arange(self.lanes)[some]
                source = TablePart(self._place(run.start), self.lanes, members=self.moves.listed(which))
                self.moves.move(TablePart(packed, count), source, run.stop - run.start, count)
                self.moves.device.download(packed, out[places])
        return out

    def _write(self, rows: np.ndarray, values: np.ndarray | float, members: Members) -> None:
        """Sets rows of some members, (rows, K) or what is broadcast to it."""
        which = self._listed(members)
        count = self.lanes if which is None else len(which)
        with np.errstate(over="ignore"):  # as in `LaneTable.set`
            numbers = np.broadcast_to(np.asarray(values).astype(self.dtype), (len(rows), count))
        if not count:
            return
        of_one = numbers.strides[1] == 0
        for places, run in _runs(rows, self._here, self._there):
            here, there = self._here[run.start], self._there[run.start]
            both = there and (of_one if which is None else not here or 2 * count < self.lanes)
            if both and which is None and count >= FEW:
                self._here[run] = False  # the device has them before and after
                self._set_there(run, numbers[places], which)
                continue
            self._there[run] = False
            if here or which is None:
                self._array[run][:, slice(None) if which is None else which] = numbers[places]
                self._here[run] = True
            if both:
                self._set_there(run, numbers[places], which)
                self._there[run] = True

    def _set_there(self, run: slice, numbers: np.ndarray, which: np.ndarray | None) -> None:
        """Sets rows of some members on the device; what is the same for all of them goes up once."""
        of_one_row, of_one_lane = (stride == 0 for stride in numbers.strides)
        sent = numbers[: 1 if of_one_row else None, : 1 if of_one_lane else None]
        source = TablePart(self.moves.sent(sent), 0 if of_one_row else sent.shape[1], 0 if of_one_lane else 1)
        members = 0 if which is None else self.moves.listed(which)
        to = TablePart(self._place(run.start), self.lanes, members=members)
        self.moves.move(to, source, *numbers.shape)


class DeviceColumns(LaneTable):
    """Some lanes of a table on a device, for a kernel, which is given the list of their columns.

    What asks for its array gets a copy, which `put` takes back.

    Args:
        whole: the table. members: (n,) of its lanes.
    """

    def __init__(self, whole: DeviceTable, members: np.ndarray) -> None:
        super().__init__(
            whole.layout, np.empty((len(whole.shown), len(members)), whole.dtype)
        )  # its shape alone counts
        self.whole, self.members = whole, members
        self.copied: LaneTable | None = None

    @property
    def resident(self) -> LaneTable | None:
        """The table itself, until it has been copied."""
        return self if self.copied is None else self.copied.resident

    @property
    def array(self) -> np.ndarray:
        """(rows, n) on the host."""
        return self._copy().array

    def changing(self, names: Iterable[str]) -> np.ndarray:
        """`array`, of which only these groups of rows are changed."""
        return self._copy().changing(names)

    def on_host(self) -> LaneTable:
        """The same numbers on the host."""
        return self._copy().on_host()

    def rows(self, name: str, members: Members = ALL, within: slice | int = ALL) -> np.ndarray:
        """See `LaneTable`."""
        if self.copied is not None:
            return self.copied.rows(name, members, within)
        return self.whole.rows(name, self.members[members], within)

    def state(self, members: Members = ALL) -> np.ndarray:
        """See `LaneTable`."""
        return self.whole.state(self.members[members]) if self.copied is None else self.copied.state(members)

    def take(self, members: Members) -> LaneTable:
        """See `LaneTable`."""
        return self.whole.take(self.members[members]) if self.copied is None else self.copied.take(members)

    def copy(self) -> LaneTable:
        """See `LaneTable`."""
        return self.take(ALL)

    def put(self, members: Members, lanes: LaneTable, names: Iterable[str] | None = None) -> None:
        """See `LaneTable`."""
        if lanes is not self:
            self._copy().put(members, lanes, names)

    def set(self, name: str, values: np.ndarray | float, members: Members = ALL, within: slice | int = ALL) -> None:
        """See `LaneTable`."""
        self._copy().set(name, values, members, within)

    def set_state(self, values: np.ndarray, members: Members = ALL) -> None:
        """See `LaneTable`."""
        self._copy().set_state(values, members)

    def add(self, name: str, values: np.ndarray | float, members: Members = ALL, within: slice | int = ALL) -> None:
        """See `LaneTable`."""
        self._copy().add(name, values, members, within)

    def _copy(self) -> LaneTable:
        if self.copied is None:
            self.copied = self.whole.take(self.members)
        return self.copied


def _runs(rows: np.ndarray, *keys: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Rows that follow each other and are alike in every key, as (places in `rows`, rows).

    Args:
        rows: (n,) numbers of rows. keys: (all rows,) each; read before the first run is given.
    """
    apart = np.diff(rows) != 1
    for key in keys:
        apart |= np.diff(key[rows]) != 0
    ends = [*(np.flatnonzero(apart) + 1).tolist(), len(rows)] if len(rows) else []
    begin = 0
    for end in ends:
        yield slice(begin, end), slice(int(rows[begin]), int(rows[end - 1]) + 1)
        begin = end
