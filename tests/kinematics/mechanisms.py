"""Mechanisms whose assemblies are published, or follow from closed forms. Lengths in their sources' units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import shiftjax
from shiftjax.mechanism.model import Model
from shiftjax.run.assemblies.table import Branches

# Base and platform of a planar platform on three legs, and the legs' lengths: row 7 of the specification of kinematics.
BASE, PLATE, LEGS = ((0.0, 0.0), (3.01, 0.0), (1.85, 2.46)), ((0.0, 0.0), (1.7, 0.0), (-0.92, 0.15)), (2.64, 2.10, 2.11)
# Manseur, Doty, A robot manipulator with 16 real inverse kinematic solution sets, IJRR 8, 1989: standard
# Denavit-Hartenberg numbers, and the pose of six digits, its rotation made orthonormal.
MANSEUR_DOTY = {"alpha": np.deg2rad([90, 1, 90, 1, 90, 1]), "a": (0.3, 1, 0, 1.5, 0, 0), "d": (0, 0, 0.2, 0, 0, 0)}
MANSEUR_DOTY_POSE = np.array(
    [
        [-0.7601170954517629, -0.6416887913189714, 0.10226190051809382, -1.140175],
        [0.13333303810415512, 1.7448607485795684e-07, 0.9910712895397007, 0.0],
        [-0.635959355738943, 0.7669651198689326, 0.08555818343409317, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)
MANSEUR_DOTY_TWO = (
    (
        -3.108888465005737,
        1.8883005150226992,
        -2.578441813475981,
        -0.09936593982116904,
        -2.8741133202989495,
        3.134271122372544,
    ),
    (
        -2.1081549469475505,
        3.0078020615851218,
        -3.125410546332664,
        0.5468463160785384,
        -2.5606627327571423,
        2.492694784610091,
    ),
)
# Puma 560: Corke, Robotics Toolbox.
PUMA = {
    "alpha": np.deg2rad([90, 0, -90, 90, -90, 0]),
    "a": (0, 0.4318, 0.0203, 0, 0, 0),
    "d": (0, 0, 0.15005, 0.4318, 0, 0),
}
# Dietmaier, The Stewart-Gough platform of general geometry can have 40 real postures, 1998; digits of PHCpack's
# `stewgou40`, of which three postures are below: place of the first corner, x and y axes of the platform.
DIETMAIER_BASE = (
    (0.0, 0.0, 0.0),
    (1.107915, 0.0, 0.0),
    (0.549094, 0.756063, 0.0),
    (0.735077, -0.223935, 0.525991),
    (0.514188, -0.526063, -0.368418),
    (0.590473, 0.094733, -0.205018),
)
DIETMAIER_PLATFORM = (
    (0.0, 0.0, 0.0),
    (0.542805, 0.0, 0.0),
    (0.956919, -0.528915, 0.0),
    (0.665885, -0.353482, 1.402538),
    (0.478359, 1.158742, 0.107672),
    (-0.137087, -0.235121, 0.353913),
)
DIETMAIER_LEGS = (1.0, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071)
DIETMAIER_THREE = (
    (
        0.534003548614846,
        0.00617464537788932,
        -0.845459687874714,
        0.0636859679827326,
        -0.273293377921528,
        0.959820205593914,
        0.992514435679251,
        -0.0830827232386822,
        -0.0895117649671954,
    ),
    (
        0.863325713770891,
        0.00564402867997359,
        -0.50461555354769,
        0.191288333012351,
        0.943756501770663,
        0.26968952337634,
        -0.727039337601767,
        -0.0483533608080227,
        0.684891052707037,
    ),
    (
        0.458734196042698,
        -0.373482566386209,
        -0.806271486527107,
        0.368860267183001,
        0.0407073379420521,
        0.92859303030518,
        0.924342754384125,
        -0.12100625569733,
        -0.361867321679759,
    ),
)


def four_bar(ground: float, crank: float, coupler: float, rocker: float) -> Model:
    """A planar four-bar about z; its joints: crank_pivot, crank_pin, rocker_pivot, rocker_pin."""
    builder = shiftjax.ModelBuilder().frame("right", T=(ground, 0.0, 0.0))
    a = builder.assembly("a")
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        a.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"tip": (length, 0.0, 0.0)})
    a.joint("crank_pivot", "Rz", child="crank")
    a.joint("crank_pin", "Rz", parent=("crank", "tip"), child="coupler")
    a.joint("rocker_pivot", "Rz", parent=("fixed", "right"), child="rocker")
    a.joint("rocker_pin", "Rz", parent=("coupler", "tip"), child=("rocker", "tip"))
    return builder.build()


def three_legs() -> Model:
    """A plate in the plane on legs that slide, base_k, slide_k, top_k each."""
    builder = shiftjax.ModelBuilder()
    for k, foot in enumerate(BASE):
        builder.frame(f"foot_{k}", T=(*foot, 0.0))
    a = builder.assembly("a")
    corners = {f"corner_{k}": (*corner, 0.0) for k, corner in enumerate(PLATE)}
    a.body("plate", mass=1.0, inertia=(1.0, 1.0, 1.0), frames=corners)
    for k in range(3):
        for part in ("barrel", "rod"):
            a.body(f"{part}_{k}", mass=1.0, inertia=(1.0, 1.0, 1.0))
        a.joint(f"base_{k}", "Rz", parent=("fixed", f"foot_{k}"), child=f"barrel_{k}")
        a.joint(f"slide_{k}", "Tx", parent=f"barrel_{k}", child=f"rod_{k}", initial_displacement=LEGS[k])
        a.joint(f"top_{k}", "Rz", parent=f"rod_{k}", child=("plate", f"corner_{k}"))
    return builder.build()


def moved(alpha: float, a: float, d: float, angle: float) -> np.ndarray:
    """(4, 4) of a link by Denavit and Hartenberg's standard numbers."""
    (c, s), (ca, sa) = ((np.cos(x), np.sin(x)) for x in (angle, alpha))
    return np.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])


def forward(arm: Mapping[str, Sequence[float] | np.ndarray], angles: Sequence[float] | np.ndarray) -> np.ndarray:
    """(4, 4) pose of the hand."""
    pose = np.eye(4)
    for alpha, a, d, angle in zip(arm["alpha"], arm["a"], arm["d"], angles, strict=True):
        pose = pose @ moved(alpha, a, d, angle)
    return pose


def gripping(arm: Mapping[str, Sequence[float] | np.ndarray], pose: np.ndarray) -> Model:
    """An arm of six joints, joint_1 to joint_6, whose hand is welded to where it is to be."""
    U, _, V = np.linalg.svd(pose[:3, :3])
    builder = shiftjax.ModelBuilder().frame("goal", T=pose[:3, 3].tolist(), R=(U @ V).tolist())
    assembly, before = builder.assembly("arm"), "fixed"
    for k, (alpha, a, d) in enumerate(zip(arm["alpha"], arm["a"], arm["d"], strict=True), 1):
        T = moved(alpha, a, d, 0.0)
        ends = {"end": {"T": T[:3, 3].tolist(), "R": T[:3, :3].tolist()}}
        assembly.body(f"link_{k}", mass=1.0, inertia=(1.0, 1.0, 1.0), frames=ends)
        assembly.joint(f"joint_{k}", "Rz", parent=before if k == 1 else (before, "end"), child=f"link_{k}")
        before = f"link_{k}"
    assembly.joint("grip", "rigid", parent=("fixed", "goal"), child=(before, "end"))
    return builder.build()


def dietmaier() -> Model:
    """A platform that floats, held by six rods leg_k without mass."""
    builder = shiftjax.ModelBuilder()
    for k, foot in enumerate(DIETMAIER_BASE):
        builder.frame(f"foot_{k}", T=foot)
    a = builder.assembly("a")
    corners = {f"corner_{k}": corner for k, corner in enumerate(DIETMAIER_PLATFORM)}
    a.body("platform", mass=1.0, inertia=(1.0, 1.0, 1.0), frames=corners)
    a.joint("free", "float", child="platform")
    for k, length in enumerate(DIETMAIER_LEGS):
        ends = [("fixed", f"foot_{k}"), ("platform", f"corner_{k}")]
        a.constraint(f"leg_{k}", "distance", frames=ends, length=length)
    return builder.build()


def angles(table: Branches, *joints: str) -> np.ndarray:
    """(A,) sums of joint angles, from -pi to pi."""
    total = sum(table.q[joint] for joint in joints)
    return np.remainder(total + np.pi, 2.0 * np.pi) - np.pi
