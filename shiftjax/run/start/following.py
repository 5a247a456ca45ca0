"""Poses that follow when numbers change under a mechanism that stands somewhere. Host code."""

from __future__ import annotations

import numpy as np

from shiftjax.run.closing.poses import close
from shiftjax.run.closing.walks import LaneOf, Way, number_steps, walk
from shiftjax.run.start.branches import gaps
from shiftjax.topology.plan import Plan


def follow(plan: Plan, lane_of: LaneOf, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Closed coordinates when numbers change under a mechanism that stands somewhere: the least move of all joints.

    Args:
        lane_of: as of `assemble`, from the old numbers (0) to the new ones (1). q: (nq, B) closed at the old ones.

    Returns:
        coordinates (nq, B), and the gap (B,) that is left [m or rad].
    """
    everyone = np.arange(q.shape[1])
    full = lane_of(everyone, 1.0)
    for s in range(len(plan.substructures)):
        steps = number_steps(full, lane_of(everyone, 0.0), len(everyone))
        path = walk(plan, q, Way(s, lane_of, everyone, [], q.copy(), q, steps))
        q = path.q
        if not path.reached.all():  # the rest in one stride: the gap is that of the new numbers
            lost = ~path.reached
            q[:, lost] = close(plan, full.of(np.flatnonzero(lost)), q[:, lost], s, ())[0]
    return q, gaps(plan, full, q)[0]
