"""Names of a model changed, with all that refers to them.

Problem: elements are known by their paths, and these stand in references, in paths of numbers that follow from others,
and in the texts of events, in full or without their leading assemblies.
The result has: nothing is another one but names; a text keeps whatever the user wrote of it beside them, so that a
second renaming gives the first one back. A short path that would be another element's, or several, is written in full.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from shiftjax.editing.changes import Changed
from shiftjax.editing.elements import changed_lists, list_of, need_free, referring, with_elements
from shiftjax.editing.path_moves import PathMoves, moved_expressions, with_moved_events
from shiftjax.errors import ModelError, nearest, need, one_of
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.frozen_json import FrozenJson, thaw
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.named_objects import LIST_OF, NAMEABLE, SECTION_OF, named_objects
from shiftjax.mechanism.paths import child, listed, parts
from shiftjax.mechanism.records import FIXED, ORIGIN, Frame, walk
from shiftjax.mechanism.sublinkages import with_moved, with_name

MOST_FILES, MOST_BYTES = 100, 1_000_000  # of studies beside a model that are looked at


def rename(changed: Changed, path: str, name: str, what: str | None) -> Changed:
    """An object of another name, and all that refers to it."""
    model, moves = renamed(changed.model, path, name, what)
    before = _name_of(_object_of(changed.model, path, what)[1])
    left = _left(changed.model, before)
    notes = [f"data of {listed(left)} names {before!r}, and is kept as it is"] if left else []
    files = _studies_beside(changed.model, before)
    notes += [f"studies beside the model still name {before!r}: {listed(files)}"] if files else []
    poses = {moves.moved.get(("body", body), body): pose for body, pose in changed.poses.items()}
    changed = replace(changed, model=model, poses=poses, moves=(*changed.moves, moves))
    return changed.noting(*notes)


def renamed(model: Model, path: str, name: str, what: str | None = None) -> tuple[Model, PathMoves]:
    """The model in which an object has another name, and where its objects went.

    Args:
        path: of it, or the end of one; of a parameter, point, event, light or terrain its name, or `parameters.NAME`.
        what: one of `NAMEABLE`, where several objects have this path.

    Raises:
        ModelError: no such object, or several; a name that is taken, or cannot be; a path of an event that could be
            of several objects.
    """
    kind, full = _object_of(model, path, what)
    where = f"rename {full}"
    need_free(model, kind, full, name, where)
    changed = _with_name(model, kind, full, name)
    sprung = (path for path, joint in list_of(model, "joints").items() if joint.stiffness or joint.damping)
    now = (after for _, after in named_objects(changed))
    moves = PathMoves(dict(zip(named_objects(model), now, strict=True)), frozenset(sprung))
    changed = changed_lists(changed, lambda of, _, item: referring(item, of, moves.frame, moves.coordinate))
    lights, terrain = (
        tuple(replace(one, parent=moves.frame(one.parent)) for one in several)
        for several in (changed.lights, changed.terrain)
    )
    sublinkages = with_moved(changed.sublinkages, moves.coordinate)
    changed = replace(changed, lights=lights, terrain=terrain, sublinkages=sublinkages)
    changed = replace(changed, expressions=FrozenJson(moved_expressions(model.expressions, moves, where)))
    return with_moved_events(model, changed, moves, where), moves


def _object_of(model: Model, path: str, what: str | None) -> tuple[str, str]:
    """What a path means, and in full."""
    need("rename", path, str, "the path of an object")
    if what is not None:
        one_of(f"rename {path}: what", what, NAMEABLE)
    known = [one for one in named_objects(model) if what in (None, one[0]) and not _is_origin(one)]
    matches = [one for one in known if one[1] == path]
    matches = matches or [one for one in known if one[1].endswith(f":{path}")]
    matches = matches or [one for one in known if one[0] in SECTION_OF and one[1].partition(".")[2] == path]
    if len(matches) == 1:
        return matches[0]
    if matches:
        which = listed([f"{full}, what={kind!r}" for kind, full in matches], 8)
        todo = "Write the path in full." if len({full for _, full in matches}) > 1 else "Say what= it is."
        raise ModelError("rename", f"{path!r}, of which there are {len(matches)}", which, todo)
    names = {FIXED: "ground", ORIGIN: "the origin of a body"}
    if (fault := names.get(_name_of(path))) is not None:
        raise ModelError("rename", f"{path!r}, {fault}, which has no other name", "another object", "Name another one.")
    todo = nearest(path, [full for _, full in known]) or "`shiftjax info MODEL` lists the names."
    raise ModelError("rename", f"{path!r}, no {what or 'object'} of the model", "the path of one", todo)


def _is_origin(one: tuple[str, str]) -> bool:
    return one[0] == "frame" and parts(one[1])[-1] == ORIGIN


def _name_of(full: str) -> str:
    """The plain name at the end of a path."""
    section, _, name = full.partition(".")
    return name if name and section in SECTION_OF.values() else parts(full)[-1]


def _with_name(model: Model, kind: str, full: str, name: str) -> Model:
    """The model in which one record has another name, and nothing that refers to it has."""
    if kind in LIST_OF:
        item = next(
            one
            for path, assembly, _ in walk(model.assemblies)
            for one in getattr(assembly, LIST_OF[kind])
            if child(path, one.name) == full
        )
        return with_elements(model, LIST_OF[kind], {full: replace(item, name=name)})
    if kind == "assembly":
        return replace(
            model, assemblies=rebuilt(model.assemblies, lambda one, at: replace(one, name=name) if at == full else one)
        )
    if kind == "frame":
        return _with_frame_name(model, full, name)
    before = full.partition(".")[2]
    if kind == "event":
        return replace(
            model, events=FrozenJson({name if one == before else one: words for one, words in model.events.items()})
        )
    if kind == "sublinkage":
        return replace(model, sublinkages=with_name(model.sublinkages, before, name))
    items = getattr(model, SECTION_OF[kind])
    return replace(
        model, **{SECTION_OF[kind]: tuple(replace(one, name=name) if one.name == before else one for one in items)}
    )


def _with_frame_name(model: Model, full: str, name: str) -> Model:
    def of(frames: tuple[Frame, ...], body: str) -> tuple[Frame, ...]:
        return tuple(replace(one, name=name) if child(body, one.name) == full else one for one in frames)

    def change(kind: str, path: str, item: Any) -> Any:
        return replace(item, frames=of(item.frames, path)) if kind == "bodies" else item

    return replace(changed_lists(model, change), frames=of(model.frames, FIXED))


def _left(model: Model, name: str) -> list[str]:
    """Paths of bodies and joints whose `data`, of which only the user knows what it means, has a name."""
    return [
        child(path, item.name)
        for path, assembly, _ in walk(model.assemblies)
        for item in (*assembly.bodies, *assembly.joints)
        if item.data is not None and _has(thaw(item.data), lambda text: name in parts(text.partition(".")[0]))
    ]


def _has(value: Any, wanted: Callable[[str], bool]) -> bool:
    """Whether a text of a JSON value is wanted."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str) and wanted(one):
            return True
        if isinstance(one, Mapping):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            stack += one
    return False


def _studies_beside(model: Model, name: str) -> list[str]:
    """Names of studies in the folder of a model's file that have a name."""
    source, word = Path(model.source), re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if not model.source or not source.is_file():
        return []
    out = []
    for file in islice(sorted(source.parent.glob("*.toml")), MOST_FILES):
        try:
            text = file.read_text(encoding="utf-8") if file.stat().st_size < MOST_BYTES else ""
        except (OSError, UnicodeDecodeError):
            continue  # no study that could be run
        if word.search(text):
            out.append(file.name)
    return out
