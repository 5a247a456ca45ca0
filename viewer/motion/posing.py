"""A mechanism that is posed by hand, in a thread of its own, controlled by a window on the main thread.

The same queue of commands as that of a running simulation; here time is that of the hand: each part of a drag is an
instant of the history, so that what was done can be played, plotted and recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED
from shiftjax.rotations import quaternion_of_rotation
from shiftjax.viewer.motion.session import INTERVAL, Session

NOTHING_MOVES = "Nothing moves by itself here: drag a body, or turn a joint; `shiftjax view MODEL --live` runs it."
REACHED = 1e-6  # m or rad: less than that is not missed


class PosedByHand(Protocol):
    """The protocol of `shiftjax.editing.poser.Poser`."""

    model: Model
    missed: float

    @property
    def values(self) -> dict[str, float]: ...
    @property
    def locks(self) -> frozenset[str]: ...
    @property
    def poses(self) -> Mapping[str, Any]: ...
    @property
    def gap(self) -> float: ...
    @property
    def script(self) -> str: ...
    def drag_on(self, body: str, point: Any, target: Any) -> Any: ...
    def drop(self) -> Any: ...
    def turn_on(self, coordinate: str, value: float) -> Any: ...
    def lock(self, *coordinates: str) -> Any: ...
    def unlock(self, *coordinates: str) -> Any: ...
    def undo(self) -> bool: ...
    def redo(self) -> bool: ...
    def save(self, path: str | Path) -> None: ...


@dataclass
class _ByHand:
    """A poser as the engine of a session."""

    poser: PosedByHand
    report: dict[str, Any]

    def __post_init__(self) -> None:
        self.model, self.step, self.units, self.ended, self.time = self.poser.model, INTERVAL, {}, "", 0.0
        self.nodes = (FIXED, *(path for path, _ in self.model.bodies()))

    @property
    def values(self) -> dict[str, float]:
        return self.poser.values

    def restart(self, values: Mapping[str, float] | None = None) -> None:
        while self.poser.undo():
            pass

    def change(self, values: Mapping[str, float]) -> None:
        for path, value in values.items():
            self.poser.turn_on(path, value)

    def advance(self, seconds: float) -> None:
        """Nothing moves by itself."""

    def instant(self) -> None:
        """No instant is gone back to: `undo` does."""

    def set_back(self, instant: Any) -> None:
        """As `instant`."""

    def poses(self) -> np.ndarray:
        there = self.poser.poses
        return np.array([[*there[path][1], *quaternion_of_rotation(there[path][0].tolist())] for path in self.nodes])

    def channels(self) -> dict[str, Any]:
        return {}

    def certificate(self) -> dict[str, float]:
        return {"gap": self.poser.gap, "missed": self.poser.missed}

    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        self.poser.drag_on(body, point, target)

    def let_go(self) -> None:
        self.poser.drop()


class PosingSession(Session):
    """A mechanism that is posed, as the window sees it; attributes as of `Session`, whose numbers are coordinates.

    Attributes:
        locks: coordinates that stay; script: what was done.
    """

    posing = True

    def __init__(
        self,
        poser: PosedByHand,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> None:
        """Starts the thread.

        Args:
            ranges: of coordinates that have sliders. report: of the topology.
        """
        self._poser, self.locks, self.script = poser, poser.locks, ""
        super().__init__(_ByHand(poser, dict(report or {})), ranges)

    # -- called by the window ------------------------------------------------------------------------------------------

    def play(self, time: float) -> None:
        """Says that nothing moves by itself."""
        self._add_message(NOTHING_MOVES)

    def advance(self, time: float, seconds: float) -> None:
        """As `play`."""
        self._add_message(NOTHING_MOVES)

    def restart(self) -> None:
        """Takes all steps back."""
        self.pull = None
        self._command("restart", functools.partial(self._done, self._engine.restart, "the pose of the file"))

    def change(self, path: str, value: float) -> None:
        """Turns a joint, until `let_go`."""
        self.requested[path] = value
        self._command(f"change {path}", functools.partial(self._turn, path, value))

    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        """Drags a body's point (3,) [m, in the body] to a point of the world (3,) [m]."""
        self.pull = (body, point, target)
        self._command("pull", functools.partial(self._drag, body, point, target))

    def let_go(self) -> None:
        """Ends the drag at the last place that was asked for, or the turn: it is a step."""
        pull, self.pull = self.pull, None
        self._command("pull", functools.partial(self._drop, pull))

    def undo(self) -> None:
        """Takes the last step back; no such command replaces another, so that each press counts."""
        self._command(
            f"undo {next(self._count)}", functools.partial(self._back, self._poser.undo, "nothing to take back")
        )

    def redo(self) -> None:
        """Does the step again that was taken back."""
        self._command(
            f"redo {next(self._count)}", functools.partial(self._back, self._poser.redo, "nothing was taken back")
        )

    def lock(self, path: str) -> None:
        """Locks a joint's coordinates, or frees them."""
        self._command(f"lock {next(self._count)}", functools.partial(self._toggle_lock, path))

    def save(self, folder: Path) -> None:
        """Writes the model in this pose into a folder, under a name that is free, and what was done beside it."""
        self._command("save", functools.partial(self._save, folder))

    # -- run by the thread ---------------------------------------------------------------------------------------------

    def _drag(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        self._engine.grab(body, point, target)
        self._seen()

    def _drop(self, pull: tuple[str, np.ndarray, np.ndarray] | None) -> None:
        if pull is not None:
            self._engine.grab(*pull)
        self._engine.let_go()
        self._seen()
        if self._poser.missed > REACHED:
            self._add_message(f"out of reach by {self._poser.missed:.4g}: this is the nearest pose from here")

    def _turn(self, path: str, value: float) -> None:
        self._engine.change({path: value})
        self._seen()

    def _done(self, call: Any, text: str) -> None:
        call()
        self._seen()
        self._add_message(text)

    def _back(self, call: Any, otherwise: str) -> None:
        if not call():
            self._add_message(otherwise)
        self._seen()

    def _toggle_lock(self, path: str) -> None:
        paths = [one for one in self._poser.values if one == path or one.startswith(f"{path}.")]
        if not paths:
            self._add_message(f"{path}: no joint with coordinates of one number; pick a joint to lock it")
            return
        locked = self._poser.locks.issuperset(paths)
        (self._poser.unlock if locked else self._poser.lock)(*paths)
        self._seen()
        self._add_message(f"{path} {'moves again' if locked else 'is locked'}")

    def _save(self, folder: Path) -> None:
        stem, k = f"{self._poser.model.name or 'model'}_posed", 1
        while (target := folder / f"{stem}{'' if k == 1 else f'_{k}'}.json").exists():
            k += 1
        self._poser.save(target)
        target.with_suffix(".txt").write_text(self._poser.script, encoding="utf-8")
        self._add_message(f"written: {target}, and what was done: {target.with_suffix('.txt').name}")

    def _seen(self) -> None:
        """The pose as a new instant of the history."""
        assert isinstance(self._engine, _ByHand)
        self._engine.time += INTERVAL
        self._record()
        self.requested = dict(self.values)
        self.locks, self.script = self._poser.locks, self._poser.script
