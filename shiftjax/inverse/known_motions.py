"""Known motions at instants, and the loads of drivers that bring them about. Host code.

Every instant is a member that is assembled there, with a driver for each known acceleration. Forces that act elsewhere
are those of drivers there, which must bring about the same motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.constraints import Polynomial
from shiftjax.errors import ModelError
from shiftjax.field import filled
from shiftjax.gradients.simulate import simulate
from shiftjax.gradients.traced import is_traced
from shiftjax.inverse.instants import Instants, refuse_other_members, refuse_other_motion, standing_at
from shiftjax.inverse.known_poses import KnownPose, refuse_other_poses
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.outcome import Outcome
from shiftjax.run.assemble import assembled
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.drives import driven
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.topology_report import topology_report
from shiftjax.topology.partition import RANK

Array = Any  # of NumPy, or of JAX where it is traced
DERIVATIVES = ("q", "v", "a")
# Of the largest acceleration at an instant: a motion that forces elsewhere bring about agrees to the rounding of the
# loops, which is 1e-12 of it over the speeds there for unit speeds here. At dead centres these are 0, below
# `RANK` without units.
AGREES = 1e-6
INSTANT = 1e-9  # s: of the step that a traced run takes after its first instant, of which nothing is used
# Channels that depend on where forces act.
OF_LOADS = ("reaction_force", "reaction_moment", "multiplier", "drive_load", "drive_power", "power")


@dataclass(frozen=True)
class KnownMotion:
    """A mechanism at instants.

    Attributes:
        known: coordinate -> (B n) place, speed, acceleration [rad or m, per second, per second squared].
        laws: coordinate -> its law in time. numbers: path -> (B n) values, in the units of the paths.
        starts: those of coordinates that are free. instants: which they are.
        others: further options. along: a run at whose instants all stands.
        poses: name -> what is known of balls and floating bodies. axes: "parent" or "child", of their wrenches.
    """

    model: Model
    known: Mapping[str, Sequence[Array]]
    laws: Mapping[str, Any]
    numbers: Mapping[str, Array]
    starts: Mapping[str, Array]
    instants: Instants
    others: Mapping[str, Any]
    along: Result | None = None
    poses: Mapping[str, KnownPose] = field(default_factory=dict)
    axes: str = "parent"

    @property
    def led(self) -> tuple[str, ...]:
        """The coordinates whose accelerations are known."""
        return (*self.known, *self.laws)

    @property
    def wrenches(self) -> dict[str, str]:
        """Name of a ball or floating joint whose motion is known -> the channel of its force and moment."""
        model, paths = self.model, dict[str, str]()
        for name, pose in self.poses.items():
            if pose.driven:
                model, path, _ = pose.driver(model, self.instants, self.axes)
                paths[name] = f"{path}.multiplier"
        return paths

    @property
    def traced(self) -> bool:
        """Whether JAX traces any of it."""
        return any(
            is_traced(values)
            for values in (
                *self.numbers.values(),
                *self.starts.values(),
                *chain(*self.known.values()),
                *(x for pose in self.poses.values() for x in pose.arrays),
            )
        )

    def result(self, channels: Sequence[str], start: Result | None = None) -> Result:
        """All instants assembled.

        Args:
            channels: paths to record. start: a result at whose end they stand, of as many members; None for starts of
                their own.

        Returns:
            a result of B n members at their instants, with channels of (B n, ...).

        Raises:
            ModelError: as of `assemble`; an `along` that is of other members, has not recorded all, or contradicts the
                motion; times where JAX traces numbers.
        """
        model, columns, functions = self._driven()
        if start is None and self.along is not None:
            design = options_of(vary=self.numbers, **{word: self.others[word] for word in ("assign", "derive")}).design
            refuse_other_members(self.model, self.along, self.instants, design.worked_out(self.model).vary or {})
            start = standing_at(model, self.along, self.instants)
            self._refuse_other_motion(model, start, self.known)
            refuse_other_poses(model, start, self.instants, self.poses)
            posed = {name: pose for name, pose in self.poses.items() if pose.law is not None}
            by_laws = [f"{name}.{x}" for name in (*self.laws, *posed) for x in "qv"]
            run = replace(self, along=None).result([*channels, *by_laws], start)
            self._refuse_other_motion(model, start, {
                name: [run.channels[f"{name}.{x}"] for x in "qv"] for name in self.laws
            })  # fmt: skip
            refuse_other_poses(model, start, self.instants, {
                name: replace(pose, **{x: [*run.channels[f"{name}.{x}"].T] for x in "qv"})
                for name, pose in posed.items()
            })  # fmt: skip
            return run
        numbers = {**self.numbers, **columns}
        if start is None:
            numbers |= {**self.starts, **{k: x for pose in self.poses.values() for k, x in pose.starts(model).items()}}
        given: dict[str, Any] = {**self.others, "vary": numbers, "drive": functions, "channels": channels}
        if not self.traced:
            run = assembled(model, options_of(**given, start=start), self.instants.seconds)
        elif self.instants.times is not None:
            todo = "Leave them out, which is right where no force and no other driver asks for the time."
            raise ModelError("times", "a call that JAX traces", "no times", todo)
        else:
            run = simulate(model, INSTANT, INSTANT, accuracy="local", **given)
        return replace(run, channels={path: values[:, 0] for path, values in run.channels.items()})

    def _refuse_other_motion(self, model: Model, start: Result, known: Mapping[str, Sequence[Array]]) -> None:
        paths = {plain_coordinate(self.model, name, "motion"): given for name, given in known.items()}
        refuse_other_motion(model, start, self.instants, paths)

    def _driven(self) -> tuple[Model, dict[str, Array], dict[str, Any]]:
        """The model with a driver for each known coordinate, their numbers, and functions of time."""
        model, columns, functions = self.model, dict[str, Array](), dict[str, Any]()
        still, t = np.zeros(self.instants.all), self.instants.seconds
        for pose in self.poses.values():
            if pose.driven:
                model, _, numbers = pose.driver(model, self.instants, self.axes)
                columns |= numbers
        for name, (q, v, a) in self.known.items():
            model, added, _ = driven(model, {name: Polynomial([still] * 3, origin=still)})
            columns |= dict(zip(added, (q, v, 0.5 * a, t), strict=True))
        for name, law in self.laws.items():
            model, added, of_time = driven(model, {name: law})
            columns |= {path: self.instants.repeated(path, values) for path, values in added.items()}
            functions |= of_time
        return model, columns, functions


def elsewhere(motion: KnownMotion, acting: Sequence[str], channels: Sequence[str]) -> Result:
    """The same motion by drivers of other coordinates.

    Args:
        motion: what is known. acting: coordinates along which forces act. channels: paths to record.

    Returns:
        a result of B n members, with channels of (B n, ...): at instants where they cannot bring it about, as at their
        dead centres, NaN, with the status `singular_pose`.

    Raises:
        ModelError: they cannot bring it about at any instant.
    """
    if motion.traced:
        return by_virtual_power(motion, acting, channels)
    names = dict.fromkeys((*acting, *motion.led))
    first = motion.result([f"{name}.{x}" for name in names for x in DERIVATIVES])
    moving = {name: [first.channels[f"{name}.{x}"] for x in DERIVATIVES] for name in acting}
    return Elsewhere(replace(motion, known=moving, laws={}), first, motion.led).result(channels)


def by_virtual_power(motion: KnownMotion, acting: Sequence[str], channels: Sequence[str]) -> Result:
    """Forces u elsewhere where numbers are traced: T^T u = loads of the drivers, with T the speeds there for theirs.

    No loop is closed with other drivers, whose branch no trace could tell.

    Args:
        motion: what is known. acting: coordinates along which forces act. channels: paths to record, none of loads.

    Returns:
        a result of B n members with channels of (B n, ...), forces in N or N m. Where the smallest singular value of
        T, without units, is at most `RANK`, they are NaN and the status is `singular_pose`.

    Raises:
        ModelError: not all freedoms move in known ways, other forces than freedoms, channels that tell loads.
    """
    led, loads = [*motion.known], {f"{name}.drive_load" for name in acting}
    others = [path for path in channels if path not in loads]
    prepared = _solvable_where_traced(motion, acting, others)
    units = {one.path: one.unit for one in prepared.plan.coordinates}
    places = {name: plain_coordinate(motion.model, name, "forces") for name in (*acting, *led)}
    size = {name: prepared.setup.length if units[path] == "m" else 1.0 for name, path in places.items()}
    first = motion.result([*others, *(f"{name}.drive_load" for name in led)])
    zero = jnp.zeros(motion.instants.all)

    def speeds(moving: str) -> Array:
        known = {name: (q, zero + float(name == moving), zero) for name, (q, _, _) in motion.known.items()}
        paths = [f"{name}.v" for name in acting]
        channels = replace(motion, known=known).result(paths).channels
        return jnp.stack([channels[path] for path in paths], 1)

    still = speeds("")
    transposed = jnp.stack([speeds(name) - still for name in led], 1)
    taken = jnp.stack([first.channels[f"{name}.drive_load"] for name in led], 1)
    scale = np.array([[size[at] / size[name] for name in acting] for at in led])
    smallest = jnp.linalg.svd(jax.lax.stop_gradient(transposed * scale[None]), compute_uv=False)[:, -1]
    dead = ~(smallest > RANK)
    solvable = jnp.where(dead[:, None, None], jnp.eye(len(led))[None], transposed)  # no slope comes from dead centres
    forces = jnp.where(dead[:, None], jnp.nan, jnp.linalg.solve(solvable, taken[:, :, None])[:, :, 0])
    loads_there = {f"{name}.drive_load": forces[:, k] for k, name in enumerate(acting)}
    load_units = {f"{name}.drive_load": filled("{f}", units[places[name]], 0) for name in acting}
    status = jnp.where(dead & (first.status <= 0), int(Outcome.singular_pose), first.status)
    return replace(
        first, channels={**first.channels, **loads_there}, units={**first.units, **load_units}, status=status
    )


def _solvable_where_traced(motion: KnownMotion, acting: Sequence[str], channels: Sequence[str]) -> Prepared:
    """The model made ready, where forces elsewhere follow from speeds alone.

    Raises:
        ModelError: not all freedoms move in known ways, other forces than freedoms, channels that tell loads.
    """
    prepared = prepare(motion.model, {}, options_of(tie=motion.others["tie"]))
    freedoms, fault = topology_report(prepared)["dof"], ""
    if motion.laws or motion.starts or len(motion.known) != freedoms:
        fault = f"{len(motion.known)} coordinates with (q, v, a) for {freedoms} freedoms"
    elif len(acting) != freedoms:
        fault = f"{len(acting)} of them for {freedoms} freedoms"
    elif telling := [path for path in channels if path.rpartition(".")[2] in OF_LOADS]:
        fault = f"channels of loads, {listed(telling)}"
    if fault:
        allowed = "as many as freedoms, all of which move in known ways, and channels of the motion"
        raise ModelError("forces", f"{fault}, in a call that JAX traces", allowed, "Call without tracing.")
    return prepared


@dataclass(frozen=True)
class Elsewhere:
    """Forces along other coordinates than those whose motion is known.

    Attributes:
        motion: that of the coordinates along which forces act. first: in which all moves as it shall, of B n members,
            with `COORDINATE.a` of all.
        led: those that shall move so.
    """

    motion: KnownMotion
    first: Result
    led: Sequence[str]

    def result(self, channels: Sequence[str]) -> Result:
        """All instants, where they stand in the first result.

        Args:
            channels: paths to record.

        Returns:
            a result of B n members, with channels of (B n, ...).

        Raises:
            ModelError: the motion follows at no instant.
        """
        motion, acting = self.motion, list(self.motion.known)
        wanted = [f"{name}.a" for name in self.led]
        result = motion.result([*channels, *wanted], self.first)
        free, others = ([name for name in these if name not in those]
                        for these, those in ((acting, self.led), (self.led, acting)))  # fmt: skip
        if len(free) == len(others) and not (self._agrees(result) | (self.first.status > 0)).all():
            motion = self._accelerated(result, free)
            result = motion.result([*channels, *wanted], self.first)
            return self._judged(result, self._agrees(result) & self._moved(free, others))
        return self._judged(result, self._agrees(result))

    def _judged(self, result: Result, right: np.ndarray) -> Result:
        """The result, with what does not move as it shall marked; right: (B n) whether it does."""
        first, acting, led = self.first, listed(self.motion.known), listed(self.led)
        good = first.status <= 0
        lost = good & ~right
        if lost.any() and (lost == good).all():
            at = self.motion.instants.named(int(np.argmax(lost)))
            fault = f"{acting}, which do not bring about the accelerations of {led} at any instant, first at {at}"
            todo = "Name as many as there are freedoms that are driven, none at its dead centre."
            raise ModelError("forces", fault, "coordinates whose forces bring about the motion", todo)
        before = ~good | (result.status == 0)
        status = np.where(before, first.status, result.status)
        status = np.where(lost & (status <= 0), int(Outcome.singular_pose), status)
        texts = [a or b for a, b in zip(first.messages, result.messages, strict=True)]
        for k in np.flatnonzero(lost):
            fault = f"{acting} cannot bring about the acceleration of {led} here, as at their dead centres"
            texts[k] = f"{fault}: leave this instant out, or name other forces"
        return replace(result, status=status, messages=tuple(texts))

    def _agrees(self, result: Result) -> np.ndarray:
        """(B n) whether all moves as it shall."""
        names = dict.fromkeys((*self.motion.known, *self.led))
        size = np.max([np.abs(self.first.channels[f"{name}.a"]) for name in names], 0)
        off = [np.abs(self.first.channels[f"{name}.a"] - result.channels[f"{name}.a"]) for name in self.led]
        return (result.status <= 0) & (np.max(off, 0) <= AGREES * np.maximum(size, 1.0))

    def _moved(self, free: Sequence[str], others: Sequence[str]) -> np.ndarray:
        """(B n) whether accelerations of the led coordinates move these along which forces act, and so forces them.

        At a dead centre of a joint in a loop its driver is redundant, and any of its accelerations seems to do.
        """
        led = {name: [self.first.channels[f"{name}.{x}"] for x in DERIVATIVES] for name in self.led}
        motion, paths = replace(self.motion, known=led), [f"{name}.a" for name in free]
        slopes = np.empty((len(self.first.status), len(others), len(free)))
        for k, name in enumerate(others):
            moved = _accelerated_more(motion, name, 1.0).result(paths, self.first)
            slopes[:, k] = np.stack([moved.channels[path] - self.first.channels[path] for path in paths], 1)
        size = {name: self.first.report["length"] if self.first.units[f"{name}.a"] == "m/s^2" else 1.0
                for name in (*free, *others)}  # fmt: skip
        slopes *= [[size[at] / size[name] for name in free] for at in others]
        good = np.asarray(np.isfinite(slopes).all((1, 2)))
        smallest = np.linalg.svd(np.where(good[:, None, None], slopes, 0.0), compute_uv=False)[:, -1]
        return np.asarray(smallest > RANK)

    def _accelerated(self, result: Result, free: Sequence[str]) -> KnownMotion:
        """Other accelerations of the coordinates along which forces act, those that the motion takes: where others
        follow freely, what is led depends on them in straight lines."""
        rest = [f"{name}.a" for name in self.led if name not in self.motion.known]
        off = np.stack([self.first.channels[path] - result.channels[path] for path in rest], 1)
        slopes = np.empty((len(off), len(rest), len(free)))
        for k, name in enumerate(free):
            moved = _accelerated_more(self.motion, name, 1.0).result(rest, self.first)
            slopes[:, :, k] = np.stack([moved.channels[path] - result.channels[path] for path in rest], 1)
        solvable = np.isfinite(slopes).all((1, 2)) & np.isfinite(off).all(1)
        change = np.zeros((len(off), len(free)))
        inverse = np.linalg.pinv(slopes[solvable], rcond=AGREES)
        change[solvable] = np.einsum("nij,nj->ni", inverse, off[solvable])
        motion = self.motion
        for k, name in enumerate(free):
            motion = _accelerated_more(motion, name, change[:, k])
        return motion


def _accelerated_more(motion: KnownMotion, name: str, more: Any) -> KnownMotion:
    """The motion with one coordinate accelerated more, by one number or (B n) [rad/s^2 or m/s^2]."""
    q, v, a = motion.known[name]
    return replace(motion, known={**motion.known, name: (q, v, a + more)})


def lost_as_nan(status: Array, values: Array) -> Array:
    """Values (B n, ...) that are NaN where the status (B n) is above 0."""
    xp: Any = jnp if is_traced(status) or is_traced(values) else np
    return xp.where((status > 0).reshape(-1, *(1,) * (values.ndim - 1)), xp.nan, values)
