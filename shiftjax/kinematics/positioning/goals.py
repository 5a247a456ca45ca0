"""What is wanted of a pose: goals with a level, a weight and, where asked, a region instead of a point.

Levels are strict: a goal of a lower level never costs one of a higher level anything. Loops come first, limits of
coordinates second; then levels by number, the smallest first. Names of numbers are those of MSim (Vona, Virtual
Articulation and Kinematic Abstraction in Robotics, 2009, section 4.5): "lock" 0, "potential" 1, "target" 2, "posture"
3. Goals of one level are a weighted least-squares problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need, shown
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record

LEVELS = {"lock": 0.0, "potential": 1.0, "target": 2.0, "posture": 3.0}
LETTERS = "xyz"
Level = str | float


@record
class FrameGoal:
    """A frame at a place, along axes, or both.

    Attributes:
        frame: its path, or a kind of frame, as `configuration` takes them. relative_to: the frame in which the goal is.
        T: (3,) or (B, 3) the place of its origin [m]; None leaves it free.
        R: (3, 3) or (B, 3, 3) its axes as columns; None leaves them free.
        along: letters of the components of the place that count, along the axes of the goal: of R where it is given,
            else of `relative_to`. about: the same of the rotation, by its rotation vector.
        box: (3,) or (3, 2) half widths, or lower and upper ends, of a region along these axes in which the place is
            free [m]. turn: the same of the rotation vector [rad]. Infinite ends leave a component free on that side.
        level: a name of `LEVELS`, or a number. weight: among goals of its level; metres count in parts of the model's
            length, as radians.
    """

    frame: Any
    T: Any = None
    R: Any = None
    relative_to: Any = "world"
    along: str = LETTERS
    about: str = LETTERS
    box: Any = None
    turn: Any = None
    level: Level = "target"
    weight: float = 1.0


@record
class CenterGoal:
    """The centre of mass of some bodies at a place.

    Attributes:
        T: (3,) or (B, 3) in `relative_to` [m]. of: a body or several; all where None. Others: as of `FrameGoal`.
    """

    T: Any
    of: str | Sequence[str] | None = None
    relative_to: Any = "world"
    along: str = LETTERS
    box: Any = None
    level: Level = "target"
    weight: float = 1.0


@record
class JointGoal:
    """A coordinate of a joint at a value.

    Attributes:
        coordinate: path of a joint of one coordinate, or of one of several. value: () or (B,) [rad or m]; None where
            the member begins. box: half width, or (2,) lower and upper end, of an interval about it that does as well.
        level, weight: as of `FrameGoal`.
    """

    coordinate: str
    value: Any = None
    box: Any = None
    level: Level = "target"
    weight: float = 1.0


@record
class FunctionGoal:
    """A number of one's own that follows from the pose, at a value or in a region.

    Attributes:
        of: an expression of channels as of metrics and events, "distance(hook, load) - 0.2" or "elbow.q + wrist.q"; or
            a lane function, of an `access.lane_state.LaneState` to a scalar or a list of them. What depends on speeds,
            forces or the time is refused.
        value: () or (B,), in SI; of a function of several numbers that of each. box: half width, or (2,) lower and
            upper end, of an interval about it that does as well.
        unit: of a lane function, "rad", "m" or "1" (None); metres count in parts of the model's length, all else as it
            is. level, weight: as of `FrameGoal`.
    """

    of: Any
    value: Any = 0.0
    box: Any = None
    unit: str | None = None
    level: Level = "target"
    weight: float = 1.0


@record
class PotentialGoal:
    """The least potential energy, of gravity and of all springs and conservative loads; alone on its level.

    Attributes:
        level: as of `FrameGoal`.
    """

    level: Level = "potential"


Goal = FrameGoal | CenterGoal | JointGoal | FunctionGoal | PotentialGoal
KINDS = (FrameGoal, CenterGoal, JointGoal, FunctionGoal, PotentialGoal)
KINDS_TEXT = "a FrameGoal, CenterGoal, JointGoal, FunctionGoal or PotentialGoal"


@record
class Ranked:
    """Goals of one level.

    Attributes:
        name: as the caller wrote it. goals: their numbers among all. energy: whether the level is a PotentialGoal.
    """

    name: str
    goals: tuple[int, ...] = ()
    energy: bool = False


def ranked(goals: Sequence[Goal]) -> list[Ranked]:
    """The levels that goals name, the most important first.

    Raises:
        ModelError: no goal; something else; a level, a weight that cannot be.
    """
    if isinstance(goals, str) or not isinstance(goals, Sequence) or not goals:
        raise ModelError("goals", shown(goals), f"a list, of each {KINDS_TEXT}", "Give at least one.")
    places: dict[float, Ranked] = {}
    for k, goal in enumerate(goals):
        where = f"goals[{k}]"
        if not isinstance(goal, KINDS):
            raise ModelError(where, shown(goal), KINDS_TEXT, "Make one of these.")
        number = level_number(where, goal.level)
        weight = real_array(getattr(goal, "weight", 1.0))
        if weight is None or weight.ndim or not 0.0 < weight < np.inf:
            raise ModelError(
                f"{where}.weight",
                shown(getattr(goal, "weight", 1.0)),
                "a positive number",
                "Leave out what does not count.",
            )
        _refuse_numbers(where, goal)
        for name in ("along", "about"):
            letters = getattr(goal, name, LETTERS)
            need(f"{where}.{name}", letters, str, 'letters of "xyz"')
            if not letters or len(set(letters)) < len(letters) or set(letters) - set(LETTERS):
                raise ModelError(f"{where}.{name}", repr(letters), 'different letters of "xyz"', 'As in "xy".')
        before = places.get(number, Ranked(str(goal.level)))
        energy = isinstance(goal, PotentialGoal)
        if before.goals and (energy or before.energy):
            todo = "Give it a level of its own, a number between 0 and 3 or another."
            raise ModelError(where, f"a PotentialGoal and another goal on level {goal.level}", "one of them", todo)
        places[number] = Ranked(before.name, (*before.goals, k), energy)
    return [places[number] for number in sorted(places)]


def _refuse_numbers(where: str, goal: Goal) -> None:
    """Raises where a goal has no numbers, others than finite ones, or words about numbers that it does not have."""
    if isinstance(goal, FrameGoal):
        if goal.T is None and goal.R is None:
            raise ModelError(where, "neither T nor R", "a place, axes, or both", "Say where the frame should be.")
        for name, without, words in (("T", goal.T is None, ("along", "box")), ("R", goal.R is None, ("about", "turn"))):
            idle = [word for word in words if without and getattr(goal, word) not in (None, LETTERS)]
            if idle:
                todo = f"Leave it out, or give {name}."
                raise ModelError(f"{where}.{idle[0]}", f"without {name}", f"with {name} alone", todo)
    for name, shape in (("T", (3,)), ("R", (3, 3)), ("value", ())):
        if (value := getattr(goal, name, None)) is None:
            continue
        array = real_array(value)
        if array is None or array.shape[-len(shape) or array.ndim :] != shape or array.ndim > len(shape) + 1:
            array = np.full(1, np.nan)
        if not array.size or not np.isfinite(array).all():
            allowed = f"finite numbers of shape {shape}, or one such for each member"
            raise ModelError(f"{where}.{name}", shown(value), allowed, "Give such an array.")


def level_number(where: str, level: Any) -> float:
    """The number of a level.

    Raises:
        ModelError: neither a number nor a name of one.
    """
    number = LEVELS.get(level) if isinstance(level, str) else real_array(level)
    if number is None or np.ndim(number) or not np.isfinite(number):
        raise ModelError(f"{where}.level", shown(level), f"a number, or one of {[*LEVELS]}", "Smaller ones come first.")
    return float(number)


def bounds_of(where: str, given: Any, count: int) -> np.ndarray:
    """(count, 2) lower and upper ends of a region; zeros where there is none.

    Raises:
        ModelError: another shape; ends in the wrong order, which no value lies between.
    """
    if given is None:
        return np.zeros((count, 2))
    array = real_array(given)
    shapes = [(), (2,)] if count == 1 else [(count,), (count, 2)]
    if array is None or array.shape not in shapes or np.isnan(array).any():
        raise ModelError(where, shown(given), " or ".join(map(str, shapes)), "Half widths, or lower and upper ends.")
    ends = array.reshape(count, 2) if array.shape == shapes[1] else np.array([-array, array]).reshape(2, count).T
    if (ends[:, 0] > ends[:, 1]).any():
        raise ModelError(where, shown(given), "lower ends that are not above the upper ones", "Exchange them.")
    return ends
