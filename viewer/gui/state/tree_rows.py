"""The rows of the model tree. No GL, no GUI library.

Rows stand depth first, each with its depth; a row's children follow it. Groups without members are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, ORIGIN, Assembly, Body, Frame, Joint, Restraint
from shiftjax.record import record
from shiftjax.run.results.plain_values import plain
from shiftjax.viewer.members.study_like import StudyLike

OPEN = ("assembly", "bodies", "joints", "fixed", "run")  # kinds of rows that are open at first
GROUPS = {  # name of a group -> the lists of an assembly whose elements it holds
    "forces": ("restraints", "force_modules"),
    "constraints": ("constraints",),
    "drivers": ("drivers",),
}


@record
class Row:
    """A row of the tree."""

    key: str  # unique
    name: str
    kind: str  # "fixed", "assembly", "body", "joint", "frame", ... or the name of a group
    depth: int
    path: str = ""  # of its item; "" for a group
    hideable: bool = False
    value: str = ""  # constant over time
    parent: bool = False  # whether it has children


def scene_rows(model: Model) -> tuple[Row, ...]:
    """The model as it was written: ground, then the assemblies with everything in them."""
    return _closed([*_ground(model), *(row for a in model.assemblies for row in _assembly(a, "", 0, True))])


def simulation_rows(study: StudyLike, member: int) -> tuple[Row, ...]:
    """Settings of the run and results of one member."""
    rows = [Row("run", "run", "run", 0)]
    rows += [_plain_row("run", name, str(plain(value))) for name, value in study.settings.items()]
    rows.append(Row("member", f"member {member}", "run", 0))
    message = study.message(member)
    rows += [_plain_row("member", "message", message)] if message else []
    rows += [_plain_row("member", name, number(study.value(name, member), study.unit(name))) for name in study.metrics]
    if study.design:
        rows.append(Row("design", "varied", "run", 0))
        rows += [_plain_row("design", p, number(study.value(p, member), study.unit(p))) for p in study.design]
    rows.append(Row("channels", "channels", "run", 0))
    rows += [_plain_row("channels", path, unit) for path, unit in study.channels.items()]
    return _closed(rows)


def search(rows: Iterable[Row], text: str) -> tuple[Row, ...]:
    """The rows whose name or path holds the text, ignoring case, and their ancestors; all rows for an empty text."""
    rows, wanted = list(rows), text.strip().casefold()
    if not wanted:
        return tuple(rows)
    shown: list[Row] = []
    deepest = -1  # depth of the row kept last; going backwards, the next one less deep is its parent
    for row in reversed(rows):
        matches = wanted in row.name.casefold() or (row.path and wanted in row.path.casefold())
        if matches or row.depth < deepest:
            shown.append(row)
            deepest = row.depth
    return tuple(reversed(shown))


def unfolded(rows: Iterable[Row], opened: set[str]) -> tuple[Row, ...]:
    """The visible rows when the rows of these keys are open."""
    seen: list[Row] = []
    limit: int | None = None  # depth of the closed row that hides the following ones
    for row in rows:
        if limit is not None and row.depth > limit:
            continue
        limit = row.depth if row.parent and row.key not in opened else None
        seen.append(row)
    return tuple(seen)


def opened_at_first(rows: Iterable[Row]) -> set[str]:
    """Keys of the rows that are open at first."""
    return {row.key for row in rows if row.parent and row.kind in OPEN}


def number(value: Any, unit: str = "1") -> str:
    """A formatted number with its unit."""
    text = f"{float(value):.6g}"
    return text if unit in ("1", "") else f"{text} {unit}"


def _ground(model: Model) -> Iterator[Row]:
    yield Row(FIXED, "fixed", "fixed", 0, FIXED)
    frames = (Frame(ORIGIN), *model.frames)
    yield Row("group:fixed:frames", "frames", "frames", 1)
    yield from (Row(child(FIXED, f.name), f.name, "frame", 2, child(FIXED, f.name), True) for f in frames)
    if model.lights:
        yield Row("group:fixed:lights", "lights", "lights", 1)
        yield from (Row(f"light:{item.name}", item.name, "light", 2, value=item.type) for item in model.lights)
    if model.terrain:
        yield Row("group:fixed:terrain", "terrain", "terrain", 1)
        yield from (
            Row(path := child("terrain", item.name), item.name, "terrain", 2, path, True) for item in model.terrain
        )


def _assembly(top: Assembly, above: str, depth: int, active: bool) -> Iterator[Row]:
    """An assembly and its contents; iterative, since they nest to any depth."""
    stack = [(top, above, depth, active)]
    while stack:
        assembly, above, depth, active = stack.pop()
        path, active = child(above, assembly.name), active and assembly.active
        yield Row(path, _named(assembly.name, active), "assembly", depth, path)
        for kind, items in (("bodies", assembly.bodies), ("joints", assembly.joints)):
            if items:
                yield Row(f"group:{path}:{kind}", kind, kind, depth + 1)
            for item in items:
                yield from _element(item, path, depth + 2, active and item.active)
        for group, kinds in GROUPS.items():
            yield from _group(assembly, path, depth + 1, active, group, kinds)
        stack.extend((inner, path, depth + 1, active) for inner in reversed(assembly.assemblies))


def _group(
    assembly: Assembly, path: str, depth: int, active: bool, group: str, kinds: tuple[str, ...]
) -> Iterator[Row]:
    """Forces, constraints or drivers of an assembly; only restraints between frames are drawn."""
    items = [(item, kind) for kind in kinds for item in getattr(assembly, kind)]
    if items:
        yield Row(f"group:{path}:{group}", group, group, depth)
    for item, kind in items:
        item_path, acts = child(path, item.name), active and item.active
        drawn = isinstance(item, Restraint) and item.frames is not None and acts
        yield Row(f"{kind}:{item_path}", _named(item.name, acts), group[:-1], depth + 1, item_path, drawn, item.type)


def _element(item: Body | Joint, above: str, depth: int, active: bool) -> Iterator[Row]:
    path = child(above, item.name)
    if isinstance(item, Joint):
        yield Row(f"joint:{path}", _named(item.name, active), "joint", depth, path, active, item.type)
        return
    yield Row(f"body:{path}", _named(item.name, active), "body", depth, path, active, number(item.mass, "kg"))
    for frame in (Frame(ORIGIN), *item.frames):
        inner = child(path, frame.name)
        yield Row(inner, frame.name, "frame", depth + 1, inner, active)


def _named(name: str, active: bool) -> str:
    return name if active else f"{name} (inactive)"


def _plain_row(group: str, name: str, value: str) -> Row:
    return Row(f"{group}:{name}", name, "figure", 1, value=value)


def _closed(rows: list[Row]) -> tuple[Row, ...]:
    """The rows with `parent` set."""
    following = [row.depth for row in rows[1:]] + [0]
    return tuple(
        Row(r.key, r.name, r.kind, r.depth, r.path, r.hideable, r.value, after > r.depth)
        for r, after in zip(rows, following, strict=True)
    )
