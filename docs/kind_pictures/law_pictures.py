"""Pictures of drivers and loads: what follows a law in time, beside the law itself, computed by the kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.constraints import ConstraintKind
from shiftjax.docs.kind_pictures.drawing import CHILD, FORCE, INK, MOTION, Drawing
from shiftjax.docs.kind_pictures.frame_pictures import FIRST, X, Y, Z
from shiftjax.docs.kind_pictures.machine_parts import (
    axis_line,
    curve,
    force_mark,
    motor,
    slide_mark,
    slider,
    turn_mark,
)
from shiftjax.docs.kind_pictures.solids import Projection, circle
from shiftjax.forces import ForceKind
from shiftjax.time_laws import Law

GRAPH = (126.0, 22.0, 234.0, 146.0)  # where the law is drawn
SPAN = 2.0  # s
TABLE = {"times": [0.0, 0.4, 0.9, 1.4, 2.0], "values": [0.1, 0.9, 0.35, 0.75, 0.6], "outside": "hold"}
EXAMPLES: dict[str, dict[str, Any]] = {  # numbers to draw a law with
    "ConstantRate": {"speed": 0.4, "offset": 0.2},
    "Constant": {"load": 0.7},
    "Harmonic": {"amplitude": 0.5, "frequency": 2 * math.pi, "phase": 0.3, "offset": 0.2, "rate": 0.25},
    "Polynomial": {"coefficients": [0.1, 1.5, -1.9, 0.75], "origin": 0.0},
    "Table": TABLE,
    "AccelerationTable": {"times": [0.0, 0.5, 1.0, 2.0], "accelerations": [3.0, -2.0, -2.0, 1.5],
                          "speed": 0.1, "offset": 0.1, "outside": "hold"},
}  # fmt: skip
SHAPES = {  # words for those who cannot see the curve
    "Constant": "is constant",
    "ConstantRate": "rises at a constant rate",
    "Harmonic": "swings as a sine",
    "Polynomial": "is a polynomial",
    "Table": "goes through the values of a table",
    "AccelerationTable": "has accelerations of a table",
}


def halves() -> list[tuple[float, float, float, float]]:
    """Places for two graphs, one above the other."""
    left, bottom, right, top = GRAPH
    middle = (bottom + top) / 2
    return [(left, middle + 4, right, top), (left, bottom - 8, right, middle - 12)]


def law_curve(d: Drawing, law: Law, name: str, colour: str) -> None:
    """The value of a law over time, with the knots of a table."""
    numbers = EXAMPLES[type(law).__name__]
    knots = numbers.get("times", ())
    if "accelerations" in numbers:
        upper, lower = halves()
        curve(d, upper, lambda t: law.at(numbers, t)[2], (0.0, SPAN - 1e-9), ("t", f"{name}''"), knots=knots[:-1])
        curve(d, lower, lambda t: law.at(numbers, t)[0], (0.0, SPAN), ("t", name), colour=colour)
        return
    curve(d, GRAPH, lambda t: law.at(numbers, t)[0], (0.0, SPAN), ("t", name), colour=colour, knots=knots)


def joint_driver(kind: Any) -> Drawing:
    d = Drawing(f"A motor turns an arm by an angle q that {SHAPES[type(kind.law).__name__]} over time")
    place = (44.0, 50.0)
    axis_line(d, place, (104, 50))
    d.bar([place, (78.0, 106.0)], CHILD, 10)
    motor(d, place)
    turn_mark(d, place, 44, 3, 50, "q", far=10)
    law_curve(d, kind.law, "q", MOTION)
    return d


def _frame(d: Drawing, middle: tuple[float, float] = (58.0, 62.0), scale: float = 44.0) -> Projection:
    scene = Projection(scale, middle)
    scene.box(-0.22 * Z, (0.3 * X, 0.34 * Y, 0.2 * Z), CHILD)
    scene.draw(d)
    R, p = FIRST
    for k, name in enumerate("xyz"):
        d.arrow(scene.flat([p, p + 0.95 * R[:, k]]), colour=INK, width=1.3, head=7.0)
        d.word(scene.at(p + 1.2 * R[:, k]), name, size=10.0)
    return scene


def frame_driver(kind: Any) -> Drawing:
    d = Drawing(
        f"A body with a frame whose place along an axis of the world {SHAPES[type(kind.law).__name__]} over time"
    )
    scene = _frame(d)
    start, end = scene.flat([-0.75 * Y + 0.2 * Z, -0.75 * Y + 1.2 * Z])
    slide_mark(d, start, end, "z")
    law_curve(d, kind.law, "z", MOTION)
    return d


def frame_angle_driver(kind: Any) -> Drawing:
    d = Drawing(
        f"A body with a frame that turns about an axis by an angle that {SHAPES[type(kind.law).__name__]} over time"
    )
    scene = _frame(d)
    d.arrow(scene.flat(circle(1.6 * Z, Z, 0.34, 150, 390)), both=True)
    d.word(scene.at(1.6 * Z + 0.9 * Y), "yaw", colour=MOTION)
    law_curve(d, kind.law, "yaw", MOTION)
    return d


def joint_load(kind: Any) -> Drawing:
    d = Drawing(f"A force pushes a slide along its coordinate q; it {SHAPES[type(kind.law).__name__]} over time")
    slider(d, 40, 72, wide=38, end=108, start=10)
    force_mark(d, (60, 72), (94, 72), "Q")
    slide_mark(d, (26, 104), (66, 104), "q")
    law_curve(d, kind.law, "Q", FORCE)
    return d


def _wrench(d: Drawing) -> None:
    scene = _frame(d, (54.0, 58.0), 38.0)
    start, end = scene.flat([0.05 * Z, 0.05 * Z + 1.05 * Y + 1.35 * Z])
    d.arrow([start, end], colour=FORCE, width=2.8, head=10)
    d.word((end[0] + 4, end[1] + 12), "F", colour=FORCE)
    d.arrow(scene.flat(circle(1.75 * Z, Z, 0.38, 150, 390)), colour=FORCE, width=2.4)
    d.word(scene.at(1.8 * Z - 0.78 * Y), "M", colour=FORCE)


WRENCHES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "constant_wrench": ("are constant", {"force": [0, 0.7, 0.9], "moment": [0, 0, 0.45]}),
    "harmonic_wrench": (
        "swing as a sine",
        {"frequency": 2 * math.pi, "phase": 0.0, "force_amplitude": [0, 0, 0.5], "force_offset": [0, 0, 0.4],
         "moment_amplitude": [0, 0, -0.3], "moment_offset": [0, 0, 0.0]},
    ),
    "table_wrench": (
        "go through the values of a table",
        {"times": TABLE["times"], "forces": [[0, 0, v] for v in TABLE["values"]], "outside": "hold",
         "moments": [[0, 0, v] for v in (0.0, -0.3, 0.2, 0.3, 0.1)], "interpolation": "cubic"},
    ),
}  # fmt: skip


def wrench(name: str) -> Callable[[Any], Drawing]:
    """The picture of a force and a moment on a body, both over time."""
    words, numbers = WRENCHES[name]

    def draw(kind: Any) -> Drawing:
        d = Drawing(f"A force and a moment on a body at a frame; both {words} over time")
        _wrench(d)
        values = [lambda t, part=part: kind.wrench(numbers, t)[part][2] for part in (0, 1)]
        for box, value, what in zip(halves(), values, "FM", strict=True):
            curve(d, box, value, (0.0, SPAN), ("t", what), knots=numbers.get("times", ()))
        return d

    return draw


DRIVERS: dict[str, Callable[[ConstraintKind], Drawing]] = {
    **dict.fromkeys(("constant_speed", "harmonic", "polynomial", "table", "acceleration_table"), joint_driver),
    **dict.fromkeys(("frame_harmonic", "frame_polynomial", "frame_table"), frame_driver),
    **dict.fromkeys(("frame_angle_harmonic", "frame_angle_polynomial", "frame_angle_table"), frame_angle_driver),
}
LOADS: dict[str, Callable[[ForceKind], Drawing]] = {
    **dict.fromkeys(("constant_load", "harmonic_load", "polynomial_load", "table_load"), joint_load),
    **{name: wrench(name) for name in WRENCHES},
}
