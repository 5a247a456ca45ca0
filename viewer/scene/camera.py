"""A camera that orbits a point: matrices, navigation, standard views. NumPy only; without GL.

Matrices follow OpenGL: column vectors, the eye looks along -z, clip space from -1 to 1.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from shiftjax.errors import one_of
from shiftjax.record import record
from shiftjax.rotations import rotation_about
from shiftjax.viewer.scene.affine import (
    PARALLEL,
    as_tuple,
    eye_axes,
    orthographic,
    perspective,
    world_to_eye,
    z_along,
)

VIEWS = {  # standard views: direction to the eye in (right, forward, up) of the world
    "front": (0.0, -1.0, 0.0),
    "back": (0.0, 1.0, 0.0),
    "left": (-1.0, 0.0, 0.0),
    "right": (1.0, 0.0, 0.0),
    "top": (0.0, -1e-4, 1.0),
    "bottom": (0.0, -1e-4, -1.0),
    "iso": (1.0, -1.4, 0.8),
}
VIEW_ANGLE = math.radians(40.0)
FIT = 1.05  # margin around the bounding sphere of a model
NEAR = 0.01  # of the near plane, in distances of the eye from the target
LEAST = 1e-3  # distance of the eye from a single point [m]
STEEPEST = math.radians(89.9)  # limit of the elevation: straight up or down has no upright picture


def upright(up: np.ndarray | tuple[float, float, float]) -> np.ndarray:
    """(3, 3) rows right, forward, up: world axes turned so that the third is `up`; the identity for +z."""
    return _upright(as_tuple(np.asarray(up)))


@functools.lru_cache(16)
def _upright(up: tuple[float, ...]) -> np.ndarray:
    """As `upright`; a camera asks for it some twenty times a frame."""
    z = np.asarray(up, float) / np.linalg.norm(up)
    axes = z_along(z, np.array([1.0, 0.0, 0.0]) if abs(z[0]) < PARALLEL else np.array([0.0, 0.0, 1.0])).T
    axes.flags.writeable = False
    return axes


@record
class Camera:
    """An orbit camera."""

    target: tuple[float, float, float]  # [m]
    distance: float  # of the eye from the target [m]
    azimuth: float  # of the eye about up, from right towards forward [rad]
    elevation: float  # of the eye above the target [rad]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    view_angle: float = VIEW_ANGLE  # across the picture's shorter side [rad]
    orthographic: bool = False

    @classmethod
    def of(cls, centre: np.ndarray | tuple[float, float, float], size: float, up: tuple[float, float, float],
           view: str = "iso") -> Camera:  # fmt: skip
        """Frames a sphere of radius `size` about `centre` from a standard view."""
        distance = FIT * size / math.sin(VIEW_ANGLE / 2)
        return cls(as_tuple(np.asarray(centre)), distance, 0.0, 0.0, up).seen_from(view)

    def seen_from(self, view: str) -> Camera:
        """The same target from a standard view."""
        one_of("view", view, VIEWS)
        right, forward, up = VIEWS[view]
        elevation = math.atan2(up, math.hypot(right, forward))
        return dataclasses.replace(self, azimuth=math.atan2(forward, right), elevation=_steep(elevation))

    @property
    def eye(self) -> np.ndarray:
        """(3,) [m]"""
        level = math.cos(self.elevation)
        local = (level * math.cos(self.azimuth), level * math.sin(self.azimuth), math.sin(self.elevation))
        return np.array(self.target) + self.distance * np.array(local) @ upright(self.up)

    def axes(self) -> np.ndarray:
        """(3, 3) rows right, up, back of the picture, in the world."""
        return eye_axes((self.eye - np.array(self.target)) / self.distance, self.up)

    def view(self) -> np.ndarray:
        """(4, 4) world to eye."""
        return world_to_eye(self.eye, self.axes())

    def projection(self, aspect: float) -> np.ndarray:
        """(4, 4) eye to clip space for a picture `aspect` times as wide as high."""
        near, far = self.distance * NEAR, self.distance * 100.0
        slope = math.tan(self.view_angle / 2) / min(aspect, 1.0)  # of the upper edge
        if self.orthographic:
            return orthographic(self.distance * slope, aspect, near, far)
        return perspective(slope, aspect, near, far)

    def ray(self, x: float, y: float, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Origin and unit direction in the world of the ray through pixel (x, y), from the upper left."""
        width, height = size
        clip = np.array([2 * (x + 0.5) / width - 1, 1 - 2 * (y + 0.5) / height])
        inverse = np.linalg.inv(self.projection(width / height) @ self.view())
        ends = np.array([[*clip, -1.0, 1.0], [*clip, 1.0, 1.0]]) @ inverse.T
        near, far = ends[:, :3] / ends[:, 3:]
        return near, (far - near) / np.linalg.norm(far - near)

    def pixel(self, point: np.ndarray, size: tuple[int, int]) -> tuple[float, float]:
        """Projection of a point of the world [m] to pixels, from the upper left."""
        width, height = size
        x, y, _, w = self.projection(width / height) @ self.view() @ np.array([*point, 1.0])
        return (x / w + 1) * width / 2 - 0.5, (1 - y / w) * height / 2 - 0.5

    def fitted(self, points: np.ndarray, aspect: float = 1.0) -> Camera:
        """The nearest camera in the same direction that shows points (k, 3) [m], centred, with a margin of FIT.

        Args:
            aspect: width over height of the picture. An orthographic camera also stands in front of all points.
        """
        axes = self.axes()
        x, y, z = axes @ points.T
        slope = math.tan(self.view_angle / 2) / min(aspect, 1.0) / FIT
        middle, depth = 0.5 * (z.min() + z.max()), 0.5 * float(np.ptp(z))
        places, distances = [], [LEAST]
        for across, s in ((x, slope * aspect), (y, slope)):
            if self.orthographic:
                low, high = across.min(), across.max()
                distances.append(max((high - low) / (2 * s), FIT * depth))
                places.append(0.5 * (low + high))
            else:  # the two planes through the eye that touch the points: across - e = +-s (eye depth - z)
                right, left = (across + s * z).max(), (-across + s * z).max()
                distances.append((right + left) / (2 * s) - middle)
                places.append(0.5 * (right - left))
        target = np.array([*places, middle]) @ axes
        return dataclasses.replace(self, target=as_tuple(target), distance=float(max(distances)))

    # -- navigation --------------------------------------------------------------------------------------------------

    def orbit(self, right: float, up: float) -> Camera:
        """Rotated about the target by angles [rad]; the scene follows the cursor."""
        return dataclasses.replace(self, azimuth=self.azimuth - right, elevation=_steep(self.elevation - up))

    def pan(self, right: float, up: float) -> Camera:
        """Shifted in the plane of the picture, in parts of its shorter side: the scene follows the cursor."""
        axes = self.axes()
        return self.looking_at(np.array(self.target) - self._side() * (right * axes[0] + up * axes[1]))

    def pan_level(self, right: float, up: float) -> Camera:
        """Shifted sideways, and along the level part of the line of sight, in the same parts."""
        ahead = np.cross(self.up, self.axes()[0])
        shifted = self.pan(right, 0.0)
        return shifted.looking_at(np.array(shifted.target) - self._side() * up * ahead)

    def _side(self) -> float:
        """Of the picture's shorter side at the target [m]."""
        return 2 * self.distance * math.tan(self.view_angle / 2)

    def roll(self, angle: float) -> Camera:
        """Rotated clockwise about the view direction [rad]; eye and target stay, `up` changes."""
        back = self.axes()[2]
        up = np.array(rotation_about(back.tolist(), angle)) @ np.array(self.up)
        local = upright(up) @ back
        return dataclasses.replace(
            self,
            up=as_tuple(up / np.linalg.norm(up)),
            azimuth=math.atan2(local[1], local[0]),
            elevation=math.asin(max(-1.0, min(1.0, local[2]))),
        )

    def zoom(self, factor: float) -> Camera:
        """Nearer by a factor above 1."""
        return dataclasses.replace(self, distance=self.distance / factor)

    def looking_at(self, point: np.ndarray) -> Camera:
        """The same direction towards another target [m]."""
        return dataclasses.replace(self, target=as_tuple(point))


def _steep(elevation: float) -> float:
    return max(-STEEPEST, min(STEEPEST, elevation))
