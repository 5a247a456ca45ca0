"""The section `events` of a file, and the events of an included file in the file around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.expression import Expression, Name, is_path, replaced, written
from shiftjax.expressions.grammar import parse
from shiftjax.formats.entry import opened
from shiftjax.formats.include import Mount
from shiftjax.formats.named_numbers import named
from shiftjax.formats.node import Node
from shiftjax.mechanism.events import event_of, written_event
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import GLOBAL, Model, unused
from shiftjax.mechanism.paths import child, parts, split
from shiftjax.mechanism.records import FIXED

WHOLE = {*GLOBAL, "power"}  # what channels of the whole mechanism are called after
PLAIN = re.compile(r"[A-Za-z_]\w*")  # a name that expressions take without backticks


def read(root: Node) -> dict[str, Any]:
    """Name -> the words of every event of a file, those that are left out by their defaults.

    Raises:
        ModelError: a name that no expression can use, what is no event, what is no expression.
    """
    events = dict[str, Any]()
    for name, node in named(root["events"], "an event"):
        words = node.text() if not isinstance(node.value, Mapping) else opened(node, "an event").frozen()
        event = event_of(name, words, node.where)
        parse(event.of, node.where, LANES)
        events[name] = written_event(event)
    return events


def included(mounts: list[Mount], taken: set[str]) -> dict[str, Any]:
    """The events of included files, with the paths that these files have around them.

    They are named after the entry, as `arm_stop`.

    Args:
        taken: names in use; those of the events after it.
    """
    events = dict[str, Any]()
    for mount in mounts:

        def moved(path: str, mount: Mount = mount) -> str:
            return _moved(path, mount.part, mount)

        for name, words in mount.part.events.items():
            event = event_of(name, words)
            of = written(_renamed(parse(event.of, name, LANES), lambda path: _for_expressions(moved(path))))
            values = {moved(path): value for path, value in event.values.items()}
            free = unused(re.sub(r"[^A-Za-z0-9_]|^(?=\d)", "_", f"{mount.entry}_{name}"), taken)
            taken.add(free)
            events[free] = written_event(replace(event, of=of, values=FrozenJson(values)))
    return events


def _moved(path: str, part: Model, mount: Mount) -> str:
    """A path of an included file as one of the file around it; what belongs to the whole mechanism stays."""
    try:
        target, field = split(part.resolve(path))
    except ModelError:  # of no object, as power.kinetic, or of one that is switched off
        target, field = split(path)
    if target in WHOLE:
        return f"{target}{field}"
    for name, (body, now, _) in mount.ground.items():
        if target == child(FIXED, name):
            return f"{child(body, now.name)}{field}"
    return f"{mount.prefix}:{target}{field}"


def _renamed(node: Expression, change: Callable[[str], str]) -> Expression:
    if isinstance(node, Name) and is_path(node):
        return replace(node, text=change(node.text))
    return replaced(node, lambda part: _renamed(part, change))


def _for_expressions(path: str) -> str:
    """A path as expressions write it: names of other characters in backticks."""
    target, field = split(path)
    return ":".join(name if PLAIN.fullmatch(name) else f"`{name}`" for name in parts(target)) + field
