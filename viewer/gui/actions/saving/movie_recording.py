"""Recording of the view to a movie. No GL, no GUI library.

While the study plays, every frame is one picture and time advances by one picture, so that the movie is smooth at any
frame rate. While it is paused, pictures follow wall time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.recording import MovieRecording


def toggle(state: WindowState) -> None:
    """Starts or ends a recording."""
    if state.recording is not None:
        stop(state)
        return
    try:
        state.recording = MovieRecording(Path.cwd(), state.panels.record_as)
        state.say(f"recording to {state.recording.path.name}")
    except ModelError as error:
        state.say(str(error))


def stop(state: WindowState, reason: str = "") -> None:
    """Ends the recording, if there is one, and reports the file."""
    recording, state.recording = state.recording, None
    if recording is not None:
        state.say(" ".join(filter(None, [reason, recording.finish()])))


def take(state: WindowState, image: Callable[[], np.ndarray], passed: float) -> None:
    """Records the frame that was drawn, `passed` seconds after the one before; errors become messages."""
    recording = state.recording
    if recording is None:
        return
    count = 1 if state.clock.playing and state.live is None else recording.due(passed)
    try:
        picture = image() if count else None
        for _ in range(count):
            assert picture is not None
            recording.add(picture)
    except ModelError as error:
        stop(state, str(error))
        return
    if recording.full:
        stop(state, "As long as a GIF or WebP gets; an MP4 may be longer.")
