"""`actuator` of MJCF: the forces that act while the control is 0, or the number nearest to it that is allowed.

A force is gear (gain u + b0 + b1 l + b2 l') with the length l = gear q. Where b1 or b2 is stated it becomes a `servo`,
whose target is that of the control, else a `constant_load` where anything is left.
"""

from __future__ import annotations

import math
from typing import Any

from shiftjax.errors import nearest
from shiftjax.formats.robots.mjcf.classes import Classes
from shiftjax.formats.robots.mjcf.compiler import REMEDY, Compiler, range_of
from shiftjax.formats.robots.mjcf.document import ALONG_ONE, MjcfDocument, MjcfJoint, checked_name
from shiftjax.formats.robots.mjcf.tendons import Tendons
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement

KINDS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "adhesion")
REFUSED = ("muscle", "dcmotor", "orientation", "pid", "plugin")
WITHOUT = ("armature", "damping", "delay", "dampratio")  # numbers that change a motion and are not read where not 0
TRANSMISSIONS = ("joint", "jointinparent", "tendon", "site", "body", "slidersite", "cranksite")
BY_LAW = ("general", "motor", "position", "velocity")  # kinds whose force is gain u + bias
IDLE = "actuators without a force while their control is 0 are left out: {}"
HOLDING = "{} acts with control 0, as a servo whose target may be set"
PUSHING = "{} acts with the control nearest to 0 that it allows, as a constant load"
SMOOTH = "the range of the force of {} is approached smoothly, not met at a corner: the limit of a servo"
UNEVEN = "the force of {} is bounded by the larger end of its range on both sides, and approaches it smoothly"
TYPES_OF_BIAS = {"motor": "none", "damper": "none", "adhesion": "none"} | dict.fromkeys(
    ("position", "velocity", "intvelocity", "cylinder"), "affine"
)
Laws = dict[str, Any]


def actuators(root: XmlElement, classes: Classes, compiler: Compiler, document: MjcfDocument, tendons: Tendons) -> None:
    """Adds the forces of all `actuator` elements.

    Raises:
        ModelError: a kind or a law that is not read, a joint that is not there.
    """
    if "actuation" in compiler.off:
        return
    for every in root.every("actuator"):
        for element in every.children:
            if element.tag in REFUSED:
                element.refuse(f"<{element.tag}>", ", ".join(KINDS), REMEDY)
        every.only((), KINDS, once=False)
        for element in every.children:
            law: Laws = {"gain": 1.0, "bias": [0.0, 0.0, 0.0], "biastype": "none", "kind": "general", "attributes": {}}
            for block in classes.of(element, None):
                for default in block.children:
                    if default.tag in (*KINDS, *REFUSED):
                        _apply(default, law)
            _apply(element, law)
            complete = XmlElement(element.tag, law["attributes"], element.line, element.above, element.file)
            _actuator(complete, law, compiler, document, tendons)


def _apply(element: XmlElement, law: Laws) -> None:
    """What an element, or the defaults of one, says of a law.

    Attributes of a default are those of all kinds, gains those of its kind alone, but for `general`, which has those of
    all and gives its own to all.
    """
    law["attributes"] = law["attributes"] | element.attributes
    if "general" not in (element.tag, law["kind"]) and element.tag != law["kind"]:
        law["gain"], law["bias"] = 1.0, [0.0, 0.0, 0.0]
    law["kind"] = element.tag
    if "gainprm" in element.attributes:
        law["gain"] = (element.several("gainprm", 20) or (law["gain"],))[0]
    if "biasprm" in element.attributes:
        law["bias"] = [*element.several("biasprm", 20), 0.0, 0.0, 0.0][:3]
    law["biastype"] = element.word("biastype", TYPES_OF_BIAS.get(element.tag, law["biastype"]))
    kp, kv = (element.number(name) if name in element.attributes else None for name in ("kp", "kv"))
    if element.tag in ("position", "intvelocity"):
        law["gain"] = law["gain"] if kp is None else kp
        law["bias"] = [0.0, -law["gain"], law["bias"][2] if kv is None else -kv]
        if law["bias"][2] > 0.0:
            element.refuse(f"a damping ratio, biasprm {law['bias'][2]:g} or kv below 0", "kv of 0 or more", REMEDY)
    elif element.tag == "velocity":
        law["gain"] = law["gain"] if kv is None else kv
        law["bias"] = [0.0, 0.0, -law["gain"]]
    elif element.tag == "motor":
        law["gain"], law["bias"] = 1.0, [0.0, 0.0, 0.0]
    elif element.tag in ("damper", "adhesion"):
        law["gain"], law["bias"] = 0.0, [0.0, 0.0, 0.0]
    elif element.tag == "cylinder" and "bias" in element.attributes:
        law["bias"] = [*element.several("bias", 3), 0.0, 0.0, 0.0][:3]


def _actuator(element: XmlElement, law: Laws, compiler: Compiler, document: MjcfDocument, tendons: Tendons) -> None:
    gain, bias = law["gain"], law["bias"]
    _known(element, law)
    gear = (element.several("gear", 6) or (1.0,))[0]
    constant = gain * _control(element, compiler) + bias[0]
    ends = [name for name in TRANSMISSIONS if name in element.attributes]
    if not ends:
        element.refuse("no joint, tendon, site or body", "one of them, on which it acts", "Add it.")
    name = checked_name(element) or f"{element.word(ends[0])}_{element.tag}"
    if not (constant or bias[1] or bias[2]):
        document.notes.add(IDLE, name)
        return
    if ends[0] not in ("joint", "jointinparent", "tendon"):
        element.refuse(f"a force on a {ends[0]} that acts with control 0", "one on a joint or a tendon", REMEDY)
    joint, shared = _target(element, ends[0], document, tendons)
    p, d = -bias[1] * gear * gear, -bias[2] * gear * gear
    low, high = _bounds(element, gear, shared, compiler)
    if not (p or d):
        document.add_force(name, "constant_load", joint=joint, load=min(max(gear * constant, low), high))
        document.notes.add(PUSHING, name)
        return
    limit = max(-low, high)
    if p == 0.0 and constant:
        element.refuse("a constant force beside one by the speed", "either, or a gain of the length, too", REMEDY)
    if limit < math.inf:
        document.notes.add(SMOOTH if low == -high else UNEVEN, name)
    bounded = {"limit": limit} if limit < math.inf else {}
    target = gear * constant / p if p else 0.0
    document.add_force(name, "servo", joint=joint, p=p, d=d, target=target, **bounded)
    document.notes.add(HOLDING, name)


def _known(element: XmlElement, law: Laws) -> None:
    """Refuses a law that is none of those above."""
    for key, value in (("gaintype", "fixed"), ("biastype", law["biastype"]), ("dyntype", "none")):
        word = value if key == "biastype" else element.word(key, value)
        allowed = {"gaintype": ("fixed", "affine"), "biastype": ("none", "affine"),
                   "dyntype": ("none", "integrator", "filter", "filterexact")}[key]  # fmt: skip
        if word not in allowed:
            element.refuse(f"{key}={word[:LONGEST]!r}", ", ".join(allowed), REMEDY)
    for key in WITHOUT:
        if any(element.several(key, 3)):
            element.refuse(f"{key}={element.word(key)[:LONGEST]!r} of an actuator", f"{key} 0", REMEDY)
    if law["biastype"] == "none":
        law["bias"][:] = [0.0, 0.0, 0.0]


def _target(element: XmlElement, end: str, document: MjcfDocument, tendons: Tendons) -> tuple[str, MjcfJoint | None]:
    """The joint along which it acts, and that joint of the file."""
    word = element.word(end)
    if end == "tendon":
        if word in tendons.spatial:
            element.refuse(f"a force along the spatial tendon {word!r} with control 0", "fixed tendons", REMEDY)
        if word not in tendons.fixed:
            element.refuse(
                f"tendon={word[:LONGEST]!r}", "a tendon of the file", nearest(word, tendons.fixed) or "Add it."
            )
        return tendons.shaft(word), None
    one = document.joints.get(word)
    if one is None or one.type not in ALONG_ONE:
        allowed = f"a joint of type {' or '.join(ALONG_ONE)}"
        todo = nearest(word, [key for key, joint in document.joints.items() if joint.type in ALONG_ONE])
        element.refuse(f"{end}={word[:LONGEST]!r}", allowed, todo or REMEDY)
    return one.name, one


def _bounds(element: XmlElement, gear: float, joint: MjcfJoint | None, compiler: Compiler) -> tuple[float, float]:
    """The least and the largest force along the joint; infinite where there is none."""
    everything = (-math.inf, math.inf)
    ends = range_of(element, "forcerange", "forcelimited", compiler)
    low, high = everything if ends is None else sorted(gear * end for end in ends)
    shared = everything if joint is None or joint.force_range is None else joint.force_range
    return max(low, shared[0]), min(high, shared[1])


def _control(element: XmlElement, compiler: Compiler) -> float:
    """The control, or activation, that acts where nobody states one: 0, or what its range leaves of it."""
    ends = range_of(element, "ctrlrange", "ctrllimited", compiler)
    if ends is None or element.tag == "intvelocity" or "clampctrl" in compiler.off or ends[0] <= 0.0 <= ends[1]:
        return 0.0
    laws = (element.word("gaintype", "fixed"), element.word("dyntype", "none"))
    if element.tag not in BY_LAW or laws != ("fixed", "none"):
        element.refuse(f"ctrlrange={element.word('ctrlrange')!r} without 0", "a range with 0 in it", REMEDY)
    return ends[0] if ends[0] > 0.0 else ends[1]
