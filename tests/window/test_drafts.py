"""Pictures while a hand moves something: drafts where whole ones are slow, smaller ones where those are, too, and whole
ones as soon as it rests (M52)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from shiftjax.viewer.gl import adaptive, context
from shiftjax.viewer.gl.adaptive import SHARES, AdaptiveRenderer, DraftSize
from shiftjax.viewer.gl.framebuffer import Picture
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.state.derived import present
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import RenderSettings, Scene, Snapshot
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.studio import gl, no_errors  # noqa: F401

SIZE = (320, 240)
PIXELS = ((183, 68), (249, 120), (3, 5))  # of the coupler, of the rocker, of neither
LOOK = RenderSettings(shadow_pixels=512)
NEVER, ALWAYS = 1e9, 0.0  # s
BETWEEN = 3.0  # of 255, by which a picture of a quarter of the pixels differs from one of all, on the mean: at edges
NEAR = 1e-5  # of the model's size: a point under the cursor by either picture, from depths of 24 bits


@pytest.fixture(autouse=True)
def _in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine drafts are as large as on a quiet one."""
    monkeypatch.setattr(adaptive, "IN_TIME", NEVER)


@pytest.fixture
def state(study: ViewedStudy, scene: Scene) -> WindowState:
    return WindowState(MemberScenes(study, scene), look=LOOK)


@pytest.fixture
def look() -> RenderSettings:
    return LOOK


@pytest.fixture
def renderer(gl: context.Context, scene: Scene, look: RenderSettings) -> Iterator[AdaptiveRenderer]:  # noqa: F811
    renderer = AdaptiveRenderer(scene, look)
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


@pytest.mark.parametrize("look", [replace(LOOK, grid=False)])
def test_slow_drafts_are_drawn_smaller_and_shown_as_large(
    renderer: AdaptiveRenderer, state: WindowState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They fill the view, show the same and are picked in by the same pixels; what is saved meanwhile is whole."""
    camera, at = state.current_camera(), moments(state, 5)
    for name, seconds in (("SLOW", ALWAYS), ("REST", NEVER), ("TRIES", 1)):
        monkeypatch.setattr(adaptive, name, seconds)
    for moment in at[:2]:
        renderer.draw(moment, camera, SIZE, 1.0, moving=True)
    assert renderer.shown.size == SIZE, "drafts that come in time"
    monkeypatch.setattr(adaptive, "IN_TIME", ALWAYS)
    renderer.draw(at[2], camera, (SIZE[0] + 2, SIZE[1]), 1.0, moving=True)  # of another size, measured anew
    sizes = []
    for moment in (*at[2:], at[-1]):
        renderer.draw(moment, camera, SIZE, 1.0, moving=True)
        sizes.append(renderer.shown.size)
    assert sizes == [SIZE] + [(round(SIZE[0] * share), round(SIZE[1] * share)) for share in SHARES]
    shown, small = window_of(renderer), [renderer.pick(*pixel) for pixel in PIXELS]
    whole = renderer.image()
    renderer.draw(at[-1], camera, SIZE, 1.0)
    np.testing.assert_array_equal(whole, seen(renderer))
    large = [renderer.pick(*pixel) for pixel in PIXELS]
    away = np.abs(shown.astype(int) - draft_of_all_pixels(renderer, at[-1], state)).mean()
    assert 0.0 < away < BETWEEN
    assert [pick.part is None for pick in small] == [False, False, True]
    for one, other in zip(small, large, strict=True):
        assert one.part is other.part
        if one.point is not None and other.point is not None:
            assert np.linalg.norm(one.point - other.point) < NEAR * state.scene.size


def window_of(renderer: AdaptiveRenderer) -> np.ndarray:
    """What a window has where the renderer draws into it."""
    window = Picture(SIZE, 1)
    renderer.copy_to(window._resolved, 0, 0)
    image = window.read()
    window.release()
    return image


def draft_of_all_pixels(renderer: AdaptiveRenderer, moment: Snapshot, state: WindowState) -> np.ndarray:
    draft = Renderer(state.scene, renderer._draft_look, SIZE)
    draft.draw(moment, state.current_camera())
    image = draft.image()
    draft.release()
    return image


def test_drafts_shrink_where_they_are_late_and_grow_where_more_pixels_are_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The quickest of each few counts: what comes between them on a busy machine changes nothing."""
    monkeypatch.setattr(adaptive, "IN_TIME", 1.0)
    size = DraftSize()

    def share_after(*seconds: float) -> float:
        size.measure_again()
        for one in seconds:
            size.note(one)
        return size.share

    assert size.share == 1.0 and not size.is_measured
    assert share_after(9.0, 0.9, 9.0) == 1.0 and size.is_measured
    assert share_after(1.1, 1.2) == 1.0 and share_after(1.1, 1.2, 1.3) == SHARES[1]
    assert not size.is_measured, "the smaller ones are measured, too"
    assert share_after(1.1, 1.2, 1.3) == SHARES[2] == share_after(1.1, 1.2, 1.3), "the smallest, late as it may be"
    assert share_after(0.6, 0.9, 9.0) == SHARES[2], "(4 / 3)^2 as many pixels would be late"
    assert share_after(0.5, 0.9, 9.0) == SHARES[1] and share_after(0.4, 0.9, 9.0) == 1.0


def test_quick_pictures_are_whole(
    renderer: AdaptiveRenderer, state: WindowState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "SLOW", NEVER)
    for moment in moments(state, 3):
        renderer.draw(moment, state.current_camera(), SIZE, 1.0, moving=True)
        assert renderer.shown is renderer.whole


def test_one_late_picture_is_forgotten_when_the_hand_lets_go(
    renderer: AdaptiveRenderer, state: WindowState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole picture after a move tells how long one takes now: the next move is whole where that is in time."""
    at, camera = moments(state, 3), state.current_camera()
    renderer.draw(at[-1], camera, SIZE, 1.0, moving=True)
    renderer._seconds = NEVER  # as other work on the machine made it once
    monkeypatch.setattr(adaptive, "SLOW", NEVER / 2.0)
    for k, (moving, is_whole) in enumerate(((True, False), (False, True), (True, True))):
        renderer.draw(at[k], camera, SIZE, 1.0, moving=moving)
        assert (renderer.shown is renderer.whole) == is_whole


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
            pictures.append(window.screen._views.renderer.shown.look.shadows)
        window.screen.mouse_button("Right", at[0] + 15, at[1], (False, False, False), 1.0, down=False)
        window.frames()
        assert pictures == [True, False, False]
        assert window.screen._views.renderer.shown.look.shadows
        assert not np.array_equal(before, window.image())


def test_mobilities_wait_for_the_hand(state: WindowState) -> None:
    before = present.mobility(state)
    state.clock.time = float(state.study.time[-1])
    state.panels.by_hand = True
    assert present.mobility(state) is before
    state.panels.by_hand = False
    assert present.mobility(state) is not before
