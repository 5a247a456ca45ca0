"""Words of other programs and formats for keys and types of this one, for messages about unknown ones."""

from __future__ import annotations

from collections.abc import Collection

SYNONYMS = {
    "com": "center_of_mass",
    "cog": "center_of_mass",
    "centre_of_mass": "center_of_mass",
    "pos": "T",
    "position": "T",
    "translation": "T",
    "xyz": "T",
    "quaternion": "R",
    "orientation": "R",
    "rpy": "R",
    "stiffness": "coefficients",
    "hinge": "revolute",
    "pin": "revolute",
    "continuous": "revolute",
    "slider": "prismatic",
    "slide": "prismatic",
    "linear": "prismatic",
    "ball": "spherical",
    "fixed": "rigid",
    "weld": "rigid",
    "free": "float",
    "floating": "float",
    "cardan": "universal",
    "helical": "screw",
}


def synonym(word: str, known: Collection[str]) -> str:
    """A sentence that names what a word of elsewhere is called here; "" of a word that is not known, or where what it
    means is no possible one."""
    here = SYNONYMS.get(word.lower(), "")
    return f"Here it is called {here!r}." if here in known else ""
