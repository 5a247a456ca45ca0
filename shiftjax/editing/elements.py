"""Elements of a model put in, taken out and referred to by other names. Records alone: no pose is known here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from shiftjax.editing.path_moves import refuse_unknown
from shiftjax.errors import ModelError, nearest, need
from shiftjax.joints import KINDS
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.events import Event, event_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.named_objects import SECTION_OF, named_objects
from shiftjax.mechanism.parameters import BLOCKS, agrees, asked_by, name_of_path, value_of_text
from shiftjax.mechanism.paths import NAME_RULE, child, is_name, listed, matching, parts, split
from shiftjax.mechanism.records import FIXED, ORIGIN, Assembly, Body, Frame, FrameRef, Joint, walk
from shiftjax.mechanism.sublinkages import without_one

EXPRESSED = ("parameter", "point", "event")  # whose names stand in expressions without backticks
LISTS = ("bodies", "joints", "restraints", "force_modules", "constraints", "drivers")  # of an assembly


def elements_of(model: Model) -> dict[tuple[str, str], Any]:
    """List and path -> record of every element of every assembly, switched off or not; lists may share names."""
    return {
        (kind, child(path, item.name)): item
        for path, assembly, _ in walk(model.assemblies)
        for kind in LISTS
        for item in getattr(assembly, kind)
    }


def list_of(model: Model, kind: str) -> dict[str, Any]:
    """Path -> record of the elements of one list."""
    return {path: item for (of, path), item in elements_of(model).items() if of == kind}


def element_of(model: Model, path: str, kind: str, where: str) -> tuple[str, Any]:
    """Full path and record of an element of a list that is not switched off.

    Raises:
        ModelError: none of that name, or several; one that is switched off.
    """
    what = kind.replace("_", " ")
    need(where, path, str, f"the path of one of the {what}")
    known = list_of(model, kind)
    matches = matching(known, path)
    if len(matches) != 1:
        fault = f"{path!r}, {len(matches)} of the {what}" if matches else f"{path!r}, none of the {what}"
        todo = (
            "Write the path in full." if matches else nearest(path, known) or "`shiftjax info MODEL` lists the names."
        )
        allowed = f"one of the {what}" + (f": {listed(known)}" if known else ", of which there are none")
        raise ModelError(where, fault, allowed, todo)
    if kind in ("bodies", "joints") and matches[0] not in dict(getattr(model, kind)()):
        fault = f"{matches[0]}, which is switched off, or on what is"
        raise ModelError(where, fault, f"{what} that are on", "Switch it on in the file first.")
    return matches[0], known[matches[0]]


def changed_lists(model: Model, change: Callable[[str, str, Any], Any | None]) -> Model:
    """The model with each element (list, path, record) replaced by what a function makes of it; None takes it out."""

    def of(assembly: Assembly, path: str) -> Assembly:
        lists = {}
        for kind in LISTS:
            made = ((item, change(kind, child(path, item.name), item)) for item in getattr(assembly, kind))
            lists[kind] = tuple(new for _, new in made if new is not None)
        return replace(assembly, **lists)

    return replace(model, assemblies=rebuilt(model.assemblies, of))


def with_elements(model: Model, kind: str, items: Mapping[str, Any]) -> Model:
    """The model with records in the place of those of a list at some paths."""
    return changed_lists(model, lambda of, path, item: items.get(path, item) if of == kind else item)


def added(model: Model, assembly: str, kind: str, item: Any) -> Model:
    """The model with one more element at the end of a list of an assembly; a new assembly where there is none."""
    if all(path != assembly for path, _, _ in walk(model.assemblies)):
        if ":" in assembly:
            raise ModelError("assembly", repr(assembly), "an assembly of the model, or a name", "Add the outer one.")
        model = replace(model, assemblies=(*model.assemblies, Assembly(parts(assembly)[0])))

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
    return list_of(model, "bodies")[body].frames


def with_frames(model: Model, body: str, frames: tuple[Frame, ...]) -> Model:
    """The model with other frames of a body, or of ground."""
    if body == FIXED:
        return replace(model, frames=frames)
    return with_elements(model, "bodies", {body: replace(list_of(model, "bodies")[body], frames=frames)})


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


def without(
    model: Model, elements: Collection[tuple[str, str]], frames: Collection[FrameRef] = ()
) -> tuple[Model, tuple[str, ...]]:
    """The model without some elements (list, path) and frames, and without all that refers to them; and what went.

    Coordinates of joints that keep fewer of them count, too: what refers to a coordinate that is not there goes.
    """
    gone, lost = dict.fromkeys(elements), set(frames)
    every = elements_of(model)
    while True:
        bodies = {path for kind, path in gone if kind == "bodies"}
        there = _coordinates(every, gone)
        more = [key for key, item in every.items()
                if key not in gone and _broken(*references(key[0], item), bodies, lost, there)]  # fmt: skip
        if not more:
            break
        gone |= dict.fromkeys(more)
    model = changed_lists(model, lambda kind, path, item: None if (kind, path) in gone else item)
    hidden = {one.name for one in (*model.lights, *model.terrain) if one.parent.body in bodies or one.parent in lost}
    lights, terrain = (tuple(one for one in some if one.name not in hidden) for some in (model.lights, model.terrain))
    model = replace(model, lights=lights, terrain=terrain)
    for ref in lost:
        if ref.body not in bodies:
            left = tuple(one for one in frames_on(model, ref.body) if one.name != ref.frame)
            model = with_frames(model, ref.body, left)
    return model, (*(path for _, path in gone), *(ref.path for ref in lost), *hidden)


def _coordinates(every: Mapping[tuple[str, str], Any], gone: Collection[tuple[str, str]]) -> set[str]:
    """Paths of all coordinates of one number, of the joints that stay."""
    joints = ((key[1], KINDS[item.type]) for key, item in every.items() if key[0] == "joints" and key not in gone)
    return {kind.path_of(path, k) for path, kind in joints for k, one in enumerate(kind.coordinates) if one.nq == 1}


def _broken(
    frames: tuple[FrameRef, ...], joints: tuple[str, ...], bodies: set[str], lost: set[FrameRef], there: set[str]
) -> bool:
    return any(ref.body in bodies or ref in lost for ref in frames) or not there.issuperset(joints)


def consistent(model: Model) -> tuple[Model, list[str]]:
    """The model without expressions of numbers that are gone, or are not any more what follows; and these numbers."""
    if not model.expressions:
        return model, []
    known, active = model.numbers(), {path for path, _ in model.elements()}
    every = {path for _, path in elements_of(model)} | {FIXED}
    named = {path: number for path, number in known.items() if name_of_path(path)}
    out, lost = {}, list[str]()
    for path, text in model.expressions.items():
        target = split(path)[0]
        if path in known:
            good = agrees(known[path], value_of_text(text, path, named))
        else:
            good = target not in active and (target in every or target.rpartition(":")[0] in every)
        if good:
            out[path] = text
        else:
            lost.append(path)
    return replace(model, expressions=FrozenJson(out)), lost


def without_idle_events(before: Model, model: Model) -> tuple[Model, list[str]]:
    """The model without events of what was there before and is not under that name any more; and their names."""
    every = {name: event_of(name, words) for name, words in model.events.items()}
    idle = [name for name, event in every.items() if _speaks(before, event) and not _speaks(model, event)]
    events = {name: words for name, words in model.events.items() if name not in idle}
    return replace(model, events=FrozenJson(events)), idle


def _speaks(model: Model, event: Event) -> bool:
    """Whether a model has all that an event names."""
    try:
        refuse_unknown(model, event)
    except ModelError:
        return False
    return True


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


def need_name(where: str, name: object) -> None:
    """Raises for what can be no name of an element."""
    need(where, name, str, "a name")
    text = str(name)
    if not is_name(text) or text in (FIXED, ORIGIN):
        allowed = f"{NAME_RULE}, and not {FIXED} or {ORIGIN}"
        raise ModelError(where, f"the name {name!r}", allowed, "Choose another one.")


def need_free(model: Model, kind: str, full: str, name: str, where: str) -> None:
    """Raises for a name that an object cannot have, or that one beside it has.

    Args:
        full: path of the object, or of one that is beside it.
    """
    need_name(where, name)
    if kind in EXPRESSED and not (name.isidentifier() and name.isascii() and name != "pi"):
        allowed = "letters, digits and _, not pi, which expressions can use"
        raise ModelError(where, f"the name {name!r}", allowed, "Choose another one.")
    wanted = _with_last(kind, full, name)
    if wanted == full:
        raise ModelError(where, f"the name {name!r}, which it has", "another name", "Choose another one.")
    if (kind, wanted) in set(named_objects(model)):
        article = "an" if kind[0] in "aeiou" else "a"
        raise ModelError(where, f"{article} {kind} {wanted}", "a name that is not taken", "Choose another one.")


def _with_last(kind: str, full: str, name: str) -> str:
    """The path of an object of another name."""
    if kind in SECTION_OF:
        return f"{SECTION_OF[kind]}.{name}"
    return child(full.rpartition(":")[0], name)


def without_named(model: Model, paths: Collection[str]) -> tuple[Model, list[str]]:
    """The model without some parameters, points, events, lights, terrains and sublinkages, as `parameters.L`; and the
    numbers that followed from them, and are numbers now."""
    gone, numbers = {path for path in paths if path.partition(".")[0] in BLOCKS}, model.numbers()
    for path in paths:
        section, _, name = path.partition(".")
        items = getattr(model, section)
        if section == "sublinkages":
            rest: Any = without_one(items, name)
        elif section == "events":
            rest = FrozenJson({one: words for one, words in items.items() if one != name})
        else:
            rest = tuple(one for one in items if one.name != name)
        model = replace(model, **{section: rest})
    follows = {
        path: any(name == one or name.startswith(f"{one}.") for name in (path, *asked_by(text, path)) for one in gone)
        for path, text in model.expressions.items()
    }
    expressions = FrozenJson({path: text for path, text in model.expressions.items() if not follows[path]})
    model = replace(model, expressions=expressions)
    left = model.numbers()
    return model, [path for path in follows if follows[path] and path in numbers and path in left]
