"""Output instants to which a step would come too near a singular pose: by other ways, or between others. Host code.

A step that was chosen to cross a pose has its stages on both sides; one from its beginning to an instant within it may
have a stage on the pose though the instant is far from it. What lies between the ends of a long step is a quintic, and
not of the method's order: it is taken where nothing else can be, over as little of the step as can be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftjax.kernels.lane_table import LaneTable
from shiftjax.run.advance.ensemble import Ensemble

WAYS = ((0.8, 0.2), (0.35, 0.65), (0.55, 0.45))  # parts of the way to an instant
BESIDE = (0.05, 0.1, 0.2, 0.4)  # of the step: how far on both sides of an instant others are looked for
Take = Callable[[LaneTable, np.ndarray], None]  # one step of lanes, in place, that ends at clocks


def beside_poses(
    lanes: Ensemble, members: np.ndarray, begin: LaneTable, end: LaneTable, to: np.ndarray, take: Take
) -> LaneTable:
    """The lanes of members at clocks (n,) within steps, of which a step from their beginning came too near a pose.

    Args:
        begin, end: where those steps begin and end.
    """
    out, reached = _by_parts(lanes, members, begin, to, take)
    first, last = begin.row("clock").copy(), end.row("clock").copy()
    size = last - first
    for share in BESIDE:
        open_ = np.flatnonzero(~reached)
        if not len(open_):
            return out
        some, start = members[open_], begin.take(open_)
        sides = [_by_parts(lanes, some, start, clock[open_], take) for clock in (to - share * size, to + share * size)]
        inside = (to - share * size > first)[open_] & (to + share * size < last)[open_]
        good = inside & sides[0][1] & sides[1][1]
        if good.any():
            near, far = (table.take(np.flatnonzero(good)) for table, _ in sides)
            span = 2.0 * share * size[open_[good]] * lanes.settings.h
            out.put(open_[good], lanes.between(near, far, np.full(int(good.sum()), 0.5), span))
            reached[open_[good]] = True
    open_ = np.flatnonzero(~reached)
    part = (to - first)[open_] / size[open_]
    out.put(open_, lanes.between(begin.take(open_), end.take(open_), part, size[open_] * lanes.settings.h))
    return out


def _by_parts(
    lanes: Ensemble, members: np.ndarray, begin: LaneTable, to: np.ndarray, take: Take
) -> tuple[LaneTable, np.ndarray]:
    """The lanes at clocks, by the first of some ways that keeps clear of poses; (n,) whether one does."""
    out, reached = begin.copy(), np.zeros(len(members), bool)
    first = begin.row("clock").copy()
    for parts in ((1.0,), *WAYS):
        open_ = np.flatnonzero(~reached)
        if not len(open_):
            break
        table, clear, done = begin.take(open_), np.ones(len(open_), bool), 0.0
        for part in parts:
            done = done + part if part != parts[-1] else 1.0
            take(table, first[open_] + done * (to - first)[open_])
            clear &= lanes.near_pose(members[open_], table) < 0
        out.put(open_[clear], table.take(np.flatnonzero(clear)))
        reached[open_[clear]] = True
    return out, reached
