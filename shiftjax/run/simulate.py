"""`simulate`: from a model to results, for one run or an ensemble. Host code above the driver."""

from __future__ import annotations

import re
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import shiftjax.run.driver as driver
import shiftjax.run.host_evaluation as host
from shiftjax.constraints import CoordinateFunction, TimeFunction
from shiftjax.dynamics.channel import Channel
from shiftjax.dynamics.channels import channels as channels_of
from shiftjax.errors import ModelError, one_of
from shiftjax.formats.files import load
from shiftjax.kernels.backends import BACKENDS, make_kernel
from shiftjax.kernels.contract import Kernel
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.collect import REPORTED, WHOLE, collect
from shiftjax.run.ensemble import Ensemble, Settings, begin
from shiftjax.run.integrators import check_method
from shiftjax.run.interrupted import Interrupted
from shiftjax.run.lane_program import Programs
from shiftjax.run.memory import Need, need_of, refuse_too_much
from shiftjax.run.partitions import partitions
from shiftjax.run.prepare import Prepared, prepare
from shiftjax.run.refusals import refuse_massless_motion, refuse_open_welds
from shiftjax.run.replay import replay
from shiftjax.run.report import report_of
from shiftjax.run.result import Result, members_to_keep
from shiftjax.run.schedule import Schedule
from shiftjax.run.start import Start
from shiftjax.topology.partition import Block

DEFAULT_STEP = 1e-3  # s
CLOCKS = {"f64": 2.0**53, "f32": 2.0**24}  # steps that a number of the lanes counts exactly


def simulate(
    model: Model | str,
    span: float | None = None,
    step: float | None = None,
    *,
    method: str = "rk4",
    output_step: float | None = None,
    channels: Sequence[str] = (),
    keep: int | str = "none",
    log_jacobian: bool = False,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float] | None = None,
    hold: Sequence[str] = (),
    start: Result | None = None,
    drive: Mapping[str, TimeFunction] | None = None,
    tie: Mapping[str, CoordinateFunction] | None = None,
    repartition: bool = True,
    move_steps: bool = True,
    schedule: Schedule | None = None,
    independent: Sequence[str] = (),
    cut: Sequence[str] = (),
    cluster: bool = True,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
    progress: Callable[[float], None] = lambda done: None,
    announce: Callable[[Need], None] = lambda need: None,
) -> Result:
    """Simulates a model, or many variants of it at once.

    Args:
        model: a Model, a library name or a path.
        span: seconds to run; the file's where left out.
        step: seconds; 1 ms, or the next smaller whole fraction of the output step, where left out.

        method: how it is integrated: "rk4" or "euler" (semi-implicit).

        output_step: what is recorded: seconds between instants, a whole multiple of the step; where left out, the
            file's, else first and last instant.
        channels: paths to record.
        keep: "all", "none" or how many members have the poses of all bodies recorded.
        log_jacobian: the log holds the Jacobian block at every repartition.

        vary: the designs: number path -> (B,) values, one a member.
        assign: number path -> value for all members, walked to from the file's start like varied ones.

        hold: the start: joints that keep their place while loops are closed.
        start: a Result to go on from.

        drive: what is prescribed: joint -> its motion, a function of time such as `Harmonic`.
        tie: name -> a `CoordinateFunction` of coordinates and time that stays zero.

        repartition: the choice of coordinates: False switches the trigger off.
        move_steps: False lets steps land on singular poses.
        schedule: of a Result: repeats its partitions and moved steps instead of searching for them, to the last bit on
            the same machine.
        independent: joints forced into the first partition.
        cut: joints to cut (for comparison).
        cluster: False puts all constraints in one substructure (for comparison).

        backend: the machine: "cpu" or "xla"; the fastest there is where left out.
        precision: "f64" or "f32".
        threads: of the kernel; all cores where left out.
        progress: called with the fraction done.
        announce: called before the run with the memory that it takes and the room for its store (bytes).

    Returns:
        a Result; without `vary` it has no member axis.

    Raises:
        ModelError: anything the model or the arguments make impossible.
        Interrupted: Ctrl-C; a KeyboardInterrupt whose `result` holds the members that are done.
    """
    begun = clock.perf_counter()
    model = model if isinstance(model, Model) else load(model)
    check_method(method)
    one_of("precision", precision, DTYPES)
    one_of("backend", backend or "cpu", BACKENDS)
    times = _clock(model, span, step, output_step, CLOCKS[precision])
    prepared = prepare(
        model, vary or {}, hold=hold, assign=assign or {}, method=method, precision=precision, drive=drive, tie=tie,
        cut=cut, cluster=cluster,
    )  # fmt: skip
    observed = channels_of(prepared.plan, channels, model.resolve)
    kernel = make_kernel(backend, precision, threads)
    settings = Settings(
        *times, multiplier=model.settings.infinity_norm_multiplier, repartition=repartition, move_steps=move_steps,
        log_jacobian=log_jacobian, progress=progress,
    )  # fmt: skip
    if start is not None:
        settings.t0 = start.settings["t0"] + start.settings["span"]
    kept = members_to_keep(keep, prepared.members)
    need = need_of(prepared, observed, len(kept), settings.steps // settings.every + 1)
    refuse_too_much(need)
    announce(need)
    began = _start(prepared, start)
    if schedule is None:
        blocks = partitions(prepared, began, settings.multiplier, independent)
    else:
        if independent:
            raise ModelError("independent", "a schedule, too", "one of them", "The schedule holds all partitions.")
        schedule.check(prepared.plan, prepared.members, (settings.h, settings.steps, settings.t0))
        blocks = schedule.partitions()
    lanes = _lanes(prepared, kernel, settings, began, blocks, observed, kept)
    if start is not None:
        lanes.status[~began.closed] = np.atleast_1d(start.status)[~began.closed]
    gather = partial(
        collect, prepared, lanes, began, observed, kept, batched=vary is not None, went_on=start is not None,
        report=report_of(prepared), wall=lambda: clock.perf_counter() - begun, asked={
            "backend": backend or "cpu", "assign": dict(assign or {}), "hold": [*hold], "independent": [*independent],
            "drive": _described(drive), "tie": _described(tie), "cut": [*cut], "cluster": cluster,
        },
    )  # fmt: skip
    return _run(lanes, schedule, gather)


def _described(functions: Mapping[str, Any] | None) -> dict[str, str]:
    """Functions as text: their numbers where they show them, else their names."""
    plain = {path: str(getattr(f, "__qualname__", None) or f) for path, f in (functions or {}).items()}
    return {path: re.sub(r" at 0x[0-9a-f]+", "", text) for path, text in plain.items()}


def _run(lanes: Ensemble, schedule: Schedule | None, gather: Callable[[], Result]) -> Result:
    """The result of lanes at their start; KeyboardInterrupt brings what is done."""
    try:
        if schedule is None:
            driver.run(lanes)
        else:
            replay(lanes, schedule)
        return gather()
    except KeyboardInterrupt as signal:
        lanes.interrupt()
        raise Interrupted(gather) from signal


def _clock(
    model: Model, span: float | None, step: float | None, output_step: float | None, most: float
) -> tuple[float, int, int]:
    """Step [s], number of steps, of which there are `most`, steps between outputs."""
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
    if not steps < most:
        todo = "Take larger steps, or go on from a shorter run with start=."
        raise ModelError("span", f"{span:g} s with steps of {step:g} s{given}", f"less than {most:g} steps", todo)
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
    q, v, states = (np.atleast_2d(np.asarray(start.final[name])).T for name in ("q", "v", "states"))
    if q.shape[1] != prepared.members:
        raise ModelError("start", f"{q.shape[1]} members", f"{prepared.members}", "Go on with the same vary.")
    good, gap = np.atleast_1d(start.status) <= 0, np.zeros(prepared.members)
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    for s, block in enumerate(prepared.plan.substructures):
        groups = [prepared.plan.constraints[k] for k in block.groups]
        still = np.repeat([not group.time_dependent for group in groups], [group.rows for group in groups])
        gap = np.maximum(gap, np.abs(host.true_gap(lane, q, s)[:, still]).max(1, initial=0.0))
    if (gap[good] > REPORTED).any():
        found = f"loops open by up to {gap[good].max():.3g} (m or rad)"
        raise ModelError("start", found, "the end of a run with the same lengths", "Vary the same values as there.")
    return Start(q, v, states, good, gap, gap.astype(int), gap)


def _lanes(
    prepared: Prepared,
    kernel: Kernel,
    settings: Settings,
    began: Start,
    blocks: Sequence[Sequence[Block]],
    observed: Sequence[Channel],
    kept: np.ndarray,
) -> Ensemble:
    """All members at their start; of those that are kept all coordinates are recorded, too."""
    good = began.closed & np.isfinite(began.q).all(0) & np.isfinite(began.v).all(0)
    plan, setup = prepared.plan, prepared.setup
    coordinates = channels_of(plan, [f"{joint.path}.q" for joint in plan.joints if joint.nq], lambda path: path)
    others = np.setdiff1d(np.arange(prepared.members), kept)
    every = ((observed, others), ((*observed, *coordinates), kept))
    recordings = [(Programs(setup, channels), own) for channels, own in every if len(own)]
    lanes = begin(kernel, settings, began, prepared.parameters(), good, blocks, recordings)
    lanes.status[~np.isfinite(prepared.values).all(0)] = int(Outcome.non_finite)
    return lanes
