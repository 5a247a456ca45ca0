"""A simulation in a separate thread, controlled by a window on the main thread.

The window never waits: it queues commands, which the thread runs between two intervals, and reads the history.
"""

from __future__ import annotations

import functools
import itertools
import threading
import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.viewer.motion.live_history import History

INTERVAL = 1 / 60  # s of wall time between two instants of the history
SMOOTHING = 0.1  # weight of an interval in the moving average of the speed
MAX_LAG = 0.25  # s that a run may lag behind wall time; more is not caught up


class Engine(Protocol):
    """The protocol of `shiftjax.run.live.Live`."""

    step: float
    units: dict[str, str]
    report: dict[str, Any]
    ended: str

    @property
    def model(self) -> Model: ...
    @property
    def nodes(self) -> tuple[str, ...]: ...
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
    """A running simulation.

    Attributes:
        history: its latest instants; ranges: path of a number -> (lowest, highest) of its slider.
        values: path of a number -> value in use; requested: value last requested.
        restarts: whether a changed number restarts the run instead of continuing it.
        running: whether time advances; speed: wanted seconds of the run a second; actual_speed: those reached.
        certificate: accuracy since the run began or its numbers changed; ended: why it ended, "" while it can continue.
        pull: body, point in it, target in the world, or None. posing: whether a model is posed by hand, and nothing
            moves by itself; locks: coordinates that stay then; hand: what else can be done to it by hand.
    """

    posing = False
    hand: Any = None
    locks: frozenset[str] = frozenset()

    def __init__(
        self,
        engine: Engine,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        plotted: Sequence[str] = (),
    ) -> None:
        """Starts the thread; the run is paused at its start.

        Args:
            ranges: of numbers that may change; the engine must vary them.
            plotted: channels of the engine that are plotted while nothing is picked; the first ones where there are
                none.

        Raises:
            ModelError: a number that the engine does not vary, a channel that it does not have.
        """
        self._engine = engine
        self.values = dict(engine.values)
        self.ranges: dict[str, tuple[float, float]] = {}
        for path, (low, high) in (ranges or {}).items():
            full = engine.model.resolve(path)
            if full not in self.values or not low < high:
                stated = f"{low:g} to {high:g}"
                raise ModelError(f"slider of {path}", stated, f"a range of one of {list(self.values)}", "Correct it.")
            self.ranges[full] = (min(low, self.values[full]), max(high, self.values[full]))
        self.requested = dict(self.values)
        self.restarts, self.running, self.speed, self.actual_speed = False, False, 1.0, 0.0
        self.certificate, self.ended = engine.certificate(), engine.ended
        self.pull: tuple[str, np.ndarray, np.ndarray] | None = None
        self.history = History(
            engine.model,
            engine.nodes,
            where=f"{engine.model.name} live".strip(),
            report=engine.report,
            settings={"step": engine.step, "mode": "live"},
            channels=engine.units,
            plotted=plotted,
        )
        self._record()
        self._messages: list[str] = []
        self._count = itertools.count()
        self._commands: dict[str, Callable[[], None]] = {}  # the latest of each kind, in order of arrival
        self._lock, self._wake, self._closed = threading.Lock(), threading.Event(), False
        self._thread = threading.Thread(target=self._work, name="shiftjax simulation", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- called by the window ----------------------------------------------------------------------------------------

    def play(self, time: float) -> None:
        """Runs from an instant of the history; later instants are removed."""
        if not self.running:
            self.running = True
            self._command("play", lambda: self._rewind(time))

    def pause(self) -> None:
        """Pauses the run."""
        self.running = False

    def advance(self, time: float, seconds: float) -> None:
        """Runs once for so long from an instant of the history, `inf` for the last, and pauses."""
        self.running = False
        self._command(
            f"advance {next(self._count)}", lambda: self._advance_once(time, seconds)
        )  # none replaces another

    def restart(self) -> None:
        """Restarts with the present numbers; ends a pull."""
        self.let_go()
        self._command("restart", lambda: self._restart({}))

    def change(self, path: str, value: float) -> None:
        """Changes a number, and continues or restarts, see `restarts`."""
        self.requested[path] = value
        if self.restarts:
            self.let_go()
        self._command(f"change {path}", lambda: self._change(path, value))

    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        """Pulls a body's point (3,) [m, in the body] towards a point of the world (3,) [m]."""
        self.pull = (body, point, target)
        self._command("pull", lambda: self._engine.grab(body, point, target))

    def let_go(self) -> None:
        """Ends the pull."""
        self.pull = None
        self._command("pull", self._engine.let_go)

    def messages(self) -> Sequence[str]:
        """Messages since the last call."""
        with self._lock:
            messages, self._messages = self._messages, []
        return messages

    def settle(self, seconds: float = 60.0) -> None:
        """Waits until all commands are done, for scripts and tests; ModelError where that takes longer."""
        done = threading.Event()
        self._command("settle", done.set)
        if not done.wait(seconds):
            raise ModelError("live run", f"commands not done in {seconds:g} s", "a faster model", "Wait longer.")

    def close(self) -> None:
        """Ends the thread; a second call does nothing."""
        self._closed, self.running = True, False
        self._wake.set()
        self._thread.join()

    # -- run by the thread -------------------------------------------------------------------------------------------

    def _command(self, kind: str, call: Callable[[], None]) -> None:
        """Queues a command; it replaces an earlier one of its kind that was not run yet."""
        with self._lock:
            self._commands.pop(kind, None)
            self._commands[kind] = call
        self._wake.set()

    def _work(self) -> None:
        due, ran, took = clock.perf_counter(), 0.0, 0.0
        while not self._closed:
            if not self.running:
                self._wake.wait()
                due, ran, took = clock.perf_counter(), 0.0, 0.0
            self._wake.clear()
            self._run_commands()
            if not self.running or self._closed:
                continue
            begun, before, speed = clock.perf_counter(), self._engine.time, self.speed
            self._guarded(functools.partial(self._advance, speed * INTERVAL), stops=True)
            done, now = self._engine.time - before, clock.perf_counter()
            due = max(due + done / speed, now - MAX_LAG)  # a step may be longer than an interval
            ran, took = (1 - SMOOTHING) * ran + done, (1 - SMOOTHING) * took + max(now, due) - begun
            self.actual_speed = ran / took
            self._wake.wait(max(0.0, due - now))

    def _run_commands(self) -> None:
        with self._lock:
            commands, self._commands = self._commands, {}
        for kind, command in commands.items():
            self._guarded(command, stops=kind.startswith(("play", "advance")))

    def _guarded(self, call: Callable[[], None], *, stops: bool) -> None:
        """Turns exceptions into messages; where `stops`, they pause the run."""
        try:
            call()
        except Exception as error:
            self.running = self.running and not stops
            self._failed(str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}")
            self.requested = dict(self._engine.values)

    def _advance(self, seconds: float) -> None:
        if not self._engine.ended:
            self._engine.advance(seconds)
            self._record()
        if self._engine.ended and self.running:
            self.running = False
            self._add_message(self._engine.ended)

    def _advance_once(self, time: float, seconds: float) -> None:
        self._rewind(time)
        self._advance(seconds)

    def _rewind(self, time: float) -> None:
        """Returns to an instant of the history, unless it is the last one."""
        if time < self.history.time[-1]:
            self._engine.set_back(self.history.checkpoint(time))
            self.history.truncate(time)
            self._record()  # its channels with the present numbers

    def _restart(self, values: Mapping[str, float]) -> None:
        self._engine.restart(values)
        self._record(replacing=len(self.history.time))

    def _change(self, path: str, value: float) -> None:
        if self.restarts:
            self._restart({path: value})
            return
        self._engine.change({path: value})
        self._record()

    def _record(self, replacing: int = 0, history: History | None = None) -> None:
        """Appends the state to the history; replaces so many of its last instants.

        Args:
            history: an empty one that takes the place of the present one.
        """
        engine, history = self._engine, history or self.history
        self.certificate, self.ended = engine.certificate(), engine.ended
        values = dict(engine.values)
        history.values = {} if self.posing else values  # coordinates are no numbers of the model
        history.add(engine.time, engine.poses(), engine.channels(), engine.instant(), replacing)
        self.history = history
        self.values = values  # last: readers of the values find the history up to date

    def _failed(self, text: str) -> None:
        """A command that failed, and why."""
        self._add_message(text)

    def _add_message(self, text: str) -> None:
        with self._lock:
            self._messages.append(text)
