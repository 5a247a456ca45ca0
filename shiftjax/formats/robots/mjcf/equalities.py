"""`equality` of MJCF as exact joints and constraints: loops that MuJoCo closes by stiff springs.

What a file states of two bodies holds where it is drawn. A joint that closes a loop is cut there, so that the tree is
that of the file, and begins without a turn.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.errors import nearest
from shiftjax.formats.robots.mjcf.classes import Classes
from shiftjax.formats.robots.mjcf.compiler import flag
from shiftjax.formats.robots.mjcf.document import ALONG_ONE, WORLD, MjcfDocument, MjcfSite, checked_name
from shiftjax.formats.robots.mjcf.orientation import HERE, BodyPlace, unit
from shiftjax.formats.robots.mjcf.tendons import FixedTendon
from shiftjax.formats.robots.placing import rotation_of_quaternion
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.mechanism.records import ZERO

SOFT = ("solref", "solimp")
EXACT = "equalities hold exactly, where those of MuJoCo give way (solref, solimp): {}"
INACTIVE = "left out, since it is not active: {}"
OTHERS = ("flex", "flexstrain", "flexvert")
POLYNOMIAL = (0.0, 1.0, 0.0, 0.0, 0.0)


def equalities(root: XmlElement, classes: Classes, document: MjcfDocument, tendons: Mapping[str, FixedTendon]) -> None:
    """Adds what all `equality` elements state.

    Raises:
        ModelError: bodies, sites, joints or tendons that are not there, a kind that is not read.
    """
    for every in root.every("equality"):
        every.only((), ("connect", "weld", "joint", "tendon", *OTHERS), once=False)
        for stated in every.children:
            element = classes.complete(stated, None, "equality")
            title = checked_name(stated) or f"{stated.tag}_in_line_{stated.line}"
            if not flag(element, "active", default=True):
                document.notes.add(INACTIVE, title)
                continue
            if stated.tag in OTHERS:
                stated.refuse(f"<{stated.tag}>, of a deformable body", "connect, weld, joint or tendon", "Remove it.")
            if stated.tag in ("connect", "weld"):
                _Loop(element, document).close("" if "name" not in stated.attributes else title)
            else:
                _couple(element, stated.attributes.get("name", ""), document, tendons)
            document.notes.add(EXACT, title)


class _Loop:
    """A connect or weld between two bodies, named themselves or by their sites."""

    def __init__(self, element: XmlElement, document: MjcfDocument) -> None:
        self.element, self.document = element, document
        self.by_sites = "site1" in element.attributes or "site2" in element.attributes
        more = ("relpose", "torquescale") if element.tag == "weld" else ()
        element.only(("name", "class", "active", *SOFT, "body1", "body2", "site1", "site2", "anchor", *more))
        if self.by_sites:
            if wrong := [name for name in ("body1", "body2", "anchor", "relpose") if name in element.attributes]:
                element.refuse(f"{wrong[0]} beside sites", "two sites, or two bodies", "Remove one.")
            self.sites = [self._site(name) for name in ("site1", "site2")]
            self.bodies = [document.bodies[site.body] for site in self.sites]
        else:
            self.bodies = [document.bodies[self._body(name)] for name in ("body1", "body2")]
        if self.bodies[0].name == self.bodies[1].name:
            element.refuse(f"both ends on {self.bodies[0].name!r}", "two bodies", "Name another one.")

    def _site(self, name: str) -> MjcfSite:
        word = self.element.word(name)
        if word not in self.document.sites:
            todo = nearest(word, self.document.sites) or "Add the site."
            self.element.refuse(f"{name}={word[:LONGEST]!r}", "a site of the file", todo)
        return self.document.sites[word]

    def _body(self, name: str) -> str:
        word = self.element.word(name, None if name == "body1" else WORLD)
        if word not in self.document.bodies:
            todo = nearest(word, self.document.bodies) or "Add the body."
            self.element.refuse(f"{name}={word[:LONGEST]!r}", "a body of the file", todo)
        return word

    def close(self, title: str) -> None:
        """Adds the joint: spherical, or rigid for a weld that holds orientations, too."""
        turning = self.element.tag == "connect" or self.element.number("torquescale", 1.0) == 0.0
        first, second = self._ends(turning)
        names = [body.name for body in self.bodies]
        name = self.document.free_name("joints", title or f"{names[0]}_{self.element.tag}_{names[1]}")
        parent, child = (self.document.frame(*end) for end in ((names[0], name, first), (names[1], name, second)))
        self.document.add_joint(name, "spherical" if turning else "rigid", parent, child, cut=True)

    def _ends(self, turning: bool) -> tuple[BodyPlace, BodyPlace]:
        """Where the joint stands in both bodies; a spherical one has no turn where the file is drawn."""
        one, other = (body.at for body in self.bodies)
        if self.by_sites:
            first, second = (site.at for site in self.sites)
        elif self.element.tag == "connect":
            first = BodyPlace(np.array(self.element.numbers("anchor", 3)), HERE.R)
            second = BodyPlace(other.seen(one.times(first)).p, HERE.R)
        else:
            second = BodyPlace(np.array(self.element.numbers("anchor", 3, ZERO)), HERE.R)
            first = self._anchor_in_first(one.seen(other).times(second))
        if turning:
            first = BodyPlace(first.p, HERE.R)
            second = BodyPlace(second.p, other.R.T @ one.R)
        return first, second

    def _anchor_in_first(self, drawn: BodyPlace) -> BodyPlace:
        """The anchor in the first body, along the axes of the second: `relpose`, or where both are drawn.

        That `pos` of `relpose` is of the anchor, and not of the second body's origin, is what MuJoCo does.
        """
        *pos, w, x, y, z = self.element.numbers("relpose", 7, (0.0,) * 7)
        if not any((w, x, y, z)):
            return drawn
        return BodyPlace(np.array(pos), rotation_of_quaternion(*unit(self.element, "relpose", (w, x, y, z))))


def _couple(element: XmlElement, title: str, document: MjcfDocument, tendons: Mapping[str, FixedTendon]) -> None:
    """y - y0 = a0 + a1 (x - x0) + ... of two coordinates, or lengths of tendons, from where they are drawn."""
    tag = element.tag
    element.only(("name", "class", "active", *SOFT, f"{tag}1", f"{tag}2", "polycoef"))
    a = (element.several("polycoef", 5, POLYNOMIAL) + (0.0,) * 5)[:5]
    ends = [_end(element, f"{tag}{k}", document, tendons) for k in (1, 2) if k == 1 or f"{tag}2" in element.attributes]
    if len(ends) == 1:
        a = (a[0], 0.0, 0.0, 0.0, 0.0)
    name = title or "_equals_".join(element.word(f"{tag}{k + 1}") for k in range(len(ends)))
    y0, x0 = ends[0].start, ends[-1].start
    leader = ends[-1].joints if len(ends) > 1 and any(a[1:]) else []
    follower = ends[0].joints[0]
    alone = len(ends[0].joints) == 1 and ends[0].coefficients == [1.0]
    if follower in leader:
        element.refuse(f"joint {follower.name!r} follows itself", "another joint", "Name another one.")
    if alone and len(leader) == 1 and ends[1].coefficients == [1.0] and not any(a[2:]):
        numbers = {"multiplier": a[1], "offset": y0 + a[0] - a[1] * x0}
        document.add_constraint(name, "mimic", [follower.name, leader[0].name], **numbers)
    else:
        joints = list(dict.fromkeys(one.name for one in (*ends[0].joints, *leader)))
        x = f"({ends[1].text(joints)} - {number(x0)})" if leader else "0"
        powers = [f"{number(c)} * {x}" + (f"**{k}" if k > 1 else "") for k, c in enumerate(a) if k and c]
        equation = f"{ends[0].text(joints)} == {' + '.join([number(y0 + a[0]), *powers])}"
        document.add_constraint(name, "equation", joints, equation=equation)
    away = _drawn(ends[1], document) - x0 if leader else 0.0
    way = sum(c * away**k for k, c in enumerate(a))
    if alone and way:
        document.joint_entries[follower.name]["initial_displacement"] = y0 + way


def _drawn(tendon: FixedTendon, document: MjcfDocument) -> float:
    """Its length where its joints begin, which may follow others."""
    starts = [document.joint_entries[joint.name].get("initial_displacement", 0.0) for joint in tendon.joints]
    return sum(c * start for c, start in zip(tendon.coefficients, starts, strict=True))


def number(value: float) -> str:
    """In a text of an equation."""
    return repr(float(value)) if value >= 0.0 else f"({float(value)!r})"


def _end(element: XmlElement, name: str, document: MjcfDocument, tendons: Mapping[str, FixedTendon]) -> FixedTendon:
    """A joint, as a tendon of it alone, or a fixed tendon."""
    word = element.word(name)
    if element.tag == "tendon":
        if word not in tendons:
            allowed = "a fixed tendon of the file"
            element.refuse(f"{name}={word[:LONGEST]!r}", allowed, nearest(word, tendons) or "Remove it.")
        return tendons[word]
    one = document.joints.get(word)
    if one is None or one.type not in ALONG_ONE:
        movable = [key for key, joint in document.joints.items() if joint.type in ALONG_ONE]
        todo = nearest(word, movable) or "Name another one."
        element.refuse(f"{name}={word[:LONGEST]!r}", f"a joint of type {' or '.join(ALONG_ONE)}", todo)
    return FixedTendon(element, word, [one], [1.0])
