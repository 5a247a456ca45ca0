"""Lines of a width in pixels as triangles that face the eye: OpenGL 3.3 core draws lines one pixel wide. NumPy only."""

from __future__ import annotations

import math

import numpy as np

from shiftjax.viewer.camera import Camera

CORNERS = [0, 1, 2, 2, 1, 3]  # of two triangles of a ribbon's four


def ribbons(ends: np.ndarray, camera: Camera, height: int, pixels: float) -> np.ndarray:
    """(6 m, 3) corners of triangles, six for each of the lines (m, 2, 3) [m].

    Args:
        height: of the picture [pixels]; pixels: width of a line.
    """
    back = camera.axes()[2]
    to_eye = np.broadcast_to(back, ends.shape) if camera.orthographic else camera.eye - ends
    depth = np.full(ends.shape[:2], camera.distance) if camera.orthographic else to_eye @ back
    half = 0.5 * pixels * 2 * math.tan(camera.view_angle / 2) / height * np.maximum(depth, 0.0)
    across = np.cross((ends[:, 1] - ends[:, 0])[:, None], to_eye)
    length = np.linalg.norm(across, axis=2, keepdims=True)
    side = half[..., None] * across / np.where(length > 0, length, 1.0)
    return np.stack([ends - side, ends + side], axis=2).reshape(-1, 4, 3)[:, CORNERS].reshape(-1, 3)
