"""A context for picture tests, a check for GL errors, and pictures of the scene that `phong` knows as SOLIDS."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.viewer.gl import context
from shiftjax.viewer.gl.renderer import GL, Renderer  # OpenGL by way of what chooses its platform
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import FAST, RenderSettings, Scene, SceneLight, Snapshot
from tests.scenes.phong import Solid
from tests.scenes.pictures import ball, block, part, plate, scene, snapshot

SIZE = (160, 120)
PLAIN = dataclasses.replace(FAST, shadows=False, grid=False)
SHADED = dataclasses.replace(FAST, grid=False)
GREY = (0.6, 0.6, 0.6, 1.0)
TURNED = (0.8, 0.1, 0.5, 0.9238795325, 0.0, 0.0, 0.3826834324)  # by 45 degrees about z
SOLIDS = [
    Solid("ball", (0.6,), (-0.3, 0.0, 0.7), (0.7, 0.3, 0.2)),
    Solid("block", (0.8, 0.6, 0.7), (0.8, 0.1, 0.5), (0.2, 0.5, 0.8),
          np.array([[1, -1, 0], [1, 1, 0], [0, 0, 2**0.5]]) / 2**0.5),
    Solid("plate", (1.5,), (0.0, 0.0, 0.0), GREY),
]  # fmt: skip
ABOVE = SceneLight("above", "directional", 0, (0, 0, 0), (0, 0, -1), (0.2, 0.2, 0.2), (0.7, 0.7, 0.7), (0, 0, 0))


@pytest.fixture(scope="module")
def gl() -> Iterator[context.Context]:
    with context.headless() as made:
        yield made


@pytest.fixture(autouse=True)
def no_errors(gl: context.Context) -> Iterator[None]:
    """Fails where a GL error stands before or after a test."""
    gl.make_current()
    assert GL.glGetError() == GL.GL_NO_ERROR, "left by an earlier test"
    yield
    gl.make_current()
    assert GL.glGetError() == GL.GL_NO_ERROR


def three(lights: tuple[SceneLight, ...], nodes: int = 3) -> Scene:
    """What SOLIDS says, at the poses of `rest`."""
    parts = [part(ball(), 1, "ball"), part(block(), 2, "block", (0.2, 0.5, 0.8, 1)), part(plate(), 0, "plate", GREY)]
    return scene(parts, lights, nodes)


def rest(**choices: object) -> Snapshot:
    return snapshot((-0.3, 0.0, 0.7), TURNED, **choices)


def eye(view: str = "iso", **changes: object) -> Camera:
    camera = Camera.of((0.0, 0.0, 0.4), 1.5, (0.0, 0.0, 1.0), view)
    return dataclasses.replace(camera, **{"distance": 5.04, **changes})  # type: ignore[arg-type]


def shot(
    what: Scene, at: Snapshot, camera: Camera, look: RenderSettings = PLAIN, size: tuple[int, int] = SIZE
) -> np.ndarray:
    renderer = Renderer(what, look, size)
    renderer.draw(at, camera)
    image = renderer.image()
    renderer.release()
    return image


def patch(image: np.ndarray, camera: Camera, point: tuple[float, float, float]) -> float:
    """Mean brightness of 3 x 3 pixels about a point of the world."""
    x, y = (round(k) for k in camera.pixel(np.array(point), SIZE))
    return float(image[y - 1 : y + 2, x - 1 : x + 2].mean())


def floor_and_ball(**choices: object) -> Scene:
    return scene([part(ball(0.3), 1, "ball", **choices), part(plate(), 0, "floor", GREY)], (ABOVE,))  # type: ignore[arg-type]
