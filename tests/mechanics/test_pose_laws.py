"""Every driver of poses, on a tree and with a loop on what it moves: the law's pose, the work of its loads (D24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shiftjax.constraints.pose_laws import TabulatedPoseLaw
from shiftjax.run.simulate import simulate
from tests.mechanics.test_inverse_poses import top
from tests.mechanics.test_pose_drives import carrying

CLOSED, TURNED = 1e-10, 1e-8  # m, rad: a step closes places exactly, rotations by half their antisymmetric part
WORK = 1e-5  # of the energy that moves: rk4 in steps of 2 ms, a table's third derivative jumps at its knots
SPAN, KNOT = 0.1, 0.05  # s
P, V, A = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.5, -0.5]), np.array([0.0, 4.0, 2.0])
R, W, GROWTH = np.array([0.3, 0.2, -0.4]), np.array([2.0, -1.0, 3.0]), np.array([5.0, 0.0, -8.0])
FREQUENCY, PHASE = 20.0, 0.4
TIMES = [0.0, KNOT, SPAN]
POSITIONS, ROTATIONS = [P, P + 0.05, P + V * 0.1], [R, R + 0.2, R + W * 0.1]


def at_knot(rows: list[np.ndarray]) -> Callable[[float], np.ndarray]:
    """What a table says at one of its times."""
    return lambda t: rows[round(t / KNOT)]


def lists(**rows: Any) -> dict[str, Any]:
    """Numbers of a file."""
    return {name: np.asarray(value).tolist() for name, value in rows.items()}


# law -> numbers of both, of places, of orientations; the place, and the rotation vector after a rotation, of a time
Numbers = dict[str, Any]
InTime = Callable[[float], Any]
LAWS: dict[str, tuple[Numbers, Numbers, Numbers, InTime, InTime]] = {
    "uniform": (
        {}, lists(position=P, velocity=V, acceleration=A),
        lists(rotation=R, angular_velocity=W, angular_acceleration=GROWTH),
        lambda t: P + V * t + A * t**2 / 2, lambda t: W * t + GROWTH * t**2 / 2,
    ),
    "harmonic": (
        {"frequency": FREQUENCY, "phase": PHASE}, lists(position=P, position_amplitude=0.1 * V),
        lists(rotation=R, rotation_amplitude=0.2 * W),
        lambda t: P + 0.1 * V * np.sin(FREQUENCY * t + PHASE), lambda t: 0.2 * W * np.sin(FREQUENCY * t + PHASE),
    ),
    "table": (
        {"times": TIMES}, lists(positions=POSITIONS), lists(rotations=ROTATIONS), at_knot(POSITIONS),
        lambda t: (Rotation.from_rotvec(R).inv() * Rotation.from_rotvec(at_knot(ROTATIONS)(t))).as_rotvec(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", ["tree", "loop"])
@pytest.mark.parametrize("kind", [f"{what}_{law}" for what in ("pose", "orientation") for law in LAWS])
def test_what_is_driven_is_where_the_law_says_and_takes_its_work(kind: str, where: str) -> None:
    """In a batch of two, whose laws begin at other rotations."""
    what, _, law = kind.partition("_")
    shared, places, turns, place, turn = LAWS[law]
    joint = "float" if what == "pose" else "spherical"
    builder, a = top(joint, arm=True) if where == "tree" else carrying(joint)
    body = "top" if where == "tree" else "base"
    a.driver("led", kind, frames=["fixed", body], **shared, **turns, **(places if what == "pose" else {}))
    varied = "rotations[0][0]" if law == "table" else "rotation[0]"
    run = simulate(
        builder.build(), SPAN, 2e-3, output_step=KNOT, channels=["six.q"], vary={f"led.{varied}": [R[0], R[0] + 0.1]}
    )
    assert (run.status == 0).all(), run.messages
    assert run.certificate["energy_error"].max() < WORK
    for member, more in enumerate((0.0, 0.1)):
        for k, t in enumerate(TIMES):
            start = Rotation.from_rotvec(R + np.array([more, 0.0, 0.0]))
            wanted = start * Rotation.from_rotvec(turn(t))
            if law == "table" and k:
                wanted = Rotation.from_rotvec(ROTATIONS[k])
            q = run.channels["six.q"][member, k]
            assert (Rotation.from_quat(q[-4:], scalar_first=True).inv() * wanted).magnitude() < TURNED
            if what == "pose":
                assert np.abs(q[:3] - place(t)).max() < CLOSED


def test_a_table_goes_the_shorter_way() -> None:
    """Between rows of 3.5 rad about an axis it turns back by 2 pi - 3.5, whichever way its rows are written."""
    numbers = {"times": [0.0, 1.0], "outside": "refuse"}
    for end in (3.5, 3.5 - 2.0 * np.pi, 3.5 + 2.0 * np.pi):
        rows = [[0.0, 0.0, 0.0], [0.0, 0.0, end]]
        w, x, y, z = TabulatedPoseLaw().orientation({**numbers, "rotations": rows}, 0.5)
        assert x == y == 0.0 and abs(2.0 * np.arctan(z / w) - (0.5 * 3.5 - np.pi)) < 1e-12  # rounding
