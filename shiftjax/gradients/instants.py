"""Instants of the motion of some members as members of one larger ensemble: an instant of a member is one of it.

Host code; numbers may be traced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError, shown
from shiftjax.gradients.simulate import is_traced
from shiftjax.real_arrays import real_array

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


def _array(where: str, values: Any) -> Array:
    """Of real numbers; traced ones as an array of JAX."""
    if is_traced(values):
        return jnp.asarray(values, float)
    if (array := real_array(values)) is None:
        raise ModelError(where, shown(values), "real numbers", "Give an array.")
    return array
