"""A model of an MJCF file as a document of the Shift format.

MJCF: https://mujoco.readthedocs.io/en/stable/XMLreference.html. What MuJoCo holds by stiff springs, `equality`, becomes
an exact joint or constraint. What has no meaning here and moves nothing is left out with a note; contacts are left out,
too, and said; anything else that is unknown is refused: no mechanism moves otherwise than its file says without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.formats.robots.mjcf.actuators import actuators
from shiftjax.formats.robots.mjcf.classes import Classes
from shiftjax.formats.robots.mjcf.compiler import Compiler
from shiftjax.formats.robots.mjcf.document import MjcfDocument
from shiftjax.formats.robots.mjcf.equalities import equalities
from shiftjax.formats.robots.mjcf.geoms import assets
from shiftjax.formats.robots.mjcf.includes import opened
from shiftjax.formats.robots.mjcf.settings import settings
from shiftjax.formats.robots.mjcf.tendons import Tendons
from shiftjax.formats.robots.mjcf.world import World
from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.xml_tree import XmlElement

READ = ("compiler", "option", "default", "asset", "worldbody", "equality", "tendon", "actuator")
LEFT_OUT = ("size", "statistic", "visual", "custom", "sensor", "keyframe", "extension")
UNNAMED = "model"
ABOVE = 4  # folders above a file in which its meshes may lie
PAIRS = "contacts are left out, those of pairs, too: {}"
TEXTS = "texts between elements are left out, as MuJoCo does: in the element of {}"


def read(text: str, name: str, folder: Path | None = None) -> tuple[Mapping[str, Any], list[str]]:
    """The document of an MJCF, and what it does not say as the file does.

    Args:
        text: of the file. name: of the file, for messages.
        folder: where it lies, for files that it includes.

    Raises:
        ModelError: no MJCF, or something that would change the motion and is not read.
    """
    root = opened(text, name, folder)
    notes = ReaderNotes()
    _without_texts(root, notes)
    root.only(("model",), (*READ, *LEFT_OUT, "contact", "deformable"), once=False)
    if (soft := root.child("deformable")) is not None:
        soft.refuse("<deformable>", "rigid bodies", "Remove it.")
    compiler = settings(root, notes)
    classes = Classes(root)
    document = MjcfDocument(notes)
    known = assets(root, classes, folder, notes)
    with np.errstate(all="ignore"):  # what is no number is refused where it is used
        World(classes, compiler, known, document).read(root)
        tendons = Tendons(document, compiler)
        tendons.read(root, classes)
        if "equality" not in compiler.off:
            equalities(root, classes, document, tendons.fixed)
        actuators(root, classes, compiler, document, tendons)
    for element in root.children:
        if element.tag in LEFT_OUT:
            notes.leave_out(element)
        if element.tag == "contact" and "contact" not in compiler.off:
            for pair in element.every("pair"):
                notes.add(PAIRS, f"line {pair.line}")
    return _whole(root, compiler, document), notes.lines(name)


def _without_texts(element: XmlElement, notes: ReaderNotes) -> None:
    """MuJoCo reads no text between elements, nor does anything here."""
    if element.text:
        notes.add(TEXTS, f"line {element.line}")
        element.text = ""
    for inner in element.children:
        _without_texts(inner, notes)


def _whole(root: XmlElement, compiler: Compiler, document: MjcfDocument) -> dict[str, Any]:
    name = root.word("model", UNNAMED)
    plain = "".join(letter for letter in name if letter.isprintable() and letter not in ":`")[:200].strip()
    return {
        "model_parameters": {"version": "2.0", "gravity": list(compiler.gravity), **_folders(document)},
        "frames": document.ground,
        "assemblies": [
            {
                "name": plain if plain and plain != "fixed" else UNNAMED,
                "bodies": [*document.body_entries.values()],
                "joints": [*document.joint_entries.values()],
                "force_modules": document.forces,
                "constraints": document.constraints,
                "restraints": document.restraints,
            }
        ],
    }


def _folders(document: MjcfDocument) -> dict[str, Any]:
    """Folders above the file in which its meshes lie, seen from there."""
    shapes = [shape for body in document.body_entries.values() for shape in body.get("geometry", ())]
    levels = [name.split("/").count("..") for shape in shapes for name in shape.get("filename", ())]
    above = min(max(levels, default=0), ABOVE)
    return {"include_directories": ["/".join([".."] * k) for k in range(1, above + 1)]} if above else {}
