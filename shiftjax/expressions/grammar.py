"""Texts to trees: the one grammar of metrics, derived numbers, objectives, constraints, and columns of members.

    relation  := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)*
    sum       := product (("+" | "-") product)*;    product := signed (("*" | "/") signed)*
    signed    := ("+" | "-") signed | picked ["**" signed]
    picked    := primary ("[" relation "]")*
    primary   := number [unit] | name | path | "{" path "}" | text | "(" list ")" | "[" list "]"
               | name "(" (relation | name "=" relation) separated by "," ")"

A path has a point or a colon, as `rod:tip.position`; other characters than letters, digits and `_` stand in backticks.
`#` and what follows it on a line is a remark. Nothing of a text is evaluated as Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from shiftjax.expressions.dialects import Dialect
from shiftjax.expressions.expression import (
    BINDING,
    Expression,
    FunctionCall,
    Name,
    Negative,
    NumberLiteral,
    Operation,
    Pick,
    Text,
    Vector,
)
from shiftjax.quantities import WORDS, unit_in_si

LONGEST = 20_000  # characters: a target curve of some hundred points
DEEPEST = 100  # brackets and signs within each other
_SEGMENT = r"(?:`[^`]*`|[A-Za-z_]\w*)"
_PATH = rf"{_SEGMENT}(?:\[\d+\](?=\.))?(?:[.:]{_SEGMENT}(?:\[\d+\](?=[.:]))?)+"
_UNIT = "|".join(sorted((re.escape(word) for word in WORDS if word.isalpha()), key=len, reverse=True))
_TOKEN = re.compile(
    r"(?P<space>(?:\s|\#[^\n]*)+)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|\{(?P<braces>(?:`[^`]*`|[^{}`])+)\}"
    rf"|(?P<path>{_PATH})"
    rf"|(?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][-+]?\d+)?)(?: ?(?P<unit>{_UNIT})(?![\w(.:]))?"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/<>=(),\[\]])"
)


class _Unreadable(ValueError):
    """What no rule of the grammar takes; the text is a hint for the user."""


def parse(text: str, where: str, dialect: Dialect, base: Callable[[str], float] | None = None) -> Expression:
    """Reads a text.

    Args:
        where: what it is of, for errors. dialect: what such a text is made of, for errors.
        base: factor to SI of the unit in which numbers without one are, by a unit that measures the same; SI where
            left out.

    Raises:
        ModelError: no expression.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        allowed = f"{dialect.allowed}, in up to {LONGEST} characters"
        raise dialect.refused(where, repr(text)[:80], allowed)
    try:
        return _Parser(text, where, base).whole()
    except _Unreadable as error:
        raise dialect.refused(where, repr(text)[:80], dialect.allowed, str(error)) from None


def with_paths(text: str, change: Callable[[str], str]) -> str:
    """A text in which each path, with a point, a colon or in braces, is another one, and all else as it was.

    Args:
        change: a path without its braces -> what stands in its place.
    """
    out, at = list[str](), 0
    while at < len(text) and (match := _TOKEN.match(text, at)) is not None:
        token, at = match[0], match.end()
        path = (match["path"] or match["braces"] or "").strip()
        out.append(token.replace(path, change(path), 1) if path else token)
    return "".join(out) + text[at:]


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, where: str, base: Callable[[str], float] | None = None) -> None:
        self.tokens = [*_tokens(text, where, base), ("end", "")]
        self.at = self.depth = 0

    @property
    def sign(self) -> str:
        """The sign that comes next, "" where something else does."""
        kind, value = self.tokens[self.at]
        return str(value) if kind == "sign" else ""

    def take(self) -> tuple[str, str | float]:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, sign: str) -> None:
        if self.sign != sign:
            raise _Unreadable
        self.at += 1

    def whole(self) -> Expression:
        whole = self.listed("")
        if self.tokens[self.at][0] != "end":
            raise _Unreadable
        return whole

    def operation(self, lowest: int = 1) -> Expression:
        """What binds at least so strongly."""
        left = self.signed()
        while (binding := BINDING.get(self.sign, 0)) >= lowest:
            sign = str(self.take()[1])
            left = Operation(sign, left, self.operation(binding + 1))
        return left

    def signed(self) -> Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Unreadable
        if self.sign in ("+", "-"):
            negative = self.take()[1] == "-"
            node = self.signed()
            node = Negative(node) if negative else node
        else:
            node = self.picked()
            if self.sign == "**":
                self.at += 1
                node = Operation("**", node, self.signed())
        self.depth -= 1
        return node

    def picked(self) -> Expression:
        node = self.primary()
        while self.sign == "[":
            self.at += 1
            node = Pick(node, self.listed("]"))
            self.expect("]")
        return node

    def primary(self) -> Expression:
        kind, value = self.take()
        if kind == "number":
            return NumberLiteral(float(value))
        if kind == "text":
            return Text(str(value))
        if kind in ("braces", "path"):
            return Name(str(value), kind == "braces")
        if kind == "name":
            return self.call(str(value)) if self.sign == "(" else Name(str(value))
        if value == "(":
            node = self.listed(")")
            self.expect(")")
            return node
        if value == "[":
            node = Vector(self.items("]")[0])
            self.expect("]")
            return node
        raise _Unreadable

    def listed(self, end: str) -> Expression:
        """One expression, or several with commas between them."""
        items, commas = self.items(end)
        return items[0] if len(items) == 1 and not commas else Vector(items)

    def items(self, end: str) -> tuple[tuple[Expression, ...], int]:
        """Expressions up to a sign, and the number of commas."""
        items, commas = [], 0
        while self.sign != end or not end:
            items.append(self.operation())
            if self.sign != ",":
                break
            self.at, commas = self.at + 1, commas + 1
        return tuple(items), commas

    def call(self, function: str) -> FunctionCall:
        arguments, options = [], []
        self.expect("(")
        while self.sign != ")":
            if self.tokens[self.at][0] == "name" and self.tokens[self.at + 1] == ("sign", "="):
                name = str(self.take()[1])
                self.at += 1
                options.append((name, self.operation()))
            elif options:
                raise _Unreadable
            else:
                arguments.append(self.operation())
            if self.sign != ",":
                break
            self.at += 1
        self.expect(")")
        return FunctionCall(function, tuple(arguments), tuple(options))


def _tokens(text: str, where: str, base: Callable[[str], float] | None) -> Iterator[tuple[str, str | float]]:
    """Kind and value of every token."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _Unreadable("A power is written x**2." if text[at] == "^" else "")
        at, kind = match.end(), next(name for name in _KINDS if match[name] is not None)
        if kind == "number":
            yield kind, _number(match["number"], match["unit"], where, base)
        elif kind == "text":
            yield kind, match["text"][1:-1]
        elif kind != "space":
            yield kind, match[kind].strip()


_KINDS = ("space", "text", "braces", "path", "number", "name", "sign")


def _number(digits: str, unit: str | None, where: str, base: Callable[[str], float] | None) -> float:
    try:
        value = float(digits)
    except ValueError:
        raise _Unreadable from None
    if not math.isfinite(value):
        raise _Unreadable
    if not unit:
        return value
    in_si = value * unit_in_si(unit, where)[0]
    return in_si if base is None else in_si / base(unit)
