"""The Python reference as Markdown, from the docstrings of every public object."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from textwrap import fill
from types import ModuleType
from typing import Any

from shiftjax.markup import COLUMN
from shiftjax.registry import Registry

SECTIONS = ("Args:", "Returns:", "Raises:", "Attributes:", "Yields:")
INTRODUCTION = """# Python reference

Every public name, with its docstring; `help(shiftjax)` lists them in a terminal. Shapes are those of NumPy arrays: `B`
members, `n` instants, `K` members whose poses were kept. Units stand in brackets.
"""


def api(front_door: ModuleType) -> str:
    """The page of all names that the package exports, in its own groups."""
    parts = [INTRODUCTION]
    for group, names in front_door._PUBLIC.items():
        parts.append(f"## {group}\n")
        for name in names:
            parts += _entry(name, getattr(front_door, name), frozenset(front_door.__all__))
    return "\n".join(parts)


def _entry(name: str, value: Any, exported: frozenset[str]) -> Iterator[str]:
    yield f"### `{name}`\n"
    if isinstance(value, ModuleType):
        yield described(inspect.getdoc(value) or "")
        names = getattr(value, "__all__", ())
        for word in names or _public(value):
            inner = getattr(value, word)
            if inspect.isfunction(inner) and (word in names or inner.__module__ == value.__name__):
                yield from _callable(f"{name}.{word}", inner)
            elif inspect.isclass(inner) and word in names:
                yield from _class(f"{name}.{word}", inner)
    elif inspect.isclass(value):
        yield from _class(name, value)
        for base in value.__mro__[1:]:  # its methods by subject, in files of their own
            if _room(base) == _room(value) and base.__name__ not in exported:
                yield from _methods(name, base)
        for made in _returned(value):
            yield from _class(made.__name__, made)
    elif isinstance(value, Registry):
        yield described(inspect.getdoc(value) or "")
        yield f"Entries: {', '.join(f'`{key}`' for key in value)}.\n"
    else:
        yield from _callable(name, value)


def _returned(kind: type) -> list[type]:
    """Classes of the same module that methods return and that have no public name of their own."""
    members = [member for member in vars(kind).values() if inspect.isfunction(member)]
    hints = [getattr(inspect.getmodule(kind), str(member.__annotations__.get("return")), None) for member in members]
    classes = [
        made for made in hints if inspect.isclass(made) and made.__module__ == kind.__module__ and made is not kind
    ]
    return list(dict.fromkeys(classes))


def _class(name: str, kind: type) -> Iterator[str]:
    constructed = "__init__" in vars(kind) or "__new__" in vars(kind)
    yield from _callable(name, kind) if constructed else [described(inspect.getdoc(kind) or "")]
    yield from _methods(name, kind)


def _methods(name: str, kind: type) -> Iterator[str]:
    for word in _public(kind):
        member = inspect.getattr_static(kind, word)
        help_ = inspect.getdoc(getattr(kind, word, None)) or ""
        if isinstance(member, property):
            yield f"**`{name}.{word}`** {described(help_)}"
        elif help_ and (inspect.isfunction(member) or isinstance(member, classmethod | staticmethod)):
            yield from _callable(f"{name}.{word}", getattr(kind, word))


def _room(kind: type) -> str:
    return kind.__module__.rpartition(".")[0]


def _public(value: Any) -> list[str]:
    return [word for word in vars(value) if not word.startswith("_")]


def _callable(name: str, value: Any) -> Iterator[str]:
    """The call as one writes it, without annotations, and the help."""
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        given = ()
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in given if one.name != "self"]
    call = f"{name}{inspect.Signature(bare)}"
    if len(call) > COLUMN:
        inside = ",\n    ".join(fill(str(one), COLUMN - 5, subsequent_indent="        ") for one in _starred(bare))
        call = f"{name}(\n    {inside},\n)"
    yield f"```text\n{call}\n```\n"
    yield described(inspect.getdoc(value) or "")


def _starred(given: list[inspect.Parameter]) -> Iterator[Any]:
    """The parameters with the star that begins the ones given by name."""
    named = False
    for one in given:
        if one.kind is inspect.Parameter.VAR_POSITIONAL:
            named = True
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            named = True
            yield "*"
        yield one


def described(docstring: str) -> str:
    """A docstring with its sections of arguments, results and errors as lists."""
    lines, inside = [], False
    for line in docstring.splitlines():
        if line in SECTIONS:
            inside = True
            lines += ["", f"*{line.rstrip(':')}*", ""]
        elif inside and line.startswith("    "):
            lines.append(_item(line))
        else:
            inside = inside and not line.strip()
            lines.append(line)
    return "\n".join(lines) + "\n"


def _item(line: str) -> str:
    """A line of a section: an item where it begins one, else more of the last."""
    if line[4:5] == " ":
        return f"    {line.strip()}"
    name, colon, rest = line.strip().partition(": ")
    words = all(re.fullmatch(r"\**[\w.]+", word.strip()) for word in name.split(","))
    return f"* `{name}`: {rest}" if colon and words else f"* {line.strip()}"
