"""Screws of relative motion: axes, pitches, instant centres. S18, M59."""

import numpy as np

import shiftjax
from tests.reference.rotations import rotation

ALGEBRA = 1e-12  # the same point by another way, of metres


def test_instant_centres_of_a_four_bar() -> None:
    """The coupler's is where crank and rocker meet, and three relative ones lie on a line (Aronhold, Kennedy)."""
    at = shiftjax.configuration("four_bar", v={"crank_pivot": 1.3}, vary={"coupler:tip.T[0]": [0.48, 0.5, 0.53]})
    crank, rocker, far = (at.pose(frame)[:, :3, 3] for frame in ("crank:tip", "rocker:tip", "rocker"))
    for k, screw in enumerate(at.screw("coupler")):
        centre = screw[3:6]
        for end, pivot in ((crank[k], np.zeros(3)), (rocker[k], far[k])):
            assert abs(np.linalg.norm(np.cross(end - pivot, centre - pivot))) < ALGEBRA
        assert abs(screw[6]) < ALGEBRA
        assert np.abs(np.abs(screw[:3]) - (0.0, 1.0, 0.0)).max() < ALGEBRA
    seen = at.screw("rocker", relative_to="crank", axes="world")[:, 3:6]
    R = at.pose("crank")[:, :3, :3]
    relative = np.einsum("bij,bj->bi", R, at.screw("rocker", relative_to="crank")[:, 3:6])
    assert np.abs(relative - seen).max() < ALGEBRA
    assert np.abs(np.cross(seen, far)).max() < ALGEBRA  # on the line of both pivots


def test_a_screw_joint_has_its_pitch_and_axis() -> None:
    builder, R = shiftjax.ModelBuilder(), rotation((0.3, -0.5, 0.8))
    builder.frame("seat", T=(0.2, -0.1, 0.4), R=R.tolist())
    part = builder.assembly("a")
    part.body("nut", mass=1.0, inertia=(1.0, 1.0, 1.0))
    part.joint("thread", "screw", parent=("fixed", "seat"), child="nut", axis=(0, 0, 1), pitch=0.03)
    at = shiftjax.configuration(builder.build(), q={"thread": 0.7}, v={"thread": 2.0})
    screw, seat = at.screw("nut"), np.array([0.2, -0.1, 0.4])
    axis = R @ [0.0, 0.0, 1.0]
    assert np.abs(screw[:3] - axis).max() < ALGEBRA
    assert np.abs(np.cross(screw[3:6] - seat, axis)).max() < ALGEBRA and abs(screw[3:6] @ axis) < ALGEBRA
    linear = at.twist("nut")[3:] @ axis
    assert abs(screw[6] - linear / 2.0) < ALGEBRA and abs(screw[7] - 2.0) < ALGEBRA
    still = shiftjax.configuration(builder.build()).screw("nut")
    assert not np.isfinite(still[:7]).any()
