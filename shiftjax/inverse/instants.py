"""Instants of the motion of some members as members of one larger ensemble: an instant of a member is one of it.

Host code; numbers may be traced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError, shown
from shiftjax.forces import FORCES
from shiftjax.gradients.traced import is_traced
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.numerics.real_arrays import real_array
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepare import prepare, varied_values

Array = Any  # of NumPy, or of JAX where it is traced
SAME_TIME = 1e-9  # s: instants that two runs count from their steps differ by rounding
# Relative, and absolute below 1: runs in f32 hold their drivers to six digits; who means another motion is farther off.
SAME_MOTION = 1e-5


@dataclass(frozen=True)
class Instants:
    """n instants of B members.

    Attributes:
        times: (n,) [s], or None where all laws in time stand at 0. count: n. members: B, None without a member axis.
    """

    times: np.ndarray | None
    count: int
    members: int | None

    @property
    def all(self) -> int:
        """B n."""
        return self.count * (self.members or 1)

    @property
    def seconds(self) -> np.ndarray:
        """(B n) the time of each."""
        return np.zeros(self.all) if self.times is None else np.tile(self.times, self.members or 1)

    def named(self, index: int) -> str:
        """Which instant one of all B n is, in words."""
        member, k = divmod(index, self.count)
        of = "" if self.members is None else f" of member {member}"
        return f"instant {k}{of}" + ("" if self.times is None else f", at {self.times[k]:g} s")

    def flat(self, where: str, values: Any) -> Array:
        """An array of the instants as one of all.

        Args:
            where: of it, for errors. values: (n,) of all members alike, (B, n), or one number, in any unit.

        Returns:
            (B n) values in that unit, instants of a member next to each other.

        Raises:
            ModelError: another shape; what is no array of real numbers.
        """
        array, shape = _array(where, values), (self.members or 1, self.count)
        if array.ndim > 2 or (array.ndim and array.shape != shape[2 - array.ndim :]):
            raise ModelError(where, f"shape {array.shape}", f"(n,) or (B, n) of {shape}", "Give one value an instant.")
        xp: Any = jnp if is_traced(array) else np
        return xp.broadcast_to(array, shape).reshape(-1)

    def repeated(self, where: str, values: Any) -> Array:
        """An array of the members as one of all their instants.

        Args:
            where: of it, for errors. values: (B,) in any unit.

        Returns:
            (B n) values in that unit.

        Raises:
            ModelError: another shape; what is no array of real numbers.
        """
        array = _array(where, values)
        if array.ndim != 1:
            raise ModelError(where, f"shape {array.shape}", "one value a member, shape (B,)", "Write [value].")
        return (jnp if is_traced(array) else np).repeat(array, self.count)

    def shaped(self, values: Array) -> Array:
        """(B, n, ...) of (B n, ...), or (n, ...) without members."""
        first = (self.count,) if self.members is None else (self.members, self.count)
        return values.reshape(first + values.shape[1:])


def instants_of(
    times: Any, runs: Mapping[str, Result], arrays: Mapping[str, Sequence[Any]], vary: Mapping[str, Any]
) -> Instants:
    """The instants that all arrays have, and the members.

    Args:
        times: (n,) [s], or None, for those of the first run. runs: where -> a run whose instants they are, too.
        arrays: name -> arrays of (n,) or (B, n). vary: path -> (B,) values.

    Raises:
        ModelError: arrays of other lengths than others, times that are none, runs of other instants.
    """
    times = next((run.time for run in runs.values()), None) if times is None else times
    shapes = {name: [np.shape(x) for x in given] for name, given in arrays.items()}
    if times is not None:
        given, times = times, real_array(times)
        if times is None or times.ndim != 1 or not times.size or not np.isfinite(times).all():
            raise ModelError("times", shown(given), "finite seconds, one an instant", "Give (n,) of them.")
        shapes["times"] = [times.shape]
        for where, run in runs.items():
            _need_instants(where, run.time, times)
    counts = {name: shape[-1] for name, every in shapes.items() for shape in every if shape}
    sizes = {name: shape[0] for name, every in shapes.items() for shape in every if len(shape) > 1}
    sizes |= {path: len(values) for path, values in vary.items() if np.ndim(values) == 1}
    for what, lengths in (("instants", counts), ("members", sizes)):
        if len(set(lengths.values())) > 1:
            raise ModelError(what, f"{lengths}", f"one number of {what}", "Give all arrays as many values.")
    return Instants(times, next(iter(counts.values()), 1), next(iter(sizes.values()), None))


def _need_instants(where: str, recorded: np.ndarray, times: np.ndarray) -> None:
    """Raises where a run has recorded other instants."""

    def named(these: np.ndarray) -> str:
        return f"{len(these)} instants from {these[0]:g} to {these[-1]:g} s" if len(these) else "no instants"

    if recorded.shape != times.shape:
        raise ModelError(where, named(recorded), f"{named(times)}, as of the rest", "Record it at these.")
    if (other := np.abs(recorded - times) > SAME_TIME).any():
        k = int(np.argmax(other))
        fault, allowed = f"instant {k} at {recorded[k]:.9g} s", f"{times[k]:.9g} s, as of the rest"
        raise ModelError(where, fault, allowed, "Record it at the same instants, or leave `times` out.")


def standing_at(model: Model, run: Result, instants: Instants) -> Result:
    """A run as one of more members, whose ends are the instants of its own: assembled states go on from it.

    An instant is good where all is finite, whatever became of its member later.

    Args:
        run: of the members of the rest.

    Returns:
        the run, with `final` of (B n, ...) and as many statuses.

    Raises:
        ModelError: it has not recorded all coordinates, speeds and internal states.
    """
    plan, count = prepare(model, {}).plan, instants.all
    places = {f"{joint.path}.q": ("q", slice(joint.q, joint.q + joint.nq)) for joint in plan.joints if joint.nq}
    places |= {f"{joint.path}.v": ("v", slice(joint.v, joint.v + joint.nv)) for joint in plan.joints if joint.nv}
    for force in plan.forces:
        for k, state in zip(force.states, FORCES[force.kind].states, strict=True):
            places[f"{force.path}.{state.name}"] = ("states", slice(k, k + 1))
    words = {path.rpartition(".")[2] for path in places}
    given = {}
    for path, values in run.channels.items():
        head, _, word = path.rpartition(".")
        if head and word in words:
            given[f"{model.resolve(head)}.{word}"] = values
    if missing := [path for path in places if path not in given]:
        todo = f"Run it with channels={missing!r}, too."
        raise ModelError("along", f"a run without {listed(missing)}", "one that recorded all joints", todo)
    final = {name: np.zeros((count, n)) for name, n in (("q", plan.nq), ("v", plan.nv), ("states", plan.ns))}
    for path, (name, place) in places.items():
        final[name][:, place] = given[path].reshape(count, -1)
    whole = {name: np.repeat(values, instants.count) for name, values in run.certificate.items()}
    status = np.repeat(run.status, instants.count)
    finite = np.array([np.isfinite(values).all(1) for values in final.values()]).all(0)
    status = np.where(finite, np.minimum(status, 0), np.where(status > 0, status, int(Outcome.non_finite)))
    return replace(run, final=final, certificate=whole, status=status, ending=None, events=None)


def refuse_other_members(model: Model, run: Result, instants: Instants, vary: Mapping[str, Array]) -> None:
    """Raises where a run has other members, or has varied other numbers of the model, or by other values.

    Args:
        vary: number path -> (B n) values.
    """
    members = np.shape(run.status)
    if members != (() if instants.members is None else (instants.members,)):
        have = f"a run of {members[0]} members" if members else "a run without a member axis"
        allowed = "one without" if instants.members is None else f"{instants.members} members, as of the rest"
        raise ModelError("along", have, allowed, "Give as `vary` what the run has varied, or run it with this `vary`.")
    known = model.numbers()  # without those of drivers and loads that only the run had
    given = varied_values(model, vary, known)
    varied = {path: np.repeat(values, instants.count) for path, values in run.design.items() if path in known}
    for path in {**varied, **given}:
        if path not in varied or path not in given or not np.array_equal(varied[path], given[path], equal_nan=True):
            fault = f"other values of {path} than those of `vary`"
            if (path in varied) != (path in given):
                fault = f"{path} varied in the run alone" if path in varied else f"{path} varied in `vary` alone"
            raise ModelError("along", fault, "the `vary` of the run", "Give the same values, or run it with these.")


def refuse_other_motion(model: Model, run: Result, instants: Instants, known: Mapping[str, Sequence[Array]]) -> None:
    """Raises where a known place or speed is not that of a run.

    Args:
        run: of `standing_at`. known: coordinate -> (B n) places, speeds, ... [rad or m, per second].
    """
    assert run.final is not None
    for one in prepare(model, {}).plan.coordinates:
        for word, at, wanted in zip("qv", (one.q, one.v), known.get(one.path, ()), strict=False):
            recorded = run.final[word][:, at]
            off = np.abs(wanted - recorded) > SAME_MOTION * np.maximum(1.0, np.abs(recorded))  # of failed ones NaN
            if off.any():
                k = int(np.argmax(off))
                fault = f"{word} = {wanted[k]:.9g} at {instants.named(k)}"
                allowed = f"{recorded[k]:.9g}, where `along` has it"
                raise ModelError(f"motion {one.path}", fault, allowed, "Give that run's motion, or leave it out.")


def _array(where: str, values: Any) -> Array:
    """Of real numbers; traced ones as an array of JAX."""
    if is_traced(values):
        return jnp.asarray(values, float)
    if (array := real_array(values)) is None:
        raise ModelError(where, shown(values), "real numbers", "Give an array.")
    return array
