"""Edits of numbers: set, by values or as expressions of the parameters and points of a model, which are put in, too.

A number that follows from others by one name alone, as the place of a frame from a length, is set there. One that
follows by more is a number from then on: what the user states holds, and a note says what it followed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shiftjax.editing.changes import Changed, asked_at
from shiftjax.editing.elements import need_free
from shiftjax.editing.path_moves import refuse_unknown
from shiftjax.errors import ModelError
from shiftjax.expressions.expression import Name, names, written
from shiftjax.expressions.grammar import parse
from shiftjax.formats.files import load
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.events import event_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.named_objects import SECTION_OF
from shiftjax.mechanism.parameters import (
    OVER_NAMES,
    agrees,
    asked_by,
    name_of_path,
    path_of_name,
    value_of_text,
)
from shiftjax.mechanism.paths import listed, split


def set_numbers(changed: Changed, values: Mapping[str, float | str]) -> Changed:
    """The model with other numbers at some paths, or with expressions that they follow from.

    Args:
        values: in SI, or texts: with a unit, as "200 mm", or expressions in SI, as "2.4 * L".

    Raises:
        ModelError: as of `Model.replace`; an expression of what is no parameter and no point, or of itself.
    """
    model, notes = with_numbers(changed.model, values)
    return replace(changed, model=model).noting(*notes)


def with_numbers(model: Model, values: Mapping[str, float | str]) -> tuple[Model, list[str]]:
    """The model in which numbers are others or follow from others, and what changed beside what was asked for."""
    numbers, expressions = model.numbers(), dict(model.expressions)
    given, fresh, notes = dict[str, float | str](), dict[str, str](), list[str]()
    for path, value in values.items():
        asked = model.resolve(path)
        target = number_behind(model, asked)
        if target != asked:
            notes.append(f"{asked} is {name_of_path(target)}, which is set")
        text = _expression(value, target)
        if target in given or target in fresh:
            raise ModelError(f"set {path}", f"{target}, set twice", "each number once", "Leave one of them out.")
        if text is not None:
            if target not in numbers:
                model.replace({path: 0.0})  # raises: there is no such number
            fresh[target] = text
            continue
        given[target] = value
        before = expressions.get(target)
        if before is not None and not (isinstance(value, float | int) and agrees(float(value), numbers[target])):
            del expressions[target]
            notes.append(f"{target} followed from {before!r}, and is a number now{_siblings(expressions, target)}")
    expressions |= fresh
    model = replace(model, expressions=FrozenJson(expressions))
    named = {path: number for path, number in numbers.items() if name_of_path(path)}
    for path, text in fresh.items():
        value_of_text(text, path, named)  # raises what names nothing
        given = {name: numbers[name] for name in _asked_in_the_end(expressions, path)} | given
    return model.replace(given), notes


def number_behind(model: Model, path: str) -> str:
    """The number that is set where one is that follows from it by its name alone; the number itself otherwise."""
    text = model.expressions.get(path)
    node = None if text is None else parse(text, path, OVER_NAMES)
    if not isinstance(node, Name) or node == Name("pi"):
        return path
    return number_behind(model, path_of_name(node.text))


def _expression(value: float | str, where: str) -> str | None:
    """The text of an expression that names something; None of a number, or one with a unit."""
    if not isinstance(value, str):
        return None
    try:
        node = parse(value, where, OVER_NAMES)
    except ModelError:
        return None  # `Model.replace` says what a number with a unit is
    return written(node) if any(name != Name("pi") for name in names(node)) else None


def _siblings(expressions: Mapping[str, str], path: str) -> str:
    """Words for the other numbers of an element that still follow from others."""
    element = split(path)[0]
    if name_of_path(path):
        return ""
    rest = [one.removeprefix(element).lstrip(".") for one in expressions if split(one)[0] == element]
    return f"; its {listed(rest)} still follow{'s' if len(rest) == 1 else ''}" if rest else ""


def _asked_in_the_end(expressions: Mapping[str, str], path: str) -> set[str]:
    """The parameters and coordinates of points that a number follows from, and that follow from nothing.

    Raises:
        ModelError: the number itself is among what it follows from.
    """
    seen, waiting = set[str](), [path]
    while waiting:
        one = waiting.pop()
        more = asked_by(expressions[one], one) if one in expressions else frozenset()
        if path in more:
            fault = f"{expressions[path]!r}, which follows from it"
            raise ModelError(f"set {path}", fault, "numbers that it does not lead to", "Break the circle.")
        waiting += more - seen
        seen |= more
    return seen - expressions.keys()


def add_named(changed: Changed, what: str, name: str, assembly: str | None, words: Mapping[str, Any]) -> Changed:
    """The model with one more parameter, point or event, read as a file is.

    Raises:
        ModelError: a name that is taken or cannot be, words that it does not have, an assembly.
    """
    where, section = f"add {what} {name}", SECTION_OF[what]
    if assembly is not None:
        todo = "Leave the assembly out."
        raise ModelError(where, f"the assembly {assembly!r}", "none: it is of the whole model", todo)
    need_free(changed.model, what, f"{section}.", name, where)
    document = to_dict(changed.model)
    with asked_at(where):
        document.setdefault(section, {})[name] = dict(words)
        model = load(document)
        if what == "event":
            refuse_unknown(model, event_of(name, model.events[name]))
    about = {field: getattr(changed.model, field) for field in ("name", "version", "source", "warnings")}
    return replace(changed, model=replace(model, **about))
