"""A headless Chromium that tests drive by its DevTools protocol: opens pages, clicks, evaluates, takes pictures."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from PIL import Image
from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import WebSocketClientConnection, websocket_connect

PATIENCE = 120.0  # s for a page to come to where a test waits for it, on a busy machine
LARGEST = 64 << 20  # bytes of an answer: pictures
SOFTWARE = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # WebGL without a graphics card


class Browser:
    """One tab.

    Attributes:
        problems: what the page and the browser wrote on the console as an error.
    """

    def __init__(self, program: str, size: tuple[int, int]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="shiftjax-browser-", ignore_cleanup_errors=True)
        self.problems: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._count = 0
        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", *SOFTWARE, "--hide-scrollbars", "--force-device-scale-factor=1",
             "--remote-debugging-port=0", f"--user-data-dir={self._folder.name}", f"--window-size={size[0]},{size[1]}",
             "about:blank"],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        port = Path(self._folder.name) / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE
        while not (port.exists() and port.read_text()):
            assert time.monotonic() < end and self._process.poll() is None, "Chromium does not start"
            time.sleep(0.05)
        self._socket = self._loop.run_until_complete(self._connected(port.read_text().split()[0]))
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.resize(size)

    async def _connected(self, port: str) -> WebSocketClientConnection:
        listed = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/json")
        (tab,) = [one for one in json.loads(listed.body) if one["type"] == "page"]
        return await websocket_connect(tab["webSocketDebuggerUrl"], max_message_size=LARGEST)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(AssertionError):
            self.send("Browser.close")  # its processes with it
        self._process.wait(PATIENCE)
        self._loop.close()
        self._folder.cleanup()

    def send(self, method: str, **given: Any) -> dict[str, Any]:
        """A command and its answer."""
        return self._loop.run_until_complete(asyncio.wait_for(self._answer(method, given), PATIENCE))

    async def _answer(self, method: str, given: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        await self._socket.write_message(json.dumps({"id": self._count, "method": method, "params": given}))
        while True:
            text = await self._socket.read_message()
            assert isinstance(text, str), "Chromium has ended"
            answer = json.loads(text)
            self._note(answer)
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _note(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.problems.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")

    def resize(self, size: tuple[int, int]) -> None:
        """Of the page [CSS pixels]."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )

    def open(self, address: str) -> None:
        self.send("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """What an expression of JavaScript gives, a promise what it gives."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str) -> Any:
        """The value of an expression once it is true."""
        end = time.monotonic() + PATIENCE
        while not (value := self.value(script)):
            assert time.monotonic() < end, f"{script} stays {value!r}; {self.problems}"
            time.sleep(0.05)
        return value

    def text(self, name: str) -> str:
        """Of the element with that id."""
        return str(self.value(f"document.getElementById({json.dumps(name)}).textContent"))

    def click(self, x: float, y: float) -> None:
        """With the left button, at a place of the page [CSS pixels]."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self) -> np.ndarray:
        """(height, width, 3) uint8."""
        data = base64.b64decode(self.send("Page.captureScreenshot")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
