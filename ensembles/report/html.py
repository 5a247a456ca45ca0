"""Numbers, tables and figures as HTML. Figures are numbered as they come, and kept for the folder of pictures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from shiftjax.ensembles.report import style

DIGITS = 4  # of a number that stands alone
LONG = 40  # characters of a text in a table, which then has several lines


def number(value: float, digits: int = DIGITS) -> str:
    """A number as it is printed: 0.1234, 12 340, 1.2 × 10⁻¹³."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}".replace(",", "\u202f").replace("-", "−")
    return _raised(f"{value:.{digits}g}")


def precise(value: float, digits: int, usual: int = DIGITS) -> str:
    """A number with so many digits; where these are more than the usual ones, as the spread of several numbers asks
    for, zeros at its end, too."""
    if not math.isfinite(value) or digits <= usual:
        return number(value, digits)
    return _raised(f"{value:#.{digits}g}".removesuffix("."))


def exact(value: float) -> str:
    """A number with all its digits, of which there are few."""
    return _raised(f"{value!r}")


def _raised(text: str) -> str:
    mantissa, e, power = text.partition("e")
    return (
        f"{mantissa} × 10{str(int(power)).translate(style.RAISED)}".replace("-", "−") if e else text.replace("-", "−")
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int] = (0,)) -> str:
    """A table of cells that are HTML already; the columns of `text` stand to the left."""

    def cell(tag: str, k: int, inside: str) -> str:
        mark = (
            ""
            if k not in text
            else ' class="text long"'
            if len(inside) > LONG and "<" not in inside
            else ' class="text"'
        )
        return f"<{tag}{mark}>{inside}</{tag}>"

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(cell(tag, k, inside) for k, inside in enumerate(cells)) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    return f'<div class="wide"><table><thead>{line("th", head)}</thead><tbody>{body}</tbody></table></div>'


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def breakable(text: str) -> str:
    """A text that may go on in the next line after the dots and colons of a path."""
    return re.sub(r"([.:_])", r"\1<wbr>", escape(text))


def key(colour: str) -> str:
    """A little square of a colour, for captions."""
    return f'<span class="key" style="background:{colour}"></span>'


class Book:
    """The figures of a report in order.

    Attributes:
        pictures: name -> figure of matplotlib.
    """

    def __init__(self) -> None:
        self.pictures: dict[str, Any] = {}
        self._count = 0

    def add(self, made: Any, name: str, title: str, caption: str) -> str:
        """A figure with its caption; nothing of no figure.

        Args:
            name: of its picture file. title: text. caption: HTML, what is seen.
        """
        if made is None:
            return ""
        self.pictures[name] = made
        return self.framed(style.svg(made, title), title, caption)

    def framed(self, inside: str, title: str, caption: str) -> str:
        """Any element as a numbered figure."""
        self._count += 1
        words = f"<b>Figure {self._count}. {escape(title)}.</b> {caption}"
        return f"<figure>{inside}<figcaption>{words}</figcaption></figure>"
