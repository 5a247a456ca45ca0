"""What a user of Python adds to the window: panels, keys, shapes, lines. No GL, no GUI library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, one_of
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene import added_shapes
from shiftjax.viewer.scene.scene import Colour, Mesh, Strokes


def add_panel(state: WindowState, name: str, draw: Callable[[WindowState], None]) -> None:
    """A window inside the window: `draw(state)` is called in every frame and calls imgui.

    Raises:
        ModelError: there is a panel of that name.
    """
    if name in state.panels.user_panels:
        raise ModelError(f"panel {name}", "a second one", "one of each name", "Choose another name.")
    state.panels.user_panels[name] = draw


def add_key(state: WindowState, binding: str, words: str, call: Callable[[WindowState], None]) -> None:
    """A user's key or mouse gesture, in both maps: `call(state)`; ModelError where it is taken."""
    state.table.add(binding, words, call)


def add_shape(state: WindowState, body: str, mesh: Mesh, transform: np.ndarray,
              colour: Colour = added_shapes.COLOUR) -> str:  # fmt: skip
    """Adds a mesh on a body or on ground ("fixed"); returns the path of the new shape.

    Args:
        mesh: of `viewer.scene.shapes`, or by `added_shapes.mesh` of triangles, quads, lines or points.
        transform: (4, 4) mesh coordinates to those of the body.

    Raises:
        ModelError: no such body, or an invalid transform.
    """
    one_of("body", body, state.node)
    path = free_path(state, body)
    state.scene = added_shapes.with_mesh(state.scene, state.node[body], path, mesh, transform, colour)
    return path


def free_path(state: WindowState, body: str) -> str:
    """An unused path for a new shape on a body."""
    return added_shapes.free_path(body, (*state.mechanism.frames, *(part.path for part in state.scene.parts)))


def add_overlay(state: WindowState, call: Callable[[WindowState], Strokes]) -> None:
    """User lines in the view: `call(state)` returns them in every frame."""
    state.overlays.append(call)


def user_call(state: WindowState, what: str, call: Callable[[WindowState], Any]) -> tuple[bool, Any]:
    """Whether a user's function succeeded, and its result; exceptions become messages."""
    try:
        return True, call(state)
    except Exception as error:  # errors of user code must not close the window
        state.say(f"{what}: {type(error).__name__}: {error}")
        return False, None
