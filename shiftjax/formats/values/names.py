"""Names of a document: which are allowed, made unique, and what a reference means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NoReturn

from shiftjax.errors import nearest
from shiftjax.formats.values.neighbours import Neighbours
from shiftjax.formats.values.node import Node
from shiftjax.joints import KINDS
from shiftjax.mechanism.paths import NAME_RULE, is_name, join, listed, parts, quote
from shiftjax.mechanism.records import FIXED, ORIGIN, Body, Frame, FrameRef, Joint

RESERVED = {"a body": FIXED, "an assembly": FIXED, "a frame": ORIGIN}
NAMELESS = {"a restraint", "a light", "a terrain", "a force module"}  # may come without a name


def name_of(node: Node, kind: str, default: str) -> str:
    """The checked name of an element."""
    field = node["name"]
    if field.value is None and kind in NAMELESS:
        node.warn(f"{kind} without a name is called {default!r}")
        return default
    name = field.text()
    if not is_name(name):
        field.refuse(f"a name of {NAME_RULE}", "Rename it.")
    if name == RESERVED.get(kind):
        field.refuse(f"any other name for {kind}; {name!r} is reserved", "Rename it.")
    return name


def unique_names(nodes: Sequence[Node], kind: str) -> list[str]:
    """The names of one list of elements; an equal one gets a suffix, with a warning."""
    names = [name_of(node, kind, f"{kind.split()[-1]}_{i + 1}") for i, node in enumerate(nodes)]
    taken = set(names)
    count: dict[str, int] = {}
    out = []
    for name, node in zip(names, nodes, strict=True):
        unique = name
        if name in count:
            while unique in taken:
                count[name] += 1
                unique = f"{name}_{count[name]}"
            taken.add(unique)
            node.warn(f"duplicate name {name!r}: this one is called {unique!r}")
        count.setdefault(name, 1)
        out.append(unique)
    return out


class Names:
    """What the references of one document can mean; complete before the first one is resolved. Its files, too."""

    def __init__(self, frames: tuple[Frame, ...], neighbours: Neighbours) -> None:
        self.neighbours = neighbours
        self.ground: list[Frame] = list(frames)
        self.bodies: dict[str, Body] = {}
        self.joints: dict[str, Joint] = {}
        self._frames: dict[str, tuple[int, set[str]]] = {}
        self._by_name: dict[str, list[str]] = {}

    def frames_of(self, body: str) -> set[str]:
        """Names of the frames of a body or of ground."""
        frames = self.ground if body == FIXED else self.bodies[body].frames
        known = self._frames.get(body)
        if known is None or known[0] != len(frames):  # mounting adds frames
            known = self._frames[body] = (len(frames), {frame.name for frame in frames})
        return known[1]

    def called(self, name: str) -> list[str]:
        """Paths of all bodies of this name."""
        if not self._by_name:
            for path in self.bodies:
                self._by_name.setdefault(parts(path[path.rfind(":") + 1 :])[0], []).append(path)
        return self._by_name.get(name, [])

    def body(self, node: Node, local: str) -> str:
        """Absolute path of the body a node names; one name is looked up in the assembly `local` only."""
        names = _names(node)
        path = self._path(names, local)
        if path is None:
            _missing(node, "body", local, self.called(names[-1]), self.bodies)
        return path

    def _path(self, names: list[str], local: str) -> str | None:
        """Absolute path of the body of these names, None where there is none."""
        if names == [FIXED]:
            return FIXED
        for path in _candidates(names, local):
            if path in self.bodies:
                return path
        same = self.called(names[-1])
        return same[0] if len(names) == 1 and not local and len(same) == 1 else None

    def joint(self, node: Node, local: str) -> str:
        """Absolute path of the joint a node names."""
        names = _names(node, "joint")
        for path in _candidates(names, local):
            if path in self.joints:
                return path
        _missing(node, "joint", local, [path for path in self.joints if parts(path)[-1] == names[-1]], self.joints)

    def coordinate(self, node: Node, local: str, acting: str = "") -> tuple[str, str]:
        """Absolute path and unit of the coordinate a node names: `JOINT` where there is one, else `JOINT.NAME`.

        Args:
            acting: what acts on it, for the message.
        """
        names = _names(node, "joint")
        paths = _candidates(names, local)
        joint, field = next(((path, "") for path in paths if path in self.joints), ("", ""))
        if not joint and "." in names[-1]:
            last, _, field = names[-1].rpartition(".")
            field = f".{field}"
            paths = _candidates([*names[:-1], last], local)
            joint = next((path for path in paths if path in self.joints), "")
        joint = joint or self.joint(node, local)  # which tells that there is none
        type_ = self.joints[joint].type
        kind = KINDS[type_]
        if kind.placed:
            todo = "Name another joint, or two frames." if kind.primitives else "Name another joint."
            fault = f"{acting} on joint {joint} of type {type_}" if acting else f"joint {joint}"
            node.refuse("joints of one displacement, or one coordinate of several", todo, fault)
        named = kind.named(field)
        known = kind.paths(joint)
        if len(named) != 1:
            fault = f"no coordinate {field[1:]!r} of {joint}" if field else f"joint {joint}, which has {len(known)}"
            node.refuse(f"one coordinate: {', '.join(known)}", "Name one of them.", fault)
        return known[named[0]], kind.coordinates[named[0]].unit

    def frame(self, node: Node, local: str) -> FrameRef:
        """The frame a node names: [body, frame], [[assembly, ..., body], frame] or one text path.

        A path whose last name is that of a frame and no body, as `crank:pin` of the builder, is that frame.
        """
        value = node.value
        if isinstance(value, str) and ":" in value:
            names = value.split(":")
            value = [names[:-1], names[-1]]
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            node.refuse(
                '[["assembly", "body"], "frame"] or ["body", "frame"]',
                "Name a body and one of its frames; its own is 'origin'.",
            )
        body_node, frame_node = Node(value, node.where, node.warnings).items()
        names, frame = _names(body_node), frame_node.text()
        if len(names) > 1 and frame == ORIGIN and self._path(names, local) is None and self._path(names[:-1], local):
            body_node, frame_node = (Node(part, body_node.where, node.warnings) for part in (names[:-1], names[-1]))
            frame = names[-1]
        body = self.body(body_node, local)
        frames = self.frames_of(body)
        if frame != ORIGIN and frame not in frames:
            hint = nearest(frame[:60], [*frames, ORIGIN]) or "Add the frame, or name another."
            frame_node.refuse(f"a frame of {body}: {listed([ORIGIN, *sorted(frames)], 8)}", hint)
        return FrameRef(body, frame)


def _candidates(names: list[str], local: str) -> list[str]:
    """What a path can mean: the full one, then one from the local assembly; a single name is always local."""
    below = ":".join([*([local] if local else []), *map(quote, names)])
    return [below] if len(names) == 1 else [join(*names), below]


def _missing(node: Node, kind: str, local: str, same: list[str], known: Iterable[str]) -> NoReturn:
    names = _names(node, kind)
    if same:
        hint = f"There is one elsewhere: give its full path, {listed(same)}."
    else:
        inside = [parts(path)[-1] for path in known if path.rpartition(":")[0] == local]
        some = islice(inside if len(names) == 1 else known, 2000)  # looking for likeness is slow
        hint = nearest(":".join(names)[:100], some) or f"Add the {kind}, or rename."
    where = f"a {kind} of {local or 'the model'}" if len(names) == 1 else f"the full path of a {kind}"
    node.refuse(where, hint, f"no {kind} {':'.join(names)[:100]!r}")


def _names(node: Node, kind: str = "body") -> list[str]:
    """The plain names of a path written as a text or as a list."""
    if isinstance(node.value, str):
        names = node.value.split(":")
    else:
        names = [part for item in node.items() for part in item.text().split(":")]
    if not names or not all(names):
        node.refuse("a name, or a list of names from the outermost assembly", f"Name a {kind}.")
    return names
