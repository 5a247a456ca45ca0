"""From a prepared model to the lanes of its members at their start, assembled or as an earlier run left them.

Host code; what `simulate` steps from, and `assemble` gives as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.errors import ModelError
from shiftjax.kernels.contract import Kernel
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import coordinates_of
from shiftjax.measures.run_metrics import Metrics
from shiftjax.outcome import Outcome, WithRemedy
from shiftjax.run.advance.ending import Ending
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.first_lanes import GAP_LIMIT, begin
from shiftjax.run.advance.repeats import RepeatedEnds
from shiftjax.run.advance.settings import Settings
from shiftjax.run.advance.singular.singular_stops import end_at_poses
from shiftjax.run.going_on import go_on, program_of
from shiftjax.run.inertias import judge_inertias, odd_inertias
from shiftjax.run.options import NumericsOptions, Options
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.results.result import Result
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.branches import gaps as gaps_of
from shiftjax.run.start.driven.driven_starts import put_on_drivers
from shiftjax.run.start.driven.drives import refuse_beyond_tables
from shiftjax.run.start.event_values import with_events
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.physical import impossible
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.refusals import massless_members, refuse_massless_motion, refuse_open_welds
from shiftjax.run.start.singular_starts import with_ways
from shiftjax.run.start.stated import Start
from shiftjax.topology.partition import MemberBlocks

NO_BRANCH = (
    ", and its drivers lead it from there along no branch that was found: begin beside the pose, or, where they do not "
    "begin at rest, state the speeds of one branch"
)
CLOCKS = {"f64": 2.0**53, "f32": 2.0**24}  # steps that a number of the lanes counts exactly


def unsound(prepared: Prepared, begin: float, end: float, *, strict: bool) -> dict[int, str]:
    """Member -> what is impossible about its numbers, so that it is not run.

    Args:
        begin, end: of the run [s]. strict: whether inertias that no body has are refused, too.

    Raises:
        ModelError: a table of one of the others that is shorter than the run.
    """
    faulty = with_events(prepared, impossible)
    if strict:
        faulty = {**odd_inertias(prepared), **faulty}
    sound = np.setdiff1d(np.arange(prepared.members), np.array([*faulty], int), assume_unique=True)
    if len(sound):
        refuse_beyond_tables(prepared.plan, prepared.lane_of(sound, 1.0), begin, end)
    return faulty


@dataclass(frozen=True)
class Begun:
    """A run at its start: the model made ready, where its members begin, their lanes there, and what is measured."""

    prepared: Prepared
    start: Start
    lanes: Ensemble
    measured: Metrics


def start_from(
    prepared: Prepared, start: Result | None, faulty: Mapping[int, str], t0: float = 0.0, *, massless: bool = False,
    moving: bool = True,
) -> Start:  # fmt: skip
    """Assembled starts, or the end of an earlier result.

    Args:
        t0: the time at which that goes on [s], where members do not stand at instants of their own.
        massless: whether motions that move no mass may be, as where nothing is asked that depends on masses.
        moving: whether speeds are wanted, as of `start_of`; members on singular poses have them.
    """
    if start is None:
        refuse_open_welds(prepared)
        if not massless and not odd_inertias(prepared):  # those are judged member by member
            refuse_massless_motion(prepared, prepared.file_start)
        began = start_of(prepared, faulty, moving=moving)
        return with_ways(prepared, began, None if moving else partial(start_of, prepared, faulty))
    before, now = ({path: joint.type for path, joint in m.joints()} for m in (start.model, prepared.model))
    if start.final is None or before != now:
        raise ModelError(
            "start", "a result of another mechanism", "one of the same joints", "Go on with its own model."
        )
    q, v, states = (np.atleast_2d(np.asarray(start.final[name])).T for name in ("q", "v", "states"))
    if q.shape[1] != prepared.members:
        raise ModelError("start", f"{q.shape[1]} members", f"{prepared.members}", "Go on with the same vary.")
    status, gap = np.atleast_1d(start.status), np.zeros(prepared.members)
    good = status <= 0
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    for s, block in enumerate(prepared.plan.substructures):
        groups = [prepared.plan.constraints[k] for k in block.groups]
        still = np.repeat([not group.time_dependent for group in groups], [group.rows for group in groups])
        gap = np.maximum(gap, np.abs(host.closure(lane, q, s)[0][:, still]).max(1, initial=0.0))
    if (gap[good] > GAP_LIMIT[prepared.setup.precision]).any():
        fault = f"loops open by up to {gap[good].max():.3g} (rad, or parts of the model's length)"
        raise ModelError("start", fault, "the end of a run with the same lengths", "Vary the same values as there.")
    # The numbers of a member that ended early stay; only one that never started has none.
    never = status == int(Outcome.not_assembled)
    gaps = np.atleast_1d(start.certificate["gap"])
    lane = lane if prepared.instants is not None else replace(lane, t=t0)
    moved, remarks, lost = put_on_drivers(lane, q, v, good, GAP_LIMIT[prepared.setup.precision])
    brought, q = good & (moved != q).any(0), moved
    standing = replace(Start.standing(q, v, states, ~never & ~lost, gaps), remarks=remarks, brought=brought)
    if not lost.any():
        return standing
    gap, worst, _ = gaps_of(prepared.plan, lane, q)
    return replace(standing, gap=np.where(lost, gap, gaps), worst=worst)


def lanes_at(
    prepared: Prepared,
    kernel: Kernel,
    settings: Settings,
    began: Start,
    blocks: Sequence[MemberBlocks],
    observed: Sequence[Channel],
    measured: Metrics,
    posed: np.ndarray,
    faulty: Mapping[int, str],
    options: Options,
    programs: type[Programs] = Programs,
) -> Ensemble:
    """All members at their start, or as an earlier run left them; of those posed all coordinates are recorded, too.

    Args:
        programs: what makes the lane programs: of motions, or of paths of poses.
    """
    before = None if options.numerics.independent else options.start.start
    good = began.closed & np.isfinite(began.q).all(0) & np.isfinite(began.v).all(0)
    if options.start.strict_start:
        good &= ~began.changed
    good[list(faulty)] = False
    plan, setup = prepared.plan, prepared.setup
    coordinates = coordinates_of(plan)
    others = np.setdiff1d(np.arange(prepared.members), posed, assume_unique=True)
    every = ((observed, others), ((*observed, *coordinates), posed))
    recordings = [(programs(setup, channels, measured), members) for channels, members in every if len(members)]
    if before is not None and _can_go_on(prepared, settings, before.ending, recordings[0][0].identity):
        assert before.ending is not None
        lanes = go_on(kernel, settings, before.ending, recordings)
        lanes.odd_inertias.update(odd_inertias(prepared))
        return lanes
    if before is not None:
        good &= np.atleast_1d(before.status) <= 0
    numbers = prepared.parameters()
    lanes = begin(kernel, settings, began, numbers, good, blocks, recordings, prepared.instants)
    lost = np.flatnonzero((lanes.status == int(Outcome.non_finite)) & np.isfinite(prepared.values).all(0))
    lanes.end(massless_members(prepared, began, lost), Outcome.no_mass)
    lanes.odd_inertias.update({k: text for k, text in odd_inertias(prepared).items() if k not in faulty})
    judge_inertias(prepared, lanes, np.flatnonzero(good))
    lanes.end({k: WithRemedy(text) for k, text in began.lacking.items()}, Outcome.not_assembled)
    lanes.end(faulty, Outcome.unphysical)
    lanes.status[~np.isfinite(prepared.values).all(0)] = int(Outcome.non_finite)
    lanes.warn(np.flatnonzero(began.changed & good), Outcome.start_changed)
    lanes.warn(np.flatnonzero(began.unsure), Outcome.branch_unsure)
    if began.at_pose is not None:
        _judge_poses(lanes, began, prepared)
    if before is not None:
        lanes.samples.drift += errors_of(before)
        ended = np.atleast_1d(before.status) > 0
        lanes.status[ended] = np.atleast_1d(before.status)[ended]
    return lanes


def _judge_poses(lanes: Ensemble, began: Start, prepared: Prepared) -> None:
    """Members that begin on a singular pose stop there where they are to; nothing says how those at rest go on.

    Where drivers lead the loops these would open: such a member does not begin.
    """
    assert began.at_pose is not None and began.ways is not None
    here = np.flatnonzero((began.at_pose >= 0) & (lanes.status <= 0))
    if lanes.settings.stop_at_poses:
        end_at_poses(lanes, here, lanes.clock_of(here), began.at_pose[here])
        return
    lost = here[~np.isfinite(began.ways[:, :, here]).all((0, 1))]
    blocks, groups = prepared.plan.substructures, prepared.plan.constraints
    led = np.array([any(groups[g].time_dependent for g in blocks[s].groups) for s in began.at_pose[lost]], bool)
    lanes.warn(lost[~led], Outcome.near_singular)
    end_at_poses(lanes, lost[led], lanes.clock_of(lost[led]), began.at_pose[lost[led]], NO_BRANCH)


def observes(lanes: Ensemble, slots: Collection[int]) -> bool:
    """Whether what is recorded of members that run reads some slots of the lanes' numbers."""
    good = np.flatnonzero(lanes.status <= 0)[:1]
    if not len(good):
        return False
    recording, partition, _ = next(iter(lanes.groups(good)))
    return any(not piece.read.isdisjoint(slots) for piece in recording.programs.of(partition).observe)


def repeated_ends(before: Result | None, began: Start) -> RepeatedEnds | None:
    """From where the repeats of a run go on: of members that were brought elsewhere nobody knows."""
    if before is None or before.repeated is None or began.brought is None:
        return None if before is None else before.repeated
    away, ends = np.flatnonzero(began.brought), before.repeated
    nowhere = (np.full((len(rows), len(away)), np.nan) for rows in (ends.q, ends.v, ends.states))
    return ends.changed(away, *nowhere)


def errors_of(before: Result | None) -> np.ndarray | float:
    """(B,) errors of coordinates with which a run begins that goes on from another [rad, or parts of the length]."""
    return 0.0 if before is None else np.nan_to_num(np.atleast_1d(before.certificate["angle_error"]))


def _can_go_on(prepared: Prepared, settings: Settings, ending: Ending | None, identity: str) -> bool:
    """Whether the lanes of an ending are those of this run: the same code, numbers and settings."""
    if ending is None or ending.program != program_of(prepared.setup, identity, settings):
        return False
    if ending.steps + settings.steps >= CLOCKS[prepared.setup.precision]:
        return False
    now = prepared.parameters().astype(ending.table.dtype)
    return np.array_equal(ending.table.rows("p"), now, equal_nan=True)


def first_partitions(
    prepared: Prepared, began: Start, settings: Settings, numerics: NumericsOptions
) -> list[MemberBlocks]:
    """For every substructure the partition of every member."""
    schedule = numerics.schedule
    if schedule is None:
        return partitions(prepared, began, settings.multiplier, numerics.independent)
    if numerics.independent:
        raise ModelError("independent", "a schedule, too", "one of them", "The schedule holds all partitions.")
    schedule.check(prepared.plan, prepared.members, (settings.h, settings.steps, settings.t0), settings.singular)
    return schedule.partitions()
