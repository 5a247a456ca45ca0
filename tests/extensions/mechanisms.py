"""Closed loops in which the extensions stand; nothing is entered in a table."""

from __future__ import annotations

import math
from collections.abc import Callable

from shiftjax.formats.builder import AssemblyBuilder, ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from tests.support.models.mechanisms import COUPLER, CRANK, GROUND, ROCKER, rod

PITCH = 0.05  # m/rad
# error of the energy of RK4 at 1 ms over a second; a step over a kink adds some
SMOOTH, KINK = 1e-9, 1e-6


def four_bar(gravity: float = -9.81) -> tuple[ModelBuilder, AssemblyBuilder]:
    """A planar four-bar in assembly a.

    Its joints: pivot (crank), pin, hinge (rocker), joint.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, gravity))
    builder.frame("shaft", T=(0.0, 0.3, -0.4)).frame(
        "rocker", T=(GROUND, 0.0, 0.0)
    )
    bar = builder.assembly("a")
    for name, length in (
        ("crank", CRANK),
        ("coupler", COUPLER),
        ("rocker", ROCKER),
    ):
        bar.body(name, **rod(length))
    bar.joint(
        "pivot",
        child="crank",
        initial_displacement=-1.0,
        initial_velocity=2.0,
        type="Ry",
    )
    bar.joint(
        "pin",
        "Ry",
        parent=("crank", "tip"),
        child="coupler",
        initial_displacement=0.526088824933593,
    )
    bar.joint(
        "hinge",
        "Ry",
        parent=("fixed", "rocker"),
        child="rocker",
        initial_displacement=-1.4380176710407746,
    )
    bar.joint(
        "joint",
        "Ry",
        parent=("coupler", "tip"),
        child=("rocker", "tip"),
        initial_displacement=-0.9641064959743676,
    )
    return builder, bar


def geared(constraint: bool = True) -> Model:
    """A disc that turns half as fast as the crank of a four-bar."""
    builder, bar = four_bar()
    bar.body("disc", mass=1.0, inertia=(0.02, 0.03, 0.02))
    bar.joint(
        "spin",
        "Ry",
        parent=("fixed", "shaft"),
        child="disc",
        initial_displacement=0.3,
    )
    if constraint:
        bar.constraint(
            "teeth", "my_gear", joints=["pivot", "spin"], ratio=2.0, offset=-1.6
        )
    return builder.build()


def damped() -> Model:
    """A Maxwell element on the rocker of a four-bar, stretched at the start."""
    builder, bar = four_bar()
    bar.force(
        "creep", "maxwell", joint="hinge", k=3.0, c=0.7, initial_stretch=0.2
    )
    return builder.build()


def press(screwed: bool = True) -> Model:
    """A nut on a lead screw pushes a carriage, which lifts a slider by a rod.

    The screw is along x. With `screwed` False it is a slider, a massless part
    and a hinge, which a gear couples.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    tilt = math.asin(0.3 / 0.5)
    builder.frame("guide", T=(0.4, 0.0, 0.3))
    a = builder.assembly("a")
    a.body(
        "nut",
        mass=0.5,
        inertia=(0.01, 0.02, 0.02),
        center_of_mass=(0.0, 0.01, 0.0),
    )
    if screwed:
        a.joint(
            "lead",
            "my_screw",
            child="nut",
            axis="x",
            pitch=PITCH,
            initial_velocity=3.0,
        )
    else:
        a.body("part", mass=0.0, inertia=(0.0, 0.0, 0.0)).joint(
            "way", "Tx", child="part", initial_velocity=3.0 * PITCH
        )
        a.joint("lead", "Rx", parent="part", child="nut", initial_velocity=3.0)
        a.constraint("thread", "my_gear", joints=["way", "lead"], ratio=PITCH)
    a.body("carriage", mass=0.4, inertia=(0.01, 0.01, 0.01)).joint(
        "slide", "Tx", child="carriage"
    )
    a.joint("bearing", "Rx", parent="nut", child="carriage")
    a.body("link", **rod(0.5)).joint(
        "heel",
        "Ry",
        parent="carriage",
        child="link",
        initial_displacement=-tilt,
    )
    a.body("lift", mass=1.0, inertia=(0.1, 0.1, 0.1))
    a.joint("rise", "Tz", parent=("fixed", "guide"), child="lift")
    a.joint(
        "toe",
        "Ry",
        parent=("link", "tip"),
        child="lift",
        initial_displacement=tilt,
    )
    return builder.build()


def cammed(follower: str = "roller") -> Model:
    """A cam on the crank of a four-bar lifts a slider over its shaft.

    The cam's plane is that of the four-bar.
    """
    builder, bar = four_bar()
    tilt = {"roller": (0.0, 0.0, 0.0), "flat": (0.0, -math.pi / 2, 0.0)}[
        follower
    ]
    bar.body(
        "cam",
        frames={"axis": {"rotation": (-math.pi / 2, 0.0, 0.0)}},
        mass=0.3,
        inertia=(0.001, 0.002, 0.001),
    )
    bar.joint("key", "rigid", parent="crank", child="cam")
    bar.body(
        "lifter",
        mass=0.5,
        inertia=(0.01, 0.01, 0.01),
        frames={"tip": {"rotation": tilt}},
    )
    bar.joint(
        "lift", "Tz", child="lifter", initial_displacement=0.11796369823545962
    )
    radii = [0.16 + 0.05 * math.cos(math.pi * k / 4) for k in range(8)]
    bar.constraint(
        "profile",
        "my_cam",
        frames=[("cam", "axis"), ("lifter", "tip")],
        radii=radii,
        follower=follower,
    )
    return builder.build()


def bouncing() -> Model:
    """The pin of a four-bar runs on a floor, into which it sinks a little."""
    builder, bar = four_bar()
    builder.frame("floor", T=(0.0, 0.0, 0.14))
    bar.force(
        "floor",
        "my_contact",
        frames=[("crank", "tip"), ("fixed", "floor")],
        radius=0.05,
        k=2e4,
        c=0.5,
    )
    return builder.build()


def stopped() -> Model:
    """The rocker of a four-bar swings between stops."""
    builder, bar = four_bar()
    bar.force(
        "ends", "my_stop", joint="hinge", lower=-1.35, upper=-1.2, k=3e2, c=0.1
    )
    return builder.build()


def rubbed() -> Model:
    """Bristles in the bearing of a four-bar's rocker, bent at the start."""
    builder, bar = four_bar()
    bar.force(
        "rub", "my_bristle", joint="hinge", k=10.0, slip=0.5, initial_bend=0.02
    )
    return builder.build()


def quick_return() -> Model:
    """A crank whose pin leads a rocker by a slot, sprung along the slot.

    Whitworth's quick return.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame(
        "far", T=(0.5, 0.0, 0.0)
    )
    x, z = CRANK * math.cos(1.0) - 0.5, CRANK * math.sin(1.0)
    rocker = -math.atan2(z, x)
    a = (
        builder.assembly("a")
        .body("crank", **rod(CRANK))
        .body("rocker", **rod(ROCKER))
    )
    a.joint(
        "pivot",
        "Ry",
        child="crank",
        initial_displacement=-1.0,
        initial_velocity=2.0,
    )
    a.joint(
        "hinge",
        "Ry",
        parent=("fixed", "far"),
        child="rocker",
        initial_displacement=rocker,
    )
    start = {"slide": math.hypot(x, z), "angle": -1.0 - rocker}
    a.joint(
        "pin",
        "slot",
        parent="rocker",
        child=("crank", "tip"),
        initial_displacement=start,
        stiffness={"slide": [0.0, 20.0]},
    )
    return builder.build()


@record
class Case:
    """An extension in a mechanism.

    Attributes:
        number: path of one of its numbers; values: of three designs.
        channels: whose values are compared.
        file: of the extension; lines: how long it may be.
        energy: bound of the error, relative to the largest energy.
        rests: whether in some states it does nothing.
    """

    model: Callable[[], Model]
    number: str
    values: tuple[float, float, float]
    channels: tuple[str, ...]
    file: str
    lines: int
    energy: float = SMOOTH
    rests: bool = False


CASES = {
    "gear": Case(
        geared,
        "a:teeth.ratio",
        (1.5, 2.0, -3.0),
        ("pivot.q", "spin.q", "hinge.v"),
        "gear.py",
        40,
    ),
    "maxwell": Case(
        damped,
        "a:creep.k",
        (1.0, 3.0, 9.0),
        ("pivot.q", "creep.stretch", "hinge.v"),
        "maxwell.py",
        24,
    ),
    "screw": Case(
        press,
        "a:lead.pitch",
        (0.02, 0.05, 0.1),
        ("lead.q", "rise.q", "heel.v"),
        "screw.py",
        30,
    ),
    "cam": Case(
        cammed,
        "a:profile.radii[2]",
        (0.155, 0.16, 0.168),
        ("pivot.q", "lift.q", "lift.v"),
        "cam.py",
        46,
        10 * SMOOTH,
    ),
    "contact": Case(
        bouncing,
        "a:floor.k",
        (1e4, 2e4, 4e4),
        ("pivot.q", "hinge.q", "pivot.v"),
        "contact.py",
        32,
        KINK,
        rests=True,
    ),
    "stop": Case(
        stopped,
        "a:ends.k",
        (1e2, 3e2, 9e2),
        ("pivot.q", "hinge.q", "hinge.v"),
        "stop.py",
        32,
        KINK,
        rests=True,
    ),
    "bristle": Case(
        rubbed,
        "a:rub.slip",
        (0.3, 0.5, 2.0),
        ("pivot.q", "rub.bend", "hinge.v"),
        "bristle.py",
        30,
        10 * SMOOTH,
    ),
    "slot": Case(
        quick_return,
        "a:pin.initial_displacement.slide",
        (0.41, 0.43, 0.45),
        ("pivot.q", "pin.angle", "pin.slide.v"),
        "slot.py",
        10,
        10 * SMOOTH,
    ),
}
