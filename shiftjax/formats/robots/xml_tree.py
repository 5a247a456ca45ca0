"""Elements of an XML text with the lines they stand in: the typed questions a reader asks, each with its error.

The parser is Python's expat. A text with a document type is refused: no entity is ever declared, expanded or fetched.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import NoReturn
from xml.parsers import expat

from shiftjax.errors import ModelError, nearest

DEEPEST = 100  # levels of elements
LONGEST = 60  # characters of what messages quote
KEPT = 2000  # characters of a text between tags: SDFormat has poses and names there, URDF nothing
NUMERALS = frozenset("0123456789+-.eE")  # and no words as nan, nor 1_000


class XmlElement:
    """An element: its tag, attributes and children, its text, and where it stands.

    Attributes:
        where: file, path of elements with their names, and line, for messages.
    """

    __slots__ = ("above", "attributes", "children", "file", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, above: XmlElement | None, file: str) -> None:
        self.tag, self.attributes, self.line, self.above, self.file = tag, attributes, line, above, file
        self.children: list[XmlElement] = []
        self.text = ""

    @property
    def where(self) -> str:
        labels, element = list[str](), self
        while element is not None:
            name = f" {element.attributes['name']!r}" if "name" in element.attributes else ""
            labels.append(f"{element.tag}{name}"[:LONGEST])
            element = element.above
        return f"{self.file}, line {self.line}: {'/'.join(reversed(labels))}"

    def refuse(self, fault: str, allowed: str, todo: str) -> NoReturn:
        raise ModelError(self.where, fault, allowed, todo)

    def only(self, attributes: Collection[str], children: Collection[str] = (), *, once: bool = True) -> None:
        """Refuses attributes, children and texts that have no meaning here.

        Args:
            once: whether each child may come once only.
        """
        for name in self.attributes:
            if name not in attributes and not name.startswith("xmlns"):
                allowed = ", ".join(attributes) or "none"
                todo = nearest(name, attributes) or "Remove it: it is not known whether it changes the motion."
                self.refuse(f"attribute {name[:LONGEST]!r}", f"the attributes {allowed}", todo)
        for inner in self.children:
            if inner.tag not in children:
                allowed = f"<{self.tag}> with {', '.join(f'<{tag}>' for tag in children)}" if children else "no element"
                todo = nearest(inner.tag, children) or "Remove it: it is not known whether it changes the motion."
                inner.refuse(f"element <{inner.tag[:LONGEST]}>", allowed, todo)
        if once:
            self.only_once(*children)
        self.silent()

    def only_once(self, *tags: str) -> None:
        """Refuses a second child of a tag."""
        for tag in tags:
            for inner in [*self.every(tag)][1:]:
                inner.refuse(f"<{tag}> a second time", f"one in <{self.tag}>", "Remove one.")

    def silent(self) -> None:
        """Refuses text between tags, where an element has none."""
        if self.text:
            self.refuse(f"text {self.text[:LONGEST]!r}", "attributes and elements", "Write it as an attribute.")

    def every(self, tag: str) -> Iterator[XmlElement]:
        """The children with a tag."""
        return (inner for inner in self.children if inner.tag == tag)

    def everything(self) -> Iterator[XmlElement]:
        """The element and all that is in it."""
        yield self
        for inner in self.children:
            yield from inner.everything()

    def child(self, tag: str) -> XmlElement | None:
        """The first child with a tag."""
        return next(self.every(tag), None)

    def needed(self, tag: str) -> XmlElement:
        """The first child with a tag, which must be there."""
        inner = self.child(tag)
        if inner is None:
            self.refuse(f"no <{tag}>", f"<{self.tag}> with one", "Add it.")
        return inner

    def word(self, name: str, default: str | None = None) -> str:
        """An attribute as it is written; it must be there where there is no default."""
        value = self.attributes.get(name, default)
        if value is None:
            self.refuse(f"no attribute {name!r}", f"<{self.tag} {name}=...>", "Add it.")
        return value

    def numbers(self, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """An attribute of several finite numbers with spaces between them."""
        if name not in self.attributes and default is not None:
            return default
        text = self.word(name)
        words = text.split()
        try:
            if not all(NUMERALS.issuperset(word) for word in words):
                raise ValueError
            values = tuple(map(float, words))
        except ValueError:
            values = ()
        if len(values) != count or not all(map(math.isfinite, values)):
            allowed = "one finite number" if count == 1 else f"{count} finite numbers with spaces between them"
            todo = "Expand the macros first: `xacro FILE`." if "$" in text else "Correct it."
            self.refuse(f"{name}={text[:LONGEST]!r}", allowed, todo)
        return values

    def several(self, name: str, most: int, default: tuple[float, ...] = ()) -> tuple[float, ...]:
        """An attribute of up to some finite numbers, as many as it states."""
        if name not in self.attributes:
            return default
        return self.numbers(name, min(len(self.word(name).split()), most))

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute of one finite number."""
        (value,) = self.numbers(name, 1, None if default is None else (default,))
        return value


def parsed(text: str, name: str) -> XmlElement:
    """The root element of a text.

    Args:
        name: of the file, for messages.

    Raises:
        ModelError: no XML, a document type, elements nested deeper than `DEEPEST`.
    """
    parser = expat.ParserCreate("utf-8")  # the text was decoded as that, whatever it says of itself
    stack: list[XmlElement] = []
    roots: list[XmlElement] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = XmlElement(tag, attributes, parser.CurrentLineNumber, stack[-1] if stack else None, name)
        if len(stack) >= DEEPEST:
            element.refuse("a deeper element", f"elements nested at most {DEEPEST} deep", "Flatten them.")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(_: str) -> None:
        element = stack.pop()
        element.text = element.text.rstrip()

    def characters(part: str) -> None:
        if stack and len(stack[-1].text) < KEPT:
            stack[-1].text = (stack[-1].text + part).lstrip()

    def document_type(*_: object) -> None:
        where = f"{name}, line {parser.CurrentLineNumber}"
        raise ModelError(where, "a document type", "XML without <!DOCTYPE>, and so without entities", "Remove it.")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = characters, document_type
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        where, fault = f"{name}, line {error.lineno}", expat.errors.messages[error.code]
        raise ModelError(where, fault, "well-formed XML", f"Correct it at column {error.offset + 1}.") from None
    return roots[0]
