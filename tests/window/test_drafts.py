"""Pictures while a hand moves something: drafts where whole ones are slow, whole ones as soon as it rests."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from shiftjax.viewer.gl import adaptive, context
from shiftjax.viewer.gl.adaptive import AdaptiveRenderer
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.state.derived import present
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import RenderSettings, Scene, Snapshot
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.studio import gl, no_errors  # noqa: F401

SIZE = (320, 240)
LOOK = RenderSettings(shadow_pixels=512)
NEVER, ALWAYS = 1e9, 0.0  # s


@pytest.fixture
def state(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=LOOK)


@pytest.fixture
def renderer(gl: context.Context, scene: Scene) -> Iterator[AdaptiveRenderer]:  # noqa: F811
    renderer = AdaptiveRenderer(scene, LOOK)
    yield renderer
    renderer.release()


def moments(state: WindowState, count: int) -> list[Snapshot]:
    """Of a mechanism that moves."""
    first = snapshot(state)
    return [replace(first, poses=first.poses + 1e-3 * k) for k in range(count)]


def seen(renderer: AdaptiveRenderer) -> np.ndarray:
    return renderer.shown.image()


def test_slow_pictures_are_drafts_while_a_hand_moves(
    renderer: AdaptiveRenderer, state: WindowState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "SLOW", ALWAYS)
    camera = state.current_camera()
    at = moments(state, 3)
    renderer.draw(at[0], camera, SIZE, 1.0, moving=True)
    assert renderer.shown is renderer.whole, "how long a whole picture takes is seen by drawing one"
    for moment in at[1:]:
        renderer.draw(moment, camera, SIZE, 1.0, moving=True)
        assert renderer.shown is not renderer.whole
    draft, whole = seen(renderer), renderer.image()
    renderer.draw(at[-1], camera, SIZE, 1.0)
    assert renderer.shown is renderer.whole
    np.testing.assert_array_equal(whole, seen(renderer), "a picture that is saved meanwhile is whole")
    assert not np.array_equal(draft, whole)
    darker = draft.astype(int).sum(-1) - whole.astype(int).sum(-1)
    assert np.median(darker) == 0, "it shows the same but for shadows and edges"
    middle = (SIZE[0] // 2, SIZE[1] // 2)
    renderer.draw(at[0], camera, SIZE, 1.0, moving=True)
    one = renderer.shown.pick(*middle)
    renderer.draw(at[0], camera, SIZE, 1.0)
    assert renderer.shown.pick(*middle).part is one.part


def test_quick_pictures_are_whole(
    renderer: AdaptiveRenderer, state: WindowState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "SLOW", NEVER)
    for moment in moments(state, 3):
        renderer.draw(moment, state.current_camera(), SIZE, 1.0, moving=True)
        assert renderer.shown is renderer.whole


@pytest.mark.parametrize("rest", [NEVER, -1.0])
def test_a_hand_that_rests_gets_the_whole_picture(
    renderer: AdaptiveRenderer, state: WindowState, monkeypatch: pytest.MonkeyPatch, rest: float
) -> None:
    monkeypatch.setattr(adaptive, "SLOW", ALWAYS)
    monkeypatch.setattr(adaptive, "REST", rest)
    at = moments(state, 2)
    for moment in (*at, at[-1]):
        renderer.draw(moment, state.current_camera(), SIZE, 1.0, moving=True)
    assert (renderer.shown is renderer.whole) == (rest < 0.0)


def test_another_scene_is_measured_anew(
    renderer: AdaptiveRenderer, state: WindowState, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "SLOW", ALWAYS)
    at = moments(state, 4)
    for moment in at[:2]:
        renderer.draw(moment, state.current_camera(), SIZE, 1.0, moving=True)
    other = replace(scene, parts=scene.parts[:-1])
    renderer.set_scene(other)
    for moment, whole in zip(at[2:], (True, False), strict=True):
        renderer.draw(moment, state.current_camera(), SIZE, 1.0, moving=True)
        assert renderer.shown.scene is other
        assert (renderer.shown is renderer.whole) == whole


def test_a_drag_of_the_camera_is_seen_in_drafts(
    study: ViewedStudy, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "SLOW", ALWAYS)
    monkeypatch.setattr(adaptive, "REST", NEVER)
    state = WindowState(MemberScenes(study, scene), look=LOOK)
    with Offscreen(state, (900, 600)) as window:
        view = window.screen.layout.view
        at = (view.x + 0.8 * view.width, view.y + 0.2 * view.height)
        before, pictures = window.image(), []
        window.screen.mouse_button("Right", *at, (False, False, False), 0.0, down=True)
        for k in range(1, 4):
            window.move((at[0] + 5 * k, at[1]))
            pictures.append(window.screen._views.renderer.look.shadows)
        window.screen.mouse_button("Right", at[0] + 15, at[1], (False, False, False), 1.0, down=False)
        window.frames()
        assert pictures == [True, False, False]
        assert window.screen._views.renderer.look.shadows
        assert not np.array_equal(before, window.image())


def test_mobilities_wait_for_the_hand(state: WindowState) -> None:
    before = present.mobility(state)
    state.clock.time = float(state.study.time[-1])
    state.panels.by_hand = True
    assert present.mobility(state) is before
    state.panels.by_hand = False
    assert present.mobility(state) is not before
