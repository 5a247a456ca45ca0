"""Where every number of a model stands in one vector, in the order of the plan, and what it means.

The order follows from names, never from the file's lists, so that equal mechanisms have equal plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from shiftjax.lane import FrameNumbers, Places
from shiftjax.mechanism.fields import INERTIA
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.numbers import Steps, numbers_of, numeric_fields, role_of, text_of, value_of
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, ORIGIN, Body, Frame, FrameRef, Joint, Placement
from shiftjax.topology.plan import BodyNumbers, NumberPlace


class Numbering:
    """The vectors of numbers and of constant matrices, while they grow."""

    def __init__(self, model: Model) -> None:
        self.numbers: list[NumberPlace] = []
        self.matrices: list[str] = []
        self.frames: dict[tuple[str, str], FrameNumbers] = {}  # body, plain name -> its numbers
        self.of(model, "model_parameters")

    def of(self, item: Any, path: str) -> dict[str, Any]:
        """The places of all numbers of a record, by field, in the field's shape."""
        found: dict[str, list[tuple[Steps, int]]] = {}
        for field, way, _ in numbers_of(item):
            inside = way[len(field.name.split(".")) :]
            found.setdefault(field.name, []).append((inside, len(self.numbers)))
            self.numbers.append(NumberPlace(path + text_of(way), role_of(field, way, item)))
        given = [field.name for field in numeric_fields(item) if value_of(item, field.name) is not None]
        return {name: _nested(found.get(name, ())) for name in given}

    def body(self, body: Body, path: str) -> BodyNumbers:
        """A body with its frames."""
        own = self.of(body, path)
        self.add_frames(body.frames, path)
        return BodyNumbers(own["mass"], tuple(own[f"inertia.{entry}"] for entry in INERTIA), own["center_of_mass"])

    def add_frames(self, frames: Sequence[Frame], body: str = FIXED) -> None:
        """The frames of a body or of ground."""
        for frame in sorted(frames, key=lambda frame: frame.name):
            path = child(body, frame.name)
            own = self.of(frame, path)
            self.frames[body, frame.name] = FrameNumbers(own["T"], own["rotation"], self._matrix(f"{path}.R"))

    def frame(self, ref: FrameRef) -> FrameNumbers | None:
        """The numbers of a frame, None for a body's origin."""
        return None if ref.frame == ORIGIN else self.frames[ref.body, ref.frame]

    def joint(self, joint: Joint, path: str) -> tuple[Mapping[str, Any], int]:
        """The places of a joint's numbers by field, and that of the matrix of its displacement, -1 without one."""
        turned = isinstance(joint.initial_displacement, Placement)
        return self.of(joint, path), self._matrix(f"{path}.initial_displacement.R") if turned else -1

    def _matrix(self, path: str) -> int:
        self.matrices.append(path)
        return len(self.matrices) - 1


def _nested(places: Sequence[tuple[Steps, int]]) -> Places:
    """Places in the shape of their ways: (("T", 0), 5), (("T", 1), 6) ... -> ((5, 6, ...), ...)."""
    if len(places) == 1 and not places[0][0]:
        return places[0][1]
    groups = groupby(places, key=lambda place: place[0][0])
    return tuple(_nested([(way[1:], index) for way, index in group]) for _, group in groups)
