"""What paths of users say of the coordinates of joints: `JOINT.NAME`, `JOINT.q[k]`, `JOINT` where there is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from shiftjax.errors import ModelError, nearest
from shiftjax.joints import KINDS
from shiftjax.mechanism.paths import listed, split
from shiftjax.mechanism.records import Joint


class Joints(Protocol):
    """What of a model says which joints there are, and which of them a path means."""

    def resolve(self, path: str) -> str: ...

    def joints(self) -> Iterable[tuple[str, Joint]]: ...

    def kind_of(self, path: str) -> str: ...


def coordinates_at(model: Joints, paths: Iterable[str], where: str) -> tuple[str, ...]:
    """The paths of coordinates that paths of users name; a joint's path names all it has, none of a weld.

    Raises:
        ModelError: no such joint or coordinate.
    """
    kinds = {path: KINDS[joint.type] for path, joint in model.joints()}
    named: list[str] = []
    for path in paths:
        full, field = split(model.resolve(path))
        if full not in kinds:
            fault, todo = _other(model, full), f"One of {sorted(kinds)}."
            raise ModelError(f"{where} {full}{field}", fault, "the path of a joint", todo)
        places = kinds[full].named(field)
        if not places and (field or kinds[full].primitives):
            known = kinds[full].paths(full)
            todo = nearest(full + field, known) or "Name one of them."
            raise ModelError(f"{where} {full}", f"no coordinate {field.lstrip('.')!r}", listed(known) or "none", todo)
        named += [kinds[full].path_of(full, k) for k in places]
    return tuple(dict.fromkeys(named))


def plain_coordinates(model: Joints) -> list[str]:
    """The paths of all coordinates that are one number, of joints that are no balls, floats and welds."""
    kinds = ((path, KINDS[joint.type]) for path, joint in model.joints())
    return [one for path, kind in kinds if not kind.placed for one in kind.paths(path)]


def plain_coordinate(model: Joints, path: str, where: str) -> str:
    """The path of the one coordinate, of one number, that a path of the user names.

    Raises:
        ModelError: a joint that has several coordinates or a quaternion, or none.
    """
    full, field = split(model.resolve(path))
    kinds = {joint_path: KINDS[joint.type] for joint_path, joint in model.joints()}
    plain = plain_coordinates(model)
    named = [kinds[full].path_of(full, k) for k in kinds[full].named(field)] if full in kinds else []
    if len(named) == 1 and named[0] in plain:
        return named[0]
    several = [one for one in plain if full in kinds and one.startswith(f"{full}.")]
    if several:
        fault = f"a joint of {len(several)} coordinates" if len(named) > 1 else f"no coordinate {field.lstrip('.')!r}"
        raise ModelError(f"{where} {full}", fault, f"one of {several}", "Name one coordinate.")
    joint_type = dict(model.joints())[full].type if full in kinds else ""
    fault = f"a {joint_type} joint" if joint_type else _other(model, full)
    raise ModelError(f"{where} {full}", fault, f"one of {plain}", "Name such a joint.")


def _other(model: Joints, path: str) -> str:
    """What a path names that is no joint."""
    kind = model.kind_of(path)
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}" if kind else "no active joint"
