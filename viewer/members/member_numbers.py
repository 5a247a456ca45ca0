"""The protocol of members as numbers: what a table, an expression and a ranking need of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np


class MemberNumbers(Protocol):
    """Attributes and methods as in `Study`."""

    @property
    def where(self) -> str: ...
    @property
    def members(self) -> int: ...
    @property
    def kept(self) -> np.ndarray: ...
    @property
    def simulated(self) -> np.ndarray:
        """(k,) members that were simulated again, in memory."""
        ...

    @property
    def design(self) -> Mapping[str, np.ndarray]: ...
    @property
    def metrics(self) -> Mapping[str, np.ndarray]: ...
    @property
    def status(self) -> np.ndarray: ...
    def unit(self, name: str) -> str: ...
    def choose(self, text: str) -> np.ndarray: ...
