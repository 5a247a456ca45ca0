"""What a joint states of posing when it becomes another one. Records alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shiftjax.joints import KINDS, JointKind
from shiftjax.mechanism.posing import OF_COORDINATES, OF_JOINTS, of_coordinates, with_coordinate
from shiftjax.mechanism.records import Joint


def carried(old: Joint, fresh: Joint, given: Mapping[str, Any]) -> tuple[Joint, list[str]]:
    """A joint of another kind with what the one before states of posing, as far as it has the same coordinates; and
    the keys of what is lost.

    Args:
        given: words that say otherwise.
    """
    before, now = KINDS[old.type], KINDS[fresh.type]
    same, lost = _same_coordinates(before, now), list[str]()
    for key in OF_COORDINATES:
        if key in given:
            continue
        for name, value in of_coordinates(old, key).items():
            if name in same:
                fresh = replace(fresh, **{key: with_coordinate(fresh, key, same[name], value)})
            else:
                lost.append(key)
    if "lock" not in given:
        names = tuple(same[name] for name in old.lock if name in same) if isinstance(old.lock, tuple) else ()
        stays = bool(now.primitives) and old.lock is True
        fresh = replace(fresh, lock=stays or names or False)
        lost += ["lock"] if old.lock and (not fresh.lock or (names and len(names) < len(old.lock))) else []  # type: ignore[arg-type]
    if "virtual" not in given:
        fresh = replace(fresh, virtual=old.virtual)
    return fresh, [*dict.fromkeys(lost)]


def stated_words(joint: Joint) -> str:
    """What a joint states of posing, as "limits and lock"; "" where nothing."""
    return " and ".join(key for key in OF_JOINTS if getattr(joint, key))


def _same_coordinates(before: JointKind, now: JointKind) -> dict[str, str]:
    """Name of a coordinate of one number -> that of the same one of another kind."""
    if before.placed or now.placed:
        return {}
    if before.sole or now.sole:
        alike = before.sole and now.sole and before.units == now.units
        return {before.coordinates[0].name: now.coordinates[0].name} if alike else {}
    both = {(one.name, one.unit) for one in before.coordinates} & {(one.name, one.unit) for one in now.coordinates}
    return {name: name for name, _ in both}
