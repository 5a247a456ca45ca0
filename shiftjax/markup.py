"""Tables as text and as HTML, for terminals and notebooks. Host only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

COLUMN = 80  # characters of a line of code that a page of the documentation shows without scrolling
MOST_ROWS = 40  # of a table in a notebook; what follows is counted


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Lines of a table, the columns of `left` to the left, the others to the right."""
    every = [head, *rows]
    widths = [max(len(line[k]) for line in every) for k in range(len(head))]
    return [
        "  ".join(
            f"{cell:<{width}}" if k in left else f"{cell:>{width}}"
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in every
    ]


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a title; of a long one the first `MOST_ROWS` rows and how many follow."""
    every = list(rows)
    lines = [_row("th", head), *(_row("td", row) for row in every[:MOST_ROWS])]
    if len(every) > MOST_ROWS:
        lines.append(_row("td", [f"... {len(every) - MOST_ROWS} more", *[""] * (len(head) - 1)]))
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


def html_lines(lines: Iterable[str]) -> str:
    """Lines of text as they are."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _row(cell: str, values: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(str(value))}</{cell}>" for value in values) + "</tr>"
