"""Members of a store whose trajectories were not kept: another process simulates them, this one stays without jax.

A thread talks with it; whoever asks may wait, or look again later.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from shiftjax.ensembles.execution.again_messages import PROGRESS
from shiftjax.errors import ModelError
from shiftjax.record import record
from shiftjax.viewer.study.simulator import ChildEnded, SimulatorProcess
from shiftjax.viewer.study.store_columns import clock_of

MOST = 64  # members of a choice that are simulated: as many as are drawn at once
LOOK = 0.1  # s between two looks at how far it is
NAMED = 4  # members named in a text
TODO = "Look at `shiftjax run STORE --member K`, or run it again with `--keep`."


@record
class Simulated:
    """What comes of one member.

    Attributes:
        time: (n,) [s]. bodies: paths, in the order of the poses. pose: (n, bodies, 7), NaN after it ended.
        channels: path -> (n, ...). difference: how it differs from what is stored, "" where it does not.
    """

    time: np.ndarray
    bodies: tuple[str, ...]
    pose: np.ndarray
    channels: dict[str, np.ndarray]
    difference: str


class Resimulation:
    """Members of one store, simulated again and kept in memory.

    Attributes:
        store: its path. simulator: the process.
    """

    def __init__(self, store: str) -> None:
        self.store = os.path.abspath(store)
        self._change = threading.Condition()  # guards all below, notified at every news
        self._results: dict[int, Simulated] = {}
        self._failed: dict[int, ModelError] = {}
        self._queue: list[int] = []
        self._running: tuple[int, ...] = ()
        self._done, self._notes = 0.0, list[str]()
        self._thread: threading.Thread | None = None
        self.simulator = SimulatorProcess()

    # -- asked by whoever shows them -----------------------------------------------------------------------------------

    def result(self, member: int) -> Simulated | None:
        """A member that has been simulated, None where it has not.

        Raises:
            ModelError: why it could not be.
        """
        with self._change:
            if member in self._failed:
                raise self._failed[member]
            return self._results.get(member)

    @property
    def members(self) -> np.ndarray:
        """(k,) the members that are there."""
        with self._change:
            return np.array(sorted(self._results), np.int64)

    def failed(self, member: int) -> bool:
        """Whether it was tried and could not be."""
        with self._change:
            return member in self._failed

    def request(self, members: Iterable[int]) -> None:
        """Has members simulated that are not there; returns at once. What failed before is tried again."""
        with self._change:
            busy = {*self._results, *self._queue, *self._running}
            new = [member for member in dict.fromkeys(map(int, members)) if member not in busy]
            for member in new:
                self._failed.pop(member, None)
            self._queue += new
            if new and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="shiftjax members again", daemon=True)
                self._thread.start()

    def outstanding(self, members: Iterable[int]) -> bool:
        """Whether some of the members are still being simulated."""
        with self._change:
            return not {*self._queue, *self._running}.isdisjoint(map(int, members))

    def text(self) -> str:
        """What is being simulated and how far it is, "" where nothing is."""
        with self._change:
            busy = (*self._running, *self._queue)
            if not busy:
                return ""
            runs = self.simulator.process is not None and self._done
            how = f"{100 * self._done:.0f} %" if runs else "starting the simulator"
            return f"simulating {named(busy)} again: {how}"

    def fraction(self) -> float:
        """Of the members that are being simulated, how much is done."""
        with self._change:
            return self._done

    def notes(self) -> list[str]:
        """Errors and differences since the last call."""
        with self._change:
            notes, self._notes = self._notes, []
        return notes

    def wait(self, members: Sequence[int], tell: Callable[[float], None] = lambda done: None) -> None:
        """Has members simulated and waits for them; Ctrl-C ends the process that does it.

        Args:
            tell: called with the fraction done.

        Raises:
            ModelError: why one of them could not be.
        """
        self.request(members)
        try:
            while self.outstanding(members):
                tell(self.fraction())
                with self._change:
                    self._change.wait(LOOK)
        except BaseException:
            self.close()
            raise
        for member in members:
            self.result(int(member))

    def close(self) -> None:
        """Ends the process and forgets what was asked; what is there stays. A later request starts another."""
        with self._change:
            self._queue.clear()
        self.simulator.kill()

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Has what is asked for simulated, request by request."""
        while True:
            with self._change:
                if not self._queue:
                    self._thread = None
                    return
                self._running, self._queue, self._done = tuple(self._queue), [], 0.0
                kills = self.simulator.kills
            try:
                self._simulate(self._running, kills)
                self._end_request(None)
            except ChildEnded as ended:
                self._end_request(self._error(f"a simulator that {ended}"))
            except ModelError as error:
                self._end_request(error)
            except Exception as error:  # one that nobody foresaw must not leave those waiting who asked
                self._end_request(self._error(f"{type(error).__name__}: {error}"))

    def _error(self, problem: str) -> ModelError:
        return ModelError(f"{self.store}: simulating {named(self._running)} again", problem, "members that run", TODO)

    def _end_request(self, error: ModelError | None) -> None:
        with self._change:
            lacking = [member for member in self._running if member not in self._results]
            if lacking and error is None:
                error = self._error("no answer for some of them")
            if error is not None and lacking:
                self._failed.update(dict.fromkeys(lacking, error))
                self._notes.append(str(error))
            self._running = ()
            self._change.notify_all()

    def _simulate(self, members: Sequence[int], kills: int) -> None:
        """One request."""
        for kind, about, arrays in self.simulator.answers({"store": self.store, "members": list(members)}, kills):
            with self._change:
                if kind == PROGRESS:
                    self._done = float(about)
                else:
                    self._take(about, arrays)
                self._change.notify_all()

    def _take(self, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keeps what came of some members."""
        bodies = tuple(about["bodies"])
        for k, member in enumerate(arrays["members"].tolist()):
            channels = {path: arrays[f"channel{c}"][k] for c, path in enumerate(about["channels"])}
            difference = about["differences"][k]
            self._results[member] = Simulated(clock_of(arrays["time"]), bodies, arrays["pose"][k], channels, difference)
            if difference:
                self._notes.append(f"member {member} {difference}")


def named(members: Sequence[int]) -> str:
    """Members as text: all of a few, the first of many."""
    first = ", ".join(str(member) for member in members[:NAMED])
    if len(members) == 1:
        return f"member {first}"
    return f"{len(members)} members ({first}{', ...' if len(members) > NAMED else ''})"
