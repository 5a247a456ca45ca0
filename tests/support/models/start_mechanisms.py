"""Mechanisms for tests of starts, each with its poses in closed form: links as vectors, dyads as meeting circles.

All turn about +y, which takes x to -z: a link of length r at the angle c ends at r (cos c, -sin c) in the xz plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.support.models.mechanisms import rod

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.5
UPPER, LOWER, PIVOT = 0.6, 0.5, (0.9, -0.1)  # of the six-bar's second dyad, and the place of its pivot in the xz plane
Points = np.ndarray  # (2,) or (2, B)


def tip(length: float | np.ndarray, angle: float | np.ndarray) -> Points:
    return np.array([length * np.cos(angle), -length * np.sin(angle)])


def meeting(a: Points, b: Points, ra: Any, rb: Any, side: int) -> Points:
    """Where circles about a and b meet, left (+1) or right (-1) of the way from a to b; NaN where they do not."""
    way = b - a
    d = np.hypot(*way)
    along = (d**2 + ra**2 - rb**2) / (2 * d)
    with np.errstate(invalid="ignore"):
        up = np.sqrt(ra**2 - along**2)
    x, z = way / d
    return np.array([a[0] + along * x - side * up * z, a[1] + along * z + side * up * x])


def angle(vector: Any) -> Any:
    return np.arctan2(-vector[1], vector[0])


def wrapped(difference: Any) -> Any:
    return np.angle(np.exp(1j * np.asarray(difference)))


def stated(values: Mapping[str, float | None], joint: str) -> dict[str, float]:
    """The displacement of a joint, where there is one."""
    value = values.get(joint)
    return {} if value is None else {"initial_displacement": value}


def four_bar(**values: float | None) -> Model:
    """Crank, coupler, rocker; joints crank, elbow, hinge (rocker on ground), top (coupler on rocker)."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("right", T=(GROUND, 0.0, 0.0))
    a = builder.assembly("a")
    _four_bar(a, values)
    return builder.build()


def _four_bar(a: Any, values: Mapping[str, float | None]) -> None:
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        a.body(name, **rod(length))
    a.joint("crank_joint", "Ry", child="crank", **stated(values, "crank"))
    a.joint("elbow", "Ry", parent=("crank", "tip"), child="coupler", **stated(values, "elbow"))
    a.joint("hinge", "Ry", parent=("fixed", "right"), child="rocker", **stated(values, "hinge"))
    a.joint("top", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"), **stated(values, "top"))


def six_bar(**values: float | None) -> Model:
    """The four-bar with a dyad (upper, lower) from the rocker's tip to a second pivot."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.frame("right", T=(GROUND, 0.0, 0.0)).frame("far", T=(PIVOT[0], 0.0, PIVOT[1]))
    a = builder.assembly("a")
    _four_bar(a, values)
    a.body("upper", **rod(UPPER)).body("lower", **rod(LOWER))
    a.joint("knee", "Ry", parent=("rocker", "tip"), child="upper", **stated(values, "knee"))
    a.joint("far_hinge", "Ry", parent=("fixed", "far"), child="lower", **stated(values, "far_hinge"))
    a.joint("foot", "Ry", parent=("upper", "tip"), child=("lower", "tip"), **stated(values, "foot"))
    return builder.build()


def five_bar(**values: float | None) -> Model:
    """Two cranks of 0.3 m, 0.5 m apart, joined by two links of 0.4 m; joints left, up, middle, down, right."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("right", T=(GROUND, 0.0, 0.0))
    a = builder.assembly("a")
    for name, length in (("first", 0.3), ("second", 0.4), ("third", 0.4), ("fourth", 0.3)):
        a.body(name, **rod(length))
    a.joint("left", "Ry", child="first", **stated(values, "left"))
    a.joint("up", "Ry", parent=("first", "tip"), child="second", **stated(values, "up"))
    a.joint("right_joint", "Ry", parent=("fixed", "right"), child="fourth", **stated(values, "right"))
    a.joint("down", "Ry", parent=("fourth", "tip"), child="third", **stated(values, "down"))
    a.joint("middle", "Ry", parent=("second", "tip"), child=("third", "tip"), **stated(values, "middle"))
    return builder.build()


def slider_crank(**values: float | None) -> Model:
    """A crank of 0.2 m, a rod of 0.5 m, a slider along x; joints crank_joint, elbow, wrist, guide."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    a.body("crank", **rod(CRANK)).body("coupler", **rod(COUPLER)).body("slider", mass=1.0, inertia=(0.1, 0.1, 0.1))
    a.joint("crank_joint", "Ry", child="crank", **stated(values, "crank"))
    a.joint("elbow", "Ry", parent=("crank", "tip"), child="coupler", **stated(values, "elbow"))
    a.joint("guide", "Tx", child="slider", **stated(values, "guide"))
    a.joint("wrist", "Ry", parent=("coupler", "tip"), child="slider", **stated(values, "wrist"))
    return builder.build()


RSSR = {"crank": 0.15, "coupler": 0.65, "rocker": 0.35, "ground": 0.5, "aside": 0.3}


def rssr(
    crank: float | None, hinge: float | None = None, starts: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> Model:
    """A crank about y, a rocker about x half a metre away, a rod with a ball at either end.

    Args:
        starts: joint -> what else it states.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("right", T=(RSSR["ground"], RSSR["aside"], 0.0))
    a = builder.assembly("a")
    a.body("crank", **rod(RSSR["crank"])).body("coupler", **rod(RSSR["coupler"]))
    a.body("rocker", mass=1.0, center_of_mass=(0, 0, 0.17), inertia=(0.01, 0.01, 0.001),
           frames={"tip": (0, 0, RSSR["rocker"])})  # fmt: skip
    a.joint("crank_joint", "Ry", child="crank", **stated({"crank": crank}, "crank"),
            **starts.get("crank_joint", {}))  # fmt: skip
    a.joint("hinge", "Rx", parent=("fixed", "right"), child="rocker", **stated({"hinge": hinge}, "hinge"),
            **starts.get("hinge", {}))  # fmt: skip
    a.joint("ball", "spherical", parent=("crank", "tip"), child="coupler", **starts.get("ball", {}))
    a.joint("socket", "spherical", parent=("coupler", "tip"), child=("rocker", "tip"), **starts.get("socket", {}))
    return builder.build()


def rssr_hinges(crank: float) -> tuple[float, float]:
    """Both rocker angles h: its tip (ground, aside - r sin h, r cos h) is a coupler away from the crank's."""
    (x, z), r, aside = tip(RSSR["crank"], crank), RSSR["rocker"], RSSR["aside"]
    right = ((x - RSSR["ground"]) ** 2 + aside**2 + r**2 + z**2 - RSSR["coupler"] ** 2) / (2 * r)
    middle, half = np.arctan2(aside, z), np.arccos(right / np.hypot(aside, z))  # aside sin h + z cos h = right
    return float(middle + half), float(middle - half)


def delta_heights(angles: np.ndarray, rod: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Heights (B,) of delta's platform over its base on the file's side and on the mirrored one, for angles (3, B).

    Where three spheres about the ends of the arms, moved in by the platform's radius, meet, and whether they do.
    """
    about, out = np.arange(3)[:, None] * 2 * np.pi / 3, 0.2 + 0.3 * np.cos(angles) - 0.06
    a, b, c = np.array([out * np.cos(about), out * np.sin(about), -0.3 * np.sin(angles)]).transpose(1, 2, 0)
    normal = np.cross(b - a, c - a)
    square = (normal**2).sum(1)
    sides = [((u - v) ** 2).sum(1) for u, v in ((b, c), (c, a), (a, b))]
    weights = np.array([sides[k] * (sum(sides) - 2 * sides[k]) for k in range(3)])
    centre = (weights[:, :, None] * np.array([a, b, c])).sum(0) / weights.sum(0)[:, None]
    room = rod**2 - ((centre - a) ** 2).sum(1)
    up = np.sqrt(np.maximum(room, 0.0)) * normal[:, 2] / np.sqrt(square)
    return centre[:, 2] + up, centre[:, 2] - up, room > 0
