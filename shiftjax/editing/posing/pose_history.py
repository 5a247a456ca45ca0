"""The history of a mechanism that is posed by hand: its poses, with what is locked and kept. Host code."""

from __future__ import annotations

import dataclasses
import time as clock
from collections.abc import Callable, Mapping
from typing import Self

import numpy as np

from shiftjax.editing.posing.kept_goals import HandGoal
from shiftjax.editing.scripts import line_of
from shiftjax.record import record

QUICK = 8  # iterations of a level while a body is dragged, at most: 5 to 20 ms of library models
PICTURE = 0.05  # s that they may take


@record
class PoseStep:
    """A pose by hand.

    Attributes:
        q: (nq,) coordinates. locks: what stays, by names. line: of the script, "" of the first one.
        goals: those that are kept, by names. hand: those of the step itself, as of a drag.
        pivot: that of a point which stays, as far as it can, while its body turns.
        notes: what it did beside what its line says.
    """

    q: np.ndarray
    locks: frozenset[str]
    line: str
    goals: Mapping[str, HandGoal] = dataclasses.field(default_factory=dict)
    hand: tuple[HandGoal, ...] = ()
    pivot: tuple[HandGoal, ...] = ()
    notes: tuple[str, ...] = ()


class PoseHistory:
    """Poses of one mechanism, to and fro.

    Attributes:
        missed: by how much the last drag or turn misses what was wanted [m or rad]; 0 after other steps.
    """

    def __init__(self, first: PoseStep) -> None:
        self._history, self._at = [first], 0
        self._held: PoseStep | None = None
        self.missed = 0.0
        self._seconds = PICTURE / QUICK  # of an iteration of a drag

    @property
    def _now(self) -> PoseStep:
        return self._held or self._history[self._at]

    @property
    def present(self) -> PoseStep:
        """The pose of now, of a drag that goes on, too."""
        return self._now

    @property
    def coordinates(self) -> np.ndarray:
        """(nq,) of all joints, as `configuration(q=...)` takes them."""
        return self._now.q.copy()

    @property
    def locks(self) -> frozenset[str]:
        """Coordinates, bodies, and joints that turn any way, that stay where they are: at first those of the model."""
        return self._now.locks

    @property
    def goals(self) -> dict[str, HandGoal]:
        """Name -> goal that is kept, as `inverse_kinematics` takes it."""
        return dict(self._now.goals)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last step did beside what it says, as a goal that it replaced."""
        return self._now.notes

    @property
    def moved(self) -> bool:
        """Whether it stands elsewhere than the model states, or may."""
        return self._now.line != ""

    @property
    def held(self) -> bool:
        """Whether a drag or a turn goes on."""
        return self._held is not None

    @property
    def script(self) -> str:
        """All steps to the present pose, a line each; `replay` does them again."""
        return "".join(f"{step.line}\n" for step in self._history[1 : self._at + 1])

    def drop(self) -> Self:
        """Ends a drag, or a turn, as one step.

        It says the pose itself, with the drag as a remark: what came of many parts would not come of the last one.
        """
        if self._held is not None:
            step = dataclasses.replace(self._held, line=f"{line_of('pose', (self._held.q,), {})}  # {self._held.line}")
            self._held = None
            self._put(step)
        return self

    def _part(self, moved: Callable[[int], PoseStep]) -> Self:
        """A part of a drag, of as many iterations as a picture has time for."""
        begun, count = clock.perf_counter(), max(1, min(QUICK, int(PICTURE / self._seconds)))
        self._held = moved(count)
        self._seconds = 0.5 * (self._seconds + (clock.perf_counter() - begun) / count)
        return self

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

    def stand_at(self, step: PoseStep) -> None:
        """Takes up a pose of this model as the beginning of another history."""
        self._history, self._at, self._held, self.missed = [step], 0, None, 0.0

    def _put(self, step: PoseStep, *notes: str) -> None:
        """Takes up a step, with notes of its own: those of the one before, which it was made of, go."""
        step = step if step.notes == notes else dataclasses.replace(step, notes=notes)
        del self._history[self._at + 1 :]
        self._history.append(step)
        self._at += 1
