"""Documents shared by the tests of the reader, and a function to make them invalid."""

from __future__ import annotations

import math
from typing import Any

SI = {"angle": "radians", "length": "meters", "mass": "kilograms", "time": "seconds"}
INERTIA = {"Ixx": 0.11, "Iyy": 0.11, "Izz": 0.002, "Ixy": 0, "Iyz": 0, "Izx": 0}


def old() -> dict[str, Any]:
    """A double pendulum in v0.2; its second joint points against the tree."""
    return {
        "model_parameters": {
            "version": "0.2",
            "gravity": [0, 0, 9.81],
            "units": dict(SI),
            "include_dir": None,
            "simulation": {
                "integration_type": "ode113b",
                "time_span": 10,
                "time_step": 0.03,
                "relative_error": 0,
                "absolute_error": 1e-9,
                "omega_n": 50,
                "infinity_norm_multiplier": 1.5,
                "out_file": "out.csv",
            },
        },
        "fixed": {
            "frames": [{"name": "attachment", "T": [0, 0, -3]}],
            "lights": [{"name": "lamp", "type": "point", "parent": ["fixed", "attachment"], "Ka": [0.1, 0.1, 0.1]}],
        },
        "assemblies": [
            {
                "name": "pendulum",
                "active": True,
                "bodies": [
                    {
                        "name": "link1",
                        "mass": 2.0,
                        "center_of_mass": [0, 0, 0.4],
                        "moment_of_inertia": dict(INERTIA),
                        "frames": [{"name": "distal", "T": [0, 0, 0.8]}],
                        "definition": ["link.obj", "link.mtl"],
                    },
                    {"name": "link2", "mass": 1.0, "center_of_mass": [0, 0, 0.3], "moment_of_inertia": dict(INERTIA)},
                ],
                "joints": [
                    {
                        "name": "shoulder",
                        "type": "Rx",
                        "initial_displacement": 1.2,
                        "initial_velocity": 0,
                        "body_frame_pairs": [["fixed", "attachment"], ["link1", "origin"]],
                    },
                    {
                        "name": "elbow",
                        "type": "Rx",
                        "initial_displacement": 0.3,
                        "damping": [0, 0.02],
                        "body_frame_pairs": [["link2", "origin"], ["link1", "distal"]],
                    },
                ],
            }
        ],
    }


def new() -> dict[str, Any]:
    """The same in v2.0."""
    return {
        "model_parameters": {
            "version": "2.0",
            "gravity": [0, 0, 9.81],
            "units": dict(SI),
            "include_directories": [],
            "solvers": [{"infinity_norm_multiplier": 1.5}],
            "integrators": [
                {
                    "type": "ode113b",
                    "time_span": 10,
                    "time_step": 0.03,
                    "relative_error": 0,
                    "absolute_error": 1e-9,
                    "omega_n": 50,
                }
            ],
            "loggers": [{"type": "csv", "csv_logfile": "out.csv"}],
        },
        "frames": [{"name": "attachment", "T": [0, 0, -3]}],
        "lights": [{"name": "lamp", "type": "point", "parent": [["fixed"], "attachment"], "Ka": [0.1, 0.1, 0.1]}],
        "assemblies": [
            {
                "name": "pendulum",
                "bodies": [
                    {
                        "name": "link1",
                        "center_of_mass": [0, 0, 0.4],
                        "inertia": {"mass": 2.0, **INERTIA},
                        "frames": [{"name": "distal", "T": [0, 0, 0.8]}],
                        "geometry": [{"type": "mesh", "filename": ["link.obj", "link.mtl"]}],
                    },
                    {"name": "link2", "center_of_mass": [0, 0, 0.3], "inertia": {"mass": 1.0, **INERTIA}},
                ],
                "joints": [
                    {
                        "name": "shoulder",
                        "type": "Rx",
                        "initial_displacement": 1.2,
                        "initial_velocity": 0,
                        "parent": [["fixed"], "attachment"],
                        "child": [["link1"], "origin"],
                    },
                    {
                        "name": "elbow",
                        "type": "Rx",
                        "initial_displacement": 0.3,
                        "damping": [0, 0.02],
                        "parent": [["link2"], "origin"],
                        "child": [["pendulum", "link1"], "distal"],
                    },
                ],
            }
        ],
    }


def edited(path: str, value: Any, base: Any = new) -> dict[str, Any]:
    """The document with the value at a path such as "assemblies.0.bodies.1.name" set (or appended to a list)."""
    document = base()
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = document
    for step in way:
        place = place[step]
    if isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value  # pyright: ignore
    return document


A = "assemblies.0"
PAIR = [["fixed", "attachment"], ["link1", "distal"]]


def spring(**more: Any) -> dict[str, Any]:
    return edited(f"{A}.restraints", [{"name": "s", "type": "spring", "coefficients": [[1, 0]], **more}])


def shapes() -> list[dict[str, Any]]:
    """One geometry of every type, two of them with all that any may have."""
    offset = {"T": [1, 2, 3], "R": [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "rotation": [0, 0, 0.5]}
    own = {"radius": 0.5, "length": 2}
    return [
        {"type": "mesh", "filename": ["a.obj", "a.mtl"], "comment": "m", "colour": [0, 0.5, 1], **offset},
        {"type": "box", "size": [1, 2, 3], "comment": "b", "colour": [0, 0.5, 1, 0.5], **offset},
        {"type": "plane", "size": [1, 2]},
        {"type": "sphere", "radius": 0.5},
        {"type": "ellipsoid", "radii": [1, 2, 3]},
        {"type": "multisphere", "spheres": [[0, 0, 0, 1], [0, 0, 1, 0.5]]},
        *({"type": type, **own} for type in ("cylinder", "cone", "capsule", "arrow")),
        {"type": "line", "points": [[0, 0, 0], [1, 0, 0]]},
        {"type": "point_cloud", "points": [[0, 0, 0]]},
    ]


def everything() -> dict[str, Any]:
    """A v2.0 document with every kind of element."""
    document = new()
    c, s = math.cos(0.3), math.sin(0.3)
    document["comment"] = "all of it"
    document["terrain"] = [
        {"name": "hill", "parent": [["fixed"], "attachment"], "coordinate_type": "sae", "type": "basic"}
        | {"filename": "hill.tif", "x_scale": 2, "y_scale": 3, "normal_map": None, "interpolation_type": "bicubic"}
    ]
    document["lights"] += [
        {"name": "spot", "type": "spot", "parent": "attachment", "cone": 0.3},
        {"name": "moving", "type": "directional", "parent": [["pendulum", "link1"], "distal"], "Kd": [1, 1, 1]},
    ]
    assembly = document["assemblies"][0]
    assembly["comment"] = "two links"
    assembly["bodies"] += [
        {"name": "ball", "inertia": {"mass": 1}, "collision_geometry": "sphere", "comment": "b", "active": False},
        {"name": "free", "mass": 2, "frames": [{"name": "f", "R": [[c, -s, 0], [s, c, 0], [0, 0, 1]], "comment": "t"}]},
        {"name": "welded", "frames": None, "geometry": shapes()},
        {"name": "slid", "geometry": {"type": "mesh", "filename": "a.obj"}},
    ]
    assembly["joints"] += [
        {"name": "sphere", "type": "spherical", "parent": [["fixed"], "origin"], "child": [["ball"], "origin"]}
        | {"initial_displacement": {"R": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}, "initial_velocity": [1, 2, 3]},
        {"name": "six", "type": "float", "parent": [["fixed"], "origin"], "child": [["free"], "f"]}
        | {"initial_displacement": {"T": [1, 2, 3], "rotation": [0.1, 0, 0]}, "initial_velocity": [1, 2, 3, 4, 5, 6]},
        {"name": "weld", "type": "rigid", "parent": [["free"], "f"], "child": [["welded"], "origin"]}
        | {"initial_displacement": {"T": [0, 0.5, 0]}, "initial_velocity": 0},
        {"name": "slide", "type": "prismatic", "axis": [1, 1, 0], "stiffness": [1, 2], "comment": "c"}
        | {"parent": [["fixed"], "origin"], "child": [["slid"], "origin"], "active": True},
    ]
    assembly["restraints"] = [
        {"name": "stop", "type": "spring", "body_frame_pair": PAIR, "distance_type": "Tz"}
        | {"knot_points": [0], "coefficients": [[2, 0.5, 0], [0]]},
        {"name": "rub", "type": "friction", "joint": "elbow", "knot_points": [0], "coefficients": [[-1], [1]]},
        {"name": "damp", "type": "damper", "joint": ["pendulum", "slide"], "coefficients": [[3, 0]], "active": False},
    ]
    assembly["force_modules"] = [
        {"type": "tire", "name": "t", "tire_type": "fiala", "wheel_body": "link1", "active": False},
        {"type": "pid", "name": "p", "p": 1, "i": 0, "d": 0, "target": 0}
        | {"input": {"type": "joint", "joint": "elbow", "target_type": "velocity"}}
        | {"output": {"type": "joint", "joint": "elbow"}},
    ]
    assembly["assemblies"] = [{"name": "inner", "active": False, "assemblies": [{"name": "empty", "assemblies": []}]}]
    return document


def drivers() -> list[dict[str, Any]]:
    """A driver of every type, with all that it may have."""
    return [
        {"name": "motor", "type": "constant_speed", "joint": "elbow", "speed": 3, "comment": "c"},
        {"name": "offset", "type": "constant_speed", "joint": "shoulder", "speed": -1.5, "offset": 0.5},
        {"name": "swing", "type": "harmonic", "joint": "elbow", "amplitude": 0.3, "frequency": 2}
        | {"phase": 0.1, "offset": 0.2, "rate": 0.4},
        {"name": "lift", "type": "polynomial", "joint": "slide", "coefficients": [0.1, 0, 2, 0.5]},
        {
            "name": "cam",
            "type": "table",
            "joint": "elbow",
            "times": [0, 1, 3],
            "values": [0, 1, 0],
            "outside": "repeat",
        },
        {"name": "ramp", "type": "table", "joint": "slide", "times": [0, 2], "values": [0, 1]}
        | {"first_rate": 0.5, "last_rate": 0, "outside": "linear", "active": False},
    ]


def loads() -> list[dict[str, Any]]:
    """A load of every type, with all that it may have."""
    table = {"times": [0, 1, 3], "outside": "hold"}
    return [
        {"name": "push", "type": "constant_load", "joint": "slide", "load": 3},
        {"name": "shake", "type": "harmonic_load", "joint": "elbow", "amplitude": 2, "frequency": 9}
        | {"phase": 0.1, "offset": 0.2, "rate": 0.4},
        {"name": "grow", "type": "polynomial_load", "joint": "slide", "coefficients": [0, 2]},
        {
            "name": "brake",
            "type": "table_load",
            "joint": "elbow",
            "values": [0, 1, 0],
            "interpolation": "linear",
            **table,
        },
        {"name": "soft", "type": "table_load", "joint": "elbow", "values": [0, 1, 0], "last_rate": 0.5, **table},
        {"name": "wind", "type": "constant_wrench", "frame": [["link1"], "distal"], "force": [1, 0, 0]},
        {
            "name": "hum",
            "type": "harmonic_wrench",
            "frame": [["link1"], "distal"],
            "axes": "body",
            "frequency": 12,
            "phase": 0.3,
            "force_amplitude": [0, 0, 5],
            "force_offset": [1, 0, 0],
            "moment_amplitude": [0.2, 0, 0],
            "moment_offset": [0, 0.5, 0],
        },
        {"name": "jet", "type": "table_wrench", "frame": [["link1"], "distal"], "axes": "frame", **table}
        | {"forces": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "moments": [[0, 0, 0], [0, 0, 1], [0, 1, 0]]},
    ]


def driven() -> dict[str, Any]:
    """A double pendulum and a slide with drivers and loads of every type."""
    document = new()
    assembly = document["assemblies"][0]
    assembly["bodies"] += [{"name": "slid", "mass": 1}]
    assembly["joints"] += [
        {"name": "slide", "type": "Tx", "parent": [["fixed"], "origin"], "child": [["slid"], "origin"]}
    ]
    assembly["drivers"], assembly["force_modules"] = drivers(), loads()
    return document
