"""`Poser`: a mechanism that is posed by hand, bodies dragged and joints turned, with all that was done.

Each step is a problem of `kinematics.positioning` from where the mechanism stands: locked joints first, then what is
wanted. A drag is many of them, each of a few iterations, and one step of the history.
"""

from __future__ import annotations

import dataclasses
import time as clock
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.access.frame_kinds import FrameOn
from shiftjax.access.stated_state import StatedState, stated_state
from shiftjax.editing.elements import consistent
from shiftjax.editing.locks import LockNames
from shiftjax.editing.placed_bodies import PlacedBodies
from shiftjax.editing.scripts import line_of, replayed
from shiftjax.editing.standing import Poses, driven_joints, size_of, stated_at, with_joints
from shiftjax.errors import ModelError, need_mapping, need_number, one_of, shown
from shiftjax.formats.files import load, save
from shiftjax.kinematics.positioning.goals import FrameGoal, Goal, JointGoal, ranked
from shiftjax.kinematics.positioning.ground import Footing
from shiftjax.kinematics.positioning.lone_loops import CLOSED
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.solver import ITERATIONS, solved
from shiftjax.kinematics.positioning.stated_goals import locks_at, wanted_goals
from shiftjax.kinematics.travel import travel
from shiftjax.mechanism.coordinates import plain_coordinate, plain_coordinates
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed, matching
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.real_arrays import real_array
from shiftjax.record import record
from shiftjax.run.start.prepared import Prepared

QUICK = 8  # iterations of a level while a body is dragged, at most: 5 to 20 ms of library models
PICTURE = 0.05  # s that they may take
STEPS = ("drag", "turn", "stand", "pose", "lock", "unlock")
THERE = 1e-9  # rad, m or of a rotation matrix: what is locked is there still
ALONE = np.zeros(1, int)
HAND = 1.5  # level of what a hand wants of a model with targets and postures: before these, after potentials
Numbers = Sequence[float] | np.ndarray
SLIDERS = 12  # coordinates whose travel is asked for: 0.1 to 0.3 s each


@record
class PoseStep:
    """A pose by hand.

    Attributes:
        q: (nq,) coordinates. locks: what stays, by names. line: of the script, "" of the first one.
    """

    q: np.ndarray
    locks: frozenset[str]
    line: str


@record
class JointWay:
    """How far a coordinate goes.

    Attributes:
        low, high: [rad or m]. dead: coordinate -> its place at a dead point, of either end of the travel.
    """

    low: float
    high: float
    dead: tuple[dict[str, float], ...]


class Poser:
    """A mechanism that is posed by hand: loops stay closed, limits and stops hold, what is locked stays.

    What is out of reach leaves the nearest pose, with what is `missed`; `undo` takes a step back. What the hand leaves
    free goes to the targets and postures of the model. Elements are named by their paths, or the ends of them.

    Args:
        model: a Model, a library name or a path.

    Attributes:
        missed: by how much the last drag or turn misses what was wanted [m or rad]; 0 after other steps.

    Raises:
        ModelError: loops that do not close.
    """

    def __init__(self, model: Model | str | Path) -> None:
        self.model = model if isinstance(model, Model) else load(model)
        self._state: StatedState = stated_state(
            self.model, q=None, v=None, vary=None, assign=None, derive=None, drive=None, tie=None, start=None,
            time=None, massless=True,
        )  # fmt: skip
        if self._state.status[0] > 0:
            raise ModelError(self.model.name or "model", self._state.messages[0], "loops that close", "Correct it.")
        plan = self._state.prepared.plan
        plain = plain_coordinates(self._state.prepared.model)
        self._coordinates = {one.path: one for one in plan.coordinates if one.path in plain}
        self._bodies = [path for path, _ in self.model.bodies()]
        self._footing = Footing.of(self._state)
        self._placed = PlacedBodies(self._footing.lane, [FIXED, *self._bodies])
        self._locks, self._wanted = LockNames(self.model), wanted_goals(self._state)
        self._history = [PoseStep(self._state.q[:, 0].copy(), self._locks.stated, "")]
        self._at = 0
        self._held: PoseStep | None = None
        self._staying: tuple[PoseStep, list[Goal]] | None = None
        self.missed = 0.0
        self._seconds = PICTURE / QUICK  # of an iteration of a drag

    # -- what there is -------------------------------------------------------------------------------------------------

    @property
    def _now(self) -> PoseStep:
        return self._held or self._history[self._at]

    @property
    def values(self) -> dict[str, float]:
        """Coordinate of one number -> where it stands [rad or m]."""
        return {path: float(self._now.q[one.q]) for path, one in self._coordinates.items()}

    @property
    def coordinates(self) -> np.ndarray:
        """(nq,) of all joints, as `configuration(q=...)` takes them."""
        return self._now.q.copy()

    @property
    def locks(self) -> frozenset[str]:
        """Coordinates, bodies, and joints that turn any way, that stay where they are: at first those of the model."""
        return self._now.locks

    @property
    def poses(self) -> Poses:
        """Body -> (R (3, 3), p (3,) [m]) in the world, of ground, too."""
        return self._placed.at(self._now.q)

    @property
    def gap(self) -> float:
        """Largest residual of all loops, dimensionless."""
        return self._gap(self._now.q)

    def ranges(self, most: int = SLIDERS) -> dict[str, tuple[float, float]]:
        """Coordinate -> how far it goes from here [rad or m], of the first ones, see `range_of`."""
        return {path: self.range_of(path) for path in [*self._coordinates][:most]}

    def range_of(self, coordinate: str) -> tuple[float, float]:
        """How far a coordinate goes from here [rad or m], see `way_of`."""
        way = self.way_of(coordinate)
        return way.low, way.high

    def way_of(self, coordinate: str) -> JointWay:
        """How far a coordinate goes from here: to limits, stops and the ends of its travel.

        Where there are none, or other freedoms are left, half a turn or the model's length to either side.
        """
        path = self._named(coordinate, "range_of")
        one, low, high = self._coordinates[path], -np.inf, np.inf
        limits = self._search([JointGoal(path, level="posture")]).goals.limits
        for q, (lowest,), (highest,) in zip(limits.q, limits.low, limits.high, strict=True):
            low, high = (float(lowest), float(highest)) if int(q) == one.q else (low, high)
        dead: list[dict[str, float]] = []
        try:
            travels = travel(self.posed, path)
            low, high = max(low, float(travels.low)), min(high, float(travels.high))
            ends = ((travels.low, travels.at_low), (travels.high, travels.at_high))
            dead = [{name: float(x) for name, x in there.items()} for end, there in ends if np.isfinite(end)]
        except ModelError:
            pass  # other freedoms are left, by which it goes on
        room, at = np.pi if one.unit == "rad" else size_of(self.poses), self.values[path]
        low, high = low if np.isfinite(low) else at - room, high if np.isfinite(high) else at + room
        return JointWay(low, high, tuple(dead))

    @property
    def posed(self) -> Model:
        """The model that begins in this pose, with what is locked; displacements that followed from parameters are
        numbers where they do not any more."""
        stated = stated_at(self.model, self.poses, driven_joints(self.model))
        model, _ = consistent(self._locks.written(with_joints(self.model, stated), self.locks))
        return dataclasses.replace(model, origin=None, replaced=())

    @property
    def script(self) -> str:
        """All steps to the present pose, a line each; `replay` does them again."""
        return "".join(f"{step.line}\n" for step in self._history[1 : self._at + 1])

    # -- for a `Workbench` ---------------------------------------------------------------------------------------------

    @property
    def present(self) -> PoseStep:
        """The pose of now, of a drag that goes on, too."""
        return self._now

    @property
    def prepared(self) -> Prepared:
        """The model made ready, with the plan of its coordinates."""
        return self._state.prepared

    @property
    def moved(self) -> bool:
        """Whether it stands elsewhere than the model states, or may."""
        return self._now.line != ""

    def allows(self, q: np.ndarray) -> bool:
        """Whether limits and locks allow coordinates (nq,)."""
        for name in self.locks & self._coordinates.keys():
            if abs(q[self._coordinates[name].q] - self._now.q[self._coordinates[name].q]) > THERE:
                return False
        here, there = self.poses, self._placed.at(q)
        for body in (name.removesuffix(f":{ORIGIN}") for name in self.locks - self._coordinates.keys()):
            if body in here and max(np.abs(x - y).max() for x, y in zip(here[body], there[body], strict=True)) > THERE:
                return False
        if not self._coordinates:
            return True
        limits = self._search([JointGoal(next(iter(self._coordinates)), level="posture")]).goals.limits
        low, high = limits.low[:, 0] - THERE, limits.high[:, 0] + THERE
        return bool(((q[limits.q] >= low) & (q[limits.q] <= high)).all())

    @property
    def held(self) -> bool:
        """Whether a drag or a turn goes on."""
        return self._held is not None

    @property
    def locked_model(self) -> Model:
        """The model, not posed, with what is locked."""
        return self._locks.written(self.model, self.locks)

    @property
    def lockable(self) -> frozenset[str]:
        """What `lock` takes, by paths."""
        return self._locks.names

    def stand_at(self, step: PoseStep) -> None:
        """Takes up a pose of this model as the beginning of another history."""
        self._history, self._at, self._held, self.missed = [step], 0, None, 0.0

    # -- steps ---------------------------------------------------------------------------------------------------------

    def drag(self, body: str, point: Numbers, target: Numbers) -> Poser:
        """A body with a point of it (3,) [m, in the body] at a place of the world (3,) [m], or as near as it comes."""
        self.drop()
        self._put(self._dragged(body, point, target, ITERATIONS))
        return self

    def drag_on(self, body: str, point: Numbers, target: Numbers) -> Poser:
        """A part of a drag: as many iterations towards a place as a picture has time for. The drag ends, as one step,
        with `drop`."""
        begun, count = clock.perf_counter(), max(1, min(QUICK, int(PICTURE / self._seconds)))
        self._held = self._dragged(body, point, target, count)
        self._seconds = 0.5 * (self._seconds + (clock.perf_counter() - begun) / count)
        return self

    def drop(self) -> Poser:
        """Ends a drag, or a turn, as one step.

        It says the pose itself, with the drag as a remark: what came of many parts would not come of the last one.
        """
        if self._held is not None:
            step = dataclasses.replace(self._held, line=f"{line_of('pose', (self._held.q,), {})}  # {self._held.line}")
            self._held = None
            self._put(step)
        return self

    def pose(self, q: Numbers) -> Poser:
        """All coordinates (nq,), as `coordinates` gives them.

        Raises:
            ModelError: coordinates at which loops do not close.
        """
        self.drop()
        array = real_array(q)
        if array is None or array.shape != self._now.q.shape or not np.isfinite(array).all():
            raise ModelError("pose", shown(q), f"{len(self._now.q)} finite numbers", "Take those of `coordinates`.")
        if (gap := self._gap(array)) > CLOSED:
            fault = f"coordinates at which loops are open by {gap:.3g}"
            raise ModelError("pose", fault, "a pose at which loops close", "Use `stand`, which closes them.")
        self.missed = 0.0
        self._put(PoseStep(array, self.locks, line_of("pose", (array,), {})))
        return self

    def turn(self, coordinate: str, value: float) -> Poser:
        """A coordinate at a value [rad or m], or as near as it comes."""
        self.drop()
        self._put(self._turned(coordinate, value))
        return self

    def turn_on(self, coordinate: str, value: float) -> Poser:
        """A part of a turn, as of a slider that is moved: it ends, as one step, with `drop`."""
        self._held = self._turned(coordinate, value)
        return self

    def lock(self, *paths: str) -> Poser:
        """Coordinates, joints or bodies that stay where they are, whatever is dragged."""
        return self._locked("lock", paths, self.locks | self._lockable(paths, "lock"))

    def unlock(self, *paths: str) -> Poser:
        """What moves again; all that is locked where nothing is named."""
        return self._locked("unlock", paths, self.locks - (self._lockable(paths, "unlock") or self.locks))

    def stand(self, values: Mapping[str, float]) -> Poser:
        """Several coordinates at values at once, where loops let them all."""
        need_mapping("stand", values)
        if not values:
            raise ModelError("stand", "no coordinate", "a dict of coordinate -> value", "Name one.")
        for path, value in values.items():
            need_number(f"stand {path}", value, "a finite number [rad or m]")
        goals = [JointGoal(self._named(path, "stand"), float(value)) for path, value in values.items()]
        self.drop()
        self._put(self._went(goals, line_of("stand", (dict(values),), {}), ITERATIONS))
        return self

    # -- history -------------------------------------------------------------------------------------------------------

    def undo(self) -> bool:
        """Takes the last step back; False where there is none."""
        self.drop()
        self._at -= (gone := self._at > 0)
        self.missed = 0.0
        return gone

    def redo(self) -> bool:
        """Does the step again that was taken back last; False where there is none."""
        self.drop()
        self._at += (there := self._at + 1 < len(self._history))
        self.missed = 0.0
        return there

    def replay(self, script: str) -> Poser:
        """Does the steps of a script.

        Raises:
            ModelError: a line that is no step; what a step raises. The steps before it are done.
        """
        replayed(self, script, STEPS)
        return self

    def save(self, path: str | Path) -> None:
        """Writes the model that begins in this pose, replacing what is there.

        Raises:
            ModelError: it cannot be written.
        """
        save(self.posed, path)

    # -- within --------------------------------------------------------------------------------------------------------

    def _locked(self, name: str, paths: Sequence[str], locks: frozenset[str]) -> Poser:
        self.drop()
        full = tuple(one for path in paths for one in self._locks.named(path, name))
        self.missed = 0.0
        self._put(PoseStep(self._now.q, locks, line_of(name, full, {})))
        return self

    def _lockable(self, paths: Sequence[str], where: str) -> frozenset[str]:
        return frozenset(one for path in paths for one in self._locks.named(path, where))

    def _search(self, goals: Sequence[Goal]) -> PositionSearch:
        return PositionSearch(self.model, self._standing(self._now.q), goals, ranked(goals), None, self._footing)

    def _dragged(self, body: str, point: Any, target: Any, iterations: int) -> PoseStep:
        full = self._body(body)
        at, to = (_place(f"drag {full}: {name}", given) for name, given in (("point", point), ("target", target)))
        goal = FrameGoal(FrameOn(full, T=at), T=to)
        return self._went([goal], line_of("drag", (full, at, to), {}), iterations)

    def _turned(self, coordinate: str, value: float) -> PoseStep:
        path = self._named(coordinate, "turn")
        need_number(f"turn {path}", value, "a finite number")
        return self._went([JointGoal(path, float(value))], line_of("turn", (path, float(value)), {}), ITERATIONS)

    def _went(self, goals: Sequence[Goal], line: str, iterations: int) -> PoseStep:
        """From the present pose towards goals: what is locked stays where the last step left it, what is free goes to
        targets and postures of the model."""
        hand = HAND if self._wanted else "target"
        wanted = [dataclasses.replace(goal, level=hand) for goal in goals]
        search = self._search([*self._locked_goals(), *wanted, *self._wanted])
        came = solved(search.goals, self._now.q[:, None], ALONE, iterations)
        level = [one.name for one in search.levels].index(str(hand))
        here = search.goals.levels[level].in_si(search.goals.local(level, came.q, ALONE))
        self.missed = float(np.linalg.norm(here))
        return PoseStep(came.q[:, 0], self.locks, line)

    def _locked_goals(self) -> list[Goal]:
        """Goals by which what is locked stays where the last step left it."""
        step = self._history[self._at]
        if self._staying is None or self._staying[0] is not step:
            pairs = self._locks.pairs(step.locks)
            coordinates = [(path, self._coordinates[path].q) for path in sorted(step.locks) if path not in pairs]
            goals: list[Goal] = [JointGoal(path, float(step.q[q]), level="lock") for path, q in coordinates]
            self._staying = step, [*goals, *locks_at(self._standing(step.q), (), [*pairs.values()])]
        return self._staying[1]

    def _standing(self, q: np.ndarray) -> StatedState:
        return dataclasses.replace(self._state, q=q[:, None])

    def _gap(self, q: np.ndarray) -> float:
        """Largest residual of all loops at coordinates (nq,), dimensionless."""
        if self._footing.lone is not None:
            return self._footing.lone.at(q).gap
        lane, blocks = self._footing.lane, range(len(self._state.prepared.plan.substructures))
        return max((float(np.abs(host.closure(lane, q[:, None], s)[0]).max(initial=0.0)) for s in blocks), default=0.0)

    def _put(self, step: PoseStep) -> None:
        del self._history[self._at + 1 :]
        self._history.append(step)
        self._at += 1

    def _body(self, body: str) -> str:
        matches = matching(self._bodies, body)
        if len(matches) > 1:
            fault = f"{body}, of which there are {len(matches)}"
            raise ModelError("body to drag", fault, listed(matches), "Write the path in full.")
        one_of("body to drag", matches[0] if matches else body, self._bodies)
        return matches[0]

    def _named(self, coordinate: str, where: str) -> str:
        path = plain_coordinate(self.model, coordinate, where)
        if path not in self._coordinates:
            raise ModelError(where, shown(path), "a coordinate of one number", "Drag its body instead.")
        return path

    def __repr__(self) -> str:
        return f"Poser({self.model.name or 'unnamed'}: {self._at} steps, {len(self.locks)} locked)"


def _place(where: str, given: Any) -> np.ndarray:
    array = real_array(given)
    if array is None or array.shape != (3,) or not np.isfinite(array).all():
        raise ModelError(where, shown(given), "three finite numbers", "Give x, y, z.")
    return array
