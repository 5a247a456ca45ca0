"""The scenes of a study's members: each has its own lengths, all have the sizes and the up of the first.

A member's scene is that of the model with the member's numbers. It is made when it is first asked for, and the latest
stay; where a study varies nothing that is seen, every member has the very same scene.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.viewer import assimp
from shiftjax.viewer.building import bodies_of, scene_of
from shiftjax.viewer.contacts import Style, Survey
from shiftjax.viewer.scene import Part, Scene
from shiftjax.viewer.watched import Watched

SCENES = 8  # kept whole
CROWD = 256  # members whose bodies are kept, four times as many as are drawn see-through at once
SHAPELESS = "model_parameters"  # gravity has no shape; up must not turn from member to member


class Stage:
    """What the members of a study look like.

    Attributes:
        first: scene of the first member that can be drawn, its bodies where that member starts.
    """

    def __init__(self, study: Watched, first: Scene | None = None) -> None:
        """first: where it has been made before.

        Raises:
            ModelError: no member can be drawn.
        """
        self.study = study
        self._load = functools.cache(assimp.load)
        self._cut = frozenset(joint["joint"] for joint in study.report.get("tree", ()) if joint["chord"])
        self._varied = any(not path.startswith(SHAPELESS) for path in study.design)
        self.scene = functools.lru_cache(SCENES)(self._scene)  # member -> its scene
        self.bodies = functools.lru_cache(CROWD)(self._bodies)  # member -> the parts of its bodies
        self.first = first or self._made(self._number)
        if self._varied:
            self._style  # noqa: B018 - of the numbers as they are now; those of a run that goes on may change

    @functools.cached_property
    def _number(self) -> int:
        """The first member that can be drawn."""
        drawable = self.study.drawable(self.study.kept)
        if not len(drawable.ids):
            todo = "Run again with `--keep`, as `shiftjax sweep ... --keep 64`."
            found = drawable.reason or "no trajectories"
            raise ModelError(str(self.study.where), found, "a study that kept some", todo)
        return int(drawable.ids[0])

    @functools.cached_property
    def _style(self) -> Style:
        """Widths of bars are those of the first member, lest all bodies change where one is longer."""
        return Survey.of(self.model(self._number), self._start(self._number)).style

    def model(self, member: int) -> Model:
        """The study's model with the numbers of a member, but for gravity."""
        return dataclasses.replace(self.study.model_of(member), gravity=self.study.model.gravity)

    def _start(self, member: int) -> dict[str, np.ndarray]:
        """Path -> (7,) where a member's bodies stand at the first instant."""
        poses: np.ndarray = self.study.poses(member, float(self.study.time[0]))
        return dict(zip(self.study.nodes, poses, strict=True))

    def _made(self, member: int, style: Style | None = None) -> Scene:
        return scene_of(self.model(member), self._start(member), self._load, self._cut, style=style)

    def _scene(self, member: int) -> Scene:
        """A member's scene; `first` itself where it shows the same."""
        return self.first if not self._varied or member == self._number else self.anew(member)

    def anew(self, member: int) -> Scene:
        """A member's scene with its numbers as they are now: those of a run that goes on may change."""
        own = self._made(member, self._style)
        first = self.first
        if _same(own.parts, first.parts) and (own.lights, own.springs) == (first.lights, first.springs):
            return first
        return dataclasses.replace(own, size=first.size, centre=first.centre)

    def _bodies(self, member: int) -> tuple[Part, ...]:
        """The parts of a member's bodies; those of `first` where they are the same."""
        first = self._first_bodies
        if not self._varied or member == self._number:
            return first
        own = bodies_of(self.model(member), self._start(member), self._load, self._style)
        return first if _same(own, first) else own

    @functools.cached_property
    def _first_bodies(self) -> tuple[Part, ...]:
        return tuple(part for part in self.first.parts if part.kind == "body")


@record
class Design:
    """A member of a study, ready to be drawn."""

    stage: Stage
    member: int

    @property
    def study(self) -> Watched:
        return self.stage.study

    @property
    def scene(self) -> Scene:
        return self.stage.scene(self.member)


def _same(some: tuple[Part, ...], others: tuple[Part, ...]) -> bool:
    """Whether parts show the same to the last bit."""
    return len(some) == len(others) and all(
        a.mesh.key == b.mesh.key and a.path == b.path and np.array_equal(a.place, b.place)
        for a, b in zip(some, others, strict=True)
    )
