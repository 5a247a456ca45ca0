"""From the lanes of a finished run to its Result: channels, poses, certificate, messages, notes. Host code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.dynamics.channel import Channel
from shiftjax.dynamics.kinematics import ground_point
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.rotations import quaternion_of_rotation
from shiftjax.run.ensemble import Ensemble, Repartition
from shiftjax.run.prepare import Prepared
from shiftjax.run.result import CERTIFICATE, Result
from shiftjax.run.setup import ACCUMULATORS
from shiftjax.run.start import Start
from shiftjax.topology.plan import Plan

REPORTED = 1e-6  # a start that differs this much from what the user said is reported [rad or m, per second]
WHOLE = 1e-9  # a number of steps this near a whole one is one


def collect(
    prepared: Prepared,
    lanes: Ensemble,
    began: Start,
    observed: Sequence[Channel],
    kept: np.ndarray,
    *,
    batched: bool,
    went_on: bool,
    report: dict[str, Any],
    asked: dict[str, Any],
    wall: Callable[[], float],
) -> Result:
    """The result.

    Args:
        observed: the channels. kept: (K,) members whose coordinates were recorded after them.
        batched: False takes the member axis away.
        went_on: whether the run began where another one ended. wall: seconds of the whole call so far.
        asked: further settings, as the user gave them.
    """
    settings, setup, plan = lanes.settings, prepared.setup, prepared.plan
    ticks = settings.steps // settings.every + 1
    pick = (lambda a: a) if batched else (lambda a: a[0])
    channels, poses = _recorded(prepared, lanes, observed, kept, ticks)
    units = prepared.model.number_units()
    x = lanes.rows("x").T.astype(float)
    final = {
        "q": pick(lanes.rows("q").T.astype(float)),
        "v": pick(x[:, : plan.nv]),
        "states": pick(x[:, plan.nv : plan.nv + plan.ns]),
    }
    return Result(
        time=settings.t0 + settings.h * settings.every * np.arange(ticks),
        channels={path: pick(values) for path, values in channels.items()},
        units={
            **{path: units[path] for path in prepared.vary},
            **{channel.path: channel.unit for channel in observed},
        },
        certificate={name: pick(values) for name, values in certificate(lanes, began).items()},
        status=pick(lanes.status),
        messages=messages(prepared, lanes, began),
        poses={path: pick(values) for path, values in poses.items()},
        kept=kept,
        design=dict(zip(prepared.vary, prepared.values, strict=True)),
        model=prepared.model,
        report=report,
        settings={
            "span": settings.h * settings.steps,
            "step": settings.h,
            "output_step": settings.h * settings.every,
            "method": setup.method,
            "precision": setup.precision,
            "repartition": settings.repartition,
            "move_steps": settings.move_steps,
            "t0": settings.t0,
            **asked,
        },
        log=_log(prepared.plan, lanes.log),
        programs=lanes.recordings[0].programs.pieces,
        compile_s=lanes.kernel.compile_s,
        wall_s=wall(),
        notes=() if went_on else notes(prepared, began),
        final=final,
        schedule=lanes.schedule(),
    )


def _recorded(
    prepared: Prepared, lanes: Ensemble, observed: Sequence[Channel], kept: np.ndarray, ticks: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Channels (B, n, ...) of all members, and poses (K, n, 7) of all bodies of those that were kept."""
    width = sum(channel.size for channel in observed)
    every = np.full((prepared.members, ticks, width), np.nan)
    q = np.zeros((len(kept), ticks, 0))
    for recording in lanes.recordings:
        every[recording.members] = recording.out[:, :, :width]
        if recording.members is kept:
            q = recording.out[:, :, width:].astype(float)
    channels, at = {}, 0
    for channel in observed:
        values = every[:, :, at : at + channel.size]
        channels[channel.path] = values[:, :, 0] if channel.scalar else values
        at += channel.size
    return channels, _poses(prepared, kept, q) if len(kept) else {}


def _poses(prepared: Prepared, kept: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
    """Poses of all bodies for coordinates (K, n, nq) of the kept members."""
    plan, (count, n, _) = prepared.plan, q.shape
    lane = prepared.lane_of(np.repeat(kept, n), 1.0)
    chain = lane.motion(list(q.reshape(count * n, -1).T), None).chain()
    point = ground_point(plan, lane.params)
    out: dict[str, np.ndarray] = {}
    for k, node in enumerate(plan.nodes):
        if k and not node.virtual:
            state = chain.node(k)
            values = [*(p + o for p, o in zip(state.p, point, strict=True)), *quaternion_of_rotation(state.R)]
            out[node.path] = host.per_member(values, count * n).T.reshape(count, n, 7)
    return out


def certificate(lanes: Ensemble, began: Start) -> dict[str, np.ndarray]:
    """Accuracy figures of every member (design rule 4); NaN, but for the gap, where a member never started."""
    acc = dict(zip(ACCUMULATORS, lanes.rows("acc").astype(float), strict=True))
    scale = np.maximum(acc["kinetic"], acc["potential"])
    with np.errstate(all="ignore"):
        energy = np.where(scale > 0, acc["energy_error"] / scale, 0.0)
        condition = np.maximum(acc["squared_condition"], 1.0)
        ratio = 1.0 / np.sqrt(condition) if lanes.setup.blocks else np.ones(len(scale))
    steps = np.floor(lanes.row("clock") + WHOLE).astype(int)
    never = ~began.closed
    gap = np.where(never, began.gap, acc["gap"])
    measured = [np.where(never, np.nan, values) for values in (acc["velocity_gap"], energy, ratio)]
    figures = [gap, measured[0], measured[1], lanes.repartitions, measured[2], steps, lanes.rejected]
    return dict(zip(CERTIFICATE, figures, strict=True))


def messages(prepared: Prepared, lanes: Ensemble, began: Start) -> tuple[str, ...]:
    """Cause and remedy of every member that is not good."""
    out: list[str] = []
    for k, status in enumerate(lanes.status):
        outcome = Outcome(int(status))
        text = REMEDY[outcome]
        if outcome is Outcome.not_assembled and prepared.plan.constraints and began.gap[k] > 0:
            group = prepared.plan.constraints[int(began.worst[k])]
            what = f"loop closed by {group.name}" if group.loop else f"constraint {group.name}"
            text = f"{what} stays open by {began.gap[k]:.3g} (m or rad): {text}"
        elif outcome > 0:
            text = f"at {lanes.settings.t0 + lanes.row('clock')[k] * lanes.settings.h:.6g} s: {text}"
        out.append(text)
    return tuple(out)


def notes(prepared: Prepared, began: Start) -> tuple[str, ...]:
    """What the user said of the start and did not get, because the loops do not allow it."""
    out: list[str] = []
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    wanted = host.per_member(lane.coordinates(), prepared.members)
    for k in prepared.named:
        joint = prepared.plan.joints[k]
        if joint.nq == 1:
            missed = (np.abs(began.q[joint.q] - wanted[joint.q]) > REPORTED) & began.closed
            if missed.any():
                far = float(np.abs(began.q[joint.q] - wanted[joint.q])[missed].max())
                out.append(f"{joint.path} could not be held in {missed.sum()} members: moved by up to {far:.3g}")
    conflicts = (began.conflict > REPORTED) & began.closed
    if conflicts.any():
        far = float(began.conflict[conflicts].max())
        out.append(f"initial speeds contradict the loops in {conflicts.sum()} members: changed by up to {far:.3g}")
    return tuple(out)


def _log(plan: Plan, lines: Sequence[Repartition]) -> tuple[dict[str, Any], ...]:
    """The entries of `Result.log`, by time."""
    names = plan.speed_names()
    blocks = {block for line in lines for block in (line.old, line.new)}
    independent = {block: [names[k] for k in block.independent] for block in blocks}
    return tuple(
        {
            "time": line.time,
            "member": line.member,
            "substructure": line.substructure,
            "old": independent[line.old],
            "new": independent[line.new],
            **({} if line.jacobian is None else {"jacobian": line.jacobian.tolist()}),
        }
        for line in sorted(lines, key=lambda line: (line.time, line.member))
    )
