"""Which of many members are drawn together with the selected one. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced

MOST_GHOSTS = 64  # at once; more cannot be told apart


def drawn(members: np.ndarray, metric: np.ndarray | None = None, most: int = MOST_GHOSTS) -> np.ndarray:
    """(<= most,) of (k,) members those drawn: all, or an evenly spaced selection, by a metric if given."""
    if metric is not None:
        members = members[np.argsort(metric[members], kind="stable")]  # so that a selection spans the metric
    return members[evenly_spaced(len(members), most)]
