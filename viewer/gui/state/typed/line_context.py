"""Where a cursor stands in a line of calls, as `drag("bucket", [0, 0, 0], [1, 0, 0]); lock("cab")`. No GUI library."""

from __future__ import annotations

import re

from shiftjax.record import record

CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
WORD = re.compile(r"[^\W\d]\w*$")


@record
class LineContext:
    """What is being written.

    Attributes:
        step: of the call that the cursor is in, "" outside of one.
        place: how many arguments come before; word: the name of this one, "" where it has none.
        texts: in quotes before it, of this argument; given: of the first one.
        depth: of brackets within the argument; is_value: whether of an entry of a dict, after its key.
        quote: that is open, "" for none. fragment: before the cursor, in the quotes or of the word that is written.
    """

    step: str
    place: int
    word: str
    texts: tuple[str, ...]
    given: str
    depth: int
    is_value: bool
    quote: str
    fragment: str


def context_of(before: str) -> LineContext:
    """The context of a cursor, of the text before it. A bracket that closes none is left aside."""
    reader = _LineReader()
    for at, letter in enumerate(before):
        reader.take(at, letter, before)
    if reader.quote:
        fragment = before[reader.begun :]
    else:
        word = WORD.search(before)
        fragment = word[0] if word else ""
    return LineContext(
        reader.step, reader.place, reader.word, tuple(reader.texts), reader.given, max(len(reader.open) - 1, 0),
        bool(reader.is_value) and reader.is_value[-1], reader.quote, fragment,
    )  # fmt: skip


class _LineReader:
    """Reads a line letter by letter."""

    def __init__(self) -> None:
        self.step, self.place, self.word, self.given = "", 0, "", ""
        self.texts: list[str] = []
        self.open: list[str] = []  # brackets
        self.is_value: list[bool] = []  # of each, whether a value of a dict is written
        self.quote, self.begun, self.escaped = "", 0, False

    def take(self, at: int, letter: str, line: str) -> None:
        if self.quote:
            self._take_quoted(at, letter, line)
        elif letter in "\"'":
            self.quote, self.begun = letter, at + 1
        elif letter in CLOSED_BY:
            if not self.open:
                name = WORD.search(line[:at].rstrip())
                self.step, self.place, self.word, self.given, self.texts = name[0] if name else "", 0, "", "", []
            self.open.append(letter)
            self.is_value.append(False)
        elif self.open and letter == CLOSED_BY[self.open[-1]]:
            self.open.pop()
            self.is_value.pop()
            if not self.open:
                self.step = ""
        elif self.open:
            self._take_sign(at, letter, line)

    def _take_quoted(self, at: int, letter: str, line: str) -> None:
        if self.escaped:
            self.escaped = False
        elif letter == "\\":
            self.escaped = True
        elif letter == self.quote:
            text = line[self.begun : at]
            self.texts.append(text)
            if self.place == 0 and not self.given:
                self.given = text
            self.quote = ""

    def _take_sign(self, at: int, letter: str, line: str) -> None:
        """A comma, a colon or an equals sign."""
        if letter == ",":
            self.is_value[-1] = False
            if len(self.open) == 1:
                self.place, self.word, self.texts = self.place + 1, "", []
        elif letter == ":":
            self.is_value[-1] = self.open[-1] == "{"
        elif letter == "=" and len(self.open) == 1:
            name = WORD.search(line[:at].rstrip())
            self.word = name[0] if name else ""
