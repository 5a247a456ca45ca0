"""An object file of one WebAssembly module as a module that a browser instantiates.

Of one object whose data stand at the beginning of memory nothing is left to link: code generation has written the
numbers of functions and the addresses of data into it. What is missing is the names under which functions are found
outside, and what only a linker reads is left out (WebAssembly Object File Linking, tool-conventions, 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiftjax.record import record

HEAD = b"\0asm\1\0\0\0"
CUSTOM, EXPORTS, START, DATA = 0, 7, 8, 11  # numbers of sections; they stand in their order, custom ones anywhere
SYMBOLS = 8  # subsection of "linking"
FUNCTION, UNDEFINED, NAMED = 0, 0x10, 0x40  # kind of a symbol; its flags


@record
class WasmSection:
    """A section by its number, with the name of a custom one and its content."""

    number: int
    name: str
    content: bytes


def module_of(code: bytes, exports: Sequence[str]) -> bytes:
    """The module of an object file.

    Args:
        exports: names of functions that are found from outside.

    Raises:
        ValueError: no WebAssembly, or no such function.
    """
    if not code.startswith(HEAD):
        raise ValueError("an object file that is not WebAssembly")
    sections = [*_sections(code)]
    functions = _functions(next(one.content for one in sections if one.name == "linking"))
    if lacking := [name for name in exports if name not in functions]:
        raise ValueError(f"the object file has no functions {', '.join(lacking)}")
    entries = [_text(name) + bytes([FUNCTION]) + _number(functions[name]) for name in exports]
    table = WasmSection(EXPORTS, "", _number(len(entries)) + b"".join(entries))
    needed = [one for one in sections if one.number not in (CUSTOM, EXPORTS)]
    before = [one for one in needed if one.number < START]
    after = [one for one in needed if one.number >= START]
    return HEAD + b"".join(
        bytes([one.number]) + _number(len(one.content)) + one.content for one in (*before, table, *after)
    )


def constants_end(module: bytes) -> int:
    """Bytes at the beginning of memory that the constants of a module take."""
    reader = _Numbers(next((one.content for one in _sections(module) if one.number == DATA), b"\0"))
    end = 0
    for _ in range(reader.number()):
        if reader.number():
            raise ValueError("data that a program places, or of a second memory")
        reader.byte()  # i32.const
        offset = reader.number()  # below 2^31 / 64, where signed numbers are written as these
        reader.byte()  # end
        end = max(end, offset + len(reader.block()))
    return end


def _sections(code: bytes) -> Iterator[WasmSection]:
    reader = _Numbers(code, len(HEAD))
    while reader.more:
        number, content = reader.byte(), reader.block()
        name = ""
        if number == CUSTOM:
            inner = _Numbers(content)
            name = inner.block().decode()
            content = content[inner.place :]
        yield WasmSection(number, name, content)


def _functions(linking: bytes) -> dict[str, int]:
    """Name -> number of each function that is defined there, of the symbols of an object file."""
    reader, functions = _Numbers(linking), dict[str, int]()
    reader.number()  # version
    while reader.more:
        kind, table = reader.byte(), _Numbers(reader.block())
        for _ in range(table.number() if kind == SYMBOLS else 0):
            of, flags = table.byte(), table.number()
            if of == FUNCTION:
                number = table.number()
                if not flags & UNDEFINED or flags & NAMED:
                    functions[table.block().decode()] = number
            elif of == 1:  # data
                table.block()
                for _ in range(0 if flags & UNDEFINED else 3):  # segment, offset, size
                    table.number()
            elif of == 3:  # a section
                table.number()
            else:  # a global, an event or a table
                table.number()
                if not flags & UNDEFINED or flags & NAMED:
                    table.block()
    return functions


class _Numbers:
    """Reads what bytes hold, from a place on."""

    def __init__(self, content: bytes, place: int = 0) -> None:
        self.content, self.place = content, place

    @property
    def more(self) -> bool:
        return self.place < len(self.content)

    def byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def number(self) -> int:
        """An unsigned number in groups of seven bits, the lowest first (LEB128)."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def block(self) -> bytes:
        """Bytes behind their number."""
        size = self.number()
        self.place += size
        return self.content[self.place - size : self.place]


def _number(value: int) -> bytes:
    out = bytearray()
    while True:
        value, byte = value >> 7, value & 0x7F
        out.append(byte | 0x80 if value else byte)
        if not value:
            return bytes(out)


def _text(name: str) -> bytes:
    return _number(len(name)) + name.encode()
