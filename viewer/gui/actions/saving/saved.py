"""A view of a study as a small JSON file: members, panes, camera, time, and what the study pane shows and selects.

Properties: what is written is read back to the same view; a file is read whole before anything is changed; keys that
are not known, members that are not there and columns that the study does not have are refused by name.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.record import record
from shiftjax.viewer.gui.actions.members import grid, selecting, trying
from shiftjax.viewer.gui.actions.saving import saved_checks as checks
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.brush import Brush
from shiftjax.viewer.members.member_sets import MemberSet
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.saved_format import SAVED_VIEW, VERSION

FORMAT = {"format": SAVED_VIEW, "version": VERSION}
SETS = "sets"  # the entry whose names the others may use
SUFFIX, HINT = ".json", "view.json"
MOST_BYTES = 1 << 24  # of a file; a selection of a million members takes 170 kB
MOST_GHOSTS = 4096  # chosen members that are listed


@record
class ViewEntry:
    """One key of the file."""

    read: Callable[[WindowState], Any]
    check: Callable[[WindowState, str, Any], Any]  # state, where, what the file says -> what `write` takes; ModelError
    write: Callable[[WindowState, Any], None]


def save(state: WindowState, path: str | Path) -> Path:
    """Writes the view; ModelError where the place cannot be written."""
    target = _path(path)
    try:
        target.write_text(json.dumps(document(state), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ModelError(str(path), str(error), "a folder that can be written to", "Choose another.") from None
    return target


def document(state: WindowState) -> dict[str, Any]:
    """The view as it is written."""
    return {**FORMAT, **{name: entry.read(state) for name, entry in ENTRIES.items()}}


def load(state: WindowState, path: str | Path) -> None:
    """Restores a view that was written of the same study.

    Raises:
        ModelError: no such file, none of a view, or one that does not fit the study; the state is unchanged then.
    """
    restore(state, read(path), str(path))


def save_here(state: WindowState) -> None:
    """Saves the view to the file that is typed; errors become messages."""
    try:
        state.say(f"written: {save(state, state.explorer.file or HINT)}")
    except ModelError as error:
        state.say(str(error))


def open_here(state: WindowState) -> None:
    """Opens the view of the file that is typed; errors become messages."""
    try:
        load(state, state.explorer.file or HINT)
    except ModelError as error:
        state.say(str(error))


def read(path: str | Path) -> dict[str, Any]:
    """The document of a file; ModelError where it holds none."""
    source = _path(path)
    try:
        if source.stat().st_size > MOST_BYTES:
            raise ModelError(str(path), "a very large file", f"at most {MOST_BYTES} bytes", "Choose a view's file.")
        document = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(str(path), f"no file of a view ({error})", "one that was saved", "Check the name.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT["format"]:
        raise ModelError(str(path), "no view", "a file written by `save this view`", "Check the name.")
    if document.get("version") != FORMAT["version"]:
        raise ModelError(
            f"{path}: version", repr(document.get("version"))[:80], str(FORMAT["version"]), "Save it again."
        )
    return document


def restore(state: WindowState, document: dict[str, Any], where: str) -> None:
    """Sets what a document says; what it leaves out stays as it is. ModelError as of `load`.

    Where members are simulated again first, it is set when they have come.
    """
    for name in document:
        if name not in ENTRIES and name not in FORMAT:
            todo = nearest(name, ENTRIES) or "Leave it out, or use a newer shiftjax."
            raise ModelError(f"{where}: key", repr(name)[:80], ", ".join(ENTRIES), todo)
    checked = _checked(state, document, where)
    drawn = state.study.drawable(list(dict.fromkeys(_named(checked))))
    if len(drawn.again):
        state.say(drawn.reason)
    state.awaited.wish("left", state.study, drawn, lambda _: _write(state, checked))


def _checked(state: WindowState, document: dict[str, Any], where: str) -> dict[str, Any]:
    """What is to be set, in the order of the table; expressions may name the sets of the document."""
    checked, table = {}, state.explorer.table
    before = table.sets
    try:
        for name in ENTRIES:
            if name in document:
                checked[name] = ENTRIES[name].check(state, f"{where}: {name}", document[name])
            if name == SETS in checked:
                table.sets = {one.name: one.mask for one in checked[SETS]}
    finally:
        table.sets = before
    return checked


def _named(checked: dict[str, Any]) -> list[int]:
    """All members that are drawn."""
    several = [checked.get(name) or [] for name in ("chosen", "grid")]
    alone = [checked.get(name) for name in ("member", "beside")]
    return [*(member for members in several for member in members), *(k for k in alone if k is not None)]


def _write(state: WindowState, checked: dict[str, Any]) -> None:
    """In the order of the table: the selection is made of those shown."""
    for name, value in checked.items():
        ENTRIES[name].write(state, value)
    state.explorer.fit = True


def _path(path: str | Path) -> Path:
    target = Path(path)
    if target.suffix.lower() != SUFFIX:
        raise ModelError(str(path), f"suffix {target.suffix!r}", f"NAME{SUFFIX}", "Write the suffix, too.")
    return target


def _plain(owner: str, name: str, check: Callable[[WindowState, str, Any], Any]) -> ViewEntry:
    """An attribute of a part of the state, as it is."""

    def write(state: WindowState, value: Any) -> None:
        setattr(getattr(state, owner), name, value)

    return ViewEntry(lambda state: getattr(getattr(state, owner), name), check, write)


def _class(name: str) -> ViewEntry:
    """Whether a display class is drawn."""

    def write(state: WindowState, value: bool) -> None:
        state.display.set(name, draw="visible" if value else "hidden")

    return ViewEntry(lambda state: state.display.drawn(name) != "hidden", checks.flag, write)


def _set_chosen(state: WindowState, value: list[int]) -> None:
    state.choice.chosen = np.array(value, np.int64)


def _set_beside(state: WindowState, value: int | None) -> None:
    state.beside = None if value is None else RightHalf(Design(state.scenes, value))


def _beside_now(state: WindowState) -> int | None:
    right = state.beside
    return right.member if right is not None and right.study is state.study else None


def _set_grid(state: WindowState, value: list[int]) -> None:
    if value:
        grid.show(state, value)
    else:
        grid.close(state)


def _set_selected(state: WindowState, value: np.ndarray) -> None:
    state.explorer.select(value)
    state.explorer.note = state.explorer.ghosts()[1]


def _set_sets(state: WindowState, value: tuple[MemberSet, ...]) -> None:
    state.explorer.put_sets(value)


def _set_brushes(state: WindowState, value: list[Brush]) -> None:
    state.explorer.set_brushes(value)
    state.explorer.note = state.explorer.ghosts()[1]


def _set_front(state: WindowState, value: dict[str, Any]) -> None:
    state.explorer.front.on = value["on"]
    state.explorer.type_front(value["of"])


def _set_trace(state: WindowState, value: dict[str, Any] | None) -> None:
    state.view.trace, state.view.trace_frame = None, ""
    if value is not None:
        state.view.trace = state.node[value["body"]], np.array(value["point"], float)
        state.view.trace_frame = value["frame"]


def _set_order(state: WindowState, value: dict[str, Any]) -> None:
    state.explorer.sort_by(value["by"], falling=value["falling"])


ENTRIES: dict[str, ViewEntry] = {
    "study": ViewEntry(lambda s: str(s.study.where), checks.text, lambda s, _: None),
    SETS: ViewEntry(lambda s: [checks.written_set(one) for one in s.explorer.sets], checks.sets, _set_sets),
    "chosen": ViewEntry(lambda s: s.choice.chosen[:MOST_GHOSTS].tolist(), checks.chosen, _set_chosen),
    "choice": _plain("choice", "text", checks.text),
    "ghosts": _plain("choice", "ghosts_on", checks.flag),
    "outlines": _plain("choice", "outlined", checks.flag),
    "colour_by": _plain("choice", "colour_by", checks.metric),
    "member": ViewEntry(lambda s: s.choice.member, checks.member, WindowState.show_member),
    "beside": ViewEntry(_beside_now, checks.beside, _set_beside),
    "trace": ViewEntry(checks.written_trace, checks.trace, _set_trace),
    "paths": _plain("choice", "traces_on", checks.flag),
    "time": ViewEntry(lambda s: s.clock.time, checks.time, WindowState.go_to),
    "camera": ViewEntry(lambda s: dataclasses.asdict(s.current_camera()), checks.camera,
                    lambda s, camera: (setattr(s.view, "followed", None), setattr(s.view, "camera", camera))[-1]),
    "screws": _class("screw"),
    "ellipsoids": _class("ellipsoid"),
    "panes": _plain("panels", "panes_on", checks.flag),
    "sizes": ViewEntry(lambda s: dataclasses.asdict(s.panels.sizes), checks.sizes,
                   lambda s, sizes: setattr(s.panels, "sizes", sizes)),
    "study_pane": _plain("explorer", "shown_on", checks.flag),
    "tab": ViewEntry(lambda s: s.explorer.tab, checks.tab, lambda s, tab: s.explorer.open_tab(tab)),
    "design": ViewEntry(trying.written, checks.design, trying.restore),
    "columns": _plain("explorer", "columns", checks.columns),
    "order": ViewEntry(lambda s: {"by": s.explorer.sort, "falling": s.explorer.falling}, checks.order, _set_order),
    "x": _plain("explorer", "x", checks.column),
    "y": _plain("explorer", "y", checks.column),
    "colour": _plain("explorer", "colour", checks.no_column),
    "histogram": _plain("explorer", "bars", checks.column),
    "axes": _plain("explorer", "axes", checks.axes),
    "expression": ViewEntry(lambda s: s.explorer.expression, checks.expression, selecting.show),
    "selected": ViewEntry(lambda s: checks.packed(s.explorer.clicked), checks.mask, _set_selected),
    "brushes": ViewEntry(lambda s: [checks.written(b) for b in s.explorer.brushes], checks.brushes, _set_brushes),
    "front": ViewEntry(lambda s: {"on": s.explorer.front.on, "of": s.explorer.front.text}, checks.front, _set_front),
    "grid": ViewEntry(lambda s: list(s.explorer.cells), checks.cells, _set_grid),
}  # fmt: skip
