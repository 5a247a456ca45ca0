"""Shapes of the user, colours of joints in pixels, and settings in the menus: M52, M55, M57, M59 (shapes), M60."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiftjax import simulate
from shiftjax.errors import ModelError
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import Geometry
from shiftjax.poses import to_world
from shiftjax.viewer.gui.actions import actions, additions, shape_editing
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture.ray_picking import hits_at
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.panels import RATES
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene import added_shapes, shapes
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.model_shapes import shape_of
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import COUPLER, CRANK
from tests.scenes.studio import PLAIN

CTRL: Modifiers = (True, False, False)
ALT: Modifiers = (False, True, False)
SHIFT: Modifiers = (False, False, True)
SEEN = 8  # of 255
SHAPE = f"{COUPLER}:shape"
SQUARE = np.array([[-0.1, 0, -0.1], [0.1, 0, -0.1], [0.1, 0, 0.1], [-0.1, 0, 0.1]])


@pytest.fixture
def state(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=PLAIN, map="workbench")


@pytest.fixture
def window(state: WindowState) -> Iterator[Offscreen]:
    with Offscreen(state, (900, 560)) as screen:
        yield screen


def view_of(window: Offscreen) -> np.ndarray:
    return window.screen.view_image().astype(int)


def count(before: np.ndarray, after: np.ndarray) -> int:
    """Pixels that differ."""
    return int((np.abs(before - after).max(-1) > SEEN).sum())


# -- shapes of the user ------------------------------------------------------------------------------------------------


def test_m59_a_shape_is_added_changed_and_removed_by_keys(window: Offscreen) -> None:
    state, before = window.state, view_of(window)
    window.key("W", SHIFT)
    assert "pick a body" in state.panels.messages[-1] and not state.shapes
    state.pick_path(COUPLER)
    window.frames()
    marked = view_of(window)
    window.key("W", SHIFT)
    assert state.selection.pick == SHAPE and state.shapes[SHAPE].type == "box" and count(marked, view_of(window)) > 100
    for kind in (*list(added_shapes.KINDS)[1:], "box"):
        window.key("W", SHIFT)
        assert state.shapes[SHAPE].type == kind
        assert any(part.path == SHAPE for part in state.scene.parts)
    window.key("Delete")
    assert state.selection.pick is None and not state.shapes and not any(p.kind == "shape" for p in state.scene.parts)
    assert count(before, view_of(window)) == 0
    state.pick_path(COUPLER)
    window.key("Delete")
    assert "shapes" in state.panels.messages[-1] and state.selection.pick == COUPLER


def test_m59_shapes_are_picked_only_while_widgets_are(window: Offscreen) -> None:
    state, box = window.state, window.screen.layout.view
    size = (round(box.width), round(box.height))
    state.pick_path(COUPLER, state.body_poses()[COUPLER][:3] + np.array([0.0, 0.0, -0.05]))
    window.key("W", SHIFT)
    state.pick_path(None)
    part = next(part for part in state.scene.parts if part.path == SHAPE)
    middle = to_world(state.body_poses()[COUPLER], part.transform[:3, 3])
    x, y = state.current_camera().pixel(middle, size)
    window.click((box.x + x, box.y + y))
    assert state.selection.pick != SHAPE and SHAPE not in [hit.path for hit in hits_at(state, x, y, size)]
    state.pick_path(None)
    window.key("W", ALT)
    window.click((box.x + x, box.y + y))
    assert state.selection.pick == SHAPE
    actions.run(state, "pick_parent")
    assert state.selection.pick == COUPLER
    window.key("W", ALT)
    assert "not be picked" in state.panels.messages[-1]


def test_m59_the_pane_edits_a_parametric_shape(window: Offscreen) -> None:
    state = window.state
    state.pick_path(COUPLER)
    window.key("W", SHIFT)
    window.frames()
    size = np.array(state.shapes[SHAPE].options["size"])
    assert np.allclose(size, added_shapes.SIZE * state.scene.size)
    box = ui.item_boxes["shape:size"]
    before = view_of(window)
    window.drag((box.x + 10, box.y + 8), (box.x + 90, box.y + 8))
    assert state.shapes[SHAPE].options["size"][0] > size[0] and count(before, view_of(window)) > 50
    window.click("shape:remove")
    assert not state.shapes


def test_a_size_that_is_none_is_told_and_changes_nothing(state: WindowState) -> None:
    state.pick_path(COUPLER)
    actions.run(state, "add_shape")
    before, parts = state.shapes[SHAPE], state.scene.parts
    shape_editing.edit(state, SHAPE, Geometry("sphere", (), FrozenJson(radius=-1.0)))
    assert "lengths above 0" in state.panels.messages[-1]
    assert state.shapes[SHAPE] is before and state.scene.parts is parts


def test_arrows_are_shapes_of_a_models_file() -> None:
    [(mesh, transform, _)] = shape_of(Geometry("arrow", (), FrozenJson(radius=0.02, length=0.8)), "b", Path, None, [])
    points = mesh.vertices @ transform[:3, :3].T + transform[:3, 3]
    assert np.allclose((points[:, 2].min(), points[:, 2].max()), (0.0, 0.8))
    assert np.allclose(np.linalg.norm(points[points[:, 2] < 1e-9, :2], axis=1).max(), 0.02)


@pytest.mark.parametrize(
    "faces", [[[0, 1, 2]], [[0, 1, 2, 3]], [[0, 1], [1, 2], [2, 3]], [[0], [1], [2], [3]]],
    ids=["triangles", "quads", "lines", "points"],
)  # fmt: skip
def test_m59_meshes_from_python_are_drawn_and_removed(window: Offscreen, faces: list[list[int]]) -> None:
    state, before = window.state, view_of(window)
    transform = np.eye(4)
    transform[2, 3] = -0.3  # above the crank, up is -z
    path = additions.add_shape(
        state, CRANK, added_shapes.mesh(SQUARE, np.array(faces)), transform, (1.0, 0.0, 0.0, 1.0)
    )
    window.frames()
    assert path == f"{CRANK}:shape" and count(before, view_of(window)) >= len(faces) * 4
    assert additions.add_shape(state, CRANK, shapes.box(), transform) == f"{CRANK}:shape_2"
    for name in (path, f"{CRANK}:shape_2"):
        state.pick_path(name)
        window.key("Delete")
    assert count(before, view_of(window)) == 0


def test_quads_are_cut_in_two_and_flat() -> None:
    made = added_shapes.mesh(SQUARE, np.array([[0, 1, 2, 3]]))
    corners = made.vertices[made.indices]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    assert made.indices.shape == (2, 3) and area == pytest.approx(0.04)
    assert np.allclose(np.abs(made.normals), (0, 1, 0))
    assert (
        made.key
        == added_shapes.mesh(SQUARE, np.array([[0, 1, 2, 3]])).key
        != added_shapes.mesh(2 * SQUARE, np.array([[0, 1, 2, 3]])).key
    )


@pytest.mark.parametrize(
    ("vertices", "faces"),
    [(SQUARE[:, :2], [[0, 1, 2]]), (SQUARE, [[0, 1, 2, 3, 0]]), (SQUARE, [[0.0, 1.0, 2.0]]), (SQUARE, [[0, 1, 4]]),
     (SQUARE, [[0, -1, 2]]), (SQUARE * np.nan, [[0, 1, 2]]), (SQUARE, np.zeros((0, 3), int))],
)  # fmt: skip
def test_a_mesh_that_is_none_is_refused(vertices: np.ndarray, faces: object) -> None:
    with pytest.raises(ModelError, match="mesh"):
        added_shapes.mesh(vertices, np.array(faces))


def test_a_shape_on_nothing_or_nowhere_is_refused(state: WindowState) -> None:
    with pytest.raises(ModelError, match="body"):
        additions.add_shape(state, "four_bar:crnk", shapes.box(), np.eye(4))
    with pytest.raises(ModelError, match="transform of a shape"):
        additions.add_shape(state, CRANK, shapes.box(), np.eye(3))


# -- colours of joints -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digger() -> ViewedStudy:
    return ViewedStudy.of(simulate("excavator", span=0.02, step=1e-3, output_step=0.01, keep="all"))


def test_m60_pixels_of_tree_closing_and_locked_joints(digger: ViewedStudy) -> None:
    """Each joint alone in the picture: the light changes how bright it is, hardly which colour."""
    state = WindowState(MemberScenes(digger), look=PLAIN, map="workbench")
    for name in ("link", "ground"):
        state.display.set(name, draw="hidden")
    closing = next(iter(state.mechanism.closures))
    joints = set(state.mechanism.joints)
    with Offscreen(state, (700, 500)) as window:
        state.selection.hidden = set(joints)
        window.frames()
        nothing = view_of(window)
        for path, wanted in (("excavator:foot", "red"), ("excavator:slew", "ultramarine"), (closing, "purple")):
            state.selection.hidden = joints - {path}
            part = next(part for part in state.scene.parts if part.path == path)
            centre = to_world(state.poses()[part.node], part.transform[:3, 3])
            state.view.camera = Camera.of(centre, 0.3, state.scene.up)
            window.frames()
            found = view_of(window)
            shown = np.abs(found - nothing).max(-1) > SEEN
            red, green, blue = found[shown].mean(axis=0)
            assert shown.sum() > 200, path
            is_red, is_blue = red > 2 * max(green, blue), blue > 2 * max(red, green)
            is_purple = min(red, blue) > 1.5 * green and not is_blue and not is_red
            assert {"red": is_red, "ultramarine": is_blue, "purple": is_purple}[wanted], (wanted, red, green, blue)


def test_m60_directions_are_drawn_by_n_and_root_closures_hidden_by_their_class(window: Offscreen) -> None:
    before = view_of(window)
    window.key("N")
    assert count(before, view_of(window)) > 20
    window.key("N")
    assert count(before, view_of(window)) == 0
    state = window.state
    root = {path for path in state.mechanism.joints if state.mechanism.class_of(path) == "root closure"}
    state.display.set("root closure", draw="hidden")
    assert root <= snapshot(state).hidden and not (set(state.mechanism.joints) - root) & snapshot(state).hidden


# -- settings and help -------------------------------------------------------------------------------------------------


def test_m52_the_rate_of_the_screen_unless_the_menu_says_else(window: Offscreen) -> None:
    state = window.state
    assert state.panels.rate == 0.0, "the screen's"
    window.click("menu:View")
    box = ui.item_boxes["rate"]
    window.click((box.x + 100, box.y + box.height / 2))
    assert state.panels.rate > 60.0
    state.panels.set_rate(1e6)
    assert state.panels.rate == RATES[1]
    state.panels.set_rate(-1.0)
    assert state.panels.rate == RATES[0] == 0.0


def test_m57_the_menu_sets_the_hue_and_the_pick_is_seen_in_it(window: Offscreen) -> None:
    state = window.state
    window.resize((900, 900))  # the whole menu, without scrolling
    window.frames(2)
    window.click("menu:View")
    box = ui.item_boxes["hue"]
    window.click((box.x + 48, box.y + box.height / 2))
    assert state.selection.hue is not None and 0.2 < state.selection.hue < 0.5
    window.key("Escape")
    state.selection.hue = 1 / 3
    before = view_of(window)
    state.pick_path(CRANK)
    window.frames()
    changed = np.abs(view_of(window) - before).max(-1) > SEEN
    red, green, blue = view_of(window)[changed].mean(axis=0)
    assert green > 1.5 * max(red, blue), "the pick is not green"


@pytest.mark.parametrize("how", ["H", "?"])
def test_m55_h_and_a_question_mark_open_the_help(window: Offscreen, how: str) -> None:
    (window.key if how == "H" else window.type)(how)
    window.frames()
    assert window.state.panels.help_on and "window:Keys and mouse" in ui.item_boxes


def test_m58_classes_are_set_in_the_pane(window: Offscreen) -> None:
    window.state.pick_path(CRANK)
    window.resize((900, 1400))  # room below the plots
    window.frames(2)
    window.click("header:classes")
    window.frames(2)
    window.click("picks:link")
    assert not window.state.display.picks("link")
