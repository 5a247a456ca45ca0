"""A model of one body and its scene, and a stub of a mesh reader's result."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import Geometry
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.scene import Colour, Mesh, Scene, ScenePart

STILL = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Stub of the result of a mesh reader."""

    mesh: Mesh
    colour: Colour = (0.1, 0.2, 0.3, 1.0)
    transform: np.ndarray = dataclasses.field(default_factory=lambda: np.eye(4))
    warnings: tuple[str, ...] = ()


def drawn(scene: Scene, path: str, kind: str = "body") -> list[ScenePart]:
    return [part for part in scene.parts if part.path == path and part.kind == kind]


def lone(geometry: tuple[Geometry, ...] = (), **body: Any) -> Model:
    """A body on a hinge about y."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    mass = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    builder.assembly("a").body("rod", **(mass | body)).joint("pivot", "Ry", child="rod")
    model = builder.build()
    return dataclasses.replace(
        model,
        assemblies=rebuilt(
            model.assemblies,
            lambda item, _: dataclasses.replace(
                item, bodies=tuple(dataclasses.replace(b, geometry=geometry) for b in item.bodies)
            ),
        ),
    )


def of_lone(model: Model, **options: Any) -> Scene:
    return scene_of(model, {"a:rod": STILL}, **options)
