"""Lanes whose prescribed joints leave the travel that their loops allow: they end there, locked. Host code.

Where the end of the travel is not known before the run (`limits`), members that ended early are looked at: they are
locked where no pose a few steps ahead closes their loops.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.poses import close
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.run.travel.limits import Travel, travel

NEAR = 10  # steps before the end of the travel in which a lane may trip, since speeds grow without bound there
AHEAD = 4  # steps, as many as a moved run takes, within which a member that ended early must find a closed pose
HALVINGS = 20  # of those steps
WHOLE = 1e-9  # of a step: an end that falls on a step is not stepped on
# Of lanes that ended early; a schedule that is repeated says already that they locked.
STOPPED = (Outcome.non_finite, Outcome.stuck, Outcome.loop_open, Outcome.no_mass, Outcome.locked, Outcome.too_small)


def hold_back(prepared: Prepared, lanes: Ensemble, began: Start) -> Travel | None:
    """Lets no lane run past the end of its travel; None where nothing is prescribed."""
    if not any(group.prescribes for group in prepared.plan.constraints):
        return None
    s = lanes.settings
    limits = travel(prepared, began, s.begin, s.h * s.steps, s.steps)
    with np.errstate(invalid="ignore"):
        lanes.ends = np.maximum(np.floor((limits.time - s.t0) / s.h - WHOLE), s.before)
    return limits


def say_locked(prepared: Prepared, lanes: Ensemble, limits: Travel | None) -> None:
    """Gives the lanes that stand at the end of their travel their status, whatever step brought them there."""
    if limits is None:
        return
    stopped = np.isin(lanes.status, STOPPED) & np.isfinite(prepared.values).all(0)
    at_end = lanes.clock_of() >= lanes.ends
    locked = np.isfinite(limits.time) & ((at_end & (lanes.status <= 0)) | stopped)
    causes = {int(k): limits.cause[k] for k in np.flatnonzero(locked)}
    early = locked & stopped & (lanes.status != Outcome.locked) & (lanes.clock_of() < lanes.ends - NEAR)
    for k in np.flatnonzero(early):
        time = lanes.settings.t0 + lanes.clock_of()[k] * lanes.settings.h
        causes[int(k)] += f" (this run ended before, at {time:.6g} s: {REMEDY[Outcome(int(lanes.status[k]))]})"
    causes |= _stand_still(prepared, lanes, np.flatnonzero(stopped & ~locked))
    lanes.end(causes, Outcome.locked)
    lanes.warnings[list(causes)] &= ~(1 << -int(Outcome.near_singular))  # it is the end of the travel that is near


def _stand_still(prepared: Prepared, lanes: Ensemble, members: np.ndarray) -> dict[int, str]:
    """Causes of members that ended early where no pose a few steps ahead closes their loops."""
    members = members[lanes.table.reduce("finite", "q", members)]
    q = lanes.table.rows("q", members).astype(float)
    out: dict[int, str] = {}
    s = lanes.settings
    now = s.t0 + lanes.clock_of(members).astype(float) * s.h
    for index, block in enumerate(prepared.plan.substructures):
        drivers = [prepared.plan.constraints[k] for k in block.groups if prepared.plan.constraints[k].prescribes]
        if not drivers or not len(members):
            continue
        low, high = now, now + AHEAD * s.h
        shut = ~_closes(prepared, members, q, index, high)
        for _ in range(HALVINGS if shut.any() else 0):
            middle = 0.5 * (low + high)
            open_ = ~_closes(prepared, members, q, index, middle)
            low, high = np.where(open_, low, middle), np.where(open_, middle, high)
        names = ", ".join(prepared.plan.coordinates[group.coordinates[0]].path for group in drivers)
        for k in np.flatnonzero(shut):
            out[int(members[k])] = (
                f"at {high[k]:.6g} s: {names} driven to where no pose near closes the loops of their substructure"
            )
    return out


def _closes(prepared: Prepared, members: np.ndarray, q: np.ndarray, index: int, t: np.ndarray) -> np.ndarray:
    """(B,) whether a pose near q closes a substructure at times t (B,) [s]."""
    lane = replace(prepared.lane_of(members, 1.0), t=t)
    return close(prepared.plan, lane, q, index, ())[1] <= CLOSED
