"""The lights of a model: those of its file on their frames, or one overhead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, Frame, Light
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import as_tuple, of_frame, transform, z_along
from shiftjax.viewer.scene.camera import upright
from shiftjax.viewer.scene.scene import GROUND, Colour, Direction, Mesh, SceneLight, ScenePart

AMBIENT: Direction = (0.15, 0.15, 0.15)
DIFFUSE: Direction = (0.8, 0.8, 0.8)
SPECULAR: Direction = (0.5, 0.5, 0.5)
OVERHEAD_AMBIENT: Direction = (0.3, 0.3, 0.3)  # larger, since it is the only light of surfaces that face away
FILL: Direction = (0.30, 0.31, 0.33)
FILL_FROM: Direction = (0.35, -0.9, 0.25)  # right, forward, up: near the eye of the first view
GLOW: Colour = (1.0, 0.87, 0.35, 1.0)  # of lamps and their shades
METAL: Colour = (0.30, 0.31, 0.34, 1.0)
SHADE, RAY = 1.9, 8.0  # sizes of a shade and of an arrow, in those of the bulb
CONE = 0.5  # half angle of a spot [rad]


def lamps(lights: tuple[SceneLight, ...], size: float) -> Iterator[ScenePart]:
    """A lamp where every light of the file stands: a bulb, with a shade that opens to where a spot shines, or an arrow
    along a directional light; without shadow.

    Args:
        size: of a bulb [m].
    """
    for light in lights:
        if not light.path.startswith(child("lights", "")):
            continue
        turn, here = z_along(np.array(light.direction)), np.array(light.position)
        drawn: list[tuple[Mesh, np.ndarray, Colour]] = [(shapes.sphere(), transform(here, scale=size), GLOW)]
        if light.type == "spot":
            drawn.append((shapes.shade(), transform(here, turn, SHADE * size), METAL))
        if light.type == "directional":
            drawn.append((shapes.arrow(), transform(here, turn, RAY * size), GLOW))
        for mesh, where, colour in drawn:
            yield ScenePart(mesh, light.node, where, colour, light.path, "light", shadow=False)


def up_of(model: Model) -> Direction:
    """Unit vector opposite to gravity; +z where there is none."""
    size = float(np.linalg.norm(model.gravity))
    return as_tuple(-np.array(model.gravity) / size) if size > 0 else (0.0, 0.0, 1.0)


def lights_of(model: Model, nodes: Mapping[str, int]) -> tuple[SceneLight, ...]:
    """The file's lights that are switched on and stand on an active body or ground.

    Where none does, one directional light that shines along gravity, along -z without gravity, and a weak one from the
    side without shadows, so that faces away from the first differ from each other.

    Args:
        nodes: path of every body, and "fixed", to the number of its node.
    """
    frames: dict[str, tuple[Frame, ...]] = {FIXED: model.frames, **{path: b.frames for path, b in model.bodies()}}
    lights = tuple(
        _scene_light(light, nodes[light.parent.body], of_frame(frames[light.parent.body], light.parent.frame))
        for light in model.lights
        if light.options.get("active") is not False and light.parent.body in nodes
    )
    return lights or (overhead(model), fill(model))


def overhead(model: Model) -> SceneLight:
    """The light of a model without lights."""
    down = as_tuple(-np.array(up_of(model)))
    position = up_of(model)
    return SceneLight("overhead", "directional", GROUND, position, down, OVERHEAD_AMBIENT, DIFFUSE, SPECULAR)


def fill(model: Model) -> SceneLight:
    """The weak second light of a model without lights."""
    direction = as_tuple(-np.array(FILL_FROM) @ upright(up_of(model)) / np.linalg.norm(FILL_FROM))
    dark = (0.0, 0.0, 0.0)
    return SceneLight("fill", "directional", GROUND, up_of(model), direction, dark, FILL, dark, shadow=False)


def _scene_light(light: Light, node: int, transform: np.ndarray) -> SceneLight:
    cone = light.options.get("cone")
    return SceneLight(
        child("lights", light.name),
        light.type,
        node,
        as_tuple(transform[:3, 3]),
        as_tuple(transform[:3, 2]),
        light.Ka if light.Ka is not None else AMBIENT,
        light.Kd if light.Kd is not None else DIFFUSE,
        light.Ks if light.Ks is not None else SPECULAR,
        CONE if cone is None else float(cone),
    )
