"""The scenes of a study's members: each with its own lengths, all with the size and up direction of the first.

A member's scene is that of the model with the member's numbers. Scenes are built on first use and
the latest are cached; where a study varies nothing that is visible, all members share one scene.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer import assimp
from shiftjax.viewer.members.study_like import Design, ScenesLike, StudyLike
from shiftjax.viewer.scene.attachments import Style
from shiftjax.viewer.scene.building import bodies_of, scene_of, style_for
from shiftjax.viewer.scene.scene import Scene, ScenePart

SCENES = 24  # in the cache: a grid has 16
INSTANTS = 48  # of a run, from which layers and the lengths of rods follow
BODIES = 256  # members whose bodies are in the cache, four times the number of ghosts
SHAPELESS = "model_parameters"  # gravity has no shape, and the up direction must be that of all members


class MemberScenes:
    """Scenes of the members of a study, with a cache.

    Attributes:
        first: scene of the first member that can be drawn, at the start of that member.
    """

    def __init__(self, study: StudyLike, first: Scene | None = None, like: MemberScenes | None = None) -> None:
        """first: if it was built before. like: whose style and size these have, too.

        Raises:
            ModelError: no member can be drawn.
        """
        self.study, self._like = study, like
        self._load = functools.cache(assimp.load)
        self._cut = frozenset(joint["joint"] for joint in study.report.get("tree", ()) if joint["chord"])
        self._varied = any(not path.startswith(SHAPELESS) for path in study.design)
        self.scene = functools.lru_cache(SCENES)(self._scene)  # member -> its scene
        self.bodies = functools.lru_cache(BODIES)(self._bodies)  # member -> the parts of its bodies
        self.first: Scene = first or self._made(self.number, self._style)
        if like is not None:
            self.first = dataclasses.replace(self.first, size=like.first.size, centre=like.first.centre)
        if self._varied:
            self._style  # noqa: B018 - from the present numbers; those of a running simulation may change

    def of_another(self, study: StudyLike) -> MemberScenes:
        """Scenes of the members of another study."""
        return MemberScenes(study)

    def alike(self, study: StudyLike) -> MemberScenes:
        """Scenes of another study, with the widths of bars and the size of these."""
        return MemberScenes(study, like=self)

    @property
    def number(self) -> int:
        """The first member that can be drawn."""
        return self._number

    @functools.cached_property
    def _number(self) -> int:
        reasons: list[str] = []
        for members in (self.study.kept, self.study.simulated, np.arange(self.study.members)):
            drawable = self.study.drawable(members)
            if len(drawable.ids):
                return int(drawable.ids[0])
            reasons = [drawable.reason] * bool(drawable.reason) or reasons
        todo = "Run again with `--keep`, as `shiftjax sweep ... --keep 64`."
        raise ModelError(str(self.study.where), reasons[0] if reasons else "no members", "one that started", todo)

    @functools.cached_property
    def _style(self) -> Style:
        """Widths of bars, layers and travel, from the first member for all, so that one longer bar does not change
        every body."""
        if self._like is not None:
            return self._like._style
        return style_for(self.model(self.number), self._start(self.number), self._motion(self.number))

    def model(self, member: int) -> Model:
        """The study's model with the numbers of a member, but for gravity."""
        return dataclasses.replace(self.study.model_of(member), gravity=self.study.model.gravity)

    def starting(self, member: int, start: dict[str, np.ndarray]) -> Scene:
        """A member's scene from poses (7,) of its bodies where it starts; `first` itself where it shows the same."""
        if not self._varied or member == self.number:
            return self.first
        return self._like_first(self._made(member, self._style, start))

    def _start(self, member: int) -> dict[str, np.ndarray]:
        """Path -> (7,) poses of a member's bodies at the first instant."""
        poses: np.ndarray = self.study.poses(member, float(self.study.time[0]))
        return dict(zip(self.study.nodes, poses, strict=True))

    def _motion(self, member: int) -> np.ndarray:
        """(n, nodes, 7) poses of a member at instants of its run."""
        times = self.study.time[self.study.time <= self.study.end(member)]
        chosen = evenly_spaced(len(times), INSTANTS)
        return self.study.poses(member, times[chosen])

    def _made(self, member: int, style: Style, start: dict[str, np.ndarray] | None = None) -> Scene:
        start = self._start(member) if start is None else start
        return scene_of(self.model(member), start, self._load, self._cut, style=style)

    def _scene(self, member: int) -> Scene:
        """A member's scene; `first` itself where it shows the same."""
        return self.first if not self._varied or member == self.number else self.updated(member)

    def updated(self, member: int) -> Scene:
        """A member's scene built from the present numbers: those of a running simulation may change."""
        return self._like_first(self._made(member, self._style))

    def _like_first(self, rebuilt: Scene) -> Scene:
        """With the size of the first scene; that itself where both show the same."""
        first = self.first
        if _same(rebuilt.parts, first.parts) and (rebuilt.lights, rebuilt.springs) == (first.lights, first.springs):
            return first
        return dataclasses.replace(rebuilt, size=first.size, centre=first.centre)

    def _bodies(self, member: int) -> tuple[ScenePart, ...]:
        """The parts of a member's bodies; those of `first` where they are the same."""
        first = self._first_bodies
        if not self._varied or member == self.number:
            return first
        bodies = bodies_of(self.model(member), self._start(member), self._load, self._style)
        return first if _same(bodies, first) else bodies

    @functools.cached_property
    def _first_bodies(self) -> tuple[ScenePart, ...]:
        return tuple(part for part in self.first.parts if part.kind == "body")


def last_beside(scenes: ScenesLike) -> Design | None:
    """The last design of an optimisation, which is shown beside the first; None of another study or of one design."""
    study = scenes.study
    return Design(scenes, study.members - 1) if study.titles and study.members > 1 else None


def _same(some: tuple[ScenePart, ...], others: tuple[ScenePart, ...]) -> bool:
    """Whether parts are equal to the last bit."""
    return len(some) == len(others) and all(
        a.mesh.key == b.mesh.key
        and (a.path, a.colour) == (b.path, b.colour)
        and np.array_equal(a.transform, b.transform)
        for a, b in zip(some, others, strict=True)
    )
