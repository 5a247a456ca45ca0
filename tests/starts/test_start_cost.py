"""What makes starts cheap changes none of them: graphs, the polygon inequality, designs that members share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from shiftjax import load
from shiftjax.algebra import atan2, cos, exp, floor, larger, log, select, sin, sqrt, tanh
from shiftjax.constraints import CoordinateFunction
from shiftjax.kernels.llvm.array_function import ArrayFunction
from shiftjax.lanes import in_python
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.in_numpy import MEMBERS, InNumpy
from shiftjax.mechanism.model import Model
from shiftjax.run.beginning import start_from
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.closing import host_functions
from shiftjax.run.options import options_of
from shiftjax.run.start import file_pose
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.geometries import designs_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.stated import Start
from tests.support.models import start_mechanisms as given

NEAR = 1e-5  # m: nearer to its limit than this a loop is judged neither way here; the margin is 1e-7 of the size
LENGTHS = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]", "fixed:rocker_pivot.T[0]")


def random_four_bars(members: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    lengths = dict(zip(LENGTHS, rng.uniform(0.2, 1.6, (4, members)), strict=True))
    return {**lengths, "crank_pivot.initial_displacement": rng.uniform(-np.pi, np.pi, members)}


def beyond_reach(vary: dict[str, np.ndarray]) -> np.ndarray:
    """(B,) by how much the coupler and rocker of a four-bar are too long or too short for its crank and ground [m]."""
    a, b, c, g = (vary[path] for path in LENGTHS)
    span = np.hypot(g - a * np.cos(vary["crank_pivot.initial_displacement"]),
                    a * np.sin(vary["crank_pivot.initial_displacement"]))  # fmt: skip
    return np.maximum(span - (b + c), np.abs(b - c) - span)


def evaluated(monkeypatch: pytest.MonkeyPatch, model: str, vary: dict[str, np.ndarray]) -> int:
    """How many closures of members a start takes."""
    count, real = [0], host.closure

    def counted(lane: Any, q: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
        count[0] += q.shape[1]
        return real(lane, q, index)

    prepared = prepare(load(model), vary)
    with monkeypatch.context() as patch:
        patch.setattr(host, "closure", counted)
        start_of(prepared)
    return count[0]


@pytest.mark.parametrize("name", ["four_bar", "klann", "stewart", "bricard", "slider_crank", "sarrus"])
def test_a_graph_in_numpy_gives_the_bits_of_the_function(name: str) -> None:
    model, rng, members = load(name), np.random.default_rng(2), MEMBERS + 5  # two pieces
    numbers = model.numbers()
    paths = [path for path, value in numbers.items() if ".T[" in path and abs(value) > 1e-3][:4]
    prepared = prepare(model, {path: numbers[path] * rng.uniform(0.9, 1.1, members) for path in paths})
    lane = prepared.lane_of(np.arange(members), 1.0)
    q = prepared.file_start.q + rng.normal(0.0, 0.3, (prepared.plan.nq, members))
    for s in range(len(prepared.plan.substructures)):
        direct = host._closure(lane, list(q), s)
        for _ in range(3):  # evaluated directly, recorded, replayed
            phi, J = host.closure(lane, q, s)
        for place, value in direct.items():
            found = J[:, place[0], place[1]] if isinstance(place, tuple) else phi[:, place]
            assert np.array_equal(found, np.broadcast_to(value, members)), place


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "klann"])
def test_compiled_functions_change_no_start(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Numbers of so many members that what the host asks is compiled are those of few: to the bit."""
    model, members = load(name), host_functions.MANY + 3
    numbers = model.numbers()
    path = next(path for path, value in numbers.items() if ".T[" in path and abs(value) > 1e-3)
    lengths = numbers[path] * np.random.default_rng(3).uniform(0.98, 1.02, members)
    monkeypatch.setattr(host_functions, "_made", {})
    monkeypatch.setattr(host_functions, "WORTH", 0)
    monkeypatch.setattr(host_functions, "COMPILERS", [ArrayFunction])
    start = start_of(prepare(model, {path: lengths}))
    compiled = [made for made, _ in host_functions._made.values() if made._compiled is not None]
    assert len(compiled) >= 3
    some = [0, 1, members // 2, members - 1]
    few = start_of(prepare(model, {path: lengths[some]}))
    for field in ("q", "gap", "closed", "branch", "change"):
        np.testing.assert_array_equal(getattr(few, field), getattr(start, field)[..., some])
    assert start.closed.mean() > 0.4


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [float(x[0])],
        lambda x: [x[0] if x[0] > 0 else x[1]],
        lambda x: [np.asarray(x[0]) * 2.0],
        lambda x: [np.interp(x[0], [0.0, 1.0], [0.0, 1.0])],
        lambda x: [x[0].sum() * x[1]],
        lambda x: [x[0][0] * x[1]],
        lambda x: [x[0] * np.ones(2)],
    ],
)
def test_what_is_no_operation_of_a_graph_is_refused(function: Callable[[list[Any]], list[Any]]) -> None:
    with pytest.raises((TypeError, AttributeError), match=r"use .*`shiftjax\.algebra|lane value|'LaneValue' object"):
        graph_of(function, 2)


def test_registers_are_used_again_and_constants_stay() -> None:
    graph = graph_of(lambda x: [x[0] * 2.0 + x[1], np.where(x[0] < x[1], x[0], 0.5), 3.0, x[0]], 2)
    run = InNumpy(graph)
    a, b = np.random.default_rng(0).normal(size=(2, 2 * MEMBERS + 1))
    for _ in range(2):
        out = np.full((4, len(a)), np.nan)
        run.into([a, b], list(out))
        expected = [a * 2.0 + b, np.where(a < b, a, 0.5), np.full(len(a), 3.0), a]
        assert np.array_equal(out, expected)


def test_one_member_has_the_bits_that_it_has_among_many() -> None:
    """Of every operation, of zeros of both signs, of what is infinite or no number, too."""

    def every(x: list[Any], *, with_power: bool) -> list[Any]:
        a, b = x
        some = [a + b, a - b, a * b, a / b, 1.0 / a, -a, abs(b), select(a < b, a, b), select(a <= 0.5, 1.0, b)]
        some += [atan2(a, b), exp(a), sin(a), cos(b), sqrt(abs(a)), log(abs(b)), tanh(a), floor(a), larger(a, b)]
        return [*some, a * 0.1 - 3.0, abs(a) ** 1.7, abs(b) ** abs(a)] if with_power else [*some, a * 0.1 - 3.0]

    rng, special = np.random.default_rng(4), [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e300, 5e-324]
    pairs = [*itertools.product(special, special), *(rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-3, 4, (300, 1)))]
    many = np.array(pairs).T
    for with_power in (False, True):
        run = InNumpy(graph_of(partial(every, with_power=with_power), 2))
        together, alone = np.empty((2, len(run.outputs), many.shape[1]))
        run.into([*many], [*together])
        for k in range(many.shape[1]):
            run.into([*many[:, k : k + 1]], [*alone[:, k : k + 1]])
        assert together.tobytes() == alone.tobytes()


def test_a_users_function_is_part_of_the_graph() -> None:
    """With its derivatives, which forward mode takes of its graph."""
    tie = {"gear": CoordinateFunction(("a:left", "a:right_joint"), lambda q, t: q[0] + 0.5 * q[1] * q[1])}
    prepared = prepare(
        given.five_bar(left=-2.0, right=-1.1), {"left.initial_displacement": [-2.1, -1.9]}, options_of(tie=tie)
    )
    lane = prepared.lane_of(np.arange(2), 1.0)
    plan, right = prepared.plan, prepared.plan.joint_index("a:right_joint")
    for angle in (0.3, 0.4, 0.5, 0.6):
        q = np.repeat(prepared.file_start.q, 2, axis=1)
        q[plan.joints[right].q] = angle
        phi, J = host.closure(lane, q, 0)
        assert np.abs(phi[:, -1] - (q[plan.joints[plan.joint_index("a:left")].q] + 0.5 * angle**2)).max() < 1e-15
        assert np.abs(J[:, -1, list(plan.substructures[0].columns).index(plan.joints[right].v)] - angle).max() < 1e-15


def test_the_polygon_inequality_is_the_limit_of_a_four_bar() -> None:
    """With its crank held a four-bar is a triangle: it closes where the closed form does, and nowhere else."""
    vary = random_four_bars(5000)
    prepared, beyond = prepare(load("four_bar"), vary), beyond_reach(vary)
    lane = prepared.lane_of(np.arange(5000), 1.0)
    q = host.per_member(lane.coordinates(), 5000)
    crank = prepared.plan.joint_index("four_bar:crank_pivot")
    far = np.abs(beyond) > NEAR
    for _ in range(3):
        assert np.array_equal(host.can_close(lane, q, 0, [crank])[far], beyond[far] < 0)
    assert 0.3 < (beyond[far] > 0).mean() < 0.5


@pytest.mark.parametrize(
    "name", ["four_bar", "klann", "jansen", "bennett", "bricard", "stewart", "delta", "double_wishbone", "n_four_bar_5"]
)
def test_what_is_closed_can_close(name: str) -> None:
    """Whatever joints are held: each alone, and all of them."""
    prepared = prepare(load(name), {})
    plan, start, lane = prepared.plan, prepared.file_start, prepared.file_lane()
    assert start.closed.all()
    for s, block in enumerate(plan.substructures):
        for held in ([], block.joints, *([k] for k in block.joints)):
            assert host.can_close(lane, start.q, s, held).all(), held


def test_masses_and_speeds_share_one_pose(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many closures for a thousand members as for one, and the start of each as it is alone."""
    rng, paths = np.random.default_rng(1), ("coupler.mass", "crank_pivot.initial_velocity")
    vary = {path: rng.uniform(1.0, 3.0, 1000) for path in paths}
    counts = [evaluated(monkeypatch, "four_bar", {path: own[:n] for path, own in vary.items()}) for n in (1, 1000)]
    assert counts[0] == counts[1]
    together = start_of(prepare(load("four_bar"), vary))
    for k in (0, 417, 999):
        alone = start_of(prepare(load("four_bar"), {path: own[k : k + 1] for path, own in vary.items()}))
        assert np.array_equal(together.q[:, k], alone.q[:, 0]) and np.array_equal(together.v[:, k], alone.v[:, 0])


def test_one_member_that_is_asked_often_has_the_bits_that_it_has_among_many() -> None:
    """Of a list of operations, and from `OFTEN` evaluations on of a function of Python."""
    what, owner, x = "of a test", object(), [np.array([0.3]), np.array([-0.7])]

    def function(values: Any) -> dict[Any, Any]:
        a, b = values
        return {"product": sin(a) * b + a / b, "length": sqrt(a * a + b * b)}

    def asked(values: list[np.ndarray]) -> dict[str, np.ndarray]:
        out = {name: np.empty(len(values[0])) for name in ("product", "length")}
        host_functions.evaluate(values, what, (owner,), function, out.__getitem__)
        return out

    many = asked([np.repeat(one, 3) for one in x])
    for _ in range(in_python.OFTEN + 2):
        assert all(one[0] == many[name][0] for name, one in asked(x).items())
    made = host_functions.made_once(x, what, (owner,), function)
    assert made.asked == in_python.OFTEN and "of_one" in vars(made)


def test_an_equal_model_has_its_graphs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each start of an ensemble whose model was read again recorded five functions."""
    made, real = [0], host_functions.InNumpy

    def counted(*given: Any) -> InNumpy:
        made[0] += 1
        return real(*given)

    monkeypatch.setattr(host_functions, "InNumpy", counted)
    counts = []
    for k in range(4):
        path = "crank:tip.T[0]"
        prepared = prepare(
            load("four_bar").replace({"coupler.mass": 3.25}), {path: np.linspace(0.15, 0.17 + 1e-3 * k, 5)}
        )
        start_of(prepared)
        counts.append(made[0])
    assert 0 < counts[1] == counts[2] == counts[3]


def test_designs_are_told_apart_by_what_moves_loops() -> None:
    lengths, masses = np.repeat([0.9, 1.0, 1.1], 4), np.linspace(1.0, 2.0, 12)
    prepared = prepare(load("four_bar"), {"coupler:tip.T[0]": lengths, "coupler.mass": masses})
    designs = designs_of(prepared.plan, prepared.lane_of(np.arange(12), 1.0).params.numbers, 12)
    assert designs.first.tolist() == [0, 4, 8] and np.array_equal(lengths[designs.first][designs.of_member], lengths)
    together = start_of(prepared)
    for k, length in enumerate(lengths):
        alone = start_of(prepare(load("four_bar"), {"coupler:tip.T[0]": [length], "coupler.mass": [masses[k]]}))
        for name in ("q", "v", "gap", "branch"):
            assert np.array_equal(getattr(together, name)[..., k], getattr(alone, name)[..., 0])


def test_designs_that_cannot_close_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random four-bars took 1 150 closures a start while four ways and eight guesses were tried in vain; now 212."""
    assert evaluated(monkeypatch, "four_bar", random_four_bars(300)) < 300 * 300


def test_blocks_of_members_start_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    vary = random_four_bars(24, seed=5)
    whole = start_of(prepare(load("four_bar"), vary))
    monkeypatch.setattr("shiftjax.run.start.assembly.BLOCK", 4000)  # a few members each
    parts = start_of(prepare(load("four_bar"), vary))
    for name in ("q", "v", "gap", "change", "branch", "unsure", "moved"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


def searched(monkeypatch: pytest.MonkeyPatch, model: Model, **given_options: Any) -> tuple[int, Start]:
    """How many closures the file's own pose takes, and the start of two members."""
    count, real = [0], file_pose.closure

    def counted(lane: Any, q: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
        count[0] += 1
        return real(lane, q, index)

    with monkeypatch.context() as patch:
        patch.setattr(file_pose, "closure", counted)
        start = start_of(prepare(model, {"second:tip.T[0]": [0.4, 0.41]}, options_of(**given_options)))
    return count[0], start


def test_the_pose_of_a_file_is_sought_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for every run of the model, nor twice for one; for other numbers or joints it is sought anew."""
    monkeypatch.setattr(file_pose, "_poses", {})
    model = given.five_bar(left=-1.2)
    first, start = searched(monkeypatch, model)
    again, same = searched(monkeypatch, model)
    assert first > 0 and again == 0
    assert np.array_equal(start.q, same.q) and np.array_equal(start.holds, same.holds)
    assert searched(monkeypatch, given.five_bar(left=-1.25))[0] > 0
    assert searched(monkeypatch, model, hold=["right_joint"])[0] > 0
    assert searched(monkeypatch, model)[0] == 0
    tie = {"gear": CoordinateFunction(("a:left", "a:right_joint"), lambda q, t: q[0] + 0.5 * q[1])}
    assert all(searched(monkeypatch, model, tie=tie)[0] > 0 for _ in range(2)), "what a user's function does may change"


def test_what_is_kept_is_all_that_was_made_up_to_a_limit() -> None:
    """The newest so many; below the limit everything."""
    made = dict.fromkeys(range(10))
    host_functions.forget_oldest(made, 16)
    assert [*made] == [*range(10)]
    host_functions.forget_oldest(made, 4)
    assert [*made] == [6, 7, 8, 9]
    host_functions.forget_oldest(made, 0)
    assert not made


def test_paths_take_speeds_where_a_start_is_singular_alone() -> None:
    """A path's speeds follow from its drivers; on a flat parallelogram they say which branch it is on."""
    joints = ("crank_pivot", "crank_pin", "rocker_pivot", "rocker_pin")
    flat = {"rocker:tip.T[0]": 0.2, **{f"{joint}.initial_displacement": 0.0 for joint in joints}}
    bars = load("four_bar")
    lying = bars.with_values({bars.resolve(number): x for number, x in flat.items()})
    drive = options_of(drive={"crank_pivot": 1.0})
    for model, vary, moves in (
        (bars, {"coupler:tip.T[0]": [0.48, 0.52, 0.54]}, False),
        (lying, {"coupler.mass": [1.0, 2.0]}, True),  # the branch of the speeds, and poses beside it
        (bars, {"rocker_pivot.initial_velocity": [0.0, 1.0]}, True),  # what a call names is judged
    ):
        prepared = prepare(model, vary, drive)
        led, still = (start_from(prepared, None, {}, massless=True, moving=moving) for moving in (True, False))
        assert np.any(still.v) == moves and np.any(led.v)
        same = ("q", "closed", "gap", "change", "speed_change", "speed_moved", "branch", "holds", "at_pose", "ways")
        for name in (*same, *(["v"] if moves else [])):
            assert np.array_equal(getattr(led, name), getattr(still, name)), name
        assert (led.ways is not None) == (model is lying)
