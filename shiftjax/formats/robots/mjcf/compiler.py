"""How numbers of an MJCF are meant, and questions that its elements are asked: words out of few, ends of ranges."""

from __future__ import annotations

from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.record import record

GRAVITY = (0.0, 0.0, -9.81)  # m/s^2, where no option states it
AUTO, TRUE, FALSE = "auto", "true", "false"
REMEDY = "Remove it, and add its force to the model."


@record
class Compiler:
    """How numbers of the file are meant.

    Attributes:
        degrees: whether angles are in degrees. eulerseq: axes of `euler`, in capitals those that stand still.
        from_geoms: whether masses come from geoms: auto, where a body has no inertial.
        groups: first and last group of geoms that masses come from.
        boundmass, boundinertia: least mass [kg] and principal moment [kg m^2] of a body.
        settotalmass: of all bodies [kg]; 0 or less leaves them.
        off: flags that are switched off.
    """

    degrees: bool = True
    eulerseq: str = "xyz"
    meshdir: str = ""
    autolimits: bool = True
    from_geoms: str = AUTO
    groups: tuple[float, float] = (-1e9, 1e9)
    boundmass: float = 0.0
    boundinertia: float = 0.0
    balance: bool = False
    settotalmass: float = 0.0
    gravity: tuple[float, ...] = GRAVITY
    off: frozenset[str] = frozenset()


def flag(element: XmlElement, name: str, *, default: bool = False) -> bool:
    """An attribute that is true or false."""
    word = element.word(name, TRUE if default else FALSE)
    if word not in (TRUE, FALSE):
        element.refuse(f"{name}={word[:LONGEST]!r}", f"{TRUE} or {FALSE}", "Correct it.")
    return word == TRUE


def choice(element: XmlElement, name: str, words: tuple[str, ...], default: str) -> str:
    """An attribute that is one of several words."""
    word = element.word(name, default)
    if word not in words:
        element.refuse(f"{name}={word[:LONGEST]!r}", ", ".join(words), "Correct it.")
    return word


def range_of(element: XmlElement, name: str, limited: str, compiler: Compiler) -> tuple[float, float] | None:
    """Two ends, where they count: as `limited` says, or where it says nothing because they are stated.

    Raises:
        ModelError: a lower end above the upper one.
    """
    word = choice(element, limited, (TRUE, FALSE, AUTO), AUTO)
    if word == FALSE or (word == AUTO and not compiler.autolimits):
        return None
    low, high = element.numbers(name, 2, (0.0, 0.0))
    if word == AUTO and low == high == 0.0:
        return None
    if low >= high:
        element.refuse(f"{name}={element.word(name, '0 0')!r}", "a lower end and an upper one", "Correct it.")
    return low, high
