"""Edits of what a model states beside its mechanics: limits, locks, targets and postures of posing; what is virtual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shiftjax.editing.changes import Changed
from shiftjax.editing.elements import joint_of, list_of, with_elements
from shiftjax.editing.locks import LockNames
from shiftjax.errors import ModelError, nearest, need, need_number
from shiftjax.joints import KINDS
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.fields import numbers_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed, matching, split
from shiftjax.mechanism.physical import faults
from shiftjax.mechanism.posing import starts_beyond, with_coordinate
from shiftjax.mechanism.records import WantedValue
from shiftjax.quantities import in_si

End = float | str | None


def limit(changed: Changed, coordinate: str, low: End, high: End) -> Changed:
    """Limits of a coordinate [rad, m, or texts with a unit], None for an end that is none."""
    where = f"limit {coordinate}"
    path, name, unit = _coordinate(changed.model, coordinate, where)
    ends = tuple(None if end is None else _number(end, unit, f"{where}: {side}")
                 for side, end in (("low", low), ("high", high)))  # fmt: skip
    return _with_stated(changed, path, "limits", name, None if ends == (None, None) else ends, where)


def wanted(changed: Changed, key: str, coordinate: str, value: End, weight: float, level: float | None) -> Changed:
    """A target or a posture of a coordinate; none any more where the value is None."""
    where = f"{key} {coordinate}"
    path, name, unit = _coordinate(changed.model, coordinate, where)
    need_number(f"{where}: weight", weight, "a number above 0")
    if not weight > 0.0:
        raise ModelError(f"{where}: weight", f"{weight:g}", "a number above 0", "Leave out what does not count.")
    if level is not None:
        need_number(f"{where}: level", level, "a finite number")
    one = None
    if value is not None:
        one = WantedValue(
            _number(value, unit, f"{where}: value"), float(weight), None if level is None else float(level)
        )
    return _with_stated(changed, path, key, name, one, where)


def lock(changed: Changed, paths: Sequence[str]) -> Changed:
    """Coordinates, joints and bodies that posing leaves where they are."""
    locks = LockNames(changed.model)
    if not paths:
        raise ModelError("lock", "nothing", "coordinates, joints or bodies", "Name what stays.")
    names = {name for path in paths for name in locks.named(path, "lock")}
    return replace(changed, model=locks.written(changed.model, locks.stated | names))


def unlock(changed: Changed, paths: Sequence[str]) -> Changed:
    """What posing moves again; all where nothing is named."""
    locks = LockNames(changed.model)
    names = {name for path in paths for name in locks.named(path, "unlock")} or locks.stated
    return replace(changed, model=locks.written(changed.model, locks.stated - names))


def virtual(changed: Changed, paths: Sequence[str], *, on: bool) -> Changed:
    """Bodies and joints that are virtual, or real; a path that both a body and a joint have is of both."""
    where, model = "make_virtual" if on else "make_real", changed.model
    if not paths:
        raise ModelError(where, "nothing", "bodies or joints", "Name them.")
    active = {"bodies": dict(model.bodies()), "joints": dict(model.joints())}
    known = [*active["bodies"], *active["joints"]]
    for path in paths:
        need(where, path, str, "the path of a body or a joint")
        matches = set(matching(known, path))
        if len(matches) != 1:
            which = listed(sorted(matches)) or "a body or a joint that is on"
            todo = "Write the path in full." if matches else nearest(path, known) or "Name one of them."
            raise ModelError(where, f"{path!r}, of which there are {len(matches)}", which, todo)
        full = matches.pop()
        for kind in ("bodies", "joints"):
            if full in active[kind]:
                item = replace(list_of(model, kind)[full], virtual=on)
                _refuse_impossible(item, f"{where} {full}")
                model = with_elements(model, kind, {full: item})
    return replace(changed, model=model)


def _coordinate(model: Model, coordinate: str, where: str) -> tuple[str, str, str]:
    """Path of its joint, name in it and unit."""
    full = plain_coordinate(model, coordinate, where)
    path, field = split(full)
    kind = KINDS[joint_of(model, path, where)[1].type]
    one = kind.coordinates[kind.named(field)[0]]
    return path, one.name, one.unit


def _number(given: Any, unit: str, where: str) -> float:
    if isinstance(given, str):
        return in_si(given, unit, where)
    need_number(where, given, "a finite number, or a text with its unit")
    return float(given)


def _with_stated(changed: Changed, path: str, key: str, name: str, value: Any, where: str) -> Changed:
    joint = list_of(changed.model, "joints")[path]
    joint = replace(joint, **{key: with_coordinate(joint, key, name, value)})
    _refuse_impossible(joint, where)
    beyond = starts_beyond(joint) if key == "limits" else ""
    changed = replace(changed, model=with_elements(changed.model, "joints", {path: joint}))
    return changed.noting(f"{path}: {beyond}" if beyond else "")


def _refuse_impossible(item: Any, where: str) -> None:
    for fault in faults(item, numbers_of(item)):
        if fault.bad[0] and fault.certain:
            raise ModelError(where, fault.found(0), fault.allowed, fault.todo)
