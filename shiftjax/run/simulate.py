"""`simulate`: from a model to results, for one run or an ensemble. Host code above the driver."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import shiftjax.run.advance.controlled_run as controlled_run
import shiftjax.run.advance.driver as driver
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need_number
from shiftjax.formats.files import load
from shiftjax.kernels.backends import make_kernel, slowness_note
from shiftjax.kernels.choosing import BackendChoice, chosen
from shiftjax.kernels.workers import at_most
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels as channels_of
from shiftjax.measures.passed_knots import watched
from shiftjax.measures.run_metrics import Definition, Metrics
from shiftjax.measures.step_path import StepPath
from shiftjax.mechanism.events import Event, of_run
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.advance.accuracy import estimated_errors, judge, keep_estimates, moves_freely
from shiftjax.run.advance.ending import Ending
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.inputs.fast_inputs import fast_inputs, knots_of_tables
from shiftjax.run.advance.replay import replay
from shiftjax.run.advance.schedule import Schedule
from shiftjax.run.advance.settings import Settings
from shiftjax.run.advance.singular.ends_on_poses import note_ends_on_poses
from shiftjax.run.after_events import begins_at, carried, note_of_instants, numbers_set, varied_beside
from shiftjax.run.arguments import check_arguments, stated_settings
from shiftjax.run.assemblies.branch_starts import on_branch
from shiftjax.run.beginning import (
    CLOCKS,
    Begun,
    errors_of,
    first_partitions,
    lanes_at,
    repeated_ends,
    start_from,
    unsound,
)
from shiftjax.run.derive import Formula
from shiftjax.run.file_integrator import completed, unasked
from shiftjax.run.going_on import ending_of, uncertain_before
from shiftjax.run.half_steps import first_share, repeats_of
from shiftjax.run.indeterminate import notes_of_reactions
from shiftjax.run.inertias import judge_inertias
from shiftjax.run.memory import Need, need_of, notes_of, refuse_too_much
from shiftjax.run.options import MachineOptions, NumericsOptions, Options, options_of
from shiftjax.run.programs.controlled import ControlledPrograms
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.results.collect import WHOLE, collect
from shiftjax.run.results.interrupted import Interrupted
from shiftjax.run.results.messages import messages, notes, recorded_near_singular
from shiftjax.run.results.noted_events import history_of, notes_of_events
from shiftjax.run.results.result import Result, members_to_keep
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.run.topology_report import topology_report
from shiftjax.run.travel.locking import hold_back, say_locked

DEFAULT_STEP = 1e-3  # s
# Options that a result tells beside those that its lanes have, in their order.
ASKED = (
    "assign", "hold", "independent", "drive", "tie", "events", "cut", "cluster", "backend", "branch", "strict_start",
    "strict_inertia", "singular", "energy_limit",
    "gap_limit", "angle_limit", "accuracy",
)  # fmt: skip


def simulate(
    model: Model | str,
    span: float | None = None,
    step: float | None = None,
    *,
    method: str | None = None,
    tolerance: float | None = None,
    output_step: float | None = None,
    channels: Sequence[str] = (),
    metrics: Mapping[str, Definition] | None = None,
    events: Mapping[str, Event | str | Mapping[str, Any] | None] | None = None,
    extremes: bool = False,
    keep: int | str | Sequence[int] = "none",
    log_jacobian: bool = False,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    hold: Sequence[str] = (),
    start: Result | None = None,
    branch: str | int | Sequence[str | int] | None = None,
    strict_start: bool = False,
    strict_inertia: bool = False,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    repartition: bool = True,
    move_steps: bool = True,
    singular: str = "pass",
    schedule: Schedule | None = None,
    independent: Sequence[str] = (),
    cut: Sequence[str] = (),
    cluster: bool = True,
    backend: str | None = None,
    precision: str = "f64",
    energy_limit: float = 1e-3,
    gap_limit: float | None = None,
    angle_limit: float = 1e-3,
    accuracy: str | None = None,
    error_growth: float | None = None,
    threads: int | None = None,
    tape_memory: float | None = None,
    progress: Callable[[float], None] = lambda done: None,
    announce: Callable[[Need], None] = lambda need: None,
    watch: Callable[[Begun], None] = lambda begun: None,
) -> Result:
    """Simulates a model, or many variants of it at once.

    Args:
        model: a Model, a library name or a path.
        span: seconds to run; the file's where left out.
        step: seconds; 1 ms, or the next smaller whole fraction of the output step, where left out.

        method: how it is integrated: "rk4" or "euler" (semi-implicit), with a tolerance "dopri5"; where springs and
            dampers are stiff "rosenbrock", with a step or a tolerance, or "implicit_euler"; "file": as the integrator
            of the model's file says, with the smaller of its errors as tolerance.
        tolerance: in place of a step: what each step may be off by, as it is estimated, in rad or parts of the model's
            length, and of speeds in the same a second and in parts of themselves; steps are as large as it allows.

        output_step: what is recorded: seconds between instants, a whole multiple of the step; where left out, the
            file's, else first and last instant.
        channels: paths to record.
        metrics: name -> a number of every member, taken over all steps: a text such as "peak_to_peak(crank.q)",
            "rms(norm(tip.velocity))" or "first_crossing(crank.q, 90deg)"; a mapping of `kind`, `of` and options; or a
            function of times (n,) and recorded channels by path (B, n, ...) that gives (B,).
        events: name -> an expression of channels that comes to zero, as "crank.q - pi", an `Event`, or a mapping of its
            arguments: `events` of the result has the instants, located within steps, and an event may stop a member.
            Those of the model's file are among them, but for what is given here by their names: None for none.
        extremes: whether the smallest and the largest value of every channel are taken over all steps.
        keep: the members that have the poses of all bodies recorded: "all", "none", how many, or a list of them.
        log_jacobian: the log holds the Jacobian block at every repartition.

        vary: the designs: number path -> (B,) values, one a member. Where JAX traces them, as inside of `jax.grad`,
            channels and metrics of the result are JAX arrays with first derivatives.
        assign: number path -> value for all members, in SI or as "200 mm", walked to from the file's start like
            varied ones.
        derive: number path -> what it follows from: a text such as "7.8 * {rod:tip.T[0]}", paths of numbers in braces,
            or a function of the numbers by path; `rod` makes those of a rod.

        hold: the start: joints that keep their place while loops are closed.
        start: a Result to go on from.
        branch: the name of the assembly branch on which it begins, or one for each member, as `branches` of the model
            gives it where the held and driven joints are; that of the file where left out.
        strict_start: members whose stated start the loops do not allow are not run.
        strict_inertia: members with moments of inertia that no body has are not run.

        drive: what is prescribed: joint -> its motion: a constant speed, (B,) speeds one a member, a `ConstantSpeed`,
            `Harmonic`, `Polynomial` or `Table`, whose numbers may be (B,), or f(t) [rad or m], which JAX traces.
        tie: name -> what ties coordinates of joints, as gears and cams do: an equation of them and the time t as a
            text, "left.q == -2 * right.q", or a `CoordinateFunction` that stays zero.

        repartition: the choice of coordinates: False switches the trigger off.
        move_steps: False lets steps land on singular poses.
        singular: what a member does at a pose where its loops lose rank: "pass", along the branch that its momentum
            leads to, or "stop", with the status `singular_pose`, at the last step before it.
        schedule: of a Result: repeats its partitions and moved steps instead of searching for them, to the last bit on
            the same machine.
        independent: joints forced into the first partition.
        cut: joints to cut (for comparison).
        cluster: False puts all constraints in one substructure (for comparison).

        backend: the machine: "cpu", "gpu" (see docs/gpu.md) or "xla"; where left out "cpu", or for a large ensemble
            with fixed steps the GPU that is there, and `settings` of the result say why.
        precision: "f64" or "f32".
        energy_limit: a member that finishes with a larger energy error is `inaccurate`.
        gap_limit: the same for its gap, in parts of the model's length; 1e-6 where left out, in f32 1e-5.
        angle_limit: the same for the estimated error of its coordinates, in rad or parts of the model's length.
        accuracy: what that estimate rests on: "local", the energy and what single steps do wrong; "all", every member
            runs again at half the step, or a tolerance of a 32nd, and the difference is its error, also where errors
            grow by themselves; "sampled", up to 8 members or 2 % of them do, at most 64, and the estimates of the
            others are multiplied by what these show; those that are then above the limit run again, too. "sampled"
            where left out.
        error_growth: by what estimates are multiplied, in place of what a sample shows: as `settings` of a result says
            it of a larger ensemble.
        threads: of the kernel, and of what is done with all members before and after it; all cores where left out.
        tape_memory: bytes that the way back of gradients may take, of a GPU's memory as well; a quarter of what is free
            where left out. It changes no gradient, and nothing where JAX traces no number.
        progress: called with the fraction done.
        announce: called before the run with the memory that it takes and the room for its store (bytes).
        watch: called with the lanes at their start, before the first step; for programs that follow a run.

    Returns:
        a Result; without `vary` it has no member axis.

    Raises:
        ModelError: anything the model or the arguments make impossible.
        Interrupted: Ctrl-C; a KeyboardInterrupt whose `result` holds the members that are done.
    """
    given = options_of(
        span=span, step=step, method=method, tolerance=tolerance, output_step=output_step, channels=channels,
        metrics=metrics, events=events, extremes=extremes, keep=keep, log_jacobian=log_jacobian,
        vary=vary, assign=assign, derive=derive, hold=hold,
        start=start, branch=branch, strict_start=strict_start, strict_inertia=strict_inertia, drive=drive,
        tie=tie, repartition=repartition, move_steps=move_steps, singular=singular,
        schedule=schedule, independent=independent, cut=cut, cluster=cluster, backend=backend, precision=precision,
        energy_limit=energy_limit, gap_limit=gap_limit, angle_limit=angle_limit, accuracy=accuracy,
        error_growth=error_growth,
        threads=threads, tape_memory=tape_memory, progress=progress, announce=announce, watch=watch,
    )  # fmt: skip
    return run_with(model, given)


def run_with(model: Model | str, options: Options) -> Result:
    """`simulate` of options that stand in records.

    Raises:
        ModelError, Interrupted: as of `simulate`.
    """
    begun = clock.perf_counter()
    check_arguments(**options.flat())
    with at_most(options.machine.threads):
        return _run_with(model, options, begun)


def _run_with(model: Model | str, options: Options, begun: float) -> Result:
    model = model if isinstance(model, Model) else load(model)
    options = options.changed(events=of_run(model.events, options.recording.events))
    numerics, recording, machine, before = options.numerics, options.recording, options.machine, options.start.start
    numerics, accuracy = _completed(numerics, model)
    times = _clock(model, options)
    design = options.design.worked_out(model)
    changed = carried(before, model, design)
    prepared = prepare(model, varied_beside(changed, model, design), replace(options, design=design, numerics=numerics))
    observed = channels_of(prepared.plan, recording.channels, prepared.model.resolve)
    began_at = begins_at(before)
    measured = _measured(prepared, options, observed, (began_at, began_at + times[0] * times[1]))
    choice = _choice(machine, numerics, prepared.members, times[1])
    kernel = make_kernel(choice.backend, numerics.precision, machine.threads)
    share = first_share(prepared.members, accuracy)
    settings = Settings(
        *times, began_at, multiplier=model.settings.infinity_norm_multiplier, repartition=numerics.repartition,
        move_steps=numerics.move_steps, stop_at_poses=numerics.singular == "stop", log_jacobian=recording.log_jacobian,
        progress=lambda done: machine.progress(share * done),
        tolerance=numerics.tolerance, **numerics.limits,
    )  # fmt: skip
    faulty = unsound(prepared, began_at, began_at + times[0] * times[1], strict=options.start.strict_inertia)
    posed = members_to_keep(recording.keep, prepared.members)
    refuse_too_much(need := _need(prepared, observed, len(posed), settings, measured, choice.backend))
    machine.announce(need)
    began = on_branch(prepared, start_from(prepared, before, faulty, began_at), faulty)
    blocks = first_partitions(prepared, began, settings, numerics)
    lanes = lanes_at(prepared, kernel, settings, began, blocks, observed, measured, posed, faulty, options)
    bounds, other_instants = hold_back(prepared, lanes, began), note_of_instants(before, lanes)
    batched = design.vary is not None or any(path not in changed for path in prepared.vary)
    machine.watch(Begun(prepared, began, lanes, measured))

    def gather() -> Result:
        keep_estimates(lanes)
        say_locked(prepared, lanes, bounds)
        fast = _judged(prepared, lanes, before, accuracy)
        history = history_of(measured.events, measured, lanes.measured_of(), lanes.stopped, batched=batched)
        return collect(
            prepared, lanes, began, observed, posed, batched=batched,
            measure=partial(measured.values, lanes.measured_of(), settings.begin, lanes.status > 0),
            messages=messages(prepared, lanes, began, before, fast),
            notes=(*other_instants, *_of_gpu(choice), *_of_start(prepared, began, options),
                   *_of_channels(prepared, lanes, observed, measured, need),
                   *notes_of_events(history, lanes.skipped, lanes.late, lanes.sets), *_basis(lanes, accuracy)),
            history=history, ending=_ending(lanes, numerics), report=topology_report(prepared),
            asked={**stated_settings(replace(options, design=design, numerics=numerics), ASKED),
                   **_stated(choice), "error_growth": _growth(lanes), **_derived(options)},
            wall=lambda: clock.perf_counter() - begun, numbers=numbers_set(prepared, changed),
        )  # fmt: skip

    def repeat() -> None:
        if accuracy != "local":
            keep_estimates(lanes)
            precise = partial(make_kernel, _repeating(machine, choice, accuracy), "f64", machine.threads)
            errors, rest = (repeated_ends(before, began), errors_of(before)), partial(_rest, machine.progress, share)
            lanes.repeats = repeats_of(prepared, lanes, began, blocks, numerics, errors, precise, _advance, rest)
            machine.progress(1.0)

    return _run(prepared, lanes, numerics.schedule, repeat, gather)


def _completed(numerics: NumericsOptions, model: Model) -> tuple[NumericsOptions, str]:
    """Numerics with the method and what errors rest on, where they were left out; and the latter."""
    accuracy = numerics.accuracy or "sampled"
    if numerics.error_growth is not None and accuracy != "sampled":
        todo = "Leave one of them out."
        raise ModelError("error_growth", f"beside accuracy={accuracy!r}", "with accuracy='sampled'", todo)
    numerics = replace(completed(numerics, model.settings), accuracy=accuracy, **numerics.limits)
    if numerics.tolerance is not None:
        numerics = replace(numerics, tolerance=float(numerics.tolerance))  # 1 is one, too: lane code takes floats
    return numerics, accuracy


def _choice(machine: MachineOptions, numerics: NumericsOptions, members: int, steps: int) -> BackendChoice:
    """The machine of a run: the one that is named, or by how much there is to do."""
    controlled = numerics.tolerance is not None
    return chosen(machine.backend, members, steps, numerics.method or "", controlled=controlled)


def _repeating(machine: MachineOptions, choice: BackendChoice, accuracy: str) -> str | None:
    """The machine of members that run again: of a sample there are few."""
    return choice.backend if accuracy == "all" else machine.backend


def _stated(choice: BackendChoice) -> dict[str, str]:
    """What a result's settings say of a machine that was chosen."""
    return {"backend": choice.backend, "backend_choice": choice.why} if choice.why else {}


def _derived(options: Options) -> dict[str, list[str]]:
    """What a result's settings say of numbers that follow from others."""
    return {"derive": [*options.design.derive]} if options.design.derive else {}


def _of_gpu(choice: BackendChoice) -> list[str]:
    """A note of a GPU that nobody has named."""
    return [f"backend: {choice.why}"] if choice.why and choice.backend == "gpu" else []


def _ending(lanes: Ensemble, numerics: NumericsOptions) -> Ending | None:
    """Where the lanes of a finished run stand, to the last bit; None where another run cannot go on from there so."""
    cut_off = (lanes.status == Outcome.interrupted) | (lanes.stopped >= 0)
    apart = numerics.schedule is not None or numerics.tolerance is not None
    return None if apart or cut_off.any() else ending_of(lanes)


def _growth(lanes: Ensemble) -> float | None:
    """By what estimates of errors were multiplied; None where none was measured."""
    return None if lanes.repeats is None else lanes.repeats.growth(estimated_errors(lanes)[0])


def _measured(prepared: Prepared, options: Options, observed: Sequence[Channel], span: tuple[float, float]) -> Metrics:
    """What is accumulated of a run in a span [s]; steps of a tolerance are long, and end at the knots of springs."""
    plan, numerics, recording = prepared.plan, options.numerics, options.recording
    extremes, long = observed if recording.extremes else (), numerics.tolerance is not None
    return Metrics(
        recording.metrics, plan, prepared.model.resolve, span, extremes, StepPath(plan, numerics.precision),
        () if long else watched(plan), long=long, events=recording.events,
    )  # fmt: skip


def _of_start(prepared: Prepared, began: Start, options: Options) -> tuple[str, ...]:
    """Notes of where a run begins."""
    if options.start.start is not None:
        return began.remarks
    return (*unasked(prepared.model.settings, options.numerics), *notes(prepared, began))


def _rest(progress: Callable[[float], None], share: float, done: float) -> None:
    """Tells how much is done of a run, of whose repeats a part is."""
    progress(share + (1.0 - share) * done)


def _of_channels(
    prepared: Prepared, lanes: Ensemble, observed: Sequence[Channel], measured: Metrics, need: Need
) -> list[str]:
    """Notes of what is recorded or measured, and of a backend that does it faster."""
    reactions = notes_of_reactions(prepared, [*observed, *measured.channels.values()])
    return [*recorded_near_singular(lanes, observed), *reactions, *filter(None, [need.faster])]


def _basis(lanes: Ensemble, accuracy: str) -> list[str]:
    """A note of what the errors of coordinates rest on, where that is not what was asked for, or not measured alike."""
    if lanes.repeats is not None:
        return lanes.repeats.notes(estimated_errors(lanes)[0])
    if accuracy != "local" and moves_freely(lanes) and ((lanes.status <= 0) & (lanes.stopped < 0)).any():
        return ["angle_error: no member ran again at half the step, which an interrupt cut off; it is estimated"]
    return []


def _judged(prepared: Prepared, lanes: Ensemble, before: Result | None, accuracy: str) -> dict[int, list[str]]:
    """Warns members that are not accurate enough, and tells what of their inputs the steps do not see."""
    judge_inertias(prepared, lanes, np.arange(prepared.members))
    judge(lanes)
    fast = fast_inputs(prepared, lanes)
    lanes.warn(np.array([*fast], int), Outcome.inaccurate)
    note_ends_on_poses(lanes)
    if before is not None:
        status = np.atleast_1d(before.status)
        warnings = np.zeros(len(status), int) if before.ending is None else before.ending.counts["warnings"]
        repeated = {accuracy, before.settings.get("accuracy", "local")} != {"local"}
        for k, text in uncertain_before(lanes, status, warnings, before.messages, repeated=repeated).items():
            fast.setdefault(k, []).append(text)
    return fast


def _need(
    prepared: Prepared,
    observed: Sequence[Channel],
    posed: int,
    settings: Settings,
    measured: Metrics,
    backend: str | None,
) -> Need:
    """The memory of a run, and what is told of its backend."""
    noted, seconds = 0.0, settings.steps * settings.h
    if settings.tolerance is not None:
        noted = notes_of(prepared, seconds, settings.tolerance, measured.size)
    need = need_of(prepared, observed, posed, settings.steps // settings.every + 1, noted)
    return replace(need, faster=slowness_note(backend, float(prepared.members) * settings.steps))


def _run(
    prepared: Prepared,
    lanes: Ensemble,
    schedule: Schedule | None,
    repeat: Callable[[], None],
    gather: Callable[[], Result],
) -> Result:
    """The result of lanes at their start, some of them repeated; KeyboardInterrupt brings what is done."""
    try:
        if schedule is not None:
            replay(lanes, schedule)
        else:
            _advance(prepared, lanes)
        repeat()
        return gather()
    except KeyboardInterrupt as signal:
        lanes.interrupt()
        raise Interrupted(gather) from signal


def _advance(prepared: Prepared, lanes: Ensemble) -> None:
    """Runs lanes to the end of their span."""
    if (tolerance := lanes.settings.tolerance) is not None:
        programs = lanes.recordings[0].programs
        assert isinstance(programs, Programs)
        controlled_run.run(lanes, ControlledPrograms(programs, tolerance), knots_of_tables(prepared, lanes))
    else:
        driver.run(lanes)


def _clock(model: Model, options: Options) -> tuple[float, int, int]:
    """Step [s], number of steps, steps between outputs."""
    step, output_step, most = options.numerics.step, options.recording.output_step, CLOCKS[options.numerics.precision]
    span = model.settings.span if options.numerics.span is None else options.numerics.span
    if span is None:
        raise ModelError("span", "nothing", "seconds to run", "Give span=, or an integrator block with time_span.")
    output = model.settings.output_step if output_step is None else output_step
    for name, value in (("span", span), ("step", step), ("output_step", output)):
        if value is not None:
            need_number(name, value, "a positive number of seconds", above=0.0)
    if output_step is not None and output_step > span:
        raise ModelError("output_step", f"{output_step:g} s", f"at most the span, {span:g} s", "Change one of them.")
    given = "" if step is not None else " (the step follows from span and output step)"
    whole = output if output is not None and output <= span else span
    step = float(whole / max(1.0, np.ceil(whole / DEFAULT_STEP - WHOLE))) if step is None else step
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
