"""When prescribed motions leave the travel that their loops allow. Host code.

Problem: a joint is prescribed, q_j = f(t); find the first time at which its loops cannot be closed at f(t). The answer
must not depend on the step of the run, and must see what a step would jump over: the travel is found before the run.
It is a property of the joint alone where the driver leaves its substructure no freedom; elsewhere, and with several
drivers, the end depends on how the mechanism got there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.run.travel.prescribed import Prescribed
from shiftjax.run.travel.reach import reach
from shiftjax.topology.partition import RANK, complete_pivoting

BEYOND = 1e-9  # rad or parts of the model's size: a drive that only reaches its end does not lock


@dataclass
class Travel:
    """When prescribed motions leave what the loops allow.

    Attributes:
        time: (B,) [s], infinite where they never do; cause: (B,) what is said of it.
    """

    time: np.ndarray
    cause: list[str]


def travel(prepared: Prepared, began: Start, t0: float, span: float, steps: int) -> Travel:
    """Of all members that are closed at their start, for a run from t0 over a span [s]."""
    out = Travel(np.full(prepared.members, np.inf), [""] * prepared.members)
    plan = prepared.plan
    for s, block in enumerate(plan.substructures):
        drivers = [k for k in block.groups if plan.constraints[k].prescribes]
        moving = [k for k in block.groups if plan.constraints[k].time_dependent]
        if len(drivers) != 1 or moving != drivers or not _leaves_no_freedom(prepared, s):
            continue
        motion = Prescribed.of(prepared, drivers[0], t0, span, steps)
        members = np.flatnonzero(began.closed & np.isfinite(began.q).all(0) & np.isfinite(prepared.values).all(0))
        for upward in (True, False):
            _look(prepared, began, s, motion, members, out, upward=upward)
    return out


def _leaves_no_freedom(prepared: Prepared, index: int) -> bool:
    _, J = host.closure(prepared.file_lane(), prepared.file_start.q, index)
    return int(complete_pivoting(J, RANK).rank[0]) == J.shape[2]


def _look(
    prepared: Prepared, began: Start, s: int, motion: Prescribed, members: np.ndarray, out: Travel, *, upward: bool
) -> None:
    """Notes the members whose drive leaves its travel upward or downward, where that comes first."""
    sign = 1.0 if upward else -1.0
    driven, driver = prepared.plan.coordinates[motion.coordinate], prepared.plan.constraints[motion.driver]
    target, when = motion.farthest(members, sign)
    lane, q = prepared.lane_of(members, 1.0), began.q[:, members]
    end = reach(prepared.plan, lane, s, motion.driver, q, target)
    past = np.flatnonzero(sign * (target - end) > BEYOND * motion.unit)
    times = motion.first_beyond(members[past], end[past], when[past], sign) if len(past) else np.zeros(0)
    for place, time in zip(past, times, strict=True):
        k = int(members[place])
        if time < out.time[k]:
            loops = [prepared.plan.constraints[g] for g in prepared.plan.substructures[s].groups]
            names = ", ".join(g.name for g in loops if g.loop is not None) or driver.name
            unit = driven.unit
            out.time[k] = time
            out.cause[k] = (
                f"at {time:.6g} s: {driven.path} locks at {end[place]:.6g} {unit}, the end of its travel: beyond it "
                f"the loops closed by {names} cannot be closed, and it is driven to {target[place]:.6g} {unit}"
            )
