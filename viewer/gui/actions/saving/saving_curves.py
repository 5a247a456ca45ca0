"""What the plots show as a file of numbers. No GL, no GUI library."""

from __future__ import annotations

from pathlib import Path

from shiftjax.errors import ModelError
from shiftjax.formats.files import free_stem
from shiftjax.viewer.gui.state.derived.shown_curves import csv_of
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.plots import PlotCurves

SUFFIX = ".csv"


def save_here(state: WindowState) -> None:
    """Writes the curves into the working directory."""
    save(state)


def save(state: WindowState, folder: Path | None = None) -> Path | None:
    """Writes the curves in the plots, within their time axes, to a new file; errors become messages.

    Args:
        folder: where; the working directory if left out.
    """
    names = state.pane_data(PlotCurves).names(state.study, state.selection.pick)
    place = folder or Path.cwd()
    try:
        if not names:
            raise ModelError("curves", "nothing that was recorded", "plots with curves", "Pick another item.")
        path = place / f"{free_stem(place, 'curves', (SUFFIX,))}{SUFFIX}"
        path.write_text(csv_of(state, names), encoding="utf-8")
    except OSError as error:
        state.say(f"curves: {error}", "curves")
        return None
    except ModelError as error:
        state.say(str(error), "curves")
        return None
    state.panels.solved("curves")
    state.say(f"written: {path}")
    return path
