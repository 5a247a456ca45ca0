"""Requests to a process of which only the latest counts: one that waits is replaced by the next. No jax.

Whoever asks looks later what has come; nobody waits.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from shiftjax.ensembles.execution.again_messages import PROGRESS
from shiftjax.errors import ModelError
from shiftjax.record import record
from shiftjax.viewer.study.simulator import ChildEnded, SimulatorProcess

__all__ = ["LatestRequest", "SimulatorAnswer"]

LOOK = 0.1  # s between two looks for an answer


@record
class SimulatorAnswer:
    """What came of a request: JSON and arrays of its message, or why nothing did."""

    request: dict[str, Any]
    about: Any
    arrays: dict[str, np.ndarray]
    problem: str = ""


class LatestRequest:
    """Asks a process of its own.

    Attributes:
        where: what is asked, for messages. simulator: the process.
    """

    def __init__(self, where: str) -> None:
        self.where, self.simulator = where, SimulatorProcess()
        self._change = threading.Condition()  # guards all below, notified at every answer
        self._waiting: dict[str, Any] | None = None
        self._running: dict[str, Any] | None = None
        self._answer: SimulatorAnswer | None = None
        self._wanted, self._done = False, 0.0  # whether somebody waits for what is running, and how far it is
        self._thread: threading.Thread | None = None

    def ask(self, request: dict[str, Any]) -> None:
        """Asks, now or when the present request has been answered; returns at once."""
        with self._change:
            self._waiting = request
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"shiftjax {self.where}", daemon=True)
                self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        with self._change:
            return self._waiting is not None or self._running is not None

    def progress(self) -> str:
        """How far it is, "" where nothing is asked."""
        with self._change:
            if self._waiting is None and (self._running is None or not self._wanted):
                return ""
        return f"{100 * self._done:.0f} %" if self.simulator.process is not None else "starting the simulator"

    def take(self) -> SimulatorAnswer | None:
        """The latest answer that was not taken yet."""
        with self._change:
            answer, self._answer = self._answer, None
            return answer

    def forget(self) -> None:
        """No answer comes of what was asked; the process is there for the next request."""
        with self._change:
            self._waiting = self._answer = None
            self._wanted = False

    def wait(self, seconds: float) -> None:
        """Waits until all is answered, for scripts and tests; ModelError where that takes longer."""
        with self._change:
            while self._waiting is not None or self._running is not None:
                if seconds <= 0:
                    raise ModelError(self.where, "no answer yet", "one within that time", "Wait longer.")
                self._change.wait(LOOK)
                seconds -= LOOK

    def close(self) -> None:
        """Ends the process and forgets what was asked; a later request starts another."""
        self.forget()
        self.simulator.kill()

    def _work(self) -> None:
        while True:
            with self._change:
                request, self._waiting, self._running, self._done = self._waiting, None, self._waiting, 0.0
                self._wanted, kills = True, self.simulator.kills
                if request is None:
                    self._thread = None
                    return
            answer = self._answered(request, kills)
            with self._change:
                self._answer, self._running = answer if self._wanted else None, None
                self._change.notify_all()

    def _answered(self, request: dict[str, Any], kills: int) -> SimulatorAnswer:
        answer = SimulatorAnswer(request, None, {}, self._problem("no answer"))
        try:
            for kind, about, arrays in self.simulator.answers(request, kills):
                if kind == PROGRESS:
                    self._done = float(about)
                else:
                    answer = SimulatorAnswer(request, about, arrays)
        except ChildEnded as ended:
            answer = SimulatorAnswer(request, None, {}, self._problem(f"a simulator that {ended}"))
        except ModelError as error:
            answer = SimulatorAnswer(request, None, {}, str(error))
        except Exception as error:  # one that nobody foresaw must not leave those waiting who asked
            answer = SimulatorAnswer(request, None, {}, self._problem(f"{type(error).__name__}: {error}"))
        return answer

    def _problem(self, fault: str) -> str:
        todo = "Look at `shiftjax run STORE --member K`."
        return str(ModelError(self.where, fault, "what its store can repeat", todo))
