"""What the values of a saved view may be: each is checked against the study before anything is changed.

A check takes the state, where in the file a value stands, and the value; it returns what is then set, or raises a
ModelError.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need, need_number, one_of
from shiftjax.viewer.gui.actions.members import grid
from shiftjax.viewer.gui.state.layout import Sizes
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.explorer import TABS
from shiftjax.viewer.members.brush import Brush, Range
from shiftjax.viewer.members.member_sets import MOST_SETS, MemberSet, with_set
from shiftjax.viewer.members.query import FRONT
from shiftjax.viewer.scene.camera import Camera


def member(state: WindowState, where: str, value: Any) -> int:
    """A member that can be drawn."""
    return members(state, where, [value])[0]


def members(state: WindowState, where: str, value: Any) -> list[int]:
    """Members that can be drawn."""
    need(where, value, list, "a list of members")
    for number in value:
        need(where, number, int, "numbers of members")
        if not 0 <= number < state.study.members:
            allowed = f"0 to {state.study.members - 1}"
            raise ModelError(where, f"member {number}", allowed, "Open the view of the study it was saved of.")
    drawable = state.study.drawable(value)
    if len(drawable.missing):
        raise ModelError(where, drawable.reason, "members that can be drawn", "Open the study it was saved of.")
    return [int(number) for number in value]


def beside(state: WindowState, where: str, value: Any) -> int | None:
    """A member of the right half, or none."""
    return None if value is None else member(state, where, value)


def chosen(state: WindowState, where: str, value: Any) -> list[int]:
    """Members that can be drawn, one at least."""
    if not value:
        raise ModelError(where, repr(value)[:80], "one member at least", "Name one.")
    return members(state, where, value)


def cells(state: WindowState, where: str, value: Any) -> list[int]:
    """Members of a grid, none for one view."""
    numbers = members(state, where, value)
    if len(numbers) == 1 or len(numbers) > grid.SIZES[-1]:
        raise ModelError(where, f"{len(numbers)} members", f"none, or 2 to {grid.SIZES[-1]}", "Correct the list.")
    return numbers


def text(state: WindowState, where: str, value: Any) -> str:
    """Any text."""
    need(where, value, str, "a text")
    return value


def expression(state: WindowState, where: str, value: Any) -> str:
    """An expression that this study can read."""
    state.explorer.table.mask(text(state, where, value))
    return value


def flag(state: WindowState, where: str, value: Any) -> bool:
    """True or false."""
    need(where, value, bool, "true or false")
    return value


def tab(state: WindowState, where: str, value: Any) -> str:
    """A tab of the study pane."""
    one_of(where, value, TABS)
    return value


def time(state: WindowState, where: str, value: Any) -> float:
    """A time [s]."""
    need_number(where, value, "a time [s]")
    return float(value)


def column(state: WindowState, where: str, value: Any) -> str:
    """A column of the study."""
    one_of(where, value, state.explorer.table.names)
    return value


def no_column(state: WindowState, where: str, value: Any) -> str:
    """A column of the study, or ""."""
    return "" if value == "" else column(state, where, value)


def metric(state: WindowState, where: str, value: Any) -> str:
    """A metric of the study, or ""."""
    if value != "":
        one_of(where, value, state.study.metrics)
    return value


def columns(state: WindowState, where: str, value: Any) -> list[str]:
    """Columns of the study."""
    need(where, value, list, "a list of columns")
    return [column(state, where, name) for name in value]


def axes(state: WindowState, where: str, value: Any) -> list[str]:
    """Two columns at least."""
    if len(columns(state, where, value)) < 2:
        raise ModelError(where, f"{len(value)} axes", "two at least", "Name another column.")
    return value


def fields(kind: type, allowed: str) -> Callable[[WindowState, str, Any], dict[str, Any]]:
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


def camera(state: WindowState, where: str, value: Any) -> Camera:
    """All numbers of a camera."""
    entries = fields(Camera, "the numbers of a camera")(state, where, value)
    for name, field in (("target", state.view.camera.target), ("up", state.view.camera.up)):
        if not isinstance(entries[name], tuple) or len(entries[name]) != len(field):
            raise ModelError(f"{where}.{name}", repr(entries[name])[:80], "three numbers", "Correct it.")
    for name in ("distance", "azimuth", "elevation", "view_angle"):
        need_number(f"{where}.{name}", entries[name], "a number")
    need(f"{where}.orthographic", entries["orthographic"], bool, "true or false")
    return Camera(**entries)


def sizes(state: WindowState, where: str, value: Any) -> Sizes:
    """Sizes of panes [points]."""
    return Sizes(**fields(Sizes, "sizes of panes [points], null for the usual one")(state, where, value))


def packed(mask: np.ndarray) -> str:
    """Which of (members,) bool are true, as text; "" for none."""
    return base64.b64encode(zlib.compress(np.packbits(mask).tobytes(), 9)).decode() if mask.any() else ""


def mask(state: WindowState, where: str, value: Any) -> np.ndarray:
    """(members,) bool, as `packed` writes them."""
    count = state.explorer.table.rows
    if text(state, where, value) == "":
        return np.zeros(count, bool)
    try:
        data = zlib.decompress(base64.b64decode(value, validate=True))
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ModelError(where, f"text that is none ({error})", "what was saved", "Save the view again.") from None
    if len(data) != -(-count // 8):
        todo = "Open the view of the study it was saved of."
        raise ModelError(where, f"a selection of {8 * len(data)} members", f"{count} of them", todo)
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count).astype(bool)


def written(brush: Brush) -> dict[str, Any]:
    """A brush as it is saved: its query, and both ends of each column, null where there is none."""
    ends = {one.column: [value if math.isfinite(value) else None for value in (one.low, one.high)]
            for one in brush.ranges}  # fmt: skip
    return {"query": brush.query, "between": ends}


def brushes(state: WindowState, where: str, value: Any) -> list[Brush]:
    """Brushes as `written` writes them, of columns of this study."""
    need(where, value, list, "a list of brushes")
    out = []
    for k, one in enumerate(value):
        place = f"{where}[{k}]"
        need(place, one, dict, '{"query": TEXT, "between": {COLUMN: [low, high]}}')
        if one.keys() != {"query", "between"}:
            raise ModelError(f"{place}: keys", ", ".join(map(repr, one))[:80], "query, between", "Both, and no other.")
        need(f"{place}.between", one["between"], dict, "{COLUMN: [low, high]}")
        ranges = tuple(_range(state, f"{place}.between", name, ends) for name, ends in one["between"].items())
        out.append(Brush(ranges, expression(state, f"{place}.query", one["query"])))
    return out


def _range(state: WindowState, where: str, name: str, ends: Any) -> Range:
    """Both ends of a column."""
    allowed = "[low, high], rising, null where there is no end"
    need(f"{where}.{name}", ends, list, allowed)
    if len(ends) != 2:
        raise ModelError(f"{where}.{name}", repr(ends)[:80], allowed, "Correct it.")
    for end in ends:
        if end is not None:
            need_number(f"{where}.{name}", end, allowed)
    low, high = (
        default if end is None else float(end) for end, default in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if low > high:
        raise ModelError(f"{where}.{name}", repr(ends)[:80], allowed, "Exchange them.")
    return Range(column(state, where, name), low, high)


def written_set(one: MemberSet) -> dict[str, Any]:
    """A set of members as it is saved."""
    return {"name": one.name, "members": packed(one.mask), "text": one.text, "colour": one.colour}


def sets(state: WindowState, where: str, value: Any) -> tuple[MemberSet, ...]:
    """Sets as `written_set` writes them."""
    need(where, value, list, "a list of sets")
    keys, table = {"name", "members", "text", "colour"}, state.explorer.table
    read: tuple[MemberSet, ...] = ()
    for k, one in enumerate(value):
        place = f"{where}[{k}]"
        need(place, one, dict, '{"name": NAME, "members": MEMBERS, "text": TEXT, "colour": PLACE}')
        if one.keys() != keys:
            raise ModelError(f"{place}: keys", ", ".join(map(repr, one))[:80], ", ".join(sorted(keys)), "All of these.")
        name = text(state, f"{place}.name", one["name"])
        if any(name == other.name for other in read):
            raise ModelError(f"{place}.name", repr(name)[:80], "a name of its own", "Rename one of both.")
        need(f"{place}.colour", one["colour"], int, f"0 to {MOST_SETS - 1}")
        if not 0 <= one["colour"] < MOST_SETS:
            raise ModelError(f"{place}.colour", str(one["colour"])[:80], f"0 to {MOST_SETS - 1}", "Correct it.")
        members_of = mask(state, f"{place}.members", one["members"])
        words = text(state, f"{place}.text", one["text"])
        read = with_set(read, name, members_of, words, table)
        read = (*read[:-1], dataclasses.replace(read[-1], colour=one["colour"]))
    return read


def written_trace(state: WindowState) -> dict[str, Any] | None:
    """The traced point as it is saved: its body, where it is in it [m], the frame that it is the origin of, "" for
    none; null where nothing is traced."""
    if state.view.trace is None:
        return None
    node, point = state.view.trace
    return {"body": state.study.nodes[node], "point": point.tolist(), "frame": state.view.trace_frame}


def trace(state: WindowState, where: str, value: Any) -> dict[str, Any] | None:
    """A traced point as `written_trace` writes it, of a body and a frame of this study."""
    if value is None:
        return None
    need(where, value, dict, '{"body": BODY, "point": [x, y, z], "frame": FRAME}, or null')
    if value.keys() != {"body", "point", "frame"}:
        raise ModelError(f"{where}: keys", ", ".join(map(repr, value))[:80], "body, point, frame", "All of these.")
    one_of(f"{where}.body", value["body"], state.study.nodes)
    need(f"{where}.point", value["point"], list, "three numbers [m]")
    if len(value["point"]) != 3:
        raise ModelError(f"{where}.point", repr(value["point"])[:80], "three numbers [m]", "Correct it.")
    for number in value["point"]:
        need_number(f"{where}.point", number, "three numbers [m]")
    if text(state, f"{where}.frame", value["frame"]):
        one_of(f"{where}.frame", value["frame"], state.mechanism.frames)
    return value


def design(state: WindowState, where: str, value: Any) -> dict[str, Any] | None:
    """Where the sliders of a design stand: all varied numbers of this study, and the member that they began at."""
    if value is None:
        return None
    keys = {"like", "simulates", "shown", "values"}
    need(where, value, dict, '{"like": MEMBER, "simulates": FLAG, "shown": FLAG, "values": {PATH: NUMBER}}, or null')
    if value.keys() != keys:
        raise ModelError(f"{where}: keys", ", ".join(map(repr, value))[:80], ", ".join(sorted(keys)), "All of these.")
    need(f"{where}.like", value["like"], int, "the number of a member")
    if not 0 <= value["like"] < state.study.members:
        allowed = f"0 to {state.study.members - 1}"
        raise ModelError(f"{where}.like", f"member {value['like']}", allowed, "Open the study it was saved of.")
    for key in ("simulates", "shown"):
        flag(state, f"{where}.{key}", value[key])
    trials = state.study.trials
    if trials is None or not trials.ranges:
        raise ModelError(where, "sliders", "null: a stored study whose numbers vary has them", "Leave them out.")
    numbers, names = value["values"], trials.ranges
    need(f"{where}.values", numbers, dict, "{PATH: NUMBER}")
    if numbers.keys() != names.keys():
        mistake, todo = ", ".join(map(repr, numbers))[:80], "Open the study it was saved of."
        raise ModelError(f"{where}.values", mistake, ", ".join(names), todo)
    for path, number in numbers.items():
        need_number(f"{where}.values.{path}", number, "a number")
    return {**value, "values": {path: float(number) for path, number in numbers.items()}}


def front(state: WindowState, where: str, value: Any) -> dict[str, Any]:
    """Whether the front is marked, and of which metrics, "" for both axes."""
    need(where, value, dict, '{"on": true or false, "of": METRICS}')
    if value.keys() != {"on", "of"}:
        raise ModelError(f"{where}: keys", ", ".join(map(repr, value))[:80], "on, of", "Both, and no other.")
    if text(state, f"{where}.of", value["of"]).strip():
        expression(state, f"{where}.of", f"{FRONT}({value['of']})")
    return {"on": flag(state, f"{where}.on", value["on"]), "of": value["of"]}


def order(state: WindowState, where: str, value: Any) -> dict[str, Any]:
    """A column to sort by, and whether it falls."""
    need(where, value, dict, '{"by": COLUMN, "falling": true or false}')
    if value.keys() != {"by", "falling"}:
        raise ModelError(f"{where}: keys", ", ".join(map(repr, value))[:80], "by, falling", "Both, and no other.")
    return {"by": column(state, where, value["by"]), "falling": flag(state, where, value["falling"])}
