"""Lane code in its one form: folding, graphs of functions from outside, and code that is found by what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax import algebra
from shiftjax.algebra import LaneValue, select
from shiftjax.field import Field, number
from shiftjax.forces import FORCES, ForceKind
from shiftjax.forces.loads import JointLoad
from shiftjax.formats.builder import ModelBuilder
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.lanes.in_python import in_python
from shiftjax.lanes.member_values import MemberValues
from shiftjax.lanes.outside import UserFunction
from shiftjax.mechanism.model import Model
from shiftjax.run.simulate import simulate
from shiftjax.splines import Derivatives
from shiftjax.time_laws import Law

ROUNDING = 1e-14  # relative: one function written in several ways
RUN = 1e-9  # m: a spring of 1 ms steps over half a second by RK4
TIME = 0.5  # s


def value() -> LaneValue:
    graph = Graph()
    return LaneValue(graph, graph.node("in", 0))


def of_members(function: Callable[[list[Any]], list[Any]], given: list[np.ndarray]) -> list[Any]:
    members = MemberValues()
    return members.numbers(function(members.lane_values(given)))


def test_operators_fold_known_zeros_and_ones() -> None:
    x = value()
    assert x + 0.0 is x and 0.0 + x is x and x - 0.0 is x and 1.0 * x is x and x * 1.0 is x
    for zero in (x * 0.0, 0.0 * x, 0.0 / x, x - x):
        assert type(zero) is float and zero == 0.0
    assert (0.0 - x).ref == (-x).ref == (x * -1.0).ref == x.ref ^ 1
    assert len(x.graph.nodes) == 1, "nothing of this is an operation"
    assert (x / 4.0).ref == (0.25 * x).ref and (x**2).ref == (x * x).ref
    assert (x < 1.0).ref == (1.0 > x).ref and x.graph.is_boolean((x >= 1.0).ref)


def test_constants_are_rounded_as_the_kernel_rounds() -> None:
    def third(x: list[algebra.Scalar]) -> list[algebra.Scalar]:
        return [x[0] / 3.0, 1 / 3]

    for precision, constant in (("f64", 1 / 3), ("f32", float(np.float32(1 / 3)))):
        assert {node[1] for node in graph_of(third, 1, precision).nodes if node[0] == "const"} == {constant}


def test_sums_keep_their_zeros_where_a_function_depends_on_their_signs() -> None:
    graph = graph_of(lambda x: [algebra.atan2(x[0] - x[1], -x[2])], 3)
    assert graph.signed_zeros and not graph_of(lambda x: [x[0] - x[1]], 2).signed_zeros
    found = InNumpy(graph)([np.array([1.0]), np.array([1.0]), np.array([1.0])])
    assert found[0] == np.arctan2(0.0, -1.0)


WRITTEN = {
    "operators": lambda x: 0.5 * x[0] ** 2 * x[1] - x[1] / (1 + x[0] * x[0]),
    "numpy": lambda x: 0.5 * np.square(x[0]) * x[1] - np.divide(x[1], 1 + np.power(x[0], 2.0)),
    "algebra": lambda x: 0.5 * algebra.dot(x[:1], x[:1]) * x[1] - algebra.quotient(x[1], 1.0 + x[0] * x[0]),
    "jax": lambda x: 0.5 * jnp.square(x[0]) * x[1] - jnp.divide(x[1], 1 + jnp.asarray(x[0]) ** 2),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_functions_from_outside_come_in_however_they_are_written(way: str) -> None:
    """Value, slope and second derivative along a direction, of numbers, of members, and in a graph."""
    function = UserFunction(WRITTEN[way], 2)
    x, y, u, v = 0.7, -1.3, 0.4, 2.0
    square = 1 + x * x
    wanted = [
        0.5 * x * x * y - y / square,
        (x * y + 2 * x * y / square**2) * u + (0.5 * x * x - 1 / square) * v,
        (y + 2 * y / square**2 - 8 * x * x * y / square**3) * u * u + 2 * (x + 2 * x / square**2) * u * v,
    ]

    def all_three(s: list[algebra.Scalar]) -> list[algebra.Scalar]:
        return [function.value(s[:2]), function.slope(s[:2], s[2:]), function.bend(s[:2], s[2:])]

    given = [x, y, u, v]
    assert all_three(given) == pytest.approx(wanted, rel=ROUNDING)
    arrays = [np.full(3, a) for a in given]
    for found in (of_members(all_three, arrays), InNumpy(graph_of(all_three, 4))(arrays)):
        np.testing.assert_allclose(np.array(found), np.repeat(np.array(wanted)[:, None], 3, 1), rtol=ROUNDING)


def test_a_slope_that_is_known_is_a_known_number() -> None:
    function = UserFunction(lambda x: x[0] - 2.0 * x[1] + 1.6, 2)
    x = [value(), 0.5]
    assert function.slope(x, [0.0, 1.0]) == -2.0 and function.slope(x, [0.0, 0.0]) == 0.0


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x.real if x < 1.0 else 0.0, "use `algebra.select`"),
        (lambda x: np.interp(x, [0.0, 1.0], [0.0, 1.0]), "use the functions? of `shiftjax.algebra`|interp"),
        (lambda x: np.arcsinh(x), r"numpy\.arcsinh of a lane value.*use `shiftjax.algebra`"),
        (lambda x: float(x), "functions of `shiftjax.algebra` in place of `math`"),
        (lambda x: x + "1", "str beside a lane value"),
    ],
)
def test_what_is_no_operation_says_what_to_do(function, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        function(value())


def test_lane_code_runs_once_for_many_members() -> None:
    """What is asked later goes on from what is there; known numbers stay known, constants and signs count."""
    members, a, b = MemberValues(), np.array([0.5, -2.0, np.nan]), np.array([[3.0], [0.0]])
    x, y, two = members.lane_values([a, b, 2.0])
    assert type(two) is float
    product, known, root = members.numbers([x * y, 0.0 * x, algebra.sqrt(x)])
    np.testing.assert_array_equal(product, a * b)
    assert type(known) is float and known == 0.0 and np.isnan(root[1:]).all()
    (later,) = members.numbers([-select(x * y < 1.0, two - x, y)])
    np.testing.assert_array_equal(later, -np.where(a * b < 1.0, 2.0 - a, b))


def test_values_of_one_member_have_the_bits_of_many() -> None:
    """Calculated with NumPy's scalars, and still so when what is asked later has more members."""

    def function(x: list[Any]) -> list[Any]:
        a, b = x
        ends = [
            algebra.largest([a, b]),
            select(a < b, a / b, -b),
            algebra.atan2(a, b),
            a**2.5,
            abs(a) ** 0.5,
            abs(b) ** a,
        ]
        return [*ends, a * b - 3.0 * a, algebra.sin(a), a / (b + b * -0.5), b, 7.0]

    pairs = np.array([(0.3, 0.7), (1e3, -0.1), (-2.0, 0.0), (np.nan, 1.0), (5.1, -0.0)])
    many = of_members(function, [*pairs.T])
    for k, pair in enumerate(pairs):
        for expected, one in zip(many, of_members(function, [*pair[:, None]]), strict=True):
            assert np.ndim(one) == np.ndim(expected)
            value = np.broadcast_to(expected, len(pairs))[k]
            assert np.array_equal(value, np.ravel(one)[0], equal_nan=True)
            assert np.isnan(value) or np.signbit(value) == np.signbit(one)
    members = MemberValues()
    (first,) = members.lane_values([np.array([0.3])])
    (alone,) = members.numbers([first**2.5])
    (rest,) = members.lane_values([np.array([2.0, 3.0])])
    later = members.numbers([rest * first**2.5, rest ** (2.0 * first)])
    np.testing.assert_array_equal(later[0], np.array([2.0, 3.0]) * alone)
    np.testing.assert_array_equal(later[1], np.array([2.0, 3.0]) ** np.array([0.6]))


def test_a_python_function_of_one_member_has_the_bits_of_many() -> None:
    def function(x: list[Any]) -> list[Any]:
        a, b = x
        ends = [algebra.largest([a, b]), select(a < b, a / b, -b), select(a <= 0.0, 2.5, algebra.sqrt(a))]
        return [*ends, a * b - 3.0 * a, algebra.sin(a), a / (b + b * -0.5), b, 7.0]

    graph = graph_of(function, 2)
    run = InNumpy(graph)
    for given in ((0.3, 0.7), (1e3, -0.1), (-2.0, 0.0), (np.nan, 1.0)):
        many, one = run([np.full(3, x) for x in given]), in_python(run)([*np.array(given)])
        for expected, value in zip(many, one, strict=True):
            assert np.array_equal(np.broadcast_to(expected, 3)[0], value, equal_nan=True)


def test_a_condition_chooses_between_known_numbers() -> None:
    x = value()
    assert select(x < 1.0, 2.0, 2.0) == 2.0 and type(select(x < 1.0, 2.0, 3.0)) is LaneValue
    chosen: Any = np.where(x < 1.0, x, 0.5)
    assert chosen.ref == select(x < 1.0, x, 0.5).ref


def test_a_digest_is_that_of_what_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two texts of one graph have one digest; a remembered one builds nothing."""
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path))
    one, two = (Code(lambda: graph_of(lambda x: [x[0] * x[1]], 2), text) for text in ("one", "two"))
    other = Code(lambda: graph_of(lambda x: [x[0] * x[1] * 2.0], 2))
    assert one.digest == two.digest != other.digest
    assert not list(tmp_path.rglob("*")), "kernels say what is worth remembering"
    one.remember()
    other.remember()

    def never() -> Graph:
        raise AssertionError("built although the digest was there")

    assert Code(never, "one").digest == one.digest and len(list(tmp_path.rglob("*.digest"))) == 1
    assert not other.derived("reverse", never).text, "what follows from an unknown graph is unknown"


# -- code from outside is found by what it does --------------------------------------------------------------------


class FileSpring(ForceKind):
    """A spring on a joint whose stiffness stands in a file."""

    joints = 1
    fields = (number("mass_of_hanger", "kg", "not read", default=0.0),)
    path: Path

    def apply(self, element, motion, load, states):
        (coordinate,), stiffness = element.coordinates, float(self.path.read_text(encoding="utf-8"))
        q = motion.coordinate(coordinate)
        load.add_generalized(motion.speed_index(coordinate), -(stiffness * q))
        load.add_potential(0.5 * stiffness * (q * q))
        return []


FORCES["file_spring"] = SPRING = FileSpring()


@pytest.fixture
def spring(tmp_path: Path) -> Path:
    SPRING.path = tmp_path / "stiffness.txt"
    return SPRING.path


def sprung() -> Model:
    builder = ModelBuilder(gravity=(0, 0, 0))
    parts = builder.assembly("a")
    parts.body("block", mass=2.0, center_of_mass=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    parts.joint("slide", "Tx", child="block", initial_displacement=0.25)
    parts.force("spring", "file_spring", joint="slide")
    return builder.build()


@pytest.mark.parametrize("backend", ["cpu", "xla"])
def test_a_force_that_reads_a_file_is_never_stale(spring: Path, backend: str) -> None:
    """x = x0 cos(sqrt(k/m) t) for both stiffnesses, of one model and of a second one, with the same cache."""
    model = sprung()
    for stiffness in (3.0, 30.0, 3.0):
        spring.write_text(str(stiffness), encoding="utf-8")
        wanted = 0.25 * np.cos(np.sqrt(stiffness / 2.0) * TIME)
        for one in (model, sprung()):
            result = simulate(one, TIME, 1e-3, output_step=TIME, channels=["slide.q"], backend=backend)
            assert abs(result.channels["slide.q"][-1] - wanted) < RUN


class FileLoad(Law):
    """A constant load that stands in a file."""

    path: Path

    def fields(self, unit: str) -> tuple[Field, ...]:
        return (number("scale", "1", "factor of what the file says", default=1.0),)

    def at(self, n: Mapping[str, Any], t: algebra.Scalar) -> Derivatives:
        return n["scale"] * float(self.path.read_text(encoding="utf-8")), 0.0, 0.0


def test_a_kind_of_the_package_that_holds_a_law_from_outside_is_never_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x = x0 + f t^2 / 2 m, for both numbers that the law reads."""
    law = FileLoad()
    law.path = tmp_path / "load.txt"
    monkeypatch.setitem(FORCES, "file_load", JointLoad(law))
    for load in (3.0, 30.0):
        law.path.write_text(str(load), encoding="utf-8")
        builder = ModelBuilder(gravity=(0, 0, 0))
        parts = builder.assembly("a")
        parts.body("block", mass=2.0, center_of_mass=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
        parts.joint("slide", "Tx", child="block").force("push", "file_load", joint="slide")
        result = simulate(builder.build(), TIME, 1e-3, output_step=TIME, channels=["slide.q"])
        assert abs(result.channels["slide.q"][-1] - load * TIME**2 / 4.0) < RUN


def test_a_function_may_refer_to_lane_values_from_around_it() -> None:
    """Of the graph around its own, also where that is of members."""

    def scaled(s: list[algebra.Scalar]) -> list[algebra.Scalar]:
        function = UserFunction(lambda x: s[0] * (x[0] * x[0]), 1)
        return [function.value([s[1]]), function.slope([s[1]], [1.0]), function.bend([s[1]], [1.0])]

    given = [np.array([2.0, 3.0]), np.array([0.5, -0.7])]
    wanted = np.array([given[0] * given[1] ** 2, 2 * given[0] * given[1], 2 * given[0]])
    for found in (of_members(scaled, given), InNumpy(graph_of(scaled, 2))(given)):
        np.testing.assert_allclose(np.array(found), wanted, rtol=ROUNDING)
