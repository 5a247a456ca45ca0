"""Pictures of friction that grows with what a joint bears: a seat, and the law for a load and for twice as much."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from shiftjax.docs.kind_pictures.drawing import CHILD, FORCE, MOTION, PARENT, Drawing
from shiftjax.docs.kind_pictures.joint_force_pictures import GRAPH, OneJoint
from shiftjax.docs.kind_pictures.machine_parts import (
    axis_line,
    curve,
    force_mark,
    ground,
    rectangle,
    slide_mark,
)
from shiftjax.forces import ForceKind
from shiftjax.plan_elements import ForceElement, MotionView

DRY = {"friction_coefficient": 1.0, "slip_speed": 0.06, "radius": 1.0}
BRISTLES = {"static_coefficient": 1.0, "kinetic_coefficient": 0.55, "stribeck_speed": 0.2, "stiffness": 1.0}
LOADS = (1.0, 0.5)
MIDDLE, HOLE, SHAFT = (66.0, 84.0), 34.0, 28.0  # of a bearing [px]
CONTACT = (66.0, 84.0 - 31.0)


def resistance(kind: Any, v: float) -> float:
    """The force along the first joint of a kind for a load of 1, at a steady speed: bristles bend no more then."""
    numbers = {field.name: field.default for field in kind.fields} | DRY | BRISTLES
    element = cast("ForceElement", SimpleNamespace(numbers=numbers, coordinates=range(kind.joints), words=()))
    motion = cast("MotionView", FirstMoves(0.0, v))
    if not kind.states:
        return float(kind.resistance(element, motion, ())[0])
    rates = [kind.coefficient(numbers, v, (bend,))[1][0] for bend in (0.0, 1.0)]
    bend = rates[0] / (rates[0] - rates[1]) if v else 0.0
    return float(kind.resistance(element, motion, (bend,))[0])


class FirstMoves(OneJoint):
    """Joints of which the first alone moves."""

    def speed(self, index: int) -> float:
        return self.v if index == 0 else 0.0

    def speeds(self, index: int) -> list[float]:
        return [self.speed(index), 0.0, 0.0]  # of a ball, too

    def speed_index(self, index: int) -> int:
        return 3 * index


def _law(d: Drawing, kind: Any) -> None:
    """The heavier load is the first."""
    lines = [lambda v, load=load: load * resistance(kind, v) for load in LOADS]
    curve(d, GRAPH, lines, (-1.0, 1.0), ("q'", "Q"))
    for text, height in zip(("2 N", "N"), (29, 48) if kind.states else (24, 52), strict=True):
        d.word((222, height), text, colour=FORCE, anchor="end", size=11.0)


def _bearing(text: str, kind: Any) -> Drawing:
    d, bristles = Drawing(text), bool(kind.states)
    d.circle(MIDDLE, 46.0, PARENT)
    d.circle(MIDDLE, HOLE, "var(--md-default-bg-color,Canvas)")
    shaft = (MIDDLE[0], MIDDLE[1] - (HOLE - SHAFT) + (3.0 if bristles else 0.0))
    d.circle(shaft, SHAFT - (3.0 if bristles else 0.0), CHILD)
    if bristles:
        for k in range(9):
            a = math.radians(-135 + 11.25 * k)
            ends = ((25.0, a), (31.0, a + 0.14))
            d.line([(shaft[0] + r * math.cos(b), shaft[1] + r * math.sin(b)) for r, b in ends], colour=FORCE)
    ground(d, (26, 34), (106, 34))
    d.arc(shaft, 18.0, 15, 165)
    d.word((MIDDLE[0] + 26, MIDDLE[1] + 34), "q'", colour=MOTION)
    force_mark(d, CONTACT, (CONTACT[0], CONTACT[1] + 24), "")
    d.word((CONTACT[0] + 12, CONTACT[1] + 12), "N", colour=FORCE)
    _law(d, kind)
    return d


def _slide(text: str, kind: Any) -> Drawing:
    d, bristles = Drawing(text), bool(kind.states)
    low = 66.0 if bristles else 56.0
    d.shape([(12, 44), (118, 44), (118, 56), (12, 56)], PARENT)
    if bristles:
        for k in range(9):
            x = 40.0 + 7.0 * k
            d.line([(x, low), (x - 7.0, low - 10.0)], colour=FORCE)
    d.shape(rectangle(65, low + 17, 64, 34), CHILD)
    for x in (44.0, 86.0):
        force_mark(d, (x, low), (x, low + 30), "")
    d.word((65, low + 16), "N", colour=FORCE)
    force_mark(d, (33, low + 10), (14, low + 10), "")
    d.word((20, low + 24), "Q", colour=FORCE)
    slide_mark(d, (46, low + 50), (84, low + 50), "q'")
    _law(d, kind)
    return d


def _sleeve(text: str, kind: Any) -> Drawing:
    d = Drawing(text)
    d.shape([(8, 74), (122, 74), (122, 90), (8, 90)], PARENT)
    for low in (64.0, 90.0):
        d.shape([(40, low), (90, low), (90, low + 10), (40, low + 10)], CHILD)
    axis_line(d, (2, 82), (128, 82))
    for x in (50.0, 80.0):
        force_mark(d, (x, 42), (x, 62), "")
    d.word((65, 50), "N", colour=FORCE)
    slide_mark(d, (50, 122), (82, 122), "q₂'")
    d.arrow([(98, 100), (106, 94), (109, 82), (106, 70), (98, 64)], both=True)
    d.word((112, 104), "q₁'", colour=MOTION)
    _law(d, kind)
    return d


def _plate(text: str, kind: Any) -> Drawing:
    """A plate on a table, seen askew from above."""
    d = Drawing(text)
    d.shape([(4, 42), (34, 96), (126, 96), (100, 42)], PARENT)
    d.shape([(32, 54), (48, 84), (98, 84), (84, 54)], CHILD)
    force_mark(d, (66, 122), (66, 88), "")
    d.word((78, 108), "N", colour=FORCE)
    slide_mark(d, (52, 26), (92, 26), "q₂'")
    slide_mark(d, (10, 62), (22, 84), "q₃'")
    d.arc((62, 66), 13.0, 20, 165)
    d.word((88, 66), "q₁'", colour=MOTION)
    _law(d, kind)
    return d


def _ball(text: str, kind: Any) -> Drawing:
    """A ball on its stud, in a socket that holds it beyond its middle."""
    d = Drawing(text)
    rim = [(MIDDLE[0] + 44.0 * math.cos(a), MIDDLE[1] + 44.0 * math.sin(a))
           for a in (math.radians(k) for k in range(165, 376, 15))]  # fmt: skip
    d.shape(rim, PARENT)
    ground(d, (30, 34), (102, 34))
    d.bar([MIDDLE, (MIDDLE[0], 146.0)], CHILD)
    d.circle(MIDDLE, SHAFT, CHILD)
    d.arc(MIDDLE, 18.0, 15, 165)
    d.word((MIDDLE[0] + 38, MIDDLE[1] + 26), "ω", colour=MOTION)
    force_mark(d, (MIDDLE[0], MIDDLE[1] - SHAFT), (MIDDLE[0], MIDDLE[1] - 4), "")
    d.word((MIDDLE[0] + 12, MIDDLE[1] - 16), "N", colour=FORCE)
    _law(d, kind)
    return d


TEXTS: dict[str, tuple[Callable[[str, Any], Drawing], str]] = {
    "bearing_friction": (
        _bearing, "A shaft turns in a bearing and presses on it; friction is against the speed, at a level that grows "
        "with the load"),
    "bearing_bristles": (
        _bearing, "A shaft in a bearing with bristles between them, which bend and then slide; their level grows with "
        "the load"),
    "slide_friction": (
        _slide, "A block slides on a rail that bears it at two supports; friction is against the speed, at a level "
        "that grows with the load"),
    "slide_bristles": (
        _slide, "Bristles between a block and its rail bend, then slide; their level grows with the load"),
    "sleeve_friction": (
        _sleeve, "A sleeve turns and slides on a rod; friction is against the way on which its surface slips"),
    "plate_friction": (
        _plate, "A plate slides and turns on a table that bears it; friction is against the way on which it slips"),
    "ball_friction": (
        _ball, "A ball turns in its socket and presses on it; the torque of friction is against its angular velocity"),
}  # fmt: skip
SEATS: dict[str, Callable[[ForceKind], Drawing]] = {name: partial(draw, text) for name, (draw, text) in TEXTS.items()}
