"""How long a connection may stay that has asked for nothing: little until it has shown the token, long after.

Every user of the machine can open connections. Until one has sent a request with the token it is nobody's: it is
closed after some seconds, and where many wait the oldest of them makes room for the newest, so that whoever has the
token always comes in.
"""

from __future__ import annotations

import copy
from typing import Any

from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.iostream import IOStream

IDLE = 600.0  # s after which a connection that has shown the token is closed, without a request or with half of one
STRANGE = 10.0  # s of one that has not: browsers send their request at once, or open another connection
CROWD = 32  # connections that have not shown the token, at most


class GuardedServer(HTTPServer):
    """An HTTP server each of whose connections has times of its own, which `trust` lengthens."""

    def initialize(self, *arguments: Any, **options: Any) -> None:
        """As tornado's, but for the times."""
        super().initialize(*arguments, **options, idle_connection_timeout=STRANGE, body_timeout=STRANGE)
        self._unknown = self.conn_params
        self._strangers: dict[IOStream, HTTP1ConnectionParameters] = {}

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """A new connection."""
        self._strangers = {
            other: times
            for other, times in self._strangers.items()
            if not other.closed() and times.header_timeout == self._unknown.header_timeout
        }
        while len(self._strangers) >= CROWD:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.close()
        self.conn_params = self._strangers[stream] = copy.copy(self._unknown)
        super().handle_stream(stream, address)


def trust(request: HTTPServerRequest) -> None:
    """Lets the connection of a request that had the token wait longer for the next one."""
    if isinstance(request.connection, HTTP1Connection):
        request.connection.params.header_timeout = request.connection.params.body_timeout = IDLE
