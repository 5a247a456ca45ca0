"""Where new parts of a mechanism are put, on frames or points of a grid in a plane, and what they are called. No GL, no
GUI library."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from shiftjax.mechanism.model import unused
from shiftjax.mechanism.records import FIXED, ORIGIN, FrameRef, walk
from shiftjax.viewer.gui.state.drawn_bar import BarEnd, DrawnBar
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.values import frame_in_world

NEAR = 14.0  # pixels within which an end is put on a frame
GRID = 8.0  # pixels at least between the points that other ends are put on
DIGITS = 12  # after the point [m]: rounding of poses is no wish of anybody's
STEPS = (1.0, 2.0, 5.0, 10.0)  # of the grid, by powers of ten


def begin(state: WindowState) -> DrawnBar:
    """A bar that begins under the cursor, in the plane of the world's axes that is seen most."""
    normal = normal_of(state)
    start = _end_at(state, normal, np.zeros(3), None)
    return DrawnBar(start, start, normal)


def under_cursor(state: WindowState) -> np.ndarray:
    """(3,) where an end would be put that began under the cursor [m]."""
    return _end_at(state, normal_of(state), np.zeros(3), None).point


def normal_of(state: WindowState) -> np.ndarray:
    """(3,) of the plane that is drawn in: the axis of the world along which the picture is seen most."""
    return np.eye(3)[int(np.argmax(np.abs(state.current_camera().axes()[2])))]


def move(state: WindowState, bar: DrawnBar) -> None:
    """Its other end is under the cursor."""
    bar.end = _end_at(state, bar.normal, bar.start.point, bar.start.frame)


def nearest_frame(state: WindowState, *, but: FrameRef | None = None, ground: bool = True) -> FrameRef | None:
    """The frame whose origin is nearest to the cursor, None where none is near.

    Args:
        but: a frame of whose body it is not. ground: whether it may be one of ground, but the origin, which is where
            everything begins.
    """
    camera, size = state.current_camera(), state.selection.view_size
    nearest, nearest_ref = NEAR, None
    for ref in frames(state):
        if ref == FrameRef(FIXED) or (ref.body == FIXED and not ground) or (but is not None and ref.body == but.body):
            continue
        place = placed(state, ref)[:3, 3]
        if not camera.orthographic and (place - camera.eye) @ camera.axes()[2] >= 0.0:
            continue  # behind the eye
        distance = math.dist(camera.pixel(placed(state, ref)[:3, 3], size), state.selection.pixel)
        if distance < nearest:
            nearest, nearest_ref = distance, ref
    return nearest_ref


def frames(state: WindowState) -> list[FrameRef]:
    """All frames of ground and of the bodies."""

    def made() -> list[FrameRef]:
        model = state.mechanism.model
        bodies = [(FIXED, model.frames), *((path, body.frames) for path, body in model.bodies())]
        return [FrameRef(path, name) for path, several in bodies for name in (ORIGIN, *(one.name for one in several))]

    return state.cached_for_member("frames of bodies", made)


def placed(state: WindowState, ref: FrameRef) -> np.ndarray:
    """(4, 4) a frame in the world."""
    return frame_in_world(state.mechanism, ref, state.body_poses())


def free_name(state: WindowState, stem: str, assembly: str, taken: Iterable[str] = ()) -> str:
    """A name that no body or joint of an assembly has, switched off or not: stem_1, or the next one."""
    assemblies = walk(state.mechanism.model.assemblies)
    names = {one.name for path, inner, _ in assemblies if path == assembly for one in (*inner.bodies, *inner.joints)}
    names |= set(taken)
    return next(name for k in range(1, len(names) + 2) if (name := f"{stem}_{k}") not in names)


def free_parameter(state: WindowState, stem: str) -> str:
    """A name that no parameter has, which expressions can use: the stem, or with a number after it."""
    plain = re.sub(r"[^A-Za-z0-9_]|^(?=\d)", "_", stem)
    return unused(plain, {one.name for one in state.mechanism.model.parameters})


def first_assembly(state: WindowState) -> str:
    """The path of the assembly that new parts go to: the first one that is on."""
    return next((path for path, _, on in walk(state.mechanism.model.assemblies) if on and ":" not in path), "mechanism")


def axis_words(axis: np.ndarray) -> Any:
    """An axis (3,) as a letter, where it is one of the frame's."""
    return next(("xyz"[k] for k in range(3) if (axis == np.eye(3)[k]).all()), axis.tolist())


def _end_at(state: WindowState, normal: np.ndarray, through: np.ndarray, but: FrameRef | None) -> BarEnd:
    """What an end under the cursor is on: a frame near there, or a point of a grid in the plane through a point."""
    ref = nearest_frame(state, but=but)
    if ref is not None:
        return BarEnd(np.round(placed(state, ref)[:3, 3], DIGITS) + 0.0, ref)
    camera, size = state.current_camera(), state.selection.view_size
    origin, way = camera.ray(*state.selection.pixel, size)
    point = origin + way * ((through - origin) @ normal) / (way @ normal)
    beside = point + 1e-3 * camera.distance * camera.axes()[0]
    metres = 1e-3 * camera.distance / max(math.dist(camera.pixel(point, size), camera.pixel(beside, size)), 1e-9)
    power = 10.0 ** math.floor(math.log10(GRID * metres))
    step = next(power * k for k in STEPS if power * k >= GRID * metres * (1.0 - 1e-9))
    on_grid = np.round(np.round(point / step) * step, DIGITS)
    return BarEnd(np.where(normal != 0.0, through, on_grid) + 0.0)
