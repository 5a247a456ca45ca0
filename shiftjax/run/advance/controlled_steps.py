"""Steps whose sizes were chosen, one after the other: what is noted and recorded of them, and a run along a schedule.

Output instants change no step: each is reached by a shorter step of its own from the beginning of the step in which it
lies, so that the state there is of the method's order, and its loops are closed. Many of them are taken at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from shiftjax.kernels.contract import Group, evaluated
from shiftjax.kernels.guards import disarm
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import METRICS as MEASURED
from shiftjax.run.advance.ensemble import Ensemble, Recording
from shiftjax.run.advance.sampling import sample_step
from shiftjax.run.advance.schedule import Schedule
from shiftjax.run.advance.singular.pose_instants import beside_poses
from shiftjax.run.advance.switches import act
from shiftjax.run.programs.setup import ACCUMULATORS, REPORTS
from shiftjax.shield import shielded
from shiftjax.topology.partition import MemberBlocks, Partition

INSTANTS = 8192  # output instants taken at once


@dataclass(frozen=True)
class Steps:
    """Steps of members of one partition, from `before`."""

    recording: Recording
    partition: Partition
    members: np.ndarray
    before: LaneTable

    def note(self, lanes: Ensemble, noted: np.ndarray) -> None:
        """Notes the steps that were taken, and records the instants in them.

        Args:
            noted: (B, room, width) at the end of each: clock, state, accumulators of metrics, kinetic energy.
        """
        table, nv, first = self.before, lanes.setup.plan.nv, 1 + lanes.layout.nq
        taken = np.isfinite(noted[:, :, 0])
        lane, step = np.nonzero(taken)
        ends = noted[lane, step, 0]
        lanes.chosen.append(np.stack([self.members[lane], ends]))
        most = table.rows("acc", within=ACCUMULATORS.index("kinetic")).copy()
        for k in range(int(taken.sum(1).max(initial=0))):
            here = taken[:, k]
            end = noted[here, k]
            most[here] = np.maximum(most[here], end[:, -1])
            sample_step(lanes, self.members[here], end[:, 0], end[:, first : first + nv].T, end[:, -1], most[here])
        begin = _noted(table)
        states = np.concatenate([begin.T[:, None], noted[:, :, :-1]], axis=1)
        self.record(lanes, lane, states[lane, step].T, states[lane, step + 1].T)

    def record(self, lanes: Ensemble, lane: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> None:
        """Records the output instants in some steps.

        Where a step to an instant would come too near a singular pose, it is reached as `pose_instants` says.

        Args:
            lane: (n,) places of the members of the steps. begins, ends: (numbers, n) clock, state and accumulators of
                metrics where the steps begin and end.
        """
        if not self.recording.out.shape[2]:
            return
        origin, every = lanes.settings.before, lanes.settings.every
        first, last = (np.floor((at - origin) / every).astype(int) for at in (begins[0], ends[0]))
        count = last - first
        which = np.repeat(np.arange(len(lane)), count)
        number = first[which] + 1 + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        for part in np.split(np.arange(len(which)), range(INSTANTS, len(which), INSTANTS)):
            step, tick = which[part], number[part]
            members, instants = self.members[lane[step]], origin + tick * every
            table, end = (self._table(lane[step], numbers[:, step]) for numbers in (begins, ends))
            begin = table.copy()
            self.take(lanes, table, instants)
            near = lanes.near_pose(members, table) >= 0
            if near.any():
                lanes.interpolated[members[near]] = True
                ways = begin.take(near), end.take(near), instants[near]
                table.put(near, beside_poses(lanes, members[near], *ways, partial(self.take, lanes)))
                table.set("clock", instants)
            program, settings = self.recording.programs.of(self.partition), lanes.settings
            seen = evaluated(lanes.kernel, program, "observe", table, settings.t0, settings.h)
            self.recording.out[self.recording.row(members), tick] = np.asarray(seen).T

    def _table(self, lane: np.ndarray, numbers: np.ndarray) -> LaneTable:
        """Lanes of some members with (numbers, n) clock, state and accumulators of metrics."""
        table = self.before.take(lane)
        states = table.states
        table.set("clock", numbers[0])
        table.set_state(numbers[1 : 1 + states])
        table.set("acc", numbers[1 + states :], within=MEASURED)
        return table

    def take(self, lanes: Ensemble, table: LaneTable, ends: np.ndarray) -> None:
        """One step of every lane of a table, in place, that ends at its clock; nothing stops it."""
        begin = table.row("clock").copy()
        table.set("fraction", ends - begin)
        table.set("trip", 0.0)
        disarm(table)
        passed = begin + 0.5 * (ends - begin)  # by one step
        program, nowhere = self.recording.programs.of(self.partition), np.full(len(begin), -1)
        group = Group(program, table.shown, passed, None, nowhere, table.resident)
        lanes.kernel.advance([group], h=lanes.settings.h, t0=lanes.settings.t0)
        table.set("clock", ends)


# -- along a schedule ------------------------------------------------------------------------------------------------


def follow(lanes: Ensemble, schedule: Schedule) -> None:
    """Advances all lanes by the steps of a schedule; a lane that cannot follow it ends as `non_finite`."""
    first = np.cumsum(schedule.taken) - schedule.taken
    decisions, most = _Decisions(schedule), int(schedule.taken.max(initial=0))
    for k in range(most):
        members = np.flatnonzero((schedule.taken > k) & (lanes.status <= 0))
        with shielded():
            decisions.carry_out(lanes, members)
        ends = np.zeros(len(lanes.status))
        ends[members] = schedule.ends[first[members] + k]
        start = lanes.table.rows("event", members)
        for recording, partition, alike in lanes.groups(members):
            follow_step(lanes, Steps(recording, partition, alike, lanes.table.take(alike)), ends[alike])
        if lanes.guarded_events:  # at which the steps of the run have ended
            act(lanes, members, start)
        if lanes.tape is not None:
            lanes.tape.note(lanes, members[lanes.status[members] <= 0])
        lanes.settings.progress(k / most)
    decisions.carry_out(lanes, np.flatnonzero(lanes.status <= 0))


def follow_step(lanes: Ensemble, steps: Steps, ends: np.ndarray) -> None:
    """One step of some members, to given clocks."""
    members, table = steps.members, steps.before.copy()
    steps.take(lanes, table, ends)
    with shielded():
        lanes.table.put(members, table)
        lanes.chosen.append(np.stack([members, ends]))
        lanes.status[members[table.trips().places]] = int(Outcome.non_finite)
        speeds = table.rows("x", within=slice(lanes.setup.plan.nv))
        kinetic = table.rows("rep", within=REPORTS.index("kinetic"))
        most = table.rows("acc", within=ACCUMULATORS.index("kinetic"))
        sample_step(lanes, members, ends, speeds, kinetic, most)
        steps.record(lanes, np.arange(len(members)), _noted(steps.before), _noted(table))


def step_to(lanes: Ensemble, members: np.ndarray, before: LaneTable, ends: np.ndarray) -> None:
    """One step of members of any partitions, from these numbers of theirs to clocks (n,); no guard freezes them."""
    for recording, partition, alike in lanes.groups(members):
        place = np.searchsorted(members, alike)
        follow_step(lanes, Steps(recording, partition, alike, before.take(place)), ends[place])
        lanes.table.set("limit", before.rows("limit", place), alike)


def _noted(table: LaneTable) -> np.ndarray:
    """(numbers, B) clock, state and accumulators of metrics."""
    return np.concatenate([table.row("clock")[None], table.state(), table.rows("acc", within=MEASURED)])


class _Decisions:
    """The decisions of every member, in their order."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._order = schedule, np.argsort(schedule.member, kind="stable")
        everyone, sorted_members = np.arange(len(schedule.end)), schedule.member[self._order]
        self._next = np.searchsorted(sorted_members, everyone)
        self._last = np.searchsorted(sorted_members, everyone, side="right")

    def carry_out(self, lanes: Ensemble, members: np.ndarray) -> None:
        """Those of some members that were made where they stand."""
        s = self._schedule
        while len(members := members[self._next[members] < self._last[members]]):
            decisions = self._order[self._next[members]]
            due = s.clock[decisions] == lanes.clock_of(members)
            members, decisions = members[due], decisions[due]
            self._next[members] += 1
            for block, choice in np.unique(np.stack([s.substructure, s.choice])[:, decisions], axis=1).T:
                here = (s.substructure[decisions] == block) & (s.choice[decisions] == choice)
                blocks = MemberBlocks.alike(s.blocks[block][choice], int(here.sum()))
                lanes.adopt(int(block), members[here], blocks)
