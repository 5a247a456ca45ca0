"""The page of the catalogue, made from the tables of kinds, so that it is always the program's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable

from shiftjax.constraints import ANY, CONSTRAINTS, ConstraintKind
from shiftjax.docs.kind_checks import checked
from shiftjax.docs.kind_pictures.pictures import picture
from shiftjax.field import Field
from shiftjax.forces import FORCES, ForceKind
from shiftjax.joints import KINDS, JointKind

MANY = 12  # numbers of a kind, of which no more are listed
INTRODUCTION = """# Catalogue

Every kind of joint, constraint, driver and force that a model file can name, and what it does. The
[file format](format.md) has the keys, units and an example of each; [Extending](extending.md) shows how to write one of
your own, in some 30 lines.

In the pictures what holds is grey, what moves is blue, and what is between them ochre. An orange arrow is a coordinate
or a speed, its filled head the positive sense; forces and springs are red. Arrows of joints, curves over time,
displacement or speed, and how far gears turn are computed by the kinds themselves.

*Checked* says against what the tests hold a kind, on a tree and in a closed loop, and by which files under `tests/`;
constraints, drivers and forces in batches of designs. Slopes are derivatives by reverse mode, beside differences.

A slider on a spindle, between stops, held by a controller, three targets at once:

```python
import math

import shiftjax

builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
a = builder.assembly("press")
a.body("spindle", mass=1.0, inertia=(0.002, 0.002, 0.001))
a.body("head", mass=20.0, inertia=(0.2, 0.2, 0.2))
a.joint("drive", "Rz", child="spindle").joint("rail", "Tz", child="head")
a.constraint("nut", "screw_coupling", joints=["rail", "drive"], pitch=0.001)
gains = {"p": 40.0, "d": 5.0, "i": 60.0, "target": 0.02}
a.force("control", "joint_position_pid", joints=["rail", "drive"], **gains)
a.force("end", "stop", joint="rail", upper=0.025, k=1e6, c=1e3, blend=1e-4)
result = shiftjax.simulate(
    builder.build(),
    span=2.0,
    vary={"control.target": [0.01, 0.02, 0.03]},
    channels=["rail.q", "nut.multiplier"],
)
print(result.channels["rail.q"][:, -1])
```

A `point_on_curve` needs a coordinate that says how far along the curve the point is: that of a massless slider beside
it, which can be driven, sprung and recorded as any other, or of a joint of the mechanism, which then leads the point.

<!-- tested with: 0.05 * k for k in range(127) as 0.20 * k for k in range(32); span=2.0 as span=0.5 -->
```python
turns = [0.05 * k for k in range(127)]
track = [
    [0.5 * math.cos(a), 0.3 * math.sin(a), 0.05 * math.sin(3 * a)]
    for a in turns[:-1]
]
builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
a = builder.assembly("ride")
a.body("car", mass=0.2, inertia=(1e-4, 1e-4, 1e-4)).body("place")
start = {"x": 0.5}
a.joint("free", "translational_3d", child="car", initial_displacement=start)
a.joint("along", "Tx", child="place", initial_velocity=2.0)
a.constraint(
    "rail",
    "point_on_curve",
    frames=["fixed", "car"],
    joint="along",
    points=track,
    ends="closed",
)
channels = ["along.q", "rail.multiplier"]
ride = shiftjax.simulate(builder.build(), span=2.0, channels=channels)
assert ride.status == 0
```

Balls and tyres roll on heights over a frame's x-y plane, a table with a bicubic spline through it or a polynomial; of
the raster of a [terrain](format.md) `shiftjax.viewer.scene.terrains.terrain.raster_surface` makes such a table, with at
most 20 samples along each side unless `samples` says otherwise. Of no more samples than that it is the surface that is
drawn, whose normal and specular maps change its light and not its heights. What it is to carry must be smaller than its
hollows.

Friction of a joint has a level that is a number (`coulomb_friction`, `lugre_friction`), or grows with what the joint
bears. For the latter a joint is a **bearing** (it turns; each turn of a universal joint or of Euler angles is one,
too), a **slide**, a **sleeve** (a cylindrical joint does both), a **plate** (a planar joint) or a **ball**, with
**dry** friction, or in bearings and slides with **bristles** that stick:

* What presses is N = |F|, F the joint's reaction across its axis, on one support at the joint's frame on the child.
  A `span` b makes them two, which bear moments, too: N = |F/2 + M × u / b| + |F/2 − M × u / b|, M the reaction's
  moment and u the axis. `preload` is added.
* A bearing has the torque c (`radius` N + `axial_radius` |F · u|), a slide the force c (N + 2 |M · u| / `width`). A
  sleeve has c N against the way on which its surface slips, as a force and, times its `radius`, as a torque.
* A plate has the same with N = |F · u| + 2 |M × u| / `width`, u its normal. A ball has the torque c `radius` N against
  its angular velocity, N = |F|. Both pins of a universal joint bear its whole reaction: give each a `bearing_friction`,
  as of `shaft.first` and `shaft.second`.
* Dry: c = `friction_coefficient` tanh(s / `slip_speed`), s = q′ or how fast a surface slips: it creeps where it should
  stick. Bristles: c = `stiffness` z + `damping` z′, z′ = q′ − |q′| `stiffness` z / g, g from the static to the kinetic
  coefficient as speed grows.

Friction changes the accelerations, these the reactions, and those the friction: the loads of all joints are solved for
together with the accelerations in every stage, to rounding, so that nothing lags and a start has no transient. Joints
in loops have such friction as others do, whichever is cut; slopes go through it. A load that balance alone leaves open,
as across a planar linkage, is that of the reactions of [least norm](conventions.md#reactions), which a note says. Where
friction presses a joint as much as it holds it back no force satisfies the law (Painlevé's paradox: a drawer that
jams), and the run ends as `non_finite` with a message that names the friction. Near that, loads are right to 1e-8 up to
a gain, how much friction presses for each newton that presses, of 0.999; those of several joints may be taken for
jammed beyond.

It costs: a slider-crank in a plane has 155 operations an acceleration without, 339 with it in one bearing, 1 800 in
three joints; the gradient of 16 384 of them takes 1.8, 2.7 and 3.0 runs.

A disc on a shaft runs down by the friction of its bearing, 0.3 m beside the disc:

```python
builder = shiftjax.ModelBuilder(gravity=(0.0, -9.81, 0.0))
a = builder.assembly("rotor")
a.body("disc", mass=2.0, inertia=(0.01, 0.01, 0.02), center_of_mass=(0, 0, 0.3))
a.joint("shaft", "Rz", child="disc", initial_velocity=30.0)
a.force(
    "journal",
    "bearing_friction",
    joint="shaft",
    friction_coefficient=0.3,
    slip_speed=0.05,
    radius=0.02,
    span=0.2,
)
run = shiftjax.simulate(
    builder.build(), span=0.5, channels=["shaft.v", "journal.friction"]
)
supports = 2.0 * 9.81 * ((0.3 / 0.2 + 0.5) + (0.3 / 0.2 - 0.5))  # N
assert math.isclose(run.channels["journal.friction"][-1], -0.006 * supports)
assert run.channels["shaft.v"][-1] < 30.0
```

What a constraint bears is its channel `NAME.multiplier`; a state of a force, as the integral of a controller, the bend
of bristles or of a tyre, is `NAME.STATE`. The numbers of a tyre's property file come from
`shiftjax.forces.tyres.property_files.tyre_numbers("car.tir")`; a `tire` of a model file that names one
(`"tire_type": "pac2002", "definition": "car.tir"`) becomes a `pacejka_tyre` with them, with `"use_transient_slip"` a
`transient_pacejka_tyre`, whose relaxation lengths are those of the file at the nominal load.
"""
JOINTS = """What the child does, as the parent sees it; axes in the corner are those of the parent's frame. `q[0]` is
the first coordinate of a joint, `v[0]` its first speed, where a quaternion or rotation vector has no coordinate for a
turn about one axis.
"""
RESTRAINTS = """Springs, dampers and friction between two frames or along a joint, by piecewise polynomials: Q = -f(x).
They stand in the [restraints](format.md#restraint) of a file.
"""
HEAD = "picture | kind"


@functools.cache
def catalogue() -> str:
    """The page: tables of joints, of constraints and drivers, and of forces. Only kinds of the package are in it."""
    joints = [_joint_row(name, kind) for name, kind in KINDS.items() if KINDS.ships(kind)]
    parts = [INTRODUCTION, "## Joints\n", JOINTS, _table(HEAD, joints)]
    for title, listed in (("Constraints", "constraints"), ("Drivers", "drivers")):
        rows = [
            _law_row(name, kind)
            for name, kind in CONSTRAINTS.items()
            if kind.listed == listed and CONSTRAINTS.ships(kind)
        ]
        parts += [f"## {title}\n", _table(HEAD, rows)]
    forces = [_law_row(name, kind) for name, kind in FORCES.items() if kind.listed and FORCES.ships(kind)]
    parts += ["## Forces\n", _table(HEAD, forces)]
    names = [name for name in ("spring", "damper", "friction") if FORCES.ships(FORCES[name])]
    parts += ["## Restraints\n", RESTRAINTS, _table(HEAD, [_restraint_row(name) for name in names])]
    return "\n".join(parts)


def _joint_row(name: str, kind: JointKind) -> str:
    freedoms = f"{kind.nv or 'no'} freedom{'s' * (kind.nv != 1)}"
    return _row(name, kind, freedoms, f"{kind.doc[:1].upper()}{kind.doc[1:]}.", _names(kind.fields))


def _law_row(name: str, kind: ConstraintKind | ForceKind) -> str:
    return _row(name, kind, _parts(kind), _sentence(kind), _names((*kind.fields, *kind.words)))


def _restraint_row(name: str) -> str:
    return _row(name, FORCES[name], "1 joint, or 2 frames", _sentence(FORCES[name]), "`knot_points`, `coefficients`")


def _row(name: str, kind: JointKind | ConstraintKind | ForceKind, of: str, text: str, numbers: str) -> str:
    """A picture, and beside it a line each: the name and what it is of, what it does, its numbers, its check."""
    lines = (f"**`{name}`** – {of}", text, f"*Numbers:* {numbers}" if numbers else "", checked(name))
    return f"{picture(name, kind).svg()} | {' <br>'.join(line for line in lines if line)}"


def _parts(kind: ConstraintKind | ForceKind) -> str:
    """What it is attached to: "2 joints", "1 frame"."""
    counts = ((kind.joints, "joint"), (kind.frames, "frame"))
    words = ["joints" if n == ANY else f"{n} {word}{'s' * (n > 1)}" for n, word in counts if n]
    return ", ".join(words)


def _sentence(kind: ConstraintKind | ForceKind) -> str:
    """Its first sentence, with what would end a cell of a table escaped."""
    law = getattr(kind, "law", None)
    text = kind.doc or inspect.getdoc(type(kind)) or ""
    text = " ".join(text.split("\n\n")[0].split())
    if law is not None:
        text = f"{text} {' '.join((inspect.getdoc(type(law)) or '').split(chr(10) * 2)[0].split())}"
    return text.replace("|", "\\|").replace("*", "\\*")


def _names(fields: Iterable[Field]) -> str:
    names = [f"`{field.key}`" for field in fields]
    return ", ".join(names) if len(names) <= MANY else f"{', '.join(names[:MANY])} and {len(names) - MANY} more"


def _table(head: str, rows: Iterable[str]) -> str:
    columns = head.count("|") + 1
    return "\n".join([f"| {head} |", "| --- " * columns + "|", *(f"| {row} |" for row in rows), ""])
