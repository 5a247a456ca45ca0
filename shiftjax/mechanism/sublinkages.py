"""Sublinkages: parts of a mechanism that are posed in an order, one after the other. Host only, no jax.

Problem: joints in groups, some of which drive others, inside groups and outside (Vona, Virtual Articulation and
Kinematic Abstraction in Robotics, 2009, section 3.4). The result is a list of stages: what a stage moves, no later one
does, so that a driven part never moves the part that drives it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from shiftjax.errors import ModelError, nearest, shown
from shiftjax.joints import KINDS
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.records import Joint
from shiftjax.record import record

SIMULTANEOUS = "simultaneous"
DISPOSITIONS = ("driving", "driven", SIMULTANEOUS)
WHOLE = ""  # the name of the whole linkage, to which joints of no sublinkage belong


@record
class Sublinkage:
    """Joints that are posed together.

    Attributes:
        joints: full paths. disposition: of `DISPOSITIONS`, to what it stands within: posed before it, after it, or with
            it. within: name of another sublinkage; "" is the whole linkage.
    """

    name: str
    joints: tuple[str, ...] = ()
    disposition: str = SIMULTANEOUS
    within: str = WHOLE


@record
class LinkageStage:
    """Joints that are solved together, after those of the stages before.

    Attributes:
        names: of the sublinkages, "" for the whole linkage. joints: full paths.
    """

    names: tuple[str, ...]
    joints: tuple[str, ...]

    @property
    def title(self) -> str:
        """Its sublinkages in words."""
        return ", ".join(name or "the whole linkage" for name in self.names)


def stages_of(
    sublinkages: Sequence[Sublinkage], joints: Iterable[str], welds: Collection[str] = ()
) -> tuple[LinkageStage, ...]:
    """The order of solution of joints; stages without any are left out.

    Of a sublinkage: its driving ones, each by this rule; its own joints, with those of the simultaneous ones; its
    driven ones. What a simultaneous one has of driving and driven ones comes before and after that. Those of equal
    disposition go in the order of the file.

    Args:
        joints: full paths. welds: those without freedoms, which nothing poses: where no sublinkage names them, they
            belong to the first stage. Else the post of a part that drives would stand on ground by a weld of the whole
            linkage, which is posed later, and its own loop would be open.
    """
    every, owner = [*joints], owners(sublinkages)
    loose = [joint for joint in every if joint in welds and joint not in owner]
    inside: dict[str, list[Sublinkage]] = {}
    for one in sublinkages:
        inside.setdefault(one.within, []).append(one)
    of: dict[str, list[str]] = {}
    for joint in every:
        if joint not in loose:
            of.setdefault(owner.get(joint, WHOLE), []).append(joint)
    out, ahead = list[LinkageStage](), list[str | LinkageStage]([WHOLE])
    while ahead:
        if isinstance(one := ahead.pop(), LinkageStage):
            out += [one] if one.joints else []
            continue
        together, parts = [one], list[Sublinkage]()
        for name in together:  # grows by simultaneous ones
            parts += inside.get(name, ())
            together += [part.name for part in inside.get(name, ()) if part.disposition == SIMULTANEOUS]
        moving = [name for name in together if name in of]
        stage = LinkageStage(tuple(moving), tuple(joint for name in moving for joint in of[name]))
        before, after = ([part.name for part in parts if part.disposition == which] for which in ("driving", "driven"))
        ahead += [*after[::-1], stage, *before[::-1]]
    if not loose:
        return tuple(out)
    first = out[0] if out else LinkageStage((WHOLE,), ())
    return (replace(first, joints=(*first.joints, *loose)), *out[1:])


def welds_of(joints: Mapping[str, Joint]) -> frozenset[str]:
    """Paths of joints that leave no freedom."""
    return frozenset(path for path, joint in joints.items() if not KINDS[joint.type].nv)


def owners(sublinkages: Iterable[Sublinkage]) -> dict[str, str]:
    """Path of a joint -> name of its sublinkage, of those in one."""
    return {joint: one.name for one in sublinkages for joint in one.joints}


def refuse_impossible(sublinkages: Sequence[Sublinkage], where: str) -> None:
    """Raises for a joint in two sublinkages, one within what is none, and for circles of them.

    Args:
        where: they stand, for errors.

    Raises:
        ModelError: such ones.
    """
    names, owner = {one.name: one for one in sublinkages}, dict[str, str]()
    for one in sublinkages:
        place = f"{where}.{one.name}"
        if one.disposition not in DISPOSITIONS:
            todo = nearest(str(one.disposition), DISPOSITIONS) or "Choose one of them."
            raise ModelError(f"{place}: disposition", shown(one.disposition), ", ".join(DISPOSITIONS), todo)
        if one.within not in names and one.within != WHOLE:
            others = [name for name in names if name != one.name]
            todo = nearest(one.within, others) or "Leave it out for the whole linkage."
            allowed = f"another sublinkage: {listed(others) or 'there is none'}"
            raise ModelError(f"{place}: within", repr(one.within), allowed, todo)
        for joint in one.joints:
            if joint in owner:
                fault = f"{joint}, which {owner[joint]} has" if owner[joint] != one.name else f"{joint} twice"
                raise ModelError(f"{place}: joints", fault, "each joint in one sublinkage", "Leave one of them out.")
            owner[joint] = one.name
    sound = {WHOLE}
    for one in sublinkages:
        chain = dict.fromkeys([name := one.name])
        while (name := names[name].within) not in sound:
            if name in chain:
                circle = " within ".join([*[*chain][[*chain].index(name) :], name])
                todo = "Leave `within` of one of them out."
                raise ModelError(f"{where}.{one.name}: within", f"a circle: {circle}", "sublinkages in others", todo)
            chain[name] = None
        sound |= chain.keys()


def unread_sublinkages(sublinkages: Sequence[Sublinkage]) -> tuple[str, ...]:
    """What runs, paths and workspaces make of them, a sentence; none where there are none."""
    names = listed(one.name for one in sublinkages)
    text = f"sublinkages {names}: for posing and travels; here all loops close at once, and are only cut as they say"
    return (text,) if sublinkages else ()


def travel_notes(sublinkages: Sequence[Sublinkage]) -> tuple[str, ...]:
    """What travels make of them, a sentence; none where none drives or is driven, so that all loops close at once."""
    if all(one.disposition == SIMULTANEOUS for one in sublinkages):
        return ()
    names = listed(one.name for one in sublinkages)
    return (f"sublinkages {names}: ends are of a joint's stage: what drives it stays, what it drives follows or opens",)


# -- others of other joints and names ----------------------------------------------------------------------------------


def with_moved(sublinkages: Sequence[Sublinkage], moved: Callable[[str], str]) -> tuple[Sublinkage, ...]:
    """Those whose joints have other paths."""
    return tuple(replace(one, joints=tuple(map(moved, one.joints))) for one in sublinkages)


def without_joints(sublinkages: Sequence[Sublinkage], there: Collection[str]) -> tuple[Sublinkage, ...]:
    """Those of joints that are there alone."""
    return tuple(replace(one, joints=tuple(j for j in one.joints if j in there)) for one in sublinkages)


def without_one(sublinkages: Sequence[Sublinkage], name: str) -> tuple[Sublinkage, ...]:
    """The others: its joints belong to what it stands within, as do those that stand within it."""
    gone = next(one for one in sublinkages if one.name == name)
    left = (one for one in sublinkages if one.name != name)
    left = (replace(one, within=gone.within) if one.within == name else one for one in left)
    return tuple(replace(one, joints=(*one.joints, *gone.joints)) if one.name == gone.within else one for one in left)


def with_name(sublinkages: Sequence[Sublinkage], before: str, name: str) -> tuple[Sublinkage, ...]:
    """Those of which one has another name."""
    named = (replace(one, name=name) if one.name == before else one for one in sublinkages)
    return tuple(replace(one, within=name) if one.within == before else one for one in named)


def with_copies(sublinkages: Sequence[Sublinkage], copies: Mapping[str, str]) -> tuple[Sublinkage, ...]:
    """Those in which copies of joints belong to the sublinkages of these.

    Args:
        copies: path of a joint -> path of its copy.
    """
    return tuple(
        replace(one, joints=(*one.joints, *(copies[joint] for joint in one.joints if joint in copies)))
        for one in sublinkages
    )
