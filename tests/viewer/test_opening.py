"""The scene of a stored study: its shape files are those beside the model's file, wherever the store lies."""

import shutil
from pathlib import Path

import pytest

import shiftjax.models as library
from shiftjax.ensembles.store import store
from shiftjax.formats import load
from shiftjax.run.simulate import simulate
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

BODY = "meshed_pendulum:link"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with a mesh file, in a folder of its own."""
    folder = tmp_path / "mine"
    shutil.copytree(library.FOLDER / "meshes", folder / "meshes")
    return Path(shutil.copy(library.path("meshed_pendulum"), folder / "meshed_pendulum.json"))


@pytest.fixture
def stored(source: Path, tmp_path: Path) -> Path:
    result = simulate(load(source), span=0.02, step=0.01, keep="all")
    (tmp_path / "elsewhere").mkdir()
    return store.write(result, tmp_path / "elsewhere" / "run.zarr")


def vertices(scene: Scene) -> int:
    """Of the body's own shape."""
    return sum(len(p.mesh.vertices) for p in scene.parts if p.path == BODY and p.kind == "body")


def test_meshes_are_found_beside_the_models_file(
    source: Path, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "elsewhere")
    study = ViewedStudy.open(stored)
    assert Path(study.source) == source.resolve()
    with_mesh = MemberScenes(study).first
    assert with_mesh.warnings == ()
    shutil.rmtree(source.parent)
    without = MemberScenes(ViewedStudy.open(stored)).first
    assert vertices(with_mesh) != vertices(without) > 0


def test_a_store_whose_model_is_gone_is_shown_with_automatic_shapes(source: Path, stored: Path) -> None:
    shutil.rmtree(source.parent)
    moved = stored.rename(stored.with_name("moved.zarr"))
    scene = MemberScenes(ViewedStudy.open(moved)).first
    assert vertices(scene) > 0
    (warning,) = scene.warnings
    assert "link.obj" in warning and "no such file" in warning and str(source.parent) in warning
