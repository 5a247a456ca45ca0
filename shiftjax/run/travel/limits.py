"""When prescribed joints leave the travel that their loops allow, so that a mechanism locks. Host code.

Problem: a joint is prescribed, q_j = f(t); find the first time at which its loops cannot be closed at f(t). The answer
must not depend on the step of the run, and must see what a step would jump over; `reach` finds the travel before
the run, unless `dyads` tells it in closed form. It is a property of the joint alone where the
driver leaves its substructure no freedom. Elsewhere, and with several drivers, the end depends on how the mechanism
got there: `stands_still` looks at members that ended early.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.closing.poses import CLOSED, close
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.run.travel.dyads import reached
from shiftjax.run.travel.reach import RANK, Reach
from shiftjax.topology.partition import complete_pivoting

BEYOND = 1e-9  # rad or parts of the model's size: a drive that only reaches its end does not lock
NEAR = 10  # steps before the end of the travel in which a lane may trip, since speeds grow without bound there
AHEAD = 4  # steps, as many as a moved run takes, within which a member that ended early must find a closed pose
HALVINGS = 20  # of those steps
WHOLE = 1e-9  # of a step: an end that falls on a step is not stepped on
# Of lanes that ended early; a schedule that is repeated says already that they locked.
STOPPED = (Outcome.non_finite, Outcome.stuck, Outcome.loop_open, Outcome.no_mass, Outcome.locked, Outcome.too_small)
MEMORY = 20_000_000  # samples of all members together
SAMPLES = (500, 20_000)  # of a prescribed motion over the span, at least and at most


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
        drive = _Drive.of(prepared, drivers[0], t0, span, steps)
        members = np.flatnonzero(began.closed & np.isfinite(began.q).all(0) & np.isfinite(prepared.values).all(0))
        for upward in (True, False):
            _look(prepared, began, s, drive, members, out, upward=upward)
    return out


def _leaves_no_freedom(prepared: Prepared, index: int) -> bool:
    _, J = host.closure(prepared.file_lane(), prepared.file_start.q, index)
    return int(complete_pivoting(J, RANK).rank[0]) == J.shape[2]


@dataclass
class _Drive:
    """A prescribed motion in time, of all members.

    Attributes:
        group: of the plan; unit: [rad], or the model's length for metres; times: (n,) samples.
    """

    prepared: Prepared
    group: int
    unit: float
    times: np.ndarray

    @classmethod
    def of(cls, prepared: Prepared, group: int, t0: float, span: float, steps: int) -> _Drive:
        plan = prepared.plan
        unit = prepared.file_lane().units[plan.coordinates[plan.constraints[group].coordinates[0]].v]
        least, most = SAMPLES
        samples = int(np.clip(4 * steps, least, max(least, min(most, MEMORY // prepared.members))))
        return cls(prepared, group, unit, t0 + span * np.linspace(0.0, 1.0, samples + 1))

    @property
    def coordinate(self) -> int:
        return self.prepared.plan.constraints[self.group].coordinates[0]

    def at(self, members: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Prescribed coordinate [rad or m] at times (B, n) or (1, n); of as many rows as differ."""
        lane = self.prepared.lane_of(members, 1.0)
        numbers: list[Scalar] = [v[:, None] if isinstance(v, np.ndarray) else v for v in lane.params.numbers]
        lane = replace(lane, params=Parameters(numbers, lane.params.matrices), t=t)
        group = self.prepared.plan.constraints[self.group]
        (phi,) = CONSTRAINTS[group.kind].rows(group, lane.motion([0.0] * self.prepared.plan.nq, None)).phi
        found = np.atleast_2d(-np.asarray(phi, float))
        return np.broadcast_to(found, (found.shape[0], t.shape[1]))

    def farthest(self, members: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
        """Largest (sign +1) or smallest coordinate over all times, and when (B,)."""
        t = self.times[None, :]
        for _ in range(3):
            values = sign * self.at(members, t)
            rows, best = np.arange(len(values)), values.argmax(1)
            own = np.broadcast_to(t, values.shape)
            when, most = own[rows, best], values[rows, best]
            low, high = own[rows, np.maximum(best - 1, 0)], own[rows, np.minimum(best + 1, values.shape[1] - 1)]
            t = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 201)
        return np.broadcast_to(sign * most, len(members)), np.broadcast_to(when, len(members))

    def first_beyond(self, members: np.ndarray, end: np.ndarray, latest: np.ndarray, sign: float) -> np.ndarray:
        """(B,) the first times at which the coordinate is beyond `end`; it is at `latest`."""
        samples = self.at(members, self.times[None, :])
        low, high = np.full(len(members), self.times[0]), latest.copy()
        for k in range(len(members)):
            beyond = (sign * (samples[min(k, len(samples) - 1)] - end[k]) > 0.0) & (self.times <= latest[k])
            before = int(beyond.argmax()) if beyond.any() else int(np.searchsorted(self.times, latest[k]))
            high[k] = self.times[before] if beyond.any() else latest[k]
            low[k] = self.times[max(before - 1, 0)]
        for _ in range(60):
            middle = 0.5 * (low + high)
            out = sign * (self.at(members, middle[:, None])[:, 0] - end) > 0.0
            low, high = np.where(out, low, middle), np.where(out, middle, high)
        return high


def _look(
    prepared: Prepared, began: Start, s: int, drive: _Drive, members: np.ndarray, out: Travel, *, upward: bool
) -> None:
    """Notes the members whose drive leaves its travel upward or downward, where that comes first."""
    sign = 1.0 if upward else -1.0
    driven, group = prepared.plan.coordinates[drive.coordinate], prepared.plan.constraints[drive.group]
    target, when = drive.farthest(members, sign)
    lane, q = prepared.lane_of(members, 1.0), began.q[:, members]
    end = reached(prepared.plan, lane, s, drive.coordinate, q, target)
    walks = np.isnan(end)
    if walks.any():
        way = Reach(prepared.plan, lane.of(walks), s, drive.coordinate, drive.group, q[:, walks], target[walks])
        end[walks] = way.walk()
    past = np.flatnonzero(sign * (target - end) > BEYOND * drive.unit)
    times = drive.first_beyond(members[past], end[past], when[past], sign) if len(past) else np.zeros(0)
    for place, time in zip(past, times, strict=True):
        k = int(members[place])
        if time < out.time[k]:
            loops = [prepared.plan.constraints[g] for g in prepared.plan.substructures[s].groups]
            names = ", ".join(g.name for g in loops if g.loop is not None) or group.name
            unit = driven.unit
            out.time[k] = time
            out.cause[k] = (
                f"at {time:.6g} s: {driven.path} locks at {end[place]:.6g} {unit}, the end of its travel: beyond it "
                f"the loops closed by {names} cannot be closed, and it is driven to {target[place]:.6g} {unit}"
            )


def hold_back(prepared: Prepared, lanes: Ensemble, began: Start) -> Travel | None:
    """Lets no lane run past the end of its travel; None where nothing is prescribed."""
    if not any(group.prescribes for group in prepared.plan.constraints):
        return None
    s = lanes.settings
    found = travel(prepared, began, s.begin, s.h * s.steps, s.steps)
    with np.errstate(invalid="ignore"):
        lanes.ends = np.maximum(np.floor((found.time - s.t0) / s.h - WHOLE), s.before)
    return found


def say_locked(prepared: Prepared, lanes: Ensemble, found: Travel | None) -> None:
    """Gives the lanes that stand at the end of their travel their status, whatever step brought them there."""
    if found is None:
        return
    stopped = np.isin(lanes.status, STOPPED) & np.isfinite(prepared.values).all(0)
    at_end = lanes.clock_of() >= lanes.ends
    locked = np.isfinite(found.time) & ((at_end & (lanes.status <= 0)) | stopped)
    causes = {int(k): found.cause[k] for k in np.flatnonzero(locked)}
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
