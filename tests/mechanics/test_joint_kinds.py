"""Every kind of joint in a closed loop and on a tree (D11, M2): Newton and Euler of each body with its reactions.

Nothing of the library's equations is used: what a joint can do is written here once more, and the motion of bodies is
that of poses along the coordinates, speeds and accelerations that the library gives. Forces that balance every body and
do no work along the joints' motions, and loops that stay closed, leave one motion only.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shiftjax.dynamics.reactions import Reactions
from shiftjax.dynamics.tree import tree_terms
from shiftjax.formats.builder import ModelBuilder
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.options import options_of
from shiftjax.run.start.prepare import prepare
from tests.support.laws import check_rows, solved
from tests.support.models.mechanisms import walked
from tests.support.states import own_blocks

STEP = 1e-3  # s
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])  # of order 8
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
BALANCE = 1e-8  # of the largest force or moment: second differences over 1 ms of poses of 1 m, rounded to 1e-16
POSES = 1e-11  # m and entries of rotations: what closing a loop leaves
RATES = 1e-8  # m/s^2, rad/s^2 and of speeds, of what the loop leaves open: the same differences
GRAVITY = np.array([0.5, -1.0, -9.81])
AXIS = np.array([2.0, -1.0, 2.0]) / 3.0
RAIL = np.array([6.0, 2.0, -3.0]) / 7.0
PITCH = 0.3  # m/rad
MASS, INERTIA, CENTRE = 1.3, np.diag([0.05, 0.06, 0.08]), np.array([0.1, -0.05, 0.08])
MOTIONS = {  # of each kind: turns R, ways T, a ball B (a quaternion), V (a rotation vector), a thread H
    **{name: (name,) for name in ("Rx", "Ry", "Rz", "Tx", "Ty", "Tz")},
    "revolute": ("Ra",),
    "prismatic": ("Ta",),
    "rigid": (),
    "float": ("Tx", "Ty", "Tz", "B"),
    "float_vector": ("Tx", "Ty", "Tz", "V"),
    "spherical": ("B",),
    "spherical_vector": ("V",),
    "cylindrical": ("Ra", "Ta"),
    "universal": ("Rx", "Ry"),
    "planar": ("Tx", "Ty", "Rz"),
    "screw": ("Ha",),
    "translational_2d": ("Tx", "Ty"),
    "translational_3d": ("Tx", "Ty", "Tz"),
    "pin_slider": ("Tx", "Rz"),
    "point_slider": ("Tx", "B"),
    "point_plane": ("Tx", "Ty", "B"),
    **{name: tuple(f"R{axis}" for axis in name[-3:]) for name in KINDS if name.startswith("euler_")},
}
START = {"R": (0.5, 1.1, -0.4), "T": (0.1, -0.07, 0.05), "H": (0.4,)}
TURNED = Rotation.from_rotvec([0.3, -0.5, 0.4])  # of balls, and of a weld, at the start
RATE = (0.9, -0.7, 1.2, 0.8, -1.1, 0.6)


class Pose(NamedTuple):
    R: np.ndarray
    p: np.ndarray

    def inverse(self) -> Pose:
        return Pose(self.R.T, -self.R.T @ self.p)

    def __matmul__(self, other: Pose) -> Pose:  # type: ignore[override]
        return Pose(self.R @ other.R, self.p + self.R @ other.p)


def line(motion: str, name: str) -> np.ndarray:
    if motion[1] == "a":
        return RAIL if name == "rail" else AXIS
    return np.eye(3)["xyz".index(motion[1])]


def screws(kind: str, q: np.ndarray, name: str) -> tuple[Pose, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """The child's frame in the parent's, and of each speed the turn, the way, and a point of the turn's axis."""
    at, lines, k = Pose(np.eye(3) if MOTIONS[kind] else TURNED.as_matrix(), np.zeros(3)), [], 0
    for motion in MOTIONS[kind]:
        if motion in "BV":
            turn = Rotation.from_quat(q[[k + 1, k + 2, k + 3, k]]) if motion == "B" else Rotation.from_rotvec(q[k:])
            at = at @ Pose(turn.as_matrix(), np.zeros(3))
            lines += [(axis, np.zeros(3), at.p) for axis in np.eye(3)]  # all three, along any axes
            k += 4 if motion == "B" else 3
            continue
        along = at.R @ line(motion, name)
        turns, slides = motion[0] in "RH", {"R": 0.0, "T": 1.0, "H": PITCH}[motion[0]]
        lines.append((along * turns, along * slides, at.p))
        turn = Rotation.from_rotvec(line(motion, name) * q[k] * turns).as_matrix()
        at, k = at @ Pose(turn, line(motion, name) * slides * q[k]), k + 1
    return at, lines


def start(kind: str) -> tuple[Pose, dict[str, Any]]:
    """The child's frame in the parent's, and what a file says of it."""
    motions = MOTIONS[kind]
    ways = [START[motion[0]][k] for k, motion in enumerate(motions) if motion not in "BV"]
    if "B" not in motions and "V" not in motions and motions:
        at, _ = screws(kind, np.array(ways), "hub")
        names = KINDS[kind].names
        speeds = RATE[: len(motions)]
        if len(motions) == 1:
            return at, {"initial_displacement": ways[0], "initial_velocity": speeds[0]}
        return at, {"initial_displacement": dict(zip(names, ways, strict=True)),
                    "initial_velocity": dict(zip(names, speeds, strict=True))}  # fmt: skip
    place: dict[str, Any] = {"R": TURNED.as_matrix().tolist()} | ({"T": [*ways, 0.0, 0.0][:3]} if ways else {})
    more = {"initial_velocity": RATE[: KINDS[kind].nv]} if motions else {}
    return Pose(TURNED.as_matrix(), np.array([*ways, 0.0, 0.0, 0.0][:3])), {"initial_displacement": place, **more}


HUB = Pose(Rotation.from_rotvec([0.2, 0.1, -0.3]).as_matrix(), np.array([0.25, 0.1, 0.05]))
PLACES = {"anchor": (0.0, 0.0, 0.0), "ball": (0.9, -0.4, 0.35), "rail": (0.9, -0.4, 0.35)}
LOOP = {
    "anchor": ("spherical", "fixed", "crank"),
    "hub": ("", "crank", "part"),
    "ball": ("spherical", "part", "cart"),
    "rail": ("prismatic", "fixed", "cart"),
    "hung": ("", "fixed", "bob"),
}
BODIES = ("crank", "part", "cart", "bob")


@cache
def mechanism(kind: str) -> Model:
    """A spatial loop of two balls, a rail and a joint of the kind, and beside it a body that hangs on another one.

    All bodies are drawn where the world is, so that a joint's frames are where it stands.
    """
    at, said = start(kind)
    child, extra = HUB @ at, {}
    if any("a" in motion for motion in MOTIONS[kind]):
        extra["axis"] = AXIS.tolist()
    if kind == "screw":
        extra["pitch"] = PITCH
    near, far = ({"R": pose.R.tolist(), "T": pose.p.tolist()} for pose in (HUB, child))
    builder = ModelBuilder(gravity=tuple(GRAVITY)).frame("hung", **near)
    for name in ("anchor", "rail"):
        builder.frame(name, T=PLACES[name])
    a = builder.assembly("a")
    for body in BODIES:
        frames: dict[str, Any] = {name: place for name, place in PLACES.items() if body in LOOP[name]}
        frames |= {"hub": near} if body == "crank" else {"hub": far} if body == "part" else {}
        frames |= {"hung": far} if body == "bob" else {}
        a.body(body, mass=MASS, center_of_mass=tuple(CENTRE), inertia=tuple(np.diag(INERTIA)), frames=frames)
    for name, (type_, parent, last) in LOOP.items():
        own = {**said, **extra} if not type_ else {}
        own |= {"axis": tuple(RAIL)} if name == "rail" else {}
        a.joint(name, type_ or kind, parent=(parent, name), child=(last, name), **own)
    return builder.build()


def rate(values: np.ndarray, order: int) -> np.ndarray:
    """First or second derivative in the middle of nine places."""
    return np.tensordot((FIRST, SECOND)[order - 1], values, 1) / STEP**order


def vee(A: np.ndarray) -> np.ndarray:
    return 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])


def moved(kind: str, q: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Coordinates after small motions; balls turn about the child's axes."""
    out, k = q.copy(), 0
    for j, motion in enumerate(MOTIONS[kind]):
        if motion in "BV":
            turn = Rotation.from_quat(q[[k + 1, k + 2, k + 3, k]]) if motion == "B" else Rotation.from_rotvec(q[k:])
            turn = turn * Rotation.from_rotvec(change[j:])
            out[k:] = turn.as_quat()[[3, 0, 1, 2]] if motion == "B" else turn.as_rotvec()
        else:
            out[k] += change[j]
            k += 1
    return out


def ends(kind: str, name: str) -> tuple[Pose, Pose]:
    """The joint's frames in its parent and in its child."""
    if LOOP[name][0]:
        place = Pose(np.eye(3), np.array(PLACES[name]))
        return place, place
    return HUB, HUB @ start(kind)[0]


def poses(kind: str, joints: dict[str, np.ndarray]) -> dict[str, Pose]:
    """Of all bodies, by the coordinates of the joints but that of the loop's one of the kind."""
    steps = {}
    for name, (type_, _, _) in LOOP.items():
        F, G = ends(kind, name)
        steps[name] = F @ screws(type_ or kind, joints[name], name)[0] @ G.inverse()
    return {"fixed": Pose(np.eye(3), np.zeros(3)), "crank": steps["anchor"], "cart": steps["rail"],
            "part": steps["rail"] @ steps["ball"].inverse(), "bob": steps["hung"]}  # fmt: skip


@pytest.mark.parametrize("kind", MOTIONS)
def test_every_body_is_balanced_by_reactions_that_do_no_work(kind: str) -> None:
    """m (a - g) = sum F, (I w)' = sum M, without work along a joint's motions; once the loop is cut at the joint."""
    prepared = prepare(mechanism(kind), {}, options_of(cut=["hub"]))
    plan, lane = prepared.plan, prepared.file_lane()
    assert plan.joints[plan.joint_index("a:hub")].chord and len(plan.loops) == 1
    q, v = walked(prepared, 2, seed=3, steps=2)
    check_rows(prepared, q, v, seed=4)
    a, _ = solved(prepared, q, v)
    assert min(np.abs(v).max(), np.abs(a).max()) > 0.1, "they move"
    for k, blocks in enumerate(own_blocks(prepared, q)):
        motion = lane.motion(list(q[:, [k]]), list(v[:, [k]]))
        found = Reactions(lane, blocks, motion, tree_terms(motion, lane.gravity(), (), list(a[:, [k]])))
        state, wrenches = {}, {}
        for j, joint in enumerate(plan.joints):
            name, speeds = joint.path.rpartition(":")[2], slice(joint.v, joint.v + joint.nv)
            state[name] = q[joint.q : joint.q + joint.nq, k], v[speeds, k], a[speeds, k]
            wrenches[name] = host.per_member([*found.on_child(j)[0], *found.on_child(j)[1]], 1)[:, 0]
        check(kind, state, wrenches)


def check(kind: str, state: dict[str, Any], wrenches: dict[str, np.ndarray]) -> None:
    path = []  # poses on both sides of the state, alike with the motion up to its acceleration
    for h in STEP * np.arange(-4, 5):
        along = {name: moved(LOOP[name][0] or kind, q, h * v + 0.5 * h * h * a) for name, (q, v, a) in state.items()}
        path.append((poses(kind, along), screws(kind, along["hub"], "hub")[0]))
    (now, _), size = path[4], max(np.abs(wrench).max() for wrench in wrenches.values())
    gaps = []
    for here, hub in path:
        F, G = here["crank"] @ ends(kind, "hub")[0] @ hub, here["part"] @ ends(kind, "hub")[1]
        gaps.append([*(F.R - G.R).ravel(), *(F.p - G.p)])
    motion = max(1.0, *(np.abs(part).max(initial=0.0) for part in (*state["hub"][1:], *state["ball"][1:])))
    assert np.abs(gaps[4]).max() < POSES
    assert max(np.abs(rate(np.array(gaps), order)).max() for order in (1, 2)) < RATES * motion
    total = {body: np.zeros((2, 3)) for body in now}
    for name, (type_, parent, child) in LOOP.items():
        F, G = now[parent] @ ends(kind, name)[0], now[child] @ ends(kind, name)[1]
        moment, force = np.split(wrenches[name], 2)
        for turn, way, point in screws(type_ or kind, state[name][0], name)[1]:
            about = moment + np.cross(G.p - (F @ Pose(np.eye(3), point)).p, force)
            assert abs((F.R @ turn) @ about + (F.R @ way) @ force) < BALANCE * size, name
        for sign, body in ((1.0, child), (-1.0, parent)):
            total[body] += sign * np.array([force, moment + np.cross(G.p, force)])
    for body in BODIES:
        R = np.array([here[body].R for here, _ in path])
        places = np.array([here[body].p for here, _ in path]) + R @ CENTRE
        w, change = (vee(rate(R, order) @ R[4].T) for order in (1, 2))  # R'' R^T = [w'] + [w]^2
        inertia = R[4] @ INERTIA @ R[4].T
        push = MASS * (rate(places, 2) - GRAVITY)
        spin = inertia @ change + np.cross(w, inertia @ w)
        force, moment = total[body]
        size = max(size, np.abs(push).max(), np.abs(spin).max())
        assert np.abs(force - push).max() < BALANCE * size, body
        assert np.abs(moment - np.cross(places[4], push) - spin).max() < BALANCE * size, body


def test_every_kind_of_joint_is_here() -> None:
    assert MOTIONS.keys() == {name for name, kind in KINDS.items() if KINDS.ships(kind)}
