"""Every driver of poses, on a tree and with a loop on what it moves: the law's pose, the work of its loads (D24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from shiftjax.constraints.pose_drives import PoseTable
from shiftjax.constraints.pose_laws import TabulatedPoseLaw
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from tests.inverse.test_inverse_poses import top
from tests.mechanics.constraints.test_pose_drives import carrying
from tests.support.complete import without

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


EVERY = [(f"{what}_{law}", where) for where in ("tree", "loop") for what in ("pose", "orientation") for law in LAWS]
# Left are all laws, and either joint in either place: a law knows nothing of what hangs on its joint.
ALIKE = [
    *((kind, "loop") for kind in ("pose_uniform", "pose_table", "orientation_harmonic")),
    *((kind, "tree") for kind in ("pose_harmonic", "orientation_uniform")),
]


@pytest.mark.parametrize(("kind", "where"), without(EVERY, ALIKE))
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


LAP = np.linspace(0.0, 2.0 * np.pi, 5)  # rad: rows of a table; a lap ends with the quaternion's sign changed


def lap(**more: Any) -> dict[str, Any]:
    """A table of a lap: places on a circle, once about an oblique axis, in uneven times, first row 0.3 rad off."""
    turn = Rotation.from_rotvec([0.3, 0.0, 0.0]) * Rotation.from_rotvec(np.outer(LAP, [0.6, 0.0, 0.8]))
    return {
        "times": [0.1, 0.12, 0.15, 0.17, 0.2], "positions": np.stack([np.cos(LAP), np.sin(LAP), LAP * 0], 1).tolist(),
        "rotations": turn.as_rotvec().tolist(), "outside": "repeat", **more,
    }  # fmt: skip


def test_a_table_of_poses_that_repeats_is_a_periodic_spline() -> None:
    """Places are those of SciPy's; quaternions are one spline over many laps, in which two laps are a period."""
    n, law = lap(), TabulatedPoseLaw()
    times, places = np.array(n["times"]), np.array(n["positions"])
    places[-1] = places[0]
    known = CubicSpline(times, places, bc_type="periodic")
    quaternions = np.array([law.quaternion(n, t)[0] for t in times[:-1]])
    twice = [*quaternions, *-quaternions, quaternions[0]]
    spline = CubicSpline([*times[:-1], *(times[:-1] + 0.1), times[0] + 0.2], twice, bc_type="periodic")
    for t in (0.1, 0.11, 0.149, 0.1999999, 0.25, 0.33, -0.04, 1.234567):
        for order, (place, quaternion) in enumerate(zip(law.place(n, t), law.quaternion(n, t), strict=True)):
            size = (1e2 / 2) ** order  # of a rate: knots are 20 ms apart
            assert np.abs(np.array(place) - known(t, order)).max() < 1e-12 * size  # rounding
            wanted = spline(t, order) * (-1.0) ** np.floor((t - 0.1) / 0.1)
            assert np.abs(np.array(quaternion) - wanted).max() < 1e-12 * size


def test_a_body_is_led_round_and_round() -> None:
    """By steps of a tolerance, which end at the knots of later laps, too: the same pose and speed a lap on."""
    builder, a = top("float", arm=True)
    a.driver("led", "pose_table", frames=["fixed", "top"], **lap())
    channels = ["six.q", "six.v"]
    run = simulate(builder.build(), 0.4, tolerance=1e-6, output_step=0.05, channels=channels)
    assert run.status == 0 and run.certificate["energy_error"] < WORK
    for k in (2, 3, 4):
        q, later = run.channels["six.q"][k], run.channels["six.q"][k + 2]
        assert np.abs(q[:3] - later[:3]).max() < CLOSED
        assert (Rotation.from_quat(q[3:]).inv() * Rotation.from_quat(later[3:])).magnitude() < TURNED
        assert np.abs(run.channels["six.v"][k] - run.channels["six.v"][k + 2]).max() < 1e-6  # of some 60 rad/s
    rows = np.array(lap()["rotations"])
    motion = PoseTable(lap()["times"], rows, lap()["positions"], "repeat")
    same = simulate(top("float", arm=True)[0].build(), 0.1, drive={"six": motion}, channels=channels)
    assert np.abs(same.channels["six.q"][-1] - run.channels["six.q"][2]).max() < TURNED
    ends = r"found last (rotations|positions) other than the first, in a table that repeats"
    for off, moved in ((1e-5, 0.0), (0.0, 1e-5)):
        rows = [*lap()["rotations"][:-1], (np.array(lap()["rotations"][-1]) + off).tolist()]
        places = [*lap()["positions"][:-1], [1.0, 0.0, moved]]
        with pytest.raises(ModelError, match=ends):
            simulate(
                top("float", arm=True)[0].build(), 0.1, drive={"six": PoseTable(lap()["times"], rows, places, "repeat")}
            )
    run = simulate(builder.build(), 0.1, vary={"led.positions[4][2]": [0.0, 1e-3], "led.rotations[1][0]": [0.5, 0.5]})
    assert run.status.tolist() == [0, Outcome.unphysical] and "other than the first" in run.messages[1]


def test_a_table_goes_the_shorter_way() -> None:
    """Between rows of 3.5 rad about an axis it turns back by 2 pi - 3.5, whichever way its rows are written."""
    numbers = {"times": [0.0, 1.0], "outside": "refuse"}
    for end in (3.5, 3.5 - 2.0 * np.pi, 3.5 + 2.0 * np.pi):
        rows = [[0.0, 0.0, 0.0], [0.0, 0.0, end]]
        w, x, y, z = TabulatedPoseLaw().orientation({**numbers, "rotations": rows}, 0.5)
        assert x == y == 0.0 and abs(2.0 * np.arctan(z / w) - (0.5 * 3.5 - np.pi)) < 1e-12  # rounding
