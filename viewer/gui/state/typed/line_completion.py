"""Completion of a line of steps: their names, names of their arguments, and paths of a model within quotes.

Steps and arguments are those of the lines that say what a workbench does, `help()`; paths are those of its model. No
GUI library.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.named_objects import NAMEABLE, named_objects
from shiftjax.mechanism.paths import matching
from shiftjax.mechanism.sublinkages import DISPOSITIONS
from shiftjax.record import record
from shiftjax.viewer.gui.state.typed.line_context import LineContext, context_of

EVERY = tuple(what for what in NAMEABLE if what != "assembly")
OFFERED: Mapping[str, tuple[str, ...]] = {  # an argument, or that of one step -> of what paths are offered in it;
    # arguments that are called as an object is, as `body`, need no line
    "coordinate": ("coordinate",), "path": EVERY, "paths": EVERY, "of": ("body", "frame", "coordinate"),
    "relative_to": ("body", "frame"), "parent": ("body",), "child": ("body",), "type": ("type",),
    "values": ("number",), "stand.values": ("coordinate",),
    "names": ("goal",), "rank.name": ("goal",), "assembly": ("assembly",), "rename.path": (*EVERY, "assembly"),
    "lock.paths": ("body", "joint", "coordinate"), "unlock.paths": ("body", "joint", "coordinate"),
    "make_virtual.paths": ("body", "joint"), "make_real.paths": ("body", "joint"), "sublinkage.joints": ("joint",),
    "sublinkage.name": ("part",), "within": ("part",), "disposition": ("disposition",),
    "abstract.base": ("body",), "abstract.end": ("body",), "abstract.joints": ("type",),
}  # fmt: skip
FRAME_NAMES = ("frames",)  # arguments that take names of frames of the body that is the first one
PAIRS = ("parent", "child", "base", "end")  # a body alone, or a body and a frame of it in brackets


@record
class StepWords:
    """How a step is called.

    Attributes:
        signature: as Python writes it. says: the first line of what it does.
        positional: its arguments in their order; repeated: that of which there may be many, "" for none; named: all
            that may be written with their names.
    """

    signature: str
    says: str
    positional: tuple[str, ...]
    repeated: str
    named: tuple[str, ...]


@record
class Completed:
    """A line after Tab.

    Attributes:
        text: of the line. cursor: in it [letters]. choices: all that fit, of which the common part is written.
    """

    text: str
    cursor: int
    choices: tuple[str, ...]


def steps_of(lines: Iterable[str]) -> dict[str, StepWords]:
    """Name -> step, of lines `name(arguments): what it does`; other lines say no step."""
    steps: dict[str, StepWords] = {}
    for line in lines:
        call, _, says = line.partition("): ")
        try:
            (function,) = ast.parse(f"def {call}): pass").body
        except (SyntaxError, ValueError):
            continue
        assert isinstance(function, ast.FunctionDef)
        given = function.args
        for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if one is not None and isinstance(one.annotation, ast.Constant):
                one.annotation = ast.parse(str(one.annotation.value), mode="eval").body  # it was quoted
        positional = tuple(one.arg for one in (*given.posonlyargs, *given.args))
        named = tuple(one.arg for one in (*given.args, *given.kwonlyargs))
        repeated = given.vararg.arg if given.vararg else ""
        steps[function.name] = StepWords(
            f"{function.name}({ast.unparse(given)})", says, positional, repeated, named
        )  # fmt: skip
    return steps


def paths_of(model: Model, coordinates: Iterable[str], goals: Iterable[str]) -> dict[str, list[str]]:
    """What a path can be of -> all paths of it: objects as of `named_objects`, "number", "coordinate", "goal"; names of
    kinds of joints as "type", dispositions of sublinkages as "disposition", names of those as "part"."""
    paths: dict[str, list[str]] = {what: [] for what in NAMEABLE}
    for what, path in named_objects(model):
        paths[what].append(path)
    return {
        **paths, "number": [*model.numbers()], "coordinate": [*coordinates], "goal": [*goals], "type": [*KINDS],
        "disposition": [*DISPOSITIONS], "part": [one.name for one in model.sublinkages],
    }  # fmt: skip


def step_at(text: str, cursor: int, steps: Mapping[str, StepWords]) -> StepWords | None:
    """The step whose call the cursor is in, or whose name stands before it."""
    context = context_of(text[:cursor])
    return steps.get(context.step or context.fragment)


def completed(
    text: str, cursor: int, steps: Mapping[str, StepWords], words: Sequence[str], paths: Mapping[str, Sequence[str]]
) -> Completed:
    """The line with the common part of all that fits at the cursor.

    Args:
        cursor: [letters]. words: that may be called beside steps. paths: as of `paths_of`.
    """
    before, after = text[:cursor], text[cursor:]
    context = context_of(before)
    if context.quote:
        choices = _fitting(context, steps.get(context.step), paths)
        end = "" if after.startswith(context.quote) else context.quote
    elif context.step:
        step, end = steps.get(context.step), "="
        named = step.named if step is not None and not context.depth and not context.word else ()
        choices = [name for name in named if name.startswith(context.fragment) and context.fragment]
    else:
        head = before[: len(before) - len(context.fragment)].rstrip()
        begins = not head or head.endswith(";")
        choices = [name for name in (*steps, *words) if begins and name.startswith(context.fragment)]
        end = "" if after.startswith("(") else "("
    if not choices:
        return Completed(text, cursor, ())
    part = f"{choices[0]}{end}" if len(choices) == 1 else _common(choices)
    if len(choices) > 1 and not part.startswith(context.fragment):
        part = context.fragment  # paths in full, of which no common beginning is what was written
    before = f"{before[: len(before) - len(context.fragment)]}{part}"
    return Completed(before + after, len(before), tuple(choices))


def _common(texts: Sequence[str]) -> str:
    """The longest beginning of all texts."""
    least, most = min(texts), max(texts)
    ends = [k for k, (one, other) in enumerate(zip(least, most, strict=False)) if one != other]
    return least[: ends[0]] if ends else least


def _fitting(context: LineContext, step: StepWords | None, paths: Mapping[str, Sequence[str]]) -> list[str]:
    """What fits in the quotes: the path itself where its beginning is written, else its shortest end that says which
    it is."""
    ends_of = {path: _ends(path, shortest) for path, shortest in _offered(context, step, paths)}
    often = Counter(end for ends in ends_of.values() for end in ends)
    fitting: dict[str, None] = {}
    for path, ends in ends_of.items():
        if path.startswith(context.fragment):
            fitting[path] = None
        elif fits := [end for end in ends if end.startswith(context.fragment)]:
            alone = often[fits[0]] == 1 and fits[0] not in ends_of
            fitting[fits[0] if alone else path] = None
    return [_escaped(choice, context.quote) for choice in fitting]


def _ends(path: str, shortest: int) -> list[str]:
    """The ends of a path of at least so many names, the shortest first, without the path itself."""
    names = path.split(":")
    return [":".join(names[k:]) for k in range(len(names) - shortest, 0, -1)]


def _offered(context: LineContext, step: StepWords | None, paths: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Paths that an argument takes, and how many names of each say which it is, at least."""
    if step is None or context.is_value:
        return []
    positional = step.positional
    argument = context.word or (positional[context.place] if context.place < len(positional) else step.repeated)
    if argument in FRAME_NAMES or (argument in PAIRS and context.depth and context.texts):
        bodies = context.given if argument in FRAME_NAMES else context.texts[0]
        of_body = matching(paths["body"], bodies)
        frames = (path.rpartition(":") for path in paths["frame"])
        return [(name, 1) for body, _, name in frames if body in of_body]
    kinds = OFFERED.get(f"{context.step}.{argument}") or OFFERED.get(argument)
    kinds = kinds or ((argument,) if argument in NAMEABLE else ())
    every = dict.fromkeys((path, 2 if kind == "frame" else 1) for kind in kinds for path in paths[kind])
    return [*every]


def _escaped(text: str, quote: str) -> str:
    """As it stands within the quotes."""
    return text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
