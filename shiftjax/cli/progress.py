"""The progress bar of a run: on stderr, and only where somebody looks."""

from __future__ import annotations

import sys
from types import TracebackType

from tqdm import tqdm


class Progress:
    """Shows how much of a run is done; `update` is what `simulate(progress=...)` calls."""

    def __init__(self, what: str) -> None:
        shape = "{l_bar}{bar}| {elapsed}<{remaining}{postfix}"
        self._bar = tqdm(desc=what, total=1.0, bar_format=shape, leave=False, disable=not sys.stderr.isatty())

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def update(self, done: float) -> None:
        """Args: done: fraction of the run that is done, 0 to 1."""
        self._bar.update(min(done, 1.0) - self._bar.n)
