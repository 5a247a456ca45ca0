"""From where the scene is seen: the camera, the followed body, the kept camera. No GL, no GUI library."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.motion import framing
from shiftjax.viewer.motion.framing import Extent, Follow
from shiftjax.viewer.scene.camera import Camera


class Viewpoint:
    """The camera and what it follows.

    Attributes:
        camera: without following; `current` is the one to draw with.
        kept_camera: one to return to; standard: name of the last standard view.
        followed: what the camera follows, or None; start: (3,) its middle when following began [m].
        trace: node and point (3,) of it [m] whose path is drawn, or None. trace_frame: where the point is the origin of
            a frame, its path, else "".
        aspect: width over height of the picture.
        extent: what the camera was last fitted to; while nobody has moved the camera, it stays fitted to that.
    """

    def __init__(self, camera: Camera, extent: Extent) -> None:
        self.standard, self.aspect, self.extent = "iso", 1.0, extent
        self.camera = self.kept_camera = self._fitted = camera.fitted(extent.points, self.aspect)
        self.followed: Follow | None = None
        self.start = np.zeros(3)
        self.trace: tuple[int, np.ndarray] | None = None
        self.trace_frame = ""

    @property
    def is_fitted(self) -> bool:
        """Whether nobody has moved the camera since it was fitted."""
        return self.camera is self._fitted

    def fit(self, extent: Extent) -> None:
        """Shows the whole of an extent, without rotation."""
        kept_is_fitted = self.kept_camera is self._fitted
        self.extent = extent
        self.camera = self._fitted = self.camera.fitted(extent.points, self.aspect)
        self.kept_camera = self.camera if kept_is_fitted else self.kept_camera

    def resize(self, aspect: float) -> None:
        """The picture has another aspect; a fitted camera stays fitted."""
        if aspect != self.aspect:
            self.aspect = aspect
            if self.is_fitted:
                self.fit(self.extent)

    def turn(self, camera: Camera) -> None:
        """Looks in the direction of a camera; a fitted camera stays fitted."""
        fitted = self.is_fitted
        self.camera = camera
        if fitted:
            self._fitted = camera
            self.fit(self.extent)

    def restore(self, camera: Camera, extent: Extent | None) -> None:
        """A camera as it was; one that was fitted to an extent is fitted to it in the present picture."""
        self.camera = camera
        if extent is not None:
            self.fit(extent)

    def follow(self, followed: Follow, poses: np.ndarray) -> None:
        """Follows from the poses (nodes, 7) of now, with the followed middle in the middle of the picture."""
        self.followed, self.start = followed, followed.centre(poses)
        self.camera = self.camera.looking_at(self.start)

    def unfollow(self, poses: np.ndarray) -> None:
        """Stops following at poses (nodes, 7); the camera stays where it is."""
        self.camera, self.followed = self.current(poses), None

    def current(self, poses: np.ndarray) -> Camera:
        """The camera to draw from at poses (nodes, 7): moved with the followed body."""
        return framing.moved(self.camera, self.followed, self.start, poses)
