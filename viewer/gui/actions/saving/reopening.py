"""File > Open: another stored study takes the place of the one in the window. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.actions.saving import saved
from shiftjax.viewer.gui.state.panels import OPEN
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.study import opening

HINT = "a stored study: NAME.zarr"
MOST = 12  # names that are listed


def names(state: WindowState, folder: Path | None = None) -> list[str]:
    """Stored studies that complete what is typed, those that begin with it first.

    Args:
        folder: where they are; the working directory if left out.
    """
    typed = state.panels.study.strip().lower()
    matches = [name for name in opening.stored_in(folder or Path.cwd()) if typed in name.lower()]
    return sorted(matches, key=lambda name: (not name.lower().startswith(typed), name.lower()))[:MOST]


def replace(state: WindowState, name: str) -> bool:
    """Has the main loop show a stored study in place of this one; what cannot be shown becomes a message, and this one
    stays. False then.

    Args:
        name: its path.
    """
    try:
        if state.live is not None:
            raise ModelError("open", "a run that goes on", "a window on a stored study", "Close this window first.")
        if state.recording is not None:
            raise ModelError("open", "a movie that is being recorded", "none", "End the recording first.")
        if not name.strip():
            raise ModelError("open", "no name", HINT, "Type or choose one.")
        opening.require_viewable(name.strip())
    except ModelError as error:
        state.say(str(error), "open")
        return False
    state.panels.solved("open")
    state.panels.requests.append(f"{OPEN}:{name.strip()}")
    return True


def drop(state: WindowState, paths: Sequence[str]) -> None:
    """Files that were dropped onto the window: a stored study takes the place of this one, a saved view is opened;
    what is neither becomes a message.
    """
    if len(paths) != 1:
        state.say(f"{len(paths)} files were dropped: drop one stored study, or one saved view.")
    elif opening.study_of_view(paths[0]) is None:
        replace(state, paths[0])
    else:
        try:
            saved.load(state, paths[0])
        except ModelError as error:
            state.say(str(error))
