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
from shiftjax.editing.scripts import line_of, replayed
from shiftjax.editing.standing import Poses, driven_joints, poses_at, size_of, stated_at, with_joints
from shiftjax.errors import ModelError, need_mapping, need_number, one_of, shown
from shiftjax.formats.files import load, save
from shiftjax.kinematics.positioning.goals import FrameGoal, Goal, JointGoal, ranked
from shiftjax.kinematics.positioning.manifold import CLOSED
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.solver import ITERATIONS, solved
from shiftjax.kinematics.travel import travel
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.real_arrays import real_array
from shiftjax.record import record

QUICK = 8  # iterations of a level while a body is dragged, at most: 5 to 20 ms of library models
PICTURE = 0.05  # s that they may take
STEPS = ("drag", "turn", "stand", "pose", "lock", "unlock")
ALONE = np.zeros(1, int)
Numbers = Sequence[float] | np.ndarray
SLIDERS = 12  # coordinates whose travel is asked for: 0.1 to 0.3 s each


@record
class PoseStep:
    """A pose by hand.

    Attributes:
        q: (nq,) coordinates. locks: coordinates that stay. line: of the script, "" of the first one.
    """

    q: np.ndarray
    locks: frozenset[str]
    line: str


class Poser:
    """A mechanism that is posed by hand: loops stay closed, stops of the model hold, locked joints stay.

    What is out of reach leaves the nearest pose, with what is `missed`; `undo` takes a step back. Elements are named by
    their paths, or the ends of them.

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
            self.model, q=None, v=None, vary=None, assign=None, derive=None, drive=None, tie=None, start=None, time=None
        )
        if self._state.status[0] > 0:
            raise ModelError(self.model.name or "model", self._state.messages[0], "loops that close", "Correct it.")
        plan = self._state.prepared.plan
        self._coordinates = {one.path: one for one in plan.coordinates if one.nq == 1}
        self._bodies = [path for path, _ in self.model.bodies()]
        self._history = [PoseStep(self._state.q[:, 0].copy(), frozenset(), "")]
        self._at = 0
        self._held: PoseStep | None = None
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
        """Coordinates that stay where they are."""
        return self._now.locks

    @property
    def poses(self) -> Poses:
        """Body -> (R (3, 3), p (3,) [m]) in the world, of ground, too."""
        return poses_at(self._state.prepared.model, self._state.prepared.plan, self._now.q)

    @property
    def gap(self) -> float:
        """Largest residual of all loops, dimensionless."""
        return self._gap(self._now.q)

    def ranges(self, most: int = SLIDERS) -> dict[str, tuple[float, float]]:
        """Coordinate -> how far it goes from here [rad or m], of the first ones: to stops and the ends of its travel.

        Where there are none, or other freedoms are left, half a turn or the model's length to either side.
        """
        size, out = size_of(self.poses), dict[str, tuple[float, float]]()
        limits = self._search([JointGoal(path, level="posture") for path in [*self._coordinates][:1]]).goals.limits
        stops = {
            int(q): (float(low), float(high))
            for q, (low,), (high,) in zip(limits.q, limits.low, limits.high, strict=True)
        }
        for path, one in list(self._coordinates.items())[:most]:
            low, high = stops.get(one.q, (-np.inf, np.inf))
            try:
                travels = travel(self.posed, path)
                low, high = max(low, float(travels.low)), min(high, float(travels.high))
            except ModelError:
                pass  # other freedoms are left, by which it goes on
            room, at = np.pi if one.unit == "rad" else size, self.values[path]
            out[path] = (low if np.isfinite(low) else at - room, high if np.isfinite(high) else at + room)
        return out

    @property
    def posed(self) -> Model:
        """The model that begins in this pose; displacements that followed from parameters are numbers where they do not
        any more."""
        stated = stated_at(self.model, self.poses, driven_joints(self.model))
        model, _ = consistent(with_joints(self.model, stated))
        return dataclasses.replace(model, origin=None, replaced=())

    @property
    def script(self) -> str:
        """All steps to the present pose, a line each; `replay` does them again."""
        return "".join(f"{step.line}\n" for step in self._history[1 : self._at + 1])

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

    def lock(self, *coordinates: str) -> Poser:
        """Coordinates that stay where they are, whatever is dragged."""
        return self._locked("lock", coordinates, self.locks | {self._named(one, "lock") for one in coordinates})

    def unlock(self, *coordinates: str) -> Poser:
        """Coordinates that move again; all where none is named."""
        free = {self._named(one, "unlock") for one in coordinates} or set(self.locks)
        return self._locked("unlock", coordinates, self.locks - free)

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

    def _locked(self, name: str, coordinates: Sequence[str], locks: frozenset[str]) -> Poser:
        self.drop()
        full = tuple(self._named(one, name) for one in coordinates)
        self.missed = 0.0
        self._put(PoseStep(self._now.q, frozenset(locks), line_of(name, full, {})))
        return self

    def _search(self, goals: Sequence[Goal]) -> PositionSearch:
        return PositionSearch(
            self.model, dataclasses.replace(self._state, q=self._now.q[:, None]), goals, ranked(goals), None
        )

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
        """From the present pose towards goals, locked joints staying."""
        locked = [JointGoal(path, self.values[path], level="lock") for path in sorted(self.locks)]
        search = self._search([*locked, *goals])
        came = solved(search.goals, self._now.q[:, None], ALONE, iterations)
        level = len(search.levels) - 1
        here = search.goals.levels[level].in_si(search.goals.local(level, came.q, ALONE))
        self.missed = float(np.linalg.norm(here))
        return PoseStep(came.q[:, 0], self.locks, line)

    def _gap(self, q: np.ndarray) -> float:
        """Largest residual of all loops at coordinates (nq,), dimensionless."""
        lane = self._state.prepared.lane_of(ALONE, 1.0)
        blocks = range(len(self._state.prepared.plan.substructures))
        return max((float(np.abs(host.closure(lane, q[:, None], s)[0]).max(initial=0.0)) for s in blocks), default=0.0)

    def _put(self, step: PoseStep) -> None:
        del self._history[self._at + 1 :]
        self._history.append(step)
        self._at += 1

    def _body(self, body: str) -> str:
        matches = [path for path in self._bodies if path == body or path.endswith(f":{body}")]
        matches = [body] if body in matches else matches
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
