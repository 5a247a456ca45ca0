"""Properties of springs, loads, constraints and drivers as names and texts. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Iterator

from shiftjax.mechanism.fields import kind_of, numbers_of, unit_of, value_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import text_of
from shiftjax.mechanism.records import Element, Restraint

IN_A_ROW = ("vector", "numbers", "points", "rows")  # shapes of fields whose last index runs along a row
MOST_NUMBERS = 6  # in a row, and
MOST_ROWS = 24  # of numbers: of a long table its beginning is shown


def element_at(model: Model, path: str) -> Restraint | Element | None:
    """The active restraint, force module, constraint or driver of a path."""
    restraint = dict(model.restraints()).get(path)
    return dict(model.acting()).get(path) if restraint is None else restraint


def properties(model: Model, item: Restraint | Element) -> list[tuple[str, str]]:
    """Names and texts: what it is, what it acts on, its numbers with units, its words."""
    rows = [("type", item.type)]
    rows += [("joint", path) for path in ((item.joint,) if isinstance(item, Restraint) else item.joints) if path]
    rows += [("frame", ref.path) for ref in item.frames or ()]
    rows += _numbers(model, item)
    if isinstance(item, Restraint):
        rows += [("axis of the first frame", item.distance_type)] if item.distance_type else []
    else:
        kind = kind_of(item)
        rows += [(word.name, str(value_of(item, word.name))) for word in (kind.words if kind is not None else ())]
    return [*rows, *([("note", item.comment)] if item.comment else [])]


def _numbers(model: Model, item: Restraint | Element) -> Iterator[tuple[str, str]]:
    """A row for every number; vectors and lists of one unit stand in one."""
    along = model.coordinate_units()[item.joint] if item.joint else "m"
    rows: dict[str, list[float]] = {}
    for field, keys, value in numbers_of(item):
        shown = keys[:-1] if field.shape in IN_A_ROW else keys
        unit = unit_of(field, keys, item, along)
        rows.setdefault(text_of(shown)[1:] + ("" if unit == "1" else f" [{unit}]"), []).append(value)
        if len(rows) > MOST_ROWS:
            break
    for name, values in list(rows.items())[:MOST_ROWS]:
        more = f" ... ({len(values)})" if len(values) > MOST_NUMBERS else ""
        yield name, " ".join(f"{value:.6g}" for value in values[:MOST_NUMBERS]) + more
    if len(rows) > MOST_ROWS:
        yield "...", "further numbers: `shiftjax info MODEL --paths`"
