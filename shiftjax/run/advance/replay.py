"""Repeats a run along its schedule: each member is advanced to its next decision, which is then carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from shiftjax.kernels.guards import EVENTS, causes
from shiftjax.outcome import Outcome
from shiftjax.run.advance.controlled_steps import follow as follow_steps
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.samples import next_samples
from shiftjax.run.advance.sampling import begin_samples, sample
from shiftjax.run.advance.schedule import STEPS, Schedule
from shiftjax.run.advance.singular.singular_steps import best_of
from shiftjax.run.advance.switches import cross_events, note_skipped
from shiftjax.shield import shielded
from shiftjax.topology.partition import MemberBlocks


def replay(lanes: Ensemble, schedule: Schedule) -> None:
    """Advances all lanes along a schedule; a lane that cannot follow it ends as `non_finite`."""
    settings = lanes.settings
    # No trigger and no window: what was decided there stands in the schedule.
    lanes.settings = dataclasses.replace(settings, repartition=False, move_steps=False, stop_at_poses=False)
    lanes.table.set("limit", np.inf)
    try:
        if settings.tolerance is None:
            _follow(lanes, schedule, settings.progress)
        else:
            follow_steps(lanes, schedule)
        _end(lanes, schedule)
    finally:
        lanes.settings = settings
    settings.progress(1.0)


def _follow(lanes: Ensemble, schedule: Schedule, progress: Callable[[float], None]) -> None:
    rounds = schedule.rounds()
    begin_samples(lanes, np.flatnonzero(lanes.status <= 0))
    for k, decisions in enumerate(rounds):
        members = schedule.member[decisions]
        _advance(lanes, members, lanes.settings.before + schedule.clock[decisions])
        with shielded():
            _decide(lanes, schedule, decisions, members)
        progress(k / len(rounds))
    everyone = np.arange(len(schedule.end))
    _advance(lanes, everyone, lanes.settings.before + schedule.end)


def _end(lanes: Ensemble, schedule: Schedule) -> None:
    """What every member ended with."""
    follows = lanes.status <= 0
    lanes.status[follows] = schedule.status[follows]
    lanes.warnings[follows] |= np.where(schedule.status < 0, 1 << np.abs(schedule.status), 0)[follows]
    lanes.rejected[:] = schedule.rejected


def _decide(lanes: Ensemble, schedule: Schedule, decisions: np.ndarray, members: np.ndarray) -> None:
    """Carries out decisions, one of each of some members."""
    for s in np.unique(schedule.substructure[decisions]):
        here = (schedule.substructure[decisions] == s) & (lanes.status[members] <= 0)
        for choice in np.unique(schedule.choice[decisions][here]):
            deciding = members[here & (schedule.choice[decisions] == choice)]
            if s == STEPS:
                start = lanes.table.rows("event", deciding).copy()
                best_of(lanes, deciding, [schedule.patterns[choice]])
                note_skipped(lanes, deciding, start)
                sample(lanes, deciding[lanes.status[deciding] <= 0])
            else:
                lanes.adopt(int(s), deciding, MemberBlocks.alike(schedule.blocks[s][choice], len(deciding)))


def _advance(lanes: Ensemble, members: np.ndarray, until: np.ndarray) -> None:
    """Lets some members run to their steps, by way of the instants of samples."""
    while True:
        until = np.minimum(until, lanes.ends[members])  # of some an event may have become the end
        running = (lanes.status[members] <= 0) & (lanes.clock_of(members) < until)
        members, until = members[running], until[running]
        if not len(members):
            return
        trips = lanes.advance(members, np.minimum(until, next_samples(lanes.samples.at[members])))
        at_event = causes(lanes.layout, trips.codes)[EVENTS.name] >= 0
        cross_events(lanes, trips.members[at_event])
        lanes.status[trips.members[~at_event]] = int(Outcome.non_finite)
        sample(lanes, members[lanes.status[members] <= 0])
