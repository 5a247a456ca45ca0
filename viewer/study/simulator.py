"""The process that simulates members and designs of a store, as seen by the viewer, which stays without jax.

It is started on the first request, as a new interpreter, and answers all later ones, so that only the first pays for
loading the simulator.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

import numpy as np

from shiftjax.ensembles.execution.again_messages import DONE, FAILED, READY, unpacked
from shiftjax.errors import ModelError
from shiftjax.viewer.child_end import ending

__all__ = ["ChildEnded", "SimulatorProcess"]

MODULE = "shiftjax.ensembles.execution.again_process"
KILLED = "was ended"
REAPED = 5.0  # s that a process may take to be gone after it was killed


class ChildEnded(Exception):
    """The process ended by itself: how, as the end of a sentence."""


class SimulatorProcess:
    """One process, asked by one thread at a time.

    Attributes:
        process: it, None before the first request and where it has ended.
        kills: how often it was ended by `kill`.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.kills = 0
        self._beginning = threading.Lock()  # it is not ended while it is begun: nobody would know of it yet
        self._answering = threading.Lock()  # who asks it frees what it leaves behind
        self._pipe: Connection | None = None
        self._log: IO[bytes] | None = None

    def answers(self, request: dict[str, Any], kills: int) -> Iterator[tuple[bytes, Any, dict[str, np.ndarray]]]:
        """Kind, JSON and arrays of each message that answers a request, as of `again_messages`.

        Args:
            kills: as it was when the request was made; where the process was ended since, none is begun for it.

        Raises:
            ModelError: what the process says is wrong with it. ChildEnded: the process has ended.
        """
        with self._answering:
            pipe = self._started(kills)
            try:
                pipe.send_bytes(json.dumps(request).encode())
                while True:
                    kind, about, arrays = unpacked(pipe.recv_bytes())
                    if kind == DONE:
                        return
                    if kind == FAILED:
                        raise ModelError(*about)
                    yield kind, about, arrays
            except (EOFError, OSError):
                raise ChildEnded(self._how()) from None

    def kill(self) -> None:
        """Ends the process; who waits for its answer finds the pipe closed. A later request starts another."""
        with self._beginning:
            self.kills += 1
            process = self.process
        if process is not None and process.poll() is None:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                process.wait(REAPED)
        if self._answering.acquire(blocking=False):  # nobody asks
            try:
                self._forget()
            finally:
                self._answering.release()

    def _started(self, kills: int) -> Connection:
        """The pipe to a process that runs."""
        if self.process is not None and self.process.poll() is None and self._pipe is not None:
            return self._pipe
        self._forget()
        with self._beginning:
            if kills != self.kills:
                raise ChildEnded(KILLED)
            self._pipe, far_end = Pipe()
            self._log = tempfile.TemporaryFile()
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(folder) for folder in sys.path)}
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", MODULE, str(far_end.fileno())], stdin=subprocess.DEVNULL, stdout=self._log,
                stderr=self._log, pass_fds=(far_end.fileno(),), env=environment, start_new_session=True,
            )  # fmt: skip
            far_end.close()
            atexit.register(self.kill)
        try:
            kind, _, _ = unpacked(self._pipe.recv_bytes())
        except (EOFError, OSError):
            raise ChildEnded(self._how()) from None
        if kind != READY:
            raise ChildEnded("answers in another language: it is of another version")
        return self._pipe

    def _how(self) -> str:
        """How the process ended, as text."""
        assert self.process is not None and self._log is not None
        code, last = ending(self.process, self._log)
        self._forget()
        return KILLED if code == -signal.SIGKILL else f"ended with code {code}{last}"

    def _forget(self) -> None:
        """Frees what belonged to a process that has ended."""
        for resource in (self._pipe, self._log):
            if resource is not None:
                resource.close()
        self.process = self._pipe = self._log = None
        atexit.unregister(self.kill)
