"""A movie in real time from pictures at irregular times, all fitted to the size of the first. No GL.

The size is that of the first picture, made even; later ones of another size are fitted into it.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from shiftjax.errors import ModelError, one_of
from shiftjax.viewer.movie import MOVIES, RATE, Movie

MOST_WAITING = 256 << 20  # bytes of pictures in memory at which a GIF or WebP ends by itself
LONGEST = 0.5  # s that one slow frame counts for at most


class MovieRecording:
    """A movie that is being written.

    Attributes:
        rate: pictures a second.
        path: of the file.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        """kind: one of MOVIES. Raises ModelError for another one, or where no file can be made."""
        one_of("kind of movie", kind, MOVIES)
        self.rate, self.path = RATE[kind], new_file(folder, kind)
        self._movie = Movie(self.path, self.rate)
        self._first: tuple[int, ...] = ()  # shape of the first picture
        self._due = 1.0  # pictures due

    @property
    def seconds(self) -> float:
        """How long the movie is [s]."""
        return self._movie.count / self.rate

    @property
    def full(self) -> bool:
        return self._movie.waiting_bytes >= MOST_WAITING

    def add(self, image: np.ndarray) -> None:
        """One picture, (h, w, 3) uint8; ModelError where the encoder ends."""
        self._first = self._first or image.shape
        height, width = (max(n - n % 2, 2) for n in self._first[:2])
        if image.shape != self._first:
            image = np.asarray(ImageOps.pad(Image.fromarray(image), (width, height)))
        self._movie.add(image[:height, :width])

    def due(self, passed: float) -> int:
        """Number of pictures due after so many seconds."""
        self._due += min(passed, LONGEST) * self.rate
        count = int(self._due)
        self._due -= count
        return count

    def finish(self) -> str:
        """Closes the file; returns a message. A file without pictures is removed."""
        try:
            self._movie.close()
        except ModelError as error:
            self._remove_empty()
            return str(error)
        self._remove_empty()
        return f"written: {self.path} ({self.seconds:.1f} s)" if self._movie.count else "nothing was recorded"

    def _remove_empty(self) -> None:
        if self.path.is_file() and not self.path.stat().st_size:
            self.path.unlink()


def new_file(folder: Path, suffix: str) -> Path:
    """An empty file named by the time of day; nothing is replaced. ModelError where the folder is not writable."""
    name, k = f"shiftjax-{datetime.datetime.now():%Y%m%d-%H%M%S}", 0
    while True:
        path = folder / (f"{name}-{k}{suffix}" if k else f"{name}{suffix}")
        try:
            path.open("xb").close()
            return path
        except FileExistsError:
            k += 1
        except OSError as error:
            raise ModelError(str(folder), str(error), "a folder that can be written to", "Start elsewhere.") from None
