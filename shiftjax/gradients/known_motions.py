"""Known motions at instants, and the loads of drivers that bring them about. Host code.

Every instant is a member that is assembled there, with a driver for each known acceleration. Forces that act elsewhere
are those of drivers there, which must bring about the same motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.constraints import Polynomial
from shiftjax.errors import ModelError
from shiftjax.field import filled
from shiftjax.gradients.instants import Instants, standing_at
from shiftjax.gradients.simulate import simulate
from shiftjax.gradients.traced import is_traced
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.assemble import STEP, assembled
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.drives import driven
from shiftjax.run.start.prepare import prepare
from shiftjax.run.topology_report import topology_report

Array = Any  # of NumPy, or of JAX where it is traced
DERIVATIVES = ("q", "v", "a")
# Of the largest acceleration of a coordinate: a motion that forces elsewhere bring about agrees to the rounding of the
# loops, which is 1e-12 of it, but near their dead centres.
AGREES = 1e-6
# Channels that depend on where forces act.
OF_LOADS = ("reaction_force", "reaction_moment", "multiplier", "drive_load", "drive_power", "power")


@dataclass(frozen=True)
class KnownMotion:
    """A mechanism at instants.

    Attributes:
        known: coordinate -> (B n) place, speed, acceleration. laws: coordinate -> its law in time.
        numbers: path -> (B n) values. starts: those of coordinates that are free.
        others: further options. along: a run at whose instants all stands.
    """

    model: Model
    known: Mapping[str, Sequence[Array]]
    laws: Mapping[str, Any]
    numbers: Mapping[str, Array]
    starts: Mapping[str, Array]
    instants: Instants
    others: Mapping[str, Any]
    along: Result | None = None

    @property
    def led(self) -> tuple[str, ...]:
        return (*self.known, *self.laws)

    @property
    def traced(self) -> bool:
        """Whether JAX traces any of it."""
        return any(
            is_traced(values)
            for values in (*self.numbers.values(), *self.starts.values(), *chain(*self.known.values()))
        )

    def result(self, channels: Sequence[str], start: Result | None = None) -> Result:
        """All instants assembled, or where they stand in a result; channels (B n, ...)."""
        model, columns, functions = self._driven()
        if start is None and self.along is not None and not self.traced:
            start = standing_at(model, self.along, self.instants)
        numbers = {**self.numbers, **columns, **(self.starts if start is None else {})}
        given: dict[str, Any] = {**self.others, "vary": numbers, "drive": functions, "channels": channels}
        if not self.traced:
            run = assembled(model, options_of(**given, start=start), self.instants.seconds)
        elif self.along is not None:
            raise ModelError("along", "a call that JAX traces", "none", "State what is free by `motion` and `state`.")
        elif self.instants.times is not None:
            todo = "Leave them out, which is right where no force and no other driver asks for the time."
            raise ModelError("times", "a call that JAX traces", "no times", todo)
        else:
            run = simulate(model, STEP, STEP, accuracy="local", **given)
        return replace(run, channels={path: values[:, 0] for path, values in run.channels.items()})

    def _driven(self) -> tuple[Model, dict[str, Array], dict[str, Any]]:
        """The model with a driver for each known coordinate, their numbers, and functions of time."""
        model, columns, functions = self.model, dict[str, Array](), dict[str, Any]()
        still, t = np.zeros(self.instants.all), self.instants.seconds
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

    Raises:
        ModelError: they cannot bring it about.
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
    """
    led, loads = [*motion.known], {f"{name}.drive_load" for name in acting}
    others = [path for path in channels if path not in loads]
    units = _units_where_traced(motion, acting, others)
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
    forces = jnp.linalg.solve(transposed, taken[:, :, None])[:, :, 0]
    channels_there = {f"{name}.drive_load": forces[:, k] for k, name in enumerate(acting)}
    return replace(first, channels={**first.channels, **channels_there}, units={**first.units, **units})


def _units_where_traced(motion: KnownMotion, acting: Sequence[str], channels: Sequence[str]) -> dict[str, str]:
    """The units of forces elsewhere in a call that JAX traces.

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
    units = {one.path: filled("{f}", one.unit, 0) for one in prepared.plan.coordinates}
    return {f"{name}.drive_load": units[plain_coordinate(motion.model, name, "forces")] for name in acting}


@dataclass(frozen=True)
class Elsewhere:
    """Forces along other coordinates than those whose motion is known.

    Attributes:
        motion: that of the coordinates along which forces act. first: in which all moves as it shall.
        led: those that shall move so.
    """

    motion: KnownMotion
    first: Result
    led: Sequence[str]

    def result(self, channels: Sequence[str]) -> Result:
        """All instants, where they stand in the first result."""
        motion, acting = self.motion, list(self.motion.known)
        wanted = [f"{name}.a" for name in self.led]
        result = motion.result([*channels, *wanted], self.first)
        free = [name for name in acting if name not in self.led]
        if not self._agrees(result) and len(free) == sum(name not in acting for name in self.led):
            motion = self._accelerated(result, free)
            result = motion.result([*channels, *wanted], self.first)
        if not self._agrees(result):
            fault = f"{listed(acting)}, which do not bring about the accelerations of {listed(self.led)}"
            todo = "Name as many as there are freedoms that are driven, none at its dead centre."
            raise ModelError("forces", fault, "coordinates whose forces bring about the motion", todo)
        before = (self.first.status > 0) | (result.status == 0)
        status = np.where(before, self.first.status, result.status)
        messages = tuple(a or b for a, b in zip(self.first.messages, result.messages, strict=True))
        return replace(result, status=status, messages=messages)

    def _agrees(self, result: Result) -> bool:
        """Whether all moves as it shall."""
        good = (self.first.status <= 0) & (result.status <= 0)
        pairs = [[one.channels[f"{name}.a"][good] for one in (self.first, result)] for name in self.led]
        return all(np.abs(a - b).max(initial=0.0) <= AGREES * max(np.abs(a).max(initial=0.0), 1.0) for a, b in pairs)

    def _accelerated(self, result: Result, free: Sequence[str]) -> KnownMotion:
        """Other accelerations of the coordinates along which forces act, those that the motion takes: where others
        follow freely, what is led depends on them in straight lines."""
        rest = [f"{name}.a" for name in self.led if name not in self.motion.known]
        off = np.stack([self.first.channels[path] - result.channels[path] for path in rest], 1)
        slopes = np.empty((len(off), len(rest), len(free)))
        for k, name in enumerate(free):
            moved = self._with(name, np.ones(len(off))).result(rest, self.first)
            slopes[:, :, k] = np.stack([moved.channels[path] - result.channels[path] for path in rest], 1)
        solvable = np.isfinite(slopes).all((1, 2)) & np.isfinite(off).all(1)
        change = np.zeros((len(off), len(free)))
        inverse = np.linalg.pinv(slopes[solvable], rcond=AGREES)
        change[solvable] = np.einsum("nij,nj->ni", inverse, off[solvable])
        motion = self
        for k, name in enumerate(free):
            motion = replace(motion, motion=motion._with(name, change[:, k]))
        return motion.motion

    def _with(self, name: str, more: Array) -> KnownMotion:
        """The motion with one coordinate accelerated more."""
        q, v, a = self.motion.known[name]
        return replace(self.motion, known={**self.motion.known, name: (q, v, a + more)})
