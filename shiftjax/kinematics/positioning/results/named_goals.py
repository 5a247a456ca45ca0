"""Goals whose numbers are numbers of the model, so that designs vary them as any other: those of studies. Host code.

The place of a goal called NAME is the point `points.NAME`, a wanted value the parameter `parameters.NAME`, and the
rotation vector of wanted axes the parameters `parameters.NAME_turn_x`, `..._y` and `..._z`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shiftjax.errors import ModelError
from shiftjax.kinematics.paths.inputs import units_of
from shiftjax.kinematics.positioning.goals import FunctionGoal, Goal, JointGoal
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.parameters import AXES, Parameter, Point
from shiftjax.record import record


@record
class NamedGoal:
    """A goal and what its numbers are called.

    Attributes:
        goal: without them: places at zero, axes those of the frame that sees them. paths: name of one of its arrays ->
            paths of the numbers of that; of R of a rotation vector [rad].
    """

    name: str
    goal: Goal
    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()


def with_goals(
    model: Model, goals: Mapping[str, tuple[Goal, Mapping[str, Sequence[float]]]], where: Callable[[str], str]
) -> tuple[Model, tuple[NamedGoal, ...]]:
    """A model that has the numbers of goals, and these.

    Args:
        goals: name -> goal, and its arrays T (3,), R as a rotation vector (3,), value (1,). where: of a name, for
            errors.

    Raises:
        ModelError: a name that the model has already.
    """
    points, parameters, named = list[Point](), list[Parameter](), list[NamedGoal]()
    for name, (goal, arrays) in goals.items():
        paths: list[tuple[str, tuple[str, ...]]] = []
        if (T := arrays.get("T")) is not None:
            points.append(Point(name, (float(T[0]), float(T[1]), float(T[2])), f"place of the goal {name}"))
            paths.append(("T", tuple(f"points.{name}.{axis}" for axis in AXES)))
        if (R := arrays.get("R")) is not None:
            turns = [f"{name}_turn_{axis}" for axis in AXES]
            words = f"rotation vector of the goal {name}"
            parameters += [
                Parameter(turn, float(x), "rad", description=words) for turn, x in zip(turns, R, strict=True)
            ]
            paths.append(("R", tuple(f"parameters.{turn}" for turn in turns)))
        if (value := arrays.get("value")) is not None:
            words = f"wanted value of the goal {name}"
            parameters.append(Parameter(name, float(value[0]), unit_of(model, goal), description=words))
            paths.append(("value", (f"parameters.{name}",)))
        named.append(NamedGoal(name, goal, tuple(paths)))
    taken = {one.name for one in (*model.points, *model.parameters)}
    for one in (*points, *parameters):
        if one.name in taken:
            fault = f"{one.name}, a point or a parameter of the model"
            raise ModelError(where(one.name), fault, "a name of its own", "Call the goal something else.")
        taken.add(one.name)
    changed = {"points": (*model.points, *points), "parameters": (*model.parameters, *parameters)}
    origin = model.origin and replace(model.origin, **changed)
    return replace(model, **changed, origin=origin), tuple(named)


def unit_of(model: Model, goal: Goal) -> str:
    """Of the wanted value of a coordinate or a function, "1" where it is not known."""
    if isinstance(goal, FunctionGoal):
        return goal.unit or "1"
    assert isinstance(goal, JointGoal)
    return units_of(model)[plain_coordinate(model, goal.coordinate, "coordinate")]
