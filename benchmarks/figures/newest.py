"""The newest measurements in benchmarks/results, and tables of pages that are made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def newest(kind: str) -> tuple[str, list[dict[str, Any]]]:
    """Name and lines of the newest file of a kind of measurements."""
    path = max((ROOT / "benchmarks" / "results").glob(f"{kind}_*.jsonl"))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return path.name, [line for line in lines if line["benchmark"] == kind]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def filled(page: str, tables: Mapping[str, str]) -> str:
    """A page with these tables between their marks, `<!-- NAME: ... -->` and `<!-- end -->`."""
    for name, table in tables.items():
        mark = re.compile(rf"(<!-- {name}: .*? -->\n).*?(\n<!-- end -->)", re.S)
        assert mark.search(page), f"no place for the table {name}"
        page = mark.sub(lambda match, table=table: f"{match[1]}{table}{match[2]}", page)
    return page
