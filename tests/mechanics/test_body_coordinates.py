"""Coordinates of bodies (E2, E3, E4, E6, E8, E9, E11): Phi and its Jacobian, beside the tree's motions and differences.

An oracle for the lanes: of the house's kinematics it uses what a joint's kind says of itself, and the numbers of plans.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.bodies.absolute import BodyCoordinates, absolute
from shiftjax.constraints import CONSTRAINTS
from shiftjax.docs.pages import text
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.primitives import Rotation, Translation
from shiftjax.mechanism.model import Model
from shiftjax.plan_elements import PlacedFrame
from shiftjax.run.closing import host_evaluation as host
from tests.extensions import cam, gear, screw, slot  # noqa: F401
from tests.extensions.mechanisms import cammed, geared, press, quick_return
from tests.gradients.test_gradient_catalogue import CASES
from tests.mechanics.test_library_models import COUNTS
from tests.support.models.mechanisms import COUPLER, ROCKER, four_bars, random_motion, rod

WHOLE = 1e-14  # m or rad, of mechanisms of a few metres: rounding of poses
STILL = 1e-12  # of speeds of about 1 rad/s and 1 m/s, through up to a hundred joints
DIFFERENCE = 1e-7  # of order 2 with steps of 1e-5, near whole joints; slopes are of order 1
STEP = 1e-5
FREEDOMS = 5  # place in COUNTS
FROM_OUTSIDE: dict[str, Callable[[], Model]] = {
    "gear": geared,
    "screw": press,
    "cam": cammed,
    "slot": quick_return,
}
EULER = ("euler_xyz", "euler_zxz", "euler_zyx")  # the code is one
ALIKE = (  # have the rows of others
    *("table", "polynomial", "pose_harmonic", "orientation_harmonic"),
    *("belt", "mimic", "planetary", "screw_coupling"),
)
BETWEEN = {
    kind: case
    for kind, case in ((label.rpartition(" ")[2], case) for label, case in CASES.items())
    if kind in CONSTRAINTS and not kind.endswith(ALIKE)
}


def slopes_differ(view: BodyCoordinates, x: np.ndarray, seed: int, t: float = 0.0, away: float = 0.02) -> float:
    """Largest difference between the Jacobian along random changes and differences of Phi, at three states near x."""
    random, count = np.random.default_rng(seed), len(view.columns)
    x = view.moved(x, away * random.standard_normal((3, count)))
    along = random.standard_normal((3, count))
    ends = [view.phi(view.moved(x, sign * STEP * along), t) for sign in (1, -1)]
    exact = (view.jacobian(x, t) @ along[..., None])[..., 0]
    return float(np.abs(exact - (ends[0] - ends[1]) / (2 * STEP)).max(initial=0.0))


def random_twist(view: BodyCoordinates) -> np.ndarray:
    """(6 nb,) twists of all bodies in a motion that the loops allow at the start, by the tree of the lanes."""
    plan, lane, q = view._assembled.plan, view._lane, view._q[:, None]
    v = random_motion(plan, lane, q, np.random.default_rng(1))
    motion, values = host.motion_of(lane, q, v)
    node = {one.path: PlacedFrame(k, None) for k, one in enumerate(plan.nodes) if not one.virtual}
    rates: list[Any] = []
    for path in view.bodies:
        rates += values.numbers([*motion.velocity(node[path]), *motion.angular_velocity(node[path])])
    return host.per_member(rates, 1)[:, 0]


@pytest.mark.parametrize("name", COUNTS)
def test_what_the_rows_leave_free_is_the_motion_of_the_tree(name: str) -> None:
    """Phi vanishes, Phi_q times the twists of a motion of the lanes does, and as many motions are left as they have."""
    view = absolute(name)
    q, twist = view._q, random_twist(view)
    assert np.abs(view.phi(view.start)).max(initial=0.0) < WHOLE
    J = view.jacobian(view.start)
    assert J.shape == (len(view.rows), len(view.columns)) == (len(view.row_units), 6 * len(view.bodies))
    assert np.abs(J @ twist).max(initial=0.0) < STILL < 1e-9 * np.abs(twist).max()
    assert len(view.columns) - view.rank(view.start) == COUNTS[name][FREEDOMS]
    turned = np.abs(view.coordinates(view.start) - q)  # quaternions may have the other sign
    assert np.minimum(turned, np.abs(view.coordinates(view.start) + q)).max(initial=0.0) < 1e-12


@cache
def star() -> tuple[Model, BodyCoordinates]:
    """A body on every kind of joint of the package, of Euler's three of twelve, at arbitrary frames."""
    builder, random = ModelBuilder(gravity=(0.0, 0.0, 0.0)), np.random.default_rng(4)
    a = builder.assembly("a")
    for name, kind in KINDS.items():
        if not KINDS.ships(kind) or (name.startswith("euler_") and name not in EULER):
            continue
        place: dict[str, Any] = {"T": tuple(random.uniform(-0.5, 0.5, 3)), "rotation": tuple(random.uniform(-1, 1, 3))}
        builder.frame(name, **place)
        a.body(
            name, mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"f": {**place, "T": tuple(random.uniform(-0.5, 0.5, 3))}}
        )
        numbers: dict[str, Any] = {"axis": (2.0, -1.0, 2.0)} if kind.needs_axis else {}
        a.joint(
            name,
            name,
            parent=("fixed", name),
            child=(name, "f"),
            **numbers,
            **({"pitch": 0.3} if name == "screw" else {}),
        )
    model = builder.build()
    return model, absolute(model)


def test_every_joint_is_whole_where_its_coordinates_put_it_and_nowhere_else() -> None:
    """E3, E10: zero at random coordinates; each row that a kind bars is missed where the body is moved."""
    (model, view), random = star(), np.random.default_rng(5)
    kinds = {path: KINDS[joint.type] for path, joint in model.joints()}
    barred = {path: 6 - kind.nv for path, kind in kinds.items()}
    owners = [row.partition(" ")[0] for row in view.rows]
    assert {path: owners.count(path) for path in kinds} == barred
    q = view.coordinates(view.start) + random.uniform(-0.7, 0.7, (5, len(view.coordinates(view.start))))
    x = view.placed(q)
    assert np.abs(view.phi(x)).max() < WHOLE
    off = np.abs(view.phi(view.moved(x, 0.1 * random.standard_normal((5, len(view.columns))))))
    for path, count in barred.items():
        rows = [k for k, owner in enumerate(owners) if owner == path]
        assert not count or off[:, rows].max(1).min() > 1e-3, path
    assert slopes_differ(view, x[0], 6, away=0.1) < DIFFERENCE
    assert len(view.columns) - view.rank(x[0]) == sum(kind.nv for kind in kinds.values())


def test_columns_of_quaternions_are_differences_by_their_numbers() -> None:
    """Of any length; along the quaternion itself nothing changes."""
    (_, view), random = star(), np.random.default_rng(7)
    x = view.moved(view.start, 0.05 * random.standard_normal((2, len(view.columns))))
    x[..., 3:] *= random.uniform(0.5, 2.0, (*x.shape[:-1], 1))
    along = random.standard_normal(x.shape)
    ends = [view.phi(x + sign * STEP * along) for sign in (1, -1)]
    J = view.jacobian(x, quaternions=True)
    assert J.shape == (2, len(view.rows), 7 * len(view.bodies))
    exact = (J @ along.reshape(2, -1)[..., None])[..., 0]
    assert np.abs(exact - (ends[0] - ends[1]) / (2 * STEP)).max() < 10 * DIFFERENCE  # lengths of one half
    along[..., :3], along[..., 3:] = 0.0, x[..., 3:]
    assert np.abs(J @ along.reshape(2, -1)[..., None]).max() < WHOLE * 100


def test_the_rows_of_a_thread_are_the_wrenches_that_do_no_work_on_it() -> None:
    """v - h a (a . w) and what of w is across the axis a, of any pitch h, whatever the size of the mechanism."""
    axis, pitch = np.array([2.0, -1.0, 2.0]) / 3.0, 0.3
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.assembly("a").body("nut", mass=1.0, inertia=(1.0, 1.0, 1.0), center_of_mass=(7.0, 0.0, 0.0)).joint(
        "thread", "screw", child="nut", axis=tuple(axis), pitch=pitch, initial_displacement=0.4
    )
    view = absolute(builder.build())
    J = view.jacobian(view.start)
    ways = [k for k, unit in enumerate(view.row_units) if unit == "m"]
    assert np.abs(J[ways] + np.hstack([np.eye(3), -pitch * np.outer(axis, axis)])).max() < WHOLE
    turns = np.delete(J, ways, axis=0)
    assert turns.shape == (2, 6) and np.abs(turns[:, :3]).max() < WHOLE and np.abs(turns[:, 3:] @ axis).max() < WHOLE


@pytest.mark.parametrize("name", FROM_OUTSIDE)
def test_kinds_from_outside_have_rows_and_slopes(name: str) -> None:
    """E8, E11: no file of the package names them; they leave one motion, that of the lanes."""
    view = absolute(FROM_OUTSIDE[name]())
    twist = random_twist(view)
    assert np.abs(view.phi(view.start)).max() < WHOLE and np.abs(view.jacobian(view.start) @ twist).max() < STILL
    assert len(view.columns) - view.rank(view.start) == 1
    assert slopes_differ(view, view.start, 3) < DIFFERENCE


@pytest.mark.parametrize("kind", BETWEEN)
def test_constraints_and_drivers_of_the_package(kind: str) -> None:
    """Met at the start, as the lanes have it; with the slopes of differences wherever bodies are."""
    view = absolute(BETWEEN[kind].model())
    assert np.abs(view.phi(view.start)).max() < 1e-11, "what closing the start leaves"
    assert slopes_differ(view, view.start, 3, t=0.05) < DIFFERENCE


class WrongGear(gear.Gear):
    """A gear whose Jacobian is that of another ratio."""

    def rows(self, group: Any, motion: Any) -> Any:
        rows = super().rows(group, motion)
        rows.J = [{speed: entry if entry == 1.0 else 0.9 * entry for speed, entry in line.items()} for line in rows.J]
        return rows


def test_a_wrong_jacobian_of_a_kind_is_seen() -> None:
    """E9: what moves the lanes is no motion that Phi allows."""
    CONSTRAINTS["wrong_gear"] = WrongGear()
    try:
        document = to_dict(geared())
        document["assemblies"][0]["constraints"][0]["type"] = "wrong_gear"
        view = absolute(load(document))
        missed = np.abs(view.jacobian(view.start) @ random_twist(view))
    finally:
        del CONSTRAINTS["wrong_gear"]
    assert [row for row, off in zip(view.rows, missed, strict=True) if off > STILL] == ["a:teeth meshes"]
    assert missed.max() > 1e-3


class TestUnmeasured:
    """A joint whose coordinates no formula gives: it slides across an axis after a turn, and turns again."""

    KINDS["slides_and_turns"] = JointKind(
        (Rotation("x"), Translation("z"), Rotation("y"), Translation("x"), Rotation("z")),
        "free",
        ("one", "two", "three", "four", "five"),
    )

    def test_its_coordinates_are_the_nearest_ones(self) -> None:
        builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
        places = {"one": 0.3, "two": 0.9, "three": -0.8, "four": 0.5, "five": 1.0}
        builder.assembly("a").body("rod", **rod(1.0)).joint(
            "it", "slides_and_turns", child="rod", initial_displacement=places
        )
        view = absolute(builder.build())
        assert view.rows == ("a:it translation across",)
        assert view.coordinates(view.start) == pytest.approx([*places.values()], abs=1e-12)
        assert slopes_differ(view, view.start, 8) < DIFFERENCE


# -- in a plane ----------------------------------------------------------------------------------------------------


def flat(x: np.ndarray, point: tuple[float, float]) -> np.ndarray:
    """O + R p of a body's state (..., 3)."""
    c, s = np.cos(x[..., 2]), np.sin(x[..., 2])
    return x[..., :2] + np.stack([c * point[0] - s * point[1], s * point[0] + c * point[1]], axis=-1)


def test_a_revolute_in_the_plane_is_a_point_on_a_point() -> None:
    """E4: O1 + R1 p1 - O2 - R2 p2 along the axes of the world, of any states, whole or not."""
    view = absolute(four_bars(), plane="xz")
    coupler, rocker = (view.bodies.index(f"bar0:{name}") for name in ("coupler", "rocker"))
    x = np.random.default_rng(9).normal(size=(50, 3, 3))
    rows = [k for k, row in enumerate(view.rows) if row.startswith("bar0:joint ")]
    assert [view.rows[k] for k in rows] == ["bar0:joint translation x", "bar0:joint translation z"]
    formula = flat(x[:, coupler], (COUPLER, 0.0)) - flat(x[:, rocker], (ROCKER, 0.0))
    assert np.abs(view.phi(x)[:, rows] - formula).max() < WHOLE
    J = view.jacobian(x)[:, rows]
    expected = np.zeros_like(J)
    for body, sign, length in ((coupler, 1.0, COUPLER), (rocker, -1.0, ROCKER)):
        turned = np.stack([-np.sin(x[:, body, 2]), np.cos(x[:, body, 2])], axis=-1)
        expected[:, :, 3 * body : 3 * body + 2] = sign * np.eye(2)
        expected[:, :, 3 * body + 2] = sign * length * turned
    assert np.abs(J - expected).max() < WHOLE


@pytest.mark.parametrize(
    ("name", "plane"),
    [("four_bar", "xz"), ("slider_crank", "xz"), ("andrews", "xy"), ("peaucellier", "zx"), ("scissor_lift", "xz")],
)
def test_planar_linkages_have_three_columns_a_body_and_no_redundant_row(name: str, plane: str) -> None:
    """E2: Gruebler's count holds, 3 nb - m freedoms, where in space most rows of the same linkage are redundant."""
    view = absolute(load(name), plane=plane)
    assert view.start.shape == (len(view.bodies), 3) and view.columns[:3] == tuple(
        f"{view.bodies[0]} {what}" for what in (*plane, "theta")
    )
    assert view.rank(view.start) == len(view.rows) == 3 * len(view.bodies) - COUNTS[name][FREEDOMS]
    x = view.closed(view.moved(view.start, 0.02 * np.random.default_rng(3).standard_normal(len(view.columns))))
    assert np.abs(view.phi(x)).max() < 1e-12 and np.abs(x - view.start).max() > 1e-3
    assert slopes_differ(view, x, 2) < DIFFERENCE


def test_a_plane_that_joints_leave_is_refused() -> None:
    with pytest.raises(
        ModelError, match=r"slew: found a joint that moves its child out of the plane.*one of xy, xz, yz"
    ):
        absolute("excavator", plane="xz")
    with pytest.raises(ModelError, match="plane: found 'xx'"):
        absolute("four_bar", plane="xx")


@pytest.mark.parametrize("plane", ["xz", None])
def test_drivers_and_gears_count_turns(plane: str | None) -> None:
    """E1, E5, E10: a crank goes through two turns, a disc by half of them, the loop closed at each instant."""
    view = absolute(geared(), plane=plane, drive={"pivot": shiftjax.ConstantSpeed(speed=2 * math.pi, offset=-1.0)})
    assert len(view.columns) - view.rank(view.start) == 0
    x, q = view.start, view.coordinates(view.start)
    order = {one: k for k, one in enumerate(("hinge", "pivot", "spin"))}  # coordinates of the plan
    for t in np.linspace(0.0, 2.0, 13):
        x = view.closed(x, t, near=None if plane else q)
        q = view.coordinates(x, t, near=None if plane else q)
        assert q[order["pivot"]] == pytest.approx(2 * math.pi * t - 1.0, abs=1e-11)
        assert q[order["pivot"]] == pytest.approx(2.0 * q[order["spin"]] - 1.6, abs=1e-11)
    assert not plane or abs(x[view.bodies.index("a:crank"), 2] - view.start[0, 2]) == pytest.approx(4 * math.pi)


def test_the_program_of_six_steps_is_short() -> None:
    """E6: bodies, joints, mechanism, display, then drivers, solution, drawing; `tests/house/test_docs.py` runs it."""
    (program,) = re.findall(r"<!-- needs: matplotlib -->\n```python\n(.*?)^```$", text("bodies.md"), re.M | re.S)
    assert len(program.splitlines()) <= 100
    steps = (".body(", ".joint(", "shiftjax.absolute(", "plt.subplots(", ".closed(", ".plot(")
    places = [program.index(step) for step in steps]
    assert places == sorted(places)


# -- members, results, errors --------------------------------------------------------------------------------------


def test_members_are_as_one_by_one() -> None:
    lengths = [0.2, 0.21, 0.25]
    many = absolute(four_bars(), vary={"bar0:crank:tip.T[0]": lengths})
    x = many.closed(many.start)
    assert x.shape == (3, 3, 7) and np.abs(many.phi(x)).max() < 1e-12
    both = np.stack([x, many.moved(x, 0.01 * np.ones(18))], axis=1)  # (members, 2, ...)
    for k, length in enumerate(lengths):
        one = absolute(four_bars(), assign={"bar0:crank:tip.T[0]": length})
        assert np.abs(many.phi(both)[k] - one.phi(both[k])).max() < WHOLE
        assert np.abs(many.jacobian(both)[k] - one.jacobian(both[k])).max() < WHOLE
    with pytest.raises(ModelError, match="x: found 2 members; allowed: the 3 of `vary`"):
        many.phi(x[:2])


def test_a_run_stays_on_the_rows() -> None:
    """Poses of `simulate`, in space and in the plane, after a gap of 1e-13 that it tells itself."""
    run = shiftjax.simulate(four_bars(), 0.1, 1e-3, output_step=0.05, keep="all")
    for plane in (None, "xz"):
        view = absolute(four_bars(), plane=plane)
        x = view.of(run)
        assert x.shape == (3, *view.start.shape)
        assert np.abs(view.phi(x)).max() < 1e-12 and np.abs(x[-1] - view.start).max() > 0.05
    with pytest.raises(ModelError, match=r"no poses of bar0:crank.*keep"):
        view.of(shiftjax.assemble(four_bars()))


def test_what_cannot_be_closed_is_told_and_nothing_is_changed() -> None:
    """E15: drivers that contradict the loop."""
    view = absolute(four_bars(), drive={"pivot": lambda t: 0.0 * t - 1.0, "hinge": lambda t: 0.0 * t})
    x = view.start.copy()
    with pytest.raises(ModelError, match=r"closed, bar0:\w+ .*: found residuals .* after 30 steps"):
        view.closed(x)
    assert np.array_equal(x, view.start)


def test_a_state_that_is_no_number_spoils_no_other_one() -> None:
    """Poses of members that ended early are NaN."""
    view = absolute("four_bar")
    x = view.moved(view.start, 0.01 * np.ones((2, 18)))
    one = view.phi(x[0]), view.coordinates(x[0])
    x[1, 2] = np.nan
    both = view.phi(x), view.coordinates(x)
    for alone, together in zip(one, both, strict=True):
        assert np.array_equal(together[0], alone) and np.isnan(together[1]).any() and not np.isnan(together[1]).all()
    assert view.rank(x).tolist() == [17, 0]


def test_other_shapes_are_refused() -> None:
    view = absolute("four_bar")
    with pytest.raises(ModelError, match=r"x: found shape \(3, 3\); allowed: \(\.\.\., 3, 7\)"):
        view.phi(np.zeros((3, 3)))
    with pytest.raises(ModelError, match=r"near: found shape \(3,\); allowed: \(\.\.\., 4\)"):
        view.phi(view.start, near=[0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="quaternions: found a state in a plane"):
        absolute("four_bar", plane="xz").jacobian(absolute("four_bar", plane="xz").start, quaternions=True)
