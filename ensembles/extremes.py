"""The members with the best and the worst values of a column: those that `[keep]` names. Host only, no jax."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftjax.ensembles.keeping import Extreme, Keep


def ranked(values: np.ndarray, status: np.ndarray, *, rising: bool) -> np.ndarray:
    """Rows in the order of their values, of members that finished and have one; equal ones by number."""
    good = np.flatnonzero(np.isfinite(values) & (status <= 0))
    order = values[good] if rising else -values[good]
    return good[np.argsort(order, kind="stable")]


def extremes(members: xr.Dataset, keep: Keep) -> np.ndarray:
    """(K,) the members that are among the worst or best of a metric.

    Args:
        members: the table of all members of a study.
    """
    status = np.asarray(members["status"].values)
    numbers = np.asarray(members["member"].values)

    def chosen(extreme: Extreme, *, best: bool) -> np.ndarray:
        values = np.asarray(members[extreme.metric].values, float)
        return numbers[ranked(values, status, rising=best == (extreme.good == "small"))[: extreme.count]]

    found = [chosen(e, best=False) for e in keep.worst] + [chosen(e, best=True) for e in keep.best]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
