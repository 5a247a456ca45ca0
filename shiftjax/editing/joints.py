"""Edits of joints: put in, put elsewhere, made another kind, turned round. Bodies stay where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from shiftjax.editing.carried import carried
from shiftjax.editing.changes import (
    Changed,
    End,
    begins_to_move,
    end_of,
    framed,
    pose_of,
    standing_joint,
    stated_joint,
    with_expressions,
)
from shiftjax.editing.elements import (
    added,
    elements_of,
    joint_of,
    names_in,
    need_name,
    references,
    with_elements,
    without,
)
from shiftjax.editing.path_moves import joints_in_events
from shiftjax.editing.standing import MISSED, after, frame_pose, local, rows_of, within
from shiftjax.errors import ModelError, one_of, shown
from shiftjax.joints import KINDS, JointKind
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import ADDED
from shiftjax.mechanism.paths import child, listed
from shiftjax.mechanism.records import FIXED, Joint, Placement
from shiftjax.numerics.real_arrays import real_array
from shiftjax.topology.spanning_tree import spanning_tree

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
ALONG = {"rad": "revolute", "m": "prismatic"}  # the kinds with an axis of their own, by what they move by
STANDS = 1e-6  # of a rotation matrix or [m]: what frames that are named may miss, of what an assembly then closes


def add_joint(
    changed: Changed,
    name: str,
    type: str,
    given: tuple[End, End],
    assembly: str | None,
    at: Any,
    words: Mapping[str, Any],
) -> Changed:
    """A joint between two frames, its parent's and its child's. A body that is named alone gets a frame where the other
    end is, both get one at a place in the world, or where the parent's origin is."""
    where = f"add_joint {name}"
    one_of(f"{where}: type", type, KINDS)
    need_name(where, name)
    ends = [end_of(changed, end, where) for end in given]
    if ends[0].body == ends[1].body:
        raise ModelError(where, f"both ends on {ends[0].body}", "two bodies, or a body and ground", "Name another one.")
    outer = assembly or next((end.body.rpartition(":")[0] for end in ends[::-1] if end.body != FIXED), "")
    if name in names_in(changed.model, outer, "joints"):
        raise ModelError(where, f"a joint {name} in {outer}", "a name that is not taken", "Choose another one.")
    alone = [k for k, end in enumerate(given) if isinstance(end, str)]
    if at is not None and len(alone) < 2:
        raise ModelError(f"{where}: at", "beside a frame", "two bodies that are named alone", "Leave one of them out.")
    if alone:
        there = pose_of(at, where) if at is not None else frame_pose(changed.model, ends[alone == [0]], changed.poses)
        for k in alone:
            changed, ends[k] = framed(changed, ends[k].body, name, there)
    made, texts = stated_joint(changed.model, name, type, words, where)
    joint = replace(made, parent=ends[0], child=ends[1])
    led = not alone and words.get("initial_displacement") is None
    joint = standing_joint(changed, where, joint, np.inf if led else MISSED if alone else STANDS)
    model = added(changed.model, outer, "joints", joint)
    return replace(changed, model=with_expressions(model, child(outer, name), texts))


def reattach(changed: Changed, joint: str, parent: End | None, child_end: End | None) -> Changed:
    """A joint whose ends are on other bodies, where it is."""
    path, record = joint_of(changed.model, joint, "reattach")
    if parent is None and child_end is None:
        raise ModelError(f"reattach {path}", "neither parent nor child", "one of them", "Say where it goes.")
    for name, given in (("parent", parent), ("child", child_end)):
        if given is None:
            continue
        there = frame_pose(changed.model, getattr(record, name), changed.poses)
        ref = end_of(changed, given, f"reattach {path}")
        if isinstance(given, str):
            changed, ref = framed(changed, ref.body, record.name, there)
        record = replace(record, **{name: ref})
    if record.parent.body == record.child.body:
        fault = f"both ends on {record.parent.body}"
        raise ModelError(f"reattach {path}", fault, "two bodies, or a body and ground", "Name another one.")
    record = standing_joint(changed, f"reattach {path}", replace(record, comment=_chosen(record)), MISSED)
    return replace(changed, model=with_elements(changed.model, "joints", {path: record}))


def move_joint(changed: Changed, joint: str, at: Any, axis: Any) -> Changed:
    """A joint elsewhere on its two bodies, or along another axis of the world; its coordinates stay what they are.

    With F_p M(q) = F_c before, both frames are A and A M(q) after: neither the bodies nor q move.
    """
    path, record = joint_of(changed.model, joint, "move_joint")
    where = f"move_joint {path}"
    if at is None and axis is None:
        raise ModelError(where, "neither a place nor an axis", "at, axis, or both", "Say where it goes.")
    first, second = (frame_pose(changed.model, ref, changed.poses) for ref in (record.parent, record.child))
    R, p = first if at is None else pose_of(at, where)
    R = first[0] if at is not None and np.ndim(at) == 1 and len(at) == 3 else R
    if axis is not None:
        R = _onto(R, record, axis, where) @ R
    for name, there in (("parent", (R, p)), ("child", after((R, p), within(first, second)))):
        changed, ref = framed(changed, getattr(record, name).body, record.name, there)
        record = replace(record, **{name: ref})
    record = standing_joint(changed, where, replace(record, comment=_chosen(record)), MISSED)
    return replace(changed, model=with_elements(changed.model, "joints", {path: record}))


def _onto(R: np.ndarray, joint: Joint, axis: Any, where: str) -> np.ndarray:
    """The least rotation of the world that takes the axis of a joint, whose frame has the axes R, onto another one."""
    direction = KINDS[joint.type].direction({"axis": joint.axis, **joint.values})
    if direction is None:
        todo = "Give its frame by `at`, (R, place)."
        raise ModelError(f"{where}: axis", f"a {joint.type}", "a joint with an axis", todo)
    wanted = real_array(AXES.get(axis, axis) if isinstance(axis, str) else axis)
    if wanted is None or wanted.shape != (3,) or not np.isfinite(wanted).all() or not wanted.any():
        allowed = "x, y, z, or [x, y, z] in the world"
        raise ModelError(f"{where}: axis", shown(axis), allowed, "Give where it points.")
    return Rotation.align_vectors([wanted], [R @ np.array(direction, float)])[0].as_matrix()


def change_type(changed: Changed, joint: str, type: str, words: Mapping[str, Any]) -> Changed:
    """A joint of another kind, where its bodies stand."""
    path, old = joint_of(changed.model, joint, "change_type")
    one_of(f"change_type {path}", type, KINDS)
    before, now = KINDS[old.type], KINDS[type]
    given = dict(words)
    if now.needs_axis and "axis" not in given:
        direction = before.direction({"axis": old.axis, **old.values})
        given["axis"] = AXES["z"] if direction is None else tuple(map(float, direction))
    fresh, texts = stated_joint(changed.model, old.name, type, given, f"change_type {path}")
    fresh = replace(fresh, parent=old.parent, child=old.child, active=old.active, comment=_chosen(old))
    fresh = fresh if "data" in given else replace(fresh, data=old.data)
    fresh, lost = carried(old, fresh, given)
    if before.sole and now.sole and before.units == now.units:
        numbers = {
            name: getattr(old, name) for name in ("initial_velocity", "stiffness", "damping") if name not in given
        }
        speeds = tuple(one for one in old.stated if one.startswith("initial_velocity"))
        stated = (*fresh.stated, *speeds) if "initial_velocity" in numbers else fresh.stated
        fresh = replace(fresh, **numbers, stated=stated)
    else:
        lost += [name for name in ("stiffness", "damping") if _has_coefficients(getattr(old, name))]
        lost += ["initial_velocity"] if old.start("initial_velocity") else []
    notes = [f"{path}: {' and '.join(lost)} of the {old.type} are left out"] if lost else []
    try:
        at = standing_joint(changed, path, fresh, MISSED)
    except ModelError:
        there = frame_pose(changed.model, old.parent, changed.poses)
        changed, ref = framed(changed, old.child.body, old.name, there)
        at = standing_joint(changed, path, replace(fresh, child=ref), MISSED)
    model = with_expressions(with_elements(changed.model, "joints", {path: at}), path, texts)
    model, gone = without(model, ())
    notes += [f"left out with coordinates of {path}: {listed(gone)}"] if gone else []
    notes += _of_other_units(changed, path, before, now)
    if [(one.name, one.nq) for one in before.coordinates] != [(one.name, one.nq) for one in now.coordinates]:
        events = [name for name, named in joints_in_events(changed.model) if named == path]
        notes += [f"events name coordinates that {path} had: {listed(events)}"] if events else []
    return replace(changed, model=model).noting(*notes)


def _has_coefficients(polynomials: tuple[float, ...] | FrozenJson) -> bool:
    """Whether a polynomial of a joint, or one of its coordinates, has any."""
    return any(polynomials.values()) if isinstance(polynomials, FrozenJson) else bool(polynomials)


def _chosen(joint: Joint) -> str:
    """The comment of a joint that is edited, and not there any more only because nothing else holds a body."""
    return "" if joint.comment == ADDED else joint.comment


def _of_other_units(changed: Changed, path: str, before: JointKind, now: JointKind) -> list[str]:
    """A note where what acts on the joint's coordinate was written for another unit."""
    if not (before.sole and now.sole) or before.units == now.units:
        return []
    every = elements_of(changed.model).items()
    acting = [other for (kind, other), item in every if path in references(kind, item)[1]]
    if not acting:
        return []
    return [f"{listed(acting)}: numbers by {before.units[0]} of {path} now count by {now.units[0]}"]


def invert(changed: Changed, joint: str) -> Changed:
    """A joint whose parent is its child: coordinates, and what acts on them, stay as they are.

    exp(q n)^-1 = exp(-q n), so that the axis turns round; a placement is inverted.
    """
    path, old = joint_of(changed.model, joint, "invert")
    kind = KINDS[old.type]
    turned = replace(old, parent=old.child, child=old.parent, comment=_chosen(old))
    if not _inverts(kind):
        allowed = listed([name for name, other in KINDS.items() if _inverts(other)], 12)
        fault = f"a {old.type}, whose motions are of no kind in the other order"
        raise ModelError(f"invert {path}", fault, allowed, "Change its type first, or reattach it.")
    if isinstance(old.initial_displacement, Placement):
        if begins_to_move(old):
            todo = "Set its speeds to 0 first."
            raise ModelError(f"invert {path}", f"a {old.type} with speeds", "one that starts at rest", todo)
        R, p = local(old.initial_displacement)
        T = tuple(float(x) + 0.0 for x in -(R.T @ p))
        turned = replace(turned, initial_displacement=Placement((T[0], T[1], T[2]), rows_of(R.T)))
    elif kind.needs_axis:
        axis = old.axis or AXES["z"]
        turned = replace(turned, axis=(0.0 - axis[0], 0.0 - axis[1], 0.0 - axis[2]))
    else:
        x, y, z = AXES[kind.primitives[0].axis]
        turned = replace(turned, type=ALONG[kind.units[0]], axis=(0.0 - x, 0.0 - y, 0.0 - z))
    return replace(changed, model=with_elements(changed.model, "joints", {path: turned}))


def make_closure(changed: Changed, joint: str) -> Changed:
    """A joint at which its loop is cut."""
    path, record = joint_of(changed.model, joint, "make_closure")
    model = with_elements(changed.model, "joints", {path: replace(record, cut=True)})
    alone = [branch.path for branch in spanning_tree(model).branches if not branch.chord]
    note = f"{path} leads to its body all the same: nothing else does" if path in alone else ""
    return replace(changed, model=model).noting(note)


def make_tree(changed: Changed, joint: str) -> Changed:
    """A joint that leads to a body; of its loop the next joint that can be is cut in its place."""
    path, record = joint_of(changed.model, joint, "make_tree")
    model = with_elements(changed.model, "joints", {path: replace(record, cut=False)})
    tree = spanning_tree(model)
    branch = next(one for one in tree.branches if one.path == path)
    if branch.chord:
        loop = tree.loop(branch)
        for k in (*reversed(loop.real_branch), *reversed(loop.virtual_branch)):
            other = tree.branches[k].path
            swapped = with_elements(model, "joints", {other: replace(joint_of(model, other, "")[1], cut=True)})
            if other != path and not next(one for one in spanning_tree(swapped).branches if one.path == path).chord:
                note = f"its loop is cut at {other}"
                return replace(changed, model=swapped).noting(note)
        changed = changed.noting(f"its loop is cut at {path} all the same: joints that are posed before it lead there")
    return replace(changed, model=model)


def _inverts(kind: JointKind) -> bool:
    """Whether its motions in the other order are of the same kind, or of one with an axis."""
    if kind.placed:
        return kind.free or all(one.quaternion or one.vector for one in kind.primitives)
    return len({one.axis for one in kind.primitives}) == 1
