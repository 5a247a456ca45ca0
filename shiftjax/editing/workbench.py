"""`Workbench`: one mechanism that is changed and posed by hand, with one history of all that was done.

It is an `Editor` and a `Poser` in turn: a step of topology or of numbers begins from the model as it is posed, poses
begin from the model as it was changed. Windows and shells work on it by `do`, whose calls are the lines of its script.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.editing.editor import STEPS as CHANGES
from shiftjax.editing.editor import Editor
from shiftjax.editing.numbers import number_behind, with_numbers
from shiftjax.editing.path_moves import PathMoves, path_after
from shiftjax.editing.posing.goal_states import GoalState
from shiftjax.editing.posing.joint_ways import JointWay
from shiftjax.editing.posing.kept_goals import HandGoal
from shiftjax.editing.posing.other_assemblies import other_assembly
from shiftjax.editing.posing.pose_history import PoseStep
from shiftjax.editing.posing.pose_stages import LoopGap
from shiftjax.editing.posing.poser import STEPS as MOVES
from shiftjax.editing.posing.poser import Numbers, Poser
from shiftjax.editing.scripts import need_arguments, replayed
from shiftjax.editing.standing import Poses
from shiftjax.editing.trajectory_steps import TrajectorySteps
from shiftjax.editing.velocities.free_motions import FreeMotions
from shiftjax.editing.velocities.motion_finder import MotionFinder
from shiftjax.editing.velocities.singular_places import SingularPlace, singular_places
from shiftjax.errors import ModelError, need_number, one_of
from shiftjax.formats.builder import ModelBuilder
from shiftjax.formats.files import load, save
from shiftjax.kinematics.point_curve import PointCurve, point_curve
from shiftjax.kinematics.ranges.travel import JointTravel, travel
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.sublinkages import LinkageStage
from shiftjax.record import record
from shiftjax.watching import Progress, nobody

STEPS = tuple(dict.fromkeys((*MOVES, *CHANGES)))  # locks are of poses; a model that is written has them, too


@record
class WorkStep:
    """Where a step led to.

    Attributes:
        model: as it was changed. pose: in it. line: of the script, "" of the first one. notes: what was changed beside
            what the line says. freedoms: of the mechanism where it stands. numbers: paths of those that were set.
            moves: where paths of the model before went.
    """

    model: Model
    pose: PoseStep
    line: str
    notes: tuple[str, ...]
    freedoms: int
    numbers: tuple[str, ...] = ()
    moves: tuple[PathMoves, ...] = ()


@dataclasses.dataclass
class _MovedNumber:
    """A number on its way: whose pose and which model it left, and where it is, None before it moves."""

    poser: Poser
    model: Model
    path: str
    value: float | None


class Workbench(TrajectorySteps):
    """A mechanism that is changed and posed by hand: every step can be taken back, and is a line of one script.

    The steps are those of `Editor`, by which nothing moves, and those of `Poser`, by which nothing changes.

    Args:
        model: a Model, a library name or a path; None for nothing but ground.

    Raises:
        ModelError: loops that do not close.
    """

    def __init__(self, model: Model | str | Path | None = None) -> None:
        if model is None:
            model = ModelBuilder().build()
        model = model if isinstance(model, Model) else load(model)
        self._poser = Poser(model)
        self._history = [WorkStep(model, self._poser.present, "", (), Editor(model).freedoms)]
        self._at = 0
        self._editor: Editor | None = None  # of the transaction that is open
        self._set: list[str] = []  # numbers, by that
        self._moving: _MovedNumber | None = None
        self._finder: MotionFinder | None = None

    # -- what there is -------------------------------------------------------------------------------------------------

    @property
    def _step(self) -> WorkStep:
        return self._history[self._at]

    @property
    def model(self) -> Model:
        """The model as it was changed, beginning where it is posed; the very one that was given until it moves."""
        return self._poser.posed if self._poser.moved else self._poser.model

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last step changed beside what it says."""
        return self._step.notes

    @property
    def freedoms(self) -> int:
        """Of the mechanism where it stands; -1 where its loops cannot be analysed."""
        return self._step.freedoms

    @property
    def values(self) -> dict[str, float]:
        """Coordinate of one number -> where it stands [rad or m]."""
        return self._poser.values

    @property
    def coordinates(self) -> np.ndarray:
        """(nq,) of all joints."""
        return self._poser.coordinates

    @property
    def locks(self) -> frozenset[str]:
        """What stays where it is."""
        return self._poser.locks

    @property
    def lockable(self) -> frozenset[str]:
        """What `lock` takes, by its names in `locks`."""
        return self._poser.lockable

    @property
    def locked_model(self) -> Model:
        """The model as it was changed, with what is locked."""
        return self._poser.locked_model

    @property
    def poses(self) -> Poses:
        """Body -> (R (3, 3), p (3,) [m]) in the world, of ground, too."""
        return self._poser.poses

    @property
    def gap(self) -> float:
        """Largest residual of all loops, dimensionless."""
        return self._poser.gap

    @property
    def open_loops(self) -> dict[str, LoopGap]:
        """Joint at which a loop is cut -> by how much it is open, as `Poser.open_loops`."""
        return self._poser.open_loops

    def refuse_open(self, where: str) -> None:
        """Raises where loops are open, as `Poser.refuse_open`."""
        self._poser.refuse_open(where)

    @property
    def stages(self) -> tuple[LinkageStage, ...]:
        """The order in which sublinkages are solved, as `Poser.stages`."""
        return self._poser.stages

    @property
    def missed(self) -> float:
        """By how much the last drag or turn misses what was wanted [m or rad]."""
        return self._poser.missed

    @property
    def goals(self) -> dict[str, HandGoal]:
        """Name -> goal that is kept, as `inverse_kinematics` takes it."""
        return self._poser.goals

    @property
    def goal_states(self) -> dict[str, GoalState]:
        """Name -> how far the mechanism is from a goal that is kept, and what blocks it."""
        return self._poser.goal_states

    @property
    def hand_states(self) -> tuple[GoalState, ...]:
        """The same of the last drag or turn; none after other steps."""
        return self._poser.hand_states

    @property
    def held(self) -> bool:
        """Whether a drag or a turn goes on, or a number is on its way."""
        return self._poser.held or self._moving is not None

    def turning_axes(self, body: str) -> np.ndarray:
        """(k, 3) axes about which a body can turn from here, as `Poser.turning_axes`."""
        return self._poser.turning_axes(body)

    def way_of(self, coordinate: str) -> JointWay:
        """How far a coordinate goes from here, as `Poser.way_of`."""
        return self._poser.way_of(coordinate)

    @property
    def drawn_model(self) -> Model:
        """The model as it was changed, without the pose; another one after each change only."""
        return self._poser.model

    def curve_of(self, body: str, point: Numbers) -> PointCurve:
        """The curve of a body's point (3,) [m, in the body] through the motion of the mechanism, of one freedom."""
        self.refuse_open("curve")
        return point_curve(self.model, body, point)

    def travel_of(self, coordinate: str) -> JointTravel:
        """How far a coordinate goes, and how all joints stand at the ends, its dead points."""
        self.refuse_open("travel")
        return travel(self.model, coordinate)

    def singular_poses_of(self, coordinate: str) -> tuple[SingularPlace, ...]:
        """Poses along the travel of a coordinate, of a mechanism of one freedom, at which loops lose rank within it."""
        self.refuse_open("singular poses")
        return singular_places(self.model, coordinate)

    def free_motions(self) -> FreeMotions:
        """What it can do from here, to first order: screws, instant centres, ellipsoids of velocity; of several
        freedoms the last motion is the way that it went since this was asked before.

        Raises:
            ModelError: loops that are open, as of what is driven and does not follow.
        """
        if self._finder is None or self._finder.poser is not self._poser:
            self._finder = MotionFinder(self._poser)
        return self._finder.here()

    @property
    def numbers_set(self) -> tuple[str, ...]:
        """Paths of the numbers that were set by hand, the last one first, without those that are not there any more or
        follow from others."""
        numbers, paths = self._poser.model.numbers(), list[str]()
        for step in self._history[1 : self._at + 1]:
            paths = [*step.numbers, *(path_after(step.moves, path) for path in paths)]
        follows = self._poser.model.expressions
        return tuple(path for path in dict.fromkeys(paths) if path in numbers and path not in follows)

    @property
    def script(self) -> str:
        """All steps to the present model, a line each; `replay` does them again."""
        return "".join(f"{step.line}\n" for step in self._history[1 : self._at + 1])

    # -- steps ---------------------------------------------------------------------------------------------------------

    def do(self, step: str, *args: Any, **words: Any) -> Workbench:
        """One step of an `Editor` or a `Poser`, by its name and with its arguments, as `do("invert", "rocker_pivot")`.

        Raises:
            ModelError: no such step; what the step raises. Nothing has changed then.
        """
        one_of("step", step, STEPS)
        need_arguments(step, step, _arguments(getattr(_class_of(step), step)), args, words)
        if step in MOVES:
            self._refuse_inside(step)
            self.drop()
            getattr(self._poser, step)(*args, **words)
            self._posed()
        elif self._editor is not None:
            getattr(self._editor, step)(*args, **words)
            if step == "set":
                values = args[0] if args else words["values"]
                model = self._editor.model
                self._set += [number_behind(model, model.resolve(path)) for path in values]
        else:
            with self.transaction():
                self.do(step, *args, **words)
        return self

    def flip(self, name: str = "", progress: Progress = nobody) -> str:
        """Closes the loops in another way, with the inputs where they stand: what is locked, then joints of ground.

        Args:
            name: of the assembly, as `branches` gives it; the next one where left out.
            progress: called with the fraction of the search that is done; what it raises, as Ctrl-C, ends it, and
                nothing has changed.

        Returns:
            the name of the assembly. The script has the pose itself.

        Raises:
            ModelError: inputs that are no plain coordinates; no other assembly within limits and locks, or none of
                that name.
        """
        self._refuse_inside("flip")
        self.drop()
        name, q = self._other_assembly(name, progress)
        self._poser.pose(q)
        self._posed(f"  # flip({name!r})")
        return name

    def other_poses(self, name: str = "", progress: Progress = nobody) -> tuple[str, Poses]:
        """Where `flip` would lead to: the name of the assembly, and body -> (R (3, 3), p (3,) [m]) there.

        Raises:
            ModelError: as of `flip`.
        """
        name, q = self._other_assembly(name, progress)
        return name, self._poser.poses_at(q)

    def _other_assembly(self, name: str, progress: Progress) -> tuple[str, np.ndarray]:
        poser, q = self._poser, self.coordinates
        poser.refuse_open("flip")
        return other_assembly(self.model, poser.prepared, q, name, self.locks, poser.allows, progress, poser.driving)

    @contextmanager
    def transaction(self) -> Iterator[Workbench]:
        """Steps of an `Editor` that are one; an error within takes all of them back."""
        self._refuse_inside("transaction")
        self.drop()
        self._poser.refuse_open("change")
        editor = Editor(self.model)
        self._editor, self._set = editor, []
        try:
            with editor.transaction():
                yield self
        finally:
            self._editor = None
        self._changed(editor)

    def drag_on(self, body: str, point: Numbers, target: Numbers) -> Workbench:
        """A part of a drag, as of `Poser`; it ends, as one step, with `drop`."""
        self._refuse_inside("drag_on")
        self._settle_number()
        self._poser.drag_on(body, point, target)
        return self

    def orient_on(self, body: str, R: Any, at: Numbers = (0.0, 0.0, 0.0)) -> Workbench:
        """A part of a drag that turns a body, as of `Poser`; it ends, as one step, with `drop`."""
        self._refuse_inside("orient_on")
        self._settle_number()
        self._poser.orient_on(body, R, at)
        return self

    def turn_on(self, coordinate: str, value: float) -> Workbench:
        """A part of a turn, as of `Poser`; it ends, as one step, with `drop`."""
        self._refuse_inside("turn_on")
        self._settle_number()
        self._poser.turn_on(coordinate, value)
        return self

    def set_on(self, path: str, value: float) -> Workbench:
        """A number on its way to another value, loops closing; it is set, as one step, with `drop`.

        Raises:
            ModelError: loops that do not close with it; the number stays where it was.
        """
        self._refuse_inside("set_on")
        need_number(f"set {path}", value, "a finite number")
        if self._moving is None or self._moving.path != path:
            self.drop()
            self._moving = _MovedNumber(self._poser, self.model, path, None)
        poser = Poser(with_numbers(self._moving.model, {path: float(value)})[0])
        poser.take_goals(self._moving.poser.goals)
        self._poser, self._moving.value = poser, float(value)
        return self

    def drop(self) -> Workbench:
        """Ends a drag, a turn, or the way of a number, as one step."""
        self._refuse_inside("drop")
        moving, self._moving = self._moving, None
        if moving is not None:
            self._poser = moving.poser
            if moving.value is not None:
                self.do("set", {moving.path: moving.value})
        if self._poser.held:
            self._poser.drop()
            self._posed()
        return self

    # -- history -------------------------------------------------------------------------------------------------------

    def undo(self) -> bool:
        """Takes the last step back; False where there is none."""
        self.drop()
        self._go(self._at - (gone := self._at > 0))
        return gone

    def redo(self) -> bool:
        """Does the step again that was taken back last; False where there is none."""
        self.drop()
        self._go(self._at + (there := self._at + 1 < len(self._history)))
        return there

    def replay(self, script: str) -> Workbench:
        """Does the steps of a script.

        Raises:
            ModelError: a line that is no step; what a step raises. The steps before it are done.
        """
        replayed(_Calls(self), script, STEPS)
        return self

    def save(self, path: str | Path) -> None:
        """Writes the model that begins in this pose, replacing what is there.

        Raises:
            ModelError: it cannot be written; loops are open, which no file can hold.
        """
        self._poser.refuse_open("save")
        save(self.model, path)

    # -- within --------------------------------------------------------------------------------------------------------

    def _hand(self) -> Poser:
        return self._poser

    def _poses_of_model(self) -> list[np.ndarray]:
        """(nq,) coordinates of all steps since the model was changed."""
        steps = self._history[: self._at + 1]
        first = max((k + 1 for k, step in enumerate(steps) if step.model is not self._poser.model), default=0)
        return [step.pose.q for step in steps[first:]]

    def _settle_number(self) -> None:
        """A number that is on its way is set where it came to, before anything else moves."""
        if self._moving is not None:
            self.drop()

    def _posed(self, remark: str = "") -> None:
        """What the poser did last becomes a step, with a remark of the script."""
        last = self._poser.present
        self._put(WorkStep(self._poser.model, last, last.line + remark, last.notes, self._step.freedoms))

    def _changed(self, editor: Editor) -> None:
        """What an editor did becomes a step; what was locked or kept and is still there stays so."""
        if not editor.steps:
            return
        step = editor.steps[-1]
        poser = Poser(editor.model)
        lost, left = poser.take_up(self._poser, step.moves)
        notes = (*step.notes, *([f"not locked any more: {listed(lost)}"] if lost else []))
        notes += (f"no goal any more: {listed(left)}",) if left else ()
        self._poser = poser
        known = poser.model.numbers()
        numbers = tuple(path if path in known else path_after(step.moves, path) for path in self._set)
        line = "; ".join(step.lines)
        self._put(WorkStep(poser.model, poser.present, line, notes, editor.freedoms, numbers, step.moves))

    def _put(self, step: WorkStep) -> None:
        del self._history[self._at + 1 :]
        self._history.append(step)
        self._at += 1

    def _go(self, at: int) -> None:
        """To a step of the history."""
        step = self._history[at]
        if step.model is not self._poser.model:
            self._poser = Poser(step.model)
        self._poser.stand_at(step.pose)
        self._at = at

    def _refuse_inside(self, what: str) -> None:
        if self._editor is not None:
            allowed = f"steps that change a model: {', '.join(one for one in CHANGES if one not in MOVES)}"
            raise ModelError(what, "within a transaction", allowed, "End the transaction first.")

    def __repr__(self) -> str:
        return f"Workbench({self._poser.model.name or 'unnamed'}: {self._at} steps, {self.freedoms} freedoms)"


def steps_in_words() -> tuple[str, ...]:
    """A line for each step: how it is called, and what it does."""
    out = []
    for step in STEPS:
        method = getattr(_class_of(step), step)
        arguments = str(_arguments(method)).partition(" -> ")[0]
        out.append(f"{step}{arguments}: {(inspect.getdoc(method) or '').partition(chr(10))[0]}")
    return tuple(out)


def _class_of(step: str) -> type[Editor] | type[Poser]:
    return Poser if step in MOVES else Editor


def _arguments(method: Callable[..., Any]) -> inspect.Signature:
    """Those of a method, without itself."""
    whole = inspect.signature(method)
    return whole.replace(parameters=[*whole.parameters.values()][1:])


class _Calls:
    """The steps of a workbench as methods, as a script calls them."""

    def __init__(self, bench: Workbench) -> None:
        self._bench, self.transaction = bench, bench.transaction

    def __getattr__(self, step: str) -> Callable[..., Workbench]:
        call: Any = functools.partial(self._bench.do, step)
        call.__signature__ = _arguments(getattr(_class_of(step), step))
        return call
