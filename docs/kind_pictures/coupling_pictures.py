"""Pictures of constraints between coordinates: gears, belts, racks, screws, trains, Geneva drives, equations.

How far each arrow goes, and which way, is computed from the kind's coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.constraints import ConstraintKind
from shiftjax.constraints.couplings import Coupling
from shiftjax.constraints.geneva import indexed
from shiftjax.docs.kind_pictures.drawing import BETWEEN, CHILD, INK, MOTION, PARENT, THIN, Drawing, on_arc
from shiftjax.docs.kind_pictures.machine_parts import (
    axis_line,
    block,
    ground,
    hub,
    pivot,
    rectangle,
    slide_mark,
    toothed,
    turn_mark,
)

PAGE = "var(--md-default-bg-color,Canvas)"  # the colour of the page around a picture


def first_for_second(kind: Coupling, numbers: Mapping[str, Any]) -> float:
    """How far the first of two joints goes for a unit of the second."""
    first, second = (float(c) for c in kind.coefficients(numbers))
    return -second / first


def gear(kind: Any) -> Drawing:
    d = Drawing("Two gears in mesh with their pitch circles; as the second turns one way, the first turns the other")
    teeth, radius = (14, 22), (33.0, 51.9)
    way = first_for_second(kind, {"ratio": -teeth[1] / teeth[0]})
    left, right = (60.0, 70.0), (60.0 + sum(radius), 70.0)
    toothed(d, right, radius[1], teeth[1], PARENT, phase=0.5)
    toothed(d, left, radius[0], teeth[0], CHILD)
    hub(d, left)
    hub(d, right)
    for centre, size, middle, turned, name in (
        (left, radius[0], 115, 44 * way, "q₁"),
        (right, radius[1], 80, 44, "q₂"),
    ):
        turn_mark(d, centre, size + 13, middle - turned / 2, middle + turned / 2, name)
    return d


def belt(kind: Any) -> Drawing:
    d = Drawing("Two pulleys and a belt around both; both turn the same way, the smaller one farther")
    (a, b), (x, y) = (26.0, 46.0), (56.0, 172.0)
    way = first_for_second(kind, {"radius_1": a, "radius_2": b, "run": "open"})
    lean = math.asin((b - a) / (y - x))
    normal = (-math.sin(lean), math.cos(lean))
    for sign in (1.0, -1.0):
        d.line(
            [(x + a * normal[0], 74 + sign * a * normal[1]), (y + b * normal[0], 74 + sign * b * normal[1])], width=3
        )
    for centre, size, fill in ((x, a, CHILD), (y, b, PARENT)):
        d.circle((centre, 74), size, fill, width=3)
        hub(d, (centre, 74))
    turn_mark(d, (x, 74), a + 9, 135 - 20 * way, 135 + 20 * way, "q₁")
    turn_mark(d, (y, 74), b + 9, 70, 110, "q₂")
    return d


def rack(kind: Any) -> Drawing:
    d = Drawing("A pinion on a rack: as the pinion turns, the rack slides by the arc on its pitch circle")
    radius, teeth = 34.0, 14
    way = first_for_second(kind, {"radius": radius})
    pitch = 2 * math.pi * radius / teeth
    middle, low = 120.0, 52.0
    outline = [(24.0, low - 22), (216.0, low - 22)]
    for k in range(6, -8, -1):
        x = middle + (k + 0.5) * pitch
        shape = ((0.28, -6.5), (0.14, 6.5), (-0.14, 6.5), (-0.28, -6.5))
        outline += [(x + part * pitch, low + high) for part, high in shape if 24 < x + part * pitch < 216]
    d.shape(outline, CHILD)
    toothed(d, (middle, low + radius), radius, teeth, PARENT, phase=0.25 * teeth % 1)
    d.line([(24, low), (216, low)], width=THIN, dash="4 3")
    hub(d, (middle, low + radius))
    turn_mark(d, (middle, low + radius), radius + 12, 60, 120, "q₂")
    half = math.copysign(34.0, way)
    slide_mark(d, (middle - half, 16), (middle + half, 16), "q₁")
    return d


def screw_coupling(kind: Any) -> Drawing:
    d = Drawing("A spindle with a thread through a nut: as the spindle turns, the nut slides along it")
    way = first_for_second(kind, {"pitch": 1.0})
    for x in (32.0, 208.0):
        ground(d, (x - 13, 42), (x + 13, 42))
        d.shape(rectangle(x, 66, 16, 48), PARENT)
    d.shape(rectangle(120, 72, 190, 16), BETWEEN)
    for k in range(23):
        x = 48 + 7 * k
        lean = math.copysign(2.5, way)  # a right-handed thread falls to the right on the side that is seen
        d.line([(x + lean, 64), (x - lean, 80)], width=THIN)
    d.shape(rectangle(120, 72, 46, 48), CHILD)
    half = math.copysign(32.0, way)
    slide_mark(d, (120 - half, 112), (120 + half, 112), "q₁")
    arc = [(224 + 5 * math.cos(math.radians(a)), 72 + 20 * math.sin(math.radians(a))) for a in range(-120, 121, 15)]
    d.arrow(arc, both=True)
    d.word((224, 104), "q₂", colour=MOTION)
    return d


def planetary(kind: Any) -> Drawing:
    d = Drawing("An epicyclic train: a sun, three planets on a carrier, a ring; each of the three has a coordinate")
    centre, sun, planet = (104.0, 80.0), 22.0, 18.0
    ring = sun + 2 * planet
    toothed(d, centre, ring, 58, PARENT, inside=ring + 13)
    for k in range(3):
        a = math.radians(90 + 120 * k)
        place = (centre[0] + 40 * math.cos(a), centre[1] + 40 * math.sin(a))
        d.bar([centre, place], CHILD, 9.0)
    toothed(d, centre, sun, 22, BETWEEN, phase=0.5)
    for k in range(3):
        a = math.radians(90 + 120 * k)
        place = (centre[0] + 40 * math.cos(a), centre[1] + 40 * math.sin(a))
        toothed(d, place, planet, 18, "#8889")
        hub(d, place)
    hub(d, centre)
    for y, name, what, fill in ((126, "q₁", "sun", BETWEEN), (80, "q₂", "ring", PARENT), (34, "q₃", "carrier", CHILD)):
        d.shape(rectangle(190, y, 10, 10), fill)
        d.word((190, y + 15), name, colour=MOTION)
        d.word((190, y - 15), what, size=11.0)
    return d


def differential(kind: Any) -> Drawing:
    d = Drawing(
        "A differential: a cage with a bevel pinion between the bevel gears of two shafts; the cage turns by their mean"
    )
    cage, second, third = (float(c) for c in kind.coefficients({}))
    share = -second / cage, -third / cage
    d.shape(rectangle(120, 80, 96, 104), PARENT)
    d.shape(rectangle(120, 80, 78, 86), PAGE)
    for side, fill in ((-1, CHILD), (1, CHILD)):
        x = 120 + side * 30
        d.shape(rectangle(120 + side * 68, 80, 84, 12), fill)
        d.shape([(x, 80 + 30), (x, 80 - 30), (x - side * 13, 80 - 19), (x - side * 13, 80 + 19)], fill)
    for side in (-1, 1):
        y = 80 + side * 33
        d.shape([(120 - 26, y), (120 + 26, y), (120 + 15, y - side * 12), (120 - 15, y - side * 12)], BETWEEN)
        d.line([(120, y), (120, y + side * 19)], width=5)
    axis_line(d, (10, 80), (230, 80))
    d.word((120, 14), f"q₁ = {share[0]:g} q₂ + {share[1]:g} q₃", size=11.0)
    for x, name in ((28.0, "q₂"), (212.0, "q₃")):
        arc = [(x + 5 * math.cos(math.radians(a)), 80 + 19 * math.sin(math.radians(a))) for a in range(-120, 121, 15)]
        d.arrow(arc, both=True)
        d.word((x, 112), name, colour=MOTION)
    d.arrow(
        [(181 + 5 * math.cos(math.radians(a)), 122 + 14 * math.sin(math.radians(a))) for a in range(-120, 121, 15)],
        both=True,
    )
    d.word((206, 138), "q₁", colour=MOTION)
    return d


def mimic(kind: Any) -> Drawing:
    d = Drawing("Two arms on hinges: the first turns by a multiple of the angle of the second, from an offset")
    multiplier, offset, angle = 0.5, 10.0, 74.0
    follower = first_for_second(kind, {"multiplier": multiplier}) * angle + offset
    for x, turned, fill, name in ((42.0, follower, CHILD, "q₁"), (148.0, angle, PARENT, "q₂")):
        place = (x, 44.0)
        axis_line(d, place, (x + 66, 44))
        a = math.radians(turned)
        d.bar([place, (x + 66 * math.cos(a), 44 + 66 * math.sin(a))], fill, 9.0)
        pivot(d, place)
        turn_mark(d, place, 46, 2, turned - 6, name)
    d.arrow(on_arc((118, 98), 42, 50, 130), colour=INK, width=THIN)
    d.word((118, 152), "q₁ = m q₂ + b", size=11.0)
    return d


def geneva(kind: Any) -> Drawing:
    d = Drawing("A Geneva drive: a pin on a crank enters a slot of a wheel and turns it by one slot a turn")
    slots, apart = 4, 92.0
    half = math.pi / slots
    arm, wheel_radius = apart * math.sin(half), apart * math.cos(half)
    crank, wheel = (66.0, 72.0), (66.0 + apart, 72.0)
    angle = math.radians(-18.0)  # of the crank, from the middle of a slot
    turned = math.pi - float(indexed(float(slots), angle))
    outline: list[tuple[float, float]] = []
    for k in range(slots):
        direction = turned + 2 * half * k
        deep = apart - arm - 3.0
        for side, reach in ((-4.5, wheel_radius), (-4.5, deep), (4.5, deep), (4.5, wheel_radius)):
            c, s = math.cos(direction), math.sin(direction)
            outline.append((wheel[0] + reach * c - side * s, wheel[1] + reach * s + side * c))
        middle = direction + half
        hollow = (wheel[0] + apart * math.cos(middle), wheel[1] + apart * math.sin(middle))
        facing = math.degrees(middle) + 180
        outline += on_arc(hollow, arm * 0.78, facing + 38, facing - 38)
    d.shape(outline, CHILD)
    hub(d, wheel)
    pin = (crank[0] + arm * math.cos(angle), crank[1] + arm * math.sin(angle))
    blocked = math.degrees(angle) + 180
    d.shape([*on_arc(crank, arm * 0.7, blocked - 118, blocked + 118), crank], PARENT)
    d.bar([crank, pin], PARENT, 11.0)
    d.circle(pin, 4.0, "#fff")
    hub(d, crank)
    turn_mark(d, crank, arm * 0.7 + 9, 110, 160, "q₂")
    turn_mark(d, wheel, 78, 75, 40, "q₁", far=9)
    return d


def equation(kind: Any) -> Drawing:
    d = Drawing("Coordinates of several joints and the time enter a formula, whose value is always zero")
    place = (44.0, 112.0)
    d.bar([place, (84.0, 140.0)], CHILD)
    d.circle(place, 4.0, "#fff")
    turn_mark(d, place, 30, 0, 32, "q[0]", far=20)
    ground(d, (18, 40), (92, 40))
    d.shape(rectangle(42, 50, 30, 18), CHILD)
    slide_mark(d, (60, 52), (82, 52), "")
    d.word((72, 66), "q[1]", colour=MOTION)
    d.word((56, 14), "t", colour=MOTION)
    for start in ((104, 114), (96, 56), (64, 14)):
        d.arrow([start, (134, 80)], colour=INK, width=THIN, head=6.0)
    block(d, (186, 80), "f(q, t) = 0", wide=94, high=32)
    return d


COUPLINGS: dict[str, Callable[[ConstraintKind], Drawing]] = {
    draw.__name__: draw for draw in (equation, gear, belt, rack, screw_coupling, planetary, differential, mimic, geneva)
}
