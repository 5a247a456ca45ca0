"""Edits of sublinkages: put in, changed, led along by edits of their joints. Nothing moves by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shiftjax.editing.changes import Changed
from shiftjax.editing.elements import elements_of, joint_of, need_free
from shiftjax.errors import ModelError, nearest, need, one_of, refuse_text
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.sublinkages import (
    DISPOSITIONS,
    Sublinkage,
    owners,
    refuse_impossible,
    without_joints,
)

SECTION = "sublinkages"


def sublinkage(
    changed: Changed, name: str, joints: Sequence[str] | None, disposition: str | None, within: str | None
) -> Changed:
    """A sublinkage, or another one of a name that is there; joints come out of those that had them."""
    need("sublinkage: name", name, str, "a name")
    name = name.removeprefix(f"{SECTION}.")
    where, model = f"sublinkage {name}", changed.model
    before = next((one for one in model.sublinkages if one.name == name), None)
    if before is None:
        need_free(model, "sublinkage", f"{SECTION}.", name, where)
        before = Sublinkage(name)
    if joints is not None:
        refuse_text(f"{where}: joints", joints)
        need(f"{where}: joints", joints, (list, tuple), "a list of paths of joints")
        full = tuple(dict.fromkeys(joint_of(model, joint, where)[0] for joint in joints))
        before = replace(before, joints=full)
    if disposition is not None:
        one_of(f"{where}: disposition", disposition, DISPOSITIONS)
        before = replace(before, disposition=disposition)
    if within is not None:
        need(f"{where}: within", within, str, 'the name of another sublinkage, "" for the whole linkage')
        before = replace(before, within=within.removeprefix(f"{SECTION}."))
    others = [one for one in model.sublinkages if one.name != name]
    taken = {joint: owner for joint, owner in owners(others).items() if joint in before.joints}
    notes = [f"{joint} was in the sublinkage {owner}" for joint, owner in taken.items()]
    rest = without_joints(model.sublinkages, {joint for one in others for joint in one.joints} - taken.keys())
    every = [before if one.name == name else one for one in rest]
    every += [] if any(one.name == name for one in rest) else [before]
    refuse_impossible(every, SECTION)
    return replace(changed, model=replace(model, sublinkages=tuple(every))).noting(*notes)


def named_sublinkage(model: Model, name: str, where: str) -> Sublinkage:
    """The sublinkage of a name.

    Raises:
        ModelError: none.
    """
    names = {one.name: one for one in model.sublinkages}
    if name not in names:
        todo = nearest(name, names) or "`shiftjax info MODEL` lists them."
        raise ModelError(where, f"{name!r}, no sublinkage", listed(names) or "those of the model: none", todo)
    return names[name]


def of_joints_there(model: Model) -> tuple[Model, tuple[str, ...]]:
    """The model whose sublinkages have joints that are there alone, and notes."""
    if not model.sublinkages:
        return model, ()
    there = {path for kind, path in elements_of(model) if kind == "joints"}
    left = without_joints(model.sublinkages, there)
    notes = [
        f"the sublinkage {one.name} is without {listed(sorted({*one.joints} - {*now.joints}))}"
        for one, now in zip(model.sublinkages, left, strict=True)
        if one != now
    ]
    return (replace(model, sublinkages=left), tuple(notes)) if notes else (model, ())
