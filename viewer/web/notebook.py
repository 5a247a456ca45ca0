"""`Study.view(server=True)`: the page of a stored study from a server in this process, in a notebook's frame."""

from __future__ import annotations

import atexit
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path

from shiftjax.errors import ModelError, need_count
from shiftjax.record import record
from shiftjax.viewer.study.study import ViewedStudy
from shiftjax.viewer.views import LOWEST, MOST_MEMBERS, wanted
from shiftjax.viewer.web.served_study import ServedStudy
from shiftjax.viewer.web.server import PageServer, forwarding

_running: dict[Path, PageServer] = {}  # store -> its server, of which each has one


@record
class ServedView:
    """The page of a stored study, served to this machine until `stop`, or until another view of it or the end of the
    process. In a notebook it is shown where a cell ends with it; elsewhere `show` opens it in the browser.

    Attributes:
        title: the model's name. address: of the page, with the token that it wants.
        height: of the frame in a notebook [pixels].
    """

    title: str
    address: str
    height: int
    server: PageServer

    def __repr__(self) -> str:
        return f"ServedView({self.title}: {self.address}; .show() opens a browser, .stop() ends the server)"

    def _repr_html_(self) -> str:
        # its origin is another one than the notebook's, whatever it may do there
        frame = (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-same-origin" width="100%" '
            f'height="{self.height}" style="border:1px solid #c8d1db;border-radius:6px" src="{escape(self.address)}">'
            "</iframe>"
        )
        far = "Where this notebook runs on another machine than the browser, run first where the browser is: "
        far += f"<code>{escape(forwarding(self.server.port))}</code>"
        return f'{frame}<p style="font-size:smaller">{far}</p>'

    def show(self) -> str:
        """Opens the page in the browser of this machine; returns its address."""
        webbrowser.open(self.address)
        return self.address

    def stop(self) -> None:
        """Ends the server."""
        self.server.stop()


def view(path: str | Path, members: int | str | Sequence[int], height: int, rows: int) -> ServedView:
    """Serves the page of a stored study from now on; an earlier server of the same store ends.

    Args:
        path: of the store.
        members: those that move in the page from the beginning, as of `views.view`; "" for the first that can.
        height: of the frame [pixels].
        rows: not said here: the page asks for all.

    Raises:
        ModelError: a height below `LOWEST`, no such member, none that can be drawn, no store.
    """
    need_count("view: height", height, LOWEST)
    study, place = ViewedStudy.open(path), Path(path).resolve()
    drawable = study.drawable(wanted(study, members))
    if not len(drawable.ids):
        raise ModelError("view", drawable.reason or "no member", "members that started", "Choose others.")
    chosen = drawable.ids[: 1 if isinstance(members, str) and not members else MOST_MEMBERS].tolist()
    try:
        study.prepare(chosen)
    except BaseException:
        study.close()
        raise
    served = ServedStudy(study, chosen, place=place, alone=True)
    if (earlier := _running.pop(place, None)) is not None:
        earlier.stop()
    _running[place] = server = PageServer(served, framed=True)
    return ServedView(served.title, server.address, height, server)


@atexit.register
def _stop_all() -> None:
    for server in _running.values():
        server.stop()
