"""A ray caster with Phong's light and hard shadows: what pictures are checked against. NumPy only, slow and plain.

Solids are given in the world; each hit has a code, and pixels next to another code are edges, which a comparison leaves
out. The same goes for the edges of shadows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import SceneLight

TINY = 1e-4  # [m] by which a shadow ray starts off the surface


@dataclass
class Solid:
    """A ball (radius), a block (three sides, turned) or a plate z = 0 (half a side) about a place."""

    shape: str
    sizes: tuple[float, ...]
    centre: tuple[float, float, float]
    colour: tuple[float, ...]  # sRGB
    turned: np.ndarray | None = None  # (3, 3) block's axes to the world's

    def hit(self, origins: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distances (inf for none), normals and codes of faces, for (n, 3) origins and unit directions."""
        turned = np.eye(3) if self.turned is None else self.turned
        o, d = (origins - np.array(self.centre)) @ turned, rays @ turned
        far, normals, codes = {"ball": self._ball, "block": self._block, "plate": self._plate}[self.shape](o, d)
        return np.where(far > TINY, far, np.inf), normals @ turned.T, codes

    def _ball(self, o: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        (radius,) = self.sizes
        b, c = (o * d).sum(1), (o * o).sum(1) - radius**2
        under = b * b - c
        far = np.where(under > 0, -b - np.sqrt(np.maximum(under, 0)), np.inf)
        at = o + np.where(np.isfinite(far), far, 0)[:, None] * d
        return far, at / np.linalg.norm(at, axis=1, keepdims=True), np.zeros(len(o), int)

    def _block(self, o: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        half = np.array(self.sizes) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (-half - o) / d, (half - o) / d
        enter, leave = np.minimum(first, second), np.maximum(first, second)
        axis, far = enter.argmax(1), enter.max(1)
        far = np.where(far < leave.min(1), far, np.inf)
        normals = np.zeros_like(o)
        sign = -np.sign(d[np.arange(len(d)), axis])
        normals[np.arange(len(d)), axis] = sign
        return far, normals, 2 * axis + (sign > 0)

    def _plate(self, o: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        (half,) = self.sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            far = -o[:, 2] / d[:, 2]
            at = o + far[:, None] * d
        inside = np.isfinite(far) & (np.abs(at[:, :2]) < half).all(1)
        normals = np.zeros_like(o)
        normals[:, 2] = -np.sign(d[:, 2])  # seen from below, its lower side
        return np.where(inside, far, np.inf), normals, np.zeros(len(o), int)


def picture(
    solids: list[Solid],
    lights: tuple[SceneLight, ...],
    camera: Camera,
    size: tuple[int, int],
    *,
    shininess: float,
    background: tuple[float, ...],
    shadows: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the camera sees; lights stand in the world.

    Returns:
        (h, w, 3) in 0..255; (h, w) bool, whether a pixel is away from edges of bodies and shadows; (h, w) int, the
        number of the solid seen, -1 for none.
    """
    width, height = size
    origins, rays = _rays(camera, width, height)
    far, normals, codes, seen = _nearest(solids, origins, rays)
    hit = np.isfinite(far)
    at = origins + np.where(hit, far, 0)[:, None] * rays
    colours = _linear(np.array([solid.colour[:3] for solid in solids]))[np.maximum(seen, 0)]
    radiance, code = np.zeros((len(rays), 3)), 16 * (seen + 1) + codes
    for number, light in enumerate(lights):
        passed, to, distance = _towards(light, at)
        if shadows:
            between = _nearest(solids, at + TINY * normals, to)[0]
            dark = hit & (between < distance) & ((normals * to).sum(1) > 0)
            passed = np.where(dark, 0.0, passed)
            code = code + 1024 * 2**number * dark
        radiance += _phong(light, colours, normals, to, -rays, passed, shininess)
    radiance = np.where(hit[:, None], radiance, _linear(np.array(background)))
    code = code.reshape(height, width)
    return 255 * _screen(radiance).reshape(height, width, 3), _plain(code), seen.reshape(height, width)


def _rays(camera: Camera, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    right, up, back = camera.axes()
    slope = math.tan(camera.view_angle / 2)
    x = (2 * (np.arange(width) + 0.5) / width - 1) * slope * width / height
    y = (1 - 2 * (np.arange(height) + 0.5) / height) * slope
    across = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2) @ np.stack([right, up])
    if camera.orthographic:
        return camera.eye + camera.distance * across, np.broadcast_to(-back, across.shape)
    rays = across - back
    return np.broadcast_to(camera.eye, rays.shape), rays / np.linalg.norm(rays, axis=1, keepdims=True)


def _nearest(
    solids: list[Solid], origins: np.ndarray, rays: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    far, seen = np.full(len(rays), np.inf), np.full(len(rays), -1)
    normals, codes = np.zeros((len(rays), 3)), np.zeros(len(rays), int)
    for number, solid in enumerate(solids):
        distance, n, code = solid.hit(origins, rays)
        nearer = distance < far
        far, seen = np.where(nearer, distance, far), np.where(nearer, number, seen)
        normals, codes = np.where(nearer[:, None], n, normals), np.where(nearer, code, codes)
    return far, normals, codes, seen


def _towards(light: SceneLight, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the cone lets through, unit vectors to the light, distances."""
    if light.type == "directional":
        to = np.broadcast_to(-np.array(light.direction), at.shape)
        return np.ones(len(at)), to, np.full(len(at), np.inf)
    to = np.array(light.position) - at
    distance = np.linalg.norm(to, axis=1)
    to = to / distance[:, None]
    if light.type == "point":
        return np.ones(len(at)), to, distance
    outer, inner = math.cos(light.cone), math.cos(0.9 * light.cone)
    t = np.clip((-to @ np.array(light.direction) - outer) / (inner - outer), 0, 1)
    return t * t * (3 - 2 * t), to, distance


def _phong(light: SceneLight, colours: np.ndarray, n: np.ndarray, to: np.ndarray, v: np.ndarray, passed: np.ndarray,
           shininess: float) -> np.ndarray:  # fmt: skip
    facing = np.maximum((n * to).sum(1), 0.0)
    reflected = 2 * (n * to).sum(1, keepdims=True) * n - to
    mirrored = np.where(facing > 0, np.maximum((reflected * v).sum(1), 0.0) ** shininess, 0.0)
    ambient, diffuse, specular = (np.array(k) for k in (light.ambient, light.diffuse, light.specular))
    return colours * (ambient + diffuse * (facing * passed)[:, None]) + specular * (mirrored * passed)[:, None]


def _linear(colours: np.ndarray) -> np.ndarray:
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def _screen(radiance: np.ndarray) -> np.ndarray:
    radiance = np.clip(radiance, 0, 1)
    return np.where(radiance <= 0.0031308, 12.92 * radiance, 1.055 * radiance ** (1 / 2.4) - 0.055)


def _plain(code: np.ndarray, reach: int = 2) -> np.ndarray:
    """Pixels whose neighbours all have their own code."""
    height, width = code.shape
    around = np.pad(code, reach, mode="edge")
    same = np.ones(code.shape, bool)
    for i in range(2 * reach + 1):
        for k in range(2 * reach + 1):
            same &= around[i : i + height, k : k + width] == code
    return same
