"""Lane functions of coordinates, evaluated for many members: recorded the second time, then replayed. Host code."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.run.tape import Tape, Unrecordable

KEPT = 64  # tapes
LaneFunction = Callable[[Lane, Vec], dict[Any, Scalar]]  # values by label

_tapes: dict[tuple[Any, ...], tuple[Recording | None, tuple[Any, ...]]] = {}  # and what the ids of the key belong to


class Recording(NamedTuple):
    """A lane function as a tape, and the labels of its values."""

    tape: Tape
    labels: list[Any]


def evaluate(
    lane: Lane, q: np.ndarray, what: Hashable, function: LaneFunction, out: Callable[[Any], np.ndarray]
) -> None:
    """Writes the values of a lane function for all members.

    Args:
        q: (nq, B) coordinates. what: names the function among those of the lane's plan.
        function: from a lane and its coordinates to values by label. out: the array (B,) that takes a label's value.
    """
    arrays = [value for value in (*lane.params.numbers, lane.t) if isinstance(value, np.ndarray)]
    found = _recording(lane, what, function) if all(value.shape == q.shape[1:] for value in arrays) else None
    if found is not None:
        found.tape([*q, *arrays], [out(label) for label in found.labels])
        return
    for label, value in function(lane, list(q)).items():
        out(label)[:] = value


def _recording(lane: Lane, what: Hashable, function: LaneFunction) -> Recording | None:
    """None the first time, and where there can be none."""
    t = None if isinstance(lane.t, np.ndarray) else lane.t
    owners = (lane.plan, lane.functions, lane.params.matrices)
    constants = tuple([None if isinstance(value, np.ndarray) else value for value in lane.params.numbers])
    key = (*map(id, owners), what, lane.length, t, constants)
    found, known = _tapes.get(key, (None, None))
    if known is None:
        for old in list(_tapes)[: len(_tapes) - KEPT]:
            _tapes.pop(old, None)
        _tapes[key] = None, ()
    elif not known:
        found = _recorded(lane, function)
        _tapes[key] = found, owners
    return found


def _recorded(lane: Lane, function: LaneFunction) -> Recording | None:
    nq, all_numbers = lane.plan.nq, (*lane.params.numbers, lane.t)
    count = nq + sum(isinstance(value, np.ndarray) for value in all_numbers)

    labels: list[Any] = []

    def of_values(values: Vec) -> Vec:
        rest = iter(values[nq:])
        *numbers, t = [next(rest) if isinstance(value, np.ndarray) else value for value in all_numbers]
        own = replace(lane, params=Parameters(numbers, lane.params.matrices), t=t)
        found = function(own, values[:nq])
        labels.extend(found)
        return list(found.values())

    try:
        return Recording(Tape(of_values, count), labels)
    except Unrecordable:
        return None
