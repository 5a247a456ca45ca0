"""Structure abstraction: a block of joints between two bodies stood for by a short chain of virtual ones.

Problem: a mechanism of many joints is posed by few: of each block, whose end moves in a plane as its base sees it, by a
revolute and a prismatic joint (Vona, Virtual Articulation and Kinematic Abstraction in Robotics, 2009, chapter 3).
The result has: virtual joints that lead to the end, and real ones that are a driven sublinkage, so that they close onto
them (`topology.spanning_tree`); nothing moves. The virtual joints are a sublinkage that is simultaneous to what it is
within, not a driving one: those of several blocks are posed together, as a drag of the last body moves all of them, and
they drive their own blocks since these are driven. Around blocks that are stood for already it is the same again: their
virtual joints are what a larger block has for joints, and drive their own blocks after it.
Refused: a block whose joints belong to
parts of sublinkages, and one without a plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.editing.bodies import add_body
from shiftjax.editing.changes import Changed, End, end_of, framed
from shiftjax.editing.elements import names_in, need_free
from shiftjax.editing.joints import AXES, add_joint
from shiftjax.editing.standing import Pose, frame_pose
from shiftjax.errors import ModelError, need, shown
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model, unused
from shiftjax.mechanism.paths import child, listed
from shiftjax.mechanism.records import FIXED, FrameRef, Joint
from shiftjax.mechanism.sublinkages import WHOLE, Sublinkage, owners
from shiftjax.numerics.real_arrays import real_array

VIRTUAL = ("revolute", "prismatic")  # kinds of virtual joints
PARALLEL = 1e-6  # sine of the angle between axes: less is parallel
NEAR = 1e-9  # m: base and end that are nearer stand at one place
BLOCK = "{}_block"  # the sublinkage of the real joints


def abstract(changed: Changed, base: End, end: End, name: str, kinds: Sequence[str], axis: Any) -> Changed:
    """The joints between two bodies stood for by virtual ones, of the kinds in their order from base to end."""
    where, model = f"abstract {name}", changed.model
    refs = [end_of(changed, given, where) for given in (base, end)]
    if refs[0].body == refs[1].body:
        raise ModelError(where, f"both ends on {refs[0].body}", "two bodies, or ground and a body", "Name another one.")
    _refuse_kinds(where, kinds)
    for one in (name, BLOCK.format(name)):
        need_free(model, "sublinkage", "sublinkages.", one, where)
    block = _between(model, refs, where)
    outer, direct, inner = _hierarchy(model, block, where)
    normal = _normal(changed, block, axis, where)
    places = _places([frame_pose(model, ref, changed.poses) for ref in refs], normal, kinds)
    changed, virtual = _chain(changed, refs, name, kinds, normal, places)
    parts = (
        replace(one, within=BLOCK.format(name)) if one.name in inner else
        replace(one, joints=tuple(joint for joint in one.joints if joint not in direct))
        for one in model.sublinkages
    )  # fmt: skip
    new = (
        Sublinkage(name, tuple(virtual), within=outer),
        Sublinkage(BLOCK.format(name), tuple(path for path in block if path in direct), "driven", outer),
    )
    return replace(changed, model=replace(changed.model, sublinkages=(*parts, *new)))


def _refuse_kinds(where: str, kinds: Sequence[str]) -> None:
    if isinstance(kinds, str) or not isinstance(kinds, list | tuple) or not 1 <= len(kinds) <= 3:
        raise ModelError(f"{where}: joints", shown(kinds), "a list of one to three kinds", "Name them in their order.")
    for kind in kinds:
        need(f"{where}: joints", kind, str, "the kind of a joint")
        if kind not in VIRTUAL:
            raise ModelError(f"{where}: joints", repr(kind), " or ".join(VIRTUAL), "Motions in a plane are of these.")
    if kinds.count("prismatic") > 2 or (len(kinds) == 3 and "revolute" not in kinds):
        raise ModelError(f"{where}: joints", shown(kinds), "at most two prismatic joints", "A plane has no third one.")


# -- what the block is -------------------------------------------------------------------------------------------------


def _between(model: Model, refs: Sequence[FrameRef], where: str) -> dict[str, Joint]:
    """The joints of a block: of bodies that hang on base and end alone, and those from one to the other."""
    base, end = (ref.body for ref in refs)
    joints = dict(model.joints())
    near: dict[str, set[str]] = {}
    for joint in joints.values():
        near.setdefault(joint.parent.body, set()).add(joint.child.body)
        near.setdefault(joint.child.body, set()).add(joint.parent.body)
    inside, seen = set[str](), {base, end}
    for first in near:
        if first in seen:
            continue
        group = _reached(near, first, {base, end})
        seen |= group
        if FIXED not in group and all(any(near[body] & {one} for body in group) for one in (base, end)):
            inside |= group
    both = {base, end}
    block = {
        path: joint
        for path, joint in joints.items()
        if {joint.parent.body, joint.child.body} & inside or {joint.parent.body, joint.child.body} == both
    }
    if not block:
        todo = "Name the two bodies that a block lies between."
        raise ModelError(where, f"no joints between {base} and {end} alone", "bodies with a block between them", todo)
    return block


def _reached(near: dict[str, set[str]], first: str, walls: set[str]) -> set[str]:
    """Bodies that joints lead to from one, not through walls."""
    out, ahead = {first}, [first]
    while ahead:
        new = near[ahead.pop()] - walls - out
        out |= new
        ahead += new
    return out


def _hierarchy(model: Model, block: Iterable[str], where: str) -> tuple[str, set[str], set[str]]:
    """The sublinkage that a block is in, its joints that belong to no part of it, and parts of it that are whole."""
    inside, owner = {*block}, owners(model.sublinkages)
    by_name = {one.name: one for one in model.sublinkages}

    def around(name: str) -> list[str]:
        out = [name]
        while out[-1] != WHOLE:
            out.append(by_name[out[-1]].within)
        return out

    spread: dict[str, bool] = {}  # sublinkage -> whether it has joints elsewhere, or none at all
    for one in model.sublinkages:
        for name in around(one.name)[:-1]:
            spread[name] = spread.get(name, False) or not {*one.joints} <= inside
    having = {name for path in inside for name in around(owner.get(path, WHOLE))}
    whole = {name for name in having if name != WHOLE and not spread[name]}
    outer = {owner.get(path, WHOLE) for path in inside if owner.get(path, WHOLE) not in whole}
    inner = {name for name in whole if by_name[name].within not in whole}
    outer |= {by_name[name].within for name in inner}
    if len(outer) > 1:
        names = listed(sorted(one or "the whole linkage" for one in outer))
        todo = "Put them into one first, or name other bodies."
        raise ModelError(where, f"a block of joints of several sublinkages: {names}", "joints of one", todo)
    return outer.pop(), {path for path in inside if owner.get(path, WHOLE) not in whole}, inner


def _normal(changed: Changed, block: dict[str, Joint], axis: Any, where: str) -> np.ndarray:
    """(3,) of the plane, in the world: that which is given, or about which the joints of the block turn."""
    if axis is not None:
        given = real_array(AXES.get(axis, axis) if isinstance(axis, str) else axis)
        if given is None or given.shape != (3,) or not np.isfinite(given).all() or not given.any():
            raise ModelError(f"{where}: axis", shown(axis), "x, y, z, or [x, y, z] in the world", "Give the normal.")
        return np.asarray(given / np.linalg.norm(given))
    axes = []
    for joint in block.values():
        kind = KINDS[joint.type]
        if kind.sole and kind.units[0] == "rad":
            way = kind.direction({"axis": joint.axis, **joint.values})
            assert way is not None
            axes.append(frame_pose(changed.model, joint.parent, changed.poses)[0] @ np.array(way, float))
    unit = np.array(axes).reshape(-1, 3)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    if not len(unit) or np.abs(np.cross(unit, unit[0])).max() > PARALLEL:
        fault = "joints that do not all turn about one direction" if len(unit) else "no joint that turns"
        raise ModelError(f"{where}: axis", fault, "the normal of the plane of the block", "Give axis=.")
    return np.asarray(unit[0])


# -- the chain ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Link:
    """Where a virtual joint stands on the bodies before and after it."""

    parent: Pose
    child: Pose


def _places(ends: Sequence[Pose], normal: np.ndarray, kinds: Sequence[str]) -> list[_Link]:
    """Each joint in axes along the plane: x from base to end, z its normal. The first prismatic joint goes the way; of
    joints that turn alone the first is at the base."""
    last = ends[1][1]
    first = ends[0][1] + ((last - ends[0][1]) @ normal) * normal  # in the plane in which the end moves
    way = last - first
    if (size := float(np.linalg.norm(way))) < NEAR:
        way = np.eye(3)[int(np.argmin(np.abs(normal)))]
        way, size = way - (way @ normal) * normal, 1.0
        way = way / np.linalg.norm(way)
    else:
        way = way / size
    R = np.stack([way, np.cross(normal, way), normal], axis=1)
    if "prismatic" not in kinds:
        every = [(first, first), *((last, last) for _ in kinds[1:])]
    else:
        sliding = kinds.index("prismatic")
        every = [(first if k <= sliding else last, first if k < sliding else last) for k in range(len(kinds))]
    return [_Link((R, before), (R, after)) for before, after in every]


def _chain(
    changed: Changed, refs: Sequence[FrameRef], name: str, kinds: Sequence[str], normal: np.ndarray, places: list[_Link]
) -> tuple[Changed, list[str]]:
    """The virtual bodies and joints, and the paths of these."""
    outer = next((ref.body.rpartition(":")[0] for ref in refs[::-1] if ref.body != FIXED), "")
    near, paths, slides = refs[0].body, list[str](), 0
    for k, (kind, place) in enumerate(zip(kinds, places, strict=True)):
        if k + 1 < len(kinds):
            body = unused(f"{name}_link", names_in(changed.model, outer, "bodies"))
            changed = add_body(changed, body, outer, place.child, {"mass": 0.0, "virtual": True})
            far = child(outer, body)
        else:
            far = refs[1].body
        joint = unused(f"{name}_{kind}", names_in(changed.model, outer, "joints"))
        along = "z" if kind == "revolute" else "xy"[slides]
        slides += kind == "prismatic"
        changed, parent = framed(changed, near, f"{name}_{kind}", place.parent)
        changed, end = framed(changed, far, f"{name}_{kind}", place.child)
        words = {"axis": along, "virtual": True, "initial_displacement": 0.0}
        changed = add_joint(changed, joint, kind, (parent, end), outer, None, words)
        paths.append(child(outer, joint))
        near = far
    return changed, paths
