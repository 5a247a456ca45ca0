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
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

import numpy as np

from shiftjax.ensembles.execution.again_messages import DONE, FAILED, READY, unpacked
from shiftjax.errors import ModelError
from shiftjax.viewer.child_end import ending

__all__ = ["ChildEnded", "SimulatorProcess"]

MODULE = "shiftjax.ensembles.execution.again_process"


class ChildEnded(Exception):
    """The process ended by itself: how, as the end of a sentence."""


class SimulatorProcess:
    """One process, asked by one thread at a time.

    Attributes:
        process: it, None before the first request and where it has ended.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._log: IO[bytes] | None = None

    def answers(self, request: dict[str, Any]) -> Iterator[tuple[bytes, Any, dict[str, np.ndarray]]]:
        """Kind, JSON and arrays of each message that answers a request, as of `again_messages`.

        Raises:
            ModelError: what the process says is wrong with it. ChildEnded: the process has ended.
        """
        pipe = self._started()
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
        process = self.process
        if process is not None and process.poll() is None:
            process.kill()

    def _started(self) -> Connection:
        """The pipe to a process that runs."""
        if self.process is not None and self.process.poll() is None and self._pipe is not None:
            return self._pipe
        self._forget()
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
        return "was ended" if code == -signal.SIGKILL else f"ended with code {code}{last}"

    def _forget(self) -> None:
        """Frees what belonged to a process that has ended."""
        for resource in (self._pipe, self._log):
            if resource is not None:
                resource.close()
        self.process = self._pipe = self._log = None
        atexit.unregister(self.kill)
