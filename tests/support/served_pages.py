"""Pages that are served to tests: a server in this process, and requests over real HTTP."""

from __future__ import annotations

import http.client
import json
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.viewer.study.study import ViewedStudy
from shiftjax.viewer.web.served_study import ServedStudy
from shiftjax.viewer.web.server import PageServer

PATIENCE = 120.0  # s for a member that another process simulates, which loads the simulator first


@contextmanager
def serving(place: Path, **choices: Any) -> Iterator[PageServer]:
    unforeseen: list[str] = []
    server = PageServer(ServedStudy(ViewedStudy.open(place), [0], place=place), tell=unforeseen.append, **choices)
    try:
        yield server
    finally:
        server.stop()
    assert not unforeseen and not server.running


def asked(
    server: PageServer, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", token: bool = True
) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and content of an answer."""
    given = {"Authorization": f"Bearer {server.site.token}"} if token else {}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
        connection.request(method, path, headers=given | dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def error_of(content: bytes) -> str:
    return str(json.loads(content)["error"])


def unpacked(content: bytes) -> tuple[dict[str, Any], bytes]:
    """A block: its data and its arrays."""
    (length,) = struct.unpack("<I", content[:4])
    return json.loads(content[4 : 4 + length]), content[4 + length :]


def waited(server: PageServer, member: int) -> tuple[int, bytes, list[str]]:
    """The answer of a member that may be simulated first, and what was said until then."""
    until, texts = time.monotonic() + PATIENCE, list[str]()
    while True:
        status, _, content = asked(server, f"/members/{member}")
        if status != 202:
            return status, content, texts
        texts.append(json.loads(content)["waiting"])
        assert time.monotonic() < until


def an_array(block: bytes, where: list[int], kind: str) -> np.ndarray:
    return np.frombuffer(block[where[0] : where[0] + where[1]], kind)
