"""The reference of the file format follows from the table of fields."""

import subprocess
import sys
from pathlib import Path

import pytest

from shiftjax.formats.reference import reference
from shiftjax.joints import KINDS
from shiftjax.mechanism.fields import element, labels

ROOT = Path(__file__).resolve().parents[1]


def test_the_reference_is_that_of_the_table() -> None:
    """In a fresh process, since what tests register would be part of it."""
    command = [sys.executable, "-m", "shiftjax.formats.reference"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    committed = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    assert done.stdout == committed, f"write it again: python {' '.join(command[1:])} > docs/format.md"


@pytest.mark.parametrize("label", labels())
def test_every_field_has_a_sentence_and_a_row(label: str) -> None:
    text = reference()
    for field in element(label):
        assert len(field.doc.split()) > 1, f"{field.name} of {label} needs a sentence"
        (row, *_) = [line for line in text.splitlines() if line.startswith(f"| `{field.name}` |") and field.doc in line]
        for key in (*field.every_key, *field.misspelt):
            assert f"`{key}`" in row
        assert row.count(" | ") == 6


def test_the_reference_lists_every_type_of_joint() -> None:
    text = reference()
    assert all(f"| `{name}` | {kind.nq} | {kind.nv} |" in text for name, kind in KINDS.items())
    assert "| `float` | 7 | 6 | m, rad | {T, R, rotation} |" in text
    assert "| `x_scale` | – | `x_scale` |" in text and "| `include` | `include` |  |" in text
