"""How the numbers of a plan go with one that a design names, those that follow from it included. Host code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError, refuse_text
from shiftjax.gradients.derived import derived
from shiftjax.mechanism.model import Model
from shiftjax.run.derive import full_path
from shiftjax.run.options import Options
from shiftjax.run.start.prepared import Prepared
from shiftjax.statics.loads.stated_loads import StatedLoads


def named_numbers(
    model: Model, paths: Sequence[str], given: Options, loads: Sequence[str]
) -> tuple[Options, list[str]]:
    """Options in which the numbers vary by which slopes are wanted, and full paths of these.

    Args:
        loads: numbers that are loads, as they were given.

    Raises:
        ModelError: what is no number of the model; a load.
    """
    refuse_text("slopes", paths)
    known, vary = model.numbers(), dict(given.design.vary or {})
    full = [full_path(model, path, known) for path in paths]
    loaded = {full_path(model, path, known) for path in loads if path in known or model.resolve(path) in known}
    varied = {full_path(model, path, known) for path in vary}
    members = max((np.size(values) for values in vary.values()), default=1)
    for path, name in zip(full, paths, strict=True):
        if path in loaded:
            raise ModelError(f"slopes {name}", "a load", "other numbers", "Write slopes=True for slopes by the load.")
        if path not in varied:
            vary[path] = np.full(members, known[path])
    return given.changed(vary=vary or None), full


class DesignRates:
    """Rates of all numbers of a plan.

    Args:
        stated: the loads. given: with all that varies. prepared: the model.
    """

    def __init__(self, stated: StatedLoads, given: Options, prepared: Prepared) -> None:
        self.model, self.design = stated.model, given.design
        known = self.model.numbers()
        self.first, self.last = (
            {full_path(self.model, path, known): values for path, values in one.items()}
            for one in (stated.first, stated.last)
        )
        self.places = dict(zip(prepared.vary, prepared.places, strict=True))
        self._paths = {place: stated.names.get(path, path) for path, place in self.places.items()}

    def name_of(self, place: int) -> str:
        """Of a number of the plan, as its load is named."""
        return self._paths[place]

    def of_loading(self, path: str, member: np.ndarray, places: Sequence[int]) -> np.ndarray:
        """(P, K) how the slopes of numbers by the load factor go with a number of a design."""
        first, last = (self.by(path, member, np.full(len(member), factor)) for factor in (0.0, 1.0))
        none = np.zeros(len(member))
        return np.array([last.get(place, none) - first.get(place, none) for place in places])

    def by(self, path: str, member: np.ndarray, factor: np.ndarray) -> dict[int, np.ndarray]:
        """Place in the plan -> (K,) slope by a number of a design, of members (K,) under load factors (K,)."""
        derive = self.design.derive or {}
        if not derive and not self.model.expressions:
            return {self.places[path]: np.ones(len(member))}
        columns = {name: first[member] + factor * (self.last[name] - first)[member]
                   for name, first in self.first.items()}  # fmt: skip

        arrays: dict[str, Any] = {}

        def every(x: Any) -> dict[str, Any]:
            return derived(self.model, arrays | {path: x}, self.design.assign, derive)[0]

        with jax.enable_x64(True):
            arrays |= {name: jnp.asarray(x) for name, x in columns.items()}
            at = arrays[path]
            _, rates = jax.jvp(every, (at,), (jnp.ones_like(at),))
        return {self.places[name]: np.asarray(rate) for name, rate in rates.items()
                if name in self.places and np.any(np.asarray(rate))}  # fmt: skip
