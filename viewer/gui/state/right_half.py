"""The right half of the view, where there are two. No GL, no GUI library."""

from __future__ import annotations

import dataclasses

import numpy as np

from shiftjax.viewer.members.study_like import Design, StudyLike
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Scene


@dataclasses.dataclass(eq=False)
class RightHalf:
    """Another design at the time of the left half."""

    design: Design
    camera: Camera | None = None  # None for that of the left half
    hovered: bool = False  # whether the cursor is over this half
    typed: str = ""  # in its text box of the timeline
    captions: tuple[object, list[str], list[str]] = (None, [], [])  # key of the cache; lines of both halves

    @property
    def study(self) -> StudyLike:
        return self.design.study

    @property
    def member(self) -> int:
        return self.design.member

    @property
    def scene(self) -> Scene:
        return self.design.scene

    def pose_of(self, path: str, time: float) -> np.ndarray | None:
        """(7,) at a time [s] of the node that carries the part of a path."""
        node = next((part.node for part in self.scene.parts if part.path == path), None)
        return None if node is None else self.study.poses(self.member, time)[node]
