"""A simulation in a thread of its own, for a window on the main thread: started, stopped, changed, pulled.

The window never waits: it leaves orders, which the thread takes between two slices of the run, and reads the history.
"""

from __future__ import annotations

import functools
import itertools
import threading
import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.viewer.history import History

SLICE = 1 / 60  # s of the clock between two instants of the history
SMOOTH = 0.1  # part of a slice in the pace that is told
BEHIND = 0.25  # s a run may fall behind the clock before it gives up catching up


class Engine(Protocol):
    """What runs: `shiftjax.run.live.Live`."""

    model: Model
    step: float
    nodes: tuple[str, ...]
    units: dict[str, str]
    report: dict[str, Any]
    ended: str

    @property
    def time(self) -> float: ...
    @property
    def values(self) -> dict[str, float]: ...
    def restart(self, values: Mapping[str, float] | None = None) -> None: ...
    def change(self, values: Mapping[str, float]) -> None: ...
    def advance(self, seconds: float) -> None: ...
    def instant(self) -> Any: ...
    def set_back(self, instant: Any) -> None: ...
    def poses(self) -> np.ndarray: ...
    def channels(self) -> dict[str, Any]: ...
    def certificate(self) -> dict[str, float]: ...
    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None: ...
    def let_go(self) -> None: ...


class Session:
    """A run that goes on.

    Attributes:
        history: what it has done; ranges: number path -> (lowest, highest) a slider offers.
        values: number path -> as it was last accepted; wanted: as it was last asked for.
        restarts: whether a changed number begins the run again, else it goes on.
        running: whether time passes; speed: seconds of the run a second of the clock; pace: the speed it reaches.
        certificate: accuracy since the run began or its numbers changed; ended: why it ended, "" while it can go on.
        pull: body, point in it, target in the world, or None.
    """

    def __init__(self, engine: Engine, ranges: Mapping[str, tuple[float, float]] | None = None) -> None:
        """Starts the thread; the run stands still at its start.

        Args:
            ranges: of numbers that may change; the engine must have been made for them.

        Raises:
            ModelError: a number that the engine does not vary.
        """
        self._engine = engine
        self.values = dict(engine.values)
        self.ranges: dict[str, tuple[float, float]] = {}
        for path, (low, high) in (ranges or {}).items():
            full = engine.model.resolve(path)
            if full not in self.values or not low < high:
                found = f"{low:g} to {high:g}"
                raise ModelError(f"slider of {path}", found, f"a range of one of {list(self.values)}", "Correct it.")
            self.ranges[full] = (min(low, self.values[full]), max(high, self.values[full]))
        self.wanted = dict(self.values)
        self.restarts, self.running, self.speed, self.pace = False, False, 1.0, 0.0
        self.certificate, self.ended = engine.certificate(), engine.ended
        self.pull: tuple[str, np.ndarray, np.ndarray] | None = None
        self.history = History(
            engine.model,
            engine.nodes,
            where=f"{engine.model.name} live".strip(),
            report=engine.report,
            settings={"step": engine.step, "mode": "live"},
            channels=engine.units,
        )
        self._note()
        self._said: list[str] = []
        self._count = itertools.count()
        self._orders: dict[str, Callable[[], None]] = {}  # the latest of each kind, in the order they came
        self._lock, self._wake, self._closed = threading.Lock(), threading.Event(), False
        self._thread = threading.Thread(target=self._work, name="shiftjax simulation", daemon=True)
        self._thread.start()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- asked for by the window -------------------------------------------------------------------------------------

    def play(self, time: float) -> None:
        """Lets time pass from an instant of the history; what came after it is forgotten."""
        if not self.running:
            self.running = True
            self._order("play", lambda: self._from(time))

    def pause(self) -> None:
        """Stops time."""
        self.running = False

    def advance(self, time: float, seconds: float) -> None:
        """Runs on from an instant of the history, `inf` for the last, for so long, once, and stands still."""
        self.running = False
        self._order(f"advance {next(self._count)}", lambda: self._once(time, seconds))  # each one counts

    def restart(self) -> None:
        """Begins again with the numbers as they are; a pull ends."""
        self.let_go()
        self._order("restart", lambda: self._restart({}))

    def change(self, path: str, value: float) -> None:
        """Gives a number another value, and goes on or begins again, as `restarts` says."""
        self.wanted[path] = value
        if self.restarts:
            self.let_go()
        self._order(f"change {path}", lambda: self._change(path, value))

    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        """Pulls a body's point (3,) [m, in the body] towards a point of the world (3,) [m]."""
        self.pull = (body, point, target)
        self._order("pull", lambda: self._engine.grab(body, point, target))

    def let_go(self) -> None:
        """Ends the pull."""
        self.pull = None
        self._order("pull", self._engine.let_go)

    def messages(self) -> Sequence[str]:
        """What there is to tell since the last call."""
        with self._lock:
            said, self._said = self._said, []
        return said

    def settle(self, seconds: float = 60.0) -> None:
        """Waits until all orders are done, for scripts and tests; ModelError where that takes longer."""
        done = threading.Event()
        self._order("settle", done.set)
        if not done.wait(seconds):
            raise ModelError("live run", f"orders not done in {seconds:g} s", "a faster model", "Wait longer.")

    def close(self) -> None:
        """Ends the thread; a second call does nothing."""
        self._closed, self.running = True, False
        self._wake.set()
        self._thread.join()

    # -- done by the thread ------------------------------------------------------------------------------------------

    def _order(self, kind: str, call: Callable[[], None]) -> None:
        """Leaves an order; an earlier one of its kind that was not taken yet is dropped."""
        with self._lock:
            self._orders.pop(kind, None)
            self._orders[kind] = call
        self._wake.set()

    def _work(self) -> None:
        due, ran, took = clock.perf_counter(), 0.0, 0.0
        while not self._closed:
            if not self.running:
                self._wake.wait()
                due, ran, took = clock.perf_counter(), 0.0, 0.0
            self._wake.clear()
            self._obey()
            if not self.running or self._closed:
                continue
            begun, before, speed = clock.perf_counter(), self._engine.time, self.speed
            self._guarded(functools.partial(self._advance, speed * SLICE), stops=True)
            done, now = self._engine.time - before, clock.perf_counter()
            due = max(due + done / speed, now - BEHIND)  # a step may be longer than a slice
            ran, took = (1 - SMOOTH) * ran + done, (1 - SMOOTH) * took + max(now, due) - begun
            self.pace = ran / took
            self._wake.wait(max(0.0, due - now))

    def _obey(self) -> None:
        with self._lock:
            orders, self._orders = self._orders, {}
        for kind, order in orders.items():
            self._guarded(order, stops=kind.startswith(("play", "advance")))

    def _guarded(self, call: Callable[[], None], *, stops: bool) -> None:
        """What goes wrong is told, and stops the run where it cannot go on; never the window."""
        try:
            call()
        except Exception as error:
            self.running = self.running and not stops
            self._say(str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}")
            self.wanted = dict(self._engine.values)

    def _advance(self, seconds: float) -> None:
        if not self._engine.ended:
            self._engine.advance(seconds)
            self._note()
        if self._engine.ended and self.running:
            self.running = False
            self._say(self._engine.ended)

    def _once(self, time: float, seconds: float) -> None:
        self._from(time)
        self._advance(seconds)

    def _from(self, time: float) -> None:
        """Goes back to an instant of the history, unless it is the last one."""
        if time < self.history.time[-1]:
            self._engine.set_back(self.history.mark(time))
            self.history.cut(time)
            self._note()  # as it is with the numbers of now

    def _restart(self, values: Mapping[str, float]) -> None:
        self._engine.restart(values)
        self._note(instead_of=len(self.history.time))

    def _change(self, path: str, value: float) -> None:
        if self.restarts:
            self._restart({path: value})
            return
        self._engine.change({path: value})
        self._note()

    def _note(self, instead_of: int = 0) -> None:
        """Puts the state into the history, instead of so many of its last instants."""
        engine = self._engine
        self.certificate, self.ended = engine.certificate(), engine.ended
        self.history.values = dict(engine.values)
        self.history.add(engine.time, engine.poses(), engine.channels(), engine.instant(), instead_of)
        self.values = self.history.values  # last: who sees them finds the history true

    def _say(self, text: str) -> None:
        with self._lock:
            self._said.append(text)
