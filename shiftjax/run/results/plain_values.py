"""What results are told in: numbers of the certificate, plain values, choices of members. Host only, no jax."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, shown
from shiftjax.numerics.spacing import evenly_spaced

ROUNDING = 1e-12  # of the size of values: what spreads by less is one value, rounded
MISSING_TEXT = "missing"  # what texts of lost chunks read as, and those of members that have not run: no message
FOLLOWS = "follows"  # attribute of design numbers that expressions of the model's file give


def is_known(values: Any) -> bool:
    """Whether an array has numbers; one that JAX traces has a shape alone, and refuses by a TypeError."""
    try:
        np.asarray(values)
    except TypeError:
        return False
    return True


def axis_label(used: Mapping[str, Any]) -> str:
    """What the axis of instants is called, of settings: "time [s]", or the parameter of a path of poses."""
    return f"{used.get('parameter', 'time')} [{used.get('parameter_unit', 's')}]"


def worst(name: str, values: np.ndarray, status: np.ndarray | None = None) -> tuple[float, int]:
    """The worst value (B,) and its member: the smallest pivot ratio, the largest of all others; finite ones only.

    Args:
        status: (B,) `Outcome` of each. Those that ended early count where no other is left: what could not be assembled
            has a gap that says nothing of the others. Left out, all count.
    """
    finite = np.isfinite(values) & (True if status is None else counted(status))
    if not finite.any():
        return float("nan"), 0
    least = name == "pivot_ratio"
    ranked = np.where(finite, values, np.inf if least else -np.inf)
    member = int(ranked.argmin() if least else ranked.argmax())
    return float(values[member]), member


def counted(status: np.ndarray) -> np.ndarray:
    """(B,) members whose certificate is told: those that came to their end; all where none did."""
    ended = np.asarray(status) <= 0
    return ended if ended.any() else np.ones_like(ended)


def short_number(value: float) -> str:
    """A number in three digits, a count in full."""
    whole = math.isfinite(value) and float(value).is_integer() and abs(value) < 1e9
    return str(int(value)) if whole else f"{value:.3g}"


def digits_to_tell(values: np.ndarray, least: int) -> int:
    """Significant digits by which values (B,) are told apart: their spread is shown to three digits.

    Args:
        least: so many at least. Whole numbers, and values that differ by rounding only, need no more.
    """
    finite = np.asarray(values, float)[np.isfinite(values)]
    if not finite.size or np.array_equal(finite, np.round(finite)):
        return least
    size, spread = float(np.abs(finite).max()), float(np.ptp(finite))
    if not ROUNDING * size < spread < math.inf:
        return least
    return max(least, math.floor(math.log10(size)) - math.floor(math.log10(spread)) + 3)


def plain(value: Any) -> Any:
    """Lists and numbers that JSON can hold; a number that is not finite becomes None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _within(chosen: np.ndarray, members: int) -> bool:
    return bool(chosen.min() >= 0 and chosen.max() < members)


def members_to_keep(keep: int | str | Sequence[int], members: int) -> np.ndarray:
    """(K,) member numbers: `keep` is "all", "none", how many, spread evenly over an ensemble, or a list of them."""
    if isinstance(keep, Sequence | np.ndarray) and not isinstance(keep, str):
        try:
            chosen = np.asarray(keep)
        except (ValueError, MemoryError):  # lists in it of several lengths; `range(10**12)`
            chosen = np.asarray(None)
        if chosen.ndim != 1 or (chosen.size and (chosen.dtype.kind not in "iu" or not _within(chosen, members))):
            allowed = f"whole numbers from 0 to {members - 1}"
            raise ModelError("keep", shown(keep), allowed, "Choose among the members.")
        return np.unique(chosen.astype(np.int64))
    if isinstance(keep, str) and keep == "all":
        return np.arange(members)
    whole = isinstance(keep, int | np.integer) and not isinstance(keep, bool | np.timedelta64)
    count = whole and int(keep) >= 0
    if not count and not (isinstance(keep, str) and keep == "none"):
        raise ModelError("keep", shown(keep), '"all", "none" or a number of members', "Choose one of them.")
    count = 0 if keep == "none" else min(int(keep), members)
    return evenly_spaced(members, count)
