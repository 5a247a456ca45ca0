"""Pictures of forces along a joint: springs, stops, friction, motors, controllers, with the law that is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

from shiftjax.docs.kind_pictures.drawing import CHILD, FORCE, INK, MOTION, PARENT, THIN, Drawing
from shiftjax.docs.kind_pictures.machine_parts import (
    axis_line,
    block,
    curve,
    damper,
    ground,
    motor,
    rectangle,
    slide_mark,
    spring,
    turn_mark,
)
from shiftjax.forces import ForceKind
from shiftjax.forces.kind import Load
from shiftjax.plan_elements import ForceElement, MotionView

GRAPH = (130.0, 16.0, 234.0, 146.0)  # where the law is drawn


class OneJoint:
    """One joint at a displacement and a speed: all that a force along it asks of a mechanism."""

    def __init__(self, q: float, v: float) -> None:
        self.q, self.v, self.t = q, v, 0.0

    def values(self, numbers: Mapping[str, Any]) -> Mapping[str, Any]:
        return numbers

    def coordinate(self, index: int) -> float:
        return self.q

    def speed(self, index: int) -> float:
        return self.v

    def speeds(self, index: int) -> list[float]:
        return [self.speed(index)]

    def speed_index(self, index: int) -> int:
        return 0


def force_along(
    kind: ForceKind, numbers: Mapping[str, Any], *, q: float = 0.0, v: float = 0.0, states: tuple[float, ...] = ()
) -> tuple[float, list[float]]:
    """The force of a kind along its joint [N or N m], and the rates of its states."""
    given = {field.name: field.default for field in kind.fields} | dict(numbers)
    motion = cast("MotionView", OneJoint(q, v))
    load = Load(motion, cast("Any", None))
    element = cast("ForceElement", SimpleNamespace(numbers=given, coordinates=(0,), words=()))
    rates = kind.apply(element, motion, load, states)
    return float(load.generalized[0]), [float(rate) for rate in rates]


def _wall(d: Drawing, x: float, low: float, high: float, *, facing_right: bool = True) -> None:
    if facing_right:
        ground(d, (x, high), (x, low))
    else:
        ground(d, (x, low), (x, high))


def _of_displacement(d: Drawing, kind: Any, numbers: Mapping[str, Any], span: float) -> None:
    curve(d, GRAPH, lambda q: force_along(kind, numbers, q=q)[0], (-span, span), ("q", "Q"))


def _of_speed(d: Drawing, kind: Any, numbers: Mapping[str, Any], span: tuple[float, float], **named: Any) -> None:
    curve(d, GRAPH, lambda v: force_along(kind, numbers, v=v)[0], span, ("q'", "Q"), **named)


def joint_spring(kind: Any) -> Drawing:
    d = Drawing("A block held to a wall by a spring and a damper side by side; the force falls with the displacement")
    _wall(d, 14, 46, 106)
    spring(d, (14, 92), (76, 92))
    damper(d, (14, 62), (76, 62))
    d.shape(rectangle(92, 77, 32, 50), CHILD)
    slide_mark(d, (76, 116), (104, 116), "q")
    _of_displacement(d, kind, {"k": 1.0, "rest": -0.3, "c": 0.0}, 1.0)
    return d


def stop(kind: Any) -> Drawing:
    d = Drawing("A block between two stiff springs, free in the middle; beyond each end the force rises steeply")
    _wall(d, 12, 50, 98)
    _wall(d, 118, 50, 98, facing_right=False)
    for wall, end in ((12.0, 34.0), (118.0, 96.0)):
        spring(d, (wall, 76), (end, 76), turns=3, size=9)
        d.line([(end, 62), (end, 90)], colour=FORCE, width=2.6)
    ground(d, (30, 56), (100, 56))
    d.shape(rectangle(65, 72, 28, 30), CHILD)
    slide_mark(d, (48, 106), (82, 106), "q")
    _of_displacement(d, kind, {"lower": -0.6, "upper": 0.6, "k": 1.0, "blend": 0.15}, 1.0)
    return d


def coulomb_friction(kind: Any) -> Drawing:
    d = Drawing("A block slides on a rough face; the force is against the speed, nearly of one level")
    teeth = [(12.0 + 4 * k, 60.0 + (4.0 if k % 2 else 0.0)) for k in range(27)]
    d.shape([*teeth, (116, 46), (12, 46)], PARENT)
    d.shape(rectangle(60, 81, 44, 34), CHILD)
    d.arrow([(38, 68), (14, 68)], colour=FORCE, width=2.6, head=10)
    d.word((16, 82), "Q", colour=FORCE)
    d.arrow([(48, 112), (84, 112)])
    d.word((94, 113), "q'", colour=MOTION)
    _of_speed(d, kind, {"level": 1.0, "slip_speed": 0.06, "viscous": 0.2}, (-1.0, 1.0))
    return d


def lugre_friction(kind: Any) -> Drawing:
    d = Drawing(
        "Bristles between a block and a face bend, then slide; steady sliding needs less force than breaking loose"
    )
    d.shape([(12, 36), (116, 36), (116, 50), (12, 50)], PARENT)
    d.shape(rectangle(62, 98, 60, 28), CHILD)
    for k in range(9):
        x = 36.0 + 6.5 * k
        d.line([(x, 84), (x - 1, 72), (x - 5, 60), (x - 11, 51)], colour=FORCE)
    d.arrow([(48, 128), (84, 128)])
    d.word((94, 129), "q'", colour=MOTION)
    numbers = {"static": 1.0, "kinetic": 0.55, "stribeck_speed": 0.2, "stiffness": 1.0, "damping": 0.0, "viscous": 0.15}

    def steady(v: float) -> float:
        """The force once the bristles bend no more: their rate is linear in the bend."""
        rates = [force_along(kind, numbers, v=v, states=(bend,))[1][0] for bend in (0.0, 1.0)]
        bend = rates[0] / (rates[0] - rates[1]) if v else 0.0
        return force_along(kind, numbers, v=v, states=(bend,))[0]

    curve(d, GRAPH, steady, (-1.0, 1.0), ("q'", "Q"))
    return d


def servo(kind: Any) -> Drawing:
    d = Drawing("A block drawn to a target as by a spring and a damper; the force has a limit")
    ground(d, (10, 50), (120, 50))
    d.shape(rectangle(34, 66, 30, 30), CHILD)
    spring(d, (49, 74), (100, 74), turns=4, size=5)
    damper(d, (49, 58), (100, 58), size=5)
    d.line([(100, 50), (100, 112)], colour=FORCE)
    d.shape([(100, 112), (120, 105), (100, 98)], FORCE, outline=0)
    d.word((100, 123), "target", colour=FORCE)
    slide_mark(d, (18, 94), (54, 94), "q")
    _of_displacement(d, kind, {"p": 4.0, "target": 0.2, "limit": 1.0}, 1.2)
    return d


def _driven(d: Drawing) -> None:
    place = (42.0, 56.0)
    axis_line(d, place, (106, 56))
    d.bar([place, (80.0, 110.0)], CHILD, 10)
    motor(d, place)
    turn_mark(d, place, 46, 3, 48, "q", far=10)
    d.arrow([(22, 74), (25, 78), (32, 83), (42, 85), (52, 84)][::-1], colour=FORCE, width=2.4)
    d.word((26, 96), "Q", colour=FORCE)


def dc_motor(kind: Any) -> Drawing:
    d = Drawing("A motor turns an arm; its torque falls along a line, from that of a stall to none at the idle speed")
    _driven(d)
    _of_speed(d, kind, {"stall": 1.0, "no_load": 1.0, "signal": 1.0}, (0.0, 1.15))
    return d


def torque_curve(kind: Any) -> Drawing:
    d = Drawing("A motor turns an arm; its torque follows straight lines between the points of a curve over the speed")
    _driven(d)
    speeds = [0.0, 0.4, 0.7, 0.9, 1.0]
    _of_speed(d, kind, {"speeds": speeds, "loads": [0.7, 1.0, 0.85, 0.4, 0.0]}, (0.0, 1.0), knots=speeds)
    return d


def _between(d: Drawing) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two bodies with a frame each, and the places of the frames."""
    d.bar([(14, 50), (30, 104)], PARENT, 14)
    d.bar([(112, 104), (100, 56)], CHILD, 14)
    first, second = (30.0, 104.0), (112.0, 104.0)
    d.word((30, 121), "1", size=13)
    d.word((112, 121), "2", size=13)
    return first, second


def restraint_spring(kind: Any) -> Drawing:
    d = Drawing(
        "A spring between frames of two bodies; its force is a polynomial of the distance, another one beyond a knot"
    )
    first, second = _between(d)
    spring(d, first, second)
    knots = [0.45]
    numbers = {"knot_points": knots, "coefficients": [[1.0, 0.0], [7.0, -2.7]]}
    curve(d, GRAPH, lambda x: force_along(kind, numbers, q=x)[0], (-1.0, 1.0), ("x", "Q"), knots=knots)
    return d


def restraint_damper(kind: Any) -> Drawing:
    d = Drawing("A damper between frames of two bodies; its force is a polynomial of the rate of the distance")
    first, second = _between(d)
    damper(d, first, second)
    numbers = {"knot_points": [0.0], "coefficients": [[0.5, 0.0], [0.5, 1.5, 0.0]]}
    curve(d, GRAPH, lambda v: force_along(kind, numbers, v=v)[0], (-1.0, 1.0), ("x'", "Q"), knots=[0.0])
    return d


def restraint_friction(kind: Any) -> Drawing:
    d = Drawing(
        "Friction between frames of two bodies; its force jumps where the rate of the distance changes its sign"
    )
    first, second = _between(d)
    d.line([first, (64, 104)], colour=FORCE, width=2.4)
    d.line([(54, 94), (88, 94)], colour=FORCE, width=2.4)
    d.line([(54, 114), (88, 114)], colour=FORCE, width=2.4)
    d.line([(54, 94), (54, 114)], colour=FORCE, width=2.4)
    for k in range(5):
        x = 62.0 + 6 * k
        d.line([(x, 95), (x - 4, 101)], colour=FORCE, width=THIN)
        d.line([(x, 113), (x - 4, 107)], colour=FORCE, width=THIN)
    d.line([(60, 104), second], colour=FORCE, width=4.0)
    numbers = {"knot_points": [0.0], "coefficients": [[0.2, -1.0], [0.2, 1.0]]}
    curve(d, GRAPH, lambda v: force_along(kind, numbers, v=v)[0], (-1.0, 1.0), ("x'", "Q"))
    return d


READ = {  # class -> what is read, its name in words, whether of a joint
    "joint_position_pid": ("q₁", "the displacement of a joint", True),
    "joint_speed_pid": ("q₁'", "the speed of a joint", True),
    "frame_position_pid": ("z", "the place of a frame", False),
    "frame_speed_pid": ("z'", "the velocity of a frame", False),
}


def controller(name: str) -> Callable[[Any], Drawing]:
    """The picture of a controller: what is read, the difference from a target, and where it acts."""
    symbol, words, of_joint = READ[name]

    def draw(kind: Any) -> Drawing:
        integral = "PID" if "d" in {field.name for field in kind.fields} else "PI"
        d = Drawing(f"A controller {integral}: {words} is compared with a target; the answer is a torque of a motor")
        base, elbow, tip = (158.0, 66.0), (180.0, 108.0), (226.0, 120.0)
        adder = (48.0, 132.0)
        d.bar([base, elbow], CHILD, 10)
        d.bar([elbow, tip], PARENT, 10)
        d.circle(elbow, 4.0, "#fff")
        ground(d, (140, 50), (176, 50))
        motor(d, base)
        if of_joint:
            axis_line(d, elbow, (elbow[0] + 18, elbow[1] + 34))
            turn_mark(d, elbow, 30, 62, 20, "")
            start = (elbow[0] + 26, elbow[1] + 1)
        else:
            d.arrow([tip, (tip[0], tip[1] + 26)], colour=INK, width=1.3, head=6)
            d.word((tip[0] - 8, tip[1] + 24), "z", size=10)
            start = (tip[0] - 2, tip[1] - 8)
        d.line([start, (start[0], 20), (adder[0], 20)], colour=MOTION, width=1.3)
        d.arrow([(adder[0], 20), (adder[0], 123)], colour=MOTION, width=1.3, head=7)
        d.word((120, 31), symbol, colour=MOTION)
        d.word((adder[0] + 10, 114), "−")
        d.circle(adder, 9.0)
        d.word(adder, "Σ", size=11)
        d.word((16, 148), "target", anchor="start", size=11)
        d.arrow([(10, 132), (38, 132)], colour=INK, width=THIN, head=7)
        d.arrow([(57, 132), (72, 132)], colour=INK, width=THIN, head=7)
        block(d, (96, 132), integral)
        d.line([(120, 132), (146, 132)], colour=FORCE, width=1.6)
        d.arrow([(146, 132), (146, 106), (152, 83)], colour=FORCE, width=1.6)
        d.word((136, 114), "Q₂" if of_joint else "Q", colour=FORCE)
        return d

    return draw


RESTRAINTS: dict[str, Callable[[ForceKind], Drawing]] = {  # of a file's `restraints`, along a joint or between frames
    "spring": restraint_spring,
    "damper": restraint_damper,
    "friction": restraint_friction,
}
JOINT_FORCES: dict[str, Callable[[ForceKind], Drawing]] = {
    **{draw.__name__: draw for draw in (
        joint_spring, stop, coulomb_friction, lugre_friction, servo, dc_motor, torque_curve,
    )},
    **{name: controller(name) for name in READ},
}  # fmt: skip
