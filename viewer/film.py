"""Pictures and movies of a study, drawn without a display."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import imageio_ffmpeg
import numpy as np
from PIL import Image

from shiftjax.errors import ModelError
from shiftjax.viewer.gl import context
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.scene import Look, Scene

STILLS = (".png",)
MOVIES = (".mp4", ".gif", ".webp")
QUALITY = ["-crf", "20", "-movflags", "+faststart"]  # of H.264; the page can show the movie before it is all there


@contextmanager
def studio(scene: Scene, look: Look, size: tuple[int, int]) -> Iterator[Renderer]:
    """A renderer in a context of its own; both are given back."""
    with context.headless():
        renderer = Renderer(scene, look, size)
        try:
            yield renderer
        finally:
            renderer.release()


def instants(begin: float, end: float, rate: float, speed: float) -> np.ndarray:
    """Times [s] of the pictures of a movie: `rate` pictures a second of showing, `speed` s of motion a second."""
    count = int(np.floor((end - begin) / speed * rate + 1e-9)) + 1
    return begin + np.arange(count) * speed / rate


def write_still(path: Path, image: np.ndarray) -> None:
    """(h, w, 3) uint8 as PNG."""
    Image.fromarray(image).save(path, optimize=True)


def write_movie(path: Path, images: Iterable[np.ndarray], rate: float) -> int:
    """Writes (h, w, 3) uint8 pictures as they come; returns how many."""
    if path.suffix.lower() == ".mp4":
        return _write_mp4(path, images, rate)
    frames = [Image.fromarray(image) for image in images]
    if path.suffix.lower() == ".gif":
        frames = [frame.quantize(128) for frame in frames]
    first, *others = frames
    first.save(path, save_all=True, append_images=others, duration=round(1000 / rate), loop=0)
    return len(frames)


def _write_mp4(path: Path, images: Iterable[np.ndarray], rate: float) -> int:
    """H.264 through ffmpeg, the system's where there is one. It takes even sizes only: an odd edge is cut off."""
    writer, count = None, 0
    program = shutil.which("ffmpeg") or imageio_ffmpeg.get_ffmpeg_exe()
    try:
        for image in images:
            height, width = (n - n % 2 for n in image.shape[:2])
            if writer is None:
                writer = imageio_ffmpeg.write_frames(
                    str(path), (width, height), fps=cast(int, rate), codec="libx264", pix_fmt_out="yuv420p",
                    output_params=QUALITY, macro_block_size=2, ffmpeg_log_level="error",
                )  # fmt: skip
                writer.send(None)
            writer.send(np.ascontiguousarray(image[:height, :width]).tobytes())
            count += 1
    except OSError as error:
        raise ModelError(str(path), f"ffmpeg ended ({error})", "a working ffmpeg", f"Try {program} by hand.") from None
    finally:
        if writer is not None:
            writer.close()
    return count
