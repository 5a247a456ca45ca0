"""A result as a table of pandas, one row a member. Host only, no jax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.outcome import Outcome


def to_frame(result: Any) -> pd.DataFrame:
    """One row a member: design, name of the status, certificate, metrics, and of every channel the last value that was
    recorded, the smallest and the largest.

    Args:
        result: a `Result`; a single run is one row.

    Returns:
        columns named by path, or name of the certificate; `attrs["units"]` has the unit of each.
    """
    lift = (lambda a: np.asarray(a)) if result.batched else (lambda a: np.asarray(a)[None])
    columns: dict[str, np.ndarray | list[str]] = {path: np.atleast_1d(v) for path, v in result.design.items()}
    units = {path: result.units.get(path, "1") for path in columns}
    columns["status"] = [Outcome(int(status)).name for status in np.atleast_1d(result.status)]
    columns |= {name: lift(values) for name, values in result.certificate.items()}
    units |= {name: CERTIFICATE.get(name, "1") for name in result.certificate}
    columns |= {name: lift(values) for name, values in result.metrics.items()}
    units |= dict(result.metric_units)
    for path, values in result.channels.items():
        for name, column in _scalars(path, lift(values)):
            low, high = _range(column)
            columns |= {f"{name} end": column[:, -1], f"{name} smallest": low, f"{name} largest": high}
            units |= {f"{name} {what}": result.units.get(path, "1") for what in ("end", "smallest", "largest")}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(result.members, name="member"))
    frame.attrs["units"] = units
    return frame


def _scalars(path: str, values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Name and (B, n) values of every number of a channel (B, n, ...)."""
    if values.ndim == 2:
        yield path, values
        return
    flat = values.reshape(*values.shape[:2], -1)
    yield from ((f"{path}[{k}]", flat[:, :, k]) for k in range(flat.shape[2]))


def _range(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B,) smallest and largest of (B, n), instants after an early end left out; NaN where there is none."""
    known = np.isfinite(values)
    low, high = np.where(known, values, np.inf).min(1), np.where(known, values, -np.inf).max(1)
    some = known.any(1)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)
