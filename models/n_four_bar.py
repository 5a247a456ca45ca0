"""The N-four-bar of the LIM and IFToMM benchmark A02, for any number of windows, as a v2.0 document."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
"""A model file as plain JSON values."""

GRAVITY = 9.81  # m/s^2, along -y
THIRD = 1.0 / 12.0  # kg m^2, thin uniform rod of 1 kg and 1 m, across its axis


def n_four_bar(N: int, rate: float = 1.0) -> Document:
    """N + 1 upright cranks side by side, their tops joined by N couplers: N four-bars that share cranks.

    Every link is a thin uniform rod of 1 kg and 1 m; the ground pivots are 1 m apart along x. All joint angles are zero
    at the start, and every frame lies on an axis of its body, so that the sines of the parallel pose fold away.

    Args:
        N: number of windows, at least 1.
        rate: speed of the top of the first crank towards +x at the start [m/s], that is its clockwise rate [rad/s].

    Returns:
        The document. Joints in the order of the windows: `pivot_i` (ground to crank i), `top_i` (crank i to coupler i)
        and `pin_i` (coupler i to the top of crank i + 1); angles count anticlockwise about +z.
    """
    if N < 1:
        raise ValueError(f"an N-four-bar needs N >= 1, got {N}")
    bodies = [_rod("crank_0", along_y=True)]
    joints = [_pin("pivot_0", ["fixed"], "pivot_0", ["crank_0"], "origin", -float(rate))]
    for i in range(N):
        crank, coupler, follower = f"crank_{i}", f"coupler_{i}", f"crank_{i + 1}"
        bodies += [_rod(coupler, along_y=False), _rod(follower, along_y=True)]
        joints += [
            _pin(f"top_{i}", [crank], "tip", [coupler], "origin"),
            _pin(f"pivot_{i + 1}", ["fixed"], f"pivot_{i + 1}", [follower], "origin"),
            _pin(f"pin_{i}", [coupler], "tip", [follower], "tip"),
        ]
    return {
        "model_parameters": {
            "version": "2.0",
            "units": {"angle": "radians", "length": "meters", "mass": "kilograms", "time": "seconds"},
            "gravity": [0, -GRAVITY, 0],
            "include_directories": [],
            "solvers": [{"type": "rnca", "infinity_norm_multiplier": 2.0}],
            "integrators": [{"type": "rk4", "time_span": 10, "time_step": 0.01}],
            "loggers": [],
        },
        "frames": [{"name": f"pivot_{i}", "T": [i, 0, 0]} for i in range(N + 1)],
        "lights": [],
        "assemblies": [{"name": "n_four_bar", "active": True, "bodies": bodies, "joints": joints}],
    }


def _rod(name: str, along_y: bool) -> Document:
    """A thin uniform rod of 1 kg and 1 m from the body's origin to its frame `tip`."""
    tip = [0, 1, 0] if along_y else [1, 0, 0]
    return {
        "name": name,
        "center_of_mass": [0.5 * x for x in tip],
        "inertia": {
            "mass": 1,
            "Ixx": THIRD * (1 - tip[0]),
            "Iyy": THIRD * (1 - tip[1]),
            "Izz": THIRD,
            "Ixy": 0,
            "Iyz": 0,
            "Izx": 0,
        },
        "frames": [{"name": "tip", "T": tip}],
    }


def _pin(name: str, parent: list[str], at: str, child: list[str], to: str, rate: float | None = None) -> Document:
    """A revolute joint about z at angle zero; of most nothing is stated about the speed."""
    ends = {"name": name, "type": "Rz", "parent": [parent, at], "child": [child, to], "initial_displacement": 0}
    return ends if rate is None else ends | {"initial_velocity": rate}
