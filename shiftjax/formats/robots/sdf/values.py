"""What elements of SDFormat state between their tags: numbers, flags, poses; and which elements they may hold."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

import numpy as np

from shiftjax.errors import nearest
from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.placing import of_quaternion, roll_pitch_yaw
from shiftjax.formats.robots.xml_tree import KEPT, LONGEST, NUMERALS, XmlElement

FLAGS = {"true": True, "1": True, "false": False, "0": False}
INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
MOVING_CUSTOM = (  # elements of another program that say something of the motion
    "drake:joint",
    "drake:linear_bushing_rpy",
    "drake:ball_constraint",
    "drake:rotor_inertia",
    "drake:gear_ratio",
    "drake:mimic",
    "drake:tendon_constraint",
    "drake:deformable_properties",
)
ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?xml": "?>"}
BEGIN = re.compile("|".join(map(re.escape, ENDS)))
FARTHEST = 1e100  # m: products along chains of poses are numbers, too
NOT_KNOWN = "Remove it: it is not known whether it changes the motion."


def check(
    element: XmlElement,
    attributes: Collection[str],
    children: Collection[str],
    notes: ReaderNotes,
    *,
    harmless: Collection[str] = (),
    many: Collection[str] = (),
    drawn: bool = False,
) -> None:
    """Refuses what an element cannot hold, and notes what moves nothing.

    Args:
        children: elements that are read. harmless: those that move nothing.
        many: which of `children` may come more than once.
        drawn: whether the element is drawn and no more, so that nothing in it moves anything.
    """
    for name in element.attributes:
        if name not in attributes and ":" not in name and not name.startswith("xmlns") and not drawn:
            allowed = f"the attributes {', '.join(attributes) or 'none'}"
            element.refuse(f"attribute {name[:LONGEST]!r}", allowed, nearest(name, attributes) or NOT_KNOWN)
    for inner in element.children:
        if inner.tag in MOVING_CUSTOM:
            fault = f"<{inner.tag}>, which says something of the motion to another program"
            inner.refuse(fault, "elements of SDFormat", "Remove it, and add to the model what it stands for.")
        if inner.tag in harmless or ":" in inner.tag or (drawn and inner.tag not in children):
            notes.leave_out(inner)
        elif inner.tag not in children:
            known = [*children, *harmless]
            allowed = f"<{element.tag}> with {', '.join(f'<{tag}>' for tag in known)}" if known else "no element"
            inner.refuse(f"element <{inner.tag[:LONGEST]}>", allowed, nearest(inner.tag, known) or NOT_KNOWN)
    element.only_once(*(tag for tag in children if tag not in many))
    if element.text:
        element.refuse(f"text {element.text[:LONGEST]!r}", "elements", "Write it into one, or make it a comment.")


def readable(text: str) -> str:
    """A text with blanks for its comments and its declaration, so that lines stay.

    Files that simulators read have comments before the declaration and two hyphens within, which XML does not allow.
    """
    parts: list[str] = []
    place = 0
    while (opening := BEGIN.search(text, place)) is not None:
        begin, mark = opening.start(), opening.group()
        end = text.find(ENDS[mark], begin + len(mark))
        if end < 0:
            break
        end += len(ENDS[mark])
        inside = text[begin:end] if mark == "<![CDATA[" else "".join(filter("\n".__eq__, text[begin:end]))
        parts += [text[place:begin], inside]
        place = end
    return "".join((*parts, text[place:]))


def refuse_attributes(element: XmlElement, allowed: Collection[str] = ()) -> None:
    """Refuses attributes of an element with a value that may change what it means, as a unit."""
    for name in element.attributes:
        if name not in allowed and ":" not in name:
            expected = f"the attributes {', '.join(allowed)}" if allowed else "no attribute"
            element.refuse(f"attribute {name[:LONGEST]!r}", expected, nearest(name, allowed) or NOT_KNOWN)


def text(element: XmlElement) -> str:
    """What stands between the tags of an element without others in it."""
    for inner in element.children:
        inner.refuse(f"element <{inner.tag[:LONGEST]}>", f"<{element.tag}> with a text alone", "Remove it.")
    if len(element.text) >= KEPT:
        element.refuse(f"a text of more than {KEPT} characters", "a shorter one", "Shorten it.")
    return element.text.strip()


def word(above: XmlElement, tag: str, default: str | None = None) -> str:
    """The text of a child; it must be there where there is no default."""
    element = above.child(tag) if default is not None else above.needed(tag)
    if element is None:
        return default or ""
    if not (stated := text(element)) and default is None:
        element.refuse("no text", f"<{tag}>...</{tag}>", "Write it.")
    return stated or default or ""


def floats(element: XmlElement, count: int, *, infinite: bool = False) -> tuple[float, ...]:
    """Finite numbers with spaces between them; also infinite ones where they may be."""
    words = text(element).split()
    try:
        values = tuple(
            INFINITE[part.lower()]
            if infinite and part.lower() in INFINITE
            else float(part if NUMERALS.issuperset(part) else "")
            for part in words
        )
    except ValueError:
        values = ()
    if len(values) != count or not (infinite or all(map(math.isfinite, values))):
        allowed = "one finite number" if count == 1 else f"{count} finite numbers with spaces between them"
        todo = "Expand the templates first." if any(mark in element.text for mark in "$<{") else "Correct it."
        element.refuse(repr(element.text[:LONGEST]), allowed, todo)
    return values


def vector(
    above: XmlElement, tag: str, default: tuple[float, ...] | None = None, attributes: Collection[str] = ()
) -> tuple[float, ...]:
    """Three numbers in a child, or as many as its default has; attributes: those that the child may have."""
    element = above.child(tag) if default is not None else above.needed(tag)
    if element is not None:
        refuse_attributes(element, attributes)
    if element is None or (default is not None and not text(element)):
        return default or ()
    return floats(element, 3 if default is None else len(default))


def number(above: XmlElement, tag: str, default: float, *, infinite: bool = False) -> float:
    """A number in a child."""
    element = above.child(tag)
    if element is None:
        return default
    refuse_attributes(element)
    return default if not text(element) else floats(element, 1, infinite=infinite)[0]


def flag(above: XmlElement, tag: str, *, default: bool) -> bool:
    """True or false in a child."""
    element = above.child(tag)
    if element is None:
        return default
    refuse_attributes(element)
    return default if not text(element) else flag_of(element, text(element))


def flag_of(element: XmlElement, stated: str) -> bool:
    """True or false, as SDFormat writes them.

    Raises:
        ModelError: something else.
    """
    if stated.lower() not in FLAGS:
        element.refuse(repr(stated[:LONGEST]), "true or false", "Correct it.")
    return FLAGS[stated.lower()]


def pose_of(element: XmlElement | None) -> np.ndarray:
    """(4, 4) of a `pose`: x y z, then roll pitch yaw about fixed axes or a quaternion x y z w; none is no motion.

    Raises:
        ModelError: another count of numbers, an unknown format of rotations, a quaternion that is none.
    """
    X = np.eye(4)
    if element is None:
        return X
    refuse_attributes(element, ("relative_to", "rotation_format", "degrees", "frame"))
    format = element.word("rotation_format", "euler_rpy")
    degrees = flag_of(element, element.word("degrees", "false"))
    if not text(element):
        return X
    if format == "quat_xyzw":
        if degrees:
            element.refuse("a quaternion in degrees", "degrees of euler_rpy", "Remove one.")
        numbers = floats(element, 7)
        X[:3, :3] = of_quaternion(element, *numbers[3:])
    elif format == "euler_rpy":
        numbers = floats(element, 6)
        X[:3, :3] = roll_pitch_yaw(*(math.radians(angle) if degrees else angle for angle in numbers[3:]))
    else:
        element.refuse(f"rotation_format={format[:LONGEST]!r}", "euler_rpy or quat_xyzw", "Choose one of them.")
    X[:3, 3] = numbers[:3]
    if np.abs(X[:3, 3]).max() > FARTHEST:
        element.refuse(f"{element.text[:LONGEST]!r}", f"a place up to {FARTHEST:g} m away", "Correct it.")
    return X


def relative_to(element: XmlElement | None) -> str:
    """The frame in which a `pose` is stated (`frame` before 1.7); "" where it states none."""
    if element is None:
        return ""
    return element.word("relative_to", element.word("frame", ""))


def inverse(X: np.ndarray) -> np.ndarray:
    """Of a (4, 4) pose."""
    out = np.eye(4)
    out[:3, :3] = X[:3, :3].T
    out[:3, 3] = -(X[:3, :3].T @ X[:3, 3])
    return out
