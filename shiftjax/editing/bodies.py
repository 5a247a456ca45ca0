"""Edits of bodies: put in, taken out, made two or one, made ground, copied with what hangs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.editing.carried import stated_words
from shiftjax.editing.changes import (
    Changed,
    End,
    begins_to_move,
    end_of,
    framed,
    new_joint,
    pose_of,
    stated_body,
    with_expressions,
    without_joint,
)
from shiftjax.editing.elements import (
    added,
    body_of,
    changed_lists,
    connected,
    elements_of,
    joint_of,
    list_of,
    names_in,
    need_name,
    references,
    referring,
    with_elements,
    with_references,
    without,
    without_named,
)
from shiftjax.editing.path_moves import PathMoves, frames_in_events, with_moved_events
from shiftjax.editing.standing import WORLD, Pose, after, frame_pose, joint_at, local, rows_of, size_of, within
from shiftjax.errors import ModelError, nearest, need, refuse_text
from shiftjax.mechanism.drawn import drawn
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import ADDED, Model, unused
from shiftjax.mechanism.named_objects import SECTION_OF, named_objects
from shiftjax.mechanism.parameters import asked_by
from shiftjax.mechanism.paths import child, listed, matching, parts
from shiftjax.mechanism.paths import split as split_path
from shiftjax.mechanism.records import FIXED, ORIGIN, Assembly, Body, Frame, FrameRef, Geometry, Inertia
from shiftjax.mechanism.sublinkages import with_copies

ROUNDING = 1e-14  # of a rotation matrix or [m]: bodies nearer than this stand at the same place


def add_body(changed: Changed, name: str, assembly: str, at: Any, words: Mapping[str, Any]) -> Changed:
    """A body at a place in the world; nothing joins it to ground yet, so that a free joint carries it."""
    where = f"add_body {name}"
    need_name(where, name)
    path = child(assembly, name)
    if path in list_of(changed.model, "bodies"):
        raise ModelError(where, f"a body {path}", "a name that is not taken", "Choose another one.")
    body, texts = stated_body(changed.model, name, words, where)
    model = with_expressions(added(changed.model, assembly, "bodies", body), path, texts)
    return replace(changed, model=model, poses={**changed.poses, path: pose_of(at, where)})


def remove(changed: Changed, paths: Sequence[str]) -> Changed:
    """The model without some elements and all that refers to them; bodies that are left stay where they are."""
    refuse_text("remove", paths)
    if not paths:
        raise ModelError("remove", "nothing", "paths of elements", "Name what goes.")
    every, asked, frames = elements_of(changed.model), list[tuple[str, str]](), list[FrameRef]()
    sections = {path for what, path in named_objects(changed.model) if what in SECTION_OF}
    for path in paths:
        need("remove", path, str, "the path of an element")
        if path in sections:
            continue
        meant = matching((full for _, full in every), path)
        matches = [key for key in every if key[1] in meant]
        if not matches and (ref := _frame(changed.model, path)) is not None:
            frames.append(ref)
        elif len(matches) == 1:
            asked.append(matches[0])
        else:
            known = [full for _, full in every]
            which = listed([f"{full} of the {kind.replace('_', ' ')}" for kind, full in matches]) or "an element"
            todo = "Write the path in full." if matches else nearest(path, known) or "`shiftjax info MODEL` lists them."
            raise ModelError("remove", f"{path!r}, of which there are {len(matches)}", which, todo)
    model, gone = without(changed.model, asked, frames)
    there = list_of(model, "bodies")
    poses = {path: pose for path, pose in changed.poses.items() if path == FIXED or path in there}
    named = {path for _, path in asked} | {ref.path for ref in frames}
    others = [path for path in gone if path not in named]
    model, numbers = without_named(model, [path for path in paths if path in sections])
    notes = [f"left out, too: {listed(others, 8)}"] if others else []
    notes += [f"followed, and are numbers now: {listed(numbers)}"] if numbers else []
    idle = sorted((_asked(changed.model) - _asked(model)) & {f"parameters.{one.name}" for one in model.parameters})
    notes += [f"nothing follows any more from {listed(idle)}"] if idle else []
    return replace(changed, model=model, poses=poses).noting(*notes)


def _asked(model: Model) -> set[str]:
    """Paths of parameters and coordinates of points from which numbers of elements that are there follow."""
    there = model.numbers()
    return {name for path, text in model.expressions.items() if path in there for name in asked_by(text, path)}


def _frame(model: Model, path: str) -> FrameRef | None:
    """The frame of a path, or of its end; None where there is none, or several."""
    refs = [FrameRef(FIXED, frame.name) for frame in model.frames]
    refs += [FrameRef(full, frame.name) for full, body in list_of(model, "bodies").items() for frame in body.frames]
    matches = [ref for ref in refs if ref.path == path or ref.path.endswith(f":{path}")]
    return matches[0] if len(matches) == 1 else None


def split(changed: Changed, body: str, name: str, frames: Sequence[str], words: Mapping[str, Any]) -> Changed:
    """A body as two, welded together where it stands: the new one takes some frames, and what refers to them."""
    path, record = body_of(changed.model, body, "split")
    if record is None:
        raise ModelError("split", "ground", "a body", "Ground has no parts.")
    need(f"split {path}: name", name, str, "the name of the new body")
    refuse_text("split: frames", frames)
    for frame in frames:
        if frame not in {one.name for one in record.frames}:
            allowed = listed([one.name for one in record.frames], 12) or "frames, of which it has none"
            raise ModelError(f"split {path}", f"the frame {frame!r}", allowed, "Name frames of the body.")
    outer = path.rpartition(":")[0]
    new = child(outer, name)
    alike = record.virtual and not {"mass", "inertia"} & words.keys()
    changed = add_body(changed, name, outer, changed.poses[path], {"virtual": alike, **words})
    weld = replace(new_joint(f"{name}_weld", "rigid", {"virtual": alike}), parent=FrameRef(path), child=FrameRef(new))
    model = with_references(
        changed.model, lambda ref: FrameRef(new, ref.frame) if ref.body == path and ref.frame in frames else ref
    )
    there = list_of(model, "bodies")[new]
    taken = tuple(frame for frame in record.frames if frame.name in frames)
    left = tuple(frame for frame in record.frames if frame.name not in frames)
    both = {path: replace(record, frames=left), new: replace(there, frames=(*there.frames, *taken))}
    model = with_elements(model, "bodies", both)
    renamed = {frame: frame for frame in frames}
    model, _ = _expressions(model, path, new, renamed, frames=True)
    moves = _moves(path, new, renamed)
    model = with_moved_events(changed.model, model, moves, f"split {path}")
    return replace(changed, model=added(model, outer, "joints", weld), moves=(*changed.moves, moves))


def merge(changed: Changed, joint: str) -> Changed:
    """The two bodies of a joint as one, the parent, where they stand; the joint goes."""
    path, record = joint_of(changed.model, joint, "merge")
    staying, gone = record.parent.body, record.child.body
    if FIXED in (staying, gone):
        todo = f"Make it rigid: change_type({path!r}, 'rigid')."
        raise ModelError(f"merge {path}", "a joint on ground, which is no body", "a joint between bodies", todo)
    known = list_of(changed.model, "bodies")
    one, other, pair = known[staying], known[gone], {staying, gone}
    if one.gravity_scale != other.gravity_scale and one.mass and other.mass:
        fault = f"gravity_scale {one.gravity_scale:g} and {other.gravity_scale:g}"
        raise ModelError(f"merge {path}", fault, "bodies on which gravity acts alike", "Give both the same.")
    joined = [
        here
        for here, item in list_of(changed.model, "joints").items()
        if here != path and {item.parent.body, item.child.body} == pair
    ]
    notes = [f"left out, both ends on {staying}: {listed(joined)}"] if joined else []
    model, lost = without(changed.model, [("joints", here) for here in (path, *joined)])
    others = [here for here in lost if here not in (path, *joined)]
    notes += [f"left out with {path}: {listed(others)}"] if others else []
    notes += [f"{stated} of {path} went with it"] if (stated := stated_words(record)) else []
    notes += [f"{staying} is locked, as {gone} was"] if other.lock and not one.lock else []
    with_data = [here for here, item in ((path, record), (gone, other)) if item.data is not None]
    notes += [f"data of {listed(with_data)} went with it"] if with_data else []
    notes += [f"{staying} is real, as one of both was"] if other.virtual != one.virtual else []
    between = _between(changed, staying, gone)
    frames, renamed = _frames_of_both(changed.model, model, one, other, gone, between)
    body = replace(one, frames=frames, **_together(one, other, between))
    model = with_references(model, lambda ref: FrameRef(staying, renamed[ref.frame]) if ref.body == gone else ref)
    model = changed_lists(
        model,
        lambda kind, here, item: {gone: None, staying: body}.get(here, item) if kind == "bodies" else item,
    )
    model, numbers = _expressions(model, gone, staying, renamed if _same(between) else {})
    notes += [f"numbers of {gone} that followed from others are numbers now: {listed(numbers)}"] if numbers else []
    moves = _moves(gone, staying, renamed)
    of_numbers = moves if _same(between) else PathMoves({})  # places in other axes
    if (origin := renamed.get(ORIGIN)) is not None:
        moves = PathMoves({**moves.moved, ("body", gone): staying if origin == ORIGIN else child(staying, origin)})
    model = with_moved_events(changed.model, model, moves, f"merge {path}", of_numbers)
    poses = {here: pose for here, pose in changed.poses.items() if here != gone}
    carried = {child(gone, frame): (child(staying, now), WORLD) for frame, now in renamed.items()}
    moves = PathMoves(of_numbers.moved, carried={**carried, gone: (staying, between)})
    return replace(changed, model=model, poses=poses, moves=(*changed.moves, moves)).noting(*notes)


def _moves(body: str, other: str, renamed: Mapping[str, str]) -> PathMoves:
    """Where frames of a body went on another one, by their names there."""
    return PathMoves({("frame", child(body, frame)): child(other, name) for frame, name in renamed.items()})


def _between(changed: Changed, staying: str, gone: str) -> Pose:
    """The body that goes, in the one that stays; exactly the same where only rounding tells them apart."""
    R, p = within(changed.poses[staying], changed.poses[gone])
    return WORLD if abs(R - np.eye(3)).max() < ROUNDING and abs(p).max() < ROUNDING else (R, p)


def _same(pose: Pose) -> bool:
    return bool((pose[0] == np.eye(3)).all() and not pose[1].any())


def _frames_of_both(
    before: Model, model: Model, one: Body, other: Body, gone: str, between: Pose
) -> tuple[tuple[Frame, ...], dict[str, str]]:
    """Frames of a body with those of another, and the new names of these."""
    every = elements_of(model).items()
    asked = {ref.frame for (kind, _), item in every for ref in references(kind, item)[0] if ref.body == gone}
    asked |= {one.parent.frame for one in (*model.lights, *model.terrain) if one.parent.body == gone}
    asked |= {ORIGIN} if {gone, child(gone, ORIGIN)} & frames_in_events(before) else set()
    taken, renamed, frames = {ORIGIN, *(frame.name for frame in one.frames)}, dict[str, str](), list(one.frames)
    name = parts(gone)[-1]
    origin = ORIGIN in asked and not _same(between)
    for frame in (*other.frames, *([Frame(ORIGIN)] if origin else [])):
        new = unused(frame.name if frame.name not in taken else f"{name}_{frame.name}", taken)
        taken.add(new)
        renamed[frame.name] = new
        frames.append(replace(_placed(frame, between), name=new))
    return tuple(frames), renamed if origin else {ORIGIN: ORIGIN, **renamed}


def _placed(frame: Frame, between: Pose) -> Frame:
    """A frame of a body that stands at a pose in another one, as that has it."""
    if _same(between):
        return frame
    R, p = after(between, local(frame))
    return replace(frame, T=(float(p[0]), float(p[1]), float(p[2])), R=rows_of(R), rotation=(0.0, 0.0, 0.0))


def _together(one: Body, other: Body, between: Pose) -> dict[str, Any]:
    """Mass, centre, inertia and shapes of two bodies that move as one, by the theorem of parallel axes."""
    shapes = (*one.geometry, *(_placed_shape(shape, between) for shape in other.geometry))
    out: dict[str, Any] = {"geometry": shapes, "collision_geometry": one.collision_geometry or other.collision_geometry}
    out["comment"] = one.comment or other.comment
    out |= {"lock": one.lock or other.lock, "virtual": one.virtual and other.virtual}
    empty = other.mass == 0.0 and other.inertia == Inertia()
    if empty:
        return out
    R, p = between
    masses = np.array([one.mass, other.mass])
    centers = np.array([one.center_of_mass, p + R @ np.array(other.center_of_mass)])
    mass = float(masses.sum())
    center = masses @ centers / mass if mass else centers[0]
    inertia = np.array(one.inertia.matrix) + R @ np.array(other.inertia.matrix) @ R.T
    for m, c in zip(masses, centers - center, strict=True):
        inertia += m * ((c @ c) * np.eye(3) - np.outer(c, c))
    entries = {"Ixx": (0, 0), "Iyy": (1, 1), "Izz": (2, 2), "Ixy": (0, 1), "Iyz": (1, 2), "Izx": (2, 0)}
    out["inertia"] = Inertia(**{name: float(inertia[at]) for name, at in entries.items()})
    out["gravity_scale"] = one.gravity_scale if one.mass else other.gravity_scale
    return {**out, "mass": mass, "center_of_mass": tuple(map(float, center))}


def _placed_shape(shape: Geometry, between: Pose) -> Geometry:
    if _same(between):
        return shape
    offset = Frame("", **{key: shape.options[key] for key in ("T", "R", "rotation") if key in shape.options})
    there = _placed(offset, between)
    options = {key: value for key, value in shape.options.items() if key not in ("T", "R", "rotation")}
    return replace(shape, options=FrozenJson({**options, "T": there.T, "R": there.R}))


def ground(changed: Changed, body: str, name: str) -> Changed:
    """The model that stands on another body: that one is welded to the world where it stands, and what stood on ground
    stands on a body of no mass in its place."""
    path, record = body_of(changed.model, body, "ground")
    if record is None:
        raise ModelError("ground", "ground itself", "a body", "It is ground.")
    need_name(f"ground {path}", name)
    outer = path.rpartition(":")[0]
    new = child(outer, unused(name, names_in(changed.model, outer, "bodies")))
    model = changed_lists(
        changed.model, lambda kind, _, item: None if kind == "joints" and item.comment == ADDED else item
    )
    moved = {frame.name: frame.name for frame in model.frames}
    if any(ref.body == FIXED for (kind, _), item in elements_of(model).items() for ref in references(kind, item)[0]):
        model = added(replace(model, frames=()), outer, "bodies", Body(parts(new)[-1], frames=model.frames))
        model = with_references(model, lambda ref: FrameRef(new, ref.frame) if ref.body == FIXED else ref)
        model, _ = _expressions(model, FIXED, new, moved, frames=True)
        moves = _moves(FIXED, new, moved)
        model = with_moved_events(changed.model, model, moves, f"ground {path}")
        changed = replace(changed, poses={**changed.poses, new: WORLD}, moves=(*changed.moves, moves))
    joint = new_joint(unused(f"{parts(path)[-1]}_on_ground", names_in(model, outer, "joints")), "rigid", {})
    joint, _ = joint_at(
        replace(joint, parent=FrameRef(FIXED), child=FrameRef(path)), changed.poses[path], size_of(changed.poses)
    )
    model = added(model, outer, "joints", joint)
    return replace(changed, model=model)


def copy(changed: Changed, body: str, name: str, parent: End | None) -> Changed:
    """A body and all that hangs on it, once more, in an assembly of its own; on the same frame, or on another one.

    What hangs on a body is what loses its way to ground with the joint that leads to it.
    """
    path, record = body_of(changed.model, body, "copy")
    where = f"copy {path}"
    if record is None:
        raise ModelError("copy", "ground", "a body", "Name a body.")
    need_name(where, name)
    if name in {assembly.name for assembly in changed.model.assemblies}:
        raise ModelError(where, f"an assembly {name}", "a name that is not taken", "Choose another one.")
    place = None if parent is None else end_of(changed, parent, where)
    leading, branch = _branch(changed.model, path)
    every = elements_of(changed.model)
    joints = {here for (kind, here), item in every.items() if kind == "joints"
              and (here == leading or {item.parent.body, item.child.body} <= branch)}  # fmt: skip
    copied = [key for key, item in every.items() if _hangs(*key, item, branch, joints)]
    new = _renamed(copied, every, name)

    def frame(ref: FrameRef) -> FrameRef:
        return FrameRef(new["bodies", ref.body], ref.frame) if ref.body in branch else place or ref

    def coordinate(at: str) -> str:
        target, field = split_path(at)
        return new["joints", target] + field

    made: dict[str, Any] = {}
    for key in copied:
        item = replace(referring(every[key], key[0], frame, coordinate), name=parts(new[key])[-1])
        made[key[0]] = (*made.get(key[0], ()), item)
    model = replace(changed.model, assemblies=(*changed.model.assemblies, Assembly(name, **made)))
    copies = {old: now for (kind, old), now in new.items() if kind == "joints"}
    model = replace(model, sublinkages=with_copies(model.sublinkages, copies))
    lead = every["joints", leading]
    stand = lead.parent if lead.parent.body not in branch else lead.child
    before, now = (frame_pose(model, ref, changed.poses) for ref in (stand, place or stand))
    moved = after(now, within(before, WORLD))
    poses = {new["bodies", old]: after(moved, changed.poses[old]) for old in branch if old in changed.poses}
    left = [here for (kind, here), item in every.items()
            if (kind, here) not in new and {ref.body for ref in references(kind, item)[0]} & branch]  # fmt: skip
    left += [one.name for one in (*changed.model.lights, *changed.model.terrain) if one.parent.body in branch]
    follows = [number for number in changed.model.expressions if any(split_path(number)[0] == old for _, old in copied)]
    notes = [f"not copied, since it is of other bodies, too, or a light: {listed(left, 8)}"] if left else []
    notes += [f"numbers of the copy, and not what follows from others: {listed(follows)}"] if follows else []
    return replace(changed, model=model, poses={**changed.poses, **poses}).noting(*notes)


def _hangs(kind: str, path: str, item: Any, branch: set[str], joints: set[str]) -> bool:
    """Whether an element is of the bodies of a branch and its joints alone."""
    if kind in ("bodies", "joints"):
        return path in (branch if kind == "bodies" else joints)
    frames, coordinates = references(kind, item)
    return {ref.body for ref in frames} <= branch and {split_path(one)[0] for one in coordinates} <= joints


def _renamed(
    keys: Sequence[tuple[str, str]], every: Mapping[tuple[str, str], Any], assembly: str
) -> dict[tuple[str, str], str]:
    """Paths of elements in another assembly, each list with every name once."""
    taken: dict[str, set[str]] = {}
    out = {}
    for key in keys:
        name = unused(every[key].name, taken.setdefault(key[0], set()))
        taken[key[0]].add(name)
        out[key] = child(child("", assembly), name)
    return out


def _branch(model: Model, body: str) -> tuple[str, set[str]]:
    """The joint that leads to a body from ground, and the bodies that it carries."""
    there = drawn(model)
    joints = {path: joint for path, joint in model.joints()}
    lead = there[body]
    leading = next(path for path, joint in joints.items() if {joint.parent, joint.child} == {lead.near, lead.far})
    branch = {body}
    while more := {
        path for path, one in there.items() if one.near is not None and one.near.body in branch and path not in branch
    }:
        branch |= more
    return leading, branch


def root(changed: Changed, body: str) -> Changed:
    """The model whose free joint, by which a mechanism that nothing holds stands in the world, is at another body."""
    path, record = body_of(changed.model, body, "root")
    if record is None:
        raise ModelError("root", "ground", "a body", "Name a body of a mechanism that floats.")
    for here, item in list_of(changed.model, "joints").items():
        if item.type != "float" or FIXED not in (item.parent.body, item.child.body):
            continue
        model = without_joint(changed.model, here)
        if path in connected(model):
            continue
        moving = [one for one, joint in changed.model.joints() if begins_to_move(joint)]
        if moving:
            todo = "Set them to 0 first: they are speeds of other bodies then."
            raise ModelError(f"root {path}", f"initial speeds of {listed(moving)}", "a mechanism at rest", todo)
        outer = path.rpartition(":")[0]
        name = unused(f"{parts(path)[-1]}_float", names_in(model, outer, "joints"))
        moved, ref = framed(replace(changed, model=model), path, name, changed.poses[path])
        joint = replace(item, name=name, parent=FrameRef(FIXED), child=ref, lock=False)
        at, _ = joint_at(joint, changed.poses[path], size_of(changed.poses))
        moved = replace(moved, model=added(moved.model, outer, "joints", at))
        return _locking(moved, next(end.body for end in (item.parent, item.child) if end.body != FIXED), item.lock)
    todo = "Ground another body instead: ground(body)."
    raise ModelError(f"root {path}", "a body that joints hold on ground", "one of a mechanism that floats", todo)


def _locking(changed: Changed, body: str, locked: object) -> Changed:
    """The model in which a body is locked in the place of the free joint that was at it."""
    if not locked:
        return changed
    here = {body: replace(list_of(changed.model, "bodies")[body], lock=True)}
    note = f"{body} is locked, as the free joint at it was"
    return replace(changed, model=with_elements(changed.model, "bodies", here)).noting(note)


def _expressions(
    model: Model, body: str, other: str, renamed: Mapping[str, str], *, frames: bool = False
) -> tuple[Model, list[str]]:
    """The model whose expressions of frames that went to another body are theirs; and the numbers that lost them.

    Args:
        renamed: frame -> its name there. frames: whether the body stays, with its other frames.
    """
    out, lost = {}, list[str]()
    for path, text in model.expressions.items():
        target, dot, field = path.partition(".")
        name = target.removeprefix(f"{body}:") if target.startswith(f"{body}:") else ""
        if name in renamed:
            out[child(other, renamed[name]) + dot + field] = text
        elif frames or not (target == body or name):
            out[path] = text
        else:
            lost.append(path)
    return replace(model, expressions=FrozenJson(out)), lost
