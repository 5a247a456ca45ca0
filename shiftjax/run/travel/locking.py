"""Lanes whose prescribed joints leave the travel that their loops allow: they end there, locked. Host code.

Where the end of the travel is not known before the run (`limits`), members that ended early are looked at: their closed
pose is followed a few steps ahead, and they are locked where it ends. Its strides are short, so that a drive too fast
for the steps is not taken for one that has come to the end of its travel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftjax.outcome import REMEDY, Outcome, WithRemedy
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.closing.closer import CLOSED, STEP_ANGLE, STEP_LENGTH
from shiftjax.run.closing.host_evaluation import prescribed_coordinates
from shiftjax.run.closing.poses import close
from shiftjax.run.start.driven.overdriven import overdriven
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.run.travel.limits import Travel, travel

NEAR = 10  # steps before the end of the travel in which a lane may trip, since speeds grow without bound there
AHEAD = 4  # steps, as many as a moved run takes, within which a member that ended early must find a closed pose
HALVINGS = 20  # of a stride along those steps
SEEN = 65  # instants at which drives are looked at to choose the strides
MOST = 400.0  # strides; drives that turn faster than 11 times in a step are not followed: their steps are too large
WHOLE = 1e-9  # of a step: an end that falls on a step is not stepped on
# Of lanes that ended early; a schedule that is repeated says already that they locked.
STOPPED = (Outcome.non_finite, Outcome.stuck, Outcome.loop_open, Outcome.no_mass, Outcome.locked, Outcome.too_small)


def hold_back(prepared: Prepared, lanes: Ensemble, began: Start) -> Travel | None:
    """Lets no lane run past the end of its travel; None where nothing is prescribed, and where events change loops,
    and with them how far travel goes: such a lane ends where it trips."""
    if prepared.setup.changing_loops or not any(group.prescribes for group in prepared.plan.constraints):
        return None
    s = lanes.settings
    limits = travel(prepared, began, s.begin, s.h * s.steps, s.steps)
    with np.errstate(invalid="ignore"):
        lanes.ends = np.maximum(np.floor((limits.time - s.t0) / s.h - WHOLE), s.before)
    return limits


def say_locked(prepared: Prepared, lanes: Ensemble, limits: Travel | None) -> None:
    """Gives the lanes that stand at the end of their travel their status, whatever step brought them there."""
    if limits is None:
        if prepared.setup.changing_loops:
            judged = np.setdiff1d(np.flatnonzero(np.isin(lanes.status, STOPPED)), [*lanes.causes])
            _lock(lanes, _stand_still(_as_it_stands(prepared, lanes), lanes, judged))
        return
    stopped = np.isin(lanes.status, STOPPED) & np.isfinite(prepared.values).all(0)
    at_end = lanes.clock_of() >= lanes.ends
    locked = np.isfinite(limits.time) & ((at_end & (lanes.status <= 0) & (lanes.stopped < 0)) | stopped)
    causes = {int(k): limits.cause[k] for k in np.flatnonzero(locked)}
    early = locked & stopped & (lanes.status != Outcome.locked) & (lanes.clock_of() < lanes.ends - NEAR)
    for k in np.flatnonzero(early):
        time = lanes.settings.t0 + lanes.clock_of()[k] * lanes.settings.h
        causes[int(k)] += f" (this run ended before, at {time:.6g} s: {REMEDY[Outcome(int(lanes.status[k]))]})"
    causes |= _stand_still(prepared, lanes, np.flatnonzero(stopped & ~locked))
    _lock(lanes, causes)


def _lock(lanes: Ensemble, causes: dict[int, str]) -> None:
    """Ends members at the end of their travel, each with its cause."""
    lanes.end(causes, Outcome.locked)
    lanes.warnings[list(causes)] &= ~(1 << -int(Outcome.near_singular))  # it is the end of the travel that is near


def _as_it_stands(prepared: Prepared, lanes: Ensemble) -> Prepared:
    """With the numbers that lanes have now."""
    setup = prepared.setup
    paths = tuple(prepared.plan.numbers[place].path for place in setup.varied)
    return replace(prepared, vary=paths, places=setup.varied, values=lanes.table.rows("p").astype(float))


def _stand_still(prepared: Prepared, lanes: Ensemble, members: np.ndarray) -> dict[int, str]:
    """Causes of members that ended early where no pose a few steps ahead closes their loops."""
    members = members[lanes.table.reduce("finite", "q", members)]
    out: dict[int, str] = {}
    s = lanes.settings
    for index, block in enumerate(prepared.plan.substructures):
        drivers = [prepared.plan.constraints[k] for k in block.groups if prepared.plan.constraints[k].prescribes]
        if not drivers or not len(members):
            continue
        now = s.t0 + lanes.clock_of(members).astype(float) * s.h
        strides = _strides(prepared, members, index, now, AHEAD * s.h)
        followed = strides <= MOST
        judged, strides = members[followed], strides[followed]
        q = lanes.table.rows("q", judged).astype(float)
        end = _end_of_path(prepared, judged, index, q, now[followed], AHEAD * s.h / strides, strides)
        names = ", ".join(prepared.plan.coordinates[group.coordinates[0]].path for group in drivers)
        stands = np.flatnonzero(np.isfinite(end))
        too_many = overdriven(prepared, index) if len(stands) else ""
        for k in stands:
            cause = f"{names} driven to where no pose near closes the loops of their substructure"
            at = f"at {end[k]:.6g} s: "
            out[int(judged[k])] = WithRemedy(at + too_many) if too_many else at + cause
    return out


def _strides(prepared: Prepared, members: np.ndarray, index: int, now: np.ndarray, span: float) -> np.ndarray:
    """(B,) strides over a span [s], each of at most 10 degrees or 5 % of the size of a driven coordinate."""
    lane = prepared.lane_of(members, 1.0)
    inside = [prepared.plan.coordinates[k] for k in prepared.plan.coordinates_in(index)]
    times = now + np.linspace(0.0, span, SEEN)[:, None]
    prescribed = [prescribed_coordinates(replace(lane, t=t)) for t in times]
    most = np.full(len(members), float(AHEAD))
    for coordinate in (one for one in inside if one.q in prescribed[0]):
        reach = STEP_ANGLE if coordinate.unit == "rad" else STEP_LENGTH * lane.length
        values = np.array([np.broadcast_to(at[coordinate.q], now.shape) for at in prescribed])
        # A drive that is no number from some instant on ends the path there: it is followed up to it.
        most = np.maximum(most, np.ceil(np.nansum(np.abs(np.diff(values, axis=0)), axis=0) / reach))
    return most


def _end_of_path(
    prepared: Prepared, members: np.ndarray, index: int, q: np.ndarray, t: np.ndarray, stride: np.ndarray,
    count: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """(B,) when closed poses that follow the drivers from q (nq, B) at t (B,) end [s]; infinite where they do not.

    Args:
        stride: (B,) seconds between poses; count: (B,) how many are tried.
    """
    q, low, going = q.copy(), t.copy(), np.ones(len(members), bool)
    open_ = np.zeros(len(members), bool)
    for k in range(int(count.max(initial=0.0))):
        some = np.flatnonzero(going & (count > k))
        pose, closes = _closed_at(prepared, members[some], q[:, some], index, low[some] + stride[some])
        q[:, some[closes]] = pose[:, closes]
        low[some[closes]] += stride[some[closes]]
        going[some[~closes]], open_[some[~closes]] = False, True
    high, some = low + stride, np.flatnonzero(open_)
    for _ in range(HALVINGS if len(some) else 0):
        middle = 0.5 * (low + high)
        _, closes = _closed_at(prepared, members[some], q[:, some], index, middle[some])
        low[some[closes]], high[some[~closes]] = middle[some[closes]], middle[some[~closes]]
    return np.where(open_, high, np.inf)


def _closed_at(
    prepared: Prepared, members: np.ndarray, q: np.ndarray, index: int, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poses (nq, B) of a substructure near q at times t (B,) [s], and whether they close (B,)."""
    lane = replace(prepared.lane_of(members, 1.0), t=t)
    pose, size = close(prepared.plan, lane, q, index, ())
    return pose, size <= CLOSED
