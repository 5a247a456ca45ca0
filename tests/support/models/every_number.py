"""A mechanism that has every numeric key of the format, those of an extension of each kind among them."""

from __future__ import annotations

from functools import cache
from typing import Any

from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from tests.extensions import gear, maxwell, screw  # noqa: F401

FORCES = {"stiffness": [0.3, 2.0, 1.0], "damping": [0.1, 0.2, 0.05]}
TIMES = [-0.1, 0.03025, 0.08025, 0.3]  # the inner knots off the instants of stages, whose steps are 1 ms
HELD = ("crank_pivot",)


def bar(length: float, **more: Any) -> dict[str, Any]:
    """Keywords of a body without any symmetry, with a frame `tip`."""
    tip = {"tip": {"T": (length, 0.02, 0.03), "rotation": (0.1, -0.2, 0.15)}}
    return {
        "mass": 1.3,
        "center_of_mass": (0.4 * length, 0.03, -0.02),
        "inertia": (0.02, 0.03, 0.035, 0.002, -0.001, 0.003),
        "frames": tip | more.pop("frames", {}),
        **more,
    }


@cache
def every_number() -> Model:
    """A base on four driven joints in a row; on it a closed loop that is nowhere planar, and what hangs on it.

    The loop has one freedom: a crank that turns, two hinges and a ball on the coupler, a rocker that turns.
    """
    builder = ModelBuilder(gravity=(0.4, -0.3, -9.7))
    builder.frame("hook", T=(0.3, 1.0, 0.8), rotation=(0.1, 0.3, -0.2))
    a = builder.assembly("a")
    _driven_base(a)
    _loop(a)
    _hanging(a)
    _forces(a)
    return builder.build()


def _driven_base(a: AssemblyBuilder) -> None:
    names = ("first", "second", "third")
    for name in names:
        a.body(name, **bar(0.2))
    a.body("base", **bar(0.2, frames={"crank": {"T": (0.02, 0.01, 0.1), "rotation": (0.1, 0.0, 0.2)},
                                      "rocker": {"T": (0.5, 0.05, 0.02), "rotation": (0.2, 0.1, 0.0)}}))  # fmt: skip
    stack = [("fixed", "hook"), *((name, "tip") for name in names)]
    for k, (kind, child) in enumerate(zip(("Tx", "Ry", "Rz", "Rx"), (*names, "base"), strict=True)):
        a.joint(f"stage{k}", kind, parent=stack[k], child=child, initial_displacement=0.1 * k)
    ends = {"first_rate": 0.4, "last_rate": -0.3}
    a.driver("cam", "table", joint="stage0", times=TIMES, values=[0.0, 0.03, 0.05, 0.02], **ends)
    a.driver("swing", "harmonic", joint="stage1", amplitude=0.2, frequency=7.0, phase=0.4, offset=0.1, rate=0.3)
    a.driver("motor", "constant_speed", joint="stage2", speed=1.5, offset=0.2)
    a.driver("ramp", "polynomial", joint="stage3", coefficients=[0.3, 0.5, 2.0], origin=-0.1)


def _loop(a: AssemblyBuilder) -> None:
    a.body("crank", **bar(0.2)).body("coupler", **bar(0.5)).body("cross", **bar(0.05)).body("rocker", **bar(0.4))
    a.joint("crank_pivot", "revolute", axis=(0.1, 0.9, 0.2), parent=("base", "crank"), child="crank",
            initial_displacement=-1.0, initial_velocity=4.0, **FORCES)  # fmt: skip
    a.joint("ball", "spherical", parent=("crank", "tip"), child="coupler",
            initial_displacement={"rotation": (0.0, 0.53, 0.0)})  # fmt: skip
    a.joint("hinge", "revolute", axis=(0.2, 1.0, 0.1), parent=("base", "rocker"), child="rocker",
            initial_displacement=-1.44)  # fmt: skip
    a.joint("knee", "Ry", parent=("rocker", "tip"), child="cross", initial_displacement=0.96)
    a.joint("ankle", "Rx", parent=("cross", "tip"), child=("coupler", "tip"))


def _hanging(a: AssemblyBuilder) -> None:
    """A nut on a screw, geared to the crank; a stone that floats, to which a part is fixed."""
    a.body("nut", **bar(0.1)).body("stone", **bar(0.2)).body("part", **bar(0.1))
    a.joint("lead", "my_screw", parent=("rocker", "tip"), child="nut", axis="x", pitch=0.05)
    a.constraint("teeth", "my_gear", joints=["crank_pivot", "lead"], ratio=2.0, offset=-1.6)
    a.joint("free", "float", child="stone", initial_velocity=(0.1, 0.2, -0.3, 1.0, 2.0, -1.0),
            initial_displacement={"T": (0.5, 0.6, 0.7), "rotation": (0.3, 0.2, 0.1)})  # fmt: skip
    a.joint("weld", "rigid", parent=("stone", "tip"), child="part",
            initial_displacement={"T": (0.05, 0.02, 0.01), "rotation": (0.1, 0.2, 0.3)})  # fmt: skip


def _forces(a: AssemblyBuilder) -> None:
    ends: dict[str, Any] = {"frames": (("stone", "tip"), ("coupler", "tip"))}
    a.restraint("rope", "spring", **ends, knot_points=[0.2, 0.5], coefficients=[[10.0, 1.0], [20.0, 3.0], [9.0, 2.0]])
    a.restraint("brake", "damper", **ends, coefficients=[[3.0, 1.0, 0.2]])
    a.restraint("rub", "friction", joint="lead", knot_points=[-9.0], coefficients=[[-0.1, 0.1], [0.2, 0.3]])
    a.force("creep", "maxwell", joint="hinge", k=3.0, c=0.7, initial_stretch=0.2)
    a.force("push", "constant_load", joint="hinge", load=0.7)
    a.force("shake", "harmonic_load", joint="knee", amplitude=2.0, frequency=9.0, phase=0.5, offset=0.2, rate=3.0)
    a.force("rise", "polynomial_load", joint="ankle", coefficients=[0.2, 1.0, 8.0], origin=-0.2)
    a.force("pulse", "table_load", joint="lead", times=TIMES, values=[0.3, 0.8, -0.4, 0.1], first_rate=1.0,
            last_rate=2.0)  # fmt: skip
    a.force(
        "pull", "constant_wrench", frame=("crank", "tip"), force=(0.5, 1.0, -2.0), moment=(0.1, 0.2, 0.3), axes="body"
    )
    a.force("shaker", "harmonic_wrench", frame=("stone", "tip"), frequency=12.0, phase=0.3,
            force_amplitude=(1.0, 0.5, 5.0), force_offset=(0.2, 0.3, 0.4),
            moment_amplitude=(0.1, 0.2, 0.3), moment_offset=(0.3, 0.1, 0.2))  # fmt: skip
    a.force("gust", "table_wrench", frame=("coupler", "tip"), times=TIMES, axes="frame",
            forces=[[0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [0.5, -0.5, 0.2], [0.2, 0.1, 0.0]],
            moments=[[0.1, 0.0, 0.2], [0.3, 0.1, 0.2], [0.1, 0.4, 0.2], [0.2, 0.1, 0.3]])  # fmt: skip
