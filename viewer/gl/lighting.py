"""Lights at one moment: where they are, and the matrices of their shadow maps. NumPy only.

All maps are layers of one texture: GLSL 330 forbids a variable index into an array of samplers, but a layer is just a
coordinate. A directional light and a spot have one layer, a point light six.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.poses import rotate, to_world
from shiftjax.record import record
from shiftjax.viewer.places import eye_axes, orthographic, perspective, world_to_eye
from shiftjax.viewer.scene import SceneLight

MOST = 8  # lights
KINDS = {"directional": 0, "point": 1, "spot": 2}  # as in lights.glsl
FACES = {"directional": 1, "point": 6, "spot": 1}
EDGE = 0.9  # of a spot's cone: full light inside
NEAR = 0.01  # of the far distance of a map: the nearest thing that throws a shadow
STEP = 2**0.25  # sizes of a directional light's map: steps, lest its texels shimmer as the ball breathes
# Sides of a cube as the shader counts them (+x -x +y -y +z -z): direction of sight, up.
SIDES = np.array([[[1, 0, 0], [0, 0, 1]], [[-1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1]],
                  [[0, -1, 0], [0, 0, 1]], [[0, 0, 1], [1, 0, 0]], [[0, 0, -1], [1, 0, 0]]], float)  # fmt: skip


@record
class Lit:
    """Lights and shadow maps of one moment."""

    lights: np.ndarray  # (L, 5, 4) float32, the struct Light of frame.glsl
    layers: np.ndarray  # (layers, 4, 4), world to the clip space of a map
    needed: tuple[int, ...]  # layers that something which throws a shadow can be in


class Lighting:
    """The first eight lights of a scene."""

    def __init__(self, lights: tuple[SceneLight, ...], shadows: bool) -> None:
        self.lights = lights[:MOST]
        self.left_out = tuple(light.path for light in lights[MOST:])
        self.first = np.cumsum([0, *(FACES[light.type] for light in self.lights)])[:-1] if shadows else []
        self.layers = sum(FACES[light.type] for light in self.lights) if shadows else 0
        self.nodes = np.array([light.node for light in self.lights], int)
        self._places = np.array([light.position for light in self.lights], float).reshape(-1, 3)
        self._aims = np.array([light.direction for light in self.lights], float).reshape(-1, 3)

    def defines(self) -> tuple[str, ...]:
        """The lights as shaders see them: ONE(number, kind, first layer) of each."""
        each = [
            f"ONE({k}, {KINDS[light.type]}, {int(self.first[k]) if self.layers else 0})"
            for k, light in enumerate(self.lights)
        ]
        counts = (f"LIGHTS {len(self.lights)}", f"LAYERS {self.layers}")
        return (*counts, "ALL_LIGHTS " + " ".join(each), *(("SHADOWS",) if self.layers else ()))

    def at(self, poses: np.ndarray, ball: tuple[np.ndarray, float], pixels: int) -> Lit:
        """The lights at the nodes' poses.

        Args:
            poses: (nodes, 7).
            ball: centre and radius of what throws shadows.
            pixels: of a map's side.
        """
        places = to_world(poses[self.nodes], self._places)
        aims = rotate(poses[self.nodes], self._aims)
        table = np.zeros((len(self.lights), 5, 4), np.float32)
        layers: list[np.ndarray] = []
        needed: list[int] = []
        for k, light in enumerate(self.lights):
            matrices, texel = [], 0.0
            if self.layers:
                matrices, texel = _maps(light, places[k], aims[k], ball, pixels)
                needed += [len(layers) + i for i, matrix in enumerate(matrices) if _meets(matrix, ball)]
                layers += matrices
            table[k, :, :3] = places[k], aims[k], light.ambient, light.diffuse, light.specular
            table[k, :3, 3] = math.cos(light.cone), math.cos(EDGE * light.cone), texel
        return Lit(table, np.array(layers, float).reshape(-1, 4, 4), tuple(needed))


def _maps(
    light: SceneLight, place: np.ndarray, aim: np.ndarray, ball: tuple[np.ndarray, float], pixels: int
) -> tuple[list[np.ndarray], float]:
    """Matrices of a light's maps, and the size of their texels: in metres, or in metres a metre of depth."""
    centre, radius = ball
    if light.type == "directional":
        half = STEP ** math.ceil(math.log(radius * 1.01, STEP))
        return [_straight(aim, centre, half, pixels)], 2 * half / pixels
    far = float(np.linalg.norm(centre - place)) + radius
    near = max(far - 2 * radius, NEAR * far) * 0.99
    if light.type == "spot":
        slope = math.tan(min(light.cone * 1.02, math.radians(85.0)))
        return [perspective(slope, 1.0, near, far) @ _look(place, aim)], 2 * slope / pixels
    slope = 1 + 12.0 / pixels  # a rim of six texels: for the step off the surface, 3.5, and for soft samples, 1.5
    return [perspective(slope, 1.0, NEAR * far, far) @ _look(place, *side) for side in SIDES], 2 * slope / pixels


def _look(place: np.ndarray, aim: np.ndarray, up: np.ndarray | None = None) -> np.ndarray:
    """(4, 4) world to an eye at `place` that looks along `aim`."""
    back = -aim / np.linalg.norm(aim)
    return world_to_eye(place, eye_axes(back, np.eye(3)[np.argmin(np.abs(back))] if up is None else up))


def _straight(aim: np.ndarray, centre: np.ndarray, half: float, pixels: int) -> np.ndarray:
    """Parallel rays about a ball; the box moves by whole texels, so that shadows of what rests do not crawl."""
    view = _look(np.zeros(3), aim)
    middle = view[:3, :3] @ centre
    texel = 2 * half / pixels
    middle[:2] = np.round(middle[:2] / texel) * texel
    view[:3, 3] = -middle
    return orthographic(half, 1.0, -half, half) @ view


def _meets(matrix: np.ndarray, ball: tuple[np.ndarray, float]) -> bool:
    """Whether a ball reaches into the sides of a map's pyramid or box."""
    centre, radius = ball
    for sign in (1.0, -1.0):
        for axis in (0, 1):
            plane = matrix[3] + sign * matrix[axis]  # inside: plane . (x, 1) >= 0
            if plane[:3] @ centre + plane[3] < -radius * np.linalg.norm(plane[:3]):
                return False
    return True
