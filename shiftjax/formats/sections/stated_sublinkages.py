"""The section `sublinkages` of a file, and those of an included file in the file around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from shiftjax.formats.values.entry import opened
from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node
from shiftjax.mechanism.model import Model, unused
from shiftjax.mechanism.paths import NAME_RULE, is_name
from shiftjax.mechanism.sublinkages import DISPOSITIONS, SIMULTANEOUS, WHOLE, Sublinkage, refuse_impossible


def of_document(root: Node, names: Names, parts: Iterable[tuple[Model, str, str]]) -> tuple[Sublinkage, ...]:
    """The sublinkages of a file, then those of the files that it includes.

    Args:
        names: of all joints. parts: included files, each with its name and the path of what is below it.

    Raises:
        ModelError: names that cannot be, joints that are not there, or in two of them, one within none, circles.
    """
    section = root["sublinkages"]
    if section.value is not None and not isinstance(section.value, Mapping):
        section.refuse("an object: name of a sublinkage -> what it is", "Write { ... }.")
    out = [_one(name, section[name], names) for name in section.value or ()]
    for part, entry, prefix in parts:
        out += included(part, entry, prefix, {one.name for one in out})
    refuse_impossible(out, section.where)
    return tuple(out)


def _one(name: str, node: Node, names: Names) -> Sublinkage:
    if not isinstance(name, str) or not is_name(name):
        node.refuse(f"names of {NAME_RULE}", "Rename it.", f"a sublinkage called {str(name)[:60]!r}")
    block = opened(node, "a sublinkage")
    return Sublinkage(
        name,
        tuple(names.joint(item, "") for item in block["joints"].items()),
        block["disposition"].choice(set(DISPOSITIONS), SIMULTANEOUS),
        block["within"].text(WHOLE),
    )


def included(part: Model, entry: str, prefix: str, taken: set[str]) -> list[Sublinkage]:
    """Those of an included file, with the paths that joints have in the file around it; named as `arm_wrist`.

    Args:
        part: the file. entry: its name. prefix: path of what is below it. taken: names in use.
    """
    names = {WHOLE: WHOLE}
    for one in part.sublinkages:
        names[one.name] = unused(f"{entry}_{one.name}", taken | {*names.values()})
    return [
        replace(
            one,
            name=names[one.name],
            joints=tuple(f"{prefix}:{joint}" for joint in one.joints),
            within=names[one.within],
        )
        for one in part.sublinkages
    ]
