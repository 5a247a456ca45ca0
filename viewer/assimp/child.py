"""The viewer's side of the importing process: started on first use, restarted after a crash, ended at exit.

Importers crash on bad files (measured: 9 of 240 damaged files ended the process, one hung), so they run in a separate
process. It is started as a new interpreter, not by `multiprocessing`, which would run the user's script again.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
from multiprocessing.connection import Connection, Pipe
from typing import IO

from shiftjax.errors import installing
from shiftjax.viewer.child_end import ending

START = 60.0  # [s] for starting Python and loading the library, ~0.3 s on an idle machine
CODE = "import sys; from shiftjax.viewer.assimp.worker import main; main(int(sys.argv[1]))"
READY, DONE, REFUSED = b"r", b"+", b"-"


class Failed(Exception):
    """No pieces: the reason, and a remedy if there is one."""

    def __init__(self, reason: str, todo: str = "") -> None:
        self.reason, self.todo = reason, todo
        super().__init__(reason)


class Died(Exception):
    """The child process ended by itself: how, as the end of a sentence."""


class Child:
    """A process that reads one mesh file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._log: IO[bytes] | None = None
        self._owner = 0

    def ask(self, request: bytes, timeout: float) -> bytes:
        """The answer to a request. Raises Failed.

        A file is blamed for a crash only when a fresh process crashes on it too: an earlier file may have spoiled the
        memory of the one before.
        """
        with self._lock:
            fresh = self._start()
            try:
                return self._exchange(request, timeout)
            except Died as died:
                if fresh:
                    raise Failed(f"a file on which the importer {died}") from None
            self._start()
            try:
                return self._exchange(request, timeout)
            except Died as died:
                raise Failed(f"a file on which the importer {died}") from None

    def close(self) -> None:
        """Ends the process. A later `ask` starts another."""
        process, pipe, log, owner = self._process, self._pipe, self._log, self._owner
        self._process = self._pipe = self._log = None
        if process is None or pipe is None or log is None:
            return
        pipe.close()
        log.close()
        if owner == os.getpid():
            process.kill()
            process.wait()

    def _start(self) -> bool:
        """Whether a process had to be started."""
        if self._process is not None and self._owner == os.getpid():  # a forked copy needs another child
            return False
        self.close()
        self._pipe, far_end = Pipe()
        self._log = tempfile.TemporaryFile()
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(os.path.abspath(folder) for folder in sys.path),
            "OPENBLAS_NUM_THREADS": "1",  # its threads reserve memory that the limit of the child would count
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-c", CODE, str(far_end.fileno())],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, pass_fds=(far_end.fileno(),),
            env=environment, start_new_session=True,
        )  # fmt: skip
        far_end.close()
        self._owner = os.getpid()
        atexit.unregister(self.close)
        atexit.register(self.close)
        try:
            self._receive(START)
        except Died as died:
            raise Failed(f"an importer that {died}", f"Check the installation. {installing('viewer')}") from None
        except Failed:
            self.close()
            raise
        return True

    def _exchange(self, request: bytes, timeout: float) -> bytes:
        assert self._pipe is not None
        try:
            self._pipe.send_bytes(request)
        except OSError:
            raise Died(self._end()) from None
        return self._receive(timeout)

    def _receive(self, timeout: float) -> bytes:
        assert self._pipe is not None
        try:
            if not self._pipe.poll(timeout):
                self.close()
                raise Failed(f"a file that the importer has not read after {timeout:g} s")
            answer = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise Died(self._end()) from None
        if answer[:1] == REFUSED:
            reason, _, todo = answer[1:].decode(errors="replace").partition("\0")
            raise Failed(reason, todo)
        return answer[1:]

    def _end(self) -> str:
        """How the process ended, as text."""
        assert self._process is not None and self._log is not None
        code, last = ending(self._process, self._log)
        self.close()
        if code < 0:
            return f"crashes ({signal.Signals(-code).name}{last})"
        return f"ends (code {code}{last})"
