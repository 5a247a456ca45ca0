"""The oracle against numbers nobody of this project wrote, and against its own definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.models import path
from tests.reference.oracle import Oracle, piecewise, piecewise_integral
from tests.reference.rotations import quaternion_of, rotation, rotation_vector

ALGEBRA = 1e-12  # relative, double precision
DIFFERENCE = 1e-6  # central differences with steps of 1e-5


def document(bodies: list, joints: list, gravity: Any, frames: Any = (), restraints: Any = ()) -> dict:
    """A model of one assembly."""
    assembly = {"name": "a", "bodies": bodies, "joints": joints, "restraints": list(restraints)}
    return {"model_parameters": {"gravity": gravity}, "frames": list(frames), "assemblies": [assembly]}


def solid(name: str, mass: float, com: Any, inertia: Any, **frames: Any) -> dict:
    values = dict(zip(("mass", "Ixx", "Iyy", "Izz"), (mass, *inertia), strict=True))
    points = [{"name": k, "T": list(v)} for k, v in frames.items()]
    return {"name": name, "center_of_mass": list(com), "inertia": values, "frames": points}


def link(name: str, kind: str, parent: str, child: str, q: Any = 0, v: Any = 0) -> dict:
    ends = {k: [[e.split(":")[0]], e.split(":")[1]] for k, e in (("parent", parent), ("child", child))}
    return {"name": name, "type": kind, **ends, "initial_displacement": q, "initial_velocity": v}


def chain(
    axes: str, coms: Any, offsets: Any, parents: Any = None, masses: Any = None, inertia: Any = (1, 1, 1)
) -> dict:
    """Revolute joints of RBDL's tests: joint i at `offsets[i]` of the body before it."""
    bodies, joints = [], []
    for i, axis in enumerate(axes):
        before = i if parents is None else parents[i]
        mass = 1 if masses is None else masses[i]
        bodies.append(solid(f"b{i + 1}", mass, coms[i], inertia if mass else (0, 0, 0)))
        at = f"b{before}:at{i + 1}" if before else "fixed:origin"
        joints.append(link(f"j{i + 1}", f"R{axis}", at, f"b{i + 1}:origin"))
        if before:
            bodies[before - 1]["frames"].append({"name": f"at{i + 1}", "T": list(offsets[i])})
    return document(bodies, joints, [0, -9.81, 0])


X, Y, Z, ORIGIN = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)
CHAINS = {
    "single": (chain("z", [(1.5, 1, 1)], [ORIGIN], inertia=(1, 2, 3)), [-2.3544]),
    "double_z": (chain("zz", [X, X], [ORIGIN, X]), [-5.886, 3.924]),
    "triple_z": (chain("zzz", [X] * 3, [ORIGIN, X, X]), [-6.03692307692308, 3.77307692307692, 1.50923076923077]),
    "double_3d": (chain("zy", [X, Y], [ORIGIN, X]), [-3.924, 0]),
    "tree_3d": (
        chain("zyxyx", [X, Y, Z, Y, Z], [ORIGIN, X, Y, (-0.5, 0, 0), (0, -0.5, 0)], [0, 1, 2, 1, 4]),
        [-1.6031906614786, -0.534396887159533, 4.1034046692607, 0.267198443579767, 5.30579766536965],
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_accelerations_of_spatial_chains(name: str) -> None:
    """Featherstone's spatial_v1 numbers, as printed in the tests of RBDL."""
    source, expected = CHAINS[name]
    oracle = Oracle(source)
    assert np.allclose(oracle.acceleration(*oracle.start()), expected, rtol=0, atol=1e-13)


def test_massless_bodies_make_a_ball() -> None:
    """RBDL's z-y-x joint: two massless bodies before the one that moves mass."""
    oracle = Oracle(chain("zyx", [ORIGIN, ORIGIN, (0, 0.5, 0)], [ORIGIN, ORIGIN, ORIGIN], masses=[0, 0, 1]))
    acceleration = oracle.acceleration(np.array([1.0, 0, 0]), np.zeros(3))
    assert np.allclose(acceleration, [3.301932144386186, 0, 0], rtol=0, atol=1e-12)


def test_babyboot() -> None:
    """Kane's chaotic pendulum with a spinning plate, state and accelerations at 10 s (mpmath, 20 digits)."""
    bodies = [solid("a", 0.01, (0, 0, 0.075), (50e-7, 50e-7, 0)), solid("b", 0.1, (0, 0, 0.2), (2.5e-4, 5e-5, 2e-4))]
    joints = [link("qa", "Rx", "fixed:origin", "a:origin"), link("qb", "Rz", "a:origin", "b:origin")]
    oracle = Oracle(document(bodies, joints, [0, 0, 9.81]))
    q = np.radians([-61.312983517501685534, -929.47789813700101347])
    v = np.array([-6.7440080753737697787, -2.7795696723106601823])
    assert np.allclose(oracle.acceleration(q, v), [41.13702317652612429, 19.483647488829943449], rtol=1e-11)


def test_pendulum_against_elliptic_functions() -> None:
    """Benchmark A01 after one second."""
    oracle = Oracle(path("pendulum"))
    q, v = oracle.trajectory(*oracle.start(), [0, 1])
    assert np.allclose(
        oracle.point(q[-1], "link", "tip")[:2], [0.986291751131875319, -0.165010853125541169], atol=1e-10
    )
    assert np.allclose(v[-1], 1.79930901690707862, atol=1e-10)


def test_four_bars_side_by_side() -> None:
    """Benchmark A02, two windows: top of the first crank after half a second, cranks parallel."""
    oracle = Oracle(path("n_four_bar_2"))
    q, v = oracle.start()
    q, v = oracle.trajectory(q, oracle.consistent(q, v, ("pivot_0",)), [0, 0.5])
    assert np.allclose(
        oracle.point(q[-1], "crank_0", "tip")[:2], [0.695286633164400511, 0.718732563435741622], atol=1e-9
    )
    cranks = [j.q.start for j in oracle.joints if j.name.startswith("pivot")]
    assert np.ptp(q[-1][cranks]) < 1e-10 and v[-1][0] == pytest.approx(-2.72730849427707284, abs=1e-8)


def test_andrews_at_the_start_and_later() -> None:
    """Benchmark A03: published first accelerations, refined angles at 5 ms."""
    oracle = Oracle(path("andrews"))
    q, v = oracle.start()
    acceleration = oracle.acceleration(q, v)
    assert np.allclose(acceleration[:2], [14222.4439199541138, -10666.8329399655854], rtol=1e-10)
    seven, _ = oracle.trajectory(q, v, [0, 0.005], rtol=1e-12, atol=1e-13)
    refined = [
        *(2.1107638590326668e-01, -2.0158717093408012e-01, 4.4911519001151439e-01, 2.1025079793001447e-01),
        *(4.8874376546193519e-01, -2.1025079793001447e-01, 1.2258667940349073e00),
    ]
    assert np.allclose(seven[-1][:7], refined, rtol=0, atol=1e-10)


def test_bricard() -> None:
    """Benchmark A04: closed, rank 5, falls from rest as the exact one-coordinate equation says."""
    oracle = Oracle(path("bricard"))
    q, v = oracle.start()
    assert oracle.rank(oracle.scaled(oracle.motion(q, v).rows)) == 5
    assert oracle.potential(q) == pytest.approx(-29.43, abs=1e-12)
    later, _ = oracle.trajectory(q, v, [0, 0.5])
    exact = [0.7747178080392425, -0.9798150476556704, -0.19990615895343572]
    assert np.allclose(oracle.point(later[-1], "rod2", "tip"), exact, rtol=0, atol=1e-9)


def drake_four_bar(rate: float) -> Oracle:
    side, base = np.arctan2(np.sqrt(15), 1), np.arctan2(np.sqrt(15), -1)
    bodies = [solid(n, 20, (2, 0, 0), (0.1, 29.466666666666667, 29.4), tip=(4, 0, 0)) for n in "abc"]
    joints = [
        link("qa", "Ry", "fixed:origin", "a:origin", side, rate),
        link("qb", "Ry", "a:tip", "b:origin", base),
        link("qc", "Ry", "fixed:w", "c:origin", base),
        link("pin", "Ry", "b:tip", "c:tip", base - side - base),
    ]
    return Oracle(document(bodies, joints, [0, 0, -9.8], [{"name": "w", "T": [-2, 0, 0]}]))


def test_drake_four_bar() -> None:
    """Documented equilibrium, then half a second from qA' = 0.1 (ideal pins)."""
    oracle = drake_four_bar(0.1)
    q, v = oracle.start()
    assert oracle.gap(q) < 1e-14 and np.max(np.abs(oracle.acceleration(q, 0 * v))) < 1e-13
    q, _ = oracle.trajectory(q, oracle.consistent(q, v, ("qa",)), [0, 0.5])
    assert np.allclose(q[-1][:3], [1.3620089105900401, 1.8015980423422824, 1.867619615734283], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["float", "spherical"])
def test_free_top(kind: str) -> None:
    """Euler's equations, Jacobi's solution: rates and quaternion after one second."""
    speeds = [0.1, 15, 0.1] if kind == "spherical" else [0, 0, 0, 0.1, 15, 0.1]
    free = link("free", kind, "fixed:origin", "top:origin", {}, speeds)
    oracle = Oracle(document([solid("top", 1, ORIGIN, (0.3, 0.35, 0.4))], [free], [0, 0, 0]))
    q, v = oracle.trajectory(*oracle.start(), [0, 0.5, 1])
    expected = [-0.055055413766058249356, 15.000398217652092802, 0.069089246187188257241]
    assert np.allclose(v[-1][-3:], expected, rtol=0, atol=1e-8)
    turned = np.array([0.34633167573748371, 0.0016124455472294447, 0.93809991189661622, 0.0045084032411240559])
    assert min(np.abs(q[-1][-4:] - turned).max(), np.abs(q[-1][-4:] + turned).max()) < 1e-8


@pytest.mark.parametrize("name", ["double_pendulum", "bricard", "bicycle_brake", "double_wishbone", "delta", "stewart"])
def test_motion_is_the_derivative_of_the_poses(name: str) -> None:
    """Body velocities, closure rows and gamma against central differences; energy does not change."""
    oracle = Oracle(path(name))
    q, v = disturbed(oracle)
    h, a = 1e-5, oracle.acceleration(q, v)
    after, before = (oracle.moved(q, s * h * v + h * h / 2 * a) for s in (1, -1))
    now, up, down = (oracle.motion(x, v) for x in (q, after, before))
    for body in oracle.bodies:
        turn = rotation_vector(up.X[body].R @ down.X[body].R.T) / (2 * h)
        slide = (up.X[body].p - down.X[body].p) / (2 * h) + np.cross(now.X[body].p, turn)
        assert np.allclose(np.r_[turn, slide], now.V[body], atol=DIFFERENCE * max(1.0, np.abs(now.V[body]).max()))
    assert np.allclose(now.rows @ a, now.gamma, atol=1e-9 * max(1.0, np.abs(now.gamma).max(initial=0)))
    assert np.allclose((up.rows - down.rows) @ v / (2 * h), -now.gamma, atol=1e-5 * max(1.0, np.abs(v).max() ** 2))
    power = (oracle.energy(after, v + h * a) - oracle.energy(before, v - h * a)) / (2 * h)
    flow = (oracle.potential(after) - oracle.potential(before)) / (2 * h)
    assert abs(power) < 1e-5 * max(abs(flow), 1e-3)


def disturbed(oracle: Oracle, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """A closed state near the start, moving."""
    rng = np.random.default_rng(seed)
    q, _ = oracle.start()
    q = oracle.closed(oracle.moved(q, 0.02 * oracle.null(oracle.motion(q, np.zeros(oracle.nv)).rows).sum(axis=1)))
    N = oracle.null(oracle.motion(q, np.zeros(oracle.nv)).rows)
    return q, N @ rng.uniform(-1, 1, N.shape[1])


def test_logarithm_of_rotations() -> None:
    """exp and log are inverse up to half a turn."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        w = rng.normal(size=3)
        w *= rng.uniform(0, np.pi) / np.linalg.norm(w)
        assert np.allclose(rotation_vector(rotation(w)), w, atol=1e-11)
        assert np.linalg.norm(quaternion_of(rotation(w))) == pytest.approx(1, abs=ALGEBRA)


def test_piecewise_forces() -> None:
    """The format's own example, 2 x^2 + x / 2 left of zero, and an integral over two knots."""
    stop = {"knot_points": [0], "coefficients": [[2, 0.5, 0], [0]]}
    assert piecewise(stop, -1.0) == 1.5 and piecewise(stop, 0.0) == 0.0
    assert piecewise_integral(stop, -1.0) == pytest.approx(-2 / 3 + 0.25)
    steps = {"knot_points": [1, 2], "coefficients": [[1], [2], [4]]}
    assert piecewise_integral(steps, 3.0) == pytest.approx(7.0)
