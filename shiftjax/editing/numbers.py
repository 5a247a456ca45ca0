"""Edits of numbers: set, by values or as expressions of the parameters and points of a model, which are put in, too.

A number that follows from others by one name alone, as the place of a frame from a length, is set there, unless it is
to follow from that name by more. One that follows by more is a number from then on: what the user states holds, and a
note says what it followed from.
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
from shiftjax.quantities import split_quantity


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
        value, text = _read(value, target)
        if text is not None and target in _asked({**expressions, asked: text}, asked):
            target = asked  # by more than its name
        if target != asked:
            notes.append(f"{asked} is {name_of_path(target)}, which is set")
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
        asked_for = _asked(expressions, path)
        if path in asked_for:
            fault = f"{text!r}, which follows from it"
            raise ModelError(f"set {path}", fault, "numbers that it does not lead to", "Break the circle.")
        given = {name: numbers[name] for name in asked_for - expressions.keys()} | given
    return model.replace(given), notes


def number_behind(model: Model, path: str) -> str:
    """The number that is set where one is that follows from it by its name alone; the number itself otherwise."""
    text = model.expressions.get(path)
    node = None if text is None else parse(text, path, OVER_NAMES)
    if not isinstance(node, Name) or node == Name("pi"):
        return path
    return number_behind(model, path_of_name(node.text))


def _read(value: float | str, where: str) -> tuple[float | str, str | None]:
    """A number, or a text of one with its unit, and the text of an expression where it names something."""
    if not isinstance(value, str) or _is_quantity(value):
        return value, None
    try:
        node = parse(value, where, OVER_NAMES)
    except ModelError:
        return value, None  # `Model.replace` says what a number with a unit is
    if all(name == Name("pi") for name in names(node)):
        return value_of_text(value, where, {}), None
    return value, written(node)


def _is_quantity(text: str) -> bool:
    """Whether a text is a number with a unit, as "30 deg/s", in which expressions read s as a name."""
    try:
        split_quantity(text, "")
    except ModelError:
        return False
    return True


def _siblings(expressions: Mapping[str, str], path: str) -> str:
    """Words for the other numbers of an element that still follow from others."""
    element = split(path)[0]
    if name_of_path(path):
        return ""
    rest = [one.removeprefix(element).lstrip(".") for one in expressions if split(one)[0] == element]
    return f"; its {listed(rest)} still follow{'s' if len(rest) == 1 else ''}" if rest else ""


def _asked(expressions: Mapping[str, str], path: str) -> set[str]:
    """The parameters and coordinates of points from which a number follows, also by way of others."""
    seen, waiting = set[str](), [path]
    while waiting:
        one = waiting.pop()
        more = asked_by(expressions[one], one) if one in expressions else frozenset()
        waiting += more - seen
        seen |= more
    return seen


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
