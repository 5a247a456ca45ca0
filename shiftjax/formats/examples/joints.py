"""Examples of joints of several coordinates."""

from __future__ import annotations

from typing import Any

from shiftjax.formats.examples.references import ORIGIN

# Joints of several coordinates, by type: a number for each by its name, or a list of them in order.
SEVERAL: dict[str, dict[str, Any]] = {
    "cylindrical": {
        "name": "barrel",
        "type": "cylindrical",
        "axis": [0, 0, 1],
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_displacement": {"angle": 0.5, "slide": 0.1},
        "initial_velocity": {"angle": 6},
        "damping": {"slide": [0, 2]},
        "limits": {"slide": [0, None]},
        "lock": ["angle"],
        "target": {"slide": {"value": 0.2, "weight": 5}},
    },
    "universal": {
        "name": "cross",
        "type": "universal",
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_displacement": [0.2, -0.1],
        "initial_velocity": [3, 0],
    },
    "planar": {
        "name": "table",
        "type": "planar",
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_displacement": {"x": 0.3, "y": -0.2, "angle": 1},
        "stiffness": {"x": [0, 200], "y": [0, 200]},
    },
    "translational_2d": {
        "name": "stage",
        "type": "translational_2d",
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_velocity": {"x": 0.2},
        "initial_displacement": {"x": 0.1, "y": 0.05},
    },
    "translational_3d": {
        "name": "gantry",
        "type": "translational_3d",
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_displacement": {"z": -0.4},
        "damping": {"x": [0, 5], "y": [0, 5], "z": [0, 20]},
    },
    "pin_slider": {
        "name": "slot",
        "type": "pin_slider",
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_displacement": {"slide": 0.2, "angle": 0.1},
        "stiffness": {"slide": [0, 200]},
    },
    "euler_zyx": {
        "name": "gimbal",
        "type": "euler_zyx",
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_displacement": {"first": 0.3, "second": -0.1},
        "initial_velocity": {"third": 20},
    },
}
