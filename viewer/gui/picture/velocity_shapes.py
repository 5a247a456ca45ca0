"""Screws, instant centres and ellipsoids of velocity of the picked body as lines. NumPy only.

The axis of a rotation in space has an arc about it, in its sense; a screw a helix of its pitch, too; in the plane the
instant centre is a circle, with a line to the body's origin. Ellipsoids are drawn by their three principal ellipses:
velocities dark, forces light; a velocity as large as that of the mechanism's length by 1 rad/s is a fifth of its size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftjax.editing.velocities.ellipsoids import VelocityEllipsoid
from shiftjax.mechanism.records import FIXED
from shiftjax.viewer.gui.picture import picked_motion
from shiftjax.viewer.gui.picture.line_shapes import arc, arrow, chain, circle, ellipse, helix
from shiftjax.viewer.gui.picture.picked_motion import SeenMotion
from shiftjax.viewer.gui.state.colours import FORCE_ELLIPSE, SCREW, SCREW_BETWEEN, VELOCITY_ELLIPSE
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import Colour

HALF = 0.6  # of the axis that is drawn, in model sizes
CENTRE, COIL = 0.035, 0.06  # radius of an instant centre, of arcs and helices
TIP = 0.12  # of the arrow at the end of an axis
TURNS = 3.0  # of a helix, at most
WAY = 0.4  # of the arrow of a translation
FAR = 20.0  # model sizes: nothing is drawn farther away
SHARE = 0.2  # of the model's size for the velocity that is taken as one
LONGEST = 2.0  # semi-axis that is drawn, in model sizes
Lines = tuple[str, np.ndarray, Colour]  # path of a body, (m, 2, 3) [m], colour


def screws(state: WindowState) -> Iterator[Lines]:
    """Those of the picked body."""
    motions = picked_motion.watch(state)
    picked = picked_motion.of_pick(state, motions) if motions is not None else None
    if motions is None or picked is None:
        return
    for seen in picked.seen:
        ends = of_screw(seen, motions.origins[motions.bodies[seen.body]], state.scene.size, flat=picked.planar)
        yield seen.body, ends, SCREW if seen.other == FIXED else SCREW_BETWEEN


def of_screw(seen: SeenMotion, origin: np.ndarray, size: float, *, flat: bool) -> np.ndarray:
    """(m, 2, 3) of one.

    Args:
        origin: (3,) of the body [m]. size: of the model [m]. flat: whether all bodies move in one plane.
    """
    screw = seen.screw
    if screw.kind == "rest":
        return np.zeros((0, 2, 3))
    if screw.kind == "translation":
        return arrow(origin, WAY * size * screw.direction)
    away = float(np.linalg.norm(screw.point - origin))
    if flat:
        near = away <= FAR * size
        end = screw.point if near else origin + FAR * size / away * (screw.point - origin)
        spoke = chain(np.stack([origin, end]))
        if not near:
            return spoke
        hub = [circle(screw.point, screw.direction, CENTRE * size * part) for part in (1.0, 0.25)]
        return np.concatenate([spoke, *hub, arc(screw.point, screw.direction, 2.0 * CENTRE * size)])
    if away > FAR * size:
        return np.zeros((0, 2, 3))
    ends = [screw.point + side * HALF * size * screw.direction for side in (-1.0, 1.0)]
    tip = TIP * size * screw.direction
    axis = np.concatenate([chain(np.stack(ends)), arrow(ends[1] - tip, tip)])
    axis = np.concatenate([axis, arc(screw.point, screw.direction, COIL * size)])
    if screw.kind == "rotation":
        return axis
    lead = 2.0 * np.pi * screw.pitch
    turns = min(TURNS, 2.0 * HALF * size / abs(lead))
    return np.concatenate([axis, helix(screw.point, screw.direction, COIL * size, lead, turns)])


def ellipsoids(state: WindowState) -> Iterator[Lines]:
    """Of force, and over it, since both are along one line where there is one freedom, of velocity."""
    motions = picked_motion.watch(state)
    ellipsoid = picked_motion.ellipsoid_of_pick(state, motions) if motions is not None else None
    if motions is None or ellipsoid is None or not len(ellipsoid.sizes):
        return
    body, unit = picked_motion.bodies(state)[0], unit_of(ellipsoid, motions.length)
    size = state.scene.size
    for sizes, colour in (
        (ellipsoid.force_sizes * unit, FORCE_ELLIPSE),
        (ellipsoid.sizes / unit, VELOCITY_ELLIPSE),
    ):
        drawn = np.minimum(SHARE * sizes, LONGEST) * size
        yield body, of_axes(ellipsoid.point, ellipsoid.axes, drawn), colour


def legend(state: WindowState) -> list[tuple[Colour | None, str]]:
    """Colours and scale of what is drawn."""
    motions = picked_motion.watch(state)
    rows: list[tuple[Colour | None, str]] = []
    if motions is None:
        return rows
    if state.display.drawn(picked_motion.SCREW) != "hidden":
        body, other = picked_motion.bodies(state)
        rows += [(SCREW, "motion of the pick as ground sees it")] if body else []
        rows += [(SCREW_BETWEEN, f"as {other.partition(':')[2] or other} sees it")] if body and other else []
    one = picked_motion.ellipsoid_of_pick(state, motions)
    if one is not None and state.display.drawn(picked_motion.ELLIPSOID) != "hidden":
        unit, long = unit_of(one, motions.length), SHARE * state.scene.size
        rows.append((VELOCITY_ELLIPSE, f"velocities: {long:.3g} m are {unit:.3g} m/s"))
        rows.append((FORCE_ELLIPSE, f"forces: {long:.3g} m are {1.0 / unit:.3g} N"))
    return rows


def unit_of(ellipsoid: VelocityEllipsoid, length: float) -> float:
    """The velocity that is drawn a fifth of the model's size long [m/s]: of its length by 1 rad/s, of 1 m/s of inputs
    that slide."""
    return max([length if unit == "rad" else 1.0 for unit in ellipsoid.inputs.values()])


def of_axes(middle: np.ndarray, axes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """(m, 2, 3) an ellipsoid, an ellipse or a line by its semi-axes: unit vectors (3, r) and sizes (r,) [m]."""
    half = sizes * axes
    lines = [np.stack([middle - way, middle + way])[None] for way in half.T]
    pairs = [(i, j) for i in range(half.shape[1]) for j in range(i)]
    return np.concatenate([*lines, *(ellipse(middle, half[:, i], half[:, j]) for i, j in pairs)])
