"""The scene of a stored study: its shape files are those beside the model's file, wherever the store lies."""

import argparse
import json
import shutil
from pathlib import Path

import pytest

import shiftjax.models as library
from shiftjax.cli.commands import view
from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.actions.saving import saved
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.in_this_process import run_here

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


# -- what is no stored study -------------------------------------------------------------------------------------------


def test_a_model_without_a_span_runs_for_some_seconds_and_says_so(
    source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(monkeypatch)
    document = json.loads(source.read_text(encoding="utf-8"))
    for integrator in document["model_parameters"]["integrators"]:
        integrator.pop("time_span")
    source.write_text(json.dumps(document), encoding="utf-8")
    with opening.opened(str(source)) as study:
        assert study.time[-1] == pytest.approx(opening.SPAN)
    assert f"says no span: {opening.SPAN:g} s are run; --span says another" in capsys.readouterr().err
    with opening.opened(str(source), ["--span", "0.1"]) as study:
        assert study.time[-1] == pytest.approx(0.1)
    assert "span" not in capsys.readouterr().err


def test_a_model_that_does_not_run_is_one_error(source: Path) -> None:
    with pytest.raises(ModelError) as error, opening.opened(str(source), ["--span", "-1"]):
        raise AssertionError
    assert "shiftjax: error" not in str(error.value) and "span" in str(error.value)


def test_the_file_of_a_study_says_how_it_is_run_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "swing.toml"
    file.write_text('model = "four_bar"\nspan = 0.1\n', encoding="utf-8")
    with pytest.raises(ModelError, match=r"which says what is to run.*shiftjax sweep .*swing.toml --out swing.zarr"):
        opening.opened(str(file)).__enter__()
    (tmp_path / "swing.zarr").mkdir()
    with pytest.raises(ModelError, match=r"Show what it gave: .*swing.zarr"):
        opening.opened(str(file)).__enter__()


def viewed(*words: str) -> argparse.Namespace:
    """The options of `shiftjax view` as they are carried out."""
    parser = argparse.ArgumentParser()
    view.define(parser)
    options = parser.parse_args(list(words))
    view._of_saved_view(options)
    return options


def test_a_saved_view_opens_its_study(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stored.parent)
    state = WindowState(MemberScenes(ViewedStudy.open(stored.name)))
    file = saved.save(state, "view.json")
    options = viewed("view.json")
    assert (options.study, options.view) == (stored.name, str(file))
    monkeypatch.chdir(tmp_path)  # the study lies beside the view
    options = viewed("elsewhere/view.json")
    assert Path(options.study).resolve() == stored.resolve()
    with opening.opened(options.study) as study:
        saved.load(WindowState(MemberScenes(study)), options.view)
    options = viewed("four_bar", "--view", "elsewhere/view.json")
    assert (options.study, options.view) == ("four_bar", "elsewhere/view.json")


def test_other_commands_say_what_a_saved_view_is(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stored.parent)
    saved.save(WindowState(MemberScenes(ViewedStudy.open(stored.name))), "view.json")
    with pytest.raises(ModelError, match=r"a view that the window saved.*`shiftjax view run.zarr --view view.json`"):
        opening.opened("view.json").__enter__()


def test_a_study_that_is_left_ends_its_processes(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that shows another study in place of one leaves no simulator of that behind."""
    ended: list[ViewedStudy] = []
    monkeypatch.setattr(ViewedStudy, "close", lambda study: ended.append(study))
    with opening.opened(str(stored)) as study:
        assert not ended
    assert ended == [study]
    with opening.opened("four_bar", ("--span", "0.01", "--step", "0.001")) as of_model:
        pass
    assert ended == [study, of_model]
