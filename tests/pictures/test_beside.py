"""Two designs side by side: one time, one camera or two, captions that tell them apart, picking in either half."""

from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax import simulate
from shiftjax.poses import to_world
from shiftjax.viewer import side_by_side
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import choosing
from shiftjax.viewer.gui.actions.members.beside import captions, choose, open_beside, show
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.motion import reach
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study import design_views
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import COUPLER, ROCKER

CTRL: Modifiers = (True, False, False)
SHIFT: Modifiers = (False, False, True)
SIZE = (1252, 460)  # an even view, so that its halves are equally wide
THICK = 0.06  # m: from the middle of a bar to its surface, and a pixel of these views
ROUNDING = 1e-12  # sums and products of a few doubles of order one


@pytest.fixture(scope="module")
def longer() -> ViewedStudy:
    """A pendulum that swings for a second, twice as long as the bars."""
    return ViewedStudy.of(simulate("pendulum", span=1.0, step=1e-3, output_step=0.05, keep=1))


@pytest.fixture
def state(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=FAST)


@pytest.fixture
def window(state: WindowState) -> Iterator[Offscreen]:
    with Offscreen(state, SIZE) as screen:
        screen.key("B")
        yield screen


def right_of(state: WindowState) -> RightHalf:
    assert state.beside is not None
    return state.beside


def parts_of(window: Offscreen) -> tuple[np.ndarray, np.ndarray]:
    """The two halves of the view below their captions."""
    image = window.screen.view_image().astype(int)[80:]
    wide = (image.shape[1] - side_by_side.BAR) // 2
    return image[:, :wide], image[:, wide + side_by_side.BAR :]


def seen_at(window: Offscreen, name: str, path: str) -> tuple[float, float]:
    """A point of the window where the middle of a body is seen in a half."""
    state, box = window.state, ui.item_boxes[f"half:{name}"]
    right = None if name == "left" else right_of(state)
    study = (right or state).study
    centre = np.array(dict(study.model.bodies())[path].center_of_mass)
    point = to_world(state.poses(right)[study.nodes.index(path)], centre)
    x, y = state.current_camera(right).pixel(point, (round(box.width), round(box.height)))
    return box.x + x, box.y + y


# -- without a window --------------------------------------------------------------------------------------------------


def test_the_next_chosen_member_comes_beside_and_goes(state: WindowState) -> None:
    choosing.choose(state, "2,0")
    actions.run(state, "beside")
    assert state.choice.member == 2 and right_of(state).member == 0
    actions.run(state, "exchange")
    assert state.choice.member == 0 and right_of(state).member == 2
    actions.run(state, "beside")
    assert state.beside is None
    choosing.choose(state, "1")
    actions.run(state, "beside")
    assert state.beside is None and "one member is chosen" in state.panels.messages[-1]


def test_captions_tell_what_differs(state: WindowState) -> None:
    actions.run(state, "beside")
    state.choice.colour_by = "gap"
    left, right = captions(state, right_of(state))
    assert left[:2] == ["bars.zarr: four_bar, member 0", f"{COUPLER}:tip.T[0] = 0.45 m"]
    assert right[:2] == ["bars.zarr: four_bar, member 1", f"{COUPLER}:tip.T[0] = 0.5 m"]
    assert left[2].startswith("gap = ") and len(left) == 3
    show(state, right_of(state), 0)
    assert captions(state, right_of(state))[1][0].endswith("member 0")
    assert not any("tip" in line for line in captions(state, right_of(state))[1]), "equal numbers are told"


def test_another_study_stands_still_beyond_its_own_run(state: WindowState, longer: ViewedStudy) -> None:
    """The time line holds both runs; each design waits at its end for the other."""
    open_beside(state, Design(MemberScenes(longer), 0))
    right = right_of(state)
    assert state.span == (0.0, 1.0)
    state.go_to(0.3)
    assert not any("still" in line for lines in captions(state, right) for line in lines)
    state.go_to(0.8)
    assert "stands still, its run ended at 0.5 s" in captions(state, right)[0]
    assert not any("still" in line for line in captions(state, right)[1])
    assert np.array_equal(state.poses(), state.study.poses(0, 0.5))
    assert not np.array_equal(state.poses(right), longer.poses(0, 0.5))
    actions.run(state, "step_forward")
    assert state.clock.time == pytest.approx(0.85)
    actions.run(state, "exchange")
    assert "one study" in state.panels.messages[-1]
    actions.run(state, "beside")
    assert state.clock.time == 0.5, "the time is beyond the only study"


def test_designs_wait_for_a_run_that_begins_later(study: ViewedStudy, scene: Scene) -> None:
    assert design_views.rest_note(Design(MemberScenes(study, scene), 0), -1.0) == "stands still, its run begins at 0 s"


def test_one_camera_sees_both_motions(state: WindowState, longer: ViewedStudy) -> None:
    """The camera shows every point that either design reaches."""
    right = Design(MemberScenes(longer), 0)
    open_beside(state, right)
    camera = state.view.camera
    for item in (Design(state.scenes, 0), right):
        points = reach.extent_of_motion(item.study, item.scene, [item.member]).points
        clip = np.column_stack([points, np.ones(len(points))]) @ (camera.projection(1.0) @ camera.view()).T
        assert (np.abs(clip[:, :2] / clip[:, 3:]) <= 1.0).all()
    assert state.current_camera(right_of(state)) == camera


def test_members_at_the_right_are_chosen_by_text(state: WindowState) -> None:
    actions.run(state, "beside")
    choose(state, right_of(state), "worst:1:gap")
    assert right_of(state).member == state.study.choose("worst:1:gap")[0] and state.choice.member == 0
    before = right_of(state).member
    for wrong in ("9", "gap > 1e9"):
        choose(state, right_of(state), wrong)
        assert right_of(state).member == before
    assert "9" in state.panels.messages[0] and "gap > 1e9" in state.panels.messages[1]


def test_ghosts_of_the_right_half_hold_the_left_member(state: WindowState) -> None:
    actions.run(state, "beside")
    actions.run(state, "ghosts")
    found = snapshot(state, right_of(state)).ghosts
    assert found is not None and np.array_equal(found.poses[0], state.poses())
    assert np.array_equal(found.poses[1], state.study.poses(2, 0.0))


def test_the_trace_of_a_point_is_drawn_for_both(state: WindowState) -> None:
    actions.run(state, "beside")
    state.pick_path(COUPLER)
    actions.run(state, "trace")
    strokes = snapshot(state, right_of(state)).strokes
    assert strokes is not None
    assert np.allclose(strokes.ends[0, 0], state.study.poses(1, 0.0)[state.node[COUPLER], :3], atol=ROUNDING)


# -- in a window -------------------------------------------------------------------------------------------------------


def test_each_half_shows_its_own_member(window: Offscreen) -> None:
    left, right = parts_of(window)
    assert left.shape == right.shape and (left != right).any()
    window.key("B", SHIFT)
    after_left, after_right = parts_of(window)
    assert np.array_equal(left, after_right) and np.array_equal(right, after_left)
    window.state.go_to(0.3)
    window.frames()
    moved = parts_of(window)
    assert (moved[0] != after_left).any() and (moved[1] != after_right).any()
    window.key("B")
    assert window.screen.view_image().shape[1] == round(window.screen.layout.view.width)


def test_a_click_at_the_right_picks_there(window: Offscreen) -> None:
    window.click(seen_at(window, "right", ROCKER), times=2)
    state = window.state
    assert state.selection.pick == ROCKER and state.selection.pick_point is not None
    middle = np.array(dict(state.study.model.bodies())[ROCKER].center_of_mass)
    assert np.linalg.norm(state.selection.pick_point - middle) < THICK, "not where the right rocker was hit"
    assert snapshot(state, right_of(state)).highlighted == snapshot(state).highlighted == {ROCKER}
    window.click(seen_at(window, "left", COUPLER), times=2)
    assert state.selection.pick == COUPLER


def test_a_camera_of_its_own(window: Offscreen) -> None:
    state, right = window.state, right_of(window.state)
    box = ui.item_boxes["half:right"]
    middle = (box.x + box.width / 2, box.y + box.height / 2)
    before = state.view.camera
    window.drag(middle, (middle[0] + 40, middle[1]))
    assert state.view.camera != before and state.current_camera(right) == state.view.camera, "one camera for both"
    window.key("B", CTRL)
    left = state.view.camera
    window.drag(middle, (middle[0] + 40, middle[1]))
    assert state.view.camera == left != state.current_camera(right)
    window.key("5")
    assert state.current_camera(right).elevation > 1.5 and state.view.camera == left
    window.move(seen_at(window, "left", COUPLER))
    own = state.current_camera(right)
    window.wheel(2, seen_at(window, "left", COUPLER))
    assert state.current_camera(right) == own and state.view.camera.distance < left.distance
    window.move(middle)
    window.key("B", CTRL)
    assert right.camera is None and state.current_camera(right) == state.view.camera


def test_the_box_of_the_right_member(window: Offscreen) -> None:
    window.click("beside_member")
    window.type("2")
    window.key("Enter")
    assert right_of(window.state).member == 2 and window.state.choice.member == 0
    window.click("beside")
    assert window.state.beside is None and "half:left" not in ui.item_boxes


def test_another_study_in_the_window(window: Offscreen, longer: ViewedStudy) -> None:
    """Halves of different scenes; what only the right one has can be picked and has no numbers at the left."""
    state = window.state
    open_beside(state, Design(MemberScenes(longer), 0))
    window.frames(2)
    body = longer.nodes[1]
    window.click(seen_at(window, "right", body), times=2)
    assert state.selection.pick == body
    window.frames(2)
    state.go_to(0.7)
    window.frames()
    early = parts_of(window)
    state.go_to(0.9)
    window.frames()
    late = parts_of(window)
    assert np.array_equal(early[0], late[0]) and (early[1] != late[1]).any()
