"""Values of joints and their mobility at the instant that is shown, worked out once an instant."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.state import values
from shiftjax.viewer.gui.state.state import WindowState


def joint_value(state: WindowState, path: str) -> np.ndarray:
    """The value of a joint now: (1,) [rad or m], or more for a joint of several coordinates."""
    return state.cached(f"value:{path}", lambda: values.value(state.mechanism, path, state.body_poses()))


def mobility(state: WindowState) -> dict[str, float]:
    """Joint path -> its mobility now, see `values.mobility`."""
    return state.cached("mobility", lambda: values.mobility(state.mechanism, state.body_poses()))
