"""Which members of a study move in its page beside the one that is shown."""

from __future__ import annotations

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.study.study import ViewedStudy

MOTIONS = 12  # in the page of a study that is not told which; 50 kB each


def further(study: ViewedStudy, member: int) -> tuple[list[int], list[str]]:
    """Members whose motion is in the page of a study beside the one that is shown: of those that were kept all, or some
    evenly spaced ones, and what the page says of that."""
    able = study.drawable(study.kept).ids
    chosen = able[evenly_spaced(len(able), MOTIONS)]
    notes = [f"{len(chosen)} of {len(able)} kept members move in this page"] if len(chosen) < len(able) else []
    return [int(k) for k in chosen if k != member], notes
