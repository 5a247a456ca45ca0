"""Elements of a model put in, taken out and referred to by other names. Records alone: no pose is known here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from shiftjax.errors import ModelError, nearest
from shiftjax.joints import KINDS
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child, parts, split
from shiftjax.mechanism.records import FIXED, Assembly, Body, Frame, FrameRef, Joint, walk

LISTS = ("bodies", "joints", "restraints", "force_modules", "constraints", "drivers")  # of an assembly


def elements_of(model: Model) -> dict[str, tuple[str, Any]]:
    """Path -> list and record of every element of every assembly, switched off or not."""
    out: dict[str, tuple[str, Any]] = {}
    for path, assembly, _ in walk(model.assemblies):
        for kind in LISTS:
            for item in getattr(assembly, kind):
                out.setdefault(child(path, item.name), (kind, item))
    return out


def element_of(model: Model, path: str, kind: str, where: str) -> tuple[str, Any]:
    """Full path and record of an element of a list.

    Raises:
        ModelError: none of that name, or several.
    """
    known = {full: item for full, (of, item) in elements_of(model).items() if of == kind}
    matches = [full for full in known if full == path or full.endswith(f":{path}")]
    exact = [full for full in matches if full == path] or matches
    if len(exact) != 1:
        what = kind.replace("_", " ")
        fault = f"{path!r}, {len(exact)} of the {what}" if exact else f"{path!r}, none of the {what}"
        todo = "Write the path in full." if exact else nearest(path, known) or "`shiftjax info MODEL` lists the names."
        raise ModelError(where, fault, f"one of the {what}", todo)
    return exact[0], known[exact[0]]


def changed_lists(model: Model, change: Callable[[str, str, Any], Any | None]) -> Model:
    """The model with each element (list, path, record) replaced by what a function makes of it; None takes it out."""

    def of(assembly: Assembly, path: str) -> Assembly:
        lists = {}
        for kind in LISTS:
            made = ((item, change(kind, child(path, item.name), item)) for item in getattr(assembly, kind))
            lists[kind] = tuple(new for _, new in made if new is not None)
        return replace(assembly, **lists)

    return replace(model, assemblies=rebuilt(model.assemblies, of))


def with_elements(model: Model, items: Mapping[str, Any]) -> Model:
    """The model with records in the place of those at some paths."""
    return changed_lists(model, lambda _, path, item: items.get(path, item))


def added(model: Model, assembly: str, kind: str, item: Any) -> Model:
    """The model with one more element at the end of a list of an assembly; a new assembly where there is none."""
    if all(path != assembly for path, _, _ in walk(model.assemblies)):
        if ":" in assembly:
            raise ModelError("assembly", repr(assembly), "an assembly of the model, or a name", "Add the outer one.")
        model = replace(model, assemblies=(*model.assemblies, Assembly(assembly)))

    def of(inner: Assembly, path: str) -> Assembly:
        return replace(inner, **{kind: (*getattr(inner, kind), item)}) if path == assembly else inner

    return replace(model, assemblies=rebuilt(model.assemblies, of))


def names_in(model: Model, assembly: str, kind: str) -> set[str]:
    """Names that a list of an assembly has."""
    return {item.name for path, inner, _ in walk(model.assemblies) if path == assembly for item in getattr(inner, kind)}


def frames_on(model: Model, body: str) -> tuple[Frame, ...]:
    """Of a body, or of ground."""
    if body == FIXED:
        return model.frames
    return elements_of(model)[body][1].frames


def with_frames(model: Model, body: str, frames: tuple[Frame, ...]) -> Model:
    """The model with other frames of a body, or of ground."""
    if body == FIXED:
        return replace(model, frames=frames)
    return with_elements(model, {body: replace(elements_of(model)[body][1], frames=frames)})


# -- what refers to what ---------------------------------------------------------------------------------------------


def references(kind: str, item: Any) -> tuple[tuple[FrameRef, ...], tuple[str, ...]]:
    """The frames and the paths of coordinates that an element refers to."""
    if kind == "joints":
        return (item.parent, item.child), ()
    if kind == "restraints":
        return item.frames or (), (item.joint,) if item.joint else ()
    return ((), ()) if kind == "bodies" else (item.frames, item.joints)


def referring(item: Any, kind: str, frame: Callable[[FrameRef], FrameRef], joint: Callable[[str], str]) -> Any:
    """An element whose references are others."""
    if kind == "joints":
        return replace(item, parent=frame(item.parent), child=frame(item.child))
    if kind == "restraints":
        ends = None if item.frames is None else (frame(item.frames[0]), frame(item.frames[1]))
        return replace(item, frames=ends, joint=None if item.joint is None else joint(item.joint))
    if kind == "bodies":
        return item
    return replace(item, frames=tuple(map(frame, item.frames)), joints=tuple(map(joint, item.joints)))


def with_references(model: Model, frame: Callable[[FrameRef], FrameRef]) -> Model:
    """The model in which all that refers to frames refers to others."""
    model = changed_lists(model, lambda kind, _, item: referring(item, kind, frame, lambda path: path))
    lights = tuple(replace(light, parent=frame(light.parent)) for light in model.lights)
    terrain = tuple(replace(one, parent=frame(one.parent)) for one in model.terrain)
    return replace(model, lights=lights, terrain=terrain)


def without(model: Model, paths: Collection[str], frames: Collection[FrameRef] = ()) -> tuple[Model, tuple[str, ...]]:
    """The model without some elements and frames, and without all that refers to them; and what that was, by its paths.

    Coordinates of joints that keep fewer of them count, too: what refers to a coordinate that is not there goes.
    """
    gone, lost = dict.fromkeys(paths), set(frames)
    every = elements_of(model)
    while True:
        there = _coordinates(every, gone)
        more = [
            path
            for path, (kind, item) in every.items()
            if path not in gone and _broken(*references(kind, item), gone, lost, there)
        ]
        if not more:
            break
        gone |= dict.fromkeys(more)
    model = changed_lists(model, lambda _, path, item: None if path in gone else item)
    hidden = {one.name for one in (*model.lights, *model.terrain) if one.parent.body in gone or one.parent in lost}
    lights, terrain = (tuple(one for one in some if one.name not in hidden) for some in (model.lights, model.terrain))
    model = replace(model, lights=lights, terrain=terrain)
    for ref in lost:
        if ref.body not in gone:
            left = tuple(one for one in frames_on(model, ref.body) if one.name != ref.frame)
            model = with_frames(model, ref.body, left)
    return _consistent(model, gone, lost), (*gone, *(ref.path for ref in lost), *hidden)


def _coordinates(every: Mapping[str, tuple[str, Any]], gone: Collection[str]) -> set[str]:
    """Paths of all coordinates of one number, of the joints that stay."""
    joints = ((path, KINDS[item.type]) for path, (kind, item) in every.items() if kind == "joints" and path not in gone)
    return {kind.path_of(path, k) for path, kind in joints for k, one in enumerate(kind.coordinates) if one.nq == 1}


def _broken(
    frames: tuple[FrameRef, ...], joints: tuple[str, ...], gone: Collection[str], lost: set[FrameRef], there: set[str]
) -> bool:
    return any(ref.body in gone or ref in lost for ref in frames) or not there.issuperset(joints)


def _consistent(model: Model, gone: Collection[str], lost: set[FrameRef]) -> Model:
    """The model without expressions of numbers that are gone, and without events of channels that are."""
    missing = {*gone, *(ref.path for ref in lost)}
    expressions = {path: text for path, text in model.expressions.items() if split(path)[0] not in missing}
    model = replace(model, expressions=type(model.expressions)(expressions))
    names = {parts(path)[-1] for path in missing}
    events = {name: words for name, words in model.events.items() if not names & set(_words(words))}
    return replace(model, events=type(model.events)(events))


def _words(event: Any) -> list[str]:
    """All names in the texts of an event."""
    text = repr(event)
    for sign in "'\"(){}[]:;.,+-*/<>=`":
        text = text.replace(sign, " ")
    return text.split()


def connected(model: Model) -> set[str]:
    """Ground, and the bodies that active joints connect with it."""
    there, joints = {FIXED}, [joint for _, joint in model.joints()]
    while more := {
        end.body
        for joint in joints
        for near, end in ((joint.parent, joint.child), (joint.child, joint.parent))
        if near.body in there and end.body not in there
    }:
        there |= more
    return there


def body_of(model: Model, body: str, where: str) -> tuple[str, Body | None]:
    """Full path and record of a body; ground has none."""
    return (FIXED, None) if body == FIXED else element_of(model, body, "bodies", where)


def joint_of(model: Model, joint: str, where: str) -> tuple[str, Joint]:
    """Full path and record of a joint."""
    return element_of(model, joint, "joints", where)
