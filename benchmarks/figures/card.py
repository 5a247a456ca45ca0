"""The report card of docs/benchmarks.md, from the newest one in benchmarks/results."""

from __future__ import annotations

from figures.newest import ROOT, filled, markdown, newest

from shiftjax.bench.tables import card_table
from shiftjax.models import names

PAGE = ROOT / "docs" / "benchmarks.md"


def with_card(page: str) -> str:
    """The page with its table made anew between its marks."""
    file, lines = newest("card")
    order = names()
    lines.sort(key=lambda line: (order.index(line["model"]), line["precision"] == "f32"))
    head, rows = card_table(lines)
    rows = [(f"`{row[0]}`", *row[1:]) for row in rows]
    first = lines[0]
    where = f"{first['cpu']}, {first['cores']} cores, jax {first['versions']['jax']}, {first['date']}"
    return filled(page, {"card": f"{markdown(head, rows)}\n\n{where}: `{file}`."})


def card() -> None:
    PAGE.write_text(with_card(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


PICTURES = (card,)
