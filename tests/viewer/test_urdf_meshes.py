"""Meshes of URDF files (M61): where they are found, and their scale, of files of ours, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax import ModelError, load, save
from shiftjax.formats import to_dict
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import Geometry
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transform, transformed
from shiftjax.viewer.scene.building import scene_of
from tests.scenes.lone import STILL, Loaded, drawn, lone, of_lone
from tests.support.models.urdf_text import joint, link, robot

SINGLE = 1e-6  # vertices of about a metre are stored in single precision
MESH = '<visual><geometry><mesh filename="{}" scale="{}"/></geometry></visual>'


def signed_volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Above zero where fronts are outside (the divergence theorem)."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def asked_of(model: Any, scenes: list[Any] | None = None, body: str = "robot:arm") -> list[Path]:
    """The files that a picture of the arm opens."""
    asked: list[Path] = []

    def load_mesh(path: Path, companions: tuple[Path, ...]) -> list[Loaded]:
        asked.append(path)
        return [Loaded(shapes.box())]

    scene = scene_of(model, {body: STILL}, load_mesh)
    if scenes is not None:
        scenes.append(scene)
    return asked


@pytest.mark.parametrize(
    "name", ["package://arm_description/meshes/arm%201.stl", "../meshes/arm 1.stl", "..\\meshes\\arm 1.stl"]
)
def test_m61_a_mesh_of_a_package_is_found_above_the_file(name: str, tmp_path: Path) -> None:
    """`urdf/` and `meshes/` stand beside each other in a package, whose folder has its name."""
    package = tmp_path / "arm_description"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    mesh = package / "meshes" / "arm 1.stl"
    mesh.write_text("solid", encoding="ascii")
    file = package / "urdf" / "arm.urdf"
    arm = link("arm", inside=MESH.format(name, "0.5 0.5 0.5"))
    file.write_text(robot(link("world"), arm, joint("j", "world", "arm")), encoding="utf-8")
    model, scenes = load(file), list[Any]()
    assert asked_of(model, scenes) == [mesh.resolve()] and not scenes[0].warnings
    (part,) = drawn(scenes[0], "robot:arm")
    assert np.array_equal(part.transform, transform(scale=0.5))
    save(model, package / "urdf" / "moved.json")
    assert asked_of(load(package / "urdf" / "moved.json")) == [mesh.resolve()]
    cell = {"model_parameters": {"version": "2.0", "gravity": [0, 0, -9.81]}}
    entry = {"name": "left", "include": "arm_description/urdf/arm.urdf"}
    (tmp_path / "cell.json").write_text(json.dumps({**cell, "assemblies": [entry]}), encoding="utf-8")
    assert asked_of(load(tmp_path / "cell.json"), body="left:robot:arm") == [mesh.resolve()], "in a file of ours, too"


def test_m61_a_mesh_elsewhere_is_not_opened(tmp_path: Path) -> None:
    """As of files of ours: an absolute path counts where it lies in the folder of the file."""
    (tmp_path / "inside").mkdir()
    for folder in (tmp_path, tmp_path / "inside"):
        (folder / "x.stl").write_text("solid", encoding="ascii")
    for mesh, opened in ((tmp_path / "inside" / "x.stl", True), (tmp_path / "x.stl", False)):
        arm = link("arm", inside=MESH.format(f"file://{mesh}", "1 1 1"))
        file = tmp_path / "inside" / "arm.urdf"
        file.write_text(robot(link("world"), arm, joint("j", "world", "arm")), encoding="utf-8")
        scenes: list[Any] = []
        assert asked_of(load(file), scenes) == [mesh.resolve()] * opened
        assert any("lies elsewhere" in text for text in scenes[0].warnings) is not opened


@pytest.mark.parametrize("scale", [(2.0, 0.5, 1.0), (-1.0, 1.0, 1.0), (1.0, -2.0, -1.0), (-1.0, -1.0, -3.0)])
def test_m61_a_scaled_mesh_has_its_fronts_outside(scale: tuple[float, ...]) -> None:
    """Corners are at scale times theirs; a mirror image is a mesh of its own, whose transform does not mirror."""
    ball = shapes.sphere()
    at = transform([0.1, 0.2, 0.3])

    def load_mesh(path: Path, companions: tuple[Path, ...]) -> list[Loaded]:
        return [Loaded(ball, transform=at)]

    model = lone((Geometry("mesh", ("lone.py",), FrozenJson({"scale": scale})),), mass=1.0)
    (part,) = drawn(of_lone(model, load_mesh=load_mesh, folder=Path(__file__).parents[1] / "scenes"), "a:rod")
    expected = transformed(transform(scale=scale) @ at, ball.vertices)
    seen = transformed(part.transform, part.mesh.vertices)
    assert np.abs(seen - expected).max() < SINGLE
    assert np.linalg.det(part.transform) > 0.0
    size = signed_volume(ball.vertices.astype(float), ball.indices) * abs(np.prod(scale))
    assert signed_volume(seen, part.mesh.indices) == pytest.approx(size, rel=1e-5)
    outward = part.mesh.normals @ np.linalg.inv(part.transform[:3, :3])  # rows: n' = R^-T n
    assert (np.einsum("ij,ij->i", outward, seen - seen.mean(0)) > 0.0).all()


def test_m61_a_mesh_of_no_extent_is_refused() -> None:
    document = to_dict(lone((Geometry("mesh", ("x.stl",)),), mass=1.0))
    shape = document["assemblies"][0]["bodies"][0]["geometry"][0]
    shape["scale"] = [1, 0, 1]
    with pytest.raises(ModelError, match=r"geometry\[0\]\.scale.*factors other than 0"):
        load(document)
    shape["scale"] = [1, -2, 1]
    (_, body) = next(iter(load(document).bodies()))
    assert body.geometry[0].options["scale"] == (1, -2, 1) and load(to_dict(load(document))) == load(document)
