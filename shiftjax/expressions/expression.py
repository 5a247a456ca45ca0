"""The tree of an expression, such as that of `norm(tip.position - hub.position) / {rod.mass}`; records without meaning.

`grammar` makes it of a text, `evaluation` gives its values, `expression_units` its unit; what its names stand for,
channels, numbers of a design, columns of members or metrics, a `dialects.Dialect` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiftjax.record import record

ARITHMETIC = {"+": 2, "-": 2, "*": 3, "/": 3, "**": 5}  # sign -> how strongly it binds; a sign before a number: 4
RELATIONS = {"<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1}
BINDING = {**ARITHMETIC, **RELATIONS}
SIGNED, ALONE = 4, 6


@record
class NumberLiteral:
    """A number in SI."""

    value: float


@record
class Name:
    """A name or a path; in braces where the user wrote it so."""

    text: str
    braces: bool = False


@record
class Text:
    """A word in quotes."""

    text: str


@record
class Negative:
    """An expression with a minus before it."""

    of: Expression


@record
class Operation:
    """Two expressions with one of `BINDING` between them."""

    sign: str
    left: Expression
    right: Expression


@record
class Vector:
    """A list of expressions, one after the other."""

    items: tuple[Expression, ...]


@record
class Pick:
    """One number of an expression, counted from 0."""

    of: Expression
    place: Expression


@record
class FunctionCall:
    """A function of expressions; `options` are those with a name."""

    function: str
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...] = ()


Expression = NumberLiteral | Name | Text | Negative | Operation | Vector | Pick | FunctionCall


def parts(node: Expression) -> tuple[Expression, ...]:
    """The expressions right below a node, from left to right."""
    match node:
        case Negative(of):
            return (of,)
        case Operation(_, left, right):
            return left, right
        case Vector(items):
            return items
        case Pick(of, place):
            return of, place
        case FunctionCall(_, arguments, options):
            return (*arguments, *(value for _, value in options))
    return ()


def names(node: Expression) -> Iterator[Name]:
    """The names in an expression, from left to right."""
    if isinstance(node, Name):
        yield node
    for part in parts(node):
        yield from names(part)


def is_path(name: Name) -> bool:
    """Whether a name is one of an object's numbers: in braces, or with a part after a point or a colon."""
    return name.braces or "." in name.text or ":" in name.text


def is_plain(node: Expression) -> bool:
    """Whether an expression is made of numbers and pi only, without functions."""
    match node:
        case NumberLiteral() | Name("pi", False):
            return True
        case Negative() | Operation():
            return all(map(is_plain, parts(node)))
    return False


def written(node: Expression, binding: int = 0) -> str:
    """The text of an expression: that of the user up to spaces, brackets that are not needed, and units.

    Args:
        binding: how strongly what stands beside it binds.
    """
    match node:
        case NumberLiteral(value):
            text, strength = repr(value), ALONE
        case Name(path, braces):
            text, strength = f"{{{path}}}" if braces else path, ALONE
        case Text(word):
            text, strength = repr(word), ALONE
        case Negative(of):
            text, strength = f"-{written(of, SIGNED)}", SIGNED
        case Operation(sign, left, right):
            strength = BINDING[sign]
            sides = (ALONE, SIGNED) if sign == "**" else (strength, strength + 1)  # a power of a power: from the right
            text = f"{written(left, sides[0])} {sign} {written(right, sides[1])}"
        case Vector(items):
            text, strength = f"[{', '.join(map(written, items))}]", ALONE
        case Pick(of, place):
            text, strength = f"{written(of, ALONE)}[{written(place)}]", ALONE
        case FunctionCall(function, arguments, options):
            every = (*map(written, arguments), *(f"{name}={written(value)}" for name, value in options))
            text, strength = f"{function}({', '.join(every)})", ALONE
    return f"({text})" if strength < binding else text


def replaced(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """A node with the expressions right below it changed."""
    match node:
        case Negative(of):
            return Negative(change(of))
        case Operation(sign, left, right):
            return Operation(sign, change(left), change(right))
        case Vector(items):
            return Vector(tuple(map(change, items)))
        case Pick(of, place):
            return Pick(change(of), change(place))
        case FunctionCall(function, arguments, options):
            changed = tuple((name, change(value)) for name, value in options)
            return FunctionCall(function, tuple(map(change, arguments)), changed)
    return node
