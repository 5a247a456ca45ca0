"""Pictures of constraints between two frames, and of a point on a curve, a surface, a cam.

The second frame is drawn where the constraint holds: `POSES` are its places in the first, at which a test asks each
kind for its residual. Curves, surfaces and profiles are those that the program computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftjax.constraints import ConstraintKind
from shiftjax.constraints.guides import curve_at, places_of
from shiftjax.docs.kind_pictures.drawing import BETWEEN, CHILD, FORCE, INK, MOTION, PARENT, THIN, Drawing
from shiftjax.docs.kind_pictures.machine_parts import AXES, ground, hub, rectangle, slide_mark, turn_mark
from shiftjax.docs.kind_pictures.solids import UP, Projection, circle, unit
from shiftjax.height_fields import height
from shiftjax.rotations import rotation_about
from shiftjax.splines import cubic, evaluated

X, Y, Z = np.eye(3)
Pose = tuple[np.ndarray, np.ndarray]  # rotation and origin of the second frame in the first


def turned(axis: Any, angle: float) -> np.ndarray:
    """The rotation by an angle in degrees about an axis."""
    return np.array(rotation_about(list(unit(axis)), math.radians(angle)))


APART = 1.5 * Y + 0.1 * Z
POSES: dict[str, Pose] = {
    "coincident": (turned(X + 0.3 * Y, 40), 0.0 * X),
    "point_on_line": (turned(X + Y, 50), 0.95 * Z),
    "point_on_plane": (turned(X - Y, 35), 0.4 * X + 0.95 * Y),
    "distance": (turned(X + Z, 50), 1.35 * Y + 0.75 * Z),
    "parallel_axes": (turned(Z, 50), APART + 0.15 * X),
    "perpendicular_axes": (turned(-X, 90) @ turned(Z, 20), 1.35 * Y + 0.4 * Z),
    "same_orientation": (turned(Z, 0), APART + 0.35 * Z),
}
LENGTH = float(np.linalg.norm(POSES["distance"][1]))


def frame(
    scene: Projection, d: Drawing, pose: Pose, name: str, colour: str, *, bold: str = "z", size: float = 0.62
) -> None:
    """A frame with its axes, of which some are bold, and its number below the origin."""
    R, p = pose
    for k, axis in enumerate("xyz"):
        wide = 2.6 if axis in bold else 1.3
        d.arrow(scene.flat([p, p + size * R[:, k]]), colour=colour, width=wide, head=7.0)
        d.word(scene.at(p + (size + 0.2) * R[:, k]), axis, size=10.0)
    x, y = scene.at(p)
    d.circle((x, y), 3.2, colour, width=THIN)
    d.word((x - 9, y + 7), name, colour=colour, size=13.0)


def begun(text: str, middle: tuple[float, float] = (72.0, 62.0), scale: float = 70.0) -> tuple[Drawing, Projection]:
    return Drawing(text), Projection(scale, middle)


FIRST: Pose = (np.eye(3), 0.0 * X)
DEEP = "#77869c"  # the first frame, legible as a line


def coincident(kind: Any) -> Drawing:
    d, scene = begun("Two frames of two bodies with one origin; the second is turned freely about it", (120.0, 68.0))
    R, p = POSES["coincident"]
    scene.bar([-1.4 * Y - 0.3 * Z, p], PARENT, width=11)
    scene.bar([1.4 * Y + 0.8 * Z, p], CHILD, width=11)
    scene.ball(p, 0.17, CHILD, nearer=1.0)
    scene.draw(d)
    frame(scene, d, FIRST, "", DEEP, bold="")
    frame(scene, d, (R, p), "", CHILD, bold="")
    d.word((20, 80), "1", colour=DEEP, size=13.0)
    d.word((214, 118), "2", colour=CHILD, size=13.0)
    return d


def ridden(scene: Projection, d: Drawing, place: np.ndarray, lever: np.ndarray) -> None:
    """The second frame where it may turn any way: its origin is the ball at the end of a body."""
    scene.bar([place, place + lever], CHILD, width=11, nearer=1.0)
    scene.ball(place, 0.13, CHILD, nearer=2.0)
    scene.draw(d)
    d.word(scene.at(place + lever + 0.2 * unit(lever)), "2", colour=CHILD, size=13.0)


def point_on_line(kind: Any) -> Drawing:
    d, scene = begun("The origin of a second frame on the z axis of a first one, along which it slides", (108.0, 40.0))
    _, p = POSES["point_on_line"]
    d.line(scene.flat([-0.45 * Z, 1.85 * Z]), dash=AXES, width=THIN)
    frame(scene, d, FIRST, "1", DEEP)
    ridden(scene, d, p, 1.1 * Y + 0.5 * Z)
    d.arrow(scene.flat([p - 0.35 * Y - 0.4 * Z, p - 0.35 * Y + 0.5 * Z]), both=True)
    return d


def point_on_plane(kind: Any) -> Drawing:
    d, scene = begun("The origin of a second frame on the x-y plane of a first one, on which it slides", (86.0, 80.0))
    scene.plate(0.25 * X + 0.45 * Y, (0.75 * X, 0.95 * Y), PARENT)
    scene.draw(d)
    _, p = POSES["point_on_plane"]
    frame(scene, d, FIRST, "1", INK)
    for axis in (X, Y):
        d.arrow(scene.flat([p - 0.4 * axis, p + 0.4 * axis]), both=True)
    ridden(scene, d, p, 0.45 * Y + 0.8 * Z)
    return d


def distance(kind: Any) -> Drawing:
    d, scene = begun("The origins of two frames with a rod of constant length between them", (56.0, 62.0))
    R, p = POSES["distance"]
    scene.bar([0.0 * X, p], BETWEEN, width=8)
    scene.draw(d)
    frame(scene, d, FIRST, "1", DEEP, bold="", size=0.55)
    frame(scene, d, (R, p), "2", CHILD, bold="", size=0.5)
    a, b = (np.add(point, (11.0, -30.0)) for point in scene.flat([0.0 * X, p]))
    d.arrow([a, b], colour=FORCE, both=True, width=1.3)
    d.word(np.add((a + b) / 2, (18.0, -11.0)), "length", colour=FORCE)
    return d


def parallel_axes(kind: Any) -> Drawing:
    d, scene = begun("Two frames whose z axes are parallel; the second turns about its z and is anywhere")
    R, p = POSES["parallel_axes"]
    for origin in (0.0 * X, p):
        d.line(scene.flat([origin - 0.4 * Z, origin + 1.3 * Z]), dash=AXES, width=THIN)
    frame(scene, d, FIRST, "1", DEEP)
    frame(scene, d, (R, p), "2", CHILD)
    d.arrow(scene.flat(circle(p + 1.05 * Z, Z, 0.2, 150, 390)), both=True, head=7.0)
    return d


def perpendicular_axes(kind: Any) -> Drawing:
    d, scene = begun("Two frames whose z axes are at right angles", (66.0, 56.0))
    R, p = POSES["perpendicular_axes"]
    foot = 1.15 * Z
    line = R[:, 2]
    d.line(scene.flat([0.0 * X, 1.5 * Z]), dash=AXES, width=THIN)
    d.line(scene.flat([foot, foot + 1.5 * line]), dash=AXES, width=THIN)
    d.line(scene.flat([foot + 0.2 * line, foot + 0.2 * (line - Z), foot - 0.2 * Z]), colour=FORCE)
    d.word(scene.at(foot + 1.7 * line), "∥ z of 2", size=10.0)
    frame(scene, d, FIRST, "1", DEEP)
    frame(scene, d, (R, p), "2", CHILD)
    return d


def same_orientation(kind: Any) -> Drawing:
    d, scene = begun("Two frames at different places, each axis of the second along that of the first")
    R, p = POSES["same_orientation"]
    frame(scene, d, FIRST, "1", DEEP, bold="xyz")
    frame(scene, d, (R, p), "2", CHILD, bold="xyz")
    for axis in np.eye(3):
        d.line(scene.flat([0.62 * axis, p + 0.62 * axis]), dash="2 4", width=THIN)
    return d


CURVE = {"points": [[0.9, -1.5, 0.0], [0.3, -0.7, 0.75], [0.1, 0.2, 0.1], [-0.2, 1.1, 0.6], [0.3, 1.75, 0.9]],
         "places": [], "ends": "open"}  # fmt: skip
PLACE = 2.35  # along that curve


def point_on_curve(kind: Any) -> Drawing:
    d, scene = begun(
        "A point of a body on a curve in space; a coordinate q says how far along it is", (118.0, 56.0), 58.0
    )
    places = np.linspace(0.0, float(places_of(CURVE)[-1]), 60)
    points = [np.array(curve_at(CURVE, float(s))) for s in places]
    d.line(scene.flat(points), colour=DEEP, width=3.0)
    for point in CURVE["points"]:
        d.circle(scene.at(point), 2.2, DEEP, width=THIN)
    part = [np.array(curve_at(CURVE, float(s))) - 0.24 * UP for s in np.linspace(0.05, PLACE, 40)]
    d.arrow(scene.flat(part), both=True)
    x, y = scene.at(part[14])
    d.word((x + 6, y - 14), "q", colour=MOTION)
    here = np.array(curve_at(CURVE, PLACE))
    scene.box(here + 0.16 * UP, (0.2 * X, 0.26 * Y, 0.14 * Z), CHILD)
    scene.draw(d)
    d.circle(scene.at(here), 4.0, CHILD)
    d.word(scene.at(here + 0.55 * UP), "2", colour=CHILD, size=13.0)
    d.word(scene.at(points[-1] + 0.22 * UP), "1", colour=DEEP, size=13.0)
    return d


SURFACE = {"xs": (), "ys": (), "heights": (), "size": 1.0,
           "polynomial": ((0.35, 0.0, -0.28), (0.12, 0.25, 0.0), (-0.22, 0.0, 0.0))}  # fmt: skip
SPOT = (0.15, 0.35)  # x, y of the point on it


def point_on_surface(kind: Any) -> Drawing:
    d, scene = begun("A point of a body on a curved surface over the x-y plane of a frame", (118.0, 66.0))

    def at(x: float, y: float) -> np.ndarray:
        return np.array([x, y, float(height(SURFACE, x, y).z)])

    span = np.linspace(-1.0, 1.0, 9)
    edge = [at(-1, y) for y in span] + [at(x, 1) for x in span] + [at(1, -y) for y in span] + [at(-x, -1) for x in span]
    d.shape(scene.flat(edge), PARENT)
    for fixed in span[1:-1]:
        d.line(scene.flat([at(fixed, y) for y in span]), width=0.7)
        d.line(scene.flat([at(x, fixed) for x in span]), width=0.7)
    place = at(*SPOT)
    for dx, dy in ((1.0, 0.0), (0.0, 1.0)):
        way = [at(SPOT[0] + s * dx, SPOT[1] + s * dy) + 0.03 * Z for s in np.linspace(-0.42, 0.42, 9)]
        d.arrow(scene.flat(way), both=True, head=7.0)
    scene.bar([place, place + 0.75 * Z - 0.2 * X + 0.35 * Y], CHILD, width=9)
    scene.draw(d)
    d.circle(scene.at(place), 4.5, CHILD)
    d.word(scene.at(place + 0.95 * Z - 0.2 * X + 0.4 * Y), "2", colour=CHILD, size=13.0)
    d.word((64, 30), "1: z = f(x, y)", size=11.0)
    return d


RADII = (31.0, 32.0, 36.0, 46.0, 58.0, 62.0, 56.0, 43.0, 34.0, 31.0)  # of the roller's centre [px], from -pi on


def cam(kind: Any) -> Drawing:
    d = Drawing("A cam with a profile that turns, and a follower with a roller that it lifts")
    n, centre, roller = len(RADII), (104.0, 58.0), 10.0
    angles = [(2.0 * k / n - 1.0) * math.pi for k in range(n + 1)]
    profile = cubic(angles, [*RADII, RADII[0]], periodic=True)
    turned_by = math.radians(48.0)

    def centre_at(a: float) -> np.ndarray:
        radius = float(evaluated(angles[1:-1], profile, a)[0])
        return np.array(centre) + radius * np.array([math.cos(a + turned_by), math.sin(a + turned_by)])

    fine = np.linspace(-math.pi, math.pi, 181)[:-1]
    path = np.array([centre_at(float(a)) for a in fine])
    tangent = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    normal = np.stack([tangent[:, 1], -tangent[:, 0]], axis=1) / np.linalg.norm(tangent, axis=1)[:, None]
    d.shape([tuple(p) for p in path - roller * normal], PARENT)
    d.line(path[::2], width=THIN, dash="4 3", closed=True)
    hub(d, centre)
    top = centre_at(math.pi / 2 - turned_by)
    d.shape(rectangle(centre[0], top[1] + 26, 12, 36), CHILD)
    for side in (-1, 1):
        ground(d, (centre[0] + side * 8, top[1] + 32 - side * 9), (centre[0] + side * 8, top[1] + 32 + side * 9))
    d.circle(top, roller, CHILD)
    d.circle(top, 2.0, "#fff")
    turn_mark(d, centre, 66, -42, 12, "")
    slide_mark(d, (136, top[1] + 6), (136, top[1] + 38), "")
    d.word((centre[0] - 14, centre[1] - 2), "1", colour=INK, size=13.0)
    d.word((centre[0] + 20, top[1] + 2), "2", colour=CHILD, size=13.0)
    return d


FRAMED: dict[str, Callable[[ConstraintKind], Drawing]] = {
    draw.__name__: draw
    for draw in (
        coincident, point_on_line, point_on_plane, distance, parallel_axes, perpendicular_axes, same_orientation,
        cam, point_on_curve, point_on_surface,
    )
}  # fmt: skip
