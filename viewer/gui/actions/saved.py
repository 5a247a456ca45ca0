"""A view of a study as a small JSON file: members, panes, camera, time, and what the study pane shows and selects.

Properties: what is written is read back to the same view; a file is read whole before anything is changed; keys that
are not known, members that are not there and columns that the study does not have are refused by name.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need, need_number, one_of
from shiftjax.record import record
from shiftjax.viewer.gui.actions import grid, selecting
from shiftjax.viewer.gui.state.explorer import TABS
from shiftjax.viewer.gui.state.layout import Sizes
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.scene.camera import Camera

FORMAT = {"format": "shiftjax view", "version": 1}
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
    checked = {
        name: ENTRIES[name].check(state, f"{where}: {name}", document[name]) for name in ENTRIES if name in document
    }
    drawn = state.study.drawable(list(dict.fromkeys(_named(checked))))
    if len(drawn.again):
        state.say(drawn.reason)
    state.awaited.wish("left", state.study, drawn, lambda _: _write(state, checked))


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


# -- what values may be ------------------------------------------------------------------------------------------------


def _member(state: WindowState, where: str, value: Any) -> int:
    return _members(state, where, [value])[0]


def _members(state: WindowState, where: str, value: Any) -> list[int]:
    """Members that can be drawn."""
    need(where, value, list, "a list of members")
    for member in value:
        need(where, member, int, "numbers of members")
        if not 0 <= member < state.study.members:
            allowed = f"0 to {state.study.members - 1}"
            raise ModelError(where, f"member {member}", allowed, "Open the view of the study it was saved of.")
    drawable = state.study.drawable(value)
    if len(drawable.missing):
        raise ModelError(where, drawable.reason, "members that can be drawn", "Open the study it was saved of.")
    return [int(member) for member in value]


def _beside(state: WindowState, where: str, value: Any) -> int | None:
    return None if value is None else _member(state, where, value)


def _chosen(state: WindowState, where: str, value: Any) -> list[int]:
    if not value:
        raise ModelError(where, repr(value)[:80], "one member at least", "Name one.")
    return _members(state, where, value)


def _cells(state: WindowState, where: str, value: Any) -> list[int]:
    """Members of a grid, none for one view."""
    members = _members(state, where, value)
    if len(members) == 1 or len(members) > grid.SIZES[-1]:
        raise ModelError(where, f"{len(members)} members", f"none, or 2 to {grid.SIZES[-1]}", "Correct the list.")
    return members


def _text(state: WindowState, where: str, value: Any) -> str:
    need(where, value, str, "a text")
    return value


def _expression(state: WindowState, where: str, value: Any) -> str:
    """An expression that this study can read."""
    state.explorer.table.mask(_text(state, where, value))
    return value


def _flag(state: WindowState, where: str, value: Any) -> bool:
    need(where, value, bool, "true or false")
    return value


def _tab(state: WindowState, where: str, value: Any) -> str:
    one_of(where, value, TABS)
    return value


def _time(state: WindowState, where: str, value: Any) -> float:
    need_number(where, value, "a time [s]")
    return float(value)


def _column(state: WindowState, where: str, value: Any) -> str:
    one_of(where, value, state.explorer.table.names)
    return value


def _no_column(state: WindowState, where: str, value: Any) -> str:
    return "" if value == "" else _column(state, where, value)


def _metric(state: WindowState, where: str, value: Any) -> str:
    if value != "":
        one_of(where, value, state.study.metrics)
    return value


def _columns(state: WindowState, where: str, value: Any) -> list[str]:
    need(where, value, list, "a list of columns")
    return [_column(state, where, name) for name in value]


def _axes(state: WindowState, where: str, value: Any) -> list[str]:
    if len(_columns(state, where, value)) < 2:
        raise ModelError(where, f"{len(value)} axes", "two at least", "Name another column.")
    return value


def _fields(kind: type, allowed: str) -> Callable[[WindowState, str, Any], dict[str, Any]]:
    """A record of numbers with the fields of a class, all of them and no other."""
    names = {field.name for field in dataclasses.fields(kind)}

    def check(state: WindowState, where: str, value: Any) -> dict[str, Any]:
        need(where, value, dict, allowed)
        for name in names ^ value.keys():
            raise ModelError(f"{where}: key", repr(name)[:80], ", ".join(sorted(names)), "All of these, and no other.")
        for name, number in value.items():
            for part in number if isinstance(number, list) else [number]:
                if part is not None and not isinstance(part, bool):
                    need_number(f"{where}.{name}", part, allowed)
        return {name: tuple(number) if isinstance(number, list) else number for name, number in value.items()}

    return check


def _camera(state: WindowState, where: str, value: Any) -> Camera:
    entries = _fields(Camera, "the numbers of a camera")(state, where, value)
    for name, field in (("target", state.view.camera.target), ("up", state.view.camera.up)):
        if not isinstance(entries[name], tuple) or len(entries[name]) != len(field):
            raise ModelError(f"{where}.{name}", repr(entries[name])[:80], "three numbers", "Correct it.")
    for name in ("distance", "azimuth", "elevation", "view_angle"):
        need_number(f"{where}.{name}", entries[name], "a number")
    need(f"{where}.orthographic", entries["orthographic"], bool, "true or false")
    return Camera(**entries)


def _sizes(state: WindowState, where: str, value: Any) -> Sizes:
    return Sizes(**_fields(Sizes, "sizes of panes [points], null for the usual one")(state, where, value))


def _packed(mask: np.ndarray) -> str:
    """Which of (members,) bool are true, as text; "" for none."""
    return base64.b64encode(zlib.compress(np.packbits(mask).tobytes(), 9)).decode() if mask.any() else ""


def _mask(state: WindowState, where: str, value: Any) -> np.ndarray:
    count = state.explorer.table.rows
    if _text(state, where, value) == "":
        return np.zeros(count, bool)
    try:
        data = zlib.decompress(base64.b64decode(value, validate=True))
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ModelError(where, f"text that is none ({error})", "what was saved", "Save the view again.") from None
    if len(data) != -(-count // 8):
        todo = "Open the view of the study it was saved of."
        raise ModelError(where, f"a selection of {8 * len(data)} members", f"{count} of them", todo)
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count).astype(bool)


# -- the keys ----------------------------------------------------------------------------------------------------------


def _plain(owner: str, name: str, check: Callable[[WindowState, str, Any], Any]) -> ViewEntry:
    """An attribute of a part of the state, as it is."""

    def write(state: WindowState, value: Any) -> None:
        setattr(getattr(state, owner), name, value)

    return ViewEntry(lambda state: getattr(getattr(state, owner), name), check, write)


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


def _set_order(state: WindowState, value: dict[str, Any]) -> None:
    state.explorer.sort_by(value["by"], falling=value["falling"])


def _order(state: WindowState, where: str, value: Any) -> dict[str, Any]:
    need(where, value, dict, '{"by": COLUMN, "falling": true or false}')
    if value.keys() != {"by", "falling"}:
        raise ModelError(f"{where}: keys", ", ".join(map(repr, value))[:80], "by, falling", "Both, and no other.")
    return {"by": _column(state, where, value["by"]), "falling": _flag(state, where, value["falling"])}


ENTRIES: dict[str, ViewEntry] = {
    "study": ViewEntry(lambda s: str(s.study.where), _text, lambda s, _: None),
    "chosen": ViewEntry(lambda s: s.choice.chosen[:MOST_GHOSTS].tolist(), _chosen, _set_chosen),
    "choice": _plain("choice", "text", _text),
    "ghosts": _plain("choice", "ghosts_on", _flag),
    "colour_by": _plain("choice", "colour_by", _metric),
    "member": ViewEntry(lambda s: s.choice.member, _member, lambda s, member: s.show_member(member)),
    "beside": ViewEntry(_beside_now, _beside, _set_beside),
    "time": ViewEntry(lambda s: s.clock.time, _time, lambda s, time: s.go_to(time)),
    "camera": ViewEntry(lambda s: dataclasses.asdict(s.current_camera()), _camera,
                    lambda s, camera: (setattr(s.view, "followed", None), setattr(s.view, "camera", camera))[-1]),
    "panes": _plain("panels", "panes_on", _flag),
    "sizes": ViewEntry(lambda s: dataclasses.asdict(s.panels.sizes), _sizes,
                   lambda s, sizes: setattr(s.panels, "sizes", sizes)),
    "study_pane": _plain("explorer", "shown_on", _flag),
    "tab": ViewEntry(lambda s: s.explorer.tab, _tab, lambda s, tab: s.explorer.open_tab(tab)),
    "columns": _plain("explorer", "columns", _columns),
    "order": ViewEntry(lambda s: {"by": s.explorer.sort, "falling": s.explorer.falling}, _order, _set_order),
    "x": _plain("explorer", "x", _column),
    "y": _plain("explorer", "y", _column),
    "colour": _plain("explorer", "colour", _no_column),
    "histogram": _plain("explorer", "bars", _column),
    "axes": _plain("explorer", "axes", _axes),
    "expression": ViewEntry(lambda s: s.explorer.expression, _expression, lambda s, text: selecting.show(s, text)),
    "selected": ViewEntry(lambda s: _packed(s.explorer.selected), _mask, _set_selected),
    "grid": ViewEntry(lambda s: list(s.explorer.cells), _cells, _set_grid),
}  # fmt: skip
