"""How far a study and each of its groups are, told to whoever waits for it."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr

from shiftjax.ensembles.study.group import MemberGroup, total
from shiftjax.record import record

Count = np.ndarray  # (groups, 3): members, those that ended early, those that changed coordinates


@record
class GroupProgress:
    """Where one group of a study stands: the members that have one model.

    Attributes:
        switches: what is on and off in it. members: of it. done: members that are done, with those that were before.
        failed, repartitioned: of those, members that ended early, and that changed coordinates. rate: members a second
            since it was begun in this call, 0 before.
    """

    switches: Mapping[str, bool]
    members: int
    done: int
    failed: int
    repartitioned: int
    rate: float

    @property
    def left(self) -> float:
        """Seconds until it is done at this rate; infinite before it is begun."""
        return _left(self.members - self.done, self.rate)


@record
class StudyProgress:
    """Where a study stands.

    Attributes:
        members: of the study. done: members that are done, with those that were before. running: members' worth of
            work that is under way. failed: members that ended early. repartitioned: members that changed coordinates.
        seconds: since this call began. rate: members a second since then.
        groups: the same of each group.
    """

    members: int
    done: int
    running: float
    failed: int
    repartitioned: int
    seconds: float
    rate: float
    groups: tuple[GroupProgress, ...]

    @property
    def left(self) -> float:
        """Seconds until the study is done at this rate."""
        return _left(self.members - self.done - self.running, self.rate)


def _left(members: float, rate: float) -> float:
    return 0.0 if members <= 0 else members / rate if rate > 0 else math.inf


def counted(groups: Sequence[MemberGroup], rows: xr.Dataset) -> Count:
    """The rows of a table of members, counted for each group."""
    which = np.searchsorted([group.first for group in groups], rows["member"].values, side="right") - 1
    ended, changed = rows["status"].values > 0, rows["repartitions"].values > 0
    kinds = (np.ones(len(which), bool), ended, changed)
    return np.stack([np.bincount(which[kind], minlength=len(groups)) for kind in kinds], axis=1)


class Teller:
    """Counts what is done and tells it, from any thread.

    Args:
        before: what was done before this call.
    """

    def __init__(self, groups: Sequence[MemberGroup], before: Count, progress: Callable[[StudyProgress], None]) -> None:
        self._groups, self._before, self._progress = groups, before, progress
        self._firsts = [group.first for group in groups]
        self._count = before.copy()
        self._begun = time.perf_counter()
        self._clocks: dict[int, list[float]] = {}  # group -> when it was begun, when something of it was last done
        self._running: dict[int, float] = {}  # shard -> members' worth of work that is done
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Tells what was done before."""
        with self._lock:
            self._tell()

    def part(self, shard: int, first: int, done: float) -> None:
        """Of a shard so many members' worth of work is done, now in the group of member `first`."""
        now = time.perf_counter()
        with self._lock:
            self._clocks.setdefault(bisect(self._firsts, first) - 1, [now, now])
            self._running[shard] = done
            self._tell()

    def shard(self, shard: int, count: Count) -> None:
        """A shard is done, with so many members."""
        with self._lock:
            self._running.pop(shard, None)
            self._count = self._count + count
            for k in np.flatnonzero(count[:, 0]).tolist():
                self._clocks.setdefault(k, [self._begun, 0.0])[1] = time.perf_counter()
            self._tell()

    def _tell(self) -> None:
        running = sum(self._running.values())
        seconds = time.perf_counter() - self._begun
        done, failed, changed = self._count.sum(0).tolist()
        rate = (done - int(self._before[:, 0].sum()) + running) / max(seconds, 1e-9)
        each = tuple(
            GroupProgress(group.switches, group.members, int(counts[0]), int(counts[1]), int(counts[2]), self._rate(k))
            for k, (group, counts) in enumerate(zip(self._groups, self._count, strict=True))
        )
        self._progress(StudyProgress(total(self._groups), done, running, failed, changed, seconds, rate, each))

    def _rate(self, k: int) -> float:
        """Members of a group a second."""
        begun, last = self._clocks.get(k, (0.0, 0.0))
        return float(self._count[k, 0] - self._before[k, 0]) / max(last - begun, 1e-9)
