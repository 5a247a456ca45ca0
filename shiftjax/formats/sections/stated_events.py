"""The section `events` of a file, and the events of an included file in the file around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.expression import Expression, Name, is_path, replaced, written
from shiftjax.expressions.grammar import parse
from shiftjax.formats.values.entry import named, opened
from shiftjax.formats.values.node import Node
from shiftjax.mechanism.events import event_of, written_event
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import GLOBAL, Model, unused
from shiftjax.mechanism.parameters import BLOCKS
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


def included(
    part: Model, entry: str, prefix: str, taken: set[str], frames: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, Any]:
    """The events of an included file, with the paths that it has in the file around it; named as `arm_stop`.

    Args:
        part: the file. entry: its name. prefix: path of what is below it. taken: names of events in use, its own after
            it. frames: name of a frame of its ground -> path of that frame now.
        names: of its parameters and points -> what they are called now.
    """
    events = dict[str, Any]()

    def moved(path: str) -> str:
        return _moved(path, part, prefix, frames, names)

    for name, words in part.events.items():
        event = event_of(name, words)
        of = written(_renamed(parse(event.of, name, LANES), lambda path: _for_expressions(moved(path))))
        values = {moved(path): value for path, value in event.values.items()}
        free = unused(re.sub(r"[^A-Za-z0-9_]|^(?=\d)", "_", f"{entry}_{name}"), taken)
        taken.add(free)
        events[free] = written_event(replace(event, of=of, values=FrozenJson(values)))
    return events


def _moved(path: str, part: Model, prefix: str, frames: Mapping[str, str], names: Mapping[str, str]) -> str:
    """A path of an included file as one of the file around it; what belongs to the whole mechanism stays."""
    target, field = split(_in_full(path, part))
    if target in BLOCKS:
        name, _, axis = field[1:].partition(".")
        return f"{target}.{names.get(name, name)}{axis and f'.{axis}'}"
    if target in WHOLE:
        return f"{target}{field}"
    there = next((now for name, now in frames.items() if target == child(FIXED, name)), f"{prefix}:{target}")
    return f"{there}{field}"


def _in_full(path: str, part: Model) -> str:
    """The path in full of a number, or of a channel, which a body has by names that are none of its numbers; the path
    itself of no object, as power.kinetic, or of one that is switched off."""
    head, dot, name = path.rpartition(".")
    for whole, rest in ((path, ""), (head, dot + name)):
        with suppress(ModelError):
            return part.resolve(whole) + rest
    return path


def _renamed(node: Expression, change: Callable[[str], str]) -> Expression:
    if isinstance(node, Name) and is_path(node):
        return replace(node, text=change(node.text))
    return replaced(node, lambda part: _renamed(part, change))


def _for_expressions(path: str) -> str:
    """A path as expressions write it: names of other characters in backticks."""
    target, field = split(path)
    return ":".join(name if PLAIN.fullmatch(name) else f"`{name}`" for name in parts(target)) + field
