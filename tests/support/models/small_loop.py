"""A spatial loop of two freedoms, a ball, a slider, a hinge, springs and dampers; and three planar four-bars."""

from __future__ import annotations

from typing import Any

import numpy as np

import shiftjax

PLACES = np.array([0.06, 0.1, 0.14])  # m, of the slider


def small_loop() -> shiftjax.Model:
    """Without symmetry, a frame `c` at each centre of mass; closed where all coordinates are zero."""
    builder = shiftjax.ModelBuilder(gravity=(0.7, 0.0, -9.81))
    builder.frame("anchor", T=(0.7, 0.1, 0.2))
    a = builder.assembly("a")
    a.body(
        "arm",
        mass=1.3,
        center_of_mass=(0.2, 0.05, -0.03),
        inertia=(0.03, 0.05, 0.06),
        frames={"tip": (0.4, 0, 0), "c": (0.2, 0.05, -0.03)},
    )
    a.body(
        "bead",
        mass=0.4,
        center_of_mass=(0.01, -0.02, 0.05),
        inertia=(0.004, 0.003, 0.002),
        frames={"c": (0.01, -0.02, 0.05)},
    )
    a.body(
        "rod",
        mass=0.9,
        center_of_mass=(0.1, 0.05, 0.1),
        inertia=(0.02, 0.03, 0.025),
        frames={"tip": (0.3, 0.1, 0.2), "c": (0.1, 0.05, 0.1)},
    )
    a.joint("ball", "spherical", child="arm", initial_velocity=(0.4, -0.3, 0.9))
    a.joint("slide", "Tz", parent=("arm", "tip"), child="bead", stiffness=(0.0, 200.0), damping=(0.0, 2.0))
    a.joint("hinge", "Ry", parent="bead", child="rod", stiffness=(0.1, 3.0), damping=(0.0, 0.4))
    a.joint("end", "spherical", parent=("rod", "tip"), child=("fixed", "anchor"))
    ends = [("rod", "origin"), ("fixed", "anchor")]
    a.restraint("coil", "spring", frames=ends, knot_points=[], coefficients=[[90.0, -20.0]])
    return builder.build()


def loop_states(**given: Any) -> Any:
    """Three closed, moving members of it, of several arms."""
    options = {"q": {"slide": PLACES}, "v": {"slide": 0.5}, "vary": {"rod.mass": [0.9, 1.0, 1.1]}} | given
    return shiftjax.configuration(small_loop(), **options)


def bar_states() -> Any:
    """Three four-bars, whose loop is planar, with couplers of several masses."""
    masses = [1.0, 1.2, 1.5]
    return shiftjax.configuration("four_bar", {"crank_pivot": [0.4, 0.7, 1.1]}, vary={"coupler.mass": masses})
