"""Inverse kinematics of a KUKA LBR iiwa 14: random reachable poses within limits, beside SciPy's bounded least squares.

Each pose is that of random angles within the limits of the data sheet, so that it can be reached; a code begins at a
bent pose, and may try others. A pose counts where frames agree to 1e-9 (m, and entries of R) within limits.
Published, of the same arm (Beeson, Ames, TRAC-IK, Humanoids 2015, with the table of its repository): TRAC-IK 99.92 % at
0.28 ms, KDL 38.09 %.

    PYTHONPATH=. python benchmarks/bench_inverse_kinematics.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import shiftjax
from shiftjax import FrameGoal, inverse_kinematics
from shiftjax.bench.timing import emit
from shiftjax.mechanism.model import Model

LENGTHS = (0.36, 0.0, 0.42, 0.0, 0.4, 0.0, 0.126)  # m, data sheet of the LBR iiwa 14 R820
ENDS = np.deg2rad([170, 120, 170, 120, 170, 120, 175])
BEGIN = np.array([0.0, 0.3, 0.0, 0.6, 0.0, 0.4, 0.0])  # rad
TRIES = 40
SAME = 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=10_000)
    parser.add_argument("--scipy", type=int, default=100, help="poses that SciPy has to reach")
    options = parser.parse_args()
    model = iiwa()
    angles = np.random.default_rng(0).uniform(-ENDS, ENDS, (options.poses, 7))
    wanted = poses(model, angles)
    for code, count, solve in (
        ("shiftjax", options.poses, lambda goals: ours(model, goals)),
        ("scipy least_squares", options.scipy, scipys),
    ):
        emit("inverse_kinematics", row(code, model, wanted[:count], solve))


def iiwa() -> Model:
    """The arm, its bodies of no matter."""
    rows = (builder := shiftjax.ModelBuilder()).assembly("iiwa")
    for k, length in enumerate(LENGTHS):
        rows.body(f"l{k}", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), frames={"tip": (0, 0, length)})
        parent: Any = (f"l{k - 1}", "tip") if k else "fixed"
        rows.joint(f"j{k}", "Ry" if k % 2 else "Rz", parent=parent, child=f"l{k}")
    return builder.build()


def poses(model: Model, angles: np.ndarray) -> np.ndarray:
    """(B, 4, 4) of the flange."""
    return shiftjax.configuration(model, angles).pose("l6:tip")


def row(code: str, model: Model, wanted: np.ndarray, solve: Callable[[np.ndarray], np.ndarray]) -> dict[str, object]:
    """One code: it runs once for its compilation, then its processor time is taken; all poses are checked."""
    solve(wanted[:600])
    clock = time.process_time()
    angles = solve(wanted)
    seconds = time.process_time() - clock
    off = np.abs(poses(model, angles) - wanted).max((1, 2))
    good = (off < SAME) & (np.abs(angles) <= ENDS + SAME).all(1)
    return {
        "case": "iiwa", "code": code, "poses": len(wanted), "reached_percent": round(100.0 * good.mean(), 3),
        "cpu_us_per_pose": round(1e6 * seconds / len(wanted), 1), "worst_of_reached": float(f"{off[good].max():.1e}"),
    }  # fmt: skip


def ours(model: Model, wanted: np.ndarray) -> np.ndarray:
    """The whole call, as a user makes it."""
    goal = FrameGoal("l6:tip", T=wanted[:, :3, 3], R=wanted[:, :3, :3])
    limits = {f"j{k}": (-end, end) for k, end in enumerate(ENDS)}
    begin = {f"j{k}": float(angle) for k, angle in enumerate(BEGIN)}
    return inverse_kinematics(model, goal, limits=limits, q=begin, tries=TRIES).coordinates


def scipys(wanted: np.ndarray) -> np.ndarray:
    """Trust-region least squares with bounds, each pose from as many starts."""
    rng, out = np.random.default_rng(1), np.empty((len(wanted), 7))
    for k, pose in enumerate(wanted):
        best = np.inf
        for attempt in range(TRIES):
            begin = BEGIN if attempt == 0 else rng.uniform(-ENDS, ENDS)
            end = least_squares(
                lambda q, pose=pose: np.ravel(flange(q)[:3] - pose[:3]),
                begin,
                bounds=(-ENDS, ENDS),
                xtol=1e-15,
                gtol=1e-15,
            )
            if end.cost < best:
                best, out[k] = end.cost, end.x
            if best < SAME**2:
                break
    return out


def flange(angles: np.ndarray) -> np.ndarray:
    """(4, 4) by products of rotations."""
    R, p = np.eye(3), np.zeros(3)
    for k, (angle, length) in enumerate(zip(angles, LENGTHS, strict=True)):
        c, s = np.cos(angle), np.sin(angle)
        R = R @ (
            np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) if k % 2 else np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        )
        p = p + R[:, 2] * length
    return np.concatenate([np.column_stack([R, p]), [[0.0, 0.0, 0.0, 1.0]]])


if __name__ == "__main__":
    main()
