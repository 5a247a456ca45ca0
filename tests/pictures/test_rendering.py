"""Movies and stills: what is written can be read back; bad places are refused before anything is drawn."""

import subprocess

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from shiftjax.cli.common import new_file
from shiftjax.errors import ModelError
from shiftjax.viewer import rendering

COMPRESSED = 6.0  # of 255: mean error of H.264 at quality 20 on smooth pictures, measured 1 to 3


def pictures(count: int, width: int = 64, height: int = 48) -> list[np.ndarray]:
    """A bright square that wanders over a smooth ground."""
    y, x = np.mgrid[:height, :width]
    found = []
    for k in range(count):
        image = np.stack([x * 2, y * 3, np.full_like(x, 90)], axis=2).astype(np.uint8)
        image[10:22, 4 + 3 * k : 16 + 3 * k] = (250, 240, 30)
        found.append(image)
    return found


def decoded(path, width: int = 64, height: int = 48) -> np.ndarray:
    """(n, height, width, 3) the pictures of a movie of that size."""
    form = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    words = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), *form]
    done = subprocess.run(words, capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)


def test_an_mp4_shows_every_picture(tmp_path):
    images = pictures(12)
    assert rendering.write_movie(tmp_path / "a.mp4", iter(images), 24.0) == 12
    found = decoded(tmp_path / "a.mp4")
    assert len(found) == 12
    for image, frame in zip(images, found, strict=True):
        assert np.abs(image.astype(int) - frame).mean() < COMPRESSED


def test_odd_sizes_lose_their_edge_and_nothing_else(tmp_path):
    rendering.write_movie(tmp_path / "a.mp4", iter(pictures(3, 65, 49)), 24.0)
    found = decoded(tmp_path / "a.mp4")
    assert len(found) == 3 and np.abs(found[0].astype(int) - pictures(1)[0]).mean() < COMPRESSED


@pytest.mark.parametrize("suffix", [".gif", ".webp"])
def test_animated_pictures_show_every_picture(tmp_path, suffix):
    assert rendering.write_movie(tmp_path / f"a{suffix}", iter(pictures(5)), 10.0) == 5
    with Image.open(tmp_path / f"a{suffix}") as movie:
        assert getattr(movie, "n_frames", 1) == 5
        movie.seek(4)
        assert np.asarray(movie.convert("RGB"))[15, 20].min() < 120, "the square has moved on"


def test_letters_stand_in_the_upper_left_corner_only():
    plain = np.full((120, 400, 3), 130, np.uint8)
    written = rendering.with_text(plain, ["four_bar, member 3", "tip = 0.5"])
    rows, columns = np.nonzero((written != plain).any(2))
    assert 0 <= rows.min() < rows.max() < 40 and 0 <= columns.min() < columns.max() < 200
    assert written.min() < 40 and written.max() > 230, "letters have an outline"
    np.testing.assert_array_equal(rendering.with_text(plain, []), plain)


def test_an_encoder_that_ends_is_told(tmp_path, monkeypatch):
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(broken))
    with pytest.raises(ModelError, match="ffmpeg ended"):
        rendering.write_movie(tmp_path / "a.mp4", pictures(3), 24.0)
    with pytest.raises(ModelError, match="can be written"):
        rendering.write_movie(tmp_path / "none" / "a.gif", pictures(2), 10.0)


def test_a_still_is_exact(tmp_path):
    image = pictures(1)[0]
    rendering.write_still(tmp_path / "a.png", image)
    with Image.open(tmp_path / "a.png") as found:
        np.testing.assert_array_equal(np.asarray(found), image)


def test_instants_of_a_movie():
    """Ten pictures a second at half speed: every twentieth of a second of motion, ends included."""
    np.testing.assert_allclose(rendering.instants(1.0, 2.0, 10.0, 0.5), 1.0 + np.arange(21) / 20, atol=1e-12)
    assert len(rendering.instants(0.0, 0.0, 30.0, 1.0)) == 1


@pytest.mark.parametrize(
    ("name", "found"), [("a.avi", r"suffix '\.avi'"), ("none/a.png", "no such folder"), ("there.png", "of that name")]
)
def test_bad_places_are_refused(tmp_path, name, found):
    (tmp_path / "there.png").write_bytes(b"")
    with pytest.raises(ModelError, match=found):
        new_file(str(tmp_path / name), (*rendering.STILLS, *rendering.MOVIES), force=False)
    assert new_file(str(tmp_path / "there.png"), rendering.STILLS, force=True)
