"""Which bodies are alike, and so have one colour: copies by their names, such as `arm_1`, `arm_2` or left and right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shiftjax.mechanism.paths import parts
from shiftjax.viewer.scene.attachments import Attachment

SIDES = frozenset(
    "left right front rear back top bottom north south east west inner outer l r fl fr rl rr first second third fourth "
    "fifth sixth".split()
)
SHORT = 2  # letters of a stem up to which the number of joints must agree, too


def stem(name: str) -> str:
    """A name without numbers and words of place: `lower_front_left_1` is `lower`."""
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word]
    return " ".join(word for word in words if word not in SIDES)


def likes(attachments: Mapping[str, Sequence[Attachment]], order: Sequence[str]) -> dict[str, int]:
    """Body path -> number of its group, counted in order of first appearance.

    Bodies of one stem are alike unless some of them are joined to each other, as the links of a chain are.
    """
    groups: dict[tuple[str, int], list[str]] = {}
    for path in order:
        word = stem(parts(path)[-1])
        groups.setdefault((word, 0 if len(word) > SHORT else len(attachments[path])), []).append(path)
    kind: dict[str, str] = {}  # path -> that of the first of its group
    for (word, _), paths in groups.items():
        inside = set(paths)
        apart = not word or any(c.other in inside for path in paths for c in attachments[path])
        kind |= {path: path if apart else paths[0] for path in paths}
    numbers = {first: k for k, first in enumerate(dict.fromkeys(kind[path] for path in order))}
    return {path: numbers[kind[path]] for path in order}
