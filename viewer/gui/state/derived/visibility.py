"""What is hidden or translucent, by selection and by display class. No GL, no GUI library."""

from __future__ import annotations

import operator
from itertools import chain

from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.motion.mechanism import Mechanism
from shiftjax.viewer.scene.scene import Scene, ScenePart
from shiftjax.viewer.scene.spring_meshes import drawn_parts

CLASS = {"body": "link"}  # kind of parts -> display class, where the names differ


def hidden_paths(state: WindowState) -> frozenset[str]:
    """Paths, and kinds as `kind:NAME`, that are hidden."""
    return frozenset(state.selection.hidden | paths_drawn(state, "hidden"))


def hidden_items(state: WindowState) -> set[str]:
    """Paths that are hidden, with all joints of hidden classes, also those without parts."""
    classes = {path: state.mechanism.class_of(path) for path in state.mechanism.joints}
    return state.selection.hidden | {path for path in classes if state.display.drawn(classes[path]) == "hidden"}


def class_of(state: WindowState, part: ScenePart) -> str:
    """The display class of a part of the scene."""
    return _class_of(state.mechanism, part)


def _class_of(mechanism: Mechanism, part: ScenePart) -> str:
    return mechanism.class_of(part.path) if part.kind == "joint" else CLASS.get(part.kind, part.kind)


class NamesOfClasses:
    """Of the display classes the names by which their parts are hidden, kept while scenes and mechanism stay."""

    def __init__(self) -> None:
        self._scenes: tuple[Scene, ...] = ()
        self._mechanism: Mechanism | None = None
        self._names: dict[str, set[str]] = {}

    def of(self, scenes: tuple[Scene, ...], mechanism: Mechanism) -> dict[str, set[str]]:
        """Class -> paths of joints, and other kinds as `kind:NAME`."""
        known = len(scenes) == len(self._scenes) and all(map(operator.is_, scenes, self._scenes))
        if not known or mechanism is not self._mechanism:
            self._scenes, self._mechanism, self._names = scenes, mechanism, {}
            for part in chain.from_iterable(map(drawn_parts, scenes)):
                name = part.path if part.kind == "joint" else f"kind:{part.kind}"
                self._names.setdefault(_class_of(mechanism, part), set()).add(name)
        return self._names


def paths_drawn(state: WindowState, drawn: str) -> set[str]:
    """Paths of joints, and other kinds as `kind:NAME`, whose class is drawn in this way."""
    scenes = (state.scene,) if state.beside is None else (state.scene, state.beside.scene)
    names = state.pane_data(NamesOfClasses).of(scenes, state.mechanism)
    return set[str]().union(*(some for name, some in names.items() if state.display.drawn(name) == drawn))
