"""Recording from the window: what is written can be read back, and nothing that goes wrong closes the window."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from shiftjax.viewer import recording
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.recording import MovieRecording
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

COMPRESSED = 6.0  # of 255: mean error of H.264 at quality 20 on smooth pictures, measured 1 to 3
ROUNDING = 1e-12  # sums of a few doubles of order one


@pytest.fixture
def window(study: ViewedStudy, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offscreen]:
    monkeypatch.chdir(tmp_path)
    with Offscreen(WindowState(MemberScenes(study, scene), look=FAST), (701, 401)) as screen:
        yield screen


def decoded(path: Path, size: tuple[int, int]) -> np.ndarray:
    """(n, height, width, 3) the pictures of a movie of that width and height."""
    form = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    words = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), *form]
    done = subprocess.run(words, capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, size[1], size[0], 3).astype(int)


def even_size(window: Offscreen) -> tuple[int, int]:
    height, width = window.screen.view_image().shape[:2]
    return width - width % 2, height - height % 2


def the_movie(folder: Path) -> Path:
    (path,) = folder.glob("shiftjax-*")
    return path


def test_r_writes_what_the_view_shows(window: Offscreen, tmp_path: Path) -> None:
    """M63: a picture a frame, a thirtieth of a second of the study each, however long drawing takes."""
    state, (width, height) = window.state, even_size(window)
    actions.run(state, "play")
    actions.run(state, "record")
    before, shown = state.clock.time, []
    for _ in range(6):
        window.frames()
        shown.append(window.screen.view_image()[:height, :width].astype(int))
    assert state.clock.time - before == pytest.approx(6 / 30, abs=ROUNDING)
    assert "recording" in ui.item_boxes and state.recording is not None and state.recording.seconds == 0.2
    actions.run(state, "record")
    found = decoded(the_movie(tmp_path), (width, height))
    assert len(found) == 6 and "written" in state.panels.messages[-1]
    for image, frame in zip(shown, found, strict=True):
        assert np.abs(image - frame).mean() < COMPRESSED
    assert np.abs(found[0] - found[-1]).max() > 60, "nothing moves in the movie"
    window.frames()
    assert "recording" not in ui.item_boxes


def test_a_resize_goes_on_in_the_first_size(window: Offscreen, tmp_path: Path) -> None:
    state, size = window.state, even_size(window)
    actions.run(state, "play")
    window.key("R")
    for new in ((900, 500), (300, 700), (40, 30)):
        window.resize(new)
        window.frames(2)
    window.key("R")
    found = decoded(the_movie(tmp_path), size)
    assert len(found) >= 7
    tall = found[5]  # of the narrow window: the view between black sides
    assert tall[:, :10].max() < 30 and tall[:, size[0] // 2].max() > 100


@pytest.mark.parametrize("kind", [".gif", ".webp"])
def test_animated_pictures_are_chosen_in_the_menu(window: Offscreen, tmp_path: Path, kind: str) -> None:
    window.click("menu:File")
    window.click("menu:Record as")
    window.click(f"record_as:{kind}")
    assert window.state.panels.record_as == kind
    actions.run(window.state, "play")
    window.click("menu:File")
    window.click("menu:record")
    window.frames(3)
    window.click("menu:File")
    window.click("menu:record")
    with Image.open(the_movie(tmp_path)) as movie:
        assert movie.size == even_size(window) and getattr(movie, "n_frames", 1) >= 4
        first = np.asarray(movie.convert("RGB")).astype(int)
        movie.seek(3)
        assert np.abs(np.asarray(movie.convert("RGB")).astype(int) - first).max() > 60


def test_a_paused_study_is_recorded_by_the_clock(window: Offscreen) -> None:
    """Frames of a fifteenth of a second are two pictures of an MP4, and time stands still."""
    actions.run(window.state, "record")
    window.frames(5)
    assert window.state.recording is not None and window.state.clock.time == 0.0
    assert window.state.recording.seconds == pytest.approx(5 / 15, abs=2 / 30)  # rounding to whole pictures


def test_closing_the_window_finishes_the_file(study: ViewedStudy, scene: Scene, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with Offscreen(WindowState(MemberScenes(study, scene), look=FAST), (400, 300)) as window:
        actions.run(window.state, "play")
        actions.run(window.state, "record")
        window.frames(3)
        size = even_size(window)
    assert len(decoded(the_movie(tmp_path), size)) == 3


def test_movies_never_replace_each_other(tmp_path: Path) -> None:
    several = [MovieRecording(tmp_path, ".mp4") for _ in range(3)]
    assert len({one.path for one in several}) == 3
    assert {one.finish() for one in several} == {"nothing was recorded"} and not list(tmp_path.iterdir())


def test_a_failing_encoder_becomes_a_message(
    window: Offscreen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(broken))
    actions.run(window.state, "play")
    actions.run(window.state, "record")
    window.frames(4)
    if window.state.recording is not None:
        actions.run(window.state, "record")
    assert window.state.recording is None and any("ffmpeg ended" in text for text in window.state.panels.messages)
    assert not list(tmp_path.glob("shiftjax-*")), "an empty file is left"
    window.frames()
    assert window.image().std() > 5


def test_a_folder_that_takes_no_file_becomes_a_message(window: Offscreen, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(recording.Path, "cwd", lambda: tmp_path / "none")
    actions.run(window.state, "record")
    assert window.state.recording is None and "folder" in window.state.panels.messages[-1]


def test_pictures_in_memory_are_bounded(window: Offscreen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_WAITING", 4 * 3 * even_size(window)[0] * even_size(window)[1])
    window.state.panels.record_as = ".webp"
    actions.run(window.state, "play")
    actions.run(window.state, "record")
    window.frames(6)
    assert window.state.recording is None and "MP4 may be longer" in window.state.panels.messages[-1]
    with Image.open(the_movie(tmp_path)) as movie:
        assert getattr(movie, "n_frames", 1) == 4


def test_both_halves_are_recorded_with_their_captions(window: Offscreen, tmp_path: Path) -> None:
    actions.run(window.state, "beside")
    window.frames()
    size = even_size(window)
    actions.run(window.state, "play")
    actions.run(window.state, "record")
    window.frames(2)
    actions.run(window.state, "record")
    (picture, _) = decoded(the_movie(tmp_path), size)
    half = size[0] // 2
    assert np.abs(picture[:, half] - 60).max() < 30, "no bar between the halves"
    for left in (0, half + 2):
        assert picture[:40, left : left + half].min() < 90, "no letters"
