"""Why a view shows nothing: all is hidden, all is out of sight, or there is nothing. No GL, no GUI library."""

from __future__ import annotations

import math

import numpy as np

from shiftjax.poses import matrices
from shiftjax.viewer.gui.state.derived import visibility
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Scene, ScenePart


class PartSpheres:
    """Spheres about the parts of a scene, made again when the scene changes."""

    def __init__(self) -> None:
        self.scene: Scene | None = None
        self.centres, self.radii, self.nodes = np.zeros((0, 4)), np.zeros(0), np.zeros(0, int)

    def of(self, scene: Scene) -> PartSpheres:
        """Those of a scene: centres (k, 4) homogeneous and radii (k,) in the coordinates of their nodes [m]."""
        if scene is not self.scene:
            spheres = [_sphere(part) for part in scene.parts]
            self.centres = np.array([[*centre, 1.0] for centre, _ in spheres]).reshape(-1, 4)
            self.radii = np.array([radius for _, radius in spheres])
            self.nodes = np.array([part.node for part in scene.parts], int)
            self.scene = scene
        return self


def why_empty(state: WindowState, size: tuple[float, float]) -> str:
    """Why the one view shows nothing, and what to do; "" where something may be in it.

    Args:
        size: width and height of the view [points].
    """
    if not state.scene.parts and not state.scene.springs:
        return "This model has nothing to draw: no body, no joint, no frame."
    hidden = visibility.hidden_paths(state)
    shown = np.array([part.path not in hidden and f"kind:{part.kind}" not in hidden for part in state.scene.parts])
    springs = any(spring.path not in hidden for spring in state.scene.springs) and "kind:spring" not in hidden
    if not shown.any() and not springs:
        return f"Everything is hidden: {_key(state, 'show_all')} shows it."
    spheres = state.pane_data(PartSpheres).of(state.scene)
    placed = np.einsum("kij,kj->ki", matrices(state.poses())[spheres.nodes[shown]], spheres.centres[shown])
    if springs or in_sight(state.current_camera(), placed[:, :3], spheres.radii[shown], size).any():
        return ""
    return f"The model is out of sight: {_key(state, 'frame_all')} shows the whole of it."


def in_sight(camera: Camera, centres: np.ndarray, radii: np.ndarray, size: tuple[float, float]) -> np.ndarray:
    """(k,) whether spheres reach into the picture; one that does not is certainly out of sight.

    Args:
        centres: (k, 3) [m]; radii: (k,) [m]; size: width and height of the picture.
    """
    aspect = max(size[0], 1.0) / max(size[1], 1.0)
    x, y, z = camera.axes() @ (centres - camera.eye).T
    slope = math.tan(camera.view_angle / 2) / min(aspect, 1.0)
    inside = -z > -radii
    for across, s in ((x, slope * aspect), (y, slope)):
        if camera.orthographic:
            inside &= np.abs(across) < camera.distance * s + radii
        else:
            inside &= np.abs(across) + s * z < radii * math.hypot(1.0, s)
    return inside


def _sphere(part: ScenePart) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius [m] of a part in the coordinates of its node."""
    points = part.mesh.vertices @ part.transform[:3, :3].T + part.transform[:3, 3]
    if not len(points):
        return part.transform[:3, 3], 0.0
    centre = 0.5 * (points.min(0) + points.max(0))
    return centre, float(np.linalg.norm(points - centre, axis=1).max())


def _key(state: WindowState, name: str) -> str:
    return state.table.actions[name].bindings(state.map)[0]
