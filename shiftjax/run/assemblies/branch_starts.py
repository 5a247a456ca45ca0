"""Starts on a branch that is asked for by its name. Host code.

Problem: members begin where their stated coordinates and drivers have them, on the assembly of a name, as `branches`
gives it at these inputs. Properties: an assembly of the file's design that has the name is led to each member; of those
to which it does not come all assemblies are sought, and the one of the name is taken. A member that has none of that
name does not begin; its text says which it has. Refused: names that no member has, starts that leave freedoms.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.run.assemblies.named_parts import NamedPart, named_parts
from shiftjax.run.assemblies.standing import within_half_a_turn
from shiftjax.run.closing.host_evaluation import deciding_drivers, stated_coordinates
from shiftjax.run.start.assembly import standing_at
from shiftjax.run.start.branches import NEAR
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.singular_starts import with_ways
from shiftjax.run.start.stated import Start
from shiftjax.topology.plan import Plan

TOGETHER = 2000  # members of which all assemblies are sought at once, for the sake of memory
SHOWN = 12  # names in a message


def on_branch(prepared: Prepared, start: Start, faulty: Collection[int] = ()) -> Start:
    """The starts of members on the branches that `prepared.branch` names; as they are where it names none.

    Args:
        start: on the branch of the file. faulty: members whose numbers nothing can have.

    Raises:
        ModelError: a name that no member has; freedoms that nothing stated holds.
    """
    if not prepared.branch:
        return start
    plan, count = prepared.plan, prepared.members
    wanted = np.array(prepared.branch * (count if len(prepared.branch) == 1 else 1), object)
    parts = stated_parts(prepared, start)
    _refuse_freedoms(parts)
    members = np.setdiff1d(np.arange(count), np.array([*faulty], int))
    stated = stated_coordinates(prepared.lane_of(np.arange(count), 1.0), count)
    members = members[np.isfinite(stated[:, members]).all(0)]
    q, good = stated.copy(), np.zeros(count, bool)
    words = [str(name).split() for name in wanted]
    fit = np.array([len(words[k]) == len(parts) for k in members], bool)
    good[members[fit]] = True
    for place, part in enumerate(parts):
        left = np.flatnonzero(good)
        names = np.array([words[k][place] for k in left], object)
        q[:, left], good[left] = _placed(part, q[:, left], left, names)
    lost = np.setdiff1d(members, np.flatnonzero(good))
    lacking = _texts(parts, stated, lost, wanted)
    if len(lost) and not good.any():
        first = int(lost[0])
        known = _names(parts, stated[:, [first]], lost[:1])[0]
        todo = nearest(str(wanted[first]), known) or "Take one of these, as `shiftjax branches` shows them."
        allowed = listing(known) if known else "a start at which some assembly closes"
        raise ModelError("branch", f"{wanted[first]!r}, which no member has", allowed, todo)
    out = standing_at(prepared, _turned(plan, parts, np.where(good, q, stated), stated), wanted)
    out.closed[~good] = False
    out.lacking = lacking
    return with_ways(prepared, out)


def stated_parts(prepared: Prepared, start: Start) -> list[NamedPart]:
    """The substructures of which something follows from what keeps its stated place and what is driven, in the order of
    the words of a name.

    Args:
        start: on the branch of the file.
    """
    inputs = {k for joints in start.held_positions for k in joints} | {*deciding_drivers(prepared.plan)}
    return [part for part in named_parts(prepared, inputs) if part.free]


def _refuse_freedoms(parts: Sequence[NamedPart]) -> None:
    """Raises where what is stated of a start leaves freedoms, so that no branch of it has a name."""
    for part in parts:
        try:
            _ = part.of_file
        except ModelError as error:
            if error.where != "at":
                raise
            todo = "Hold some of them, assign or vary their initial_displacement, or drive them."
            fault = error.found.replace("inputs that leave", "a start that leaves")
            raise ModelError("branch", fault, "as many stated places as freedoms", todo) from None


def listing(names: Sequence[str]) -> str:
    """Names for a message."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more


def _placed(part: NamedPart, q: np.ndarray, members: np.ndarray, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (nq, P) with one substructure of members (P,) on the branches of their names, and who has them."""
    q, good = q.copy(), np.zeros(len(members), bool)
    known = part.of_file
    place = {} if known is None else {name: k for k, name in enumerate(known.names)}
    which = np.array([place.get(name, -1) for name in names], int)
    some = np.flatnonzero(which >= 0)
    if len(some) and known is not None:
        arrived, there = part.from_file(which[some], q[:, some], members[some])
        good[some[there]] = True
        rows = np.array(known.rows)[:, None]
        q[rows, some[there]] = arrived[rows, np.flatnonzero(there)]
    left = np.flatnonzero(~good)
    for lanes in np.array_split(left, -(-len(left) // TOGETHER)) if len(left) else ():
        every = part.at(q[:, lanes], members[lanes])
        assert every is not None
        for row in np.flatnonzero(every.names == names[lanes][every.member]):
            lane = lanes[every.member[row]]
            q[every.rows, lane], good[lane] = every.q[:, row], True
    return q, good


def _names(parts: Sequence[NamedPart], stated: np.ndarray, members: np.ndarray) -> list[list[str]]:
    """The names of all assemblies of each of some members, whose inputs stand as in (nq, P)."""
    every = [part.at(stated, members) for part in parts]
    of_parts = [
        [[str(name) for name in one.names[one.member == k]] for one in every if one is not None]
        for k in range(len(members))
    ]
    return [[" ".join(words) for words in itertools.islice(itertools.product(*one), 1000)] for one in of_parts]


def _texts(parts: Sequence[NamedPart], stated: np.ndarray, lost: np.ndarray, wanted: np.ndarray) -> Mapping[int, str]:
    """Member -> that it does not have its branch, and which it has."""
    out: dict[int, str] = {}
    for some in np.array_split(lost, -(-len(lost) // TOGETHER)) if len(lost) else ():
        for member, names in zip(some, _names(parts, stated[:, some], some), strict=True):
            text = "no assembly of it closes where it begins: begin at another place"
            if names:
                has = f"it has no branch {wanted[member]!r} where it begins, but {listing(names)}"
                text = f"{has}: ask for one of them, or begin at another place"
            out[int(member)] = text
    return out


def _turned(plan: Plan, parts: Sequence[NamedPart], q: np.ndarray, stated: np.ndarray) -> np.ndarray:
    """Angles that follow from -pi to pi, or where they are stated, if that is so but for whole turns."""
    out = q.copy()
    for one in (plan.coordinates[k] for part in parts for k in part.free):
        if one.plain and one.unit == "rad":
            there = within_half_a_turn(q[one.q])
            off = within_half_a_turn(q[one.q] - stated[one.q])
            out[one.q] = np.where(np.abs(off) < NEAR, stated[one.q] + off, there)
    return out
