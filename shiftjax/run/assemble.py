"""`assemble`: from a model to closed loops, for one design or many. What `simulate` begins with, and no step of it."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.kernels.backends import make_kernel
from shiftjax.kernels.workers import at_most
from shiftjax.measures.channels import channels as channels_of
from shiftjax.measures.run_metrics import Definition, Metrics
from shiftjax.mechanism.model import Model
from shiftjax.run.advance.settings import Settings
from shiftjax.run.arguments import check_arguments, stated_settings
from shiftjax.run.assemblies.branch_starts import on_branch
from shiftjax.run.beginning import first_partitions, lanes_at, observes, start_from, unsound
from shiftjax.run.derive import Formula
from shiftjax.run.indeterminate import notes_of_reactions
from shiftjax.run.inertias import odd_inertias
from shiftjax.run.memory import Need, need_of, refuse_too_much
from shiftjax.run.options import Options, options_of
from shiftjax.run.programs.closed_poses import PosePrograms
from shiftjax.run.programs.integrators import PATHS
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.results.collect import collect
from shiftjax.run.results.messages import messages, notes
from shiftjax.run.results.result import Result, members_to_keep
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.refusals import massless_motion
from shiftjax.run.start.stated import Start
from shiftjax.run.topology_report import topology_report

STEP = 1e-3  # s: that of a run from here; nothing depends on it
ASKED = ("assign", "hold", "drive", "tie", "backend", "branch", "strict_start")  # options that a result tells


def assemble(
    model: Model | str,
    *,
    channels: Sequence[str] = (),
    metrics: Mapping[str, Definition] | None = None,
    keep: int | str | Sequence[int] = "none",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    hold: Sequence[str] = (),
    branch: str | int | Sequence[str | int] | None = None,
    strict_start: bool = False,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
    announce: Callable[[Need], None] = lambda need: None,
) -> Result:
    """Closes the loops of a model, or of many variants of it, and goes no step.

    Which designs can be assembled as stated, on the branch of the file, and where they then stand: they are those of
    status 0. Poses and channels are, to rounding, those with which `simulate` of the same arguments begins.

    Args:
        model: a Model, a library name or a path.
        channels: paths to record, at the only instant.
        metrics: name -> a number of every member; `final(...)` and functions of channels mean something without motion.
        keep: the members that have the poses of all bodies recorded: "all", "none", how many, or a list of them.
        vary, assign, derive, hold, branch, drive, tie: as those of `simulate`.
        strict_start: members whose stated start the loops do not allow are `not_assembled`, else `start_changed`.
        backend, precision, threads, announce: as those of `simulate`.

    Returns:
        a Result with the one instant 0 and a span of 0; without `vary` it has no member axis. `simulate(start=...)`
        goes on from it. Of members that cannot be closed the certificate has the `gap` that stays, of those that start
        elsewhere than stated by how much, `start_change`; `pivot_ratio` is small near singular poses.

    Raises:
        ModelError: anything the model or the arguments make impossible; a metric of a motion.
    """
    given = options_of(
        channels=channels, metrics=metrics, keep=keep, vary=vary, assign=assign, derive=derive, hold=hold,
        branch=branch, strict_start=strict_start, drive=drive, tie=tie, backend=backend, precision=precision,
        threads=threads, announce=announce,
    )  # fmt: skip
    with at_most(threads):
        return assembled(model, given)


def assembled(
    model: Model | str,
    given: Options,
    instants: np.ndarray | None = None,
    moved: Callable[[Prepared, Start], Start] = lambda prepared, began: began,
    *,
    massless: bool = False,
) -> Result:
    """`assemble` of options that stand in records.

    Args:
        given: with a `start` the result at whose end the members stand, in place of an assembled start.
        instants: (B,) the time at which each member stands [s], which laws in time see; 0 where left out.
        moved: where members stand that have begun at an assembled start.
        massless: whether motions that move no mass may be: members stand, and have no rates then.

    Raises:
        ModelError: as of `assemble`; channels of rates of a mechanism that has a motion without mass.
    """
    begun = clock.perf_counter()
    check_arguments(**given.flat())
    model = model if isinstance(model, Model) else load(model)
    design = given.design.worked_out(model)
    given = replace(given, design=design)
    prepared, programs = prepare(model, design.vary or {}, given), Programs
    if massless and not odd_inertias(prepared) and massless_motion(prepared, prepared.file_start) is not None:
        given = replace(given, numerics=replace(given.numerics, method=PATHS[0]))
        prepared, programs = prepare(model, design.vary or {}, given), PosePrograms
    if instants is not None:
        values = prepared.values if prepared.vary else np.zeros((0, len(instants)))
        statements = replace(prepared.statements, alone=False)  # the file's start is of another instant
        prepared = replace(prepared, values=values, instants=instants, statements=statements)
    recording, machine = given.recording, given.machine
    observed = channels_of(prepared.plan, recording.channels, prepared.model.resolve)
    measured = Metrics(recording.metrics, prepared.plan, prepared.model.resolve, (0.0, 0.0))
    measured.refuse_of_motions()
    # Nothing moves, so that the file's coordinates serve longer: with the multiplier of a run a grid of 216 deltas took
    # 205 s of compilation, so 0.4 s.
    settings = Settings(STEP, 0, 1, multiplier=math.inf) if instants is None else _clock(instants)
    times = (0.0, 0.0) if instants is None else (float(np.min(instants)), float(np.max(instants)))
    faulty = unsound(prepared, *times, strict=False)
    posed = members_to_keep(recording.keep, prepared.members)
    refuse_too_much(need := need_of(prepared, observed, len(posed), 1))
    machine.announce(need)
    began = start_from(prepared, given.start.start, faulty, massless=massless)
    began = moved(prepared, on_branch(prepared, began, faulty))
    kernel = make_kernel(machine.backend, given.numerics.precision, machine.threads)
    blocks = first_partitions(prepared, began, settings, given.numerics)
    lanes = lanes_at(prepared, kernel, settings, began, blocks, observed, measured, posed, faulty, given, programs)
    if programs is PosePrograms and observes(lanes, {*lanes.layout.slots("x"), *lanes.layout.slots("dx")}):
        fault = "speeds, accelerations or forces of a mechanism with a motion that moves no mass"
        raise ModelError("channels", fault, "those of positions", "Give its bodies masses, or leave them out.")
    batched = design.vary is not None or len(prepared.vary) > 0 or instants is not None
    return collect(
        prepared, lanes, began, observed, posed, batched=batched,
        measure=partial(measured.values, lanes.measured_of(), 0.0, lanes.status > 0),
        messages=messages(prepared, lanes, began), ending=None,
        notes=(*notes(prepared, began), *notes_of_reactions(prepared, [*observed, *measured.channels.values()])),
        report=topology_report(prepared), asked=stated_settings(given, ASKED),
        wall=lambda: clock.perf_counter() - begun,
    )  # fmt: skip


def _clock(instants: np.ndarray) -> Settings:
    """Clocks that count seconds, so that they are the instants to the last bit, all within the first tick."""
    tick = 2 + 2 * math.ceil(np.max(np.abs(instants)))
    return Settings(1.0, 0, tick, multiplier=math.inf)
