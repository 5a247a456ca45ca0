"""Examples of constraints and drivers."""

from __future__ import annotations

from typing import Any

from shiftjax.formats.examples.references import FRAMES

CONSTRAINT_EXAMPLES: dict[str, dict[str, Any]] = {
    "a constraint of type equation": {
        "name": "gear",
        "type": "equation",
        "joints": ["pivot", "wheel"],
        "equation": "q[0] == -2 * q[1] + 1 deg",
    },
    "a constraint of type gear": {"name": "teeth", "type": "gear", "joints": ["pivot", "wheel"], "ratio": -2.5},
    "a constraint of type belt": {
        "name": "belt",
        "type": "belt",
        "joints": ["pivot", "wheel"],
        "radius_1": 0.04,
        "radius_2": 0.1,
        "run": "crossed",
    },
    "a constraint of type rack": {"name": "rack", "type": "rack", "joints": ["slide", "pivot"], "radius": 0.03},
    "a constraint of type screw_coupling": {
        "name": "nut",
        "type": "screw_coupling",
        "joints": ["slide", "pivot"],
        "pitch": 0.0008,
    },
    "a constraint of type planetary": {
        "name": "train",
        "type": "planetary",
        "joints": ["pivot", "wheel", "carrier"],
        "sun_teeth": 24,
        "ring_teeth": 72,
    },
    "a constraint of type differential": {
        "name": "axle",
        "type": "differential",
        "joints": ["carrier", "pivot", "wheel"],
    },
    "a constraint of type mimic": {"name": "finger", "type": "mimic", "joints": ["pivot", "wheel"], "multiplier": -1},
    "a constraint of type coincident": {"name": "ball", "type": "coincident", "frames": FRAMES},
    "a constraint of type point_on_line": {"name": "hole", "type": "point_on_line", "frames": FRAMES},
    "a constraint of type point_on_plane": {"name": "floor", "type": "point_on_plane", "frames": FRAMES},
    "a constraint of type distance": {"name": "strut", "type": "distance", "frames": FRAMES, "length": 0.3},
    "a constraint of type parallel_axes": {"name": "upright", "type": "parallel_axes", "frames": FRAMES},
    "a constraint of type perpendicular_axes": {"name": "cross", "type": "perpendicular_axes", "frames": FRAMES},
    "a constraint of type same_orientation": {"name": "level", "type": "same_orientation", "frames": FRAMES},
    "a constraint of type cam": {
        "name": "profile",
        "type": "cam",
        "frames": FRAMES,
        "radii": [0.04, 0.045, 0.06, 0.045],
        "follower": "roller",
    },
    "a driver of type constant_speed": {"name": "motor", "type": "constant_speed", "joint": "pivot", "speed": 6.2832},
    "a driver of type harmonic": {
        "name": "swing",
        "type": "harmonic",
        "joint": "pivot",
        "amplitude": 0.3,
        "frequency": 2,
    },
    "a driver of type polynomial": {
        "name": "start",
        "type": "polynomial",
        "joint": "pivot",
        "coefficients": [0.5, 0, 2],
    },
    "a driver of type table": {
        "name": "cam",
        "type": "table",
        "joint": "pivot",
        "times": [0, 0.5, 1],
        "values": [0.5, 1, 0.5],
        "outside": "repeat",
    },
    "a driver of type frame_harmonic": {
        "name": "wave",
        "type": "frame_harmonic",
        "frame": [["rod"], "origin"],
        "component": "z",
        "amplitude": 0.02,
        "frequency": 12,
    },
    "a driver of type frame_polynomial": {
        "name": "lift",
        "type": "frame_polynomial",
        "frame": [["rod"], "origin"],
        "component": "z",
        "coefficients": [0.1, 0.02],
    },
    "a driver of type frame_table": {
        "name": "path",
        "type": "frame_table",
        "frame": [["rod"], "origin"],
        "component": "x",
        "times": [0, 1, 2],
        "values": [0, 0.1, 0],
    },
}
