"""MJCF texts for tests, written from the format's documentation."""

from __future__ import annotations

from typing import Any

from shiftjax import load
from shiftjax.formats.builder import Numbers
from shiftjax.formats.robots.mjcf.model import read
from shiftjax.mechanism.model import Model

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def words(numbers: Numbers) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def mujoco(*elements: str, world: str = "", name: str = "m") -> str:
    """A file of which line 2 is `worldbody`; the other elements follow it, one a line."""
    return f'<mujoco model="{name}">\n<worldbody>{world}</worldbody>\n' + "\n".join(elements) + "\n</mujoco>\n"


def read_text(text: str) -> tuple[dict[str, Any], list[str]]:
    document, notes = read(text, "m.xml")
    return dict(document), notes


def model_of(*elements: str, world: str = "") -> Model:
    """Its notes are the comment of the model."""
    document, notes = read_text(mujoco(*elements, world=world))
    return load({**document, "comment": "\n".join(notes)})


def notes_of(*elements: str, world: str = "") -> list[str]:
    return read_text(mujoco(*elements, world=world))[1]
