"""The two frames that an element of a document connects, and whether it can be."""

from __future__ import annotations

from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node
from shiftjax.mechanism.fields import numbers_of
from shiftjax.mechanism.physical import faults
from shiftjax.mechanism.records import FIXED, Element, FrameRef, Joint, Restraint


def ends_of(node: Node, pair_key: str, names: Names, local: str) -> tuple[FrameRef, FrameRef]:
    """The two frames an element connects, refused where they are on one body."""
    if node.has(pair_key):
        if node.has("parent") or node.has("child"):
            node.refuse("one of them", "Remove one.", f"both {pair_key!r} and 'parent', 'child'")
        pair = list(node[pair_key].items())
        if len(pair) != 2:
            node[pair_key].refuse("two frames, the parent's first", "Name two frames.")
        first, second = pair
    else:
        first, second = node["parent"], node["child"]
        for end, key in ((first, "parent"), (second, "child")):
            if end.value is None:
                node.refuse("'parent' and 'child'", f"Add {key!r}: [[path], frame].", f"no {key!r}")
    parent, child = names.frame(first, local), names.frame(second, local)
    if parent.body == child.body:
        ground = "both ends on ground" if parent.body == FIXED else f"both ends on body {parent.body}"
        node.refuse("ends on two bodies, or on a body and ground", "Correct one end.", ground)
    return parent, child


def check_possible(node: Node, item: Joint | Restraint | Element) -> None:
    """Refuses numbers that an element cannot have."""
    for fault in faults(item, numbers_of(item)):
        if fault.bad[0]:
            keys = {str(steps[0]) for steps in fault.steps}
            at = node[keys.pop()] if len(keys) == 1 else node
            at.refuse(fault.allowed, fault.todo, fault.found(0))
