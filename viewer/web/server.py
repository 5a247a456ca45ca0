"""A server of one study on this machine: it listens on 127.0.0.1 alone, answers who has its token, and writes nothing.

It stands on tornado, which Jupyter stands on, too. A thread of its own runs its loop, so that a notebook goes on.
"""

from __future__ import annotations

import asyncio
import getpass
import socket
import sys
import threading
from collections.abc import Callable

from shiftjax.errors import ModelError, printable
from shiftjax.viewer.web.access import new_token
from shiftjax.viewer.web.connections import GuardedServer
from shiftjax.viewer.web.served_study import ServedStudy
from shiftjax.viewer.web.site import Site

HOST = "127.0.0.1"
HEADERS, BODY = 64 << 10, 1 << 10  # bytes of a request: addresses are short, and nothing is sent here


def _told(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


class PageServer:
    """A server that runs until it is stopped.

    Attributes:
        port: that it listens on. address: of the page, with the token.
        site: what it has given.
    """

    def __init__(
        self, served: ServedStudy, port: int = 0, *, framed: bool = False, tell: Callable[[str], None] = _told
    ) -> None:
        """Listens from now on.

        Args:
            port: 0 for any that is free. framed: whether notebooks may show the page in a frame.
            tell: is given the text of what nobody foresaw.

        Raises:
            ModelError: a port that is in use, or may not be listened on.
        """
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        self.site = Site(served, new_token(), framed=framed, tell=tell)
        self.address = f"http://{HOST}:{self.port}/?token={self.site.token}"
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="shiftjax server", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        """Returns when the server has ended; Ctrl-C is raised here."""
        while self.running:
            self._thread.join(0.5)

    def stop(self) -> None:
        """Ends the server and the process that simulates members; returns when both have ended. Twice is once."""
        if self.running:
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()
        self.site.close()

    def summary(self) -> str:
        """What it has given."""
        counts = self.site.counts
        words = [_counted(counts["page"], "page"), f"the motion of {_counted(len(self.site.members), 'member')}"]
        words += [_counted(counts[name], f"{name} request") for name in ("refused", "interrupted") if counts[name]]
        return f"served {', '.join(words)}"

    def _run(self) -> None:
        """The thread."""
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = GuardedServer(self.site.application(), max_header_size=HEADERS, max_body_size=BODY)
        server.add_socket(self._socket)
        await self._end.wait()
        server.stop()
        await server.close_all_connections()
        waiting = asyncio.all_tasks() - {asyncio.current_task()}  # requests that wait for a member
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _listening(port: int) -> socket.socket:
    try:
        listening = socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        problem = f"that it cannot be listened on ({getattr(error, 'strerror', None) or error})"
        raise ModelError(f"port {port}", problem, "a free port from 1024 to 65535", "Name another, or none.") from None
    listening.setblocking(False)
    return listening


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def forwarding(port: int) -> str:
    """The command of another machine by which its browser reaches a server on this one."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # of a container, a number without a name
        user = "USER"
    return f"ssh -L {port}:{HOST}:{port} {user}@{socket.gethostname()}"
