"""Runs lanes whose step sizes follow an error estimate: the kernel chooses them, the host notes every step's end."""

from __future__ import annotations

from functools import partial

import numpy as np

from shiftjax.kernels.contract import Group
from shiftjax.kernels.guards import EVENTS, causes
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.run.advance.controlled_steps import Steps, step_to
from shiftjax.run.advance.driver import handle_trips
from shiftjax.run.advance.driver import run as run_batches
from shiftjax.run.advance.ensemble import Ensemble, Programs
from shiftjax.run.advance.headway import Headway
from shiftjax.run.advance.schedule import ROOM
from shiftjax.run.advance.singular.bridges import bridge
from shiftjax.run.advance.singular.singular_stops import stop_ahead, stop_where_passed, tried_step, turn_little
from shiftjax.run.advance.switches import (
    Sliding,
    act,
    disarm_other_ways,
    felt,
    first_switch,
    passed_and_back,
    signed,
    until_next_switch,
    watched_events,
)
from shiftjax.run.programs.integrators import METHODS, order_of
from shiftjax.shield import shielded

BACK = 1e-3  # of a step, or of that to the next switch, after which it is seen where the forces beyond a switch lead
NEAR = 1e-2  # of a step to a switch: what is left of it where the forces beyond must not act in it
SHORTEST = 1e-13  # of the clock: shorter steps are not divided further
BEYOND = 1.25  # times the size to the next switch: the first step behind one
FIRST = 0.01  # share of what is allowed that the first step may cost


def run(lanes: Ensemble, programs: Programs, knots: np.ndarray) -> None:
    """Advances all lanes to the end of the span or their own; KeyboardInterrupt comes through soon.

    Args:
        programs: controlled ones, that note every step (`run.programs.controlled`).
        knots: (n, B) clocks at which a step must end, since what acts changes there; not numbers where there are less.
    """
    lanes.table.set("fraction", _first_sizes(lanes))
    run_batches(lanes, partial(_run_batch, programs, knots))


def _first_sizes(lanes: Ensemble) -> np.ndarray:
    """(B,) sizes of first steps, in steps: h^p |f| = 0.01 in parts of what is allowed.

    Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4, starting step size, without its trial
    step: a step too large is rejected.
    """
    setup, settings = lanes.setup, lanes.settings
    assert settings.tolerance is not None
    nv = setup.plan.nv
    unit = np.asarray([*setup.units, *[1.0] * setup.plan.ns])[:, None]
    x, dx = (lanes.table.rows(name, within=slice(len(unit))) for name in ("x", "dx"))
    with np.errstate(all="ignore"):  # members that rest, and those that are far out
        speeds = np.abs(x[:nv] / unit[:nv]).max(0, initial=0.0)
        rates = np.abs(dx / (unit + np.abs(x))).max(0, initial=0.0)
        size = (FIRST * settings.tolerance / np.maximum(speeds, rates)) ** (
            1.0 / order_of(METHODS[setup.method])
        ) / settings.h
    return np.where(np.isfinite(size) & (size > 0), np.minimum(size, settings.steps), settings.steps)


def _run_batch(programs: Programs, knots: np.ndarray, lanes: Ensemble, batch: np.ndarray) -> None:
    ends = np.minimum(lanes.settings.end, lanes.ends)
    sliding, headway = Sliding(lanes.layout.ne, len(lanes.status)), Headway(lanes.clock_of(), ends)
    while len(running := batch[(lanes.status[batch] <= 0) & (lanes.clock_of(batch) < ends[batch])]):
        stops = _next_stops(lanes, running, knots, ends)
        lanes.table.set("watched", sliding.watched(running), running)
        taken = _advance(lanes, programs, running, stops)
        trips = lanes.table.trips(running)
        pass_by = stop_ahead if lanes.settings.stop_at_poses else partial(bridge, stops=stops, step_to=step_to)
        at_switch = causes(programs.layout, trips.codes)[EVENTS.name] >= 0
        with shielded():
            if not at_switch.all():
                handle_trips(lanes, trips.those(~at_switch), pass_by)
            _land(lanes, trips.members[at_switch], stops, sliding)
            headway.end_the_endless(lanes, running, taken)
            ends = np.minimum(lanes.settings.end, lanes.ends)  # of some an event may have become the end
        done = np.where(lanes.status[batch] <= 0, lanes.clock_of(batch) / ends[batch], 1.0)
        lanes.settings.progress((batch[0] + len(batch) * float(done.min(initial=1.0))) / len(lanes.status))


def _next_stops(lanes: Ensemble, running: np.ndarray, knots: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(B,) clocks up to which the running members may go: the next knot, or the end."""
    stops = ends.copy()
    if len(knots):
        clock = lanes.clock_of(running).astype(float)
        ahead = np.where(knots[:, running] > clock, knots[:, running], np.inf)
        stops[running] = np.minimum(stops[running], ahead.min(0))
    return stops


def _land(lanes: Ensemble, members: np.ndarray, stops: np.ndarray, sliding: Sliding) -> None:
    """Takes the next step of frozen members to just past the first switch in it; where the forces beyond would act
    already, to shortly before, so that the step across is a short one.
    """
    if len(members) == 0:
        return
    lanes.table.set("trip", 0.0, members)
    lanes.rejected[members] += 1
    before = lanes.table.take(members)
    size = np.minimum(before.row("fraction"), stops[members] - before.row("clock"))
    if lanes.guarded_events:
        passes = disarm_other_ways(lanes, members, before, size)
        members, before, size = members[passes], before.take(passes), size[passes]
    clock, fraction = before.row("clock"), before.row("fraction")
    short, landed = (share * size for share in first_switch(lanes, members, before, size))
    early = felt(lanes, members, before, (short, landed)) & (landed > SHORTEST * before.row("clock"))
    ends = clock + np.where(early, (1.0 - NEAR) * landed, landed)
    if lanes.settings.stop_at_poses:
        goes = ~stop_where_passed(lanes, members, before, tried_step(lanes, members, before, ends - clock))
        members, before, early = members[goes], before.take(goes), early[goes]
        size, fraction, landed, ends = (values[goes] for values in (size, fraction, landed, ends))
    step_to(lanes, members, before, ends)
    start = watched_events(before)
    lanes.table.set("event", signed(start, lanes.table.rows("event", members)), members)
    act(lanes, members, start)
    ahead = until_next_switch(start, lanes.table.rows("event", members), landed)
    next_sizes = np.where(early, 2.0 * NEAR * landed, np.minimum(fraction, BEYOND * ahead))
    lanes.table.set("fraction", next_sizes, members)
    if lanes.tape is not None:
        lanes.tape.note(lanes, members)
    passed, back = passed_and_back(lanes, members, start, BACK * np.minimum(size, ahead))
    sliding.note(members[~early], passed[:, ~early], back[:, ~early])


def _advance(lanes: Ensemble, programs: Programs, members: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Lets the kernel take some steps of some members, and counts them; an interrupt leaves them where they were."""
    # A tape notes every step where it begins; one that passes a pose at which a lane is to stop is not taken.
    room = ROOM if lanes.tape is None and not lanes.settings.stop_at_poses else 1
    if lanes.settings.stop_at_poses:
        turn_little(lanes, members)
    batches: list[tuple[Steps, LaneTable, np.ndarray]] = []
    groups: list[Group] = []
    for recording, partition, alike in lanes.groups(members):
        before = lanes.table.take(alike)
        after, everyone = before.copy(), np.arange(len(alike))
        noted = np.full((len(alike), room, programs.width), np.nan, before.dtype)
        batches.append((Steps(recording, partition, alike, before), after, noted))
        groups.append(Group(programs.of(partition), after.shown, stops[alike], noted, everyone, after.resident))
    lanes.kernel.advance(groups, h=lanes.settings.h, t0=lanes.settings.t0)
    taken = np.zeros(len(members), int)
    with shielded():
        for steps, after, noted in batches:
            if lanes.settings.stop_at_poses:
                stopped = stop_where_passed(lanes, steps.members, steps.before, after)
                after.put(stopped, steps.before.take(stopped))
                noted[stopped] = np.nan
            lanes.table.put(steps.members, after)
            steps.note(lanes, noted)
            taken[np.searchsorted(members, steps.members)] = np.isfinite(noted[:, :, 0]).sum(1)
        if lanes.tape is not None:
            frozen = lanes.table.trips(members).members
            lanes.tape.note(lanes, np.setdiff1d(members, frozen, assume_unique=True))
    return taken
