"""Trajectories on a workbench in the window: its poses are written as a table, and those of a table are gone through,
each an instant of the history, so that they can be played. NumPy only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.files import free_stem
from shiftjax.viewer.motion.by_hand import HandPoses
from shiftjax.viewer.motion.goal_session import GoalSession
from shiftjax.viewer.motion.session import INTERVAL
from shiftjax.viewer.motion.waiting_session import WaitEnded

SHOWN = 20  # sentences of the console on what is missing at poses that are not reached


class TrajectorySession(GoalSession):
    """Poses of a workbench as tables; attributes as of `GoalSession`."""

    def save_trajectory(self, folder: Path) -> None:
        """Writes the poses since the mechanism was changed last into a folder, under a name that is free."""
        self._command(f"poses {next(self._count)}", functools.partial(self._save_trajectory, folder))

    def _save_trajectory(self, folder: Path) -> None:
        self._require_posing()
        self._write_trajectory(str(folder / f"{free_stem(folder, 'poses', ('.csv',))}.csv"))

    def _write_trajectory(self, name: str) -> None:
        if not name:
            raise ModelError("write_trajectory", "no name", "that of a file", "Say write_trajectory('poses.csv').")
        table = self._bench.trajectory()
        text = f"written: {table.write(name)}, {table.count} poses since the mechanism was changed last"
        self._note("note", text)
        self._add_message(text)

    def _read_trajectory(self, name: str) -> None:
        """Goes through the poses of a table; one that is not reached is said, and left at the nearest pose."""
        if not name:
            raise ModelError("read_trajectory", "no name", "that of a file", "Say read_trajectory('poses.csv').")
        table = self._bench.read_trajectory(name)
        self._note("note", *table.notes)
        missing, done, unreached = list[str](), 0, 0
        times = self._times(table)

        def through(progress: Callable[[float], None]) -> None:
            nonlocal done, unreached
            for row, time in enumerate(times):
                progress(row / table.count)
                self._bench.go_to(table, row)
                missing.extend(self._bench.notes)
                unreached += bool(self._bench.notes)
                done += 1
                self._bench_engine.time = time - INTERVAL  # which `_seen` adds
                self._seen()

        try:
            self._wait_for(f"{name}: {table.count} poses", through)
            text = f"{name}: {done} poses, a step each"
        except WaitEnded:
            text = f"{name}: ended after {done} of {table.count} poses, a step each"
            self.unfinished += [text] if self._closed else []
        finally:
            more = [f"... {len(missing)} such in all"] if len(missing) > SHOWN else []
            self._note("note", *missing[:SHOWN], *more)
        self._note("step", f"# {text}")
        self._add_message(f"{text}; {unreached} not reached" if unreached else text)
        self._command("ranges", self._find_ranges)

    def _times(self, table: HandPoses) -> list[float]:
        """Instants of the history for all poses, by the times of a table that has some which rise."""
        begin, times = self._bench_engine.time + INTERVAL, table.time
        if times is None or (np.diff(times) <= 0.0).any():
            return [begin + k * INTERVAL for k in range(table.count)]
        return (begin + times - times[0]).tolist()
