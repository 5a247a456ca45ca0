"""The table of keys in docs/studies.md, made from `definition_keys`.

After a change of the keys, write it again from the root of the repository:

    python -m shiftjax.ensembles.study.study_reference docs/studies.md
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from shiftjax.ensembles.study.definition_keys import KEYS, Key

BEGIN, END = "<!-- keys -->", "<!-- end of keys -->"
HEAD = ("| key | meaning | holds | unit | default | example |", "|---|---|---|---|---|---|")
WORDS = {"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false"}


def with_keys(page: str) -> str:
    """The page with the table of keys between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", *HEAD, *map(_row, KEYS.values()), "", END + after])


def _row(key: Key) -> str:
    example = "<br>".join(f"`{line}`" for line in key.example.splitlines())
    cells = (f"`{key.name}`", key.doc, _holds(key), key.unit, key.default, example)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _holds(key: Key) -> str:
    schema: Mapping[str, object] = key.schema
    if isinstance(schema.get("enum"), list):
        return ", ".join(f"`{word}`" for word in schema["enum"])  # type: ignore[union-attr]
    kind = str(schema.get("type", ""))
    if kind == "array":
        return "a list of texts"
    if kind == "object":
        return "a table"
    if key.name == "keep":
        return "a text, a number, a list or a table"
    if key.name.endswith("_limit"):
        return "a number above 0, or `inf`"
    above = " above 0" if "exclusiveMinimum" in schema else f" from {schema['minimum']}" if "minimum" in schema else ""
    return WORDS[kind] + above


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_keys(file.read_text(encoding="utf-8")), encoding="utf-8")
