"""Shapes that a model's file gives its bodies: mesh files and primitives."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax.models as library
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import Geometry
from shiftjax.mechanism.scene_fields import GEOMETRIES
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transform, transformed
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.model_shapes import PRIMITIVES
from tests.scenes.lone import STILL, Loaded, drawn, lone, of_lone

SINGLE = 1e-5  # vertices of a few metres are stored in single precision
MESHED = "meshed_pendulum:link"


def test_a_mesh_is_found_beside_the_file_with_its_companions() -> None:
    asked: list[tuple[Path, tuple[Path, ...]]] = []

    def read(path: Path, companions: tuple[Path, ...]) -> list[Loaded]:
        asked.append((path, companions))
        return [
            Loaded(shapes.box(), transform=transform([0, 0, 0.1])),
            Loaded(shapes.sphere(), warnings=("no texture",)),
        ]

    model = load("meshed_pendulum")
    scene = scene_of(model, {MESHED: STILL}, read)
    folder = library.FOLDER / "meshes"
    assert asked == [(folder / "link.obj", (folder / "link.mtl",))]
    box, sphere = drawn(scene, MESHED)
    assert box.mesh is shapes.box() and box.colour == (0.1, 0.2, 0.3, 1.0) and box.transform[2, 3] == 0.1
    assert sphere.mesh is shapes.sphere() and scene.warnings == (f"{MESHED}: no texture",)


def test_include_directories_and_another_folder_are_searched(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "x.stl").write_text("solid", encoding="ascii")
    model = lone((Geometry("mesh", ("x.stl",)),), mass=1.0)
    asked: list[Path] = []

    def read(path: Path, companions: tuple[Path, ...]) -> list[Loaded]:
        asked.append(path)
        return [Loaded(shapes.box())]

    assert "no such file" in of_lone(model, load_mesh=read, folder=tmp_path).warnings[0]
    scene = of_lone(dataclasses.replace(model, include_directories=("far",)), load_mesh=read, folder=tmp_path)
    assert asked == [tmp_path / "far" / "x.stl"] and scene.warnings == ()


@pytest.mark.parametrize(
    "name", ["../secret.stl", "{place}/secret.stl", "link.stl", "inner/../../secret.stl", "loop.stl"]
)
def test_files_outside_of_the_model_and_its_include_directories_are_refused(tmp_path: Path, name: str) -> None:
    """By name, links followed; in an include directory they are read, and of a model that is made in Python."""
    inner = tmp_path / "model" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "secret.stl").write_text("solid secret", encoding="ascii")
    (inner.parent / "link.stl").symlink_to("../secret.stl")
    (inner.parent / "loop.stl").symlink_to("loop.stl")
    name, asked = name.format(place=tmp_path), list[Path]()

    def read(path: Path, companions: tuple[Path, ...]) -> list[Loaded]:
        asked.append(path)
        return [Loaded(shapes.box())]

    model = lone((Geometry("mesh", (name,)),), mass=1.0)
    (warning,) = of_lone(model, load_mesh=read, folder=inner.parent).warnings
    assert (
        warning.startswith(f"{name}: found ") and str(inner.parent) in warning and "secret" not in warning[len(name) :]
    )
    sent = dataclasses.replace(model, source=str(inner.parent / "model.json"))
    assert of_lone(sent, load_mesh=read).warnings == (warning,)
    assert not asked
    if name != "loop.stl":
        allowed = dataclasses.replace(model, include_directories=("..",))
        assert of_lone(allowed, load_mesh=read, folder=inner.parent).warnings == ()
        assert asked == [tmp_path / "secret.stl"]


def test_a_model_made_in_python_names_any_file(tmp_path: Path) -> None:
    (tmp_path / "x.stl").write_text("solid", encoding="ascii")
    model = lone((Geometry("mesh", (str(tmp_path / "x.stl"),)),), mass=1.0)
    assert of_lone(model, load_mesh=lambda path, companions: [Loaded(shapes.box())]).warnings == ()


def test_a_file_that_cannot_be_read_becomes_a_warning_and_automatic_shapes() -> None:
    def refuse(path: Path, companions: tuple[Path, ...]) -> list[Loaded]:
        raise ModelError(path.name, "a broken file", "a mesh", "Export it again.")

    model = load("meshed_pendulum")
    scene = scene_of(model, {MESHED: STILL}, refuse)
    assert scene.warnings == ("link.obj: found a broken file; allowed: a mesh. Export it again.",)
    assert drawn(scene, MESHED)
    assert "Install the viewer's packages." in scene_of(model, {MESHED: STILL}).warnings[0]


DUMBBELL = [[0, 0, -1, 0.5], [0, 0, 1, 0.25]]


@pytest.mark.parametrize(
    ("type", "options", "low", "high"),
    [
        ("box", {"size": [1, 2, 3]}, (-0.5, -1, -1.5), (0.5, 1, 1.5)),
        ("plane", {"size": [3, 2]}, (-1.5, -1, -0.003), (1.5, 1, 0.003)),
        ("sphere", {"radius": 0.5}, (-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)),
        ("ellipsoid", {"radii": [1, 2, 0.5]}, (-1, -2, -0.5), (1, 2, 0.5)),
        ("multisphere", {"spheres": DUMBBELL}, (-0.5, -0.5, -1.5), (0.5, 0.5, 1.25)),
        ("cylinder", {"radius": 0.5, "length": 3}, (-0.5, -0.5, -1.5), (0.5, 0.5, 1.5)),
        ("cone", {"radius": 0.5, "length": 3}, (-0.5, -0.5, -1.5), (0.5, 0.5, 1.5)),
        ("capsule", {"radius": 0.5, "length": 3}, (-0.5, -0.5, -2), (0.5, 0.5, 2)),
        ("arrow", {"radius": 0.1, "length": 3}, (-0.24, -0.24, 0), (0.24, 0.24, 3)),
        ("line", {"points": [[0, 0, 0], [1, 0, 0], [1, 0, 2]]}, (0, 0, 0), (1, 0, 2)),
        ("point_cloud", {"points": [[0, 0, 0], [1, 5, 0]]}, (0, 0, 0), (1, 5, 0)),
    ],
)
def test_primitives_of_the_file(type: str, options: dict[str, Any], low: Any, high: Any) -> None:
    """D13: each with its own offset and colour."""
    builder = ModelBuilder()
    offset = {"T": [0.1, 0.2, 0.3], "R": [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "colour": [1, 0, 0]}
    shape = {"type": type, **options, **offset}
    builder.assembly("a").body("rod", mass=1, inertia=(1, 1, 1), geometry=[shape]).joint("pivot", "Ry", child="rod")
    scene = of_lone(builder.build())
    (part,) = drawn(scene, "a:rod")
    points = transformed(part.transform, part.mesh.vertices) - np.array(offset["T"])
    assert points.min(axis=0) == pytest.approx((-high[1], low[0], low[2]), abs=SINGLE), "turned by 90 degrees about z"
    assert points.max(axis=0) == pytest.approx((-low[1], high[0], high[2]), abs=SINGLE)
    assert part.colour == (1, 0, 0, 1) and scene.warnings == ()


def test_every_type_of_a_file_is_drawn() -> None:
    assert set(PRIMITIVES) | {"mesh"} == set(GEOMETRIES)


def test_a_thick_arrow_keeps_its_head_and_a_multisphere_is_a_hull() -> None:
    """The hull of a point and a ball about it is the ball; of two unequal balls, no corner lies outside of a cone."""
    arrow = shapes.arrow(1.0, 0.5)
    assert arrow.vertices[:, 2].min() == 0.0 and arrow.vertices[:, 2].max() == 1.0
    inside = shapes.multisphere(((0.0, 0.0, 0.0, 1.0), (0.1, 0.0, 0.0, 0.2)))
    assert np.linalg.norm(inside.vertices, axis=1) == pytest.approx(1.0, abs=SINGLE)
    hull = shapes.multisphere(((0.0, 0.0, -1.0, 0.5), (0.0, 0.0, 1.0, 0.25)))
    support = np.maximum(hull.normals @ [0, 0, -1] + 0.5, hull.normals @ [0, 0, 1] + 0.25)
    assert (hull.vertices @ hull.normals.T).max(axis=0) == pytest.approx(support, abs=SINGLE)


@pytest.mark.parametrize(
    ("type", "options", "message"),
    [
        ("boxx", {"size": [1, 2, 3]}, "a:rod geometry.type: found 'boxx'.*Did you mean 'box'"),
        ("box", {"size": [1, 2]}, "a:rod geometry.size: found .*a list of 3 numbers"),
        ("box", {}, "geometry.size: found nothing"),
        ("box", {"size": [1, 2, 3], "radius": 1}, "unknown key 'radius' in a geometry of type box"),
        ("sphere", {"radius": -1.0}, "lengths above 0"),
        ("sphere", {"radius": "big"}, "one number"),
        ("line", {"points": [[0, 0, 0]]}, "2 or more lists of 3"),
        ("box", {"size": [1, 2, 3], "colour": [2, 0, 0]}, "numbers from 0 to 1"),
        ("box", {"size": [1, 2, 3], "T": [0, 0]}, "geometry.T: found"),
        ("mesh", {}, "a mesh file"),
    ],
)
def test_geometry_that_cannot_be_used_is_named(type: str, options: dict[str, Any], message: str) -> None:
    """A model made of records in Python has passed no reader."""
    scene = of_lone(lone((Geometry(type, (), FrozenJson(options)),), mass=1.0))
    (warning,) = scene.warnings
    assert re.search(message, warning)
    assert drawn(scene, "a:rod"), "automatic shapes in its place"
