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
from shiftjax.real_arrays import real_array
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepare import prepare

Array = Any  # of NumPy, or of JAX where it is traced


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

    def flat(self, where: str, values: Any) -> Array:
        """(B n) values of (n,), (B, n) or one of all."""
        array, shape = _array(where, values), (self.members or 1, self.count)
        if array.ndim > 2 or (array.ndim and array.shape != shape[2 - array.ndim :]):
            raise ModelError(where, f"shape {array.shape}", f"(n,) or (B, n) of {shape}", "Give one value an instant.")
        xp: Any = jnp if is_traced(array) else np
        return xp.broadcast_to(array, shape).reshape(-1)

    def repeated(self, where: str, values: Any) -> Array:
        """(B n) values of (B,)."""
        array = _array(where, values)
        if array.ndim != 1:
            raise ModelError(where, f"shape {array.shape}", "one value a member, shape (B,)", "Write [value].")
        return (jnp if is_traced(array) else np).repeat(array, self.count)

    def shaped(self, values: Array) -> Array:
        """(B, n, ...) of (B n, ...), or (n, ...) without members."""
        first = (self.count,) if self.members is None else (self.members, self.count)
        return values.reshape(first + values.shape[1:])


def instants_of(times: Any, arrays: Mapping[str, Sequence[Any]], vary: Mapping[str, Any]) -> Instants:
    """The instants that all arrays have, and the members.

    Args:
        times: (n,) [s], or None. arrays: name -> arrays of (n,) or (B, n). vary: path -> (B,) values.

    Raises:
        ModelError: arrays of other lengths than others, times that are none.
    """
    shapes = {name: [np.shape(x) for x in given] for name, given in arrays.items()}
    if times is not None:
        given, times = times, real_array(times)
        if times is None or times.ndim != 1 or not times.size or not np.isfinite(times).all():
            raise ModelError("times", shown(given), "finite seconds, one an instant", "Give (n,) of them.")
        shapes["times"] = [times.shape]
    counts = {name: shape[-1] for name, every in shapes.items() for shape in every if shape}
    sizes = {name: shape[0] for name, every in shapes.items() for shape in every if len(shape) > 1}
    sizes |= {path: len(values) for path, values in vary.items() if np.ndim(values) == 1}
    for what, lengths in (("instants", counts), ("members", sizes)):
        if len(set(lengths.values())) > 1:
            raise ModelError(what, f"{lengths}", f"one number of {what}", "Give all arrays as many values.")
    return Instants(times, next(iter(counts.values()), 1), next(iter(sizes.values()), None))


def standing_at(model: Model, run: Result, instants: Instants) -> Result:
    """A run as one of more members, whose ends are the instants of its own: assembled states go on from it.

    Raises:
        ModelError: it has not recorded all coordinates, speeds and internal states, or has other instants.
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
    first = (instants.count,) if instants.members is None else (instants.members, instants.count)
    if np.shape(run.status) + run.time.shape != first:
        raise ModelError("along", f"{len(run.time)} instants", f"{first} as of the motion", "Give all at its instants.")
    final = {name: np.zeros((count, n)) for name, n in (("q", plan.nq), ("v", plan.nv), ("states", plan.ns))}
    for path, (name, place) in places.items():
        final[name][:, place] = given[path].reshape(count, -1)
    whole = {name: np.repeat(values, instants.count) for name, values in run.certificate.items()}
    status = np.repeat(run.status, instants.count)
    return replace(run, final=final, certificate=whole, status=status, ending=None, events=None)


def _array(where: str, values: Any) -> Array:
    """Of real numbers; traced ones as an array of JAX."""
    if is_traced(values):
        return jnp.asarray(values, float)
    if (array := real_array(values)) is None:
        raise ModelError(where, shown(values), "real numbers", "Give an array.")
    return array
