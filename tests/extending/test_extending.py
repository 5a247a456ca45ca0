"""The page "Extending" shows the very files that the suite of extensions runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shiftjax.docs.pages import text

EXTENSIONS = Path(__file__).resolve().parents[1] / "extensions"
SHOWN = re.compile(r"<!-- not run: tests/extensions/(\w+\.py) is this file.*? -->\n```python\n(.*?)^```$", re.M | re.S)
FILES = {
    "bogacki_shampine.py",
    "bristle.py",
    "butcher.py",
    "cam.py",
    "contact.py",
    "gear.py",
    "lines_format.py",
    "screw.py",
    "spin.py",
    "wear.py",
}


def test_the_page_shows_a_file_for_each_table() -> None:
    assert {name for name, _ in SHOWN.findall(text("extending.md"))} == FILES


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_page_shows_the_file_that_is_tested(name: str) -> None:
    shown = dict(SHOWN.findall(text("extending.md")))[name]
    assert shown == (EXTENSIONS / name).read_text(encoding="utf-8"), f"copy tests/extensions/{name} into the page"
