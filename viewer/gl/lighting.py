"""Lights at one instant: positions, directions, and the matrices of their shadow maps. NumPy only.

All maps are layers of one texture: GLSL 330 forbids a variable index into an array of samplers, but a layer is just a
coordinate. A directional light and a spot have one layer, a point light six, a light without shadows none.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.poses import rotate, to_world
from shiftjax.record import record
from shiftjax.viewer.scene.affine import eye_axes, orthographic, perspective, world_to_eye
from shiftjax.viewer.scene.scene import SceneLight

MAX_LIGHTS = 8  # lights
KINDS = {"directional": 0, "point": 1, "spot": 2}  # as in lights.glsl
NO_SHADOW = -1  # instead of a light's first layer
LAYERS = {"directional": 1, "point": 6, "spot": 1}
EDGE = 0.9  # of a spot's cone: full light inside
NEAR = 0.01  # of the far distance of a map: the nearest shadow caster
STEP = 2**0.25  # a directional light's map changes its size in such factors, else its texels would flicker
# Faces of a cube in the order of the shader (+x -x +y -y +z -z): view direction, up.
CUBE_FACES = np.array([[[1, 0, 0], [0, 0, 1]], [[-1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1]],
                  [[0, -1, 0], [0, 0, 1]], [[0, 0, 1], [1, 0, 0]], [[0, 0, -1], [1, 0, 0]]], float)  # fmt: skip


@record
class LightState:
    """Lights and shadow maps at one instant."""

    lights: np.ndarray  # (L, 5, 4) float32, the struct Light of frame.glsl
    layers: np.ndarray  # (layers, 4, 4), world to the clip space of a map
    needed: tuple[int, ...]  # layers that a shadow caster can be in


class Lighting:
    """The first eight lights of a scene."""

    def __init__(self, lights: tuple[SceneLight, ...], *, shadows: bool) -> None:
        self.lights = lights[:MAX_LIGHTS]
        self.left_out = tuple(light.path for light in lights[MAX_LIGHTS:])
        layer_counts = [LAYERS[light.type] if shadows and light.shadow else 0 for light in self.lights]
        self.first = np.where(layer_counts, np.cumsum([0, *layer_counts])[:-1], NO_SHADOW)
        self.layers = sum(layer_counts)
        self.nodes = np.array([light.node for light in self.lights], int)
        self._places = np.array([light.position for light in self.lights], float).reshape(-1, 3)
        self._directions = np.array([light.direction for light in self.lights], float).reshape(-1, 3)

    def defines(self) -> tuple[str, ...]:
        """The lights as shaders see them: EACH_LIGHT(number, kind, first layer) of each."""
        each = [f"EACH_LIGHT({k}, {KINDS[light.type]}, {int(self.first[k])})" for k, light in enumerate(self.lights)]
        counts = (f"LIGHTS {len(self.lights)}", f"LAYERS {self.layers}")
        return (*counts, "ALL_LIGHTS " + " ".join(each), *(("SHADOWS",) if self.layers else ()))

    def at(self, poses: np.ndarray, casters: tuple[np.ndarray, float], pixels: int) -> LightState:
        """The lights at the nodes' poses.

        Args:
            poses: (nodes, 7).
            casters: centre and radius of a sphere about all shadow casters.
            pixels: of a map's side.
        """
        places = to_world(poses[self.nodes], self._places)
        directions = rotate(poses[self.nodes], self._directions)
        table = np.zeros((len(self.lights), 5, 4), np.float32)
        layers: list[np.ndarray] = []
        needed: list[int] = []
        for k, light in enumerate(self.lights):
            matrices, texel = [], 0.0
            if self.first[k] != NO_SHADOW:
                matrices, texel = _maps(light, places[k], directions[k], casters, pixels)
                needed += [len(layers) + i for i, matrix in enumerate(matrices) if _intersects(matrix, casters)]
                layers += matrices
            table[k, :, :3] = places[k], directions[k], light.ambient, light.diffuse, light.specular
            table[k, :3, 3] = math.cos(light.cone), math.cos(EDGE * light.cone), texel
        return LightState(table, np.array(layers, float).reshape(-1, 4, 4), tuple(needed))


def _maps(
    light: SceneLight, place: np.ndarray, direction: np.ndarray, casters: tuple[np.ndarray, float], pixels: int
) -> tuple[list[np.ndarray], float]:
    """Matrices of a light's maps, and the size of their texels: in metres, or in metres a metre of depth."""
    centre, radius = casters
    if light.type == "directional":
        half = STEP ** math.ceil(math.log(radius * 1.01, STEP))
        return [_directional(direction, centre, half, pixels)], 2 * half / pixels
    far = float(np.linalg.norm(centre - place)) + radius
    near = max(far - 2 * radius, NEAR * far) * 0.99
    if light.type == "spot":
        slope = math.tan(min(light.cone * 1.02, math.radians(85.0)))
        return [perspective(slope, 1.0, near, far) @ _view(place, direction)], 2 * slope / pixels
    slope = 1 + 12.0 / pixels  # a rim of six texels: for the step off the surface, 3.5, and for soft samples, 1.5
    return [perspective(slope, 1.0, NEAR * far, far) @ _view(place, *face) for face in CUBE_FACES], 2 * slope / pixels


def _view(place: np.ndarray, direction: np.ndarray, up: np.ndarray | None = None) -> np.ndarray:
    """(4, 4) world to the coordinates of an eye at `place` that looks along `direction`."""
    back = -direction / np.linalg.norm(direction)
    return world_to_eye(place, eye_axes(back, np.eye(3)[np.argmin(np.abs(back))] if up is None else up))


def _directional(direction: np.ndarray, centre: np.ndarray, half: float, pixels: int) -> np.ndarray:
    """(4, 4) orthographic, about a sphere; moved by whole texels, so that shadows of bodies at rest do not flicker."""
    view = _view(np.zeros(3), direction)
    middle = view[:3, :3] @ centre
    texel = 2 * half / pixels
    middle[:2] = np.round(middle[:2] / texel) * texel
    view[:3, 3] = -middle
    return orthographic(half, 1.0, -half, half) @ view


def _intersects(matrix: np.ndarray, casters: tuple[np.ndarray, float]) -> bool:
    """Whether a sphere reaches into the frustum of a map."""
    centre, radius = casters
    for sign in (1.0, -1.0):
        for axis in (0, 1):
            plane = matrix[3] + sign * matrix[axis]  # inside: plane . (x, 1) >= 0
            if plane[:3] @ centre + plane[3] < -radius * np.linalg.norm(plane[:3]):
                return False
    return True
