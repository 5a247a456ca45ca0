"""What takes long on a workbench: how far it is, and that it ends where somebody does not want to wait. NumPy only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from shiftjax.viewer.motion.session import Engine, Session

Answer = TypeVar("Answer")


class WaitEnded(Exception):
    """Somebody does not wait any longer."""


class WaitingSession(Session):
    """A session whose thread does long things; attributes as of `Session`.

    Attributes:
        doing: what, and how far it is, "" while it does nothing that takes long.
        unfinished: what was asked for and was ended since the window closed, a sentence each.
    """

    def __init__(self, engine: Engine) -> None:
        self.doing = ""
        self.unfinished: list[str] = []
        self._ends = threading.Event()
        super().__init__(engine)

    def cancel(self) -> None:
        """Ends what takes long, as far as it has come."""
        self._ends.set()

    def _wait_for(self, what: str, call: Callable[[Callable[[float], None]], Answer]) -> Answer:
        """A call that tells how far it is.

        Raises:
            WaitEnded: by `cancel`, or since the window closes; what the call had not done is not done.
        """
        self._ends.clear()
        self.doing = what

        def progress(done: float) -> None:
            if self._ends.is_set() or self._closed:
                raise WaitEnded
            self.doing = f"{what}, {100.0 * done:.0f} %"

        try:
            return call(progress)
        finally:
            self.doing = ""
