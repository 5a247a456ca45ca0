"""Closed loops in which joints of several coordinates stand: whole, or as elementary joints with massless bodies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.rotations import along, rotation_about
from tests.support.models.mechanisms import rod

TILT = 0.4
PARTS = {
    "cylindrical": ("Ry", "Ty"),
    "universal": ("Rx", "Ry"),
    "planar": ("Tx", "Ty", "Rz"),
    "translational_2d": ("Tx", "Ty"),
    "translational_3d": ("Tx", "Ty", "Tz"),
    "pin_slider": ("Tx", "Rz"),
    "euler_zyx": ("Rz", "Ry", "Rx"),
    "euler_zxz": ("Rz", "Rx", "Rz"),
}


def linked(
    a: AssemblyBuilder, type_: str, parent: Any, child: Any, start: dict[str, float], *, whole: bool, **more: Any
) -> None:
    """A joint `hub`, or elementary ones hub_0, hub_1 ... between massless bodies."""
    if whole:
        extra = {"axis": "y"} if type_ == "cylindrical" else {}
        a.joint("hub", type_, parent=parent, child=child, initial_displacement=start, **extra, **more)
        return
    near = parent
    for k, (name, elementary) in enumerate(zip(KINDS[type_].names, PARTS[type_], strict=True)):
        last = k == len(PARTS[type_]) - 1
        if not last:
            a.body(f"part{k}", mass=0.0, inertia=(0.0, 0.0, 0.0))
        own = {key: values[name] for key, values in more.items() if name in values}
        start_of_one = {"initial_displacement": start[name]} if name in start else {}
        a.joint(f"hub_{k}", elementary, parent=near, child=child if last else f"part{k}", **start_of_one, **own)
        near = f"part{k}"


def bar(*, whole: bool = True, **more: Any) -> Model:
    """A spatial four-bar whose rocker may slide along its axle."""
    b = ModelBuilder(gravity=(0.0, 0.5, -9.81)).frame("far", T=(0.5, 0.0, 0.0))
    a = b.assembly("a").body("crank", **rod(0.2)).body("coupler", **rod(0.5)).body("rocker", **rod(0.4))
    a.joint("pivot", "Ry", child="crank", initial_displacement=-1.0, initial_velocity=2.0)
    a.joint("pin", "spherical", parent=("crank", "tip"), child="coupler")
    start = {"angle": -1.4380176710407746} if not more.pop("bare", False) else {}
    linked(a, "cylindrical", ("fixed", "far"), "rocker", start, whole=whole, **more)
    a.joint("top", "spherical", parent=("coupler", "tip"), child=("rocker", "tip"))
    return b.build()


def shafts(*, whole: bool = True, **more: Any) -> Model:
    """Two shafts at an angle, coupled by a universal joint."""
    c, s = math.cos(TILT), math.sin(TILT)
    b = ModelBuilder(gravity=(0.0, 0.0, 0.0)).frame("tilted", R=((1, 0, 0), (0, c, -s), (0, s, c)))
    a = (
        b.assembly("a")
        .body("one", mass=1.0, inertia=(0.1, 0.1, 0.02))
        .body("other", mass=1.0, inertia=(0.1, 0.1, 0.03))
    )
    a.joint("pivot", "Rz", child="one", initial_velocity=3.0, initial_displacement=0.0)
    linked(a, "universal", "one", "other", {"first": TILT, "second": 0.0}, whole=whole, **more)
    a.joint("bearing", "Rz", parent=("fixed", "tilted"), child="other")
    return b.build()


def plate(*, whole: bool = True, **more: Any) -> Model:
    """A plate on a plane, led by a crank."""
    b = ModelBuilder(gravity=(0.0, -2.0, 0.0))
    a = (
        b.assembly("a")
        .body("crank", **rod(0.2))
        .body("plate", mass=2.0, inertia=(0.1, 0.1, 0.2), center_of_mass=(0.1, 0, 0))
    )
    a.joint("pivot", "Rz", child="crank", initial_displacement=0.3, initial_velocity=4.0)
    start = {"x": 0.2 * math.cos(0.3), "y": 0.2 * math.sin(0.3), "angle": 0.5}
    linked(a, "planar", "fixed", "plate", start, whole=whole, **more)
    a.joint("pin", "Rz", parent=("crank", "tip"), child="plate", initial_displacement=0.2)
    return b.build()


def table(*, whole: bool = True, **more: Any) -> Model:
    """A table that a crank leads in circles without turning it."""
    b = ModelBuilder(gravity=(0.0, -2.0, 0.0))
    a = b.assembly("a").body("crank", **rod(0.2)).body("table", mass=2.0, inertia=(0.1, 0.1, 0.2))
    a.joint("pivot", "Rz", child="crank", initial_displacement=0.3, initial_velocity=4.0)
    start = {"x": 0.2 * math.cos(0.3), "y": 0.2 * math.sin(0.3)}
    linked(a, "translational_2d", "fixed", "table", start, whole=whole, **more)
    a.joint("pin", "Rz", parent=("crank", "tip"), child="table", initial_displacement=-0.3)
    return b.build()


def lifted(*, whole: bool = True, **more: Any) -> Model:
    """The same in space: the crank's plane is tilted, and a ball holds the table."""
    c, s = math.cos(TILT), math.sin(TILT)
    b = ModelBuilder(gravity=(0.0, -2.0, -1.0)).frame("tilted", R=((1, 0, 0), (0, c, -s), (0, s, c)))
    a = b.assembly("a").body("crank", **rod(0.2)).body("table", mass=2.0, inertia=(0.1, 0.1, 0.2))
    a.joint("pivot", "Rz", parent=("fixed", "tilted"), child="crank", initial_displacement=0.3, initial_velocity=4.0)
    x, y = 0.2 * math.cos(0.3), 0.2 * math.sin(0.3)
    linked(a, "translational_3d", "fixed", "table", {"x": x, "y": c * y, "z": s * y}, whole=whole, **more)
    a.joint("pin", "spherical", parent=("crank", "tip"), child="table")
    return b.build()


def quick_return(*, whole: bool = True, **more: Any) -> Model:
    """A crank whose pin runs in the slot of a rocker (Whitworth's quick return)."""
    b = ModelBuilder(gravity=(0.0, -9.81, 0.0)).frame("far", T=(0.5, 0.0, 0.0))
    x, y = 0.2 * math.cos(1.0) - 0.5, 0.2 * math.sin(1.0)
    rocker = math.atan2(y, x)
    a = b.assembly("a").body("crank", **rod(0.2)).body("rocker", **rod(0.4))
    a.joint("pivot", "Rz", child="crank", initial_displacement=1.0, initial_velocity=2.0)
    a.joint("hinge", "Rz", parent=("fixed", "far"), child="rocker", initial_displacement=rocker)
    start = {"slide": math.hypot(x, y), "angle": 1.0 - rocker}
    linked(a, "pin_slider", "rocker", ("crank", "tip"), start, whole=whole, **more)
    return b.build()


def gimbal(type_: str, angles: tuple[float, float, float]) -> Callable[..., Model]:
    """An arm on three turns in a row, whose tip a link leads on a sphere."""

    def model(*, whole: bool = True, **more: Any) -> Model:
        R = np.eye(3)
        for axis, angle in zip(type_.removeprefix("euler_"), angles, strict=True):
            R = R @ np.array(rotation_about(along(axis, None), angle))
        link = np.array([math.cos(1.1), math.sin(0.4) * math.sin(1.1), -math.cos(0.4) * math.sin(1.1)])
        far = R @ [0.4, 0.0, 0.0] - 0.5 * link
        b = ModelBuilder(gravity=(0.0, 0.5, -1.0)).frame("far", T=tuple(map(float, far)))
        a = b.assembly("a").body("arm", **{**rod(0.4), "inertia": (0.02, 0.03, 0.04)}).body("link", **rod(0.5))
        velocity = {"initial_velocity": {"first": 0.5, "third": 1.0}}
        linked(
            a,
            type_,
            "fixed",
            "arm",
            dict(zip(KINDS[type_].names, angles, strict=True)),
            whole=whole,
            **velocity,
            **more,
        )
        a.body("cross", mass=0.0, inertia=(0.0, 0.0, 0.0))
        a.joint("pivot", "Rx", parent=("fixed", "far"), child="cross", initial_displacement=0.4)
        a.joint("swing", "Ry", parent="cross", child="link", initial_displacement=1.1)
        a.joint("top", "spherical", parent=("link", "tip"), child=("arm", "tip"))
        return b.build()

    return model


MODELS: dict[str, Callable[..., Model]] = {
    "cylindrical": bar,
    "universal": shafts,
    "planar": plate,
    "translational_2d": table,
    "translational_3d": lifted,
    "pin_slider": quick_return,
    "euler_zyx": gimbal("euler_zyx", (0.6, -0.5, 0.3)),
    "euler_zxz": gimbal("euler_zxz", (0.6, 1.2, 0.3)),
}
