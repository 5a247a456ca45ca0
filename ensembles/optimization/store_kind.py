"""Which stores are of optimisations. Apart from `history`: the viewer asks of every store that it opens, and what reads
histories takes 1.5 s to import.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiftjax.ensembles.store.checksums import attributes_of
from shiftjax.errors import ModelError

KIND = "optimization"  # attribute of such stores


def is_optimization(place: Path) -> bool:
    """Whether a store is of an optimisation."""
    return KIND in attributes(place)


def refuse_start(name: str, start: str) -> None:
    """Raises where a start is asked for of a name that is of no optimisation."""
    if start:
        raise ModelError("--start", f"{name}, which is none", "the store of an optimisation", "Leave --start out.")


def attributes(place: Path) -> dict[str, Any]:
    """Of a store; none where there is none.

    Raises:
        ModelError: they are not as they were written.
    """
    return attributes_of(place)
