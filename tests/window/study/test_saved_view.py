"""A view of a study as a JSON file: what is saved is restored, and what does not fit is refused by name. No GL."""

import argparse
import copy
import dataclasses
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.cli.commands import view
from shiftjax.errors import ModelError
from shiftjax.viewer.gui.actions import actions, looking
from shiftjax.viewer.gui.actions.members import choosing, grid, selecting, set_keeping, trying
from shiftjax.viewer.gui.actions.saving import saved
from shiftjax.viewer.gui.actions.saving.saved_checks import packed
from shiftjax.viewer.gui.state.derived.member_paths import MemberPaths
from shiftjax.viewer.gui.state.layout import Sizes
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import DesignSliders
from shiftjax.viewer.members.brush import Brush, Range
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.many import COUPLER, CRANK, KEPT, LATE, MEMBERS, ROCKER, SWING
from tests.window.test_gui_panes import run_window, xvfb

TRACE = {"body": "four_bar:crank", "point": [0.0, 0.0, 0.0], "frame": ""}
VALUES = {COUPLER: 1.0, CRANK: 0.2, ROCKER: 0.5}
DESIGN = {"like": 0, "simulates": True, "shown": False, "values": VALUES}
ONE_SET = {"name": "A", "members": packed(np.arange(MEMBERS) < 9), "text": "member < 9", "colour": 0}


@pytest.fixture
def state(many_members: ViewedStudy, many_scene: Scene) -> WindowState:
    return WindowState(MemberScenes(many_members, many_scene))


def changed(state: WindowState) -> WindowState:
    """Everything that a file holds, other than at first."""
    choosing.choose(state, "worst:5:swing of kept")
    state.choice.ghosts_on, state.choice.outlined, state.choice.colour_by = True, True, LATE
    explorer = state.explorer
    explorer.shown_on, explorer.columns = True, ["member", SWING]
    selecting.select(state, np.arange(MEMBERS) % 3 == 0)
    assert set_keeping.keep(state) and set_keeping.keep(state, "thirds")
    explorer.front.on = explorer.type_front(f"-{SWING}, {LATE}")
    explorer.sort_by(SWING, falling=True)
    explorer.open_tab("scatter")
    explorer.x, explorer.y, explorer.colour, explorer.bars, explorer.axes = CRANK, LATE, ROCKER, COUPLER, [LATE, SWING]
    selecting.show(state, "swing > 0.2 and not thirds or A")
    selecting.select(state, explorer.table.column(SWING) > 0.5)
    selecting.brush(state, Brush((Range(SWING, 0.6, math.inf),), "A or status == 'ok'"), "add")
    choosing.choose(state, "worst:5:swing of kept")
    grid.show(state, state.choice.chosen.tolist())
    state.show_member(int(state.choice.chosen[2]))
    state.pick_path("four_bar:coupler:tip")
    actions.run(state, "traces")
    trying.begin(state, 500)
    sliders = state.pane_data(DesignSliders)
    sliders.simulates, sliders.values = False, {**sliders.values, CRANK: 0.31}
    state.go_to(0.07)
    looking.orbit(state, 0.2, 0.1)
    looking.orthographic(state)
    state.display.set("screw", draw="visible")
    state.display.set("ellipsoid", draw="visible")
    state.panels.panes_on, state.panels.sizes = False, Sizes(tree=200.0, study=300.0)
    return state


def test_the_tree_has_the_numbers_of_the_member(state: WindowState, many_members: ViewedStudy) -> None:
    """As the pane of properties has; not those of the file."""
    for member in many_members.kept[[0, -1]]:
        state.show_member(int(member))
        (row,) = [row for row in state.rows if row.kind == "body" and row.path == COUPLER.removesuffix(".mass")]
        assert float(row.value.split()[0]) == pytest.approx(many_members.value(COUPLER, int(member)), rel=1e-3)


def test_what_is_saved_is_restored(
    state: WindowState, many_members: ViewedStudy, many_scene: Scene, tmp_path: Path
) -> None:
    fresh = saved.document(state)
    path = saved.save(changed(state), tmp_path / "one.json")
    written = saved.document(state)
    same = {name for name in written if written[name] == fresh[name]}
    assert same == {"format", "version", "study", "beside"}, "the test changes all the others"
    other = WindowState(MemberScenes(many_members, many_scene))
    saved.load(other, path)
    assert saved.document(other) == written
    assert other.explorer.cells == state.explorer.cells and other.choice.member == state.choice.member
    np.testing.assert_array_equal(other.explorer.selected, state.explorer.selected)
    assert other.explorer.selected.sum() == (state.explorer.table.column(SWING) > 0.5).sum()
    np.testing.assert_allclose(other.view.camera.eye, state.view.camera.eye)
    assert len(path.read_bytes()) < 20_000
    paths, before = (one.pane_data(MemberPaths).look(one, 60.0) for one in (other, state))
    assert paths is not None and before is not None and len(paths.ends)
    np.testing.assert_array_equal(paths.ends, before.ends, "paths of the members, by the frame of each")


def test_a_member_beside_is_restored(
    state: WindowState, many_members: ViewedStudy, many_scene: Scene, tmp_path: Path
) -> None:
    choosing.choose(state, "kept")
    actions.run(state, "beside")
    path = saved.save(state, tmp_path / "two.json")
    other = WindowState(MemberScenes(many_members, many_scene))
    saved.load(other, path)
    assert other.beside is not None and state.beside is not None and other.beside.member == state.beside.member


def test_sliders_that_nobody_opened_are_saved_as_none(
    state: WindowState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More members are made without them; what was made is told, and the view can be opened again."""
    assert state.study.trials is not None
    monkeypatch.setattr(type(state.study.trials), "more", lambda *_: {CRANK: (0.1, 0.2)})
    monkeypatch.setattr(type(state.study.trials), "made", lambda _: ("more.zarr", ""))
    trying.more_like(state)
    path = saved.save(state, tmp_path / "more.json")
    assert json.loads(path.read_text(encoding="utf-8"))["design"] is None
    saved.load(state, path)
    trying.look(state)
    assert state.pane_data(DesignSliders).made == "more.zarr" and "more.zarr: made" in state.panels.message


def test_sliders_where_there_can_be_none(state: WindowState) -> None:
    """As of a result in memory: they are refused, and nothing is changed."""
    state.study.trials, trials = None, state.study.trials
    before = saved.document(state)
    with pytest.raises(ModelError, match=r"view: design: found sliders.*a stored study"):
        saved.restore(state, {**saved.FORMAT, "paths": True, "design": DESIGN | {"values": {}}}, "view")
    assert saved.document(state) == before and before["design"] is None
    state.study.trials = trials


def test_a_followed_body_is_saved_as_it_is_seen(state: WindowState, tmp_path: Path) -> None:
    looking.follow(state, "four_bar:coupler")
    state.go_to(0.1)
    seen = dataclasses.asdict(state.current_camera())
    path = saved.save(state, tmp_path / "follow.json")
    saved.load(state, path)
    assert state.view.followed is None and dataclasses.asdict(state.current_camera()) == seen


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"colours": "x"}, "key: found 'colours'.*Did you mean 'colour'"),
        ({"x": "coupler.weight"}, "x: found 'coupler.weight'"),
        ({"columns": ["member", 7]}, "columns: found 7"),
        ({"columns": "member"}, "columns: found 'member'"),
        ({"axes": [SWING]}, "axes: found 1 axes"),
        ({"member": MEMBERS}, f"member: found member {MEMBERS}"),
        ({"member": True}, "member: found True"),
        ({"chosen": []}, "chosen: found"),
        ({"time": "now"}, "time: found 'now'"),
        ({"ghosts": 1}, "ghosts: found 1"),
        ({"tab": "pie"}, "tab: found 'pie'"),
        ({"expression": "swing >"}, "choice of members"),
        ({"colour_by": COUPLER}, "colour_by: found"),
        ({"order": {"by": SWING}}, "order: keys"),
        ({"camera": {"distance": 1.0}}, "camera: key"),
        ({"sizes": {"tree": "wide", "study": None, "properties": None, "timeline": None}}, "sizes.tree"),
        ({"brushes": {}}, "brushes: found"),
        ({"brushes": [{"query": ""}]}, r"brushes\[0\]: keys"),
        ({"brushes": [{"query": "swing >", "between": {}}]}, "choice of members"),
        ({"brushes": [{"query": "", "between": {"swung": [0, 1]}}]}, "found 'swung'"),
        ({"brushes": [{"query": "", "between": {SWING: [2, 1]}}]}, r"found \[2, 1\]"),
        ({"brushes": [{"query": "", "between": {SWING: [2]}}]}, r"found \[2\]"),
        ({"selected": "AAAA"}, "selected: found text that is none"),
        ({"selected": "eNpjAAAAAQAB"}, "a selection of 8 members"),
        ({"front": {"on": True}}, "front: keys"),
        ({"front": {"on": 1, "of": ""}}, "front.on: found 1"),
        ({"front": {"on": True, "of": "swung"}}, "found 'swung'"),
        ({"sets": {}}, "sets: found"),
        ({"sets": [{"name": "A"}]}, r"sets\[0\]: keys"),
        ({"sets": [ONE_SET | {"name": "status"}]}, "a word|the column status"),
        ({"sets": [ONE_SET | {"colour": 99}]}, r"sets\[0\].colour: found 99"),
        ({"sets": [ONE_SET | {"members": ""}]}, "set A: found nobody"),
        ({"sets": [ONE_SET, ONE_SET]}, r"sets\[1\].name: found 'A'"),
        ({"sets": [ONE_SET], "expression": "B"}, "choice of members"),
        ({"grid": [0]}, "grid: found 1 members"),
        ({"design": []}, "design: found"),
        ({"design": {"like": 0}}, "design: keys"),
        ({"design": DESIGN | {"like": MEMBERS}}, f"design.like: found member {MEMBERS}"),
        ({"design": DESIGN | {"shown": 1}}, "design.shown: found 1"),
        ({"design": DESIGN | {"values": {CRANK: 0.2}}}, "design.values: found '.*'.*allowed: .*mass"),
        ({"design": DESIGN | {"values": VALUES | {CRANK: "long"}}}, "design.values.*: found 'long'"),
        ({"paths": 1}, "paths: found 1"),
        ({"trace": []}, "trace: found"),
        ({"trace": {"body": "four_bar:crank"}}, "trace: keys"),
        ({"trace": TRACE | {"body": "four_bar:cranks"}}, "trace.body: found 'four_bar:cranks'"),
        ({"trace": TRACE | {"point": [0.0, 1.0]}}, r"trace.point: found \[0.0, 1.0\]"),
        ({"trace": TRACE | {"point": [0.0, 1.0, "z"]}}, "trace.point: found 'z'"),
        ({"trace": TRACE | {"frame": "four_bar:crank:top"}}, "trace.frame: found 'four_bar:crank:top'"),
        ({"version": 2}, "version: found 2"),
        ({"format": "shiftjax"}, "no view"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_changed(
    state: WindowState, tmp_path: Path, change: dict[str, object], match: str
) -> None:
    path = saved.save(state, tmp_path / "view.json")
    before = saved.document(state)
    wrong = copy.deepcopy(before) | {"time": 0.05, "ghosts": True} | change
    path.write_text(json.dumps(wrong))
    with pytest.raises(ModelError, match=match):
        saved.load(state, path)
    assert saved.document(state) == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "NaN", "[" * 5000, '{"format": "shiftjax view", "version": 1, "time": NaN}']
)
def test_files_of_other_things_are_refused(state: WindowState, tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ModelError):
        saved.load(state, path)


def test_a_member_that_was_not_kept_is_simulated_again(
    state: WindowState, many_members: ViewedStudy, many_scene: Scene, tmp_path: Path
) -> None:
    path = saved.save(state, tmp_path / "view.json")
    path.write_text(json.dumps(saved.document(state) | {"member": 3, "time": 0.05, "grid": [0, 3]}))
    study = ViewedStudy.open(many_members.where)
    other = WindowState(MemberScenes(study, many_scene))
    saved.load(other, path)
    assert other.choice.member == 0 and not other.explorer.cells, "it waits"
    study.prepare([3])
    other.advance(0.0)
    assert other.choice.member == 3 and other.explorer.cells == (0, 3) and other.clock.time == 0.05


def test_places_that_cannot_be(state: WindowState, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="suffix"):
        saved.save(state, tmp_path / "view.toml")
    with pytest.raises(ModelError, match="folder"):
        saved.save(state, tmp_path / "nowhere" / "view.json")
    with pytest.raises(ModelError, match="no file of a view"):
        saved.load(state, tmp_path / "none.json")
    state.explorer.file = str(tmp_path / "none.json")
    saved.open_here(state)
    assert "no file of a view" in state.panels.messages[-1]


# -- at the command line -----------------------------------------------------------------------------------------------

SCRIPT = """
from shiftjax.cli import main
from shiftjax.viewer.gui import app

def show(study, scene, note="", **choices):  # as app.show, for two frames
    with app.Window(study, scene, **choices) as window:
        window.frame(), window.frame()
        state = window.state
        print(state.choice.member, state.explorer.tab, len(state.explorer.cells), window.screen.view_image().std() > 5)

app.show = show
raise SystemExit(main(["view", {where!r}, "--view", {file!r}, "--fast", "--size", "640x420"]))
"""


@pytest.mark.skipif(not shutil.which("Xvfb"), reason="needs Xvfb")
def test_view_opens_a_study_as_it_was_saved(state: WindowState, tmp_path: Path) -> None:
    path = saved.save(changed(state), tmp_path / "one.json")
    with xvfb() as display:
        done = run_window(tmp_path, SCRIPT.format(where=str(state.study.where), file=str(path)), display)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(state.choice.member), "scatter", "5", "True"]


def test_a_view_is_a_standard_one_or_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    view.define(parser)
    assert parser.parse_args(["four_bar", "--view", "top"]).view == "top"
    assert parser.parse_args(["four_bar", "--view", "mine.json"]).view == "mine.json"
    with pytest.raises(SystemExit):
        parser.parse_args(["four_bar", "--view", "below"])
    assert "'below' is none of front" in capsys.readouterr().err
    assert main(["view", "four_bar", "--live", "--view", "mine.json"]) != 0
    assert "--view mine.json: found with --live" in capsys.readouterr().err


# -- grids and ghosts, without a window --------------------------------------------------------------------------------


def test_a_grid_grows_and_ends(state: WindowState) -> None:
    sizes = []
    for _ in range(4):
        actions.run(state, "grid")
        sizes.append(len(state.explorer.cells))
    assert sizes == [4, 9, 16, 0] and len(state.choice.chosen) == KEPT
    choosing.choose(state, "worst:5:swing of kept")
    actions.run(state, "grid")
    assert state.explorer.cells == tuple(state.choice.chosen.tolist()), "five fit at once, in their order"
    actions.run(state, "beside")
    assert state.explorer.cells == () and state.beside is not None
    actions.run(state, "grid")
    assert state.beside is None and len(state.explorer.cells) == 5
    choosing.choose(state, "0")
    grid.close(state)
    actions.run(state, "grid")
    assert state.explorer.cells == () and "two members" in state.panels.messages[-1]


def test_at_most_64_ghosts_spread_over_the_selection(many_members: ViewedStudy, many_scene: Scene) -> None:
    study = ViewedStudy.open(many_members.where)
    state = WindowState(MemberScenes(study, many_scene))
    explorer = state.explorer
    selecting.select(state, np.arange(MEMBERS) < MEMBERS // 2)
    assert len(state.choice.chosen) == KEPT // 2 and explorer.note.startswith(f"{KEPT // 2} of 10,000 selected")
    before = state.choice.chosen
    selecting.select(state, np.arange(MEMBERS) == 1)
    assert explorer.note == "none of 1 selected has a trajectory" and state.choice.chosen is before
    selecting.simulate(state)
    study.prepare([1])
    state.advance(0.0)
    assert state.choice.chosen.tolist() == [1] and explorer.note == "1 of 1 selected have trajectories"
    selecting.select(state, np.arange(MEMBERS) % (MEMBERS // KEPT) == 0)
    assert state.choice.ghosts_on and len(state.choice.chosen) == KEPT


def test_a_selection_is_added_to_and_cut(state: WindowState) -> None:
    explorer, number = state.explorer, np.arange(MEMBERS)
    explorer.select(number < 100)
    explorer.select(number > 19_900, "add")
    assert explorer.counts()[1] == 199
    explorer.select((number > 50) & (number < 200), "within")
    assert np.flatnonzero(explorer.selected).tolist() == list(range(51, 100))
    selecting.show(state, "member < 60")
    assert explorer.counts() == (60, 9), "what is not shown is not selected"
    with pytest.raises(ModelError, match="selection"):
        explorer.select(number < 5, "without")


def test_an_expression_that_cannot_be_read_changes_nothing(state: WindowState) -> None:
    selecting.show(state, "swing > 0.5")
    shown = state.explorer.counts()[0]
    selecting.show(state, "swinging > 0.5")
    assert "swinging" in state.explorer.wrong and state.explorer.counts()[0] == shown
    selecting.show(state, "")
    assert state.explorer.wrong == "" and state.explorer.counts()[0] == MEMBERS
