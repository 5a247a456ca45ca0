"""What a session asks of a workbench, and a workbench as the engine of a session. NumPy only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shiftjax.editing.velocities.free_motions import FreeMotions
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED
from shiftjax.record import record
from shiftjax.rotations import quaternion_of_rotation, rotation_of_vector
from shiftjax.viewer.motion.live_run import ShownCurve, ShownGoal
from shiftjax.viewer.motion.session import INTERVAL, Engine


class JointReach(Protocol):
    """The protocol of `shiftjax.kinematics.ranges.travel.JointTravel`, of one design."""

    @property
    def low(self) -> Any: ...
    @property
    def high(self) -> Any: ...
    @property
    def unit(self) -> str: ...
    @property
    def at_low(self) -> Mapping[str, Any]: ...
    @property
    def at_high(self) -> Mapping[str, Any]: ...


class CoordinateWay(Protocol):
    """The protocol of `shiftjax.editing.posing.poser.JointWay`."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def dead(self) -> Sequence[Mapping[str, float]]: ...


class SingularPose(Protocol):
    """The protocol of `shiftjax.editing.velocities.singular_places.SingularPlace`."""

    @property
    def text(self) -> str: ...
    @property
    def places(self) -> Mapping[str, float]: ...


class HandPoses(Protocol):
    """The protocol of `shiftjax.kinematics.trajectory.Trajectory`."""

    @property
    def count(self) -> int: ...
    @property
    def time(self) -> np.ndarray | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    def write(self, path: str | Path) -> Path: ...


class ByHand(Protocol):
    """The protocol of `shiftjax.editing.workbench.Workbench`."""

    @property
    def missed(self) -> float: ...
    @property
    def model(self) -> Model: ...
    @property
    def drawn_model(self) -> Model: ...
    @property
    def values(self) -> dict[str, float]: ...
    @property
    def locks(self) -> frozenset[str]: ...
    @property
    def lockable(self) -> frozenset[str]: ...
    @property
    def locked_model(self) -> Model: ...
    @property
    def poses(self) -> Mapping[str, Any]: ...
    @property
    def gap(self) -> float: ...
    @property
    def freedoms(self) -> int: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def numbers_set(self) -> Sequence[str]: ...
    @property
    def script(self) -> str: ...
    @property
    def held(self) -> bool: ...
    @property
    def goal_states(self) -> Mapping[str, ShownGoal]: ...
    @property
    def hand_states(self) -> tuple[ShownGoal, ...]: ...
    def turning_axes(self, body: str) -> np.ndarray: ...
    def orient_on(self, body: str, R: Any, at: Any = ...) -> Any: ...
    def other_poses(self, name: str = "", progress: Callable[[float], None] = ...) -> tuple[str, Mapping[str, Any]]: ...
    def trajectory(self) -> HandPoses: ...
    def read_trajectory(self, path: str | Path) -> HandPoses: ...
    def go_to(self, trajectory: Any, row: int) -> Any: ...
    def way_of(self, coordinate: str) -> CoordinateWay: ...
    def curve_of(self, body: str, point: Any) -> ShownCurve: ...
    def travel_of(self, coordinate: str) -> JointReach: ...
    def singular_poses_of(self, coordinate: str) -> Sequence[SingularPose]: ...
    def free_motions(self) -> FreeMotions: ...
    def drag_on(self, body: str, point: Any, target: Any) -> Any: ...
    def turn_on(self, coordinate: str, value: float) -> Any: ...
    def set_on(self, path: str, value: float) -> Any: ...
    def drop(self) -> Any: ...
    def do(self, step: str, *args: Any, **words: Any) -> Any: ...
    def replay(self, script: str) -> Any: ...
    def flip(self, name: str = "", progress: Callable[[float], None] = ...) -> str: ...
    def undo(self) -> bool: ...
    def redo(self) -> bool: ...
    def refuse_open(self, where: str) -> None: ...
    def save(self, path: str | Path) -> None: ...


@record
class Helpers:
    """What a workbench asks others for; without them it poses and changes alone.

    Attributes:
        run: a model -> a simulation of it. report: a model -> its topology, as of `info`. variants: a model, paths of
            numbers that were set by hand, and a folder -> the path of a stored study of it.
        help: lines that say what the steps are.
    """

    run: Callable[[Model], Engine] | None = None
    report: Callable[[Model], Mapping[str, Any]] | None = None
    variants: Callable[[Model, Sequence[str], Path], Path] | None = None
    help: Sequence[str] = ()


@dataclass
class BenchEngine:
    """A workbench as the engine of a session."""

    bench: ByHand
    report: dict[str, Any]
    step: float = INTERVAL
    ended: str = ""
    time: float = 0.0
    units: dict[str, str] = field(default_factory=dict)
    turned_from: tuple[str, np.ndarray, np.ndarray] | None = None  # body, its axes when that began, where it can turn

    @property
    def model(self) -> Model:
        return self.bench.drawn_model

    @property
    def nodes(self) -> tuple[str, ...]:
        return (FIXED, *(path for path, _ in self.model.bodies()))

    @property
    def values(self) -> dict[str, float]:
        return self.bench.values

    def restart(self, values: Mapping[str, float] | None = None) -> None:
        while self.bench.undo():
            pass

    def change(self, values: Mapping[str, float]) -> None:
        for path, value in values.items():
            self.bench.turn_on(path, value)

    def advance(self, seconds: float) -> None:
        """Nothing moves by itself."""

    def instant(self) -> None:
        """No instant is gone back to: `undo` does."""

    def set_back(self, instant: Any) -> None:
        """As `instant`."""

    def poses(self) -> np.ndarray:
        there = self.bench.poses
        return np.array([[*there[path][1], *quaternion_of_rotation(there[path][0].tolist())] for path in self.nodes])

    def channels(self) -> dict[str, Any]:
        return {}

    def certificate(self) -> dict[str, float]:
        return {"gap": self.bench.gap, "missed": self.bench.missed, "freedoms": self.bench.freedoms}

    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        self.turned_from = None
        self.bench.drag_on(body, point, target)

    def twist(self, body: str, point: np.ndarray, turn: np.ndarray, sweep: np.ndarray) -> None:
        """Turns a body from where it stood at first.

        Args:
            turn: (3,) rotation vector [rad] in the world. sweep: (3,) one about the line of sight, which counts, too,
                where the body turns about one or two axes alone: then what is wanted is along these.
        """
        if self.turned_from is None or self.turned_from[0] != body:
            self.bench.drop()
            self.turned_from = body, np.array(self.bench.poses[body][0]), self.bench.turning_axes(body)
        _, R, axes = self.turned_from
        vector = axes.T @ (axes @ (turn + sweep)) if 0 < len(axes) < 3 else turn
        self.bench.orient_on(body, np.array(rotation_of_vector(vector.tolist())) @ R, point)

    def let_go(self) -> None:
        self.turned_from = None
        self.bench.drop()
