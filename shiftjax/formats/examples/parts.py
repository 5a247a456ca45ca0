"""Examples of a whole file and of its parts that are no forces, constraints or drivers."""

from __future__ import annotations

from typing import Any

from shiftjax.formats.examples.references import ORIGIN

PART_EXAMPLES: dict[str, dict[str, Any]] = {
    "the root": {
        "model_parameters": {"version": "2.0", "gravity": [0, 0, 9.81]},
        "frames": [{"name": "hook", "T": [0, 0, "-height"]}],
        "parameters": {"height": {"value": 3, "unit": "length"}, "length": 1},
        "assemblies": [
            {
                "name": "pendulum",
                "bodies": [
                    {
                        "name": "rod",
                        "center_of_mass": [0, 0, "length / 2"],
                        "inertia": {"mass": "1.2 * length", "Ixx": 0.1, "Iyy": 0.1, "Izz": 0.001},
                    }
                ],
                "joints": [
                    {
                        "name": "pivot",
                        "type": "Rx",
                        "parent": [["fixed"], "hook"],
                        "child": [["rod"], "origin"],
                        "initial_displacement": 0.5,
                    }
                ],
            }
        ],
    },
    "model_parameters": {
        "version": "2.0",
        "units": {"angle": "degrees", "length": "millimeters"},
        "gravity": [0, 0, 9810],
        "solvers": [{"type": "rnca", "infinity_norm_multiplier": 2}],
        "integrators": [{"type": "rk4", "time_span": 10, "time_step": 0.01}],
    },
    "units": {"angle": "degrees", "length": "millimeters", "mass": "kilograms", "time": "seconds", "force": "newtons"},
    "an event": {
        "of": "crank_pivot.q - 90deg",
        "direction": "up",
        "action": "set",
        "values": {"crank_spring.coefficients[0][0]": 0.0},
    },
    "a sublinkage": {"joints": [["pendulum", "pivot"]], "disposition": "driven"},
    "a parameter": {"value": 0.2, "unit": "length", "minimum": 0.1, "maximum": 0.4, "description": "of the crank"},
    "a point": {
        "position": [0, 0, -3],
        "frames": [[["fixed"], "hook"], [["pendulum", "rod"], "origin"]],
        "description": "where the pendulum hangs",
    },
    "fixed": {"frames": [{"name": "hook", "T": [0, 0, -3]}]},
    "an assembly": {"name": "arm", "bodies": [{"name": "hand"}], "joints": [], "assemblies": [{"name": "gripper"}]},
    "a body": {
        "name": "crank",
        "center_of_mass": [0.1, 0, 0],
        "gravity_scale": 0.5,
        "inertia": {"mass": 0.5, "Ixx": 2.5e-5, "Iyy": 1.7e-3, "Izz": 1.7e-3, "Ixy": 0, "Iyz": 0, "Izx": 0},
        "frames": [{"name": "tip", "T": [0.2, 0, 0]}],
        "geometry": [{"type": "capsule", "radius": 0.01, "length": 0.2, "T": [0.1, 0, 0], "rotation": [0, 1.5708, 0]}],
    },
    "a frame": {"name": "tip", "T": [0.2, 0, 0], "R": [[1, 0, 0], [0, 0, -1], [0, 1, 0]]},
    "a placement": {"T": [0.1, 0, 0], "R": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "rotation": [0, 0, 0.2]},
    "a joint": {
        "name": "crank_pivot",
        "type": "revolute",
        "axis": [0, 1, 0],
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
        "initial_displacement": 0.5,
        "initial_velocity": 6,
        "stiffness": [0, 20],
        "damping": [0, 0.02],
        "limits": [-1.5, 2],
        "posture": 0.5,
    },
    "a wanted value": {"value": 0.5, "weight": 2, "level": 2.5},
    "a joint of type screw": {
        "name": "lead",
        "type": "screw",
        "axis": "x",
        "pitch": 0.0008,
        "parent": ORIGIN,
        "child": [["crank"], "origin"],
    },
    "a restraint": {
        "name": "stop",
        "type": "spring",
        "body_frame_pair": [ORIGIN, [["crank"], "tip"]],
        "distance_type": "Tz",
        "knot_points": [0],
        "coefficients": [[2000, 0], [0]],
    },
    "a light": {
        "name": "lamp",
        "type": "spot",
        "parent": ORIGIN,
        "Ka": [0.1, 0.1, 0.1],
        "Kd": [0.8, 0.8, 0.8],
        "Ks": [1, 1, 1],
        "cone": 0.5,
    },
    "a terrain": {"name": "yard", "parent": ORIGIN, "elevation_map": "yard.tif", "scale": [20, 20]},
    "a pid's input": {"type": "joint", "joint": "pivot", "target_type": "velocity"},
    "a pid's output": {"type": "joint", "joint": "pivot"},
    "simulation": {"integration_type": "ode113", "time_span": 10, "time_step": 0.03, "infinity_norm_multiplier": 2},
    "a solver": {"type": "rnca", "infinity_norm_multiplier": 1.5},
    "an integrator": {"type": "rk4", "time_span": 10, "time_step": 0.01},
    "a logger": {"type": "csv", "csv_logfile": "run.csv"},
    "a geometry of type mesh": {"type": "mesh", "filename": ["link.obj", "link.mtl"]},
    "a geometry of type box": {"type": "box", "size": [0.2, 0.05, 0.05], "T": [0.1, 0, 0], "colour": [0.8, 0.2, 0.1]},
    "a geometry of type plane": {"type": "plane", "size": [2, 2]},
    "a geometry of type sphere": {"type": "sphere", "radius": 0.05},
    "a geometry of type ellipsoid": {"type": "ellipsoid", "radii": [0.1, 0.05, 0.05]},
    "a geometry of type multisphere": {"type": "multisphere", "spheres": [[0, 0, 0, 0.05], [0.2, 0, 0, 0.03]]},
    "a geometry of type cylinder": {"type": "cylinder", "radius": 0.02, "length": 0.3},
    "a geometry of type cone": {"type": "cone", "radius": 0.02, "length": 0.1},
    "a geometry of type capsule": {"type": "capsule", "radius": 0.02, "length": 0.3},
    "a geometry of type arrow": {"type": "arrow", "radius": 0.01, "length": 0.2, "colour": [1, 0.5, 0, 0.5]},
    "a geometry of type line": {"type": "line", "points": [[0, 0, 0], [0.1, 0, 0], [0.1, 0, 0.1]]},
    "a geometry of type point_cloud": {"type": "point_cloud", "points": [[0, 0, 0], [0.1, 0, 0]]},
}
