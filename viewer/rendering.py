"""Pictures and movies of a study, drawn without a display."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from shiftjax.viewer.gl import context
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.movie import MOVIES, RATE, Movie
from shiftjax.viewer.scene.scene import RenderSettings, Scene

__all__ = ("MOVIES", "RATE", "STILLS", "instants", "offscreen_renderer", "with_text", "write_movie", "write_still")

STILLS = (".png",)
LETTER = 0.56  # mean width of a letter over its height
INK, PAPER = (25, 30, 40), (235, 240, 246)  # of text and its outline


@contextmanager
def offscreen_renderer(scene: Scene, look: RenderSettings, size: tuple[int, int]) -> Iterator[Renderer]:
    """A renderer in a new GL context; both are released at the end."""
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
    movie = Movie(path, rate)
    try:
        for image in images:
            movie.add(image)
    finally:
        movie.close()
    return movie.count


def _font(height: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The panes' font, found without loading the GUI library; Pillow's plain one where that is not installed."""
    bundle = find_spec("imgui_bundle")
    for folder in (bundle.submodule_search_locations or ()) if bundle is not None else ():
        path = Path(folder) / "assets" / "fonts" / "DroidSans.ttf"
        if path.is_file():
            return ImageFont.truetype(str(path), height)
    return ImageFont.load_default(height)


def with_text(image: np.ndarray, lines: Sequence[str]) -> np.ndarray:
    """(h, w, 3) the picture with lines of text in the upper left corner, broken where they are wider than it."""
    height = max(image.shape[0] // 40, 9)  # of the letters [pixels]
    font, step, edge = _font(height), round(1.35 * height), height // 2
    room = max(int((image.shape[1] - 2 * edge) / (LETTER * height)), 8)
    picture = Image.fromarray(image)
    draw = ImageDraw.Draw(picture)
    broken = [part for line in lines for part in textwrap.wrap(line, room) or [""]]
    for k, line in enumerate(broken):
        draw.text((edge, edge + k * step), line, INK, font, stroke_width=max(height // 8, 1), stroke_fill=PAPER)
    return np.asarray(picture)
