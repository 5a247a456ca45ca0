"""From the lanes of a finished run to its Result: channels, poses, certificate. Host code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import plus
from shiftjax.dynamics.kinematics import ground_point
from shiftjax.kernels.workers import copied
from shiftjax.measures.channel import Channel
from shiftjax.measures.run_metrics import Measured
from shiftjax.outcome import Outcome
from shiftjax.rotations import quaternion_of_rotation
from shiftjax.run.advance.accuracy import accumulated, angle_errors, energy_errors
from shiftjax.run.advance.ending import Ending
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.numbers_set import in_force
from shiftjax.run.results.event_history import EventHistory
from shiftjax.run.results.repartition_log import RepartitionLog
from shiftjax.run.results.result import CERTIFICATE, Result
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.topology.plan import Plan

WHOLE = 1e-9  # a number of steps this near a whole one is one


def collect(
    prepared: Prepared,
    lanes: Ensemble,
    began: Start,
    observed: Sequence[Channel],
    posed: np.ndarray,
    *,
    batched: bool,
    measure: Callable[[np.ndarray, Mapping[str, np.ndarray]], Measured],
    messages: tuple[str, ...],
    notes: tuple[str, ...],
    ending: Ending | None,
    report: dict[str, Any],
    asked: dict[str, Any],
    wall: Callable[[], float],
    history: EventHistory | None = None,
    numbers: Mapping[str, int] | None = None,
) -> Result:
    """The result.

    Args:
        observed: the channels. posed: (K,) members whose coordinates were recorded after them.
        batched: False takes the member axis away.
        measure: the metrics, from instants (n,) and channels (B, n, ...) by path.
        messages, notes: of `run.results.messages`. ending: of `run.going_on`. wall: seconds of the whole call so far.
        asked: further settings, as the user gave them. history: of events.
        numbers: path of each that events have set -> its row among those of the lanes.
    """
    settings, setup, plan = lanes.settings, prepared.setup, prepared.plan
    ticks = settings.steps // settings.every + 1
    pick = (lambda a: a) if batched else (lambda a: a[0])
    channels, poses = _recorded(prepared, lanes, observed, posed, ticks)
    time = settings.t0 + settings.h * settings.every * (settings.before / settings.every + np.arange(ticks))
    measured = measure(time, channels)
    units = prepared.model.number_units()
    final = _final(lanes, plan, numbers or {})
    return Result(
        time=time,
        channels={path: pick(values) for path, values in channels.items()},
        units={
            **{path: units[path] for path in prepared.vary},
            **{channel.path: channel.unit for channel in observed},
        },
        metrics={path: pick(values) for path, values in measured.values.items()},
        extremes={
            channel.path: pick(measured.extremes[channel.path][..., 0 if channel.scalar else slice(None)])
            for channel in observed
            if channel.path in measured.extremes
        },
        metric_units=measured.units,
        metric_texts=measured.texts,
        metric_aims=measured.aims,
        events=history,
        certificate={name: values if batched else values.item(0) for name, values in certificate(lanes, began).items()},
        status=pick(lanes.status),
        branch=pick(began.branch.astype(str)),
        messages=messages,
        poses={path: pick(values) for path, values in poses.items()},
        kept=posed,
        design=dict(zip(prepared.vary, prepared.values, strict=True)),
        model=prepared.model,
        report=report,
        settings={
            "span": settings.h * settings.steps,
            "step": settings.h,
            "output_step": settings.h * settings.every,
            "method": setup.method,
            "tolerance": settings.tolerance,
            "precision": setup.precision,
            "repartition": settings.repartition,
            "move_steps": settings.move_steps,
            "t0": settings.begin,
            **asked,
        },
        log=_log(prepared.plan, lanes),
        programs=lanes.recordings[0].programs.pieces,
        compile_s=lanes.kernel.compile_s,
        wall_s=wall(),
        notes=notes,
        final={name: pick(values) for name, values in final.items()},
        schedule=lanes.schedule(),
        ending=ending,
        repeated=lanes.repeats and lanes.repeats.ends,
    )


def _final(lanes: Ensemble, plan: Plan, numbers: Mapping[str, int]) -> dict[str, np.ndarray]:
    """What `Result.final` has of all members."""
    q, x, p = (copied(lanes.table.rows(name), float) for name in ("q", "x", "p"))
    v, states = x[: plan.nv].T, x[plan.nv : plan.nv + plan.ns].T
    time = lanes.settings.t0 + lanes.clock_of().astype(float) * lanes.settings.h
    return {"q": q.T, "v": v, "states": states, "time": time, **{path: p[row] for path, row in numbers.items()}}


def _recorded(
    prepared: Prepared, lanes: Ensemble, observed: Sequence[Channel], posed: np.ndarray, ticks: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Channels (B, n, ...) of all members, and poses (K, n, 7) of all bodies of those whose poses are recorded."""
    width = sum(channel.size for channel in observed)
    q = np.zeros((len(posed), ticks, 0))
    whole = len(lanes.recordings[0].members) == prepared.members  # which is every member's then, and need not be copied
    every = lanes.recordings[0].out[:, :, :width].astype(float, copy=False) if whole else None
    if every is None:
        every = np.full((prepared.members, ticks, width), np.nan)
        for recording in lanes.recordings:
            every[recording.members] = recording.out[:, :, :width]
    for recording in lanes.recordings:
        if recording.members is posed:
            q = recording.out[:, :, width:].astype(float)
    channels, at = {}, 0
    for channel in observed:
        values = every[:, :, at : at + channel.size]
        channels[channel.path] = values[:, :, 0] if channel.scalar else values
        at += channel.size
    return channels, _poses(prepared, lanes, posed, q) if len(posed) else {}


def _poses(prepared: Prepared, lanes: Ensemble, posed: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
    """Poses of all bodies for coordinates (K, n, nq) of the posed members."""
    plan, (count, n, _) = prepared.plan, q.shape
    motion, values = host.motion_of(_lane_at_ticks(prepared, lanes, posed, n), q.reshape(count * n, -1).T)
    chain, point = motion.chain(), ground_point(plan, motion.params)
    out: dict[str, np.ndarray] = {}
    for k, node in enumerate(plan.nodes):
        if k and not node.virtual:
            state = chain.node(k)
            pose = values.numbers([*plus(state.p, point), *quaternion_of_rotation(state.R)])
            numbers = host.per_member(pose, count * n).T.reshape(count, n, 7)
            # after a member's end: the sign of a computed NaN depends on how many members NumPy takes at once
            out[node.path] = np.where(np.isnan(numbers), np.nan, numbers)
    return out


def _lane_at_ticks(prepared: Prepared, lanes: Ensemble, posed: np.ndarray, ticks: int) -> host.StartLane:
    """The lane of the posed members at all instants, with the numbers that events have set by then."""
    settings, members = lanes.settings, np.repeat(posed, ticks)
    p = prepared.parameters()[:, members]
    clock = np.tile(settings.before + settings.every * np.arange(ticks), len(posed)).astype(float)
    # A step of fixed size that ends at an event is recorded behind it, one of a tolerance before.
    for row, value, there in in_force(lanes.sets, members, clock, at_once=settings.tolerance is None):
        p[row, there] = value
    return prepared.lane_with(members, p)


def certificate(lanes: Ensemble, began: Start) -> dict[str, np.ndarray]:
    """The accuracy of every member (design rule 4); NaN, but for the gap, where a member never started."""
    energy, (angle, lost), clock = energy_errors(lanes), angle_errors(lanes), lanes.clock_of()
    steps = np.empty(len(clock), int) if lanes.settings.tolerance is None else lanes.schedule().taken
    gap, velocity_gap, energy_error, angle_error, ratio, change = figures = np.empty((6, len(clock)))

    def certify(some: slice) -> None:
        acc = accumulated(lanes, some)
        if lanes.settings.tolerance is None:
            steps[some] = np.floor(clock[some] + WHOLE)
        with np.errstate(all="ignore"):
            condition = np.maximum(acc["squared_condition"], 1.0)
            ratio[some] = 1.0 / np.sqrt(condition) if lanes.setup.blocks else 1.0
        never = ~began.closed[some] | np.isin(lanes.status[some], (Outcome.unphysical, Outcome.not_assembled))
        velocity_gap[some], energy_error[some], angle_error[some] = (
            acc["velocity_gap"],
            energy[some],
            angle[some] + lost[some],
        )
        figures[1:5, some] = np.where(never, np.nan, figures[1:5, some])
        gap[some] = np.where(never, began.gap[some], acc["gap"])
        change[some] = np.maximum(began.change[some], began.speed_change[some])

    lanes.in_portions(certify)
    values = [gap, velocity_gap, energy_error, angle_error, lanes.repartitions, ratio, steps, lanes.rejected, change]
    return dict(zip(CERTIFICATE, values, strict=True))


def _log(plan: Plan, lanes: Ensemble) -> RepartitionLog:
    """The entries of `Result.log`."""
    names, batches = plan.speed_names(), lanes.log
    first = np.cumsum([0, *map(len, lanes.known)])  # of a substructure's partitions among all
    sets = [tuple(names[k] for k in block.independent) for known in lanes.known for block in known]
    jacobians = [jacobian for batch in batches if batch.jacobians is not None for jacobian in batch.jacobians]
    return RepartitionLog(
        _joined([batch.time for batch in batches], float),
        _joined([batch.member for batch in batches], int),
        _joined([np.full(len(batch.member), batch.substructure) for batch in batches], int),
        _joined([first[batch.substructure] + batch.old for batch in batches], int),
        _joined([first[batch.substructure] + batch.new for batch in batches], int),
        sets,
        jacobians or None,
    )


def _joined(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, kind), *arrays]).astype(kind)
