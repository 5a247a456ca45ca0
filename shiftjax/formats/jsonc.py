"""A JSON reader without recursion: comments and trailing commas pass with a warning, depth and size are limited.

The library's own `json` gives up at a thousand brackets (fewer than a thousand nested assemblies need), reads NaN, and
drops the first of two equal keys in silence.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from shiftjax.errors import ModelError

MAX_DEPTH = 4_200  # brackets; two an assembly
MAX_BYTES = 20_000_000
MOST_TWICE = 20  # keys written twice that are named
MAX_VALUES = 500_000

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]++)
    |(?P<comment>//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)
    |(?P<mark>[\[\]{},:])
    |(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)
    |(?P<string>"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+")
    |(?P<word>[A-Za-z_-][A-Za-z_]*+)""",
    re.VERBOSE,
)
WORDS = {"true": True, "false": False, "null": None}


class _Reader:
    """The state of one reading: the open brackets and what may come next."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.warnings: list[str] = []
        self.open: list[tuple[Any, str | None]] = []  # container and the key it has in the one around it
        self.key: str | None = None
        self.expect = "value"  # value, first (value or "]"), key, first key, colon, comma, end
        self.comma = 0  # position of a comma that nothing has followed yet, plus one
        self.values = 0
        self.twice = 0  # keys that were written again in their object
        self.root: Any = None

    def fail(self, position: int, fault: str, allowed: str, todo: str = "Correct the text there.") -> ModelError:
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        return ModelError(f"{self.where}, line {line}, column {column}", fault, allowed, todo)

    def warn_once(self, position: int, what: str) -> None:
        if not any(what in warning for warning in self.warnings):
            line = self.text.count("\n", 0, position) + 1
            self.warnings.append(f"{self.where}, line {line}: {what}; strict JSON readers refuse it")

    def warn_twice(self, position: int, key: str) -> None:
        self.twice += 1
        what = "written twice in one object; the last counts"
        if self.twice <= MOST_TWICE:
            line = self.text.count("\n", 0, position) + 1
            self.warnings.append(f"{self.where}, line {line}: key {key!r} is {what}")
        elif self.twice == MOST_TWICE + 1:
            self.warnings.append(f"{self.where}: more keys are {what}")

    def read(self) -> Any:
        position, text = 0, self.text
        while position < len(text):
            match = TOKEN.match(text, position)
            if match is None:
                raise self.fail(position, repr(text[position : position + 20]), self.allowed())
            kind, token = match.lastgroup, match.group()
            if kind == "comment":
                self.warn_once(position, "comments")
            elif kind == "mark":
                self.mark(token, position)
            elif kind != "space":
                self.scalar(str(kind), token, position)
            position = match.end()
        if self.expect != "end":
            raise self.fail(position, "the end of the text", self.allowed(), "Close what is open: is the file whole?")
        return self.root

    def allowed(self) -> str:
        return {
            "value": "a value",
            "first": "a value or ']'",
            "key": "a key in double quotes",
            "first key": "a key in double quotes or '}'",
            "colon": "':'",
            "comma": "',' or a closing bracket",
            "end": "nothing after the outermost bracket",
        }[self.expect]

    def scalar(self, kind: str, token: str, position: int) -> None:
        if self.expect in ("key", "first key") and kind == "string":
            self.key = self.string(token, position)
            self.expect, self.comma = "colon", 0
        elif self.expect in ("value", "first"):
            self.put(self.decoded(kind, token, position), position)
            self.expect = "comma" if self.open else "end"
        else:
            raise self.fail(position, repr(token[:20]), self.allowed())

    def decoded(self, kind: str, token: str, position: int) -> Any:
        if kind == "string":
            return self.string(token, position)
        if kind == "number":
            if len(token) < 18 and token.lstrip("-").isdigit():
                return int(token)
            if math.isfinite(value := float(token)):
                return value
            raise self.fail(position, token[:20], "numbers below 1.8e308", "Write a finite number.")
        if token in WORDS:
            return WORDS[token]
        raise self.fail(position, repr(token[:20]), "a number, a string in double quotes, true, false or null")

    def string(self, token: str, position: int) -> str:
        if "\\" not in token:
            return token[1:-1]
        try:
            return json.loads(token)
        except ValueError as error:
            raise self.fail(position, token[:20], "the escapes of JSON") from error

    def put(self, value: Any, position: int) -> None:
        """Stores a value where the innermost open bracket wants it."""
        self.values += 1
        self.comma = 0
        if self.values > MAX_VALUES:
            raise self.fail(position, f"more than {MAX_VALUES} values", "smaller files", "Is this a model file?")
        if not self.open:
            self.root = value
            return
        container, _ = self.open[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            if self.key in container:
                self.warn_twice(position, str(self.key)[:40])
            container[self.key] = value

    def mark(self, token: str, position: int) -> None:
        if token in "[{":
            if self.expect not in ("value", "first"):
                raise self.fail(position, repr(token), self.allowed())
            if len(self.open) >= MAX_DEPTH:
                raise self.fail(position, f"brackets nested {MAX_DEPTH} deep", "fewer", "Is this a model file?")
            container: Any = [] if token == "[" else {}
            self.put(container, position)
            self.open.append((container, self.key))
            self.expect = "first" if token == "[" else "first key"
        elif token in "]}":
            self.close(token, position)
        elif token == ":" and self.expect == "colon":
            self.expect = "value"
        elif token == "," and self.expect == "comma":
            self.expect = "value" if isinstance(self.open[-1][0], list) else "key"
            self.comma = position + 1
        else:
            raise self.fail(position, repr(token), self.allowed())

    def close(self, token: str, position: int) -> None:
        matches = bool(self.open) and isinstance(self.open[-1][0], list) == (token == "]")
        if not matches or not (self.expect in ("comma", "first", "first key") or self.comma):
            raise self.fail(position, repr(token), self.allowed())
        if self.comma:
            self.warn_once(self.comma, "a comma before a closing bracket")
        self.comma = 0
        self.open.pop()
        self.expect = "comma" if self.open else "end"


def parse(text: str, where: str) -> tuple[Any, list[str]]:
    """The value of a JSON text, and warnings; ModelError with line and column for anything else."""
    if len(text) > MAX_BYTES:
        raise ModelError(where, f"{len(text)} characters", f"at most {MAX_BYTES}", "Is this a model file?")
    reader = _Reader(text.removeprefix("\ufeff"), where)
    return reader.read(), reader.warnings
