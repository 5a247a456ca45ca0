"""Functions of lane values evaluated for many members: recorded the second time, then replayed. Host code."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.run.start.tape import Tape, Unrecordable

KEPT = 64  # tapes
ValueFunction = Callable[[Vec], dict[Any, Scalar]]  # results by label


class Recording(NamedTuple):
    """A function as a tape, and the labels of its results."""

    tape: Tape
    labels: list[Any]


_recordings: dict[tuple[Any, ...], tuple[Recording | None, Sequence[Any]]] = {}  # and what ids in the key belong to


def evaluate(
    values: Sequence[Scalar],
    members: int,
    what: Hashable,
    owners: Sequence[Any],
    function: ValueFunction,
    out: Callable[[Any], np.ndarray],
) -> None:
    """Writes the results of a function for all members.

    Args:
        values: arrays (B,), and constants, by which the operations are chosen. members: B.
        what, owners: name the function: it is the same for an equal `what` and the same objects.
        out: the array (B,) that takes the result of a label.
    """
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    found = None
    if all(value.shape == (members,) for value in arrays):
        found = _recording(values, what, owners, function)
    if found is not None:
        found.tape(arrays, [out(label) for label in found.labels])
        return
    for label, value in function(list(values)).items():
        out(label)[:] = value


def _recording(
    values: Sequence[Scalar], what: Hashable, owners: Sequence[Any], function: ValueFunction
) -> Recording | None:
    """None the first time, and where there can be none."""
    constants = tuple([None if isinstance(value, np.ndarray) else value for value in values])
    key = (*map(id, owners), what, constants)
    found, known = _recordings.get(key, (None, None))
    if known is None:
        for old in list(_recordings)[: len(_recordings) - KEPT]:
            _recordings.pop(old, None)
        _recordings[key] = None, ()
    elif not known:
        found = _recorded(values, function)
        _recordings[key] = found, tuple(owners)
    return found


def _recorded(values: Sequence[Scalar], function: ValueFunction) -> Recording | None:
    labels: list[Any] = []

    def of_arrays(arrays: Vec) -> Vec:
        rest = iter(arrays)
        found = function([next(rest) if isinstance(value, np.ndarray) else value for value in values])
        labels.extend(found)
        return list(found.values())

    try:
        return Recording(Tape(of_arrays, sum(isinstance(value, np.ndarray) for value in values)), labels)
    except Unrecordable:
        return None
