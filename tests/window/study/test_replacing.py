"""File > Open: names that complete what is typed, what is refused, another study in place of the one shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shiftjax
from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError
from shiftjax.viewer.gui.actions.saving import reopening as replacing
from shiftjax.viewer.gui.actions.saving import saved
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.panels import OPEN
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study import opening, recent
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.window.test_gui_panes import run_window, xvfb

STORES = ["four.zarr", "four_again.zarr", "one.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three stored results among files that are none."""
    place = tmp_path_factory.mktemp("stores")
    run: dict[str, Any] = {"span": 0.1, "step": 2e-3, "output_step": 0.02}
    vary = {"four_bar:coupler:tip.T[0]": [0.5, 0.55]}
    four = shiftjax.simulate("four_bar", vary=vary, **run)
    store.write(four, place / STORES[0])
    store.write(four, place / STORES[1])
    store.write(shiftjax.simulate("pendulum", **run), place / STORES[2])
    (place / "model.json").write_text(json.dumps({"format": "shift"}), encoding="utf-8")
    (place / "broken.json").write_text("{", encoding="utf-8")
    (place / "empty.zarr").mkdir()
    return place


@pytest.fixture
def state(study: ViewedStudy, scene: Scene, folder: Path, monkeypatch: pytest.MonkeyPatch) -> WindowState:
    monkeypatch.chdir(folder)
    return WindowState(MemberScenes(study, scene), look=FAST)


@pytest.fixture
def window(state: WindowState) -> Iterator[Offscreen]:
    with Offscreen(state, (900, 600)) as screen:
        yield screen


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of these tests alone."""
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_stored_studies_are_listed_and_completed(state: WindowState, folder: Path) -> None:
    assert opening.stored_in(folder) == STORES
    for typed, found in (("", STORES), ("AGAIN", STORES[1:2]), ("o", [STORES[2], *STORES[:2]]), ("nothing", [])):
        state.panels.study = typed
        assert replacing.names(state) == found
    (folder / "late.json").write_text((folder / "one.json").read_text(encoding="utf-8"), encoding="utf-8")
    assert "late.json" in opening.stored_in(folder)
    (folder / "late.json").write_text("{}", encoding="utf-8")
    assert "late.json" not in opening.stored_in(folder), "it is another file now"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "no name"),
        ("none.zarr", "nothing there"),
        ("empty.zarr", "no readable result"),
        ("model.json", "no result"),
        ("broken.json", "no result"),
        ("four_bar", "suffix ''"),
    ],
)
def test_what_cannot_be_shown_leaves_the_window_as_it_is(
    state: WindowState, folder: Path, name: str, said: str
) -> None:
    if name == "four_bar":
        (folder / name).touch()
    assert not replacing.replace(state, name)
    assert state.panels.requests == [] and said in state.panels.message


def test_a_study_is_asked_for_and_the_message_goes(state: WindowState) -> None:
    assert not replacing.replace(state, "none.zarr")
    assert replacing.replace(state, " one.json ")
    assert state.panels.requests == ["open:one.json"] and state.panels.message == ""


def test_the_first_member_is_one_that_can_be_drawn(folder: Path, tmp_path: Path) -> None:
    assert opening.first_member(ViewedStudy.open(folder / STORES[0])) == 0
    lost = shiftjax.simulate("four_bar", vary={"four_bar:coupler:tip.T[0]": [5.0]}, span=0.1, strict_start=False)
    store.write(lost, tmp_path / "lost.zarr")
    with pytest.raises(ModelError, match="never started"):
        opening.require_viewable(str(tmp_path / "lost.zarr"))


def test_the_menu_completes_and_opens(window: Offscreen) -> None:
    window.click("menu:File")
    window.move("menu:Open...")
    window.frames(30)
    assert {f"open:{name}" for name in STORES} <= {*ui.item_boxes}
    window.click("study file")
    window.type("again")
    window.frames(2)
    assert [name for name in ui.item_boxes if name.startswith("open:")] == ["open:four_again.zarr"]
    window.click("open:four_again.zarr")
    assert window.state.panels.requests == ["open:four_again.zarr"]


def test_return_opens_what_is_typed(window: Offscreen) -> None:
    window.click("menu:File")
    window.move("menu:Open...")
    window.frames(30)
    window.click("study file")
    window.type("one.json")
    window.key("Enter")
    window.frames(2)
    assert window.state.panels.requests == ["open:one.json"]


SCRIPT = """
import sys
from pathlib import Path
from shiftjax.cli import main
from shiftjax.viewer.gui import app
from shiftjax.viewer.gui.actions.saving import reopening as replacing
from shiftjax.viewer.gui.actions.saving import saved

wanted = {wanted!r}
def run(window):  # as it is, but that it asks for the studies one after the other
    for _ in range(3):
        assert window.frame()
    state = window.state
    print(state.study.where.rpartition("/")[2], state.study.members, window.screen.view_image().std() > 5, *window.size)
    print(state.panels.message.partition(":")[0] or "-")
    if not wanted:
        return
    name = wanted.pop(0)
    assert replacing.replace(state, name)
    if name == "four_again.zarr":
        Path(name, "zarr.json").unlink()  # gone before it is opened
    assert not window.frame()

app.Window.run = run
code = main(["view", "four.zarr", "--fast", "--size", "640x420"])
assert "jax" not in sys.modules
raise SystemExit(code)
"""


@pytest.mark.skipif(not shutil.which("Xvfb"), reason="needs Xvfb")
def test_a_window_goes_on_with_another_study(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run in place of two, then one that is gone: the first study is shown again, and says why."""
    for name in STORES:
        copy = shutil.copytree if name.endswith("zarr") else shutil.copy
        copy(folder / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with xvfb() as display:
        done = run_window(tmp_path, SCRIPT.format(wanted=["one.json", "four_again.zarr"]), display)
    assert done.returncode == 0, done.stderr
    size = "640 420"
    assert done.stdout.splitlines() == [
        f"four.zarr 2 True {size}", "-", f"one.json 1 True {size}", "-", f"four.zarr 2 True {size}", "four_again.zarr",
    ]  # fmt: skip
    assert "opening one.json" in done.stderr


# -- shown lately, dropped ---------------------------------------------------------------------------------------------


def test_studies_shown_lately_are_listed_the_latest_first(folder: Path, cache: Path) -> None:
    assert recent.studies() == []
    for name in (*STORES, STORES[0]):
        recent.note(str(folder / name))
    for name in ("model.json", "nowhere.zarr"):
        recent.note(str(folder / name))
    assert [path.name for path in recent.studies()] == [STORES[0], STORES[2], STORES[1]]
    (cache / recent.FILE).write_text("{", encoding="utf-8")
    assert recent.studies() == [], "a file that is no list"


def test_a_study_shown_lately_is_opened_from_the_menu(window: Offscreen, folder: Path) -> None:
    recent.note(str(folder / STORES[1]))
    window.click("menu:File")
    window.click("menu:Open...")
    window.frames(2)
    window.click(f"recent:{STORES[1]}")
    assert window.state.panels.requests == [f"{OPEN}:{folder / STORES[1]}"]


def test_a_dropped_study_takes_the_place_of_this_one(state: WindowState, folder: Path) -> None:
    replacing.drop(state, [str(folder / STORES[0])])
    assert state.panels.requests == [f"{OPEN}:{folder / STORES[0]}"]


def test_a_dropped_view_is_opened(state: WindowState, tmp_path: Path) -> None:
    state.go_to(0.2)
    file = saved.save(state, tmp_path / "view.json")
    state.go_to(0.0)
    replacing.drop(state, [str(file)])
    assert state.clock.time == pytest.approx(0.2) and not state.panels.requests


def test_what_cannot_be_shown_is_said_when_it_is_dropped(state: WindowState, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "swing.toml").write_text("model = 'four_bar'", encoding="utf-8")
    for paths, text in (
        ([str(tmp_path / "swing.toml")], "shiftjax sweep"),
        ([str(folder / "model.json")], "no result"),
        ([str(folder / name) for name in STORES], "3 files were dropped"),
    ):
        replacing.drop(state, paths)
        assert text in state.panels.message and not state.panels.requests
