"""Sets of members that are kept under a name, for choices of members as `A and not B`. NumPy only.

A set is its members: what they were chosen by is remembered in words, and does not change them later.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

import numpy as np

from shiftjax.ensembles.study.rankings import ENDS
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.record import record
from shiftjax.viewer.members.choice import KEYWORDS
from shiftjax.viewer.members.column_names import meant, short
from shiftjax.viewer.members.member_table import MemberTable
from shiftjax.viewer.members.query import AMONG, FRONT, OPERATORS, is_unit

__all__ = ["MOST_SETS", "MemberSet", "checked_name", "first_of", "free_name", "with_set"]

MOST_SETS = 16
SHOWN = "shown"  # the members that the study pane shows, in a front
RESERVED = {*KEYWORDS, *OPERATORS, *ENDS, *Outcome.__members__, FRONT, AMONG, SHOWN}
_NAME = re.compile(r"[^\W\d]\w{0,31}")


@record
class MemberSet:
    """Members under a name."""

    name: str
    mask: np.ndarray  # (members,) bool
    text: str  # what they were chosen by, "" where that has no words
    colour: int  # its place in the list of colours


def with_set(sets: Sequence[MemberSet], name: str, mask: np.ndarray, text: str,
             table: MemberTable) -> tuple[MemberSet, ...]:  # fmt: skip
    """The sets with another one, or with new members of one that is there, which keeps place and colour.

    Raises:
        ModelError: a name that cannot be used in choices, nobody in the set, too many sets.
    """
    checked_name(f"set {name}", name, table)
    if not mask.any():
        raise ModelError(f"set {name}", "nobody", "one member at least", "Select some members first.")
    place = next((k for k, one in enumerate(sets) if one.name == name), len(sets))
    if place == MOST_SETS:
        raise ModelError(f"set {name}", f"{place + 1} sets", f"{MOST_SETS} at most", "Remove one.")
    taken = {one.colour for one in sets}
    colour = sets[place].colour if place < len(sets) else next(k for k in range(MOST_SETS) if k not in taken)
    return (*sets[:place], MemberSet(name, mask.copy(), text, colour), *sets[place + 1 :])


def checked_name(where: str, name: str, table: MemberTable) -> str:
    """The name of a set; ModelError for one that choices would not understand, or take for something else."""
    if not _NAME.fullmatch(name):
        raise ModelError(where, short(name), "a word of letters, digits and _", "Begin it with a letter.")
    other = "a word of choices" if name in RESERVED else "a unit" if is_unit(name) else ""
    columns = meant(name, list(table.names))
    if columns or other:
        clash = f"{short(name)}, which is {other or f'the column {columns[0]}'}"
        raise ModelError(where, clash, "a name that means nothing yet", f"Take {free_name((), table)}, say.")
    return name


def free_name(sets: Sequence[MemberSet], table: MemberTable) -> str:
    """The first letter that is no set yet and can be one."""
    taken = {one.name for one in sets}
    for name in (*string.ascii_uppercase, *(f"set{k}" for k in range(1, MOST_SETS + 1))):
        if name not in taken and not is_unit(name) and not meant(name, list(table.names)):
            return name
    return "set_of_members"


def first_of(sets: Sequence[MemberSet], members: np.ndarray) -> np.ndarray:
    """(k,) the colour of the first set that each of (k,) members is in, -1 where it is in none."""
    colours = np.full(len(members), -1)
    for one in reversed(sets):
        colours[one.mask[members]] = one.colour
    return colours
