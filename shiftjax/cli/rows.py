"""Lines of the tables that commands print of many members: extremes with the members that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.run.results.plain_values import counted, digits_to_tell, short_number, worst

DIGITS = 6  # at least
METRIC_HEAD = ("metric", "smallest", "member", "median", "largest", "member", "unit")


def metric_row(name: str, values: np.ndarray, unit: str) -> tuple[str, ...]:
    """Extremes of a metric (B,) with the members that have them, over those that have one."""
    ends = _ends(values)
    if ends is None:
        return (name, "nan", "-", "nan", "nan", "-", unit)
    low, high, middle = ends
    digits = digits_to_tell(values, DIGITS)
    smallest, middle, largest = (f"{value:.{digits}g}" for value in (values[low], middle, values[high]))
    return (name, smallest, str(low), middle, largest, str(high), unit)


def metric_summary(values: np.ndarray) -> dict[str, object]:
    """The same for JSON."""
    ends = _ends(values)
    if ends is None:
        return {"smallest": None, "median": None, "largest": None}
    low, high, middle = ends
    statistics = {"smallest": float(values[low]), "median": middle, "largest": float(values[high])}
    return {**statistics, "smallest_member": low, "largest_member": high}


def _ends(values: np.ndarray) -> tuple[int, int, float] | None:
    """The members with the smallest and the largest value, and the median, of those that have one."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return None
    low, high = (int(known[pick(values[known])]) for pick in (np.argmin, np.argmax))
    return low, high, float(np.median(values[known]))


def certificate_head(status: np.ndarray) -> tuple[str, ...]:
    """Of `certificate_rows`: with how many members where some ended early."""
    some = counted(status)
    of = "" if some.all() else f" of {int(some.sum())} that ended well"
    return (f"certificate{of}", "median", "worst", "member", "unit")


def certificate_rows(certificate: Mapping[str, np.ndarray], status: np.ndarray) -> list[tuple[str, ...]]:
    """Of every number of the certificate the median, the worst and the member that has it; status: (B,) `Outcome`."""
    rows = []
    for name, values in certificate.items():
        extreme, member = worst(name, np.asarray(values, np.float64), status)
        finite = values[np.isfinite(values) & counted(status)]
        middle = short_number(float(np.median(finite))) if len(finite) else "nan"
        rows.append((name, middle, short_number(extreme), str(member), CERTIFICATE.get(name, "1")))
    return rows


def coordinate_rows(q: Mapping[str, Any], units: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Every number of every coordinate of one pose: path, place, unit."""
    for path, values in q.items():
        flat = np.ravel(values)
        for k, x in enumerate(flat):
            yield path if len(flat) == 1 else f"{path}[{k}]", f"{x:.9g}", units[path]
