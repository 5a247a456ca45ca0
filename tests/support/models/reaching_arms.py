"""Mechanisms whose workspaces have closed forms: an arm of two links, a five-bar, a delta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import shiftjax
from shiftjax.mechanism.model import Model

DELTA = {"base": 0.2, "arm": 0.3, "rod": 0.75, "plate": 0.06}  # m, as the model `delta` of the library


def arm(first: float, second: float, stops: Mapping[str, tuple[float, float]] | None = None) -> Model:
    """Two links in a plane, shoulder and elbow; stops: joint -> (lower, upper)."""
    a = (builder := shiftjax.ModelBuilder()).assembly("arm")
    a.body("upper", frames={"tip": (first, 0.0, 0.0)})
    a.body("fore", frames={"tip": (second, 0.0, 0.0)})
    a.joint("shoulder", "Rz", child="upper")
    a.joint("elbow", "Rz", parent=("upper", "tip"), child="fore")
    for joint, (low, high) in (stops or {}).items():
        a.force(f"{joint}_stop", "stop", joint=joint, lower=low, upper=high, k=1.0, blend=0.01)
    return builder.build()


def two_links() -> Model:
    """Two links of 1 m in a plane, hinged about y at the origin."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("arm")
    for k in (0, 1):
        rows.body(f"l{k}", mass=1.0, inertia=(1e-3, 0.1, 0.1), frames={"tip": (1, 0, 0)})
        parent = (f"l{k - 1}", "tip") if k else "fixed"
        rows.joint(f"j{k}", "Ry", parent=parent, child=f"l{k}", initial_displacement=0.3 + 0.5 * k)
    return builder.build()


def five_bar(ground: float, left: tuple[float, float], right: tuple[float, float]) -> Model:
    """Two arms whose hands are pinned to each other, at l2:tip."""
    a = (builder := shiftjax.ModelBuilder().frame("right", T=(ground, 0.0, 0.0))).assembly("a")
    for name, length in zip(("l1", "l2", "r1", "r2"), (*left, *right), strict=True):
        a.body(name, frames={"tip": (length, 0.0, 0.0)})
    a.joint("left", "Rz", child="l1")
    a.joint("left_elbow", "Rz", parent=("l1", "tip"), child="l2")
    a.joint("right", "Rz", parent=("fixed", "right"), child="r1")
    a.joint("right_elbow", "Rz", parent=("r1", "tip"), child="r2")
    a.joint("pin", "Rz", parent=("l2", "tip"), child=("r2", "tip"))
    return builder.build()


def lens(r: float, R: float, d: float) -> float:
    """The area that two discs have in common, their centres d apart."""
    if d >= r + R:
        return 0.0
    if d <= abs(r - R):
        return np.pi * min(r, R) ** 2
    halves = [x * x * np.arccos((d * d + x * x - y * y) / (2.0 * d * x)) for x, y in ((r, R), (R, r))]
    return sum(halves) - 0.5 * np.sqrt((r + R - d) * (d + r - R) * (d - r + R) * (d + r + R))


def delta() -> Model:
    """A delta whose plate slides in three directions, held by three rods without mass."""
    builder, turns = shiftjax.ModelBuilder(), 2.0 * np.pi / 3.0 * np.arange(3)
    a = builder.assembly("delta")
    corners = {
        f"corner_{k}": (DELTA["plate"] * np.cos(x), DELTA["plate"] * np.sin(x), 0.0) for k, x in enumerate(turns)
    }
    a.body("plate", frames=corners)
    a.joint("slides", "translational_3d", child="plate", initial_displacement={"x": 0.0, "y": 0.0, "z": 0.7})
    for k, x in enumerate(turns):
        c, s = np.cos(x), np.sin(x)
        builder.frame(
            f"shoulder_{k}", T=(DELTA["base"] * c, DELTA["base"] * s, 0.0), R=[[c, -s, 0], [s, c, 0], [0, 0, 1]]
        )
        a.body(f"arm_{k}", frames={"tip": (DELTA["arm"], 0.0, 0.0)})
        a.joint(f"shoulder_{k}", "Ry", parent=("fixed", f"shoulder_{k}"), child=f"arm_{k}", initial_displacement=-0.3)
        ends = [(f"arm_{k}", "tip"), ("plate", f"corner_{k}")]
        a.constraint(f"rod_{k}", "distance", frames=ends, length=DELTA["rod"])
    return builder.build()


def delta_discriminants(points: np.ndarray) -> np.ndarray:
    """(..., 3) of the quadratics that the angles of the three arms solve, at places of the plate (..., 3).

    An elbow is at (base + arm cos, 0, -arm sin) of its leg's plane, a rod's length from the plate's corner.
    """
    out = np.empty(points.shape)
    for k, x in enumerate(2.0 * np.pi / 3.0 * np.arange(3)):
        along = points[..., 0] * np.cos(x) + points[..., 1] * np.sin(x) + DELTA["plate"] - DELTA["base"]
        aside, down = points[..., 1] * np.cos(x) - points[..., 0] * np.sin(x), -points[..., 2]
        square = along**2 + aside**2 + down**2 + DELTA["arm"] ** 2 - DELTA["rod"] ** 2
        out[..., k] = along**2 + down**2 - (square / (2.0 * DELTA["arm"])) ** 2
    return out


def chain(lengths: Sequence[float]) -> Model:
    """Links in a plane, one after the other: link_k at joint_k."""
    a, before = (builder := shiftjax.ModelBuilder()).assembly("arm"), "fixed"
    for k, length in enumerate(lengths):
        a.body(f"link_{k}", frames={"tip": (length, 0.0, 0.0)})
        a.joint(f"joint_{k}", "Rz", parent=before, child=f"link_{k}")
        before = (f"link_{k}", "tip")
    return builder.build()
