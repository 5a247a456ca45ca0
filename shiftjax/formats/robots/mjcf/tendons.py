"""`tendon` of MJCF: lengths that are sums of coordinates (fixed), or ways from site to site (spatial).

A fixed tendon on which something acts becomes a joint of a body without mass, whose coordinate is the length; one that
only stands there moves nothing. A spatial tendon between two sites is a spring and a damper between two frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.errors import nearest
from shiftjax.formats.robots.mjcf.classes import Classes
from shiftjax.formats.robots.mjcf.compiler import REMEDY, Compiler, range_of
from shiftjax.formats.robots.mjcf.document import ALONG_ONE, MjcfDocument, MjcfJoint, checked_name
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.record import record

ACTING = ("stiffness", "damping", "frictionloss", "armature")
READ = ("name", "class", *ACTING, "springlength", "range", "limited")
OTHERS = (
    "group", "margin", "solreflimit", "solimplimit", "solreffriction", "solimpfriction", "user", "width", "material",
    "rgba", "actuatorfrclimited", "actuatorfrcrange", "springyield",
)  # fmt: skip
LIMITED = "left out: limits of the tendon {}"
SHAFTS = "the length of the tendon {} is the turn of a body without mass"
SLACK = "tendons that move nothing are left out: {}"


@record
class FixedTendon:
    """A length sum c_k q_k of coordinates.

    Attributes:
        coefficients: one for each joint.
    """

    element: XmlElement
    name: str
    joints: Sequence[MjcfJoint]
    coefficients: Sequence[float]

    @property
    def start(self) -> float:
        """Its length where the file is drawn."""
        return sum(c * joint.ref for c, joint in zip(self.coefficients, self.joints, strict=True))

    @property
    def at_rest(self) -> float:
        """Its length where springs of its joints rest."""
        return sum(c * joint.springref for c, joint in zip(self.coefficients, self.joints, strict=True))

    def text(self, names: Sequence[str]) -> str:
        """In an equation of joints of these names."""
        terms = zip(self.coefficients, self.joints, strict=True)
        sums = [
            f"q[{names.index(joint.name)}]" if c == 1.0 else f"({float(c)!r}) * q[{names.index(joint.name)}]"
            for c, joint in terms
        ]
        return " + ".join(sums)


class Tendons:
    """The tendons of a file, with what acts along them added to a document.

    Attributes:
        fixed: by name. spatial: names of the others.
    """

    def __init__(self, document: MjcfDocument, compiler: Compiler) -> None:
        self.document, self.compiler = document, compiler
        self.fixed: dict[str, FixedTendon] = {}
        self.spatial: set[str] = set()
        self._shafts: dict[str, str] = {}

    def read(self, root: XmlElement, classes: Classes) -> None:
        """All `tendon` elements.

        Raises:
            ModelError: a joint or site that is not there, a law that is not read.
        """
        for every in root.every("tendon"):
            every.only((), ("fixed", "spatial"), once=False)
            for stated in every.children:
                element = classes.complete(stated)
                element.only(
                    (*READ, *OTHERS), ("joint",) if stated.tag == "fixed" else ("site", "geom", "pulley"), once=False
                )
                name = checked_name(element) or f"tendon_in_line_{element.line}"
                numbers = self._numbers(element)
                if (
                    range_of(element, "range", "limited", self.compiler) is not None
                    and "limit" not in self.compiler.off
                ):
                    self.document.notes.add(LIMITED, name)
                if stated.tag == "fixed":
                    self._read_fixed(element, name, numbers)
                else:
                    self._read_spatial(element, name, numbers)

    def _numbers(self, element: XmlElement) -> dict[str, float]:
        out: dict[str, float] = {}
        for key in ACTING:
            values = element.several(key, 3)
            if any(values[1:]):
                element.refuse(f"{key}={element.word(key)[:LONGEST]!r}", "one number", REMEDY)
            if values and values[0] < 0.0:
                element.refuse(f"{key} {values[0]:g}", "0 or more", "Correct it.")
            out[key] = values[0] if values else 0.0
        if any(element.several("springyield", 3)):
            element.refuse("springyield", "stiffness and damping", REMEDY)
        for key, name in (("stiffness", "spring"), ("damping", "damper"), ("frictionloss", "frictionloss")):
            if name in self.compiler.off:
                out[key] = 0.0
        return out

    def _read_fixed(self, element: XmlElement, name: str, numbers: Mapping[str, float]) -> None:
        joints: list[MjcfJoint] = []
        coefficients: list[float] = []
        for inner in element.children:
            inner.only(("joint", "coef"))
            word = inner.word("joint")
            one = self.document.joints.get(word)
            if one is None or one.type not in ALONG_ONE or one in joints:
                allowed = f"a joint of type {' or '.join(ALONG_ONE)}, once"
                inner.refuse(
                    f"joint={word[:LONGEST]!r}", allowed, nearest(word, self.document.joints) or "Name another one."
                )
            joints.append(one)
            coefficients.append(inner.number("coef"))
        if not joints:
            element.refuse("a tendon without joints", "one <joint> or more", "Add one.")
        self.fixed[name] = tendon = FixedTendon(element, name, joints, coefficients)
        if any(numbers.values()):
            shaft = self.shaft(name, numbers["armature"])
            self._act(element, name, numbers, tendon.at_rest, {"joint": shaft})

    def shaft(self, name: str, inertia: float = 0.0) -> str:
        """The joint whose coordinate is the length of a fixed tendon."""
        if name not in self._shafts:
            tendon, document = self.fixed[name], self.document
            joint = self._shafts[name] = document.shaft(name, inertia, tendon.start)
            joints = [joint, *(one.name for one in tendon.joints)]
            document.add_constraint(joint, "equation", joints, equation=f"q[0] == {tendon.text(joints)}")
            document.notes.add(SHAFTS, name)
        return self._shafts[name]

    def _read_spatial(self, element: XmlElement, name: str, numbers: Mapping[str, float]) -> None:
        self.spatial.add(name)
        if not any(numbers.values()):
            self.document.notes.add(SLACK, name)
            return
        ends = [inner for inner in element.children if inner.tag == "site"]
        if len(element.children) != 2 or len(ends) != 2 or numbers["frictionloss"] or numbers["armature"]:
            allowed = "a straight way between two sites, with stiffness and damping"
            element.refuse("forces along a spatial tendon", allowed, REMEDY)
        sites = []
        for inner in ends:
            inner.only(("site",))
            word = inner.word("site")
            if word not in self.document.sites:
                todo = nearest(word, self.document.sites) or "Add the site."
                inner.refuse(f"site={word[:LONGEST]!r}", "a site of the file", todo)
            sites.append(self.document.sites[word])
        points = [self.document.bodies[site.body].at.times(site.at).p for site in sites]
        length = float(np.linalg.norm(points[0] - points[1]))
        if numbers["stiffness"] and element.several("springlength", 2, (-1.0,))[0] == -1.0:
            elsewhere = [joint.name for joint in self.document.joints.values() if joint.springref != joint.ref]
            if elsewhere:  # MuJoCo measures it in the pose of all springref
                fault = f"no springlength, where joint {elsewhere[0]!r} has a springref that is not its ref"
                element.refuse(fault, "the length of the tendon at rest", "Add springlength.")
        self._act(element, name, numbers, length, {"body_frame_pair": [site.frame for site in sites]})

    def _act(
        self, element: XmlElement, name: str, numbers: Mapping[str, float], length: float, along: dict[str, Any]
    ) -> None:
        """A spring from its length at rest, which may be a range without force, a damper, dry friction."""
        document, k = self.document, numbers["stiffness"]
        rest = element.several("springlength", 2)
        low, high = (length, length) if not rest or rest[0] == -1.0 else (rest[0], rest[-1])
        if low > high:
            element.refuse(f"springlength {low:g} to {high:g}", "a lower length and an upper one", "Exchange them.")
        if k:
            pieces = [[k, -k * low], [0.0], [k, -k * high]] if low < high else [[k, -k * low]]
            knots = [low, high] if low < high else []
            title = document.free_name("restraints", f"{name}_spring")
            document.restraints.append(
                {"name": title, "type": "spring", **along, "knot_points": knots, "coefficients": pieces}
            )
        if damping := numbers["damping"]:
            title = document.free_name("restraints", f"{name}_damper")
            document.restraints.append({"name": title, "type": "damper", **along, "coefficients": [[damping, 0.0]]})
        if level := numbers["frictionloss"]:
            document.rub(name, level, **along)
