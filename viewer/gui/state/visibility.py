"""What is hidden or translucent, by selection and by display class. No GL, no GUI library."""

from __future__ import annotations

from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import ScenePart
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
    return state.mechanism.class_of(part.path) if part.kind == "joint" else CLASS.get(part.kind, part.kind)


def paths_drawn(state: WindowState, drawn: str) -> set[str]:
    """Paths of joints, and other kinds as `kind:NAME`, whose class is drawn in this way."""
    parts = [*drawn_parts(state.scene), *(drawn_parts(state.beside.scene) if state.beside is not None else ())]
    parts = [part for part in parts if state.display.drawn(class_of(state, part)) == drawn]
    return {part.path if part.kind == "joint" else f"kind:{part.kind}" for part in parts}
