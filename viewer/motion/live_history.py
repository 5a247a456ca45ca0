"""The latest instants of a running simulation, read like a study of one member. NumPy only.

One thread writes while others read: elements that a reader may hold are never overwritten.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.poses import continuous
from shiftjax.record import record
from shiftjax.viewer.members.choice import NO_SETS, Choices
from shiftjax.viewer.members.column_names import resolved
from shiftjax.viewer.members.study_like import NOBODY, Drawable, Placed, Trials
from shiftjax.viewer.motion.between import Between, Tracks

MAX_INSTANTS = 36000  # ten minutes at 60 a second; 2 MB for each body
CAPACITY = 256  # instants, of the first arrays
ONLY = np.zeros(1, np.int64)  # the one member


@record
class _Block:
    """Arrays with capacity for more instants than the `count` that are valid."""

    count: int
    revision: int
    time: np.ndarray  # (room,)
    poses: np.ndarray  # (room, nodes, 7)
    channels: dict[str, np.ndarray]  # path -> (room, ...)

    def copied(self, first: int, count: int, capacity: int) -> _Block:
        """New arrays with `count` of the instants, from `first`."""

        def part(values: np.ndarray) -> np.ndarray:
            out = np.zeros((capacity, *values.shape[1:]))
            out[:count] = values[first : first + count]
            return out

        channels = {path: part(values) for path, values in self.channels.items()}
        return _Block(count, self.revision, part(self.time), part(self.poses), channels)


class History:
    """The latest instants of one run.

    Attributes:
        where, model, report, settings, nodes, channels, at_instants, plotted: as of a `Study`; the one member is
            number 0.
    """

    members, kept, simulated = 1, ONLY, NOBODY
    at_instants, growing = False, True
    titles: Sequence[str] = ()
    trials: Trials | None = None

    def __init__(
        self,
        model: Model,
        nodes: Sequence[str],
        *,
        where: str = "live",
        report: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        channels: Mapping[str, str] | None = None,
        plotted: Sequence[str] = (),
        max_instants: int = MAX_INSTANTS,
    ) -> None:
        """An empty history.

        Args:
            nodes: "fixed" and the bodies. channels: path -> unit. plotted: those that are plotted while nothing is
                picked. max_instants: of the latest instants.
        """
        self.where, self.model, self.nodes = where, model, tuple(nodes)
        self.report, self.settings = dict(report or {}), dict(settings or {})
        self.channels, self.max_instants = dict(channels or {}), max_instants
        self.plotted: Sequence[str] = [resolved(path, self.channels, f"channel of {where}") for path in plotted]
        self.values: dict[str, float] = {}  # path of a number -> present value
        self.metrics: dict[str, np.ndarray] = {}
        self.status = np.zeros(1, np.int16)
        self._choices = Choices(1, ONLY, {"member": ONLY, "status": ONLY})
        self._block = _Block(0, 0, np.zeros(0), np.zeros((0, len(self.nodes), 7)), {})
        self._checkpoints: list[Any] = []  # of the writing thread

    # -- written by the run ------------------------------------------------------------------------------------------

    def add(self, time: float, poses: np.ndarray, channels: Mapping[str, Any] | None = None, checkpoint: Any = None,
            replacing: int = 0) -> None:  # fmt: skip
        """Appends an instant.

        Args:
            time: [s], not before the last one; at the same time it replaces it. poses: (nodes, 7).
            channels: path -> value, of all paths or none.
            checkpoint: state of the engine, to resume from here. replacing: number of last instants to remove first.
        """
        block, n = self._first(self._block.count - replacing) if replacing else self._block, len(self._checkpoints)
        if not block.channels and channels:
            shapes = {path: np.zeros((len(block.time), *np.shape(value))) for path, value in channels.items()}
            block = dataclasses.replace(block, channels=shapes)
        if n == len(block.time):
            first = 0 if n < self.max_instants else n - self.max_instants // 2
            n -= first
            block, self._checkpoints = (
                block.copied(first, n, min(self.max_instants, max(CAPACITY, 2 * n))),
                self._checkpoints[first:],
            )
        again = n > 0 and block.time[n - 1] == time
        block.time[n] = time
        block.poses[n] = continuous(np.stack([block.poses[n - 1], poses]))[1] if n else poses
        for path, value in (channels or {}).items():
            block.channels[path][n] = value
        self._checkpoints.append(checkpoint)
        self._block = dataclasses.replace(block, count=n + 1, revision=block.revision + again)

    def checkpoint(self, time: float) -> Any:
        """The checkpoint of the last instant at or before a time."""
        return self._checkpoints[self._count_until(time) - 1]

    def truncate(self, time: float) -> None:
        """Removes all instants after the last one at or before a time."""
        self._block = self._first(self._count_until(time))

    def _count_until(self, time: float) -> int:
        """Number of instants up to a time, at least one."""
        return max(1, int(np.searchsorted(self.time, time, side="right")))

    def _first(self, count: int) -> _Block:
        """The first instants only, with their checkpoints."""
        block, self._checkpoints = self._block, self._checkpoints[:count]
        return dataclasses.replace(block.copied(0, count, len(block.time)), revision=block.revision + 1)

    # -- read by the window ------------------------------------------------------------------------------------------

    @property
    def time(self) -> np.ndarray:
        """(n,) instants [s]."""
        return self._block.time[: self._block.count]

    @property
    def revision(self) -> int:
        return self._block.revision

    @property
    def design(self) -> dict[str, np.ndarray]:
        return {path: np.array([value]) for path, value in self.values.items()}

    def model_of(self, member: int) -> Model:
        """The model with the present values of its numbers."""
        self._choices.member(member)
        known = self.model.numbers() if self.values else {}
        return self.model.replace({path: value for path, value in self.values.items() if path in known})

    def base_of(self, member: int) -> Model:
        self._choices.member(member)
        return self.model

    def end(self, member: int) -> float:
        """Time [s] of the last instant."""
        self._choices.member(member)
        return float(self.time[-1])

    def track(self, member: int) -> np.ndarray:
        """(n, nodes, 7) at all instants; read-only."""
        self._choices.member(member)
        return self._block.poses[: self._block.count]

    def near(self, time: float, count: int) -> History:
        """At most so many instants around a time, as a new history."""
        block = self._block
        middle = int(np.searchsorted(block.time[: block.count], time))
        first = max(0, min(middle - count // 2, block.count - count))
        out = History(self.model, self.nodes, where=self.where, channels=self.channels)
        out.values, out._block = self.values, block.copied(first, min(count, block.count - first), count)
        return out

    def poses(self, member: int, t: float | np.ndarray) -> np.ndarray:
        """(nodes, 7) at time t [s], or (m, nodes, 7) at times (m,), as of a `Study`."""
        times = np.asarray(t, float)
        self._choices.member(member)
        return self._placed(times.reshape(-1)).poses.reshape(*times.shape, len(self.nodes), 7)

    def poses_of(self, members: Sequence[int] | np.ndarray, t: float) -> np.ndarray:
        """(k, nodes, 7)."""
        return self.placed(members, t).poses

    def placed(self, members: Sequence[int] | np.ndarray, t: float) -> Placed:
        """As of a `Study`."""
        return self._placed(np.full(len([self._choices.member(int(member)) for member in members]), float(t)))

    def _placed(self, t: np.ndarray) -> Placed:
        block = self._block
        if len(self.nodes) < 2:  # ground alone
            return Placed(np.repeat(block.poses[:1], len(t), axis=0), np.zeros(len(t), bool))
        last, which = np.array([block.count - 1]), np.zeros(len(t), np.int64)
        what = Tracks(block.time[: block.count], [block.poses[: block.count]], last, ONLY, which, t)
        return self._between.at(what, snap=self.at_instants)

    @functools.cached_property
    def _between(self) -> Between:
        return Between(self)

    def channel(self, path: str, member: int) -> np.ndarray:
        """(n, ...) of a channel."""
        self._choices.member(member)
        block = self._block
        return block.channels[resolved(path, self.channels, f"channel of {self.where}")][: block.count]

    def value(self, name: str, member: int) -> float:
        """As of a `Study`."""
        return float((self.design if name in self.design else self.metrics)[name][member])

    def unit(self, name: str) -> str:
        """Of a channel or a number that may change."""
        known = resolved(name, [*self.channels, *self.values], self.where)
        return self.channels[known] if known in self.channels else self.model.number_units()[known]

    def title(self, member: int) -> str:
        """What the run is called beside another design."""
        return f"member {member}"

    def message(self, member: int) -> str:
        self._choices.member(member)
        return ""

    def choose(self, text: str, sets: Mapping[str, np.ndarray] = NO_SETS) -> np.ndarray:
        return self._choices.choose(text, sets)

    def assumed(self, text: str, sets: Mapping[str, np.ndarray] = NO_SETS) -> str:
        return self._choices.assumed(text, sets)

    def sense(self, name: str) -> str:
        return self._choices.sense(name)

    def request(self, members: Sequence[int] | np.ndarray) -> None:
        """Does nothing: the one member is there."""

    def awaited(self, members: Sequence[int] | np.ndarray) -> bool:
        return False

    def news(self) -> tuple[str, list[str]]:
        return "", []

    def prepare(self, members: Sequence[int] | np.ndarray, tell: Callable[[float], None]) -> None:
        """Does nothing: the one member is there."""

    def drawable(self, ids: Sequence[int] | np.ndarray) -> Drawable:
        wanted = np.array([self._choices.member(int(member)) for member in np.ravel(ids)], np.int64)
        return Drawable(wanted, wanted[:0], "")
