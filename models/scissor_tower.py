"""A tower of scissors on a mast, for any number of floors, as a v2.0 document.

Each floor has two freedoms in the plane of x and y: it leans about its foot, and it becomes longer. So a revolute and a
prismatic joint stand for it (after the tower of Vona, Virtual Articulation and Kinematic Abstraction in Robotics,
2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]
"""A model file as plain JSON values."""

GRAVITY = 9.81  # m/s^2, along -y
HALF = 0.25  # m from the end of a bar to its middle
OPENING = 0.6  # rad between a bar and the mast
LEAN = 0.15  # rad, of floors to one side and the other
DENSITY = 2.0  # kg/m


def scissor_tower(floors: int, cells: int = 1) -> Document:
    """Floors on top of each other, each a lazy tongs of crossing bars that lifts the next platform along a mast.

    A floor has 8 + 3 cells joints, 6 + 2 cells bodies and 2 + cells loops: 16 floors of 3 cells have 272 joints.

    Args:
        floors: at least 1. cells: pairs of bars that cross in each, at least 1.

    Returns:
        The document. Of floor i from 1 on: `lean_i` and `lift_i`, the joints of the mast, whose coordinates are its
        angle [rad] and its length [m]; `platform_i`, its upper end, whose origin is the foot of the next one. Angles
        count anticlockwise about +z. The first one stands on the frame `foot` of ground.
    """
    if floors < 1 or cells < 1:
        raise ValueError(f"a tower needs floors >= 1 and cells >= 1, got {floors} and {cells}")
    bodies, joints = list[Document](), list[Document]()
    base, at = "fixed", "foot"
    for i in range(1, floors + 1):
        lean = LEAN * (-1.0) ** i - (LEAN * (-1.0) ** (i - 1) if i > 1 else 0.0)
        for one in _floor(i, cells, base, at, lean):
            (bodies if "inertia" in one else joints).append(one)
        base, at = f"platform_{i}", "origin"
    return {
        "model_parameters": {"version": "2.0", "gravity": [0, -GRAVITY, 0]},
        "frames": [{"name": "foot", "T": [0, 0, 0]}],
        "assemblies": [{"name": "tower", "bodies": bodies, "joints": joints}],
    }


def _floor(i: int, cells: int, base: str, at: str, lean: float) -> Iterator[Document]:
    """Bodies and joints of a floor, all at the same opening.

    Bars reach to the left and to the right of the mast in turn: the bar at the left is turned by + the opening, its
    neighbour there by -.
    """
    length = 2.0 * HALF * math.cos(OPENING) * (cells + 1)
    yield _bar(f"mast_{i}", 2.0 * HALF)
    yield _pin(f"lean_{i}", (base, at), (f"mast_{i}", "origin"), lean)
    ends, turned = dict[str, str](), {"left": OPENING, "right": -OPENING}
    for side, angle in turned.items():
        yield _bar(f"low_{side}_{i}", HALF)
        yield _pin(f"foot_{side}_{i}", (base, at), (f"low_{side}_{i}", "origin"), lean + angle)
        ends[side] = f"low_{side}_{i}"
    for k in range(1, cells + 1):
        names = {side: f"bar_{side}_{i}_{k}" for side in turned}  # from that side to the other
        for side, angle in turned.items():
            yield _bar(names[side], 2.0 * HALF)
            yield _pin(f"pin_{side}_{i}_{k}", (ends[side], "tip"), (names[side], "origin"), -2.0 * angle)
        yield _pin(f"cross_{i}_{k}", (names["left"], "middle"), (names["right"], "middle"), 2.0 * OPENING)
        ends = {"left": names["right"], "right": names["left"]}
    yield {**_bar(f"platform_{i}", HALF), "frames": []}
    for side, angle in turned.items():
        top = f"high_{side}_{i}"
        yield _bar(top, HALF)
        yield _pin(f"end_{side}_{i}", (ends[side], "tip"), (top, "origin"), -2.0 * angle)
        yield _pin(f"top_{side}_{i}", (top, "tip"), (f"platform_{i}", "origin"), angle)
    lift = _pin(f"lift_{i}", (f"mast_{i}", "origin"), (f"platform_{i}", "origin"), length)
    yield {**lift, "type": "prismatic", "axis": "y"}


def _bar(name: str, length: float) -> Document:
    """A thin uniform rod from the body's origin along y."""
    mass = DENSITY * length
    across = mass * length**2 / 12.0
    return {
        "name": name,
        "center_of_mass": [0, 0.5 * length, 0],
        "inertia": {"mass": mass, "Ixx": across, "Iyy": 0, "Izz": across},
        "frames": [{"name": "middle", "T": [0, 0.5 * length, 0]}, {"name": "tip", "T": [0, length, 0]}],
    }


def _pin(name: str, parent: tuple[str, str], child: tuple[str, str], angle: float) -> Document:
    """A revolute joint about z."""
    ends = {key: [[body], frame] for key, (body, frame) in (("parent", parent), ("child", child))}
    return {"name": name, "type": "Rz", **ends, "initial_displacement": angle}
