"""What a run that is going on has done so far: its latest instants, read as a study of one member. NumPy only.

One thread writes while others read: an array that a reader may hold is never written to where it looks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.poses import bracket, continuous, interpolated
from shiftjax.record import record
from shiftjax.viewer.choice import Choices, resolved
from shiftjax.viewer.study_like import Drawable

MOST = 36000  # instants: ten minutes at sixty a second; a body takes 2 MB
ROOM = 256  # instants for which there is room at first
ONLY = np.zeros(1, np.int64)  # the one member


@record
class _Block:
    """Arrays with room for more instants than the `count` that are seen."""

    count: int
    stamp: int
    time: np.ndarray  # (room,)
    poses: np.ndarray  # (room, nodes, 7)
    channels: dict[str, np.ndarray]  # path -> (room, ...)

    def copied(self, first: int, count: int, room: int) -> _Block:
        """Arrays of its own with `count` of the instants, from `first`."""

        def part(values: np.ndarray) -> np.ndarray:
            out = np.zeros((room, *values.shape[1:]))
            out[:count] = values[first : first + count]
            return out

        channels = {path: part(values) for path, values in self.channels.items()}
        return _Block(count, self.stamp, part(self.time), part(self.poses), channels)


class History:
    """The latest instants of one run.

    Attributes:
        where, model, report, settings, nodes, channels: as of a `Study`; the one member is number 0.
    """

    members, kept = 1, ONLY

    def __init__(
        self,
        model: Model,
        nodes: Sequence[str],
        *,
        where: str = "live",
        report: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        channels: Mapping[str, str] | None = None,
        most: int = MOST,
    ) -> None:
        """An empty one.

        Args:
            nodes: "fixed" and the bodies. channels: path -> unit. most: instants that are kept.
        """
        self.where, self.model, self.nodes = where, model, tuple(nodes)
        self.report, self.settings = dict(report or {}), dict(settings or {})
        self.channels, self.most = dict(channels or {}), most
        self.values: dict[str, float] = {}  # number path -> as it is now
        self.metrics: dict[str, np.ndarray] = {}
        self._choices = Choices(1, ONLY, {"member": ONLY, "status": ONLY})
        self._block = _Block(0, 0, np.zeros(0), np.zeros((0, len(self.nodes), 7)), {})
        self._marks: list[Any] = []  # of the writing thread

    # -- written by the run ------------------------------------------------------------------------------------------

    def add(self, time: float, poses: np.ndarray, channels: Mapping[str, Any] | None = None, mark: Any = None,
            instead_of: int = 0) -> None:  # fmt: skip
        """The next instant.

        Args:
            time: [s], not before the last one; of two at one time the later counts. poses: (nodes, 7).
            channels: path -> value, of all paths or none.
            mark: whatever the run needs to go on from here. instead_of: so many of the last instants are forgotten.
        """
        block, n = self._kept(self._block.count - instead_of) if instead_of else self._block, len(self._marks)
        if not block.channels and channels:
            shapes = {path: np.zeros((len(block.time), *np.shape(value))) for path, value in channels.items()}
            block = dataclasses.replace(block, channels=shapes)
        if n == len(block.time):
            first = 0 if n < self.most else n - self.most // 2
            n -= first
            block, self._marks = block.copied(first, n, min(self.most, max(ROOM, 2 * n))), self._marks[first:]
        again = n > 0 and block.time[n - 1] == time
        block.time[n] = time
        block.poses[n] = continuous(np.stack([block.poses[n - 1], poses]))[1] if n else poses
        for path, value in (channels or {}).items():
            block.channels[path][n] = value
        self._marks.append(mark)
        self._block = dataclasses.replace(block, count=n + 1, stamp=block.stamp + again)

    def mark(self, time: float) -> Any:
        """The mark of the last instant at or before a time."""
        return self._marks[self._upto(time) - 1]

    def cut(self, time: float) -> None:
        """Forgets what came after the last instant at or before a time."""
        self._block = self._kept(self._upto(time))

    def _upto(self, time: float) -> int:
        """How many instants there are up to a time, at least one."""
        return max(1, int(np.searchsorted(self.time, time, side="right")))

    def _kept(self, count: int) -> _Block:
        """The first instants alone; their marks stay, the others' go."""
        block, self._marks = self._block, self._marks[:count]
        return dataclasses.replace(block.copied(0, count, len(block.time)), stamp=block.stamp + 1)

    # -- read by the window ------------------------------------------------------------------------------------------

    @property
    def time(self) -> np.ndarray:
        """(n,) instants [s]."""
        return self._block.time[: self._block.count]

    @property
    def stamp(self) -> int:
        return self._block.stamp

    @property
    def design(self) -> dict[str, np.ndarray]:
        return {path: np.array([value]) for path, value in self.values.items()}

    def model_of(self, member: int) -> Model:
        """The model with the numbers as they are now."""
        self._choices.member(member)
        known = self.model.numbers() if self.values else {}
        return self.model.replace({path: value for path, value in self.values.items() if path in known})

    def end(self, member: int) -> float:
        """Time [s] of the last instant."""
        self._choices.member(member)
        return float(self.time[-1])

    def track(self, member: int) -> np.ndarray:
        """(n, nodes, 7) at all instants; not to be written to."""
        self._choices.member(member)
        return self._block.poses[: self._block.count]

    def near(self, time: float, count: int) -> History:
        """At most so many instants about a time, as a history of their own."""
        block = self._block
        middle = int(np.searchsorted(block.time[: block.count], time))
        first = max(0, min(middle - count // 2, block.count - count))
        out = History(self.model, self.nodes, where=self.where, channels=self.channels)
        out.values, out._block = self.values, block.copied(first, min(count, block.count - first), count)
        return out

    def poses(self, member: int, t: float | np.ndarray) -> np.ndarray:
        """(nodes, 7) at time t [s], or (m, nodes, 7) at times (m,), as of a `Study`."""
        self._choices.member(member)
        block = self._block
        lower, upper, part = bracket(block.time[: block.count], t)
        return interpolated(block.poses[lower], block.poses[upper], part[..., None])

    def poses_of(self, members: Sequence[int] | np.ndarray, t: float) -> np.ndarray:
        """(k, nodes, 7)."""
        return np.stack([self.poses(int(member), t) for member in members])

    def channel(self, path: str, member: int) -> np.ndarray:
        """(n, ...) of a channel."""
        self._choices.member(member)
        block = self._block
        return block.channels[resolved(path, self.channels, f"channel of {self.where}")][: block.count]

    def unit(self, name: str) -> str:
        """Of a channel or a number that may change."""
        known = resolved(name, [*self.channels, *self.values], self.where)
        return self.channels[known] if known in self.channels else self.model.number_units()[known]

    def message(self, member: int) -> str:
        self._choices.member(member)
        return ""

    def choose(self, text: str) -> np.ndarray:
        return self._choices.choose(text)

    def drawable(self, ids: Sequence[int] | np.ndarray) -> Drawable:
        wanted = np.array([self._choices.member(int(member)) for member in np.ravel(ids)], np.int64)
        return Drawable(wanted, wanted[:0], "")
