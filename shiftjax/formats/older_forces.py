"""Controllers and tyres as the source tool writes them, `"type": "pid"` and `"tire"`, become registered kinds."""

from __future__ import annotations

import math
from typing import Any

from shiftjax.forces import FORCES
from shiftjax.formats.names import Names
from shiftjax.formats.node import Node
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import FIXED, ORIGIN, Element, FrameRef

# Of a passenger car: the example of Adams Tire, but for the radius, which is that at which wheels of public
# files start. The source tool's own logs have its stiffnesses, 310 000 N/m and 1e6 N.
FIALA = {"radius": 0.344, "width": 0.235, "vertical_stiffness": 310e3, "vertical_damping": 3.1e3, "c_slip": 1e6,
         "c_alpha": 800.0 * 180.0 / math.pi, "u_min": 0.9, "u_max": 1.0}  # fmt: skip
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


def fiala_tyre(node: Node, name: str, names: Names, local: str) -> Element:
    """A tire of a file without numbers of its own: those of a passenger car are assumed, and a warning says so."""
    if not isinstance(node["wheel_body"].value, (str, list, tuple)):
        node["wheel_body"].refuse("the name of a body", "Name the wheel.")
    transient = node["use_transient_slip"].flag(default=False)
    kind = FORCES["transient_fiala_tyre" if transient else "fiala_tyre"]
    numbers = FIALA | (RELAXATION if transient else {})
    values: dict[str, Any] = {field.name: field.default for field in kind.numbers()} | numbers
    values["up"] = "-z"  # in the source tool's files of vehicles z points down
    listed = ", ".join(f"{key} {value:.6g}" for key, value in numbers.items())
    node.warn(f"a Fiala tyre without numbers: assumed {listed} (SI)")
    frames = (FrameRef(names.body(node["wheel_body"], local), ORIGIN), FrameRef(FIXED, ORIGIN))
    type_ = "transient_fiala_tyre" if transient else "fiala_tyre"
    active, comment = node["active"].flag(default=True), node["comment"].comment()
    return Element(name, type_, (), frames, FrozenJson(values), active, comment)
