"""Members whose span ends on a singular pose while they move. Host code.

A step is moved off a pose, and an instant on one lies between steps on both sides; of the end of the span there is no
other side: the place is right, what speeds a rank that is lost leaves open is noise, and so are energies and errors.
"""

from __future__ import annotations

import numpy as np

from shiftjax.mechanism.paths import listed
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import WINDOW, Ensemble
from shiftjax.run.advance.singular.singular_stops import rank_ratio, turn_of

RESTS = 1e-6  # rad, or parts of the model's length, in a step: who moves less has settled on the pose
FAILED = (Outcome.too_small, Outcome.stuck, Outcome.loop_open, Outcome.non_finite)  # perhaps in the last step


def note_ends_on_poses(lanes: Ensemble) -> None:
    """Warns those that have finished; their message, and that of those that failed in the last step, says why."""
    settings = lanes.settings
    if not lanes.setup.blocks or not settings.steps:
        return
    late = (lanes.clock_of() > settings.end - 1.0) & (lanes.stopped < 0)
    which = lanes.near_pose(np.arange(len(late)), lanes.table, WINDOW)
    failed = np.isin(lanes.status, [int(outcome) for outcome in FAILED])
    members = np.flatnonzero(late & (failed | (lanes.status <= 0) & (which >= 0)))
    if not len(members):
        return
    with np.errstate(all="ignore"):  # members that have failed
        ratio = rank_ratio(lanes, members, lanes.table.take(members))
        members = members[(ratio <= WINDOW) & (turn_of(lanes, members) > RESTS)]
    lanes.warn(members[lanes.status[members] <= 0], Outcome.near_singular)
    plan = lanes.setup.plan
    for member, s in zip(members.tolist(), which[members].tolist(), strict=True):
        groups = plan.substructures[max(s, 0)].groups
        lanes.end_poses[member] = (
            f"the span ends on a singular pose, where the loops of {listed(plan.constraints[k].name for k in groups)} "
            "lose rank: let it end later, so that the pose is passed; an output instant on it is right then"
        )
