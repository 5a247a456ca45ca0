"""Parameters, points and expressions of an included file in the file around it.

As its frames of ground and its lights they get the name of the entry before their own: `arm_L`. Points stand in the
axes of the frame that the file is mounted on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from shiftjax.expressions.expression import Expression, Name, replaced, written
from shiftjax.expressions.grammar import parse
from shiftjax.mechanism.model import Model, unused
from shiftjax.mechanism.parameters import OVER_NAMES, Parameter, Point
from shiftjax.mechanism.paths import child, split
from shiftjax.mechanism.records import FIXED, Frame

PLACE = re.compile(r"\.T\[(\d)\]")


@dataclass
class IncludedNumbers:
    """What included files add to a document: expressions by paths in it."""

    parameters: list[Parameter] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    expressions: dict[str, str] = field(default_factory=dict)

    def add(
        self, part: Model, entry: str, prefix: str, taken: set[str], stated: Mapping[str, str],
        rotation: Sequence[Sequence[float]], frames: Mapping[str, tuple[str, Frame, Frame]],
    ) -> dict[str, str]:  # fmt: skip
        """Takes over those of a file.

        Args:
            part: the file. entry: its name. prefix: path of what is below it. taken: names in use, its own after it.
            stated: name of one of its parameters -> an expression in the names of the document.
            rotation: of the frame that it is mounted on. frames: of its ground, name -> body that has it now, the
                frame there, and as it was.

        Returns:
            name of a parameter or point there -> its name in the document.
        """
        names: dict[str, str] = {}
        before_name = re.sub(r"[^A-Za-z0-9_]|^(?=\d)", "_", entry)  # a name that expressions can use
        for item in (*part.parameters, *part.points):
            names[item.name] = unused(f"{before_name}_{item.name}", taken)
            taken.add(names[item.name])
        self.parameters += [replace(item, name=names[item.name]) for item in part.parameters]
        self.points += [replace(item, name=names[item.name]) for item in part.points]
        texts = {
            path: written(_renamed(parse(text, path, OVER_NAMES), names)) for path, text in part.expressions.items()
        }
        for path, text in texts.items():
            target, number = split(path)
            if target in ("parameters", "points"):
                name, _, axis = number[1:].partition(".")
                self.expressions[f"{target}.{names[name]}{axis and f'.{axis}'}"] = text
            elif not target.startswith(f"{FIXED}:") and target != "model_parameters":
                self.expressions[f"{prefix}:{path}"] = text
        self.expressions |= {f"parameters.{names[name]}": text for name, text in stated.items()}
        for name, (body, now, before) in frames.items():
            self._add_frame(child(body, now.name), child(FIXED, name), texts, rotation, (now, before))
        return names

    def _add_frame(
        self, path: str, old: str, texts: Mapping[str, str], rotation: Sequence[Sequence[float]],
        frames: tuple[Frame, Frame],
    ) -> None:  # fmt: skip
        """Expressions of a frame of ground, turned and shifted by the frame that it is mounted on."""
        now, before = frames
        self.expressions |= {
            f"{path}{number}": text
            for full, text in texts.items()
            for target, number in [split(full)]
            if target == old and not PLACE.fullmatch(number)
        }
        moved = [j for j in range(3) if f"{old}.T[{j}]" in texts]
        for k in range(3) if moved else ():
            if now.T == before.T and rotation[k] == [float(j == k) for j in range(3)]:
                if k in moved:
                    self.expressions[f"{path}.T[{k}]"] = texts[f"{old}.T[{k}]"]
                continue
            terms = [
                f" + {rotation[k][j]!r} * ({texts[f'{old}.T[{j}]']} - {before.T[j]!r})" for j in moved if rotation[k][j]
            ]
            if terms:
                text = f"{now.T[k]!r}{''.join(terms)}"
                self.expressions[f"{path}.T[{k}]"] = written(parse(text, path, OVER_NAMES))


def _renamed(node: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(node, Name) and node != Name("pi"):
        head, dot, axis = node.text.partition(".")
        return replace(node, text=f"{names.get(head, head)}{dot}{axis}")
    return replaced(node, lambda part: _renamed(part, names))
