"""What is answered over HTTP: the page, the numbers of all members, the motion of one, whether there is more. No file
of the disk has an address here.

    /           the page; its address has the token, all others take it from a header
    /study      the numbers of all members; this and the following with ?of=REVISION, of the page that asks
    /members/K  the motion of member K, or with 202 how far its simulation is: to be asked for again
    /state      the revision of the numbers, and whether more members may come
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

from tornado.iostream import StreamClosedError
from tornado.web import Application, HTTPError, RequestHandler

from shiftjax.errors import ModelError
from shiftjax.viewer.export.web_page import policy_of
from shiftjax.viewer.web.access import refusal, security_headers
from shiftjax.viewer.web.connections import trust
from shiftjax.viewer.web.served_study import ServedStudy

PATIENCE = 1.0  # s that a request waits for a member that is being simulated before it says how far it is
LOOK = 0.05  # s between two looks at it
BLOCK, JSON, HTML = "application/octet-stream", "application/json; charset=utf-8", "text/html; charset=utf-8"
NUMBER = r"[0-9]{1,18}"  # of a member, or of a revision
Given = TypeVar("Given")


class Site:
    """The study of a server, read by one thread, and what was asked for.

    Attributes:
        token: who has it is answered. framed: whether notebooks may show the page in a frame.
        counts: how often what was given: "page", "numbers", "member"; "refused" and "interrupted" requests.
        members: whose motion was given.
    """

    def __init__(self, served: ServedStudy, token: str, *, framed: bool, tell: Callable[[str], None]) -> None:
        """tell: is given the text of what nobody foresaw."""
        self.served, self.token, self.framed, self.tell = served, token, framed, tell
        self.counts, self.members = Counter[str](), set[int]()
        self._reader = ThreadPoolExecutor(1, "shiftjax page")

    async def read(self, act: Callable[[], Given]) -> Given:
        """What a function of the study gives, called by the thread that reads it."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, act)

    def close(self) -> None:
        """Ends what reads and simulates."""
        self.served.close()
        self._reader.shutdown(wait=True, cancel_futures=True)
        self.served.close()  # what the last act of the thread had begun

    def application(self) -> Application:
        """What tornado calls."""
        settings = {"site": self}
        routes = [("/", PageHandler), ("/study", NumbersHandler), ("/state", StateHandler)]
        routes += [(rf"/members/({NUMBER})", MemberHandler)]
        return Application(
            [(pattern, handler, settings) for pattern, handler in routes], default_handler_class=NothingHandler,
            default_handler_args=settings, log_function=lambda handler: None,
        )  # fmt: skip


class SiteHandler(RequestHandler):
    """One request: whether it is answered at all, headers, errors as one sentence."""

    SUPPORTED_METHODS = ("GET",)
    opens: ClassVar[bool] = False  # whether it gives the page
    site: Site

    def initialize(self, site: Site) -> None:
        self.site, self.gone = site, False

    def on_connection_close(self) -> None:
        self.gone = True

    def compute_etag(self) -> None:
        """None: nothing is kept by a browser, and a study may take 30 MB."""

    def set_default_headers(self) -> None:
        self.clear_header("Server")

    def prepare(self) -> None:
        """Refuses who has no token, and what other pages send; a connection with the token may stay.

        Raises:
            HTTPError: 403, with the reason.
        """
        given = self.get_query_argument("token", "") if self.opens else ""
        if reason := refusal(self.request.headers, self.site.token, given, opens=self.opens):
            self.site.counts["refused"] += 1
            raise HTTPError(403, "%s", reason)
        trust(self.request)

    async def send(self, body: bytes, kind: str, policy: str = "default-src 'none'") -> None:
        """An answer; one whose reader has gone is counted."""
        for name, value in security_headers(policy, framed=self.site.framed).items():
            self.set_header(name, value)
        self.set_header("Content-Type", kind)
        try:
            await self.finish(body)
        except StreamClosedError:
            self.site.counts["interrupted"] += 1

    async def send_json(self, document: dict[str, Any], status: int = 200) -> None:
        self.set_status(status)
        await self.send(json.dumps(document).encode(), JSON)

    async def current(self) -> bool:
        """Whether the page that asks is of the study that is there; else that, or what is wrong with the store, is the
        answer."""
        return await self.given(lambda: self.site.served.renew() or True, 409) is not None

    async def given(self, act: Callable[[], Given], status: int = 500) -> Given | None:
        """What a function of the study gives; where it raises, that is the answer, with a status, and None is given.

        The study may be replaced by any call: a page of the one before is told that, with 409.
        """
        asked_of, outdated = self.get_query_argument("of", ""), True
        revision = int(asked_of) if re.fullmatch(NUMBER, asked_of) else None

        def look() -> Given:
            nonlocal outdated
            self.site.served.refuse_outdated(revision)
            outdated = False
            given = act()
            outdated = True
            self.site.served.refuse_outdated(revision)
            return given

        try:
            return await self.site.read(look)
        except ModelError as error:
            await self.send_json({"error": str(error)}, 409 if outdated else status)
            return None

    def write_error(self, status_code: int, **more: Any) -> None:
        """An error that was raised, as text for a person who opens the page, else as JSON for its script."""
        error = more.get("exc_info", (None, None, None))[1]
        text = {404: "There is nothing of this address.", 405: "This server is only read from: GET."}.get(status_code)
        if not text and isinstance(error, HTTPError) and error.log_message:
            text = error.log_message % error.args
        text = text or f"an error of the server: {error}"
        for name, value in security_headers("default-src 'none'", framed=self.site.framed).items():
            self.set_header(name, value)
        if status_code == 405:
            self.set_header("Allow", "GET")
        self.set_header("Content-Type", "text/plain; charset=utf-8" if self.opens else JSON)
        self.finish(f"{text}\n" if self.opens else json.dumps({"error": text}))

    def log_exception(self, typ: Any, value: BaseException | None, tb: Any) -> None:
        """Tells what nobody foresaw; a person has been told all else."""
        if not isinstance(value, HTTPError):
            self.site.tell(f"internal error: {type(value).__name__}: {value}")


class NothingHandler(SiteHandler):
    """Any other address."""

    def get(self, *_: str) -> None:
        raise HTTPError(404)


class PageHandler(SiteHandler):
    """The page."""

    opens = True

    async def get(self) -> None:
        try:
            await self.site.read(self.site.served.renew)
            page = await self.site.read(self.site.served.page)
        except ModelError as error:
            self.set_status(500)
            await self.send(f"{error}\n".encode(), "text/plain; charset=utf-8")
            return
        self.site.counts["page"] += 1
        await self.send(page.encode(), HTML, policy_of(page))


class NumbersHandler(SiteHandler):
    """The numbers of all members."""

    async def get(self) -> None:
        if await self.current() and (block := await self.given(self.site.served.numbers)) is not None:
            self.site.counts["numbers"] += 1
            await self.send(block, BLOCK)


class StateHandler(SiteHandler):
    """Whether there is more to come, and whether some of it has come."""

    async def get(self) -> None:
        served = self.site.served

        def look() -> dict[str, Any]:
            return {"revision": served.revision, "growing": served.growing, "text": served.text()}

        if await self.current() and (state := await self.given(look)) is not None:
            await self.send_json(state)


class MemberHandler(SiteHandler):
    """The motion of a member, simulated again where it was not kept."""

    async def get(self, number: str) -> None:
        site, member = self.site, int(number)
        if not await self.current():
            return
        if member >= site.served.study.members:
            allowed = f"members 0 to {site.served.study.members - 1}"
            await self.send_json({"error": f"member {member}: there are {allowed}."}, 404)
            return
        if await self.given(lambda: site.served.ask(member) or True, 409) is None:
            return
        until = time.monotonic() + PATIENCE
        while site.served.awaited(member) and time.monotonic() < until and not self.gone:
            await asyncio.sleep(LOOK)
        if self.gone:
            site.counts["interrupted"] += 1
        elif site.served.awaited(member):
            await self.send_json({"waiting": site.served.progress()}, 202)
        elif (block := await self.given(lambda: site.served.motion(member), 409)) is not None:
            site.counts["member"] += 1
            site.members.add(member)
            await self.send(block, BLOCK)


# a request that is no HTTP ends its connection; who sent it need not be told of on the terminal
logging.getLogger("tornado.general").addFilter(lambda entry: entry.levelno >= logging.ERROR)
