"""Movie files, written picture by picture: MP4 through ffmpeg, animated GIF and WebP through Pillow. No GL."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from PIL import Image

from shiftjax.errors import ModelError

RATE = {".mp4": 30.0, ".gif": 15.0, ".webp": 20.0}  # pictures a second by default
MOVIES = tuple(RATE)
QUALITY = ["-crf", "20", "-movflags", "+faststart"]  # of H.264; playback can start before the download is complete


class Movie:
    """A movie that is written picture by picture. MP4 goes to the encoder at once; GIF and WebP stay in memory.

    Attributes:
        count: pictures so far.
        waiting_bytes: of pictures that wait in memory for the end.
    """

    def __init__(self, path: Path, rate: float) -> None:
        self.path, self.rate, self.count, self.waiting_bytes = path, rate, 0, 0
        self._kind = path.suffix.lower()
        self._frames: list[Image.Image] = []
        self._encoder: subprocess.Popen[bytes] | None = None

    def add(self, image: np.ndarray) -> None:
        """One more picture, (h, w, 3) uint8, of the size of the first; ModelError where the encoder ends."""
        if self._kind == ".mp4":
            self._send(image)
        else:
            frame = Image.fromarray(image)
            self._frames.append(frame.quantize(128) if self._kind == ".gif" else frame)
            self.waiting_bytes += image.nbytes if self._kind == ".webp" else image.nbytes // 3
        self.count += 1

    def close(self) -> None:
        """Finishes the file; ModelError where it cannot be written."""
        frames, self._frames = self._frames, []
        try:
            self._end()
            if frames:
                first, *others = frames
                duration = round(1000 / self.rate)
                first.save(self.path, save_all=True, append_images=others, duration=duration, loop=0)
        except OSError as error:
            raise self._broken(error) from None

    def _send(self, image: np.ndarray) -> None:
        """To H.264, which takes even sizes only: an odd edge is cut off."""
        height, width = (n - n % 2 for n in image.shape[:2])
        try:
            self._encoder = self._encoder or self._begun(width, height)
            assert self._encoder.stdin is not None
            self._encoder.stdin.write(np.ascontiguousarray(image[:height, :width]).tobytes())
        except (OSError, RuntimeError) as error:
            try:
                self._end()
            except OSError as reason:  # the message of ffmpeg
                raise self._broken(reason) from None
            raise self._broken(error) from None

    def _begun(self, width: int, height: int) -> subprocess.Popen[bytes]:
        """ffmpeg, reading pictures from a pipe; in its own process group, so that Ctrl+C does not truncate the file."""
        pictures = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{self.rate:g}", "-i", "-"]
        words = ["-v", "error", "-y", *pictures, "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", *QUALITY]
        self._stderr = tempfile.TemporaryFile()  # a pipe without reader could block
        return subprocess.Popen(
            [imageio_ffmpeg.get_ffmpeg_exe(), *words, str(self.path.absolute())],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr,
            process_group=0 if os.name == "posix" else None,
        )  # fmt: skip

    def _end(self) -> None:
        """Lets the encoder finish; OSError with its message where it did not write the file."""
        encoder, self._encoder = self._encoder, None
        if encoder is None:
            return
        with contextlib.suppress(BrokenPipeError):
            encoder.communicate()
        with self._stderr as stderr:
            stderr.seek(0)
            lines = stderr.read().decode(errors="replace").split("\n")
        if encoder.wait() or not self.path.is_file() or not self.path.stat().st_size:
            raise OSError(next((line.strip() for line in reversed(lines) if line.strip()), "it left no file"))

    def _broken(self, error: Exception) -> ModelError:
        if self._kind != ".mp4":
            return ModelError(str(self.path), str(error), "a folder that can be written to", "Choose another folder.")
        program = shutil.which("ffmpeg") or "the ffmpeg of imageio-ffmpeg"
        return ModelError(str(self.path), f"ffmpeg ended ({error})", "a working ffmpeg", f"Try {program} by hand.")
