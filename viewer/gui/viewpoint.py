"""From where the scene is seen: the camera, the followed body, the kept camera. No GL, no GUI library."""

from __future__ import annotations

import dataclasses

import numpy as np

from shiftjax.viewer.camera import Camera


@dataclasses.dataclass
class Follow:
    """A body that the camera follows."""

    path: str
    node: int
    start: np.ndarray  # (3,) its position when following began [m]


class Viewpoint:
    """The camera and what it follows.

    Attributes:
        camera: without following; `current` is the one to draw with.
        kept: a camera to return to; standard: name of the last standard view.
        followed: the body that the camera follows, or None.
        trace: node and point (3,) of it [m] whose path is drawn, or None.
    """

    def __init__(self, camera: Camera) -> None:
        self.camera = self.kept = camera
        self.standard = "iso"
        self.followed: Follow | None = None
        self.trace: tuple[int, np.ndarray] | None = None

    def current(self, poses: np.ndarray) -> Camera:
        """The camera to draw from at poses (nodes, 7): moved with the followed body."""
        if self.followed is None:
            return self.camera
        moved = poses[self.followed.node, :3] - self.followed.start
        return self.camera.looking_at(np.array(self.camera.target) + moved)
