"""Going on from a run of which events have stopped members or set numbers: what they take along. Host code.

A member that an event has stopped goes on from the instant at which it stopped, with the numbers that events have set.
All members have one clock. Where they stand at different instants, it counts on from the end of the earlier run, which
is right where nothing asks for the time; else they are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.lanes.graph import Graph
from shiftjax.mechanism.model import Model
from shiftjax.run.advance.ending import end_of
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.options import DesignOptions
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepared import Prepared

STATE = ("q", "v", "states", "time")  # what of a final state is no number of the model
SAME = 1e-9  # of a step: instants of members that an event has stopped together, as those of t - 0.3, differ less


def numbers_set(prepared: Prepared, carried: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Path of each number that events set, or have set before -> its row among the numbers of lanes."""
    plan, varied = prepared.plan, prepared.setup.varied
    rows = {row for _, law in prepared.setup.laws for row, _ in law}
    rows |= {row for row, place in enumerate(varied) if plan.numbers[place].path in carried}
    return {plan.numbers[varied[row]].path: row for row in sorted(rows)}


def carried(before: Result | None, model: Model, design: DesignOptions) -> dict[str, np.ndarray]:
    """Number path -> (B,) values that events have set in an earlier run, or in one before that.

    But for those that the caller states anew: by `assign`, or by other values of `vary` than those of that run.

    Raises:
        ModelError: a run of many members, without their `vary`.
    """
    final = {} if before is None or before.final is None else before.final
    values = {path: np.atleast_1d(numbers) for path, numbers in final.items() if path not in STATE}
    if before is None or not values:
        return {}
    if before.batched and design.vary is None:
        raise ModelError("start", f"{before.members} members", "1", "Go on with the same vary.")
    stated = {_full(model, path): numbers for path, numbers in (design.vary or {}).items()}
    anew = {path for path, numbers in stated.items() if not np.array_equal(numbers, before.design.get(path, np.nan))}
    anew |= {_full(model, path) for path in design.assign or ()}
    return {path: numbers for path, numbers in values.items() if path not in anew}


def varied_beside(carried: Mapping[str, np.ndarray], model: Model, design: DesignOptions) -> dict[str, Any]:
    """What varies, with the numbers that are carried in place of those that the caller gave of them."""
    given = design.vary or {}
    if not carried:
        return dict(given)
    return {**{path: numbers for path, numbers in given.items() if _full(model, path) not in carried}, **carried}


def _full(model: Model, path: str) -> str:
    """The full form of a path; of a number of `drive=`, which the model does not have yet, the path itself."""
    try:
        return model.resolve(path)
    except ModelError:
        return path


def begins_at(before: Result | None) -> float:
    """The time [s] at which a run begins: where its members stand; where these differ, the end of the earlier run."""
    if before is None:
        return 0.0
    end = end_of(before.ending, before.settings)
    instants = _instants(before)
    if not len(instants) or not _stopped(before) or _differ(before, instants):
        return end
    return float(instants.max())


def note_of_instants(before: Result | None, lanes: Ensemble) -> tuple[str, ...]:
    """A note where members stand at different instants, which their clock does not tell.

    Raises:
        ModelError: something asks for the time.
    """
    if before is None or not _stopped(before) or not _differ(before, instants := _instants(before)):
        return ()
    stand = f"members that stand at different instants, from {instants.min():.6g} to {instants.max():.6g} s"
    if _asks_for_time(lanes):
        allowed = "members at one instant, where loads, drives or events ask for the time"
        raise ModelError("start", stand, allowed, "Go on with each alone.")
    return (f"start: {stand}: the clock of all counts on from {lanes.settings.begin:.6g} s",)


def _instants(before: Result) -> np.ndarray:
    """(K,) where those members stand that go on [s]."""
    good = np.atleast_1d(before.status) <= 0
    end = end_of(before.ending, before.settings)
    return np.broadcast_to((before.final or {}).get("time", end), good.shape)[good]


def _stopped(before: Result) -> bool:
    return before.events is not None and bool((np.atleast_1d(before.events.stopped) >= 0).any())


def _differ(before: Result, instants: np.ndarray) -> bool:
    return bool(len(instants) and np.ptp(instants) > SAME * before.settings["step"])


def _asks_for_time(lanes: Ensemble) -> bool:
    """Whether what moves the lanes, or an event at which something is done, reads the time."""
    recording, partition, _ = next(lanes.groups(np.zeros(1, int)))
    program = recording.programs.of(partition)
    (clock,) = lanes.layout.slots("t")
    pieces = (program.drift, *program.accelerate, *program.project, *program.events)
    return any(_reads(piece.graph, inputs, clock) for piece in pieces for inputs in (piece.inputs, *piece.repeats))


def _reads(graph: Graph, inputs: Sequence[int], slot: int) -> bool:
    """Whether a graph reads a slot."""
    return any(node[0] == "in" and node[1] < len(inputs) and inputs[node[1]] == slot for node in graph.nodes)
