"""Channels against a recomputation in NumPy: values, shapes, names, units, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.algebra import matmul
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.measures.channels import quaternion_of_rotation
from shiftjax.mechanism.model import Model
from shiftjax.rotations import rotation_of_vector
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from tests.reference import rotations
from tests.reference.oracle import Oracle
from tests.support.models.mechanisms import four_bars, nominal_blocks, rod

ALGEBRA = 1e-12  # the same quantity in another order of operations, values of size 1 to 10
DIFFERENCE = 1e-5  # central differences of samples 1 ms apart, third derivatives of size 10 to 100


def document() -> dict[str, Any]:
    """A branched spatial mechanism with every kind of joint coordinate: revolute, slide, ball, float; no loop."""
    builder = ModelBuilder(gravity=(0.0, 0.4, -9.81))
    place: Any = {"T": (1.0, 0.5, -0.5), "R": rotations.rotation((0.3, 0.6, 0.1))}
    tip: Any = {"T": (0.4, 0.1, -0.2), "R": rotations.rotation((0.5, -0.3, 0.8))}
    a = builder.assembly("a")
    for name in ("one", "two", "three", "free"):
        a.body(name, mass=1.0, center_of_mass=(0.1, 0.2, 0.3), inertia=(0.4, 0.5, 0.6), frames={"tip": tip})
    a.joint("turn", "Rz", child="one", initial_displacement=0.4, initial_velocity=0.7)
    a.joint("slide", "prismatic", parent=("one", "tip"), child="two", axis=(2, -1, 2), initial_velocity=-1.1)
    a.joint("ball", "spherical", parent=("two", "tip"), child="three", initial_velocity=(0.5, 1.0, -0.4))
    a.joint("six", "float", child="free", initial_displacement=place, initial_velocity=(0.1, 0.2, -0.3, 0.5, -0.4, 0.6))
    return builder.document


def model() -> Model:
    return load(document())


JOINTS = {"turn": 1, "slide": 1, "ball": 3, "six": 6}
FRAMES = ("one:tip", "two", "three:tip", "free:tip", "free:origin")
WORDS = ("position", "orientation", "velocity", "angular_velocity")


@pytest.fixture(scope="module")
def recorded() -> Any:
    """Every channel at every step of 50 ms."""
    paths = [f"{joint}.{word}" for joint in JOINTS for word in "qva"] + [
        f"{f}.{word}" for f in FRAMES for word in WORDS
    ]
    paths += [f"energy.{word}" for word in ("kinetic", "potential", "total")]
    return simulate(model(), span=0.05, step=1e-3, output_step=1e-3, channels=paths)


def state_at(result: Any, oracle: Oracle, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The oracle's q and v from the channels of one instant."""
    q, v = np.zeros(oracle.nq), np.zeros(oracle.nv)
    for joint in oracle.joints:
        q[joint.q], v[joint.v] = result.channels[f"{joint.name}.q"][k], result.channels[f"{joint.name}.v"][k]
    return q, v


@pytest.mark.parametrize("k", [0, 17, 50])
def test_channels_are_those_of_the_oracle(recorded: Any, k: int) -> None:
    """Contract: poses and speeds of frames in world axes, accelerations, energies."""
    oracle = Oracle(document())
    q, v = state_at(recorded, oracle, k)
    motion, a = oracle.motion(q, v), oracle.acceleration(q, v)
    for joint in oracle.joints:
        assert np.abs(recorded.channels[f"{joint.name}.a"][k] - a[joint.v]).max() < 10 * ALGEBRA
    for path in FRAMES:
        body, _, frame = path.partition(":")
        X = motion.X[body] @ oracle.frame((body, frame or "origin"))
        V = motion.V[body]
        found = {word: recorded.channels[f"{path}.{word}"][k] for word in WORDS}
        assert np.abs(found["position"] - X.p).max() < ALGEBRA
        assert np.abs(found["velocity"] - (V[3:] + np.cross(V[:3], X.p))).max() < ALGEBRA
        assert np.abs(found["angular_velocity"] - V[:3]).max() < ALGEBRA
        assert np.abs(rotations.rotation_of(found["orientation"]) - X.R).max() < ALGEBRA
        assert abs(np.linalg.norm(found["orientation"]) - 1) < ALGEBRA and found["orientation"][0] >= 0
    assert abs(recorded.channels["energy.kinetic"][k] - oracle.kinetic(q, v)) < ALGEBRA * 10
    assert abs(recorded.channels["energy.potential"][k] - oracle.potential(q)) < ALGEBRA * 10
    total = recorded.channels["energy.kinetic"][k] + recorded.channels["energy.potential"][k]
    assert abs(recorded.channels["energy.total"][k] - total) < ALGEBRA


def test_tree_joints_have_no_gap(recorded: Any) -> None:
    """D25: a ball joint's two frames stay in one place, exactly but for rounding of two additions."""
    plan_gap = simulate(model(), span=0.05, output_step=0.01, channels=["two:tip.position", "three.position"])
    gap = plan_gap.channels["two:tip.position"] - plan_gap.channels["three.position"]
    assert np.abs(gap).max() < 1e-15
    assert recorded.certificate["gap"] == 0.0


def test_speeds_are_the_slopes_of_places(recorded: Any) -> None:
    """Velocities and accelerations against central differences in time."""
    h = 1e-3

    def slope(path: str) -> np.ndarray:
        values = recorded.channels[path]
        return (values[2:] - values[:-2]) / (2 * h)

    for joint in ("turn", "slide"):
        assert np.abs(slope(f"{joint}.q") - recorded.channels[f"{joint}.v"][1:-1]).max() < 20 * DIFFERENCE
    for joint in JOINTS:
        assert np.abs(slope(f"{joint}.v") - recorded.channels[f"{joint}.a"][1:-1]).max() < 20 * DIFFERENCE
    for frame in FRAMES:
        assert np.abs(slope(f"{frame}.position") - recorded.channels[f"{frame}.velocity"][1:-1]).max() < 20 * DIFFERENCE
    assert np.abs(slope("six.q")[:, :3] - recorded.channels["six.v"][1:-1, :3]).max() < 20 * DIFFERENCE


def test_shapes_and_units(recorded: Any) -> None:
    """Contract: an axis of its own for joints of several speeds and for frames; units by path."""
    shapes = {path: values.shape[1:] for path, values in recorded.channels.items()}
    assert shapes["turn.q"] == shapes["slide.v"] == shapes["energy.total"] == ()
    assert (shapes["ball.q"], shapes["ball.v"], shapes["six.q"], shapes["six.a"]) == ((4,), (3,), (7,), (6,))
    assert shapes["two.position"] == (3,) and shapes["two.orientation"] == (4,)
    expected = {
        "turn.q": "rad", "turn.v": "rad/s", "turn.a": "rad/s^2", "slide.q": "m", "slide.v": "m/s", "slide.a": "m/s^2",
        "ball.q": "1", "ball.v": "rad/s", "two.position": "m", "two.orientation": "1", "two.velocity": "m/s",
        "two.angular_velocity": "rad/s", "energy.total": "J",
    }  # fmt: skip
    assert {path: recorded.units[path] for path in expected} == expected


def test_angles_are_unwrapped() -> None:
    """Contract: a crank that turns three times counts on."""
    result = simulate("four_bar", span=1.0, step=1e-3, output_step=0.01, channels=["crank_pivot.q"])
    q = result.channels["crank_pivot.q"]
    assert q[-1] - q[0] > 2 * np.pi and np.abs(np.diff(q)).max() < 0.5


def test_channels_do_not_depend_on_the_sense_of_the_tree() -> None:
    """S5: the coordinate has the user's sense, whichever way the tree runs."""
    turned = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    turned.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", parent="rod", child="fixed", initial_velocity=1.0)
    straight = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    straight.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod", initial_velocity=-1.0)
    a, b = (
        simulate(m.build(), span=0.3, channels=["pivot.q", "pivot.v", "rod:tip.position"]) for m in (turned, straight)
    )
    for word in "qv":
        assert np.abs(a.channels[f"pivot.{word}"] + b.channels[f"pivot.{word}"]).max() < ALGEBRA
    assert np.abs(a.channels["rod:tip.position"] - b.channels["rod:tip.position"]).max() < ALGEBRA


def test_substructure_channels() -> None:
    """S12: largest entry and largest row sum of |B|, and the pivot ratio, recomputed densely."""
    words = ("b_norm", "b_row_sum", "pivot_ratio")
    paths = [f"substructure[{k}].{word}" for k in range(2) for word in words]
    built = four_bars(2, speed=4.0)
    result = simulate(built, span=0.2, step=1e-3, output_step=0.1, channels=[*paths, *_angles(2)], repartition=False)
    prepared = prepare(built, {})
    lane, blocks = prepared.file_lane(), nominal_blocks(prepared)
    for tick in range(3):
        q = prepared.file_start.q.copy()
        for joint in prepared.plan.joints:
            q[joint.q] = result.channels[f"{joint.path}.q"][tick]
        for s, block in enumerate(blocks):
            _, J = host.closure(lane, q, s)
            columns = prepared.plan.substructures[s].columns
            d, i = ([columns.index(k) for k in part] for part in (block.dependent, block.independent))
            B = -np.linalg.solve(J[0][np.ix_(block.primary, d)], J[0][np.ix_(block.primary, i)])
            found = [result.channels[f"substructure[{s}].{word}"][tick] for word in words]
            assert found[0] == pytest.approx(np.abs(B).max(), rel=1e-10)
            assert found[1] == pytest.approx(np.abs(B).sum(1).max(), rel=1e-10)
            assert 0 < found[2] <= 1


def _angles(count: int) -> list[str]:
    return [f"bar{i}:{name}.q" for i in range(count) for name in ("pivot", "pin", "hinge", "joint")]


@pytest.mark.parametrize(
    ("path", "match"),
    [
        (
            "turn.x",
            r"channel turn.x: found 'x'; allowed: q, v, a, reaction_force, reaction_moment, drive_load, ",
        ),
        ("turn.qq", "q, v, a"),
        ("one.position[0]", r"allowed: position as a whole. .*record one.position and take its component 0"),
        ("one.position.z", r"take its component 2; .* take one.position\[2\]"),
        ("turn", r"allowed: a quantity of it. Write turn.q, turn.v or turn.a"),
        ("one", r"allowed: a quantity of it. Write one.position"),
        ("tur.q", r"tur.*turn"),
        ("one:tipp.position", r"tipp.*one:tip"),
        ("one.q", r"channel one.q: found 'a:one'; allowed: an active joint"),
        ("turn.position", r"channel turn.position: found 'a:turn'; allowed: a frame"),
        ("energy.totl", r"energy.total"),
        ("substructure[0].b_norm", "substructure"),
        ("substructure[x].b_norm", "substructure"),
        ("", "channel"),
    ],
)
def test_unknown_channels_are_refused_with_a_suggestion(path: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        simulate(model(), span=0.01, channels=[path])


def test_the_channels_of_a_force_are_named() -> None:
    """Those of joints and frames were listed for a misspelt state."""
    given = document()
    joint = {"type": "lugre_friction", "joint": "turn", "static": 1, "kinetic": 1, "stribeck_speed": 1, "stiffness": 9}
    wind = {"name": "wind", "type": "constant_load", "joint": "turn", "load": 1}
    given["assemblies"][0]["force_modules"] = [{"name": "brake", **joint}, wind]
    for path, message in (
        ("brake.bendd", r"found 'bendd'; allowed: of this lugre_friction bend\. Did you mean 'bend'\?"),
        ("wind.bend", r"found 'bend'; allowed: of this constant_load nothing, since it has no states\. Name"),
    ):
        with pytest.raises(ModelError, match=message):
            simulate(load(given), span=0.01, channels=[path])


def test_full_paths_and_short_ones_are_the_same() -> None:
    result = simulate(model(), span=0.01, channels=["turn.q", "a:turn.q", "one:tip.position", "a:one:tip.position"])
    assert list(result.channels) == ["turn.q", "a:turn.q", "one:tip.position", "a:one:tip.position"]
    assert np.array_equal(result.channels["turn.q"], result.channels["a:turn.q"])
    assert np.array_equal(result.channels["one:tip.position"], result.channels["a:one:tip.position"])


def test_quaternions_of_all_rotations() -> None:
    """Shepperd's four cases, half turns included: exact to rounding, w not negative."""
    rng = np.random.default_rng(2)
    vectors = [
        *(rng.standard_normal((40, 3)) * 2),
        *(np.pi * np.eye(3)),
        np.array([0.6, 0.8, 0.0]) * np.pi,
        np.zeros(3),
    ]
    vectors += [np.array([1e-9, 0, 0]), np.array([np.pi - 1e-9, 0, 0]), np.array([0, 3.0, 1e-8])]
    for vector in vectors:
        R = rotations.rotation(vector)
        found = np.array([float(x) for x in quaternion_of_rotation([[np.float64(x) for x in row] for row in R])])
        assert abs(np.linalg.norm(found) - 1) < 1e-14 and found[0] >= -1e-15
        assert np.abs(rotations.rotation_of(found) - R).max() < 1e-14
        again = matmul(
            rotation_of_vector([float(x) for x in vector]), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        )
        assert np.abs(np.array(again, float) - R).max() < 1e-14


def test_a_start_is_set_by_its_number_not_by_its_channel() -> None:
    with pytest.raises(ModelError, match=r"found no number '\.q'.*Write four_bar:crank_pivot.initial_displacement"):
        load("four_bar").replace({"crank_pivot.q": 1.0})
