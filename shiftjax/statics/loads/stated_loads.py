"""Loads as a user states them: numbers of the model, or coordinates that are put somewhere, from first to last values.

A coordinate among them gets a driver that stands still, whose place is the number that goes. Host code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from shiftjax.constraints.drives import Polynomial
from shiftjax.errors import ModelError, need_mapping, shown
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record
from shiftjax.run.derive import full_path
from shiftjax.run.options import Options
from shiftjax.run.start.driven.drives import driven
from shiftjax.run.start.prepared import Prepared
from shiftjax.statics.loads.load_curves import Loading

STARTS = ("initial_displacement", "initial_velocity")
STRAIGHT = 1e-9  # of the size of a number: derived numbers bend less between the ends of a load


@record
class StatedLoads:
    """What goes from first to last values.

    Attributes:
        model: with drivers of the coordinates that are loads. first, last: `vary` of either end. names: path of a
            number that is a load -> that of the load, in the order in which they were given.
    """

    model: Model
    first: dict[str, np.ndarray]
    last: dict[str, np.ndarray]
    names: dict[str, str]

    def loading(self, given: Options, prepared: Prepared) -> Loading:
        """The numbers that go with the load factor, derived ones included.

        Raises:
            ModelError: derived numbers that do not go linearly with it; none that goes at all.
        """
        first, last = self.first, self.last
        middle = {path: 0.5 * (first[path] + last[path]) for path in first}
        ends = [given.changed(vary=vary).design.worked_out(self.model).vary or {} for vary in (first, middle, last)]
        known = self.model.numbers()
        values = [{full_path(self.model, path, known): np.asarray(x, float) for path, x in vary.items()}
                  for vary in ends]  # fmt: skip
        places, low, high = [], [], []
        for path, place in zip(prepared.vary, prepared.places, strict=True):
            one, half, two = (vary[path] for vary in values)
            if np.abs(0.5 * (one + two) - half).max() > STRAIGHT * np.abs([one, half, two]).max():
                fault = f"{path}, which does not go linearly with the load"
                raise ModelError("load", fault, "numbers that go linearly", "Name that number itself as the load.")
            if not np.array_equal(one, two):
                places.append(place)
                low.append(one)
                high.append(two)
        if not places:
            raise ModelError("load", "the same first and last values", "two different ones", "Correct them.")
        return Loading(tuple(places), np.array(low), np.array(high))


def stated_loads(model: Model, given: Options, load: Mapping[str, Any]) -> StatedLoads:
    """The loads that a user states.

    Args:
        load: path of a number or of a coordinate -> (first, last), numbers or arrays (B,).

    Raises:
        ModelError: none, or what is no pair; one that is varied, too, or given twice, or where a joint begins; unlike
            numbers of members.
    """
    need_mapping("load", load)
    vary = _columns(given.design.vary)
    known = model.numbers()
    varied = {full_path(model, path, known) for path in vary}
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    names: dict[str, str] = {}
    for path, pair in load.items():
        ends = _ends(path, pair)
        coordinate = _coordinate(model, path, known)
        if coordinate and coordinate not in names.values():
            model, numbers, _ = driven(model, {coordinate: Polynomial([ends[0]])})
            (full,) = numbers
        else:
            full = coordinate or full_path(model, path, known)
        if full in varied or full in pairs or coordinate in names.values():
            other = "that varies, too" if full in varied else "that is a load twice"
            raise ModelError(f"load {path}", f"a number {other}", "each number once", "Leave one of them out.")
        if any(f".{start}" in full for start in STARTS):
            fault = "a number that says where a joint begins, which bears nothing"
            todo = "Take a force, a stiffness or a length, or the joint itself, which is then put there."
            raise ModelError(f"load {path}", fault, "numbers on which equilibria depend", todo)
        pairs[full], names[full] = ends, coordinate or full
    if not pairs:
        raise ModelError("load", "no number", "number path -> (first, last)", "Name what grows.")
    sizes = {len(x) for pair in pairs.values() for x in pair} | {len(values) for values in vary.values()}
    if len(sizes - {1}) > 1:
        raise ModelError("members", f"lengths {sorted(sizes)}", "one number of members", "Give all as many.")
    count = max(sizes)
    if 1 in {len(values) for values in vary.values()} and count > 1:
        raise ModelError("vary", "one member", f"{count}, as the load has", "Give as many values.")
    first, last = (
        vary | {path: np.broadcast_to(pair[k], count).copy() for path, pair in pairs.items()} for k in (0, 1)
    )
    return StatedLoads(model, first, last, names)


def _coordinate(model: Model, path: Any, known: Mapping[str, float]) -> str:
    """The path of the coordinate that is a load, "" where a number is."""
    if not isinstance(path, str) or path in known:
        return ""
    full, field = split(model.resolve(path))
    if full + field in known or full not in dict(model.joints()) or (field and not _named(model, full, field)):
        return ""
    return plain_coordinate(model, path, "load")


def _named(model: Model, joint: str, field: str) -> bool:
    """Whether a field of a joint is a coordinate of it, not a number."""
    return f"{joint}{field}" in model.coordinate_units() or field.startswith(".q")


def _ends(path: str, pair: Any) -> tuple[np.ndarray, np.ndarray]:
    """(B,) or (1,) of the first and of the last value."""
    both = [real_array(x) for x in pair] if isinstance(pair, Iterable) and not isinstance(pair, Mapping) else []
    ends = [np.atleast_1d(x) for x in both if x is not None and x.ndim < 2 and x.size and np.isfinite(x).all()]
    if len(ends) != 2 or len(both) != 2:
        allowed = "a pair (first, last) of numbers, or of arrays (B,)"
        raise ModelError(f"load {path}", shown(pair), allowed, "Write (0.0, 100.0).")
    return ends[0], ends[1]


def _columns(vary: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """What varies, as arrays (B,)."""
    columns = dict[str, np.ndarray]()
    need_mapping("vary", {} if vary is None else vary)
    for path, values in (vary or {}).items():
        array = real_array(values)
        if array is None or array.ndim != 1 or not len(array):
            raise ModelError(f"vary {path}", shown(values), "one value a member, shape (B,)", "Write [value].")
        columns[path] = array
    return columns
