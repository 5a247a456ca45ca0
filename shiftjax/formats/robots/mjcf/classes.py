"""Classes of defaults: elements with the attributes that their class states for them.

A class has all that the class around it has. An element takes those of its `class`, else of the nearest `childclass`
around it, else of the outermost defaults; what it states itself comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiftjax.errors import nearest
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement

MAIN = "main"
AS = {  # tag of an element -> tag of its defaults
    "connect": "equality", "weld": "equality", "spatial": "tendon", "fixed": "tendon",
}  # fmt: skip
TURNS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")  # ways to state one orientation
NEVER = ("class", "name")
TAGS = (  # of elements that have defaults; those of actuators are read with them
    "mesh", "texture", "material", "joint", "geom", "site", "camera", "light", "pair", "equality", "tendon",
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "adhesion", "muscle", "dcmotor",
    "orientation", "pid",
)  # fmt: skip


class Classes:
    """All classes of a file.

    Raises:
        ModelError: a class without a name, two of one name.
    """

    def __init__(self, root: XmlElement) -> None:
        self._blocks: dict[str, list[XmlElement]] = {MAIN: []}  # of a class and those around it, outermost first
        for block in root.every("default"):
            self._add(block, [], MAIN)

    def _add(self, block: XmlElement, around: list[XmlElement], default: str | None = None) -> None:
        block.only(("class",), (*TAGS, "default"), once=False)
        name = block.word("class", default)
        if default is None and name in self._blocks:
            block.refuse(f"a second class {name[:LONGEST]!r}", "a name for one class", "Rename one.")
        blocks = self._blocks[name] = [*self._blocks.get(name, ()), *around, block]
        if default is not None and name != MAIN:
            self._blocks[MAIN] = blocks
        for inner in block.every("default"):
            self._add(inner, blocks)

    def of(self, element: XmlElement, childclass: str | None) -> list[XmlElement]:
        """The blocks of defaults for an element, outermost first.

        Raises:
            ModelError: a class that is not there.
        """
        name = element.attributes.get("class", childclass) or MAIN
        if name not in self._blocks:
            todo = nearest(name, self._blocks) or "Add the class to <default>."
            element.refuse(f"class {name[:LONGEST]!r}", "a class of the file", todo)
        return self._blocks[name]

    def complete(self, element: XmlElement, childclass: str | None = None, tag: str = "") -> XmlElement:
        """The element with what its class states for it.

        Args:
            tag: of its defaults, where it is another one than its own.
        """
        tag = tag or AS.get(element.tag, element.tag)
        attributes: dict[str, str] = {}
        for stated in (*self._stated(self.of(element, childclass), tag), element):
            if any(turn in stated.attributes for turn in TURNS):
                attributes = {name: value for name, value in attributes.items() if name not in TURNS}
            attributes |= {name: value for name, value in stated.attributes.items() if name not in NEVER}
        out = XmlElement(element.tag, attributes, element.line, element.above, element.file)
        if "name" in element.attributes:
            out.attributes = {"name": element.attributes["name"], **attributes}
        out.children, out.text = element.children, element.text
        return out

    def _stated(self, blocks: list[XmlElement], tag: str) -> Iterator[XmlElement]:
        for block in blocks:
            yield from block.every(tag)
