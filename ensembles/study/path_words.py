"""The words of a path of poses, of `--drive JOINT=FROM:TO:COUNT` and of a study's `[drive]` whose members are followed.

`0deg:360deg:73`, evenly from one place to another, or a list of places, as `[0, 0.1, "20deg"]`. Angles in rad, lengths
in m, or with their units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need_number, shown
from shiftjax.quantities import in_si

MOST = 10_000_000  # poses of a path
FORMS = f"FROM:TO:COUNT, COUNT from 1 to {MOST}"


def is_path(words: Any) -> bool:
    """Whether words are those of a path, not of a motion in time."""
    return isinstance(words, list | tuple) or (isinstance(words, str) and ":" in words and "(" not in words)


def places(words: Any, where: str, unit: str | None = None) -> np.ndarray:
    """(n,) the places of a path [rad or m].

    Args:
        where: the option or key that the words stand at, for errors. unit: of the coordinate; None for any.

    Raises:
        ModelError: words that are no path, or of another unit.
    """
    if isinstance(words, list | tuple) and words:
        return np.array([_place(one, f"{where}[{k}]", unit) for k, one in enumerate(words)])
    ends = words.split(":") if isinstance(words, str) else []
    if len(ends) != 3 or not (ends[2].isascii() and ends[2].isdigit() and 1 <= int(ends[2]) <= MOST):
        raise ModelError(where, shown(words), FORMS, "Write 0deg:360deg:73, or 0:0.2:21.")
    first, last = (in_si(text, unit, where) for text in ends[:2])
    return np.linspace(first, last, int(ends[2]))


def _place(given: Any, where: str, unit: str | None) -> float:
    if not isinstance(given, str):
        need_number(where, given, "a finite number")
        return float(given)
    return in_si(given, unit, where)
