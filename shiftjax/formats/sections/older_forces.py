"""Controllers and tyres as the source tool writes them, `"type": "pid"` and `"tire"`, become registered kinds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shiftjax.forces import FORCES
from shiftjax.forces.tyres.property_files import PropertyFile
from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.paths import parts
from shiftjax.mechanism.records import FIXED, ORIGIN, Element, FrameRef

# Of a passenger car: the example of Adams Tire, but for the radius, which is that at which wheels of public
# files start. The source tool's own logs have its stiffnesses, 310 000 N/m and 1e6 N.
FIALA = {"radius": 0.344, "width": 0.235, "vertical_stiffness": 310e3, "vertical_damping": 3.1e3, "c_slip": 1e6,
         "c_alpha": 800.0 * 180.0 / math.pi, "u_min": 0.9, "u_max": 1.0}  # fmt: skip
TYRES = {"fiala": "fiala_tyre", "pac2002": "pacejka_tyre"}  # word of a tire -> the kind of force
RELAXATION = {"relaxation_x": 0.05, "relaxation_y": 0.3}  # m, of the same size of tyre


def controller(node: Node, source: Node, sink: Node, name: str, names: Names, local: str) -> Element:
    """What a pid reads, a joint or a frame, by position or speed, decides its kind.

    Args:
        source, sink: its input and its output.

    Raises:
        ModelError: a position along the frame's own axes, or of what turns; the rate of a speed.
    """
    sink["type"].choice({"joint"})
    out = names.coordinate(sink["joint"], local)[0]
    what = source["type"].choice({"joint", "frame"})
    default = "velocity" if what == "frame" else "position"  # public files of cars leave it out at a frame
    speed = source["target_type"].choice({"position", "velocity"}, default) == "velocity"
    joints, frames, words = (out,), tuple[FrameRef, ...](), dict[str, Any]()
    if what == "joint":
        joints = (names.coordinate(source["joint"], local)[0], out)
    else:
        frames = (names.frame(source["body_frame_pair"], local),)
        words = _component(source, speed=speed)
    type_ = f"{what}_{'speed' if speed else 'position'}_pid"
    kind = FORCES[type_]
    values: dict[str, Any] = {field.name: field.default for field in (*kind.numbers(), *kind.words)}
    values |= {key: node[key].number(0.0) for key in ("p", "i", "d", "target")}
    if speed and values.pop("d"):
        node["d"].refuse("0 where a speed is read: its rate is an acceleration, which this force changes", "Write 0.")
    active, comment = node["active"].flag(default=True), node["comment"].comment()
    return Element(name, type_, joints, frames, FrozenJson(values | words), active, comment)


def _component(source: Node, *, speed: bool) -> dict[str, Any]:
    """The words of a controller that reads a frame."""
    kind = FORCES["frame_speed_pid" if speed else "frame_position_pid"]
    choices = {field.name: set(field.choices) for field in kind.words}
    words = {"dof": source["dof"].choice(choices["dof"])} if source.has("dof") else {"dof": "Tx"}
    system = source["coordinate_system"].choice({"local", "global"}) if source.has("coordinate_system") else "local"
    if speed:
        return {**words, "coordinate_system": system}
    if system == "local" and source.has("coordinate_system"):
        source["coordinate_system"].refuse("global, for the position of a frame", "Write global.")
    return words


def tyre(node: Node, names: Names, local: str) -> Node:
    """A tire as a force of a registered kind, with its numbers in SI.

    Those of a `pac2002` are in the property file that it names; a `fiala` has none, so that those of a passenger car
    are assumed, and a warning says so.

    Raises:
        ModelError: a model of another name, a wheel that is no body, a property file that cannot be used.
    """
    model = node["tire_type"].choice(set(TYRES))
    transient = node["use_transient_slip"].flag(default=False)
    wheel = node["wheel_body"]
    if not isinstance(wheel.value, (str, list, tuple)):
        wheel.refuse("the name of a body", "Name the wheel.")
    body, where = names.body(wheel, local), node.where
    if model == "pac2002":
        where, numbers = _of_property_file(node, names, transient=transient)
    elif node.has("definition"):  # files of that format do not agree about the units of slopes and relaxation lengths
        todo = "Write a force of type fiala_tyre or transient_fiala_tyre with its numbers in place of the tire."
        node["definition"].refuse("property files of pac2002 only", todo)
    else:
        numbers = FIALA | (RELAXATION if transient else {})
        node.warn(f"a Fiala tyre without numbers: assumed {_listed(numbers)} (SI)")
    more = {key: node.value[key] for key in ("name", "active", "comment") if node.has(key)}
    values = {
        "type": f"transient_{TYRES[model]}" if transient else TYRES[model],
        "frames": [[parts(body) if body != FIXED else [FIXED], ORIGIN], [[FIXED], ORIGIN]],
        "up": "-z",  # in the source tool's files of vehicles z points down
    }
    return Node({**more, **values, **numbers}, where, node.warnings, node.scope)


def _of_property_file(node: Node, names: Names, *, transient: bool) -> tuple[str, dict[str, float]]:
    """Where the numbers of a pac2002 stand, and the numbers.

    What is quoted of files that lie elsewhere is what they say of a tyre: another file has no such entries.
    """
    if not node.has("definition"):
        todo = "Name it, or write a force of type pacejka_tyre with its numbers in place of the tire."
        node["definition"].refuse("the name of a property file, as car.tir", todo)
    file = PropertyFile(names.neighbours.find(node["definition"]))
    numbers = file.pacejka()
    if transient:
        lengths = file.relaxation()
        if lengths is None:
            node.warn(f"no relaxation lengths (PTX1, PTY1) in {file.name}: assumed {_listed(RELAXATION)} (SI)")
        numbers |= lengths or RELAXATION
    return f"{node.where}: {file.name}: ", numbers


def _listed(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {value:.6g}" for key, value in numbers.items())
