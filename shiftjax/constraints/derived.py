"""Constraints written as Phi alone, of poses of frames, coordinates and time: the house derives J, nu and gamma.

Phi is a function of what it asks of a state; each answer x comes with its directions of motion. With the slopes of Phi
along them, by forward mode, J follows by the chain rule from the geometric Jacobian of the frames, nu from time, and
gamma from d^2 Phi/dt^2 where all q'' = 0: D^2 Phi [x', x'] + D Phi [x''].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from shiftjax.algebra import Mat, Scalar, Vec, cross, is_zero, known, matvec, plus, transpose
from shiftjax.constraints.kind import ConstraintKind, FrameWrench, Rows
from shiftjax.errors import ModelError
from shiftjax.lanes.outside import UserFunction
from shiftjax.plan_elements import ORIGIN, WORLD, MotionView, Named, PlacedFrame, RowGroup

UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass
class Answer:
    """Scalars that Phi asked for, and how they move.

    Attributes:
        directions: derivatives along single motions, each with the rate of that motion for a unit of each speed.
        time: derivative for time alone. rate, second: first and second derivative along the motion, all q'' = 0.
    """

    value: Vec
    directions: list[tuple[Vec, dict[int, Scalar]]]
    time: Vec
    rate: Vec
    second: Vec


class Asked:
    """What Phi may ask of a state.

    Args:
        given: the answers to give, by question; None for those of the state itself, which `answers` then holds.
    """

    def __init__(self, group: RowGroup, motion: MotionView, given: Mapping[Any, Vec] | None = None) -> None:
        self.group, self.motion, self.given = group, motion, given
        self.answers: dict[Any, Answer] = {}

    @property
    def t(self) -> Scalar:
        """Time [s]."""
        return self._answer("t", lambda: Answer([self.motion.t], [], [1.0], [1.0], [0.0]))[0]

    def coordinate(self, index: int) -> Scalar:
        """One of the plan's coordinates [rad or m]."""
        motion = self.motion

        def answer() -> Answer:
            along = [([1.0], {motion.speed_index(index): 1.0})]
            return Answer([motion.coordinate(index)], along, [0.0], [motion.speed(index)], [0.0])

        return self._answer(index, answer)[0]

    def pose(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> tuple[Mat, Vec]:
        """Rotation matrix and origin [m] of a frame of the constraint, as another one sees it."""
        self._refuse(frame, relative)
        x = self._answer((frame, relative), lambda: _pose(self.motion, frame, relative))
        return [x[0:3], x[3:6], x[6:9]], x[9:12]

    def point(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        """Position [m] of a point that is given in the frame, as another one sees it."""
        R, origin = self.pose(frame, relative=relative)
        return plus(origin, matvec(R, p))

    def values(self, numbers: Named) -> Mapping[str, Any]:
        """The numbers of the constraint: field -> scalar, or lists of scalars in the field's shape."""
        return self.motion.values(numbers)

    def _answer(self, question: Any, make: Callable[[], Answer]) -> Vec:
        if self.given is not None:
            return self.given[question]
        if question not in self.answers:
            self.answers[question] = make()
        return self.answers[question].value

    def _refuse(self, frame: PlacedFrame, relative: PlacedFrame) -> None:
        """Raises where the answer would move with joints that the rows are not known to depend on."""
        frames = self.group.frames
        from_ground = len(frames) == 1 or any(placed.node == 0 for placed in frames)
        if frame not in frames or not (relative in frames or (relative == WORLD and from_ground)):
            allowed = "its frames as one of them sees it; of a single one, or with one on ground, as the world does"
            todo = "Write pose(frame, relative=other) with both of `group.frames`."
            raise ModelError(f"constraint {self.group.name}", "a pose that others move too", allowed, todo)


class DerivedConstraint(ConstraintKind):
    """A constraint of which only `phi` is written.

    Attributes:
        units: of each row, "m", "rad", or "{x}" for that of the first coordinate.
    """

    units: ClassVar[tuple[str, ...]] = ("m",)
    has_wrenches = True

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        """Phi of every row; lane code on the scalars of `algebra`. It may ask for `t` where it is `time_dependent`."""
        raise NotImplementedError

    def row_units(self, group: RowGroup) -> tuple[str, ...]:
        return tuple(group.units[0] if unit == "{x}" else unit for unit in self.units)

    def rows(self, group: RowGroup, motion: MotionView) -> Rows:
        asked = Asked(group, motion)
        phi = list(self.phi(group, asked))
        if "t" in asked.answers and not self.time_dependent:
            raise ModelError(f"constraint {group.name}", "a Phi that asks for time", "time_dependent = True", "Set it.")
        rows = Rows(phi=phi, unit=[*self.row_units(group)])
        for slopes in self._slopes(group, motion, asked, len(phi)):
            rows.J.append(slopes.along_speeds())
            rows.nu.append(-slopes.along("time"))
            rows.gamma.append(0.0 if motion.v is None else -slopes.second())
        return rows

    def wrenches(self, group: RowGroup, motion: MotionView) -> list[list[FrameWrench]]:
        """By virtual work: the slopes of a row along turns and moves of a frame are its moment and force."""
        asked = Asked(group, motion)
        rows = len(self.phi(group, asked))
        poses = [question for question in asked.answers if isinstance(question, tuple)]
        return [
            [FrameWrench(frame, seen_by, *slopes.along_pose((frame, seen_by))) for frame, seen_by in poses]
            for slopes in self._slopes(group, motion, asked, rows)
        ]

    def _slopes(self, group: RowGroup, motion: MotionView, asked: Asked, rows: int) -> Iterator[Slopes]:
        """The derivatives of each row at what Phi has asked for."""
        for row in range(rows):
            yield Slopes(lambda given, row=row: self.phi(group, Asked(group, motion, given))[row], asked.answers)


class Slopes:
    """Derivatives of one row of Phi at its answers."""

    def __init__(self, phi: Callable[[Mapping[Any, Vec]], Scalar], answers: Mapping[Any, Answer]) -> None:
        self.phi, self.answers = phi, answers
        self.x = [x for answer in answers.values() for x in answer.value]
        directions = [self._vector(q, d) for q, answer in answers.items() for d, _ in answer.directions]
        directions += [self._all("time"), self._all("rate"), self._all("second")]
        self.inputs = [k for k, x in enumerate(self.x) if not (known(x) and all(is_zero(d[k]) for d in directions))]

    def along_speeds(self) -> dict[int, Scalar]:
        """One row of J: the slope along each direction, times how far each speed goes along it."""
        entries: dict[int, Scalar] = {}
        for question, answer in self.answers.items():
            for direction, speeds in answer.directions:
                slope = self._slope(self._vector(question, direction))
                for speed, rate in speeds.items():
                    entries[speed] = entries.get(speed, 0.0) + slope * rate
        return {speed: entry for speed, entry in entries.items() if not is_zero(entry)}

    def along_pose(self, question: Any) -> tuple[Vec, Vec]:
        """The slopes along turns about, and moves along, the axes of the frame that sees a pose."""
        x = self.answers[question].value
        turns, moves = _directions([x[0:3], x[3:6], x[6:9]])
        turning, moving = ([self._slope(self._vector(question, d)) for d in each] for each in (turns, moves))
        return turning, moving

    def along(self, name: str) -> Scalar:
        """The slope along one derivative of all answers."""
        return self._slope(self._all(name))

    def second(self) -> Scalar:
        """The second derivative along the motion, all q'' = 0."""
        return self._function.bend(*self._moving(self._all("rate"))) + self.along("second")

    def value(self, x: Sequence[Scalar]) -> Scalar:
        """Phi at its moving inputs."""
        full = list(self.x)
        for k, given in zip(self.inputs, x, strict=True):
            full[k] = given
        leaves = iter(full)
        return self.phi({question: [next(leaves) for _ in answer.value] for question, answer in self.answers.items()})

    @cached_property
    def _function(self) -> UserFunction:
        return UserFunction(self.value, len(self.inputs))

    def _slope(self, direction: Vec) -> Scalar:
        return self._function.slope(*self._moving(direction))

    def _moving(self, direction: Vec) -> tuple[Vec, Vec]:
        """The moving inputs, and a direction of them."""
        return [self.x[k] for k in self.inputs], [direction[k] for k in self.inputs]

    def _all(self, name: str) -> Vec:
        return [x for answer in self.answers.values() for x in getattr(answer, name)]

    def _vector(self, question: Any, direction: Vec) -> Vec:
        """A direction of one answer among those of all."""
        return [
            x for q, answer in self.answers.items() for x in (direction if q == question else [0.0] * len(answer.value))
        ]


def _pose(motion: MotionView, frame: PlacedFrame, relative: PlacedFrame) -> Answer:
    """A pose as nine entries of R by rows and three of the origin; turned by w, R moves by w x R."""
    R, origin = motion.pose(frame, relative=relative)
    turning, moving = motion.angular_jacobian(frame, relative=relative), motion.jacobian(frame, relative=relative)
    directions = [
        (direction, {speed: column[i] for speed, column in columns.items() if not is_zero(column[i])})
        for columns, along in zip((turning, moving), _directions(R), strict=True)
        for i, direction in enumerate(along)
    ]
    directions = [(direction, speeds) for direction, speeds in directions if speeds]
    w, v = motion.angular_velocity(frame, relative=relative), motion.velocity(frame, relative=relative)
    alpha, a = motion.angular_bias(frame, relative=relative), motion.bias(frame, relative=relative)
    once = _turned(w, R)
    twice = plus(_turned(alpha, R), _turned(w, [once[0:3], once[3:6], once[6:9]]))
    return Answer([*_leaves(R), *origin], directions, [0.0] * 12, [*once, *v], [*twice, *a])


def _directions(R: Mat) -> tuple[list[Vec], list[Vec]]:
    """How the twelve entries of a pose change by turns about, and by moves along, each axis."""
    return [[*_turned(e, R), *ORIGIN] for e in UNITS], [[*[0.0] * 9, *e] for e in UNITS]


def _turned(w: Sequence[Scalar], R: Mat) -> Vec:
    """w x R, by rows."""
    return list(_leaves(transpose([cross(w, column) for column in transpose(R)])))


def _leaves(values: Any) -> Iterator[Scalar]:
    if isinstance(values, list | tuple):
        for value in values:
            yield from _leaves(value)
    else:
        yield values
