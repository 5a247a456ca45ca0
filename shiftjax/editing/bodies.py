"""Edits of bodies: put in, taken out, made two or one, made ground, copied with what hangs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.editing.changes import Changed, End, asked_at, framed, new_joint, without_joint
from shiftjax.editing.elements import (
    added,
    body_of,
    changed_lists,
    connected,
    element_of,
    elements_of,
    joint_of,
    names_in,
    references,
    referring,
    with_elements,
    with_references,
    without,
)
from shiftjax.editing.standing import WORLD, Pose, after, frame_pose, joint_at, local, rows_of, size_of, within
from shiftjax.errors import ModelError, refuse_text
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.drawn import drawn
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import ADDED, Model, unused
from shiftjax.mechanism.paths import child, listed, parts
from shiftjax.mechanism.records import FIXED, ORIGIN, Assembly, Body, Frame, FrameRef, Geometry, Inertia

ROUNDING = 1e-14  # of a rotation matrix or [m]: bodies nearer than this stand at the same place


def add_body(changed: Changed, name: str, assembly: str, at: Any, words: Mapping[str, Any]) -> Changed:
    """A body at a place in the world; nothing joins it to ground yet, so that a free joint carries it."""
    where = f"add_body {name}"
    path = child(assembly, name)
    if path in elements_of(changed.model) or name in names_in(changed.model, assembly, "bodies"):
        raise ModelError(where, f"a body {path}", "a name that is not taken", "Choose another one.")
    builder = ModelBuilder()
    with asked_at(where):
        builder.assembly("new").body(name, **{"mass": 0, **words})
        body = next(record for _, record in builder.build().bodies())
    model = added(changed.model, assembly, "bodies", body)
    return replace(changed, model=model, poses={**changed.poses, path: _pose(at, where)})


def _pose(at: Any, where: str) -> Pose:
    """A place [x, y, z], or rotation and place, in the world."""
    R, p = at if isinstance(at, tuple) and len(at) == 2 and np.shape(at[0]) == (3, 3) else (np.eye(3), at)
    p = np.asarray(p, float)
    if p.shape != (3,) or not np.isfinite(p).all() or not np.isfinite(R).all():
        raise ModelError(
            f"{where}: at", repr(at)[:80], "[x, y, z], or (R, [x, y, z])", "Give a place in the world [m]."
        )
    return np.asarray(R, float), p


def remove(changed: Changed, paths: Sequence[str]) -> Changed:
    """The model without some elements and all that refers to them; bodies that are left stay where they are."""
    refuse_text("remove", paths)
    every, asked, frames = elements_of(changed.model), list[str](), list[FrameRef]()
    for path in paths:
        matches = [full for full in every if full == path or full.endswith(f":{path}")]
        matches = [path] if path in matches else matches
        if len(matches) == 1:
            asked.append(matches[0])
        elif not matches and (ref := _frame(changed.model, path)) is not None:
            frames.append(ref)
        else:
            element_of(changed.model, path, "bodies" if not matches else every[matches[0]][0], "remove")
    model, gone = without(changed.model, asked, frames)
    poses = {path: pose for path, pose in changed.poses.items() if path not in gone}
    others = [path for path in gone if path not in asked and path not in {ref.path for ref in frames}]
    return replace(changed, model=model, poses=poses).noting(f"left out, too: {listed(others, 8)}" if others else "")


def _frame(model: Model, path: str) -> FrameRef | None:
    """The frame of a path, or of its end; None where there is none, or several."""
    refs = [FrameRef(FIXED, frame.name) for frame in model.frames]
    bodies = ((full, item) for full, (kind, item) in elements_of(model).items() if kind == "bodies")
    refs += [FrameRef(full, frame.name) for full, body in bodies for frame in body.frames]
    matches = [ref for ref in refs if ref.path == path or ref.path.endswith(f":{path}")]
    return matches[0] if len(matches) == 1 else None


def split(changed: Changed, body: str, name: str, frames: Sequence[str], words: Mapping[str, Any]) -> Changed:
    """A body as two, welded together where it stands: the new one takes some frames, and what refers to them."""
    path, record = body_of(changed.model, body, "split")
    if record is None:
        raise ModelError("split", "ground", "a body", "Ground has no parts.")
    refuse_text("split: frames", frames)
    for frame in frames:
        if frame not in {one.name for one in record.frames}:
            allowed = listed([one.name for one in record.frames], 12) or "frames, of which it has none"
            raise ModelError(f"split {path}", f"the frame {frame!r}", allowed, "Name frames of the body.")
    outer = path.rpartition(":")[0]
    new = child(outer, name)
    changed = add_body(changed, name, outer, changed.poses[path], words)
    weld = replace(new_joint(f"{name}_weld", "rigid", {}), parent=FrameRef(path), child=FrameRef(new))
    model = with_references(
        changed.model, lambda ref: FrameRef(new, ref.frame) if ref.body == path and ref.frame in frames else ref
    )
    every = elements_of(model)
    there = every[new][1]
    taken = tuple(frame for frame in record.frames if frame.name in frames)
    left = tuple(frame for frame in record.frames if frame.name not in frames)
    model = with_elements(
        model, {path: replace(record, frames=left), new: replace(there, frames=(*there.frames, *taken))}
    )
    renamed = {frame: frame for frame in frames}
    model, _ = _expressions(model, path, new, renamed, frames=True)
    return replace(changed, model=added(model, outer, "joints", weld))


def merge(changed: Changed, joint: str) -> Changed:
    """The two bodies of a joint as one, the parent, where they stand; the joint goes."""
    path, record = joint_of(changed.model, joint, "merge")
    staying, gone = record.parent.body, record.child.body
    if FIXED in (staying, gone):
        todo = f"Make it rigid: change_type({path!r}, 'rigid')."
        raise ModelError(f"merge {path}", "a joint on ground, which is no body", "a joint between bodies", todo)
    every = elements_of(changed.model)
    one, other = every[staying][1], every[gone][1]
    pair = {staying, gone}
    joined = [
        here
        for here, (kind, item) in every.items()
        if kind == "joints" and here != path and {item.parent.body, item.child.body} == pair
    ]
    notes = [f"left out, both ends on {staying}: {listed(joined)}"] if joined else []
    model, lost = without(changed.model, [path, *joined])
    others = [here for here in lost if here not in (path, *joined)]
    notes += [f"left out with {path}: {listed(others)}"] if others else []
    between = _between(changed, staying, gone)
    frames, renamed = _frames_of_both(model, one, other, staying, gone, between)
    body = replace(one, frames=frames, **_together(one, other, between))
    model = with_references(model, lambda ref: FrameRef(staying, renamed[ref.frame]) if ref.body == gone else ref)
    model = changed_lists(
        model,
        lambda kind, here, item: None if (kind, here) == ("bodies", gone) else body if here == staying else item,
    )
    model, numbers = _expressions(model, gone, staying, renamed if _same(between) else {})
    notes += [f"numbers of {gone} that followed from others are numbers now: {listed(numbers)}"] if numbers else []
    poses = {here: pose for here, pose in changed.poses.items() if here != gone}
    return replace(changed, model=model, poses=poses).noting(*notes)


def _between(changed: Changed, staying: str, gone: str) -> Pose:
    """The body that goes, in the one that stays; exactly the same where only rounding tells them apart."""
    R, p = within(changed.poses[staying], changed.poses[gone])
    return WORLD if abs(R - np.eye(3)).max() < ROUNDING and abs(p).max() < ROUNDING else (R, p)


def _same(pose: Pose) -> bool:
    return bool((pose[0] == np.eye(3)).all() and not pose[1].any())


def _frames_of_both(
    model: Model, one: Body, other: Body, staying: str, gone: str, between: Pose
) -> tuple[tuple[Frame, ...], dict[str, str]]:
    """Frames of a body with those of another, and the new names of these."""
    every = elements_of(model).values()
    asked = {ref.frame for kind, item in every for ref in references(kind, item)[0] if ref.body == gone}
    asked |= {one.parent.frame for one in (*model.lights, *model.terrain) if one.parent.body == gone}
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
    outer = path.rpartition(":")[0]
    new = child(outer, unused(name, names_in(changed.model, outer, "bodies")))
    free = [here for here, (kind, item) in elements_of(changed.model).items() if kind == "joints"
            and item.comment == ADDED]  # fmt: skip
    model = changed_lists(changed.model, lambda _, here, item: None if here in free else item)
    moved = {frame.name: frame.name for frame in model.frames}
    if any(ref.body == FIXED for kind, item in elements_of(model).values() for ref in references(kind, item)[0]):
        model = added(replace(model, frames=()), outer, "bodies", Body(parts(new)[-1], frames=model.frames))
        model = with_references(model, lambda ref: FrameRef(new, ref.frame) if ref.body == FIXED else ref)
        model, _ = _expressions(model, FIXED, new, moved, frames=True)
        changed = replace(changed, poses={**changed.poses, new: WORLD})
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
    if record is None:
        raise ModelError("copy", "ground", "a body", "Name a body.")
    if name in {assembly.name for assembly in changed.model.assemblies}:
        raise ModelError(f"copy {path}", f"an assembly {name}", "a name that is not taken", "Choose another one.")
    leading, branch = _branch(changed.model, path)
    every = elements_of(changed.model)
    new = {old: child(name, each) for old, each in _once({*branch, leading}, every)}
    lists: dict[str, list[Any]] = {}
    for old, (kind, item) in every.items():
        frames, joints = references(kind, item)
        inside = {ref.body for ref in frames} <= branch and all(joint.partition(".")[0] in new for joint in joints)
        if kind == "bodies":
            inside = old in branch
        if kind == "joints" and inside:
            new.setdefault(old, child(name, item.name))
        if inside or old == leading:
            lists.setdefault(kind, []).append((old, item))
    new |= {old: child(name, each) for old, each in _once({old for some in lists.values() for old, _ in some}, every)}
    if parent is None:
        place = None
    else:
        given = parent if isinstance(parent, FrameRef) else FrameRef(*([parent] if isinstance(parent, str) else parent))
        place = FrameRef(body_of(changed.model, given.body, "copy")[0], given.frame)

    def frame(ref: FrameRef) -> FrameRef:
        return FrameRef(new[ref.body], ref.frame) if ref.body in branch else place or ref

    def joint(at: str) -> str:
        target, dot, field = at.partition(".")
        return new[target] + dot + field

    made: dict[str, Any] = {
        kind: tuple(replace(referring(item, kind, frame, joint), name=parts(new[old])[-1]) for old, item in some)
        for kind, some in lists.items()
    }
    model = replace(changed.model, assemblies=(*changed.model.assemblies, Assembly(name, **made)))
    stand = every[leading][1].parent if every[leading][1].parent.body not in branch else every[leading][1].child
    before, now = (frame_pose(model, ref, changed.poses) for ref in (stand, place or stand))
    moved = after(now, within(before, WORLD))
    poses = {new[old]: after(moved, changed.poses[old]) for old in branch if old in changed.poses}
    crossing = [old for old, (kind, item) in every.items()
                if old not in new and {ref.body for ref in references(kind, item)[0]} & branch]  # fmt: skip
    note = f"not copied, since it is of other bodies, too: {listed(crossing, 8)}" if crossing else ""
    return replace(changed, model=model, poses={**changed.poses, **poses}).noting(note)


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


def _once(paths: set[str], every: Mapping[str, tuple[str, Any]]) -> list[tuple[str, str]]:
    """Paths with names that each list of an assembly has once."""
    taken: dict[str, set[str]] = {}
    out = []
    for path in every:
        if path in paths:
            kind, item = every[path]
            name = unused(item.name, taken.setdefault(kind, set()))
            taken[kind].add(name)
            out.append((path, name))
    return out


def root(changed: Changed, body: str) -> Changed:
    """The model whose free joint, by which a mechanism that nothing holds stands in the world, is at another body."""
    path, record = body_of(changed.model, body, "root")
    if record is None:
        raise ModelError("root", "ground", "a body", "Name a body of a mechanism that floats.")
    for here, (kind, item) in elements_of(changed.model).items():
        if kind == "joints" and item.type == "float" and FIXED in (item.parent.body, item.child.body):
            model = without_joint(changed.model, here)
            if path not in connected(model):
                outer = path.rpartition(":")[0]
                name = unused(f"{parts(path)[-1]}_float", names_in(model, outer, "joints"))
                moved, ref = framed(replace(changed, model=model), path, name, changed.poses[path])
                joint = replace(item, name=name, parent=FrameRef(FIXED), child=ref)
                at, _ = joint_at(joint, changed.poses[path], size_of(changed.poses))
                return replace(moved, model=added(moved.model, outer, "joints", at))
    todo = "Ground another body instead: ground(body)."
    raise ModelError(f"root {path}", "a body that joints hold on ground", "one of a mechanism that floats", todo)


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
