"""Symbols drawn as lines over a mechanism: routes, mobility glyphs, forces and velocities. NumPy only.

A route is a curve from the middle of a joint's parent by way of the joint to the middle of its child. A glyph shows the
speeds of a joint, an arc for turning and a double arrow for sliding, with an opacity by mobility.
"""

from __future__ import annotations

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.records import FIXED
from shiftjax.poses import to_world
from shiftjax.record import record
from shiftjax.viewer.gui.picture import forces, picked_motion, velocity_shapes
from shiftjax.viewer.gui.picture.line_shapes import arc, arrow, chain, double_arrow
from shiftjax.viewer.gui.state import values
from shiftjax.viewer.gui.state.colours import FADED, ROUTE, SLIDES, TURNS, of_hue
from shiftjax.viewer.gui.state.derived import present, visibility
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.scene import Colour, Strokes

NEAR = 5.0  # pixels from a line within which it is picked
STEPS = 10  # straight pieces between two points of a route
GLYPH = 0.07  # radius of an arc and half length of a double arrow, in model sizes
FAINTEST = 0.25  # lowest opacity of a glyph
LOCKED = 1e-6  # mobility of a speed locked by loops, up to rounding
MARKED: Colour = of_hue(0.04)
VELOCITIES = (picked_motion.SCREW, picked_motion.ELLIPSOID)


@record
class Symbol:
    """Lines of one colour that belong to an item."""

    name: str  # its display class
    path: str
    ends: np.ndarray  # (m, 2, 3) in the world [m]
    colour: Colour


def symbols(state: WindowState, *, pickable: bool = False) -> list[Symbol]:
    """The symbols that are drawn now, or those that can be picked, of visible classes and items."""
    makers = {"route": routes, "glyph": glyphs, "force": forces_now, "screw": screws_now, "ellipsoid": ellipsoids_now}
    wanted = state.display.pickable if pickable else lambda name: state.display.drawn(name) != "hidden"
    made = [make(state) for name, make in makers.items() if wanted(name)]
    off = visibility.hidden_items(state) if made else set()
    return [symbol for of_kind in made for symbol in of_kind if symbol.path not in off]


def strokes(state: WindowState) -> Strokes | None:
    """The symbols as lines: faint for translucent classes, in the highlight colour for picked and selected items."""
    picked_motion.watch(state)  # no more, where nothing of it is drawn
    drawn = symbols(state)
    if not drawn:
        return None
    marked, hue = state.selection.marked, state.selection.hue
    highlight = MARKED if hue is None else of_hue(hue)
    rows = []
    for symbol in drawn:
        plain = symbol.path not in marked or symbol.name in VELOCITIES  # these are of what is picked
        r, g, b, a = symbol.colour if plain else highlight
        faint = FADED if state.display.drawn(symbol.name) == "translucent" else 1.0
        rows.append(np.tile([r, g, b, a * faint], (len(symbol.ends), 1)))
    return Strokes(np.concatenate([symbol.ends for symbol in drawn]), np.concatenate(rows))


def nearest(state: WindowState, x: float, y: float, size: tuple[int, int]) -> tuple[str, np.ndarray] | None:
    """Path and point (3,) of the symbol nearest to a pixel that can be picked, within NEAR pixels."""
    camera = state.current_camera()
    matrix = camera.projection(size[0] / size[1]) @ camera.view()
    best: tuple[float, str, np.ndarray] | None = None
    for symbol in symbols(state, pickable=True):
        clip = np.concatenate([symbol.ends, np.ones((len(symbol.ends), 2, 1))], axis=2) @ matrix.T
        ahead = (clip[..., 3] > 0).all(axis=1)
        clip, ends = clip[ahead], symbol.ends[ahead]
        flat = (clip[..., :2] / clip[..., 3:] * (1, -1) + 1) * np.array(size) / 2 - 0.5
        along = flat[:, 1] - flat[:, 0]
        length = np.maximum((along**2).sum(1), 1e-12)
        part = np.clip(((np.array([x, y]) - flat[:, 0]) * along).sum(1) / length, 0.0, 1.0)
        away = np.linalg.norm(flat[:, 0] + part[:, None] * along - (x, y), axis=1)
        if len(away) and (best is None or away.min() < best[0]):
            k = int(away.argmin())
            best = (float(away[k]), symbol.path, ends[k, 0] + part[k] * (ends[k, 1] - ends[k, 0]))
    return best[1:] if best is not None and best[0] <= NEAR else None


def routes(state: WindowState) -> list[Symbol]:
    """A curve for every joint except free ones."""
    mechanism, poses = state.mechanism, state.body_poses()
    middle = {path: to_world(poses[path], np.array(body.center_of_mass)) for path, body in mechanism.model.bodies()}
    middle[FIXED] = np.zeros(3)
    out = []
    for path, joint in mechanism.joints.items():
        if KINDS[joint.type].drawing == "free":
            continue
        here, there = (values.frame_in_world(mechanism, ref, poses)[:3, 3] for ref in (joint.parent, joint.child))
        points = [middle[joint.parent.body], here, there, middle[joint.child.body]]
        out.append(Symbol("route", path, chain(curve(np.array(points))), ROUTE))
    return out


def curve(points: np.ndarray) -> np.ndarray:
    """(m, 3) a smooth curve through points (k, 3), without repeated points.

    Cubic pieces with the slopes of Catmull and Rom, the parameter the square root of distance, which has neither loops
    nor wide bows (Yuksel and others, Parameterization and applications of Catmull-Rom curves, 2011).
    """
    apart = [k for k in range(len(points)) if k == 0 or np.linalg.norm(points[k] - points[k - 1]) > 1e-9]
    points = points[apart]
    if len(points) < 3:
        return points
    steps = np.sqrt(np.linalg.norm(np.diff(points, axis=0), axis=1))[:, None]
    slopes = np.gradient(points, np.cumsum([0.0, *steps[:, 0]]), axis=0)
    t = np.linspace(0.0, 1.0, STEPS + 1)[:-1, None]
    cubic = [2 * t**3 - 3 * t**2 + 1, t**3 - 2 * t**2 + t, 3 * t**2 - 2 * t**3, t**3 - t**2]
    pieces = [
        cubic[0] * points[k] + cubic[2] * points[k + 1] + steps[k] * (cubic[1] * slopes[k] + cubic[3] * slopes[k + 1])
        for k in range(len(points) - 1)
    ]
    return np.concatenate([*pieces, points[-1:]])


def glyphs(state: WindowState) -> list[Symbol]:
    """Arcs and double arrows of every joint that can move; none for one that its loops lock."""
    mechanism, poses, free = state.mechanism, state.body_poses(), present.mobility(state)
    size = GLYPH * state.scene.size
    out = []
    for path, joint in mechanism.joints.items():
        rows = values.screws(mechanism, path, poses)
        share = free[path] / max(len(rows), 1)
        if share < LOCKED:
            continue
        position = values.frame_in_world(mechanism, joint.child, poses)[:3, 3]
        opacity = FAINTEST + (1 - FAINTEST) * min(share, 1.0)
        for row in rows:
            turns = bool(row[:3].any())
            ends = arc(position, row[:3], size) if turns else double_arrow(position, row[3:], size)
            red, green, blue, _ = TURNS if turns else SLIDES
            out.append(Symbol("glyph", path, ends, (red, green, blue, opacity)))
    return out


def forces_now(state: WindowState) -> list[Symbol]:
    """An arrow for every force and, with two heads, for every torque."""
    return [
        Symbol("force", item.path, arrow(start, vector, 2 if item.torque else 1), forces.COLOURS[item.kind])
        for item, start, vector in forces.arrows(state)
    ]


def screws_now(state: WindowState) -> list[Symbol]:
    """Screws or instant centres of the picked body of a mechanism that is posed."""
    return [Symbol("screw", path, ends, colour) for path, ends, colour in velocity_shapes.screws(state)]


def ellipsoids_now(state: WindowState) -> list[Symbol]:
    """Ellipsoids of velocity and of force at a point of it."""
    return [Symbol("ellipsoid", path, ends, colour) for path, ends, colour in velocity_shapes.ellipsoids(state)]
