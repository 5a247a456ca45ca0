"""What the window draws about a mechanism, pixel by pixel: display classes in every mode, colours by topology.

M58 (visible, hidden, translucent), M60 (colours of joints) and the colours of issue 4.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from shiftjax.viewer.gl import context
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.gl.still import StillRenderer
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes import tooltips
from shiftjax.viewer.gui.picture.ray_picking import hits_at
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.state import values
from shiftjax.viewer.gui.state.display import PARENT
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Scene, Snapshot
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import COUPLER, CRANK, ROCKER
from tests.scenes.studio import PLAIN, gl, no_errors  # noqa: F401

SIZE = (320, 240)
CLOSED = 1e-6  # m: a loop that is closed; members differ by 0.05 m
SEEN = 8  # of 255: a pixel that differs by more shows something else
PARTS = ("link", "ground", "tree joint", "closure joint", "frame", "centre")  # classes that are parts of the scene
Shoot = Callable[[Snapshot], np.ndarray]


@pytest.fixture
def state(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=PLAIN)


@pytest.fixture
def shoot(
    gl: context.Context,  # noqa: F811
    scene: Scene,
    state: WindowState,
) -> Iterator[Shoot]:
    """Pictures of moments from where the state looks."""
    renderer = Renderer(scene, PLAIN, SIZE)

    def take(snapshot: Snapshot) -> np.ndarray:
        renderer.draw(snapshot, state.current_camera())
        return renderer.image().astype(int)

    yield take
    renderer.release()


def differs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(h, w) whether a pixel shows something else."""
    return np.abs(one - other).max(-1) > SEEN


def alone(state: WindowState, name: str, mode: str) -> Snapshot:
    """A snapshot in which only one class is drawn."""
    for other in PARTS:
        state.display.set(other, draw="hidden")
    state.display.set(name, draw=mode)
    return snapshot(state)


# -- display classes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARTS)
def test_m58_every_class_is_visible_hidden_or_seen_through(state: WindowState, shoot: Shoot, name: str) -> None:
    nothing, visible, translucent = (shoot(alone(state, name, mode)) for mode in ("hidden", "visible", "translucent"))
    assert not nothing.std(axis=(0, 1)).any(), "something of another class is drawn"
    shown = differs(visible, nothing)
    assert shown.sum() > 20
    faint = np.abs(translucent - nothing).sum(-1)[shown].mean()
    full = np.abs(visible - nothing).sum(-1)[shown].mean()
    assert 0.05 * full < faint < 0.8 * full, "a translucent thing is neither solid nor away"


@pytest.mark.parametrize("name", PARTS)
def test_m58_what_is_translucent_is_picked_and_what_is_hidden_is_not(
    state: WindowState, shoot: Shoot, name: str
) -> None:
    visible, nothing = shoot(alone(state, name, "visible")), shoot(alone(state, name, "hidden"))
    rows, columns = np.nonzero(differs(visible, nothing))
    pixels = [(float(columns[k]), float(rows[k])) for k in range(0, len(rows), max(1, len(rows) // 12))]

    def found() -> int:
        return sum(bool(hits_at(state, x, y, SIZE)) for x, y in pixels)

    assert found() == 0
    for mode in ("visible", "translucent"):
        state.display.set(name, draw=mode)
        assert found() > len(pixels) / 2, mode  # the others lie on edges
    state.display.set(name, pick=False)
    assert found() == 0


def test_m58_translucent_frames_and_ground_are_fainter_in_the_whole_picture(state: WindowState, shoot: Shoot) -> None:
    state.display.set("frame", draw="visible")
    whole = shoot(snapshot(state))
    for name in ("frame", "ground"):
        state.display.set(name, draw="translucent")
        assert differs(whole, shoot(snapshot(state))).sum() > 20, name
        state.display.set(name, draw="visible")


def test_m58_settings_are_inherited_and_told(state: WindowState) -> None:
    display = state.display
    display.set("entity", draw="translucent")
    told = display.dump().splitlines()
    assert [line.split("  ")[0] for line in told if line[0] != " "] == ["entity"] and len(told) == len(PARENT)
    assert all(display.drawn(name) == "translucent" for name in ("link", "ground", "root closure", "shape"))
    display.set("widget", pick=True)
    assert display.pickable("shape") and not display.pickable("route"), "a hidden class is not picked"
    display.inherit("widget")
    assert display.drawn("shape") == "translucent"


def test_m58_a_picked_thing_is_drawn_as_its_class(state: WindowState, shoot: Shoot) -> None:
    """Translucent, or not at all; its outline says that it is picked."""
    state.pick_path(CRANK)
    state.display.set("link", draw="translucent")
    drawn = snapshot(state)
    assert drawn.opacity["kind:body"] < 0.5 and CRANK not in drawn.opacity and drawn.highlighted == {CRANK}
    state.selection.take(None)
    assert differs(shoot(drawn), shoot(snapshot(state))).sum() > 50, "an outline"
    state.display.set("link", draw="hidden")
    state.pick_path(CRANK)
    hidden = shoot(snapshot(state))
    state.selection.take(None)
    assert np.array_equal(hidden, shoot(snapshot(state))), "nothing of what is hidden"


def test_what_is_under_the_cursor_has_a_thin_outline(study: ViewedStudy, scene: Scene) -> None:
    with Offscreen(WindowState(MemberScenes(study, scene), look=PLAIN), (700, 420)) as window:
        state, box = window.state, window.screen.layout.view
        size = (round(box.width), round(box.height))
        plain = window.screen.view_image().astype(int)
        x, y = state.current_camera().pixel(state.body_poses()[COUPLER][:3], size)
        path = hits_at(state, x, y, size)[0].path
        window.move((box.x + x, box.y + y))
        window.frames()
        assert state.selection.hovered.path == path and snapshot(state).hovered == {path}
        hovered = differs(plain, window.screen.view_image().astype(int)).sum()
        state.pick_path(path)
        assert not snapshot(state).hovered, "what is picked has its own outline"
        window.frames()
        assert 0 < hovered < 0.8 * differs(plain, window.screen.view_image().astype(int)).sum()
        state.pick_path(None)
        window.move((5.0, 5.0))
        window.frames()
        assert state.selection.hovered.path is None and np.array_equal(plain, window.screen.view_image())


def test_a_ghost_tells_its_numbers_and_is_shown_by_a_click(study: ViewedStudy, scene: Scene) -> None:
    with Offscreen(
        WindowState(MemberScenes(study, scene), ghosts=(1,), look=PLAIN, map="workbench"), (700, 420)
    ) as window:
        state = window.state
        found = ghost_pixel(window, 1)
        assert found is not None
        window.move(found)
        window.frames()
        assert state.selection.hovered.member == 1 and snapshot(state).hovered_ghost == 0
        said = tooltips.lines(state)
        assert said[0].endswith("member 1") and any("=" in line for line in said[1:])
        assert "tooltip" in ui.item_boxes
        state.pick_path(CRANK)
        window.click(found)
        assert state.choice.member == 1 and state.selection.pick == CRANK, "the pick stays"


def ghost_pixel(window: Offscreen, member: int) -> tuple[float, float] | None:
    """A point of the window where the ghost of a member is seen and nothing else."""
    box, pick = window.screen.layout.view, window.screen._hit
    places = [(x, y) for y in range(4, round(box.height), 6) for x in range(4, round(box.width), 6)]
    found = next(((x, y) for x, y in places if pick(x, y).member == member), None)
    return None if found is None else (box.x + found[0], box.y + found[1])


def test_m58_a_click_passes_through_what_cannot_be_picked(study: ViewedStudy, scene: Scene) -> None:
    """Frames lie before and within the bars: a class that is not pickable must not shield those behind it."""
    with Offscreen(WindowState(MemberScenes(study, scene), look=PLAIN, map="workbench"), (700, 420)) as window:
        state, box = window.state, window.screen.layout.view
        size = (round(box.width), round(box.height))
        x, y = state.current_camera().pixel(state.body_poses()[CRANK][:3], size)
        front, behind = (hit.path for hit in hits_at(state, x, y, size)[:2])
        state.display.set("joint" if front in state.mechanism.joints else "link", pick=False)
        window.click((box.x + x, box.y + y))
        assert state.selection.pick == behind


def test_values_are_those_of_the_members_own_numbers(state: WindowState) -> None:
    """The couplers of the members differ in length; their joints must close on each of them."""
    for member in (0, 1, 2):
        state.show_member(member)
        joint = state.mechanism.joints["four_bar:rocker_pin"]
        ends = [
            values.frame_in_world(state.mechanism, ref, state.body_poses())[:3, 3]
            for ref in (joint.parent, joint.child)
        ]
        assert np.linalg.norm(ends[0] - ends[1]) < CLOSED


def test_s32_the_eyes_of_joints_and_frames_hide_them(study: ViewedStudy, scene: Scene) -> None:
    with Offscreen(WindowState(MemberScenes(study, scene), look=PLAIN), (900, 700)) as window:
        state = window.state
        state.display.set("frame", draw="visible")
        state.panels.opened |= {row.key for row in state.rows}
        for row in (f"{ROCKER}:tip", "four_bar:crank_pin", COUPLER):
            state.panels.search = row.rpartition(":")[2]
            window.frames(2)
            before = window.screen.view_image().astype(int)
            window.click(f"eye:{row}")
            assert state.selection.hidden == {row}
            assert differs(before, window.screen.view_image().astype(int)).sum() > 5
            window.click(f"eye:{row}")
            assert not state.selection.hidden


# -- frames in which nothing moves -------------------------------------------------------------------------------------


def test_a_moment_that_the_view_shows_is_not_drawn_again(
    study: ViewedStudy, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever changes it has it drawn: time, a class, the camera, the size of the view."""
    calls, draw = list[Snapshot](), Renderer.draw

    def counted(renderer: Renderer, moment: Snapshot, camera: Camera) -> None:
        calls.append(moment)
        draw(renderer, moment, camera)

    monkeypatch.setattr(Renderer, "draw", counted)
    with Offscreen(WindowState(MemberScenes(study, scene), look=PLAIN), (700, 420)) as window:
        state = window.state

        def drawn(change: Callable[[], object]) -> int:
            change()
            window.frames(2)
            before = len(calls)
            window.frames(3)
            assert len(calls) == before, "nothing moves"
            calls.clear()
            return before

        assert drawn(lambda: None)
        first = window.image()
        assert drawn(lambda: setattr(state.clock, "time", float(study.time[-1])))
        assert not np.array_equal(window.image(), first)
        assert drawn(lambda: state.display.set("link", draw="translucent"))
        assert drawn(lambda: state.view.turn(state.current_camera().seen_from("top")))
        assert drawn(lambda: window.resize((640, 400)))


def test_a_moment_whose_poses_are_written_to_is_another(
    gl: context.Context,  # noqa: F811
    scene: Scene,
    state: WindowState,
) -> None:
    renderer, moment = StillRenderer(scene, PLAIN, SIZE), snapshot(state)
    moment = replace(moment, poses=moment.poses.copy())
    pictures = []
    for _ in range(2):
        renderer.draw(moment, state.current_camera())
        pictures.append(renderer.image().astype(int))
        moment.poses[1:, :3] += 0.2  # m
    renderer.release()
    assert differs(*pictures).any()
