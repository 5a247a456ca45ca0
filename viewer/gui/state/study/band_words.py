"""What a band over members says at an instant: how many it is of, and who has no number there. No GUI library."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.numerics.spacing import nearest_places
from shiftjax.outcome import Outcome
from shiftjax.viewer.gui.state.study.plots import MemberBand
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion.curves import Curve

__all__ = ["words"]

MOST = 6  # members named of those that ended alike


def words(study: StudyLike, of: MemberBand, current: Curve, time: float) -> str:
    """The band in words at a time [s]: its ends for a scalar, those with a number there, those without one by name."""
    times = study.time[: of.band.drawn.shape[1]]
    k = int(nearest_places(times, time))
    drawn = of.band.drawn[:, k]
    count, every = int(drawn.sum()), len(study.kept)
    text = f"5-95 % of {count:,}"
    if not count:
        text = "no member has a number here"
    elif current.values.shape[1] == 1:
        low, high = (_at(row[:, 0], times, k, time) for row in (of.band.low, of.band.high))
        text += f": {low:.4g} to {high:.4g}"
    if of.skipped:
        text += f"; {of.skipped:,} of {every:,} between them not looked at"
    missing = np.sort(np.concatenate([of.members[~drawn], of.without]))
    if len(missing):
        text += f"; {len(missing):,} of {every:,} left out, no number here: {_named(study, missing)}"
    return text


def _at(row: np.ndarray, times: np.ndarray, k: int, time: float) -> float:
    """A value at a time, linear between instants that have numbers, else that of instant k."""
    between = float(np.interp(time, times, row))
    return between if np.isfinite(between) else float(row[k])


def _named(study: StudyLike, members: np.ndarray) -> str:
    """Members by how they ended."""
    groups: Mapping[str, np.ndarray] = {
        Outcome(int(status)).name: members[study.status[members] == status]
        for status in np.unique(np.asarray(study.status)[members])
    }
    return ", ".join(f"{_numbers(ids)} {name}" for name, ids in groups.items())


def _numbers(ids: np.ndarray) -> str:
    """A few of the members."""
    few = " ".join(str(member) for member in ids[:MOST])
    return few if len(ids) <= MOST else f"{few} and {len(ids) - MOST:,} more"
