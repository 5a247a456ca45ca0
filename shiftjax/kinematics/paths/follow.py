"""`follow`: the poses of a mechanism along a path of its drivers, of one design or of many. Host code.

Problem: drivers lead all freedoms of the loops; wanted are poses, speeds and accelerations along a path of them, each
member on the assembly branch on which it began, to the end of the path or of its travel. Nothing is integrated and no
mass enters: a step predicts the next pose, and Newton's method closes it (`run.programs.closed_poses`).
"""

from __future__ import annotations

import math
import re
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, shown
from shiftjax.formats.files import load
from shiftjax.kernels.backends import make_kernel
from shiftjax.kernels.workers import at_most
from shiftjax.kinematics.freedoms import idle_note, refuse_freedoms, refuse_laws_in_time
from shiftjax.kinematics.paths.inputs import Inputs, as_drives, inputs_of
from shiftjax.kinematics.paths.led_lanes import arm, end_where_branches_meet, first_strides, lead, leave_out
from shiftjax.kinematics.paths.on_crossings import Standing
from shiftjax.kinematics.paths.path_beginnings import begun_inside
from shiftjax.kinematics.paths.path_ends import Beginning, PathEnds
from shiftjax.kinematics.paths.path_metrics import MEASURED, begin_metrics, path_metrics, take_pose
from shiftjax.kinematics.paths.recorded_extremes import RecordedExtremes
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels as channels_of
from shiftjax.measures.expression_units import by_parameter
from shiftjax.measures.run_metrics import Definition, Measured
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.advance.ensemble import METRICS, Ensemble
from shiftjax.run.advance.settings import Settings
from shiftjax.run.arguments import check_arguments, stated_settings
from shiftjax.run.assemblies.branch_starts import on_branch
from shiftjax.run.beginning import first_partitions, lanes_at, observes, start_from, unsound
from shiftjax.run.derive import Formula
from shiftjax.run.memory import Need, need_of, refuse_too_much
from shiftjax.run.options import Options, options_of
from shiftjax.run.programs.closed_poses import PosePrograms
from shiftjax.run.programs.integrators import PATHS
from shiftjax.run.results.collect import collect
from shiftjax.run.results.interrupted import Interrupted
from shiftjax.run.results.messages import messages, notes, recorded_near_singular
from shiftjax.run.results.result import Result, members_to_keep
from shiftjax.run.start.prepare import prepare
from shiftjax.run.topology_report import topology_report

ASKED = ("assign", "tie", "backend", "branch", "strict_start")
LOADS = {"N", "N m", "W", "J", "mixed"}  # units of what depends on speeds and masses
AT_TIME = re.compile(r"^at ([-+.e\d]+) s: ")  # in messages, of which a path's clock counts poses


def follow(
    model: Model | str,
    drive: Mapping[str, Any],
    times: Sequence[float] | np.ndarray | None = None,
    *,
    order: int = 2,
    channels: Sequence[str] = (),
    metrics: Mapping[str, Definition] | None = None,
    keep: int | str | Sequence[int] = "none",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    branch: str | int | Sequence[str | int] | None = None,
    strict_start: bool = False,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
    progress: Callable[[float], None] = lambda done: None,
    announce: Callable[[Need], None] = lambda need: None,
) -> Result:
    """The poses of a mechanism along a path of its drivers, of one design or of many.

    Args:
        model: a Model, a library name or a path; it needs no masses.
        drive: driven coordinate -> its places along the path, (n,) of all members or (B, n), one a pose [rad or m]; a
            tuple (q, v, a) of such arrays; or, with `times`, a `ConstantSpeed`, `Harmonic`, `Polynomial`, `Table` or
            `AccelerationTable`. They must leave the mechanism no freedom.
        times: (n,) rising instants of the poses [s]: speeds and accelerations are by time, of the splines through the
            places where a driver does not say them. Where they are left out, one driver with the same places in all
            members is the parameter itself: "rocker.v" is the slope by the driven coordinate, "rocker.a" its second
            derivative (kinematic coefficients). Several drivers are followed by the number of the pose.
        order: of the highest derivative that channels may need: 0 for positions alone, 1 for speeds, 2 for
            accelerations, from which 3, jerks, follow; the lower, the faster.
        channels: paths to record at every pose.
        metrics: name -> a number of every member, as those of `simulate`, with the parameter for the time: integrals
            and means are by it, what is an instant is a place of it. Extremes and crossings are those of the curve
            between poses. They take accelerations (`order=2`), and a parameter that rises or falls.
        keep: the members that have the poses of all bodies recorded: "all", "none", how many, or a list of them.
        vary, assign, derive, tie, branch: as those of `simulate`.
        strict_start: members whose stated start the loops do not allow are not followed.
        backend, precision, threads, progress, announce: as those of `simulate`.

    Returns:
        a Result whose `time` is the parameter, as its `settings["parameter"]` and `settings["parameter_unit"]` name it.
        The first pose is the one of the branch that is asked for, else of the model's, at the first places; each member
        stays on the branch on which it begins. One whose path leaves the travel of its driver is `locked`, its message
        has the exact end; where loops lose rank on the way it ends as `singular_pose`. Its channels are NaN from there
        on. `final` has no speeds but on paths by time, from which `simulate(start=...)` goes on moving. Where JAX
        traces numbers of `vary`, channels and metrics are JAX arrays with first derivatives, and metrics are texts of
        minimum, maximum and peak_to_peak.

    Raises:
        ModelError: anything the model or the arguments make impossible; freedoms that no driver leads.
        Interrupted: Ctrl-C; a KeyboardInterrupt whose `result` holds the members that are done.
    """
    begun = clock.perf_counter()
    model = model if isinstance(model, Model) else load(model)
    inputs = inputs_of(model, drive, times)
    given = options_of(
        channels=channels, metrics=metrics, keep=keep, vary=vary, assign=assign, derive=derive, tie=tie,
        branch=branch, strict_start=strict_start, backend=backend, precision=precision, threads=threads,
        progress=progress, announce=announce,
    )  # fmt: skip
    if order not in range(len(PATHS) + 1):
        allowed = "0, 1, 2 or 3: positions, speeds, accelerations, jerks"
        raise ModelError("order", shown(order), allowed, "Give one of them.")
    check_arguments(**given.flat())
    with at_most(threads):
        path = _Path(model, inputs, given, min(order, len(PATHS) - 1))  # jerks are worked out where they are recorded
        result = partial(path.result, lambda: clock.perf_counter() - begun)
        try:
            path.follow()
            return result()
        except KeyboardInterrupt as signal:
            path.lanes.interrupt()
            raise Interrupted(result) from signal


class _Path:
    """A path of a prepared model, with the lanes of its members.

    Attributes:
        prepared: the model with its drivers; began: where its members begin. rows: driven coordinate -> the rows of its
            coefficients and of their origin among the numbers of the lanes.
    """

    def __init__(self, model: Model, inputs: Inputs, given: Options, order: int) -> None:
        design = given.design.worked_out(model)
        members = _members(design.vary or {}, inputs)
        drives = as_drives(inputs, members)
        self.inputs, self.batched = inputs, design.vary is not None or members > 1
        self.options = replace(given.changed(drive=drives), design=design)
        numerics = replace(self.options.numerics, method=PATHS[order])
        self.prepared = prepare(model, design.vary or {}, replace(self.options, numerics=numerics))
        plan = self.prepared.plan
        self.drivers = {plan.coordinates[group.coordinates[0]].path: k for k, group in enumerate(plan.constraints)
                        if group.prescribes and plan.coordinates[group.coordinates[0]].path in drives}  # fmt: skip
        refuse_laws_in_time(self.prepared, self.drivers.values())
        places = {plan.numbers[place].path: row for row, place in enumerate(self.prepared.setup.varied)}
        self.rows = {path: [places[f"{plan.constraints[k].name}.{number}"] for number in inputs.numbers]
                     for path, k in self.drivers.items()}  # fmt: skip
        faulty = unsound(self.prepared, 0.0, 0.0, strict=False)
        self.report = topology_report(self.prepared)
        refuse_freedoms(self.prepared, self.report)
        began = start_from(self.prepared, None, faulty, massless=True, moving=False)
        self.began = on_branch(self.prepared, began, faulty)
        self.lanes = self._lanes(faulty)

    def _lanes(self, faulty: Mapping[int, str]) -> Ensemble:
        """The members at their first poses."""
        prepared, recording, machine = self.prepared, self.options.recording, self.options.machine
        inputs, precision = self.inputs, self.options.numerics.precision
        self.observed = channels_of(prepared.plan, recording.channels, prepared.model.resolve)
        order = PATHS.index(prepared.setup.method)
        self.measured = path_metrics(recording.metrics, prepared.plan, prepared.model.resolve, inputs, precision, order)
        measured = self.measured.channels.values()
        if jerks := [one.path for one in measured if one.path.endswith(".jerk") and not inputs.even]:
            allowed = (
                "paths that rise evenly along straight lines, between whose poses the drivers' own rates are known"
            )
            raise ModelError(
                f"metrics of {jerks[0]}", "an uneven path", allowed, "Take even places, as np.linspace gives."
            )
        self.posed = members_to_keep(recording.keep, prepared.members)
        refuse_too_much(need := need_of(prepared, self.observed, len(self.posed), inputs.count))
        machine.announce(need)
        settings = Settings(
            inputs.step, inputs.count - 1, 1, multiplier=math.inf,
            **self.options.numerics.limits,
        )  # fmt: skip
        kernel = make_kernel(machine.backend, precision, machine.threads)
        blocks = first_partitions(prepared, self.began, settings, self.options.numerics)
        lanes = lanes_at(
            prepared, kernel, settings, self.began, blocks, self.observed, self.measured, self.posed, faulty,
            self.options, PosePrograms,
        )  # fmt: skip
        arm(lanes)
        _refuse_derivatives(lanes, self.observed, order)
        return lanes

    def follow(self) -> None:
        """Leads all members along the path, or to where they end."""
        lanes, inputs = self.lanes, self.inputs
        if not inputs.even:
            self._observe(0)
            self._put(inputs.line(min(1, inputs.count - 1)), 1.0)
        beginning = Beginning(self.prepared, self.began, np.zeros(0, int))
        if len(self.drivers) == 1 and not self.measured.terms:
            beginning = begun_inside(self.prepared, self.began, inputs, next(iter(self.drivers.values())), lanes)
        ends = PathEnds(beginning, inputs, self.drivers, lanes)
        plan, end = self.prepared.plan, inputs.count - 1
        driven = {path: plan.coordinates[plan.constraints[k].coordinates[0]].v for path, k in self.drivers.items()}
        moves = {speed: np.abs(np.diff(inputs.places[path], axis=1)) for path, speed in driven.items()}
        if inputs.even:
            self._begin_metrics()
            most = {speed: move.max(1, initial=0.0) for speed, move in moves.items()}
            lead(lanes, end, first_strides(lanes, most, MEASURED if self.measured.terms else 1.0), math.inf)
            ends.record_reached()
            ends.say_locked()
            return
        standing = Standing(lanes, inputs, driven)
        for k in range(1, inputs.count):
            running = np.flatnonzero((lanes.status <= 0) & (lanes.ends >= k))
            if not len(running):
                break
            self._put(inputs.line(k), k)
            lanes.evaluate("project", standing.others(running))
            standing.go_on(k)
            taken = lanes.measured_of().copy()
            strides = first_strides(lanes, {speed: move[:, k - 1] for speed, move in moves.items()})
            lost = standing.note(k, lead(lanes, k, strides, k))
            end_where_branches_meet(lanes, lost, np.full(len(lost), k - 1))
            lanes.table.set("acc", taken, within=METRICS)  # the strides have the rates of a line
            self._observe(k, standing)
            self.options.machine.progress(k / end)
        ends.say_locked()

    def _begin_metrics(self) -> None:
        """The metrics of an even path begin at its first pose, where the time of the lanes is the parameter."""
        lanes, begin = self.lanes, float(self.inputs.parameter[0])
        if self.measured.terms:
            self._put(self.inputs.line(0), begin)
            lanes.settings.t0 = begin
            begin_metrics(lanes, np.flatnonzero(lanes.status <= 0))

    def _put(self, lines: Mapping[str, np.ndarray], origin: float) -> None:
        """Gives the drivers other coefficients, by what is left to an origin."""
        for path, line in lines.items():
            origins = np.full(self.prepared.members, origin)
            numbers = np.vstack([np.broadcast_to(line, (len(line), self.prepared.members)), origins])
            for row, values in zip(self.rows[path], numbers, strict=True):
                self.lanes.table.set("p", values, within=row)

    def _observe(self, k: int, standing: Standing | None = None) -> None:
        """Records pose k, with the rates of the path there; on singular poses those of the branch are known."""
        lanes, settings = self.lanes, self.lanes.settings
        there = np.flatnonzero((lanes.status <= 0) & (lanes.clock_of() == k))
        if len(there):
            settings.t0, settings.h = float(self.inputs.parameter[k]), 0.0  # the time of the lanes is the parameter
            self._put(self.inputs.at_pose(k), settings.t0)
            lanes.evaluate("project", there if standing is None else standing.others(there))
            if standing is not None:
                standing.at_pose(k)
            lanes.evaluate("observe", there)
            if standing is not None:
                leave_out(lanes, standing.members)
            if self.measured.terms:
                (take_pose if k else begin_metrics)(lanes, there)
            settings.t0, settings.h = 0.0, 1.0

    def result(self, wall: Callable[[], float]) -> Result:
        """The result of members at their ends."""
        prepared, lanes, inputs, began = self.prepared, self.lanes, self.inputs, self.began
        lanes.settings.t0, lanes.settings.h = 0.0, 1.0
        out = collect(
            prepared, lanes, began, self.observed, self.posed, batched=self.batched,
            measure=self._measure,
            messages=_of_poses(messages(prepared, lanes, began)),
            ending=None,
            notes=(*self._start_notes(), *idle_note(self.report), *recorded_near_singular(lanes, self.observed),
                   *_interpolated(lanes), *_loads(self.observed, inputs)),
            report=self.report,
            asked={**stated_settings(self.options, ASKED), "poses": inputs.count, "parameter": inputs.name,
                   "parameter_unit": inputs.unit, "drive": inputs.texts()},
            wall=wall,
        )  # fmt: skip
        plan, named = prepared.plan, self.drivers.values()
        numbers = {f"{plan.constraints[k].name}.{number}" for k in named for number in inputs.numbers}
        units = {
            path: by_parameter(unit, inputs.unit_of_rates) for path, unit in out.units.items() if path not in numbers
        }
        design = {path: values for path, values in out.design.items() if path not in numbers}
        final = dict(out.final or {})
        if inputs.name != "time":  # rates by another parameter are no speeds to go on with
            final["v"] = np.zeros_like(final["v"])
        return replace(
            out, time=inputs.parameter, design=design, units=units, final=final, schedule=None,
            extremes=RecordedExtremes(out.channels, poses=1 if self.batched else 0),
        )  # fmt: skip

    def _measure(self, _: np.ndarray, channels: Mapping[str, np.ndarray]) -> Measured:
        """The metrics, of what was accumulated and recorded."""
        lanes, parameter = self.lanes, self.inputs.parameter
        return self.measured.values(lanes.measured_of(), parameter[0], lanes.status > 0, parameter, channels)

    def _start_notes(self) -> list[str]:
        """Of the first poses, but that they are where the path begins."""
        plan = self.prepared.plan
        asked = tuple(f"{path} starts where its driver {plan.constraints[k].name}" for path, k in self.drivers.items())
        return [note for note in notes(self.prepared, self.began) if not note.startswith(asked)]


def _of_poses(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Messages of members, in which a path's clock counts poses."""
    return tuple([text and AT_TIME.sub(r"at pose \1: ", text) for text in texts]) if any(texts) else texts


def _interpolated(lanes: Ensemble) -> list[str]:
    """A note of poses at which assemblies meet."""
    if not (count := int(lanes.interpolated.sum())):
        return []
    members = "1 member" if count == 1 else f"{count} members"
    return [
        f"a pose of {members} is singular: it lies between both ends of a step over it, on a curve of the fifth degree"
    ]


def _loads(observed: Sequence[Channel], inputs: Inputs) -> list[str]:
    """A note of what forces are where there is no time."""
    loads = [channel.path for channel in observed if channel.unit in LOADS]
    if not loads or inputs.name == "time":
        return []
    return [f"{listed(loads)}: as where {inputs.name} rises by 1 {inputs.unit} a second; give times= for another speed"]


def _refuse_derivatives(lanes: Ensemble, observed: Sequence[Channel], order: int) -> None:
    """Raises where a channel is of a derivative that the path does not have."""
    if order == 2 or not observed:
        return
    missing = {*lanes.layout.slots("dx"), *(lanes.layout.slots("x")[: lanes.setup.plan.nv] if order == 0 else ())}
    if observes(lanes, missing):
        fault = f"order {order} and channels of {'accelerations' if order else 'speeds or accelerations'}"
        allowed = f"channels of {'positions and speeds' if order else 'positions'}"
        raise ModelError("order", fault, allowed, "Leave order out, or those channels.")


def _members(vary: Mapping[str, Any], inputs: Inputs) -> int:
    """How many designs there are.

    Raises:
        ModelError: drivers of other numbers of members than `vary`, or than each other.
    """
    sizes = {f"vary {path}": len(values) for path, values in vary.items() if np.ndim(values) == 1}
    sizes |= {f"drive {path}": len(places) for path, places in inputs.places.items() if len(places) > 1}
    if len(set(sizes.values())) > 1:
        raise ModelError("members", f"{sizes}", "one number of members", "Give all as many.")
    return next(iter(sizes.values()), 1)
