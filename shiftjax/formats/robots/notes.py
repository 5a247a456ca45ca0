"""What a reader of another format says of a file: what it leaves out, what it only keeps, what it had to choose.

A sentence is said once, of all that it is true of.
"""

from __future__ import annotations

from collections.abc import Collection

from shiftjax.formats.robots.xml_tree import XmlElement
from shiftjax.mechanism.paths import listed

SLIP_SPEED = 1e-2  # rad/s or m/s: these formats state how large dry friction is, not how it begins
SHOWN = 4  # names in a sentence
OFF = ("", "0", "0.0", "false")
MOVING = {  # element that says something of the motion -> texts with which it says nothing
    "joint": (),
    "link": (),
    "model": (),
    "static": OFF,
    "kinematic": OFF,
    "dampingFactor": OFF,
    "velocity_decay": OFF,
    "springStiffness": OFF,
    "springReference": OFF,
}


class ReaderNotes:
    """Sentences about elements, in the order in which they came up."""

    def __init__(self) -> None:
        self._left_out: dict[str, list[int]] = {}  # tag, or attribute -> lines
        self._about: dict[str, list[str]] = {}  # sentence -> names
        self._data: dict[str, list[str]] = {}  # what is kept as data -> names of what has it

    def leave_out(self, element: XmlElement) -> None:
        """Notes an element that moves nothing.

        Raises:
            ModelError: it, or an element in it, says something of the motion.
        """
        for inner in (element, *(element.children if element.tag == "gazebo" else ())):
            nothing = MOVING.get(inner.tag)
            if nothing is not None and inner.text.lower() not in nothing:
                todo = "Remove it, and add to the model what it stands for."
                if inner.tag == "joint":
                    todo = "Remove it, load the file, and close the loop by Editor.add_joint or a constraint."
                fault = f"<{inner.tag}> for another program, which says something of the motion"
                inner.refuse(fault, "what that program needs beside", todo)
        self._left_out.setdefault(f"<{element.tag}>", []).append(element.line)

    def leave_others(self, element: XmlElement, attributes: Collection[str], children: Collection[str]) -> None:
        """Notes attributes and children without a meaning here, of an element in which they move nothing."""
        for name in element.attributes:
            if name not in attributes and not name.startswith("xmlns"):
                self._left_out.setdefault(f"{name!r} of <{element.tag}>", []).append(element.line)
        for inner in element.children:
            if inner.tag not in children:
                self.leave_out(inner)

    def add(self, sentence: str, name: str) -> None:
        """Notes that a sentence, with {} in it, is true of what is called so."""
        names = self._about.setdefault(sentence, [])
        if name not in names:
            names.append(name)

    def keep(self, what: str, name: str) -> None:
        """Notes that something is kept as `data` of what is called so."""
        self._data.setdefault(what, []).append(name)

    def lines(self, file: str) -> list[str]:
        """The sentences."""
        out = [f"{file}: {sentence.format(listed(names, SHOWN))}" for sentence, names in self._about.items()]
        if self._data:
            kinds = [f"{what} of {listed(names, SHOWN)}" for what, names in self._data.items()]
            out.append(f"{file}: kept as data, which no run reads: {'; '.join(kinds)}")
        if self._left_out:
            tags = [
                f"{what} in line {lines[0]}" + (f" and {len(lines) - 1} more" if lines[1:] else "")
                for what, lines in self._left_out.items()
            ]
            out.append(f"{file}: left out, since it moves nothing here: {'; '.join(tags)}")
        return out
