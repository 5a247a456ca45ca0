"""The keys that files may use, by the object they stand in, from the table of fields."""

from __future__ import annotations

from functools import cache

from shiftjax.mechanism.fields import BODY, GEOMETRIES, element

SHAPES: dict[str, frozenset[str]] = {  # type of a geometry -> the keys that only some types have
    kind: frozenset(field.key for field in own) for kind, own in GEOMETRIES.items()
}


@cache
def keys_of(label: str) -> frozenset[str]:
    """Every key of an object in the three dialects; `label` is what messages call it.

    Raises:
        KeyError: no such object.
    """
    if label == "an inertia":  # the one object that is a part of another's fields
        return frozenset(key.partition(".")[2] for field in BODY for key in field.every_key if "." in key)
    return frozenset(key.partition(".")[0] for field in element(label) for key in field.every_key)


@cache
def misspelt_of(label: str) -> dict[str, str]:
    """What public files write -> the key that is meant."""
    if label == "an inertia":
        return {}
    return {wrong: field.key for field in element(label) for wrong in field.misspelt}
