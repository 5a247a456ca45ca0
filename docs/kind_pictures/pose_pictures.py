"""Pictures of drivers of whole poses: a frame at instants of its motion before another one, as the kind's law says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftjax.constraints import ConstraintKind
from shiftjax.constraints.pose_drivers import POSE_DRIVERS, PoseDriver
from shiftjax.docs.kind_pictures.drawing import CHILD, MOTION, PARENT, THIN, Drawing
from shiftjax.docs.kind_pictures.frame_pictures import Z
from shiftjax.docs.kind_pictures.solids import RIGHT, Projection
from shiftjax.rotations import normalized, rotation_of_quaternion

SPAN = 1.0  # s
EXAMPLES: dict[str, dict[str, Any]] = {
    "uniform": {
        "origin": 0.0, "position": (0.0, 0.35, 1.25), "velocity": (0.0, 2.9, -0.6), "acceleration": (0.0, 0.0, 2.6),
        "rotation": (0.0, 0.0, 0.0), "angular_velocity": (0.9, 0.0, 0.0), "angular_acceleration": (0.7, 0.0, 0.0),
    },
    "harmonic": {
        "frequency": math.pi, "phase": -math.pi / 2, "position": (0.0, 1.8, 1.2),
        "position_amplitude": (0.0, 1.35, 0.45), "rotation": (0.0, 0.0, 0.4), "rotation_amplitude": (0.9, 0.0, 0.0),
    },
    "table": {
        "times": [0.0, 0.35, 0.65, 1.0],
        "positions": [[0.0, 0.35, 0.75], [0.0, 1.2, 1.75], [0.0, 2.2, 1.75], [0.0, 3.2, 0.95]],
        "rotations": [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.3, 0.0], [1.4, 0.6, 0.0]], "outside": "hold",
    },
}  # fmt: skip
WORDS = {
    "uniform": "with constant acceleration",
    "harmonic": "by a sine about a pose",
    "table": "through the poses of a table",
}


def poses(kind: PoseDriver, name: str, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rotations and origins at equal intervals; of orientations alone side by side."""
    n, out = EXAMPLES[name], []
    for t in np.linspace(0.0, SPAN, count):
        R = np.array(rotation_of_quaternion(normalized(kind.law.orientation(n, float(t)))), float)
        place = np.array(kind.law.place(n, float(t))[0], float) if kind.whole else (0.55 + 2.15 * t) * RIGHT + 0.45 * Z
        out.append((R, place))
    return out


def triad(scene: Projection, d: Drawing, pose: tuple[np.ndarray, np.ndarray], name: str, colour: str) -> None:
    """A frame; axes have letters where it has a name."""
    R, p = pose
    for k, axis in enumerate("xyz"):
        d.arrow(scene.flat([p, p + 0.5 * R[:, k]]), colour=colour, width=2.4 if axis == "z" else 1.3, head=7.0)
        if name:
            d.word(scene.at(p + 0.68 * R[:, k]), axis, size=10.0)
    x, y = scene.at(p)
    d.circle((x, y), 3.2, colour, width=THIN)
    d.word((x + 1, y - 13), name, colour=colour, size=13.0)


def pose_driver(name: str, *, whole: bool) -> Callable[[Any], Drawing]:
    """The picture of a driver by the name of its law."""

    def draw(kind: Any) -> Drawing:
        what = "moves and turns" if whole else "turns"
        d = Drawing(f"Frame 2 {what} before frame 1, {WORDS[name]}: the frame at four instants of the motion")
        scene = Projection(54.0, (26.0, 38.0) if whole else (26.0, 62.0))
        triad(scene, d, (np.eye(3), np.zeros(3)), "1", PARENT)
        if whole:
            d.line(scene.flat([place for _, place in poses(kind, name, 25)]), colour=MOTION, dash="5 3")
        *before, last = poses(kind, name, 4)
        for pose in before:
            triad(scene, d, pose, "", PARENT)
        triad(scene, d, last, "2", CHILD)
        if not whole:
            start, end = (scene.at(place - 0.75 * Z) for _, place in (before[0], last))
            d.arrow([start, end], colour="currentColor", width=THIN, head=6.0)
            d.word((end[0] + 9, end[1]), "t", size=11.0)
        return d

    return draw


POSES_IN_TIME: dict[str, Callable[[ConstraintKind], Drawing]] = {
    kind: pose_driver(kind.partition("_")[2], whole=kind.startswith("pose_")) for kind in POSE_DRIVERS
}
