"""`inverse_dynamics`: the forces that a known motion takes, at every instant by itself. Host code.

Problem: of some coordinates place, speed and acceleration are known, of others the forces; wanted are the forces of the
former and the accelerations of the latter (hybrid dynamics: Featherstone, Rigid Body Dynamics Algorithms, section 9.1).
Every instant is a member of one ensemble that is assembled there, with a driver for each known acceleration: its force
is that driver's multiplier (`dynamics.reactions`), and nothing is integrated. Forces that act elsewhere are those of
drivers there which bring about the same motion. Where a number is traced, it is the first instant of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need, need_mapping, one_of, refuse_text, shown
from shiftjax.formats.files import load
from shiftjax.gradients.traced import is_traced
from shiftjax.inverse.instants import instants_of
from shiftjax.inverse.known_motions import DERIVATIVES, KnownMotion, elsewhere, lost_as_nan
from shiftjax.inverse.known_poses import AXES, KnownPose, stated_pose
from shiftjax.markup import html_lines
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed, split
from shiftjax.record import record
from shiftjax.run.derive import Formula
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.results.summary import answer_summary
from shiftjax.run.start.driven.drives import Drivable, driven
from shiftjax.run.start.driven.pose_drives import posed_joint
from shiftjax.run.start.prepare import prepare

Array = Any  # of NumPy, or of JAX where it is traced
Motion = Drivable | Result | tuple[Any, ...]
DISPLACEMENT = "initial_displacement"
WRENCH = "N, N m"  # units of a force and a moment


@record
class InverseDynamics:
    """The outcome of `inverse_dynamics`: n instants of B members, or of one without a member axis.

    Attributes:
        times: (n,) instants [s].
        forces: coordinate -> (B, n) the missing force or torque along it [N, N m], NaN where `status` is above 0; of a
            floating body (B, n, 6), of a ball (B, n, 3): force, and moment about the origin of the joint's frame on the
            child, which act on the child.
        channels: path -> (B, n, ...) what was asked to be recorded, NaN as forces are.
        units: coordinate or channel path -> unit.
        status: (B, n) `Outcome` of every instant; messages: (B n) texts, "" when good. gap: (B, n) of its loops [m].
        notes: what holds for all: which forces are one choice of many.
        model: with the drivers that were added.
    """

    times: np.ndarray
    forces: dict[str, Array]
    channels: dict[str, Array]
    units: dict[str, str]
    status: Array
    gap: Array
    messages: tuple[str, ...]
    notes: tuple[str, ...]
    model: Model

    def __repr__(self) -> str:
        return "\n".join(answer_summary(self))

    def _repr_html_(self) -> str:
        return html_lines(answer_summary(self))


def inverse_dynamics(
    model: Model | str,
    motion: Mapping[str, Motion] | None = None,
    times: Sequence[float] | np.ndarray | None = None,
    *,
    along: Result | None = None,
    forces: Sequence[str] | None = None,
    state: Mapping[str, Any] | None = None,
    channels: Sequence[str] = (),
    axes: str = "parent",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
) -> InverseDynamics:
    """Inverse and hybrid dynamics: the forces that a known motion takes, and what is free meanwhile.

    Args:
        model: a Model, a library name or a path.
        motion: coordinate -> its place, speed and acceleration (q, v, a), each (n,) or (B, n) [rad or m, per second,
            per second squared]; a `Result` that recorded its channels q, v and a, whose `vary` is to be given, too; or
            what `drive` of `simulate` takes, at the `times`. Of a free coordinate, whose acceleration follows, (q, v).
            Joints that nothing is said of follow by the loops, or stand where the model has them and are free. Of a
            ball or floating joint the numbers of its channels, (n, k) or (B, n, k); or a `PoseTable`, `PoseUniform` or
            `PoseHarmonic`.
        times: (n,) of the instants [s], which laws in time see; those of the first `Result`, else 0 where left out. All
            results must be of these.
        along: a run that recorded q and v of every joint and the internal states of forces: at its instants all stands
            as there, whatever branch it has passed to, and balls and floating bodies, too. With its `vary`, and neither
            places and speeds of free coordinates nor `state`: it has them.
        forces: coordinates along which the missing forces act; those that `motion` drives where left out. They may be
            free by themselves, as a cart whose rod shall swing. More than freedoms are shared out by least norm, as
            statically indeterminate reactions are.
        state: number path -> (n,) or (B, n) values at the instants: starts of coordinates of several numbers, as
            "ball.initial_velocity[0]", and internal states of forces.
        channels: paths to record at every instant: accelerations, reactions, multipliers, powers.
        axes: "parent" or "child": along which axes the force and moment at a ball or floating body are, of the joint's
            frame on the parent (the world, for what floats from there) or on the child.
        vary: number path -> (B,) values, one a member.
        assign, derive, tie, backend, precision, threads: as those of `simulate`.

    Returns:
        an `InverseDynamics`. Where JAX traces numbers of `vary`, `motion` or `state`, its forces and channels are JAX
        arrays with first derivatives; then there are no `times` and no results, forces elsewhere are as many as
        freedoms, and the status is that of a step of 1 ns from there.

    Raises:
        ModelError: anything the model or the arguments make impossible; forces that bring about the motion at no
            instant. Where they do at some, the others have the status `singular_pose`, as at dead centres.
    """
    model = model if isinstance(model, Model) else load(model)
    motion, state, vary = motion or {}, state or {}, vary or {}
    for where, given in (("motion", motion), ("state", state), ("vary", vary)):
        need_mapping(where, given)
    refuse_text("channels", channels)
    one_of("axes", axes, tuple(AXES))
    given = {name: _of_result(name, one) for name, one in motion.items()}
    posed = {name: path for name in given if (path := posed_joint(model, name))}
    poses = {name: stated_pose(model, path, given[name], f"motion {name}") for name, path in posed.items()}
    known, free, laws = _sorted({name: one for name, one in given.items() if name not in poses})
    _refuse_twice(model, motion, posed)
    runs = _runs(motion, along, [*free, *(name for name, pose in poses.items() if not pose.driven), *state])
    led = [*known, *laws, *(name for name, pose in poses.items() if pose.driven)]
    acting = led if forces is None else forces
    refuse_text("forces", acting)
    _refuse_other_wrenches(model, acting, poses)
    named = {**dict.fromkeys(acting, "forces"), **dict.fromkeys(motion, "motion")}
    model = _standing(model, {name: where for name, where in named.items() if not posed_joint(model, name)}, tie)
    arrays = {name: [*one] for name, one in (known | free).items()} | {path: [x] for path, x in state.items()}
    arrays |= {name: pose.arrays for name, pose in poses.items()}
    by_law = laws | {name: pose.law for name, pose in poses.items() if pose.law is not None}
    instants = instants_of(times, runs, arrays, {**vary, **driven(model, by_law)[1]})
    numbers = {path: instants.repeated(f"vary {path}", values) for path, values in vary.items()}
    numbers |= {path: instants.flat(f"state {path}", values) for path, values in state.items()}
    flat = {name: [instants.flat(f"motion {name}", x) for x in given] for name, given in (known | free).items()}
    starts = _starts(model, {name: flat[name] for name in free})
    one = KnownMotion(
        model, {name: flat[name] for name in known}, laws, numbers, starts, instants,
        {"assign": assign, "derive": derive, "tie": tie, "backend": backend, "precision": precision,
         "threads": threads},
        along, {name: pose.flat(f"motion {name}", instants) for name, pose in poses.items()}, axes,
    )  # fmt: skip
    if one.traced and runs:
        todo = "Give its channels as (q, v, a), and what is free by `motion` and `state`."
        raise ModelError(next(iter(runs)), "a result, in a call that JAX traces", "arrays of numbers", todo)
    return _answer(one, acting, channels)


def _refuse_twice(model: Model, motion: Mapping[str, Motion], posed: Mapping[str, str]) -> None:
    """Raises where two names of a motion are of one joint or coordinate: the last one would count."""
    name_of: dict[str, str] = {}
    for name in motion:
        path = posed.get(name) or plain_coordinate(model, name, "motion")
        if path in name_of:
            fault = f"two motions of {path}, also by {name_of[path]!r}"
            raise ModelError(f"motion {name}", fault, "one motion a joint", "Leave one of them out.")
        name_of[path] = name


def _runs(motion: Mapping[str, Any], along: Result | None, stated: Sequence[str]) -> dict[str, Result]:
    """The results that are given, by the names of the arguments.

    Raises:
        ModelError: no result, or things stated that it has.
    """
    runs = {f"motion {name}": given for name, given in motion.items() if isinstance(given, Result)}
    if along is None:
        return runs
    need("along", along, Result, "a result, as `simulate` gives")
    if stated:
        todo = "Leave them out, or state all by `motion` and `state` without `along`."
        allowed = "nothing of free coordinates and no `state`, since the run has both"
        raise ModelError("along", f"{listed(stated)} stated beside it", allowed, todo)
    return {"along": along, **runs}


def _of_result(name: str, given: Any) -> Any:
    """The arrays of a motion that a result has recorded; any other one as it is."""
    if not isinstance(given, Result):
        return given
    paths = [f"{name}.{derivative}" for derivative in DERIVATIVES]
    if missing := [path for path in paths if path not in given.channels]:
        todo = f"Run it with channels={paths!r}."
        raise ModelError(f"motion {name}", "a result without " + listed(missing), "one that has them", todo)
    return tuple(given.channels[path] for path in paths)


def _refuse_other_wrenches(model: Model, acting: Sequence[str], poses: Mapping[str, KnownPose]) -> None:
    """Raises where forces are asked for at balls or floating bodies whose motion is free, or not at all driven ones."""
    asked = {path for name in acting if (path := posed_joint(model, name))}
    moved = {pose.path for pose in poses.values() if pose.driven}
    if asked != moved:
        fault = f"{listed(sorted(asked)) or 'none'} among balls and floating bodies"
        allowed = f"those that move in known ways, {listed(sorted(moved)) or 'none'}"
        raise ModelError("forces", fault, allowed, "Name these, or give (q, v) of what is free.")


def _sorted(motion: Mapping[str, Any]) -> tuple[dict[str, Sequence[Any]], dict[str, Sequence[Any]], dict[str, Any]]:
    """What is known by three numbers an instant, what is free and known by two, and laws in time."""
    known: dict[str, Sequence[Any]] = {}
    free: dict[str, Sequence[Any]] = {}
    laws: dict[str, Any] = {}
    for name, given in motion.items():
        if isinstance(given, tuple) and len(given) in (2, 3):
            (known if len(given) == 3 else free)[name] = given
        elif isinstance(given, list | tuple) or np.ndim(given) or is_traced(given):
            allowed = "a tuple (q, v, a), or (q, v) of a free one, with one value an instant each"
            todo = "Give rates, too; or `shiftjax.Table(times, values)`, a spline that has them."
            raise ModelError(f"motion {name}", shown(given), allowed, todo)
        else:
            laws[name] = given
    return known, free, laws


def _standing(model: Model, names: Mapping[str, str], tie: Mapping[str, CoordinateFunction | str] | None) -> Model:
    """The model that states some coordinates where it stands by itself, so that ways to instants begin on its branch.

    What a file does not state is 0 there, from which its loops may close otherwise.

    Args:
        names: coordinate -> the argument that names it.
    """
    paths = [plain_coordinate(model, name, where) for name, where in names.items()]
    prepared = prepare(model, {}, options_of(tie=tie))
    if not prepared.file_start.closed[0]:
        return model
    places = {one.path: float(prepared.file_start.q[one.q, 0]) for one in prepared.plan.coordinates}
    values = {f"{joint}.{DISPLACEMENT}{of}": places[joint + of] for joint, of in map(split, paths)}
    origin = model.origin and model.origin.with_values(values)
    return replace(model.with_values(values), origin=origin)


def _starts(model: Model, free: Mapping[str, Sequence[Array]]) -> dict[str, Array]:
    """Places and speeds of coordinates as numbers of their starts."""
    out: dict[str, Array] = {}
    for name, values in free.items():
        joint, coordinate = split(plain_coordinate(model, name, "motion"))
        for start, value in zip((DISPLACEMENT, "initial_velocity"), values, strict=True):
            out[f"{joint}.{start}{coordinate}"] = value
    return out


def _answer(motion: KnownMotion, acting: Sequence[str], channels: Sequence[str]) -> InverseDynamics:
    """Forces along some coordinates that bring about the motion, and channels."""
    wrenches = {motion.poses[name].path: path for name, path in motion.wrenches.items()}
    loads = {name: wrenches.get(motion.model.resolve(name), f"{name}.drive_load") for name in acting}
    asked = {**loads, **{path: path for path in channels}}
    plain = [name for name, path in loads.items() if path not in wrenches.values()]
    where = {plain_coordinate(motion.model, name, "forces") for name in plain}
    led = {plain_coordinate(motion.model, name, "motion") for name in motion.led}
    paths = [*asked.values()]
    result = motion.result(paths) if where == led else elsewhere(motion, plain, paths)
    shaped, times = motion.instants.shaped, motion.instants.times
    values = {path: shaped(lost_as_nan(result.status, result.channels[path])) for path in asked.values()}
    units = {name: result.units[path] for name, path in asked.items()}
    units |= {name: WRENCH for name in loads if units[name] == "mixed"}
    return InverseDynamics(
        times=np.zeros(motion.instants.count) if times is None else times,
        forces={name: values[path] for name, path in loads.items()},
        channels={path: values[path] for path in channels},
        units=units,
        status=shaped(result.status), gap=shaped(result.certificate["gap"]),
        messages=result.messages, notes=result.notes, model=result.model,
    )  # fmt: skip
