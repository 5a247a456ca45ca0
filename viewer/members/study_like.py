"""The protocols of what a window shows: members with poses at any time, of stored studies and of running simulations,
and their scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.viewer.members.member_numbers import MemberNumbers
from shiftjax.viewer.scene.scene import Scene, ScenePart

NOBODY = np.zeros(0, np.int64)


@record
class Drawable:
    """Members that can be drawn, and those that cannot."""

    ids: np.ndarray  # (k,) can be
    missing: np.ndarray  # cannot be: the member never started, or cannot be simulated again
    reason: str  # sentences about the missing ones and those that are simulated again; empty where there are none
    again: np.ndarray = field(default_factory=lambda: NOBODY)  # those of `ids` that are simulated again first


@record
class Placed:
    """Poses of several members or times."""

    poses: np.ndarray  # (B, nodes, 7)
    snapped: np.ndarray  # (B,) where the poses of the nearest stored instant are shown instead of those of the time


@record
class Trial:
    """A design that no member has, simulated: `like` is the member whose parts it has, `design` the numbers asked for.

    `study` is of it alone, None where it could not be simulated: `problem` says why.
    """

    like: int
    design: Mapping[str, float]
    study: StudyLike | None
    problem: str


class Trials(Protocol):
    """The protocol of `DesignTrials`."""

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]: ...
    def simulate(self, like: int, design: Mapping[str, float]) -> None: ...
    def forget(self) -> None: ...
    def trial(self) -> Trial | None: ...
    def more(self, like: int, members: np.ndarray, count: int, folder: Path) -> Mapping[str, tuple[float, float]]: ...
    def made(self) -> tuple[str, str] | None: ...
    def text(self) -> str: ...


class StudyLike(MemberNumbers, Protocol):
    """Attributes and methods as in `Study`."""

    at_instants: bool
    titles: Sequence[str]  # what members are called beside their number; empty where by that only
    growing: bool  # whether instants are added and replaced while it is shown
    trials: Trials | None  # designs beside its members; None of what cannot be simulated again
    plotted: Sequence[str]  # channels that are plotted while nothing is picked; empty for the first ones

    @property
    def model(self) -> Model: ...
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def time(self) -> np.ndarray: ...
    @property
    def nodes(self) -> tuple[str, ...]: ...
    @property
    def channels(self) -> Mapping[str, str]: ...
    @property
    def revision(self) -> int:
        """Changes whenever stored instants are replaced or removed."""
        ...

    def value(self, name: str, member: int) -> float: ...
    def model_of(self, member: int) -> Model: ...
    def base_of(self, member: int) -> Model:
        """The model with the parts of a member, before its numbers: the same object for members of the same parts."""
        ...

    def title(self, member: int) -> str:
        """What a member is called: by its number, or by the iteration of an optimisation that it is the design of."""
        ...

    def message(self, member: int) -> str: ...
    def drawable(self, ids: Sequence[int] | np.ndarray) -> Drawable: ...
    def request(self, members: Sequence[int] | np.ndarray) -> None:
        """Has members simulated again whose poses are not there, without waiting for them."""
        ...

    def awaited(self, members: Sequence[int] | np.ndarray) -> bool:
        """Whether some of the members are being simulated again; while none is, `poses` does not wait."""
        ...

    def news(self) -> tuple[str, list[str]]:
        """What is being simulated again and how far it is, "" for nothing; messages since the last call."""
        ...

    def prepare(self, members: Sequence[int] | np.ndarray, tell: Callable[[float], None]) -> None:
        """Waits until the members have poses; `tell` is called with the fraction done. ModelError where one has not."""
        ...

    def poses(self, member: int, t: float | np.ndarray) -> np.ndarray: ...
    def end(self, member: int) -> float: ...
    def track(self, member: int) -> np.ndarray: ...
    def near(self, time: float, count: int) -> StudyLike:
        """So many instants at most about a time [s], of a run that goes on; a stored study is near as a whole."""
        ...

    def placed(self, members: Sequence[int] | np.ndarray, t: float) -> Placed: ...
    def poses_of(self, members: Sequence[int] | np.ndarray, t: float) -> np.ndarray: ...
    def channel(self, path: str, member: int) -> np.ndarray: ...


def span(one: StudyLike, other: StudyLike | None) -> tuple[float, float]:
    """First and last stored instant [s] of both studies, or of the one there is."""
    times = [study.time for study in (one, other) if study is not None]
    return min(float(time[0]) for time in times), max(float(time[-1]) for time in times)


class ScenesLike(Protocol):
    """The scenes of a study's members; as in `MemberScenes`."""

    study: StudyLike
    first: Scene  # that of `number`, at its start

    @property
    def number(self) -> int:
        """The first member that can be drawn."""
        ...

    def of_another(self, study: StudyLike) -> ScenesLike: ...
    def alike(self, study: StudyLike) -> ScenesLike:
        """Scenes of another study, with the widths of bars and the size of these."""
        ...

    def scene(self, member: int) -> Scene: ...
    def updated(self, member: int) -> Scene: ...
    def bodies(self, member: int) -> tuple[ScenePart, ...]: ...


@record
class Design:
    """A member of a study, ready to be drawn."""

    scenes: ScenesLike
    member: int

    @property
    def study(self) -> StudyLike:
        return self.scenes.study

    @property
    def scene(self) -> Scene:
        return self.scenes.scene(self.member)
