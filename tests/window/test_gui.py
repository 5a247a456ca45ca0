"""The state of the window: time, members, picking, the camera, what is drawn over the scene. No window, no GL.

M53 (navigation), M54 (modes) and M57 (pick and selection).
"""

import math

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.poses import to_world
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.members import choosing
from shiftjax.viewer.gui.picture.ray_picking import hits_at
from shiftjax.viewer.gui.picture.snapshot import ghosts, snapshot
from shiftjax.viewer.gui.pointer import Modifiers, Pointer, character, key
from shiftjax.viewer.gui.state.clock import FASTEST, SLOWEST
from shiftjax.viewer.gui.state.derived import present
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import COUPLER, CRANK, ROCKER

ROUNDING = 1e-12  # sums and products of a few doubles of order one
CLOSED = 1e-9  # loops are closed to rounding; an angle of a long chain loses a few digits
CTRL: Modifiers = (True, False, False)
SHIFT: Modifiers = (False, False, True)
ALT: Modifiers = (False, True, False)
NONE: Modifiers = (False, False, False)
SIZE = (400, 300)  # of the view in tests without a window


@pytest.fixture
def state(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=FAST)


@pytest.fixture
def workbench(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=FAST, map="workbench")


def pointer_of(state: WindowState) -> Pointer:
    pointer = Pointer(state)
    pointer.size = SIZE
    return pointer


def click(
    pointer: Pointer, x: float, y: float, button: str = "Left", modifiers: Modifiers = NONE, clock: float = 0.0
) -> None:
    pointer.press(button, x, y, modifiers)
    pointer.release(button, x, y, clock)


def drag(pointer: Pointer, right: float, up: float, button: str = "Left", modifiers: Modifiers = NONE) -> None:
    """From the middle of the view, by parts of its height."""
    x, y = SIZE[0] / 2, SIZE[1] / 2
    pointer.press(button, x, y, modifiers)
    pointer.move(x + right * SIZE[1], y - up * SIZE[1])
    pointer.release(button, x + right * SIZE[1], y - up * SIZE[1], 0.0)


def pixel_of(state: WindowState, path: str) -> tuple[float, float]:
    """Where a body is seen with nothing before it: somewhere between its origin and beyond its centre of mass."""
    centre = np.array(dict(state.study.model.bodies())[path].center_of_mass)
    for part in (1.0, 0.7, 1.3, 0.4, 1.6):
        x, y = state.current_camera().pixel(to_world(state.body_poses()[path], part * centre), SIZE)
        if [hit.path for hit in hits_at(state, x, y, SIZE)][:1] == [path]:
            return x, y
    raise AssertionError(f"{path} is hidden")


# -- time --------------------------------------------------------------------------------------------------------------


def test_playing_goes_on_at_its_speed_and_begins_again(state: WindowState) -> None:
    state.advance(0.1)
    assert state.clock.time == 0.0, "time went on though it was paused"
    actions.run(state, "play")
    state.advance(0.1)
    assert state.clock.time == pytest.approx(0.1, abs=ROUNDING)
    actions.run(state, "faster")
    state.advance(0.1)
    assert state.clock.time == pytest.approx(0.3, abs=ROUNDING)
    state.advance(1.15)  # 2.3 s on: four rounds of half a second and 0.6 s in
    assert state.clock.time == pytest.approx(0.1, abs=1e-9) and state.clock.playing


def test_a_movie_that_is_not_looped_stops_at_its_end(state: WindowState) -> None:
    actions.run(state, "loop")
    actions.run(state, "play")
    state.advance(7.0)
    assert state.clock.time == 0.5 and not state.clock.playing
    actions.run(state, "play")
    assert state.clock.time == 0.0 and state.clock.playing, "it did not begin again"


def test_speeds_go_by_two_between_their_bounds(state: WindowState) -> None:
    for name, bound in (("faster", FASTEST), ("slower", SLOWEST)):
        for _ in range(12):
            actions.run(state, name)
        assert state.clock.speed == bound
    actions.run(state, "real_speed")
    assert state.clock.speed == 1.0


def test_single_steps_stop_at_stored_instants(state: WindowState) -> None:
    state.clock.playing, state.clock.time = True, 0.05
    actions.run(state, "step_forward")
    assert state.clock.time == pytest.approx(0.06) and not state.clock.playing
    actions.run(state, "step_forward")
    assert state.clock.time == pytest.approx(0.08)
    state.clock.time = 0.05
    actions.run(state, "step_back")
    assert state.clock.time == pytest.approx(0.04)
    for _ in range(5):
        actions.run(state, "step_back")
    assert state.clock.time == 0.0
    actions.run(state, "to_end")
    actions.run(state, "step_forward")
    assert state.clock.time == 0.5
    state.go_to(99.0)
    assert state.clock.time == 0.5


# -- members -----------------------------------------------------------------------------------------------------------


def test_members_are_chosen_by_text_and_stepped_through(state: WindowState) -> None:
    choosing.choose(state, "2,0")
    assert state.choice.chosen.tolist() == [2, 0] and state.choice.member == 2
    for expected in (0, 2, 0):
        actions.run(state, "next_member")
        assert state.choice.member == expected
    actions.run(state, "previous_member")
    assert state.choice.member == 2


def test_a_wrong_choice_is_told_and_changes_nothing(state: WindowState) -> None:
    choosing.choose(state, "wrst:2")
    assert (
        "wrst" in state.panels.messages[-1] and state.choice.chosen.tolist() == [0, 1, 2] and state.choice.member == 0
    )


def test_ghosts_are_the_other_chosen_members(state: WindowState) -> None:
    assert ghosts(state) is None
    actions.run(state, "ghosts")
    found = ghosts(state)
    assert found is not None and found.poses.shape == (2, 4, 7)
    assert np.array_equal(found.poses[0], state.study.poses(1, 0.0))
    assert (found.colours[:, 3] == 0.3).all()  # 3 / 2 ghosts, at most 0.3
    actions.run(state, "colour_by")
    coloured = ghosts(state)
    assert state.choice.colour_by == next(iter(state.study.metrics)) and coloured is not None
    assert not np.array_equal(coloured.colours[:, :3], found.colours[:, :3])


# -- mode, picking, selecting ------------------------------------------------------------------------------------------


def test_space_toggles_the_mode_and_escape_leaves(workbench: WindowState) -> None:
    assert workbench.selection.mode == "navigate"
    assert key(workbench, "Space", NONE) and workbench.selection.mode == "manipulate"
    assert "cannot be manipulated" in workbench.panels.messages[-1]
    key(workbench, "Space", NONE)
    assert workbench.selection.mode == "navigate"
    key(workbench, "Space", NONE)
    key(workbench, "Escape", NONE)
    assert workbench.selection.mode == "navigate" and not workbench.panels.requests, "Escape asked to close the window"


def test_a_click_picks_and_a_click_into_the_void_drops(workbench: WindowState) -> None:
    pointer = pointer_of(workbench)
    click(pointer, *pixel_of(workbench, ROCKER))
    assert workbench.selection.pick == ROCKER
    assert workbench.selection.mode == "manipulate", "picking a body does not enter manipulation"
    click(pointer, 3, 3)
    assert workbench.selection.pick is None and workbench.selection.mode == "navigate"


def test_escape_leaves_manipulation_first_then_drops_the_pick(workbench: WindowState) -> None:
    click(pointer_of(workbench), *pixel_of(workbench, ROCKER))
    key(workbench, "Escape", NONE)
    assert workbench.selection.mode == "navigate" and workbench.selection.pick == ROCKER
    key(workbench, "Escape", NONE)
    assert workbench.selection.pick is None


def test_selection_is_apart_from_the_pick(workbench: WindowState) -> None:
    pointer = pointer_of(workbench)
    click(pointer, *pixel_of(workbench, ROCKER))
    assert workbench.selection.selected == []
    key(workbench, "S", NONE)
    click(pointer, *pixel_of(workbench, CRANK), modifiers=CTRL, clock=1.0)
    assert workbench.selection.selected == [ROCKER, CRANK] and workbench.selection.pick == ROCKER
    key(workbench, "S", SHIFT)
    assert workbench.selection.selected == [CRANK]
    click(pointer, *pixel_of(workbench, CRANK), modifiers=CTRL, clock=2.0)
    assert workbench.selection.selected == []
    workbench.selection.select(CRANK, on=True)
    key(workbench, "Escape", CTRL)
    assert workbench.selection.selected == [CRANK], "cleared while manipulating"
    key(workbench, "Escape", NONE)
    key(workbench, "Escape", CTRL)
    assert workbench.selection.selected == []


def test_things_behind_one_another_are_stepped_through_and_what_hides_them_fades(workbench: WindowState) -> None:
    workbench.display.set("frame", draw="visible")
    x, y = workbench.current_camera().pixel(workbench.body_poses()[CRANK][:3], SIZE)
    behind = [hit.path for hit in hits_at(workbench, x, y, SIZE)]
    assert len(behind) >= 2 and len(behind) == len(set(behind))
    pointer = pointer_of(workbench)
    click(pointer, x, y)
    assert workbench.selection.pick == behind[0]
    key(workbench, "PageUp", NONE)
    assert workbench.selection.pick == behind[1] and workbench.selection.faded == {behind[0]}
    assert snapshot(workbench).opacity[str(behind[0])] < 0.5
    key(workbench, "PageDown", NONE)
    assert workbench.selection.pick == behind[0] and not workbench.selection.faded
    click(pointer, x, y, "Right", clock=3.0)
    assert workbench.selection.pick == behind[1]


def test_playback_picks_by_a_double_click_only(state: WindowState) -> None:
    pointer, (x, y) = pointer_of(state), pixel_of(state, ROCKER)
    click(pointer, x, y, clock=0.0)
    click(pointer, x, y, clock=1.0)  # too late to be the second one
    assert state.selection.pick is None
    click(pointer, x, y, clock=1.2)
    assert state.selection.pick == ROCKER and state.selection.mode == "navigate"


def test_parents_of_what_is_picked(state: WindowState) -> None:
    state.pick_path(f"{COUPLER}:tip")
    actions.run(state, "pick_parent")
    assert state.selection.pick == COUPLER
    state.pick_path("four_bar:crank_pin")
    actions.run(state, "pick_parent")
    assert state.selection.pick == CRANK


def test_hiding_isolating_and_seeing_through(state: WindowState) -> None:
    state.pick_path(CRANK)
    actions.run(state, "isolate")
    hidden = snapshot(state).hidden
    assert {COUPLER, ROCKER} <= hidden and CRANK not in hidden
    own = {path for path, joint in state.mechanism.joints.items() if CRANK in (joint.parent.body, joint.child.body)}
    assert len(own) == 2 and not own & hidden and set(state.mechanism.joints) - own <= hidden, "its joints come along"
    actions.run(state, "show_all")
    actions.run(state, "hide")
    assert CRANK in snapshot(state).hidden
    actions.run(state, "show_all")
    actions.run(state, "translucent")
    assert state.selection.pick == CRANK and snapshot(state).opacity[CRANK] < 0.5, "at once, while it is picked"
    state.pick_path(None)
    assert snapshot(state).opacity[CRANK] < 0.5


def test_classes_inherit_and_hidden_ones_are_not_picked(state: WindowState) -> None:
    display = state.display
    display.set("entity", draw="translucent")
    assert display.drawn("closure joint") == "translucent" and display.drawn("frame") == "hidden"
    display.set("joint", draw="hidden")
    hidden = snapshot(state).hidden
    assert set(state.mechanism.joints) <= hidden and not display.pickable("tree joint")
    display.set("closure joint", draw="visible")
    assert state.mechanism.closures and not state.mechanism.closures & snapshot(state).hidden
    display.inherit("closure joint")
    assert display.drawn("closure joint") == "hidden"
    assert "closure joint" in display.dump() and "(hidden)" in display.dump()
    with pytest.raises(ModelError, match="display class"):
        display.set("wheel", draw="hidden")
    with pytest.raises(ModelError, match="drawing of joint"):
        display.set("joint", draw="green")


def test_the_hue_of_the_highlight_can_be_chosen(state: WindowState) -> None:
    state.pick_path(CRANK)
    assert snapshot(state).highlighted == {CRANK}
    state.selection.hue = 0.0
    drawn = snapshot(state)
    assert drawn.highlighted == {CRANK} and drawn.outline[0] > 0.9 > 0.3 > drawn.outline[1]
    assert CRANK not in drawn.colours, "its own colour stays"


# -- camera ------------------------------------------------------------------------------------------------------------


def test_drags_turn_shift_and_zoom(state: WindowState) -> None:
    pointer, before = pointer_of(state), state.view.camera
    drag(pointer, 0.25, 0.0)
    assert state.view.camera.azimuth == pytest.approx(before.azimuth - math.pi / 4)
    assert state.view.camera.target == before.target
    state.view.camera = before
    drag(pointer, 0.0, 0.2, "Right")
    moved = np.array(state.view.camera.target) - before.target
    assert moved @ before.axes()[1] < 0 and abs(moved @ before.axes()[0]) < ROUNDING, "the scene follows the hand"
    state.view.camera = before
    drag(pointer, 0.0, 0.2, "Middle")
    assert state.view.camera.distance < before.distance
    state.view.camera = before
    pointer.wheel(-1.0, NONE)
    assert state.view.camera.distance > before.distance


def test_modifiers_stand_in_for_missing_buttons(workbench: WindowState) -> None:
    pointer, before = pointer_of(workbench), workbench.view.camera
    drag(pointer, 0.1, 0.0, "Right")
    shifted, workbench.view.camera = workbench.view.camera, before
    drag(pointer, 0.1, 0.0, modifiers=CTRL)
    assert workbench.view.camera == shifted != before
    workbench.view.camera = before
    drag(pointer, 0.0, 0.1, "Middle")
    nearer, workbench.view.camera = workbench.view.camera, before
    drag(pointer, 0.0, 0.1, modifiers=SHIFT)
    assert workbench.view.camera == nearer != before


def test_alt_turns_about_the_line_of_sight(workbench: WindowState) -> None:
    before = workbench.view.camera
    drag(pointer_of(workbench), 0.3, 0.0, modifiers=ALT)
    after = workbench.view.camera
    assert np.allclose(after.eye, before.eye, atol=1e-9) and after.target == before.target
    assert math.acos(after.axes()[0] @ before.axes()[0]) == pytest.approx(0.3 * math.pi)
    actions.run(workbench, "front")
    assert workbench.view.camera.up == workbench.scene.up


def test_arrow_keys_of_the_workbench(workbench: WindowState) -> None:
    before = workbench.view.camera
    key(workbench, "Left", NONE)
    assert workbench.view.camera.azimuth > before.azimuth
    key(workbench, "Right", NONE)
    assert workbench.view.camera.azimuth == pytest.approx(before.azimuth)
    key(workbench, "Up", CTRL)
    assert workbench.view.camera.target != before.target
    key(workbench, "Up", SHIFT)
    assert workbench.view.camera.distance < before.distance
    key(workbench, "Left", ALT)
    assert workbench.view.camera.up != before.up


def test_following_a_body_keeps_it_in_the_middle(state: WindowState) -> None:
    state.pick_path(COUPLER)
    actions.run(state, "follow_pick")
    assert state.view.followed is not None
    still = state.current_camera()
    for time in (0.0, 0.3):
        state.go_to(time)
        middle = state.view.followed.centre(state.poses())
        assert np.allclose(
            state.current_camera().pixel(middle, SIZE), ((SIZE[0] - 1) / 2, (SIZE[1] - 1) / 2), atol=1e-6
        )
    assert state.current_camera() != still
    there = state.current_camera()
    actions.run(state, "follow_pick")
    assert state.view.followed is None and state.view.camera == there, "the camera jumped"


def test_a_double_click_with_the_right_button_looks_at_the_point(state: WindowState) -> None:
    pointer, (x, y) = pointer_of(state), pixel_of(state, ROCKER)
    for clock in (0.0, 0.1):
        click(pointer, x, y, "Right", clock=clock)
    assert np.linalg.norm(np.array(state.view.camera.target) - state.view.camera.eye) == pytest.approx(
        state.view.camera.distance
    )
    assert state.view.camera.pixel(np.array(state.view.camera.target), SIZE) == pytest.approx((199.5, 149.5))
    assert hits_at(state, 199.5, 149.5, SIZE)[0].path == ROCKER


def test_kept_cameras_and_cameras_as_code(state: WindowState) -> None:
    actions.run(state, "top")
    actions.run(state, "keep_camera")
    kept = state.view.camera
    actions.run(state, "front")
    actions.run(state, "kept_camera")
    assert state.view.camera == kept
    actions.run(state, "copy_camera")
    assert state.panels.requests[-1].startswith("copy:Camera(target=(")


def test_only_added_shapes_are_removed(workbench: WindowState) -> None:
    workbench.pick_path(COUPLER)
    assert key(workbench, "Delete", NONE) and "shapes" in workbench.panels.messages[-1]
    assert key(workbench, "G", NONE) and "--pose" in workbench.panels.messages[-1]  # a stored study is no workbench
    assert not character(workbench, "g"), "letters come as keys"


def test_escape_closes_windows_first(state: WindowState) -> None:
    state.pick_path(COUPLER)
    for name in ("help", "dump_keys", "info"):
        actions.run(state, name)
    for expected in ((True, True, False), (True, False, False), (False, False, False)):
        key(state, "Escape", NONE)
        assert (state.panels.help_on, bool(state.panels.text), state.panels.info_on) == expected
        assert state.selection.pick == COUPLER
    key(state, "Escape", NONE)
    assert state.selection.pick is None


def test_a_message_goes_when_its_problem_is_solved(state: WindowState) -> None:
    choosing.choose(state, "wrst:2")
    assert "wrst" in state.panels.message
    actions.run(state, "keep_camera")
    assert state.panels.message == "camera kept"
    choosing.choose(state, "all")
    assert state.panels.message == "camera kept", "another message went"
    choosing.choose(state, "wrst:2")
    choosing.choose(state, "all")
    assert state.panels.message == "" and any("wrst" in text for text in state.panels.messages)


# -- overlays and values -----------------------------------------------------------------------------------------------


def test_the_trace_of_a_point_passes_through_it(state: WindowState) -> None:
    recorded = state.study.channel("four_bar:coupler:tip.position", 0)
    state.view.trace = (state.node[COUPLER], np.array([0.45, 0.0, 0.0]))  # the tip of member 0
    strokes = snapshot(state).strokes
    assert strokes is not None
    assert np.allclose(strokes.ends[:, 0], recorded[:-1], atol=CLOSED)
    assert np.allclose(strokes.ends[:, 1], recorded[1:], atol=CLOSED)


def test_arrows_of_joints_are_off_until_asked_for(workbench: WindowState) -> None:
    assert snapshot(workbench).strokes is None
    key(workbench, "N", NONE)
    strokes = snapshot(workbench).strokes
    assert strokes is not None and len(strokes.ends) == 3 * 4  # a shaft and two barbs for each of four hinges


def test_values_of_joints_are_those_that_were_recorded(state: WindowState) -> None:
    for path in ("four_bar:rocker_pivot", "four_bar:crank_pin"):
        channel = "rocker_pivot.q" if path.endswith("rocker_pivot") else f"{path}.q"
        for k, t in enumerate(state.study.time):
            state.clock.time = float(t)
            off = present.joint_value(state, path)[0] - state.study.channel(channel, 0)[k]
            assert abs(math.remainder(off, 2 * math.pi)) < CLOSED


def test_mobility_adds_up_to_the_degrees_of_freedom(state: WindowState) -> None:
    assert sum(present.mobility(state).values()) == pytest.approx(state.study.report["dof"])
    assert min(present.mobility(state).values()) > 0


# -- between stored instants -------------------------------------------------------------------------------------------


def test_instants_only_or_poses_between_them(state: WindowState) -> None:
    time = state.study.time
    state.go_to(float(time[7] + 0.3 * (time[8] - time[7])))
    moved = state.poses()
    assert not state.snapped() and not np.array_equal(moved, state.study.track(state.choice.member)[7])
    actions.run(state, "instants")
    try:
        assert state.snapped()
        np.testing.assert_array_equal(state.poses(), state.study.track(state.choice.member)[7])
    finally:
        actions.run(state, "instants")
    np.testing.assert_array_equal(state.poses(), moved)
    assert sum(present.mobility(state).values()) == pytest.approx(1.0, abs=CLOSED)
