"""What an edit makes of a model and of where its bodies stand, and joints that carry what would lie loose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.editing.elements import (
    added,
    body_of,
    changed_lists,
    connected,
    frames_on,
    list_of,
    names_in,
    need_name,
    with_frames,
)
from shiftjax.editing.path_moves import PathMoves
from shiftjax.editing.standing import Pose, Poses, frame_at, frame_pose, joint_at, size_of, within
from shiftjax.errors import ModelError, need, one_of, shown
from shiftjax.formats.builder import ModelBuilder, entry
from shiftjax.formats.files import load
from shiftjax.formats.values.node import orthonormal
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.fields import label_of, labels
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import ADDED, Model, unused
from shiftjax.mechanism.paths import child, listed, matching, parts
from shiftjax.mechanism.records import FIXED, ORIGIN, Body, FrameRef, Joint
from shiftjax.numerics.real_arrays import real_array

TURNED = 1e-6  # of R R^T: a matrix that is farther from the identity is no rotation
SAME = 1e-12  # of a rotation matrix or [m]: frames nearer than this stand at the same place
ADDABLE = {"restraint": "restraints", "force": "force_modules", "constraint": "constraints", "driver": "drivers"}
OF_THE_WHOLE = ("parameter", "point", "event")  # what is added to no assembly
NEW = "new"  # assembly of an element that is made of words
OF_GROUND = ("ground", "world")  # words for ground by which it is not known
End = str | tuple[str, str] | FrameRef  # a body, or (body, frame)


@dataclass(frozen=True)
class Changed:
    """An edited model.

    Attributes:
        poses: of all its bodies. notes: what was changed beside what was asked for, a sentence each.
        moves: where paths went, one after the other.
    """

    model: Model
    poses: Poses
    notes: tuple[str, ...] = ()
    moves: tuple[PathMoves, ...] = ()

    def noting(self, *notes: str) -> Changed:
        return replace(self, notes=(*self.notes, *filter(None, notes)))


def new_joint(name: str, type: str, words: Mapping[str, Any], where: str = "") -> Joint:
    """A joint as a file would have it, of numbers, between ends that are none yet.

    Args:
        where: it is asked for, for errors.

    Raises:
        ModelError: no such kind, words that it does not have.
    """
    return stated_joint(Model(), name, type, words, where)[0]


def stated_joint(
    model: Model, name: str, type: str, words: Mapping[str, Any], where: str
) -> tuple[Joint, dict[str, str]]:
    """A joint as a file with the parameters and points of a model would have it, between ends that are none yet, and
    which of its numbers follow from these: field -> text.

    Args:
        where: it is asked for, for errors.

    Raises:
        ModelError: no such kind, words that it does not have, an expression of what the model does not have, or where
            a file has none.
    """
    builder = _naming(model)
    with asked_at(where):
        builder.assembly(NEW).body("body", mass=0).joint(name, type, child="body", **words)
        made = builder.build()
    return made.assemblies[0].joints[0], _fields(made, name)


def stated_body(model: Model, name: str, words: Mapping[str, Any], where: str) -> tuple[Body, dict[str, str]]:
    """A body, as of `stated_joint`; a number of its frames is a field as `:tip.T[0]`."""
    builder = _naming(model)
    with asked_at(where):
        builder.assembly(NEW).body(name, **{"mass": 0, **words})
        made = builder.build()
    return made.assemblies[0].bodies[0], _fields(made, name)


def with_expressions(model: Model, path: str, texts: Mapping[str, str]) -> Model:
    """The model in which numbers of an element, by their fields, follow from others."""
    fields = {f"{path}{field}": text for field, text in texts.items()}
    return replace(model, expressions=FrozenJson({**model.expressions, **fields})) if fields else model


def _naming(model: Model) -> ModelBuilder:
    """A builder that knows the parameters and points of a model, as numbers."""
    builder = ModelBuilder()
    for parameter in model.parameters:
        builder.parameter(parameter.name, parameter.value, unit=parameter.unit)
    for point in model.points:
        builder.point(point.name, point.position, frames=[])
    return builder


def _fields(made: Model, name: str) -> dict[str, str]:
    """Field of the one element of a builder's model -> the text that it follows from."""
    return {path.removeprefix(child(NEW, name)): text for path, text in made.expressions.items()}


@contextmanager
def asked_at(where: str) -> Iterator[None]:
    """Errors of a model that is made of words alone, as those of the words."""
    try:
        yield
    except ModelError as error:
        _, bracket, field = error.where.rpartition(").")
        place = f"{where}: {field}" if bracket else where
        raise ModelError(place, error.found, error.allowed, error.todo) from None


def pose_of(at: Any, where: str) -> Pose:
    """A place [x, y, z], or rotation and place, in the world.

    Raises:
        ModelError: something else; a matrix that is no rotation.
    """
    pair = isinstance(at, tuple | list) and len(at) == 2
    R, p = (real_array(at[0]), real_array(at[1])) if pair else (np.eye(3), real_array(at))
    if R is None or p is None or R.shape != (3, 3) or p.shape != (3,) or not np.isfinite([*R.ravel(), *p]).all():
        raise ModelError(f"{where}: at", shown(at), "[x, y, z], or (R, [x, y, z])", "Give a place in the world [m].")
    if np.abs(R @ R.T - np.eye(3)).max() > TURNED or np.linalg.det(R) < 0.0:
        raise ModelError(f"{where}: at", "a matrix that is no rotation", "a rotation by rows", "Correct R.")
    return np.array(orthonormal(R)), p


def end_of(changed: Changed, given: End, where: str) -> FrameRef:
    """The frame that an end names.

    Raises:
        ModelError: no such body or frame.
    """
    pair = (given.body, given.frame) if isinstance(given, FrameRef) else given
    if isinstance(given, str):
        pair = (given, ORIGIN)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ModelError(where, shown(given), "a body, or (body, frame)", "Name a body, or one of its frames.")
    need(where, pair[0], str, f"the path of a body, or {FIXED!r} for ground")
    if pair[0] in OF_GROUND and not matching(list_of(changed.model, "bodies"), pair[0]):
        fault = f"{pair[0]!r}, none of the bodies"
        raise ModelError(where, fault, f"{FIXED!r} for ground, or a body", f"Write {FIXED!r} for ground.")
    body, record = body_of(changed.model, pair[0], where)
    every = [ORIGIN, *(frame.name for frame in (changed.model.frames if record is None else record.frames))]
    if pair[1] not in every:
        todo = "Name the body alone for a new one."
        raise ModelError(where, f"no frame {pair[1]!r} of {body}", listed(every, 12), todo)
    return FrameRef(body, pair[1])


def framed(changed: Changed, body: str, name: str, there: Pose) -> tuple[Changed, FrameRef]:
    """A frame of a body, or of ground, at a pose in the world: one that stands there, else a new one of this name."""
    model, poses = changed.model, changed.poses
    for frame in (ORIGIN, *(one.name for one in frames_on(model, body))):
        R, p = frame_pose(model, ref := FrameRef(body, frame), poses)
        if abs(R - there[0]).max() < SAME and abs(p - there[1]).max() < SAME:
            return changed, ref
    name = unused(name, {ORIGIN, *(one.name for one in frames_on(model, body))})
    frame = frame_at(name, poses[body], there, size_of(poses))
    return replace(changed, model=with_frames(model, body, (*frames_on(model, body), frame))), FrameRef(body, name)


def standing_joint(changed: Changed, path: str, joint: Joint, miss: float) -> Joint:
    """A joint that states where its ends stand.

    Args:
        miss: of a rotation matrix or [m], by which its kind may not have that.

    Raises:
        ModelError: it misses more.
    """
    ends = [frame_pose(changed.model, ref, changed.poses) for ref in (joint.parent, joint.child)]
    at, missed = joint_at(joint, within(ends[0], ends[1]), size_of(changed.poses))
    if missed > miss:
        fault = (
            f"frames {joint.parent.path} and {joint.child.path}, between which a {joint.type} cannot stand as they are"
        )
        todo = "Name the body alone: the joint gets a frame there."
        raise ModelError(path, fault, f"frames that it reaches within {miss:.0e}", todo)
    return at


def rooted(changed: Changed) -> Changed:
    """The model in which a free joint carries each group of bodies that nothing joins to ground, where it stands; such
    joints that were added before, and are of no use any more, go."""
    model, notes = changed.model, list[str]()
    for path, item in list_of(model, "joints").items():
        if item.comment == ADDED:
            alone = without_joint(model, path)
            if item.child.body in connected(alone):
                model = alone
                notes.append(f"{path}, which carried {item.child.body}, is of no use any more")
    bodies, carried = dict(model.bodies()), connected(model)
    rest = ", and begins at rest" if any(begins_to_move(one) for _, one in changed.model.joints()) else ""
    while loose := bodies.keys() - carried:
        body = min(loose, key=lambda path: (-bodies[path].mass, path))
        outer = body.rpartition(":")[0]
        name = unused(f"{parts(body)[-1]}_float", names_in(model, outer, "joints"))
        joint = replace(new_joint(name, "float", {}), parent=FrameRef(FIXED), child=FrameRef(body), comment=ADDED)
        at, _ = joint_at(joint, changed.poses[body], size_of(changed.poses))
        model = added(model, outer, "joints", at)
        notes.append(f"{child(outer, name)}, a free joint, carries {body}, which nothing joins to ground{rest}")
        carried = connected(model)
        assert body in carried, body
    return replace(changed, model=model).noting(*notes)


def begins_to_move(joint: Joint) -> bool:
    """Whether a joint begins with a speed."""
    speeds = joint.initial_velocity
    return any(np.ravel(np.array([*speeds.values()] if isinstance(speeds, FrozenJson) else speeds, float)))


def without_joint(model: Model, path: str) -> Model:
    """The model without one joint, whatever refers to it."""
    return changed_lists(model, lambda kind, here, item: None if (kind, here) == ("joints", path) else item)


def add_element(changed: Changed, what: str, name: str, assembly: str, words: Mapping[str, Any]) -> Changed:
    """The model with one more force, constraint or driver, read as a file is.

    Raises:
        ModelError: no such kind, no assembly of this name, words that it does not have.
    """
    where = f"add {what} {name}"
    one_of(f"add {name}: what", what, (*ADDABLE, *OF_THE_WHOLE))
    label = {"restraint": "a restraint", "force": "a force module"}.get(what, f"a {what}")
    need_name(where, name)
    if what != "restraint":
        types = [one.removeprefix(f"{label} of type ") for one in labels() if one.startswith(f"{label} of type ")]
        one_of(f"{where}: type", words.get("type"), types)
        label = label_of(label, words)
    document = to_dict(changed.model)
    entries, there = document.get("assemblies", []), None
    for part in parts(assembly):
        there = next((one for one in entries if one["name"] == part), None)
        entries = [] if there is None else there.get("assemblies", [])
    if there is None:
        raise ModelError(where, f"no assembly {assembly}", "one of the model", "`shiftjax info MODEL` lists the names.")
    if name in names_in(changed.model, assembly, ADDABLE[what]):
        raise ModelError(where, f"{name}, of which there is one", "a name that is not taken", "Choose another one.")
    with asked_at(where):
        there.setdefault(ADDABLE[what], []).append(entry(label, name, words))
        model = load(document)
    about = {field: getattr(changed.model, field) for field in ("name", "version", "source", "warnings")}
    return replace(changed, model=replace(model, **about))
