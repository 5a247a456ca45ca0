"""Paths of a model that become others, in references, in paths of numbers and in the texts of events; how bodies
stand in others that they became parts of is told to it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.expressions.expression import Expression, Name, replaced, written
from shiftjax.expressions.grammar import parse, with_paths
from shiftjax.measures.channels import CHANNELS
from shiftjax.measures.support import arguments_of
from shiftjax.mechanism.edit import everything_on
from shiftjax.mechanism.events import Event, event_of, written_event
from shiftjax.mechanism.fields import kinds_with
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.parameters import BLOCKS, OVER_NAMES
from shiftjax.mechanism.paths import parts, quote, split
from shiftjax.mechanism.records import FrameRef, walk

PLAIN = re.compile(r"[A-Za-z_]\w*")  # a name that expressions take without backticks
INDEX = re.compile(r"\[\d+\]")
ACTING = ("restraint", "force", "constraint", "driver")
OF_QUANTITY = {  # what a channel is of -> what its path may name
    "joint": ("joint",), "coordinate": ("joint",), "coordinates": ("joint",), "frame": ("frame", "body"),
    "element": (*ACTING, "joint"), "force": ACTING, "constraint": ACTING,
}  # fmt: skip
GROUPS = ("body", "assembly")  # what the option of a channel of several frames names


@dataclass(frozen=True)
class PathMoves:
    """Where objects of a model went.

    Attributes:
        moved: what an object is (of `mechanism.named_objects`) and its path -> its path now; those that are not here
            are where they were.
        sprung: paths of joints with a stiffness or damping of their own, which channels of forces count with them.
        carried: frames, and bodies for their origins, that are parts of another body now, by paths -> the path of the
            frame or body in which they are now, and how they stand there, (R (3, 3), p (3,) [m]).
    """

    moved: Mapping[tuple[str, str], str]
    sprung: frozenset[str] = frozenset()
    carried: Mapping[str, tuple[str, tuple[np.ndarray, np.ndarray]]] = dataclasses.field(default_factory=dict)

    def frame(self, ref: FrameRef) -> FrameRef:
        """The frame that a reference means now."""
        now = self.moved.get(("frame", ref.path))
        if now is None:
            return ref
        body, _, name = now.rpartition(":")
        return FrameRef(body, parts(name)[-1])

    def place(self, path: str) -> str:
        """The path now of a frame, or of a body, which stands for its origin."""
        return self.moved.get(("frame", path), self.moved.get(("body", path), path))

    def carried_to(self, path: str) -> tuple[str, tuple[np.ndarray, np.ndarray]]:
        """The path now of a frame or a body for its origin, and how that stands in what has the path."""
        still = np.eye(3), np.zeros(3)
        return self.carried[path] if path in self.carried else (self.place(path), still)

    def coordinate(self, path: str) -> str:
        """The path now of a joint, or of one of its coordinates."""
        target, field = split(path)
        return self.moved.get(("joint", target), target) + field

    def path(self, path: str, where: str) -> str:
        """The path now of a number, a channel or a coordinate, in full.

        Raises:
            ModelError: several objects have the path, went elsewhere, and have such a number or channel.
        """
        target, field = split(path)
        if target in BLOCKS:
            name, dot, axis = field[1:].partition(".")
            return self.moved.get((target.removesuffix("s"), f"{target}.{name}"), f"{target}.{name}") + dot + axis
        kinds = [kind for kind in _kinds(field) if (kind, target) in self.moved]
        if "joint" in kinds and len(kinds) > 1 and kinds[0] in ACTING and target not in self.sprung:
            kinds.remove("joint")
        now = {self.moved[kind, target] for kind in kinds}
        if len(now) > 1:
            todo = "Take the event out first, and put it in with the new names: remove, and add('event', ...)."
            raise ModelError(where, f"{path}, of several objects of this path", "paths of one object each", todo)
        return now.pop() + field if now else path


def path_after(moves: Sequence[PathMoves], path: str) -> str:
    """The path of a number after all moves, one after the other."""
    for one in moves:
        path = one.path(path, path)
    return path


def _kinds(field: str) -> tuple[str, ...]:
    """What an object can be that has such a number, channel or coordinate; a path without any is of a joint or body."""
    words = INDEX.sub("", field).strip(".").split(".")
    quantity = CHANNELS.get(words[-1])
    if quantity is not None:
        return OF_QUANTITY.get(quantity.of, ())
    if not field:
        return ("joint", "body", "frame")
    return tuple(kind.replace(" module", "") for kind in kinds_with(words[0]))


def moved_expressions(expressions: Mapping[str, str], moves: PathMoves, where: str) -> dict[str, str]:
    """Path of a number -> the text that it follows from, after all went where they are.

    Raises:
        ModelError: as of `PathMoves.path`.
    """

    def named(node: Expression) -> Expression:
        if not isinstance(node, Name):
            return replaced(node, named)
        block = BLOCKS["." in node.text]
        return replace(node, text=moves.path(f"{block}.{node.text}", where).removeprefix(f"{block}."))

    out = {}
    for path, text in expressions.items():
        node = parse(text, path, OVER_NAMES)
        now = named(node)
        out[moves.path(path, where)] = text if now == node else written(now)
    return out


def with_moved_events(
    before: Model, after: Model, moves: PathMoves, where: str, numbers: PathMoves | None = None
) -> Model:
    """The model whose events name what they named before.

    Args:
        before: in which the events of `after` were written. where: of what, for errors.
        numbers: where those went that events set; as channels did where left out.

    Raises:
        ModelError: as of `PathMoves.path`.
    """
    if not after.events:
        return after
    known, now = (tuple(_both(model)) for model in (before, after))
    out = {}
    for name, words in after.events.items():
        event = event_of(name, words)
        place = f"{where}: event {name}"
        channels, of_numbers = (_Paths(known, now, one, place) for one in (moves, numbers or moves))
        of = with_paths(event.of, lambda text, paths=channels: paths.moved(text, _in_expressions))
        values = FrozenJson({of_numbers.moved(path, quote): value for path, value in event.values.items()})
        same = of == event.of and [*values] == [*event.values]
        out[name] = words if same else written_event(replace(event, of=of, values=values))
    return replace(after, events=FrozenJson(out))


def frames_in_events(model: Model) -> set[str]:
    """Full paths of frames, and of bodies in the place of their origins, of which events name channels."""
    return {path for _, kinds, path in _in_events(model) if "frame" in kinds}


def joints_in_events(model: Model) -> list[tuple[str, str]]:
    """Names of events, and the joints of whose coordinates they are."""
    return [(event, path) for event, kinds, path in _in_events(model) if kinds == ("joint",)]


def _in_events(model: Model) -> list[tuple[str, tuple[str, ...], str]]:
    """Event, what an object may be of which it names a channel, and the full path of that."""
    known, out = tuple(_both(model)), list[tuple[str, tuple[str, ...], str]]()
    for event, words in model.events.items():

        def note(text: str, event: str = event) -> str:
            call = arguments_of(text)
            for path in call[1] if call is not None else (text,):
                target, field = split(_resolved(known, path) or "")
                if target:
                    out.append((event, ("frame",) if call is not None else _kinds(field), target))
            return text

        with_paths(event_of(event, words).of, note)
    return out


def refuse_unknown(model: Model, event: Event) -> None:
    """Raises where an event names what a model does not have, or what is switched off."""

    def known(text: str) -> str:
        call = arguments_of(text)
        for path in call[1] if call is not None else (text,):
            if path not in CHANNELS or CHANNELS[path].of:
                full_path(model, path)
        return text

    with_paths(event.of, known)
    for path in event.values:
        model.resolve(path)


def full_path(model: Model, path: str) -> str:
    """The full path of a channel, as `measures.channels` finds it, or of a number.

    Raises:
        ModelError: no such object, or several.
    """
    head, _, name = path.rpartition(".")
    quantity = CHANNELS.get(INDEX.sub("", name))
    if head and quantity is not None and quantity.of in OF_QUANTITY:
        return f"{model.resolve(head)}.{name}"
    return model.resolve(path)


def _both(model: Model) -> Iterator[Model]:
    """The model, and the one in which nothing is switched off: events may name what is."""
    yield model
    yield replace(model, assemblies=everything_on(model.assemblies))


@dataclass(frozen=True)
class _Paths:
    """Paths as a text of one model writes them, in another model."""

    before: tuple[Model, ...]
    after: tuple[Model, ...]
    moves: PathMoves
    where: str

    def moved(self, text: str, quoted: Callable[[str], str]) -> str:
        """What stands in the place of a path; names that change are `quoted`, all else is as it is."""
        if text in CHANNELS and not CHANNELS[text].of:
            return text
        if (call := arguments_of(text)) is not None and call[0] in CHANNELS:
            return self._call(text, call, quoted)
        return self._one(text, quoted, lambda full: self.moves.path(full, self.where), _resolved)

    def _call(self, text: str, call: tuple[str, list[str], str], quoted: Callable[[str], str]) -> str:
        """Of a channel of several frames, each of which is a path."""
        head, _, inside = text.partition("(")
        for written_path in call[1]:
            now = self._one(written_path, quoted, self.moves.place, _resolved)
            inside = inside.replace(written_path, now, 1) if now != written_path else inside
        if call[2]:
            now = self._one(call[2], quoted, self._group, _group)
            before, sign, option = inside.rpartition("=")
            inside = before + sign + option.replace(call[2], now, 1)
        return f"{head}({inside}"

    def _group(self, full: str) -> str:
        return next((self.moves.moved[kind, full] for kind in GROUPS if (kind, full) in self.moves.moved), full)

    def _one(
        self,
        text: str,
        quoted: Callable[[str], str],
        move: Callable[[str], str],
        resolve: Callable[[tuple[Model, ...], str], str | None],
    ) -> str:
        full = resolve(self.before, text)
        if full is None:
            return text
        now, field = move(full), split(text)[1]
        head = text.removesuffix(field)
        old, new = (split(path)[0].split(":") for path in (full, now))
        if now.partition(".")[0] in BLOCKS:
            return now if now != full else text
        names = head.split(":")
        if len(old) == len(new):
            pairs = zip(names, old[-len(names) :], new[-len(names) :], strict=True)
            short = ":".join(name if was == name_now else quoted(parts(name_now)[-1]) for name, was, name_now in pairs)
            if resolve(self.after, short + field) == now:
                return short + field
        return ":".join(quoted(parts(name)[-1]) for name in new) + field


def _resolved(models: tuple[Model, ...], path: str) -> str | None:
    """The full path of what a path means, None where it means nothing, or several."""
    for model in models:
        try:
            return full_path(model, path)
        except ModelError:
            continue
    return None


def _group(models: tuple[Model, ...], path: str) -> str | None:
    """The full path of a body or an assembly."""
    every = [full for full, _ in models[-1].bodies()]
    every += [assembly for assembly, _, _ in walk(models[-1].assemblies)]
    return path if path in every else next((one for one in every if one.endswith(f":{path}")), None)


def _in_expressions(name: str) -> str:
    """A name as expressions write it."""
    return name if PLAIN.fullmatch(name) else f"`{name}`"
