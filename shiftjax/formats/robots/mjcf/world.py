"""The tree of bodies of an MJCF: `worldbody`, with bodies, frames, joints, inertias, geoms and sites."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shiftjax.formats.robots.mjcf.classes import Classes
from shiftjax.formats.robots.mjcf.compiler import AUTO, FALSE, TRUE, Compiler, flag
from shiftjax.formats.robots.mjcf.document import WORLD, MjcfBody, MjcfDocument, MjcfJoint, checked_name
from shiftjax.formats.robots.mjcf.geoms import (
    BY_FILE,
    OF_CONTACTS,
    Assets,
    StatedGeom,
    geom,
    mass_of,
    shapes,
)
from shiftjax.formats.robots.mjcf.geoms import READ as READ_OF_GEOMS
from shiftjax.formats.robots.mjcf.joints import OF_SOLVER, act_along, joint, place_joint
from shiftjax.formats.robots.mjcf.joints import READ as READ_OF_JOINTS
from shiftjax.formats.robots.mjcf.masses import MassPart, symmetric, together
from shiftjax.formats.robots.mjcf.orientation import HERE, BodyPlace, from_z, place
from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.xml_tree import XmlElement

ORIENTED = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler")
CHILDREN = ("inertial", "joint", "freejoint", "geom", "site", "body", "frame", "camera", "light")
MACROS = ("replicate", "attach", "composite", "flexcomp", "plugin")
SAVED = "Load it in MuJoCo and save it by mj_saveLastXML, which writes what it stands for; read that file."
CONTACTS = "contacts are left out: bodies pass through each other, which {} in MuJoCo do not"
MOCAP = "stand where they are drawn, as MuJoCo moves them by data: {}"
STATIC = "masses of meshes of bodies that do not move are left out: {}"
COMPENSATED = "gravity acts on {} as their gravcomp leaves it"


class BodyContent(NamedTuple):
    """What a body holds, with what stands in its frames."""

    joints: list[XmlElement]
    geoms: list[StatedGeom]
    bodies: list[tuple[XmlElement, BodyPlace, str | None]]  # with frame, childclass
    inertial: XmlElement | None


class World:
    """Reads the tree into a document.

    Args:
        document: to which bodies, joints, frames and what acts along joints are added.
    """

    def __init__(self, classes: Classes, compiler: Compiler, known: Assets, document: MjcfDocument) -> None:
        self.classes, self.compiler, self.known, self.document = classes, compiler, known, document
        self.notes: ReaderNotes = document.notes
        self._masses: dict[str, MassPart] = {}
        self._colliding: list[str] = []

    def read(self, root: XmlElement) -> None:
        """All of `worldbody`.

        Raises:
            ModelError: what a body cannot have, or what changes the motion and is not read.
        """
        for world in root.every("worldbody"):
            self._reserve(world)
        for world in root.every("worldbody"):
            content = self._content(world, WORLD, HERE, world.attributes.get("childclass"))
            for wrong in (*content.joints, *([content.inertial] if content.inertial is not None else [])):
                wrong.refuse(f"<{wrong.tag}> of the world", "it in a <body>", "Move it.")
            self._scenery(content.geoms)
            for element, frame, childclass in content.bodies:
                self._body(element, WORLD, frame, childclass)
        self._weigh()
        if len(self._colliding) > 1 and "contact" not in self.compiler.off:
            for name in self._colliding:
                self.notes.add(CONTACTS, name)

    def _reserve(self, element: XmlElement) -> None:
        """Names that the file states, each of one body and one joint."""
        for inner in element.children:
            kind = "joints" if inner.tag in ("joint", "freejoint") else "bodies" if inner.tag == "body" else None
            name = checked_name(inner) if kind is not None else ""
            if kind is not None and name:
                if self.document.free_name(kind, name) != name or (kind == "bodies" and name == WORLD):
                    inner.refuse(f"a second {inner.tag} {name!r}", f"a name for one {inner.tag}", "Rename one.")
            if inner.tag in ("body", "frame"):
                self._reserve(inner)

    def _scenery(self, geoms: list[StatedGeom]) -> None:
        """Shapes of the world, drawn by a body that a rigid joint holds on ground."""
        drawn = shapes(geoms, WORLD, self.known, self.compiler, self.notes)
        if drawn:
            name = self.document.free_name("bodies", "scenery")
            self.document.add_body(name, geometry=drawn)
            ends = self.document.frame(WORLD, name, HERE), self.document.frame(name, name, HERE)
            self.document.add_joint(self.document.free_name("joints", f"{name}_on_ground"), "rigid", *ends)

    def _content(self, element: XmlElement, body: str, frame: BodyPlace, childclass: str | None) -> BodyContent:
        """What stands in a body, or in a frame of it, whose places are those of the body then."""
        joints: list[XmlElement] = []
        geoms: list[StatedGeom] = []
        bodies: list[tuple[XmlElement, BodyPlace, str | None]] = []
        inertial: XmlElement | None = None
        for inner in element.children:
            if inner.tag in MACROS:
                inner.refuse(f"<{inner.tag}>", "bodies, joints and geoms themselves", SAVED)
        element.only(element.attributes, CHILDREN, once=False)
        for inner in element.children:
            if inner.tag in ("joint", "freejoint"):
                full = self.classes.complete(inner, childclass) if inner.tag == "joint" else inner
                self.notes.leave_others(full, (*READ_OF_JOINTS, *OF_SOLVER), ())
                joints.append(full)
            elif inner.tag == "geom":
                full = self.classes.complete(inner, childclass)
                self.notes.leave_others(full, (*READ_OF_GEOMS, *OF_CONTACTS), ())
                geoms.append(geom(full, frame, self.compiler))
            elif inner.tag == "site":
                self._site(self.classes.complete(inner, childclass), body, frame)
            elif inner.tag == "inertial":
                element.only_once("inertial")
                inertial = inner
            elif inner.tag == "body":
                bodies.append((inner, frame, childclass))
            elif inner.tag == "frame":
                inner.only(("name", "childclass", *ORIENTED), CHILDREN, once=False)
                deeper = frame.times(place(inner, self.compiler))
                more = self._content(inner, body, deeper, inner.attributes.get("childclass", childclass))
                for wrong in (*more.joints, *([more.inertial] if more.inertial is not None else [])):
                    wrong.refuse(f"<{wrong.tag}> of a <frame>", "it in the body itself", "Move it.")
                geoms += more.geoms
                bodies += more.bodies
            else:
                self.notes.leave_out(inner)
        if any(one.collides for one in geoms) and body not in self._colliding:
            self._colliding.append(body)
        return BodyContent(joints, geoms, bodies, inertial)

    def _site(self, element: XmlElement, body: str, frame: BodyPlace) -> None:
        """A frame of the body, where the site has a name; it stands in the middle of its `fromto`."""
        at = place(element, self.compiler)
        if "fromto" in element.attributes:
            ends = np.array(element.numbers("fromto", 6))
            at = BodyPlace(0.5 * (ends[:3] + ends[3:]), from_z(ends[:3] - ends[3:]))
        if name := checked_name(element):
            if name in self.document.sites:
                element.refuse(f"a second site {name!r}", "a name for one site", "Rename one.")
            self.document.add_site(name, body, frame.times(at))
        else:
            self.notes.leave_out(element)

    def _body(self, element: XmlElement, parent: str, frame: BodyPlace, childclass: str | None) -> None:
        element.only(
            ("name", "childclass", "mocap", "gravcomp", "user", "sleep", "fuse", "simple", *ORIENTED),
            (*CHILDREN, *MACROS), once=False,
        )  # fmt: skip
        self.notes.leave_others(element, ("name", "childclass", "mocap", "gravcomp", *ORIENTED), (*CHILDREN, *MACROS))
        document = self.document
        name = checked_name(element) or document.free_name("bodies", "body")
        childclass = element.attributes.get("childclass", childclass)
        at = frame.times(place(element, self.compiler))
        above = document.bodies[parent]
        document.add_body(name)
        content = self._content(element, name, HERE, childclass)
        moves = above.moves or bool(content.joints)
        document.bodies[name] = MjcfBody(name, above.at.times(at), moves)
        entry = document.body_entries[name]
        if (part := self._mass(content, name, moves, element)) is not None:
            self._masses[name] = part
        if drawn := shapes(content.geoms, name, self.known, self.compiler, self.notes):
            entry["geometry"] = drawn
        compensation = element.number("gravcomp", 0.0)
        if compensation and not {"spring", "damper"} <= self.compiler.off:  # with both, MuJoCo has no passive forces
            entry["gravity_scale"] = 1.0 - compensation
            self.notes.add(COMPENSATED, name)
        if flag(element, "mocap"):
            self.notes.add(MOCAP, name)
        self._hang(content.joints, name, parent, at)
        for inner, inside, inner_class in content.bodies:
            self._body(inner, name, inside, inner_class)

    def _hang(self, elements: list[XmlElement], name: str, parent: str, at: BodyPlace) -> None:
        """The joints of a body, in their order; a rigid one where it has none."""
        document = self.document
        if not elements:
            above = "ground" if parent == WORLD else parent
            title = document.free_name("joints", f"{name}_on_{above}")
            ends = document.frame(parent, title, at), document.frame(name, title, HERE)
            document.add_joint(title, "rigid", *ends)
        base, current = parent, at
        for k, element in enumerate(elements):
            one = self._joint(element, name)
            if one.type == "free" and (len(elements) > 1 or parent != WORLD):
                element.refuse("a free joint", "the only joint of a body that stands in the world", "Move it.")
            target = name
            if k < len(elements) - 1:
                target = document.free_name("bodies", f"{name}_{one.name}")
                document.add_body(target)
            place_joint(one, base, target, current, document)
            document.joints[one.name] = one
            act_along(one, self.compiler, document)
            base, current = target, HERE

    def _joint(self, element: XmlElement, body: str) -> MjcfJoint:
        type = "free" if element.tag == "freejoint" else element.word("type", "hinge")
        name = checked_name(element) or self.document.free_name("joints", f"{body}_{type}")
        return joint(element, name, self.compiler)

    def _mass(self, content: BodyContent, body: str, moves: bool, element: XmlElement) -> MassPart | None:
        """The mass of a body: of its inertial, or of its geoms, as the compiler is told."""
        compiler = self.compiler
        stated = None if content.inertial is None else self._inertial(content.inertial)
        if compiler.from_geoms == FALSE or (compiler.from_geoms == AUTO and stated is not None):
            part = stated
        else:
            geoms = content.geoms
            if not moves and any(one.type in BY_FILE for one in geoms):
                self.notes.add(STATIC, body)
                geoms = [one for one in geoms if one.type not in BY_FILE]
            masses = [mass for one in geoms if (mass := mass_of(one, self.known, compiler)) is not None]
            part = together(masses) if masses else (stated if compiler.from_geoms == TRUE else None)
        if part is None and (compiler.boundmass > 0.0 or compiler.boundinertia > 0.0):
            part = MassPart(0.0, np.zeros(3), np.zeros((3, 3)))
        return None if part is None else self._bounded(part, element)

    def _bounded(self, part: MassPart, element: XmlElement) -> MassPart:
        """With the least mass and principal moments that the compiler leaves."""
        compiler = self.compiler
        if not np.all(np.isfinite([part.mass, *part.center, *part.inertia.ravel()])):
            element.refuse("a mass or moments that are too large", "finite numbers", "Correct them.")
        moments, axes = np.linalg.eigh(part.inertia)
        least = compiler.boundinertia
        inertia = part.inertia
        if least > 0.0 and moments.min() < least:
            moments = np.maximum(moments, least)
            inertia = symmetric(axes @ np.diag(moments) @ axes.T)
        if compiler.balance and 2.0 * moments.max() > moments.sum() * (1.0 + 1e-12):
            remedy = "Remove balanceinertia, or correct the inertia."
            element.refuse("an inertia that balanceinertia would change", "one that a body can have", remedy)
        return MassPart(max(part.mass, compiler.boundmass), part.center, inertia)

    def _inertial(self, element: XmlElement) -> MassPart:
        element.only(("mass", "diaginertia", "fullinertia", *ORIENTED))
        at = place(element, self.compiler)
        mass = element.number("mass")
        if mass < 0.0:
            element.refuse(f"a mass of {mass:g} kg", "0 or more", "Correct the mass.")
        if "fullinertia" in element.attributes:
            if "diaginertia" in element.attributes or any(way in element.attributes for way in ORIENTED[1:]):
                element.refuse("fullinertia beside diaginertia or an orientation", "fullinertia alone", "Remove one.")
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            return MassPart(mass, at.p, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        diagonal = np.diag(element.numbers("diaginertia", 3, (0.0, 0.0, 0.0)))
        return MassPart(mass, at.p, symmetric(at.R @ diagonal @ at.R.T))

    def _weigh(self) -> None:
        """Gives bodies their masses, all of which make up `settotalmass` where it is stated."""
        total = sum(part.mass for part in self._masses.values())
        factor = self.compiler.settotalmass / total if self.compiler.settotalmass > 0.0 and total > 0.0 else 1.0
        for name, part in self._masses.items():
            entry: dict[str, Any] = self.document.body_entries[name]
            frames = entry.pop("frames")
            entry |= part.scaled(factor).entry() | {"frames": frames}
