"""Steps as text: a line of a script for a call, and calls for the lines. Nothing of a script is evaluated as Python."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need, shown
from shiftjax.mechanism.records import FrameRef


def line_of(name: str, args: Sequence[Any], words: Mapping[str, Any]) -> str:
    """A step as Python writes it."""
    every = [repr(plain_value(arg)) for arg in args]
    every += [f"{key}={plain_value(value)!r}" for key, value in words.items()]
    return f"{name}({', '.join(every)})"


def plain_value(value: Any) -> Any:
    """A value made of what Python writes: numbers, texts, lists, tuples, dicts.

    Raises:
        ModelError: it is not.
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain_value(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [*map(plain_value, value)]
        return tuple(items) if type(value) is tuple else items
    if isinstance(value, FrameRef):
        return value.body, value.frame
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain_value(dataclasses.asdict(value))
    raise ModelError("step", shown(value), "numbers, texts, lists and dicts", "A script is text; say it in words.")


def replayed(steps: Any, script: str, known: Sequence[str]) -> None:
    """Does the steps of a script; several in a line, separated by `;`, are one transaction.

    Args:
        steps: whose methods they are. known: names of them.

    Raises:
        ModelError: a line that is no step; what a step raises. The steps before it are done.
    """
    need("script", script, str, "a text, one step a line")
    for number, line in enumerate(script.splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        where = f"script, line {number}"
        calls = _calls(text, where, known)
        with getattr(steps, "transaction", nullcontext)() if len(calls) > 1 else nullcontext():
            for name, args, words in calls:
                _do(steps, name, args, words, where)


def _do(steps: Any, name: str, args: Sequence[Any], words: Mapping[str, Any], where: str) -> None:
    """One call; errors say its line."""
    step = getattr(steps, name)
    need_arguments(f"{where}: {name}", name, signature(step), args, words)
    try:
        step(*args, **words)
    except ModelError as error:
        raise ModelError(f"{where}: {error.where}", error.found, error.allowed, error.todo) from None


def need_arguments(where: str, name: str, known: Signature, args: Sequence[Any], words: Mapping[str, Any]) -> None:
    """Raises for arguments that a step does not have, or lacks."""
    try:
        known.bind(*args, **words)
    except TypeError as error:
        plain = [one.replace(annotation=Parameter.empty) for one in known.parameters.values()]
        raise ModelError(where, str(error), f"{name}{Signature(plain)}", "Correct the arguments.") from None


def _calls(text: str, where: str, known: Sequence[str]) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Step, arguments and named ones of every call of a line; several are those of a transaction."""
    allowed = f"a step: {', '.join(known)}"
    out = []
    try:
        for line in ast.parse(text).body:
            call = line.value if isinstance(line, ast.Expr) else None
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                raise ValueError
            args = [ast.literal_eval(arg) for arg in call.args]
            words = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
            out.append((call.func.id, args, words))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ModelError(where, shown(text), allowed, f"Write it like {known[-1]}(...), with plain values.") from None
    for name, _, _ in out:
        if name not in known:
            raise ModelError(where, repr(name), allowed, nearest(name, known) or "Correct it.")
    return out
