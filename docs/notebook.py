"""A notebook as Markdown: its text, its code, and what the code printed and drew when it was last run."""

from __future__ import annotations

import json
from typing import Any


def markdown(source: str) -> str:
    """The Markdown of a notebook given as the text of an .ipynb file; pictures are carried inside, as data."""
    parts = []
    for cell in json.loads(source)["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code":
            parts += [f"```python\n{text}\n```", *(part for item in cell["outputs"] for part in _output(item))]
    return "\n\n".join(parts) + "\n"


def _output(item: dict[str, Any]) -> list[str]:
    """One output of a cell: a text, or a picture, of which the richest form is taken."""
    if item["output_type"] == "stream":
        return [_printed(item["text"])] if item["name"] == "stdout" else []
    data = item.get("data", {})
    if "image/png" in data:
        inside = "".join(data["image/png"]).replace("\n", "")
        return [f"![drawn by the code above](data:image/png;base64,{inside})"]
    return [_printed(data["text/plain"])] if "text/plain" in data else []


def _printed(text: str | list[str]) -> str:
    return f"```text\n{''.join(text).rstrip()}\n```"
