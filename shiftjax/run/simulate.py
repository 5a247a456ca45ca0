"""`simulate`: from a model to results, for one run or an ensemble. Host code above the driver."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import shiftjax.run.driver as driver
import shiftjax.run.host_evaluation as host
from shiftjax.constraints import Harmonic
from shiftjax.dynamics.channels import channels as recorded
from shiftjax.dynamics.channels import quaternion_of_rotation
from shiftjax.dynamics.kinematics import ground_point
from shiftjax.errors import ModelError, one_of
from shiftjax.formats import load
from shiftjax.kernels.backends import BACKENDS, make_kernel
from shiftjax.kernels.lane_program import DTYPES, METHODS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.units import unit_of
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.assembly import Start
from shiftjax.run.ensemble import Ensemble, Repartition, Settings, begin
from shiftjax.run.lane_program import ACCUMULATORS, count_pieces
from shiftjax.run.prepare import Prepared, partitions, prepare, refuse_massless_motion, refuse_open_welds
from shiftjax.run.report import report_of
from shiftjax.run.result import CERTIFICATE, Result, members_to_keep

DEFAULT_STEP = 1e-3  # s
REPORTED = 1e-6  # a start that differs this much from what the user said is reported [rad or m, per second]
WHOLE = 1e-9  # a ratio of times this near a whole number is one


def simulate(
    model: Model | str,
    span: float | None = None,
    step: float | None = None,
    method: str = "rk4",
    output_step: float | None = None,
    channels: Sequence[str] = (),
    vary: Mapping[str, Any] | None = None,
    hold: Sequence[str] = (),
    start: Result | None = None,
    repartition: bool = True,
    move_steps: bool = True,
    independent: Sequence[str] = (),
    backend: str | None = None,
    precision: str = "f64",
    *,
    drive: Mapping[str, Harmonic] | None = None,
    assign: Mapping[str, float] | None = None,
    keep: int | str = "none",
    threads: int | None = None,
    log_jacobian: bool = False,
    progress: Callable[[float], None] = lambda done: None,
    cut: Sequence[str] = (),
    cluster: bool = True,
) -> Result:
    """Simulates a model, or many variants of it at once.

    Args:
        model: a Model, a library name or a path.
        span: seconds to run; the file's where left out.
        step: seconds; 1 ms, or the next smaller whole fraction of the output step, where left out.
        method: "rk4" or "euler" (semi-implicit).
        output_step: seconds, a whole multiple of the step; where left out, the file's, else first and last instant.
        channels: paths to record.
        vary: number path -> (B,) values, one a member.
        hold: joints that keep their place while loops are closed.
        start: a Result to go on from.
        repartition: False switches the trigger off.
        move_steps: False lets steps land on singular poses.
        independent: joints forced into the first partition.
        backend: "cpu" or "xla"; the fastest there is where left out.
        precision: "f64" or "f32".
        drive: joint -> its prescribed motion.
        assign: number path -> value for all members, walked to from the file's start like varied ones.
        keep: "all", "none" or how many members have the poses of all bodies recorded.
        threads: of the kernel; all cores where left out.
        log_jacobian: the log holds the Jacobian block at every repartition.
        progress: called with the fraction done.
        cut: joints to cut (for comparison).
        cluster: False puts all loops in one substructure (for comparison).

    Returns:
        a Result; without `vary` it has no member axis.

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    begun = clock.perf_counter()
    model = model if isinstance(model, Model) else load(model)
    one_of("method", method, METHODS)
    one_of("precision", precision, DTYPES)
    one_of("backend", backend or "cpu", BACKENDS)
    times = _clock(model, span, step, output_step)
    prepared = prepare(
        model, vary or {}, hold=hold, assign=assign or {}, channel_paths=channels, method=method, precision=precision,
        drive=drive, cut=cut, cluster=cluster,
    )  # fmt: skip
    kernel = make_kernel(backend, precision, threads)
    settings = Settings(
        *times, multiplier=model.settings.infinity_norm_multiplier, repartition=repartition, move_steps=move_steps,
        log_jacobian=log_jacobian, progress=progress,
    )  # fmt: skip
    if start is not None:
        settings.t0 = start.settings["t0"] + start.settings["span"]
    began = _start(prepared, start)
    kept = members_to_keep(keep, prepared.members)
    lanes = _run(prepared, kernel, settings, began, independent, np.arange(prepared.members))
    if start is not None:
        lanes.status[~began.closed] = np.atleast_1d(start.status)[~began.closed]
    poses = _poses(prepared, kernel, settings, began, independent, kept) if len(kept) else {}
    result = _result(
        prepared, lanes, began, kept, poses, kernel, clock.perf_counter() - begun, vary is not None, backend or "cpu"
    )
    return replace(result, notes=notes(prepared, began)) if start is None else result


def _clock(model: Model, span: float | None, step: float | None, output_step: float | None) -> tuple[float, int, int]:
    """Step [s], number of steps, steps between outputs."""
    span = model.settings.span if span is None else span
    if span is None:
        raise ModelError("span", "nothing", "seconds to run", "Give span=, or an integrator block with time_span.")
    output = model.settings.output_step if output_step is None else output_step
    for name, value in (("span", span), ("step", step), ("output_step", output)):
        if value is not None and not (isinstance(value, (int, float, np.number)) and 0 < value < np.inf):
            raise ModelError(name, repr(value), "a positive number of seconds", "Give one.")
    if output_step is not None and output_step > span:
        raise ModelError("output_step", f"{output_step:g} s", f"at most the span, {span:g} s", "Change one of them.")
    given = "" if step is not None else " (the step follows from span and output step)"
    whole = output if output is not None and output <= span else span
    step = float(whole / np.ceil(whole / DEFAULT_STEP - WHOLE)) if step is None else step
    steps = span / step
    if abs(steps - round(steps)) > WHOLE * steps:
        raise ModelError(
            "span", f"{span:g} s with steps of {step:g} s{given}", "a whole number of steps", "Change one of them."
        )
    if output is None or output > span:
        return step, round(steps), round(steps)
    every = output / step
    if abs(every - round(every)) > WHOLE * every:
        raise ModelError(
            "output_step" if output_step is not None else "output_step of the file",
            f"{output:g} s with steps of {step:g} s",
            "a whole multiple of the step",
            "Change one of them.",
        )
    return step, round(steps), round(every)


def _start(prepared: Prepared, start: Result | None) -> Start:
    """Assembled starts, or the end of an earlier result."""
    if start is None:
        refuse_open_welds(prepared)
        refuse_massless_motion(prepared, prepared.file_start)
        return prepared.start()
    before, now = ({path: joint.type for path, joint in m.joints()} for m in (start.model, prepared.model))
    if start.final is None or before != now:
        raise ModelError(
            "start", "a result of another mechanism", "one of the same joints", "Go on with its own model."
        )
    q, v = (np.atleast_2d(np.asarray(start.final[name])).T for name in ("q", "v"))
    if q.shape[1] != prepared.members:
        raise ModelError("start", f"{q.shape[1]} members", f"{prepared.members}", "Go on with the same vary.")
    good, gap = np.atleast_1d(start.status) <= 0, np.zeros(prepared.members)
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    for s, block in enumerate(prepared.plan.substructures):
        loops = host.true_gap(lane, q, s)[:, : 6 * len(block.loops)]
        gap = np.maximum(gap, np.abs(loops).max(1, initial=0.0))
    if (gap[good] > REPORTED).any():
        found = f"loops open by up to {gap[good].max():.3g} (m or rad)"
        raise ModelError("start", found, "the end of a run with the same lengths", "Vary the same values as there.")
    return Start(q, v, good, gap, gap.astype(int), gap)


def _run(
    prepared: Prepared,
    kernel: Any,
    settings: Settings,
    began: Start,
    independent: Sequence[str],
    members: np.ndarray,
) -> Ensemble:
    """Partitions and runs some members."""
    blocks = partitions(prepared, began, settings.multiplier, independent)
    good = began.closed & np.isfinite(began.q).all(0) & np.isfinite(began.v).all(0)
    p = prepared.parameters()
    mine = [[block[k] for k in members] for block in blocks]
    lanes = begin(
        prepared.setup, kernel, settings, began.q[:, members], began.v[:, members], p[:, members], good[members], mine
    )
    lanes.status[~np.isfinite(prepared.values[:, members]).all(0)] = int(Outcome.non_finite)
    driver.run(lanes)
    return lanes


def _poses(
    prepared: Prepared,
    kernel: Any,
    settings: Settings,
    began: Start,
    independent: Sequence[str],
    kept: np.ndarray,
) -> dict[str, np.ndarray]:
    """Poses of all bodies of the kept members: they run once more, bit for bit the same, with coordinates recorded."""
    plan = prepared.plan
    paths = [f"{joint.path}.q" for joint in plan.joints if joint.nq]
    setup = replace(prepared.setup, channels=recorded(plan, paths, [], lambda path: path), programs={})
    again = replace(prepared, setup=setup)
    lanes = _run(again, kernel, replace(settings, progress=lambda done: None), began, independent, kept)
    q = lanes.out.astype(float)  # (K, n, nq): joints in the order of their coordinates
    count, n, _ = q.shape
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


def _result(
    prepared: Prepared,
    lanes: Ensemble,
    began: Start,
    kept: np.ndarray,
    poses: dict[str, np.ndarray],
    kernel: Any,
    wall: float,
    batched: bool,
    backend: str,
) -> Result:
    settings, setup = lanes.settings, prepared.setup
    time = settings.t0 + settings.h * settings.every * np.arange(lanes.out.shape[1])
    pick = (lambda a: a) if batched else (lambda a: a[0])
    channels, at = {}, 0
    units = {path: unit_of(prepared.model, path) for path in prepared.vary}
    for channel in setup.channels:
        values = lanes.out[:, :, at : at + channel.size].astype(float)
        channels[channel.path] = pick(values[:, :, 0] if channel.scalar else values)
        units[channel.path] = channel.unit
        at += channel.size
    final = {"q": pick(lanes.rows("q").T.astype(float)), "v": pick(lanes.rows("x")[: prepared.plan.nv].T.astype(float))}
    return Result(
        time=time,
        channels=channels,
        units=units,
        certificate={name: pick(values) for name, values in certificate(lanes, began).items()},
        status=pick(lanes.status),
        messages=messages(prepared, lanes, began),
        poses={path: pick(values) for path, values in poses.items()},
        kept=kept,
        design=dict(zip(prepared.vary, prepared.values, strict=True)),
        model=prepared.model,
        report=report_of(prepared),
        settings={
            "span": settings.h * settings.steps,
            "step": settings.h,
            "output_step": settings.h * settings.every,
            "method": setup.method,
            "precision": setup.precision,
            "backend": backend,
            "repartition": settings.repartition,
            "move_steps": settings.move_steps,
            "t0": settings.t0,
        },
        log=tuple(_entry(prepared, line) for line in lanes.log),
        programs=count_pieces(setup),
        compile_s=kernel.compile_s,
        wall_s=wall,
        final=final,
    )


def certificate(lanes: Ensemble, began: Start) -> dict[str, np.ndarray]:
    """Accuracy figures of every member (design rule 4); NaN, but for the gap, where a member never started."""
    acc = dict(zip(ACCUMULATORS, lanes.rows("acc").astype(float), strict=True))
    scale = np.maximum(acc["kinetic"], acc["potential"])
    with np.errstate(all="ignore"):
        energy = np.where(scale > 0, acc["energy_error"] / scale, 0.0)
        ratio = 1.0 / np.sqrt(np.maximum(acc["squared_condition"], 1.0)) if lanes.setup.blocks else np.ones(len(scale))
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
        if outcome is Outcome.not_assembled and prepared.plan.loops and began.gap[k] > 0:
            loop = prepared.plan.loops[int(began.worst[k])].name
            text = f"loop closed by {loop} stays open by {began.gap[k]:.3g} (m or rad): {text}"
        elif outcome > 0:
            text = f"at {lanes.settings.t0 + lanes.row('clock')[k] * lanes.settings.h:.6g} s: {text}"
        out.append(text)
    return tuple(out)


def notes(prepared: Prepared, began: Start) -> tuple[str, ...]:
    """What the user said of the start and did not get, because the loops do not allow it."""
    out: list[str] = []
    wanted = host.start_coordinates(prepared.lane_of(np.arange(prepared.members), 1.0), prepared.members)
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


def _entry(prepared: Prepared, line: Repartition) -> dict[str, Any]:
    names = prepared.plan.speed_names()
    return {
        "time": line.time,
        "member": line.member,
        "substructure": line.substructure,
        "old": [names[k] for k in line.old.independent],
        "new": [names[k] for k in line.new.independent],
        **({} if line.jacobian is None else {"jacobian": line.jacobian.tolist()}),
    }
