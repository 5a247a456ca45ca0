"""Pictures of forces between bodies: bushings, contacts, tyres."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shiftjax.docs.kind_pictures.drawing import CHILD, FORCE, INK, MOTION, PARENT, THIN, Drawing, Point, on_arc
from shiftjax.docs.kind_pictures.machine_parts import AXES, curve, damper, force_mark, ground, hub, spring
from shiftjax.forces import ForceKind
from shiftjax.forces.tyres.tyre import Contact, Tyre
from shiftjax.height_fields import height

SOLID = "#98a4b366"  # what is below a surface


def bushing(kind: Any) -> Drawing:
    d = Drawing("A body in a sleeve of another, held by springs and dampers along each axis and against turns")
    centre, inner, outer = (120.0, 80.0), 19.0, 60.0
    d.shape([*on_arc(centre, outer + 14, 0, 360), *on_arc(centre, outer, 360, 0)], PARENT, outline=0)
    d.circle(centre, outer + 14)
    d.circle(centre, outer)
    for k in range(8):
        c, s = math.cos(math.pi / 4 * k), math.sin(math.pi / 4 * k)
        start, end = ((centre[0] + r * c, centre[1] + r * s) for r in (outer, inner))
        if k % 2:
            damper(d, start, end, size=5.0)
        else:
            spring(d, start, end, turns=4, size=5.0)
    d.circle(centre, inner, CHILD)
    d.word(centre, "2", size=13.0)
    d.word((167.5, 127.5), "1")
    return d


def _plane(d: Drawing, level: float) -> None:
    d.shape([(14, level), (226, level), (226, level - 24), (14, level - 24)], SOLID, outline=0)
    d.line([(14, level), (226, level)], width=2.0)


def _pressed(d: Drawing, place: Point, *, friction: bool = True, length: float = 44.0) -> None:
    """A normal force, and friction against a motion to the right."""
    force_mark(d, place, (place[0], place[1] + length), "N")
    if friction:
        force_mark(d, place, (place[0] - 0.75 * length, place[1]), "μN")


def _depth(d: Drawing, x: float, level: float, low: float) -> None:
    """How far something sinks in."""
    d.line([(x - 12, low), (x + 22, low)], width=THIN)
    d.line([(x - 12, level), (x + 22, level)], width=THIN)
    d.arrow([(x + 14, level + 18), (x + 14, level)], colour=INK, width=THIN, head=6)
    d.arrow([(x + 14, low - 18), (x + 14, low)], colour=INK, width=THIN, head=6)
    d.word((x + 26, (level + low) / 2), "d", size=11)


def ball_on_plane(kind: Any) -> Drawing:
    d = Drawing("A ball sinks a little into a plane, which presses it back and brakes its sliding")
    level, radius, depth = 52.0, 38.0, 9.0
    centre = (112.0, level + radius - depth)
    _plane(d, level)
    d.circle(centre, radius, CHILD)
    d.line([(14, level), (226, level)], width=2.0)
    _pressed(d, (112, level - depth))
    _depth(d, 156, level, level - depth)
    d.word((centre[0] + 16, centre[1] + 16), "1", size=13)
    d.word((26, level - 12), "2", size=13)
    return d


def capsule_on_plane(kind: Any) -> Drawing:
    d = Drawing("A capsule lies on a plane, which presses it at both of its ends")
    level, radius, depth, half = 52.0, 25.0, 7.0, 46.0
    y = level + radius - depth
    _plane(d, level)
    d.shape([*on_arc((120 + half, y), radius, -90, 90), *on_arc((120 - half, y), radius, 90, 270)], CHILD)
    d.line([(120 - half, y), (120 + half, y)], dash=AXES, width=THIN)
    d.line([(14, level), (226, level)], width=2.0)
    for side in (-1, 1):
        d.circle((120 + side * half, y), 2.2, "#fff")
        force_mark(d, (120 + side * half, level - depth), (120 + side * half, level + 62), "N")
    d.arrow([(120 - half, y + 38), (120 + half, y + 38)], colour=INK, both=True, width=THIN, head=6)
    d.word((120, y + 47), "length", size=11)
    return d


def ellipsoid_on_plane(kind: Any) -> Drawing:
    d = Drawing("An ellipsoid, tilted, sinks a little into a plane, which presses it back at its lowest point")
    level, depth, a, b, tilt = 50.0, 7.0, 62.0, 30.0, math.radians(24)
    low = math.hypot(a * math.sin(tilt), b * math.cos(tilt))
    centre = np.array([120.0, level + low - depth])
    axes = np.array([[math.cos(tilt), math.sin(tilt)], [-math.sin(tilt), math.cos(tilt)]])
    _plane(d, level)
    angles = np.linspace(0, 2 * math.pi, 49)[:-1]
    d.shape([centre + a * math.cos(t) * axes[0] + b * math.sin(t) * axes[1] for t in angles], CHILD)
    for size, axis in zip((a, b), axes, strict=True):
        d.line([centre - size * axis, centre + size * axis], dash=AXES, width=THIN)
    d.line([(14, level), (226, level)], width=2.0)
    touch = centre[0] - (a * a - b * b) * math.sin(tilt) * math.cos(tilt) / low
    _pressed(d, (touch, level - depth))
    return d


def ball_on_ball(kind: Any) -> Drawing:
    d = Drawing("Two balls overlap a little and press each other apart along the line of their middles")
    first, second, radii = np.array([152.0, 92.0]), np.array([84.0, 64.0]), (34.0, 46.0)
    line = (first - second) / np.linalg.norm(first - second)
    d.circle(second, radii[1], PARENT)
    d.circle(first, radii[0], CHILD)
    d.circle(second, radii[1], dash="4 3", width=THIN)
    d.line([second, first], dash=AXES, width=THIN)
    touch = 0.5 * (second + radii[1] * line + first - radii[0] * line)
    force_mark(d, touch, touch + 50 * line, "N")
    force_mark(d, touch, touch - 50 * line, "−N")
    d.word(np.add(first, (8, -20)), "1", size=13)
    d.word(np.add(second, (-8, 26)), "2", size=13)
    return d


HILLS = {
    "xs": (),
    "ys": (),
    "heights": (),
    "polynomial": ((0.0,), (0.22,), (-0.12,), (-0.42,), (0.14,), (0.2,)),
    "size": 1.0,
}


def ball_on_terrain(kind: Any) -> Drawing:
    d = Drawing("A ball on uneven ground, which presses it back along the normal of the ground below it")
    scale, middle, radius, depth = 84.0, np.array([118.0, 58.0]), 27.0, 5.0

    def at(x: float) -> np.ndarray:
        return middle + scale * np.array([x, float(height(HILLS, x, 0.0).z)])

    span = np.linspace(-1.2, 1.25, 60)
    line = [tuple(at(float(x))) for x in span]
    d.shape([*line, (line[-1][0], 10), (line[0][0], 10)], SOLID, outline=0)
    x = -0.28
    tangent = at(x + 1e-4) - at(x - 1e-4)
    normal = np.array([-tangent[1], tangent[0]]) / np.linalg.norm(tangent)
    d.circle(at(x) + (radius - depth) * normal, radius, CHILD)
    d.line(line, width=2.0)
    place = at(x) - depth * normal
    force_mark(d, place, place + 50 * normal, "N")
    d.word((206, 20), "z = f(x, y)", anchor="end", size=11)
    return d


def pin_in_slot(kind: Any) -> Drawing:
    d = Drawing("A pin with play between two walls along the x axis of a slot, open at both ends")
    for side in (-1, 1):
        d.shape([(52, 80 + side * 24), (198, 80 + side * 24), (198, 80 + side * 46), (52, 80 + side * 46)], PARENT)
    d.arrow([(34, 80), (232, 80)], colour=INK, width=THIN, head=7)
    d.word((228, 90), "x", size=11)
    d.circle((52, 80), 2.6, INK)
    centre = (122.0, 72.0)
    d.circle(centre, 17, CHILD)
    d.circle(centre, 2.4, "#fff")
    force_mark(d, (122, 55), (122, 100), "N")
    d.arrow([(150, 72), (182, 72)], both=True)
    d.word((centre[0] - 24, centre[1] - 2), "1", size=13)
    d.word((64, 115), "2", size=13)
    d.arrow([(52, 24), (198, 24)], colour=INK, both=True, width=THIN, head=6)
    d.word((125, 15), "length", size=11)
    return d


TYRES: dict[str, Mapping[str, Any]] = {  # numbers to draw them with; those of a middling car
    "fiala": {"radius": 0.3, "c_slip": 8e4, "c_alpha": 6e4, "u_max": 1.0, "u_min": 0.85,
              "width": 0.2, "relaxation_y": 0.5},
    "pacejka": {"radius": 0.3, "fnomin": 4000.0, "pcy1": 1.35, "pdy1": 1.05, "pdy2": -0.18, "pey1": -0.01,
                "pky1": -22.0, "pky2": 2.0, "relaxation_y": 0.5},
}  # fmt: skip
LOADS = (4000.0, 2500.0)  # N


def across_force(kind: Tyre, numbers: Mapping[str, Any], tangent: float, load: float) -> float:
    """The force across [N] of a tyre at a slip across, upright on flat ground."""
    n = {field.name: field.default for field in kind.fields} | dict(numbers)
    contact = Contact([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -0.3], load, 20.0, [0.0] * 3,
                      [0.0] * 3, 0.0)  # fmt: skip
    return float(kind.tyre_load(n, contact, 0.0, tangent).across)


def tyre(kind: Any) -> Drawing:
    """A wheel from the side, and its force over the slip; of a transient one from above, and its force over the way."""
    numbers = TYRES["pacejka" if "fnomin" in {field.name for field in kind.fields} else "fiala"]
    if not kind.transient:
        d = Drawing(
            "A wheel on a road with its forces; that across it rises with the slip, then falls off, for two loads"
        )
        ground(d, (8, 34), (116, 34))
        d.circle((58, 76), 44, "#8889", width=2)
        d.circle((58, 76), 27, CHILD)
        hub(d, (58, 76))
        force_mark(d, (58, 34), (58, 66), "")
        d.word((72, 58), "Fz", colour=FORCE)
        force_mark(d, (58, 34), (98, 34), "")
        d.word((102, 46), "Fx", colour=FORCE)
        d.arc((58, 76), 36, 140, 60, both=False)
        forces = [lambda slip, load=load: across_force(kind, numbers, slip, load) for load in LOADS]
        curve(d, (132, 22, 234, 146), forces, (0.0, 0.35), ("slip", "Fy"))
        return d
    d = Drawing("A wheel from above whose patch on the road lags by a spring; the force across builds up over a way")
    lean = np.array([math.sin(math.radians(14)), math.cos(math.radians(14))])
    side, centre = np.array([lean[1], -lean[0]]), np.array([46.0, 92.0])
    d.shape([centre + 46 * lean * a + 14 * side * b for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))], CHILD)
    patch = np.add(centre, (46.0, -24.0))
    d.shape([patch + 17 * lean * a + 9 * side * b for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))], "#8889")
    spring(d, centre - 18 * lean + 14 * side, patch - 9 * side, turns=3, size=4)
    d.arrow([centre, np.add(centre, (0.0, 60.0))], width=2.0)
    d.word(np.add(centre, (-11, 56)), "v", colour=MOTION)
    front = centre + 34 * lean
    force_mark(d, front, front + 46 * side, "Fy")
    length = numbers["relaxation_y"]
    force = lambda way: across_force(kind, numbers, 0.06 * (1 - math.exp(-way / length)), LOADS[0])  # noqa: E731
    curve(d, (142, 22, 234, 146), force, (0.0, 3.0), ("way", "Fy"), knots=(length,))
    return d


BODY_FORCES: dict[str, Callable[[ForceKind], Drawing]] = {
    **{draw.__name__: draw for draw in (
        bushing, ball_on_plane, capsule_on_plane, ellipsoid_on_plane, ball_on_ball, ball_on_terrain, pin_in_slot,
    )},
    **dict.fromkeys(("fiala_tyre", "transient_fiala_tyre", "pacejka_tyre", "transient_pacejka_tyre"), tyre),
}  # fmt: skip
