"""Goals of one's own functions as rows: an expression of channels, or a lane function of a state. Host code.

What a pose alone decides can be a goal: a row that depends on speeds, forces or the time is refused, by the inputs that
its graph reads. Slopes are tangents of that graph, so that nothing but the value is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.algebra import Scalar, Vec, basis_vector, zeros
from shiftjax.errors import ModelError, shown, wrong
from shiftjax.kinematics.positioning.goals import FunctionGoal
from shiftjax.lanes.building import graph_of
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels
from shiftjax.measures.metric_texts import Reader
from shiftjax.measures.observed_state import ObservedState
from shiftjax.measures.terms import Signal
from shiftjax.mechanism.events import Event
from shiftjax.mechanism.model import Model
from shiftjax.topology.plan import Plan

UNITS = ("1", "rad", "m")
OF_A_POSE = ("q", "numbers", "extra")  # parts of a state that a goal may depend on


@dataclass(frozen=True)
class PoseFunction:
    """Numbers that follow from a pose.

    Attributes:
        key: equal for functions of equal code. values: lane code of a state. size: how many. unit: of each. name: in
            words.
    """

    key: Any
    values: Callable[[LaneState], Vec]
    size: int
    unit: str
    name: str


def pose_function(model: Model, ground: Ground, goal: FunctionGoal, where: str) -> PoseFunction:
    """What a goal is of.

    Args:
        ground: of states of the model.

    Raises:
        ModelError: no expression of channels and no function; one that depends on more than a pose.
    """
    one = _of_text(model, ground, goal, where) if isinstance(goal.of, str) else _of_function(ground, goal, where)
    refuse_more_than_poses(one, ground, f"{where}.of")
    return one


def refuse_more_than_poses(one: PoseFunction, ground: Ground, where: str) -> None:
    """Raises where what is asked depends on more than a pose, as the inputs say that its graph reads."""
    graph = graph_of(lambda x: one.values(LaneState(ground, x)), ground.size)
    read = {node[1] for node in graph.nodes if node[0] == "in"}
    others = [name for name, part in ground.parts.items()
              if name not in OF_A_POSE and read & {*range(part.start, part.stop)}]  # fmt: skip
    if others:
        words = {"v": "speeds", "states": "states of forces", "t": "the time or accelerations", "a": "accelerations"}
        fault = f"{one.name}, which depends on {' and '.join(words[name] for name in others)}"
        todo = "Take places, angles, distances: what stands still at a pose."
        raise ModelError(where, fault, "what follows from a pose alone", todo)


def _of_text(model: Model, ground: Ground, goal: FunctionGoal, where: str) -> PoseFunction:
    if goal.unit is not None:
        raise ModelError(f"{where}.unit", shown(goal.unit), "nothing: channels have units", "Leave it out.")

    signal = signal_of(model, ground.plan, goal.of, f"{where}.of")

    def values(at: LaneState) -> Vec:
        state = observed_pose(at)
        return signal.value({one.path: one.observe(state) for _, one in signal.channels}, at.t)

    key = ("expression", signal.text, tuple(one.path for _, one in signal.channels))
    return PoseFunction(key, values, 1, signal.unit, goal.of)


def signal_of(model: Model, plan: Plan, text: str, where: str) -> Signal:
    """An expression of channels, with its unit.

    Raises:
        ModelError: no such expression, or channels that the model does not have.
    """

    def by_path(paths: Sequence[str]) -> Sequence[Channel]:
        return channels(plan, paths, model.resolve)

    return Reader(where, by_path, (0.0, 0.0)).read_event("goal", Event(text)).signal


def observed_pose(at: LaneState) -> ObservedState:
    """As channels see it, with accelerations that show in a graph as the time does, which no goal may depend on."""
    return ObservedState(at.lane, at.ground.partition, at.q, at.v, at.states, lambda: [at.t] * at.plan.nv)


def _of_function(ground: Ground, goal: FunctionGoal, where: str) -> PoseFunction:
    if not callable(goal.of):
        raise wrong(f"{where}.of", goal.of, "a text, or a function of a LaneState")
    unit = "1" if goal.unit is None else goal.unit
    if unit not in UNITS:
        raise ModelError(f"{where}.unit", shown(unit), f"one of {[*UNITS]}", "Metres count in parts of the length.")
    function, sizes = goal.of, list[int]()

    def values(at: LaneState) -> Vec:
        out = function(at)
        numbers: list[Scalar] = list(out) if isinstance(out, list | tuple) else [out]
        sizes[:] = [len(numbers)]
        return numbers

    try:
        graph_of(lambda x: values(LaneState(ground, x)), ground.size)
    except (TypeError, AttributeError) as error:
        todo = "Compute with `shiftjax.algebra` on the scalars of the state, as a channel does."
        raise ModelError(f"{where}.of", f"{shown(function)}: {error}", "a scalar, or a list of them", todo) from error
    name = getattr(function, "__name__", type(function).__name__)
    return PoseFunction(("function", function), values, sizes[0], unit, name)


def function_rows(at: LaneState, one: PoseFunction, place: int) -> tuple[Vec, list[Vec]]:
    """What is off a wanted value, number `place` of `LaneState.extra`, and its slopes by speeds; lane code."""
    ways = [at.direction(q=at.coordinate_rates(basis_vector(k, at.plan.nv))) for k in range(at.plan.nv)]
    along = at.along(one.values, ways) if ways else []
    slopes = [[way[row] for way in along] or zeros(at.plan.nv) for row in range(one.size)]
    return [value - at.extra[place] for value in one.values(at)], slopes
